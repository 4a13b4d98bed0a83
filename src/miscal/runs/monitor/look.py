"""Take one look at new rows: read them, refuse rows that were counted before, and bet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import InputError, MiscalError
from miscal.base.json_values import clean_text, plain
from miscal.base.threads import one_thread
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedModel
from miscal.discovery.summary import Measure
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions import Frame
from miscal.runs.monitor import state as states
from miscal.runs.monitor.document import LookNumbers, Monitoring, QuestionNumbers, RowsOfLooks
from miscal.runs.monitor.identity import RowKeys, many_alike, order_digest, refuse_counted, repeated
from miscal.runs.monitor.known_rows import known_rows
from miscal.runs.monitor.membership import frame_of
from miscal.runs.monitor.new_rows import NewLabelled, Read, name_of, read_labelled
from miscal.runs.monitor.questions import BROKEN, COLUMNS, FINDING, GAIN, MEANS, WHOLE, Question, questions_of
from miscal.runs.monitor.state import MonitorState
from miscal.runs.monitor.state_schema import Grid, Look
from miscal.runs.monitor.wording import Again, verdict, warnings_of

BY_ROWS = "none"
"""Group of a monitor that counts rows although the run counts units."""
EQUAL_INPUTS = ("equal inputs", "near copies")
"""What a run counts by where rows of equal inputs are one unit among new rows too."""

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
    if tolerance is not None and not 0 <= tolerance < 1:
        raise InputError(f"tolerance must be a difference of rates of at least 0 and below 1; got {tolerance!r}")
    model = states.fingerprint(run.path)
    if before is not None:
        states.refuse_other(before, model, tolerance, group)
        group = before.group
    else:
        group = group or run.summary.settings.get("source", {}).get("columns", {}).get("group")
    units = run.summary.units
    equal = group is None and units is not None and units.source in EQUAL_INPUTS
    with one_thread():
        by_id = None if before is None else before.by_id
        saved = run.load_model()
        grouped = None if group == BY_ROWS else group
        alone = units is not None and units.source == "column" and group == units.column
        units_of = {"group": grouped, "equal_inputs": equal, "blanks_alone": alone}
        read = read_labelled(run, saved, data, by_id=by_id, **units_of, **options)
        rows = read.rows
        frame = frame_of(run, saved, rows)
        if before is None:
            before = _begin(run, saved, rows, frame, model, tolerance, group)
        states.refuse_unfit(before, len(run.summary.findings), rows.X.shape[1])
        keys = RowKeys.of(rows, before.grid)
        refuse_counted(before.looks, before.seen, keys, folder, rows)
        asked = tuple(one.after(rows, _inside(run, one, frame)) for one in before.questions)
    seen = _seen(read, data, keys.rows, repeated(keys.groups, before.seen.groups), at)
    after = replace(before, questions=asked, looks=(*before.looks, seen), seen=before.seen.joined(keys))
    alike = 0 if before.by_id else repeated(keys.rows, before.seen.rows)
    again = Again(alike, many_alike(keys.alike, before.seen.alike), before.by_id)
    return Looked(after, _document(run, after, read, again, unit=grouped or ("input" if equal else "row")))


def _begin(
    run: RunContent,
    model: SavedModel,
    rows: NewLabelled,
    frame: Frame,
    digests: tuple[str, ...],
    tolerance: float | None,
    group: str | None,
) -> MonitorState:
    """Fix everything that a monitor keeps: what it asks, what counts as right, and how rows are recognised."""
    triples, left = None, []
    try:
        triples = run.triples()
    except MiscalError as error:
        left.append(f"the rows of the run cannot be read ({error})")
    units = run.summary.units
    factor = units.factor if units is not None and group == units.column else 1.0
    known = known_rows(run, model, triples)
    asked = questions_of(run, known, frame, tolerance=tolerance, factor=max(factor, 1.0), left=left)
    said = tuple(clean_text(one) for one in left)
    by_id = rows.id is not None
    return MonitorState(
        digests, group, tolerance, asked, (), said, len(known.rows), by_id, Grid.of(rows.X), RowKeys.none()
    )


def _inside(run: RunContent, one: Question, frame: Frame) -> np.ndarray | None:
    if one.kind != FINDING:
        return None
    condition = run.summary.findings[one.place or 0].condition
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


def _document(run: RunContent, state: MonitorState, read: Read, again: Again, unit: str) -> Monitoring:
    gain = next(one for one in state.questions if one.kind == GAIN)
    looks = tuple(
        LookNumbers(
            look=place,
            lost=float(sums[COLUMNS.index("total")] / one.rows),
            **{name: getattr(one, name) for name in LookNumbers.model_fields if name not in ("look", "lost")},
        )
        for place, (one, sums) in enumerate(zip(state.looks, gain.history, strict=True), start=1)
    )
    asked = tuple(_question(run, one) for one in state.questions)
    rows = sum(one.rows for one in looks)
    mean = lambda name: sum(one.rows * getattr(one, name) for one in looks) / rows  # noqa: E731
    raised = [one.rows.last for one in asked if one.alarms and one.state == BROKEN]
    found = Monitoring(
        kind=run.summary.kind,
        epsilon=run.summary.settings.get("epsilon"),
        run=clean_text(run.path.resolve().name),
        alpha=SIGNIFICANCE,
        group=None if state.group in (None, BY_ROWS) else clean_text(state.group),
        unit=clean_text(unit),
        known=state.known,
        alarm=bool(raised),
        raised=min(raised, default=None),
        verdict=(),
        rows=rows,
        **{name: mean(name) for name in ("accuracy", "confidence", "corrected", "brier_raw", "brier_corrected")},
        looks=looks,
        questions=asked,
        left_out=state.left_out,
        warnings=tuple(clean_text(one) for one in warnings_of(read.notes, looks[-1], again, state.group, run.summary)),
        columns=plain(read.columns),
        versions={name: metadata.version(name) for name in LIBRARIES},
    )
    return found.model_copy(update={"verdict": verdict(found)})


def _question(run: RunContent, one: Question) -> QuestionNumbers:
    since, shown = one.broken or (1, len(one.history))
    sums, mean, radius = (values[-1] for values in one.course(since, shown))
    of = dict(zip(COLUMNS, sums.tolist(), strict=True))
    n = int(of["rows"])
    # means of values in [0, 1], whose sums are rounded
    means = {name: min(of[name] / n, 1.0) if n else None for name in MEANS}
    return QuestionNumbers(
        key=one.key,
        kind=one.kind,  # pyrefly: ignore[bad-argument-type]
        about=clean_text(one.label),
        phrase=clean_text(run.summary.findings[one.place or 0].phrase) if one.kind == FINDING else None,
        alarms=one.kind in WHOLE,
        error=one.error,
        allowed=one.allowed,
        state=one.state,
        rows=RowsOfLooks(
            first=since, last=shown, n=n, units=int(of["units"]), value=_measure(n, mean, radius), **means
        ),
        course=tuple(
            _measure(int(now[0]), value, reach)
            for now, value, reach in zip(*one.course(1, len(one.history)), strict=True)
        ),
    )


def _measure(n: int, mean: float, radius: float) -> Measure:
    known = n > 0 and np.isfinite(radius)
    return Measure(value=float(mean) if n else None, interval=(mean - radius, mean + radius) if known else None)
