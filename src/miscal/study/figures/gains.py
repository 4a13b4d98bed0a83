"""Gain of the local correction over isotonic regression against the spread of the field."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from miscal.study.aggregates import HeterogeneityGain, heterogeneity_gain
from miscal.study.figures.figure import StudyFigure, families_in, keys, marks_in, soft_grid, zero
from miscal.study.methods import methods_of
from miscal.study.tables import Tables
from miscal.synthetic.figures.style import panels, write
from miscal.synthetic.numbers import count


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw a figure a method, a point a pair."""
    names = []
    for method in methods_of(tables["pairs"]):
        found = heterogeneity_gain(tables["pairs"], tables["corrections"], method)
        if found.points.height:
            names.append(write(_figure(found), folder, f"gains-{method}"))
    return names


def _figure(found: HeterogeneityGain) -> Figure:
    figure, grid = panels(1, 1, width=6.4, height=3.7)
    axes, points = grid[0, 0], found.points
    zero(axes)
    soft_grid(axes)
    families, marks = families_in(points), marks_in(points)
    for row in points.iter_rows(named=True):
        axes.plot(row["delta_std"], row["gain"], marks[row["dataset"]], color=families[row["family"]], ms=6.5,
                  mec="white", mew=0.7)  # fmt: skip
    axes.set_xlabel("standard deviation of the field")
    axes.set_ylabel("smECE(isotonic) \u2212 smECE(local)")
    axes.set_xlim(0.0, 1.1 * max(0.05, *points["delta_std"].to_list()))
    rho = found.association
    pairs = count(rho.n, "pair")
    axes.set_title(f"{pairs}: too few for a rank correlation" if rho.value is None else f"Spearman {rho.text}, {pairs}")
    keys(figure, families, marks)
    return figure


FIGURE = StudyFigure(
    name="gains",
    title="Where the local correction gains most",
    place="figure 7a",
    lesson="Above the line, the local correction leaves less calibration error (smECE) on the worst slice than "
    "isotonic regression, which sees the confidence alone. If points rise to the right, the gain is larger where the "
    "field varies more. The interval presumes that pairs are independent; those of one model or one data set are not "
    "quite.",
    draw=draw,
)
