"""Whether the evaluation rows are right as often as the rows learned from, at equal confidence.

E[y | f] is learned from other rows. Where a split was made by time or place, these can be of another kind, and then
what is called visible and hidden is divided at the wrong rate.

If outcomes depend on the confidence alone, and alike in both sets, the right answers of a stratum of near-equal
confidence are dealt among its rows without regard to the set, so that their number in one set has a hypergeometric law.
Both statistics are compared with draws of these numbers: no normal law is presumed, which fails where a stratum has a
wrong answer or two, as at confidences near 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.evidence.blocks import rank_among_draws
from miscal.evidence.conditional import strata

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
