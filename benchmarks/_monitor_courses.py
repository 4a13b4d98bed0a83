"""Many monitors of one run at once: the lines of `miscal monitor`, look by look, as arrays over monitors and lines.

The formulas are those of the package (`shift_factors`, `mean_log_factors`, `Restarts`, `log_of_several`); only the
loops over lines and monitors are arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from miscal.evidence.betting import Restarts, log_of_several, mean_log_factors
from miscal.runs.monitor.lines import FURTHEST, GAIN, Along, Line, between_looks, shift_factors
from miscal.runs.monitor.new_rows import NewLabelled


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows that monitors draw from, along each line: its direction times the residual of an outcome 0 and 1.

    Attributes
    ----------
    moment : (2, n, lines) float64
        By outcome; 0 for rows outside the line.
    information : (n, lines) float64
    """

    moment: np.ndarray
    information: np.ndarray

    @staticmethod
    def of(lines: Sequence[Line], rows: NewLabelled, z: np.ndarray, members: dict[str, np.ndarray]) -> Pool:
        """Take the rows of a pool along lines."""
        from dataclasses import replace

        n = len(rows)
        moment, information = np.zeros((2, n, len(lines))), np.zeros((n, len(lines)))
        for outcome in (0, 1):
            told = replace(rows, correct=np.full(n, float(outcome)))
            for k, line in enumerate(lines):
                seen = Along.of(line, told, z, members.get(line.key))
                moment[outcome, seen.inside, k] = seen.moment
                information[seen.inside, k] = seen.information
        return Pool(moment, information)


def courses(
    lines: Sequence[Line],
    shares: dict[str, float],
    rest: float,
    pool: Pool,
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]],
    looks: int,
) -> np.ndarray:
    """Logarithms of the mean capitals of monitors after each look.

    Parameters
    ----------
    lines : sequence of Line
    shares : dict of str to float
        Of the values of a column together.
    rest : float
        Share of what is not simulated: its capital stays 1.
    pool : Pool
    draw : callable
        From the number of a look to rows of the pool and their outcomes, both (monitors, rows of the look).
    looks : int

    Returns
    -------
    (monitors, looks) float64
    """
    gain = [k for k, one in enumerate(lines) if one.kind == GAIN]
    other = [k for k, one in enumerate(lines) if one.kind != GAIN]
    weight = np.log([one.share for one in lines])
    changes = np.array([lines[k].changes for k in other])
    before, precision = (np.array([getattr(lines[k], name) for k in other]) for name in ("before", "precision"))
    ordinary = np.array([lines[k].ordinary for k in other])
    capital, lost, past, found = None, None, None, []
    for look in range(looks):
        at, outcome = draw(look)
        moment = pool.moment[outcome, at].sum(1)
        information = pool.information[at].sum(1)
        m, i = between_looks(moment[:, other], information[:, other], ordinary)
        if capital is None or past is None:
            past = (np.zeros_like(m), np.zeros_like(m))
            capital = Restarts(np.full((*m.shape, changes.shape[1]), -np.inf))
            lost = Restarts(np.full((len(m), len(gain), Line.bets(GAIN)), -np.inf))
        capital = capital.after(shift_factors(m, i, *past, changes, before, precision))
        past = (past[0] + m, past[1] + i)
        held = np.zeros((len(m), len(lines)))
        held[:, other] = capital.log_value
        for place, k in enumerate(gain):
            bound = lines[k].most_lost
            factors = mean_log_factors(pool.moment[outcome, at, k].ravel() - bound, FURTHEST + bound)
            each = factors.reshape(*at.shape, -1).sum(1)
            lost = Restarts(lost.log_active, lost.looks).after(each[:, None, :])
            held[:, k] = lost.log_value[:, place]
        terms = [held + weight]
        for column, share in shares.items():
            values = held[:, [k for k, one in enumerate(lines) if one.column == column]]
            terms.append(np.array([log_of_several(one) for one in values])[:, None] + np.log(share))
        mean = np.logaddexp.reduce(np.concatenate(terms, axis=1), axis=1)
        found.append(np.logaddexp(mean, np.log(rest)) if rest > 0 else mean)
    return np.array(found).T
