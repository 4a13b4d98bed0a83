"""The correction of a finished run that can be read: one map, and one shift for each finding that columns name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.scores import log_losses
from miscal.calibration.survey_design import average
from miscal.data.counting import Cut, Member
from miscal.data.relations import DATE, NUMBER, TEXT
from miscal.discovery.run import RunContent
from miscal.findings.conditions import (
    AnyOf,
    Both,
    Condition,
    Frame,
    Levels,
    Missing,
    NoneOf,
    Period,
    Span,
    Trend,
    Value,
)
from miscal.findings.conditions.condition import seconds
from miscal.findings.ledger.blocks import Split
from miscal.findings.ledger.groups import frame_of_rows
from miscal.runs.scan.correction import ScanCorrection, Shifted, fit_correction


@dataclass(frozen=True)
class ReadableCorrection:
    """A correction that can be read, beside the full one of the same run.

    Attributes
    ----------
    correction : ScanCorrection
        Its log losses are on held-out folds of the evaluation rows.
    probability : str
        The column that it corrects.
    log_loss_full : float
        Of the corrected probabilities of the run, on the same rows.
    left_out : tuple of str
        Findings that no condition on columns names, and why.
    """

    correction: ScanCorrection
    probability: str
    log_loss_full: float
    left_out: tuple[str, ...]


def readable_correction(run: RunContent) -> ReadableCorrection:
    """Fit map and shifts on the evaluation rows of a run."""
    probability = run.summary.data.columns.confidence
    if probability is None or run.summary.classes is not None or run.load_model().scale is not None:
        raise InputError(f"{run.name}: an expression needs a column of probabilities in [0, 1]; this run has none")
    triples, table, model = run.triples(), run.table, run.load_model()
    values = {
        name: table[name].cast(float).to_numpy() for name in ("confidence", "correct", "corrected", "visible", "hidden")
    }
    data = run.data()
    able = set(data.columns)
    named = able & {name for one in run.summary.findings for name in one.condition.columns}
    # the table of a run holds truths as texts, which engines write otherwise
    truths = {one.name for one in data.load(sorted(named)) if one.dtype == pl.Boolean}
    shown = np.flatnonzero(run.evaluated.to_numpy() & np.isfinite(values["corrected"]))
    own = triples.take(np.searchsorted(triples.row, table["row"].to_numpy()[shown]))
    frame = frame_of_rows(own.metadata, own.X, model.encoder)
    expected = np.clip(values["confidence"] + np.nan_to_num(values["visible"]), 0.0, 1.0)[shown]
    rows = LabelledRows.of(
        values["correct"][shown], values["confidence"][shown], expected, group=own.group, weight=own.weight
    )
    shifted, left_out = [], []
    for number, one in enumerate(run.summary.findings, start=1):
        found = None if set(one.condition.columns) - able else _shifted(number, one.condition, one.effect, frame)
        if found is None:
            left_out.append(f"{one.description}: no condition on columns of the table")
            continue
        cuts = tuple(replace(cut, truth=cut.column in truths) for cut in found.member.cuts)
        member = replace(found.member, cuts=cuts)
        shifted.append(replace(found, member=member, fewer=effect_of_mean(rows, found.split.inside)))
    correction, _ = fit_correction(rows, shifted, effect_of_mean(rows, np.ones(len(rows), bool)))
    full = average(log_losses(rows.correct, values["corrected"][shown]), rows.weight)
    return ReadableCorrection(correction, probability, full, tuple(left_out))


def _shifted(number: int, condition: Condition, effect: str, frame: Frame) -> Shifted | None:
    """Return a finding by cells of columns; None where it has none."""
    if condition.lacks(frame) is not None:
        return None
    inside = condition.rows(frame)
    if isinstance(condition, Trend):
        ends = [seconds(end) if isinstance(end, str) else end for end in (condition.lower, condition.upper)]
        edges = tuple(dict.fromkeys(ends))
        cut = Cut(condition.column, DATE if isinstance(condition.upper, str) else NUMBER, edges=edges)
        lower = condition.lower_end.rows(frame)
        scores = (-0.5, 0.0, 0.5) if len(edges) == 2 else (-0.5, 0.5)
        tested = 0.5 * inside - 0.5 * (lower & ~inside)
        return Shifted(number, Member((_timed(cut, frame),), (), apart=True), Split(inside, tested), effect, scores)
    member = _member(condition, frame)
    return None if member is None else Shifted(number, member, Split(inside, inside.astype(np.float64)), effect)


def _member(condition: Condition, frame: Frame) -> Member | None:
    if isinstance(condition, NoneOf):
        inner = _member(AnyOf(condition.conditions), frame)
        return None if inner is None else replace(inner, others=not inner.others)
    if isinstance(condition, Both):
        parts = [_one_column(one, frame) for one in condition.conditions]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return Member(tuple(cut for cut, _ in known), tuple(product(*(cells for _, cells in known))))
    found = _one_column(condition, frame)
    return None if found is None else Member((found[0],), tuple((cell,) for cell in found[1]))


def _one_column(condition: Condition, frame: Frame) -> tuple[Cut, Sequence[int]] | None:
    """Cut the column of a condition so that some of its cells are what it says."""
    if isinstance(condition, AnyOf):
        return _any_of(condition.conditions, frame)
    if isinstance(condition, Value) and condition.of != "date":
        return Cut(condition.column, condition.of, (condition.value,)), [0]
    if isinstance(condition, Levels) and frame.numbers(condition.column)[0] is None:
        return Cut(condition.column, TEXT, condition.values), range(len(condition.values))
    if isinstance(condition, Missing):
        numbers, dates = frame.numbers(condition.column)
        return Cut(condition.column, DATE if dates else NUMBER if numbers is not None else TEXT), [1]
    if isinstance(condition, (Span, Period)):
        span = isinstance(condition, Span)
        low, high = (condition.low, condition.high) if span else (condition.start, condition.stop)
        edges = tuple(end if span else seconds(end) for end in (low, high) if end is not None)
        cut = Cut(condition.column, NUMBER if span else DATE, edges=edges)
        return _timed(cut, frame), [0 if low is None else 1]
    return None


def _any_of(conditions: Sequence[Condition], frame: Frame) -> tuple[Cut, Sequence[int]] | None:
    """Put values of one column together."""
    parts = [_one_column(one, frame) for one in conditions]
    known = [part for part in parts if part is not None]
    names = {(cut.column, cut.kind) for cut, _ in known}
    if len(known) < len(parts) or len(names) > 1:
        return None
    if len(known) == 1:
        return known[0]
    if any(cut.edges or (not cut.values and list(cells) != [1]) for cut, cells in known):
        return None
    values: list[Any] = list(dict.fromkeys(value for cut, _ in known for value in cut.values))
    blank = any(not cut.values for cut, _ in known)
    return replace(known[0][0], values=tuple(values)), range(len(values) + blank)


def _timed(cut: Cut, frame: Frame) -> Cut:
    """Say whether dates have times of day."""
    days = cut.kind == DATE and all(edge % 86_400 == 0 for edge in cut.edges)
    values = frame.columns[cut.column]
    return replace(cut, timed=cut.kind == DATE and not (days and values.dtype == "datetime64[D]"))
