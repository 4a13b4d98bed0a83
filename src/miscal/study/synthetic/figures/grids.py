"""Figures over the settings: heat-maps of recovery and regret, proxy against oracle, recovery against capacity."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from miscal.study.synthetic.figures.style import INK, LOSS, MUTED, OKABE_ITO, heat_map, panels
from miscal.study.synthetic.wording import brief

_MARKERS = "osD^vP*X"
_REGRET_LIMIT = 0.1
_MOST_PANELS, _PANELS_A_ROW = 5, 3
_DASHES = {"dashed": (0, (5, 3)), "dotted": (0, (1, 2))}


def recovery(table: pl.DataFrame) -> Figure:
    """Mean r over (A, k) by method, the known-coordinate limit, and how far each method stays below it."""
    methods = table["method"].unique(maintain_order=True).to_list()
    axes = over(table)
    shown = [(m, pivot(table.filter(pl.col("method") == m), "r", *axes)) for m in methods]
    shown.append(("limit: coordinate known", pivot(table, "limit", *axes)))
    return _over_amplitude_and_frequency(shown, table, "correlation with the true field")


def regret(table: pl.DataFrame) -> Figure:
    """Regret over (A, k) by method, and the paper's own."""
    methods = table["method"].unique(maintain_order=True).to_list()
    axes = over(table)
    shown = [(f"{m}, ours", pivot(table.filter(pl.col("method") == m), "regret", *axes)) for m in methods]
    if table["paper_regret"].is_not_null().any():
        shown.insert(0, ("paper, as published", pivot(table, "paper_regret", *axes)))
    options = {"colours": LOSS, "limits": (0.0, _REGRET_LIMIT), "digits": 3}
    return _over_amplitude_and_frequency(shown, table, "regret (colour ends at 0.1)", **options)


def beside_regression(table: pl.DataFrame) -> Figure:
    """Mean r over (A, k) of the largest residual regression, and of the method beside it."""
    largest = table.filter(pl.col("parameters") == pl.col("parameters").max())
    name = f"residual regression {largest['layers'][0]} x {largest['width'][0]:,}"
    axes = over(largest)
    shown = [(name, pivot(largest, "r", *axes))]
    methods = largest["beside"].unique(maintain_order=True).to_list()
    shown += [(m, pivot(largest.filter(pl.col("beside") == m), "beside_r", *axes)) for m in methods]
    return _over_amplitude_and_frequency(shown, largest, "correlation with the true field")


def capacity(table: pl.DataFrame) -> Figure:
    """Mean r of residual regression against capacity at the largest A, one line a frequency; dashed: the method."""
    strongest = table.filter(pl.col("amplitude") == pl.col("amplitude").max())
    figure, grid = panels(1, 1, width=6.4, height=3.6)
    axes: Axes = grid[0, 0]
    sizes = strongest.select("parameters", "layers", "width").unique().sort("parameters")
    places = {count: place for place, count in enumerate(sizes["parameters"])}
    besides = strongest["beside"].unique(maintain_order=True).to_list()
    for i, k in enumerate(levels(strongest, "frequency")):
        colour, own = OKABE_ITO[i % len(OKABE_ITO)], strongest.filter(pl.col("frequency") == k)
        found = own.group_by("parameters").agg(pl.col("r").fill_null(0).mean()).sort("parameters")
        x = [places[count] for count in found["parameters"]]
        axes.plot(x, found["r"], color=colour, marker=_MARKERS[i % len(_MARKERS)], ms=5, lw=1.4, label=f"k = {k:g}")
        for (_, dashes), name in zip(_DASHES.items(), besides, strict=False):
            height = own.filter(pl.col("beside") == name)["beside_r"].fill_null(0).mean()
            axes.axhline(float(height), color=colour, lw=1.1, ls=dashes, alpha=0.85)
    names = [f"{a} x {b:,}\n{_thousands(n)}" for n, a, b in sizes.iter_rows()]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.3, len(names) - 0.7)
    axes.axhline(0, color=MUTED, lw=0.6)
    axes.set_xlabel("hidden layers x width, parameters")
    axes.set_ylabel("correlation with the true field")
    axes.set_ylim(min(-0.1, float(strongest["r"].fill_null(0).min()) - 0.05), 1.02)
    beside = ", ".join(f"{word}: {name}" for word, name in zip(_DASHES, besides, strict=False))
    axes.set_title(f"A = {strongest['amplitude'][0]:g}; {beside}, same rows")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def interaction(table: pl.DataFrame, frequency: float, name: str = "r") -> Figure:
    """Mean r over the grid of (sigma, lambda), a panel an amplitude; outlined: best r and smallest proxy.

    Parameters
    ----------
    table : polars.DataFrame
        Of candidates.
    frequency : float
    name : {"r", "loss_r"}, default "r"
        By the epoch of the smallest proxy, or of the lowest validation loss.
    """
    own = table.filter((pl.col("frequency") == frequency) & (pl.col("method") == "paper"))
    amplitudes = levels(own, "amplitude")
    columns = min(len(amplitudes), _PANELS_A_ROW)
    n_rows = -(-len(amplitudes) // columns)
    figure, grid = panels(n_rows, columns, width=2.5, height=2.9)
    sigmas, lambdas = levels(own, "sigma"), levels(own, "lambda")
    for axes, amplitude in zip(grid.flat, amplitudes, strict=False):
        here = own.filter(pl.col("amplitude") == amplitude)
        found, proxy = (_cross(here, "sigma", sigmas, "lambda", lambdas, what) for what in (name, "proxy"))
        image = heat_map(axes, found, [f"{s:g}" for s in sigmas], [brief(x) for x in lambdas])
        _outline(axes, np.unravel_index(np.argmin(proxy), proxy.shape), OKABE_ITO[3], (0, (2, 1.5)), 0.0)
        _outline(axes, np.unravel_index(np.argmax(found), found.shape), INK, "-", 0.06)
        axes.set_title(f"A = {amplitude:g}")
        axes.set_xlabel("lambda")
    for axes in grid[:, 0]:
        axes.set_ylabel("sigma")
    for axes in grid.flat[len(amplitudes) :]:
        axes.set_visible(False)
    _bar(figure, image, grid, f"correlation, k = {frequency:g}")
    return figure


def proxy_against_oracle(table: pl.DataFrame) -> Figure:
    """Rank correlation against regret, and oracle spread against rank correlation; a point a setting and seed."""
    figure, grid = panels(1, 2, width=3.4, height=3.2)
    left, right = grid[0]
    for i, method in enumerate(table["method"].unique(maintain_order=True).to_list()):
        own = table.filter((pl.col("method") == method) & pl.col("spearman").is_not_null())
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


def over(table: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Amplitudes and frequencies of a table."""
    return levels(table, "amplitude"), levels(table, "frequency")


def pivot(table: pl.DataFrame, value: str, amplitudes: list[float], frequencies: list[float]) -> np.ndarray:
    """Mean of a column over seeds, (amplitudes, frequencies); an undefined r counts as 0, what is missing is NaN."""
    return _cross(table, "amplitude", amplitudes, "frequency", frequencies, value)


def _cross(table: pl.DataFrame, rows: str, row_levels, columns: str, column_levels, value: str) -> np.ndarray:
    filled = table.with_columns(pl.col(value).fill_null(0.0)) if value in ("r", "loss_r", "beside_r") else table
    means = {(a, b): v for a, b, v in filled.group_by(rows, columns).agg(pl.col(value).mean()).iter_rows()}
    found = [[means.get((a, b)) for b in column_levels] for a in row_levels]
    return np.array([[np.nan if v is None else v for v in row] for row in found], dtype=np.float64)


def _over_amplitude_and_frequency(shown: list, table: pl.DataFrame, label: str, **options) -> Figure:
    columns = min(len(shown), _MOST_PANELS)
    figure, grid = panels(1, columns, width=3.0, height=2.7)
    names = [f"{a:g}" for a in levels(table, "amplitude")], [f"{k:g}" for k in levels(table, "frequency")]
    for axes, (title, values) in zip(grid[0], shown, strict=False):
        image = heat_map(axes, values, *names, **options)
        axes.set_title(title)
        axes.set_xlabel("frequency k")
    grid[0, 0].set_ylabel("amplitude A")
    _bar(figure, image, grid, label)
    return figure


def _bar(figure: Figure, image, grid: np.ndarray, label: str) -> None:
    bar = figure.colorbar(image, ax=list(grid.flat), shrink=0.85, pad=0.015)
    bar.set_label(label, color=MUTED)
    bar.outline.set_visible(False)


def _outline(axes: Axes, place, colour: str, style, inset: float) -> None:
    i, j = place
    size = 1 - 2 * inset
    corner = (j - 0.5 + inset, i - 0.5 + inset)
    # white underneath, so that it stands out on any colour
    for line in ({"ec": "white", "lw": 3.2}, {"ec": colour, "lw": 1.6, "ls": style}):
        axes.add_patch(Rectangle(corner, size, size, fill=False, clip_on=False, zorder=5, **line))


def _thousands(count: int) -> str:
    return f"{count:,}" if count < 10_000 else f"{count / 1e3:,.0f} k" if count < 10**6 else f"{count / 1e6:.1f} M"
