"""Whether other seeds find the same field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from miscal.base.errors import InputError
from miscal.calibration.survey_design import correlation


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of a number over repetitions; None if undefined.

    The standard deviation divides by n - 1, and is 0 for one value.
    """

    mean: float | None
    std: float | None


def spread(values: Sequence[float]) -> Spread:
    """Return mean and standard deviation.

    Examples
    --------
    >>> spread([1.0, 3.0]).mean, round(spread([1.0, 3.0]).std, 3), spread([]).mean
    (2.0, 1.414, None)
    """
    if not len(values):
        return Spread(None, None)
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


@dataclass(frozen=True)
class SeedPair:
    """Agreement of the fields of two seeds.

    Attributes
    ----------
    a, b : int
        Their numbers, from 0 in the order given; a < b.
    correlation : float or None
        Pearson; None where one of the fields is constant.
    sign_agreement : float
        Share of rows on which the two signs agree.
    sign_by_chance : float
        That share for unrelated fields with as many rows of each sign: more than half where one sign prevails.
    """

    a: int
    b: int
    correlation: float | None
    sign_agreement: float
    sign_by_chance: float


@dataclass(frozen=True)
class Stability:
    """Agreement of the fields of several seeds on the same test rows.

    Attributes
    ----------
    n_seeds : int
    correlation : Spread
        Pearson, over the pairs of seeds without a constant field; None where there is no such pair.
    sign_agreement : Spread
        Share of rows on which the two signs agree, over the same pairs; a field of 0 agrees only with another 0.
    field_std : Spread
        Standard deviation of the field, over seeds.
    gap : Spread
        Worst-slice gap, over seeds; None where no gaps are given.
    n_undefined : int
        Pairs with a constant field, which both leave out.
    pairs : tuple of SeedPair
        Every two seeds.
    """

    n_seeds: int
    correlation: Spread
    sign_agreement: Spread
    field_std: Spread
    gap: Spread
    n_undefined: int
    pairs: tuple[SeedPair, ...]


def seed_stability(fields: ArrayLike, *, gaps: Sequence[float] = ()) -> Stability:
    """Compare the fields that several seeds found.

    Takes fields (k, n): one field (positive: under-confident) per seed, on the same rows; gaps: the worst-slice gap
    of each seed's field.

    Examples
    --------
    >>> found = seed_stability([[0.1, -0.2, 0.3], [0.2, -0.4, 0.6]])
    >>> round(found.correlation.mean, 6), found.sign_agreement.mean
    (1.0, 1.0)
    """
    values = np.asarray(fields, dtype=np.float64)
    if values.ndim != 2 or len(values) < 2 or values.shape[1] == 0 or not np.isfinite(values).all():
        raise InputError(f"fields must be finite numbers of shape (seeds >= 2, rows >= 1); got shape {values.shape}")
    pairs = tuple(_agreement(values, a, b) for a, b in combinations(range(len(values)), 2))
    defined = [pair for pair in pairs if pair.correlation is not None]
    return Stability(
        n_seeds=len(values),
        correlation=spread([pair.correlation for pair in defined]),
        # of the same pairs, so that both say something of the same fields
        sign_agreement=spread([pair.sign_agreement for pair in defined]),
        field_std=spread(values.std(axis=1).tolist()),
        gap=spread(list(gaps)),
        n_undefined=len(pairs) - len(defined),
        pairs=pairs,
    )


def _agreement(values: np.ndarray, a: int, b: int) -> SeedPair:
    signs = np.sign(values[[a, b]])
    # shares of rows that are negative, 0 and positive, in each of the two fields
    shares = np.stack([(signs == sign).mean(axis=1) for sign in (-1, 0, 1)])
    return SeedPair(
        a=a,
        b=b,
        correlation=correlation(values[a], values[b]),
        sign_agreement=float(np.mean(signs[0] == signs[1])),
        sign_by_chance=float(shares.prod(axis=1).sum()),
    )
