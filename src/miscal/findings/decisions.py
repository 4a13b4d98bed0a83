"""Say what acting at a threshold leads to: what was promised of the rows that are acted on, and what was observed.

A promise is the mean confidence of some rows. It is set beside the share of them that came true, with the interval of
Clopper and Pearson (1934). That interval holds at every number of rows, whatever their confidences (Hoeffding, 1956);
rows that hang together or count unequally are taken as fewer. What acting is worth is the net benefit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Measure, Part, Probability, Share
from miscal.base.errors import InputError, argument
from miscal.base.vocabulary import ANSWER, Kind
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.decisions import implied_threshold, mean_net_benefit, net_benefit_gain
from miscal.calibration.survey_design import average
from miscal.evidence.settings import SIGNIFICANCE
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
