"""Check the outcomes, confidences and weights that every metric takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from miscal.base.arrays import numeric, value_list
from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign

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
