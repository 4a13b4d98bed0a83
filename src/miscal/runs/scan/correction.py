"""The correction of a scan: one map of the probability and one shift for each finding, fitted on cells.

The shifts are of the log-odds, shrunken, and fitted together. The map is the simplest that the others do not beat by
more than their numbers cost (the criterion of Schwarz, Annals of Statistics 6, 1978).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import FiniteFloat
from scipy.special import expit

from miscal.base.document import Part
from miscal.base.sql_text import farthest, odds_of, sigmoid, steps, writer_of
from miscal.calibration.calibrators import LOGIT_CLIP, logit
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import log_losses
from miscal.data.counting import Cut, Member
from miscal.findings.ledger.blocks import Split
from miscal.runs.scan.plan import cell_sql

SHIFT, SLOPE, TREND = "shift", "slope", "trend"
_RIDGE = 1.0
"""Precision of a shift before its rows are looked at, as of the readable estimator."""
_KNOTS, _STEPS = 20, 30


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

    def sql(self, f: str) -> tuple[str, str]:
        """Write what it makes of a probability, and the log-odds of that."""
        end = farthest(LOGIT_CLIP)
        if self.name == "platt":
            line = f"({self.slope!r} * ({odds_of(f, LOGIT_CLIP)}) + {self.intercept!r})"
            inside = f"CASE WHEN {line} <= {-end!r} THEN {-end!r} WHEN {line} >= {end!r} THEN {end!r} ELSE {line} END"
            return sigmoid(line), inside
        base = f if self.name == "identity" else steps(f, list(self.knots), list(self.values))
        return base, odds_of(base, LOGIT_CLIP)


class ScanShift(Part):
    """A shift of the log-odds of the rows of a finding.

    `finding`: its number, from 1. `effect`: ``"shift"``: by `size`; ``"slope"``: by `size` times how far the log-odds
    of the mapped probability lie from `centre`; ``"trend"``: by `size` times the score of the row's cell. `cells`: the
    cells of the columns, or those of all others (`others`). `scores`: of a trend, of its cells. `error`: standard
    error of `size`.
    """

    finding: int
    effect: str
    size: FiniteFloat
    error: FiniteFloat
    centre: FiniteFloat = 0.0
    columns: tuple[dict[str, Any], ...]
    cells: tuple[tuple[int, ...], ...] = ()
    others: bool = False
    scores: tuple[FiniteFloat, ...] = ()


class ScanCorrection(Part):
    """A map and shifts, and the mean log loss on the cells: before, by the map alone, and with the shifts.

    `map`: of the probability. `shifts`: one for each finding. `log_loss_raw, log_loss_map`: before, and by the map.
    """

    map: ScanMap
    shifts: tuple[ScanShift, ...]
    log_loss_raw: FiniteFloat
    log_loss_map: FiniteFloat
    log_loss: FiniteFloat

    def sql(self, probability: str, cuts: dict[str, Cut], dialect: str = "ansi") -> str:
        """Return the corrected probability as one expression over the columns."""
        sql = writer_of(dialect)
        f = sql.as_number(probability)
        base, odds = self.map.sql(f)
        unknown = f"CASE WHEN {f} IS NULL OR {f} < 0 OR {f} > 1 THEN NULL"
        if not self.shifts:
            return f"{unknown} ELSE {base} END"
        parts = []
        for one in self.shifts:
            own = [cuts[content["column"]] for content in one.columns]
            own = [
                replace(cut, values=tuple(c["values"]), edges=tuple(c["edges"]))
                for cut, c in zip(own, one.columns, strict=True)
            ]
            write = lambda cut, cells: cell_sql(cut, cells, sql.name, sql.text, sql.number)  # noqa: E731
            if one.effect == TREND:
                cases = [f"WHEN {write(own[0], [k])} THEN {one.size * score!r}" for k, score in enumerate(one.scores)]
                parts.append(f"CASE {' '.join(cases)} ELSE 0 END")
                continue
            if len(own) == 1:
                inside = write(own[0], [cell for (cell,) in one.cells])
            else:
                inside = " OR ".join(f"({write(own[0], [a])} AND {write(own[1], [b])})" for a, b in one.cells)
            size = repr(one.size) if one.effect == SHIFT else f"{one.size!r} * (({odds}) - {one.centre!r})"
            yes, no = ("0", size) if one.others else (size, "0")
            parts.append(f"CASE WHEN {inside} THEN {yes} ELSE {no} END")
        shift = f"({' + '.join(parts)})"
        return f"{unknown} WHEN {shift} = 0 THEN {base} ELSE {sigmoid(f'({odds}) + {shift}')} END"


def fit_correction(
    rows: LabelledRows, findings: Sequence[tuple[Member, Split, str, Sequence[float], float]], n: float
) -> tuple[ScanCorrection, np.ndarray]:
    """Fit map and shifts on cells of which the membership of all findings is known; with them the corrected cells.

    `findings`: of each the rows, the cells in it, its effect, of a trend the scores of the bins, and the
    design effect of its mean: of so many times fewer rows is what it says. `n`: rows in all.
    """
    mass, y = rows.mass, rows.correct
    stratum = rows.stratum if rows.stratum is not None else np.arange(len(rows))
    total = np.bincount(stratum, mass)
    f = (np.bincount(stratum, mass * rows.confidence) / total)[stratum]
    found = _fitted_map(f, y, mass, n)
    base = found.apply(f)
    odds = logit(base)
    columns, centres = [], []
    for _, split, effect, _, _ in findings:
        own = float(np.average(odds, weights=np.maximum(mass * split.inside, 1e-300))) if effect == SLOPE else 0.0
        centres.append(own)
        columns.append(split.inside * (odds - own) if effect == SLOPE else split.tested)
    matrix = np.array(columns).reshape(len(columns), len(rows))
    fewer = np.array([one[-1] for one in findings])
    sizes, errors = _newton(matrix, y, odds, mass, _RIDGE * fewer)
    errors = errors * np.sqrt(fewer)
    shift = sizes @ matrix if len(sizes) else np.zeros(len(rows))
    corrected = np.where(shift == 0, base, expit(odds + shift))
    shifts = []
    for k, (member, _, effect, scores, _) in enumerate(findings):
        contents = tuple(
            {"column": cut.column, "values": list(cut.values), "edges": list(cut.edges)} for cut in member.cuts
        )
        shifts.append(
            ScanShift(
                finding=k + 1,
                effect=TREND if scores else effect,
                size=float(sizes[k]),
                error=float(errors[k]),
                centre=centres[k],
                columns=contents,
                cells=member.cells,
                others=member.others,
                scores=tuple(scores),
            )
        )
    losses = [_loss(p, y, mass) for p in (f, base, corrected)]
    named = dict(zip(("log_loss_raw", "log_loss_map", "log_loss"), losses, strict=True))
    return ScanCorrection(map=found, shifts=tuple(shifts), **named), corrected


def _fitted_map(f: np.ndarray, y: np.ndarray, mass: np.ndarray, n: float) -> ScanMap:
    odds = logit(f)
    line, _ = _newton(np.array([odds, np.ones(len(f))]), y, np.zeros(len(f)), mass, np.full(2, 1e-9))
    able = [(ScanMap(name="identity"), 0), (ScanMap(name="platt", slope=float(line[0]), intercept=float(line[1])), 2)]
    knots, values = _isotonic(f, y, mass)
    if len(knots) > 1:
        able.append((ScanMap(name="isotonic", knots=tuple(knots), values=tuple(values)), len(knots)))
    return min(able, key=lambda one: 2 * n * _loss(one[0].apply(f), y, mass) + one[1] * np.log(n))[0]


def _isotonic(f: np.ndarray, y: np.ndarray, mass: np.ndarray) -> tuple[list[float], list[float]]:
    """Return means of the probability and rising rates of parts of about equal counts."""
    order = np.argsort(f, kind="stable")
    part = np.empty(len(f), int)
    part[order] = np.minimum(np.cumsum(mass[order]) / mass.sum() * _KNOTS, _KNOTS - 1).astype(int)
    part = np.unique(part, return_inverse=True)[1]
    weight, sure, right = (np.bincount(part, mass * some) for some in (np.ones(len(f)), f, y))
    blocks: list[list[float]] = []
    for one in zip(weight.tolist(), sure.tolist(), right.tolist(), strict=True):
        blocks.append(list(one))
        while len(blocks) > 1 and blocks[-2][2] / blocks[-2][0] >= blocks[-1][2] / blocks[-1][0]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    knots, values = [one[1] / one[0] for one in blocks], [one[2] / one[0] for one in blocks]
    kept = [k for k in range(len(knots)) if k == 0 or knots[k] > knots[k - 1]]
    return [knots[k] for k in kept], [values[k] for k in kept]


def _newton(
    matrix: np.ndarray, y: np.ndarray, odds: np.ndarray, mass: np.ndarray, ridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit sizes of columns (k, n) together, each of a precision before; with their standard errors."""
    size = np.zeros(len(matrix))
    if not len(matrix):
        return size, size
    for _ in range(_STEPS):
        p = expit(odds + size @ matrix)
        bend = (matrix * (mass * p * (1 - p))) @ matrix.T + np.diag(ridge)
        step = np.linalg.solve(bend, matrix @ (mass * (y - p)) - ridge * size)
        size = size + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-12:
            break
    return size, np.sqrt(np.diag(np.linalg.inv(bend)))


def _loss(p: np.ndarray, y: np.ndarray, mass: np.ndarray) -> float:
    return float(np.average(log_losses(y, p), weights=mass))
