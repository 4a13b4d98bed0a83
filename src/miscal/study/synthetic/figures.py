"""Figures of the experiments: fields and reliability at the test rows, and recovery and choice over the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from miscal.calibration.metrics.curve import reliability_curve
from miscal.calibration.metrics.smooth import smece
from miscal.study.drawing import (
    INK,
    MUTED,
    OKABE_ITO,
    OVER,
    UNDER,
    field_bar,
    field_points,
    heat_map,
    panel_figure,
    panels,
    reliability_diagram,
)
from miscal.study.synthetic.experiments import Record

_CLUSTERS = (("shifted down", OVER), ("calibrated", OKABE_ITO[2]), ("shifted up", UNDER))
_BINS, _ROWS_PER_BIN = 10, 25
_MOST_PATHS = 3_000
"""Thousands of paths would make a file large and slow to show."""

_MARKERS = "osD^vP*X"
_MOST_PANELS = 5
_DASHES = {"dashed": (0, (5, 3)), "dotted": (0, (1, 2))}

# --- test rows ----------------------------------------------------------------------------------------------------


def true_and_estimated(records: list[Record]) -> Figure:
    """Test rows at their place, coloured by the true field and by each method's estimate."""
    figure, grid = panels(1, 1 + len(records), width=2.9, height=2.9, sharex=True, sharey=True)
    limit = float(np.abs(records[0]["rows"]["true_delta"]).max())
    shown = [("true field", records[0], "true_delta")]
    for record in records:
        r = "undefined" if record["r"] is None else f"{record['r']:.3f}"
        shown.append((f"{record['method']}: r = {r}", record, "delta"))
    for axes, (title, record, column) in zip(grid[0], shown, strict=True):
        drawn = _rows(axes, record, ("x_0", "x_1"), column, limit)
        axes.set(title=title, xlabel="first input", aspect="equal" if record["world"] == "sinusoid" else "auto")
    grid[0, 0].set_ylabel("second input")
    field_bar(figure, drawn, grid[0], "over-confident", "under-confident")
    return figure


def reliability(record: Record) -> Figure:
    """Reliability diagram of all test rows, and of each planted cluster."""
    titles = {None: "all rows"} | {place: f"cluster {name}" for place, (name, _) in enumerate(_CLUSTERS)}
    return panel_figure(
        titles, partial(_reliability, record), width=2.35, height=3.0, legend=False, left={"ylabel": "accuracy"},
        sharex=True, sharey=True,
    )  # fmt: skip


def hidden_regimes(record: Record) -> Figure:
    """Figure 1 of the paper: the reliability diagram of all test rows, and the same rows in the learned geometry."""
    figure, ((left, right),) = panels(1, 2, width=3.4, height=3.2)
    left.set_title("by confidence alone")
    _reliability(record, left)
    left.set_ylabel("accuracy")
    limit = max(float(np.abs(record["rows"]["delta"]).max()), 1e-9)
    drawn = _rows(right, record, ("phi_0", "phi_1"), "delta", limit)
    right.set(title=f"in the learned geometry\nmethod {record['method']}", xticks=[], yticks=[])
    right.set_xlabel("main directions of the learned coordinates")
    field_bar(figure, drawn, [right], "over-confident", "under-confident")
    return figure


def _rows(axes: Axes, record: Record, place: tuple[str, str], column: str, limit: float):
    x, y, delta = (np.array(record["rows"][name]) for name in (*place, column))
    return field_points(axes, x, y, delta, limit, s=9, rasterized=len(delta) > _MOST_PATHS)


def _reliability(record: Record, axes: Axes, cluster: int | None = None) -> None:
    """Draw a reliability diagram, and add the calibration error to the title."""
    y, f = (np.array(record["rows"][name]) for name in ("correct", "confidence"))
    if cluster is not None:
        inside = np.array(record["rows"]["cluster"]) == cluster
        y, f = y[inside], f[inside]
    curve = None
    if len(y):
        found = reliability_curve(y, f, n_bins=int(np.clip(len(y) // _ROWS_PER_BIN, 2, _BINS)))
        curve = {name: getattr(found, name) for name in ("confidence", "accuracy", "low", "high")}
        axes.set_title(f"{axes.get_title(loc='left')}\nsmECE {smece(y, f):.3f}, {len(y):,} rows")
    reliability_diagram(axes, curve, INK if cluster is None else _CLUSTERS[cluster][1])
    axes.set_xlabel("confidence")


# --- settings -----------------------------------------------------------------------------------------------------


def over_settings(shown: Mapping[str, tuple[pl.DataFrame, str]], label: str, **options) -> Figure:
    """Draw means of a column over (A, k) as heat maps, a panel for each title, with its table and the column."""
    tables = pl.concat(table.select("amplitude", "frequency") for table, _ in shown.values())
    amplitudes, frequencies = levels(tables, "amplitude"), levels(tables, "frequency")

    def draw(axes: Axes, title: str) -> None:
        table, value = shown[title]
        values = _cross(table, "amplitude", amplitudes, "frequency", frequencies, value)
        heat_map(axes, values, [f"{a:g}" for a in amplitudes], [f"{k:g}" for k in frequencies], **options)
        axes.set_xlabel("frequency k")

    titles = {title: title for title in list(shown)[:_MOST_PANELS]}
    left = {"ylabel": "amplitude A"}
    figure = panel_figure(titles, draw, columns=_MOST_PANELS, width=3.0, height=2.7, left=left, legend=False)
    _bar(figure, label)
    return figure


def capacity(table: pl.DataFrame) -> Figure:
    """Mean r of residual regression against capacity at the largest A, one line a frequency; dashed: the method."""
    strongest = table.filter(pl.col("amplitude") == pl.col("amplitude").max())
    figure, [[axes]] = panels(1, 1, width=6.4, height=3.6)
    sizes = strongest.select("parameters", "layers", "width").unique().sort("parameters")
    places = {count: place for place, count in enumerate(sizes["parameters"])}
    besides = strongest["beside"].unique(maintain_order=True).to_list()
    for i, k in enumerate(levels(strongest, "frequency")):
        colour, own = OKABE_ITO[i % len(OKABE_ITO)], strongest.filter(frequency=k)
        found = own.group_by("parameters").agg(pl.col("r").fill_null(0).mean()).sort("parameters")
        x = [places[count] for count in found["parameters"]]
        axes.plot(x, found["r"], color=colour, marker=_MARKERS[i % len(_MARKERS)], ms=5, lw=1.4, label=f"k = {k:g}")
        for dashes, name in zip(_DASHES.values(), besides, strict=False):
            height = own.filter(beside=name)["beside_r"].fill_null(0).mean()
            axes.axhline(float(height), color=colour, lw=1.1, ls=dashes, alpha=0.85)
    in_short = lambda n: f"{n:,}" if n < 10_000 else f"{n / 1e3:,.0f} k" if n < 10**6 else f"{n / 1e6:.1f} M"  # noqa: E731
    names = [f"{a} x {b:,}\n{in_short(n)}" for n, a, b in sizes.iter_rows()]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.3, len(names) - 0.7)
    axes.axhline(0, color=MUTED, lw=0.6)
    axes.set(xlabel="hidden layers x width, parameters", ylabel="correlation with the true field")
    axes.set_ylim(min(-0.1, float(strongest["r"].fill_null(0).min()) - 0.05), 1.02)
    beside = ", ".join(f"{word}: {name}" for word, name in zip(_DASHES, besides, strict=False))
    axes.set_title(f"A = {strongest['amplitude'][0]:g}; {beside}, same rows")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def interaction(table: pl.DataFrame, frequency: float, name: str = "r") -> Figure:
    """Mean r over the grid of (sigma, lambda), a panel an amplitude; outlined: best r and smallest proxy.

    `table` is that of candidates; `name` is "r", by the epoch of the smallest proxy, or "loss_r", by that of the lowest
    validation loss.
    """
    own = table.filter(frequency=frequency, method="paper")
    sigmas, lambdas = levels(own, "sigma"), levels(own, "lambda")

    def draw(axes: Axes, amplitude: float) -> None:
        here = own.filter(amplitude=amplitude)
        found, proxy = (_cross(here, "sigma", sigmas, "lambda", lambdas, what) for what in (name, "proxy"))
        heat_map(axes, found, [f"{s:g}" for s in sigmas], [brief(x) for x in lambdas])
        _outline(axes, np.unravel_index(np.argmin(proxy), proxy.shape), OKABE_ITO[3], (0, (2, 1.5)), 0.0)
        _outline(axes, np.unravel_index(np.argmax(found), found.shape), INK, "-", 0.06)
        axes.set_xlabel("lambda")

    titles = {amplitude: f"A = {amplitude:g}" for amplitude in levels(own, "amplitude")}
    figure = panel_figure(titles, draw, columns=3, width=2.5, height=2.9, left={"ylabel": "sigma"}, legend=False)
    _bar(figure, f"correlation, k = {frequency:g}")
    return figure


def proxy_against_oracle(table: pl.DataFrame) -> Figure:
    """Rank correlation against regret, and oracle spread against rank correlation; a point a setting and seed."""
    figure, ((left, right),) = panels(1, 2, width=3.4, height=3.2)
    for i, (method, own) in enumerate(by(table.drop_nulls("spearman"), "method").items()):
        drawn = {"color": OKABE_ITO[i], "marker": _MARKERS[i], "s": 26, "alpha": 0.75, "linewidths": 0}
        left.scatter(own["spearman"], own["regret"], label=method, **drawn)
        right.scatter(own["spread"], own["spearman"], label=method, **drawn)
    left.set(xlabel="Spearman, negated criterion and recovery", ylabel="regret", title="rank agreement and regret")
    right.set(xlabel="oracle spread", ylabel="Spearman", title="oracle spread and rank agreement")
    for axes in (left, right):
        axes.grid(visible=True)
        axes.set_axisbelow(True)
        axes.locator_params(axis="x", nbins=5)
    if table["method"].n_unique() > 1:
        right.legend(loc="best")
    return figure


def levels(table: pl.DataFrame, column: str) -> list[float]:
    """Different values of a column, sorted."""
    return sorted(table[column].unique().to_list())


def by(table: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    """Rows by the value of a column, in the order of the table."""
    return {str(name): own for (name,), own in table.group_by(column, maintain_order=True)}


def _cross(table: pl.DataFrame, rows: str, row_levels, columns: str, column_levels, value: str) -> np.ndarray:
    """Mean of a column over seeds, (rows, columns); an undefined r counts as 0, what is missing is NaN."""
    filled = table.with_columns(pl.col(value).fill_null(0.0)) if value in ("r", "loss_r", "beside_r") else table
    means = filled.group_by(rows, columns).agg(pl.col(value).mean().fill_null(np.nan)).rows_by_key([rows, columns])
    found = [[means.get((a, b), [(np.nan,)])[0][0] for b in column_levels] for a in row_levels]
    return np.array(found, dtype=np.float64)


def _bar(figure: Figure, label: str) -> None:
    images = [image for axes in figure.axes for image in axes.images]
    bar = figure.colorbar(images[-1], ax=figure.axes, shrink=0.85, pad=0.015)
    bar.set_label(label, color=MUTED)
    bar.outline.set_visible(False)


def _outline(axes: Axes, place: Sequence[int], colour: str, style, inset: float) -> None:
    i, j = place
    size = 1 - 2 * inset
    # white underneath, so that it stands out on any colour
    for line in ({"ec": "white", "lw": 3.2}, {"ec": colour, "lw": 1.6, "ls": style}):
        corner = (j - 0.5 + inset, i - 0.5 + inset)
        axes.add_patch(Rectangle(corner, size, size, fill=False, clip_on=False, zorder=5, **line))


def brief(value: float) -> str:
    """Short form of a setting.

    Examples
    --------
    >>> brief(0.0001), brief(0.01), brief(3.0)
    ('1e-4', '0.01', '3')
    """
    return f"{value:.0e}".replace("e-0", "e-") if 0 < value < 0.005 else f"{value:g}"
