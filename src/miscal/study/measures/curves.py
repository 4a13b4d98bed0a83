"""The tables ``curves`` and ``regions``: reliability by regime, and by the values of every metadata column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from miscal.calibration.metrics import MIN_ROWS, smece
from miscal.calibration.metrics.rows import take_groups
from miscal.discovery.estimating import testifying
from miscal.discovery.json_values import clean_text
from miscal.discovery.measurements import reliability
from miscal.study.rows import FieldRows
from miscal.study.studied import Rows, Studied

REGIME = "regime"
"""What the tables call the column of regimes."""

MOST_VALUES = 60
"""Values of a metadata column that are shown, the most frequent ones: no figure has room for more."""


def measure(studied: Studied) -> Rows:
    """Compute reliability curves and numbers of every region; uncorrected confidences, learned geometry.

    Parameters
    ----------
    studied : Studied

    Returns
    -------
    Rows
        Tables ``curves`` (a regime of fewer than ``min_rows`` rows has none, nor has a value of fewer than 30) and
        ``regions``.
    """
    rows, bins, regions = studied.learned, [], []
    for column, value, mask in _regions(studied):
        key = studied.named | {"column": column, "value": value}
        groups = take_groups(studied.groups, mask)
        least = studied.settings.min_rows if column == REGIME else MIN_ROWS
        bins += [key | one for one in _bins(rows.correct[mask], rows.confidence[mask], groups, least)]
        regions.append(key | _numbers(rows, mask))
    return {"curves": bins, "regions": regions}


def _regions(studied: Studied) -> Iterator[tuple[str, str, np.ndarray]]:
    """Column, value and mask (n,) of each region, of the rows that testify."""
    for name, mask in studied.learned.regions.items():
        yield REGIME, name, mask
    seen = testifying(studied.triples)
    for column, values in studied.triples.metadata.items():
        for value, mask in _groups(values[seen]):
            yield clean_text(column), value, mask


def _groups(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the most frequent values of a column, as text, with their rows; neither missing nor rare ones."""
    # NaN, and a missing date, differ from themselves
    known = np.array([value is not None and value == value for value in values], dtype=bool)
    text = np.array([clean_text(str(value)) if told else "" for value, told in zip(values, known, strict=True)])
    names, counts = np.unique(text[known], return_counts=True)
    for k in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
        if counts[k] >= MIN_ROWS:
            yield str(names[k]), known & (text == names[k])


def _bins(correct: np.ndarray, confidence: np.ndarray, groups: np.ndarray | None, least: int) -> list[dict[str, Any]]:
    curve = reliability(correct, confidence, groups, min_rows=least)
    if curve is None:
        return []
    columns = {name: getattr(curve, name) for name in ("confidence", "accuracy", "low", "high", "n")}
    return [{"bin": k} | {name: values[k] for name, values in columns.items()} for k in range(len(curve.n))]


def _numbers(rows: FieldRows, mask: np.ndarray) -> dict[str, Any]:
    y, f = rows.correct[mask], rows.confidence[mask]
    known = len(y) > 0
    return {
        "n": len(y),
        "accuracy": float(y.mean()) if known else None,
        "confidence": float(f.mean()) if known else None,
        "smece": smece(y, f) if len(y) > 1 else None,
        "delta_mean": float(rows.delta[mask].mean()) if known else None,
    }
