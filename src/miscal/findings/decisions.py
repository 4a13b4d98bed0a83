"""Say what acting at a threshold leads to: what the model promised of the rows on either side, and what was observed.

A promise is the mean confidence of some rows. It is broken where it lies outside the interval of the rate that was
observed of them (Clopper and Pearson, 1934; of rows that hang together or count unequally, as many fewer), which holds
at every number of rows whatever their confidences (Hoeffding, 1956). At each threshold the same is asked of the groups
of the findings. They were chosen among many, so their intervals and p-values allow for all groups that were tested, for
all thresholds and for both sides (Bonferroni): what is said of one holds however it was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Measure, Part, Probability, Share
from miscal.base.errors import InputError
from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import Vocabulary
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.decisions import implied_threshold, mean_net_benefit, net_benefit_gain, threshold_grid
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.calibration.survey_design import average
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.residuals import holm, proportion_interval, proportion_residual

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

WORST = 3
"""Findings that are listed of a threshold. A convention: more are not read."""

Source = Literal["given", "cost", "grid"]
"""Where a threshold comes from: the user, the costs that the user gave, or the grid."""


class Promise(Part):
    """What the confidences of some rows promise, and what was observed.

    `n`: rows. `share`: of all rows that could be on this side, in [0, 1]: of a finding, of its own rows; by weight
    where rows count unequally, as all means. `promised`: mean confidence, in [0, 1]; None where there are no rows.
    `observed`: mean outcome, in [0, 1], with its interval: at 95 %, or of a finding at a level that allows for its
    choice. `p_value`: whether the promise was kept, of these rows alone; None where there are none. `p_adjusted`: the
    same, allowing for all thresholds and both sides (Holm, 1979); of a finding for its choice too.
    """

    n: NonNegativeInt
    share: Share
    promised: Probability
    observed: Measure
    p_value: Probability
    p_adjusted: Probability = None

    @property
    def low(self) -> float:
        """Lower end of the interval of what was observed; 0 where there is none."""
        return (self.observed.interval or (None, None))[0] or 0.0

    @property
    def high(self) -> float:
        """Upper end of the interval of what was observed; 1 where there is none."""
        ends = self.observed.interval
        return 1.0 if ends is None or ends[1] is None else ends[1]

    @property
    def broken(self) -> bool:
        """Whether the promise was broken beyond chance, allowing for all that was asked."""
        return self.p_adjusted is not None and self.p_adjusted < SIGNIFICANCE


class NetBenefit(Part):
    """Net benefit of a threshold (:func:`miscal.calibration.metrics.decisions.net_benefit`), in right actions per row.

    `before, after`: by the confidences as given, and by the corrected ones. `all`: of acting on all rows; that of
    acting on none is 0. `gain`: after - before, with its paired 95 % interval.
    """

    before: FiniteFloat
    after: FiniteFloat
    all: FiniteFloat
    gain: Measure


class BrokenPromise(Part):
    """A finding of which the model breaks its promise at a threshold.

    `finding`: its place among the findings, from 0. `below`: whether it is of its rows below the threshold, or of
    those at or above it. `before`: of its rows on that side by the confidences as given. `after`: the same by the
    corrected confidences; None where fewer than 30 of its rows are on that side then.
    """

    finding: NonNegativeInt
    below: bool
    before: Promise
    after: Promise | None


class Decision(Part):
    """What acting on the rows at or above a threshold leads to.

    `threshold`: in (0, 1).
    `source`: who asked for it.
    `start`: whether it is the one that comes first: that of the costs, else the first one given, else the one at
        which the correction changes what is done with most rows; those that it changes by little do not count.
    `before, after`: of the rows that are acted on by the confidences as given, and by the corrected ones.
    `before_below, after_below`: of the others.
    `raised, lowered`: rows that the correction moves to the threshold or above it, and below it.
    `net_benefit`: none where no costs were given.
    `findings`: the findings whose promise is broken most beyond chance, before the correction, each on the side on
        which it is broken more; three at most.
    """

    threshold: Share
    source: Source
    start: bool
    before: Promise
    after: Promise
    before_below: Promise
    after_below: Promise
    raised: NonNegativeInt
    lowered: NonNegativeInt
    net_benefit: NetBenefit | None = None
    findings: tuple[BrokenPromise, ...] = ()


@dataclass(frozen=True)
class Thresholds:
    """The thresholds that a user asks for.

    `given`: in (0, 1); the first comes first. `cost`, (float, float) or None: of a missed row that should have been
    acted on (false negative), and of a needless action (false positive). `max_error`: shares of wrong decisions that
    are accepted, in (0, 0.5], beside those of every run.
    """

    given: tuple[float, ...] = ()
    cost: tuple[float, float] | None = None
    max_error: tuple[float, ...] = ()

    @classmethod
    def of(cls, thresholds: Any = (), cost: Any = None, max_error: Any = ()) -> Thresholds:
        """Check what a user asks for.

        Examples
        --------
        >>> Thresholds.of([0.8], (9, 1), 0.03)
        Thresholds(given=(0.8,), cost=(9.0, 1.0), max_error=(0.03,))
        """
        accepted = _numbers(_several(max_error), "max_error must be a share of wrong decisions, or several")
        for one in accepted:
            if not 0 < one <= 0.5:
                raise InputError(f"max_error must be above 0 and at most 0.5; got {one:g}")
        given = _numbers(_several(thresholds), "threshold must be a number between 0 and 1, or several")
        for one in given:
            if not 0 < one < 1:
                raise InputError(f"threshold must be above 0 and below 1; got {one:g}")
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

    def among(self, confidence: Floats) -> dict[float, Source]:
        """Return all thresholds that are computed, rising, and where each comes from."""
        implied = () if self.cost is None else (implied_threshold(self.cost),)
        sources: dict[Source, tuple[float, ...]] = {
            "grid": threshold_grid(confidence), "given": self.given, "cost": implied,
        }  # fmt: skip
        # a later source takes a threshold over from an earlier one
        found = {threshold: source for source, some in sources.items() for threshold in some}
        return dict(sorted(found.items()))


def _several(values: Any) -> Any:
    return [values] if np.ndim(values) == 0 else values


def _numbers(values: Any, wanted: str) -> tuple[float, ...]:
    try:
        found = tuple(float(one) for one in values)
    except (TypeError, ValueError):
        raise InputError(f"{wanted}; got {values!r}") from None
    if any(one != one for one in found):
        raise InputError(f"{wanted}; got {values!r}")
    return found


def decide(
    rows: LabelledRows,
    corrected: Floats,
    asked: Thresholds | None = None,
    *,
    members: Sequence[Mask] = (),
    candidates: int = 0,
    least: float = 0.0,
) -> tuple[Decision, ...]:
    """Say what acting at each threshold leads to.

    `rows`: evaluation rows, n of them, at least one. `corrected`, (n,) float64 in [0, 1]: confidences corrected by fits
    that have not seen the row's own outcome. `asked`: by default nothing is asked for, and the thresholds are those of
    :func:`~miscal.calibration.metrics.decisions.threshold_grid`. `members`: the rows of each finding. `candidates`:
    groups among which the findings were chosen. `least`: rows whose confidence the correction changes by less do not
    decide which threshold comes first. Where many confidences lie close to 0 or 1, thresholds among them part rows
    that hardly differ. Returns by rising threshold.

    Examples
    --------
    >>> sure, y = np.repeat([0.4, 0.9], 100), np.tile([1.0, 0.0], 100)
    >>> found = decide(LabelledRows.of(y, sure), np.full(200, 0.5), Thresholds.of([0.8]))
    >>> [one] = [one for one in found if one.source == "given"]
    >>> one.before.n, one.before.promised.__round__(2), one.before.observed.value, one.before.broken, one.after.n
    (100, 0.9, 0.5, True, 0)
    """
    asked = asked or Thresholds()
    sources = asked.among(rows.confidence)
    thresholds = list(sources)
    # rows are taken apart some thousand times, so that what is not asked for is left behind
    rows = LabelledRows(rows.correct, rows.confidence, rows.expected, design=rows.design)
    after = replace(rows, confidence=corrected)
    sides = {state: _sides(own, thresholds) for state, own in (("before", rows), ("after", after))}
    groups = _worst_groups(rows, after, thresholds, members, candidates)
    first = implied_threshold(asked.cost) if asked.cost else asked.given[0] if asked.given else None
    changed = np.abs(corrected - rows.confidence) >= least

    def stake(place: int) -> tuple[bool, int, float]:
        threshold = thresholds[place]
        moved = changed & ((corrected >= threshold) != (rows.confidence >= threshold))
        # where the correction moves no row, one that acts on about half of them
        return threshold == first, int(np.sum(moved)), -abs(sides["before"][place][0].share - 0.5)

    start = max(range(len(thresholds)), key=stake)
    return tuple(
        Decision(
            threshold=threshold,
            source=source,
            start=place == start,
            before=sides["before"][place][0],
            after=sides["after"][place][0],
            before_below=sides["before"][place][1],
            after_below=sides["after"][place][1],
            raised=int(np.sum((corrected >= threshold) & (rows.confidence < threshold))),
            lowered=int(np.sum((corrected < threshold) & (rows.confidence >= threshold))),
            net_benefit=None if asked.cost is None else _net_benefit(rows, after, threshold),
            findings=groups[place],
        )
        for place, (threshold, source) in enumerate(sources.items())
    )


def promise(rows: LabelledRows, inside: Mask, level: float = SIGNIFICANCE) -> Promise:
    """Set what was observed of some rows beside what their confidences promised.

    `inside`, (n,) bool: chosen without a look at their outcomes, or among as many as `level` allows for. `level`: how
    often the interval may miss, two-sided.

    Examples
    --------
    >>> y, sure = np.tile([1.0, 0.0], 50), np.full(100, 0.6)
    >>> found = promise(LabelledRows.of(y, sure), np.ones(100, dtype=bool))
    >>> round(found.promised, 2), found.observed.value, [round(end, 2) for end in found.observed.interval]
    (0.6, 0.5, [0.4, 0.6])
    """
    if not inside.any():
        return Promise(n=0, share=0.0, promised=None, observed=Measure(value=None), p_value=None)
    own = rows.take(inside)
    rate, promised = average(own.correct, own.weight), average(own.confidence, own.weight)
    count = len(own) / effect_of_mean(rows, inside)
    return Promise(
        n=len(own),
        share=average(inside, rows.weight),
        promised=promised,
        observed=Measure(value=rate, interval=proportion_interval(rate, count, level)),
        p_value=proportion_residual(rate, count, promised).p_value,
    )


def _sides(rows: LabelledRows, thresholds: Sequence[float]) -> list[tuple[Promise, Promise]]:
    """Promises at or above each threshold and below it, adjusted for all of them together."""
    acted = [rows.confidence >= threshold for threshold in thresholds]
    found = [promise(rows, inside) for mask in acted for inside in (mask, ~mask)]
    tested = [place for place, one in enumerate(found) if one.p_value is not None]
    adjusted = holm(np.array([found[place].p_value for place in tested]))
    for place, value in zip(tested, adjusted.tolist(), strict=True):
        found[place] = found[place].model_copy(update={"p_adjusted": value})
    return list(zip(found[::2], found[1::2], strict=True))


def _worst_groups(
    rows: LabelledRows, after: LabelledRows, thresholds: Sequence[float], members: Sequence[Mask], candidates: int
) -> list[tuple[BrokenPromise, ...]]:
    """At each threshold the findings whose promise is broken most: by the end of the interval that is nearest to it."""
    asked = 2 * len(thresholds) * max(candidates, len(members), 1)
    level = SIGNIFICANCE / asked
    found: list[list[BrokenPromise]] = [[] for _ in thresholds]
    for finding, inside in enumerate(members):
        own, own_after = rows.take(inside), after.take(inside)
        for place, threshold in enumerate(thresholds):
            sides = []
            for below, side in ((False, np.greater_equal), (True, np.less)):
                before = _allowing(own, side, threshold, level, asked)
                if before is not None and before.broken:
                    corrected = _allowing(own_after, side, threshold, level, asked)
                    sides.append(BrokenPromise(finding=finding, below=below, before=before, after=corrected))
            found[place] += sorted(sides, key=_nearness)[:1]
    return [tuple(sorted(some, key=_nearness)[:WORST]) for some in found]


def _nearness(one: BrokenPromise) -> float:
    """Return how near the promise is at most, as a number that falls with its distance."""
    promised = one.before.promised or 0.0
    return -max(one.before.low - promised, promised - one.before.high)


def _allowing(
    own: LabelledRows, side: Callable[..., Mask], threshold: float, level: float, asked: int
) -> Promise | None:
    """Promise of the rows of a group on one side, allowing for `asked` of its like; None where they are too few."""
    inside = side(own.confidence, threshold)
    if inside.sum() < MIN_SLICE_ROWS:
        return None
    found = promise(own, inside, level)
    return found.model_copy(update={"p_adjusted": min(1.0, asked * (found.p_value or 0.0))})


def _net_benefit(rows: LabelledRows, after: LabelledRows, threshold: float) -> NetBenefit:
    gain = net_benefit_gain(rows, after.confidence, threshold)
    everyone = replace(rows, confidence=np.ones(len(rows)))
    return NetBenefit(
        before=mean_net_benefit(rows, threshold),
        after=mean_net_benefit(after, threshold),
        all=mean_net_benefit(everyone, threshold),
        gain=Measure(value=gain.value, interval=gain.interval),
    )


def gain_in_words(benefit: NetBenefit, threshold: float, words: Vocabulary) -> str:
    """Say what acting at a threshold is worth before and after the correction, in cases per 1,000.

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> from miscal.base.vocabulary import vocabulary
    >>> gain = Measure(value=0.012, interval=(0.004, 0.02))
    >>> print(gain_in_words(NetBenefit(before=0.1, after=0.112, all=0.05, gain=gain), 0.1, vocabulary("answer")))
    net benefit at 10 %: 100.0 per 1,000 answers before the correction, 112.0 after; gain 12.0 (4.0 to 20.0)
    """
    low, high = (f"{1000 * (end or 0.0):.1f}" for end in benefit.gain.interval or (0.0, 0.0))
    return (
        f"net benefit at {threshold_text(threshold)}: {1000 * benefit.before:.1f} per 1,000 {words.cases} before the "
        f"correction, {1000 * benefit.after:.1f} after; gain {1000 * (benefit.gain.value or 0.0):.1f} ({low} to {high})"
    )


def ends(one: Promise) -> str:
    """Write the interval of a rate without its unit: "40 to 60".

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> ends(Promise(n=9, share=1, promised=0.5, observed=Measure(value=0.03, interval=(0.004, 0.12)), p_value=1))
    '0.40 to 12'
    """
    low, high = (rate(end).removesuffix(" %") for end in (one.low, one.high))
    return f"{low} to {high}"
