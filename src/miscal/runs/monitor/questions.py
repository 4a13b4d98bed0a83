"""What a monitor asks beside its lines, and how the error is divided.

Two questions are kept apart. *Has something changed*: is the correction worse than the raw confidences, or worse than
when it was made, or do the inputs come from elsewhere? This raises an alarm. *Is it as good as it could be*: would a
correction that is learned anew, from these rows too, be better? This is advice. Each has an error of its own.

Every line and question has a share w of the error of its side. What raises the alarm is the mean of all capitals,
weighted by their shares, when it reaches 1 / alpha (Ville, 1939); a line that reaches 1 / (alpha w) proves it alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from miscal.base.vocabulary import Vocabulary
from miscal.evidence.betting import Capital
from miscal.runs.monitor.lines import FEATURE, FINDING, GAIN, LEVEL, REGIME, RISE, SLOPE, VALUE

RAW_TOTAL, RAW_HIDDEN = "raw_total", "raw_hidden"
TOTAL, HIDDEN, INPUTS, UNSUPPORTED = "total", "hidden", "inputs", "unsupported"
CHANGE, ADVICE, RAW = "change", "advice", "raw"

SHARES = {GAIN: 0.1, LEVEL: 0.25, SLOPE: 0.05, FEATURE: 0.1, "group": 0.15, VALUE: 0.2,
          INPUTS: 0.1, UNSUPPORTED: 0.05}  # fmt: skip
"""Shares of the error of alarms by kind; "group" is all regimes and findings, slopes too. Kinds that a run lacks leave
theirs to the others. Not tuned."""
ADVICE_SHARES = {TOTAL: 0.5, HIDDEN: 0.5}
"""Shares of the error of advice. Not tuned."""

LEAST_ADVICE = 0.1
"""Shift in log-odds of all rows that is not worth a new run: 2.5 points at 50 %, 0.9 at 90 %. A convention."""

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
}


@dataclass(frozen=True, eq=False)
class MonitorQuestion:
    """A hypothesis that is bet against.

    Attributes
    ----------
    key : str
    kind : str
    label : str
        What it is about, in words.
    side : {"change", "advice", "raw"}
        What its answer is for: an alarm, advice, or only to be shown.
    share : float or None
        Of the error of its side; None where it is only shown.
    tolerance : float >= 0
        Shift in log-odds, or rate of unsupported rows, up to which nothing is wrong.
    capital : Capital
    course : tuple of float
        Logarithm of the capital after each look.
    crossed : int or None
        The look at which it reached its line, from 1.
    """

    key: str
    kind: str
    label: str
    side: str
    share: float | None
    tolerance: float
    capital: Capital
    course: tuple[float, ...] = ()
    crossed: int | None = None

    def log_line(self, alpha: float) -> float:
        """Logarithm of the capital at which it is answered."""
        return -math.log(alpha * (1.0 if self.share is None else self.share))

    def seen(self, capital: Capital, alpha: float) -> MonitorQuestion:
        """Note the capital after a look."""
        crossed = self.crossed
        if crossed is None and capital.log_peak >= self.log_line(alpha):
            crossed = len(self.course) + 1
        return replace(self, capital=capital, course=(*self.course, capital.log_value), crossed=crossed)


def questions_of(
    tolerance: float | None, unsupported: float, shares: Mapping[str, float], words: Vocabulary
) -> tuple[MonitorQuestion, ...]:
    """Ask what is not asked by lines.

    Parameters
    ----------
    tolerance : float >= 0 or None
        Shift in log-odds that the user takes for none.
    unsupported : float in (0, 1)
        The largest rate of unsupported rows that is no change.
    shares : mapping of str to float
        Of the error of alarms, for ``inputs`` (which is not asked where it has none) and ``unsupported``.
    words : Vocabulary
        Of the run.

    Returns
    -------
    tuple of MonitorQuestion
    """
    whole = LEAST_ADVICE if tolerance is None else tolerance
    asked = [
        _asked(RAW_TOTAL, f"raw {words.probabilities}, all rows", 0.0, RAW),
        _asked(RAW_HIDDEN, f"raw {words.probabilities}, {words.equal_rows()}", 0.0, RAW),
        _asked(TOTAL, f"corrected {words.probabilities}, all rows", whole, ADVICE),
        _asked(HIDDEN, f"corrected {words.probabilities}, {words.equal_rows()}", hidden_tolerance(tolerance), ADVICE),
        *([_asked(INPUTS, "inputs, against rows of the run", 0.0, CHANGE)] if INPUTS in shares else []),
        _asked(UNSUPPORTED, "rows unlike all rows of the run", unsupported, CHANGE),
    ]
    known = {**ADVICE_SHARES, **shares}
    return tuple(replace(one, share=known.get(one.kind)) for one in asked)


def _asked(kind: str, about: str, tolerance: float, side: str) -> MonitorQuestion:
    return MonitorQuestion(kind, kind, about, side, None, tolerance, Capital.begin(BETS[kind]))


def shares_of(counts: Mapping[str, int], columns: int) -> dict[str, float]:
    """Divide the error of alarms.

    Parameters
    ----------
    counts : mapping of str to int
        How many lines and questions there are of each kind.
    columns : int
        Columns whose values are watched.

    Returns
    -------
    dict of str to float
        For one of each kind; of a value, for all values of a column together.

    Examples
    --------
    >>> shares_of({"level": 1, "gain": 1, "regime": 2, "finding": 1}, 0)["finding"].__round__(3)
    0.1
    """
    of_groups = (REGIME, FINDING, RISE)
    grouped = sum(counts.get(kind, 0) for kind in of_groups)
    many = {kind: counts.get(kind, 0) for kind in SHARES} | {"group": grouped, VALUE: columns}
    whole = sum(share for kind, share in SHARES.items() if many[kind])
    one = {kind: share / whole / many[kind] for kind, share in SHARES.items() if many[kind]}
    group = one.pop("group", None)
    return one if group is None else one | {kind: group for kind in of_groups if counts.get(kind)}


LEAST_HIDDEN = 0.25
"""Shift in log-odds of single inputs that is not bet on: any correction leaves some. A convention."""


def hidden_tolerance(given: float | None) -> float:
    """Shift in log-odds of single inputs that is not bet on."""
    return LEAST_HIDDEN if given is None else given
