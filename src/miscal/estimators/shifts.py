"""The readable estimator: one map of the confidence, and one shift of the log-odds for each of a few groups of rows.

A group is a level of a column, or the rows on one side of a cut through its values, or what two such groups share.
Groups are found one after the other: the one that stands out most beside the map and the groups before it (the score
test of logistic regression, with a variance that counts units) is added for as long as it stands out beyond chance
among all groups tried, and the shifts of all are fitted again together. Cuts are quantiles, so that no group knows an
outcome before it is chosen.

It corrects less well than "auto" does, and takes seconds: what it learned can be read, and written as one expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, ndtri

from miscal.base.checks import drawn_seed
from miscal.base.errors import InputError
from miscal.base.folds import assign_folds, values_of
from miscal.base.process import one_thread
from miscal.calibration.calibrators import logit
from miscal.calibration.global_map import crossfit_global_map
from miscal.calibration.metrics.scores import log_losses
from miscal.calibration.survey_design import from_one_on, pair_scores
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.estimators.registry import Estimator, FieldEstimate

Floats = NDArray[np.float64]

MOST_GROUPS = 12
"""Groups that have a shift: more of them nobody reads."""
PAIR_ROWS, PAIR_LEVEL = 50, 0.15
"""Fewest rows that two groups share, and the share of the chance `LEVEL` that all pairs of groups have together."""
CUTS = 15
"""Cuts through the values of a column, at most. Not tuned."""
LEVEL = 0.05
"""Chance that a group is added where none differs, over all groups tried (Bonferroni)."""
RIDGE = 1.0
"""Precision of a shift before its rows are looked at: it is N(0, 1) in log-odds. Not tuned."""
LEAST_ROWS = 20
_TRIED, _STEPS = 20, 30
_PAIRS_OF_TWO, _PAIRS = 3, 100
"""Pairs of groups of two columns that are tried again and again, those that stand out most; and of all columns."""
MOST_PAIRED = 100
"""Columns beyond which no pair is looked at. So many are coordinates of an embedding, of which two say no more than
one, and their pairs took 25 of 30 seconds of a table of 384."""
# rows times columns that are paired with one at once
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Shift:
    """A group of rows and its shift: rows where a column of X is `at`, or where it is at least `at`.

    `shift`, in log-odds: negative where the model is over-confident. `error`: its standard error, which counts units.
    `also`: another group whose rows alone count.
    """

    column: int
    at: float
    level: bool
    n: int
    shift: float = 0.0
    error: float = 0.0
    also: Shift | None = None

    @property
    def parts(self) -> tuple[Shift, ...]:
        """The group itself, and the other."""
        return (self,) if self.also is None else (self, self.also)

    def rows(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Mark the rows of the group, (n,)."""
        # in single precision, as of the rows learned from: a cut is a value of theirs
        x = X[:, self.column].astype(np.float32)
        inside = x == np.float32(self.at) if self.level else x >= np.float32(self.at)
        return inside if self.also is None else inside & self.also.rows(X)


_Common = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class _Cells:
    """Columns of X as cells, counted from 0: levels, or stretches between cuts; with the groups that they make.

    `code`, int64 (d, n). `at`: of each column the level of each cell, or the cut at which each cell but the first one
    begins.
    """

    code: NDArray[np.int64]
    at: list[NDArray[np.floating]]
    column: list[int]
    level: list[bool]

    @classmethod
    def of(cls, rows: Triples) -> _Cells:
        """Cut the columns of rows, of which those of one value make no group."""
        layout, X = rows.layout, rows.X
        first_level = X.shape[1] if layout is None else layout.places + layout.numbers
        moments = () if layout is None else layout.moments
        code, at, column, level = [], [], [], []
        # equal rows have equal sums of random numbers
        random, told = np.random.default_rng(0).integers(0, 2**52 // len(X), len(X)).astype(np.float64), set()
        # levels first: a number of two values that says what a level says is left out
        for j in (*range(first_level, X.shape[1]), *range(first_level)):
            is_level = j >= first_level
            values, codes = values_of(X[:, j]) if is_level else _cuts(X[:, j], rows.weight)
            if j in moments or len(values) < 1 + is_level:
                continue
            if is_level or len(values) == 1:
                keys = np.bincount(codes, random)
                if not is_level and keys[1] in told:
                    continue
                told |= set(keys.tolist() if is_level else ())
            code.append(codes)
            at.append(values)
            column.append(j)
            level.append(is_level)
        return cls(np.array(code, np.int64).reshape(-1, len(X)), at, column, level)

    def pairs(self, residual: Floats, information: Floats) -> tuple[list[tuple[int, int]], int]:
        """Return the pairs of groups of two columns that stand out most, by their numbers; and how many there are."""
        found, many, least, every, mean = [], 0, np.zeros(1), information.sum(), residual.sum() / information.sum()
        for (code, places), batch in self._batches():
            # the first cell of a column of cuts is below all of them
            rising = bool(places[0] < 0), bool(batch[0][1][0] < 0)
            others = np.full((max(len(theirs) for _, theirs in batch), len(batch)), -1)
            for j, (_, theirs) in enumerate(batch):
                others[: len(theirs), j] = theirs
            shape = (len(places), *others.shape)
            cell = (code[:, None] * len(others) + np.stack([codes for codes, _ in batch], 1)) * len(batch)
            cell += np.arange(len(batch))
            total, known, rows = (
                np.bincount(cell.ravel(), values, np.prod(shape)).reshape(shape)
                for values in (residual.repeat(len(batch)), information.repeat(len(batch)), None)
            )
            able = (from_one_on(rows, rising) >= PAIR_ROWS) & (places >= 0)[:, None, None] & (others >= 0)
            count = many + able.sum((0, 1)).cumsum()
            many = int(count[-1])
            t, v = from_one_on(total - mean * known, rising), from_one_on(known, rising)
            least = -ndtri(LEVEL * PAIR_LEVEL / 2 / np.maximum(1, count)) - 1
            # most columns are done with here: nothing in them stands out by itself
            for j in np.flatnonzero((able & (t**2 >= least**2 * v * (1 - v / every))).any((0, 1))):
                theirs = batch[j][1]
                seen, held = (np.ascontiguousarray(values[:, : len(theirs), j]) for values in (total, known))
                z = np.where(able[:, : len(theirs), j], np.abs(pair_scores(seen, held, rising)), 0.0)
                for place in np.argsort(-z, axis=None, kind="stable")[:_PAIRS_OF_TWO].tolist():
                    one, two = divmod(place, len(theirs))
                    found.append((z[one, two], int(places[one]), int(theirs[two])))
        found = sorted((one for one in found if one[0] >= least[-1]), key=lambda one: -round(one[0], 9))[:_PAIRS]
        return [(one, two) for _, one, two in found], many

    def _batches(self) -> Iterator[tuple[_Common, list[_Common]]]:
        """Every column with the later ones, several of one kind at once, as bincount is slow to begin."""
        columns, step = self._common(), max(1, _BLOCK // self.code.shape[1])
        if len(columns) > MOST_PAIRED:
            return
        for k, column in enumerate(columns):
            for first in range(k + 1, len(columns), step):
                for _, batch in groupby(columns[first : first + step], key=lambda one: one[1][0] < 0):
                    yield column, list(batch)

    def _common(self) -> list[_Common]:
        """Return the cells of each column, levels of few rows as one, and the number of the group of each; -1: none."""
        found, first = [], 0
        for code, at, level in zip(self.code, self.at, self.level, strict=True):
            kept = np.flatnonzero(np.bincount(code, minlength=len(at)) >= PAIR_ROWS) if level else np.arange(len(at))
            place = np.full(len(at), len(kept))
            place[kept] = np.arange(len(kept))
            found.append((place[code], np.r_[first + kept, -1]) if level else (code, np.r_[-1, first + kept]))
            first += len(at)
        return [one for one in found if len(one[1]) > 1]

    def sums(self, values: Floats) -> Floats:
        """Sum values (n,) over the rows of every group, (n_groups,)."""
        parts = []
        for code, at, level in zip(self.code, self.at, self.level, strict=True):
            cells = np.bincount(code, values, minlength=len(at) + (not level))
            parts.append(cells if level else np.cumsum(cells[::-1])[::-1][1:])
        return np.concatenate(parts) if parts else np.zeros(0)

    def group(self, number: int, pairs: Sequence[tuple[int, int]] = ()) -> tuple[Shift, NDArray[np.bool_]]:
        """Return a group by its number, and its rows; after all groups of one column come those of pairs."""
        for code, at, column, level in zip(self.code, self.at, self.column, self.level, strict=True):
            if number < len(at):
                inside = code == number if level else code > number
                return Shift(column, float(at[number]), level, int(inside.sum())), inside
            number -= len(at)
        (one, rows), (two, others) = map(self.group, pairs[number])
        return replace(one, n=int((rows & others).sum()), also=two), rows & others


def _cuts(x: NDArray[np.floating], weight: Floats | None) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Return values at which the rows at least so large are some and not all, and how many of them each row reaches.

    They are spread evenly over the rows.
    """
    values, place = values_of(x)
    if len(values) <= CUTS + 1:
        return values[1:], place
    mass = np.cumsum(np.bincount(place, weight))
    # the value at which each further sixteenth of the rows begins
    reached = np.searchsorted(mass, mass[-1] * np.arange(1, CUTS + 1) / (CUTS + 1), side="right")
    first = np.unique(reached[reached > 0])
    return values[first], np.searchsorted(first, place, side="right")


def _found(
    cells: _Cells, y: Floats, offset: Floats, weight: Floats, unit: NDArray[np.int64]
) -> Iterator[tuple[list[Shift], float, float]]:
    """Add the groups that stand out, one after the other, and fit all shifts; with that of all rows, and the last z.

    All rows have a shift of their own, or what is taken from a group would be missing in the mean: groups are told by
    how they differ from other rows.
    """
    p = expit(offset)
    pairs, many = cells.pairs(weight * (y - p), weight * p * (1 - p))
    singles, share = sum(map(len, cells.at)), PAIR_LEVEL if many else 0.0
    numbers = np.array([singles, len(pairs)])
    threshold = -ndtri(LEVEL * np.array([1 - share, share]) / 2 / np.maximum(1, [singles, many])).repeat(numbers)
    shared = [np.flatnonzero(cells.group(one)[1] & cells.group(two)[1]) for one, two in pairs]
    first = np.cumsum([0, *map(len, shared)])
    both = csr_array((np.ones(first[-1]), np.concatenate([*shared, []]).astype(int), first), shape=(len(pairs), len(y)))
    chosen: list[Shift] = []
    inside = np.ones((1, len(y)), bool)
    ridge = [0.0]
    left = np.full(len(threshold), True)
    shift = np.zeros(len(y))
    while len(chosen) < MOST_GROUPS and left.any():
        p = expit(offset + shift)
        residual, information = weight * (y - p), weight * p * (1 - p)
        seen, known = (np.r_[cells.sums(values), both @ values] for values in (residual, information))
        all_known = information.sum()
        rest = known * (1 - known / all_known)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.abs(seen - residual.sum() * known / all_known) / np.sqrt(rest)
        z = np.where(left & (rest > 1e-9 * all_known), z, 0.0)
        # ties within rounding go to the first one, whatever the order of sums
        order = np.argsort(-np.round(z, 9), kind="stable")[:_TRIED]
        for number in order[z[order] > threshold[order]]:
            one, rows = cells.group(int(number), pairs)
            scores = (rows - known[number] / all_known) * residual
            spread = float(np.sqrt((np.bincount(unit, scores) ** 2).sum()))
            left[number] = False
            if spread > 0 and abs(scores.sum()) / spread > threshold[number]:
                break
        else:
            return
        chosen.append(one)
        inside = np.vstack([inside, rows])
        # information is of so many times fewer units
        ridge.append(RIDGE * max(1.0, spread**2 / rest[number]))
        sizes, errors = fit_shifts(inside.astype(np.float64), y, offset, weight, np.array(ridge), unit)
        level, *fitted = zip(sizes.tolist(), errors.tolist(), strict=True)
        chosen = [replace(c, shift=s, error=e) for c, (s, e) in zip(chosen, fitted, strict=True)]
        shift = sizes @ inside
        yield chosen, level[0], abs(float(scores.sum())) / spread


def fit_shifts(
    matrix: Floats, y: Floats, offset: Floats, weight: Floats, ridge: Floats, unit: NDArray[np.int64] | None = None
) -> tuple[Floats, Floats]:
    """Fit sizes of columns (k, n) together, each of a precision before, by Newton steps; with their standard errors.

    `matrix`: 1 in the rows of a group, say. The errors count units, where `unit` gives the number of each row's.
    """
    size, p = np.zeros(len(matrix)), expit(offset)
    if not len(matrix):
        return size, size
    for _ in range(_STEPS):
        bend = (matrix * (weight * p * (1 - p))) @ matrix.T + np.diag(ridge)
        step = np.linalg.solve(bend, matrix @ (weight * (y - p)) - ridge * size)
        size = size + np.clip(step, -2.0, 2.0)
        p = expit(offset + size @ matrix)
        if np.abs(step).max() < 1e-12:
            break
    inverse = np.linalg.inv(bend)
    if unit is None:
        return size, np.sqrt(np.diag(inverse))
    scores = np.array([np.bincount(unit, one * weight * (y - p)) for one in matrix])
    return size, np.sqrt(np.diag(inverse @ (scores @ scores.T) @ inverse))


class ShiftField(Estimator):
    """A global map and shifts of a few groups; see :mod:`miscal.estimators.shifts`.

    Parameters
    ----------
    random_state : int or numpy.random.Generator, default 0
        Of the folds by which the global map is chosen.
    n_jobs : int, optional
        Part of the protocol; a fit is one process whatever it says.

    Attributes
    ----------
    shifts_ : tuple of Shift
        In the order in which they were found.
    level_ : float
        Shift of all rows, in log-odds, beside those of groups; 0 where there are none.
    n_rows_ : int
        Rows learned from.
    selection_, global_map_, structure_, settings_
        As in :class:`miscal.estimators.registry.Estimator`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 2)).astype(np.float32), np.full(600, 0.5)
    >>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    >>> field = ShiftField().fit(Triples.of(X, confidence=f, correct=y))
    >>> np.sign(field.estimate(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5])).delta)
    array([-1.,  1.])
    """

    learns_places: ClassVar[bool] = False
    # fits are short, and processes would take longer to start
    most_rows_in_threads: ClassVar[int] = 1_000_000
    shifts_: tuple[Shift, ...]
    level_: float
    n_rows_: int

    @one_thread()
    def fit(self, rows: Triples) -> ShiftField:
        """Fit on all rows of positive weight; their split is not looked at."""
        if rows.weight is not None:
            rows = rows.take(np.flatnonzero(rows.weight > 0))
        if len(rows) < LEAST_ROWS:
            raise InputError(f"too few rows: got {len(rows)} of positive weight; at least {LEAST_ROWS} are needed")
        rows, _ = in_canonical_order(rows)
        folds = assign_folds(rows.units, 5, np.random.default_rng(drawn_seed(self.random_state)))
        y = rows.correct.astype(np.float64)
        chosen, log_odds = crossfit_global_map(rows.correct, rows.confidence, folds, rows.weight)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        unit = np.unique(rows.units, return_inverse=True)[1].ravel()
        # log-odds of other folds: those of the map's own rows would hide a part of what groups are off by
        found = list(_found(_Cells.of(rows), y, log_odds[chosen.name], weight, unit))
        shifts, level = found[-1][:2] if found else ([], 0.0)
        z = [last for *_, last in found]
        losses = {
            name: float(np.average(log_losses(y, expit(odds)), weights=weight)) for name, odds in log_odds.items()
        }
        told = [
            {"z": None, "name": f"global map: {name}", "log_loss": loss, "chosen": name == chosen.name}
            for name, loss in losses.items()
        ]
        self.global_map_, self.shifts_, self.level_, self.n_rows_ = chosen, tuple(shifts), level, len(rows)
        self.structure_ = bool(shifts)
        found = [{"name": f"shift {k}", "z": one, "log_loss": None, "chosen": True} for k, one in enumerate(z, start=1)]
        self.selection_ = [*told, *found]
        self.settings_ = {"global_map": chosen.name, "shifts": len(shifts)}
        return self

    def shift(self, X: np.ndarray) -> Floats:
        """Sum the shifts of all rows, and of the groups that rows are in, float64 (n,)."""
        return sum((one.shift * one.rows(X) for one in self.shifts_), np.full(len(X), self.level_))

    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> FieldEstimate:
        """Estimate the field: `corrected` = sigmoid(logit g(f) + shifts), in [0, 1]."""
        base = np.clip(self.global_map_.apply(confidence), 0.0, 1.0)
        shift = self.shift(X)
        corrected = np.where(shift == 0, base, expit(logit(base) + shift))
        variance = sum((one.error**2 * one.rows(X) for one in self.shifts_), np.zeros(len(X)))
        return FieldEstimate(
            delta=corrected - confidence,
            mass=np.full(len(X), float(self.n_rows_)),
            supported=np.full(len(X), True),
            visible=base - confidence,
            hidden=corrected - base,
            corrected=corrected,
            coordinates=self.transform(X),
            standard_error=corrected * (1 - corrected) * np.sqrt(variance),
        )

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Place rows by the groups that they are in, float64 (n, k)."""
        return np.column_stack([np.zeros(len(X)), *(one.shift * one.rows(X) for one in self.shifts_)])

    def mass(self, X: np.ndarray) -> np.ndarray:
        """Rows learned from: every one of them counts, float64 (n,)."""
        return np.full(len(X), float(self.n_rows_))

    def neighbours(self, X: np.ndarray, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Refuse: shifts have no kernel."""
        raise InputError('method="shifts" has no kernel, and so no rows that weigh most')
