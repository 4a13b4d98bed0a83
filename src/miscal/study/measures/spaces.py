"""The two spaces that interpretation compares: the inputs as they are, and the geometry learned from outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.base.folds import row_groups
from miscal.data.sampling import SAMPLE_ROWS, draw_rows
from miscal.data.triples import Triples
from miscal.discovery.estimating import testifying
from miscal.estimators.field import MiscalibrationField
from miscal.study.studied import Studied

SPACES = ("raw", "learned")

# stream of the rows asked, and of their order
_STREAM = 71


@dataclass(frozen=True, eq=False)
class Spaces:
    """Rows in both spaces.

    Attributes
    ----------
    at : int64 array of shape (m,)
        Positions of the rows in the pair's triples, in random order.
    coordinates : dict of str to float array of shape (m, k)
        ``"raw"``: the inputs, neither centred nor scaled; ``"learned"``: phi of them.
    """

    at: NDArray[np.int64]
    coordinates: Mapping[str, np.ndarray]


def unseen_spaces(studied: Studied, limit: int) -> Spaces:
    """Draw rows whose outcomes the learned geometry has not seen, one of each group, and place them in both spaces.

    Rows of one group, or with equal inputs, would be each other's nearest neighbours in any space. Therefore one of
    each is drawn. With a split the rows are test rows and the geometry is that of the saved field. Where all rows
    testify, the saved field has learned from every outcome; a field learned from half of the rows then places those of
    the other half, which costs about half as much as the fit of the pair.

    Parameters
    ----------
    studied : Studied
    limit : int
        Most rows.

    Returns
    -------
    Spaces

    Raises
    ------
    InputError
        If all rows testify and half of them are too few to learn from.
    """
    triples = studied.triples
    groups = row_groups(triples.X, triples.group)
    seed = studied.settings.seed
    if triples.split is None:
        taught = draw_rows(groups, min(len(triples) // 2, SAMPLE_ROWS), named=triples.group is not None, seed=seed)
        # a field read back from a run knows neither its seed nor its options
        options = studied.found.summary.settings.get("options")
        model = MiscalibrationField(studied.method, random_state=seed, options=options).fit_triples(
            triples.take(taught)
        )
        asked = ~taught
    else:
        model, asked = studied.found.model, testifying(triples)
    at = one_of_each(groups, np.flatnonzero(asked), limit, np.random.default_rng((seed, _STREAM)))
    return _placed(triples, model, at)


def one_of_each(
    groups: NDArray[np.int64], rows: NDArray[np.int64], limit: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one row of each group, at most `limit`, in random order.

    Parameters
    ----------
    groups : int64 array of shape (n,)
        Number of each row's group.
    rows : int64 array of shape (m,)
        Positions to draw from.
    limit : int
    rng : numpy.random.Generator

    Returns
    -------
    int64 array of shape (min(number of groups, limit),)

    Examples
    --------
    >>> one_of_each(np.array([0, 0, 1, 1]), np.array([0, 2, 3]), 10, np.random.default_rng(0)).tolist()
    [3, 0]
    """
    shuffled = rng.permutation(rows)
    first = np.unique(groups[shuffled], return_index=True)[1]
    # the order stays random, so that among neighbours at one distance none is favoured by its place in the data
    return shuffled[np.sort(first)][:limit]


def _placed(triples: Triples, model: MiscalibrationField, at: NDArray[np.int64]) -> Spaces:
    return Spaces(at, dict(zip(SPACES, (triples.X[at], model.transform(triples.X[at])), strict=True)))
