"""What may be decided alone, as error against share, and what acting at named thresholds leads to."""

import math
from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.base.number_wording import spoken, threshold_text
from miscal.discovery.summary import Summary
from miscal.findings.alone import ANSWERED, BELOW, Alone, RiskCurves, RiskLimit
from miscal.findings.decisions import Decision, NetBenefit
from miscal.report.alone import alone_at, enough, reaches, shares
from miscal.report.drawing import GLANCE, HIGH, Chart, Mark, Scale, glance, path, round_ticks
from miscal.report.formatting import THIN, bounds, count, rate, signed
from miscal.report.frame import View, draw
from miscal.report.sheet import Cell, Column, Fold, Table
from miscal.report.source import Source
from miscal.report.texts import begin

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
    kinds = {kind: getattr(curves, name) for kind, name in (("diagonal", "raw"), ("curve", "corrected"))}
    highest = max(max(one.error) for one in kinds.values()) or 1.0
    across, up = Scale(0, 1, *GLANCE), Scale(0, highest, HIGH - 4, 4)
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
        Column("decided", lambda one: _decided_share(one, summary)),
        Column(f"corrected {probability}", lambda one: _reached(one, one.threshold)),
        Column("errors", lambda one: _limit(one.error)),
        Column(f"by its own {probability}", _by_itself),
    ]
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


def _decided_share(one: Alone, summary: Summary) -> Cell:
    return Cell("none", enough(one, summary)) if one.threshold is None else _with_interval(one.share)


def _with_interval(measure: Measure) -> Cell:
    return Cell(rate(measure.value), bounds(measure.interval, "rate"))


def _reached(one: Alone, threshold: float | None) -> str:
    return "" if threshold is None else reaches(one, threshold)


def _limit(error: RiskLimit) -> Cell:
    return Cell() if error.upper is None else Cell(f"at most {rate(error.upper)}", f"{rate(error.value)} observed")


def _by_itself(one: Alone) -> Cell:
    return Cell(rate(one.raw.share) if one.raw.share else "none", _reached(one, one.raw.threshold))


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
        Column("threshold", lambda row: _named(*row[:2])),
        Column(words.acted, lambda row: Cell(count(row[2].n), rate(row[2].share))),
        Column("promised", lambda row: rate(row[2].promised)),
        Column("observed", lambda row: _with_interval(row[2].observed)),
        Column("net benefit", lambda row: _worth(row[0].net_benefit, row[1])),
        Column("of acting on all", lambda row: f"{1000 * row[0].net_benefit.all:.1f}"),
    ]
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


def _named(one: Decision, when: str) -> Cell:
    return Cell(_level(one.threshold), ACTED[when] + (", by the costs" if one.source == "cost" else ""))


def _worth(worth: NetBenefit, when: str) -> Cell:
    """Write a net benefit per 1,000, and below that of the correction what it gains."""
    low, high = worth.gain.interval or (None, None)
    if when == "before" or low is None or high is None:
        return Cell(f"{1000 * getattr(worth, when):.1f}")
    gain = f"{signed(1000 * (worth.gain.value or 0.0), 1)} ({signed(1000 * low, 1)} to {signed(1000 * high, 1)})"
    return Cell(f"{1000 * worth.after:.1f}", gain)
