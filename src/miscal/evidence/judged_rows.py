"""Many rows that a judge has scored, of which people have labelled few, and the interval of a share of them.

Every row has a probability that people approve of it, learned from other rows' verdicts; some rows have the verdict
itself. Rows may hang together (answers to one question), count unequally, and be labelled with unequal probabilities as
long as these are known.

The mean of the labelled rows' verdicts is unbiased, and says little where they are few. The mean prediction of all rows
says much, and may be biased. Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science
382, 2023) corrects the first by the second:

    rate = mean of verdicts (labelled) + t * (mean prediction of all rows - mean prediction of the labelled rows).

The bracket has mean 0 whatever the predictions are worth, so that the estimate is right whatever they are worth.
The factor t is tuned by least squares (PPI++: Angelopoulos, Duchi and Zrnic, arXiv 2311.01453, 2023; regression
estimators of survey sampling: Cochran, "Sampling Techniques", 1977, chapter 7), and is 0 where predictions do not help.
Labelled rows count by the inverse of the probability with which they were labelled (Hájek's form of Horvitz and
Thompson's estimator; with the predictions, of the augmented one of Robins, Rotnitzky and Zhao, 1994).

**Interval.** Where t is 0 it is that of the labelled rows alone (:func:`~miscal.evidence.judged_rows.share_interval`),
by their effective number n. Otherwise n is divided by what is left of the variance,

    e = sum over clusters of (a - t b)^2 / (1 - h)^2, over the same sum of a^2,

a a cluster's part in the first mean less its expectation, b its part in minus the bracket, h its leverage: each cluster
is judged by a factor that it did not help to tune. Where the residuals say that predictions do not help (e >= 1), t is
set to 0. So the interval has the width that so many more labels would have given it, and is never that of fewer.
Normal intervals fail where a verdict is rare or the judge is nearly always right, since few rows, or none, show the
variance. This one does not rest on a variance there: e is drawn to 1 as if z^2 = 3.84 more rows of the rarer verdict
had been seen, at which predictions do not help (as many as Agresti and Coull add, The American Statistician 52, 1998).

The rate is that of rows like these, not only of these: where all rows are labelled the interval has still a width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt
from scipy.special import betaincinv

from miscal.base.document import Measure, Number, Part, Probability, Share, Text
from miscal.base.folds import named_units
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL, mean_interval, wilson
from miscal.calibration.survey_design import SurveyDesign, average, effect_of_groups, equal_parts, fewness, kish

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

FEWEST_LABELS = 20
"""Labelled rows that an interval needs. Coverage is measured from 20 on (``benchmarks/nothing.py``)."""
FEWEST_CLUSTERS = 10
"""Clusters of equal weight that labelled rows must be worth: the spread between fewer is hardly known. A row by itself
is a cluster."""


class Rate(Part):
    """How often people approve of some rows, from 0 to 1.

    `estimate`: None where no row is labelled. `interval`: at 95 %; None where `lacking` says what is missing: fewer
    than 20 labelled rows, or these in fewer than 10 clusters, or with weights so unequal that they are worth no more.
    `n_labelled, n`: rows with a verdict of people, and all rows.
    """

    estimate: Number
    interval: tuple[Share, Share] | None = None
    lacking: Literal["labels", "clusters"] | None = None
    n_labelled: NonNegativeInt
    n: NonNegativeInt


class Agreement(Part):
    """How far what a judge passes or fails agrees with what people say, of the answers that they have judged.

    `kappa`: agreement beyond chance, over the most that there could be (Cohen, 1960), in [-1, 1]; null where judge and
    people have one verdict alone, without interval where there are too few verdicts. `true_positive`: share that is
    passed of what people approve. `true_negative`: share that is failed of what they reject.
    """

    kappa: Measure
    true_positive: Rate
    true_negative: Rate


class GroupRate(Part):
    """How often people would approve the answers of a group, beside what the judge says.

    ``name`` says what the group is; ``column`` and ``value`` name it where it is a value of a column, ``finding`` is
    its place among the findings, from 1. ``rate`` is of prediction-powered inference, ``judge`` the mean of the judge's
    scores. ``agreement`` compares what the judge passes with what people approve.
    """

    name: Text
    column: Text | None = None
    value: Text | None = None
    finding: NonNegativeInt | None = None
    rate: Rate
    judge: Rate
    agreement: Agreement | None = None


class ScalePoint(Part):
    """A score of the judge, and how often people approve at it.

    `score`: as it stands. `approval`: from 0 to 1.
    """

    score: Text
    approval: Probability


class JudgeNumbers(Part):
    """The judge of a run.

    ``scale`` is empty where its scores are probabilities. ``n_unjudged`` rows have no verdict of people. ``groups`` are
    the findings, and the values of columns with few of them.

    `whole`: all rows.
    """

    scale: tuple[ScalePoint, ...] = ()
    n_unjudged: NonNegativeInt
    whole: GroupRate
    groups: tuple[GroupRate, ...] = ()


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows with a predicted verdict, and the verdict of people for some of them.

    Attributes
    ----------
    predicted : (n,) float64 in [0, 1]
        Probability that people approve, as learned without the row's own verdict.
    human : (n,) float64
        1 where people approve, 0 where not, NaN where nobody has looked.
    inverse : (n,) float64 > 0
        How much a row counts, over the probability with which it was labelled: of labelled rows only the ratios matter.
    cluster : (n,) int64
        Rows of equal number may hang together.
    weight : (n,) float64 > 0
        For how many rows each stands, up to a common factor.
    """

    predicted: Floats
    human: Floats
    inverse: Floats
    cluster: Ints
    weight: Floats

    @classmethod
    def of(
        cls,
        predicted: Floats,
        human: Floats,
        *,
        labelling_probability: Floats | None = None,
        cluster: NDArray | None = None,
        weight: Floats | None = None,
    ) -> JudgedRows:
        """Keep the rows that count.

        Takes predicted (n,): probability that people approve; human (n,): the verdict of people, or NaN;
        labelling_probability (n,): probability with which a row was chosen to be labelled; cluster (n,): rows of
        equal value may hang together, for instance answers to one question; weight (n,): for how many rows each
        stands.

        Examples
        --------
        >>> rows = JudgedRows.of(np.array([0.9, 0.2, 0.6]), np.array([1, np.nan, 0]))
        >>> rows.labelled.tolist()
        [True, False, True]
        """
        mass = np.ones(len(human)) if weight is None else weight
        inverse = mass if labelling_probability is None else mass / labelling_probability
        return cls(predicted, human, inverse, named_units(len(human), cluster), mass).take(mass > 0)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.predicted)

    @property
    def labelled(self) -> Mask:
        """Rows with a verdict, (n,) bool."""
        return ~np.isnan(self.human)

    def take(self, inside: NDArray) -> JudgedRows:
        """Return some rows, by a boolean mask or by number; clusters keep their numbers."""
        parts = self.predicted, self.human, self.inverse, self.cluster, self.weight
        return JudgedRows(*(part[inside] for part in parts))

    @property
    def lacking(self) -> Literal["labels", "clusters"] | None:
        """What these rows lack for an interval; None where nothing."""
        labelled = self.labelled
        if labelled.sum() < FEWEST_LABELS:
            return "labels"
        worth = equal_parts(np.bincount(self.cluster[labelled], self.inverse[labelled]))
        # so many alike are worth their number but for rounding
        return "clusters" if worth < FEWEST_CLUSTERS - 1e-9 else None


def effective_labels(value: Floats, share: Floats, cluster: Ints) -> float:
    """Count the independent, equally weighted rows that say as much of a mean as these do.

    Takes value (n,): of the labelled rows; share (n,): weights, which sum to 1; cluster (n,) int64: rows of equal
    number may hang together. Returns float > 0: n over the design effects of weights and clusters
    (:mod:`miscal.calibration.survey_design`), of which those of clusters, and those of unequal weights where each row
    is a cluster, have Student's quantile in place of the normal one.

    Examples
    --------
    >>> y = np.tile([0.0, 1.0], 50)
    >>> effective_labels(y, np.full(100, 0.01), np.arange(100))
    100.0
    >>> round(effective_labels(np.repeat(y, 2), np.full(200, 0.005), np.arange(200) // 2))
    98
    >>> round(effective_labels(y, np.repeat([0.002, 0.018], 50), np.arange(100)))
    58
    """
    left = value - share @ value
    if len(np.unique(cluster)) == len(cluster):
        # equal weights leave no variance to be estimated: it follows from the share
        few = 1.0 if np.ptp(share) == 0 else float(fewness(equal_parts(share**2)))
        return len(value) / (kish(share, left**2) * few)
    if np.ptp(value) > 0:
        return len(value) / (kish(share, left**2) * effect_of_groups(left, cluster, share))
    # rows that all agree cannot show that those of a cluster do not hang together
    alike = np.ones_like(share)
    return len(value) / (kish(share, alike) * SurveyDesign(cluster, 1.0).design_effect(share, left, alike))


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Interval of a share at 95 %: Wilson's, further out where one of the outcomes was seen a few times only.

    Wilson's interval excludes shares just below 1/n too readily once the outcome has been seen: its coverage falls to
    84 %. Brown, Cai and DasGupta ("Interval estimation for a binomial proportion", Statistical Science 16, 2001) put
    the exact one-sided limit at 5 % in place of an end that lies further in. So does this, for any count, whole or not.

    Takes n: rows behind it (effective rows if weighted). Returns low, high : float: In [0, 1].

    Examples
    --------
    >>> [round(end, 3) for end in share_interval(0.5, 100)], [round(end, 3) for end in share_interval(0.01, 100)]
    ([0.404, 0.596], [0.001, 0.054])
    """
    low, high = (float(end) for end in wilson(np.array(share), np.array(n)))
    hits, misses = share * n, n - share * n
    if hits > 0:
        low = min(low, float(betaincinv(hits, misses + 1, 1 - CONFIDENCE_LEVEL)))
    if misses > 0:
        high = max(high, float(betaincinv(hits + 1, misses, CONFIDENCE_LEVEL)))
    return low, high


def _rate(
    rows: JudgedRows, estimate: float | None, labels: float = 0.0, lacking: Literal["labels", "clusters"] | None = None
) -> Rate:
    """Put down an estimate, with the interval of a share of so many labels unless something is lacking."""
    interval = None if lacking or estimate is None else share_interval(estimate, labels)
    known = {"n_labelled": int(rows.labelled.sum()), "n": len(rows)}
    return Rate(estimate=estimate, interval=interval, lacking=lacking, **known)


_LEAST_LEFT = 0.05
"""Least 1 - h: a cluster that alone decides the factor is not divided by 0. Reached by no cluster of ten alike."""

_UNHELPED = 3.84
"""Rows of the rarer verdict that are added, as if predictions did not help there: the squared normal quantile."""


_ROUNDING = 1e-9
"""Predictions that differ by no more are taken to be alike."""


_SPREAD_OVER = 50
"""Parts of equal size that a variance which no cluster shows is cut into: one alone would count as one cluster."""
_ALIKE = np.ones((_SPREAD_OVER, 1))


def pass_rate(rows: JudgedRows) -> Rate:
    """Estimate the share of rows that people would approve of.

    Takes rows: some of them labelled. Returns: Rate: With an interval at 95 % where 20 rows or more are labelled.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0, 1, 4000)
    >>> verdict = (rng.random(4000) < p).astype(float)
    >>> verdict[200:] = np.nan
    >>> rows = JudgedRows.of(p, verdict)
    >>> found = pass_rate(rows)
    >>> [round(end, 2) for end in (found.estimate, *found.interval)], found.n_labelled
    ([0.5, 0.45, 0.55], 200)
    """
    if not rows.labelled.any():
        return _rate(rows, None, lacking="labels")
    estimate, left = _tuned(rows)
    if (lacking := rows.lacking) is not None:
        return _rate(rows, estimate, lacking=lacking)
    return _rate(rows, estimate, _labels(rows) / left)


def judge_rate(rows: JudgedRows, score: Floats) -> Rate:
    """Take the mean of the judge's scores for the pass rate; no verdict of people has a part in it.

    Takes score (n,): what the judge says: pass or fail, or a probability. Returns: Rate: Its interval is that of
    the mean score of rows like these.

    Examples
    --------
    >>> rows = JudgedRows.of(np.full(100, 0.5), np.tile([0.0, np.nan], 50))
    >>> judge_rate(rows, np.repeat([1.0, 0.0], [75, 25])).estimate
    0.75
    """
    share = rows.weight / rows.weight.sum()
    mean = float(np.clip(share @ score, 0.0, 1.0))
    return _rate(rows, mean, effective_labels(score, share, rows.cluster))


def agreement(rows: JudgedRows, passed: NDArray[np.bool_]) -> Agreement:
    """Compare what a judge passes with the verdicts of people; intervals count clusters.

    The interval of kappa is Student's, by the influence of each cluster (Fleiss, Cohen and Everitt, Psychological
    Bulletin 72, 1969, of rows), with one answer more that is judged otherwise.

    Takes passed (n,): whether the judge passes the answer. Returns: Agreement: Of the labelled rows, each by the
    inverse of the probability with which it was labelled.

    Examples
    --------
    >>> human, passed = np.repeat([1.0, 0.0], 50), np.repeat([True, False] * 2, [45, 5, 15, 35])
    >>> found = agreement(JudgedRows.of(passed.astype(float), human), passed)
    >>> [round(one, 2) for one in (found.kappa.value, found.true_positive.estimate, found.true_negative.estimate)]
    [0.6, 0.9, 0.7]
    """
    labelled = rows.labelled

    def rate(verdict: int) -> Rate:
        inside = rows.human == verdict
        own, hit = rows.take(inside), (passed[inside] == verdict).astype(float)
        if not inside.any():
            return _rate(own, None, lacking="labels")
        estimate, share = average(hit, own.inverse), own.inverse / own.inverse.sum()
        if own.lacking is not None:
            return _rate(own, estimate, lacking=own.lacking)
        return _rate(own, estimate, effective_labels(hit, share, own.cluster))

    kappa = _kappa(rows.take(labelled), passed[labelled].astype(float)) if labelled.any() else Measure(value=None)
    return Agreement(kappa=kappa, true_positive=rate(1), true_negative=rate(0))


def _kappa(rows: JudgedRows, passed: Floats) -> Measure:
    share = rows.inverse / rows.inverse.sum()
    same, says, people = passed * rows.human + (1 - passed) * (1 - rows.human), share @ passed, share @ rows.human
    other = 1 - says * people - (1 - says) * (1 - people)
    if other < _ROUNDING:
        return Measure(value=None)
    value = float(np.clip(1 - (1 - share @ same) / other, -1.0, 1.0))
    moved = (passed - says) * (2 * people - 1) + (rows.human - people) * (2 * says - 1)
    influence = (same - share @ same) / other - (1 - share @ same) / other**2 * moved
    flipped = len(np.unique(rows.cluster)) / len(rows) / other
    found = mean_interval(value + influence, sample_weight=rows.inverse, groups=rows.cluster, unit=flipped)
    if rows.lacking is not None or found.interval is None:
        return Measure(value=value)
    return Measure(value=value, interval=(max(-1.0, found.interval[0]), min(1.0, found.interval[1])))


def _labels(rows: JudgedRows) -> float:
    """Independent labels that say as much as those of these rows."""
    some = rows.take(rows.labelled)
    return effective_labels(some.human, some.inverse / some.inverse.sum(), some.cluster)


def _tuned(rows: JudgedRows) -> tuple[float, float]:
    """Correct the mean of the verdicts by the predictions, and tell what share of its variance is left."""
    labelled = rows.labelled
    share = np.where(labelled, rows.inverse, 0.0)
    share /= share.sum()
    mass = rows.weight / rows.weight.sum()
    verdict = np.where(labelled, rows.human, 0.0)
    mean, seen, whole = share @ verdict, share @ rows.predicted, mass @ rows.predicted

    def by_cluster(parts: Floats) -> Floats:
        return np.bincount(rows.cluster, parts)

    alone = by_cluster(share * (verdict - mean))
    bracket = by_cluster(share * (rows.predicted - seen) - mass * (rows.predicted - whole))
    squares, variance = bracket @ bracket, alone @ alone
    factor = alone @ bracket / squares if np.ptp(rows.predicted) > _ROUNDING and squares > 0 else 0.0
    left = 1.0
    if factor > 0 and variance > 0:
        own = by_cluster(share)
        outside = np.maximum(1 - own - bracket**2 / squares, _LEAST_LEFT)
        kept = np.maximum(1 - own, _LEAST_LEFT)
        left = float(np.sum(((alone - factor * bracket) / outside) ** 2) / np.sum((alone / kept) ** 2))
    if factor <= 0 or left >= 1:
        # what was learned without a row leans away from its verdict: a negative factor would be an artefact
        return float(np.clip(mean, 0.0, 1.0)), 1.0
    rarer = _labels(rows) * min(mean, 1 - mean)
    left = (rarer * left + _UNHELPED) / (rarer + _UNHELPED)
    return float(np.clip(mean - factor * (seen - whole), 0.0, 1.0)), left
