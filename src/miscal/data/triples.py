"""Triples (x, f, y): the data of every part of miscal, and how they are split."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from miscal.base.arrays import row_list, value_list
from miscal.base.checks import check_confidence, check_correct, check_features, check_lengths, check_weight
from miscal.base.errors import InputError

SPLITS = ("train", "val", "test")
SHARES = {"train": 0.8, "val": 0.1, "test": 0.1}
SYNONYMS = {"validation": "val", "valid": "val", "dev": "val"}

MIN_ROWS = 100
"""The fewest rows a field can be fitted, chosen and tested on."""

MIN_SPLIT = {"train": 50, "val": 5, "test": 5}
"""The fewest rows of each split."""

LARGE_DUPLICATE = 0.01
"""An input repeated in more than this share of the rows does not keep its rows on one side ..."""

FEW_REPEATS = 20
"""... unless it is so few: where rows are few, several answers to each question must not straddle."""


@dataclass(frozen=True, eq=False)
class Triples:
    """Inputs, confidences and outcomes, row by row. All arrays are checked; none is to be written to.

    Parameters
    ----------
    X : float32 array of shape (n, d)
        Inputs or embeddings, finite.
    confidence : float64 array of shape (n,)
        The model's confidence, in [0, 1].
    correct : float64 array of shape (n,)
        The outcome, 0 or 1.
    weight : float64 array of shape (n,), optional
        Numbers of rows, non-negative, for the fit (:meth:`miscal.MiscalibrationField.fit`). What is measured on test
        rows counts every one of them once.
    group : array of shape (n,), optional
        Rows with the same value must stay on one side of every split.
    split : str array of shape (n,), optional
        'train', 'val' or 'test'.
    text : tuple of n str, optional
        What to show of each row.
    metadata : dict of arrays of shape (n,)
        Columns that the field does not see and the report explains it by.
    row : int64 array of shape (n,), optional
        Row numbers in the source, from 0; by default 0 .. n - 1.
    notes : tuple of str
        What the reader of the results must be told: columns guessed, rows dropped, duplicates.
    source : dict
        Where the rows came from: path, sha256, column mapping, how x was made. JSON values only.
    encoder : object, optional
        The fitted step from text or columns to `X` (see :mod:`miscal.data.encoders`), to be kept with a model.

    See Also
    --------
    Triples.of : checks and converts arrays of any make.

    Examples
    --------
    >>> t = Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0])
    >>> len(t), t.residual.tolist()
    (2, [0.5, -0.9])
    >>> t.take([1]).row.tolist()
    [1]
    """

    X: np.ndarray
    confidence: np.ndarray
    correct: np.ndarray
    weight: np.ndarray | None = None
    group: np.ndarray | None = None
    split: np.ndarray | None = None
    text: tuple[str, ...] | None = None
    metadata: dict[str, np.ndarray] = field(default_factory=dict)
    row: np.ndarray = None  # type: ignore[assignment]
    notes: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
    encoder: Any = None

    def __post_init__(self) -> None:
        if self.row is None:
            object.__setattr__(self, "row", np.arange(len(self.X), dtype=np.int64))
        columns = {name: getattr(self, name) for name in ("X", "confidence", "correct", *_OPTIONAL)}
        check_lengths(**columns, **{f"metadata {name!r}": values for name, values in self.metadata.items()})

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        confidence: Any,
        correct: Any,
        weight: Any = None,
        group: Any = None,
        split: Any = None,
        text: Iterable[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Triples:
        """Check arrays of any make (lists, numpy, pandas, polars, torch) and put them together.

        Parameters
        ----------
        X, confidence, correct, weight, group, split, text, metadata
            As for the class, in any form :mod:`miscal.base.checks` accepts.

        Returns
        -------
        Triples

        Raises
        ------
        InputError
            For anything that does not fit, naming the argument, count and rows.
        """
        check_lengths(X=X, confidence=confidence, correct=correct, weight=weight, group=group, split=split)
        X = check_features(X)
        return cls(
            X=X,
            confidence=check_confidence(confidence),
            correct=check_correct(correct),
            weight=None if weight is None else check_weight(weight, len(X)),
            group=None if group is None else check_group(group),
            split=None if split is None else check_split(split),
            text=None if text is None else tuple(text),
            metadata={name: np.asarray(values) for name, values in (metadata or {}).items()},
        )

    def __len__(self) -> int:
        return len(self.confidence)

    @property
    def residual(self) -> np.ndarray:
        """The residual r = y - f, float64 (n,), in [-1, 1]; positive means under-confident."""
        return self.correct - self.confidence

    def take(self, index: Any) -> Triples:
        """Return the rows `index` (numbers or a boolean mask), in that order; `row` keeps the source's numbers."""
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        return replace(
            self,
            X=self.X[index],
            confidence=self.confidence[index],
            correct=self.correct[index],
            text=None if self.text is None else tuple(self.text[i] for i in index),
            metadata={name: values[index] for name, values in self.metadata.items()},
            **{name: None if (v := getattr(self, name)) is None else v[index] for name in _ARRAYS},
        )


_ARRAYS = ("weight", "group", "split", "row")
_OPTIONAL = (*_ARRAYS, "text")


# --- checks that need all rows ------------------------------------------------------------------------------------


def check_group(values: Any, *, name: str = "group", rows: np.ndarray | None = None) -> np.ndarray:
    """Check a column of groups: any values, none missing.

    Examples
    --------
    >>> check_group(["a", "b", "a"]).tolist()
    ['a', 'b', 'a']
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, of shape (n,); its shape is {array.shape}")
    missing = np.array([value is None or value != value for value in array], dtype=bool)
    if missing.any():
        raise InputError(
            f"{name}: {int(missing.sum())} of {len(array)} values are missing ({row_list(missing, rows)}); "
            "give every row a group"
        )
    return array


def check_split(values: Any, *, name: str = "split", rows: np.ndarray | None = None) -> np.ndarray:
    """Check a column of split names.

    Parameters
    ----------
    values : array-like of shape (n,)
        'train', 'val' or 'test'; 'validation', 'valid' and 'dev' mean 'val'.
    name : str, default "split"
        What messages call it.
    rows : int array of shape (n,), optional
        The row numbers that messages quote.

    Returns
    -------
    numpy.ndarray
        str, shape (n,).

    Raises
    ------
    InputError
        For any other value, listing what came.

    Examples
    --------
    >>> check_split(["train", "dev", "test"]).tolist()
    ['train', 'val', 'test']
    >>> check_split(["train", "holdout"])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: split must hold only train, val (validation, valid, dev) or test; it holds 'train', 'holdout' ...
    """  # noqa: E501
    entries = list(np.asarray(values, dtype=object))
    names = [SYNONYMS.get(v, v) if isinstance(v, str) else v for v in entries]
    bad = np.array([v not in SPLITS for v in names], dtype=bool)
    if bad.any():
        raise InputError(
            f"{name} must hold only train, val (validation, valid, dev) or test; it holds {value_list(entries)} "
            f"({int(bad.sum())} of {len(entries)} values are neither; {row_list(bad, rows)})"
        )
    return np.array(names, dtype="<U5")


def check_trainable(correct: np.ndarray, split: np.ndarray) -> None:
    """Refuse what no field can be fitted on.

    Parameters
    ----------
    correct : float array of shape (n,)
        Outcomes, 0 or 1.
    split : str array of shape (n,)
        'train', 'val' or 'test'.

    Raises
    ------
    InputError
        If there are fewer than 100 rows, fewer than 50 / 5 / 5 to train, choose and test on, or the training rows
        have one outcome only.

    Examples
    --------
    >>> check_trainable(np.array([0.0, 1.0]), np.array(["train", "test"]))
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: too few rows: 2; at least 100 are needed (50 to train, 5 to choose, 5 to test), ...
    """
    needed = "(" + ", ".join(f"{MIN_SPLIT[s]} to {w}" for s, w in zip(SPLITS, _PURPOSE, strict=True)) + ")"
    if len(correct) < MIN_ROWS:
        raise InputError(
            f"too few rows: {len(correct)}; at least {MIN_ROWS} are needed {needed}, "
            "and some thousands for a field of any detail"
        )
    counts = {name: int((split == name).sum()) for name in SPLITS}
    if any(counts[name] < MIN_SPLIT[name] for name in SPLITS):
        raise InputError(
            f"too few rows in a split: {', '.join(f'{counts[s]} {s}' for s in SPLITS)}; at least {needed} are needed"
        )
    for name, part in (("", correct), ("of split 'train' ", correct[split == "train"])):
        if part.min() == part.max():
            raise InputError(
                f"correct has one class only: all {len(part)} rows {name}are {int(part[0])}; both 0 and 1 are needed"
            )


_PURPOSE = ("train", "choose", "test")


# --- splitting ----------------------------------------------------------------------------------------------------


def input_ids(inputs: np.ndarray | Iterable[str]) -> np.ndarray:
    """Give equal inputs equal numbers, in order of appearance.

    Parameters
    ----------
    inputs : float array of shape (n, d), or n str
        Equal means equal bytes; -0.0 counts as 0.0.

    Returns
    -------
    numpy.ndarray
        int64, shape (n,), from 0.

    Examples
    --------
    >>> input_ids(np.array([[1.0], [2.0], [1.0]])).tolist(), input_ids(["a", "b", "a"]).tolist()
    ([0, 1, 0], [0, 1, 0])
    """
    if isinstance(inputs, np.ndarray):
        keys = (hashlib.blake2b((row + 0.0).tobytes(), digest_size=16).digest() for row in inputs)
    else:
        keys = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in inputs)
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def split_rows(triples: Triples, *, seed: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Split rows 80/10/10 at random, equal inputs and groups on one side.

    Equal inputs are equal rows of `X`, or equal texts where `X` was made from text. An input that fills more than
    1 % of the rows, and more than 20, would distort the split: its rows are split at random, and a warning says so.
    Groups that the user named always stay together.

    Parameters
    ----------
    triples : Triples
    seed : int
        Fixes the split.

    Returns
    -------
    split : str array of shape (n,)
        'train', 'val' or 'test'.
    warnings : tuple of str

    Examples
    --------
    >>> t = Triples.of(np.arange(10.0)[:, None], confidence=[0.5] * 10, correct=[0, 1] * 5)
    >>> split, warnings = split_rows(t, seed=0)
    >>> sorted(split.tolist()).count("train"), warnings
    (8, ())
    """
    return split_by(_own_inputs(triples), triples.group, seed=seed)


def split_by(inputs: np.ndarray | Iterable[str], group: np.ndarray | None, *, seed: int) -> tuple[np.ndarray, tuple]:
    """Split rows as :func:`split_rows` does, from the inputs (matrix or texts) and groups themselves."""
    ids = input_ids(inputs)
    units, warnings = _units(ids, group)
    return _fill(units, np.random.default_rng(seed)), warnings


def straddling(triples: Triples) -> tuple[str, ...]:
    """Warn of inputs that occur on more than one side of the split that the triples carry."""
    return straddling_inputs(_own_inputs(triples), triples.split)


def straddling_inputs(inputs: np.ndarray | Iterable[str], split: np.ndarray | None) -> tuple[str, ...]:
    """Warn, with a count, of inputs (matrix or texts) that occur on more than one side of `split`."""
    if split is None:
        return ()
    ids = input_ids(inputs)
    sides = np.zeros((ids.max() + 1, len(SPLITS)), dtype=bool)
    sides[ids, [SPLITS.index(name) for name in split]] = True
    both = sides.sum(axis=1) > 1
    if not both.any():
        return ()
    return (
        f"{int(both.sum())} inputs ({int(both[ids].sum())} rows) occur in more than one split; the split column is "
        "used as it is, so test values may flatter",
    )


def _own_inputs(triples: Triples) -> np.ndarray | tuple[str, ...]:
    made_from_text = str(triples.source.get("x", {}).get("kind", "")).startswith("text")
    return triples.text if made_from_text and triples.text is not None else triples.X


def _units(ids: np.ndarray, group: np.ndarray | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Give rows that must stay together the same number, and say which could not."""
    n = len(ids)
    size = np.bincount(ids)[ids]
    warnings = []
    large = size > max(LARGE_DUPLICATE * n, FEW_REPEATS)
    repeated = (size > 1) & ~large
    if repeated.any():
        warnings.append(
            f"{int(repeated.sum())} rows share their input with another row; such rows are kept in one split"
        )
    if large.any():
        warnings.append(
            f"{len(np.unique(ids[large]))} inputs are each repeated in more than 1 % of the rows "
            f"({int(large.sum())} rows in all); such rows are split "
            + ("at random: name a group column to keep rows together" if group is None else "by their group alone")
        )
        ids = np.where(large, ids.max() + 1 + np.arange(n), ids)
    _, ids = np.unique(ids, return_inverse=True)
    if group is None:
        return ids, tuple(warnings)
    return _joined(ids, group, warnings)


def _joined(ids: np.ndarray, group: np.ndarray, warnings: list[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Rows hang together that share an input or a group, or do so by way of other rows."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, codes = np.unique(group, return_inverse=True)
    n_ids, n = ids.max() + 1, len(ids)
    nodes = n_ids + codes.max() + 1
    _, component = connected_components(coo_array((np.ones(n), (ids, n_ids + codes)), shape=(nodes, nodes)), False)
    _, units = np.unique(component[ids], return_inverse=True)
    largest = np.bincount(units).max()
    if largest > SHARES["test"] * n:
        warnings.append(f"the largest group holds {largest} of {n} rows; the splits cannot be 80/10/10")
    return units, tuple(warnings)


def _fill(units: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Deal the units out in random order, each to the split that is shortest of its share.

    With single rows this is a uniformly random split of exact sizes; with large units every split gets some as long
    as there are three.
    """
    size = np.bincount(units).tolist()
    targets = [SHARES[name] for name in SPLITS]
    filled = [0.0] * len(SPLITS)  # rows over share: equal for all when the shares are exact
    chosen = np.empty(len(size), dtype=np.int64)
    for unit in rng.permutation(len(size)).tolist():
        side = 2 if filled[2] <= filled[1] else 1
        side = 0 if filled[0] < filled[side] else side
        filled[side] += size[unit] / targets[side]
        chosen[unit] = side
    return np.array(SPLITS)[chosen[units]]
