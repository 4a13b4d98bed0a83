"""Choose the columns that inputs are made of, and leave out those that say nothing of a row or tell its outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from miscal.base.arrays import column_of
from miscal.data.column_reading import COORDINATE, FEATURES, METADATA, NAMES_ONLY, ColumnReading
from miscal.data.encoders.features import embedding_columns
from miscal.data.readers.candidate_groups import candidate_groups, names_identity
from miscal.data.readers.column_readings import KEY, LEAKS, LIST, read_columns, used
from miscal.data.readers.leaks import equal_pairs, leaks, leaks_together
from miscal.data.readers.roles import Roles
from miscal.data.readers.rows import TableRows, XSource

ROWS_OF_A_LEVEL = 10
"""Rows that each right answer has on average where another column is taken for the same in other words."""


def with_readings(
    frame: pl.DataFrame, inputs: XSource, roles: Roles, text: str | None, allowed: Sequence[str]
) -> tuple[XSource, tuple[ColumnReading, ...], Roles]:
    """Say what every column is read as, and what x is made of: the columns that say of what kind a row is."""
    names = dict.fromkeys((*inputs.features, *roles.naming))
    readings = read_columns(frame, list(names), chosen={*inputs.chosen, *(roles.names_only if roles.named else ())})
    if not roles.named:
        lists = [name for name in roles.naming if column_of(frame, name).dtype.is_nested()]
        readings = tuple(replace(one, left_out=LIST) if one.name in lists else one for one in readings)
        roles = roles.without([one.name for one in readings if one.left_out is not None])
    asked = {*inputs.chosen, *(roles.naming if roles.named else ()), *allowed}
    keys = {one.name for one in readings if one.name not in asked and _is_key(one, frame, roles)}
    readings = tuple(replace(one, left_out=KEY) if one.name in keys else one for one in readings)
    roles = roles.without(keys)
    readings = tuple(replace(one, role=_role_in(one, roles)) for one in readings)
    named = [one for one in readings if one.name in inputs.features]
    features = used(named, needed=inputs.kind == "features" and text is None)
    # texts that a person names are seen, too, unless an embedding is there
    of_text = text is not None and inputs.kind == "features" and not embedding_columns(frame, features)
    return replace(inputs, features=features, kind="text" if of_text else inputs.kind), readings, roles


def _is_key(reading: ColumnReading, frame: pl.DataFrame, roles: Roles) -> bool:
    """Whether a column that could be an input holds the right answers, or one value for each of them."""
    if reading.left_out is not None or reading.name in roles.answers.keys:
        return reading.left_out is None
    for key in (column_of(frame, name) for name in roles.answers.keys if name in frame.columns):
        if 1 < reading.levels == key.drop_nulls().n_unique() <= len(frame) / ROWS_OF_A_LEVEL:
            pairs = pl.DataFrame({"key": key, "other": column_of(frame, reading.name)}).drop_nulls()
            if len(pairs) and pairs.n_unique() == reading.levels:
                return True
    return False


def _role_in(reading: ColumnReading, roles: Roles) -> str:
    # what is no input can still name what is found, where a person named it for that
    unseen = reading.left_out is not None and roles.named
    if reading.name in roles.names_only or (reading.name in roles.metadata and unseen):
        return NAMES_ONLY
    return METADATA if reading.name in roles.metadata else FEATURES


def without_leaks(
    rows: TableRows,
    f: np.ndarray,
    y: np.ndarray,
    readings: Sequence[ColumnReading],
    inputs: XSource,
    roles: Roles,
    allowed: Sequence[str],
    seed: int,
) -> tuple[tuple[ColumnReading, ...], XSource, Roles]:
    """Leave columns out that tell the outcome as only what comes after it; evaluation rows by a split have no say."""
    teaching = np.full(len(y), True)
    if roles.split is not None:
        teaching = column_of(rows.frame, roles.split).cast(str).ne_missing("test").to_numpy()
    frame, known = rows.frame.filter(teaching), (y[teaching], f[teaching])
    part = {*inputs.features, *roles.naming}
    asked = [one for one in readings if one.name in part.difference(allowed)]
    found = leaks(frame, [one.name for one in asked], *known, seed, units=partial(_units, frame, roles))
    predicted = () if roles.classes is None else (roles.classes.predicted,)
    left = [*(one.name for one in readings if one.name in part.difference(found)), *predicted]
    # of an answer and its key, the key goes; what equals the class predicted where that is right, is the label
    pairs = equal_pairs(frame, left, *known, seed)
    keys = {_key(pair, roles, (*allowed, *predicted)): (pair, area) for pair, area in pairs.items()}
    others = [one.name for one in asked if one.name not in {*found, *keys} and one.read_as != COORDINATE]
    found |= leaks_together(frame, others, *known, seed)
    alone = {
        one.name: replace(one, left_out=LEAKS[leak.by], leak=leak.value, leak_by=leak.by)
        for one in readings
        if (leak := found.get(one.name)) is not None
    }
    marked = tuple(alone.get(one.name) or _marked(one, keys) for one in readings)
    gone = {*found, *(name for name in keys if name is not None)}
    features = tuple(name for name in inputs.features if name not in gone)
    if inputs.kind == "features" and not features:
        used(marked)
    return marked, replace(inputs, features=features), roles.without(gone)


def _units(frame: pl.DataFrame, roles: Roles) -> Iterator[np.ndarray]:
    """Yield what rows may be counted by: the group named, the days of dates, what looks like an identity."""
    if roles.grouping is not None:
        yield np.unique([str(value) for value in roles.grouping.values(frame)], return_inverse=True)[1]
    played = {*roles.probabilities, roles.correct, roles.outcome}
    # numbers that repeat mostly measure something, unless their name says whose they are
    names = [n for n in frame.columns if n not in played and (names_identity(n) or not frame[n].dtype.is_numeric())]
    yield from (unit for one, unit in candidate_groups(frame, names).items() if one.period in (None, "day"))


def _key(pair: tuple[str, str], roles: Roles, allowed: Sequence[str]) -> str | None:
    """Return which of two columns holds the right answer: the one called so, else the second that is not allowed."""
    asked = [name for name in pair if name not in allowed]
    return roles.answers.right if roles.answers.right in asked else next(reversed(asked), None)


def _marked(one: ColumnReading, keys: dict) -> ColumnReading:
    if one.name not in keys:
        return one
    pair, area = keys[one.name]
    (other,) = (name for name in pair if name != one.name)
    return replace(
        one,
        left_out=f"whether it equals {other!r} tells the outcome nearly perfectly",
        leak=area,
        leak_by="equality",
        leak_with=other,
    )
