"""What a claim is, and when so few pairs leave its direction open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.formatting import MINUS, metric
from miscal.study.aggregates.association import Association

FEWEST_PAIRS = 5
"""Pairs from which on a direction is stated at all."""


class Direction(NamedTuple):
    """Whether the direction of a claim is found; `holds` is None where it has none, or where `undecided` says why."""

    holds: bool | None
    undecided: str = ""


NO_DIRECTION = Direction(None)
"""The direction of a claim that has none."""


@dataclass(frozen=True)
class PaperClaim:
    """One claim of the paper beside what a study found.

    Attributes
    ----------
    figure : str
        Name of the figure or table of the page that shows it.
    place : str
        Where the paper makes it.
    says : str
        The claim, in our words.
    published : str
        The paper's number for its own pairs.
    here : str
        Ours.
    n : int
        Pairs that it rests on.
    meaning : str
        What counts as its direction.
    holds : bool or None
        Whether the direction of the claim is found here; None where it has none, or where `undecided` says why nothing
        can be said.
    undecided : str
        Why the direction cannot be said; empty where it can be, and where the claim has none.
    """

    figure: str
    place: str
    says: str
    published: str
    here: str
    n: int
    meaning: str
    holds: bool | None = None
    undecided: str = ""

    @property
    def answer(self) -> str:
        """Whether the direction is the same: "yes", "no", "no direction", or why it cannot be said."""
        if self.holds is None:
            return self.undecided or "no direction"
        return "yes" if self.holds else "no"


def too_few(n: int, what: str = "pair") -> Direction:
    """Leave a direction open, because n pairs are too few.

    Examples
    --------
    >>> too_few(3).undecided, too_few(1, "line").undecided
    ('cannot be said from 3 pairs', 'cannot be said from 1 line')
    """
    return Direction(None, f"cannot be said from {n} {what}{'' if n == 1 else 's'}")


def enough(holds: bool, n: int) -> Direction:
    """State a direction if there are pairs enough.

    Parameters
    ----------
    holds : bool
    n : int
        Pairs that it rests on.

    Examples
    --------
    >>> enough(True, 5), enough(True, 4).holds
    (Direction(holds=True, undecided=''), None)
    """
    return Direction(bool(holds)) if n >= FEWEST_PAIRS else too_few(n)


def in_every(k: int, n: int) -> Direction:
    """Say whether something holds in every pair: one exception refutes it, a few pairs do not show it.

    One pair alone says nothing of every pair, whether it agrees or not.

    Parameters
    ----------
    k, n : int
        Pairs in which it holds, and all pairs.

    Examples
    --------
    >>> in_every(5, 5).holds, in_every(2, 3).holds, in_every(3, 3).undecided, in_every(0, 1).undecided
    (True, False, 'cannot be said from 3 pairs', 'cannot be said from 1 pair')
    """
    return Direction(False) if k < n and n > 1 else enough(k == n, n)


def in_most(k: int, n: int, what: str = "pair", of: int | None = None) -> Direction:
    """Say whether something holds in more than half of the pairs, by an exact sign test at 5 %, two-sided.

    Parameters
    ----------
    k, n : int
        Pairs in which it holds, and all pairs that can speak.
    what : str, default "pair"
        What is counted.
    of : int, optional
        How many there are, where some cannot speak; ``n`` by default.

    Examples
    --------
    >>> in_most(6, 6).holds, in_most(0, 6).holds, in_most(5, 6).undecided
    (True, False, 'cannot be said from 6 pairs')
    """
    if n == 0 or stats.binomtest(k, n).pvalue > SIGNIFICANCE:
        return too_few(n if of is None else of, what)
    return Direction(2 * k > n)


def rising(found: Association, n: int) -> Direction:
    """Say whether a correlation is above 0, by Fisher's interval for n independent pairs.

    Parameters
    ----------
    found : Association
    n : int
        Independent pairs, which may be fewer than the rows that were correlated.

    Examples
    --------
    >>> strong = Association(0.9, None, None, 20)
    >>> rising(strong, 20).holds, rising(strong, 4).undecided
    (True, 'cannot be said from 4 pairs')
    """
    if found.value is None or n < FEWEST_PAIRS:
        return too_few(n)
    half = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2)) / math.sqrt(n - 3)
    certain = abs(found.value) == 1.0 or abs(math.atanh(found.value)) > half
    return Direction(found.value > 0) if certain else too_few(n)


def higher(some: Sequence[float], others: Sequence[float]) -> Direction:
    """Say whether some values are higher than others, by the exact rank-sum test at 5 %, two-sided.

    Examples
    --------
    >>> higher([4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0]).holds, higher([1.0], [0.0]).undecided
    (True, 'cannot be said from 2 pairs')
    """
    if not some or not others or stats.mannwhitneyu(some, others).pvalue > SIGNIFICANCE:
        return too_few(len(some) + len(others))
    return Direction(bool(np.mean(some) > np.mean(others)))


def ranged(values: Sequence[float]) -> str:
    """Write the ends of some scores with three decimals."""
    low, high = metric(min(values)), metric(max(values))
    return low if low == high else f"{low} to {high}"


def ranged_briefly(values: Sequence[float]) -> str:
    """Write the ends of some shares with two decimals, as the paper's Table 3 has them.

    Examples
    --------
    >>> ranged_briefly([0.79, 0.912])
    '0.79 to 0.91'
    """
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return (low if low == high else f"{low} to {high}").replace("-", MINUS)


def counts(values: Sequence[int]) -> str:
    """Write the ends of some counts."""
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"
