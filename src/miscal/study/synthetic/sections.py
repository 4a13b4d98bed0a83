"""What the page says of each experiment: numbers by group, drawings, and the paper's result beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy import stats

from miscal.calibration.metrics.curve import reliability_curve
from miscal.calibration.metrics.smooth import smece
from miscal.report.formatting import DASH, metric
from miscal.study import drawing
from miscal.study.drawing import INK, LOSS, MUTED, OKABE_ITO, OVER, UNDER
from miscal.study.synthetic.experiments import Record, candidates, choices, recovery, regressions, test_rows

# --- the paper's numbers (arXiv 2605.13484, version 1), and where they stand -----------------------------------------

SOURCE = "arXiv 2605.13484"

CLUSTERS_R = 0.95
"""Test correlation on the three clusters: section 5.1 and appendix, 'Clustered Miscalibration Regimes'."""

MEDIAN_REGRET = 0.008
"""Median over the 25 settings: section 5.1, 'Proxy-based hyperparameter selection'."""

SAID = {
    "clusters": "The paper reports a test correlation of 0.95 with the true field (section 5.1), a global reliability "
    "diagram near the diagonal, and errors of opposite sign within the clusters.",
    "sinusoid": "The paper shows its correlations over (A, k) as a figure without numbers: high over most settings, "
    "falling as k grows and A shrinks, and still clearly positive in the hardest.",
    "interaction": "The paper's figure (k = 3) finds small bandwidths (0.05, 0.1) unstable where lambda is 1e-4 or "
    "less, the best results at lambda between 1e-3 and 1e-2 for weak and moderate signals, and large bandwidths "
    "indifferent to lambda.",
    "selection": "The paper reports a median regret of 0.008 over its 25 settings, larger regret mostly at A = 0.2, "
    "and less rank agreement where the oracle spread is small.",
    "resreg": "In the paper residual regression does well at k = 1 and 2, struggles from k = 3 at any capacity, and is "
    "near zero at k = 4 and 5 even with 3 x 1024 and 300 epochs, where the kernel stays strong.",
}  # fmt: skip
"""What the paper says of each experiment, in our words."""


# --- sections ---------------------------------------------------------------------------------------------------------

Section = dict[str, Any]
"""What is said of an experiment: `found` here, `drawings`, a table to read (`shown`), `tables` to keep, and `notes`.

A drawing is its name, a caption that also serves those who cannot see it, and its figure.
"""

FEWEST_CHOICES = 5
"""Choices from which on their rank correlations are shown."""

EPOCHS = {
    "loss_r": "weights of the epoch with the lowest validation loss, as in the paper's figure",
    "r": "weights of the epoch with the smallest proxy, as in the estimator",
}
"""Column of r by the epoch that was kept, in words."""

_PLACE = {"A": "amplitude", "k": "frequency"}
_R, _SEEDS = pl.col("r").fill_null(0.0), pl.col("seed").n_unique()
_UNDEFINED = "A constant field has no r: it is a dash in the table, and counts as 0 in means."


def means(table: pl.DataFrame, places: dict[str, str], values: dict[str, str]) -> pl.DataFrame:
    """Average columns over seeds by place, both given as {head: column}; an undefined r counts as 0."""
    filled = table.with_columns(pl.col("^(beside_|chosen_)?r$").fill_null(0.0))
    found = filled.group_by(list(places.values()), maintain_order=True).agg(pl.col(*values.values()).mean())
    return found.select(pl.col(column).alias(head) for head, column in (places | values).items())


def clusters(records: Sequence[Record]) -> Section:
    """Three clusters: recovery, and what a global reliability diagram hides."""
    table, first = recovery(records), _first_seed(records)
    values = {"r": _R.mean(), "lowest r": _R.min(), "highest r": _R.max(), "published r": pl.lit(CLUSTERS_R)}
    values |= {"error": pl.col("rmse").mean(), "seeds": _SEEDS}
    found = table.group_by("method", maintain_order=True).agg(**values)
    drawings = [
        ("clusters-field", "Test rows of seed 0 at their place, coloured by the true and the estimated field.",
                true_and_estimated(first)),
        ("clusters-reliability", "Reliability of the raw confidence on the test rows of seed 0: opposite errors "
                "of the clusters cancel in the diagram of all rows.", reliability(first[0])),
        ("clusters-hidden", "The paper's figure 1 in our colours: judged by the confidence alone, the test rows "
                "of seed 0 seem nearly calibrated; the learned geometry sets the clusters apart.",
                hidden_regimes(first[0])),
    ]  # fmt: skip
    shown = table.select("method", "seed", "r", error="rmse")
    kept = {"clusters": table, "clusters-rows": test_rows(records)}
    return Section(found=found, drawings=drawings, shown=shown, tables=kept, notes=_UNDEFINED)


def sinusoid(records: Sequence[Record]) -> Section:
    """Sinusoid: recovery over (A, k), beside what is possible with the coordinate known."""
    table, first = recovery(records), _first_seed(records)
    below, worst = pl.col("limit") - _R, _R.arg_min()
    values = {"mean r": _R.mean(), "lowest r": _R.min()}
    values |= {f"at {head}": pl.col(column).get(worst) for head, column in _PLACE.items()}
    values |= {"below the limit": below.mean(), "at most": below.max(), "constant fields": pl.col("r").null_count()}
    settings = pl.struct("amplitude", "frequency").n_unique()
    found = table.group_by("method", maintain_order=True).agg(**values, settings=settings, seeds=_SEEDS)
    limited = {method: (own, "r") for method, own in by(table, "method").items()}
    limited["limit: coordinate known"] = table, "limit"
    places = [(x["amplitude"], x["frequency"]) for x in first]
    a, k = min(places, key=lambda at: abs(at[0] - 0.6) + abs(at[1] - 3))
    illustrated = [x for x, place in zip(first, places, strict=True) if place == (a, k)]
    drawings = [
        ("sinusoid-recovery", "Correlation with the true field on test rows, mean over seeds.",
                over_settings(limited, "correlation with the true field")),
        ("sinusoid-field", f"Test rows of seed 0 at A = {a:g}, k = {k:g}, coloured by the true and the "
                "estimated field; the paper shows A = 0.6, k = 3.", true_and_estimated(illustrated)),
    ]  # fmt: skip
    notes = (
        "The limit smooths the same train and validation rows in log-odds along the true coordinate, which no method "
        f"is told, with the bandwidth that is best in hindsight. {_UNDEFINED}"
    )
    shown = means(table, {"method": "method", **_PLACE}, {"r": "r", "limit": "limit", "error": "rmse"})
    return Section(found=found, drawings=drawings, shown=shown, tables={"sinusoid": table}, notes=notes)


def interaction(records: Sequence[Record]) -> Section:
    """Sigma against lambda at one frequency and several amplitudes."""
    table = candidates(records)
    mean = table.group_by("frequency", "amplitude", "sigma", "lambda", maintain_order=True).agg(
        pl.col("r", "loss_r").fill_null(0).mean(), pl.col("proxy").mean()
    )
    mean = mean.sort("frequency", "amplitude", "sigma", "lambda")
    best, chosen, wide = pl.col("r").arg_max(), pl.col("proxy").arg_min(), pl.col("sigma") == pl.col("sigma").max()
    span = pl.col("r", "loss_r").filter(wide)
    found = mean.group_by("frequency", "amplitude", maintain_order=True).agg(
        *(pl.col(name).get(best).alias(f"best {name}") for name in ("r", "sigma", "lambda")),
        *(pl.col(name).get(chosen).alias(f"proxy's {name}") for name in ("r", "sigma", "lambda")),
        pl.col("loss_r").max().alias("best by loss"),
        (span.max() - span.min()).name.map({"r": "span", "loss_r": "span by loss"}.get),
    )
    small = mean.filter(pl.col("sigma") <= 0.1)
    shown = small.group_by("frequency", "amplitude", "lambda").agg(pl.col("r", "loss_r").mean())
    named, words = {"k": "frequency", "A": "amplitude"}, {"r of sigma up to 0.1": "r", "by loss": "loss_r"}
    drawings = [
        (f"interaction-k{k:g}-{name.replace('_', '-')}", f"Correlation with the true field at k = {k:g}, "
                f"{epoch}, mean over seeds. Solid outline: best correlation; dashed: smallest proxy.",
                over_grid(table, k, name))
        for k in levels(table, "frequency") for name, epoch in EPOCHS.items()
    ]  # fmt: skip
    notes = (
        f"By loss: {EPOCHS['loss_r']}; else {EPOCHS['r']}. The span is how far r of the widest bandwidth differs over "
        "lambda."
    )
    shown = means(shown.sort("frequency", "amplitude", "lambda"), named | {"lambda": "lambda"}, words)
    found = found.rename({column: head for head, column in named.items()})
    return Section(found=found, drawings=drawings, shown=shown, tables={"interaction": table}, notes=notes)


def selection(records: Sequence[Record]) -> Section:
    """Choice without the truth: proxy (paper) or out-of-fold log loss (auto) against the oracle."""
    table = choices(records)
    regret, spearman, spread = (pl.col(name) for name in ("regret", "spearman", "spread"))
    by_setting = table.group_by("method", "amplitude", "frequency").agg(regret.mean())
    medians = by_setting.group_by("method").agg(regret.median(), largest=regret.max())
    own = table.group_by("method", maintain_order=True).agg(
        published=pl.lit(MEDIAN_REGRET), Spearman=spearman.median(), spread=spread.median()
    )
    agreement = pl.DataFrame([{"method": one} | rank_agreement(some) for one, some in by(table, "method").items()])
    found = medians.join(own, on="method", maintain_order="right").join(agreement, on="method", maintain_order="left")
    regrets = {"paper, as published": (table, "paper_regret")} if table["paper_regret"].count() else {}
    regrets |= {f"{method}, ours": (own, "regret") for method, own in by(table, "method").items()}
    drawings = [
        ("selection-regret", "Regret by setting: the paper's published table beside ours, mean over seeds.",
                over_settings(regrets, "regret (colour ends at 0.1)", colours=LOSS, limits=(0.0, 0.1), digits=3)),
        ("selection-proxy", "Left: rank agreement of criterion and recovery against regret. Right: oracle "
                "spread against rank agreement. One point a setting and seed.",
                proxy_against_oracle(table)),
    ]  # fmt: skip
    notes = (
        "Regret, Spearman and spread are medians. The paper's figure 3 claims more rank agreement where the oracle "
        "spread is larger, and less regret with more of it: rho of both, with p, from "
        f"{FEWEST_CHOICES} choices on. For auto the candidates are those of its own table that the fitted model keeps, "
        "and what it returns; the criterion is its out-of-fold log loss. Its regret is not that of the paper's grid: "
        "the candidates differ. A constant field counts as r = 0."
    )
    kept = {"selection": table, "selection-candidates": candidates(records)}
    values = {"Spearman": "spearman", "spread": "spread", "best r": "oracle", "chosen r": "chosen_r",
              "regret": "regret", "paper's regret": "paper_regret"}  # fmt: skip
    shown = means(table, {"method": "method", **_PLACE}, values)
    return Section(found=found, drawings=drawings, shown=shown, tables=kept, notes=notes)


def rank_agreement(choices: pl.DataFrame) -> dict[str, float | None]:
    """Correlate rank agreement with oracle spread and with regret; null of few choices, or where one is constant."""
    known = choices.drop_nulls("spearman")
    constant = any(known[name].n_unique() == 1 for name in ("spearman", "spread", "regret"))
    told = known.height >= FEWEST_CHOICES and not constant
    found: dict[str, float | None] = {}
    for name in ("spread", "regret"):
        rho, p = stats.spearmanr(known[name], known["spearman"]) if told else (None, None)
        found |= {f"rho, {name}": rho and float(rho), f"p, {name}": p and float(p)}
    return found


def resreg(records: Sequence[Record]) -> Section:
    """Residual regression against capacity and (A, k), with a method on the same rows beside it."""
    table = regressions(records)
    every = table.filter(pl.col("parameters") == pl.col("parameters").max())
    name = f"residual regression {every['layers'][0]} x {every['width'][0]:,}"
    beside = {name: (every, "r")} | {method: (own, "beside_r") for method, own in by(every, "beside").items()}
    rows = [
        own.select("amplitude", "frequency", pl.lit(of).alias("of"), r=column) for of, (own, column) in beside.items()
    ]
    strongest = pl.concat(rows).filter(pl.col("amplitude") == pl.col("amplitude").max())
    found = means(strongest.sort("frequency"), {"A": "amplitude", "of": "of", "frequency": "frequency"}, {"r": "r"})
    found = found.with_columns(k=pl.format("r at k = {}", pl.col("frequency").map_elements(brief, pl.String)))
    found = found.pivot(on="k", index=["of", "A"], values="r")
    trained, kept = pl.col("n_epochs"), pl.col("epoch").median().round().cast(pl.Int64)
    values = {"epochs trained, fewest": trained.min(), "most": trained.max(), "kept, median": kept}
    epochs = table.select(of=pl.lit(name), **values)
    drawings = [
        ("resreg-capacity", "Residual regression against capacity at the largest amplitude, mean over seeds.",
                capacity(table)),
        ("resreg-grid", "The largest network over (A, k), and the method on the same rows.",
                over_settings(beside, "correlation with the true field")),
    ]  # fmt: skip
    notes = (
        "Kept is the epoch of smallest validation error. The paper trains 300 epochs and does not say how it stops nor "
        "with what learning rate; ours is among the settings below."
    )
    methods = table["beside"].unique(maintain_order=True).to_list()
    wide = table.with_columns(size=pl.format("{} x {}", "layers", "width")).pivot(
        on="beside", index=["size", "parameters", "amplitude", "frequency", "seed", "r", "epoch"], values="beside_r"
    )
    wide = wide.with_columns(pl.col(methods).fill_null(0.0)).sort("parameters", "amplitude", "frequency")
    places = {"layers x width": "size", "parameters": "parameters", **_PLACE}
    shown = means(wide, places, {"r": "r", "best epoch": "epoch"} | {f"r of {method}": method for method in methods})
    shown = shown.with_columns(pl.col("best epoch").round().cast(pl.Int64))
    found = found.join(epochs, on="of", how="left", maintain_order="left")
    return Section(found=found, drawings=drawings, shown=shown, tables={"resreg": table}, notes=notes)


BUILDERS = {maker.__name__: maker for maker in (clusters, sinusoid, interaction, selection, resreg)}
"""Makers of sections by experiment, in the order of the page."""

TITLES = {
    "clusters": "Three clusters", "sinusoid": "Sinusoid over amplitude and frequency",
    "interaction": "Bandwidth sigma against mass penalty lambda", "selection": "Choosing without the truth",
    "resreg": "Residual regression",
}  # fmt: skip


def _first_seed(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record["seed"] == 0]


# --- for readers --------------------------------------------------------------------------------------------------

_BRIEF = ("A", "k", "sigma", "lambda")


def written(table: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Write the head and the cells of a table for readers; what is undefined is a dash.

    >>> written(pl.DataFrame({"best lambda": [1e-4], "r": [0.5], "seeds": [1200]}))
    (['best lambda', 'r', 'seeds'], [['1e-4', '0.500', '1,200']])
    """
    return table.columns, [[_written(*cell) for cell in row.items()] for row in table.iter_rows(named=True)]


def _written(name: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or DASH
    if name.split()[-1] in _BRIEF:
        return brief(value)
    return metric(value) if isinstance(value, float) else f"{value:,}"


# --- figures ----------------------------------------------------------------------------------------------------------

_CLUSTERS = (("shifted down", OVER), ("calibrated", OKABE_ITO[2]), ("shifted up", UNDER))
_BINS, _ROWS_PER_BIN = 10, 25
_MOST_PATHS = 3_000
"""Thousands of paths would make a file large and slow to show."""

_MARKERS = "osD^vP*X"
_MOST_PANELS = 5
_DASHES = {"dashed": (0, (5, 3)), "dotted": (0, (1, 2))}


def true_and_estimated(records: list[Record]) -> Figure:
    """Test rows at their place, coloured by the true field and by each method's estimate."""
    figure, grid = drawing.panels(1, 1 + len(records), width=2.9, height=2.9, sharex=True, sharey=True)
    limit = float(np.abs(records[0]["rows"]["true_delta"]).max())
    shown = [("true field", records[0], "true_delta")]
    for record in records:
        r = "undefined" if record["r"] is None else f"{record['r']:.3f}"
        shown.append((f"{record['method']}: r = {r}", record, "delta"))
    for axes, (title, record, column) in zip(grid[0], shown, strict=True):
        drawn = _rows(axes, record, ("x_0", "x_1"), column, limit)
        axes.set(title=title, xlabel="first input", aspect="equal" if record["world"] == "sinusoid" else "auto")
    grid[0, 0].set_ylabel("second input")
    drawing.field_bar(figure, drawn, grid[0], "over-confident", "under-confident")
    return figure


def reliability(record: Record) -> Figure:
    """Reliability diagram of all test rows, and of each planted cluster."""
    titles = {None: "all rows"} | {place: f"cluster {name}" for place, (name, _) in enumerate(_CLUSTERS)}
    return drawing.panel_figure(
        titles, partial(_reliability, record), width=2.35, height=3.0, legend=False, left={"ylabel": "accuracy"},
        sharex=True, sharey=True,
    )  # fmt: skip


def hidden_regimes(record: Record) -> Figure:
    """Figure 1 of the paper: the reliability diagram of all test rows, and the same rows in the learned geometry."""
    figure, ((left, right),) = drawing.panels(1, 2, width=3.4, height=3.2)
    left.set_title("by confidence alone")
    _reliability(record, left)
    left.set_ylabel("accuracy")
    limit = max(float(np.abs(record["rows"]["delta"]).max()), 1e-9)
    drawn = _rows(right, record, ("phi_0", "phi_1"), "delta", limit)
    right.set(title=f"in the learned geometry\nmethod {record['method']}", xticks=[], yticks=[])
    right.set_xlabel("main directions of the learned coordinates")
    drawing.field_bar(figure, drawn, [right], "over-confident", "under-confident")
    return figure


def _rows(axes: Axes, record: Record, place: tuple[str, str], column: str, limit: float):
    x, y, delta = (np.array(record["rows"][name]) for name in (*place, column))
    return drawing.field_points(axes, x, y, delta, limit, s=9, rasterized=len(delta) > _MOST_PATHS)


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
    drawing.reliability_diagram(axes, curve, INK if cluster is None else _CLUSTERS[cluster][1])
    axes.set_xlabel("confidence")


def over_settings(shown: Mapping[str, tuple[pl.DataFrame, str]], label: str, **options) -> Figure:
    """Draw means of a column over (A, k) as heat maps, a panel for each title, with its table and the column."""
    tables = pl.concat(table.select("amplitude", "frequency") for table, _ in shown.values())
    amplitudes, frequencies = levels(tables, "amplitude"), levels(tables, "frequency")

    def draw(axes: Axes, title: str) -> None:
        table, value = shown[title]
        values = _cross(table, "amplitude", amplitudes, "frequency", frequencies, value)
        drawing.heat_map(axes, values, [f"{a:g}" for a in amplitudes], [f"{k:g}" for k in frequencies], **options)
        axes.set_xlabel("frequency k")

    titles = {title: title for title in list(shown)[:_MOST_PANELS]}
    left = {"ylabel": "amplitude A"}
    figure = drawing.panel_figure(titles, draw, columns=_MOST_PANELS, width=3.0, height=2.7, left=left, legend=False)
    _bar(figure, label)
    return figure


def capacity(table: pl.DataFrame) -> Figure:
    """Mean r of residual regression against capacity at the largest A, one line a frequency; dashed: the method."""
    strongest = table.filter(pl.col("amplitude") == pl.col("amplitude").max())
    figure, [[axes]] = drawing.panels(1, 1, width=6.4, height=3.6)
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


def over_grid(table: pl.DataFrame, frequency: float, name: str = "r") -> Figure:
    """Mean r over the grid of (sigma, lambda), a panel an amplitude; outlined: best r and smallest proxy.

    `table` is that of candidates; `name` is "r", by the epoch of the smallest proxy, or "loss_r", by that of the lowest
    validation loss.
    """
    own = table.filter(frequency=frequency, method="paper")
    sigmas, lambdas = levels(own, "sigma"), levels(own, "lambda")

    def draw(axes: Axes, amplitude: float) -> None:
        here = own.filter(amplitude=amplitude)
        found, proxy = (_cross(here, "sigma", sigmas, "lambda", lambdas, what) for what in (name, "proxy"))
        drawing.heat_map(axes, found, [f"{s:g}" for s in sigmas], [brief(x) for x in lambdas])
        _outline(axes, np.unravel_index(np.argmin(proxy), proxy.shape), OKABE_ITO[3], (0, (2, 1.5)), 0.0)
        _outline(axes, np.unravel_index(np.argmax(found), found.shape), INK, "-", 0.06)
        axes.set_xlabel("lambda")

    titles = {amplitude: f"A = {amplitude:g}" for amplitude in levels(own, "amplitude")}
    left = {"ylabel": "sigma"}
    figure = drawing.panel_figure(titles, draw, columns=3, width=2.5, height=2.9, left=left, legend=False)
    _bar(figure, f"correlation, k = {frequency:g}")
    return figure


def proxy_against_oracle(table: pl.DataFrame) -> Figure:
    """Rank correlation against regret, and oracle spread against rank correlation; a point a setting and seed."""
    figure, ((left, right),) = drawing.panels(1, 2, width=3.4, height=3.2)
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
