"""Evaluation rows, with what was estimated of each of them from other rows.

This is what every test, interval and number of a run is computed from. It is built once, from checked arrays (of
metrics here, :func:`check_rows`), and handed on whole, so that groups, weights and the dependence between outcomes
always come along.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from miscal.base.arrays import numeric, value_list
from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.errors import InputError
from miscal.calibration.survey_design import SurveyDesign, kish, shares, units_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Checked rows, their outcomes, and honest estimates of each; float64 arrays of shape (n,) unless said otherwise.

    Attributes
    ----------
    correct : 0 or 1
        Outcomes. Nothing that is asked of the rows was learned from the outcomes that answer it.
    confidence : in [0, 1]
    expected : in [0, 1]
        E[y | f], an estimate from other rows.
    delta : in [-1, 1], or None
        Estimated field, positive where under-confident, fixed before the row's outcome was looked at.
    hidden : in [-1, 1], or None
        Its hidden part; same sign convention.
    row : int64, or None
        Row numbers in the source.
    block : int64, or None
        Rows with a smaller number were tested before, and the field of a block was learned from earlier blocks only
        (and from rows that are not here): see :mod:`miscal.evidence.blocks`. None: one block.
    part : int64, or None
        The ledger compares rows with rows of the same part alone: several models may say 0.8 and mean different things.
        None: one part.
    stratum : int64, or None
        Strata of near-equal confidence, 0, 1, ... by rising confidence, cut before; `expected` has one value in each.
        None: the ledger cuts its own.
    count : above 0, or None
        How many rows each is the sum of: rows of one outcome, stratum and membership are a cell. Its weight is that of
        all, and its confidence their mean. None: each is one row.
    squares : or None
        Of a cell, the sum of the squared weights of its rows.
    design : SurveyDesign, or None
        Which rows hang together, and how much each counts. None: all rows are independent and count alike.

    Examples
    --------
    >>> half = np.full(4, 0.5)
    >>> pairs = LabelledRows.of(np.array([1.0, 1, 0, 0]), half, half, group=np.array([0, 0, 1, 1]))
    >>> pairs.design.correlation, pairs.take(np.array([0, 1])).group.tolist(), pairs.weight
    (1.0, [0, 0], None)
    """

    correct: Floats
    confidence: Floats
    expected: Floats
    delta: Floats | None = None
    hidden: Floats | None = None
    row: Ints | None = None
    block: Ints | None = None
    part: Ints | None = None
    stratum: Ints | None = None
    count: Floats | None = None
    squares: Floats | None = None
    design: SurveyDesign | None = None

    @classmethod
    def of(
        cls,
        correct: Floats,
        confidence: Floats,
        expected: Floats | None = None,
        *,
        group: NDArray | None = None,
        weight: NDArray | None = None,
        factor: float = 1.0,
        **estimates: NDArray | None,
    ) -> Self:
        """Build rows, and estimate from them how strongly the outcomes of a group hang together.

        Takes expected (n,): as for the class; group (n,): equal values: one group; weight (n,): for how many rows
        each stands, up to a common factor.
        """
        expected = confidence if expected is None else expected
        design = SurveyDesign.of(group, correct - expected, expected * (1 - expected), weight, factor)
        return cls(correct, confidence, expected, **estimates, design=design)

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def residual(self) -> Floats:
        """Outcome less its rate E[y | f]."""
        return self.correct - self.expected

    @property
    def variance(self) -> Floats:
        """Variance of each outcome, given its rate."""
        return self.expected * (1 - self.expected)

    @property
    def group(self) -> Ints | None:
        """Number of each row's group; None where all rows are independent."""
        return None if self.design is None else self.design.group

    @property
    def weight(self) -> Floats | None:
        """How much each row counts, up to a common factor; None where all count alike."""
        return None if self.design is None else self.design.weight

    @property
    def n_units(self) -> int:
        """Number of groups; of rows where all are independent."""
        return len(self) if self.group is None else len(np.unique(self.group))

    @property
    def factor(self) -> float:
        """Of every standard error, beside what groups and weights make of it."""
        return 1.0 if self.design is None else self.design.factor

    @property
    def shares(self) -> Floats:
        """How much each row counts; they sum to 1."""
        return shares(self.weight, len(self))

    @property
    def mass(self) -> Floats:
        """How much each row counts, 1 on average; a cell for all of its rows."""
        return np.ones(len(self)) if self.weight is None else self.shares * self.n

    @property
    def squared_mass(self) -> Floats:
        """Sum of the squared masses of the rows that each stands for."""
        return self.mass**2 if self.squares is None else self.squares * (self.n / self.weight.sum()) ** 2

    @property
    def counts(self) -> Floats:
        """How many rows each stands for."""
        return np.ones(len(self)) if self.count is None else self.count

    @property
    def n(self) -> int:
        """Number of rows; of cells, of the rows in them."""
        return len(self) if self.count is None else round(float(self.count.sum()))

    @property
    def level(self) -> Floats:
        """What orders rows by their confidence: where strata were cut before, these."""
        return self.confidence if self.stratum is None else self.stratum.astype(np.float64)

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one group and part share a confidence on average, rounded up: they are compared as one."""
        if self.group is None:
            return 1
        group = self.group if self.part is None else self.group * (int(self.part.max()) + 1) + self.part
        return int(np.ceil(len(self) / len(units_of(group, self.confidence)[0])))

    def take(self, index: NDArray) -> Self:
        """Return some rows, by number or by a boolean mask; how strongly groups hang together stays as it is."""
        known = {item.name: getattr(self, item.name) for item in fields(self)}
        design = None if self.design is None else self.design.take(index)
        parts = {name: None if values is None else values[index] for name, values in known.items() if name != "design"}
        return replace(self, **parts, design=design)

    def in_turn(self) -> list[Self]:
        """Return the rows of each block, the blocks in the order in which they are tested."""
        numbers = [] if self.block is None else np.unique(self.block)
        if len(numbers) < 2:
            return [self]
        return [replace(self.take(np.flatnonzero(self.block == number)), block=None) for number in numbers]


def effect_of_mean(rows: LabelledRows, inside: NDArray[np.bool_] | None = None) -> float:
    """Design effect of the (weighted) mean outcome of some rows, or of all; 1 where they are independent, or none.

    Returns float: The rows say as much of their mean as so many times fewer that are independent and count alike.

    Examples
    --------
    >>> y, half = np.tile([1.0, 1.0, 0.0, 0.0], 250), np.full(1000, 0.5)
    >>> pairs = LabelledRows(y, half, half, design=SurveyDesign(np.arange(1000) // 2, 0.0))
    >>> effect_of_mean(LabelledRows(y, half, half)), round(effect_of_mean(pairs), 1)
    (1.0, 2.0)
    """
    own = rows if inside is None else rows.take(inside)
    if own.design is None or not len(own):
        return 1.0
    weight = own.shares
    # what the rows have in common is the residual that is measured, no noise
    left = own.residual - weight @ own.residual
    cells = () if own.squares is None else (own.squares / own.weight.sum() ** 2, own.n)
    return kish(weight, own.variance, *cells) * own.design.design_effect(weight, left, own.variance)


_BLOCK = 1 << 20
"""Counts of rows that a block of draws holds, 8 MB each of a few arrays. Not tuned."""


def check_rows(
    correct: Any,
    confidence: Any,
    sample_weight: Any = None,
    groups: Any = None,
    *,
    names: tuple[str, str] = ("correct", "confidence"),
) -> LabelledRows:
    """Check outcomes, confidences, weights and groups, and drop the rows of weight 0.

    Nothing is copied without need, and nothing may be written to: fresh memory pages for copies would cost more than
    all arithmetic on them. Messages call outcomes and confidences by `names`.

    Examples
    --------
    >>> rows = check_rows([1, 0, 1], [0.5, 0.5, 0.9], [1, 0, 3])
    >>> rows.confidence.tolist(), rows.shares.tolist(), rows.group
    ([0.5, 0.9], [0.25, 0.75], None)
    """
    n = check_lengths(**{names[0]: correct, names[1]: confidence}, sample_weight=sample_weight, groups=groups)
    # sums over strided views differ in the last bit
    y = np.ascontiguousarray(check_correct(correct, name=names[0], copy=False))
    f = np.ascontiguousarray(check_confidence(confidence, name=names[1], copy=False))
    weight = None if sample_weight is None else check_weight(sample_weight, n)
    return labelled(y, f, check_groups(groups, n), weight)


def check_predictions(y_true: Any, y_prob: Any, sample_weight: Any = None, groups: Any = None) -> LabelledRows:
    """Check rows, as :func:`check_rows` does, by the names that scikit-learn's metrics give them.

    Examples
    --------
    >>> check_predictions([1, 0], [0.5, 1.5])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: y_prob must lie in [0, 1]; got 1 of 2 values outside it, ...
    """
    return check_rows(y_true, y_prob, sample_weight, groups, names=("y_true", "y_prob"))


def labelled(correct: np.ndarray, confidence: np.ndarray, group: Any, weight: np.ndarray | None) -> LabelledRows:
    """Put together checked arrays of shape (n,), of which no rate is known beside the confidence; drop weights of 0.

    Examples
    --------
    >>> labelled(np.ones(3), np.ones(3), ["a", "b", "a"], None).group
    array([0, 1, 0])
    """
    if weight is not None and not weight.all():
        keep = weight > 0
        return labelled(correct[keep], confidence[keep], take_rows(group, keep), weight[keep])
    number = None if group is None else np.unique(group, return_inverse=True)[1]
    design = None if number is None and weight is None else SurveyDesign(number, 0.0, weight)
    return LabelledRows(correct, confidence, confidence, design=design)


def check_groups(groups: Any, n: int) -> np.ndarray | None:
    """Check one group per row.

    Takes groups (n,): anything that can be sorted; n: rows. Returns numpy.ndarray or None: int64, shape (n,): numbers
    of the groups, from 0 without gaps.

    Examples
    --------
    >>> check_groups(["a", "b", "a"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return None
    array = np.asarray(groups)
    if array.shape != (n,):
        raise InputError(f"groups must have one value per row, {n} in all; its shape is {array.shape}")
    return np.unique(array, return_inverse=True)[1]


def check_slices(slices: Any, sample_weight: Any = None, *, name: str = "slices") -> np.ndarray:
    """Return the slice of each row that `check_rows` keeps of rows with these weights, object (m,).

    Examples
    --------
    >>> check_slices(["a", "b", None], [1, 0, 2])
    array(['a', None], dtype=object)
    """
    values = np.asarray(slices, dtype=object)
    if values.ndim != 1:
        raise InputError(f"{name} must have one value per row, of shape (n,); its shape is {values.shape}")
    return values if sample_weight is None else values[numeric(sample_weight, "sample_weight") > 0]


def take_rows(values: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the groups or weights of some rows, by number or by a boolean mask; None where none are named.

    Examples
    --------
    >>> take_rows(np.array([0, 0, 1]), np.array([True, False, True])), take_rows(None, np.array([True]))
    (array([0, 1]), None)
    """
    return None if values is None else values[rows]


def drawn_counts(n: int, group: np.ndarray | None, n_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw rows, or whole groups of them, with replacement, and count how often each row is drawn.

    Takes n: rows; group (n,): numbers of groups, from 0 without gaps; n_draws: B in all. Returns numpy.ndarray:
    float64, shape (b, n), blocks of draws.

    Examples
    --------
    >>> [counts] = drawn_counts(4, np.array([0, 0, 1, 1]), 3, np.random.default_rng(1))
    >>> counts.tolist()
    [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 2.0, 2.0], [2.0, 2.0, 0.0, 0.0]]
    """
    step, units = max(1, _BLOCK // n), n if group is None else int(group.max()) + 1
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        unit = rng.integers(0, units, (size, units)) + units * np.arange(size)[:, None]
        counts = np.bincount(unit.ravel(), minlength=size * units).reshape(size, units).astype(np.float64)
        yield counts if group is None else counts[:, group]


def weighted_residuals(rows: LabelledRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidences, and w_i r_i with weights that sum to 1.

    Examples
    --------
    >>> weighted_residuals(check_rows([1, 0], [0.5, 0.5]))
    (array([0.5, 0.5]), array([ 0.25, -0.25]))
    """
    residual = rows.correct - rows.confidence
    if rows.weight is None:
        residual /= len(rows)
    else:
        residual *= rows.shares
    return rows.confidence, residual


def class_column(estimator: Any, pos_label: Any = None) -> tuple[np.ndarray, int]:
    """Return the classes of a fitted classifier, and which of them is asked for.

    Parameters
    ----------
    estimator : object
        With `predict_proba` and `classes_`.
    pos_label : object, optional
        One of its classes; by default the second of two.

    >>> from sklearn.dummy import DummyClassifier
    >>> class_column(DummyClassifier().fit([[0], [1]], ["no", "yes"]))
    (array(['no', 'yes'], dtype='<U3'), 1)
    """
    if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_"):
        raise InputError(
            f"estimator must be a fitted classifier with predict_proba and classes_; got {type(estimator).__name__}"
        )
    classes = np.asarray(estimator.classes_)
    if pos_label is None:
        if len(classes) != 2:
            raise InputError(
                f"pos_label must name the class whose probability is meant, one of {value_list(classes.tolist())}"
            )
        return classes, 1
    found = np.flatnonzero(classes == pos_label)
    if not len(found):
        raise InputError(f"pos_label must be one of {value_list(classes.tolist())}; got {pos_label!r}")
    return classes, int(found[0])
