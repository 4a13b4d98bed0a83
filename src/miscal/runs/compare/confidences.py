"""Several confidences of the same answers, side by side: which of them can be trusted, and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from miscal.base.arrays import nearest
from miscal.base.document import Measure
from miscal.base.errors import InputError, argument
from miscal.base.threads import one_thread
from miscal.calibration.metrics.decisions import risk_coverage_area, risk_coverage_areas
from miscal.calibration.metrics.scores import log_losses
from miscal.data.readers.pieces import open_table
from miscal.runs.compare.compared_rows import RunRows, match_rows, read_rows, sides_of
from miscal.runs.compare.comparison import RunComparison, compare
from miscal.runs.compare.document import ConfidenceDifference, ConfidenceNumbers
from miscal.runs.compare.estimates import clustered_mean
from miscal.runs.discover import discover

FEWEST, MOST = 2, 8
WORST = 3
"""Findings that are named of each confidence."""
LEVEL = 0.05
ROW = "row_of_table"
"""Column by which the same rows are found again; numbers of rows are no inputs and name no findings."""


def compare_confidences(
    data: Any,
    columns: Sequence[str],
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> RunComparison:
    """Compare several confidences of the same answers: each is one run on the same rows.

    Rows that lack one of the confidences are left out of all runs. None of the confidences is an input of the others.

    Parameters
    ----------
    data : path or table
        One row per answer.
    columns : sequence of 2 to 8 str
        The confidences, in [0, 1].
    seed : int, default 0
        Of all random numbers.
    progress : callable, optional
        Called with the name of each step.
    **options
        Of :func:`miscal.discover`, such as ``correct``, ``text`` and ``metadata``.

    Returns
    -------
    RunComparison
        ``confidences`` has the numbers of each, ``confidence_differences`` those of every two.

    Raises
    ------
    InputError
        If the columns are not two to eight different ones of the table.

    Examples
    --------
    >>> compare_confidences({"a": [0.5]}, ["a"])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: `confidence_columns` must name 2 to 8 different columns; got 'a'
    """
    tell = progress or (lambda name: None)
    table = _table(data, columns)
    kept = table.drop_nulls(list(columns)).drop_nans([name for name in columns if table[name].dtype.is_float()])
    others = {*columns, "confidence"}
    runs = []
    for name in columns:
        tell(f"discovering {name}")
        own = kept.drop([other for other in others if other != name and other in kept.columns])
        runs.append(discover(own.with_row_index(ROW), confidence=name, seed=seed, progress=False, **options))
    found = compare(runs, match=ROW, names=list(columns), seed=seed, progress=progress)
    rows = [read_rows(run.content, name) for run, name in zip(runs, columns, strict=True)]
    with one_thread():
        numbers, differences = _side_by_side(rows, found, seed)
    return found.model_copy(
        update={
            "confidences": numbers,
            "confidence_differences": differences,
            "left_out": len(table) - len(kept),
        }
    )


def _table(data: Any, columns: Sequence[str]) -> pl.DataFrame:
    if isinstance(columns, str) or len(set(columns)) != len(columns) or not FEWEST <= len(columns) <= MOST:
        shown = columns if isinstance(columns, str) else ", ".join(columns)
        raise InputError(
            f"{argument('confidence_columns')} must name {FEWEST} to {MOST} different columns; got {shown!r}"
        )
    opened = open_table(Path(data) if isinstance(data, str) else data)
    for name in columns:
        if name not in opened.columns:
            hint = nearest(name, opened.columns)
            raise InputError(
                f"{argument('confidence_columns')} names {name!r}, which is no column of the data"
                + (f"; did you mean {hint!r}?" if hint else "")
            )
    return opened.load(opened.columns)


def _side_by_side(
    rows: Sequence[RunRows], found: RunComparison, seed: int
) -> tuple[tuple[ConfidenceNumbers, ...], tuple[ConfidenceDifference, ...]]:
    """Return the numbers of each confidence, and the differences of every two.

    Intervals of differences allow for the number of pairs by Bonferroni's method.
    """
    matched = [sides_of(rows[0], other, match_rows(rows[0], other, ROW)) for other in rows[1:]]
    sides = [matched[0].a, *(both.b for both in matched)]
    unit, correct = sides[0].unit, sides[0].correct
    before = [log_losses(correct, side.confidence) for side in sides]
    after = [log_losses(correct, side.rows.corrected[side.at]) for side in sides]
    scores = np.stack([side.confidence for side in sides])
    areas = np.array([risk_coverage_area(correct, score) for score in scores])
    draws = risk_coverage_areas(correct, scores, groups=unit, random_state=seed)
    pairs = list(combinations(range(len(rows)), 2))
    numbers = tuple(
        ConfidenceNumbers(
            name=run.name,
            log_loss=_mean(before[k], unit),
            log_loss_after=_mean(after[k], unit),
            risk_coverage_area=_around(areas[k], draws[:, k].std(ddof=1)),
            smece=Measure(value=whole.global_.smece.value, interval=whole.global_.smece.interval),
            findings=whole.findings,
            worst=_worst(run),
        )
        for k, (run, whole) in enumerate(zip(rows, found.runs, strict=True))
    )
    differences = tuple(
        ConfidenceDifference(
            a=rows[a].name,
            b=rows[b].name,
            log_loss=_mean(before[a] - before[b], unit, len(pairs)),
            log_loss_after=_mean(after[a] - after[b], unit, len(pairs)),
            risk_coverage_area=_around(areas[a] - areas[b], (draws[:, a] - draws[:, b]).std(ddof=1), len(pairs)),
        )
        for a, b in pairs
    )
    return numbers, differences


def _worst(rows: RunRows) -> tuple[str, ...]:
    """Name the findings with the largest hidden residuals, in points."""
    found = sorted(rows.run.summary.findings, key=lambda one: -abs(one.hidden.value or 0.0))
    return tuple(f"{one.description} ({100 * (one.hidden.value or 0.0):+.1f} points)" for one in found[:WORST])


def _mean(values: np.ndarray, unit: np.ndarray, pairs: int = 1) -> Measure:
    found = clustered_mean(values, unit)
    return _around(found.value[0], found.error[0], pairs)


def _around(value: float, error: float, pairs: int = 1) -> Measure:
    """Return a number with the interval of the normal distribution, as wide as so many intervals at once ask for."""
    half = float(ndtri(1 - LEVEL / (2 * pairs))) * float(error)
    return Measure(value=float(value), interval=(float(value) - half, float(value) + half))
