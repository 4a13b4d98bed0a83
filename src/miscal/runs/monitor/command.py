"""Take one look: from the run folder to state, document, table and page, all of them or none."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.document import clean_text, plain
from miscal.base.errors import InputError, command
from miscal.base.files import whole_folder
from miscal.base.process import one_thread
from miscal.calibration.metrics.scores import log_losses, squared_errors
from miscal.data.writing import write_table
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.run_folder import MONITOR, check_seal
from miscal.discovery.summary import Measure
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.condition import Frame
from miscal.runs.monitor import state as states
from miscal.runs.monitor.document import BROKEN, WHOLE, LookNumbers, Monitoring, QuestionNumbers, RowsOfLooks
from miscal.runs.monitor.new_rows import NewLabelled, frame_of, read_labelled

MONITOR_FILES = frozenset({"monitor.json", "monitor.html", "course.csv", states.FOLDER})
"""What the folder of a monitor holds."""
BY_ROWS = "none"
"""Group of a monitor that counts rows although the run counts units."""
EQUAL_INPUTS = ("equal inputs", "near copies")
"""What a run counts by where rows of equal inputs are one unit among new rows too."""
LIBRARIES = ("miscal", "numpy", "scipy", "scikit-learn", "polars")


def monitor(
    run: str | Path,
    data: Any,
    *,
    out: str | Path | None = None,
    at: str | None = None,
    tolerance: float | None = None,
    group: str | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Monitoring:
    """Look whether the correction of a run still holds on labelled rows that came after.

    Each call is a look at a batch of new rows, added to those before. Looks may be as many, as often and as large as
    one likes, and stopped at any time: while the corrected confidences are right, the probability that it is ever said
    of anything that the correction does not hold is at most 5 %.

    Parameters
    ----------
    run : str or Path
        A run folder.
    data : path or table
        New rows with outcomes, as for :func:`miscal.read_triples`; none of them at an earlier look, or in the run.
    out : str or Path, optional
        Folder of the monitor; by default ``monitor`` in the run folder. It is made at the first look.
    at : str, optional
        What to call the look, for example its date. Nothing is computed from it.
    tolerance : float in [0, 1), optional
        Distance of outcomes from the corrected confidences that counts as right. By default 0.02 (of rare events less:
        0.4 of the run's band), or what the run could be off by without knowing it. Fixed at the first look.
    group : str, optional
        Column of groups whose rows depend on each other; by default what the run counts by. "none" counts rows. Fixed
        at the first look.
    progress : callable, optional
        Called with the name of each step.
    **options
        Where the columns are, as for ``miscal calibrate``: ``confidence`` and ``correct``, or ``probability``,
        ``event`` and ``positive``, or ``probabilities`` and ``label`` of several classes;
        ``embeddings``, ``features``, ``text``, ``where``, ``missing_as_blank``,
        ``encoding``, and ``on_invalid`` ("error" or "drop").

    Returns
    -------
    Monitoring
        ``.alarm`` says whether one was raised at this look or before, ``.answer`` why; ``.to_json()`` is
        ``monitor.json``.

    Raises
    ------
    InputError
        If rows have an id that was counted before, or is of the run, or the data do not offer what the model needs.
    FileError, CorruptFile, TrustError
        If the run, the data or the state of the monitor cannot be used.
    MismatchError
        If the model or a setting is not the one that the monitor began with.
    LockedError
        If another process is writing the monitor.

    Notes
    -----
    Asymptotic confidence sequences by units (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024), tuned to the first
    look. docs/watching.md says what is asked and what is presumed.

    Examples
    --------
    >>> monitor("no/such/run", "new.parquet")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/run is not a folder: give the folder of a run, made by `miscal.discover`
    """
    tell = progress or (lambda name: None)
    tell("reading the run")
    # before anything is locked or made in a folder that is none
    check_seal(run)
    place = Path(run) / MONITOR if out is None else Path(out)
    if tolerance is not None and not 0 <= tolerance < 1:
        raise InputError(f"tolerance must be a difference of rates of at least 0 and below 1; got {tolerance!r}")
    with whole_folder(place, holds=MONITOR_FILES, writer=command("monitor"), overwrite=True, reads=[data]) as folder:
        before = states.load(place) if place.is_dir() and any(place.iterdir()) else None
        tell("reading and correcting the rows")
        with one_thread():
            state, found = _look(read_run(run), data, before, place, at, tolerance, group, options)
        tell("page")
        states.save(state, folder)
        (folder / "monitor.json").write_text(found.to_json(), encoding="utf-8")
        write_table(course_table(found), folder / "course.csv")
        (folder / "monitor.html").write_text(found.shown().page(), encoding="utf-8")
    return found


def _look(
    run: RunContent,
    data: Any,
    before: states.MonitorState | None,
    folder: Path,
    at: str | None,
    tolerance: float | None,
    group: str | None,
    options: dict[str, Any],
) -> tuple[states.MonitorState, Monitoring]:
    """Look at new labelled rows; `before` is what earlier looks left, and `folder` the monitor as messages name it."""
    model = states.fingerprint(run.path)
    if before is not None:
        states.refuse_other(before, model, tolerance, group)
        group = before.group
    else:
        group = group or run.summary.settings.get("source", {}).get("columns", {}).get("group")
    units = run.summary.units
    equal = group is None and units is not None and units.source in EQUAL_INPUTS
    column = None if group == BY_ROWS else group
    saved, by_id = run.load_model(), None if before is None else before.by_id
    alone = units is not None and units.source == "column" and group == units.column
    units_of = {"group": column, "equal_inputs": equal, "blanks_alone": alone}
    rows = read_labelled(run, saved, data, by_id=by_id, **units_of, **options)
    frame = frame_of(run, saved, rows)
    if before is None:
        # what a monitor keeps is fixed at its first look: what it asks, what counts as right, how rows are recognised
        left: list[str] = []
        factor = units.factor if units is not None and group == units.column else 1.0
        before = states.MonitorState(
            model=model,
            group=group,
            tolerance=tolerance,
            questions=states.questions_of(run, frame, tolerance=tolerance, factor=max(factor, 1.0), left=left),
            left_out=tuple(map(clean_text, left)),
            by_id=rows.id is not None,
            seen=np.unique(states.keys_of(rows.learned)),
        )
    states.refuse_unfit(before, len(run.summary.findings))
    states.refuse_counted(before, rows, folder)
    groups = states.groups_of(rows)
    returning = int(np.isin(groups, before.groups).sum())
    after = before.model_copy(
        update={
            "questions": tuple(one.after(rows, _inside(run, one, frame)) for one in before.questions),
            "looks": (*before.looks, _numbers(rows, data, at, len(before.looks) + 1, returning)),
            "sums": (*before.sums, int(states.sums_of(rows)[-1])),
            "seen": before.seen if rows.id is None else np.union1d(before.seen, states.keys_of(rows.id)),
            "groups": np.union1d(before.groups, groups),
        }
    )
    warnings = [*rows.notes]
    if returning:
        warnings.append(
            f"{returning:,} of {len(rows):,} rows are of groups of {group!r} that came at earlier looks. Rows of a "
            "group depend on each other, and across looks this is not allowed for: keep the rows of a group together "
            "in one file, or take the intervals as too narrow"
        )
    asked = tuple(_question(run, one) for one in after.questions)
    many = sum(one.rows for one in after.looks)
    means = {
        name: sum(one.rows * getattr(one, name) for one in after.looks) / many
        for name in ("accuracy", "confidence", "corrected", "brier_raw", "brier_corrected")
    }
    raised = [one.rows.last for one in asked if one.alarms and one.state == BROKEN]
    return after, Monitoring(
        kind=run.summary.kind,
        epsilon=run.summary.settings.get("epsilon"),
        run=clean_text(run.path.resolve().name),
        alpha=SIGNIFICANCE,
        group=None if group in (None, BY_ROWS) else clean_text(group),
        unit=clean_text(column or ("input" if equal else "row")),
        alarm=bool(raised),
        raised=min(raised, default=None),
        rows=many,
        **means,
        looks=after.looks,
        questions=asked,
        left_out=after.left_out,
        warnings=tuple(map(clean_text, warnings)),
        columns=plain(rows.taken),
        versions={name: metadata.version(name) for name in LIBRARIES},
    )


def _inside(run: RunContent, one: states.Question, frame: Frame) -> np.ndarray | None:
    if one.place is None:
        return None
    condition = run.summary.findings[one.place].condition
    lacking = condition.lacks(frame)
    if lacking is not None:
        raise InputError(
            f"the rows of {one.about!r} cannot be told in these data, as they could at the first look: {lacking}; give "
            f"{', '.join(map(repr, condition.columns)) or 'the inputs'} in the same form"
        )
    return condition.rows(frame)


def _numbers(rows: NewLabelled, data: Any, at: str | None, look: int, returning: int) -> LookNumbers:
    y, f, q = rows.correct, rows.confidence, rows.corrected
    means = {
        "accuracy": y,
        "confidence": f,
        "corrected": q,
        "brier_raw": squared_errors(y, f),
        "brier_corrected": squared_errors(y, q),
        "lost": log_losses(y, q) - log_losses(y, f),
        "unsupported": ~rows.supported,
    }
    return LookNumbers(
        look=look,
        source=clean_text(Path(data).name if isinstance(data, (str, Path)) else "rows in memory"),
        at=None if at is None else clean_text(at),
        rows=len(rows),
        units=rows.units,
        dropped=rows.dropped,
        returning=returning,
        **{name: float(values.mean()) for name, values in means.items()},
    )


def _question(run: RunContent, one: states.Question) -> QuestionNumbers:
    since, shown = one.broken or (1, len(one.history))
    sums, mean, radius = (values[-1] for values in one.course(since, shown))
    of = dict(zip(states.COLUMNS, sums.tolist(), strict=True))
    n = int(of["rows"])
    # means of values in [0, 1], whose sums are rounded
    means = {name: min(of[name] / n, 1.0) if n else None for name in states.MEANS}
    course = zip(*one.course(1, len(one.history)), strict=True)
    return QuestionNumbers(
        **one.model_dump(include={"key", "kind", "error", "allowed"}),
        about=clean_text(one.about),
        phrase=None if one.place is None else clean_text(run.summary.findings[one.place].condition.phrase),
        alarms=one.kind in WHOLE and one.place is None,
        state=one.state,
        rows=RowsOfLooks(
            first=since, last=shown, n=n, units=int(of["units"]), value=_measure(n, mean, radius), **means
        ),
        course=tuple(_measure(int(now[0]), value, reach) for now, value, reach in course),
    )


def _measure(n: int, mean: float, radius: float) -> Measure:
    known = n > 0 and np.isfinite(radius)
    return Measure(value=float(mean) if n else None, interval=(mean - radius, mean + radius) if known else None)


def course_table(document: Monitoring) -> pl.DataFrame:
    """List value and interval of each question after each look, as ``course.csv`` has them."""
    so_far = list(accumulate(one.rows for one in document.looks))
    rows = [
        (
            look.look, look.at, look.source, look.rows, total, one.key, one.course[place].value,
            *(one.course[place].interval or (None, None)), *one.allowed,
            one.state == BROKEN and one.rows.last <= look.look,
        )
        for place, (look, total) in enumerate(zip(document.looks, so_far, strict=True))
        for one in document.questions
    ]  # fmt: skip
    names = {"look": pl.Int64, "at": pl.String, "source": pl.String, "rows": pl.Int64, "rows_so_far": pl.Int64}
    numbers_of = dict.fromkeys(("value", "low", "high", "allowed_low", "allowed_high"), pl.Float64)
    schema = {**names, "question": pl.String, **numbers_of, "broken": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")
