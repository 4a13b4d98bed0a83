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
leans on mu. Above 5,000 rows what is
near to normal is not simulated (:mod:`miscal.evidence.sums` says what counts as near). The settings name the two
limits; :mod:`miscal.evidence.limits` says how to add one.

Hidden miscalibration is claimed where the p-value of the certificate is below 0.05, and by nothing else: whether the
estimator takes what it learned for more than noise decides what is corrected, not what is claimed, and the lower limit
says how much there is at least, not whether there is any. The p-value is of two tests of one hypothesis, that the
outcome depends on the confidence alone. Where they reject together but the test of the field does not by itself, there
is something, and the field does not say where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from pydantic import NonNegativeInt

from miscal.base.document import Measure, Number, Part, Probability, Share
from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.blocks import needed, together
from miscal.evidence.conditional import strata
from miscal.evidence.limits import Bound, agreement_bound, covariance_bound
from miscal.evidence.power import Design, DetectablePlace, detectable_size
from miscal.evidence.settings import EVIDENCE_DEFAULTS, SIGNIFICANCE, EvidenceSettings


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
    def of(
        cls,
        total: Bound,
        hidden: Bound,
        *,
        n: int,
        detectable: float | None,
        p_structure: float | None = None,
        detectable_learned: Sequence[DetectablePlace] = (),
        settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    ) -> Self:
        """Put both limits and the kernel score together; of what is not claimed, no size is given.

        Takes settings: how much the test of the field counts beside the kernel score, and the significance.
        """
        p_value = hidden.p_value
        if p_structure is not None:
            p_value = together([p_value, p_structure], [settings.field_weight, 1 - settings.field_weight])
        low = hidden.low if p_value < settings.significance else 0.0
        return cls(
            lower_bound_total=Measure(value=total.value, interval=(total.low, 1.0)),
            lower_bound_hidden=Measure(value=hidden.value, interval=(low, 1.0)),
            p_value=p_value,
            p_field=hidden.p_value,
            p_structure=p_structure,
            p_value_total=total.p_value,
            n=n,
            detectable=detectable,
            detectable_learned=tuple(detectable_learned),
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
        return self.p_value < SIGNIFICANCE

    @property
    def located(self) -> bool:
        """Whether the field says where what is claimed lies: whether its own p-value is below 0.05 too.

        Both p-values are of one hypothesis, so this second look at the field needs no adjustment (closed testing).
        """
        return self.claims_hidden and self.p_field < SIGNIFICANCE


def _bound(measure: Measure, p_value: float) -> Bound:
    low = 0.0 if measure.interval is None else measure.interval[0]
    return Bound(measure.value or 0.0, low or 0.0, p_value)


def certificate(
    rows: LabelledRows,
    *,
    p_structure: float | None = None,
    detectable_learned: Sequence[DetectablePlace] = (),
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    random_state: int | np.random.Generator = 0,
) -> Certificate:
    """Certify a field on rows that it was not learned from.

    Takes rows: with `delta` and `hidden`; p_structure: P-value of the kernel score
    (:mod:`miscal.evidence.kernel_score`), of these rows and any other evaluation rows; detectable_learned: what it
    would have detected of the same rows; settings: significance, confidence level, draws. Returns: Certificate:
    ``total.value`` is the test mean of r s, s the sign of `delta`.

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
    level = needed(1.0 if p_structure is None else settings.field_weight, settings.significance)
    return Certificate.of(
        total=agreement_bound(rows, settings, rng),
        hidden=covariance_bound(rows, settings, rng),
        detectable=detectable_size([_design(part, settings) for part in rows.in_turn()], level, settings),
        n=len(rows),
        p_structure=p_structure,
        detectable_learned=detectable_learned,
        settings=settings,
    )


def _design(rows: LabelledRows, settings: EvidenceSettings) -> Design:
    stratum = strata(rows.confidence, settings.stratum_rows, rows.group)
    if rows.design is None:
        return Design(rows.expected, stratum)
    # without outcomes: what a field would meet that is alike in all rows of a group
    effect = rows.design.design_effect(rows.mass, np.zeros(len(rows)), rows.variance)
    return Design(rows.expected, stratum, effect, None if rows.weight is None else rows.mass)
