"""Certificates: how much miscalibration there is at least, shown on rows that nothing was learned from.

Total. For any s(x) in [-1, 1] fixed before the test labels, E[r s] = E[delta s] <= E|delta|. With s the sign of the
estimated field (0 where it is 0) the test mean of r s estimates a lower bound of the mean absolute miscalibration.

Hidden. s is the sign of the hidden field where that is large enough to be worth the noise of its rows, else 0, so that
a rare regime is not drowned by the rows around it, on which the field is next to nothing
(:func:`~miscal.evidence.limits.covariance.counted`). Up to 5,000 rows, where the field is too faint for that to be
enough, a second s is tried beside it, the field by its size
(:func:`~miscal.evidence.limits.covariance.by_size`), and the error is divided between the two. With
h = E[y | x, f] - E[y | f],
E[(y - mu(f)) (s - t(f))] = E[h s] + E[(E[y|f] - mu(f)) (E[s|f] - t(f))], and E[h s] <= E|h| for any s in [-1, 1]. mu is
fitted off the test rows. t is the mean of s over the test rows of near-equal confidence: it uses no label, and it must
be that of the very s that is tested (honest fields of other rows come from other fits, whose signs follow f
differently). s of a row must not depend on the fields of those rows: it would be correlated with t, and the limit too
high. A limit above 0 is given only where the permutation test of the field rejects too, and the claim is made.

The claim is by a p-value alone, of two tests of one hypothesis (y depends on f alone): that of the field, and the
kernel score (:mod:`miscal.evidence.kernel_score`), which needs no field; :mod:`miscal.evidence.blocks` says how
they are combined.

Both limits are of the mean over the test rows, weighted where rows count unequally; the rows are taken to be
independent given inputs and confidences, unless groups are named. That of the total
(:mod:`miscal.evidence.limits.agreement`) is exact for any n, worst case included, where rows count alike and are
independent; that of the hidden part (:mod:`miscal.evidence.limits.covariance`) is inverted from a simulated test and
leans on mu. Above 5,000 rows what is near to normal is not simulated (:mod:`miscal.evidence.sums` says what counts as
near). :mod:`miscal.evidence.limits` says how to add a limit.

Hidden miscalibration is claimed where the p-value of the certificate is below 0.05, and by nothing else: whether the
estimator takes what it learned for more than noise decides what is corrected, not what is claimed, and the lower limit
says how much there is at least, not whether there is any. The p-value is of two tests of one hypothesis, that the
outcome depends on the confidence alone. Where they reject together but the test of the field does not by itself, there
is something, and the field does not say where.

E[y | f] is learned from other rows. Where a split was made by time or place, these can be of another kind, and then
what is called visible and hidden is divided at the wrong rate.

If outcomes depend on the confidence alone, and alike in both sets, the right answers of a stratum of near-equal
confidence are dealt among its rows without regard to the set, so that their number in one set has a hypergeometric law.
Both statistics are compared with draws of these numbers: no normal law is presumed, which fails where a stratum has a
wrong answer or two, as at confidences near 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt

from miscal.base.document import Measure, Number, Part, Probability, Share
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence import settings
from miscal.evidence.blocks import needed, rank_among_draws, together
from miscal.evidence.conditional import strata
from miscal.evidence.limits.agreement import Bound, agreement_bound
from miscal.evidence.limits.covariance import covariance_bound
from miscal.evidence.power import DetectablePlace, detectable_size


class Certificate(Part):
    """What unseen rows prove about a field, as a document stores it.

    Attributes
    ----------
    lower_bound_total, lower_bound_hidden : Measure
        Of E|delta| and of E|h|, h the part no reliability diagram can show: the estimate, and the interval from its
        one-sided lower confidence limit to 1.
    p_value : float in [0, 1]
        Of the hypothesis that the outcome depends on the confidence alone, by both of the following tests together.
    p_field : float in [0, 1]
        Of the test of the field: 1 where it claims nothing hidden, so that there was nothing to test.
    p_structure : float in (0, 1], or None
        Of the kernel score, of all evaluation rows; None where it was not asked.
    p_value_total : float in [0, 1]
        Of the hypothesis that the confidence is right.
    n : int
        Rows on which the field was tested.
    detectable : float or None
        The mean absolute hidden miscalibration that these rows would have led to a claim of with 80 % power by the
        field alone (the kernel score saying as much as chance), presuming that it goes in both directions and is as
        large on every row as on any other, and that the estimated field has the right sign and relative size on every
        row (:mod:`miscal.evidence.power`); None where no such outcomes could be told from chance.
    detectable_learned : tuple of DetectablePlace
        What would have led to a claim with 80 % power by the kernel score alone (the field saying as much as chance),
        where nobody knows beforehand which inputs it affects (:mod:`miscal.evidence.power`); empty where the
        score was not asked.
    """

    lower_bound_total: Measure
    lower_bound_hidden: Measure
    p_value: Share
    p_field: Share
    p_structure: Probability
    p_value_total: Share
    n: NonNegativeInt = 0
    detectable: Number = None
    detectable_learned: tuple[DetectablePlace, ...] = ()

    @classmethod
    def of(cls, total: Bound, hidden: Bound, *, p_structure: float | None = None, **known: Any) -> Self:
        """Put both limits and the kernel score together; of what is not claimed, no size is given."""
        p_value = hidden.p_value
        if p_structure is not None:
            p_value = together([p_value, p_structure], [settings.FIELD_WEIGHT, 1 - settings.FIELD_WEIGHT])
        low = hidden.low if p_value < settings.SIGNIFICANCE else 0.0
        return cls(
            lower_bound_total=Measure(value=total.value, interval=(total.low, 1.0)),
            lower_bound_hidden=Measure(value=hidden.value, interval=(low, 1.0)),
            p_value=p_value,
            p_field=hidden.p_value,
            p_structure=p_structure,
            p_value_total=total.p_value,
            **known,
        )

    @property
    def total(self) -> Bound:
        """The lower limit of E|delta|."""
        return _bound(self.lower_bound_total, self.p_value_total)

    @property
    def hidden(self) -> Bound:
        """The lower limit of E|h|, 0 where nothing hidden is claimed."""
        return _bound(self.lower_bound_hidden, self.p_field)

    @property
    def claims_hidden(self) -> bool:
        """Whether hidden miscalibration is claimed: by ``p_value`` alone."""
        return self.p_value < settings.SIGNIFICANCE

    @property
    def located(self) -> bool:
        """Whether the field says where what is claimed lies: whether its own p-value is below 0.05 too.

        Both p-values are of one hypothesis, so this second look at the field needs no adjustment (closed testing).
        """
        return self.claims_hidden and self.p_field < settings.SIGNIFICANCE


def _bound(measure: Measure, p_value: float) -> Bound:
    low = 0.0 if measure.interval is None else measure.interval[0]
    return Bound(measure.value or 0.0, low or 0.0, p_value)


def certificate(
    rows: LabelledRows,
    *,
    p_structure: float | None = None,
    detectable_learned: tuple[DetectablePlace, ...] = (),
    random_state: int | np.random.Generator = 0,
) -> Certificate:
    """Certify a field on rows that it was not learned from.

    Takes rows: with `delta` and `hidden`; p_structure: P-value of the kernel score
    (:mod:`miscal.evidence.kernel_score`), of these rows and any other evaluation rows; detectable_learned: what it
    would have detected of the same rows. Returns: Certificate: ``total.value`` is the test mean of r s, s the sign of
    `delta`.

    Examples
    --------
    >>> from miscal.evidence.conditional import outcome_given_confidence
    >>> rng = np.random.default_rng(0)
    >>> x, f = rng.choice([-1, 1], 5000), rng.uniform(0.3, 0.7, 5000)
    >>> y = (rng.random(5000) < f + 0.2 * x).astype(float)
    >>> fit, test = slice(0, 4000), slice(4000, None)
    >>> expected = outcome_given_confidence(y[fit], f[fit], f[test])
    >>> rows = LabelledRows.of(y[test], f[test], expected, delta=0.2 * x[test], hidden=0.2 * x[test])
    >>> shown = certificate(rows)
    >>> bool(0.1 < shown.hidden.low < shown.hidden.value), shown.hidden.p_value
    (True, 0.0005)
    """
    rng = np.random.default_rng(random_state)
    # the size that the field's test detects, by itself or beside the test of the structure, which is taken to see none
    level = needed(1.0 if p_structure is None else settings.FIELD_WEIGHT, settings.SIGNIFICANCE)
    return Certificate.of(
        total=agreement_bound(rows, rng),
        hidden=covariance_bound(rows, rng),
        detectable=detectable_size(rows, level),
        n=len(rows),
        p_structure=p_structure,
        detectable_learned=detectable_learned,
    )


Floats = NDArray[np.float64]

_FEWEST_STRATA, _STRATUM_ROWS = 10, 100
"""A stratum needs so many rows, or that part of all rows if there are fewer: where the two sets differ in their
confidences, a wide stratum of many rows would take the slope of the reliability curve for a drift."""
_DRAWS, _FEWEST_DRAWS, _WORK = 1_999, 399, 4_000_000
"""Draws, and of very many strata so many fewer that draws times strata are no more than this, half a second."""
_WARNED_BELOW = 0.01
"""p-value below which a user is warned: once in a hundred runs without drift. Not tuned."""


@dataclass(frozen=True)
class Drift:
    """How the outcomes of evaluation rows differ from those of rows learned from, at equal confidence.

    Attributes
    ----------
    difference : float
        Share of right answers of the evaluation rows less that of the others, within strata of the confidence
        (Mantel and Haenszel), in [-1, 1].
    p_value : float
        In (0, 1], of a common difference and of one that changes with the confidence, in one: exact for independent
        rows with the same confidences in both sets.
    """

    difference: float
    p_value: float


def drift(
    correct: Floats,
    confidence: Floats,
    evaluated: NDArray[np.bool_],
    effect: float = 1.0,
    random_state: int | np.random.Generator = 0,
) -> Drift:
    """Compare outcomes of two sets of rows within strata of the confidence.

    Takes correct (n,); confidence (n,); evaluated (n,) bool: evaluation rows; effect: design effect, where rows hang
    together or count unequally: squares are divided by it. Returns: Drift: With a p-value of 1 where no stratum holds
    both sets and both outcomes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f, late = rng.random(2000), np.arange(2000) >= 1000
    >>> found = drift((rng.random(2000) < np.where(late, 0.7 * f, f)).astype(float), f, late)
    >>> round(found.difference, 2), found.p_value
    (-0.15, 0.0005)
    """
    stratum = strata(confidence, rows=max(1, min(_STRATUM_ROWS, len(confidence) // _FEWEST_STRATA)))
    many = int(stratum.max()) + 1
    ours, theirs = (np.bincount(stratum[side], minlength=many) for side in (evaluated, ~evaluated))
    right = np.bincount(stratum[evaluated & (correct > 0)], minlength=many)
    total, rows = np.bincount(stratum[correct > 0], minlength=many), ours + theirs
    telling = (ours > 0) & (theirs > 0) & (total > 0) & (total < rows)
    if not telling.any():
        return Drift(0.0, 1.0)
    ours, theirs, right, total, rows = (part[telling] for part in (ours, theirs, right, total, rows))
    expected = ours * total / rows
    variance = expected * (theirs / rows) * (rows - total) / (rows - 1)
    draws = int(np.clip(_WORK // len(rows), _FEWEST_DRAWS, _DRAWS))
    dealt = np.random.default_rng(random_state).hypergeometric(ours, theirs, total, size=(draws, len(rows)))
    excess = np.concatenate([right[None], dealt]) - expected
    squares = np.column_stack([excess.sum(1) ** 2, (excess**2 / variance).sum(1)])
    squares[0] /= effect
    difference = float(excess[0].sum() / np.sum(ours * theirs / rows))
    return Drift(difference, rank_among_draws(squares))


def drift_warning(found: Drift, kind: Kind = ANSWER) -> str | None:
    """Warn where the evaluation rows are of another kind.

    Takes kind: what the confidence is the probability of.

    Examples
    --------
    >>> drift_warning(Drift(-0.12, 1e-5))[:94]
    'at equal confidence, the test rows are right 12 points less often than the rows learned from ('
    >>> drift_warning(Drift(0.01, 0.4)) is None
    True
    """
    if found.p_value >= _WARNED_BELOW:
        return None
    much = f"{100 * abs(found.difference):.0f}"
    often = (
        "at other rates"
        if much == "0"
        else f"{much} point{'' if much == '1' else 's'} {'less' if found.difference < 0 else 'more'} often"
    )
    words = vocabulary(kind)
    p_value = "p < 0.001" if found.p_value < 0.001 else f"p = {found.p_value:.2g}"
    return (
        f"at equal {words.probability}, {words.in_rows('the test rows')} {often} {words.than('the rows learned from')} "
        f"({p_value}). The {words.rate} expected at each {words.probability} was learned from those rows, so the "
        "visible and the hidden part of each number are rough, and their intervals miss the truth more often than they "
        "say; their sum is not affected"
    )
