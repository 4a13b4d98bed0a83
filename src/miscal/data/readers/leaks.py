"""Find columns that tell the outcome as only what is known after it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl

from miscal.base.arrays import column_of
from miscal.base.folds import content_order
from miscal.base.precision import LARGEST_SINGLE
from miscal.data.encoders.features import blank_rows
from miscal.data.encoders.kinds import CategoryColumn, kind_of

LEAST_AUC = 0.97
"""Area under the ROC curve from which a single column, or several together, tell too much."""
LEAST_SHARE = 0.5
"""Share of the outcome's entropy given the confidence from which they do."""
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
"""Columns above which it is not asked what they tell together, and in pairs."""
FEW_VALUES = 12
"""Most values of each of two columns whose cells are asked."""
ALIKE = 0.5
"""Correlation above which the difference of two numbers is asked: of what is not alike it is no quantity."""
HOPELESS = 0.6
"""Part of the largest share of entropy that the first fold must have taken away, or the others are not asked."""
_LOWEST = 1e-4
_MOST_STEPS, _SMALL_STEP = 50, 1e-9
"""Newton steps at most, and the fall of the mean loss up to which another is not worth it."""


@dataclass(frozen=True)
class Leak:
    """How a column tells the outcome.

    Attributes
    ----------
    by : {"ranking", "entropy", "blanks", "together"}
        Alone it ranks outcomes, or takes away entropy; its blanks have one outcome; or it is one of several that
        together rank or take away.
    value : float
        For "entropy" the share of the outcome's entropy given the confidence; for "blanks" the chance that they all
        have one outcome, by the confidences; else the area under the ROC curve.
    """

    by: Literal["ranking", "entropy", "blanks", "together"]
    value: float


def leaks(
    frame: pl.DataFrame,
    names: Sequence[str],
    correct: np.ndarray,
    confidence: np.ndarray,
    seed: int,
    units: Callable[[], Iterable[np.ndarray]] = tuple,
) -> dict[str, Leak]:
    """Find the columns that tell outcomes as only what is known after them does.

    Each column is asked by itself, out of fold: numbers and dates by a tree of depth 3, categories by the rates of
    their levels, with and without the confidence beside it. Blanks are asked where they all have one outcome.

    `names`: columns that may be leaks; `correct` (n,): of the rows that teach; `seed`: of the folds, and of the rows
    that are looked at where there are more than 10,000; `units`: returns numbers of units, int (n,) each, -1 for a row
    by itself: what blanks may be counted by. Of a confidence that ranks outcomes at 0.95 or more, a column that ranks
    as well is none.

    Examples
    --------
    >>> y = np.arange(200) % 2
    >>> table = pl.DataFrame({"minutes late": 20.0 * y + np.arange(200) % 7, "hour": np.arange(200) % 24})
    >>> leaks(table, table.columns, y, np.full(200, 0.5), 0)
    {'minutes late': Leak(by='ranking', value=1.0)}
    """
    if not names or _few(correct):
        return {}
    found = _blank_leaks(frame, names, correct, confidence, units)
    some = _looked_at(frame, names, correct, confidence, seed)
    if _few(correct[some]):
        return found
    asked = _Asked(correct[some], confidence[some])
    for name, values in _values(frame, names, some).items():
        rates = asked.rates_of_levels(values) if values.ndim == 1 else asked.by_tree(values)
        if (leak := asked.leak(rates)) is not None:
            found[name] = leak
    return {name: found[name] for name in names if name in found}


def leaks_together(
    frame: pl.DataFrame, names: Sequence[str], correct: np.ndarray, confidence: np.ndarray, seed: int
) -> dict[str, Leak]:
    """Find columns, none of them a leak alone, that together tell outcomes as only what is known after them does.

    Pairs are asked by the values of both, where these are few, and by their difference, where they are alike; all
    together by boosted trees. What is found is left out, and the others are asked again.

    `seed`: as of :func:`leaks`. Returns those without which the others would not tell too much; none of more than 200
    columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> due, late = rng.integers(300, 1400, 500), rng.normal(0, 20, 500)
    >>> table = pl.DataFrame({"due": due, "came": due + late, "stops": due % 3})
    >>> sorted(leaks_together(table, table.columns, late > 15, np.full(500, 0.2), 0))
    ['came', 'due']
    """
    some = _looked_at(frame, names, correct, confidence, seed)
    if not 1 < len(names) <= MOST_TOGETHER or _few(correct[some]):
        return {}
    asked, found = _Asked(correct[some], confidence[some]), {}
    rest = _values(frame, names, some)
    while len(rest) > 1 and (leaking := asked.pair(rest) or asked.ask_together(rest)):
        found |= leaking
        rest = {name: values for name, values in rest.items() if name not in leaking}
    return {name: found[name] for name in names if name in found}


def _few(correct: np.ndarray) -> bool:
    return min(correct.sum(), len(correct) - correct.sum()) < LEAST_EACH


def _values(frame: pl.DataFrame, names: Sequence[str], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Columns as codes of categories, (n,), or as numbers, (n, width)."""
    found = {}
    for name in names:
        series = column_of(frame, name)[rows]
        kind = kind_of(series)
        if kind is None or kind.type == "list":
            continue
        column = kind.fit(series, name)
        # trees of scikit-learn compare in single precision, beyond whose range nothing is told apart
        numbers = np.clip(column.numbers(series), -LARGEST_SINGLE, LARGEST_SINGLE)
        found[name] = column.codes(series)[:, 0] if isinstance(column, CategoryColumn) else numbers
    return found


def _blank_leaks(
    frame: pl.DataFrame,
    names: Sequence[str],
    correct: np.ndarray,
    confidence: np.ndarray,
    units: Callable[[], Iterable[np.ndarray]],
) -> dict[str, Leak]:
    """Find columns whose blanks have one outcome, which the confidences, raw and recalibrated, make too unlikely."""
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


def _looked_at(
    frame: pl.DataFrame, names: Sequence[str], correct: np.ndarray, confidence: np.ndarray, seed: int
) -> np.ndarray:
    """Choose the rows that are looked at, whatever order they came in."""
    columns = (column_of(frame, name).to_numpy() for name in names)
    order = content_order(confidence[:, None], correct, *columns)
    return order[np.random.default_rng((seed, MOST_ROWS)).permutation(len(order))[:MOST_ROWS]]


class _Asked:
    """Rows that columns are asked about, and what is known of them without a column."""

    def __init__(self, y: np.ndarray, confidence: np.ndarray) -> None:
        from sklearn.metrics import roc_auc_score
        from sklearn.model_selection import StratifiedKFold

        self.y, self.folds = y, list(StratifiedKFold(FOLDS).split(y, y))
        self.good = roc_auc_score(y, confidence) >= GOOD_CONFIDENCE
        # the confidence, and what a tree makes of it, since no curve is presumed
        self.known = np.stack([_logit(confidence), _logit(self._out_of_fold(_tree(), confidence[:, None]))], 1)
        self.entropy = self._loss(self.known)

    def leak(self, rates: np.ndarray | None, by: str | None = None) -> Leak | None:
        """Judge the rates that something tells, (n,), or None."""
        from sklearn.metrics import roc_auc_score

        if rates is None:
            return None
        area = float(roc_auc_score(self.y, rates))
        if area >= LEAST_AUC and not self.good:
            return Leak(by or "ranking", area)  # type: ignore[arg-type]
        share = self._share(rates)
        return Leak(by or "entropy", area if by else share) if share >= LEAST_SHARE else None  # type: ignore[arg-type]

    def rates_of_levels(self, codes: np.ndarray) -> np.ndarray:
        """Tell rates by level, each from other folds."""
        rates = np.empty(len(self.y))
        for learned, asked in self.folds:
            size, base = codes.max() + 1, self.y[learned].mean()
            count, right = (np.bincount(codes[learned], values, size) for values in (None, self.y[learned]))
            # one row at the average rate, so that a level of few rows says little
            rates[asked] = ((right + base) / (count + 1))[codes[asked]]
        return rates

    def by_tree(self, numbers: np.ndarray) -> np.ndarray | None:
        """Tell rates by a tree; None where even of the rows learned from it tells too little."""
        # one fit instead of five for nearly every column, and without checks that take longer than a tree of few rows
        single = np.ascontiguousarray(numbers, dtype=np.float32)
        seen = _tree_of_rates().fit(single, self.y, check_input=False).predict(single, check_input=False)
        return None if self._share(seen) < HOPELESS * LEAST_SHARE else self._out_of_fold(_tree(), numbers)

    def pair(self, columns: dict[str, np.ndarray]) -> dict[str, Leak]:
        """Name the first two columns whose cells, or whose difference, tell too much."""
        cells = {name: cells for name, values in columns.items() if (cells := _few_values(values)) is not None}
        numbers = {name: values[:, 0] for name, values in columns.items() if name not in cells and values.ndim > 1}
        for one, other in combinations(cells, 2) if len(cells) <= MOST_PAIRED else ():
            both = cells[one] * FEW_VALUES + cells[other]
            if self._information(both) >= HOPELESS * LEAST_SHARE * self.entropy and (
                leak := self.leak(self.rates_of_levels(both), "together")
            ):
                return {one: leak, other: leak}
        for one, other in combinations(numbers, 2) if len(numbers) <= MOST_PAIRED else ():
            if np.corrcoef(numbers[one], numbers[other])[0, 1] > ALIKE:
                apart = (numbers[one] - numbers[other])[:, None]
                if (leak := self.leak(self.by_tree(apart), "together")) is not None:
                    return {one: leak, other: leak}
        return {}

    def _information(self, codes: np.ndarray) -> float:
        """Information on the outcome in levels, of the rows that they are learned from."""
        from scipy.special import xlogy

        count, right = (np.bincount(codes, values) for values in (None, self.y))
        rate, mean = right / np.maximum(count, 1), self.y.mean()
        told = (xlogy(right, rate) + xlogy(count - right, 1 - rate)).sum() / len(self.y)
        return float(told - xlogy(mean, mean) - xlogy(1 - mean, 1 - mean))

    def ask_together(self, columns: dict[str, np.ndarray]) -> dict[str, Leak]:
        """Name the columns that together tell too much, each of which is needed for that."""
        if self._of_trees(columns) is None:
            return {}
        used = self._trees().fit(np.column_stack([*columns.values()]), self.y).feature_importances_
        ends = np.cumsum([1 if values.ndim == 1 else values.shape[1] for values in columns.values()])
        use = [float(part.sum()) for part in np.split(used, ends[:-1])]
        order = [name for _, name in sorted(zip(use, columns, strict=True), key=lambda one: -one[0])]
        # as many of those that are used most as it takes, and of these without any that it does not take
        few = next(few for count in range(1, len(order) + 1) if self._of_trees(few := _some(columns, order[:count])))
        for name in reversed([*few]):
            if len(few) > 1 and self._of_trees(fewer := _some(few, [one for one in few if one != name])):
                few = fewer
        return dict.fromkeys(few, self._of_trees(few))

    def _of_trees(self, columns: dict[str, np.ndarray]) -> Leak | None:
        return self.leak(self._by_trees(columns), "together")

    def _by_trees(self, columns: dict[str, np.ndarray]) -> np.ndarray | None:
        values = np.column_stack([*columns.values()])
        (learned, asked), *_ = self.folds
        rates = self._trees().fit(values[learned], self.y[learned]).predict_proba(values[asked])[:, 1]
        if self._share(rates, asked) < HOPELESS * LEAST_SHARE:
            return None
        return self._out_of_fold(self._trees(), values)

    def _trees(self):
        from lightgbm import LGBMClassifier

        least = max(5, min(20, len(self.y) // 100))
        return LGBMClassifier(
            n_estimators=60, num_leaves=15, learning_rate=0.15, min_child_samples=least, importance_type="gain",
            random_state=0, n_jobs=1, verbose=-1,
        )  # fmt: skip

    def _out_of_fold(self, model, values: np.ndarray) -> np.ndarray:
        from sklearn.model_selection import cross_val_predict

        return cross_val_predict(model, values, self.y, cv=self.folds, method="predict_proba")[:, 1]

    def _share(self, rates: np.ndarray, rows: np.ndarray | slice = slice(None)) -> float:
        """Share of the entropy given the confidence that rates take away."""
        known = self.known[rows]
        before = self.entropy if isinstance(rows, slice) else self._loss(known, rows)
        return 1 - self._loss(np.column_stack([known, _logit(rates)]), rows) / before

    def _loss(self, known: np.ndarray, rows: np.ndarray | slice = slice(None)) -> float:
        """Log loss of a logistic regression, which of so few numbers hardly learns its own rows by heart."""
        return _logistic_loss(known, self.y[rows])


def _logistic_loss(x: np.ndarray, y: np.ndarray) -> float:
    """Mean log loss, on the rows it is fitted to, of a logistic regression with half its squared slopes as penalty."""
    from scipy.special import expit

    x, penalty = np.column_stack([x, np.ones(len(x))]), np.r_[np.ones(x.shape[1]), 0.0]
    at, step, value, loss = np.zeros(len(penalty)), np.zeros(len(penalty)), np.inf, 0.0
    for _ in range(_MOST_STEPS):
        score = x @ (at + step)
        loss = float(np.logaddexp(0.0, score).sum() - y @ score)
        now = loss + float(penalty @ (at + step) ** 2) / 2
        if now > value + _SMALL_STEP * len(y):  # too far
            step = step / 2
            continue
        at, fallen, value = at + step, value - now, now
        if fallen < _SMALL_STEP * len(y):
            break
        rate = expit(score)
        curved = (x.T * (rate * (1 - rate))) @ x + np.diag(penalty)
        step = np.linalg.solve(curved, x.T @ (y - rate) - penalty * at)
    return loss / len(y)


def _some(columns: dict[str, np.ndarray], names: Iterable[str]) -> dict[str, np.ndarray]:
    return {name: columns[name] for name in names}


def _few_values(values: np.ndarray) -> np.ndarray | None:
    """Give numbers to the values of a column that has few, blanks apart from others; None where it has more."""
    distinct, codes = np.unique(values if values.ndim == 1 else values[:, [0, -1]], axis=0, return_inverse=True)
    return codes.ravel() if len(distinct) <= FEW_VALUES else None


_TREE = {"max_depth": 3, "min_samples_leaf": 5, "random_state": 0}


def _tree():
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(**_TREE)


def _tree_of_rates():
    """Return a tree that splits as :func:`_tree` does: of 0 and 1, the variance is half of Gini's impurity."""
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(**_TREE)


def equal_pairs(
    frame: pl.DataFrame, names: Sequence[str], correct: np.ndarray, confidence: np.ndarray, seed: int
) -> dict[tuple[str, str], float]:
    """Find two columns whose equality tells the outcome nearly perfectly: the answer given, and the key.

    `names`: columns that may be such a pair: texts, or whole numbers, of up to 200 levels; `correct` (n,): of the rows
    that teach; `seed`: of the rows that are looked at where there are more than 10,000. Returns area under the ROC
    curve of each pair, in the order of the names; none where the confidence itself has 0.95 or more.

    Examples
    --------
    >>> y = np.arange(200) % 3 == 0
    >>> table = pl.DataFrame({"said": ["A", "B"] * 100, "key": [("A", "B")[(i + (i % 3 > 0)) % 2] for i in range(200)]})
    >>> equal_pairs(table, ["said", "key"], y.astype(float), np.full(200, 0.5), 0)
    {('said', 'key'): 1.0}
    """
    from sklearn.metrics import roc_auc_score

    some = _looked_at(frame, names, correct, confidence, seed)
    right, found = correct[some] > 0, {}
    if min(right.sum(), (~right).sum()) < LEAST_EACH or roc_auc_score(right, confidence[some]) >= GOOD_CONFIDENCE:
        return {}
    for columns in (_texts(frame, names), _whole_numbers(frame, names)):
        every = list(columns)
        # the columns one below the other, of right answers and of wrong ones: a pair at a time takes minutes of 3,000
        told = [np.array([values[some][part] for values in columns.values()]) for part in (right, ~right)]
        for k, one in enumerate(every[:-1]):
            # of a yes or no, the mean of the shares that are counted among right and among wrong answers
            hits, false = ((codes[k + 1 :] == codes[k]).mean(axis=1) for codes in told)
            area = np.maximum(area := (hits + 1 - false) / 2, 1 - area)
            found |= {(one, every[k + 1 + j]): float(area[j]) for j in np.flatnonzero(area >= LEAST_EQUAL)}
    return found


def _texts(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns of texts with levels, as codes that are equal where the texts are, int (n,) each."""
    kinds = (pl.String, pl.Categorical, pl.Enum)
    texts = {name: column_of(frame, name).cast(pl.String) for name in names if column_of(frame, name).dtype in kinds}
    texts = {name: series for name, series in texts.items() if 1 < series.n_unique() <= MOST_LEVELS}
    known = sorted({text for series in texts.values() for text in series.drop_nulls().unique().to_list()})
    codes = dict(zip(known, range(len(known)), strict=True))
    return {
        name: series.replace_strict(codes, default=-1, return_dtype=pl.Int32).fill_null(-1).to_numpy()
        for name, series in texts.items()
    }


def _whole_numbers(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns of few whole numbers, int (n,) each; those with blanks are left out."""
    series = {name: column_of(frame, name) for name in names}
    whole = {name: one for name, one in series.items() if one.dtype.is_integer() and one.null_count() == 0}
    return {name: one.to_numpy() for name, one in whole.items() if 1 < one.n_unique() <= MOST_LEVELS}
