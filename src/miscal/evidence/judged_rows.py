"""Many rows that a judge has scored, of which people have labelled few, and the interval of a share of them.

Every row has a probability that people approve of it, learned from other rows' verdicts; some rows have the verdict
itself. Rows may hang together (answers to one question), count unequally, and be labelled with unequal probabilities as
long as these are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from miscal.base.arrays import numeric, row_list
from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.errors import InputError
from miscal.base.folds import named_units
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL, wilson
from miscal.calibration.survey_design import SurveyDesign, effect_of_groups, equal_parts, fewness, kish

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

FEWEST_LABELS = 20
"""Labelled rows that an interval needs. Coverage is measured from 20 on (``benchmarks/nothing.py``)."""
FEWEST_CLUSTERS = 10
"""Clusters of equal weight that labelled rows must be worth: the spread between fewer is hardly known. A row by itself
is a cluster."""

Z = float(ndtri((1 + CONFIDENCE_LEVEL) / 2))
"""Normal quantile of two-sided intervals."""


@dataclass(frozen=True)
class PassRate:
    """An estimate of the share of rows that people approve of.

    Attributes
    ----------
    estimate : float in [0, 1], or None
        None where no row is labelled.
    low, high : float in [0, 1], or None
        Interval at 95 %; None where `lacking` says what is missing.
    standard_error : float >= 0, or None
        Half the width of the interval over 1.96. (The plug-in value would be 0 where all verdicts agree.)
    n_labelled, n : int
        Rows with a verdict, and all rows.
    lacking : {"labels", "clusters", "signal"} or None
        Why there is no interval: fewer than 20 labelled rows; these in fewer than 10 clusters, or with weights so
        unequal that they are worth no more; or a judge that is no better than chance, by a method that divides by how
        much better it is.
    """

    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    n_labelled: int
    n: int
    lacking: Literal["labels", "clusters", "signal"] | None = None


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows with a predicted verdict, and the verdict of people for some of them. Checked by :meth:`of`.

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
        predicted: Any,
        human: Any,
        *,
        labelling_probability: Any = None,
        cluster: Any = None,
        weight: Any = None,
    ) -> JudgedRows:
        """Check and keep rows.

        Takes predicted (n,): probability that people approve; human (n,): the verdict of people;
        labelling_probability (n,): probability with which a row was chosen to be labelled; cluster (n,): rows of
        equal value may hang together, for instance answers to one question; weight (n,): for how many rows each
        stands.

        Examples
        --------
        >>> rows = JudgedRows.of([0.9, 0.2, 0.6], [1, None, 0])
        >>> rows.labelled.tolist()
        [True, False, True]
        >>> JudgedRows.of([0.9], [0.5])
        Traceback (most recent call last):
        ...
        miscal.base.errors.InputError: human must hold only 0/1 or True/False; it holds 0.5 ...
        """
        named = {"predicted": predicted, "human": human, "labelling_probability": labelling_probability}
        n = check_lengths(**named, cluster=cluster, weight=weight)
        predicted = check_confidence(predicted, name="predicted")
        human = _verdicts(human)
        mass = check_weight(weight, n, name="weight")
        chance = _chances(labelling_probability, ~np.isnan(human))
        rows = cls(predicted, human, mass / chance, named_units(n, cluster), mass)
        return rows.take(mass > 0)

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


def _verdicts(human: Any) -> Floats:
    array = numeric(human, "human").astype(np.float64)
    given = np.flatnonzero(~np.isnan(array))
    if len(given):
        check_correct(array[given], name="human", rows=given)
    return array


def _chances(probability: Any, labelled: Mask) -> Floats:
    if probability is None:
        return np.ones(len(labelled))
    chance = check_confidence(probability, name="labelling_probability")
    if (never := chance <= 0).any():
        raise InputError(
            f"labelling_probability must be above 0, so that labelled rows stand for all; it is 0 in "
            f"{int(never.sum())} of {len(chance)} rows ({row_list(never)}). Leave out rows that could not be chosen"
        )
    if (missing := (chance >= 1) & ~labelled).any():
        raise InputError(
            f"labelling_probability is 1 in {int(missing.sum())} of {len(chance)} rows without a verdict "
            f"({row_list(missing)}); a row that is certain to be labelled needs one"
        )
    return chance


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


def with_interval(estimate: float, n: float, rows: JudgedRows) -> PassRate:
    """State an estimate with the interval of a share of so many rows.

    Examples
    --------
    >>> with_interval(0.5, 100, JudgedRows.of(np.full(30, 0.5), np.arange(30) % 2)).n_labelled
    30
    """
    low, high = share_interval(estimate, n)
    return PassRate(estimate, low, high, (high - low) / (2 * Z), int(rows.labelled.sum()), len(rows))


def without_interval(
    estimate: float | None, rows: JudgedRows, lacking: Literal["labels", "clusters", "signal"]
) -> PassRate:
    """State an estimate, if there is one, and why it has no interval.

    Examples
    --------
    >>> without_interval(None, JudgedRows.of([0.5], [None]), "labels").lacking
    'labels'
    """
    return PassRate(estimate, None, None, None, int(rows.labelled.sum()), len(rows), lacking)
