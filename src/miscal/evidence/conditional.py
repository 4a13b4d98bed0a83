"""Is y independent of x given f? Strata of near-equal confidence, E[y | f], and a permutation test.

A field that follows f and an outcome that follows f are related even where nothing is hidden. Three steps together
remove that: the outcome is centred by a regression on f fitted on other rows, the field by one of its own
(:func:`beyond_confidence`), and the two are compared only within strata of near-equal f. An error remains only where
all of them fail, as their product.
A shuffle keeps the number of right outcomes of a stratum, so the outcome is centred given that number too
(:func:`given_count`): a stratum whose outcomes are all alike says nothing.
Where f takes few distinct values, each is a stratum and the test is exact for up to 5,000 rows; above that, the strata
whose sum is near to normal are taken as normal, and the others are shuffled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from miscal.base.number_wording import percent
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.calibration.calibrators import Isotonic
from miscal.calibration.survey_design import units_of
from miscal.evidence import settings
from miscal.evidence.sums import near_normal

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WithinWindow = Callable[[Ints, Ints], list[Floats]]
"""From the first row of each row's window, and the one after its last, to sums over some rows of the window."""


def strata(confidence: Floats, rows: int = settings.STRATUM_ROWS, group: Ints | None = None) -> Ints:
    """Cut the rows into strata of near-equal confidence.

    A confidence that `rows` rows share is a stratum of its own; others are joined in rising order until they have as
    many. (A few rows left between two such confidences stay a small stratum.) Where all confidences are whole per
    cents, as a model states them, each value is a stratum of its own, however few rows it has: the accuracy may jump
    from one stated number to the next.

    Takes confidence (n,); group (n,) int64: rows of one group and one confidence count once: a stratum of one group
    would have nothing to compare. Returns (n,) int64: Stratum of each row, 0, 1, ..., in rising order of confidence.

    Examples
    --------
    >>> strata(np.array([0.901, 0.101, 0.901, 0.201, 0.301, 0.401]), rows=2).tolist()
    [2, 0, 2, 0, 1, 1]
    >>> strata(np.array([0.9, 0.1, 0.9, 0.2]), rows=2).tolist()
    [2, 0, 2, 1]
    """
    if round_numbers(confidence).all():
        return np.unique(confidence, return_inverse=True)[1]
    first, unit = units_of(group, confidence)
    _, position, counts = np.unique(confidence[first], return_inverse=True, return_counts=True)
    label = np.empty(len(counts), dtype=np.int64)
    current = size = 0
    for value, count in enumerate(counts.tolist()):
        # a confidence with enough rows of its own does not share its stratum with the few before it
        if count >= rows and size > 0:
            current, size = current + 1, 0
        label[value], size = current, size + count
        if size >= rows:
            current, size = current + 1, 0
    return label[position][unit]


def centred(values: Floats, stratum: Ints, weight: Floats | None = None) -> Floats:
    """Subtract from each of (n,) values the mean of its stratum, weighted if weights are given.

    Examples
    --------
    >>> centred(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 1.0, 0.0]
    >>> centred(np.array([1.0, 3.0]), np.array([0, 0]), np.array([3.0, 1.0])).tolist()
    [-0.5, 1.5]
    """
    if weight is None:
        return values - (np.bincount(stratum, values) / np.maximum(np.bincount(stratum), 1))[stratum]
    mass = np.maximum(np.bincount(stratum, weight), np.finfo(float).tiny)
    return values - (np.bincount(stratum, weight * values) / mass)[stratum]


def given_count(correct: Floats, expected: Floats, stratum: Ints) -> Floats:
    """Outcome less its rate, given how many outcomes of its stratum are 1.

    The rates are shifted in log-odds, by one shift for each stratum, until they add up to that number. Where the rates
    of a stratum are equal these are the exact conditional rates; else they are the usual approximation (that of
    unconditional logistic regression with an intercept for each stratum).

    Takes correct (n,); expected (n,): E[y | f]; stratum (n,) int64. Returns (n,) float64: Adds up to 0 in every
    stratum, and is 0 where all outcomes are alike.

    Examples
    --------
    >>> y, rate = np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.9, 0.8, 0.5, 0.5])
    >>> given_count(y, rate, np.array([0, 0, 1, 1])).round(6).tolist()
    [0.0, 0.0, 0.5, -0.5]
    """
    hits, rows = np.bincount(stratum, correct), np.bincount(stratum)
    mixed = (hits > 0) & (hits < rows)
    inside = np.flatnonzero(mixed[stratum])
    of = stratum[inside]
    # a rate that others rows found to be 0 or 1 is not known to be: no row is given more than these odds
    score = logit(np.clip(expected[inside], _RAREST, 1 - _RAREST))
    low, high = np.full(len(rows), -_FARTHEST), np.full(len(rows), _FARTHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = np.bincount(of, expit(score + middle[of]), minlength=len(rows)) < hits
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    left = np.zeros(len(correct))
    left[inside] = correct[inside] - expit(score + ((low + high) / 2)[of])
    return left


# Bounds of the rates, and of the shift between them in log-odds with room for strata of a million rows; the steps make
# it exact to 1e-10.
_RAREST, _FARTHEST, _HALVINGS = 1e-3, 32.0, 39


_WINDOW_ROWS = 100_000
"""Rows left out in turn to choose the window, at most."""


def outcome_given_confidence(
    correct: Floats, confidence: Floats, at: Floats, *, group: Ints | None = None, weight: Floats | None = None
) -> Floats:
    """Regress outcomes on confidence, whatever the shape: E[y | f].

    Isotonic regression, plus a local linear fit to its residuals. The window of the local fit has half as many rows as
    the one that predicts left-out rows best, because here a bias costs more than noise. A row is left out with its
    whole group, or the others of its group, which are like it, would make narrow windows look good.

    Takes correct, confidence (n,): rows to learn from: y in {0, 1}, f in [0, 1]; at (m,): confidences to predict at;
    group (n,) int64: number of the group of each row that is learned from, whose outcomes may hang together; weight
    (n,): how much each row counts, in all steps. Returns (m,) float64 in [0, 1].

    Examples
    --------
    >>> f = np.repeat([0.2, 0.8], 500)
    >>> y = np.r_[np.ones(400), np.zeros(100), np.zeros(500)]
    >>> outcome_given_confidence(y, f, np.array([0.2, 0.8])).round(2).tolist()
    [0.8, 0.0]
    """
    if weight is not None:
        kept = weight > 0
        correct, confidence, weight = correct[kept], confidence[kept], weight[kept] / weight[kept].mean()
        group = None if group is None else group[kept]
    isotonic = Isotonic().learn(correct, confidence, weight)
    order = np.argsort(confidence, kind="stable")
    f, left = confidence[order], (correct - isotonic.apply(confidence))[order]
    mass = np.ones_like(f) if weight is None else weight[order]
    windows = [settings.SMALLEST_WINDOW]
    while windows[-1] * 2 <= len(f):
        windows.append(windows[-1] * 2)
    if len(f) < 2 * settings.SMALLEST_WINDOW:
        return isotonic.apply(at)
    # centred, so that differences of running sums lose fewer digits
    terms = _terms(f - 0.5, left, mass)
    totals = _running(terms)
    # many rows tell as well as all which window predicts best
    some = np.linspace(0, len(f) - 1, min(len(f), _WINDOW_ROWS)).astype(np.int64)
    tied, at_some, missed = _tied(f, f[some]), f[some], left[some]
    alone = [term[some] for term in terms]
    own = (lambda low, high: alone) if group is None else _sums_of_group(terms, group[order], some)
    fits = (_local_linear(totals, tied, at_some, k, without=own) for k in windows)
    errors = np.array([np.mean(mass[some] * (missed - fit) ** 2) for fit in fits])
    # a window that a group fills alone predicts nothing
    if np.isnan(errors).all():
        return isotonic.apply(at)
    best = windows[int(np.nanargmin(errors))]
    local = _local_linear(totals, _tied(f, at), at, best // 2)
    # a window whose weight is lost to rounding beside that of others says nothing
    return np.clip(isotonic.apply(at) + np.where(np.isnan(local), 0.0, local), 0.0, 1.0)


def beyond_confidence(
    field: Floats, confidence: Floats, rows: int = settings.SMOOTHED_ROWS, group: Ints | None = None
) -> Floats:
    """Field less its local linear regression on the confidence, over the `rows` rows nearest in confidence.

    Where a block has few rows, its strata are wide, and a field that follows f there would meet what a regression of
    the outcome on f has missed. No outcome is looked at, so a test may use any such field.

    Takes field (n,); confidence (n,); group (n,) int64: rows of one group and one confidence count once. Returns (n,)
    float64.

    Examples
    --------
    >>> f = np.linspace(0.1, 0.9, 30)
    >>> bool(np.abs(beyond_confidence(2 * f - 1, f)).max() < 1e-9)
    True
    """
    value, number = np.unique(confidence, return_inverse=True)
    # means of equal confidences: a window may cut through them, and must not depend on their order
    mean = np.bincount(number, field) / np.bincount(number)
    order = np.sort(number[units_of(group, confidence)[0]])
    f = value[order]
    totals = _running(_terms(f - 0.5, mean[order], np.ones_like(f)))
    return field - _local_linear(totals, _tied(f, confidence), confidence, rows)


def _terms(offset: Floats, values: Floats, mass: Floats) -> list[Floats]:
    return [mass * term for term in (np.ones_like(offset), offset, offset**2, values, offset * values)]


def _running(terms: list[Floats]) -> list[Floats]:
    """Add up each term from 0: sums over any window are differences of these, O(n) for all windows of one width."""
    return [np.concatenate([[0.0], np.cumsum(term)]) for term in terms]


def _tied(f: Floats, at: Floats) -> tuple[Ints, Ints]:
    """Return where the rows of sorted f that equal a query begin and end."""
    return np.searchsorted(f, at, "left"), np.searchsorted(f, at, "right")


_NONE_LEFT = 1e-9
"""As many rows are none, up to rounding of their sums."""


def _sums_of_group(terms: list[Floats], group: Ints, some: Ints) -> WithinWindow:
    """Add up the terms over the rows of a row's group in its window, for some of the rows sorted by confidence."""
    n = len(group)
    order = np.argsort(group, kind="stable")
    totals = _running([term[order] for term in terms])
    # rows by group, and within it by rank: those of a group in a window lie side by side
    place = group[order] * (n + 1) + order

    def sums(low: Ints, high: Ints) -> list[Floats]:
        first, after = (np.searchsorted(place, group[some] * (n + 1) + rank) for rank in (low, high))
        return [total[after] - total[first] for total in totals]

    return sums


def _local_linear(
    totals: list[Floats], tied: tuple[Ints, Ints], at: Floats, window: int, *, without: WithinWindow | None = None
) -> Floats:
    """Local linear fit over the `window` rows nearest in rank; NaN where none of them is left.

    `totals` are running sums of the terms of rows sorted by confidence, `tied` where a query is among them, and
    `without` gives the sums of the terms that each query leaves out of its window.
    """
    first, after = tied
    middle = (first + after) / 2
    # rows tied with the query are all in: a window never cuts through equal confidences
    low = np.maximum(0, np.minimum(first, np.floor(middle - window / 2))).astype(np.int64)
    high = np.minimum(len(totals[0]) - 1, np.maximum(after, np.ceil(middle + window / 2))).astype(np.int64)
    sums = [total[high] - total[low] for total in totals]
    if without is not None:
        sums = [total - term for total, term in zip(sums, without(low, high), strict=True)]
    n = np.where(sums[0] > _NONE_LEFT, sums[0], np.nan)
    mean_f, mean_v = sums[1] / n, sums[3] / n
    spread = sums[2] / n - mean_f**2
    # where the confidences in a window are all but equal, no slope can be told, and their mean serves
    level = spread > 1e-9
    slope = np.where(level, (sums[4] / n - mean_f * mean_v) / np.where(level, spread, 1.0), 0.0)
    return mean_v + slope * (at - 0.5 - mean_f)


def permutation_p_value(
    residual: Floats, field: Floats, stratum: Ints, *, rng: np.random.Generator, tie: float = 1.0, effect: float = 1.0
) -> float:
    """One-sided p-value of sum(residual * field) when the field is shuffled within strata.

    Small only if rows with a larger field have the larger residual at the same confidence. p = (1 + number as large) /
    (1 + n_draws) from ``settings.N_DRAWS`` shuffles. Above 5,000 rows the strata whose sum is near enough to normal
    (:func:`~miscal.evidence.sums.near_normal`) are not shuffled, but stand as one normal variable with the exact
    variance of their shuffles; where they are all strata, p is read off the normal law and may be far below
    1 / n_draws.

    Takes residual, field (n,); stratum (n,) int64; tie: how much a shuffle that gives the observed sum (the data are
    one) counts as larger; effect: design effect of the sum, where rows hang together: the sum is divided by its
    square root. Returns float in (0, 1]: 1 if no stratum has two different fields and two different residuals.

    Examples
    --------
    >>> s = np.r_[np.ones(500), -np.ones(500)]
    >>> permutation_p_value(s, s, np.zeros(1000, dtype=int), rng=np.random.default_rng(0))
    0.0005
    """
    e, a = centred(residual, stratum), centred(field, stratum)
    variances = shuffle_variances(e, a, stratum)
    variance = float(np.sum(variances))
    if variance <= 1e-24 * len(e):
        return 1.0
    observed, deviation = float(e @ a) / np.sqrt(effect), float(np.sqrt(variance))
    if len(e) <= settings.DRAWN_ROWS:
        sums = _shuffled_sums(e, a, stratum, rng)
    else:
        normal = near_normal(variances, shuffle_thirds(e, a, stratum))
        if normal.all():
            # a p-value is never 0
            return float(max(ndtr(-observed / deviation), np.finfo(float).tiny))
        sums = _shuffled_sums_by_size(e, a, stratum, ~normal, rng)
        sums += np.sqrt(np.sum(variances[normal])) * rng.standard_normal(len(sums))
    return ranked(sums, observed, 1e-9 * deviation, tie)


def comparable(residual: Floats, field: Floats, stratum: Ints) -> bool:
    """Whether any stratum has two different fields and two different residuals: else nothing can be told by shuffling.

    Examples
    --------
    >>> comparable(np.array([0.0, 1.0]), np.array([0.2, 0.1]), np.array([0, 0]))
    True
    >>> comparable(np.array([0.0, 1.0]), np.array([0.2, 0.1]), np.array([0, 1]))
    False
    """
    variance = shuffle_variances(centred(residual, stratum), centred(field, stratum), stratum).sum()
    return bool(variance > 1e-24 * len(residual))


def shuffle_variances(e: Floats, a: Floats, stratum: Ints) -> Floats:
    """Exact variance of the sum of e a under shuffles within strata, stratum by stratum; both are centred there.

    Examples
    --------
    >>> e = np.array([0.5, -0.5])
    >>> shuffle_variances(e, e, np.zeros(2, dtype=int)).tolist()
    [0.25]
    """
    return np.bincount(stratum, e**2) * np.bincount(stratum, a**2) / np.maximum(np.bincount(stratum) - 1, 1)


def shuffle_thirds(e: Floats, a: Floats, stratum: Ints) -> Floats:
    """E|e a|^3 of a row and the value that it is dealt, summed over each stratum: for `near_normal`.

    Examples
    --------
    >>> e = np.array([0.5, -0.5])
    >>> shuffle_thirds(e, e, np.zeros(2, dtype=int)).tolist()
    [0.03125]
    """
    rows = np.bincount(stratum)
    return np.bincount(stratum, np.abs(e) ** 3) * np.bincount(stratum, np.abs(a) ** 3) / np.maximum(rows, 1)


def ranked(sums: Floats, observed: float, rounding: float, tie: float = 1.0) -> float:
    """P-value of an observed sum among draws, of which it counts as one.

    Takes sums (n_draws,); rounding: sums nearer than this to the observed one are ties, whatever the order of the
    additions made of them; tie: how much a tie counts as larger. Returns float in [0, 1].

    Examples
    --------
    >>> ranked(np.array([0.0, 1.0, 2.0]), 1.0, 1e-9), ranked(np.array([0.0, 1.0, 2.0]), 1.0, 1e-9, tie=0.5)
    (0.75, 0.5)
    """
    at_least, above = int(np.sum(sums >= observed - rounding)), int(np.sum(sums > observed + rounding))
    return (above + tie * (1 + at_least - above)) / (1 + len(sums))


def _shuffled_sums(e: Floats, a: Floats, stratum: Ints, rng: np.random.Generator) -> Floats:
    """(n_draws,) sums of e times a shuffled within strata, by sorting random keys."""
    n_draws = settings.N_DRAWS
    order = np.argsort(stratum, kind="stable")
    e, a, rows = e[order], a[order], np.bincount(stratum)
    rows = rows[rows > 0]
    first = np.cumsum(rows) - rows
    # strata of one size lie in one table, whose rows are sorted by one call; a stratum's rows lie side by side
    tables = [first[rows == size][:, None] + np.arange(size) for size in np.unique(rows)]
    step = max(1, settings.KEYS_IN_MEMORY // len(e))
    sums = []
    for start in range(0, n_draws, step):
        keys = rng.random((min(step, n_draws - start), len(e)))
        dealt = np.empty(keys.shape, dtype=np.intp)
        for table in tables:
            dealt[:, table] = table[:, :1] + np.argsort(keys[:, table], axis=2)
        sums.append(a[dealt] @ e)
    return np.concatenate(sums)


def _shuffled_sums_by_size(
    e: Floats, a: Floats, stratum: Ints, shuffled: NDArray[np.bool_], rng: np.random.Generator
) -> Floats:
    """(n_draws,) sums over the strata that are `shuffled`, those of one size together: several times as fast."""
    n_draws, rows = settings.N_DRAWS, np.bincount(stratum)
    sums = np.zeros(n_draws)
    for size in np.unique(rows[shuffled]):
        chosen = np.flatnonzero((shuffled & (rows == size))[stratum])
        chosen = chosen[np.argsort(stratum[chosen], kind="stable")]
        # one row per stratum: all strata of this size are shuffled by one call
        fields, residuals = a[chosen].reshape(-1, size), e[chosen]
        step = max(1, settings.KEYS_IN_MEMORY // len(chosen))
        for start in range(0, n_draws, step):
            part = sums[start : start + step]
            copies = np.broadcast_to(fields, (len(part), *fields.shape))
            part += rng.permuted(copies, axis=2).reshape(len(part), -1) @ residuals
    return sums


_ROUND = 100
"""Numbers of whole per cents count as stated."""


def round_numbers(confidence: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark confidences of whole per cents, which a model states; of shape (n,).

    Examples
    --------
    >>> round_numbers(np.array([0.85, 0.8517])).tolist()
    [True, False]
    """
    scaled = confidence * _ROUND
    return np.abs(scaled - np.round(scaled)) <= 1e-6


def rare_values_warning(
    confidence: NDArray[np.float64], block: NDArray[np.int64] | None = None, *, kind: Kind = ANSWER
) -> str | None:
    """Warn where many rows have a stated confidence to themselves, so that there is nothing to compare them with.

    Rows of near-equal confidence are compared as if they had the same rate of right outcomes but for a smooth trend.
    Of stated numbers that is not known: a model may be right far more often where it says 0.85 than where it says 0.84.
    Where all confidences are whole per cents, a row is therefore compared only with rows of the same number.

    Takes confidence (n,): of the rows that are tested; block (n,) int64: blocks that are tested one after the other:
    rows are compared within them alone; kind: what the confidence is the probability of. Returns str or None: The
    warning, without a full stop at its end.

    Examples
    --------
    >>> rare_values_warning(np.arange(101) / 100)[:86]
    'the confidences are 101 round numbers, and 100 % of the rows are the only one of their'
    >>> rare_values_warning(np.repeat([0.5, 0.8, 0.9], 100)) is None
    True
    """
    if not round_numbers(confidence).all():
        return None
    parts = [confidence] if block is None else [confidence[block == number] for number in np.unique(block)]
    alone = sum(int(np.sum(np.unique(part, return_counts=True)[1] == 1)) for part in parts)
    if alone <= settings.LONE_SHARE * len(confidence):
        return None
    words = vocabulary(kind)
    where = "" if block is None else " in the block of rows that they are tested in"
    return (
        f"the {words.probabilities} are {len(np.unique(confidence))} round numbers, and "
        f"{percent(alone / len(confidence))} of the rows are the only one of their number{where}. {words.stated}, so a "
        "row is compared only with rows of the same number, and these rows say nothing of what is hidden"
    )
