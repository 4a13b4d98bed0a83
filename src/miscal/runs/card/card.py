"""What the card of a run says: what was assessed, and each number with its interval and its test.

Nothing is learned or drawn for it but the intervals of smECE and ECE: it is computed of the run's evaluation rows and
of what the run says of them, when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import NonNegativeInt
from scipy.special import betaincinv

from miscal.base.arrays import value_list
from miscal.base.document import Document, Measure, MeasureAgainstNull, Part, Share, Text, interval, number
from miscal.base.errors import InputError
from miscal.base.signatures import checked_call
from miscal.base.vocabulary import Kind
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean, take_rows
from miscal.calibration.metrics.inference import DRAWS, METRICS
from miscal.calibration.metrics.scores import (
    CONFIDENCE_LEVEL,
    bin_index,
    calibration_intercept,
    calibration_slope,
    mean_of_values,
    observed_expected,
    squared_errors,
)
from miscal.calibration.survey_design import average
from miscal.data.triples import Triples
from miscal.discovery.alarms import ranking
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.run_folder import MONITOR
from miscal.findings.conditions.condition import Frame, with_features
from miscal.findings.enrichment import written_time
from miscal.findings.ledger.document import ColumnValue, Finding
from miscal.findings.residuals import holm, observed_over_expected, proportion_residual
from miscal.report.brief import alone_line, at_thresholds
from miscal.runs.compare.compared_rows import column_again, rows_again
from miscal.runs.monitor.document import Monitoring

GRADES, MOST_GRADES = 10, 30
"""Grades by risk where no column names them, a convention; and at most."""
MISSING = "(missing)"


class Grade(Part):
    """The rows of a grade, or a bin of rows by rising probability.

    `name`: the value of the column; null of a bin. `low, high`: the least and the largest probability.
    `expected`: mean probability. `observed`: mean outcome, with the interval of Jeffreys, of as many independent rows
        as say as much.
    `p_value`: of the binomial test, two-sided, as if rows were independent.
    `p_units`: of the same test, of as many independent rows as say as much.
    """

    name: Text | None
    low: Share
    high: Share
    n: NonNegativeInt
    expected: Share
    observed: Measure
    p_value: Share
    p_units: Share


class Segment(Part):
    """A group that the run found, or a value of a named column.

    `name`: its rows in words, such as ``"carrier = Delta Air Lines"``.
    `expected, observed`: mean probability and mean outcome.
    `ratio`: observed over expected, with the interval of this one segment.
    `p_adjusted`: of a value, of the binomial test of as many independent rows as say as much, for all values together
        (Holm). Of a group that was found, beside rows of equal probability, for all candidates.
    `mark`: what the findings say of it, beside rows of equal probability.
    """

    name: Text
    n: NonNegativeInt
    expected: Share
    observed: Share
    ratio: Measure
    p_adjusted: Share
    mark: str


class Card(Document):
    """Everything that a card says; numbers are of the evaluation rows.

    `certain`: rows of probability 0 or 1, whose log-odds are not finite.
    `about`: what was assessed, in words.
    `measures`: numbers of all rows, each with interval and test. `grades_by`: what grades are.
    `segments`: groups that the run found first, then values of columns, those that differ most first. `n_found`: how
        many were found.
    `decided`: what was promised and observed at the thresholds that were named, what may be decided alone where a
        largest error was named, and what the monitor says so far.
    `advice`: what the run says to do.
    """

    run: Text
    kind: Kind
    epsilon: float | None
    n: NonNegativeInt
    certain: NonNegativeInt
    about: dict[str, Text]
    measures: dict[str, MeasureAgainstNull]
    grades_by: Text
    grades: tuple[Grade, ...]
    segments: tuple[Segment, ...]
    n_found: NonNegativeInt
    decided: dict[str, Text]
    advice: Text


@checked_call
def card(run: str | Path, *, grades: str | int = GRADES) -> Card:
    """Make the card of a run folder.

    `grades`: a column of the data, or in how many grades of about as many rows each to cut the probability.

    Examples
    --------
    >>> card("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder is not a folder: give the folder of a run, made by `miscal.discover`
    """
    found = read_run(run)
    summary = found.summary
    if summary.classes is not None:
        raise InputError(
            f"{run} is a run of several classes, and a card is of one probability: make a run of one class, with its "
            "probability as --probability and whether it is the label as --event"
        )
    read = rows_again(found, str(run))
    rows, triples = _evaluated(found, read)
    names, by = _grades(found, rows, triples, grades)
    return Card(
        run=Path(run).name,
        kind=summary.kind,
        epsilon=summary.settings.get("epsilon"),
        n=len(rows),
        certain=int(np.isin(rows.confidence, (0, 1)).sum()),
        about=dict(_about(found, rows, triples)),
        measures={name: _stored(name, one) for name, one in _measures(rows, summary.seed)},
        grades_by=by,
        grades=tuple(sorted(_graded(rows, names), key=lambda one: one.expected)),
        segments=tuple(_segments(found, rows, triples)),
        n_found=len(summary.findings),
        decided=dict(_decided(found)),
        advice=summary.answer.action,
    )


def _evaluated(run: RunContent, read: Triples) -> tuple[LabelledRows, Triples]:
    """Return the evaluation rows, with the outcome expected at their confidence, and as they were read."""
    inside = run.evaluated.to_numpy()
    table, triples = run.table.filter(run.evaluated), read.take(np.flatnonzero(inside))
    factor = 1.0 if run.summary.units is None else run.summary.units.factor
    rows = LabelledRows.of(
        table["correct"].to_numpy().astype(np.float64),
        table["confidence"].to_numpy(),
        expected_outcome(replace(read, split=None), run.summary.seed)[inside],
        group=triples.group,
        weight=take_rows(read.weight, inside),
        factor=factor,
    )
    return rows, triples


def _about(run: RunContent, rows: LabelledRows, triples: Triples) -> Iterator[tuple[str, str]]:
    """Say what was assessed."""
    summary, (columns, options) = run.summary, (run.summary.data.columns, run.summary.settings)
    outcome = f"column {columns.correct!r}" if columns.correct else "outcomes given from Python"
    event = f" = {columns.positive}" if columns.positive is not None else ""
    which = {"test": "test ", "time": "later "}.get(summary.evidence, "")
    yield "model", f"column {columns.confidence!r}" if columns.confidence else "probabilities given from Python"
    yield "outcome", f"{outcome}{event}: 1 in {int(rows.correct.sum()):,} of {len(rows):,} {which}rows"
    yield "data", summary.data.path or "rows in memory"
    if triples.time is not None:
        yield "period", f"{written_time(triples.time.min())} to {written_time(triples.time.max())}"
    if summary.data.sha256 is not None:
        yield "sha256", summary.data.sha256
    units = "" if rows.group is None or summary.units is None else f": {rows.n_units:,} units"
    yield "counted by", f"{'row' if summary.units is None else summary.units.unit}{units}"
    if summary.weights is not None:
        yield "weighted by", f"{summary.weights.column}"
    versions = {name: summary.versions[name] for name in ("miscal", "python", "numpy") if name in summary.versions}
    written = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield "made with", f"{written}; method {summary.method}, seed {options['seed']}"


def _decided(run: RunContent) -> Iterator[tuple[str, str]]:
    """Tell of decisions: at the thresholds that were named, by the model alone, and what the monitor says of them."""
    yield from at_thresholds(run.summary)
    if "max_error" in run.summary.settings:
        yield "alone", alone_line(run.summary)
    if run.path is not None and (looks := run.path / MONITOR / "monitor.json").exists():
        said = Monitoring.model_validate_json(looks.read_bytes()).answer
        yield "monitor", f"The correction, on later rows: {said.headline} {said.reason} {said.action}"


def _measures(rows: LabelledRows, seed: int) -> Iterator[tuple[str, Any]]:
    """Estimate the numbers of all rows, in the order in which they are told."""
    y, f, e = rows.correct, rows.confidence, rows.expected
    mean, left = average(y, rows.weight), squared_errors(y, e)
    scores = {name: METRICS[name].estimate_of(rows, DRAWS, seed) for name in ("smece", "ece", "brier")}
    yield "auc", ranking(rows)
    yield "observed", METRICS["accuracy"].estimate_of(rows, DRAWS, seed)
    yield "expected", METRICS["confidence"].estimate_of(rows, DRAWS, seed)
    yield "observed_expected", observed_expected(rows)
    yield "intercept", calibration_intercept(rows)
    yield "slope", calibration_slope(rows)
    yield from scores.items()
    yield "brier_calibration", mean_of_values(rows, squared_errors(y, f) - left)
    yield "brier_resolution", mean_of_values(rows, (y - mean) ** 2 - left)
    yield "brier_uncertainty", mean_of_values(rows, mean * (1 - mean) + (1 - 2 * mean) * (y - mean))


_UNTESTED = ("observed", "expected", "brier", "brier_uncertainty")
"""Numbers of which 0 is no hypothesis."""


def _stored(name: str, one: Any) -> MeasureAgainstNull:
    if one is None:
        return MeasureAgainstNull(value=None)
    p = None if name in _UNTESTED else number(getattr(one, "p_value", None))
    return MeasureAgainstNull(value=one.value, interval=interval(*(one.interval or (None, None))), p_value=p)


def _grades(run: RunContent, rows: LabelledRows, triples: Triples, grades: str | int) -> tuple[np.ndarray, str]:
    """Return the grade of each row by name, and what grades are."""
    if isinstance(grades, str) and not grades.isdigit():
        values = column_again(run, grades, triples.row, what="--grades").fill_null(MISSING).to_numpy()
        if (many := len(np.unique(values))) > MOST_GRADES:
            raise InputError(
                f"--grades: column {grades!r} has {many:,} values, such as {value_list(values[:3].tolist())}, and at "
                f"most {MOST_GRADES} grades are shown: name a column of grades, or a number such as {GRADES}"
            )
        return values, f"column {grades}"
    if not 2 <= int(grades) <= MOST_GRADES:
        raise InputError(f"--grades must be a column, or a number from 2 to {MOST_GRADES}; got {grades}")
    return bin_index(rows.confidence, int(grades), "mass", rows.shares), ""


def _graded(rows: LabelledRows, names: np.ndarray) -> Iterator[Grade]:
    """Set beside each other what was expected and observed of each grade."""
    tail = (1 - CONFIDENCE_LEVEL) / 2
    for name in np.unique(names):
        inside = names == name
        own, n = rows.take(inside), int(inside.sum())
        share, expected = average(own.correct, own.weight), average(own.confidence, own.weight)
        worth = n / effect_of_mean(rows, inside)
        ends = betaincinv(share * worth + 0.5, (1 - share) * worth + 0.5, [tail, 1 - tail])
        yield Grade(
            name=name if isinstance(name, str) else None,
            low=own.confidence.min(),
            high=own.confidence.max(),
            n=n,
            expected=expected,
            observed=Measure(value=share, interval=(float(ends[0]), float(ends[1]))),
            p_value=proportion_residual(share, n, expected).p_value,
            p_units=proportion_residual(share, worth, expected).p_value,
        )


def _segments(run: RunContent, rows: LabelledRows, triples: Triples) -> Iterator[Segment]:
    """Yield the groups that were found, and every other value of the named columns; of all columns where none was."""
    named = [one for one in run.summary.data.columns.metadata if one in run.tables] or list(run.tables)
    frame = Frame(len(triples), with_features(triples.metadata, triples.X, triples.encoder))
    findings, tests = run.summary.findings, []
    for one in findings:
        yield _segment(one, one.condition.words, one.observed_over_expected, one.p_adjusted, "found")
    found = {one.condition for one in findings}
    values = [one for column in named for one in run.tables[column] if one.condition not in found]
    for one in values:
        inside = one.condition.rows(frame)
        tests.append(proportion_residual(one.accuracy, one.n / effect_of_mean(rows, inside), one.confidence))
    adjusted = holm(np.array([one.p_value for one in tests]))
    for p, _, one, test in sorted(
        zip(adjusted, [-one.n for one in values], values, tests, strict=True), key=lambda row: row[:2]
    ):
        ratio = observed_over_expected(one.confidence, test.value or 0.0, test.interval)
        yield _segment(one, one.condition.words, ratio, float(p), one.told)


def _segment(one: Finding | ColumnValue, name: str, ratio: Measure, p: float, mark: str) -> Segment:
    means = {"n": one.n, "expected": one.confidence, "observed": one.accuracy}
    return Segment(name=name, **means, ratio=ratio, p_adjusted=p, mark=mark)
