"""The tables ``curves``, ``regions``, ``thresholds``, ``histograms``: slices of the rows, and values of the field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from miscal.base.json_values import clean_text
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics import MIN_SLICE_ROWS, clipped, smece
from miscal.calibration.metrics.checked_rows import take_rows
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.discovery.measurements import reliability
from miscal.evidence.thresholds import Threshold, threshold_sensitivity
from miscal.study.pair_result import FieldRows, PairResult, TableRows

REGIME = "regime"
"""What the tables call the column of regimes."""

MOST_VALUES = 60
"""Values of a metadata column that are shown, the most frequent ones: no figure has room for more."""


def measure_curves(result: PairResult) -> TableRows:
    """Compute reliability curves and numbers of every region; uncorrected confidences, learned geometry.

    Returns
    -------
    TableRows
        Tables ``curves`` (a regime of fewer than ``min_rows`` rows has none, nor has a value of fewer than 30) and
        ``regions``.
    """
    rows, bins, regions = result.learned, [], []
    for column, value, mask in _regions(result):
        key = result.named | {"column": column, "value": value}
        labelled = LabelledRows.of(rows.correct[mask], rows.confidence[mask], group=take_rows(result.groups, mask))
        least = result.settings.min_rows if column == REGIME else MIN_SLICE_ROWS
        bins += [key | one for one in _bins(labelled, least)]
        regions.append(key | _numbers(rows, mask))
    return {"curves": bins, "regions": regions}


def _regions(result: PairResult) -> Iterator[tuple[str, str, np.ndarray]]:
    """Column, value and mask (n,) of each region, of the evaluation rows."""
    for name, mask in result.learned.regions.items():
        yield REGIME, name, mask
    seen = evaluated_rows(result.triples)
    for column, values in result.triples.metadata.items():
        for value, mask in _groups(values[seen]):
            yield clean_text(column), value, mask


def _groups(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the most frequent values of a column, as text, with their rows; neither missing nor rare ones."""
    # NaN, and a missing date, differ from themselves
    known = np.array([value is not None and value == value for value in values], dtype=bool)
    text = np.array([clean_text(str(value)) if is_known else "" for value, is_known in zip(values, known, strict=True)])
    names, counts = np.unique(text[known], return_counts=True)
    for k in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
        if counts[k] >= MIN_SLICE_ROWS:
            yield str(names[k]), known & (text == names[k])


def _bins(rows: LabelledRows, least: int) -> list[dict[str, Any]]:
    curve = reliability(rows, min_rows=least)
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


WORST_BY = ("smece", "brier")


def measure_thresholds(result: PairResult) -> TableRows:
    """Cut the field of each geometry at every epsilon of the settings.

    Returns
    -------
    TableRows
        Table ``thresholds``.
    """
    settings = result.settings
    rows = [
        result.named | {"geometry": geometry, "by": by} | _threshold_row(at, seen)
        for geometry, seen in result.geometries.items()
        for by in WORST_BY
        for at in threshold_sensitivity(
            seen.correct, seen.confidence, seen.cut, epsilons=settings.epsilons, min_rows=settings.min_rows, by=by
        )
    ]
    return {"thresholds": rows}


def _threshold_row(at: Threshold, seen: FieldRows) -> dict[str, Any]:
    return {
        "epsilon": at.epsilon,
        "worst": at.worst,
        "n": None if at.share_worst is None else round(at.share_worst * len(seen.correct)),
        "share": at.share_worst,
        "smece_gap": at.gap,
        "smece_gap_clipped": clipped(at.gap),
        "brier_gap": at.brier_gap,
    }


BIN_EDGES = np.linspace(-1.0, 1.0, 201).round(2)
"""Bins of width 0.01 over all values that a field can have, the same for all pairs: they can be added. Half-widths of
the band in whole hundredths, such as 0.05, are edges, so that no bin lies on both sides of one."""


def measure_histograms(result: PairResult) -> TableRows:
    """Count the values of the field of each geometry.

    Returns
    -------
    TableRows
        Table ``histograms``.
    """
    rows = []
    for geometry, seen in result.geometries.items():
        counts = np.histogram(seen.delta, BIN_EDGES)[0]
        rows += [
            result.named | {"geometry": geometry, "left": float(left), "right": float(right), "n": int(n)}
            for left, right, n in zip(BIN_EDGES[:-1], BIN_EDGES[1:], counts, strict=True)
        ]
    return {"histograms": rows}
