"""What a monitor asks, the capital bet on each answer, and how the error is divided among the questions.

Each question that can raise an alarm has a share w of the error: it does so when its capital reaches 1 / (alpha w), so
that the probability that any ever does, while nothing is wrong, is at most alpha (Ville, and Bonferroni over the
questions). The mean of all capitals, weighted by the same shares, would raise an alarm at least as often at the same
error, but could not say which question it answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from miscal.calibration.metrics import MIN_ROWS
from miscal.discovery.summary import Summary
from miscal.evidence.betting import Capital

RAW_TOTAL, RAW_HIDDEN = "raw_total", "raw_hidden"
TOTAL, HIDDEN, INPUTS, UNSUPPORTED, REGIME, FINDING = "total", "hidden", "inputs", "unsupported", "regime", "finding"

SHARES = {TOTAL: 0.3, HIDDEN: 0.2, INPUTS: 0.15, UNSUPPORTED: 0.1}
"""Shares of the error; what is left is divided equally among regimes and findings. Not tuned."""

LEAST_TOLERANCE = 0.1
"""Shift in log-odds below which a corrected confidence counts as right: 2.5 points at 50 %, 0.9 at 90 %. A
convention."""

DEVIATIONS = 2.0
"""Standard errors of the run's own estimate by which a corrected confidence may be off. A convention."""

SHIFTS = (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0)
"""Shifts in log-odds that are bet on, beyond the tolerance. Not tuned."""
SLOPES = (0.5, 0.75, 4 / 3, 2.0)
"""Factors of the log-odds that are bet on: below 1 they are too far from even odds. Not tuned."""
SHRUNK = (0.5, 1.0)
"""Shares of what was learned that are bet on. Not tuned."""
THETAS = (0.5, 1.0, 1.5)
"""Multiples of a hidden field, or of what tells new rows from old, that are bet on. Not tuned."""
ODDS = (1.5, 3.0, 8.0)
"""Factors of the odds of a row without support that are bet on. Not tuned."""

BETS = {
    RAW_TOTAL: len(SHIFTS) + len(SLOPES) + len(SHRUNK),
    TOTAL: len(SHIFTS) + len(SLOPES) + len(SHRUNK),
    RAW_HIDDEN: len(THETAS),
    HIDDEN: len(THETAS),
    INPUTS: len(THETAS),
    UNSUPPORTED: len(ODDS),
    REGIME: len(SHIFTS),
    FINDING: len(SHIFTS),
}


@dataclass(frozen=True, eq=False)
class Question:
    """A hypothesis that is bet against.

    Attributes
    ----------
    key : str
        ``total``, ``finding:0``, ...
    kind : str
    label : str
        What it is about, in words: the description of a finding.
    share : float or None
        Of the error; None where it raises no alarm.
    tolerance : float >= 0
        Shift in log-odds, or rate of unsupported rows, up to which nothing is wrong.
    capital : Capital
    course : tuple of float
        Logarithm of the capital after each look.
    crossed : int or None
        The look at which it reached its line, from 1.
    sign : str or None
        Of a finding, as it was found: "over" or "under".
    place : int or None
        Of a finding in the ledger.
    """

    key: str
    kind: str
    label: str
    share: float | None
    tolerance: float
    capital: Capital
    course: tuple[float, ...] = ()
    crossed: int | None = None
    sign: str | None = None
    place: int | None = None

    def log_line(self, alpha: float) -> float:
        """Logarithm of the capital at which it is answered."""
        return -math.log(alpha * (1.0 if self.share is None else self.share))

    def seen(self, capital: Capital, alpha: float) -> Question:
        """Note the capital after a look."""
        crossed = self.crossed
        if crossed is None and capital.log_peak >= self.log_line(alpha):
            crossed = len(self.course) + 1
        return replace(self, capital=capital, course=(*self.course, capital.log_value), crossed=crossed)


def questions_of(
    summary: Summary, findings: list[int], unsupported: float, inputs: bool, tolerance: float | None
) -> tuple[Question, ...]:
    """Ask everything that can be asked of a run.

    Parameters
    ----------
    summary : Summary
    findings : list of int
        Places in the ledger of the findings whose rows can be told.
    unsupported : float in (0, 1)
        The largest rate of unsupported rows that is no drift.
    inputs : bool
        Whether there are rows of the run to compare inputs with.
    tolerance : float >= 0 or None
        Shift in log-odds that counts as none; None: 0.1, or two standard errors of the run's own estimate on as many
        rows if that is more.

    Returns
    -------
    tuple of Question
    """
    taught = summary.n_sample or summary.n - (summary.n_test or 0)
    off = lambda share, accuracy: tolerance_of(share * taught, accuracy, tolerance)  # noqa: E731
    whole = off(1.0, summary.global_.accuracy.value)
    asked = [
        _asked(RAW_TOTAL, "raw confidences, all rows", 0.0),
        _asked(RAW_HIDDEN, "raw confidences, rows of equal confidence", 0.0),
        _asked(TOTAL, "corrected confidences, all rows", whole),
        _asked(HIDDEN, "corrected confidences, rows of equal confidence", hidden_tolerance(tolerance)),
        *([_asked(INPUTS, "inputs, against rows of the run", 0.0)] if inputs else []),
        _asked(UNSUPPORTED, "rows unlike all rows of the run", unsupported),
    ]
    for one in summary.regimes:
        # what was measured on a few rows is allowed to be off by so much that nothing would be seen
        if one.name != "good" and one.n >= MIN_ROWS:
            about = f"the {one.name}-confident regime"
            asked.append(_asked(REGIME, about, off(one.share, one.accuracy), one.name, sign=one.name))
    for place in findings:
        one = summary.findings[place]
        asked.append(
            _asked(FINDING, one.description, off(one.share, one.accuracy), str(place), sign=one.sign, place=place)
        )
    return _shared(asked)


def _asked(
    kind: str, about: str, tolerance: float, name: str | None = None, *, sign: str | None = None,
    place: int | None = None,
) -> Question:  # fmt: skip
    key = kind if name is None else f"{kind}:{name}"
    return Question(key, kind, about, None, tolerance, Capital.begin(BETS[kind]), sign=sign, place=place)


def tolerance_of(rows: float, accuracy: float | None, given: float | None) -> float:
    """Shift in log-odds by which corrected confidences of a group may be off.

    Parameters
    ----------
    rows : float
        That the correction learned from in the group.
    accuracy : float or None
    given : float or None
        What the user said, for every group.

    Returns
    -------
    float

    Examples
    --------
    >>> round(tolerance_of(400, 0.5, None), 3), tolerance_of(1e6, 0.5, None), tolerance_of(400, 0.5, 0.0)
    (0.2, 0.1, 0.0)
    """
    if given is not None:
        return given
    rate = min(max(0.5 if accuracy is None else accuracy, 0.01), 0.99)
    return max(LEAST_TOLERANCE, DEVIATIONS / math.sqrt(max(rows, 1.0) * rate * (1 - rate)))


LEAST_HIDDEN = 0.25
"""Shift in log-odds of single inputs that is not bet on: any correction leaves some. A convention."""


def hidden_tolerance(given: float | None) -> float:
    """Shift in log-odds of single inputs that is not bet on."""
    return LEAST_HIDDEN if given is None else given


def _shared(asked: list[Question]) -> tuple[Question, ...]:
    """Divide the error among the questions that can raise an alarm."""
    groups = [one for one in asked if one.kind in (REGIME, FINDING)]
    shares = {one.key: SHARES[one.kind] for one in asked if one.kind in SHARES}
    shares |= {one.key: (1 - sum(SHARES.values())) / len(groups) for one in groups}
    whole = sum(shares.values())
    return tuple(replace(one, share=shares[one.key] / whole if one.key in shares else None) for one in asked)
