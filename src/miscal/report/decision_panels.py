"""What may be decided alone, what acting at thresholds leads to, what people would approve, and several classes."""

import math
from collections.abc import Sequence
from functools import partial
from operator import attrgetter

import numpy as np

from miscal.base.document import Measure
from miscal.base.number_wording import percent, spoken, threshold_text
from miscal.discovery.answer import LACKING, confusion_sentence, rate_sentence, scale_sentence, words_of
from miscal.discovery.summary import ClassEvent
from miscal.evidence.judged_rows import GroupRate
from miscal.findings.decisions import ANSWERED, BELOW, Alone, NetBenefit, RiskCurves
from miscal.findings.verdict import fate_words
from miscal.report import formatting
from miscal.report.brief import alone_at, enough, reaches, shares
from miscal.report.drawing import HIGH, LINEAR_AXES, SIDES, Chart, Mark, Scale, glance, log_odds_axes, path, round_ticks
from miscal.report.formatting import DASH, THIN, begin, bounds, count, first_sentence, metric, rate, signed
from miscal.report.frame import Source, View, draw
from miscal.report.sheet import Cell, Column, Fold, Part, Table

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420.0, 330.0, 56.0, 408.0, 12.0, 286.0
"""Of a drawing, in units of its view box."""
LETTER = 10.0
"""Height of a letter there: ticks that are nearer to each other would overlap."""
STATES = {"raw": "own", "corrected": "corrected"}
ACTED = {"before": "as it is", "after": "corrected"}
MOST_BREAKS = 12
"""Groups that are listed. A convention: more are not read."""


def alone(source: Source) -> Fold | None:
    """Show what each decision promises; nothing of a run that says nothing of it."""
    known = [one for one in source.summary.alone_curves if one.raw or one.corrected]
    if not known:
        return None
    body = draw(source, "alone", sides=[_decided(one, source) for one in known], states=STATES)
    found = alone_at(source.summary)
    by = f"{shares(found)} by corrected {source.terms.probabilities}, {shares(found, own=True)} by its own"
    line = f"Accepting {threshold_text(found[0].max_error)} errors: {by}"
    both = [one for one in known if one.raw and one.corrected]
    return Fold("alone", "Decided alone", line, [body], _glance(both[0]) if both else None)


def _glance(curves: RiskCurves) -> Chart:
    """Draw the error against the share decided, by its own confidence (dashed) and corrected."""
    kinds = {"diagonal": curves.raw, "curve": curves.corrected}
    highest = max(max(one.error) for one in kinds.values()) or 1.0
    across, up = Scale(0, 1, *SIDES), Scale(0, highest, HIGH - 4, 4)
    places = {kind: zip(map(across, one.share), map(up, one.error), strict=True) for kind, one in kinds.items()}
    return glance([(kind, path(line)) for kind, line in places.items()])


def _decided(curves: RiskCurves, source: Source) -> View:
    summary, probability, side = source.summary, source.terms.probability, curves.decision
    found = [one for one in summary.alone if one.decision == side]
    broken = [(one.max_error, group) for one in found for group in one.breaks]
    groups = [
        Column("group", lambda row: row[1].condition.description),
        Column("accepted", lambda row: _level(row[0])),
        Column("errors", lambda row: _with_interval(row[1].wrong)),
        Column("decided rows", lambda row: count(row[1].n)),
    ]
    promises = [
        Column("accepted error", lambda one: _level(one.max_error)),
        Column("decided", lambda one: Cell("none", enough(one, summary)) if one.threshold is None
               else _with_interval(one.share)),
        Column(f"corrected {probability}", lambda one: reaches(one, one.threshold)),
        Column("errors", lambda one: Cell() if one.error.upper is None
               else Cell(f"at most {rate(one.error.upper)}", f"{rate(one.error.value)} observed")),
        Column(f"by its own {probability}",
               lambda one: Cell(rate(one.raw.share) if one.raw.share else "none", reaches(one, one.raw.threshold))),
    ]  # fmt: skip
    return View(
        title=f"{begin(side)}: {f'up to a {probability}' if side in BELOW else f'from a {probability} on'}"
        if side != ANSWERED
        else "",
        plot=_chart(curves, found, source),
        breaks=Table(groups, broken[:MOST_BREAKS], max(0, len(broken) - MOST_BREAKS)),
        promises=Table(promises, found),
    )


def _level(share: float) -> str:
    return threshold_text(share).replace(" ", THIN)


def _with_interval(measure: Measure) -> Cell:
    return Cell(rate(measure.value), bounds(measure.interval, "rate"))


def _chart(curves: RiskCurves, found: Sequence[Alone], source: Source) -> Chart:
    """Draw the error against the share, up by its root, which sets small errors apart; promised points are filled."""
    known = {state: curve for state in STATES if (curve := getattr(curves, state)) is not None}
    widest = max(max(curve.share) for curve in known.values())
    highest = max(found[-1].max_error, *(max(curve.error) for curve in known.values()))
    x, y = Scale(0, widest, LEFT, RIGHT), Scale(0, math.sqrt(highest), BOTTOM, TOP)
    first = {one.max_error for one in alone_at(source.summary)}
    marks, lines = [], []
    for state, curve in known.items():
        promised = {(one if state == "corrected" else one.raw).threshold: one for one in reversed(found)}
        places = [(x(share), y(math.sqrt(error))) for share, error in zip(curve.share, curve.error, strict=True)]
        lines.append((f"line {state}", path(places)))
        for place, threshold, share, error in zip(places, curve.threshold, curve.share, curve.error, strict=True):
            kind, said = f"point {state}", f"{STATES[state]} {source.terms.probability} {reaches(found[0], threshold)}"
            said = f"{begin(said)}: {rate(share)} decided, {rate(error)} errors"
            if (one := promised.get(threshold)) is not None:
                kind += " kept chosen" if one.max_error in first else " kept"
                said += f"; at most {_level(one.max_error)} are promised"
            marks.append(Mark(*place, None, said, kind))
    levels = sorted({0.0, 0.5, *(one.max_error for one in found)})
    ticks = [(y(math.sqrt(level)), _level(level)) for level in levels if level <= highest]
    return Chart(
        *(WIDTH, HEIGHT, x, y),
        x_ticks=[(x(share), _level(share), "middle") for share in round_ticks(0, widest)],
        y_ticks=[(at, "" if n and abs(at - ticks[n - 1][0]) < LETTER else text) for n, (at, text) in enumerate(ticks)],
        marks=marks,
        lines=lines,
        titles=(f"share of {source.terms.cases} decided", "errors among the decided"),
        style="risk",
    )


def decisions(source: Source) -> Fold | None:
    """Show a table of what was promised and observed at each threshold that was asked for; nothing where none was."""
    summary, words = source.summary, source.terms
    if not summary.decisions:
        return None
    rows = [(one, when, getattr(one, when)) for one in summary.decisions for when in ACTED]
    columns = [
        Column("threshold", lambda row: Cell(_level(row[0].threshold), ACTED[row[1]]
                                             + (", by the costs" if row[0].source == "cost" else ""))),
        Column(words.acted, lambda row: Cell(count(row[2].n), rate(row[2].share))),
        Column("promised", lambda row: rate(row[2].promised)),
        Column("observed", lambda row: _with_interval(row[2].observed)),
        Column("net benefit", lambda row: _worth(row[0].net_benefit, row[1])),
        Column("of acting on all", lambda row: f"{1000 * row[0].net_benefit.all:.1f}"),
    ]  # fmt: skip
    first, at = summary.decisions[0].before, f"At {threshold_text(summary.decisions[0].threshold)}"
    promised, observed = spoken(first.promised or 0.0), spoken(first.observed.value or 0.0)
    told = f"{at}: {promised} promised, {observed} observed of {count(first.n)} {words.cases} {words.acted}"
    line = told if first.n else f"{at} nothing is {words.acted}"
    return Fold("decisions", "Decisions at a threshold", line, [
        f"{begin(words.cases)} whose {words.probability} is at or above a threshold are {words.acted}. Their mean "
        f"{words.probability} is what is promised of them; beside it stands how many {words.come_true}, with the 95 % "
        "interval.",
        Table(columns, rows),
        f"Net benefit, per 1,000 {words.cases}: those rightly {words.acted}, less those {words.acted} needlessly times "
        "the odds of the threshold (Vickers and Elkin, 2006); of acting on none it is 0.",
    ])  # fmt: skip


def _worth(worth: NetBenefit, when: str) -> Cell:
    """Write a net benefit per 1,000, and below that of the correction what it gains."""
    low, high = worth.gain.interval or (None, None)
    if when == "before" or low is None or high is None:
        return Cell(f"{1000 * getattr(worth, when):.1f}")
    gain = f"{signed(1000 * (worth.gain.value or 0.0), 1)} ({signed(1000 * low, 1)} to {signed(1000 * high, 1)})"
    return Cell(f"{1000 * worth.after:.1f}", gain)


HEADS = {"rate": "People would approve", "judge": "The judge says"}
"""Estimates of a row by their names, with their headings."""


AGREEMENT = {"agreement.true_positive": "passed, of approved", "agreement.true_negative": "failed, of rejected"}
"""The same of what a judge passes and fails: true-positive and true-negative rate."""


def judge(source: Source) -> Fold | None:
    """Show tables of all answers, of findings and of values of columns; nothing of a run that has no judge."""
    numbers = source.summary.judge
    if numbers is None:
        return None
    findings = [one for one in numbers.groups if one.finding is not None]
    others = [one for one in numbers.groups if one.finding is None]
    titled = {"All answers": [numbers.whole], "Where the judge errs": findings, "By value of a column": others}
    rates = [getattr(row, name) for rows in titled.values() for row in rows for name in HEADS]
    lacking = sorted({LACKING[rate.lacking] for rate in rates if rate is not None and rate.lacking is not None})
    options = source.summary.settings.get("source", {}).get("options", {})
    given = ", with the probabilities that were given" if options.get("labelling_probability") else ""
    columns = [
        Column("answers", "name"),
        Column("how many", "rate.n", count),
        Column("judged by people", "rate.n_labelled", count),
        *(Column(head, partial(_estimate, name)) for name, head in HEADS.items()),
    ]
    line = rate_sentence(numbers)
    if numbers.whole.agreement is not None:
        columns += [
            Column("kappa", _kappa),
            *(Column(head, partial(_estimate, name)) for name, head in AGREEMENT.items()),
        ]
    return Fold("judge", "How often people would approve", first_sentence(line)[0], [
        f"{line} {scale_sentence(numbers)}".strip(),
        *(Part(title, Table(columns, rows, sortable=True)) for title, rows in titled.items() if rows),
        "People would approve: prediction-powered inference on the corrected judge (Angelopoulos et al., 2023), which "
        "uses the verdicts of people where there are some and the judge everywhere. It holds whatever the judge is "
        f"worth, if the answers that people have judged were chosen at random{given}. Intervals are at 95 %, each for "
        "its own row. The judge's own rate is right only where the judge is. "
        "Kappa is agreement beyond chance (Cohen, 1960); passed and failed: true-positive and true-negative rate."
        f"{''.join(f' A dash in place of an interval: {reason}.' for reason in lacking)}",
    ])  # fmt: skip


def _estimate(name: str, row: GroupRate) -> Cell:
    """Write an estimate of a row, and its interval below it."""
    rate = attrgetter(name)(row)
    if rate is None or rate.estimate is None:
        return Cell(DASH, key=-1)
    ends = [percent(end, 1) for end in rate.interval or ()]
    interval = f"{ends[0].removesuffix(' %')} to {ends[1]}" if ends else DASH
    return Cell(percent(rate.estimate, 1), interval, key=rate.estimate)


def _kappa(row: GroupRate) -> Cell:
    kappa = row.agreement.kappa if row.agreement else Measure(value=None)
    return Cell(metric(kappa.value, 2), bounds(kappa.interval, "metric", 2), key=kappa.value)


RARE, LOWEST = 0.05, 1e-3
"""Mean probability below which a diagram is drawn in log-odds, as on linear axes its dots would lie in a corner; and
the probability at which such axes end at least."""


CLASS_STATES = {"raw": "As given", "global map": "By the global map", "corrected": "Corrected"}


def classes(source: Source) -> Fold | None:
    """Show every class, and confusions; nothing of a run that has none."""
    numbers = source.summary.classes
    if numbers is None:
        return None
    looked = [one for one in numbers.classes if one.looked_at]
    places = {one.name: place for place, one in enumerate(numbers.classes, start=1)}
    # classes with findings first, those with the strongest at the top
    ordered = sorted(looked, key=lambda one: min((found.p_adjusted for found in one.findings), default=2.0))
    many, confused = len(numbers.findings), numbers.confusions
    line = f"{len(numbers.classes):,} classes, {many:,} findings, {len(confused):,} confusions"
    example = confusion_sentence(confused[0]) if confused else ""
    sections = [_section(one, places[one.name], source.decimals) for one in ordered]
    body = draw(
        source, "classes", numbers=numbers, looked_at=len(looked), places=places, example=example, sections=sections,
        states=CLASS_STATES,
    )  # fmt: skip
    return Fold("classes", "Classes", line, [body])


def _section(one: ClassEvent, place: int, decimals: int) -> View:
    curves = [] if one.curves is None else [("Before", one.curves.raw), ("After the correction", one.curves.corrected)]
    known = [(when, curve) for when, curve in curves if curve is not None]
    shown = [value for _, curve in known for value in (*curve.confidence, *curve.accuracy)]
    axes = log_odds_axes(np.clip(shown, LOWEST, 1 - LOWEST)) if one.probability < RARE else LINEAR_AXES
    many, terms = len(one.findings), words_of(one.name if len(one.name) <= 20 else f"{one.name[:19]}…")
    said = lambda says, rate, _, n: (  # noqa: E731
        f"{count(n)} rows: model says {formatting.percent(says, decimals)}, it is the label in "
        f"{formatting.percent(rate, decimals)}"
    )
    drawn = [(when, axes.diagram(curve, terms, said)) for when, curve in known]
    found = [(finding, fate_words(finding.fate, finding.units_needed)) for finding in one.findings]
    return View(
        event=one,
        place=place,
        about=f"{one.labels:,} labels, {f'{many} finding' + ('' if many == 1 else 's') if many else 'no finding'}",
        findings=found,
        diagrams=[(when, chart) for when, chart in drawn if chart is not None],
        terms=terms,
    )
