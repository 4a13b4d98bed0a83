"""Steps, slopes and products of the few columns that matter among many: forward selection with an offset.

Where one column of hundreds shifts the log-odds, smooth kernels and trees of all columns drown it in the others. Here
single columns are found first. Each column has the score statistic of a few steps and of its slope, by matrix products
for all columns and all folds at once; so have the products of the signs of any two columns, whose statistics are sums
over disjoint folds, and cost one product of matrices. Terms are then added one by one: the one that gains most of

    slope     a screened column, standardised
    step      whether a screened column is above one of 31 quantiles
    product   the signs of two columns, or two terms that are already there

and all terms are refitted with a ridge, a small one or a large one. A gain is charged by 2 log of how many candidates
of its kind there are to one slope (Chen & Chen, "Extended Bayesian information criteria", Biometrika 95, 2008). Each
fold screens and adds anew, all with one ridge and one number of terms, those of the smallest out-of-fold log loss; none
where that gains little.

"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.estimators.auto.member import CrossFitted, LearningRows, Member, Query, negative_log_likelihood
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.integer]

NAME = "steps and slopes of few columns"

_BLOCK_COLUMNS = 256
_TINY = 1e-9


@dataclass(frozen=True)
class Factor:
    """A column as a term sees it: its sign around an edge, or its value, centred and scaled.

    Attributes
    ----------
    column : int
        Of ``ScoreInputs.given``.
    centre, inverse : float
        The edge of a step has inverse 0.
    """

    column: int
    centre: float
    inverse: float = 0.0

    def __call__(self, values: Array) -> Floats:
        """Values of the column to those of the factor, (n,)."""
        if not self.inverse:
            return np.where(values > self.centre, 1.0, -1.0)
        return np.clip((values - self.centre) * self.inverse, -AUTO.slope_reach, AUTO.slope_reach)


Term = tuple[Factor, ...]
"""One factor, or the product of two."""


_ALL = slice(None)


def term_columns(terms: Sequence[Term], given: Array, rows: Ints | slice = _ALL) -> Floats:
    """Values of terms of some rows, (n, t).

    Examples
    --------
    >>> above, slope = Factor(0, 0.5), Factor(1, 0.0, 0.5)
    >>> term_columns([(above,), (above, slope)], np.array([[0.0, 2.0], [1.0, 2.0]])).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    values: dict[Factor, Floats] = {}
    for factor in (factor for term in terms for factor in term):
        if factor not in values:
            values[factor] = factor(given[rows, factor.column].astype(np.float64))
    columns = [np.prod([values[factor] for factor in term], axis=0) for term in terms]
    return np.stack(columns, 1) if columns else np.zeros((len(given[rows]), 0))


@dataclass(frozen=True, eq=False)
class FewColumnsMember(Member):
    """The terms that were found.

    Attributes
    ----------
    terms : tuple of Term
    coefficients : ndarray of shape (1 + t,), float64
        Logit shifts: of all rows, and of each term; positive raises the confidence.
    """

    terms: tuple[Term, ...]
    coefficients: Floats

    def shift(self, at: Query) -> Floats:
        """Logit shift of rows over the offset, (n,); positive raises the confidence."""
        return self.of(at.inputs.given)

    def of(self, given: Array) -> Floats:
        """Logit shift of rows by their columns, (n,)."""
        return self.coefficients[0] + term_columns(self.terms, given) @ self.coefficients[1:]

    @classmethod
    def mean(cls, members: Sequence[Self]) -> Self:
        """Average members: an edge that each finds a little elsewhere becomes a slope."""
        terms = tuple(term for member in members for term in member.terms)
        coefficients = [np.array([np.mean([member.coefficients[0] for member in members])])]
        return cls(terms, np.concatenate(coefficients + [one.coefficients[1:] / len(members) for one in members]))


@dataclass(frozen=True, eq=False)
class Screen:
    """What single columns and pairs of them say of the residuals, for several subsets of the rows.

    Attributes
    ----------
    strength : ndarray of shape (k, d)
        Largest absolute score statistic of the steps and the slope of each column, in each subset.
    pairs : list of ndarray of shape (p, 2), int
        For each subset, the pairs of columns whose product of signs stands out most.
    middle : ndarray of shape (d,)
        The edge of the signs.
    """

    strength: Floats
    pairs: list[Ints]
    middle: Floats


def screen(given: Array, score: Array, information: Array, fold: Ints, column: Ints, some: Ints) -> Screen:
    """Screen columns without each fold, and with all rows, last.

    Takes given (n, m); score, information (n,): y - p and p (1 - p), times the rows' weights; fold (n,): 0, 1, ...;
    column (d,), some (r,): the columns that are screened, and the rows by which.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 10))
    >>> score, information, fold = np.sign(x[:, 3]) / 2, np.full(500, 0.25), np.arange(500) % 5
    >>> found = screen(x, score, information, fold, np.arange(10), np.arange(500))
    >>> found.strength.shape, found.strength.argmax(1).tolist()
    ((6, 10), [3, 3, 3, 3, 3, 3])
    """
    count, d, score, fold = int(fold.max()) + 1, len(column), score[some], fold[some]
    kept = np.concatenate([fold != np.arange(count)[:, None], np.ones((1, len(fold)), bool)])
    both = np.concatenate([kept * score, kept * information[some]]).astype(np.float32)
    total = both.sum(1, dtype=np.float64)[:, None]
    strength, middle = np.zeros((len(kept), d)), np.empty(d, given.dtype)
    few = evenly(len(some), AUTO.screened_quantile_rows)

    def statistics(part: slice, columns: Singles, squares: Singles) -> None:
        sums, square = (both @ columns).astype(np.float64), (both[len(kept) :] @ squares).astype(np.float64)
        mean = sums[len(kept) :] / total[len(kept) :]
        left = square - mean * sums[len(kept) :]
        z = (sums[: len(kept)] - mean * total[: len(kept)]) / np.sqrt(np.maximum(left, _TINY))
        # a step that leaves a few rows on one side, or rounding, says nothing
        seen = np.where(left > AUTO.least_side * square, np.abs(z), 0.0)
        strength[:, part] = np.maximum(strength[:, part], seen)

    for start in range(0, d, _BLOCK_COLUMNS):
        part = slice(start, start + _BLOCK_COLUMNS)
        values = given[some[:, None], column[part]]
        edges = np.quantile(values[few], AUTO.screened_steps, axis=0, method="inverted_cdf").astype(given.dtype)
        middle[part] = edges[len(edges) // 2]
        for edge in edges:
            above = (values > edge).astype(np.float32)
            statistics(part, above, above)
        line = (values - values.mean(0)).astype(np.float32)
        line /= np.maximum(line.std(0), np.float32(_TINY))
        statistics(part, line, line * line)
    near = evenly(len(some), AUTO.pair_work // d**2)
    enough = len(near) >= min(len(some), AUTO.least_pair_scan_rows)
    none = [np.zeros((0, 2), np.int64)] * (count + 1)
    pairs = _pairs(given[some[near, None], column] > middle, score[near], fold[near], count) if enough else none
    return Screen(strength, pairs, middle.astype(np.float64))


def evenly(n: int, most: int) -> Ints:
    """Row numbers at even distances: rows learned from are sorted by their inputs.

    Examples
    --------
    >>> evenly(10, 5).tolist(), evenly(3, 5).tolist()
    ([0, 2, 4, 6, 8], [0, 1, 2])
    """
    return np.arange(n) if n <= most else np.arange(most) * n // most


def _pairs(above: NDArray[np.bool_], score: Array, fold: Ints, count: int) -> list[Ints]:
    """Find the pairs of columns of which the sums of sign times sign times residual are largest."""
    d = above.shape[1]
    parts = np.empty((count, d, d), np.float32)
    for k in range(count):
        sign = np.where(above[fold == k], np.float32(1), np.float32(-1))
        parts[k] = sign.T @ (sign * score[fold == k, None].astype(np.float32))
    whole, upper = parts.sum(0), np.triu(np.ones((d, d), bool), 1)
    found = []
    for k in range(count + 1):
        size = np.where(upper, np.abs(whole - parts[k] if k < count else whole), 0.0).ravel()
        most = min(AUTO.screened_pairs, size.size - 1)
        best = np.argpartition(size, -most)[-most:]
        # equal sums in the order of the columns
        best = best[np.lexsort((best, -size[best]))]
        found.append(np.stack(np.divmod(best, d), 1))
    return found


@dataclass(frozen=True, eq=False)
class ScreenedColumns:
    """The columns that any subset of the rows screened, as candidates of terms see them.

    Attributes
    ----------
    column : ndarray of shape (u,), int
    value : ndarray of shape (n, u), float32
        Standardised and clipped.
    bin : ndarray of shape (n, u), uint8
        How many of the edges a value is above.
    edges : ndarray of shape (31, u), float64
    centre, inverse : ndarray of shape (u,), float64
    """

    column: Ints
    value: Singles
    bin: NDArray[np.uint8]
    edges: Floats
    centre: Floats
    inverse: Floats

    @classmethod
    def of(cls, given: Array, column: Ints) -> Self:
        """Standardise and cut some columns; no outcome is looked at."""
        values = given[:, column].astype(np.float64)
        centre, sd = values.mean(0), values.std(0)
        inverse = 1 / np.maximum(sd, _TINY)
        share = np.arange(1, AUTO.few_bins) / AUTO.few_bins
        edges = np.quantile(values, share, axis=0, method="inverted_cdf")
        bins = [np.searchsorted(edge, value, "left") for edge, value in zip(edges.T, values.T, strict=True)]
        line = np.clip((values - centre) * inverse, -AUTO.slope_reach, AUTO.slope_reach)
        return cls(column, line.astype(np.float32), np.stack(bins, 1).astype(np.uint8), edges, centre, inverse)

    def slope(self, place: int) -> Term:
        """Term of the slope of a column."""
        return (Factor(int(self.column[place]), float(self.centre[place]), float(self.inverse[place])),)

    def step(self, place: int, edge: int) -> Term:
        """Term of a step of a column."""
        return (Factor(int(self.column[place]), float(self.edges[edge, place])),)


class _Forward:
    """Terms added one by one on some rows."""

    def __init__(
        self, rows: LearningRows, known: ScreenedColumns, left_out: Ints, top: Ints, pairs: list[Term], ridge: float
    ) -> None:
        self._given, many = rows.at.inputs.given, len(rows.at.inputs.varying)
        some = np.delete(np.arange(len(rows)), left_out)
        self._correct, self._offset = rows.correct[some], rows.at.offset[some]
        self._weight = np.ones(len(some)) if rows.weight is None else rows.weight[some]
        self._known, self._top, self._ridge = known, top, ridge
        self._line = known.value[some][:, top].astype(np.float64)
        self._square = self._line**2
        self._bin = known.bin[some][:, top] + np.arange(len(top)) * AUTO.few_bins
        self._products, self._charges = list(pairs), [AUTO.candidate_charge * np.log(many / 2)] * len(pairs)
        self._product_columns = term_columns(pairs, self._given, some)
        self.terms: list[Term] = []
        self._columns = np.ones((len(some), 1))
        self._left_out, self._told = left_out, np.ones((len(left_out), 1))
        self.coefficients = np.zeros(1)
        self._refit()

    def add(self) -> None:
        """Add the term that gains most, and fit all anew."""
        p = expit(self._offset + self._columns @ self.coefficients)
        score, information = self._weight * (self._correct - p), self._weight * p * (1 - p)
        term, column = self._best(score, information)
        single = [(one, j) for j, one in enumerate(self.terms) if len(one) == 1]
        if len(term) == 1 and len(single) < AUTO.multiplied_terms:
            # a product of two terms of one column is a term of that column
            new = [((*one, *term), j) for one, j in single if one[0].column != term[0].column]
            self._products += [product for product, _ in new]
            self._charges += [AUTO.candidate_charge * np.log(AUTO.steps_to_a_slope)] * len(new)
            added = [self._columns[:, 1 + j] * column for _, j in new]
            self._product_columns = np.column_stack([self._product_columns, *added])
        self.terms.append(term)
        self._columns = np.column_stack([self._columns, column])
        self._told = np.column_stack([self._told, term_columns([term], self._given, self._left_out)])
        self.coefficients = np.append(self.coefficients, 0.0)
        self._refit()

    @property
    def shift(self) -> Floats:
        """Logit shift of the rows left out."""
        return self._told @ self.coefficients

    def member(self) -> FewColumnsMember:
        """Return what the terms say now."""
        return FewColumnsMember(tuple(self.terms), self.coefficients)

    def _best(self, score: Floats, information: Floats) -> tuple[Term, Floats]:
        total, c, bins = float(information.sum()), len(self._top), AUTO.few_bins
        drift = float(score.sum()) / total

        def gains(sums: Floats, mean: Floats, square: Floats) -> Floats:
            left = square - mean**2 / total
            return np.where(left > AUTO.least_side * square, (sums - drift * mean) ** 2 / np.maximum(left, _TINY), 0.0)

        line = gains(score @ self._line, information @ self._line, information @ self._square)
        where = self._bin.ravel()
        below, held = (
            np.bincount(where, np.repeat(values, c), c * bins).reshape(c, bins).cumsum(1)[:, :-1]
            for values in (score, information)
        )
        # the sums above an edge
        above = total - held
        step = gains(score.sum() - below, above, above)
        step = np.where(held > AUTO.least_side * total, step, 0.0)
        step -= AUTO.candidate_charge * np.log(AUTO.steps_to_a_slope)
        columns = self._product_columns
        product = gains(score @ columns, information @ columns, information @ columns**2) - np.array(self._charges)
        best = {"slope": line.max(), "step": step.max(), "product": product.max(initial=-np.inf)}
        kind = max(best, key=lambda name: best[name])
        if kind == "product":
            j = int(product.argmax())
            term, column = self._products.pop(j), columns[:, j]
            self._charges.pop(j)
            self._product_columns = np.delete(columns, j, 1)
            return term, column
        if kind == "slope":
            j = int(line.argmax())
            return self._known.slope(self._top[j]), self._line[:, j]
        j, edge = np.unravel_index(int(step.argmax()), step.shape)
        return self._known.step(self._top[j], int(edge)), np.where(self._bin[:, j] - j * bins > edge, 1.0, -1.0)

    def _refit(self) -> None:
        """Newton steps to the penalised minimum; all rows' own shift is free."""
        penalty = np.full(len(self.coefficients), self._ridge)
        penalty[0] = _TINY
        for _ in range(AUTO.few_newton_steps):
            p = expit(self._offset + self._columns @ self.coefficients)
            gradient = (self._weight * (self._correct - p)) @ self._columns - penalty * self.coefficients
            # a weight below this would let saturated rows carry the step away
            w = self._weight * np.maximum(p * (1 - p), AUTO.least_variance)
            curvature = self._columns.T @ (self._columns * w[:, None]) + np.diag(penalty)
            self.coefficients = self.coefficients + np.linalg.solve(curvature, gradient)


def crossfit_few_columns(
    rows: LearningRows, worth: Callable[[NDArray[np.bool_], Floats], bool] | None = None
) -> CrossFitted:
    """Find terms out of fold, and on all rows, as many as the log loss of rows left out asks for.

    Takes worth: of a mask of rows and their shift by the other rows; where it says no to the first fold, no term is
    looked for in the others.
    """
    given, usable = rows.at.inputs.given, rows.at.inputs.varying
    fold = np.unique(rows.folds, return_inverse=True)[1]
    p = expit(rows.at.offset)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    some = evenly(len(rows), max(AUTO.least_screened_rows, AUTO.screened_values // len(usable)))
    found = screen(given, weight * (rows.correct - p), weight * p * (1 - p), fold, usable, some)
    most = min(AUTO.screened_columns, len(usable))
    # equal strengths in the order of the columns
    tops = [np.sort(np.argsort(-strength, kind="stable")[:most]) for strength in found.strength]
    union = np.unique(np.concatenate(tops))
    known = ScreenedColumns.of(given, usable[union])
    pairs = [[tuple(Factor(int(usable[j]), float(found.middle[j])) for j in pair) for pair in of] for of in found.pairs]
    # the last fit, of all rows, leaves none out
    left_out = [np.flatnonzero(fold == k) for k in range(fold.max() + 2)]

    def paths(ridge: float, folds: range) -> Iterator[tuple[list[_Forward], Floats]]:
        """Fits with one term more each time, and the shift of the rows that they left out; 0 elsewhere."""
        fits = [_Forward(rows, known, left_out[k], np.searchsorted(union, tops[k]), pairs[k], ridge) for k in folds]
        best, lowest = 0, np.inf
        for number in range(1, AUTO.most_terms + 1):
            shift = np.zeros(len(rows))
            for k, fit in zip(folds, fits, strict=True):
                fit.add()
                shift[left_out[k]] = fit.shift
            yield fits, shift
            now = _loss(rows, shift)
            if now < lowest:
                lowest, best = now, number
            if number - best >= AUTO.few_patience:
                return

    found_terms, told, member = 0, np.zeros(len(rows)), FewColumnsMember((), np.zeros(1))
    loss = _loss(rows, told) - AUTO.least_few_gain / weight.sum()
    if worth is not None:
        trial = min((shift for _, shift in paths(AUTO.few_ridges[0], range(1))), key=partial(_loss, rows))
        if not worth(fold == 0, trial[fold == 0]):
            return CrossFitted(member, told, {"terms": 0})
    for ridge in AUTO.few_ridges:
        for fits, shift in paths(ridge, range(len(left_out))):
            now = _loss(rows, shift)
            if now < loss:
                loss, found_terms, told = now, len(fits[-1].terms), shift
                member = FewColumnsMember.mean([fit.member() for fit in fits])
    return CrossFitted(member, told, {"terms": found_terms})


def _loss(rows: LearningRows, shift: Array) -> float:
    return float(np.average(negative_log_likelihood(rows.correct, rows.at.offset + shift), weights=rows.weight))


def serve(rows: LearningRows) -> bool:
    """Tell whether few columns are looked for: where there are many."""
    return len(rows.at.inputs.varying) >= AUTO.least_many_columns and len(rows) >= AUTO.least_screened_rows
