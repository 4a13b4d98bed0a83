"""Read a file or a table into triples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, counted, value_list
from miscal.base.checks import CLIP_TOLERANCE, check_seed, check_weight, refuse_rows
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
from miscal.data.readers.candidate_groups import candidates_of
from miscal.data.readers.class_columns import with_top_label
from miscal.data.readers.column_readings import (
    COORDINATE,
    KEY,
    READ_COLUMNS,
    ColumnReading,
    stroked_dates,
    with_readings,
    without_leaks,
)
from miscal.data.readers.names import GIVEN, match
from miscal.data.readers.opening import fingerprints, open_source, refuse_changed
from miscal.data.readers.outcomes import answers_of, labelling_of, one_answer, outcomes, read_judge, without_words
from miscal.data.readers.roles import (
    AUTO,
    NO_GROUPS,
    Roles,
    encoder_values,
    roles_of,
    unseen_note,
    with_inputs,
)
from miscal.data.readers.rows import (
    RowFaults,
    TableRows,
    confidences,
    label,
    load_rows,
    metadata_of,
    missing,
    numbers,
    texts,
)
from miscal.data.readers.source import Source
from miscal.data.splits import MIN_FIT_ROWS, SAMPLE_ROWS, SAMPLED_ABOVE, check_trainable, straddling_inputs
from miscal.data.triples import Triples, check_group, check_split, check_time

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
    roles = roles_of(table, columns, kind)
    rows, others, scale = _rows(opened, roles, columns.where), None, None
    drop = columns.on_invalid == "drop"
    if roles.kind == JUDGE:
        rows, others, scale = read_judge(rows, roles, drop=drop)
    roles, readings = with_readings(rows.frame, roles, columns.text)
    read = tuple(rows.frame.columns)
    if roles.classes is not None:
        rows = with_top_label(rows, roles.classes, drop=drop)
        roles = replace(roles, names_only=(*roles.names_only, roles.classes.predicted))
    rows = _drop_weightless(_valid_rows(rows, roles, drop=drop), roles)
    if others is not None and len(others.row):
        # they have no outcome that could be missing
        sound, notes = _valid_rows(others, replace(roles, correct=roles.confidence), drop=drop), len(others.notes)
        dropped = rows.dropped + sound.dropped - others.dropped
        rows, others = replace(rows, notes=rows.notes + sound.notes[notes:], dropped=dropped), sound
    stated = column_of(rows.frame, roles.confidence).to_numpy()
    f = np.clip(stated, 0.0, 1.0)
    clipped, words = int((stated != f).sum()), vocabulary(roles.kind).probabilities
    given = column_of(rows.frame, roles.correct)
    y, of_labels = outcomes(given, roles.kind, positive=columns.positive, name=roles.labels[1], rows=rows.row)
    readings, roles, about_leaks = without_leaks(rows, f, y, readings, roles, seed)
    usual = one_answer(rows.frame, roles.answers.get(GIVEN), y)
    values, beside = encoder_values(roles, rows.frame, rows.X), _beside(rows, roles)
    encoder = _new_encoder(roles, seed, columns.embed_model)
    split, about_split = _split(rows, roles, encoder, values)
    check_trainable(y, split, roles.kind, beside["group"])
    encoder.fit(_learned_from(values, split, seed))
    X = _transformed(encoder, values)
    candidates, judged = None, None
    if roles.grouping is None and columns.group not in (None, NO_GROUPS):
        known_later = [one.name for one in readings if one.leak is not None or one.left_out == KEY]
        candidates = candidates_of(table, rows, f, y, roles, known_later, seed)
    if others is not None:
        judged = JudgeReading(scale, _unjudged(others, roles, encoder), labelling_of(rows, roles))
    when = None if roles.time is None else metadata_of(rows.frame, roles.time)
    matrix = None if roles.classes is None else roles.classes.matrix
    return Triples(
        X=X,
        confidence=f,
        correct=y,
        split=split,
        time=None if when is None else check_time(when, name=label("time", roles.time), rows=rows.row),
        answers=answers_of(rows.frame, roles.answers, roles.choices),
        notes=(
            *roles.notes,
            *rows.notes,
            *((f"{clipped} {words} were up to {CLIP_TOLERANCE} outside [0, 1] and were clipped",) if clipped else ()),
            *of_labels,
            *about_leaks,
            *(() if usual is None else (usual[-1],)),
            *unseen_note(table, roles),
            *stroked_dates(rows.frame, readings),
            *about_split,
        ),
        source={
            **fingerprints(source, table, roles.embeddings, read, matrix),
            "options": _options(columns, roles, left_out, seed),
            "where": columns.where,
            "n_read": rows.n_read,
            "n_dropped": rows.dropped,
            READ_COLUMNS: [replace(one, needed=one.name in roles.features).to_dict() for one in readings],
            **({} if usual is None else {"one_answer": {"answer": usual[0], "n": usual[1]}}),
            **_described(roles, encoder, readings),
        },
        encoder=encoder,
        layout=encoder.layout,
        candidate_groups=candidates,
        kind=roles.kind,
        classes=rows.classes,
        judged=judged,
        **beside,
    )


def _check_names(columns: Columns) -> Columns:
    """Refuse what can be no name of a column, and return lists of names as tuples."""
    if columns.on_invalid not in ("error", "drop"):
        raise InputError(f"on_invalid must be 'error' or 'drop'; got {columns.on_invalid!r}")
    lists = {what: getattr(columns, what) for what in (*_SEVERAL, "leave_out")}
    plain = {what: one if one is None or isinstance(one, str) else split_names(one) for what, one in lists.items()}
    named = {what: name_of(one, what=what) for what in SINGLE if (one := getattr(columns, what)) is not None}
    return replace(columns, **plain, **named)


_SEVERAL = ("features", "metadata", "names_only", "allow_leak")
"""Options that name columns to be used."""


def _offer_columns(table: Source, columns: Columns) -> tuple[Source, tuple[str, ...]]:
    """Take the columns away that are left out, and name them."""
    left_out = match(columns.leave_out, table.columns, {}, what="leave_out") if columns.leave_out else ()
    named = {what: (one,) for what in SINGLE if (one := getattr(columns, what)) not in (AUTO, NO_GROUPS)}
    named |= {what: split_names(getattr(columns, what) or ()) for what in _SEVERAL}
    for what, names in named.items():
        for name in names:
            if name in left_out:
                raise InputError(f"leave_out: {name!r} is named by {argument(what)}, too: take it out of one of them")
    return table.offering([name for name in table.columns if name not in left_out]), left_out


def _unjudged(rows: TableRows, roles: Roles, encoder: Encoder) -> Triples:
    """Read the rows that people have not judged, with the encoder of the others."""
    values = encoder_values(roles, rows.frame, rows.X)
    f = column_of(rows.frame, roles.confidence).to_numpy()
    return Triples(
        X=_transformed(encoder, values) if len(rows.row) else np.zeros((0, encoder.n_features), np.float32),
        confidence=f,
        correct=np.full(len(f), np.nan),
        **_beside(rows, roles),
    )


_OF_CLASSES = {"positive", "labelling_probability", "probabilities", "label", "classes"}
"""Fields that are kept as what they were resolved to, and only where they were named."""


def _options(columns: Columns, roles: Roles, left_out: Sequence[str], seed: int) -> dict[str, Any]:
    """Name the choices made, so that a second reading cannot choose otherwise."""
    pair = dict(zip(vocabulary(roles.kind).columns, (roles.confidence, roles.correct), strict=True))
    from_file = isinstance(roles.embeddings, (str, Path))
    chosen = {
        **(pair if roles.classes is None else roles.classes.options),
        **({} if roles.positive is None else {"positive": roles.positive}),
        **({} if roles.labelling is None else {"labelling_probability": roles.labelling}),
        "embeddings": str(Path(roles.embeddings).resolve()) if from_file else None,
        "features": list(roles.features) or None,
        "metadata": list(roles.metadata),
        "names_only": [name for name in roles.names_only if roles.classes is None or name != roles.classes.predicted],
        "allow_leak": list(roles.allowed),
        "leave_out": list(left_out),
        "group": roles.group or columns.group or NO_GROUPS,
        "text": roles.text if roles.x == "text" else columns.text,
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
        remedy = f"install what made them, or discover again with {argument('embed_model')}"
        raise MismatchError(f"the run's inputs were {before}, but on this machine they would be {now}: {remedy}")
    return triples


# --- rows that can be used ----------------------------------------------------------------------------------------


def _rows(source: Source, roles: Roles, where: str | None) -> TableRows:
    """Read the rows that meet the condition, and say for how many it could not be decided."""
    rows = load_rows(source, roles.columns, roles.embeddings, where)
    if not len(rows.row):
        raise InputError(f"where: {where!r} keeps none of the {rows.n_read} rows; correct it, or leave it out")
    if len(rows.row) == 1:
        raise InputError(f"too few rows: got 1; at least {MIN_FIT_ROWS} are needed, one per prediction")
    if not rows.undecided:
        return rows
    left = f"{counted(rows.undecided, 'row')} {'was' if rows.undecided == 1 else 'were'} left out"
    return rows.noting(f"where: {left}, because the value that decides is missing")


def _valid_rows(rows: TableRows, roles: Roles, *, drop: bool) -> TableRows:
    """Refuse or drop rows whose confidence, outcome, weight or x cannot be used; confidences become numbers."""
    faults, given = RowFaults(rows.row), column_of(rows.frame, roles.correct)
    told = given if roles.positive is not None else without_words(given, roles.kind)
    words = (told.is_null() & given.is_not_null()).to_numpy()
    what = f"no outcomes, such as {value_list(given.filter(words).to_list())}" if words.any() else ""
    remedy = None if roles.kind == ANSWER else f"say which value is one with {argument('positive')}"
    faults.add(f"column {roles.correct!r}", words, what, f"{roles.correct!r} is no outcome", remedy)
    f = confidences(column_of(rows.frame, roles.confidence), roles.labels[0], roles.kind, faults)
    frame = rows.frame.with_columns(told.alias(roles.correct)).with_columns(pl.Series(roles.confidence, f))
    rows = replace(rows, frame=frame)
    for column in filter(None, (roles.correct, roles.weight)):
        bad, missed = missing(column_of(rows.frame, column)), "missing, NaN or infinite"
        faults.add(f"column {column!r}", bad, missed, f"{column!r} is missing")
    return faults.refuse_or_drop(with_inputs(rows, roles, faults), drop=drop)


def _drop_weightless(rows: TableRows, roles: Roles) -> TableRows:
    """Leave out the rows of weight 0, and refuse weights that nothing can be computed with."""
    if roles.weight is None:
        return rows
    name = label("weight", roles.weight)
    values = numbers(rows, roles.weight, "weight")
    remedy = f"correct them, or drop these rows with {argument('where')}"
    refuse_rows(name, ~(values >= 0) | np.isinf(values), "no finite numbers of at least 0", rows.row, remedy)
    kept = check_weight(values, len(values), name=name) > 0
    if values.sum() ** 2 < 2 * (values**2).sum():
        largest, of = f"{values.max():.3g} of {values.sum():.3g}", rows.row[values.argmax()]
        raise InputError(f"{name} gives row {of} nearly all of the weight, {largest}: the others would not count")
    if kept.all():
        return rows
    said = f"{int((~kept).sum()):,} of {len(kept):,} rows were left out: their weight is 0"
    return rows.take(kept).noting(said)


# --- assembly -----------------------------------------------------------------------------------------------------


def _beside(rows: TableRows, roles: Roles) -> dict[str, Any]:
    """Read what triples hold beside x, f and y."""
    groups = roles.grouping and np.array(roles.grouping.values(rows.frame), dtype=object)
    return {
        "weight": None if roles.weight is None else numbers(rows, roles.weight, "weight"),
        "group": None if groups is None else check_group(groups, name=label("group", roles.group), rows=rows.row),
        "text": None if roles.text is None else texts(rows.frame, roles.text),
        "metadata": {name: metadata_of(rows.frame, name) for name in roles.naming},
        "row": rows.row.astype(np.int64),
    }


def _new_encoder(roles: Roles, seed: int, embed_model: str | None) -> Encoder:
    columns = FeatureColumns(roles.features)
    if roles.x == "features":
        return columns
    places = text_encoder(roles.text, model=embed_model, seed=seed) if roles.x == "text" else Embeddings()
    return Combined(places, columns) if roles.features else places


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
        return _some(values, np.flatnonzero(split != "test"))
    if isinstance(values, tuple) and len(values) > SAMPLED_ABOVE:
        order = content_order(np.zeros((len(values), 0)), values)
        chosen = np.random.default_rng((seed, _STREAM)).choice(len(values), SAMPLE_ROWS, replace=False)
        return _some(values, order[chosen])
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


def _some(values: Any, at: np.ndarray) -> Any:
    """Rows to fit on. Nothing is learned from a matrix of embeddings, so it is not copied."""
    if isinstance(values, PlacesAndColumns):
        return PlacesAndColumns(_some(values.places, at), _some(values.columns, at))
    if isinstance(values, np.ndarray):
        return values
    return values[at] if isinstance(values, pl.DataFrame) else [values[i] for i in at]


def _described(roles: Roles, encoder: Encoder, readings: Sequence[ColumnReading]) -> dict[str, Any]:
    """Say what the summary says of the data."""
    coordinates = {one.name for one in readings if one.read_as == COORDINATE}
    path = str(roles.embeddings) if isinstance(roles.embeddings, (str, Path)) else None
    return {
        "columns": {
            "confidence": roles.stated,
            "correct": roles.outcome,
            "positive": roles.positive,
            "x": roles.made_of(path),
            "text": roles.text,
            "metadata": list(roles.naming),
            "names_only": [name for name in roles.naming if name not in roles.features],
            "needed": [
                *roles.probabilities,
                *([roles.text] if roles.x == "text" else []),
                *sorted(roles.features, key=lambda name: name in coordinates),
            ],
            "embeddings": roles.x == "embeddings",
            "split": roles.split,
            "group": roles.group,
            "weight": roles.weight,
            "time": roles.time,
        },
        "x": {"kind": encoder.kind, "names": None if encoder.names is None else list(encoder.names)},
        "x_source": encoder.describe(),
        "n_features": encoder.n_features,
    }
