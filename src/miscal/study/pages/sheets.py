"""A sheet for each data set: every model's reliability, field and calibration error by region (figures 16 to 19)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from miscal.discovery.measurements import EXTREME
from miscal.discovery.summary_parts import CurveNumbers
from miscal.report import drawing
from miscal.report.drawing import Bar, ProbabilityAxes, Scale, round_ticks
from miscal.report.formatting import metric, points
from miscal.study.figures.labels import models_in
from miscal.study.pages.grids import report_link
from miscal.study.plan import METHODS
from miscal.study.tables import LEARNED, REGIONS, Tables
from miscal.study.vocabulary import StudyVocabulary

LINEAR_AXES = replace(drawing.LINEAR_AXES, marks=((0.0, "0"), (0.5, "50"), (1.0, "100")))
"""Diagrams of a sheet are small, and have few ticks."""
DIAGRAMS = ("all", "over", "under")
SPARSE = 0.001
"""Bins at the ends of a histogram with a smaller share of the rows are left out, so that the others can be seen."""
_CORRECTIONS = {"raw": "uncorrected", "miscal": "local correction", "isotonic": "isotonic regression"}


_ROUNDING = 1e-9
"""By how much edges that are equal may differ."""


def axes_of(tables: Tables, dataset: str) -> ProbabilityAxes:
    """Return the axes of a data set's diagrams: in log-odds where most probabilities lie near 0 or 1."""
    known = tables["curves"].filter(pl.col("dataset") == dataset).drop_nulls(["confidence", "accuracy", "n"])
    whole = known.filter(pl.col("column") == "regime", pl.col("value") == "all")
    extreme = whole.filter((pl.col("confidence") < EXTREME) | (pl.col("confidence") > 1 - EXTREME))
    if extreme["n"].sum() <= drawing.MOST_EXTREME * whole["n"].sum():
        return LINEAR_AXES
    return drawing.log_odds_axes([*known["confidence"], *known["accuracy"]])


def model_rows(
    tables: Tables, dataset: str, out: Path, words: StudyVocabulary, axes: ProbabilityAxes
) -> list[dict[str, Any]]:
    """Return the rows of a data set's sheet, one for each pair under each method: by method, then by family and size.

    A row links to its pair's report where there is one. Diagrams have no dots where a region has too few rows.
    """
    needed = ("pairs", "corrections", "curves", "regions", "histograms")
    own = {name: tables[name].filter(dataset=dataset) for name in needed}
    for name in ("pairs", "corrections", "histograms"):
        own[name] = own[name].filter(geometry=LEARNED)
    models, ends = models_in(own["pairs"]), _ends(own["histograms"])
    pairs = own["pairs"].to_dicts()
    found = []
    for pair in sorted(pairs, key=lambda row: (METHODS.index(row["method"]), models.index(row["model"]))):
        mine = {name: table.filter(pair=pair["pair"], method=pair["method"]) for name, table in own.items()}
        found.append({
            "model": pair["model"], "method": pair["method"], "n": pair["n_test"], "std": pair["delta_std"],
            "unsupported": pair["share_unsupported"],
            "href": report_link(out, pair["pair"], pair["method"], above="../"),
            "diagrams": [_diagram(mine["curves"], mine["regions"], name, words, axes) for name in DIAGRAMS],
            "field": _bars(mine["histograms"], ends, pair["epsilon"]),
            "errors": _errors(mine["corrections"]),
        })  # fmt: skip
    return found


def _diagram(
    curves: pl.DataFrame, regions: pl.DataFrame, name: str, words: StudyVocabulary, axes: ProbabilityAxes
) -> dict[str, Any]:
    """Return the reliability of one region."""
    columns = ("confidence", "accuracy", "low", "high", "n")
    curve = curves.filter(column="regime", value=name).drop_nulls(columns[:4]).sort("bin")
    numbers = CurveNumbers(**{column: tuple(curve[column].to_list()) for column in columns})
    region = regions.filter(column="regime", value=name)
    n, error = (region["n"][0], region["smece"][0]) if region.height else (None, None)
    label = "All rows" if name == "all" else words.regime(name).capitalize()
    return {"name": name, "label": label, "dots": axes.dots(numbers), "n": n, "smece": metric(error)}


def _ends(histograms: pl.DataFrame) -> tuple[float, float] | None:
    """Both ends of the fields of a data set, so that its histograms can be compared."""
    held = histograms.filter(pl.col("n") >= SPARSE * pl.col("n").sum().over("pair", "method"), pl.col("n") > 0)
    if held.is_empty():
        return None
    widest = max(abs(held["left"].min() or 0.0), abs(held["right"].max() or 0.0), 0.05)
    return -widest, widest


def _bars(histogram: pl.DataFrame, ends: tuple[float, float] | None, epsilon: float | None) -> dict[str, Any] | None:
    """Return the histogram of a field, coloured by the sides of the band that counts as well calibrated."""
    if ends is None:
        return None
    held = histogram.filter(
        pl.col("n") > 0, pl.col("left") >= ends[0] - _ROUNDING, pl.col("right") <= ends[1] + _ROUNDING
    )
    if held.is_empty():
        return None
    x, y = Scale(*ends, 12.0, 248.0), Scale(0.0, float(held["n"].max()), 220.0, 14.0)
    bars = [
        Bar(_side(row["left"], row["right"], epsilon), x(row["left"]), y(row["n"]),
            round(x(row["right"]) - x(row["left"]), 2), round(y(0.0) - y(row["n"]), 2))
        for row in held.sort("left").iter_rows(named=True)
    ]  # fmt: skip
    marks = [x(edge) for edge in (-epsilon, epsilon) if ends[0] < edge < ends[1]] if epsilon else []
    return {"bars": bars, "ticks": [(x(value), points(value, 0)) for value in round_ticks(*ends, 4)], "marks": marks}


def _side(left: float, right: float, epsilon: float | None) -> str:
    """Say on which side of the band a bin lies, by its edges; a bin that the band cuts goes by its middle."""
    band = epsilon or 0.0
    if right <= -band + _ROUNDING:
        return "over"
    if left >= band - _ROUNDING:
        return "under"
    middle = (left + right) / 2
    return "good" if abs(middle) <= band else "over" if middle < 0 else "under"


def _errors(corrections: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """Return the calibration errors of each correction, by region."""
    values = {(row["calibrator"], row["region"]): row["smece"] for row in corrections.iter_rows(named=True)}
    if not values:
        return []
    return [(label, [metric(values.get((name, region))) for region in REGIONS]) for name, label in _CORRECTIONS.items()]


def sheet_names(datasets: Iterable[str]) -> dict[str, str]:
    """Return the name of each data set's sheet, without its ending; no two are the same.

    Examples
    --------
    >>> sheet_names(["MMLU", "law exam", "law/exam"])
    {'MMLU': 'MMLU', 'law exam': 'law-exam', 'law/exam': 'law-exam-2'}
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    for dataset in datasets:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", dataset).strip("-")[:60] or "data"
        name, number = plain, 1
        # some file systems do not tell upper from lower case
        while name.lower() in used:
            number += 1
            name = f"{plain}-{number}"
        used.add(name.lower())
        names[dataset] = name
    return names
