"""Which rows to label next, how many, and what they will show.

Labels are drawn with known probabilities, so that whatever is computed of them stays right by their inverse weights. A
probability is proportional to the row's part in the error of the corrected rate, the spread of its verdict around the
prediction (Neyman's allocation: Journal of the Royal Statistical Society 97, 1934; for predictions, Zrnic and Candès,
"Active statistical inference", ICML 2024),

    sqrt(p (1 - p) + s^2),    p the predicted probability, s its standard error,

and half of the budget is divided evenly among findings first, so that small ones are seen too. A third of all labels is
spent at random: no inverse weight is more than three times that of a draw at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from miscal.base.checks import check_confidence, check_lengths
from miscal.base.errors import InputError
from miscal.evidence.judged_rows import JudgedRows
from miscal.evidence.prediction_powered import pass_rate
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

FLOOR = 1 / 3
"""Least probability of a label, over that of a draw at random: bounds weights at 3. Not tuned."""
_ROUNDING = 1e-12
BY_FINDING = 0.5
"""Share of the budget that is divided evenly among findings; the other half goes by Neyman's rule alone. Not tuned."""


@dataclass(frozen=True)
class LabelsNeeded:
    """How many more labels an interval half as wide takes.

    Attributes
    ----------
    more : int, or None
        None where not even labels for all rows would do: the rows themselves are too few.
    width, halved : float
        Width of the interval now, and half of it.
    """

    more: int | None
    width: float
    halved: float


def labelling_probabilities(
    predicted: Floats,
    budget: int,
    *,
    standard_error: Floats | None = None,
    finding: NDArray | None = None,
) -> Floats:
    """Give each row of a pool the probability with which it is to be labelled.

    Takes predicted (n,): probability that people approve; budget: labels to be spent, from 1 to n; standard_error
    (n,): of the prediction; finding (n,): finding, or other stratum, of each row. Returns (n,) float64: In (0, 1],
    sums to the budget.

    Examples
    --------
    >>> chance = labelling_probabilities(np.array([0.5, 0.5, 0.99, 0.01]), 2)
    >>> chance.round(2).tolist()
    [0.72, 0.72, 0.28, 0.28]
    """
    n = check_lengths(predicted=predicted, standard_error=standard_error, finding=finding)
    p = check_confidence(predicted, name="predicted")
    if not 1 <= budget <= n:
        raise InputError(f"budget must be from 1 to {n:,}, the rows of the pool; got {budget:,}")
    error = np.zeros(n) if standard_error is None else np.asarray(standard_error, np.float64)
    spread = np.sqrt(p * (1 - p) + error**2)
    spread = spread if spread.any() else np.ones(n)
    number = np.zeros(n, np.int64) if finding is None else np.unique(np.asarray(finding), return_inverse=True)[1]
    within = spread / np.maximum(np.bincount(number, spread), np.finfo(float).tiny)[number] / (number.max() + 1)
    size = (1 - BY_FINDING) * spread / spread.sum() + BY_FINDING * within
    return _cut(FLOOR / n + (1 - FLOOR) * size / size.sum(), float(budget))


def _cut(size: Floats, budget: float) -> Floats:
    """Scale sizes to probabilities of this sum; what lies above 1 goes to the others."""
    chance, sure = np.zeros(len(size)), np.zeros(len(size), np.bool_)
    for _ in range(len(size)):
        chance[sure] = 1.0
        left = budget - sure.sum()
        chance[~sure] = left * size[~sure] / size[~sure].sum() if left > 0 else 0.0
        if not (above := (chance > 1) & ~sure).any():
            break
        sure |= above
    return np.minimum(chance, 1.0)


def draw_labels(chance: Floats, random_state: int | np.random.Generator = 0, *, order: NDArray | None = None) -> Mask:
    """Draw rows with given probabilities, so that their number is the sum of these (up to rounding).

    Systematic sampling of the rows in random order within `order` (Madow, Annals of Mathematical Statistics 20, 1949):
    each row has exactly its probability, and so has each stratum its number, up to one.

    Takes chance (n,); order (n,): strata, such as findings, that are to have their numbers of labels nearly exactly.
    Returns (n,) bool: Rows to be labelled.

    Examples
    --------
    >>> int(draw_labels(np.full(1000, 0.05)).sum())
    50
    """
    rng, n = np.random.default_rng(random_state), len(chance)
    strata = np.zeros(n, np.int64) if order is None else np.unique(np.asarray(order), return_inverse=True)[1]
    place = np.lexsort((rng.random(n), strata))
    # a sum that is a whole number but for rounding is one
    ends = np.round(np.cumsum(chance[place]), 9) + rng.random()
    drawn = np.zeros(n, np.bool_)
    drawn[place] = np.floor(ends) > np.floor(np.concatenate([[ends[0] - chance[place[0]]], ends[:-1]]))
    return drawn


def labels_to_halve(rows: JudgedRows) -> LabelsNeeded | None:
    """Count the labels that halve the interval of the pass rate of some rows.

    The variance of the rate is (A - B) / labels + B / rows, A the variance of a labelled row's verdict around what its
    prediction leaves open, B that of what predictions explain: labels can take away the first part only.

    Takes rows: all, or those of a group. Returns: LabelsNeeded or None: By labels drawn at random.

    Examples
    --------
    >>> rows = JudgedRows.of(np.full(4000, 0.5), np.where(np.arange(4000) < 200, np.arange(4000) % 2, np.nan))
    >>> labels_to_halve(rows).more
    600
    """
    now = pass_rate(rows)
    if now.standard_error is None:
        return None
    labels, n = now.n_labelled, now.n
    explained = min(_explained(rows), now.standard_error**2 * n)
    left = (now.standard_error**2 - explained / n) * labels
    target = (now.standard_error / 2) ** 2 - explained / n
    needed = np.inf if target <= 0 else left / target
    width = float(now.high - now.low)
    more = None if needed > n else int(np.ceil(round(needed - labels, 6)))
    return LabelsNeeded(more, width, width / 2)


def _explained(rows: JudgedRows) -> float:
    """Variance of verdicts that predictions explain, from labelled rows: 0 where they do not help."""
    some = rows.take(rows.labelled)
    share = some.inverse / some.inverse.sum()
    centred = some.predicted - share @ some.predicted
    together, spread = share @ (centred * some.human), share @ centred**2
    # equal predictions differ from their mean by rounding, which explains nothing
    return float(together**2 / spread) if together > 0 and np.ptp(some.predicted) > _ROUNDING else 0.0


def detectable_shift(
    expected: Floats,
    group: Mask,
    chance: Floats,
    *,
    level: float = EVIDENCE_DEFAULTS.significance,
    n_tests: int = 1,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
) -> float | None:
    """Smallest shift of a group's pass rate that labels drawn with these probabilities would show with 80 % power.

    Presumed: people approve of all rows of the group more (or less) often than of other rows of the same prediction, by
    the same number of points; a two-sided test by the weighted mean residual of the group against that of the others.

    Takes expected (n,): probability that people approve, where the group is like other rows; group (n,) bool: the
    rows in question; chance (n,): probability of a label; n_tests: tests that share the level (Bonferroni). Returns
    float in (0, 1), or None: None where no shift that probabilities leave room for would be shown, or one side has no
    rows.

    Examples
    --------
    >>> group = np.arange(2000) < 400
    >>> [round(detectable_shift(np.full(2000, 0.5), group, np.full(2000, share)), 3) for share in (0.1, 0.4)]
    [0.248, 0.124]
    """
    if not group.any() or group.all():
        return None
    variance = expected * (1 - expected) / chance
    error = np.sqrt(sum(variance[side].sum() / side.sum() ** 2 for side in (group, ~group)))
    shift = float((settings.z_power - ndtri(level / (2 * n_tests))) * error)
    room = float(max(expected[group].mean(), 1 - expected[group].mean()))
    return shift if 0 < shift < room else None
