"""The field: its map, the size of its errors, its regimes, curves before and after the correction, and periods."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.number_wording import percent
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.calibration.metrics.inference import Metric, correction_metrics
from miscal.discovery.summary import ErrorEstimate, PeriodNumbers, Regime, Summary
from miscal.report import formatting
from miscal.report.drawing import SIDES, Chart, Mark, Scale, axes_of, glance, histograms, path, round_ticks, shown_first
from miscal.report.formatting import bounds, brief_points, change, count, listed, metric, points, signed, size
from miscal.report.frame import REGIMES, Source, View, draw, regime_labels, regime_names, row_words
from miscal.report.group_panels import SHOWN
from miscal.report.map_data import examples
from miscal.report.sheet import Cell, Column, Fold, Part, Table


def histogram(source: Source) -> Fold:
    """Show the histogram in two widths, none where there is nothing to draw, and how much the field varies."""
    found, field = source.summary.histogram, source.summary.field
    edges, counts = found.edges, {kind: getattr(found, kind) for kind in REGIMES}
    full = all(len(values) == len(edges) - 1 for values in counts.values())
    rows = sum(sum(values) for values in counts.values()) if full else 0
    drawn = rows and edges[0] < edges[-1]
    plots, picture = histograms(edges, counts, source.epsilon or 0.0) if drawn else ([], None)
    body = draw(source, "histogram", plots=plots, n=rows, field=field, epsilon=source.epsilon)
    line = "How the estimated errors are spread"
    if field.std is not None and field.std_hidden is not None:
        whole, hidden = (size(one, source.decimals) for one in (field.std, field.std_hidden))
        line = f"They vary by {whole} points, the hidden part by {hidden}"
    return Fold("histogram", "Size of the errors", line, [body], picture)


ALL_ROWS = "All rows"


#: Corrections by their name in the summary, in the order of the page.
CORRECTIONS = {
    "raw": "Uncorrected",
    "miscal": "miscal (local)",
    "isotonic": "Isotonic regression",
    "temperature": "Temperature scaling",
    "platt": "Platt scaling",
}


def regimes(source: Source) -> Fold:
    """Show a line per regime that has rows, after one for all rows; and one per regime of the hidden field."""
    summary, names, terms = source.summary, source.regime_names, source.terms
    whole = whole_regime(summary)
    filled = [_measured(one) for one in _filled(summary.regimes)]
    rows = [_row(ALL_ROWS if one.name == "all" else names[one.name], one, one.confidence, one.residual, source)
            for one in [_all_rows(summary), *filled]]  # fmt: skip
    hidden = [_hidden_row(regime, source) for regime in _filled(summary.hidden_regimes)]
    found = {one.name for one in filled}
    body = draw(
        source, "regimes", rows=rows, hidden_rows=hidden, parts=any(one.visible is not None for one in filled),
        contents=_contents(source), gap=summary.gap,
        missing=[label.lower() for name, label in names.items() if name not in found],
        nowhere=not found & {"over", "under"}, whole_share=whole and whole.share, epsilon=source.epsilon,
        whole=names[whole.name].lower() if whole and whole.name != "good" else "",
        unsupported=summary.field.share_unsupported,
        # regimes share all rows among them where no row is left to the global map
        kept=sum(regime.share for regime in summary.regimes) > 0.9995,
        beyond="far" if source.epsilon is None else f"more than {brief_points(source.epsilon)}",
        worst=terms.regime(summary.gap.worst) if summary.gap.worst else "worse",
    )  # fmt: skip
    shares = [f"{names[one.name]} {percent(one.share)}" for one in summary.regimes if one.n]
    title = f"Where {terms.judged} {terms.over_and_under}"
    return Fold("regimes", title, ", ".join(shares) or "No rows to measure", [body])


def _contents(source: Source) -> list[tuple[Any, ...]]:
    """Return of each regime what it is called, which values and words are enriched in it, and typical rows."""
    filled = [one for one in _filled(source.summary.regimes) if one.exemplars]
    typical = examples(source, [one.exemplars for one in filled])
    values = [[f"{item.words} ({item.lift:.1f} times)" for item in one.metadata] for one in filled]
    return [(source.regime_names[one.name], own, list(one.keywords), rows)
            for one, own, rows in zip(filled, values, typical, strict=True)]  # fmt: skip


def _filled(regimes: tuple[Regime, ...]) -> list[Regime]:
    return sorted((regime for regime in regimes if regime.n), key=lambda one: REGIMES.index(one.name))


def _measured(regime: Regime) -> Regime:
    """Leave out what so few rows cannot tell."""
    if regime.n >= MIN_SLICE_ROWS:
        return regime
    nothing = MeasureAgainstNull(value=None)
    parts = {name: nothing for name in ("visible", "hidden") if getattr(regime, name) is not None}
    return regime.model_copy(update={"residual": nothing, "smece": ErrorEstimate(value=None), **parts})


def _row(label: str, regime: Regime, against: float | None, drawn: Measure, source: Source) -> View:
    """Return the line of a regime, or of all rows.

    `against` is what the accuracy is compared with: the confidence, or the accuracy of rows of equal confidence;
    `drawn` is the difference from it. `kind` is what it is coloured by, `sided` the direction that its residual
    claims, and `few` whether it has too few rows for it to be measured.
    """
    share = None if regime.name == "all" else regime.share
    few = share is not None and regime.n < MIN_SLICE_ROWS
    sided = {"over": -1, "under": 1}.get(regime.name, 0)
    charts = [axes.line(regime.accuracy, against, drawn) for axes in axes_of(source.summary)]
    return View(label=label, numbers=regime, kind=regime.name, share=share, sided=sided, few=few, charts=charts)


def _hidden_row(regime: Regime, source: Source) -> View:
    """Return the line of a hidden regime: its accuracy stands against that of rows of equal confidence."""
    terms, regime = source.terms, _measured(whole := regime)
    label = terms.often(regime.name).capitalize()
    # not "about as often" where it differs from zero all the same
    band = regime_names(whole.hidden and whole.hidden.p_value, source.epsilon, terms)["good"]
    if regime.name == "good" and band != regime_labels(terms)["good"]:
        label = band
    known = regime.hidden is not None and None not in (regime.hidden.value, regime.accuracy)
    expected = regime.accuracy - regime.hidden.value if known else None
    return _row(label, regime, expected, regime.hidden or Measure(value=None), source)


def _all_rows(summary: Summary) -> Regime:
    """Return all rows as a regime; its residual is the difference of two means that the summary gives."""
    whole = summary.global_
    accuracy, confidence = whole.accuracy.value, whole.confidence.value
    residual = None if accuracy is None or confidence is None else accuracy - confidence
    measures = {"residual": MeasureAgainstNull(value=residual), "smece": whole.smece, "brier": whole.brier.value}
    return Regime(name="all", n=summary.n, share=1.0, accuracy=accuracy, confidence=confidence, **measures)


CURVES = ("all", "over", "under")
STATES = {"raw": "before", "corrected": "after"}
#: Scores that are distances between accuracy and confidence: written in percentage points, as everywhere on the page.
IN_POINTS = ("smece", "ece")

REPEATS = 0.95
"""A regime that holds more of the rows than this is the whole: its panels would repeat those of all rows."""


def whole_regime(summary: Summary) -> Regime | None:
    """Return the regime that holds nearly all rows, if one does."""
    return next((regime for regime in summary.regimes if regime.share > REPEATS), None)


def own_panels(
    summary: Summary, names: Mapping[str, str], what: str, of: Sequence[str] = REGIMES
) -> tuple[list[str], str]:
    """Return which regimes, of those `of`, have a diagram or table of their own, and why the others have none.

    One that holds nearly all rows has none, since it would be that of all rows, and one of a few rows has none.
    """
    whole, said = whole_regime(summary), []
    own = [one for one in summary.regimes if one.n and one.name in of]
    few = [names[one.name].lower() for one in own if one.n < MIN_SLICE_ROWS]
    if whole is not None and whole.name in of:
        said.append(
            f"The {names[whole.name].lower()} regime holds {formatting.percent(whole.share, 0)} of the "
            f"{row_words(summary)['rows']}; its {what} would be that of all rows and is left out."
        )
    if few:
        have, their = ("s have", "their") if len(few) > 1 else (" has", "its")
        said.append(f"The {listed(few, 'and')} regime{have} too few rows for a {what} of {their} own.")
    return [one.name for one in own if one is not whole and one.n >= MIN_SLICE_ROWS], " ".join(said)


def reliability(source: Source) -> Fold:
    """Show two rows of diagrams, before and after; one row where only the diagram of all rows can be drawn.

    A row of diagrams has a heading, which is empty where there is one row.
    """
    summary, names = source.summary, {"all": ALL_ROWS, **regime_labels(source.terms)}
    shown, without = own_panels(summary, names, "diagram", CURVES)
    rows = [
        (f"{when.capitalize()} correction", [_diagram(source, name, names[name], state) for name in CURVES
                                             if name == "all" or name in shown])
        for state, when in STATES.items()
    ]  # fmt: skip
    if not shown:
        rows = [("", [diagrams[0] for _, diagrams in rows])]
    switch = {axes.name: label for axes, label in zip(axes_of(summary), ("linear", "in log-odds"), strict=True)}
    body = draw(source, "reliability", rows=rows, left_out=without, switch=switch, first=shown_first(summary))
    errors = _both(summary, "smece")
    before, after = (size(one, source.decimals) for one in errors or (None, None))
    said = f"Calibration error (smECE) {before} points before, {after} after"
    return Fold("reliability", "Reliability", said if errors else "All rows and each regime, before and after", [body])


def _both(summary: Summary, score: str) -> tuple[float, float] | None:
    """Return a score of all rows before and after the correction; None where one is not known."""
    known = [getattr(summary.correction[name].all, score) for name in ("raw", "miscal") if name in summary.correction]
    return None if len(known) < 2 or None in known else (known[0], known[1])


def _diagram(source: Source, name: str, label: str, state: str) -> View:
    """Return a reliability diagram, with the smECE that stands below it; `n` is 0 for all evaluation rows."""
    summary, terms, digits = source.summary, source.terms, source.decimals
    regime = next((one for one in summary.regimes if one.name == name), None)
    smece = summary.global_.smece if regime is None else regime.smece
    if state != "raw":
        comparison = summary.correction.get("miscal")
        smece = ErrorEstimate(value=getattr(comparison, name).smece if comparison else None)
    said = lambda says, rate, ends, n: (  # noqa: E731
        f"{count(n)} rows: {terms.probability} {formatting.percent(says, digits)}, {terms.rate} "
        f"{formatting.percent(rate, digits)} (95 % interval {bounds(ends, 'percent', digits)})"
    )
    curve = getattr(getattr(summary.curves, name), state)
    charts = [axes.diagram(curve, terms, said, style=f"axes-{axes.name}", joined=True) for axes in axes_of(summary)]
    drawn, n = [one for one in charts if one is not None], 0 if regime is None else regime.n
    return View(name=name, label=label, when=STATES[state], n=n, drawn=drawn, smece=smece)


def corrections(source: Source) -> Fold:
    """Show one table per slice: a line per correction, a column per score."""
    summary, terms, decimals = source.summary, source.terms, source.decimals
    names, rows = {"all": ALL_ROWS, **source.regime_names}, row_words(summary)["rows"]
    shown, without = own_panels(summary, names, "table")
    found, gains = (sorted(of, key=[*CORRECTIONS, *of].index) for of in (summary.correction, summary.gains))
    name = Column("correction", lambda method: CORRECTIONS.get(method, method))
    blocks: list[Any] = [
        f"Each table compares the corrections on the same {rows}. Lower values are better. Isotonic regression, "
        f"temperature scaling and Platt scaling use the {terms.probability} alone; miscal also uses the input. "
        f"{without}"
    ]
    for one in ("all", *shown):
        scores = {method: getattr(summary.correction[method], one) for method in found}
        n = max((score.n for score in scores.values()), default=0)
        columns = [name, *(_score_column(metric, scores, decimals) for metric in correction_metrics())]
        blocks.append(Part(f"{names[one]}, {count(n)} rows", Table(columns, found)))
    if gains:
        less = lambda gain: Cell(change(gain.value), bounds(gain.interval, "change"))  # noqa: E731
        loss = Column("log loss less that of miscal", lambda method: less(summary.gains[method].log_loss))
        blocks.append(Part(f"Against miscal, row by row, all {rows}", Table([name, loss], gains)))
    floor, by_chance = summary.corrected_smece.floor, ""
    if floor is not None:
        by_chance = f" A perfectly calibrated model would show a smECE of {size(floor, decimals)} points by chance."
    losses, line, picture = _both(summary, "log_loss"), "Its log loss could not be measured", None
    if losses is not None:
        before, after = losses
        line = f"Log loss {before:.3f} before, {after:.3f} after; beside isotonic regression and others"
        across = Scale(0.0, max(losses) or 1.0, *SIDES)
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
    each = [(_hidden(one.periods, starts, SMALL, reach), one.finding, summary.findings[one.finding - 1].description)
            for one in shown]  # fmt: skip
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
    dots = [(one, one.accuracy, one.residual, 0.0, f"{100 * one.accuracy:.1f} %", "right") for one in periods]
    lines = [(kind, [(one.start, getattr(one, name)) for one in periods])
             for name, kind in (("confidence", "promised"), ("corrected", "diagonal"))]  # fmt: skip
    ticks = [(value, f"{100 * value:g}") for value in round_ticks(low, high)]
    return _course(starts, WIDE, (low, high), ticks, dots, lines)


def _hidden(periods: Sequence[PeriodNumbers], starts: Sequence[str], size: tuple[float, float], reach: float) -> Chart:
    dots = [
        (one, part.value, part, side, f"{points(part.value)} points {when} the correction", kind)
        for one in periods
        for part, when, side, kind in ((one.hidden, "before", -APART, "right"), (one.after, "after", APART, "sure"))
        if part.value is not None
    ]
    digits = 0 if reach > FINE else 1
    ticks = [(tick, signed(100 * tick, digits) if tick else "0") for tick in round_ticks(-reach, reach, 4)]
    return _course(starts, size, (-reach, reach), ticks, dots, signed=True)


def _course(
    starts: Sequence[str],
    size: tuple[float, float],
    ends: tuple[float, float],
    ticks: Iterable[tuple[float, str]],
    dots: Iterable[tuple[PeriodNumbers, float, Measure, float, str, str]],
    lines: Iterable[tuple[str, list[tuple[str, float]]]] = (),
    *,
    signed: bool = False,
) -> Chart:
    """Draw dots and lines over the periods, which begin at `starts`, between the ends of a scale.

    Of a dot: its period, its value, the measure whose interval is its whisker, how far it stands from the middle of the
    period, what is said of it, its style. Of a line: its style, and its value at each start.
    """
    (width, height), last = size, len(starts) - 1
    x, y = Scale(0.0, max(1.0, last), LEFT + INSET, width - RIGHT - INSET), Scale(*ends, height - BOTTOM, TOP)
    at = {start: x(place) for place, start in enumerate(starts)}
    places = [0, last] if size == SMALL or last < 4 else [0, last // 2, last]
    anchors = {0: "start", last: "end"}
    return Chart(
        *(width, height, x, y),
        x_ticks=[(x(place), starts[place], anchors.get(place, "middle")) for place in places],
        y_ticks=[(y(value), text) for value, text in ticks],
        marks=[
            Mark(round(at[one.start] + side, 2), y.inside(value), y.whisker(part.interval, origin=value - part.value),
                 f"{one.start}: {count(one.n)} rows, {text}", kind)
            for one, value, part, side, text, kind in dots
        ],
        lines=[(kind, path((at[start], y(value)) for start, value in values)) for kind, values in lines],
        radius=2.2 if size == SMALL else 3.0,
        inset=INSET,
        signed=signed,
    )  # fmt: skip
