"""One look: the bets on new rows, each placed before the outcomes it is settled by.

Rows are taken block by block, in their order; what is learned from a block is bet on from the next one on. Rows of a
group never lie in two blocks. Only the inputs are taken in a random order, by a digest of their values, since the rows
of a file may be sorted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from miscal.evidence.assignments import tilted_log_factor
from miscal.evidence.betting import (
    Capital,
    clipped_logit,
    log_of_several,
    of_units,
    rate_log_factors,
    shift_log_factors,
)
from miscal.evidence.conditional import strata
from miscal.runs.monitor.basis import Basis, Reference
from miscal.runs.monitor.direction_sums import DirectionSums
from miscal.runs.monitor.lines import Line
from miscal.runs.monitor.new_rows import NewLabelled
from miscal.runs.monitor.plan import MonitorPlan
from miscal.runs.monitor.questions import (
    CHANGE,
    HIDDEN,
    INPUTS,
    ODDS,
    RAW_HIDDEN,
    RAW_TOTAL,
    SHIFTS,
    SHRUNK,
    SLOPES,
    THETAS,
    TOTAL,
    MonitorQuestion,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

BLOCK = (200, 1_000)
"""Groups of a block: fewer teach sooner, more make finer strata; at most so many that strata stay quick. Not tuned."""
BLOCKS = 200
"""Blocks of a look at most, unless they would be larger than that."""
INPUT_BLOCKS, INPUT_BLOCK = 5, 50
"""Blocks of inputs of a look at most, and rows of each at least. Not tuned."""
HALF_USED = 5_000.0
"""New rows after which half of the rows of the run have been compared with: more see a change sooner that comes late,
and later one that comes early. They never run out. Not tuned."""
TOGETHER = 1_000
"""Rows whose assignments are judged together: time grows with its square. Not tuned."""
DRAWS = 5
"""Draws of one row of each group, over which the factor is averaged. Not tuned."""


@dataclass(frozen=True, eq=False)
class Watch:
    """Everything that a look starts from and leaves.

    Attributes
    ----------
    alpha : float
        Error of all alarms together; that of advice is as large, and apart.
    tolerance : float >= 0
        Shift in log-odds of single inputs that is not bet on.
    questions : tuple of MonitorQuestion
    lines : tuple of Line
    together : dict of str to float
        Share of the error of the values of a column together, by column.
    basis : Basis
    reference : (m, k) float32
        Coordinates of rows of the run that were not yet compared with.
    learned : dict of str to DirectionSums
        By question.
    course : tuple of float
        Logarithm of the mean capital of all that can raise an alarm, after each look.
    crossed : int or None
        The look at which it raised the alarm, from 1.
    """

    alpha: float
    tolerance: float
    questions: tuple[MonitorQuestion, ...]
    lines: tuple[Line, ...]
    together: dict[str, float]
    basis: Basis
    reference: NDArray[np.float32]
    learned: dict[str, DirectionSums]
    course: tuple[float, ...] = ()
    crossed: int | None = None

    @staticmethod
    def begin(alpha: float, tolerance: float, plan: MonitorPlan, reference: Reference) -> Watch:
        """Start with nothing learned."""
        k = len(reference.basis.spread) + 1
        columns = {RAW_TOTAL: 2, TOTAL: 2, HIDDEN: k + 2, INPUTS: 2 * k}
        learned = {key: DirectionSums.nothing(width) for key, width in columns.items()}
        return Watch(
            alpha, tolerance, plan.questions, plan.lines, plan.together, reference.basis, reference.rows, learned
        )

    @property
    def log_line(self) -> float:
        """Logarithm of the mean capital that raises the alarm."""
        return -float(np.log(self.alpha))

    def after(self, rows: NewLabelled, members: Mapping[str, Mask]) -> Watch:
        """Look at new rows.

        Parameters
        ----------
        rows : NewLabelled
        members : mapping of str to (n,) bool
            The rows of each line about a group.

        Returns
        -------
        Watch
        """
        z = self.basis.of(rows.X, rows.confidence)
        questions, learned, reference = self._asked(rows, z)
        lines = tuple(one.after(rows, z, members.get(one.key), self.alpha) for one in self.lines)
        mean = _mean_capital(questions, lines, self.together)
        looks = len(self.course) + 1
        raised = mean >= self.log_line or any(
            one.crossed is not None for one in (*lines, *questions) if isinstance(one, Line) or one.side == CHANGE
        )
        crossed = self.crossed or (looks if raised else None)
        return replace(
            self, questions=questions, lines=lines, reference=reference, learned=learned,
            course=(*self.course, mean), crossed=crossed,
        )  # fmt: skip

    def _asked(
        self, rows: NewLabelled, z: Floats
    ) -> tuple[tuple[MonitorQuestion, ...], dict[str, DirectionSums], NDArray[np.float32]]:
        learned, reference, found = dict(self.learned), self.reference, []
        for one in self.questions:
            if one.kind in (RAW_TOTAL, TOTAL):
                p = rows.confidence if one.kind == RAW_TOTAL else rows.corrected
                capital, learned[one.kind] = total(one, rows, p, learned[one.kind])
            elif one.kind == RAW_HIDDEN:
                capital = raw_hidden(one, rows)
            elif one.kind == HIDDEN:
                capital, learned[HIDDEN] = hidden(one, rows, z, learned[HIDDEN], self.tolerance)
            elif one.kind == INPUTS:
                capital, learned[INPUTS], reference = inputs(one, rows, z, learned[INPUTS], reference, self.tolerance)
            else:
                factors = rate_log_factors(~rows.supported, one.tolerance, np.array(ODDS))
                capital, _ = one.capital.after(of_units(factors, rows.unit))
            found.append(one.seen(capital, self.alpha))
        return tuple(found), learned, reference


def _mean_capital(
    questions: tuple[MonitorQuestion, ...], lines: tuple[Line, ...], together: Mapping[str, float]
) -> float:
    """Logarithm of the mean of the capitals of all that can raise an alarm, weighted by their shares."""
    held = [one.capital.log_value + np.log(one.share) for one in questions if one.side == CHANGE and one.share]
    held += [one.course[-1] + np.log(one.share) for one in lines]
    for column, share in together.items():
        values = np.array([one.course[-1] for one in lines if one.column == column])
        held.append(log_of_several(values) + np.log(share))
    return float(np.logaddexp.reduce(held))


def blocks(rows: NewLabelled) -> Iterator[slice]:
    """Cut rows into blocks of whole groups, in order.

    Parameters
    ----------
    rows : NewLabelled

    Yields
    ------
    slice
        At most 200 blocks of 200 to 1,000 groups; one block of all rows where there are fewer.
    """
    least, most = BLOCK
    size = min(max(-(-rows.units // BLOCKS), least), most)
    edges = np.linspace(0, rows.units, -(-rows.units // size) + 1).round()
    cuts = np.searchsorted(rows.unit, edges)
    return (slice(int(a), int(b)) for a, b in pairwise(cuts))


def beyond(shifts: tuple[float, ...], tolerance: float) -> Floats:
    """Shifts, counted from the tolerance on their side.

    Examples
    --------
    >>> beyond((-0.5, 0.25), 0.1).tolist()
    [-0.6, 0.35]
    """
    given = np.array(shifts)
    return given + np.sign(given) * tolerance


def total(
    asked: MonitorQuestion, rows: NewLabelled, p: Floats, learned: DirectionSums
) -> tuple[Capital, DirectionSums]:
    """Bet that outcomes differ from confidences: by a shift, by a slope, or as earlier rows did.

    Parameters
    ----------
    asked : MonitorQuestion
        With the tolerance: rates whose log-odds are within it are right.
    rows : NewLabelled
    p : (n,) float64 in [0, 1]
        The confidences that are tested.
    learned : DirectionSums
        Shift and slope of earlier rows.

    Returns
    -------
    Capital, DirectionSums
    """
    capital, odds = asked.capital, clipped_logit(p)
    columns = np.column_stack([np.ones(len(p)), odds])
    for at in blocks(rows):
        fixed = np.broadcast_to(beyond(SHIFTS, asked.tolerance), (at.stop - at.start, len(SHIFTS)))
        sloped = (np.array(SLOPES) - 1) * odds[at, None]
        taught = np.array(SHRUNK) * learned.score(columns[at])[:, None]
        shifts = np.column_stack([fixed, sloped, taught])
        factors = shift_log_factors(rows.correct[at], p[at], shifts, asked.tolerance)
        capital, _ = capital.after(of_units(factors, rows.unit[at] - rows.unit[at.start]))
        learned = learned.after(columns[at], (rows.correct - p)[at], (p * (1 - p))[at])
    return capital, learned


def raw_hidden(asked: MonitorQuestion, rows: NewLabelled) -> Capital:
    """Bet that at equal confidence the rows are right more often where the run's hidden field is larger.

    Parameters
    ----------
    asked : MonitorQuestion
    rows : NewLabelled
        The field is the difference in log-odds of corrected confidence and global map; 0 without support.

    Returns
    -------
    Capital
    """
    offset = clipped_logit(rows.visible)
    field = np.where(rows.supported, clipped_logit(rows.corrected) - offset, 0.0)
    capital = asked.capital
    for at in blocks(rows):
        tilts = field[at, None] * np.array(THETAS)
        factors = conditional_log_factors(rows.correct[at], rows.confidence[at], offset[at], tilts, rows.unit[at])
        capital, _ = capital.after(factors[None], np.array([_units(rows, at)]))
    return capital


def hidden(
    asked: MonitorQuestion, rows: NewLabelled, z: Floats, learned: DirectionSums, tolerance: float
) -> tuple[Capital, DirectionSums]:
    """Bet that at equal corrected confidence the rows differ by their inputs as earlier rows did.

    Parameters
    ----------
    asked : MonitorQuestion
    rows : NewLabelled
    z : (n, k + 1) float64
        Coordinates, the last of which is that of the confidence.
    learned : DirectionSums
        Residuals of earlier rows on inputs.
    tolerance : float >= 0
        Shift in log-odds of single rows that is not bet on.

    Returns
    -------
    Capital, DirectionSums
    """
    p = rows.corrected
    offset = clipped_logit(p)
    field = np.where(rows.supported, offset - clipped_logit(rows.visible), 0.0)
    # what depends on the confidence is learned beside, so that it is not put down to the inputs
    columns = np.column_stack([np.ones(len(p)), offset, field, z[:, :-1]])
    capital = asked.capital
    for at in blocks(rows):
        tilts = large(learned.score(columns[at], skipped=2), tolerance)[:, None] * np.array(THETAS)
        factors = conditional_log_factors(rows.correct[at], p[at], offset[at], tilts, rows.unit[at])
        capital, _ = capital.after(factors[None], np.array([_units(rows, at)]))
        learned = learned.after(columns[at], (rows.correct - p)[at], (p * (1 - p))[at])
    return capital, learned


def large(score: Floats, tolerance: float) -> Floats:
    """Take a tolerance off learned scores, which are counted from their mean; smaller ones are not bet on.

    Examples
    --------
    >>> large(np.array([-1.0, 0.0, 0.1, 0.9]), 0.25).tolist()
    [-0.75, 0.0, 0.0, 0.65]
    """
    centred = score - score.mean()
    return np.sign(centred) * np.maximum(np.abs(centred) - tolerance, 0.0)


def _units(rows: NewLabelled, at: slice) -> float:
    return float(rows.unit[at.stop - 1] - rows.unit[at.start] + 1)


def conditional_log_factors(correct: Floats, confidence: Floats, offset: Floats, tilts: Floats, unit: Ints) -> Floats:
    """Logarithms of factors of bets on which rows of near-equal confidence are right, given how many are.

    Of each group one row is drawn at a time, because the rows of a group are not exchangeable with others; the factors
    of several draws are averaged.

    Parameters
    ----------
    correct, confidence, offset : (n,) float64
        Outcomes, what strata are made of, and log-odds where nothing is hidden, up to a constant of the stratum.
    tilts : (n, k) float64
    unit : (n,) int64
        In rising order.

    Returns
    -------
    (k,) float64
    """
    if not tilts.any():
        return np.zeros(tilts.shape[1])
    # within a group by confidence, so that the order in the file does not matter
    order = np.lexsort([tilts[:, 0], confidence, unit])
    starts = np.flatnonzero(np.r_[True, np.diff(unit) > 0])
    sizes = np.diff(np.r_[starts, len(unit)])
    drawn = []
    for draw in range(min(int(sizes.max()), DRAWS)):
        one = order[starts + draw % sizes]
        stratum = _bounded(strata(confidence[one]), tilts[one, 0])
        drawn.append(tilted_log_factor(correct[one], offset[one], tilts[one], stratum))
    return np.logaddexp.reduce(drawn, axis=0) - np.log(len(drawn))


def _bounded(stratum: Ints, tilt: Floats) -> Ints:
    """Deal strata of too many rows to several, each with all tilts; no outcome is looked at."""
    size = np.bincount(stratum)
    if size.max() <= TOGETHER:
        return stratum
    order = np.lexsort([tilt, stratum])
    place = np.arange(len(stratum)) - np.searchsorted(stratum[order], stratum[order])
    parts = -(-size // TOGETHER)
    dealt = np.empty(len(stratum), dtype=np.int64)
    dealt[order] = place % parts[stratum[order]]
    return np.unique(stratum * int(parts.max()) + dealt, return_inverse=True)[1]


def inputs(
    asked: MonitorQuestion,
    rows: NewLabelled,
    z: Floats,
    learned: DirectionSums,
    reference: NDArray[np.float32],
    tolerance: float,
) -> tuple[Capital, DirectionSums, NDArray[np.float32]]:
    """Bet on which rows are new and which are the run's, as earlier rows taught to tell them apart.

    One row of each group. The rows of the run are used once each. Given how many rows of a block are new, all
    assignments are equally likely where both come from one distribution.

    Parameters
    ----------
    asked : MonitorQuestion
    rows : NewLabelled
    z : (n, k + 1) float64
        Coordinates of the new rows.
    learned : DirectionSums
        What told new rows from old ones before, by coordinates and their squares.
    reference : (m, k + 1) float32
        Coordinates of rows of the run that were not yet used.
    tolerance : float >= 0
        Log-odds of being new that are not bet on.

    Returns
    -------
    Capital, DirectionSums
    (m', k + 1) float32
        The rows of the run that are left.
    """
    first = np.flatnonzero(np.r_[True, np.diff(rows.unit) > 0])
    mixed = first[np.argsort(_keys(rows, first), kind="stable")]
    used = len(mixed) / (HALF_USED + asked.capital.steps + len(mixed))
    taken = min(len(mixed), len(reference), max(1, round(used * len(reference))))
    parts = int(np.clip(min(len(mixed), taken) // INPUT_BLOCK, 1, INPUT_BLOCKS))
    # the larger side of a large look may be a block of thousands: it is bet on in pieces
    parts = max(parts, -(-(len(mixed) + taken) // TOGETHER))
    capital = asked.capital
    for new, old in zip(
        np.array_split(z[mixed], parts), np.array_split(reference[:taken].astype(np.float64), parts), strict=True
    ):
        if len(new) == 0 or len(old) == 0:
            continue
        both = np.vstack([new, old])
        columns = np.column_stack([both, (both**2 - 1) / np.sqrt(2)])
        label = np.r_[np.ones(len(new)), np.zeros(len(old))]
        tilts = large(learned.score(columns), tolerance)[:, None] * np.array(THETAS)
        one = np.zeros(len(both), dtype=np.int64)
        factors = tilted_log_factor(label, np.zeros(len(both)), tilts, one)
        capital, _ = capital.after(factors[None], np.array([float(len(new))]))
        share = label.mean()
        learned = learned.after(columns - columns.mean(0), label - share, np.full(len(both), share * (1 - share)))
    return capital, learned, reference[taken:]


def _keys(rows: NewLabelled, first: Ints) -> NDArray[np.uint64]:
    """Digests of inputs and confidences, to order rows by as if at random."""
    X, f = np.ascontiguousarray(rows.X[first]), rows.confidence[first]
    keys = [hashlib.blake2b(x.tobytes() + p.tobytes(), digest_size=8).digest() for x, p in zip(X, f, strict=True)]
    return np.frombuffer(b"".join(keys), dtype=np.uint64)
