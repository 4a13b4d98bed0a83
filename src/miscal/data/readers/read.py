"""Read a file or a table into triples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from miscal.base.arrays import column_of
from miscal.base.checks import (
    check_seed,
)
from miscal.base.errors import InputError, MismatchError, argument
from miscal.base.folds import content_order
from miscal.base.precision import JUDGED_ROWS, narrowed
from miscal.base.randomness import global_random_kept
from miscal.base.signatures import checked_call
from miscal.base.vocabulary import ANSWER, JUDGE, Kind, vocabulary
from miscal.data.column_reading import COORDINATE
from miscal.data.encoders import Combined, Embeddings, Encoder, FeatureColumns, PlacesAndColumns, text_encoder
from miscal.data.judged import JudgeReading, UnjudgedRows
from miscal.data.mapped import LARGE_BYTES, in_blocks
from miscal.data.readers.answers import answers_of, one_answer_note
from miscal.data.readers.candidate_groups import candidates_of
from miscal.data.readers.chosen_columns import with_readings, without_leaks
from miscal.data.readers.class_columns import find_classes, probabilities_of, with_top_label
from miscal.data.readers.column_readings import KEY, READ_COLUMNS, stroked_dates
from miscal.data.readers.columns import find, left_out_of, name_of, refuse_told, split_names
from miscal.data.readers.computed_columns import given_columns, with_computed
from miscal.data.readers.grouping import NO_GROUPS, groups_of, times_of
from miscal.data.readers.judge_columns import ReadJudge, read_judge, with_judge_columns
from miscal.data.readers.outcomes import Asked, outcomes
from miscal.data.readers.provenance import fingerprints, refuse_changed
from miscal.data.readers.registry import open_table
from miscal.data.readers.roles import Roles, roles_of, with_naming
from miscal.data.readers.rows import (
    AUTO,
    TableRows,
    XSource,
    choose_inputs,
    choose_rows,
    confidences,
    encoder_values,
    label,
    metadata_of,
    numbers,
    refuse_repeated,
    texts,
    unseen_note,
)
from miscal.data.readers.valid_rows import valid_rows, weighed
from miscal.data.sampling import SAMPLE_ROWS, SAMPLED_ABOVE
from miscal.data.splits import check_trainable, straddling_inputs
from miscal.data.triples import Triples, check_split

# stream of the texts that an encoder is fitted on
_STREAM = 61


@checked_call
@global_random_kept()
def read_triples(
    source: Any,
    *,
    confidence: str | None = None,
    correct: str | None = None,
    probability: str | None = None,
    event: str | None = None,
    positive: Any = None,
    judge: str | None = None,
    human: str | None = None,
    labelling_probability: str | None = None,
    kind: Kind | None = None,
    probabilities: Any = None,
    label: str | None = None,
    classes: Any = None,
    embeddings: Any = None,
    embedding_rows: str | None = None,
    features: str | float | Sequence[str | float] | None = None,
    text: str | None = None,
    metadata: str | float | Sequence[str | float] = (),
    names_only: str | float | Sequence[str | float] = (),
    split: str | None = None,
    group: str | None = AUTO,
    weight: str | None = None,
    time: str | None = None,
    where: str | None = None,
    allow_leak: str | float | Sequence[str | float] = (),
    leave_out: str | float | Sequence[str | float] = (),
    on_invalid: Literal["error", "drop"] = "error",
    encoding: str = "utf-8",
    csv_escape: str | None = None,
    seed: int = 0,
    embed_model: str | None = None,
) -> Triples:
    """Read triples from a file, folder or table.

    Parameters
    ----------
    source : path or table
        .parquet, .csv, .tsv or .jsonl; a folder written by ``miscal score``, or by ``datasets.save_to_disk``; a
        pandas, polars or pyarrow frame; a dictionary of arrays, e.g. ``{"confidence": f, "correct": y}``.
    confidence, correct : str, optional
        Columns of the confidence, in [0, 1], and the outcome, 0/1. By default the columns so called, or the only
        one with a usual synonym for name; what was taken is in ``source["columns"]`` and in the notes.
    probability, event : str, optional
        The same two columns where the probability is not that an answer is right, but that an event happens: a delay, a
        default, a readmission. One of them is enough to say so; the other is then found by its name.
    positive : optional
        The value of the event's column that is the event, or the verdict by which people approve. Not needed where the
        column holds 0/1, false/true or no/yes.
    judge, human : str, optional
        The same two columns where a judge scores answers (a probability; a scale such as 1 to 5; pass or fail), and
        people approve or reject some of them. A row without a verdict of people is not learned from; it says how often
        people would approve. By default `metadata` is then "auto", and the lengths of texts are columns, too.
    labelling_probability : str, optional
        Beside a judge: a column of the probability by which each row was chosen for people to judge, above 0 and up to
        1; needed where they differ.
    kind : {"answer", "event", "judge"}, optional
        What the probability is of. By default that of the columns named, and an answer where none is.
    probabilities : str, sequence of str, path or array of shape (n, K), optional
        The probabilities of three or more classes, which sum to 1 in each row, or their natural logarithms: columns by
        name or pattern, or a matrix (.npy or .safetensors), a row for each row of `source`, in its order. Confidence
        and outcome are then those of the top label. Columns of probabilities are no inputs.
    label : str, optional
        Column of the class that each row has. By default the column so called, or the only one with a usual synonym.
    classes : path, str or sequence, optional
        Names of the classes in the order of the probabilities, as the labels write them: a file with one on each line,
        or a list. Needed of a matrix; of columns they are by default what a pattern leaves open.
    embeddings : path or array of shape (n, d), optional
        x: a .npy or .safetensors file (tensor ``x``) or an array, one row per row of `source`, in its order.
    embedding_rows : str, optional
        A column of row numbers, from 0: which row of `embeddings` belongs to each row of `source`. Several may share
        one. By default they lie in the order of `source`.
    features : str or sequence of str, optional
        x: columns by name or pattern, comma-separated, each of which must match; or "auto": every column that plays no
        other part. A pattern passes over the columns that play another part (id, weight, group, split, confidence,
        correct, text, metadata). They may stand beside embeddings or texts.
    text : str, optional
        The column of texts, which are shown in reports. They become x, beside the columns named, unless there are
        embeddings, as a file or among the features.
    metadata : str or sequence of str
        Columns that name and colour what is found. They are part of x, as features are, and new rows must have them;
        "auto" takes every column that plays no other part.
    names_only : str or sequence of str
        Columns that name what is found but are no part of x, because new rows will not have them.
    split : str, optional
        A column of train / val / test, used as it is. By default rows have no split.
    group : str, default "auto"
        What is counted once, and stays together in every split and fold. "auto": a discovery finds it: equal inputs,
        near copies, and the column that widens intervals most. A column: its equal values; of dates, "seen:day" means
        its days ("hour", "week", "month" and "year" likewise), and the column may still be an input. "none": each row.
    weight : str, optional
        A column of numbers >= 0: for how many rows each row stands, up to a common factor. Rows of weight 0 are left
        out and counted in the notes.
    time : str, optional
        A column of dates, or of numbers that rise with time: when each row was predicted. It names what is found, and
        is no input unless `features` names it.
    where : str, optional
        A condition on rows, e.g. ``"model == 'gpt-4o' and n > 3"``.
    allow_leak : str or sequence of str
        Columns that are used although they tell the outcome as only what comes after it, because they are known before
        it. Others that do are part of nothing: neither inputs, nor names of what is found.
    leave_out : str or sequence of str
        Columns by name or pattern that "auto" and other patterns pass over. A condition on rows may still use them.
    on_invalid : {"error", "drop"}
        Whether rows with missing, NaN or infinite values, or a confidence outside [0, 1], are refused or dropped
        and counted in the notes.
    encoding : str, default "utf-8"
        Of text files.
    csv_escape : str, optional
        Of csv and tsv files: the character that stands before a quotation mark inside a quoted field, usually a
        backslash. By default such a mark is doubled, and a mark that stands anywhere else is refused.
    seed : int, default 0
        Of the text encoder.
    embed_model : str, optional
        "tfidf", or the folder or hub id of a sentence-transformers model. By default a model found on this machine,
        else TF-IDF.

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
    if on_invalid not in ("error", "drop"):
        raise InputError(f"on_invalid must be 'error' or 'drop'; got {on_invalid!r}")
    check_seed(seed)
    features = features if features is None or isinstance(features, str) else split_names(features)
    metadata, names_only, allow_leak, leave_out = (
        one if isinstance(one, str) else split_names(one) for one in (metadata, names_only, allow_leak, leave_out)
    )
    table = open_table(source, encoding=encoding, csv_escape=csv_escape)
    own = table.columns
    named = {"confidence": confidence, "correct": correct, "probability": probability, "event": event}
    parts = {
        "judge": judge, "human": human, "labelling_probability": labelling_probability, "label": label, "text": text,
        "embedding_rows": embedding_rows, "split": split, "group": group, "weight": weight, "time": time,
    }  # fmt: skip
    for what, one in (named | parts).items():
        if one is not None:
            name_of(one, what=what)
    asked = Asked.of(**named, judge=judge, human=human, positive=positive, kind=kind)
    chosen = {"features": features, "metadata": metadata, "names_only": names_only, "allow_leak": allow_leak}
    table = with_computed(table, [one for names in chosen.values() for one in split_names(names or ())])
    left_out = left_out_of(leave_out, table.columns, named | parts, chosen)
    table = replace(table, columns=tuple(name for name in table.columns if name not in left_out))
    several = find_classes(table, probabilities, label, classes)
    if several is not None:
        asked.refuse_beside("probabilities")
    named_group = None if group in (None, AUTO, NO_GROUPS) and group not in table.columns else group
    roles = roles_of(table, asked, split, named_group, weight, time, several, labelling_probability)
    if roles.kind == JUDGE:
        table = with_judge_columns(table, roles)
        metadata = AUTO if not metadata and features is None else metadata
    roles = with_naming(roles, table, metadata, names_only, features, text, embedding_rows)
    given = {"embeddings": embeddings, "features": features, "text": text, "rows": embedding_rows}
    inputs = choose_inputs(table, **given, metadata=roles.metadata, reserved=roles.reserved)
    for part, column in {"text": inputs.text, "embedding_rows": inputs.rows}.items():
        refuse_told(part, [column], roles.outcome, roles.probabilities)
    roles.refuse_as_inputs(inputs.features)
    every = tuple(dict.fromkeys([*table.columns, *left_out]))
    rows = choose_rows(replace(table, columns=every), roles.columns, inputs, where)
    scored = read_judge(rows, roles, positive, drop=on_invalid == "drop") if roles.kind == JUDGE else None
    rows = rows if scored is None else scored.rows
    allowed = tuple(find(name, table.columns, what="allow_leak") for name in split_names(allow_leak))
    inputs, readings, roles = with_readings(rows.frame, inputs, roles, text, allowed)
    if roles.id is not None and roles.id != roles.group:
        refuse_repeated(rows, roles.id)
    read, of_classes = given_columns(rows.frame.columns, own), ()
    if several is not None:
        rows, of_classes = with_top_label(rows, several, drop=on_invalid == "drop")
        roles = replace(roles, names_only=(*roles.names_only, several.predicted))
    rows, notes = valid_rows(rows, roles, inputs, drop=on_invalid == "drop")
    rows, weights, about_weights = weighed(rows, roles)
    f, clipped = confidences(rows, roles.confidence, roles.kind)
    y, of_labels = outcomes(
        column_of(rows.frame, roles.correct), roles.kind, positive=positive, name=roles.labels[1], rows=rows.row
    )
    readings, inputs, roles = without_leaks(rows, f, y, readings, inputs, roles, allowed, seed)
    options = _options(roles, inputs) | {
        "allow_leak": list(allowed), "leave_out": list(left_out), "group": roles.group or group or NO_GROUPS,
        "text": inputs.text if inputs.kind == "text" else text, "where": where, "on_invalid": on_invalid,
        "encoding": encoding, "csv_escape": csv_escape, "seed": seed, "embed_model": embed_model,
    }  # fmt: skip
    made = fingerprints(source, table, inputs, read, None if several is None else several.matrix) | {
        "options": options,
        "where": where,
    }
    made |= {READ_COLUMNS: [replace(one, needed=one.name in inputs.features).to_dict() for one in readings]}
    unseen = unseen_note(table, inputs, {*roles.reserved, *roles.naming, *roles.answers.keys, inputs.text, inputs.rows})
    notes = (
        *of_classes,
        *(scored.notes if scored is not None else ()),
        *notes,
        *about_weights,
        *clipped,
        *of_labels,
        *(one_answer_note(rows.frame, roles.answers, y) if roles.kind == ANSWER else ()),
        *unseen,
        *stroked_dates(rows.frame, readings),
    )
    triples = _assembled(rows, f, y, roles, inputs, notes, made, seed, embed_model, weights)
    columns = triples.source["columns"]
    columns["needed"] = list(given_columns(columns["needed"], own))
    seen = {*inputs.features, *roles.naming}
    known_later = [one.name for one in readings if one.leak is not None or one.left_out == KEY]
    passed_over = {*roles.reserved.keys() - seen, inputs.text, *roles.answers.keys, *known_later}
    candidates = None
    if roles.grouping is None and group not in (None, NO_GROUPS):
        candidates = candidates_of(table, rows, triples, passed_over, seed)
    judged = None if scored is None else _judged(scored, roles, inputs, triples.encoder, drop=on_invalid == "drop")
    return replace(triples, candidate_groups=candidates, judged=judged)


def _judged(scored: ReadJudge, roles: Roles, inputs: XSource, encoder: Encoder, *, drop: bool) -> JudgeReading:
    """Read the rows that people have not judged, with the encoder of the others."""
    rows = scored.unjudged
    if len(rows.row):
        # they have no outcome that could be missing
        rows, _ = valid_rows(rows, replace(roles, correct=roles.confidence), inputs, drop=drop)
    values = encoder_values(inputs, rows.frame, rows.X)
    unjudged = UnjudgedRows(
        X=_transformed(encoder, values) if len(rows.row) else np.zeros((0, encoder.n_features), np.float32),
        confidence=numbers(rows, roles.confidence, roles.labels[0]),
        row=rows.row.astype(np.int64),
        metadata={name: metadata_of(rows, name) for name in roles.naming},
        text=None if inputs.text is None else texts(rows, inputs.text),
        group=None if roles.grouping is None else groups_of(rows, roles.grouping),
        weight=None if roles.weight is None else numbers(rows, roles.weight, label("weight", roles.weight)),
    )
    return JudgeReading(scored.scale, unjudged, scored.labelling)


def _options(roles: Roles, inputs: XSource) -> dict[str, Any]:
    """Name the choices made, so that a second reading cannot choose otherwise."""
    from_file = isinstance(inputs.embeddings, (str, Path))
    return {
        **(_of_pair(roles) if roles.classes is None else roles.classes.options),
        **({} if roles.positive is None else {"positive": roles.positive}),
        **({} if roles.labelling is None else {"labelling_probability": roles.labelling}),
        "embeddings": str(Path(inputs.embeddings).resolve()) if from_file else None,
        "embedding_rows": inputs.rows,
        "features": list(inputs.features) or None,
        "metadata": list(roles.metadata),
        "names_only": [name for name in roles.names_only if roles.classes is None or name != roles.classes.predicted],
        "split": roles.split,
        "weight": roles.weight,
        "time": roles.time,
    }


def _of_pair(roles: Roles) -> dict[str, Any]:
    return dict(zip(vocabulary(roles.kind).columns, (roles.confidence, roles.correct), strict=True))


def options_of(source: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which the rows of a run are read again.

    Examples
    --------
    >>> options_of({"options": {"metadata": ["topic"]}})
    {'metadata': [], 'names_only': ['topic']}
    """
    options = source["options"]
    # in runs of earlier versions, metadata only named what was found
    return options if "names_only" in options else options | {"metadata": [], "names_only": options["metadata"]}


def reread(source: dict[str, Any], **changed: Any) -> Triples:
    """Read the rows of a run again, from its ``Triples.source``.

    Parameters
    ----------
    source : dict
        As :func:`miscal.data.readers.provenance.found_in` returns it.
    **changed
        Options of :func:`read_triples` that are to be others than in the run.

    Raises
    ------
    InputError
        If the rows were given in memory and are not kept.
    FileError, MismatchError
        If a file is gone or has changed, or what makes inputs of text is another here.
    """
    refuse_changed(source)
    triples = read_triples(source["path"], **options_of(source) | changed)
    before, now = source.get("x_source"), triples.source["x_source"]
    if before != now and not changed:
        raise MismatchError(
            f"the run's inputs were {before}, but on this machine they would be {now}: install what made them, "
            f"or discover again with {argument('embed_model')}"
        )
    return triples


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
    weights: np.ndarray | None,
) -> Triples:
    group = None if roles.grouping is None else groups_of(rows, roles.grouping)
    values = encoder_values(inputs, rows.frame, rows.X)
    encoder = _new_encoder(inputs, seed, embed_model)
    split, about_split = _split(rows, roles, encoder, values)
    check_trainable(y, split, roles.kind, group)
    encoder.fit(_learned_from(values, split, seed))
    return Triples(
        X=_transformed(encoder, values),
        confidence=f,
        correct=y,
        weight=weights,
        group=group,
        split=split,
        text=None if inputs.text is None else texts(rows, inputs.text),
        metadata={name: metadata_of(rows, name) for name in roles.naming},
        time=None if roles.time is None else times_of(rows, roles.time),
        answers=answers_of(rows.frame, roles.answers),
        row=rows.row.astype(np.int64),
        notes=(*roles.notes, *rows.notes, *notes, *about_split),
        source=source | {"n_read": rows.n_read} | _described(roles, inputs, encoder, source[READ_COLUMNS]),
        encoder=encoder,
        layout=encoder.layout,
        kind=roles.kind,
        classes=None if roles.classes is None else probabilities_of(rows, roles.classes),
    )


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
