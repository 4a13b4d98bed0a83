"""Read new rows for a saved model piece by piece, and say what is wrong with a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, did_you_mean, value_list
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.base.options import of_fields, takes
from miscal.base.signatures import checked_call
from miscal.base.vocabulary import ANSWER, Kind, Vocabulary, vocabulary
from miscal.data.columns import OF_OUTCOMES, NewColumns, split_names
from miscal.data.encoders.features import Encoder, FeatureColumns, Unknown, blank_rows
from miscal.data.encoders.texts import Combined
from miscal.data.judged import JudgeScale
from miscal.data.readers.class_columns import ClassColumns, as_probabilities, classes_of
from miscal.data.readers.names import columns_of, find, guess, listed, match
from miscal.data.readers.opening import content_digest, open_source
from miscal.data.readers.outcomes import new_scores
from miscal.data.readers.roles import Asked
from miscal.data.readers.rows import (
    BESIDE,
    RowFaults,
    TableRows,
    XSource,
    confidences,
    encoder_values,
    load_rows,
    refuse_lengths,
    with_inputs,
)
from miscal.data.readers.source import Piece, Source, nan_as_null, numbers_or_checked, read_matrix


def can_be_blank(names: str | Sequence[str], encoder: Encoder) -> tuple[str, ...]:
    """Return the columns that are to count as blank where they are missing; those that cannot are refused."""
    known: tuple[str, ...] = encoder.can_be_blank
    chosen = split_names(names)
    for name in chosen:
        if name not in known:
            raise InputError(
                f"missing_as_blank: {name!r} is no column that the model can take as blank; these are "
                f"{value_list(known) if known else 'none'}"
            )
    return tuple(dict.fromkeys(chosen))


def refuse_absent(
    absent: Sequence[str], source: Source, can_be_blank: Collection[str], costs: Mapping[str, float]
) -> None:
    """Refuse rows that lack a column of the model, and say what it costs to do without it."""
    if not absent:
        return
    remedy = "give it"
    if all(name in can_be_blank for name in absent):
        remedy += f", or have it taken as blank in every row ({argument('missing_as_blank', ','.join(absent))})"
        known = [f"{costs[name]:+.4f} without {name!r}" for name in absent if name in costs]
        remedy += f", which changed the log loss on rows of the run by {', '.join(known)}" if known else ""
    raise MissingColumn(
        f"features: there is no column {value_list(absent)}{did_you_mean(absent[0], source.columns, aside=True)}, "
        f"which the model needs: {remedy}. {listed(source.columns)}"
    )


def needed(
    source: Source,
    encoder: Encoder,
    own: tuple[str, ...],
    blank: Sequence[str],
    reserved: dict[str, str],
    columns: NewColumns,
) -> XSource:
    """Take x from where the model took it; `own` are its columns of the table."""
    places = encoder.places if isinstance(encoder, Combined) else encoder
    kind, text, embeddings = places.kind.split("-")[0], columns.text, columns.embeddings
    if text is not None:
        find(text, source.columns, what="text")
    chosen = own if columns.features is None else match(columns.features, (*source.columns, *blank), reserved)
    beside = source.embeddings if kind == "embeddings" and embeddings is None else None
    got = "embeddings" if embeddings is not None or beside is not None else "none"
    if (kind == "embeddings") != (got == "embeddings"):
        raise InputError(
            f"the model was fitted on {encoder.describe()}, so new rows must have the same; got {got} "
            f"({argument('embeddings', takes='FILE.npy')})"
        )
    if chosen != own:
        raise InputError(
            f"the model was fitted on the columns {', '.join(own) or '(none)'}, so these must be given, in this order; "
            f"got {', '.join(chosen) or '(none)'}"
        )
    if kind == "text":
        column = text or find(places.column, source.columns, what="text")  # type: ignore[attr-defined]
        return XSource("text", own, text=column)
    notes = () if beside is None else (BESIDE.format(beside.name),)
    return XSource(kind, own, embeddings=embeddings if beside is None else beside, notes=notes)


ON_INVALID = ("error", "drop", "null")
"""What may be done about rows without a usable confidence or x: stop, leave them out, or keep them with a reason."""


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows to be corrected.

    Attributes
    ----------
    row : int64 array of shape (n,)
        Row numbers in the source, from 0, of the rows that are kept.
    confidence : float64 array of shape (n,)
        In [0, 1], NaN where there is none that can be used.
    whole : int64 array of shape (m,)
        Positions of the rows with a usable confidence and x.
    X : float32 or float64 array of shape (m, d)
        Of those, made by the model's own encoder.
    unknown : tuple of Unknown
        What the model never saw, positions counted among `whole`.
    reason : tuple of str or None
        What is wrong with each row, (n,); None where nothing is.
    counts : dict of str to int
        `read`, `asked` (rows that meet the condition), `undecided` (the value that decides is missing), `clipped`, and
        `dropped`.
    faults : dict of str to int
        Number of rows by what is wrong with them, the first fault of a row alone.
    blank : array of shape (m,)
        Of the rows in `whole`: in words, which of their columns were asked to be taken as blank; None where none is.
    digest : str
        Of everything that was read for them, by :func:`~miscal.data.readers.opening.content_digest`.
    probability : float64 array of shape (n, K), or None
        Of a model of several classes: the probability of each, NaN in rows without usable ones. The confidence is the
        largest of a row.
    """

    row: np.ndarray
    confidence: np.ndarray
    whole: np.ndarray
    X: np.ndarray
    unknown: tuple[Unknown, ...]
    reason: np.ndarray
    counts: dict[str, int]
    faults: dict[str, int]
    blank: np.ndarray
    digest: str = ""
    probability: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.row)

    @property
    def taken_as_blank(self) -> np.ndarray:
        """Say of the rows in `whole` what is taken as blank, as was asked or because the model never saw it, (m,)."""
        words = self.blank.copy()
        for one in self.unknown:
            if one.as_blank:
                both = zip(words[one.rows], one.reasons, strict=True)
                words[one.rows] = [never if asked is None else f"{asked}; {never}" for asked, never in both]
        return words


@dataclass(frozen=True, eq=False)
class NewSource:
    """A source of new rows, and what is taken from it.

    Attributes
    ----------
    source : Source
    encoder : Encoder
        That of the model.
    confidence : str or None
        Column; None where the probabilities of several classes are read.
    inputs : XSource
    where : str, optional
    on_invalid : {"error", "drop", "null"}
    kind : {"answer", "event", "judge"}
        What the confidence is the probability of.
    as_blank : tuple of str
        Columns that are taken as blank where rows have no value of them, though no row was that the model learned from,
        or though the source has no such column.
    classes : ClassColumns or None
        Where the probabilities of several classes are found.
    scale : JudgeScale or None
        What the scores of a judge stand for; None where they are probabilities.
    """

    source: Source
    encoder: Encoder
    confidence: str | None
    inputs: XSource
    where: str | None = None
    on_invalid: str = "error"
    kind: Kind = ANSWER
    as_blank: tuple[str, ...] = ()
    classes: ClassColumns | None = None
    scale: JudgeScale | None = None

    @property
    def words(self) -> Vocabulary:
        """The words of this kind."""
        return vocabulary(self.kind)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns taken for the confidence, or the probabilities of classes, and x."""
        of_classes = {} if self.classes is None else {"probabilities": self.classes.read_from}
        return {"confidence": self.confidence, **of_classes, "x": self.inputs.made_of()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever reads the results must know."""
        return (*self.source.notes, *self.inputs.notes)

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows, and refuse embeddings that do not belong to them."""
        found = self.source.pieces(rows)
        n = sum(piece.rows for piece in found)
        if n == 0:
            raise InputError("the data have no rows; give one row per prediction")
        if self.classes is not None:
            self.classes.refuse_other_length(n)
        if self.inputs.kind == "embeddings":
            shape = read_matrix(self.inputs.embeddings).shape
            refuse_lengths(shape, n)
            # the encoder's own words for another width
            places = self.encoder.places if isinstance(self.encoder, Combined) else self.encoder
            places.transform(np.zeros((1, shape[1]), np.float32))
        return found

    @cached_property
    def whole(self) -> Piece:
        """All rows as one piece."""
        return self.pieces(1 << 62)[0]

    def beside(self, rows: NewRows, columns: Iterable[str | None]) -> TableRows:
        """Read further columns of rows that were read as one piece; those that are not there are left out."""
        there = [name for name in dict.fromkeys(columns) if name in self.source.columns]
        frame = self.source.load(there, self.whole, typed=True)[rows.row] if there else pl.DataFrame()
        return TableRows(nan_as_null(frame), rows.row, None, (), len(rows))

    def read(self, piece: Piece) -> NewRows:
        """Read the rows of a piece."""
        rows = self._load(piece)
        faults, p = RowFaults(rows.row), None
        if self.classes is None:
            f = self._confidences(rows, faults)
        else:
            values = self.classes.values(rows.frame, faults, typed=self.source.typed)
            p, _ = as_probabilities(values, faults, log=self.classes.log)
            f = p.max(axis=1)
        digest = self._digest(rows)
        text = self._absent if self.source.typed else rows.frame.columns
        rows = with_inputs(rows, self.inputs, faults, features_of(self.encoder), text)
        if self.on_invalid == "error":
            faults.refuse()
        whole = np.flatnonzero(faults.sound)
        kept = whole if self.on_invalid == "drop" else np.arange(len(rows.row))
        usable = rows if len(whole) == len(rows.row) else rows.take(whole)
        chosen = encoder_values(self.inputs, usable.frame, usable.X)
        encoded = self.encoder.transform(chosen) if len(whole) else np.zeros((0, self.encoder.n_features), np.float32)
        counts = {"read": rows.n_read, "undecided": rows.undecided, "asked": len(rows.row)}
        return NewRows(
            row=rows.row[kept],
            confidence=np.clip(f, 0.0, 1.0)[kept],
            # positions are counted among the rows kept
            whole=np.arange(len(whole)) if self.on_invalid == "drop" else whole,
            X=encoded,
            unknown=tuple(self.encoder.unknown(chosen, encoded)) if len(whole) else (),
            reason=faults.reasons()[kept],
            counts=counts | {"clipped": int(((f < 0) | (f > 1)).sum()), "dropped": len(rows.row) - len(kept)},
            faults=faults.counts(),
            blank=self._taken_as_blank(usable.frame),
            digest=digest,
            probability=None if p is None else p[kept],
        )

    def digest(self, piece: Piece) -> str:
        """Digest of everything that :meth:`read` reads for a piece, without turning it into numbers."""
        return self._digest(self._load(piece))

    def _load(self, piece: Piece) -> TableRows:
        named = [str(self.confidence)] if self.classes is None else self.classes.columns
        columns = (*named, *self.inputs.columns)
        return load_rows(self.source, columns, self.inputs.embeddings, self.where, piece, self._absent)

    def _digest(self, rows: TableRows) -> str:
        matrix = self.classes is not None and self.classes.matrix is not None
        p = self.classes.values(rows.frame, RowFaults(rows.row)) if matrix else None  # type: ignore[union-attr]
        return content_digest(rows.frame, rows.X, p)

    def _confidences(self, rows: TableRows, faults: RowFaults) -> np.ndarray:
        column = str(self.confidence)
        series = column_of(rows.frame, column)
        series = series if self.scale is None else new_scores(series, self.scale)
        return confidences(series, column, self.words, faults, typed=self.source.typed)

    @property
    def _absent(self) -> tuple[str, ...]:
        """Columns that the model needs and the source does not have."""
        return tuple(name for name in self.as_blank if name not in self.source.columns)

    def _taken_as_blank(self, frame: pl.DataFrame) -> np.ndarray:
        """Say of each row which of its columns are taken as blank, (n,) of str, None where none is."""
        blank = {name: blank_rows(column_of(frame, name)) for name in self.as_blank}
        words: dict[tuple[bool, ...], str | None] = {}
        for row in set(zip(*blank.values(), strict=True)):
            names = [repr(name) for name, missing in zip(blank, row, strict=True) if missing]
            words[row] = f"{', '.join(names)} taken as blank" if names else None
        found = [words[row] for row in zip(*blank.values(), strict=True)] or [None] * len(frame)
        return np.array(found, dtype=object)


def features_of(encoder: Encoder) -> Any:
    """Return the part of an encoder that reads columns of the table; None where there is none."""
    if isinstance(encoder, Combined):
        return encoder.columns
    return encoder if isinstance(encoder, FeatureColumns) else None


@checked_call
@takes(NewColumns, but=OF_OUTCOMES)
def open_new_rows(
    source: Any,
    *,
    encoder: Encoder,
    fitted_on: str | None = None,
    kind: Kind = ANSWER,
    classes: ClassColumns | None = None,
    scale: JudgeScale | None = None,
    costs: Mapping[str, float] | None = None,
    whole: bool = False,
    **options: Any,
) -> NewSource:
    """Open rows without outcomes, to be put through a fitted encoder.

    `source`: as for :func:`.read.read_triples`; `encoder`: that of the model (``Triples.encoder``, or
    rebuilt from its saved state); `fitted_on`: column of the confidences that the model was fitted on. No other is
    taken for it: a file of new rows may well have a column of a usual name that holds something else; `kind`: what the
    confidence is the probability of; `classes`: the classes of the model; `scale`: for a model of a judge: what its
    scores stand for; by default they are probabilities; `costs`: what it cost in log loss, on the rows of the run, to
    take a column as blank in every row; for the message that a column is missing; `whole`: read all
    rows as one piece, so that columns beside those of the model may be asked for.
    """
    columns = of_fields(NewColumns, options)
    if columns.on_invalid not in ON_INVALID:
        raise InputError(f"on_invalid must be one of {', '.join(map(repr, ON_INVALID))}; got {columns.on_invalid!r}")
    asked = Asked.of(kind=kind, confidence=columns.confidence, probability=columns.probability, judge=columns.judge)
    opened = open_source(source, encoding=columns.encoding, whole=whole)
    own = getattr(features_of(encoder), "columns", ())
    option = asked.words.columns[0]
    several = classes_of(opened, option, asked.probability, columns.probabilities, classes)
    column, named = None, asked.probability or fitted_on
    if several is None and named is None:
        column = guess(option, opened.columns)
    elif several is None:
        fitted = f"{option} (the model was fitted on this column; {argument(option, takes='COL')} names another)"
        column = find(str(named), opened.columns, what=fitted if asked.probability is None else option)
    blank = can_be_blank(columns.missing_as_blank, encoder)
    absent = [name for name in own if name not in (*opened.columns, *blank)]
    refuse_absent(absent, opened, encoder.can_be_blank, costs or {})
    reserved = dict.fromkeys(several.columns, "probabilities") if several else {str(column): "confidence"}
    inputs = needed(opened, encoder, own, blank, reserved, columns)
    if columns.where is not None:
        columns_of(columns.where, opened.columns)
    if inputs.kind == "embeddings" and not isinstance(inputs.embeddings, (str, Path)):
        inputs = replace(inputs, embeddings=numbers_or_checked(inputs.embeddings))
    encoder = encoder.taking_as_blank(blank) if blank else encoder  # type: ignore[attr-defined]
    return NewSource(opened, encoder, column, inputs, columns.where, columns.on_invalid, kind, blank, several, scale)


def read_inputs(source: Any, *, encoder: Encoder, **options: Any) -> NewRows:
    """Read all rows of a source at once.

    `options`: those of :func:`open_new_rows`.

    Examples
    --------
    >>> from miscal.data.encoders.features import Embeddings
    >>> new = read_inputs({"conf": [0.2, 0.9]}, encoder=Embeddings(3), embeddings=np.zeros((2, 3)))
    >>> new.X.shape, new.confidence.tolist()
    ((2, 3), [0.2, 0.9])
    """
    opened = open_new_rows(source, encoder=encoder, whole=True, **options)
    return opened.read(opened.whole)
