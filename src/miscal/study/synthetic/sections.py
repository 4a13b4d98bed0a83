"""What the page says of each experiment, and its tables.

Numbers by group, drawings, and the paper's result beside ours; tables are tidy, one observation a row, the same columns
for every method.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from scipy.stats import rankdata

from miscal.calibration.survey_design import correlation
from miscal.report.formatting import DASH, metric
from miscal.study.drawing import LOSS
from miscal.study.synthetic import figures
from miscal.study.synthetic.experiments import Record, capacity_of, layers, n_parameters
from miscal.study.synthetic.figures import brief, by, over_settings

Section = dict[str, Any]
"""What is said of an experiment: `found` here, `drawings`, a table to read (`shown`), `tables` to keep, and `notes`.

A drawing is its name, a caption that also serves those who cannot see it, and its figure.
"""

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


def clusters(records: Sequence[Record]) -> Section:
    """Three clusters: recovery, and what a global reliability diagram hides."""
    table, first = recovery(records), _first_seed(records)
    found = table.group_by("method", maintain_order=True).agg(
        _R.mean(),
        _R.min().alias("lowest r"),
        _R.max().alias("highest r"),
        pl.lit(CLUSTERS_R).alias("published r"),
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
    kept = {"clusters": table, "clusters-rows": test_rows(records)}
    return Section(found=found, drawings=drawings, shown=shown, tables=kept, notes=_UNDEFINED)


def sinusoid(records: Sequence[Record]) -> Section:
    """Sinusoid: recovery over (A, k), beside what is possible with the coordinate known."""
    table, first = recovery(records), _first_seed(records)
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
    return Section(found=found, drawings=drawings, shown=shown, tables={"sinusoid": table}, notes=notes)


def interaction(records: Sequence[Record]) -> Section:
    """Sigma against lambda at one frequency and several amplitudes."""
    table = candidates(records)
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
    return Section(found=found, drawings=drawings, shown=shown, tables={"interaction": table}, notes=notes)


def selection(records: Sequence[Record]) -> Section:
    """Choice without the truth: proxy (paper) or out-of-fold log loss (auto) against the oracle."""
    table = choices(records)
    by_setting = table.group_by("method", "amplitude", "frequency").agg(pl.col("regret").mean())
    regret = by_setting.group_by("method").agg(
        pl.col("regret").median().alias("regret"), pl.col("regret").max().alias("largest")
    )
    own = table.group_by("method", maintain_order=True).agg(
        pl.lit(MEDIAN_REGRET).alias("published"),
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
    kept = {"selection": table, "selection-candidates": candidates(records)}
    values = {"Spearman": "spearman", "spread": "spread", "best r": "oracle", "chosen r": "chosen_r",
              "regret": "regret", "paper's regret": "paper_regret"}  # fmt: skip
    shown = means(table, {"method": "method", **_PLACE}, values)
    return Section(found=found, drawings=drawings, shown=shown, tables=kept, notes=notes)


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


def resreg(records: Sequence[Record]) -> Section:
    """Residual regression against capacity and (A, k), with a method on the same rows beside it."""
    table = regressions(records)
    every = table.filter(pl.col("parameters") == pl.col("parameters").max())
    name = f"residual regression {every['layers'][0]} x {every['width'][0]:,}"
    beside = {name: (every, "r")} | {method: (own, "beside_r") for method, own in by(every, "beside").items()}
    rows = [
        own.select("amplitude", "frequency", pl.lit(of).alias("of"), r=column) for of, (own, column) in beside.items()
    ]
    strongest = pl.concat(rows).filter(pl.col("amplitude") == pl.col("amplitude").max())
    found = means(strongest.sort("frequency"), {"A": "amplitude", "of": "of", "frequency": "frequency"}, {"r": "r"})
    found = found.with_columns(k=pl.format("r at k = {}", pl.col("frequency").map_elements(brief, pl.String)))
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
    return Section(found=found, drawings=drawings, shown=shown, tables={"resreg": table}, notes=notes)


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


# --- tables -----------------------------------------------------------------------------------------------------------

# --- the paper's numbers (arXiv 2605.13484, version 1), and where they stand -----------------------------------------

SOURCE = "arXiv 2605.13484"

CLUSTERS_R = 0.95
"""Test correlation on the three clusters: section 5.1 and appendix, 'Clustered Miscalibration Regimes'."""

MEDIAN_REGRET = 0.008
"""Median over the 25 settings: section 5.1, 'Proxy-based hyperparameter selection'."""

REGRET = {
    (0.2, 1.0): 0.088, (0.2, 2.0): 0.412, (0.2, 3.0): 0.041, (0.2, 4.0): 0.562, (0.2, 5.0): 0.000,
    (0.4, 1.0): 0.006, (0.4, 2.0): 0.002, (0.4, 3.0): 0.007, (0.4, 4.0): 0.017, (0.4, 5.0): 0.000,
    (0.6, 1.0): 0.008, (0.6, 2.0): 0.020, (0.6, 3.0): 0.000, (0.6, 4.0): 0.044, (0.6, 5.0): 0.000,
    (0.8, 1.0): 0.014, (0.8, 2.0): 0.023, (0.8, 3.0): 0.003, (0.8, 4.0): 0.032, (0.8, 5.0): 0.000,
    (1.0, 1.0): 0.017, (1.0, 2.0): 0.020, (1.0, 3.0): 0.002, (1.0, 4.0): 0.003, (1.0, 5.0): 0.000,
}  # fmt: skip
"""Oracle regret by (A, k): appendix, table 'Oracle regret across amplitudes and frequencies'."""

SAID = {
    "clusters": (
        "The paper reports a test correlation of 0.95 with the true field (section 5.1), a global reliability diagram "
        "near the diagonal, and errors of opposite sign within the clusters."
    ),
    "sinusoid": (
        "The paper shows its correlations over (A, k) as a figure without numbers: high over most settings, falling "
        "as k grows and A shrinks, and still clearly positive in the hardest."
    ),
    "interaction": (
        "The paper's figure (k = 3) finds small bandwidths (0.05, 0.1) unstable where lambda is 1e-4 or less, the best "
        "results at lambda between 1e-3 and 1e-2 for weak and moderate signals, and large bandwidths indifferent to "
        "lambda."
    ),
    "selection": (
        "The paper reports a median regret of 0.008 over its 25 settings, larger regret mostly at A = 0.2, and less "
        "rank agreement where the oracle spread is small."
    ),
    "resreg": (
        "In the paper residual regression does well at k = 1 and 2, struggles from k = 3 at any capacity, and is near "
        "zero at k = 4 and 5 even with 3 x 1024 and 300 epochs, where the kernel stays strong."
    ),
}
"""What the paper says of each experiment, in our words."""

# --- ours ---------------------------------------------------------------------------------------------------------

PLACE = ("method", "amplitude", "frequency", "seed")
"""The columns that every table begins with."""

_TYPES = {
    "seed": pl.Int64,
    **dict.fromkeys(("epoch", "n_epochs", "loss_epoch", "n_candidates", "layers", "width", "parameters"), pl.Int64),
    **dict.fromkeys(("method", "name", "stopped", "beside", "world"), pl.String),
    **dict.fromkeys(("chosen", "structure"), pl.Boolean),
}
"""Types of columns that are no numbers with a fraction."""


def frame(rows: Iterable[Mapping[str, Any]], names: str) -> pl.DataFrame:
    """Make a table of the place of each row and the columns named, null where it has none; the paper's method first."""
    columns = (*PLACE, *names.split())
    kept = [{name: row.get(name) for name in columns} for row in rows]
    table = pl.DataFrame(kept, schema={name: _TYPES.get(name, pl.Float64) for name in columns})
    return table.sort(PLACE, descending=[True, False, False, False], maintain_order=True, nulls_last=True)


def recovery(records: Sequence[Record]) -> pl.DataFrame:
    """Recovery of the field by cell: r and rmse on test rows, what was chosen, and the known-coordinate limit."""
    return frame((x | x["facts"] for x in records), "r rmse limit limit_bandwidth sigma lambda epoch structure")


def candidates(records: Sequence[Record]) -> pl.DataFrame:
    """Candidates of every cell: the grid of (sigma, lambda), or the named ones of auto."""
    names = "name sigma lambda proxy log_loss r epoch n_epochs stopped chosen loss_r loss_epoch"
    return frame(({n: x[n] for n in PLACE} | c for x in records for c in x["candidates"]), names)


def choices(records: Sequence[Record]) -> pl.DataFrame:
    """How good each cell's choice was, with the paper's regret beside it where it has one."""
    rows = [
        x
        | choice_of(x)
        | {"paper_regret": REGRET.get((x["amplitude"], x["frequency"])), "n_candidates": len(x["candidates"])}
        for x in records
    ]
    return frame(rows, "spearman oracle chosen_r spread regret paper_regret n_candidates")


def choice_of(record: Record) -> dict[str, float | None]:
    """Judge a cell's choice: the paper's by the proxy, auto's by out-of-fold log loss."""
    return judge_choice(record["candidates"], "proxy" if record["method"] == "paper" else "log_loss")


def judge_choice(candidates: Sequence[Mapping[str, Any]], criterion: str) -> dict[str, float | None]:
    """Judge a choice that was made by the smallest criterion, a proxy or log loss (arXiv 2605.13484, section 5.1).

    Candidates are rows with recovery ``r`` on test rows (None, a constant estimate, counts as 0), the criterion,
    without which they do not enter the rank correlation, and ``chosen``, of which exactly one is True.

    Returns ``oracle`` and ``chosen_r``, recoveries of the best and of the chosen one; ``spread``, the largest less the
    smallest; ``regret``, oracle less chosen; and ``spearman``, the rank correlation of the negated criterion with
    recovery, None where either is constant.

    Examples
    --------
    >>> rows = [{"proxy": p, "r": r, "chosen": p == 0.20} for p, r in [(0.20, 0.8), (0.21, 0.9), (0.25, 0.1)]]
    >>> judge_choice(rows, "proxy")["spread"]
    0.8
    """
    found = np.array([row["r"] or 0.0 for row in candidates])
    known = [i for i, row in enumerate(candidates) if row[criterion] is not None]
    ranks = rankdata([-candidates[i][criterion] for i in known]), rankdata(found[known])
    spearman = correlation(*ranks) if known else None
    best, own = float(found.max()), next(float(r) for r, row in zip(found, candidates, strict=True) if row["chosen"])
    spread, rounded = float(best - found.min()), None if spearman is None else round(spearman, 12)
    return {"oracle": best, "chosen_r": own, "spread": spread, "regret": best - own, "spearman": rounded}


def regressions(records: Sequence[Record]) -> pl.DataFrame:
    """Residual regression by capacity and (A, k), beside the r of each other method on the same rows."""
    others: dict[tuple, list[Record]] = defaultdict(list)
    for x in records:
        if capacity_of(x["method"]) is None:
            others[x["amplitude"], x["frequency"], x["seed"]].append(x)
    rows = []
    for x in records:
        if capacity := capacity_of(x["method"]):
            depth, width = layers(capacity)
            size = {"layers": depth, "width": width, "parameters": n_parameters(capacity)}
            beside = others[x["amplitude"], x["frequency"], x["seed"]]
            rows += [x | x["facts"] | size | {"beside": one["method"], "beside_r": one["r"]} for one in beside]
    names = "layers width parameters r rmse epoch n_epochs validation_error beside beside_r"
    return frame(rows, names)


def test_rows(records: Sequence[Record]) -> pl.DataFrame:
    """Test rows of cells: inputs, confidence, outcome, true and estimated field."""
    frames = []
    for record in records:
        place = [pl.lit(record[name], _TYPES.get(name, pl.Float64)).alias(name) for name in PLACE]
        frames.append(pl.DataFrame(record["rows"]).select([*place, pl.all()]))
    return pl.concat(frames)


def costs_of(records: Sequence[Record]) -> pl.DataFrame:
    """Seconds of one process by cell, and the processor seconds among them."""
    return frame((x | {"cpu_seconds": x["cpu"]} for x in records), "world seconds cpu_seconds")


# --- for readers --------------------------------------------------------------------------------------------------

_BRIEF = ("A", "k", "sigma", "lambda")


def written(table: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Write the head and the cells of a table for readers; what is undefined is a dash.

    >>> written(pl.DataFrame({"best lambda": [1e-4], "r": [0.5], "seeds": [1200]}))
    (['best lambda', 'r', 'seeds'], [['1e-4', '0.500', '1,200']])
    """
    return table.columns, [[_written(*cell) for cell in row.items()] for row in table.iter_rows(named=True)]


def _written(name: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or DASH
    if name.split()[-1] in _BRIEF:
        return brief(value)
    return metric(value) if isinstance(value, float) else f"{value:,}"
