"""Find columns that tell the outcome as only what is known after it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import column_of, dense_rank
from miscal.base.folds import content_order
from miscal.base.precision import LARGEST_SINGLE
from miscal.data.encoders.features import blank_rows
from miscal.data.encoders.kinds import CategoryColumn, kind_of

LEAST_AUC = 0.97
"""Area under the ROC curve from which a column, or all together, tell too much."""
LEAST_SHARE, LEAST_OWN, LEAST_OF_PAIR = 0.5, 0.8, 0.9
"""Share of the outcome's entropy given the confidence from which they do, if without it they have the first area. Of a
pair, which is to have the second, it is the share of what the confidence and each of the two leave."""
LEAST_EQUAL = 0.98
"""Area from which the equality of two columns tells too much."""
GOOD_CONFIDENCE = 0.95
"""Of a confidence that ranks outcomes as well as this, a column may do so for a good reason."""
LEAST_BLANKS, LEAST_CHANCE = 20, 1e-6
"""Blanks that a column needs before it is asked whether they tell the outcome, and the chance that is too small."""
MOST_ROWS = 10_000
FOLDS = 5
LEAST_EACH = 5
"""Outcomes of each kind, or nothing can be said."""
MOST_LEVELS = 200
"""Levels of a column whose values are compared with another's, row by row."""
MOST_TOGETHER, MOST_PAIRED = 200, 40
"""Columns above which it is not asked what they tell together, and by cells and differences of two."""
FEW_VALUES = 12
"""Most values of each of two columns whose cells are asked."""
LITTLE, BY_CHANCE, STRATA = 0.05, 3, 10
"""A column whose area within so many strata of the confidence is as near to 0.5, or within so many standard errors,
tells nothing by itself."""
ALIKE = 0.5
"""Correlation above which the difference of two numbers is asked: of what is not alike it is no quantity."""
BINS = 32
"""Bins of a difference by which it is judged whether a tree is worth its time."""
_LOWEST = 1e-4


@dataclass(frozen=True)
class Leak:
    """How a column, or a pair of two, tells the outcome.

    Attributes
    ----------
    by : {"ranking", "entropy", "blanks", "equality", "cells", "difference"}
        A column ranks outcomes, or takes away entropy, or its blanks have one outcome; of a pair it is whether they
        are equal, the values of both, or their difference that tells.
    value : float
        For "entropy" the share of the outcome's entropy given the confidence; for "blanks" the chance that they all
        have one outcome, by the confidences; else the area under the ROC curve.
    other : str or None
        The other column of a pair.
    """

    by: Literal["ranking", "entropy", "blanks", "equality", "cells", "difference"]
    value: float
    other: str | None = None


def blank_leaks(
    frame: pl.DataFrame,
    names: Sequence[str],
    correct: np.ndarray,
    confidence: np.ndarray,
    units: Callable[[], Iterable[np.ndarray]] = tuple,
) -> dict[str, Leak]:
    """Find columns whose blanks have one outcome, which the confidences, raw and recalibrated, make too unlikely.

    `correct` (n,): of the rows that teach; `units`: returns numbers of units, int (n,) each, -1 for a row by itself:
    what blanks may be counted by.
    """
    found, counted, again = {}, [], confidence
    for name in names:
        blank = blank_rows(column_of(frame, name))
        if blank.sum() < LEAST_BLANKS or len(np.unique(y := correct[blank])) > 1:
            continue
        if not counted:
            counted, again = [np.arange(len(correct)), *units()], _recalibrated(correct, confidence)
        stated = confidence[blank], again[blank]
        likely = np.maximum(*(stated if y[0] else (1 - p for p in stated)))
        chance = max(_least_sum(np.log(np.maximum(likely, _LOWEST)), unit[blank]) for unit in counted)
        if chance < np.log(LEAST_CHANCE):
            found[name] = Leak("blanks", float(np.exp(chance)))
    return found


class LeakSearch:
    """Search of columns for what tells outcomes as only what is known after them does, out of fold.

    Numbers and dates are asked by a tree of depth 3, categories by the rates of their levels, with and without the
    confidence beside them. Of a confidence that ranks outcomes at 0.95 or more, what ranks as well is no leak.

    `names`: columns that may be asked; `correct` (n,): of the rows that teach; `seed`: of the rows that are looked at
    where there are more than 10,000; `unit` (n,): folds keep rows of one number whole, -1 for a row by itself, so that
    no column tells the outcome by telling whose row it is.

    Examples
    --------
    >>> y = np.arange(200) % 2
    >>> table = pl.DataFrame({"minutes late": 20.0 * y + np.arange(200) % 7, "hour": np.arange(200) % 24})
    >>> LeakSearch(table, table.columns, y, np.full(200, 0.5), 0).alone(table.columns)
    {'minutes late': Leak(by='ranking', value=1.0, other=None)}
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        names: Sequence[str],
        correct: np.ndarray,
        confidence: np.ndarray,
        seed: int,
        unit: np.ndarray | None = None,
    ) -> None:
        columns = {name: column_of(frame, name) for name in names}
        # texts become objects only if they are needed to tell rows apart; lists, which are compared as written, at once
        parts = (series.to_numpy() if series.dtype.is_nested() else series for series in columns.values())
        order = content_order(confidence[:, None], correct, *parts)
        some = order[np.random.default_rng((seed, MOST_ROWS)).permutation(len(order))[:MOST_ROWS]]
        self._columns = {name: series[some] for name, series in columns.items()}
        self.y, self._confidence = correct[some] > 0, confidence[some]
        self._unit = None if unit is None else unit[some]
        self._read: dict[str, np.ndarray | None] = {}
        self._few = min(self.y.sum(), (~self.y).sum()) < LEAST_EACH

    def alone(self, names: Sequence[str]) -> dict[str, Leak]:
        """Find the columns that are leaks by themselves."""
        found = {}
        for name, values in self._values(names).items():
            rates = self._rates_of_levels(values) if values.ndim == 1 else self._by_tree(values)
            if rates is not None and (leak := self._leak(rates)) is not None:
                found[name] = leak
        return found

    def equal_pairs(self, names: Sequence[str]) -> dict[tuple[str, str], float]:
        """Find two columns whose equality tells the outcome nearly perfectly: the answer given, and the key.

        Texts and whole numbers of up to 200 levels are asked. Returns the area under the ROC curve.
        """
        kinds = (pl.String, pl.Categorical, pl.Enum)
        offered = {name: self._columns[name] for name in names}
        texts = {n: one.cast(pl.String) for n, one in offered.items() if one.dtype.is_integer() or one.dtype in kinds}
        texts = {name: series for name, series in texts.items() if 1 < series.n_unique() <= MOST_LEVELS}
        if len(texts) < 2 or self._few or self._good:
            return {}
        every = pl.concat([series.rename("") for series in texts.values()])
        codes = dense_rank(every).fill_null(0).to_numpy().reshape(len(texts), -1)
        found, every = {}, list(texts)
        told = [np.ascontiguousarray(codes[:, part]) for part in (self.y, ~self.y)]
        # a column with all later ones at once: a pair at a time takes minutes of 3,000
        for k, one in enumerate(every):
            # of a yes or no, the mean of the shares that are counted among right and among wrong answers
            hits, false = ((some[k + 1 :] == some[k]).mean(axis=1) for some in told)
            area = np.maximum(area := (hits + 1 - false) / 2, 1 - area)
            found |= {(one, every[k + 1 + j]): float(area[j]) for j in np.flatnonzero(area >= LEAST_EQUAL)}
        return found

    def pairs(self, names: Sequence[str]) -> dict[str, Leak]:
        """Find pairs whose cells, where each has few values, or whose difference, where they are alike, are leaks.

        No column is part of two pairs; none of more than 40 columns is asked. Of a pair of which one column alone tells
        something by itself, it is the leak: when something was due is known before, when it came is not.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> due, late = rng.integers(300, 1400, 500), rng.normal(0, 20, 500)
        >>> table = pl.DataFrame({"due": due, "came": due + late, "stops": due % 3})
        >>> [*LeakSearch(table, table.columns, late > 15, np.full(500, 0.2), 0).pairs(table.columns)]
        ['due', 'came']
        """
        found: dict[str, Leak] = {}
        columns = self._values(names)
        cells = {name: few for name, values in columns.items() if (few := _few_values(values)) is not None}
        numbers = {name: values[:, 0] for name, values in columns.items() if name not in cells and values.ndim > 1}
        ways = (cells, "cells", self._by_cells), (numbers, "difference", self._by_difference)
        for asked, by, rates_of in ways:
            for one, other in combinations(asked, 2) if len(asked) <= MOST_PAIRED else ():
                if not {one, other}.isdisjoint(found) or (rates := rates_of(asked[one], asked[other])) is None:
                    continue
                if (area := self._area(rates)) < LEAST_OF_PAIR:
                    continue
                alone = {name: self._alone(asked[name]) for name in (one, other)}
                if self._share(rates, *alone.values()) >= LEAST_SHARE:
                    pair = {one: Leak(by, area, other), other: Leak(by, area, one)}
                    found |= {name: pair[name] for name in self._telling(alone)}
        return found

    def together(self, names: Sequence[str]) -> tuple[str, ...]:
        """Name the columns that are used most of those that tell too much only together; none of more than 200.

        Of these, columns that tell nothing by themselves are not named beside others that do.
        """
        columns = self._values(names)
        if not 1 < len(columns) <= MOST_TOGETHER:
            return ()
        if not self._boosted(columns):
            return ()
        gains = _trees(len(self.y)).fit(np.column_stack([*columns.values()]), self.y).feature_importances_
        ends = np.cumsum([1 if values.ndim == 1 else values.shape[1] for values in columns.values()])
        use = {name: part.sum() for name, part in zip(columns, np.split(gains, ends[:-1]), strict=True)}
        order = sorted(columns, key=lambda name: -use[name])
        most = next(
            order[:few]
            for few in range(2, len(order) + 1)
            if few == len(order) or self._boosted({name: columns[name] for name in order[:few]})
        )
        return self._telling({name: self._alone(columns[name]) for name in most})

    def _values(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Columns as codes of categories, (n,), or as numbers, (n, width); none where outcomes are too few."""
        for name in () if self._few else names:
            if name not in self._read:
                self._read[name] = _read(self._columns[name], name)
        return {name: values for name in names if (values := self._read.get(name)) is not None}

    @cached_property
    def _folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        from sklearn.model_selection import GroupKFold, StratifiedKFold

        if self._unit is not None:
            single = self._unit < 0
            unit = np.where(single, self._unit.max(initial=0) + 1 + np.cumsum(single), self._unit)
            folds = list(GroupKFold(FOLDS).split(unit, groups=unit)) if len(np.unique(unit)) >= FOLDS else []
            if folds and all(len(np.unique(self.y[learned])) > 1 for learned, _ in folds):
                return folds
        return list(StratifiedKFold(FOLDS).split(self.y, self.y))

    @cached_property
    def _good(self) -> bool:
        return self._area(self._confidence) >= GOOD_CONFIDENCE

    @cached_property
    def _known(self) -> np.ndarray:
        # the confidence, and what a tree makes of it, since no curve is presumed
        curve = self._out_of_fold(_tree(), self._confidence[:, None])
        return np.stack([_logit(self._confidence), _logit(curve)], 1)

    def _leak(self, rates: np.ndarray) -> Leak | None:
        """Judge the rates that something tells, (n,)."""
        area = self._area(rates)
        if area >= LEAST_AUC and not self._good:
            return Leak("ranking", area)
        if area < LEAST_OWN or (share := self._share(rates)) < LEAST_SHARE:
            return None
        return Leak("entropy", share)

    def _alone(self, values: np.ndarray) -> np.ndarray:
        """Tell rates by one column, each from other folds."""
        if values.dtype.kind == "i":
            return self._rates_of_levels(values)
        return self._out_of_fold(_tree(), values.reshape(len(values), -1))

    def _telling(self, rates: dict[str, np.ndarray]) -> tuple[str, ...]:
        """Name the columns whose rates rank outcomes of like confidence; all where none does."""
        edges = np.quantile(self._confidence, np.arange(1, STRATA) / STRATA)
        strata = np.searchsorted(edges, self._confidence)
        inside = [rows for k in np.unique(strata) if len(np.unique(self.y[rows := strata == k])) > 1] or [...]
        pairs = [self.y[rows].sum() * (~self.y[rows]).sum() for rows in inside]
        # rates of what tells nothing rank by chance or worse, as each fold is told by the others
        least = max(LITTLE, BY_CHANCE * np.sqrt((len(self.y) + 1) / 12 / self.y.sum() / (~self.y).sum()))
        telling = (
            name
            for name, p in rates.items()
            if np.average([self._area(p[rows], rows) for rows in inside], weights=pairs) - 0.5 > least
        )
        return tuple(telling) or tuple(rates)

    def _share(self, rates: np.ndarray, *known: np.ndarray) -> float:
        """Share of the entropy given the confidence, and rates that are known, that other rates take away."""
        before = np.column_stack([self._known, *map(_logit, known)])
        return 1 - self._loss(np.column_stack([before, _logit(rates)])) / self._loss(before)

    def _rates_of_levels(self, codes: np.ndarray) -> np.ndarray:
        """Tell rates by level, each from other folds."""
        rates = np.empty(len(self.y))
        for learned, asked in self._folds:
            size, base = codes.max() + 1, self.y[learned].mean()
            count, right = (np.bincount(codes[learned], values, size) for values in (None, self.y[learned]))
            # one row at the average rate, so that a level of few rows says little
            rates[asked] = ((right + base) / (count + 1))[codes[asked]]
        return rates

    def _by_tree(self, numbers: np.ndarray, least: float = LEAST_OWN) -> np.ndarray | None:
        """Tell rates by a tree; None where even of the rows learned from it tells too little."""
        # one fit instead of five for nearly every column, and without checks that take longer than a tree of few rows
        # it splits as a tree of classes does: of 0 and 1, the variance is half of Gini's impurity
        from sklearn.tree import DecisionTreeRegressor

        single = np.ascontiguousarray(numbers, dtype=np.float32)
        tree = DecisionTreeRegressor(**_TREE).fit(single, self.y, check_input=False)
        seen = tree.predict(single, check_input=False)
        return None if self._area(seen) < least else self._out_of_fold(_tree(), numbers)

    def _by_cells(self, one: np.ndarray, other: np.ndarray) -> np.ndarray | None:
        both = one * FEW_VALUES + other
        return self._rates_of_levels(both) if self._area_of_levels(both) >= LEAST_OF_PAIR else None

    def _by_difference(self, one: np.ndarray, other: np.ndarray) -> np.ndarray | None:
        if np.corrcoef(one, other)[0, 1] <= ALIKE:
            return None
        apart = one - other
        bins = np.searchsorted(np.quantile(apart, np.arange(1, BINS) / BINS), apart)
        return None if self._area_of_levels(bins) < LEAST_OF_PAIR else self._by_tree(apart[:, None], LEAST_OF_PAIR)

    def _boosted(self, columns: dict[str, np.ndarray]) -> bool:
        """Whether boosted trees on columns tell too much; asked of one fold first, since mostly they do not."""
        values = np.column_stack([*columns.values()])
        learned, asked = self._folds[0]
        first = _trees(len(self.y)).fit(values[learned], self.y[learned]).predict_proba(values[asked])[:, 1]
        if len(np.unique(self.y[asked])) < 2 or self._area(first, asked) < LEAST_OWN:
            return False
        return self._leak(self._out_of_fold(_trees(len(self.y)), values)) is not None

    def _out_of_fold(self, model, values: np.ndarray) -> np.ndarray:
        from sklearn.model_selection import cross_val_predict

        return cross_val_predict(model, values, self.y, cv=self._folds, method="predict_proba")[:, 1]

    def _area(self, rates: np.ndarray, rows: np.ndarray | slice = slice(None)) -> float:
        # as roc_auc_score, whose checks take longer than a tree of few rows
        codes, y = np.unique(rates, return_inverse=True)[1], self.y[rows]
        return _area_below(*(np.bincount(codes, kind) for kind in (y, ~y)))

    def _area_of_levels(self, codes: np.ndarray) -> float:
        """Area of levels in the order of their rates, of the rows that these are learned from."""
        right, wrong = (np.bincount(codes, rows) for rows in (self.y, ~self.y))
        order = np.argsort(right / np.maximum(right + wrong, 1))
        return _area_below(right[order], wrong[order])

    def _loss(self, x: np.ndarray) -> float:
        """Log loss of a logistic regression, which of so few numbers hardly learns its own rows by heart."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import log_loss

        return log_loss(self.y, LogisticRegression(solver="newton-cholesky").fit(x, self.y).predict_proba(x))


def _area_below(right: np.ndarray, wrong: np.ndarray) -> float:
    """Area under the ROC curve of levels in rising order, by their right and wrong rows; ties count half."""
    return float(right @ (np.cumsum(wrong) - wrong / 2) / (right.sum() * wrong.sum()))


def _read(series: pl.Series, name: str) -> np.ndarray | None:
    kind = kind_of(series)
    if kind is None or kind.type == "list":
        return None
    column = kind.fit(series, name)
    if column.type == CategoryColumn.type:
        return column.codes(series)[:, 0]
    # trees of scikit-learn compare in single precision, beyond whose range nothing is told apart
    return np.clip(column.numbers(series), -LARGEST_SINGLE, LARGEST_SINGLE)


def _few_values(values: np.ndarray) -> NDArray[np.int64] | None:
    """Give numbers to the values of a column that has few, blanks apart from others; None where it has more."""
    distinct, codes = np.unique(values if values.ndim == 1 else values[:, [0, -1]], axis=0, return_inverse=True)
    return codes.ravel() if len(distinct) <= FEW_VALUES else None


def _least_sum(log_chance: np.ndarray, unit: np.ndarray) -> float:
    """Sum of each unit's likeliest row: rows of one unit may have one outcome by one chance."""
    single = log_chance[unit < 0].sum()
    likeliest = np.full(unit.max(initial=-1) + 1, -np.inf)
    np.maximum.at(likeliest, unit[unit >= 0], log_chance[unit >= 0])
    return float(single + likeliest[np.isfinite(likeliest)].sum())


def _recalibrated(correct: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    x = _logit(confidence)[:, None]
    return LogisticRegression(C=1e4).fit(x, correct).predict_proba(x)[:, 1]


def _logit(p: np.ndarray) -> np.ndarray:
    from scipy.special import logit

    return logit(np.clip(p, _LOWEST, 1 - _LOWEST))


_TREE = {"max_depth": 3, "min_samples_leaf": 5, "random_state": 0}


def _tree():
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(**_TREE)


def _trees(rows: int):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=60, num_leaves=15, learning_rate=0.15, min_child_samples=max(5, min(20, rows // 100)),
        importance_type="gain", random_state=0, n_jobs=1, verbose=-1,
    )  # fmt: skip
