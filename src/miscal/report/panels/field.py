"""The field: its map, the size of its errors, its regimes, curves before and after the correction, and periods."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.number_wording import percent
from miscal.base.vocabulary import Vocabulary
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.calibration.metrics.inference import ErrorEstimate, Metric, correction_metrics
from miscal.discovery.summary import PeriodNumbers, Regime, Summary
from miscal.report import formatting, legend
from miscal.report.drawing import (
    GLANCE,
    HIGH,
    LINEAR,
    LOG_ODDS,
    Bar,
    Chart,
    Mark,
    ProbabilityAxes,
    Scale,
    axes_of,
    glance,
    path,
    round_ticks,
    shown_first,
    stacked_bars,
)
from miscal.report.formatting import bounds, brief_points, change, count, metric, points, signed, size
from miscal.report.frame import View, draw
from miscal.report.legend import ALL_ROWS, CORRECTIONS, REGIMES, regime_labels, regime_names, slice_labels
from miscal.report.map_data import examples, map_payload, static_panes
from miscal.report.panels.groups import SHOWN
from miscal.report.sheet import Cell, Column, Fold, Part, Table
from miscal.report.source import Source
from miscal.report.texts import left_out, row_words, slices

#: Regimes from the bottom of a bar to its top.
ORDER = ("good", "over", "under")
#: The same drawing for wide and for narrow screens, so that its letters keep their size.
WIDTHS = {"wide": 660, "narrow": 350}


def histogram(source: Source) -> Fold:
    """Show the histogram in two widths, none where there is nothing to draw, and how much the field varies."""
    found, field = source.summary.histogram, source.summary.field
    edges, counts = found.edges, {kind: getattr(found, kind) for kind in ORDER}
    full = all(len(values) == len(edges) - 1 for values in counts.values())
    rows = sum(sum(values) for values in counts.values()) if full else 0
    drawn = rows and edges[0] < edges[-1]
    plots = [_histogram(edges, counts, *one, source.epsilon or 0.0) for one in WIDTHS.items()] if drawn else []
    body, line = draw(source, "histogram", plots=plots, n=rows, field=field, epsilon=source.epsilon), ""
    if field.std is None or field.std_hidden is None:
        line = "How the estimated errors are spread"
    else:
        whole, hidden = (size(one, source.decimals) for one in (field.std, field.std_hidden))
        line = f"They vary by {whole} points, the hidden part by {hidden}"
    return Fold("histogram", "Size of the errors", line, [body], _glance(edges, counts) if drawn else None)


def _glance(edges: Sequence[float], counts: Mapping[str, Sequence[int]]) -> Chart:
    """Draw the estimated errors as bars."""
    bars = stacked_bars(
        edges, counts, ("over", "good", "under"), Scale(edges[0], edges[-1], *GLANCE),
        Scale(0, max(map(sum, zip(*counts.values(), strict=True))), HIGH - 3, 3),
    )  # fmt: skip
    lines: dict[str, str] = {}
    for kind, left, top, wide, high in bars:
        stroke = f"M{round(left + wide / 2, 2)} {round(top + high, 2)}V{top}"
        lines[f"bin {kind}"] = lines.get(f"bin {kind}", "") + stroke
    return glance(list(lines.items()))


def _histogram(
    edges: Sequence[float], counts: Mapping[str, Sequence[float]], kind: str, width: int, epsilon: float
) -> tuple[Chart, list[Bar]]:
    highest = max(map(sum, zip(*counts.values(), strict=True)))
    x, y = Scale(edges[0], edges[-1], 46, width - 12), Scale(0.0, highest, 200.0, 26.0)
    ends = [x(value) for value in (-epsilon, epsilon) if value and edges[0] < value < edges[-1]]
    chart = Chart(
        *(width, 246, x, y),
        x_ticks=[(x(v), points(v, 0), "middle") for v in round_ticks(edges[0], edges[-1], width // 80)],
        y_ticks=[(y(v), f"{v:,.0f}") for v in round_ticks(0, highest, 4) if v == int(v)],
        marks=(),
        lines=[("threshold", f"M{at} 20V200") for at in ends],
        titles=("estimated field, percentage points", ""),
        style=f"histogram {kind}",
    )
    return chart, stacked_bars(edges, counts, ORDER, x, y)


def atlas(source: Source) -> Fold:
    """Show the rows by the page's program, the drawing for print, and how many rows of how many are shown."""
    payload, n_total = map_payload(source), source.summary.map.n_total if source.summary.map else 0
    first, n = payload["first"], payload["n"]
    body = draw(
        source, "atlas", payload=payload, panes=static_panes(payload) if n else [], total=n_total or source.summary.n,
        structure=source.summary.field.structure, shades=legend.FIELD,
        # what the drawing is coloured by, where its scale ends, and what both ends mean
        field_name=legend.FIELD_NAMES[first].lower(), limit=payload["limits"][first],
        ends=legend.field_ends(first, source.terms),
    )  # fmt: skip
    line = f"{count(n)} of {count(max(n, n_total))} rows to point at and colour"
    return Fold("atlas", "Map", line if n else "The run left no rows to show", [body])


def regimes(source: Source) -> Fold:
    """Show a line per regime that has rows, after one for all rows; and one per regime of the hidden field."""
    summary, names, terms = source.summary, source.regime_names, source.terms
    axes, whole = axes_of(summary), slices(summary)
    filled = [(names.get(one.name, one.name), _measured(one)) for one in _filled(summary.regimes)]
    rows = [
        _row(label, one, one.confidence, one.residual, axes) for label, one in [(ALL_ROWS, _all_rows(summary)), *filled]
    ]
    hidden = [_hidden_row(regime, source, axes) for regime in _filled(summary.hidden_regimes)]
    found = {one.name for _, one in filled}
    body = draw(
        source, "regimes", rows=rows, hidden_rows=hidden, parts=any(one.visible is not None for _, one in filled),
        contents=_contents(source), gap=summary.gap,
        missing=[label.lower() for name, label in names.items() if name not in found],
        nowhere=not found & {"over", "under"}, whole_share=whole.share, epsilon=source.epsilon,
        whole=names[whole.whole].lower() if whole.whole in ("over", "under") else "",
        unsupported=summary.field.share_unsupported,
        # regimes share all rows among them where no row is left to the global map
        kept=sum(regime.share for regime in summary.regimes) > 0.9995,
        beyond="far" if source.epsilon is None else f"more than {brief_points(source.epsilon)}",
        worst=terms.regime(summary.gap.worst) if summary.gap.worst else "worse",
    )  # fmt: skip
    shares = [f"{names.get(one.name, one.name)} {percent(one.share)}" for one in summary.regimes if one.n]
    title = f"Where {terms.judged} {terms.over_and_under}"
    return Fold("regimes", title, ", ".join(shares) or "No rows to measure", [body])


def _contents(source: Source) -> list[tuple[Any, ...]]:
    """Return of each regime what it is called, which values and words are enriched in it, and typical rows."""
    filled = [one for one in _filled(source.summary.regimes) if one.exemplars]
    typical = examples(source, [one.exemplars for one in filled])
    return [
        (
            source.regime_names.get(one.name, one.name),
            [f"{item.words} ({item.lift:.1f} times)" for item in one.metadata],
            list(one.keywords),
            rows,
        )
        for one, rows in zip(filled, typical, strict=True)
    ]


def _filled(regimes: tuple[Regime, ...]) -> list[Regime]:
    order = {name: place for place, name in enumerate(REGIMES)}
    return sorted((regime for regime in regimes if regime.n), key=lambda one: order.get(one.name, len(order)))


def _measured(regime: Regime) -> Regime:
    """Leave out what so few rows cannot tell."""
    if regime.n >= MIN_SLICE_ROWS:
        return regime
    nothing = MeasureAgainstNull(value=None)
    parts = {name: nothing for name in ("visible", "hidden") if getattr(regime, name) is not None}
    return regime.model_copy(update={"residual": nothing, "smece": ErrorEstimate(value=None), **parts})


def _row(label: str, regime: Regime, against: float | None, drawn: Measure, axes: Iterable[ProbabilityAxes]) -> View:
    """Return the line of a regime, or of all rows.

    `against` is what the accuracy is compared with: the confidence, or the accuracy of rows of equal confidence;
    `drawn` is the difference from it. `kind` is what it is coloured by, `sided` the direction that its residual
    claims, and `few` whether it has too few rows for it to be measured.
    """
    kind = regime.name if regime.name in REGIMES else "all"
    share = None if regime.name == "all" else regime.share
    few = share is not None and regime.n < MIN_SLICE_ROWS
    sided = {"over": -1, "under": 1}.get(kind, 0)
    charts = [_places(one, regime.accuracy, against, drawn) for one in axes]
    return View(label=label, numbers=regime, kind=kind, share=share, sided=sided, few=few, charts=charts)


def _places(axes: ProbabilityAxes, accuracy: float | None, against: float | None, drawn: Measure) -> Chart:
    """Draw what the accuracy is compared with (a circle), the interval of the difference, and the accuracy."""
    axis = axes.along
    lines = [("grid", "".join(f"M{axis(mark)} 2V22" for mark, _ in axes.marks))]
    if accuracy is not None and against is not None:
        lines.append(("gap", f"M{axis.inside(against)} 12H{axis.inside(accuracy)}"))
    if against is not None and (ends := axis.whisker(drawn.interval, against)):
        lines.append(("whisker", f"M{ends[0]} 12H{ends[1]}M{ends[0]} 8v8M{ends[1]} 8v8"))
    marks = [
        Mark(axis.inside(value), 12, None, "", kind, radius)
        for value, kind, radius in ((against, "sure", 4), (accuracy, "right", 4.5))
        if value is not None
    ]
    ticks = [(axis(mark), label, "middle") for mark, label in axes.marks]
    return Chart(260, 34, axis, Scale(0, 1, 19, 2), ticks, (), marks, lines, style=f"axes-{axes.name}")


def _hidden_row(regime: Regime, source: Source, axes: Iterable[ProbabilityAxes]) -> View:
    """Return the line of a hidden regime: its accuracy stands against that of rows of equal confidence."""
    label = _hidden_label(regime, source.epsilon, source.terms)
    regime = _measured(regime)
    known = regime.hidden is not None and None not in (regime.hidden.value, regime.accuracy)
    expected = regime.accuracy - regime.hidden.value if known else None
    return _row(label, regime, expected, regime.hidden or Measure(value=None), axes)


def _hidden_label(regime: Regime, epsilon: float | None, terms: Vocabulary) -> str:
    """Return what a hidden regime is called: not "about as often" where it differs from zero all the same."""
    band = regime_names(regime.hidden and regime.hidden.p_value, epsilon, terms)["good"]
    if regime.name == "good" and band != regime_labels(terms)["good"]:
        return band
    return terms.often(regime.name).capitalize() if regime.name in REGIMES else regime.name


def _all_rows(summary: Summary) -> Regime:
    """Return all rows as a regime; its residual is the difference of two means that the summary gives."""
    whole = summary.global_
    accuracy, confidence = whole.accuracy.value, whole.confidence.value
    residual = None if accuracy is None or confidence is None else accuracy - confidence
    measures = {"residual": MeasureAgainstNull(value=residual), "smece": whole.smece, "brier": whole.brier.value}
    return Regime(name="all", n=summary.n, share=1.0, accuracy=accuracy, confidence=confidence, **measures)


CURVES = ("all", "over", "under")
SWITCH = {LINEAR: "linear", LOG_ODDS: "in log-odds"}
STATES = {"raw": "before", "corrected": "after"}
#: Scores that are distances between accuracy and confidence: written in percentage points, as everywhere on the page.
IN_POINTS = ("smece", "ece")

Content = TypeVar("Content")


def reliability(source: Source) -> Fold:
    """Show two rows of diagrams, before and after; one row where only the diagram of all rows can be drawn.

    A row of diagrams has a heading, which is empty where there is one row.
    """
    summary, names = source.summary, slice_labels(source.terms)
    sizes = {"all": 0, **{regime.name: regime.n for regime in summary.regimes}}
    sliced = slices(summary)
    shown = [name for name in CURVES if name == "all" or name in sliced.shown]
    rows = [
        (
            f"{when.capitalize()} correction",
            [_diagram(source, name, names[name], state, sizes[name]) for name in shown],
        )
        for state, when in STATES.items()
    ]
    if len(shown) == 1:
        rows = [("", [diagrams[0] for _, diagrams in rows])]
    without = left_out(sliced, names, row_words(summary), "diagram", CURVES)
    body = draw(source, "reliability", rows=rows, left_out=without, switch=SWITCH, first=shown_first(summary))
    errors = _both(summary, "smece")
    before, after = (size(one, source.decimals) for one in errors or (None, None))
    said = f"Calibration error (smECE) {before} points before, {after} after"
    return Fold("reliability", "Reliability", said if errors else "All rows and each regime, before and after", [body])


def _both(summary: Summary, score: str) -> tuple[float, float] | None:
    """Return a score of all rows before and after the correction; None where one is not known."""
    known = [getattr(summary.correction[name].all, score) for name in ("raw", "miscal") if name in summary.correction]
    return None if len(known) < 2 or None in known else (known[0], known[1])


def _diagram(source: Source, name: str, label: str, state: str, n: int) -> View:
    """Return a reliability diagram, with the smECE that stands below it; `n` is 0 for all evaluation rows."""
    summary, terms, digits = source.summary, source.terms, source.decimals
    curve = getattr(getattr(summary.curves, name), state)
    if state != "raw":
        comparison = summary.correction.get("miscal")
        smece = ErrorEstimate(value=getattr(comparison, name).smece if comparison else None)
    elif name == "all":
        smece = summary.global_.smece
    else:
        smece = next(regime.smece for regime in summary.regimes if regime.name == name)
    said = lambda says, rate, ends, n: (  # noqa: E731
        f"{count(n)} rows: {terms.probability} {formatting.percent(says, digits)}, {terms.rate} "
        f"{formatting.percent(rate, digits)} (95 % interval {bounds(ends, 'percent', digits)})"
    )
    charts = [axes.diagram(curve, terms, said, style=f"axes-{axes.name}", joined=True) for axes in axes_of(summary)]
    shown = [one for one in charts if one is not None]
    return View(name=name, label=label, when=STATES[state], n=n, drawn=shown, smece=smece)


def corrections(source: Source) -> Fold:
    """Show one table per slice: a line per correction, a column per score."""
    summary, sliced = source.summary, slices(source.summary)
    names = {**slice_labels(source.terms), **source.regime_names}
    words, terms, floor = row_words(summary), source.terms, summary.corrected_smece.floor
    found, gains = _ordered(summary.correction), _ordered(summary.gains)
    name = Column("correction", lambda method: CORRECTIONS.get(method, method))
    lead = (
        f"Each table compares the corrections on the same {words.rows}. Lower values are better. Isotonic regression, "
        f"temperature scaling and Platt scaling use the {terms.probability} alone; miscal also uses the input."
    )
    blocks: list[Any] = [f"{lead} {left_out(sliced, names, words, 'table')}"]
    for one in ("all", *sliced.shown):
        rows = max((getattr(comparison, one).n for comparison in found.values()), default=0)
        scores = [_score_column(metric, {key: getattr(of, one) for key, of in found.items()}, source.decimals)
                  for metric in correction_metrics()]  # fmt: skip
        blocks.append(Part(f"{names[one]}, {count(rows)} rows", Table([name, *scores], list(found))))
    if gains:
        ends = lambda method: bounds(gains[method].log_loss.interval, "change")  # noqa: E731
        less = lambda method: Cell(change(gains[method].log_loss.value), ends(method))  # noqa: E731
        loss = Column("log loss less that of miscal", less)
        blocks.append(Part(f"Against miscal, row by row, all {words.rows}", Table([name, loss], list(gains))))
    by_chance = (
        ""
        if floor is None
        else f" A perfectly calibrated model would show a smECE of {size(floor, source.decimals)} points by chance."
    )
    losses, line, picture = _both(summary, "log_loss"), "Its log loss could not be measured", None
    if losses is not None:
        before, after = losses
        line = f"Log loss {before:.3f} before, {after:.3f} after; beside isotonic regression and others"
        across = Scale(0.0, max(losses) or 1.0, *GLANCE)
        bars = {9: ("bar other", before), 19: ("bar better" if after < before else "bar", after)}
        picture = glance([(kind, f"M{across.start} {y}H{across(loss)}") for y, (kind, loss) in bars.items()])
    return Fold("corrections", "Correction", line, [
        *blocks,
        f"smECE is the smooth calibration error. The Brier score is the mean squared error of the {terms.probability}. "
        f"The log loss is computed with probabilities kept between 0.0001 and 0.9999.{by_chance} The last table holds "
        "mean differences with their 95 % intervals: a correction is proven worse than miscal's where the whole "
        "interval is above zero.",
    ], picture)  # fmt: skip


def _score_column(metric_of: Metric, scores: Mapping[str, Any], decimals: int) -> Column:
    """Return the column of a score; distances between accuracy and confidence are in points."""
    in_points = metric_of.name in IN_POINTS
    more = ", points" if in_points else " (higher is better)" if metric_of.better == "higher" else ""

    def written(method: str) -> str:
        # a run from before a metric was registered has no value of it
        value = getattr(scores[method], metric_of.name, None)
        return size(value, decimals) if in_points else metric(value, decimals + 2)

    return Column(f"{metric_of.label}{more}", written)


def _ordered(found: dict[str, Content]) -> dict[str, Content]:
    order = {method: place for place, method in enumerate(CORRECTIONS)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


WIDE, SMALL = (680.0, 190.0), (260.0, 130.0)
LEFT, RIGHT, TOP, BOTTOM, INSET = 40.0, 8.0, 8.0, 22.0, 10.0
FINE = 0.02
"""Reach of a scale below which its ticks have a decimal."""
APART = 2.5
"""Distance of the two dots of a period from its middle."""


def over_time(source: Source) -> Fold | None:
    """Show two charts of all rows, and a small one of each of the strongest findings.

    Nothing where no times are known, or all rows are of one period.
    """
    summary, found = source.summary, source.summary.over_time
    if found is None or len(found.periods) < 2:
        return None
    starts = [one.start for one in found.periods]
    shown = [one for one in found.findings if one.finding <= min(SHOWN, len(summary.findings))]
    reach = _reach([one for finding in shown for one in finding.periods])
    each = [
        (_hidden(one.periods, starts, SMALL, reach), one.finding, summary.findings[one.finding - 1].description)
        for one in shown
    ]
    body = draw(
        source, "over-time", period=found.period, column=found.column or "time", blocks=found.blocks, findings=each,
        level=_levels(found.periods, starts), hidden=_hidden(found.periods, starts, WIDE, _reach(found.periods)),
    )  # fmt: skip
    return Fold("over-time", "Over time", f"{len(found.periods):,} {found.period or 'period'}s", [body])


def _reach(periods: Sequence[PeriodNumbers]) -> float:
    """Return how far the scale reaches from zero: a little farther than all means, and than half of the intervals."""
    ends = [abs(end) for one in periods for part in (one.hidden, one.after) for end in part.interval or () if end]
    values = [abs(part.value) for one in periods for part in (one.hidden, one.after) if part.value]
    return max(0.01, 1.2 * max(values, default=0.0), sorted(ends)[len(ends) // 2] if ends else 0.0)


def _levels(periods: Sequence[PeriodNumbers], starts: Sequence[str]) -> Chart:
    ends = [one.confidence + end for one in periods for end in one.residual.interval or () if end is not None]
    values = [value for one in periods for value in (one.accuracy, one.confidence, one.corrected)]
    low, high = max(0.0, min([*ends, *values])), min(1.0, max([*ends, *values]))
    # one rate in all periods, and none of it in doubt
    high = max(high, low + 0.01)
    x, y = _scales(starts, WIDE, low, high)
    at = [x(starts.index(one.start)) for one in periods]
    marks = [
        _mark(place, y, one.accuracy, one.residual, one, f"{100 * one.accuracy:.1f} %", "right")
        for place, one in zip(at, periods, strict=True)
    ]
    lines = [
        (kind, path((place, y(getattr(one, name))) for place, one in zip(at, periods, strict=True)))
        for name, kind in (("confidence", "promised"), ("corrected", "diagonal"))
    ]
    ticks = [(y(value), f"{100 * value:g}") for value in round_ticks(low, high)]
    return _chart(WIDE, x, y, ticks, marks, starts, lines)


def _hidden(periods: Sequence[PeriodNumbers], starts: Sequence[str], size: tuple[float, float], reach: float) -> Chart:
    x, y = _scales(starts, size, -reach, reach)
    marks = []
    for one in periods:
        at = x(starts.index(one.start))
        for part, when, side, kind in ((one.hidden, "before", -APART, "right"), (one.after, "after", APART, "sure")):
            if part.value is not None:
                text = f"{points(part.value)} points {when} the correction"
                marks.append(_mark(at + side, y, part.value, part, one, text, kind))
    digits = 0 if reach > FINE else 1
    values = round_ticks(-reach, reach, 4)
    ticks = [(y(value), signed(100 * value, digits) if value else "0") for value in values]
    return _chart(size, x, y, ticks, marks, starts, signed=True)


def _scales(starts: Sequence[str], size: tuple[float, float], low: float, high: float) -> tuple[Scale, Scale]:
    width, height = size
    across = Scale(0.0, max(1.0, len(starts) - 1.0), LEFT + INSET, width - RIGHT - INSET)
    return across, Scale(low, high, height - BOTTOM, TOP)


def _mark(x: float, y: Scale, value: float, part: Measure, one: PeriodNumbers, text: str, kind: str) -> Mark:
    at = y.inside(value)
    whisker = y.whisker(part.interval, origin=value - part.value)
    return Mark(round(x, 2), at, whisker, f"{one.start}: {count(one.n)} rows, {text}", kind)


def _chart(
    size: tuple[float, float],
    x: Scale,
    y: Scale,
    ticks: Sequence[tuple[float, str]],
    marks: Sequence[Mark],
    starts: Sequence[str],
    lines: Sequence[tuple[str, str]] = (),
    *,
    signed: bool = False,
) -> Chart:
    last, small = len(starts) - 1, size == SMALL
    places = [0, last] if small or last < 4 else [0, last // 2, last]
    anchors = {0: "start", last: "end"}
    labels = [(x(place), starts[place], anchors.get(place, "middle")) for place in places]
    radius = 2.2 if small else 3.0
    return Chart(*size, x, y, labels, ticks, marks, lines, radius=radius, inset=INSET, signed=signed)
