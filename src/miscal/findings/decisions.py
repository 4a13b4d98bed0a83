"""Say what acting at a threshold leads to: what was promised of the rows that are acted on, and what was observed.

A promise is the mean confidence of some rows. It is set beside the share of them that came true, with the interval of
Clopper and Pearson (1934). That interval holds at every number of rows, whatever their confidences (Hoeffding, 1956);
rows that hang together or count unequally are taken as fewer. What acting is worth is the net benefit.

And the other way round: how much may be decided without a person at an accepted error, and in which groups that breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from miscal.base.document import Measure, Part, Probability, Share
from miscal.base.errors import InputError, argument
from miscal.base.vocabulary import ANSWER, EVENT, JUDGE, Kind
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.decisions import implied_threshold, mean_net_benefit, net_benefit_gain
from miscal.calibration.survey_design import average
from miscal.evidence.selective import SelectiveRisk, decided, few_errors
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.condition import Condition, Stored
from miscal.findings.residuals import proportion_interval

Floats = NDArray[np.float64]


class Promise(Part):
    """What the confidences of the rows that are acted on promise, and what was observed.

    `n`: rows. `share`: of all rows, in [0, 1], by weight where rows count unequally, as all means. `promised`: mean
    confidence, in [0, 1]; None where there are no rows. `observed`: mean outcome, in [0, 1], with its 95 % interval.
    """

    n: NonNegativeInt
    share: Share
    promised: Probability
    observed: Measure


class NetBenefit(Part):
    """Net benefit of a threshold (:func:`miscal.calibration.metrics.decisions.net_benefit`), in right actions per row.

    `before, after`: by the confidences as given, and by the corrected ones. `all`: of acting on all rows; that of
    acting on none is 0. `gain`: after - before, with its paired 95 % interval.
    """

    before: FiniteFloat
    after: FiniteFloat
    all: FiniteFloat
    gain: Measure


class Decision(Part):
    """What acting on the rows at or above a threshold leads to.

    `threshold`: in (0, 1).
    `source`: whether it was named, or is the one that the costs imply.
    `before, after`: of the rows that are acted on by the confidences as given, and by the corrected ones.
    `net_benefit`: what acting from the threshold on is worth.
    """

    threshold: Share
    source: Literal["given", "cost"]
    before: Promise
    after: Promise
    net_benefit: NetBenefit


@dataclass(frozen=True)
class Thresholds:
    """The thresholds that a user asks for.

    `given`: in (0, 1). `cost`, (float, float) or None: of a missed row that should have been acted on (false negative),
    and of a needless action (false positive). `max_error`: shares of wrong decisions that are accepted, in (0, 0.5],
    beside those of every run.
    """

    given: tuple[float, ...] = ()
    cost: tuple[float, float] | None = None
    max_error: tuple[float, ...] = ()

    @classmethod
    def of(cls, thresholds: Any = (), cost: Any = None, max_error: Any = (), kind: Kind | None = None) -> Thresholds:
        """Check what a user asks for, of probabilities of a kind if one is given.

        Examples
        --------
        >>> Thresholds.of([0.8], (9, 1), 0.03)
        Thresholds(given=(0.8,), cost=(9.0, 1.0), max_error=(0.03,))
        """
        accepted = _numbers(max_error, "max_error must be a share of wrong decisions, or several")
        for one in accepted:
            if not 0 < one <= 0.5:
                raise InputError(f"max_error must be above 0 and at most 0.5; got {one:g}")
        given = _numbers(thresholds, "threshold must be a number between 0 and 1, or several")
        for one in given:
            if not 0 < one < 1:
                raise InputError(f"threshold must be above 0 and below 1; got {one:g}")
        if kind == ANSWER and (given or cost is not None):
            raise InputError(
                "threshold and cost are for events and judges; how many answers may be accepted is what "
                f"{argument('max_error', takes='E')} says"
            )
        if cost is None:
            return cls(given, None, accepted)
        wanted = "cost must be two positive numbers: of a miss (false negative), and of a needless action (FN,FP)"
        costs = _numbers(cost, wanted)
        if len(costs) != 2 or not all(0 < one < np.inf for one in costs):
            raise InputError(f"{wanted}; got {cost!r}")
        return cls(given, (costs[0], costs[1]), accepted)

    @property
    def chosen(self) -> dict[str, Any]:
        """What was asked for, by the names of the arguments; empty where nothing was."""
        cost = None if self.cost is None else list(self.cost)
        asked = {"threshold": list(self.given), "cost": cost, "max_error": list(self.max_error)}
        return {name: values for name, values in asked.items() if values}


def _numbers(values: Any, wanted: str) -> tuple[float, ...]:
    try:
        found = tuple(float(one) for one in ([values] if np.ndim(values) == 0 else values))
    except (TypeError, ValueError):
        raise InputError(f"{wanted}; got {values!r}") from None
    if any(one != one for one in found):
        raise InputError(f"{wanted}; got {values!r}")
    return found


def decide(rows: LabelledRows, corrected: Floats, asked: Thresholds) -> tuple[Decision, ...]:
    """Say what acting at each threshold that was asked for leads to.

    `rows`: evaluation rows, n of them, at least one. `corrected`, (n,) float64 in [0, 1]: confidences corrected by fits
    that have not seen the row's own outcome. Returns by rising threshold.

    Examples
    --------
    >>> sure, y = np.repeat([0.4, 0.9], 100), np.tile([1.0, 0.0], 100)
    >>> [one] = decide(LabelledRows.of(y, sure), np.full(200, 0.5), Thresholds.of([0.8]))
    >>> one.before.n, one.before.promised.__round__(2), one.before.observed.value, one.after.n
    (100, 0.9, 0.5, 0)
    """
    sources: dict[float, Literal["given", "cost"]] = dict.fromkeys(asked.given, "given")
    if asked.cost is not None:
        sources[implied_threshold(asked.cost)] = "cost"
    scores = {"before": rows.confidence, "after": corrected, "all": np.ones(len(rows))}
    acted = {when: replace(rows, confidence=score) for when, score in scores.items()}
    found = []
    for threshold, source in sorted(sources.items()):
        gain = net_benefit_gain(rows, corrected, threshold)
        worth = {when: mean_net_benefit(own, threshold) for when, own in acted.items()}
        net_benefit = NetBenefit(**worth, gain=Measure.of(gain))
        before, after = (_promise(acted[when], threshold) for when in ("before", "after"))
        found.append(Decision(threshold=threshold, source=source, before=before, after=after, net_benefit=net_benefit))
    return tuple(found)


def _promise(rows: LabelledRows, threshold: float) -> Promise:
    """Set what was observed of the rows at or above a threshold beside what their confidences promised."""
    inside = rows.confidence >= threshold
    if not inside.any():
        return Promise(n=0, share=0.0, promised=None, observed=Measure(value=None))
    own = rows.take(inside)
    rate, count = average(own.correct, own.weight), len(own) / effect_of_mean(rows, inside)
    return Promise(
        n=len(own),
        share=average(inside, rows.weight),
        promised=average(own.confidence, own.weight),
        observed=Measure(value=rate, interval=proportion_interval(rate, count, SIGNIFICANCE)),
    )


Mask = NDArray[np.bool_]
AskedGroups = Sequence[tuple[Condition, Mask, float]]
"""Groups with their rows, and among how many each was chosen."""

MAX_ERRORS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Errors that every run answers for: those that people name."""
LEAST_DECIDED = 20
"""Decided rows of a group below which it is not asked: at 20 % of errors, 20 rows of which half are wrong are found."""

ANSWERED, YES, NO, PASS, FAIL = "answer", "yes", "no", "pass", "fail"
SIDES: dict[Kind, tuple[str, ...]] = {ANSWER: (ANSWERED,), EVENT: (YES, NO), JUDGE: (PASS, FAIL)}
"""What may be decided, by the kind of the probability: the first from a threshold on, the second up to one."""
BELOW = (NO, FAIL)

CURVE_POINTS = 50
"""Points of a curve beside those that are promised: as many as a picture of it shows apart."""
FOUND_ERROR = 0.2
"""Share of the error of what breaks that findings get which are no value of a column. A convention."""


class Breaks(Part):
    """A group in which more of the decided rows are wrong than was accepted.

    `condition`: which rows belong to it. `n`: its decided rows. `wrong`: share of wrong ones among them, with its 95 %
    interval. `p_adjusted`: allowing for all groups that were asked (Bonferroni).
    """

    condition: Stored
    n: PositiveInt
    wrong: Measure
    p_adjusted: Share


class RiskLimit(Part):
    """The error among decided rows.

    `value`: as observed, in [0, 1]. `upper`: below which it lies in at least 95 % of data sets.
    """

    value: Probability
    upper: Probability


class OwnThreshold(Part):
    """What the confidence as it was given allows.

    `threshold`: from which on it is decided; null where nothing can be promised. `share`: of the rows, decided so.
    """

    threshold: Probability
    share: Share


class Alone(Part):
    """What may be decided without a person at an accepted error, by the corrected confidence.

    `max_error`: the accepted share of wrong ones among the decided rows, in (0, 1).
    `decision`: what is decided: ``"answer"``; of events ``"yes"`` and ``"no"``, of judges ``"pass"`` and ``"fail"``,
        each by itself.
    `threshold`: the corrected confidence from which on it is decided; of ``"no"`` and ``"fail"`` the
        probability up to which. Null
        where nothing can be promised.
    `n, share`: rows decided, and their share of the evaluation rows.
    `error`: share of wrong ones among the decided rows.
    `raw`: the same promise by the confidence as it was given.
    `breaks`: named groups in which more of the decided rows are wrong, the most certain first.
    `units_needed`: where nothing can be promised: with how many units one could be made with 80 % power, if errors
        stay as they are; at least. Null where no share of the rows is wrong that seldom.
    """

    max_error: Share
    decision: str
    threshold: Probability
    n: NonNegativeInt
    share: Measure
    error: RiskLimit
    raw: OwnThreshold
    breaks: tuple[Breaks, ...] = ()
    units_needed: NonNegativeInt | None = None


class RiskCurve(Part):
    """The error among decided rows against their share, the strictest threshold first.

    `threshold`: as of :class:`Alone`. `share`: of the evaluation rows that is decided, in (0, 1]. `error`: share of
    wrong ones among the decided. Each of those that are promised is there, and all decide twenty rows at least.
    """

    threshold: tuple[Share, ...]
    share: tuple[Share, ...]
    error: tuple[Share, ...]


class RiskCurves(Part):
    """The curves of a decision.

    `decision`: as of :class:`Alone`. `raw, corrected`: by the confidence as it was given, and corrected; null where
    rows are too few.
    """

    decision: str
    raw: RiskCurve | None
    corrected: RiskCurve | None


def decided_alone(
    rows: LabelledRows,
    corrected: LabelledRows,
    near: Mask,
    max_errors: Iterable[float] = MAX_ERRORS,
    *,
    kind: Kind = ANSWER,
    groups: AskedGroups = (),
) -> tuple[tuple[Alone, ...], tuple[RiskCurves, ...]]:
    """Say what may be decided alone at each accepted error, and the error at every share.

    `rows`: evaluation rows, n of them. `corrected`: the same with corrected confidences that have not seen the row's
    outcome. `near`, bool (n,): rows that are near enough to those learned from; others are never decided. `groups`:
    where it is asked whether a promise breaks, by :func:`asked_groups`. Returns promises by error and decision, and the
    curves of each decision.

    Examples
    --------
    >>> score = np.linspace(0.5, 1, 1000)
    >>> y = np.where((score > 0.8) | (np.arange(1000) % 3 > 0), 1.0, 0.0)
    >>> rows = LabelledRows.of(y, np.full(1000, 0.9))
    >>> [found], [curves] = decided_alone(rows, LabelledRows.of(y, score), np.full(1000, True), [0.05])
    >>> found.threshold < 0.8, found.error.upper <= 0.05, found.raw.threshold is None
    (True, True, True)
    """
    sides = SIDES[kind]
    found, curves = [], []
    for side in sides:
        (own, able), (raw, raw_able) = (_towards(some, side) for some in (corrected, rows))
        able &= near
        risks, by_raw = (
            SelectiveRisk(some.take(those)) if those.any() else None for some, those in ((own, able), (raw, raw_able))
        )
        own_share, raw_share = average(able, rows.weight), average(raw_able, rows.weight)
        promises = []
        for error in dict.fromkeys(max_errors):
            known = {"max_error": error, "decision": side, "raw": _by_itself(by_raw, error, side, raw_share)}
            promises.append(Alone(**known, **_allowed(error, side, own, able, risks, groups)))
        found += promises
        by_corrected = _curve(risks, side, own_share, [one.threshold for one in promises])
        by_itself = _curve(by_raw, side, raw_share, [one.raw.threshold for one in promises])
        curves.append(RiskCurves(decision=side, raw=by_itself, corrected=by_corrected))
    return tuple(sorted(found, key=lambda one: (one.max_error, sides.index(one.decision)))), tuple(curves)


def _towards(rows: LabelledRows, side: str) -> tuple[LabelledRows, Mask]:
    """Return the rows with the probability that a decision is right, whether it is, and where it may be taken at all.

    Of an event only the likelier side may be: nobody dismisses what happens more often than not.
    """
    if side == ANSWERED:
        return rows, np.ones(len(rows), dtype=bool)
    if side not in BELOW:
        return rows, rows.confidence >= 0.5
    turned = LabelledRows(1 - rows.correct, 1 - rows.confidence, 1 - rows.expected, design=rows.design)
    return turned, turned.confidence > 0.5


def _by_itself(risks: SelectiveRisk | None, max_error: float, side: str, able: float) -> OwnThreshold:
    """Say what the confidence as it was given allows; `able`: share of rows that are ranked at all."""
    promised = None if risks is None else risks.promised(max_error)
    if promised is None:
        return OwnThreshold(threshold=None, share=0.0)
    return OwnThreshold(threshold=_written(promised.value, side), share=min(1.0, able * promised.share))


def _curve(risks: SelectiveRisk | None, side: str, able: float, promised: Sequence[float | None]) -> RiskCurve | None:
    """Return the error at some shares, those of promised thresholds among them; `able`: share of rows ranked at all."""
    places = [] if risks is None else np.flatnonzero(risks.n >= LEAST_DECIDED)
    if risks is None or not len(places):
        return None
    thresholds = [_written(one, side) for one in risks.thresholds.tolist()]
    even = places[np.linspace(0, len(places) - 1, CURVE_POINTS).round().astype(int)]
    shown = sorted({*even.tolist(), *(thresholds.index(one) for one in promised if one is not None)})
    return RiskCurve(
        threshold=tuple(thresholds[place] for place in shown),
        share=tuple(np.minimum(able * risks.share[shown], 1).tolist()),
        error=tuple(risks.error[shown].tolist()),
    )


def _allowed(
    max_error: float, side: str, rows: LabelledRows, able: Mask, risks: SelectiveRisk | None, groups: AskedGroups
) -> dict[str, Any]:
    """Say what the corrected confidence allows: fields of :class:`Alone`."""
    promised = None if risks is None else risks.promised(max_error)
    if risks is None or promised is None:
        needed = None if risks is None else risks.rows_needed(max_error)
        units = None if needed is None else int(np.ceil(needed * rows.n_units / able.sum()))
        nothing = {"threshold": None, "n": 0, "share": Measure(value=0.0), "error": RiskLimit(value=None, upper=None)}
        return nothing | {"units_needed": units}
    inside = able & decided(rows.confidence, promised.value)
    share = average(inside, rows.weight)
    known = {"group": rows.group, "weight": rows.weight}
    decisions = LabelledRows.of(inside.astype(float), np.full(len(rows), share), **known)
    whole = len(rows) / effect_of_mean(decisions)
    return {
        "threshold": _written(promised.value, side),
        "n": int(inside.sum()),
        "share": Measure(value=share, interval=proportion_interval(share, whole, SIGNIFICANCE)),
        "error": RiskLimit(value=promised.error, upper=promised.upper),
        "breaks": _breaks(rows, inside, max_error, groups),
    }


def _written(threshold: float, side: str) -> float:
    return round(1 - threshold, 12) if side in BELOW else threshold


def _breaks(rows: LabelledRows, inside: Mask, max_error: float, groups: AskedGroups) -> tuple[Breaks, ...]:
    """Find the groups in which more decided rows are wrong than accepted, family-wise over all that were asked."""
    found = []
    for condition, members, among in groups:
        part = inside & members
        if part.sum() < LEAST_DECIDED:
            continue
        own = rows.take(part)
        wrong = float(own.shares @ (1 - own.correct))
        if wrong <= max_error:
            continue
        count = len(own) / effect_of_mean(rows, part)
        # so few right ones, at the accepted rate
        p_value = float(few_errors(np.array(count), np.array(count * (1 - wrong)), 1 - max_error))
        if (adjusted := min(1.0, p_value * among)) < SIGNIFICANCE:
            measure = Measure(value=wrong, interval=proportion_interval(wrong, count, SIGNIFICANCE))
            found.append(Breaks(condition=condition, n=len(own), wrong=measure, p_adjusted=adjusted))
    return tuple(sorted(found, key=lambda one: one.p_adjusted))


def asked_groups(
    values: Iterable[tuple[Condition, Mask]], findings: Iterable[tuple[Condition, Mask]], candidates: int
) -> AskedGroups:
    """Say which groups a promise is asked of, and what each has to allow for.

    `values`: values of named columns, fixed before any outcome was seen. `findings`: what was chosen among `candidates`
    by the outcomes; a fifth of the error is theirs where there are any that are no value of a column.

    Examples
    --------
    >>> some = np.array([True, False])
    >>> [among for _, _, among in asked_groups([("a", some), ("b", ~some)], [("a", some), ("c", some)], 10)]
    [2.5, 2.5, 50.0]
    """
    named = list(values)
    known = [condition for condition, _ in named]
    others = [(condition, rows) for condition, rows in findings if condition not in known]
    spent = FOUND_ERROR if others else 0.0
    return [
        *((condition, rows, len(named) / (1 - spent)) for condition, rows in named),
        *((condition, rows, candidates / FOUND_ERROR) for condition, rows in others),
    ]


PromisedThresholds = dict[str, float | None]
"""The threshold of each decision at one accepted error; None where none can be promised."""


def thresholds_of(promises: Iterable[Alone]) -> dict[str, PromisedThresholds]:
    """Return the thresholds by accepted error, as :func:`error_key` writes it."""
    found: dict[str, PromisedThresholds] = {}
    for one in promises:
        found.setdefault(error_key(one.max_error), {})[one.decision] = one.threshold
    return found


def error_key(max_error: float) -> str:
    """Write an accepted error, so that equal ones are written alike.

    >>> error_key(0.05), error_key(1 - 0.95)
    ('0.05', '0.05')
    """
    return f"{max_error:.12g}"


def decisions_of(corrected: NDArray[np.float64], near: Mask, thresholds: PromisedThresholds) -> NDArray:
    """Decide new rows by their corrected confidences; None where a person has to.

    Examples
    --------
    >>> corrected, near = np.array([0.97, 0.5, 0.01, 0.99]), np.array([True, True, True, False])
    >>> decisions_of(corrected, near, {"yes": 0.9, "no": 0.02}).tolist()
    ['yes', None, 'no', None]
    """
    found = np.full(len(corrected), None, dtype=object)
    for side, threshold in thresholds.items():
        if threshold is not None:
            inside = decided(1 - corrected, 1 - threshold) if side in BELOW else decided(corrected, threshold)
            found[near & inside] = side
    return found
