"""True against estimated field, and reliability of all rows against that of each cluster."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from miscal.calibration.metrics import reliability_curve, smece
from miscal.study.synthetic.cells import Record
from miscal.study.synthetic.figures.style import FIELD, INK, MUTED, OKABE_ITO, panels

CLUSTERS = ("shifted down", "calibrated", "shifted up")
_BINS, _ROWS_PER_BIN = 10, 25
_MOST_PATHS = 3_000


def true_and_estimated(records: list[Record]) -> Figure:
    """Test rows at their place, coloured by the true field and by each method's estimate."""
    figure, grid = panels(1, 1 + len(records), width=2.9, height=2.9, sharex=True, sharey=True)
    limit = float(np.abs(records[0].rows["true_delta"]).max())
    shown = [("true field", records[0], "true_delta")]
    shown += [
        (f"{x.cell.method}: r = {'undefined' if x.r is None else format(x.r, '.3f')}", x, "delta") for x in records
    ]
    for axes, (title, record, column) in zip(grid[0], shown, strict=True):
        values = np.array(record.rows[column])
        order = np.argsort(np.abs(values))
        x, y = (np.array(record.rows[name])[order] for name in ("x_0", "x_1"))
        drawn = axes.scatter(x, y, c=values[order], cmap=FIELD, vmin=-limit, vmax=limit, s=9, linewidths=0)
        # thousands of paths would make the file large and slow to show
        drawn.set_rasterized(len(values) > _MOST_PATHS)
        axes.set_title(title)
        axes.set_xlabel("first input")
        axes.set_aspect("equal" if record.cell.world == "sinusoid" else "auto")
    grid[0, 0].set_ylabel("second input")
    _field_bar(figure, drawn, list(grid[0]))
    return figure


def reliability(record: Record) -> Figure:
    """Reliability diagram of all test rows, and of each planted cluster."""
    rows = {name: np.array(values) for name, values in record.rows.items()}
    chosen = [("all rows", np.full(len(rows["correct"]), True), INK)]
    colours = (OKABE_ITO[3], OKABE_ITO[2], OKABE_ITO[0])
    chosen += [(f"cluster {CLUSTERS[c]}", rows["cluster"] == c, colours[c]) for c in range(3)]
    figure, grid = panels(1, 4, width=2.35, height=3.0, sharex=True, sharey=True)
    for axes, (title, inside, colour) in zip(grid[0], chosen, strict=True):
        _diagram(axes, rows["correct"][inside], rows["confidence"][inside], title, colour)
    grid[0, 0].set_ylabel("accuracy")
    return figure


def hidden_regimes(record: Record) -> Figure:
    """Figure 1 of the paper: the reliability diagram of all test rows, and the same rows in the learned geometry."""
    rows = {name: np.array(values) for name, values in record.rows.items()}
    figure, ((left, right),) = panels(1, 2, width=3.4, height=3.2)
    _diagram(left, rows["correct"], rows["confidence"], "by confidence alone", INK)
    left.set_ylabel("accuracy")
    delta = rows["delta"]
    order, limit = np.argsort(np.abs(delta)), max(float(np.abs(delta).max()), 1e-9)
    x, y = (rows[name][order] for name in ("phi_0", "phi_1"))
    drawn = right.scatter(x, y, c=delta[order], cmap=FIELD, vmin=-limit, vmax=limit, s=9, linewidths=0)
    drawn.set_rasterized(len(delta) > _MOST_PATHS)
    right.set(title=f"in the learned geometry\nmethod {record.cell.method}", xticks=[], yticks=[])
    right.set_xlabel("main directions of the learned coordinates")
    _field_bar(figure, drawn, [right])
    return figure


def _diagram(axes: Axes, y: np.ndarray, f: np.ndarray, title: str, colour: str) -> None:
    """Draw a reliability diagram with its calibration error."""
    axes.plot([0, 1], [0, 1], color=MUTED, lw=0.8, ls=(0, (3, 3)))
    if len(y):
        curve = reliability_curve(y, f, n_bins=int(np.clip(len(y) // _ROWS_PER_BIN, 2, _BINS)))
        errors = [np.maximum(curve.accuracy - curve.low, 0), np.maximum(curve.high - curve.accuracy, 0)]
        axes.errorbar(curve.confidence, curve.accuracy, errors, color=colour, fmt="o-", ms=3.5, lw=1, elinewidth=1)
        title += f"\nsmECE {smece(y, f):.3f}, {len(y):,} rows"
    axes.set_title(title)
    axes.set_xlabel("confidence")
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")


def _field_bar(figure: Figure, drawn: PathCollection, axes: list[Axes]) -> None:
    bar = figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label("over-confident \u2190 field \u2192 under-confident", color=MUTED, fontsize=8)
    bar.outline.set_visible(False)
