"""One look for all figures, and how they are written."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from miscal.base.files import replace_file

INK, MUTED, RULE = "#1a1e23", "#5b6570", "#dfe3e7"

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#f0e442")
"""Okabe and Ito's colours for categories."""

FIELD = LinearSegmentedColormap.from_list(
    "field", ["#8c2d04", "#c4500f", "#e58a4b", "#f2c09a", "#e6e7e8", "#a9cbe6", "#5e9dcd", "#2470b2", "#083f7a"]
)
"""Signed values: orange is over-confident, blue under-confident, as in the report."""

RECOVERY, LOSS = "viridis", "cividis_r"
"""Correlations, and values of which small ones are good."""

_RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "svg.hashsalt": "miscal",
    "svg.fonttype": "path",
    "figure.dpi": 100,
}
_DPI = 160


@contextmanager
def look():
    """Draw in the common style, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def panels(rows: int, columns: int, *, width: float = 2.6, height: float = 2.5, **options) -> tuple[Figure, np.ndarray]:
    """Return a figure with a grid of axes, array (rows, columns), sizes in inches a panel."""
    figure = Figure(figsize=(max(width * columns, 3.2), height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


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


def write(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as SVG and PNG; the same figure gives the same bytes.

    Returns
    -------
    str
        Its name.
    """
    for ending, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": _DPI})):
        content = io.BytesIO()
        figure.savefig(content, format=ending, facecolor="white", **options)
        replace_file(folder / f"{name}.{ending}", content.getvalue())
    return name
