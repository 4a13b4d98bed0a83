"""What draws the figures of a study; order, colours, marks and names are the same in all of them.

Each takes the tables and yields figures with their names; without the rows that it needs it yields none. To add one:
what draws it, here, and its entry in :data:`miscal.study.pages.FIGURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from miscal.base.arrays import counted
from miscal.report.formatting import clean, percent
from miscal.report.frame import PROJECTIONS
from miscal.study import aggregates, drawing
from miscal.study.drawing import INK, MUTED, OKABE_ITO, OVER, RULE, UNDER
from miscal.study.paper import DATASETS, EXAMPLE, GAPS, beside, reproduced
from miscal.study.tables import LEARNED, RAW, REGIONS, Tables, Words, methods_of, of_method, vocabulary_of

Drawn = Iterator[tuple[str, Figure]]


def of_each_method(draw: Callable[[Tables, str], Drawn]) -> Callable[[Tables], Drawn]:
    """Draw for each method; a figure is called by what draws it, the method, and what it yields."""

    @wraps(draw)
    def every(tables: Tables) -> Drawn:
        for method in methods_of(tables["pairs"]):
            for ending, figure in draw(tables, method):
                yield f"{draw.__name__.replace('_', '-')}-{method}{ending}", figure

    return every


CATEGORIES = tuple(OKABE_ITO[i] for i in (2, 4, 1, 6, 5, 7))
"""Colours of families and categories: not those that stand for over- and under-confident."""

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_LONGEST = 30
_WIDEST = 10.8
"""Inches of a figure as wide as the page."""

# --- names, colours and marks -------------------------------------------------------------------------------------


def fitting(name: str, length: int = _LONGEST) -> str:
    """Cut a name to what fits beside an axis, and replace what cannot be printed.

    >>> fitting("a" * 40, 5)
    'aaaa\u2026'
    """
    text = " ".join("".join(c if c.isprintable() and ord(c) < 0x500 else "\ufffd" for c in clean(name)).split())
    return text if len(text) <= length else text[: length - 1] + "\u2026"


def dataset_titles(table: pl.DataFrame) -> dict[str, str]:
    """Return what the data sets of a table are called above a panel: the paper's in its order, then others by name."""
    place = {name: at for at, name in enumerate(DATASETS)}
    held = sorted(set(table["dataset"].to_list()))
    return {name: fitting(name) for name in sorted(held, key=lambda name: place.get(name.lower(), len(place)))}


def families_in(pairs: pl.DataFrame) -> dict[str | None, str]:
    """Return a colour for each family, None included where a pair has none."""
    named = sorted(set(pairs["family"].drop_nulls().to_list()))
    colours = {name: CATEGORIES[i % len(CATEGORIES)] for i, name in enumerate(named)}
    return {**colours, None: MUTED} if pairs["family"].null_count() else dict(colours)


def pair_names(pairs: pl.DataFrame) -> dict[str, str]:
    """Return what the pairs of a table are called beside an axis, by their ids."""
    rows = pairs.unique("pair", maintain_order=True).iter_rows(named=True)
    return {row["pair"]: f"{fitting(row['model'], 24)}, {fitting(row['dataset'], 18)}" for row in rows}


def size_text(billions: float | None) -> str:
    """Write the size of a model.

    >>> size_text(8.0), size_text(1.7), size_text(0.135), size_text(None)
    ('8B', '1.7B', '135M', '')
    """
    if billions is None:
        return ""
    return f"{billions:.3g}B" if billions >= 1 else f"{1000 * billions:.3g}M"


# --- an interval for each pair ------------------------------------------------------------------------------------

_OF_METHOD = {"paper": ("o", 0.16), "auto": ("s", -0.16)}
"""Mark and place above the line of a model."""


def gaps(tables: Tables) -> Drawn:
    """Draw the worst-slice gap of each pair with its interval, by both methods: a panel a data set, a line a model."""
    pairs = beside(tables["pairs"].filter(geometry=LEARNED), tables["pairs"], GAPS)
    models = pairs.unique("model").sort("family", "billions", "model", nulls_last=True)["model"].to_list()
    titles, one, words = dataset_titles(pairs), len(methods_of(pairs)) == 1, vocabulary_of(pairs)

    def draw(axes: Axes, dataset: str) -> None:
        drawing.zero(axes, vertical=True)
        drawing.soft_grid(axes)
        for row in pairs.filter(dataset=dataset).iter_rows(named=True):
            line, (mark, above) = models.index(row["model"]), _OF_METHOD[row["method"]]
            place = line - (0.0 if one else above)
            if row["gap_paper"] is not None:
                axes.plot(row["gap_paper"], line, "D", mfc="none", mec=MUTED, ms=5, mew=1, label="published (table 5a)")
            if row["gap"] is None:
                axes.plot(0.0, place, "|", color=MUTED, ms=6, label="no slice has enough rows")
                continue
            colour = {"over": OVER, "under": UNDER}[row["worst"]]
            low, high = row["gap_interval_low"], row["gap_interval_high"]
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=colour, lw=1.3, zorder=1.5)
            fill = colour if low is not None and low > 0 else "white"
            axes.plot(row["gap"], place, mark, color=colour, mfc=fill, ms=4.5)
            # the key shows them filled, whichever comes first
            label = f"{row['method']}: worst slice {words[row['worst']]}"
            axes.plot([], [], mark, color=colour, ms=4.5, label=label)
        axes.set_xlabel("smECE gap")
        axes.set_yticks(range(len(models)), [fitting(name, 24) for name in models])
        axes.set_ylim(len(models) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)

    if titles:
        wide, more = (5.2, 0.9) if len(titles) == 1 else (2.6, 0.0)
        height = 1.3 + 0.3 * len(models) + more
        yield "gaps", drawing.panel_figure(titles, draw, width=wide, height=height, sharex=True, sharey=True)


# --- a point for each pair ----------------------------------------------------------------------------------------


@of_each_method
def fields(tables: Tables, method: str) -> Drawn:
    """Draw mean against standard deviation of the field, a point a pair; a second figure writes sizes."""
    pairs = of_method(tables["pairs"], method, LEARNED).drop_nulls(["delta_mean", "delta_std"])
    if pairs.height:
        yield "", _fields({"": pairs}, width=6.4, height=3.8)
        if pairs["billions"].count():
            yield "-sizes", _fields({"": pairs}, width=8.2, height=5.4, labelled=True)


@of_each_method
def raw_fields(tables: Tables, method: str) -> Drawn:
    """Draw the same by the raw inputs and by the learned geometry, on the same axes."""
    known = of_method(tables["pairs"], method).drop_nulls(["delta_mean", "delta_std"])
    both = known.filter(pl.col("geometry").n_unique().over("pair") == 2)
    if both.height:
        shown = {"raw inputs": both.filter(geometry=RAW), "learned geometry": both.filter(geometry=LEARNED)}
        yield "", _fields(shown, width=4.2, height=3.5)


def _fields(shown: Mapping[str, pl.DataFrame], *, width: float, height: float, labelled: bool = False) -> Figure:
    pairs = pl.concat(shown.values())
    figure, grid = drawing.panels(1, len(shown), width=width, height=height, sharex=True, sharey=True)
    words = vocabulary_of(pairs)
    for axes, (title, own) in zip(grid[0], shown.items(), strict=True):
        drawing.zero(axes, vertical=True)
        _points(axes, own, "delta_mean", "delta_std", pairs, labelled=labelled)
        axes.set_title(title)
        axes.set_xlabel(f"mean of the field\n({words['over']} \u2190 0 \u2192 {words['under']})", color=MUTED)
    # a point alone would stand at an arbitrary place
    wide = max(0.05, 1.15 * max(abs(value) for value in pairs["delta_mean"].to_list()))
    high = max(0.05, 1.12 * max(pairs["delta_std"].to_list()))
    grid[0, 0].set(xlim=(-wide, wide), ylim=(0.0, high), ylabel="standard deviation of the field")
    _keys(figure, pairs)
    return figure


@of_each_method
def gains(tables: Tables, method: str) -> Drawn:
    """Draw what a local correction gains over isotonic regression against the field's spread; a point a pair."""
    points, rho = aggregates.heterogeneity_gain(tables["pairs"], tables["corrections"], method)
    if points.is_empty():
        return
    figure, [[axes]] = drawing.panels(1, 1, width=6.4, height=3.7)
    drawing.zero(axes)
    _points(axes, points, "delta_std", "gain", points)
    axes.set_xlabel("standard deviation of the field")
    axes.set_ylabel("smECE(isotonic) \u2212 smECE(local)")
    axes.set_xlim(0.0, 1.1 * max(0.05, *points["delta_std"].to_list()))
    pairs = counted(rho.n, "pair")
    few = f"{pairs}: too few for a rank correlation"
    axes.set_title(few if rho.value is None else f"Spearman {rho.text}, {pairs}")
    _keys(figure, points)
    yield "", figure


def _marks(pairs: pl.DataFrame) -> dict[str, str]:
    return {name: _MARKS[i % len(_MARKS)] for i, name in enumerate(dataset_titles(pairs))}


def _points(axes: Axes, pairs: pl.DataFrame, x: str, y: str, every: pl.DataFrame, *, labelled: bool = False) -> None:
    """Draw a point a pair, coloured by family and marked by data set among `every`; labels are the sizes of models."""
    drawing.soft_grid(axes)
    families, marks = families_in(every), _marks(every)
    for row in pairs.iter_rows(named=True):
        colour, at = families[row["family"]], (row[x], row[y])
        axes.plot(*at, marks[row["dataset"]], color=colour, ms=6.5, mec="white", mew=0.7, alpha=0.9)
        if labelled:
            axes.annotate(size_text(row["billions"]), at, (5, 3), textcoords="offset points", fontsize=7, color=colour)


def _keys(figure: Figure, pairs: pl.DataFrame) -> None:
    """Explain colours and marks at the right of a figure."""
    shown = [("o", colour, fitting(name or "no family")) for name, colour in families_in(pairs).items()]
    shown += [("", MUTED, ""), *((mark, MUTED, fitting(name)) for name, mark in _marks(pairs).items())]
    handles = [Line2D([], [], ls="", marker=mark, color=colour, label=label, ms=6) for mark, colour, label in shown]
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, handletextpad=0.3)


# --- bars ---------------------------------------------------------------------------------------------------------

_BARS = {
    "isotonic": ("isotonic regression", OKABE_ITO[5]),
    "temperature": ("temperature scaling", OKABE_ITO[4]),
    "miscal": ("local correction", OKABE_ITO[2]),
}
_WIDE = 0.26
_GAPS = {
    "gap_clipped_raw": ("raw inputs", MUTED),
    "gap_clipped": ("learned geometry", OKABE_ITO[2]),
    "difference": ("learned \u2212 raw", OKABE_ITO[4]),
}
_BINS = 17
"""An odd number, so that small differences of either sign share the bin in the middle."""


@of_each_method
def improvements(tables: Tables, method: str) -> Drawn:
    """Draw what each correction takes off the calibration error: a panel a data set, three bars a region."""
    every = aggregates.improvements(tables["corrections"], tables["pairs"], method)
    every = every.filter(pl.col("calibrator").is_in(list(_BARS)))

    def draw(axes: Axes, dataset: str) -> None:
        table = every.filter(dataset=dataset)
        drawing.soft_grid(axes, "y")
        drawing.zero(axes)
        for shift, (calibrator, (label, colour)) in enumerate(_BARS.items(), start=-1):
            rows = table.filter(calibrator=calibrator)
            places = [REGIONS.index(region) + shift * _WIDE for region in rows["region"].to_list()]
            axes.bar(places, rows["mean"].to_list(), _WIDE, color=colour, label=label)
            spread = rows["std"].fill_null(0.0).to_list()
            axes.errorbar(places, rows["mean"].to_list(), spread, fmt="none", ecolor=INK, elinewidth=0.8, capsize=0)
        counts, n = dict(table.select("region", "n_pairs").iter_rows()), table["n_all"].max()
        axes.set_xticks(range(4), [f"{region}\n{counts.get(region, 0)} of {n}" for region in REGIONS])
        axes.set_xlim(-0.6, 3.6)
        axes.tick_params(axis="x", length=0)

    if titles := dataset_titles(every):
        left, width = {"ylabel": "smECE taken off"}, 2.7 if len(titles) > 1 else 4.4
        yield "", drawing.panel_figure(titles, draw, width=width, height=2.9, left=left, sharey=True)


@of_each_method
def raw_gaps(tables: Tables, method: str) -> Drawn:
    """Draw histograms of gaps by raw inputs, by the learned geometry, and of their differences."""
    found = aggregates.raw_beside_learned(tables["pairs"], method)
    if found.is_empty():
        return
    highest = max(0.02, float(found.select("gap_clipped_raw", "gap_clipped").to_numpy().max()))

    def draw(axes: Axes, column: str) -> None:
        signed, colour, values = column == "difference", _GAPS[column][1], found[column].to_numpy()
        drawing.soft_grid(axes, "y")
        drawing.zero(axes, vertical=True)
        edges = np.linspace(-highest if signed else 0.0, highest, _BINS + 1)
        counts, _ = np.histogram(values[values != 0.0], edges)
        wide, below = float(edges[1] - edges[0]), int(counts[_BINS // 2]) if signed else 0
        axes.bar(edges[:-1], counts, wide, align="edge", color=colour, edgecolor="white", linewidth=0.5)
        axes.bar(0.0 if signed else -wide / 2, int((values == 0.0).sum()), wide, below, color="white", edgecolor=colour,
                 hatch="////", linewidth=0.8, label=None if signed else "exactly 0")  # fmt: skip
        axes.set_xlim(-highest if signed else -wide, highest)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("difference of these gaps" if signed else "smECE gap, negative ones as 0")

    titles = {
        column: f"{title}: above 0 in {percent((found[column] > 0).mean(), 0)} of {found.height}"
        for column, (title, _) in _GAPS.items()
    }
    yield "", drawing.panel_figure(titles, draw, width=3.4, height=2.7, left={"ylabel": "pairs"}, sharey=True)


# --- lines --------------------------------------------------------------------------------------------------------


def proxies(tables: Tables) -> Drawn:
    """Draw the validation proxy over epochs, on the data and under a null: a panel a pair, a line a refit."""
    first = pl.col("proxy").first().over("pair", "null", "draw")
    curves = tables["proxy_curves"].sort("draw", "epoch", maintain_order=True).with_columns(
        change=pl.col("proxy") - first
    )  # fmt: skip
    for null in tables["proxy_curves"]["null"].unique(maintain_order=True):

        def draw(axes: Axes, pair: str, null: str = null) -> None:
            drawing.soft_grid(axes)
            for (number,), own in curves.filter(pair=pair, null=null).group_by("draw", maintain_order=True):
                # refits are numbered from 0, -1 is the data
                data = number == -1
                colour, kept = INK if data else MUTED, own.filter("chosen")
                axes.plot(own["epoch"], own["change"], color=colour, lw=1.6 if data else 0.7,
                          alpha=1.0 if data else 0.5, zorder=3 if data else 2,
                          label="on the data" if data else "under the null")  # fmt: skip
                axes.plot(kept["epoch"], kept["change"], "o", color=colour, ms=4 if data else 2.5, zorder=4,
                          label="epoch that was kept")  # fmt: skip
            axes.set_xlabel("epoch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))

        names = pair_names(tables["proxy_curves"].filter(null=null))
        left = {"ylabel": "proxy less its first value"}
        figure = drawing.panel_figure(names, draw, columns=3, width=3.4, height=2.5, fontsize=8.5, left=left)
        yield f"proxies-{null}", figure


@of_each_method
def sizes(tables: Tables, method: str) -> Drawn:
    """Draw the standard deviation of the field against the size of the model: a panel a data set, a line a family."""
    every = of_method(tables["pairs"], method, LEARNED).drop_nulls(["billions", "delta_std"])

    def draw(axes: Axes, dataset: str) -> None:
        pairs = every.filter(dataset=dataset)
        axes.set_xscale("log")
        drawing.soft_grid(axes)
        for family, colour in families_in(every).items():
            rows = pairs.filter(pl.col("family").eq_missing(family)).sort("billions")
            # models that share no family are no line
            style = "o-" if family else "o"
            if rows.height:
                axes.plot(rows["billions"], rows["delta_std"], style, color=colour, ms=5, lw=1.3,
                          label=fitting(family or "no family"))  # fmt: skip
        ticks = sorted(set(pairs["billions"].to_list()))
        axes.set_xlim(ticks[0] / 1.4, ticks[-1] * 1.4)
        # what would be printed over the value before it is left out
        shown, span = ticks[:1], max(1.6, (ticks[-1] / ticks[0]) ** 0.17)
        for value in ticks[1:]:
            if value >= shown[-1] * span:
                shown.append(value)
        axes.set_xticks(shown)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(float(value))))
        axes.tick_params(axis="x", labelsize=7.5)
        axes.set_xlabel("parameters")

    if titles := dataset_titles(every):
        left = {"ylabel": "std of the field", "ylim": (0.0, 1.1 * max(0.05, *every["delta_std"].to_list()))}
        yield "", drawing.panel_figure(titles, draw, width=2.6, height=2.7, left=left, sharey=True)


# --- reliability --------------------------------------------------------------------------------------------------


def example(tables: Tables) -> Drawn:
    """Draw the reliability of all rows of a pair, of three values of a metadata column, and of the regimes.

    A figure for each of two columns. The pair is the paper's example where the study has it, else the one with the
    largest gap.
    """
    for method in methods_of(tables["curves"])[:1]:
        pairs = of_method(tables["pairs"], method, LEARNED)
        pairs = pairs.sort("gap_clipped", descending=True, nulls_last=True, maintain_order=True)
        published = [row["pair"] for row in pairs.iter_rows(named=True) if reproduced(row) == EXAMPLE]
        pair = next(iter([*published, *pairs["pair"]]), None)
        curves, regions = (of_method(tables[name], method).filter(pair=pair) for name in ("curves", "regions"))
        columns = [name for name in regions["column"].unique(maintain_order=True) if name != "regime"][:2]
        for place, column in enumerate((columns or [None]) if curves.height else ()):
            figure = _example(curves, regions, column, vocabulary_of(tables["pairs"].filter(pair=pair)))
            figure.suptitle(pair_names(tables["pairs"])[str(pair)], fontsize=9.5, x=0.01, ha="left")
            yield f"example-{place + 1}", figure


def _example(curves: pl.DataFrame, regions: pl.DataFrame, column: str | None, words: Words) -> Figure:
    values = regions.filter(column=column).sort("n", descending=True)["value"].to_list()[:3] if column else []
    named = {(column, value): f"{fitting(str(column), 12)} = {fitting(value, 14)}" for value in values}
    shown = {("regime", "all"): ("all rows", INK)} | {part: (name, OKABE_ITO[2]) for part, name in named.items()}
    shown |= {("regime", "over"): (words["over"], OVER), ("regime", "under"): (words["under"], UNDER)}

    def draw(axes: Axes, part: tuple[str, str]) -> None:
        own, region = (table.filter(column=part[0], value=part[1]) for table in (curves, regions))
        title, colour = shown[part]
        known = {name: own.sort("bin")[name].to_numpy() for name in ("confidence", "accuracy", "low", "high")}
        drawing.reliability_diagram(axes, known if own.height else None, colour)
        axes.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlabel=words["probability"])
        if not own.height:
            axes.text(0.5, 0.5, "too few rows", ha="center", color=MUTED)
        for row in region.head(1).iter_rows(named=True):
            smece = "" if row["smece"] is None else f"smECE {row['smece']:.3f}, "
            title += f"\n{smece}{row['n']:,} rows"
        axes.set_title(title, fontsize=8.5)

    return drawing.panel_figure(
        dict.fromkeys(shown, ""), draw, columns=len(shown), width=_WIDEST / max(len(shown), 4), height=3.0,
        legend=False, left={"ylabel": words["rate"]}, sharex=True, sharey=True,
    )  # fmt: skip


# --- rows in a space ----------------------------------------------------------------------------------------------


@of_each_method
def layouts(tables: Tables, method: str) -> Drawn:
    """Draw raw inputs and learned space side by side, coloured by category and by field, of each interpreted pair."""
    own = of_method(tables["layouts"], method)
    for place, ((pair,), rows) in enumerate(own.group_by("pair", maintain_order=True)):
        yield f"-{place + 1}", _layout(rows, vocabulary_of(tables["pairs"].filter(pair=pair)))


def _layout(rows: pl.DataFrame, words: Words) -> Figure:
    figure, grid = drawing.panels(2, 2, width=3.7, height=3.3)
    limit = max(0.1, float(np.quantile(rows["delta"].abs().to_numpy(), 0.98)))
    colours = colours_of(rows["category"])
    # thousands of paths would make the file large and slow to show
    style = {"s": 5, "rasterized": True}
    for space, title, (upper, lower) in zip(("raw", "learned"), ("raw inputs", "learned space"), grid.T, strict=True):
        some = rows.filter(space=space)
        upper.set_title(f"{title}, by category")
        lower.set_title(f"{title}, by field")
        shade = [colours.get(value, RULE) for value in some["category"].to_list()]
        # the grey ones first, so that they cover nothing
        order = np.argsort([colour != RULE for colour in shade], kind="stable")
        x, y, delta = (some[name].to_numpy() for name in ("x", "y", "delta"))
        upper.scatter(x[order], y[order], color=[shade[i] for i in order], linewidths=0, **style)
        drawn = drawing.field_points(lower, x, y, delta, limit, **style)
        for axes in (upper, lower):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        method = some["layout"][0] if some.height else ""
        lower.set_xlabel(PROJECTIONS.get(method, method))
    if colours:
        marks = [Line2D([], [], ls="", marker="o", ms=4, color=colour) for colour in colours.values()]
        names = ["other" if name is None else fitting(name, 24) for name in colours]
        where = {"loc": "center right", "bbox_to_anchor": (0.0, 0.5)}
        grid[0, 0].legend(marks, names, fontsize=7, handletextpad=0.1, **where)
    drawing.field_bar(figure, drawn, grid[1], words["over"], words["under"], shrink=0.8)
    first = rows.row(0, named=True)
    figure.suptitle(f"{fitting(first['model'])} on {fitting(first['dataset'])}", fontsize=9.5, x=0.01, ha="left")
    return figure


def colours_of(categories: pl.Series) -> dict[str | None, str]:
    """Return a colour for each of the commonest categories, and grey, under None, for the others."""
    known = categories.drop_nulls()
    counts = known.value_counts().sort("count", categories.name, descending=[True, False])
    common = counts[categories.name].head(len(CATEGORIES)).to_list()
    named: dict[str | None, str] = dict(zip(common, CATEGORIES, strict=False))
    return named | {None: RULE} if len(common) < counts.height or categories.null_count() else named
