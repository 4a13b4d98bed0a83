"""Plan what a monitor watches of a run, and what counts as no change, before the first new outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.data.triples import Triples
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedModel
from miscal.evidence.betting import Restarts, clipped_logit
from miscal.findings.conditions import Condition, Frame
from miscal.findings.ledger import SLOPE as SLOPE_OF_GROUP
from miscal.runs.monitor.basis import Reference
from miscal.runs.monitor.known_rows import KnownRows, known_rows
from miscal.runs.monitor.lines import (
    FEATURE,
    FINDING,
    GAIN,
    LEVEL,
    REGIME,
    RISE,
    SLOPE,
    VALUE,
    Along,
    Line,
)
from miscal.runs.monitor.questions import (
    INPUTS,
    UNSUPPORTED,
    MonitorQuestion,
    questions_of,
    shares_of,
)
from miscal.runs.monitor.values import values_of

ORDINARY = 0.05
"""Standard deviation in log-odds of shifts that are no change, whatever the run measured: 1.2 points at 50 %. A
convention."""
FLAT = 1e-6
"""Standard deviation of log-odds below which nothing lies along a slope."""


@dataclass(frozen=True, eq=False)
class MonitorPlan:
    """What is watched.

    Attributes
    ----------
    questions : tuple of MonitorQuestion
    lines : tuple of Line
    together : dict of str to float
        Share of the error of the values of a column together, by column.
    left_out : tuple of str
        Sentences: what cannot be watched, and why.
    """

    questions: tuple[MonitorQuestion, ...]
    lines: tuple[Line, ...]
    together: dict[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def plan_of(
    run: RunContent,
    model: SavedModel,
    triples: Triples | None,
    reference: Reference,
    new: Frame,
    *,
    unsupported: float,
    tolerance: float | None,
    grouped: bool,
) -> MonitorPlan:
    """Decide what is watched of a run.

    Parameters
    ----------
    run : RunContent
    model : SavedModel
        Of the run.
    triples : Triples or None
        The rows of the run; None where they cannot be read.
    reference : Reference
        Coordinates, and rows of the run to compare inputs with.
    new : Frame
        The first new rows: what cannot be found out from them is left out.
    unsupported : float in (0, 1)
        The largest rate of unsupported rows that is no change.
    tolerance : float >= 0 or None
        Shift in log-odds that the user takes for none; None: what the run measured, with its error.
    grouped : bool
        Whether new rows depend on each other in groups, so that the values of a column are no separate streams.

    Returns
    -------
    MonitorPlan
    """
    known, left = known_rows(run, model, triples), []
    watched = list(_watched(run, model, known, reference, new, left))
    columns = list(dict.fromkeys(line.column for line, _ in watched if line.column is not None))
    counts = Counter(line.kind for line, _ in watched) | {UNSUPPORTED: 1}
    counts |= {INPUTS: 1} if reference.missing is None else {}
    shares = shares_of(counts, len(columns))
    together = {} if grouped else {str(name): shares[VALUE] / 2 for name in columns}
    values = Counter(line.column for line, _ in watched if line.kind == VALUE)
    # without the rows of the run there are no features, which alone ask for coordinates
    z = np.zeros((len(known.rows), 0))
    if triples is not None:
        z = reference.basis.of(known.rows.X, known.rows.confidence)
    lines = []
    for line, inside in watched:
        share = shares[line.kind]
        if line.kind == VALUE:
            share = (share - together.get(str(line.column), 0.0)) / values[line.column]
        lines.append(_measured_line(replace(line, share=share), known, inside, z, tolerance))
    return MonitorPlan(
        questions_of(tolerance, unsupported, shares, vocabulary(run.summary.kind)), tuple(lines), together, tuple(left)
    )


def _watched(
    run: RunContent, model: SavedModel, known: KnownRows, reference: Reference, new: Frame, left: list[str]
) -> Iterator[tuple[Line, np.ndarray | None]]:
    """List all lines, with the rows of the run that belong to each; what cannot be watched is added to `left`."""
    words = vocabulary(run.summary.kind)
    yield _line(GAIN, f"corrected {words.probabilities}, against the raw ones"), None
    yield _line(LEVEL, f"corrected {words.probabilities}, all rows"), None
    odds = clipped_logit(known.rows.corrected)
    if odds.std() > FLAT:
        yield _line(SLOPE, f"the corrected {words.probability}", about=(float(odds.mean()), float(odds.std()))), None
    for one in run.summary.regimes:
        inside = known.rows.regime == one.name
        # what was measured on a few rows is allowed to be off by so much that nothing would be seen
        if one.name != "good" and inside.sum() >= MIN_SLICE_ROWS:
            yield (
                _line(REGIME, f"the {words.regime(one.name)} regime", one.name, sign=one.name),
                inside,
            )
    if known.frame is None:
        left.append("findings, values and features: the rows of the run cannot be read, so nothing is known of them")
        return
    yield from _features(model, reference)
    values = dict(_values(run, known.frame, new, left))
    for place, one in enumerate(run.summary.findings):
        lacking = one.condition.lacks(new) or one.condition.lacks(known.frame)
        inside = None if lacking else one.condition.rows(known.frame)
        if lacking is None and inside is not None and not inside.any():
            lacking = "no row of the run is told to belong to it"
        if lacking is None and one.effect == SLOPE_OF_GROUP:
            odds, label = (
                clipped_logit(known.rows.confidence[inside]),
                f"the {words.probability} where {one.description}",
            )
            about = float(odds.mean()), max(float(odds.std()), FLAT)
            yield _line(RISE, label, str(place), sign=one.sign, place=place, about=about), inside
        elif lacking is None:
            # a finding that is a value of a column is one line, not two
            known_as = one.condition if values.pop(one.condition, None) else None
            line = _line(FINDING, one.description, str(place), sign=one.sign, place=place, condition=known_as)
            yield line, inside
        else:
            left.append(f"finding {one.description!r}: {lacking}")
    for condition, key in values.items():
        yield _line(VALUE, condition.words, key, condition=condition), condition.rows(known.frame)


def _features(model: SavedModel, reference: Reference) -> Iterator[tuple[Line, None]]:
    basis = reference.basis
    names = getattr(model.encoder, "names", None)
    by_name = names is not None and len(names) == len(basis.spread) == basis.mean.size
    for place in range(len(basis.spread)):
        label = str(names[place]) if by_name and names is not None else f"direction {place + 1} of the inputs"
        yield _line(FEATURE, label, str(place), place=place), None


def _values(run: RunContent, frame: Frame, new: Frame, left: list[str]) -> Iterator[tuple[Condition, str]]:
    """List the values that can be watched, each with its place among those of its column."""
    for column, values, rest in values_of(frame, run.summary.data.columns.metadata):
        lacking = values[0].lacks(new)
        if lacking is not None:
            left.append(f"values of {column!r}: {lacking}")
            continue
        if rest:
            left.append(f"values of {column!r}: {rest:,} are too rare in the run, or too many, to be watched")
        yield from ((one, f"{column}:{k}") for k, one in enumerate(values))


def _line(kind: str, label: str, name: str | None = None, **more: object) -> Line:
    key = kind if name is None else f"{kind}:{name}"
    return Line(key, kind, label, 1.0, 0.0, 0.0, 0.0, Restarts.begin(Line.bets(kind)), **more)  # pyrefly: ignore


def _measured_line(
    line: Line, known: KnownRows, inside: np.ndarray | None, z: np.ndarray, tolerance: float | None
) -> Line:
    """Note what the run measured along a line, or what the user takes for right."""
    if tolerance is not None and line.kind != GAIN:
        return replace(line, before=0.0, error=0.0, ordinary=tolerance)
    before, error = measured(Along.of(line, known.rows, z, inside))
    return replace(line, before=before, error=error, ordinary=ORDINARY)


def measured(seen: Along) -> tuple[float, float]:
    """Shift along a line among the rows of a run, and the standard error with which it holds for new rows.

    A correction that follows the noise of its rows is as far off on new rows as that noise is large, and one that does
    not follow it is measured with it: either way the error is that of the mean of as many rows.

    Parameters
    ----------
    seen : Along

    Returns
    -------
    (float, float)
        Both 0 where the line has no information.
    """
    whole = float(seen.information.sum())
    if whole <= 0:
        return 0.0, 0.0
    shift = float(seen.moment.sum()) / whole
    left = seen.moment - shift * seen.information
    return shift, float(np.sqrt(np.sum(left**2))) / whole
