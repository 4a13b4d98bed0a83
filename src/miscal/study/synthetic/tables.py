"""Tidy tables, one observation a row, the same columns for every method; how numbers are written; the paper's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from miscal.calibration.survey_design import correlation
from miscal.report.formatting import DASH, metric
from miscal.study.synthetic.experiments import ExperimentCell, Record, layers, n_parameters

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

_PLACE = ("method", "amplitude", "frequency", "seed")
"""The columns that every table begins with."""

_TYPES = {
    "seed": pl.Int64,
    **dict.fromkeys(("epoch", "n_epochs", "loss_epoch", "n_candidates", "layers", "width", "parameters"), pl.Int64),
    **dict.fromkeys(("method", "name", "stopped", "beside", "world"), pl.String),
    **dict.fromkeys(("chosen", "structure"), pl.Boolean),
}
"""Types of columns that are no numbers with a fraction."""


def recovery(records: Sequence[Record]) -> pl.DataFrame:
    """Recovery of the field by cell: r and rmse on test rows, what was chosen, and the known-coordinate limit."""
    facts = ("limit", "limit_bandwidth", "sigma", "lambda", "epoch", "structure")
    rows = [_place(x.cell) | {"r": x.r, "rmse": x.rmse} | {name: x.facts.get(name) for name in facts} for x in records]
    return _frame(rows, ("r", "rmse", *facts))


def candidates(records: Sequence[Record]) -> pl.DataFrame:
    """Candidates of every cell: the grid of (sigma, lambda), or the named ones of auto."""
    names = ("name", "sigma", "lambda", "proxy", "log_loss", "r", "epoch", "n_epochs", "stopped", "chosen", "loss_r",
             "loss_epoch")  # fmt: skip
    return _frame([_place(x.cell) | {n: c.get(n) for n in names} for x in records for c in x.candidates], names)


def choices(records: Sequence[Record]) -> pl.DataFrame:
    """How good each cell's choice was, with the paper's regret beside it where it has one."""
    rows = []
    for record in records:
        found, cell = asdict(choice_of(record)), record.cell
        regret = REGRET.get((cell.amplitude, cell.frequency))
        found |= {"chosen_r": found.pop("chosen"), "paper_regret": regret, "n_candidates": len(record.candidates)}
        rows.append(_place(cell) | found)
    return _frame(rows, ("spearman", "oracle", "chosen_r", "spread", "regret", "paper_regret", "n_candidates"))


def choice_of(record: Record) -> Choice:
    """Judge a cell's choice: the paper's by the proxy, auto's by out-of-fold log loss."""
    return judge_choice(record.candidates, "proxy" if record.cell.method == "paper" else "log_loss")


@dataclass(frozen=True)
class Choice:
    """How good a choice among candidates was (arXiv 2605.13484, section 5.1).

    `oracle` and `chosen` are recoveries, correlations in [-1, 1]; `spread` is the largest less the smallest, `regret`
    oracle less chosen. `spearman` is the rank correlation of the negated criterion with recovery; None where either is
    constant.
    """

    oracle: float
    chosen: float
    spread: float
    regret: float
    spearman: float | None


def judge_choice(candidates: Sequence[Mapping[str, Any]], criterion: str) -> Choice:
    """Judge a choice that was made by the smallest criterion, a proxy or log loss.

    Candidates are rows with recovery ``r`` on test rows (None, a constant estimate, counts as 0), the criterion,
    without which they do not enter the rank correlation, and ``chosen``, of which exactly one is True.

    Examples
    --------
    >>> rows = [{"proxy": p, "r": r, "chosen": p == 0.20} for p, r in [(0.20, 0.8), (0.21, 0.9), (0.25, 0.1)]]
    >>> judge_choice(rows, "proxy")
    Choice(oracle=0.9, chosen=0.8, spread=0.8, regret=0.09999999999999998, spearman=0.5)
    """
    found = np.array([row["r"] or 0.0 for row in candidates])
    known = [i for i, row in enumerate(candidates) if row[criterion] is not None]
    ranks = rankdata([-candidates[i][criterion] for i in known]), rankdata(found[known])
    spearman = correlation(*ranks) if known else None
    best, own = float(found.max()), next(float(r) for r, row in zip(found, candidates, strict=True) if row["chosen"])
    return Choice(best, own, float(best - found.min()), best - own, None if spearman is None else round(spearman, 12))


def regressions(records: Sequence[Record], kernel: Sequence[Record]) -> pl.DataFrame:
    """Residual regression by capacity and (A, k), with the r of the method beside it."""
    beside = {(x.cell.amplitude, x.cell.frequency, x.cell.seed): x for x in kernel}
    facts = ("epoch", "n_epochs", "validation_error")
    rows = []
    for record in records:
        capacity = record.cell.capacity
        depth, width = layers(capacity)
        other = beside[record.cell.amplitude, record.cell.frequency, record.cell.seed]
        rows.append(
            _place(record.cell)
            | {"layers": depth, "width": width, "parameters": n_parameters(capacity)}
            | {"r": record.r, "rmse": record.rmse, "beside": other.cell.method, "beside_r": other.r}
            | {name: record.facts[name] for name in facts}
        )
    return _frame(rows, ("layers", "width", "parameters", "r", "rmse", *facts, "beside", "beside_r"))


def test_rows(records: Sequence[Record]) -> pl.DataFrame:
    """Test rows of cells: inputs, confidence, outcome, true and estimated field."""
    frames = []
    for record in records:
        place = [pl.lit(value, _TYPES.get(name, pl.Float64)).alias(name) for name, value in _place(record.cell).items()]
        frames.append(pl.DataFrame(record.rows).select([*place, pl.all()]))
    return pl.concat(frames)


def costs(records: Sequence[Record]) -> pl.DataFrame:
    """Seconds of one process by cell, and the processor seconds among them."""
    rows = [_place(x.cell) | {"world": x.cell.world, "seconds": x.seconds, "cpu_seconds": x.cpu} for x in records]
    return _frame(rows, ("world", "seconds", "cpu_seconds"))


def _place(cell: ExperimentCell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in _PLACE}


def _frame(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> pl.DataFrame:
    table = pl.DataFrame(rows, schema={name: _TYPES.get(name, pl.Float64) for name in (*_PLACE, *names)})
    # the paper's method first
    return table.sort(_PLACE, descending=[True, False, False, False], maintain_order=True, nulls_last=True)


# --- for readers --------------------------------------------------------------------------------------------------


def readable(table: pl.DataFrame, places: dict[str, str], values: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    """Head and rows for readers: places, then means over seeds, each given as {head: column}.

    An undefined r counts as 0 in a mean, and is a dash where a row is one seed.
    """
    if "seed" not in places.values():
        table = table.with_columns(pl.col("^r$").fill_null(0))
    mean = table.group_by(list(places.values()), maintain_order=True).agg(pl.col(c).mean() for c in values.values())
    return [*places, *values], [[_shown(n, v) for n, v in row.items()] for row in mean.iter_rows(named=True)]


def readable_regressions(table: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Head and rows of :func:`regressions` for readers, a column for each method beside it."""
    methods = table["beside"].unique(maintain_order=True).to_list()
    size = pl.format("{} x {}", "layers", pl.col("width").map_elements("{:,}".format, return_dtype=pl.String))
    wide = table.with_columns(size.alias("size"), pl.col("beside_r").fill_null(0)).pivot(
        on="beside", index=["size", "parameters", "amplitude", "frequency", "seed", "r", "epoch"], values="beside_r"
    )
    places = {"layers x width": "size", "parameters": "parameters", "A": "amplitude", "k": "frequency"}
    values = {"r": "r", "best epoch": "epoch"} | {f"r of {method}": method for method in methods}
    return readable(wide.sort("parameters", "amplitude", "frequency"), places, values)


def _shown(name: str, value: Any) -> str:
    if name in ("amplitude", "frequency"):
        return f"{value:g}"
    if isinstance(value, float) and name != "epoch":
        return metric(value)
    return DASH if value is None else value if isinstance(value, str) else f"{value:,.0f}"


def over_seeds(values: pl.Series) -> str:
    """Mean over seeds, with the range where there are several.

    Examples
    --------
    >>> over_seeds(pl.Series([0.95, 0.97])), over_seeds(pl.Series([0.95]))
    ('0.960 (0.950 to 0.970)', '0.950')
    """
    filled = values.fill_null(0.0)
    if values.null_count() == len(values):
        return "undefined, the field is constant"
    if len(filled) == 1:
        return metric(filled[0])
    return f"{metric(filled.mean())} ({metric(filled.min())} to {metric(filled.max())})"


def brief(value: float) -> str:
    """Short form of a setting.

    Examples
    --------
    >>> brief(0.0001), brief(0.01), brief(3.0)
    ('1e-4', '0.01', '3')
    """
    return f"{value:.0e}".replace("e-0", "e-") if 0 < value < 0.005 else f"{value:g}"


def per_frequency(table: pl.DataFrame, column: str) -> str:
    """Means by frequency, as a list in words.

    Examples
    --------
    >>> per_frequency(pl.DataFrame({"frequency": [1.0, 2.0], "r": [0.9, None]}), "r")
    '0.900 (k = 1), 0.000 (k = 2)'
    """
    means = table.group_by("frequency").agg(pl.col(column).fill_null(0).mean()).sort("frequency")
    return ", ".join(f"{metric(value)} (k = {k:g})" for k, value in means.iter_rows())
