"""Check the arrays and options that users pass in, once, so that the code behind can trust them.

The functions accept lists, numpy arrays (masked, read-only, any byte order or strides), pandas and polars
series and frames (nullable too), pyarrow and torch tensors. Nothing is changed in place, nothing is broadcast,
nothing is guessed: a value either converts exactly or is refused with an :class:`~miscal.base.errors.InputError`
naming the argument, the rule, what was given (count and first five rows, counted from 0) and the remedy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.arrays import SHOWN, DtypeError, frame_columns, is_frame, numeric, row_blocks, row_list, value_list
from miscal.base.errors import InputError, argument
from miscal.base.frames import refuse_other_order
from miscal.base.precision import held, narrowed
from miscal.base.process import LARGEST_SEED

CLIP_TOLERANCE = 1e-6
"""A confidence this far outside [0, 1] is rounding, and is clipped; further out is an error."""

LARGEST_WEIGHT = 1e100
EXTREME_WEIGHTS = "must have a largest value from 1e-100 to 1e100, so that sums of weights can be computed"
"""What is said of weights beyond it."""

DROP = f"drop those rows with {argument('on_invalid', 'drop')}"
"""What can be done about rows that cannot be used, where they are read from a file."""

DATES = "write them as 2013-12-31"
"""What can be done about dates that are not read, because countries order them differently."""

_RECODE = "Recode it as 0 and 1, for instance in pandas: frame[column] = (frame[column] == 'yes').astype(int)"
_EXCHANGED = "If these are probabilities, confidence and outcome were exchanged: name each for the other. If not: "

_LARGEST = float(np.finfo(np.float32).max)


def _vector(values: Any, name: str, *, copy: bool = True) -> np.ndarray:
    """Return a float64 vector of at least one entry, a new one unless told that none is needed."""
    if is_frame(values):
        raise InputError(f"{name} must be one column; got a table. Select the column, e.g. frame[{name!r}]")
    array = numeric(values, name)
    if array.ndim != 1:
        raise InputError(one_dimensional(name, array.shape))
    if array.size == 0:
        raise InputError(f"{name} is empty; at least one row is needed")
    return array.astype(np.float64, copy=copy)


def one_dimensional(name: str, shape: tuple[int, ...]) -> str:
    """Say that values must be one column, and which one is meant of the two that classifiers return.

    Examples
    --------
    >>> one_dimensional("y_prob", (9, 2))
    'y_prob must be one-dimensional, of shape (n,); its shape is (9, 2): of what predict_proba returns for two classes give the second column, y_prob[:, 1]'
    """  # noqa: E501
    two = len(shape) == 2 and shape[1] == 2
    remedy = f": of what predict_proba returns for two classes give the second column, {name}[:, 1]" if two else ""
    return f"{name} must be one-dimensional, of shape (n,); its shape is {shape}{remedy}"


def refuse_rows(name: str, bad: np.ndarray, what: str, rows: np.ndarray | None, remedy: str) -> None:
    """Refuse rows of which one value is `what` it may not be: how many, which are the first, and what to do.

    >>> refuse_rows("age", np.array([False, True]), "missing", None, "fill them in")
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: age: 1 of 2 values are missing (row 1, counted from 0); fill them in
    """
    if bad.any():
        raise InputError(f"{rows_at_fault(name, bad, what, rows)}; {remedy}")


def rows_at_fault(name: str, bad: np.ndarray, what: str, rows: np.ndarray | None) -> str:
    """Say of how many rows a value is `what` it may not be, and which are the first.

    >>> rows_at_fault("age", np.array([False, True]), "missing", None)
    'age: 1 of 2 values are missing (row 1, counted from 0)'
    """
    return f"{name}: {int(bad.sum())} of {len(bad)} values are {what} ({row_list(bad, rows)})"


def _refuse_non_finite(values: np.ndarray, name: str, rows: np.ndarray | None) -> None:
    refuse_rows(name, ~np.isfinite(values), "missing, NaN or infinite", rows, f"give finite numbers, or {DROP}")


def other_unit(values: np.ndarray) -> str | None:
    """Say what turns numbers in another unit into probabilities; None where they do not look like any.

    >>> other_unit(np.array([80.0, 95.0]))
    'these look like percentages: divide by 100'
    >>> other_unit(np.array([0.2, 1.2, 0.3])) is None
    True
    """
    # at least 90 % in [1, 100]
    if values.max() > 1 + CLIP_TOLERANCE and ((values >= 1) & (values <= 100)).mean() >= 0.9:
        return "these look like percentages: divide by 100"
    if outside_unit(values).mean() > 0.5 and values.min() < -CLIP_TOLERANCE:
        return "these look like log-odds: turn them into probabilities, 1 / (1 + exp(-x))"
    return None


def outside_unit(values: np.ndarray) -> np.ndarray:
    """Rows further outside [0, 1] than rounding explains (:data:`CLIP_TOLERANCE`); bool array of shape (n,)."""
    return (values < -CLIP_TOLERANCE) | (values > 1 + CLIP_TOLERANCE)


def refuse_outside(
    values: np.ndarray,
    name: str,
    rows: np.ndarray | None,
    *,
    some: bool = False,
    remedy: str = f"correct them, or {DROP}",
) -> np.ndarray:
    """Refuse confidences outside [0, 1], or return which these are where some may be, bool (n,); NaN is none of them.

    A column in another unit, or of which more than half lie outside, is refused as a whole: row by row, those that
    happen to lie in [0, 1] would be taken for probabilities.

    >>> refuse_outside(np.array([0.2, 1.5, np.nan, 0.4]), "confidence", None, some=True).tolist()
    [False, True, False, False]
    """
    known = np.isfinite(values)
    outside = known & outside_unit(values)
    if not outside.any():
        return outside
    unit = other_unit(values[known])
    if some and unit is None and outside.sum() <= known.sum() / 2:
        return outside
    raise InputError(
        f"{name} must lie in [0, 1]; got {int(outside.sum())} of {len(values)} values outside it, from "
        f"{values[outside].min():.6g} to {values[outside].max():.6g} ({row_list(outside, rows)}); {unit or remedy}"
    )


def check_confidence(
    values: Any, *, name: str = "confidence", rows: np.ndarray | None = None, copy: bool = True
) -> np.ndarray:
    """Check confidences.

    Parameters
    ----------
    values : array-like of shape (n,)
        The model's confidences, in [0, 1]. Up to 1e-6 outside is taken for rounding and clipped.
    name : str, default "confidence"
        What messages call it.
    rows : int array of shape (n,), optional
        The row numbers that messages quote; positions from 0 by default.
    copy : bool, default True
        If False, the result may be `values` itself; never write to it then.

    Returns
    -------
    numpy.ndarray
        float64, shape (n,), in [0, 1].

    Raises
    ------
    InputError
        If not one-dimensional, empty, not numbers, not finite or outside [0, 1]; percentages are recognised in
        the message but never divided.

    Examples
    --------
    >>> check_confidence([0.5, 1.0000001])
    array([0.5, 1. ])
    >>> check_confidence([80, 95])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: confidence must lie in [0, 1]; got 2 of 2 values outside it, from 80 to 95 (rows 0, 1, counted from 0); these look like percentages: divide by 100
    """  # noqa: E501
    array = _vector(values, name, copy=copy)
    _refuse_non_finite(array, name, rows)
    refuse_outside(array, name, rows)
    # clipping copies: only where there is something to clip
    return array if array.min() >= 0 and array.max() <= 1 else np.clip(array, 0.0, 1.0)


def check_correct(
    values: Any, *, name: str = "correct", rows: np.ndarray | None = None, copy: bool = True
) -> np.ndarray:
    """Check outcomes.

    Parameters
    ----------
    values : array-like of shape (n,)
        1 (True) where the model was right, 0 (False) where not. One class alone passes: whether that is enough
        is for the caller to say.
    name : str, default "correct"
        What messages call it.
    rows : int array of shape (n,), optional
        The row numbers that messages quote; positions from 0 by default.
    copy : bool, default True
        If False, the result may be `values` itself; never write to it then.

    Returns
    -------
    numpy.ndarray
        float64, shape (n,), each 0 or 1.

    Raises
    ------
    InputError
        If there is anything but 0/1 or True/False; the message lists the values found.

    Examples
    --------
    >>> check_correct([True, False, True])
    array([1., 0., 1.])
    >>> check_correct([0, 1, 2])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: correct must hold only 0/1 or True/False; it holds 0, 1, 2 (neither of these in 1 of 3 rows: row 2, counted from 0). ...
    """  # noqa: E501
    try:
        array = _vector(values, name, copy=copy)
    except DtypeError as error:
        raise InputError(
            f"{name} must hold only 0/1 or True/False; it holds {value_list(_entries(values))} "
            f"(dtype {error.dtype}). {_RECODE}"
        ) from None
    _refuse_non_finite(array, name, rows)
    bad = (array != 0) & (array != 1)
    if bad.any():
        raise InputError(
            f"{name} must hold only 0/1 or True/False; it holds {value_list(np.unique(array))} "
            f"(neither of these in {int(bad.sum())} of {len(array)} rows: {row_list(bad, rows)}). "
            f"{'' if outside_unit(array).any() else _EXCHANGED}{_RECODE}"
        )
    return array


def _entries(values: Any) -> list:
    for convert in ("to_list", "tolist", "to_pylist"):
        if hasattr(values, convert):
            return list(getattr(values, convert)())
    return list(values) if hasattr(values, "__iter__") else [values]


def check_features(X: Any, *, name: str = "X", rows: np.ndarray | None = None, narrow: bool = True) -> np.ndarray:
    """Check inputs or embeddings.

    Parameters
    ----------
    X : array-like or table of shape (n, d)
        Finite numbers within the range of float32, 3.4e38. float16, bfloat16 and small integers are computed in
        float32; an infinity left by a float16 overflow is refused like any other.
    name : str, default "X"
        What messages call it.
    rows : int array of shape (n,), optional
        The row numbers that messages quote; positions from 0 by default.
    narrow : bool, default True
        Whether numbers in double precision become float32 where that tells apart what they tell apart
        (:func:`miscal.base.precision.narrowed`). False keeps them: rows for a fitted field are centred by what it
        learned, whatever these few rows would need.

    Returns
    -------
    numpy.ndarray
        float32 or float64, shape (n, d), C-contiguous, finite. Shares memory with `X` if that already is so.

    >>> check_features([[1, 2], [3, 4]]).dtype
    dtype('float32')
    >>> check_features([[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: X: 1 of 1 rows hold a missing value, NaN or infinity ...
    """
    columns: list[str] | None = None
    if is_frame(X):
        given = frame_columns(X)
        values = [numeric(series, f"{name}, column {column!r}") for column, series in given.items()]
        X, columns = np.column_stack(values) if values else np.empty((len(X), 0)), list(given)
    array = numeric(X, name)
    _check_matrix_shape(array, name)
    _refuse_non_finite_rows(array, name, columns, rows)
    return narrowed(array) if narrow else held(array)


def _check_matrix_shape(array: np.ndarray, name: str) -> None:
    if array.ndim == 1:
        raise InputError(
            f"{name} must be two-dimensional, of shape (n, d); its shape is {array.shape}. "
            f"Reshape your data: {name}.reshape(-1, 1) if it is one feature, {name}.reshape(1, -1) if it is one row"
        )
    if array.ndim != 2:
        raise InputError(f"{name} must be two-dimensional, of shape (n, d); its shape is {array.shape}")
    for size, what in zip(array.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise InputError(f"{name} has 0 {what} (shape={array.shape}) while a minimum of 1 is required.")


def _refuse_non_finite_rows(array: np.ndarray, name: str, columns: list[str] | None, rows: np.ndarray | None) -> None:
    bad = non_finite_rows(array)
    if not bad.any():
        return
    first = np.flatnonzero(bad)[:SHOWN]
    hit = ~_in_range(array[first])
    where = np.flatnonzero(hit.any(axis=0))
    named = value_list([columns[j] for j in where]) if columns is not None else value_list(where.tolist())
    # finite as given, and infinite in float32 only
    overflow = np.isfinite(np.asarray(array[first], dtype=np.float64))[hit].all()
    what = "a value too large for float32" if overflow else "a missing value, NaN or infinity"
    raise InputError(
        f"{name}: {int(bad.sum())} of {len(array)} rows hold {what} ({row_list(bad, rows)}; "
        f"{'column' if len(where) == 1 else 'columns'} {named}); give finite numbers, or {DROP}"
    )


def non_finite_rows(X: np.ndarray) -> np.ndarray:
    """Rows of a matrix with a NaN, an infinity, or a number beyond the range of float32; bool array of shape (n,).

    >>> non_finite_rows(np.array([[1.0, 2.0], [np.nan, 0.0]]))
    array([False,  True])
    """
    bad = np.zeros(len(X), dtype=bool)
    for block in row_blocks(*X.shape):
        bad[block] = ~_in_range(X[block]).all(axis=1)
    return bad


def _in_range(X: np.ndarray) -> np.ndarray:
    # NaN compares as out of range too
    return np.abs(X) <= _LARGEST if X.dtype.kind == "f" and X.dtype.itemsize > 4 else np.isfinite(X)


def extreme_weights(weight: np.ndarray) -> bool:
    """Whether sums of squares of finite weights would leave the range of numbers, or all of them vanish.

    >>> extreme_weights(np.array([1.0, 1e308])), extreme_weights(np.array([0.0, 1e-320])), extreme_weights(np.ones(2))
    (True, True, False)
    """
    largest = float(np.max(weight, initial=0.0))
    return largest > LARGEST_WEIGHT or 0 < largest < 1 / LARGEST_WEIGHT


def check_lengths(**arrays: Any) -> int:
    """Check that all arrays have the same number of rows, and return it. None stands for an absent array.

    >>> check_lengths(X=[[1], [2]], confidence=[0.1, 0.2], weight=None)
    2
    >>> check_lengths(confidence=[0.1, 0.2], correct=[1])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: lengths differ: confidence has 2 rows, correct has 1; ...
    """
    lengths = {name: _n_rows(values, name) for name, values in arrays.items() if values is not None}
    if not lengths:
        raise InputError(f"{next(iter(arrays))} is missing (None); give one entry per row")
    (first, n), *rest = lengths.items()
    for name, length in rest:
        if length != n:
            raise InputError(
                f"lengths differ: {first} has {n} rows, {name} has {length}; give one entry per row in each"
            )
    refuse_other_order(arrays)
    return n


def _n_rows(values: Any, name: str) -> int:
    # some carriers tell their shape only as an array
    values = np.asarray(values) if hasattr(values, "__array__") and not hasattr(values, "__len__") else values
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) == 0:
        raise InputError(f"{name} must have one entry per row; got a single value")
    try:
        return int(shape[0]) if shape is not None else len(values)
    except TypeError:
        raise InputError(f"{name} must have one entry per row; got a value of type {type(values).__name__}") from None


def check_seed(seed: Any, *, name: str = "seed") -> int:
    """Check a seed.

    Parameters
    ----------
    seed : int
        From 0 to 2^32 - 1, which all libraries take.
    name : str, default "seed"
        What messages call it.

    >>> check_seed(3)
    3
    >>> check_seed(-1)
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: seed must be a whole number from 0 to 4294967295 (2^32 - 1); got -1. Without one ...
    """
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if whole and 0 <= seed <= LARGEST_SEED:
        return int(seed)
    # Python does not write numbers of over 4,300 digits
    shown = "a larger one" if whole and seed > 10**12 else value_list([seed])
    raise InputError(
        f"{name} must be a whole number from 0 to {LARGEST_SEED} (2^32 - 1); got {shown}. Without one an answer could "
        "not be repeated"
    )


def drawn_seed(state: int | np.random.Generator) -> int:
    """Draw a seed from a generator once: processes would each go on from their own copy of it.

    Parameters
    ----------
    state : int or numpy.random.Generator
        A seed, or what to draw one from.

    >>> drawn_seed(3), drawn_seed(np.random.default_rng(0)) == drawn_seed(np.random.default_rng(0))
    (3, True)
    """
    return int(state.integers(2**31)) if isinstance(state, np.random.Generator) else int(state)


def check_weight(values: Any, n: int, *, name: str = "sample_weight") -> np.ndarray:
    """Check row weights.

    Parameters
    ----------
    values : array-like of shape (n,) or None
        Non-negative and finite, not all 0. None means 1 for every row.
    n : int
        The number of rows they must match.
    name : str, default "sample_weight"
        What messages call it.

    Returns
    -------
    numpy.ndarray
        float64, shape (n,), as given (not normalised).

    >>> check_weight(None, 2), check_weight([0, 3], 2)
    (array([1., 1.]), array([0., 3.]))
    """
    if values is None:
        return np.ones(n)
    array = _vector(values, name)
    if len(array) != n:
        raise InputError(f"lengths differ: {name} has {len(array)} rows, the data have {n}; give one weight per row")
    _refuse_non_finite(array, name, None)
    if extreme_weights(array):
        raise InputError(f"{name} {EXTREME_WEIGHTS}; got a largest one of {array.max():.3g}: divide all by their mean")
    if (array < 0).any():
        bad = array < 0
        raise InputError(f"{name} must not be negative; got {int(bad.sum())} negative values of {n} ({row_list(bad)})")
    if not array.any():
        raise InputError(f"{name} is zero in all {n} rows; at least one must be positive")
    return array
