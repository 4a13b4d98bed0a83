"""The verdict: in plain sentences, what was found, how sure it is, and what this test set could have detected at all.

The sentences say no more than the claim (:mod:`miscal.evidence.claim`) allows. They never say that there is none.
"""

from collections.abc import Sequence

import numpy as np

from miscal.evidence.claim import Claim
from miscal.findings.places import Place

MOST_PLACES = 3
"""Places named in the verdict; the report lists all."""


def averages(correct: np.ndarray, confidence: np.ndarray) -> str:
    """Say what every diagram shows: how sure the model is on average, and how often it is right.

    Parameters
    ----------
    correct, confidence : ndarray of float64, shape (n,)
        All rows: nothing is learned from them here.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> averages(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.9, 0.7, 0.8, 0.6]))
    'The model says 75 % on average and is right 25 % of the time.'
    """
    return f"The model says {confidence.mean():.0%} on average and is right {correct.mean():.0%} of the time.".replace(
        "%", " %"
    )


def verdict(claim: Claim, places: Sequence[Place] = (), groups: Sequence[Place] = ()) -> str:
    """Say in a few sentences what was tested, what was found, and what would have been detected.

    Parameters
    ----------
    claim : Claim
        What the test rows allow to be said.
    places : sequence of Place
        The regions that were confirmed, strongest first; three at most are named, where there are no groups.
    groups : sequence of Place
        The groups of the ledger of findings, strongest first; three at most are named.

    Returns
    -------
    str
        The verdict.

    Examples
    --------
    >>> from miscal.evidence.certificates import Certificate
    >>> from miscal.evidence.limits import NOTHING_CLAIMED, Bound
    >>> shown = Certificate(total=Bound(0.1, 0.06, 0.001), hidden=Bound(0.07, 0.042, 0.001), detectable=0.03, n=1000)
    >>> print(verdict(Claim(True, shown), [Place('"law, court"', -0.15), Place('"sums"', 0.09)]))
    Hidden miscalibration was found, which no reliability diagram can show. On the 1,000 test rows, from which nothing
    was learned, its average size is at least 0.042 (one-sided 95 % confidence limit). Compared with rows of similar
    confidence, the model is right less often on "law, court" (by 0.15) and more often on "sums" (by 0.09).
    >>> silent = Certificate(total=NOTHING_CLAIMED, hidden=NOTHING_CLAIMED, detectable=0.03, n=1000)
    >>> print(verdict(Claim(False, silent)))
    No hidden miscalibration was found: on the rows used for learning, the inputs did not help to predict errors beyond
    what the confidence says. This test set of 1,000 rows would have detected an average size of 0.030 or more with 80 %
    power, provided that the estimated field had the right sign on every row.
    """
    if claim.confirmed:
        return f"{_found(claim)} {_which(groups) if groups else _where(places)}"
    if groups:
        return f"{_IN_GROUPS} {_which(groups)} {_field_adds_nothing(claim)}"
    return f"{_not_found(claim)} {_power(claim)}"


_IN_GROUPS = "Hidden miscalibration was found in groups that can be named; no reliability diagram can show it."


def _which(groups: Sequence[Place]) -> str:
    named = [
        f"{'less' if group.hidden < 0 else 'more'} often on rows with {group.name} (by {abs(group.hidden):.2f})"
        for group in groups[:MOST_PLACES]
    ]
    more = len(groups) - len(named)
    rest = f" The report lists {more} more." if more else ""
    return f"Compared with rows of equal confidence, the model is right {_listed(named)}.{rest}"


def _field_adds_nothing(claim: Claim) -> str:
    if not claim.structure:
        return "Beyond such groups, the estimated field claims nothing hidden."
    return "The estimated field as a whole was not confirmed on the test rows."


def _found(claim: Claim) -> str:
    limit = _rounded_down(claim.certificate.hidden.low)
    return (
        "Hidden miscalibration was found, which no reliability diagram can show. On the "
        f"{claim.certificate.n:,} test rows, from which nothing was learned, its average size is at least {limit} "
        "(one-sided 95 % confidence limit)."
    )


def _rounded_down(value: float) -> str:
    # a limit is rounded down, so that the words never promise more than the number
    return f"{np.floor(value * 1000) / 1000:.3f}" if value >= 0.001 else f"{value:.1g}"


def _where(places: Sequence[Place]) -> str:
    if not places:
        return "No single part of the data could be confirmed on its own."
    named = [
        f"{'less' if place.hidden < 0 else 'more'} often on {place.name} (by {abs(place.hidden):.2f})"
        for place in places[:MOST_PLACES]
    ]
    return f"Compared with rows of similar confidence, the model is right {_listed(named)}."


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _not_found(claim: Claim) -> str:
    if not claim.structure:
        return (
            "No hidden miscalibration was found: on the rows used for learning, the inputs did not help to predict "
            "errors beyond what the confidence says."
        )
    p_value = f"p = {claim.certificate.hidden.p_value:.2g}"
    # a p-value below 0.05 and a limit of 0 can occur together: the limit counts fewer rows, chosen before
    reason = f"{p_value}, but the lower limit is 0" if claim.rejected else p_value
    return (
        "Hidden miscalibration was not confirmed: the estimator found some on the rows used for learning, but the "
        f"test rows do not confirm it ({reason})."
    )


def _power(claim: Claim) -> str:
    n = claim.certificate.n
    if claim.detectable is None:
        return f"This test set of {n:,} rows is too small to have detected any hidden miscalibration."
    return (
        f"This test set of {n:,} rows would have detected an average size of {claim.detectable:.3f} or more "
        "with 80 % power, provided that the estimated field had the right sign on every row."
    )
