"""Triples (x, f, y): the checked data that every part of miscal works on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from miscal.base.arrays import counted, row_list, value_list
from miscal.base.checks import (
    DATES,
    check_confidence,
    check_correct,
    check_features,
    check_lengths,
    check_weight,
    refuse_rows,
)
from miscal.base.errors import InputError
from miscal.base.folds import content_order, row_groups, time_blocks
from miscal.base.vocabulary import ANSWER, Kind, check_kind
from miscal.data.judged import ClassProbabilities, JudgeReading

UnitSource = Literal["rows", "equal inputs", "near copies", "column", "named"]


@dataclass(frozen=True)
class FoundUnits:
    """What is counted once.

    Attributes
    ----------
    source : {"rows", "equal inputs", "near copies", "column", "named"}
        What makes a unit: a row; rows of equal inputs; rows that are nearly copies of each other, or equal; a column
        that the run chose, or one that the user named. What a column joins is joined with equal inputs and copies.
    column : str, optional
        The column, with a colon and the period where it holds dates.
    factor : float, default 1.0
        Of every standard error: where a coarser period than the one chosen widens intervals further.
    coarser : str, optional
        That period.
    others : tuple of (str, float)
        Columns that rows could also be counted by, and how many times as wide intervals would be.
    cells : bool, default False
        Whether rows of equal inputs are the cells of a coarse table: no copies, so that nothing keeps them together.

    Examples
    --------
    >>> FoundUnits().source
    'rows'
    """

    source: UnitSource = "rows"
    column: str | None = None
    factor: float = 1.0
    coarser: str | None = None
    others: tuple[tuple[str, float], ...] = ()
    cells: bool = False


SPLITS = ("train", "val", "test")
SPLIT_SYNONYMS = {"validation": "val", "valid": "val", "dev": "val"}


@dataclass(frozen=True)
class InputLayout:
    """What the columns of X are, from left to right: places, numbers beside them, and codes of levels.

    Attributes
    ----------
    places : int
        Columns in which inputs lie near or far from each other: an embedding, or the columns of a table as numbers.
    numbers : int
        Columns of a table as numbers, where places are an embedding; blanks are filled in.
    codes : int
        Columns that hold the level of a category, of a date's part or of a number: 0, 1, ... for the levels learned
        from, -1 for any other. Their order says nothing, so distances between them do not either.
    table : bool
        Whether places are columns of a table: then equal inputs are different cases that happen to agree.
    moments : tuple of int
        Those of the columns of places and numbers that say when a row was: they name what is found, and nothing is
        learned from them, because later rows have others.

    Examples
    --------
    >>> InputLayout(places=384, numbers=2, codes=3).width
    389
    """

    places: int
    numbers: int = 0
    codes: int = 0
    table: bool = False
    moments: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return self.places + self.numbers + self.codes


@dataclass(frozen=True, eq=False, repr=False)
class Triples:
    """Inputs, confidences and outcomes, row by row. All arrays are checked; none is to be written to.

    This is the type of checked rows: :meth:`Triples.of` checks arrays of any make, the readers check files, and
    whatever takes triples trusts them. The constructor, :meth:`take` and :func:`dataclasses.replace` check nothing:
    give them only what has been checked.

    Parameters
    ----------
    X : float32 or float64 array of shape (n, d)
        Inputs or embeddings, finite. In double precision where single precision would merge values that differ
        (:mod:`miscal.base.precision`), so that equal rows are equal as given; estimators centre before they narrow.
    confidence : float64 array of shape (n,)
        The model's confidence, in [0, 1].
    correct : float64 array of shape (n,)
        The outcome, 0 or 1.
    weight : float64 array of shape (n,), optional
        For how many rows each stands, non-negative: survey weights, say, or importance weights. They must not depend on
        the outcome, given input and confidence. To :meth:`miscal.MiscalibrationField.fit` a weight of 2 is a row
        repeated; a discovery makes weights 1 on average, because only their ratios say anything, and every number,
        test and interval of it counts rows by them.
    group : array of shape (n,), optional
        Rows with the same value must stay on one side of every split.
    split : str array of shape (n,), optional
        'train', 'val' or 'test'.
    text : tuple of n str, optional
        What to show of each row.
    metadata : dict of arrays of shape (n,)
        Columns that name what is found. The field sees `X` alone: of arrays, metadata are for names only, and what the
        field should see belongs into `X`; the readers put the columns of ``--metadata`` there, too.
    answers : dict of object arrays of shape (n,)
        What to show of each row beside its text: the model's answer and the right one, by what they are called; None
        where a row has none.
    row : int64 array of shape (n,), optional
        Row numbers in the source, from 0; by default 0 .. n - 1.
    notes : tuple of str
        What whoever reads the results must know: columns guessed, rows dropped, duplicates.
    source : dict
        The source of the rows: path, sha256, the columns used, and how x was made. JSON values only.
    encoder : object, optional
        The fitted step from text or columns to `X` (see :mod:`miscal.data.encoders`), to be kept with a model.
    time : array of shape (n,), optional
        When each row was predicted: datetime64[s], or float64 numbers that rise with time.
    layout : InputLayout, optional
        What the columns of `X` are; by default all of them are places.
    candidate_groups : dict of int64 arrays of shape (n,), or None
        Columns of the source, or periods of them, that rows may be counted by, keyed by
        :class:`~miscal.data.readers.roles.Grouping`; -1: no value. None: rows are counted one by one, unless they
        have groups.
    counted_by : FoundUnits
        What is counted once, and how it was found.
    kind : {"answer", "event", "judge"}, default "answer"
        What the confidence is the probability of: that the answer given is right, that an event happens, or that
        people approve of an answer. The outcome is 1 where it is, does, or they do. Nothing is computed by it;
        sentences and pages take their words from it.
    classes : ClassProbabilities, optional
        The probabilities of several classes, and each row's class. Confidence and outcome are then those of the top
        label: its probability, and whether it is right.
    judged : JudgeReading, optional
        How the scores of a judge became probabilities, and the rows that people have not judged.

    See Also
    --------
    Triples.of : checks and converts arrays of any make.

    Examples
    --------
    >>> t = Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0])
    >>> t
    Triples(2 rows, 1 column of X, mean confidence 0.7, mean outcome 0.5)
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
    answers: dict[str, np.ndarray] = field(default_factory=dict)
    row: np.ndarray = None  # type: ignore[assignment]
    notes: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
    encoder: Any = None
    layout: InputLayout = None  # type: ignore[assignment]
    candidate_groups: dict[Any, np.ndarray] | None = field(default_factory=dict)
    counted_by: FoundUnits = field(default_factory=FoundUnits)
    time: np.ndarray | None = None
    kind: Kind = ANSWER
    classes: ClassProbabilities | None = None
    judged: JudgeReading | None = None

    def __post_init__(self) -> None:
        # the class is frozen for everyone but its own making
        if self.row is None:
            object.__setattr__(self, "row", np.arange(len(self.X), dtype=np.int64))
        if self.layout is None:
            object.__setattr__(self, "layout", InputLayout(self.X.shape[1]))

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
        time: Any = None,
        kind: Kind = ANSWER,
    ) -> Triples:
        """Check arrays of any make (lists, numpy, pandas, polars, torch) and put them together.

        Parameters
        ----------
        X, confidence, correct, weight, group, split, text, metadata, time, kind
            As for the class, in any form :mod:`miscal.base.checks` accepts. Metadata name what is found, and nothing
            else sees them.

        Returns
        -------
        Triples

        Raises
        ------
        InputError
            For anything that does not fit, naming the argument, count and rows.
        """
        text = None if text is None else tuple(text)
        metadata = {name: np.asarray(values) for name, values in (metadata or {}).items()}
        columns = {"X": X, "confidence": confidence, "correct": correct, "weight": weight, "group": group}
        beside = {f"metadata {name!r}": values for name, values in metadata.items()}
        check_lengths(**columns, split=split, text=text, time=time, **beside)
        X = check_features(X)
        return cls(
            X=X,
            confidence=check_confidence(confidence),
            correct=check_correct(correct),
            weight=None if weight is None else check_weight(weight, len(X)),
            group=None if group is None else check_group(group),
            split=None if split is None else check_split(split),
            text=text,
            metadata=metadata,
            time=None if time is None else check_time(time),
            kind=check_kind(kind),
        )

    def __len__(self) -> int:
        return len(self.confidence)

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'row')}, {counted(self.X.shape[1], 'column')} of X"
        means = {"confidence": self.confidence, "outcome": self.correct}
        means_shown = [f"mean {name} {values.mean():.3g}" for name, values in means.items() if len(self)]
        beside = [name for name in ("weight", "group", "split", "text", "time") if getattr(self, name) is not None]
        columns = [counted(len(self.metadata), "column") + " of metadata"] if self.metadata else []
        return f"Triples({', '.join([size, *means_shown, *columns, *beside])})"

    @property
    def residual(self) -> np.ndarray:
        """The residual r = y - f, float64 (n,), in [-1, 1]; positive means under-confident."""
        return self.correct - self.confidence

    @property
    def places(self) -> np.ndarray:
        """The columns of `X` in which inputs lie near or far from each other, (n, p)."""
        return self.X if self.layout.places == self.X.shape[1] else self.X[:, : self.layout.places]

    @property
    def lasting_places(self) -> np.ndarray:
        """Those columns, (n, p), with 0 for when a row was: no later row lies there."""
        moments = [place for place in self.layout.moments if place < self.layout.places]
        return np.where(np.isin(np.arange(self.layout.places), moments), 0, self.places) if moments else self.places

    @cached_property
    def equal_inputs(self) -> np.ndarray:
        """Number of each row's input, the same for equal rows of `X`: int64 (n,), in order of appearance.

        Rows of a table are the same where their confidences are, too: those that come twice.
        """
        inputs = row_groups(self.X)
        return row_groups(np.column_stack([inputs, self.confidence])) if self.layout.table else inputs

    @cached_property
    def canonical_order(self) -> np.ndarray:
        """Order of the rows by all that they hold, int64 (n,), whatever order they came in."""
        several = self.classes
        # units that a run found are numbered by the order
        group = self.group if self.counted_by.source in ("rows", "named") else None
        # what a fit sees first; outcomes decide among equal inputs alone, and what no fit sees among equal rows
        columns = [self.confidence, group, self.correct, self.weight, self.split, self.time, self.text]
        columns += [self.judged and self.judged.labelling]
        for table in (self.metadata, self.answers, self.candidate_groups or {}):
            columns += table.values()
        columns += [] if several is None else [several.code, *several.probability.T]
        return content_order(self.X, *(column for column in columns if column is not None))

    @cached_property
    def time_block(self) -> np.ndarray:
        """Block of time that each row lies in, int64 (n,), from 0; equal times and named groups stay together."""
        return time_blocks(self.time, self.group if self.counted_by.source in ("rows", "named") else None)

    @property
    def units(self) -> np.ndarray:
        """Number of what each row must stay together with, int64 (n,): its group, by default the rows of its input."""
        if self.group is None and self.counted_by.cells:
            return np.arange(len(self))
        return self.equal_inputs if self.group is None else row_groups(self.X, self.group)

    def take(self, index: Any) -> Triples:
        """Return the rows `index` (numbers or a boolean mask), in that order; `row` keeps the source's numbers."""
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        there = {name: v for name in self.__dataclass_fields__ if (v := getattr(self, name)) is not None}
        return replace(
            self,
            **{name: there[name][index] for name in _ARRAYS if name in there},
            **{name: there[name].take(index) for name in ("classes", "judged") if name in there},
            **{name: {key: of[index] for key, of in there[name].items()} for name in _TABLES if name in there},
            text=None if self.text is None else tuple(self.text[i] for i in index),
        )


_ARRAYS = ("X", "confidence", "correct", "weight", "group", "split", "row", "time")
_TABLES = ("metadata", "answers", "candidate_groups")


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
    refuse_rows(name, missing, "missing", rows, "give every row a group")
    return array


def check_time(values: Any, *, name: str = "time", rows: np.ndarray | None = None) -> np.ndarray:
    """Check a column of times: dates, or numbers that rise with time, none missing.

    Returns datetime64[s] or float64, shape (n,).

    Examples
    --------
    >>> check_time([2015, 2016]).tolist()
    [2015.0, 2016.0]
    """
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iufM":
        got = f"got {value_list(array)}; if these are dates, {DATES}"
        raise InputError(f"{name} must hold dates, or numbers that rise with time; {got}")
    missing = np.isnat(array) if array.dtype.kind == "M" else ~np.isfinite(array)
    refuse_rows(name, missing, "missing", rows, "give every row a time")
    return array.astype("datetime64[s]" if array.dtype.kind == "M" else np.float64)


def check_split(values: Any, *, name: str = "split", rows: np.ndarray | None = None) -> np.ndarray:
    """Check a column of split names.

    `values` (n,): 'train', 'val' or 'test'; 'validation', 'valid' and 'dev' mean 'val'; `name`: what messages call it;
    `rows` (n,): the row numbers that messages quote. Returns str, shape (n,).

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
    names = [SPLIT_SYNONYMS.get(v, v) if isinstance(v, str) else v for v in entries]
    bad = np.array([v not in SPLITS for v in names], dtype=bool)
    if bad.any():
        raise InputError(
            f"{name} must hold only train, val (validation, valid, dev) or test; it holds {value_list(entries)} "
            f"(none of these in {int(bad.sum())} of {len(entries)} rows: {row_list(bad, rows)})"
        )
    # room for the longest name, whichever of them occur
    return np.array(names, dtype="<U5")
