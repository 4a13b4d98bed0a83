"""What the page says of each experiment: numbers by group, drawings, and the paper's result beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
from matplotlib.figure import Figure
from scipy import stats

from miscal.study.drawing import LOSS
from miscal.study.synthetic import figures, tables
from miscal.study.synthetic.experiments import Record
from miscal.study.synthetic.figures import by, over_settings


class ExperimentSection(NamedTuple):
    """One experiment: what was found here, drawings, a table to read, tables to keep, and what is to be known of them.

    A drawing is its name, a caption that also serves those who cannot see it, and its figure.
    """

    found: pl.DataFrame
    drawings: list[tuple[str, str, Figure]]
    shown: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    notes: str = ""


FEWEST_CHOICES = 5
"""Choices from which on their rank correlations are shown."""

EPOCHS = {
    "loss_r": "weights of the epoch with the lowest validation loss, as in the paper's figure",
    "r": "weights of the epoch with the smallest proxy, as in the estimator",
}
"""Column of r by the epoch that was kept, in words."""

_PLACE = {"A": "amplitude", "k": "frequency"}
_R, _SEEDS = pl.col("r").fill_null(0.0), pl.col("seed").n_unique()
_SETTINGS = pl.struct("amplitude", "frequency").n_unique()
_UNDEFINED = "A constant field has no r: it is a dash in the table, and counts as 0 in means."


def means(table: pl.DataFrame, places: dict[str, str], values: dict[str, str]) -> pl.DataFrame:
    """Average columns over seeds by place, both given as {head: column}; an undefined r counts as 0."""
    filled = table.with_columns(pl.col("^(beside_|chosen_)?r$").fill_null(0.0))
    found = filled.group_by(list(places.values()), maintain_order=True).agg(pl.col(*values.values()).mean())
    return found.select(pl.col(column).alias(head) for head, column in (places | values).items())


def clusters(records: Sequence[Record]) -> ExperimentSection:
    """Three clusters: recovery, and what a global reliability diagram hides."""
    table, first = tables.recovery(records), _first_seed(records)
    found = table.group_by("method", maintain_order=True).agg(
        _R.mean(),
        _R.min().alias("lowest r"),
        _R.max().alias("highest r"),
        pl.lit(tables.CLUSTERS_R).alias("published r"),
        pl.col("rmse").mean().alias("error"),
        _SEEDS.alias("seeds"),
    )
    drawings = [
        ("clusters-field", "Test rows of seed 0 at their place, coloured by the true and the estimated field.",
                figures.true_and_estimated(first)),
        ("clusters-reliability", "Reliability of the raw confidence on the test rows of seed 0: opposite errors "
                "of the clusters cancel in the diagram of all rows.", figures.reliability(first[0])),
        ("clusters-hidden", "The paper's figure 1 in our colours: judged by the confidence alone, the test rows "
                "of seed 0 seem nearly calibrated; the learned geometry sets the clusters apart.",
                figures.hidden_regimes(first[0])),
    ]  # fmt: skip
    shown = table.select("method", "seed", "r", error="rmse")
    return ExperimentSection(
        found, drawings, shown, {"clusters": table, "clusters-rows": tables.test_rows(records)}, _UNDEFINED
    )


def sinusoid(records: Sequence[Record]) -> ExperimentSection:
    """Sinusoid: recovery over (A, k), beside what is possible with the coordinate known."""
    table, first = tables.recovery(records), _first_seed(records)
    below, worst = pl.col("limit") - _R, _R.arg_min()
    found = table.group_by("method", maintain_order=True).agg(
        _R.mean().alias("mean r"),
        _R.min().alias("lowest r"),
        pl.col("amplitude").get(worst).alias("at A"),
        pl.col("frequency").get(worst).alias("at k"),
        below.mean().alias("below the limit"),
        below.max().alias("at most"),
        pl.col("r").null_count().alias("constant fields"),
        _SETTINGS.alias("settings"),
        _SEEDS.alias("seeds"),
    )
    limited = {method: (own, "r") for method, own in by(table, "method").items()}
    limited["limit: coordinate known"] = table, "limit"
    places = [(x["amplitude"], x["frequency"]) for x in first]
    a, k = min(places, key=lambda at: abs(at[0] - 0.6) + abs(at[1] - 3))
    illustrated = [x for x, place in zip(first, places, strict=True) if place == (a, k)]
    drawings = [
        ("sinusoid-recovery", "Correlation with the true field on test rows, mean over seeds.",
                over_settings(limited, "correlation with the true field")),
        ("sinusoid-field", f"Test rows of seed 0 at A = {a:g}, k = {k:g}, coloured by the true and the "
                "estimated field; the paper shows A = 0.6, k = 3.", figures.true_and_estimated(illustrated)),
    ]  # fmt: skip
    notes = (
        "The limit smooths the same train and validation rows in log-odds along the true coordinate, which no method "
        f"is told, with the bandwidth that is best in hindsight. {_UNDEFINED}"
    )
    shown = means(table, {"method": "method", **_PLACE}, {"r": "r", "limit": "limit", "error": "rmse"})
    return ExperimentSection(found, drawings, shown, {"sinusoid": table}, notes)


def interaction(records: Sequence[Record]) -> ExperimentSection:
    """Sigma against lambda at one frequency and several amplitudes."""
    table = tables.candidates(records)
    mean = table.group_by("frequency", "amplitude", "sigma", "lambda", maintain_order=True).agg(
        pl.col("r", "loss_r").fill_null(0).mean(), pl.col("proxy").mean()
    )
    mean = mean.sort("frequency", "amplitude", "sigma", "lambda")
    best, chosen, wide = pl.col("r").arg_max(), pl.col("proxy").arg_min(), pl.col("sigma") == pl.col("sigma").max()
    span = pl.col("r", "loss_r").filter(wide)
    found = mean.group_by("frequency", "amplitude", maintain_order=True).agg(
        *(pl.col(name).get(best).alias(f"best {name}") for name in ("r", "sigma", "lambda")),
        *(pl.col(name).get(chosen).alias(f"proxy's {name}") for name in ("r", "sigma", "lambda")),
        pl.col("loss_r").max().alias("best by loss"),
        (span.max() - span.min()).name.map({"r": "span", "loss_r": "span by loss"}.get),
    )
    small = mean.filter(pl.col("sigma") <= 0.1)
    shown = small.group_by("frequency", "amplitude", "lambda").agg(pl.col("r", "loss_r").mean())
    named, words = {"k": "frequency", "A": "amplitude"}, {"r of sigma up to 0.1": "r", "by loss": "loss_r"}
    drawings = [
        (f"interaction-k{k:g}-{name.replace('_', '-')}", f"Correlation with the true field at k = {k:g}, "
                f"{epoch}, mean over seeds. Solid outline: best correlation; dashed: smallest proxy.",
                figures.interaction(table, k, name))
        for k in figures.levels(table, "frequency") for name, epoch in EPOCHS.items()
    ]  # fmt: skip
    notes = (
        f"By loss: {EPOCHS['loss_r']}; else {EPOCHS['r']}. The span is how far r of the widest bandwidth differs over "
        "lambda."
    )
    shown = means(shown.sort("frequency", "amplitude", "lambda"), named | {"lambda": "lambda"}, words)
    found = found.rename({column: head for head, column in named.items()})
    return ExperimentSection(found, drawings, shown, {"interaction": table}, notes)


def selection(records: Sequence[Record]) -> ExperimentSection:
    """Choice without the truth: proxy (paper) or out-of-fold log loss (auto) against the oracle."""
    table = tables.choices(records)
    by_setting = table.group_by("method", "amplitude", "frequency").agg(pl.col("regret").mean())
    regret = by_setting.group_by("method").agg(
        pl.col("regret").median().alias("regret"), pl.col("regret").max().alias("largest")
    )
    own = table.group_by("method", maintain_order=True).agg(
        pl.lit(tables.MEDIAN_REGRET).alias("published"),
        pl.col("spearman").median().alias("Spearman"),
        pl.col("spread").median().alias("spread"),
    )
    agreement = pl.DataFrame([{"method": one} | rank_agreement(some) for one, some in by(table, "method").items()])
    found = regret.join(own, on="method", maintain_order="right").join(agreement, on="method", maintain_order="left")
    regrets = {"paper, as published": (table, "paper_regret")} if table["paper_regret"].count() else {}
    regrets |= {f"{method}, ours": (own, "regret") for method, own in by(table, "method").items()}
    drawings = [
        ("selection-regret", "Regret by setting: the paper's published table beside ours, mean over seeds.",
                over_settings(regrets, "regret (colour ends at 0.1)", colours=LOSS, limits=(0.0, 0.1), digits=3)),
        ("selection-proxy", "Left: rank agreement of criterion and recovery against regret. Right: oracle "
                "spread against rank agreement. One point a setting and seed.",
                figures.proxy_against_oracle(table)),
    ]  # fmt: skip
    notes = (
        "Regret, Spearman and spread are medians. The paper's figure 3 claims more rank agreement where the oracle "
        "spread is larger, and less regret with more "
        f"of it: rho of both, with p, from {FEWEST_CHOICES} choices on. For auto the candidates are those of its own "
        "table that the fitted model keeps, each measured by itself, and what it returns; the criterion is its "
        "out-of-fold log loss. Its regret is not that of the paper's grid: the candidates differ. A constant field "
        "counts as r = 0."
    )
    kept = {"selection": table, "selection-candidates": tables.candidates(records)}
    values = {"Spearman": "spearman", "spread": "spread", "best r": "oracle", "chosen r": "chosen_r",
              "regret": "regret", "paper's regret": "paper_regret"}  # fmt: skip
    return ExperimentSection(found, drawings, means(table, {"method": "method", **_PLACE}, values), kept, notes)


def rank_agreement(choices: pl.DataFrame) -> dict[str, float | None]:
    """Correlate rank agreement with oracle spread and with regret; null of few choices, or where one is constant."""
    known = choices.drop_nulls("spearman")
    constant = any(known[name].n_unique() == 1 for name in ("spearman", "spread", "regret"))
    told = known.height >= FEWEST_CHOICES and not constant
    found: dict[str, float | None] = {}
    for name in ("spread", "regret"):
        rho, p = stats.spearmanr(known[name], known["spearman"]) if told else (None, None)
        found |= {f"rho, {name}": rho and float(rho), f"p, {name}": p and float(p)}
    return found


def resreg(records: Sequence[Record]) -> ExperimentSection:
    """Residual regression against capacity and (A, k), with a method on the same rows beside it."""
    table = tables.regressions(records)
    every = table.filter(pl.col("parameters") == pl.col("parameters").max())
    name = f"residual regression {every['layers'][0]} x {every['width'][0]:,}"
    beside = {name: (every, "r")} | {method: (own, "beside_r") for method, own in by(every, "beside").items()}
    rows = [
        own.select("amplitude", "frequency", pl.lit(of).alias("of"), r=column) for of, (own, column) in beside.items()
    ]
    strongest = pl.concat(rows).filter(pl.col("amplitude") == pl.col("amplitude").max())
    found = means(strongest.sort("frequency"), {"A": "amplitude", "of": "of", "frequency": "frequency"}, {"r": "r"})
    found = found.with_columns(k=pl.format("r at k = {}", pl.col("frequency").map_elements(tables.brief, pl.String)))
    found = found.pivot(on="k", index=["of", "A"], values="r")
    epochs = table.select(
        pl.lit(name).alias("of"),
        pl.col("n_epochs").min().alias("epochs trained, fewest"),
        pl.col("n_epochs").max().alias("most"),
        pl.col("epoch").median().round().cast(pl.Int64).alias("kept, median"),
    )
    drawings = [
        ("resreg-capacity", "Residual regression against capacity at the largest amplitude, mean over seeds.",
                figures.capacity(table)),
        ("resreg-grid", "The largest network over (A, k), and the method on the same rows.",
                over_settings(beside, "correlation with the true field")),
    ]  # fmt: skip
    notes = (
        "Kept is the epoch of smallest validation error. The paper trains 300 epochs and does not say how it stops nor "
        "with what learning rate; ours is among the settings below."
    )
    methods = table["beside"].unique(maintain_order=True).to_list()
    wide = table.with_columns(size=pl.format("{} x {}", "layers", "width")).pivot(
        on="beside", index=["size", "parameters", "amplitude", "frequency", "seed", "r", "epoch"], values="beside_r"
    )
    wide = wide.with_columns(pl.col(methods).fill_null(0.0)).sort("parameters", "amplitude", "frequency")
    places = {"layers x width": "size", "parameters": "parameters", **_PLACE}
    shown = means(wide, places, {"r": "r", "best epoch": "epoch"} | {f"r of {method}": method for method in methods})
    shown = shown.with_columns(pl.col("best epoch").round().cast(pl.Int64))
    found = found.join(epochs, on="of", how="left", maintain_order="left")
    return ExperimentSection(found, drawings, shown, {"resreg": table}, notes)


BUILDERS = {maker.__name__: maker for maker in (clusters, sinusoid, interaction, selection, resreg)}
"""Makers of sections by experiment, in the order of the page."""

TITLES = {
    "clusters": "Three clusters",
    "sinusoid": "Sinusoid over amplitude and frequency",
    "interaction": "Bandwidth sigma against mass penalty lambda",
    "selection": "Choosing without the truth",
    "resreg": "Residual regression",
}


def _first_seed(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record["seed"] == 0]
