"""Tidy tables, one observation a row, the same columns for every method; how numbers are written; the paper's own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from miscal.calibration.survey_design import correlation
from miscal.report.formatting import DASH, metric
from miscal.study.synthetic.experiments import Record, capacity_of, layers, n_parameters

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


def costs(records: Sequence[Record]) -> pl.DataFrame:
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


def brief(value: float) -> str:
    """Short form of a setting.

    Examples
    --------
    >>> brief(0.0001), brief(0.01), brief(3.0)
    ('1e-4', '0.01', '3')
    """
    return f"{value:.0e}".replace("e-0", "e-") if 0 < value < 0.005 else f"{value:g}"
