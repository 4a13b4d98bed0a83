"""Read new rows for a saved model piece by piece, and say what is wrong with a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.data.columns import OF_OUTCOMES, NewColumns, split_names
from miscal.data.encoders.features import Encoder, FeatureColumns, Unknown, blank_rows
from miscal.data.encoders.texts import Combined
from miscal.data.judged import JudgeScale
from miscal.data.readers.class_columns import CONFIDENCE, ClassColumns, as_probabilities, classes_of
from miscal.data.readers.names import columns_of, find, guess, listed, match
from miscal.data.readers.opening import content_digest, open_source
from miscal.data.readers.outcomes import new_scores
from miscal.data.readers.roles import BESIDE, Roles, encoder_values, pair_asked, with_inputs
from miscal.data.readers.rows import RowFaults, TableRows, confidences, load_rows, refuse_lengths
from miscal.data.readers.source import Piece, Source, numbers_or_checked, read_matrix

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
    roles : Roles
        Of the columns that are read.
    where : str, optional
    on_invalid : {"error", "drop", "null"}
    as_blank : tuple of str
        Columns that are taken as blank where rows have no value of them, though no row was that the model learned from,
        or though the source has no such column.
    scale : JudgeScale or None
        What the scores of a judge stand for; None where they are probabilities.
    """

    source: Source
    encoder: Encoder
    roles: Roles
    where: str | None = None
    on_invalid: str = "error"
    as_blank: tuple[str, ...] = ()
    scale: JudgeScale | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns taken for the confidence, or the probabilities of classes, and x."""
        classes = self.roles.classes
        of_classes = {} if classes is None else {"probabilities": classes.read_from}
        return {"confidence": self.roles.stated, **of_classes, "x": self.roles.made_of()}

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows, and refuse embeddings that do not belong to them."""
        found = self.source.pieces(rows)
        n = sum(piece.rows for piece in found)
        if n == 0:
            raise InputError("the data have no rows; give one row per prediction")
        if self.roles.classes is not None:
            self.roles.classes.refuse_other_length(n)
        if self.roles.x == "embeddings":
            shape = read_matrix(self.roles.embeddings).shape
            refuse_lengths(shape, n)
            # the encoder's own words for another width
            places_of(self.encoder).transform(np.zeros((1, shape[1]), np.float32))
        return found

    @cached_property
    def whole(self) -> Piece:
        """All rows as one piece."""
        return self.pieces(1 << 62)[0]

    def beside(self, rows: NewRows, columns: Iterable[str | None]) -> TableRows:
        """Read further columns of rows that were read as one piece; those that are not there are left out."""
        there = [name for name in dict.fromkeys(columns) if name in self.source.columns]
        frame = self.source.load(there, self.whole, typed=True)[rows.row] if there else pl.DataFrame()
        return TableRows(frame, rows.row, None, len(rows))

    def read(self, piece: Piece) -> NewRows:
        """Read the rows of a piece."""
        rows = self._load(piece)
        faults, p = RowFaults(rows.row), None
        if (classes := self.roles.classes) is not None:
            p, _ = as_probabilities(classes.values(rows.frame, faults), faults, log=classes.log)
            f = p.max(axis=1)
        else:
            stated = column_of(rows.frame, self.roles.confidence)
            stated = stated if self.scale is None else new_scores(stated, self.scale)
            f = confidences(stated, self.roles.labels[0], self.roles.kind, faults)
        digest = self._digest(rows)
        rows = with_inputs(rows, self.roles, faults, features_of(self.encoder))
        if self.on_invalid == "error":
            faults.refuse()
        whole = np.flatnonzero(faults.sound)
        kept = whole if self.on_invalid == "drop" else np.arange(len(rows.row))
        usable = rows if len(whole) == len(rows.row) else rows.take(whole)
        chosen = encoder_values(self.roles, usable.frame, usable.X)
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
        return load_rows(self.source, self.roles.columns, self.roles.embeddings, self.where, piece, self._absent)

    def _digest(self, rows: TableRows) -> str:
        classes = self.roles.classes
        beside = None if classes is None or classes.matrix is None else classes.values(rows.frame, RowFaults(rows.row))
        return content_digest(rows.frame, rows.X, beside)

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
    found = encoder.columns if isinstance(encoder, Combined) else encoder
    return found if isinstance(found, FeatureColumns) else None


def places_of(encoder: Encoder) -> Encoder:
    """Return the part of an encoder that places rows near or far from each other."""
    return encoder.places if isinstance(encoder, Combined) else encoder


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
    pair = {"confidence": columns.confidence, "probability": columns.probability, "judge": columns.judge}
    named, option = pair_asked(kind=kind, **pair)[1], vocabulary(kind).columns[0]
    opened = open_source(source, encoding=columns.encoding, whole=whole)
    classes, column = classes_of(opened, option, named, columns.probabilities, classes), CONFIDENCE
    if classes is None and named is None and fitted_on is None:
        column = guess(option, opened.columns)
    elif classes is None:
        fitted = f"{option} (the model was fitted on this column; {argument(option, takes='COL')} names another)"
        column = find(str(named or fitted_on), opened.columns, what=fitted if named is None else option)
    blank = tuple(dict.fromkeys(split_names(columns.missing_as_blank)))
    for name in blank:
        if name not in encoder.can_be_blank:
            known = value_list(encoder.can_be_blank) if encoder.can_be_blank else "none"
            raise InputError(
                f"missing_as_blank: {name!r} is no column that the model can take as blank; these are {known}"
            )
    own = getattr(features_of(encoder), "columns", ())
    _refuse_absent([name for name in own if name not in (*opened.columns, *blank)], opened, encoder, costs or {})
    roles = _with_x(Roles(column, kind=kind, classes=classes), opened, encoder, (*opened.columns, *blank), columns)
    if columns.where is not None:
        columns_of(columns.where, opened.columns)
    encoder = encoder.taking_as_blank(blank) if blank else encoder  # type: ignore[attr-defined]
    return NewSource(opened, encoder, roles, columns.where, columns.on_invalid, blank, scale)


def _refuse_absent(absent: Sequence[str], source: Source, encoder: Encoder, costs: Mapping[str, float]) -> None:
    """Refuse rows that lack a column of the model, and say what it costs to do without it."""
    if not absent:
        return
    remedy = "give it"
    if all(name in encoder.can_be_blank for name in absent):
        remedy += f", or have it taken as blank in every row ({argument('missing_as_blank', ','.join(absent))})"
        known = [f"{costs[name]:+.4f} without {name!r}" for name in absent if name in costs]
        remedy += f", which changed the log loss on rows of the run by {', '.join(known)}" if known else ""
    raise MissingColumn(
        f"features: there is no column {value_list(absent)}{did_you_mean(absent[0], source.columns, aside=True)}, "
        f"which the model needs: {remedy}. {listed(source.columns)}"
    )


def _with_x(roles: Roles, source: Source, encoder: Encoder, offered: Sequence[str], columns: NewColumns) -> Roles:
    """Take x from where the model took it; `offered` are columns of the table, and those taken as blank."""
    own, places = getattr(features_of(encoder), "columns", ()), places_of(encoder)
    kind, embeddings, notes = places.kind.split("-")[0], columns.embeddings, ()
    if columns.text is not None:
        find(columns.text, source.columns, what="text")
    chosen = own if columns.features is None else match(columns.features, offered, roles.reserved)
    if kind == "embeddings" and embeddings is None and source.embeddings is not None:
        embeddings, notes = source.embeddings, (BESIDE.format(source.embeddings.name),)
    if (kind == "embeddings") != (embeddings is not None):
        got = "none" if embeddings is None else "embeddings"
        got = f"{got} ({argument('embeddings', takes='FILE.npy')})"
        raise InputError(f"the model was fitted on {encoder.describe()}, so new rows must have the same; got {got}")
    if chosen != own:
        wanted, got = (", ".join(names) or "(none)" for names in (own, chosen))
        raise InputError(f"the model was fitted on the columns {wanted}: these must be given, in this order; got {got}")
    text = None
    if kind == "text":
        text = columns.text or find(places.column, source.columns, what="text")  # type: ignore[attr-defined]
    if embeddings is not None and not isinstance(embeddings, (str, Path)):
        embeddings = numbers_or_checked(embeddings)
    return replace(roles, x=kind, features=own, embeddings=embeddings, text=text, notes=notes)


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
