"""Findings: the groups that the scan chose, described with the numbers that a person needs to act on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from miscal.calibration.metrics import mean_interval
from miscal.findings.ledger.groups import NamedGroups
from miscal.findings.ledger.scan import ChosenGroup, cut_into_strata, scan
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

ADJUSTMENT = (
    "Bonferroni over all candidates at every step of a forward choice, with four fifths of the error for values of "
    "columns; each finding is tested given those chosen before it"
)


@dataclass(frozen=True)
class Finding:
    """A named group that is right more or less often than rows of equal confidence.

    Attributes
    ----------
    description : str
        What its rows have in common.
    source : str
        ``"named"``: the group was fixed before any outcome was seen.
    columns : tuple of str
        The columns that define it.
    n : int
        Its rows.
    share : float
        Of the rows that testify, in (0, 1).
    accuracy, confidence : float
        Means over its rows, in [0, 1].
    residual : float
        accuracy - confidence = visible + hidden; negative where over-confident.
    visible : float
        Mean of E[y | f] - f over its rows: what a reliability diagram shows of them.
    hidden : float
        Mean of y - E[y | f] over its rows; negative where less often right than rows of equal confidence.
    hidden_interval : tuple of float
        95 % interval of `hidden` by Student's law. It does not allow for the choice of the group among many.
    odds_ratio : float or None
        Odds of being right over those of other rows of equal confidence (Mantel and Haenszel, 1959); None where no
        stratum compares them.
    p_value, p_adjusted : float
        Two-sided, given the findings chosen before it; and adjusted for all candidates.
    sign : str
        ``"over"``: less often right than rows of equal confidence, so over-confident beside them; ``"under"``.
    explained : float or None
        Share of the variance of the estimated hidden field that this group's mean accounts for, in [0, 1]; None where
        that field is 0.
    aliases : tuple of str
        Other candidates of nearly the same rows.
    rows : tuple of int
        The most telling rows, by their number in the source: sure and wrong where over, unsure and right where under.
    """

    description: str
    source: str
    columns: tuple[str, ...]
    n: int
    share: float
    accuracy: float
    confidence: float
    residual: float
    visible: float
    hidden: float
    hidden_interval: tuple[float, float]
    odds_ratio: float | None
    p_value: float
    p_adjusted: float
    sign: str
    explained: float | None
    aliases: tuple[str, ...]
    rows: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding in the shape of ``summary.json``."""
        told = dict(self.__dict__)
        told["hidden"] = {"value": told["hidden"], "interval": list(told.pop("hidden_interval"))}
        return told


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Rows that may testify: nothing that is asked of them was learned from their outcomes.

    Attributes
    ----------
    correct, confidence : float64 arrays of shape (n,)
    expected : float64 array of shape (n,)
        E[y | f] learned from other rows.
    hidden_field : float64 array of shape (n,)
        Honest estimates of the hidden field.
    row : int64 array of shape (n,)
        Row numbers in the source.
    """

    correct: np.ndarray
    confidence: np.ndarray
    expected: np.ndarray
    hidden_field: np.ndarray
    row: np.ndarray


def find(
    rows: Witnesses, groups: NamedGroups, *, seed: int = 0, settings: LedgerSettings = LEDGER_DEFAULTS
) -> tuple[Finding, ...]:
    """Write the ledger of findings, the strongest first.

    Parameters
    ----------
    rows : Witnesses
    groups : NamedGroups
        Of the same rows, fixed before any outcome was seen.
    seed : int, default 0
        Of the order of rows of equal confidence.
    settings : LedgerSettings, optional

    Returns
    -------
    tuple of Finding

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = (rng.random(600) < np.where(kind == "law", 0.3, 0.7)).astype(float)
    >>> half = np.full(600, 0.5)
    >>> [law] = find(Witnesses(y, half, half, y * 0, np.arange(600)), named_groups({"kind": kind}))
    >>> law.description, law.n, law.sign, law.odds_ratio < 0.3
    ('kind = law', 200, 'over', True)
    """
    chosen = scan(rows.correct, rows.expected, rows.confidence, groups, seed=seed, settings=settings)
    chosen.sort(key=lambda one: -abs(one.z))
    width = settings.stratum_width(len(rows.correct))
    stratum = cut_into_strata(rows.confidence, width, np.random.default_rng((seed, 32)))
    return tuple(_described(one, rows, groups, stratum, settings) for one in chosen)


def _described(
    one: ChosenGroup, rows: Witnesses, groups: NamedGroups, stratum: np.ndarray, settings: LedgerSettings
) -> Finding:
    inside = groups.rows(one.group)
    correct, confidence, expected = rows.correct[inside], rows.confidence[inside], rows.expected[inside]
    hidden = mean_interval(correct - expected)
    aliases = (*groups.also[one.group], *(groups.descriptions[other] for other in one.aliases))
    sign = "over" if one.z < 0 else "under"
    return Finding(
        description=groups.descriptions[one.group],
        source="named",
        columns=groups.columns[one.group],
        n=int(inside.sum()),
        share=float(inside.mean()),
        accuracy=float(correct.mean()),
        confidence=float(confidence.mean()),
        residual=float(np.mean(correct - confidence)),
        visible=float(np.mean(expected - confidence)),
        hidden=hidden.value,
        hidden_interval=hidden.interval or (hidden.value, hidden.value),
        odds_ratio=odds_ratio(rows.correct, inside, stratum),
        p_value=one.p_value,
        p_adjusted=one.p_adjusted,
        sign=sign,
        explained=_explained(hidden.value, float(inside.mean()), rows.hidden_field),
        aliases=aliases[: settings.max_aliases],
        rows=tuple(rows.row[inside][_telling(correct, confidence, sign)][: settings.examples].tolist()),
    )


def odds_ratio(correct: np.ndarray, inside: np.ndarray, stratum: np.ndarray) -> float | None:
    """Odds of being right inside over outside, given the stratum (Mantel and Haenszel, 1959); None if undefined.

    Parameters
    ----------
    correct : array of shape (n,), 0 or 1
    inside : bool array of shape (n,)
    stratum : int array of shape (n,)

    Returns
    -------
    float or None

    Examples
    --------
    >>> y, inside = np.array([1.0, 0, 1, 0, 0]), np.array([True, True, False, False, False])
    >>> odds_ratio(y, inside, np.zeros(5, int))
    2.0
    """
    size = np.bincount(stratum)
    right, inside = correct > 0, inside.astype(bool)
    counts = [np.bincount(stratum, a & b) for a in (inside, ~inside) for b in (right, ~right)]
    above, below = np.sum(counts[0] * counts[3] / size), np.sum(counts[1] * counts[2] / size)
    return float(above / below) if below > 0 else None


def _explained(hidden: float, share: float, field: np.ndarray) -> float | None:
    whole = float(np.mean(field**2))
    return min(1.0, share * hidden**2 / whole) if whole > 0 else None


def _telling(correct: np.ndarray, confidence: np.ndarray, sign: str) -> np.ndarray:
    """Order of the rows, the most telling first: sure and wrong where over, unsure and right where under."""
    if sign == "over":
        return np.lexsort((-confidence, correct))
    return np.lexsort((confidence, -correct))
