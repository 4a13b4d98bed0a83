"""How the figures of studies and experiments look, the parts that several of them share, and how they are written."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from miscal.base.files import replace_file
from miscal.report.frame import COLOURS
from miscal.report.frame import FIELD as SHADES

INK, MUTED, RULE = (COLOURS[name][0] for name in ("ink", "muted", "rule"))

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#f0e442")
"""Okabe and Ito's colours for categories."""

OVER, UNDER = OKABE_ITO[3], OKABE_ITO[0]
"""Over- and under-confident, as everywhere in the project."""

FIELD = LinearSegmentedColormap.from_list("field", [COLOURS[name][0] for name in SHADES])
"""Signed values: orange is over-confident, blue under-confident, as in the report."""

RECOVERY, LOSS = "viridis", "cividis_r"
"""Correlations, and values of which small ones are good."""

_RC = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9, "text.color": INK,
    "axes.titlesize": 9.5, "axes.titlelocation": "left", "axes.linewidth": 0.7, "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED, "axes.spines.top": False, "axes.spines.right": False, "xtick.color": MUTED,
    "ytick.color": MUTED, "grid.color": RULE, "grid.linewidth": 0.7, "legend.frameon": False, "figure.dpi": 100,
    "svg.hashsalt": "miscal", "svg.fonttype": "path",
    # names are taken literally: a dollar sign in them starts no formula
    "text.parse_math": False,
}  # fmt: skip
_DPI = 160


@contextmanager
def look() -> Iterator[None]:
    """Draw in the common style, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def write(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as SVG and PNG and return its name; the same figure gives the same bytes."""
    for ending, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": _DPI})):
        content = io.BytesIO()
        figure.savefig(content, format=ending, facecolor="white", **options)
        replace_file(folder / f"{name}.{ending}", content.getvalue())
    return name


# --- panels -------------------------------------------------------------------------------------------------------


def panels(rows: int, columns: int, *, width: float = 2.6, height: float = 2.5, **options) -> tuple[Figure, np.ndarray]:
    """Return a figure with a grid of axes, array (rows, columns), sizes in inches a panel."""
    figure = Figure(figsize=(max(width * columns, 3.2), height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def panel_figure(
    titles: Mapping[Any, str],
    draw: Callable[[Axes, Any], None],
    *,
    columns: int = 4,
    width: float,
    height: float,
    fontsize: float = 9.5,
    left: Mapping[str, Any] | None = None,
    legend: bool = True,
    **options,
) -> Figure:
    """Draw a panel for each key of `titles`.

    `draw` is called with the axes and the key; `columns` stand beside each other at most; `left` is
    set on the panels that stand there. The labels of all panels are explained below the figure.
    """
    columns = min(len(titles), columns)
    figure, grid = panels(math.ceil(len(titles) / columns), columns, width=width, height=height, **options)
    drawn = list(grid.flat[: len(titles)])
    for axes, (key, title) in zip(drawn, titles.items(), strict=True):
        axes.set_title(title, fontsize=fontsize)
        draw(axes, key)
    for axes in drawn[-columns:]:
        # nothing stands below it that could carry the labels
        axes.tick_params(labelbottom=True)
    for axes in grid.flat[len(titles) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set(**left or {})
    if legend:
        legend_below(figure, drawn)
    return figure


def legend_below(figure: Figure, drawn: Sequence[Axes]) -> None:
    """Explain the labels of all panels, each once, below a figure."""
    found = {}
    for axes in drawn:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        # a letter of 8 points is about 0.065 inches wide, and handle and gaps take half an inch
        fit = int(figure.get_figwidth() / (0.5 + 0.065 * max(map(len, found))))
        labels = sorted(found)
        handles = [found[label] for label in labels]
        columns = max(1, min(len(found), fit))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8)


def soft_grid(axes: Axes, axis: str = "both") -> None:
    """Draw faint grid lines behind everything."""
    axes.grid(True, axis=axis, color=RULE, lw=0.6)
    axes.set_axisbelow(True)


def zero(axes: Axes, *, vertical: bool = False) -> None:
    """Draw the line at zero."""
    draw = axes.axvline if vertical else axes.axhline
    draw(0.0, color=MUTED, lw=0.8, zorder=0)


# --- kinds of plot ------------------------------------------------------------------------------------------------


def heat_map(
    axes: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    colours: str = RECOVERY,
    limits: tuple[float, float] = (0.0, 1.0),
    digits: int = 2,
):
    """Draw a table of numbers (rows, columns) as coloured cells that carry their value; NaN is left blank."""
    image = axes.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            text = f"{round(float(value), digits) + 0.0:.{digits}f}".replace("-", "\u2212")
            axes.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if dark else INK)
    return image


def reliability_diagram(axes: Axes, curve: Mapping[str, np.ndarray] | None, colour: str) -> None:
    """Draw a reliability curve, arrays ``confidence``, ``accuracy``, ``low`` and ``high``, beside the diagonal."""
    axes.plot([0, 1], [0, 1], color=MUTED, lw=0.8, ls=(0, (3, 3)))
    if curve is not None:
        accuracy = curve["accuracy"]
        errors = [np.maximum(accuracy - curve["low"], 0), np.maximum(curve["high"] - accuracy, 0)]
        axes.errorbar(curve["confidence"], accuracy, errors, color=colour, fmt="o-", ms=3.5, lw=1, elinewidth=1)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")


def field_points(axes: Axes, x: np.ndarray, y: np.ndarray, delta: np.ndarray, limit: float, **style) -> PathCollection:
    """Draw points coloured by a field, the strongest last; colours end at -limit and limit."""
    order = np.argsort(np.abs(delta), kind="stable")
    return axes.scatter(
        x[order], y[order], c=delta[order], cmap=FIELD, vmin=-limit, vmax=limit, linewidths=0, **style
    )  # fmt: skip


def field_bar(figure: Figure, drawn: PathCollection, axes: Sequence[Axes], over: str, under: str, **options) -> None:
    """Explain the colours of a field at the right of some panels."""
    bar = figure.colorbar(drawn, ax=list(axes), pad=0.02, **options)
    bar.set_label(f"{over} \u2190 field \u2192 {under}", color=MUTED, fontsize=8)
    bar.outline.set_visible(False)
