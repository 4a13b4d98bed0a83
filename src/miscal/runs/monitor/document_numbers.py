"""Turn the state of a monitor into the numbers of its document."""

from __future__ import annotations

from math import log
from statistics import NormalDist

import numpy as np

from miscal.base.json_values import clean_text, interval, number
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.discovery.run import RunContent
from miscal.discovery.summary import Measure
from miscal.evidence.betting import running_interval
from miscal.findings.residuals import proportion_interval
from miscal.runs.monitor.bets import Watch
from miscal.runs.monitor.document import (
    AdviceNumbers,
    LineLook,
    LineNumbers,
    LookNumbers,
    MonitoredGroup,
    QuestionNumbers,
)
from miscal.runs.monitor.lines import FINDING, GAIN, GROUPS, LEVEL, REGIME, Line, shift_of
from miscal.runs.monitor.questions import ADVICE, MonitorQuestion
from miscal.runs.monitor.state_schema import Look

TEN = log(10)
ERROR = 1 - CONFIDENCE_LEVEL
"""How often the interval of a single look may miss."""
Z = NormalDist().inv_cdf(1 - ERROR / 2)


def question_numbers(one: MonitorQuestion, watch: Watch) -> QuestionNumbers:
    """Tell a question."""
    return QuestionNumbers(
        key=one.key,
        kind=one.kind,
        about=clean_text(one.label),
        side=one.side,
        share=one.share,
        tolerance=one.tolerance,
        steps=one.capital.steps,
        evidence=one.capital.log_value / TEN,
        peak=one.capital.log_peak / TEN,
        line=one.log_line(watch.alpha) / TEN,
        answered=one.crossed,
        course=tuple(value / TEN for value in one.course),
    )


def line_numbers(one: Line, watch: Watch) -> LineNumbers:
    """Tell a line."""
    return LineNumbers(
        key=one.key,
        kind=one.kind,
        about=clean_text(one.label),
        share=one.share,
        before=one.before,
        error=one.error,
        allowed=allowed(one),
        evidence=one.course[-1] / TEN,
        line=one.log_line(watch.alpha) / TEN,
        answered=one.crossed,
        course=tuple(value / TEN for value in one.course),
        looks=tuple(_line_look(one, look) for look in range(len(one.history))),
    )


def allowed(one: Line) -> tuple[float, float]:
    """Tell which shifts are no change: none, and what the run measured give or take two standard deviations."""
    if one.kind == GAIN:
        return min(0.0, one.before - Z * one.error), one.most_lost
    reach = Z / np.sqrt(one.precision)
    return min(0.0, one.before - reach), max(0.0, one.before + reach)


def _line_look(line: Line, look: int) -> LineLook:
    sums = {name: float(values[look]) for name, values in line.history_by_column.items()}
    n = sums["rows"]
    shift = shift_of(sums["moment"], sums["information"], sums["squares"])
    ends = (None, None) if shift is None else (shift[0] - Z * shift[1], shift[0] + Z * shift[1])
    grouped = n > 0 and line.kind in (LEVEL, *GROUPS)
    accuracy = sums["right"] / n if grouped else None
    corrected = sums["corrected"] / n if grouped else None
    residual = Measure(value=None)
    if accuracy is not None and corrected is not None:
        # rows of a group hang together: each group counts as one row
        low, high = proportion_interval(accuracy, sums["units"], ERROR)
        residual = Measure(value=accuracy - corrected, interval=interval(low - corrected, high - corrected))
    return LineLook(
        look=look + 1,
        n=int(n),
        accuracy=accuracy,
        corrected=corrected,
        shift=Measure(value=None if shift is None else number(shift[0]), interval=interval(*ends)),
        residual=residual,
    )


def look_numbers(place: int, one: Look, watch: Watch) -> LookNumbers:
    """Tell a look, its number counted from 1."""
    known = {name: getattr(one, name) for name in LookNumbers.model_fields if name not in ("look", "lost")}
    gain = next(line for line in watch.lines if line.kind == GAIN)
    return LookNumbers(look=place, lost=_line_look(gain, place - 1).shift, **known)


def advice_numbers(watch: Watch, rows: int) -> AdviceNumbers:
    """Tell whether a new correction could be better."""
    answered = [one.crossed for one in watch.questions if one.side == ADVICE and one.crossed is not None]
    return AdviceNumbers(refit=bool(answered), since=min(answered, default=None), rows=rows)


def group_numbers(run: RunContent, one: Line) -> MonitoredGroup:
    """Tell a group over all looks."""
    summary, sums = run.summary, {name: float(values.sum()) for name, values in one.history_by_column.items()}
    phrase, condition, measure = one.label, one.condition, None
    if one.kind == FINDING:
        finding = summary.findings[one.place or 0]
        phrase, condition, measure = finding.phrase, finding.condition, finding.hidden
    elif one.kind == REGIME:
        measure = next((regime.hidden for regime in summary.regimes if regime.name == one.sign), None)
    elif condition is not None:
        phrase = condition.phrase
    n, units = sums["rows"], sums["units"]
    ends = running_interval(sums["hidden"], units)
    mean = lambda name: sums[name] / n if n else None  # noqa: E731
    return MonitoredGroup(
        key=one.key,
        description=clean_text(one.label),
        condition=condition,
        phrase=clean_text(phrase),
        kind=one.kind,
        sign=one.sign,
        n=int(n),
        units=int(units),
        accuracy=mean("right"),
        confidence=mean("confidence"),
        corrected=mean("corrected"),
        residual=(sums["right"] - sums["corrected"]) / n if n else None,
        hidden=Measure(
            value=number(sums["hidden"] / units) if units else None, interval=interval(*(ends or (None, None)))
        ),
        before=None if measure is None else measure.value,
        still=still(measure, ends),
    )


def still(before: Measure | None, now: tuple[float, float] | None) -> str:
    """Say whether what a run found of the raw confidences of a group is still there.

    The hidden residual of a group is counted from the accuracy that the run expects at each confidence, and both sides
    are estimates. So what the run found must be clear of 0 by itself, and what is found now must be clear of 0 by half
    the width of the run's interval.

    Parameters
    ----------
    before : Measure or None
        Of the run, with its interval.
    now : (float, float) or None
        Interval of the new rows.

    Returns
    -------
    {"yes", "unclear", "opposite"}

    Examples
    --------
    >>> still(Measure(value=-0.1, interval=(-0.15, -0.05)), (-0.2, -0.08))
    'yes'
    >>> still(Measure(value=0.01, interval=(-0.02, 0.04)), (-0.2, -0.08))
    'unclear'
    """
    if before is None or before.interval is None or now is None or not np.all(np.isfinite(now)):
        return "unclear"
    low, high = before.interval
    if low is None or high is None or low <= 0 <= high:
        return "unclear"
    slack = (high - low) / 2
    if now[0] - slack <= 0 <= now[1] + slack:
        return "unclear"
    return "yes" if (low > 0) == (now[0] > 0) else "opposite"
