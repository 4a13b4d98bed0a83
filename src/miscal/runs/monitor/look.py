"""Take one look at new rows: read them, refuse rows that were counted before, and bet."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import InputError, MiscalError
from miscal.base.json_values import clean_text, plain
from miscal.base.threads import one_thread
from miscal.base.vocabulary import vocabulary
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedModel
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions import Frame
from miscal.findings.decisions import Decision
from miscal.findings.residuals import proportion_interval
from miscal.runs.monitor import state as states
from miscal.runs.monitor.alarms import alarms_of
from miscal.runs.monitor.basis import reference_of
from miscal.runs.monitor.bets import Watch
from miscal.runs.monitor.decisions import decisions_of, promises_at_last_look
from miscal.runs.monitor.document import Monitoring
from miscal.runs.monitor.document_numbers import (
    TEN,
    advice_numbers,
    group_numbers,
    line_numbers,
    look_numbers,
    question_numbers,
)
from miscal.runs.monitor.identity import RowKeys, many_alike, order_digest, refuse_counted, repeated
from miscal.runs.monitor.lines import GROUPS, REGIME, WITHIN, Line
from miscal.runs.monitor.membership import frame_of
from miscal.runs.monitor.new_rows import NewLabelled, Read, name_of, read_labelled
from miscal.runs.monitor.plan import plan_of
from miscal.runs.monitor.questions import hidden_tolerance
from miscal.runs.monitor.state import MonitorState
from miscal.runs.monitor.state_schema import Look
from miscal.runs.monitor.wording import Again, verdict, warnings_of

LEAST_RATE = 0.01
"""Rate of unsupported rows that is no drift, whatever the run had. A convention."""

LIBRARIES = ("miscal", "numpy", "scipy", "scikit-learn", "polars")


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look leaves.

    Attributes
    ----------
    state : MonitorState
    document : Monitoring
    """

    state: MonitorState
    document: Monitoring


def look(
    run: RunContent,
    data: Any,
    before: MonitorState | None,
    folder: Path,
    *,
    at: str | None = None,
    tolerance: float | None = None,
    group: str | None = None,
    **options: Any,
) -> Looked:
    """Look at new labelled rows.

    Parameters
    ----------
    run : RunContent
    data : path or table
    before : MonitorState or None
        What earlier looks left; None for the first.
    folder : Path
        Of the monitor, as messages name it.
    at, tolerance, group
        As for :func:`miscal.monitor`.
    **options
        Those of :func:`.new_rows.read_labelled`.

    Returns
    -------
    Looked

    Raises
    ------
    MiscalError
        As :func:`miscal.monitor` says.
    """
    if tolerance is not None and not 0 <= tolerance < 10:
        raise InputError(f"tolerance must be a shift in log-odds of at least 0 and below 10; got {tolerance!r}")
    model = states.fingerprint(run.path)
    if before is not None:
        states.refuse_other(before, model, tolerance, group)
        group = before.group
    else:
        group = group or run.summary.settings.get("source", {}).get("columns", {}).get("group")
    with one_thread():
        by_id = None if before is None else before.by_id
        saved = run.load_model()
        read = read_labelled(run, saved, data, group=group, by_id=by_id, **options)
        rows = read.rows
        frame = frame_of(run, saved, rows)
        if before is None:
            before = _begin(run, saved, rows, frame, model, tolerance, group)
        states.refuse_unfit(before, len(run.summary.findings), rows.X.shape[1])
        keys = RowKeys.of(rows, before.watch.basis)
        refuse_counted(before.looks, before.seen, keys, folder, rows)
        inside = {one.key: _inside(run, one, rows, frame) for one in before.watch.lines if one.kind in WITHIN}
        watch = before.watch.after(rows, inside)
    seen = _seen(read, data, keys.rows, repeated(keys.groups, before.seen.groups), at)
    after = states.extended(before, watch, seen, keys)
    equal = 0 if before.by_id else repeated(keys.rows, before.seen.rows)
    again = Again(equal, many_alike(keys.alike, before.seen.alike), before.by_id)
    return Looked(after, _document(run, after, read, again, decisions_of(run, rows)))


def _begin(
    run: RunContent,
    model: SavedModel,
    rows: NewLabelled,
    frame: Frame,
    digests: tuple[str, ...],
    tolerance: float | None,
    group: str | None,
) -> MonitorState:
    """Fix everything that a monitor keeps: what it watches, what is no change, and how inputs become coordinates."""
    triples, missing = None, None
    try:
        triples = run.triples()
    except MiscalError as error:
        missing = str(error)
    reference = reference_of(triples, missing, rows.X, rows.confidence, run.summary.seed)
    plan = plan_of(
        run, model, triples, reference, frame, unsupported=_unsupported(run), tolerance=tolerance,
        grouped=group is not None,
    )  # fmt: skip
    left = list(plan.left_out)
    if reference.missing is not None:
        left.append(f"inputs: the rows of the run cannot be read ({reference.missing}), so new ones are not compared")
    watch = Watch.begin(SIGNIFICANCE, hidden_tolerance(tolerance), plan, reference)
    said = tuple(clean_text(one) for one in left)
    return MonitorState(digests, group, tolerance, watch, (), said, rows.id is not None, RowKeys.none())


def _unsupported(run: RunContent) -> float:
    """Upper limit of the rate of rows without support in the run: the upper end of its 95 % interval."""
    unsupported = ~run.table["supported"].to_numpy()
    _, upper = proportion_interval(float(unsupported.mean()), len(unsupported), level=0.05)
    # a rate of 1 leaves nothing to bet on
    return min(max(upper, LEAST_RATE), 1 - LEAST_RATE)


def _inside(run: RunContent, one: Line, rows: NewLabelled, frame: Frame) -> np.ndarray:
    if one.kind == REGIME:
        return rows.regime == one.sign
    condition = run.summary.findings[one.place or 0].condition if one.condition is None else one.condition
    lacking = condition.lacks(frame)
    if lacking is not None:
        raise InputError(
            f"the rows of {one.label!r} cannot be told in these data, as they could at the first look: {lacking}; give "
            f"{', '.join(map(repr, condition.columns)) or 'the inputs'} in the same form"
        )
    return condition.rows(frame)


def _seen(read: Read, data: Any, keys: np.ndarray, returning: int, at: str | None) -> Look:
    rows = read.rows
    return Look(
        source=clean_text(name_of(data)),
        at=None if at is None else clean_text(at),
        rows=len(rows),
        units=rows.units,
        dropped=read.dropped,
        ordered=order_digest(keys),
        content=order_digest(np.sort(keys)),
        accuracy=float(rows.correct.mean()),
        confidence=float(rows.confidence.mean()),
        corrected=float(rows.corrected.mean()),
        brier_raw=float(np.mean((rows.correct - rows.confidence) ** 2)),
        brier_corrected=float(np.mean((rows.correct - rows.corrected) ** 2)),
        unsupported=float(np.mean(~rows.supported)),
        returning=returning,
    )


def _document(
    run: RunContent, state: MonitorState, read: Read, again: Again, decisions: tuple[Decision, ...]
) -> Monitoring:
    watch = state.watch
    looks = tuple(look_numbers(place, one, watch) for place, one in enumerate(state.looks, start=1))
    asked = tuple(question_numbers(one, watch) for one in watch.questions)
    groups = tuple(group_numbers(run, one) for one in watch.lines if one.kind in GROUPS)
    rows = sum(one.rows for one in looks)
    mean = lambda name: sum(one.rows * getattr(one, name) for one in looks) / rows  # noqa: E731
    used = any(one.kind == "inputs" for one in watch.questions) and len(watch.reference) == 0
    alarms, advice = alarms_of(watch), advice_numbers(watch, rows)
    words, epsilon = vocabulary(run.summary.kind), run.summary.settings.get("epsilon")
    return Monitoring(
        kind=run.summary.kind,
        epsilon=epsilon,
        run=clean_text(run.path.resolve().name),
        alpha=watch.alpha,
        group=None if state.group is None else clean_text(state.group),
        alarm=watch.crossed is not None,
        raised=watch.crossed,
        evidence=tuple(value / TEN for value in watch.course),
        line=watch.log_line / TEN,
        alarms=alarms,
        advice=advice,
        verdict=(*verdict(looks, asked, groups, alarms, advice, words), *promises_at_last_look(decisions, words)),
        rows=rows,
        **{name: mean(name) for name in ("accuracy", "confidence", "corrected", "brier_raw", "brier_corrected")},
        looks=looks,
        questions=asked,
        lines=tuple(line_numbers(one, watch) for one in watch.lines),
        groups=groups,
        decisions=decisions,
        left_out=state.left_out,
        warnings=tuple(clean_text(one) for one in warnings_of(read.notes, looks[-1], again, state.group, used, words)),
        columns=plain(read.columns),
        versions={name: metadata.version(name) for name in LIBRARIES},
    )
