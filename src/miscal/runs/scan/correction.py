"""The correction of a scan: one map of the probability and one shift for each finding, fitted on cells.

The shifts are of the log-odds, shrunken, and fitted together. Which map it is, and whether there are shifts, is chosen
by log loss on held-out folds of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from pydantic import FiniteFloat
from scipy.optimize import isotonic_regression
from scipy.special import expit

from miscal.base.document import Part
from miscal.base.errors import InputError
from miscal.calibration.calibrators import logit
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.scores import log_losses
from miscal.calibration.survey_design import average
from miscal.data.counting import Cut, Member
from miscal.data.relations import DATE, NUMBER, TEXT
from miscal.discovery.run import RunContent
from miscal.estimators.shifts import RIDGE, fit_shifts
from miscal.findings.conditions.column_kinds import Levels, Missing, Period, Span, Trend, Value
from miscal.findings.conditions.condition import Condition, Frame, frame_of_rows, seconds
from miscal.findings.conditions.other_kinds import AnyOf, Both, NoneOf
from miscal.findings.ledger.blocks import Split
from miscal.runs.scan.plan import NoCells

MAPS = ("identity", "platt", "isotonic")
"""The simplest first."""
FOLDS = 5
_KNOTS = 20


class ScanMap(Part):
    """The map of the probability: ``"identity"``, ``"platt"`` (slope and intercept of log-odds), or ``"isotonic"``.

    `slope, intercept`: of the line. `knots, values`: where steps begin and what they say.
    """

    name: str
    slope: FiniteFloat = 1.0
    intercept: FiniteFloat = 0.0
    knots: tuple[FiniteFloat, ...] = ()
    values: tuple[FiniteFloat, ...] = ()

    def apply(self, f: np.ndarray) -> np.ndarray:
        """Return what it makes of probabilities."""
        if self.name == "isotonic":
            return np.interp(f, self.knots, self.values)
        return f if self.name == "identity" else expit(self.slope * logit(f) + self.intercept)

    def shifted(self, level: float) -> ScanMap:
        """Return the map with a shift of the log-odds of all rows."""
        if self.name == "isotonic":
            moved = expit(logit(np.array(self.values)) + level)
            return self.model_copy(update={"values": tuple(moved.tolist())})
        return self.model_copy(update={"name": "platt", "intercept": self.intercept + level})


class ScanShift(Part):
    """A shift of the log-odds of the rows of a finding.

    `finding`: its number, from 1. `size`: of the shift; of a trend times the score of the row's cell. `error`: its
    standard error. `cells`: the cells of the columns, or those of all others (`others`). `scores`: of a trend, of its
    cells.
    """

    finding: int
    size: FiniteFloat
    error: FiniteFloat
    columns: tuple[dict[str, Any], ...]
    cells: tuple[tuple[int, ...], ...] = ()
    others: bool = False
    scores: tuple[FiniteFloat, ...] = ()


class ScanCorrection(Part):
    """A map and shifts, and mean log losses.

    `map`: of the probability. `shifts`: one for each finding. `log_loss_raw`: of the probability as it is.
    `log_loss_map, log_loss`: on the rows of each fold, by the map alone and with the shifts, fitted on the other folds.
    `tried`: the same of each map, alone and with shifts.
    """

    map: ScanMap
    shifts: tuple[ScanShift, ...]
    log_loss_raw: FiniteFloat
    log_loss_map: FiniteFloat
    log_loss: FiniteFloat
    tried: dict[str, FiniteFloat]


@dataclass(frozen=True)
class Shifted:
    """A finding to be corrected: its rows as `member` names them and as `split` has them.

    `number`: of the finding, from 1. `scores`: of a trend, of its cells. `fewer`: design effect of its mean: of so many
    times fewer rows is what it says.
    """

    number: int
    member: Member
    split: Split
    scores: Sequence[float] = ()
    fewer: float = 1.0


def fit_correction(rows: LabelledRows, shifted: Sequence[Shifted], effect: float) -> tuple[ScanCorrection, np.ndarray]:
    """Fit map and shifts on cells, or rows, of which the membership of all findings is known; return the corrected too.

    `effect`: design effect of the mean of all rows.
    """
    mass, y = rows.mass, rows.correct
    stratum = rows.stratum if rows.stratum is not None else np.arange(len(rows))
    # the mean of rows of one stratum and of the same groups, whatever their outcomes
    same = np.unique(np.column_stack([stratum, *(one.split.tested for one in shifted)]), axis=0, return_inverse=True)[1]
    f = (np.bincount(same.ravel(), mass * rows.confidence) / np.bincount(same.ravel(), mass))[same.ravel()]
    columns = np.array([one.split.tested for one in shifted]).reshape(len(shifted), len(rows))
    fewer = np.array([one.fewer for one in shifted])
    dealt = deal(rows, columns, effect)
    tried: dict[tuple[str, bool], float] = {}
    for name, some in product(MAPS, (False, True)[: 1 + bool(shifted)]):
        own, losses = slice(None if some else 0), np.zeros(len(rows))
        for part in dealt:
            fitted, sizes, _ = _fitted(name, f, y, mass * (1 - part), columns[own], fewer[own])
            losses += part * log_losses(y, _applied(fitted, sizes, f, columns[own]))
        tried[name, some] = float(np.average(losses, weights=mass))
    name, some = min(tried, key=lambda one: tried[one])
    own = slice(None if some else 0)
    found, sizes, errors = _fitted(name, f, y, mass, columns[own], fewer[own])
    shifts = tuple(
        ScanShift(
            finding=one.number,
            size=float(sizes[k]),
            error=float(errors[k]),
            columns=tuple(_column(cut) for cut in one.member.cuts),
            cells=one.member.cells,
            others=one.member.others,
            scores=tuple(one.scores),
        )
        for k, one in enumerate(shifted[own])
    )
    correction = ScanCorrection(
        map=found,
        shifts=shifts,
        log_loss_raw=float(np.average(log_losses(y, f), weights=mass)),
        log_loss_map=tried[name, False],
        log_loss=tried[name, some],
        tried={f"{one} and shifts" if more else one: loss for (one, more), loss in tried.items()},
    )
    return correction, _applied(found, sizes, f, columns[own])


def _applied(found: ScanMap, sizes: np.ndarray, f: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return corrected probabilities, by a map and shifts of some sizes."""
    base, shift = found.apply(f), sizes @ columns
    return np.where(shift == 0, base, expit(logit(base) + shift))


def _column(cut: Any) -> dict[str, Any]:
    content = asdict(cut)
    return {name: content[name] for name in ("column", "kind", "values", "edges", "timed", "truth")}


def deal(rows: LabelledRows, columns: Sequence[np.ndarray], effect: float) -> np.ndarray:
    """Deal the rows of each cell to folds: which share of it is in each, (FOLDS, n).

    Rows of one cell, which have one outcome, are interchangeable, so that a number drawn for each cell is what it is to
    draw a fold for each row. It needs no row and no hash that all engines compute alike: the cells that are written
    give the same folds again. Rows that hang together are dealt by unit where units are known, else `effect` at a time.
    """
    # the stream of this generator never changes
    draw = np.random.RandomState(0)
    if rows.group is not None:
        number = np.unique(rows.group, return_inverse=True)[1]
        fold = draw.randint(FOLDS, size=int(number.max()) + 1)[number]
        return (fold == np.arange(FOLDS)[:, None]).astype(np.float64)
    # cells that are alike may change places
    order = np.lexsort((rows.counts, rows.confidence, *columns, rows.correct, rows.level))
    clumps = np.maximum(1, np.rint(rows.counts[order] / max(effect, 1.0))).astype(np.int64)
    left, dealt = clumps.copy(), np.zeros((FOLDS, len(rows)))
    for k in range(FOLDS):
        own = draw.binomial(left, 1 / (FOLDS - k)) if k < FOLDS - 1 else left
        dealt[k, order] = own / clumps
        left = left - own
    return dealt


def _fitted(
    name: str, f: np.ndarray, y: np.ndarray, mass: np.ndarray, columns: np.ndarray, fewer: np.ndarray
) -> tuple[ScanMap, np.ndarray, np.ndarray]:
    """Fit a map, and the shifts given it: their sizes and errors.

    There is one of all rows beside them, or what groups lose would be missing in the mean.
    """
    found = _fitted_map(name, f, y, mass)
    if not len(columns):
        return found, np.zeros(0), np.zeros(0)
    matrix = np.vstack([np.ones(len(f)), columns])
    sizes, errors = fit_shifts(matrix, y, logit(found.apply(f)), mass, np.r_[0.0, RIDGE * fewer])
    return found.shifted(float(sizes[0])), sizes[1:], errors[1:] * np.sqrt(fewer)


def _fitted_map(name: str, f: np.ndarray, y: np.ndarray, mass: np.ndarray) -> ScanMap:
    if name == "identity":
        return ScanMap(name=name)
    if name == "platt":
        line, _ = fit_shifts(np.array([logit(f), np.ones(len(f))]), y, np.zeros(len(f)), mass, np.full(2, 1e-9))
        return ScanMap(name=name, slope=float(line[0]), intercept=float(line[1]))
    knots, values = _isotonic(f, y, mass)
    return ScanMap(name=name, knots=tuple(knots.tolist()), values=tuple(values.tolist()))


def _isotonic(f: np.ndarray, y: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means of the probability and rising rates of parts of about equal counts."""
    order = np.argsort(f, kind="stable")
    order = order[mass[order] > 0]
    f, y, mass = f[order], y[order], mass[order]
    part = np.minimum(np.cumsum(mass) / mass.sum() * _KNOTS, _KNOTS - 1).astype(int)
    part = np.unique(part, return_inverse=True)[1]
    weight, sure, right = (np.bincount(part, mass * some) for some in (np.ones(len(f)), f, y))
    # one row more of the mean rate: no part is sure
    rate = (right + right.sum() / weight.sum()) / (weight + 1)
    found = isotonic_regression(rate, weights=weight)
    block = np.repeat(np.arange(len(found.blocks) - 1), np.diff(found.blocks))
    knots = np.bincount(block, sure) / np.bincount(block, weight)
    kept = np.diff(knots, prepend=-1.0) > 0
    return knots[kept], found.x[found.blocks[:-1]][kept]


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
        try:
            if set(one.condition.columns) - able:
                raise NoCells
            found = shift_of(number, one.condition, frame)
        except NoCells:
            left_out.append(f"{one.description}: no condition on columns of the table")
            continue
        cuts = tuple(replace(cut, truth=cut.column in truths) for cut in found.member.cuts)
        fewer = effect_of_mean(rows, found.split.inside)
        shifted.append(replace(found, member=replace(found.member, cuts=cuts), fewer=fewer))
    correction, _ = fit_correction(rows, shifted, effect_of_mean(rows))
    full = average(log_losses(rows.correct, values["corrected"][shown]), rows.weight)
    return ReadableCorrection(correction, probability, full, tuple(left_out))


def shift_of(number: int, condition: Condition, frame: Frame) -> Shifted:
    """Return a finding by cells of columns."""
    if condition.lacks(frame) is not None:
        raise NoCells
    inside = condition.rows(frame)
    if isinstance(condition, Trend):
        ends = [seconds(end) if isinstance(end, str) else end for end in (condition.lower, condition.upper)]
        edges = tuple(dict.fromkeys(ends))
        cut = Cut(condition.column, DATE if isinstance(condition.upper, str) else NUMBER, edges=edges)
        lower = condition.lower_end.rows(frame)
        scores = (-0.5, 0.0, 0.5) if len(edges) == 2 else (-0.5, 0.5)
        tested = 0.5 * inside - 0.5 * (lower & ~inside)
        return Shifted(number, Member((_timed(cut, frame),), (), apart=True), Split(inside, tested), scores)
    return Shifted(number, _member(condition, frame), Split(inside, inside.astype(np.float64)))


def _member(condition: Condition, frame: Frame) -> Member:
    if isinstance(condition, NoneOf):
        inner = _member(AnyOf(condition.conditions), frame)
        return replace(inner, others=not inner.others)
    of = condition.conditions if isinstance(condition, Both) else (condition,)
    cuts, cells = zip(*(_one_column(one, frame) for one in of), strict=True)
    return Member(cuts, tuple(product(*cells)))


def _one_column(condition: Condition, frame: Frame) -> tuple[Cut, Sequence[int]]:
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
    raise NoCells


def _any_of(conditions: Sequence[Condition], frame: Frame) -> tuple[Cut, Sequence[int]]:
    """Put values of one column together."""
    parts = [_one_column(one, frame) for one in conditions]
    if len(parts) == 1:
        return parts[0]
    ranges = any(cut.edges or (not cut.values and list(cells) != [1]) for cut, cells in parts)
    if ranges or len({(cut.column, cut.kind) for cut, _ in parts}) > 1:
        raise NoCells
    values: list[Any] = list(dict.fromkeys(value for cut, _ in parts for value in cut.values))
    blank = any(not cut.values for cut, _ in parts)
    return replace(parts[0][0], values=tuple(values)), range(len(values) + blank)


def _timed(cut: Cut, frame: Frame) -> Cut:
    """Say whether dates have times of day."""
    days = cut.kind == DATE and all(edge % 86_400 == 0 for edge in cut.edges)
    values = frame.columns[cut.column]
    return replace(cut, timed=cut.kind == DATE and not (days and values.dtype == "datetime64[D]"))
