"""Read a file or a table into triples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, counted
from miscal.base.checks import CLIP_TOLERANCE, EXTREME_WEIGHTS, check_seed, extreme_weights, refuse_rows
from miscal.base.errors import InputError, MismatchError, argument
from miscal.base.folds import content_order
from miscal.base.options import of_fields, takes
from miscal.base.precision import JUDGED_ROWS, LARGE_BYTES, in_blocks, narrowed
from miscal.base.process import global_random_kept
from miscal.base.signatures import checked_call
from miscal.base.vocabulary import ANSWER, JUDGE, KINDS, Kind, vocabulary
from miscal.data.columns import SINGLE, Columns, name_of, split_names
from miscal.data.encoders.features import Embeddings, Encoder, FeatureColumns
from miscal.data.encoders.texts import Combined, PlacesAndColumns, text_encoder
from miscal.data.judged import JudgeReading
from miscal.data.readers.answers import answers_of, one_answer
from miscal.data.readers.candidate_groups import candidates_of
from miscal.data.readers.class_columns import with_top_label
from miscal.data.readers.column_readings import (
    COORDINATE,
    KEY,
    READ_COLUMNS,
    stroked_dates,
    with_readings,
    without_leaks,
)
from miscal.data.readers.names import find, left_out_of, refuse_told
from miscal.data.readers.opening import fingerprints, open_source, refuse_changed
from miscal.data.readers.outcomes import labelling_of, outcomes, read_judge, without_words
from miscal.data.readers.roles import NO_GROUPS, Roles, groups_of, roles_of, times_of, with_naming
from miscal.data.readers.rows import (
    AUTO,
    RowFaults,
    TableRows,
    XSource,
    choose_inputs,
    confidences,
    encoder_values,
    label,
    load_rows,
    metadata_of,
    missing,
    numbers,
    texts,
    unseen_note,
    with_inputs,
)
from miscal.data.readers.source import Source
from miscal.data.splits import MIN_FIT_ROWS, SAMPLE_ROWS, SAMPLED_ABOVE, check_trainable, straddling_inputs
from miscal.data.triples import Triples, check_split

# stream of the texts that an encoder is fitted on
_STREAM = 61


@checked_call
@global_random_kept()
@takes(Columns)
def read_triples(source: Any, *, kind: Kind | None = None, seed: int = 0, **options: Any) -> Triples:
    """Read triples from a file, folder or table.

    Parameters
    ----------
    source : path or table
        .parquet, .csv, .tsv or .jsonl; a folder written by ``miscal score``; a pandas, polars or pyarrow frame, or a
        dataset of Hugging Face; a dictionary of arrays, e.g. ``{"confidence": f, "correct": y}``.
    kind : {"answer", "event", "judge"}, optional
        What the probability is of. By default that of the columns named, and an answer where none is.
    seed : int, default 0
        Of the text encoder.
    **options

    Returns
    -------
    Triples
        With `encoder` fitted (on the train and validation rows of a split, else on all rows), and `row` numbering the
        rows of `source` from 0.

    Raises
    ------
    MissingColumn, FileError, CorruptFile, InputError
        For anything that cannot be used, with the column, the count, the first rows and the remedy.
    ResourceError
        If the data cannot fit into memory.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.uniform(size=200)
    >>> t = read_triples({"conf": f, "y": rng.uniform(size=200) < f}, embeddings=rng.normal(size=(200, 4)))
    >>> len(t), t.source["columns"]["confidence"], t.split
    (200, 'conf', None)
    """
    columns = _check_names(of_fields(Columns, options))
    check_seed(seed)
    opened = open_source(source, encoding=columns.encoding)
    table, left_out = _offer_columns(opened, columns)
    named = with_naming(roles_of(table, columns, kind), table, columns)
    x = choose_inputs(table, columns, reserved=named.reserved, metadata=named.metadata)
    refuse_told("text", [x.text], named.outcome, named.probabilities)
    named.refuse_as_inputs(x.features)
    rows, others, scale = _rows(opened, named, x, columns.where), None, None
    drop = columns.on_invalid == "drop"
    if named.kind == JUDGE:
        rows, others, scale = read_judge(rows, named, columns.positive, drop=drop)
    allowed = tuple(find(name, table.columns, what="allow_leak") for name in split_names(columns.allow_leak))
    x, readings, roles = with_readings(rows.frame, x, named, columns.text, allowed)
    read = tuple(rows.frame.columns)
    if roles.classes is not None:
        rows = with_top_label(rows, roles.classes, drop=drop)
        roles = replace(roles, names_only=(*roles.names_only, roles.classes.predicted))
    rows = _drop_weightless(_valid_rows(rows, roles, x, drop=drop, typed=opened.typed), roles)
    stated = column_of(rows.frame, roles.confidence).to_numpy()
    f = np.clip(stated, 0.0, 1.0)
    clipped, words = int((stated != f).sum()), vocabulary(roles.kind).probabilities
    y, of_labels = outcomes(
        column_of(rows.frame, roles.correct), roles.kind, positive=columns.positive, name=roles.labels[1], rows=rows.row
    )
    readings, inputs, roles, about_leaks = without_leaks(rows, f, y, readings, x, roles, allowed, seed)
    matrix = None if roles.classes is None else roles.classes.matrix
    made = fingerprints(source, table, inputs, read, matrix) | {
        "options": _options(columns, roles, inputs, allowed, left_out, seed),
        "where": columns.where,
        "n_read": rows.n_read,
        "n_dropped": rows.dropped,
        READ_COLUMNS: [replace(one, needed=one.name in inputs.features).to_dict() for one in readings],
    }
    usual = one_answer(rows.frame, roles.answers, y) if roles.kind == ANSWER else None
    if usual is not None:
        made["one_answer"] = {"answer": usual[0], "n": usual[1]}
    notes = (
        *((f"{clipped} {words} were up to {CLIP_TOLERANCE} outside [0, 1] and were clipped",) if clipped else ()),
        *of_labels,
        *about_leaks,
        *(() if usual is None else (usual[-1],)),
        *unseen_note(table, inputs, {*roles.reserved, *roles.naming, *roles.answers.keys, inputs.text}),
        *stroked_dates(rows.frame, readings),
    )
    triples = _assembled(rows, f, y, roles, inputs, notes, made, seed, columns.embed_model)
    candidates = None
    if roles.grouping is None and columns.group not in (None, NO_GROUPS):
        known_later = [one.name for one in readings if one.leak is not None or one.left_out == KEY]
        seen = {*inputs.features, *roles.naming, *known_later, roles.id}
        passed_over = {*roles.reserved.keys() - seen, inputs.text, *roles.answers.keys}
        candidates = candidates_of(table, rows, triples, passed_over, known_later, seed)
    reading = None
    if others is not None:
        unjudged = _unjudged(others, roles, inputs, triples.encoder, drop=drop)
        reading = JudgeReading(scale, unjudged, labelling_of(rows, roles))
    return replace(triples, candidate_groups=candidates, judged=reading)


def _check_names(columns: Columns) -> Columns:
    """Refuse what can be no name of a column, and return lists of names as tuples."""
    if columns.on_invalid not in ("error", "drop"):
        raise InputError(f"on_invalid must be 'error' or 'drop'; got {columns.on_invalid!r}")
    lists = {what: getattr(columns, what) for what in ("features", "metadata", "names_only", "allow_leak", "leave_out")}
    plain = {what: one if one is None or isinstance(one, str) else split_names(one) for what, one in lists.items()}
    named = {what: name_of(one, what=what) for what in SINGLE if (one := getattr(columns, what)) is not None}
    return replace(columns, **plain, **named)


def _offer_columns(table: Source, columns: Columns) -> tuple[Source, tuple[str, ...]]:
    """Take the columns away that are left out, and name them."""
    several = {what: getattr(columns, what) for what in ("features", "metadata", "names_only", "allow_leak")}
    single = {what: getattr(columns, what) for what in SINGLE if getattr(columns, what) not in (AUTO, NO_GROUPS)}
    left_out = left_out_of(columns.leave_out, table.columns, single, several)
    return table.offering([name for name in table.columns if name not in left_out]), left_out


def _unjudged(rows: TableRows, roles: Roles, inputs: XSource, encoder: Encoder, *, drop: bool) -> Triples:
    """Read the rows that people have not judged, with the encoder of the others."""
    if len(rows.row):
        # they have no outcome that could be missing
        rows = _valid_rows(rows, replace(roles, correct=roles.confidence), inputs, drop=drop, typed=True)
    values = encoder_values(inputs, rows.frame, rows.X)
    f = column_of(rows.frame, roles.confidence).to_numpy()
    return Triples(
        X=_transformed(encoder, values) if len(rows.row) else np.zeros((0, encoder.n_features), np.float32),
        confidence=f,
        correct=np.full(len(f), np.nan),
        **_beside(rows, roles, inputs),
    )


_OF_CLASSES = {"positive", "labelling_probability", "probabilities", "label", "classes"}
"""Fields that are kept as what they were resolved to, and only where they were named."""


def _options(
    columns: Columns, roles: Roles, inputs: XSource, allowed: Sequence[str], left_out: Sequence[str], seed: int
) -> dict[str, Any]:
    """Name the choices made, so that a second reading cannot choose otherwise."""
    pair = dict(zip(vocabulary(roles.kind).columns, (roles.confidence, roles.correct), strict=True))
    from_file = isinstance(inputs.embeddings, (str, Path))
    chosen = {
        **(pair if roles.classes is None else roles.classes.options),
        **({} if roles.positive is None else {"positive": roles.positive}),
        **({} if roles.labelling is None else {"labelling_probability": roles.labelling}),
        "embeddings": str(Path(inputs.embeddings).resolve()) if from_file else None,
        "features": list(inputs.features) or None,
        "metadata": list(roles.metadata),
        "names_only": [name for name in roles.names_only if roles.classes is None or name != roles.classes.predicted],
        "split": roles.split,
        "weight": roles.weight,
        "time": roles.time,
        "allow_leak": list(allowed),
        "leave_out": list(left_out),
        "group": roles.group or columns.group or NO_GROUPS,
        "text": inputs.text if inputs.kind == "text" else columns.text,
        "seed": seed,
    }
    # every other field as it was given, so that a new one is read again too
    resolved = chosen.keys() | {name for words in map(vocabulary, KINDS) for name in words.columns} | _OF_CLASSES
    return {one.name: getattr(columns, one.name) for one in fields(Columns) if one.name not in resolved} | chosen


def reread(source: dict[str, Any], **changed: Any) -> Triples:
    """Read the rows of a run again, from its ``Triples.source``.

    `source`: as :func:`miscal.data.readers.opening.found_in` returns it; `changed`: options of :func:`read_triples`
    that are to be others than in the run.
    """
    refuse_changed(source)
    triples = read_triples(source["path"], **source["options"] | changed)
    before, now = source.get("x_source"), triples.source["x_source"]
    if before != now and not changed:
        raise MismatchError(
            f"the run's inputs were {before}, but on this machine they would be {now}: install what made them, "
            f"or discover again with {argument('embed_model')}"
        )
    return triples


# --- rows that can be used ----------------------------------------------------------------------------------------


def _rows(source: Source, roles: Roles, inputs: XSource, where: str | None) -> TableRows:
    """Read the rows that meet the condition, and say for how many it could not be decided."""
    rows = load_rows(source, (*roles.columns, *inputs.columns), inputs.embeddings, where).noting(*inputs.notes)
    if not len(rows.row):
        raise InputError(
            f"where: {where!r} keeps none of the {rows.n_read} rows; correct the condition, or leave it out"
        )
    if len(rows.row) == 1:
        raise InputError(f"too few rows: got 1; at least {MIN_FIT_ROWS} are needed, one per prediction")
    if not rows.undecided:
        return rows
    left = f"{counted(rows.undecided, 'row')} {'was' if rows.undecided == 1 else 'were'} left out"
    return rows.noting(f"where: {left}, because the value that decides is missing")


def _valid_rows(rows: TableRows, roles: Roles, inputs: XSource, *, drop: bool, typed: bool) -> TableRows:
    """Refuse or drop rows whose confidence, outcome, weight or x cannot be used; confidences are numbers from then on.

    `typed`: whether the columns have types of their own; else a word among numbers makes a row that can be dropped.
    """
    faults, frame = RowFaults(rows.row), rows.frame
    if drop and not typed and roles.positive is None:
        given = column_of(frame, roles.correct)
        told = without_words(given, roles.kind)
        frame, words = frame.with_columns(told.alias(roles.correct)), (told.is_null() & given.is_not_null()).to_numpy()
        faults.add(f"column {roles.correct!r}", words, "no outcomes", f"{roles.correct!r} is no outcome")
    f = confidences(
        column_of(frame, roles.confidence), roles.confidence, vocabulary(roles.kind), faults, typed=typed or not drop
    )
    rows = replace(rows, frame=frame.with_columns(pl.Series(roles.confidence, f)))
    for column in filter(None, (roles.correct, roles.weight)):
        faults.add(f"column {column!r}", missing(rows, column), "missing, NaN or infinite", f"{column!r} is missing")
    return faults.refuse_or_drop(with_inputs(rows, inputs, faults), drop=drop)


def _weights(rows: TableRows, roles: Roles) -> np.ndarray | None:
    return None if roles.weight is None else numbers(rows, roles.weight, label("weight", roles.weight))


def _drop_weightless(rows: TableRows, roles: Roles) -> TableRows:
    """Leave out the rows of weight 0, and refuse weights that nothing can be computed with."""
    if roles.weight is None:
        return rows
    name = label("weight", roles.weight)
    values = numbers(rows, roles.weight, name)
    remedy = f"correct them, or drop these rows with {argument('where')}"
    refuse_rows(name, ~(values >= 0) | np.isinf(values), "no finite numbers of at least 0", rows.row, remedy)
    if extreme_weights(values):
        raise InputError(f"{name} {EXTREME_WEIGHTS}; got a largest one of {values.max():.3g}: divide all by their mean")
    kept = values > 0
    if not kept.any():
        raise InputError(f"{name} is 0 in all {len(kept)} rows: no row would count")
    if values.sum() ** 2 < 2 * (values**2).sum():
        raise InputError(
            f"{name} gives row {rows.row[values.argmax()]} nearly all of the weight, "
            f"{values.max():.3g} of {values.sum():.3g}: nothing could be said of the others"
        )
    if kept.all():
        return rows
    said = f"{int((~kept).sum()):,} of {len(kept):,} rows were left out: their weight is 0"
    return rows.take(kept).noting(said)


# --- assembly -----------------------------------------------------------------------------------------------------


def _assembled(
    rows: TableRows,
    f: np.ndarray,
    y: np.ndarray,
    roles: Roles,
    inputs: XSource,
    notes: tuple[str, ...],
    source: dict[str, Any],
    seed: int,
    embed_model: str | None,
) -> Triples:
    values, beside = encoder_values(inputs, rows.frame, rows.X), _beside(rows, roles, inputs)
    encoder = _new_encoder(inputs, seed, embed_model)
    split, about_split = _split(rows, roles, encoder, values)
    check_trainable(y, split, roles.kind, beside["group"])
    encoder.fit(_learned_from(values, split, seed))
    return Triples(
        X=_transformed(encoder, values),
        confidence=f,
        correct=y,
        split=split,
        time=None if roles.time is None else times_of(rows, roles.time),
        answers=answers_of(rows.frame, roles.answers),
        notes=(*roles.notes, *rows.notes, *notes, *about_split),
        source=source | _described(roles, inputs, encoder, source[READ_COLUMNS]),
        encoder=encoder,
        layout=encoder.layout,
        kind=roles.kind,
        classes=rows.classes,
        **beside,
    )


def _beside(rows: TableRows, roles: Roles, inputs: XSource) -> dict[str, Any]:
    """Read what triples hold beside x, f and y."""
    return {
        "weight": _weights(rows, roles),
        "group": None if roles.grouping is None else groups_of(rows, roles.grouping),
        "text": None if inputs.text is None else texts(rows.frame, inputs.text),
        "metadata": {name: metadata_of(rows, name) for name in roles.naming},
        "row": rows.row.astype(np.int64),
    }


def _new_encoder(inputs: XSource, seed: int, embed_model: str | None) -> Encoder:
    columns = FeatureColumns(inputs.features)
    if inputs.kind == "features":
        return columns
    text = inputs.kind == "text"
    places = text_encoder(str(inputs.text), model=embed_model, seed=seed) if text else Embeddings()
    return Combined(places, columns) if inputs.features else places


def _split(rows: TableRows, roles: Roles, encoder: Encoder, values: Any) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Read the split before the encoder is fitted; which inputs are equal needs no fit that lasts."""
    if roles.split is None:
        return None, ()
    # an embedding tells equal inputs by itself
    places = values.places if isinstance(values, PlacesAndColumns) else values
    compared = encoder.fit(values).transform(values) if isinstance(encoder, FeatureColumns) else places
    split = check_split(column_of(rows.frame, roles.split).to_list(), name=label("split", roles.split), rows=rows.row)
    return split, straddling_inputs(compared, split)


def _learned_from(values: Any, split: np.ndarray | None, seed: int) -> Any:
    """Rows that an encoder is fitted on: those that are not test rows; of very many texts a random sample."""
    if split is not None:
        return _some(values, split != "test")
    if isinstance(values, tuple) and len(values) > SAMPLED_ABOVE:
        order = content_order(np.zeros((len(values), 0)), values)
        chosen = np.random.default_rng((seed, _STREAM)).choice(len(values), SAMPLE_ROWS, replace=False)
        return [values[i] for i in order[chosen]]
    return values


def _transformed(encoder: Encoder, values: Any) -> np.ndarray:
    """X, in single precision where that is enough; made block by block where it is large."""
    n, d = len(values), encoder.n_features
    if 4 * n * d <= LARGE_BYTES:
        return narrowed(encoder.transform(values))
    if isinstance(values, np.ndarray):
        return encoder.transform(values)
    # all rows at once would need what block by block saves, so some rows tell what is enough
    kind = narrowed(encoder.transform(values[:: -(-n // JUDGED_ROWS)])).dtype
    return in_blocks(lambda rows: encoder.transform(values[rows]), n, d, kind)


def _some(values: Any, keep: np.ndarray) -> Any:
    """Rows to fit on. Nothing is learned from a matrix of embeddings, so it is not copied."""
    if isinstance(values, PlacesAndColumns):
        return PlacesAndColumns(_some(values.places, keep), _some(values.columns, keep))
    if isinstance(values, np.ndarray):
        return values
    return (
        values.filter(keep) if isinstance(values, pl.DataFrame) else [v for v, k in zip(values, keep, strict=True) if k]
    )


def _described(roles: Roles, inputs: XSource, encoder: Encoder, readings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Say what the summary says of the data."""
    coordinates = {one["name"] for one in readings if one["read_as"] == COORDINATE}
    path = str(inputs.embeddings) if isinstance(inputs.embeddings, (str, Path)) else None
    return {
        "columns": {
            "confidence": roles.confidence if roles.classes is None else None,
            "correct": roles.outcome,
            "positive": roles.positive,
            "x": inputs.made_of(path),
            "text": inputs.text,
            "metadata": list(roles.naming),
            "names_only": [name for name in roles.naming if name not in inputs.features],
            "needed": [
                *roles.probabilities,
                *([inputs.text] if inputs.kind == "text" else []),
                *sorted(inputs.features, key=lambda name: name in coordinates),
            ],
            "embeddings": inputs.kind == "embeddings",
            "split": roles.split,
            "group": roles.group,
            "weight": roles.weight,
            "time": roles.time,
        },
        "x": {"kind": encoder.kind, "names": None if encoder.names is None else list(encoder.names)},
        "x_source": encoder.describe(),
        "n_features": encoder.n_features,
    }
