"""Write what the page says of each experiment, with the paper's result beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
from matplotlib.figure import Figure
from scipy import stats

from miscal.base.arrays import counted
from miscal.report.formatting import metric
from miscal.study.drawing import LOSS
from miscal.study.synthetic import figures, tables
from miscal.study.synthetic.experiments import Record
from miscal.study.synthetic.figures import by, over_settings
from miscal.study.synthetic.tables import brief, over_seeds, per_frequency

_PLACE = {"method": "method", "A": "amplitude", "k": "frequency"}


class ExperimentSection(NamedTuple):
    """One experiment: what was found here, drawings, a table to read, and tables to keep.

    A drawing is its name, a caption that also serves those who cannot see it, and its figure.
    """

    found: list[str]
    drawings: list[tuple[str, str, Figure]]
    shown: tuple[list[str], list[list[str]]]
    tables: dict[str, pl.DataFrame]


_FEWEST_CHOICES = 5
"""Choices from which on their rank correlations are shown."""

EPOCHS = {
    "loss_r": "weights of the epoch with the lowest validation loss, as in the paper's figure",
    "r": "weights of the epoch with the smallest proxy, as in the estimator",
}
"""Column of r by the epoch that was kept, in words."""

TITLES = {
    "clusters": "Three clusters",
    "sinusoid": "Sinusoid over amplitude and frequency",
    "interaction": "Bandwidth sigma against mass penalty lambda",
    "selection": "Choosing without the truth",
    "resreg": "Residual regression",
}


def clusters(records: Sequence[Record]) -> ExperimentSection:
    """Three clusters: recovery, and what a global reliability diagram hides."""
    table = tables.recovery(records)
    found = [
        f"Method {method}: r = {over_seeds(own['r'])} (published: {tables.CLUSTERS_R:.2f}), "
        f"root mean square error {own['rmse'].mean():.3f}, {_seeds(own)}."
        for method, own in by(table, "method").items()
    ]
    first = _first_seed(records)
    drawings = [
        ("clusters-field", "Test rows of seed 0 at their place, coloured by the true and the estimated field.",
                figures.true_and_estimated(first)),
        ("clusters-reliability", "Reliability of the raw confidence on the test rows of seed 0: opposite errors "
                "of the clusters cancel in the diagram of all rows.", figures.reliability(first[0])),
        ("clusters-hidden", "The paper's figure 1 in our colours: judged by the confidence alone, the test rows "
                "of seed 0 seem nearly calibrated; the learned geometry sets the clusters apart.",
                figures.hidden_regimes(first[0])),
    ]  # fmt: skip
    kept = {"clusters": table, "clusters-rows": tables.test_rows(records)}
    shown = tables.readable(table, {"method": "method", "seed": "seed"}, {"r": "r", "error": "rmse"})
    return ExperimentSection(found, drawings, shown, kept)


def sinusoid(records: Sequence[Record]) -> ExperimentSection:
    """Sinusoid: recovery over (A, k), beside what is possible with the coordinate known."""
    table = tables.recovery(records)
    found = []
    for method, own in by(table, "method").items():
        r, gap = own["r"].fill_null(0.0), own["limit"] - own["r"].fill_null(0.0)
        worst = own[int(r.arg_min() or 0)]
        found.append(
            f"Method {method}: mean r {r.mean():.3f} over {_settings(own)}, lowest {metric(r.min())} at A = "
            f"{worst['amplitude'][0]:g}, k = {worst['frequency'][0]:g}; below the known-coordinate limit by "
            f"{metric(gap.mean())} on average, by {metric(gap.max())} at most; {_seeds(own)}."
        )
    found.append(
        "The limit smooths the same train and validation rows in log-odds along the true coordinate, which no method "
        "is told, with the bandwidth that is best in hindsight."
    )
    if table["r"].null_count():
        found.append(
            f"{table['r'].null_count()} fits returned a constant field (no structure claimed): r is undefined there, "
            "empty in the table, and counted as 0 in means."
        )
    first = _first_seed(records)
    limited = {method: (own, "r") for method, own in by(table, "method").items()}
    limited["limit: coordinate known"] = table, "limit"
    a, k = min(((x.cell.amplitude, x.cell.frequency) for x in first), key=lambda at: abs(at[0] - 0.6) + abs(at[1] - 3))
    illustrated = [x for x in first if (x.cell.amplitude, x.cell.frequency) == (a, k)]
    drawings = [
        ("sinusoid-recovery", "Correlation with the true field on test rows, mean over seeds.",
                over_settings(limited, "correlation with the true field")),
        ("sinusoid-field", f"Test rows of seed 0 at A = {a:g}, k = {k:g}, coloured by the true and the "
                "estimated field; the paper shows A = 0.6, k = 3.", figures.true_and_estimated(illustrated)),
    ]  # fmt: skip
    shown = tables.readable(table, _PLACE, {"r": "r", "limit": "limit", "error": "rmse"})
    return ExperimentSection(found, drawings, shown, {"sinusoid": table})


def interaction(records: Sequence[Record]) -> ExperimentSection:
    """Sigma against lambda at one frequency and several amplitudes."""
    table = tables.candidates(records)
    found, rows = [], []
    for (k, a), own in table.group_by("frequency", "amplitude", maintain_order=True):
        mean = own.group_by("sigma", "lambda").agg(pl.col("r", "loss_r").fill_null(0).mean(), pl.col("proxy").mean())
        mean = mean.sort("sigma", "lambda")
        best, chosen = mean[int(mean["r"].arg_max())], mean[int(mean["proxy"].arg_min())]
        rows.append([f"{a:g}", f"{k:g}", *_setting(best), *_setting(chosen), f"{mean['loss_r'].max():.3f}"])
        for name, epoch in EPOCHS.items():
            steps, spread = over_lambda(mean, name)
            words = ", ".join(f"{r:.2f} at lambda {brief(x)}" for x, r in steps)
            small = f"the mean r of the bandwidths up to 0.1 is {words}; " if steps else ""
            found.append(
                f"A = {a:g}, k = {k:g}, {epoch}: {small}the r of the widest bandwidth differs by {spread:.3f} over "
                "lambda."
            )
    head = ["A", "k", "best sigma", "lambda", "r", "sigma by proxy", "lambda", "r", "best r by loss"]
    drawings = [
        (f"interaction-k{k:g}-{name.replace('_', '-')}", f"Correlation with the true field at k = {k:g}, "
                f"{epoch}, mean over seeds. Solid outline: best correlation; dashed: smallest proxy.",
                figures.interaction(table, k, name))
        for k in figures.levels(table, "frequency") for name, epoch in EPOCHS.items()
    ]  # fmt: skip
    return ExperimentSection(found, drawings, (head, rows), {"interaction": table})


def selection(records: Sequence[Record]) -> ExperimentSection:
    """Choice without the truth: proxy (paper) or out-of-fold log loss (auto) against the oracle."""
    table = tables.choices(records)
    found = []
    for method, own in by(table, "method").items():
        by_setting = own.group_by("amplitude", "frequency").agg(pl.col("regret").mean())["regret"]
        spearman = own["spearman"].median()
        agreement = "undefined" if spearman is None else metric(spearman)
        found.append(
            f"Method {method}: median regret {by_setting.median():.4f} over {_settings(own)} (published: "
            f"{tables.MEDIAN_REGRET:.3f}), largest {by_setting.max():.3f}; median Spearman {agreement}, median "
            f"oracle spread {own['spread'].median():.3f}; {_seeds(own)}."
        )
        found += _rank_agreement(method, own)
    if "auto" in table["method"].to_list():
        found.append(
            "For auto the candidates are those of its own table that the fitted model keeps, each measured by itself, "
            "and what it returns; the criterion is its out-of-fold log loss. Its regret is not that of the paper's "
            "grid: the candidates differ. A constant field counts as r = 0."
        )
    regrets = {"paper, as published": (table, "paper_regret")} if table["paper_regret"].count() else {}
    regrets |= {f"{method}, ours": (own, "regret") for method, own in by(table, "method").items()}
    drawings = [
        ("selection-regret", "Regret by setting: the paper's published table beside ours, mean over seeds.",
                over_settings(regrets, "regret (colour ends at 0.1)", colours=LOSS, limits=(0.0, 0.1), digits=3)),
        ("selection-proxy", "Left: rank agreement of criterion and recovery against regret. Right: oracle "
                "spread against rank agreement. One point a setting and seed.",
                figures.proxy_against_oracle(table)),
    ]  # fmt: skip
    kept = {"selection": table, "selection-candidates": tables.candidates(records)}
    values = {"Spearman": "spearman", "spread": "spread", "best r": "oracle", "chosen r": "chosen_r",
              "regret": "regret", "paper's regret": "paper_regret"}  # fmt: skip
    return ExperimentSection(found, drawings, tables.readable(table, _PLACE, values), kept)


def _rank_agreement(method: str, choices: pl.DataFrame) -> list[str]:
    """Say how the rank agreement goes with oracle spread and regret, which the paper's figure 3 draws."""
    known = choices.drop_nulls("spearman")
    if known.height < _FEWEST_CHOICES or 1 in (known[name].n_unique() for name in ("spearman", "spread", "regret")):
        return []
    words = {"spread": "more rank agreement where the oracle spread is larger", "regret": "less regret with more of it"}
    phrases = []
    for name, claim in words.items():
        found = stats.spearmanr(known[name], known["spearman"])
        phrases.append(f"{claim}: here the rank correlation is {metric(found.statistic)} (p = {found.pvalue:.2f})")
    return [f"Method {method}, {counted(known.height, 'choice')}; the paper's figure 3 claims {'; '.join(phrases)}."]


def resreg(records: Sequence[Record]) -> ExperimentSection:
    """Residual regression against capacity and (A, k), with a method on the same rows beside it."""
    regressions = [x for x in records if x.cell.capacity]
    others = [x for x in records if not x.cell.capacity]
    methods = list(dict.fromkeys(x.cell.method for x in others))
    table = pl.concat(tables.regressions(regressions, [x for x in others if x.cell.method == m]) for m in methods)
    one = table.filter(pl.col("beside") == methods[0])
    largest = one.filter(pl.col("parameters") == pl.col("parameters").max())
    strongest = largest.filter(pl.col("amplitude") == pl.col("amplitude").max())
    amplitude = strongest["amplitude"][0]
    name = f"{largest['layers'][0]} x {largest['width'][0]:,}"
    found = [f"Residual regression {name} at A = {amplitude:g}: r {per_frequency(strongest, 'r')}."]
    for method in methods:
        own = table.filter((pl.col("beside") == method) & (pl.col("amplitude") == amplitude))
        found.append(f"Method {method} there: r {per_frequency(own, 'beside_r')}.")
    fewest, most = one["n_epochs"].min(), one["n_epochs"].max()
    found.append(
        f"Training stopped after {fewest if fewest == most else f'{fewest} to {most}'} epochs; kept was the epoch of "
        f"smallest validation error, {one['epoch'].median():.0f} in the median. The paper trains 300 epochs and does "
        "not say how it stops nor with what learning rate; ours is among the settings below."
    )
    every = table.filter(pl.col("parameters") == pl.col("parameters").max())
    beside = {f"residual regression {name}": (every, "r")}
    beside |= {method: (own, "beside_r") for method, own in by(every, "beside").items()}
    drawings = [
        ("resreg-capacity", "Residual regression against capacity at the largest amplitude, mean over seeds.",
                figures.capacity(table)),
        ("resreg-grid", "The largest network over (A, k), and the method on the same rows.",
                over_settings(beside, "correlation with the true field")),
    ]  # fmt: skip
    return ExperimentSection(found, drawings, tables.readable_regressions(table), {"resreg": table})


def over_lambda(mean: pl.DataFrame, name: str = "r") -> tuple[list[tuple[float, float]], float]:
    """Mean r of the bandwidths up to 0.1 at each lambda, and how far r of the widest bandwidth differs over lambda."""
    small = mean.filter(pl.col("sigma") <= 0.1).group_by("lambda").agg(pl.col(name).mean()).sort("lambda")
    wide = mean.filter(pl.col("sigma") == pl.col("sigma").max())[name]
    return list(small.iter_rows()), wide.max() - wide.min()


BUILDERS = {maker.__name__: maker for maker in (clusters, sinusoid, interaction, selection, resreg)}
"""Makers of sections by experiment, in the order of the page."""


def _first_seed(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.cell.seed == 0]


def _seeds(table: pl.DataFrame) -> str:
    return counted(table["seed"].n_unique(), "seed")


def _settings(table: pl.DataFrame) -> str:
    return counted(table.select("amplitude", "frequency").n_unique(), "setting")


def _setting(row: pl.DataFrame) -> list[str]:
    return [f"{row['sigma'][0]:g}", brief(row["lambda"][0]), f"{row['r'][0]:.3f}"]
