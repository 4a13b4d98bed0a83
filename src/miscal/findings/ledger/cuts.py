"""Cuts on the honest hidden field: whether the rows that it calls worst, or best, are right less or more often.

Such a group depends on outcomes, but only on those of earlier blocks of rows. Given these, it is fixed, and the
statistic of the scan (`scan`), taken within the block and divided by its standard deviation, has mean 0 and variance 1
where nothing is hidden, whatever the field did. Scores of the blocks are combined by weights fixed beforehand (Stouffer
and others, 1949). A small p-value is also computed from the exact laws of the numbers of right answers, and the larger
of the two counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.conditional import centred, shuffle_variances
from miscal.findings.conditions import Cut
from miscal.findings.ledger.exact import law_of_right, strata_within
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.sizes import GroupTest, Tested, shrinkage, size, standard_score

_STREAM = 34
_NO_VARIANCE = 1e-9
_LEAST = np.finfo(float).tiny
"""A p-value is never 0."""


@dataclass(frozen=True, eq=False)
class SequentialField:
    """A hidden field each of whose values was learned from the outcomes of earlier blocks only.

    `hidden`, float64 (n,): NaN for rows of the blocks that only teach. `block`, int (n,): blocks in the order in which
    they were learned from. One block in all where the field was learned from rows that are not evaluated.
    """

    hidden: np.ndarray
    block: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedCut(Tested):
    """Rows at one end of the hidden field that were judged, one-sided, in the direction that the field says.

    `rows`, bool (n,). `lowest`: whether they have the lowest values of the field, not the highest. `quantile`: share of
    each block that they are. `z, p_value, p_adjusted, level, conditional, shrinkage, own`: as in
    :class:`~miscal.findings.ledger.sizes.Tested`: given the groups kept apart, adjusted for all cuts and for the share
    of the error that they have.
    """

    rows: np.ndarray
    lowest: bool
    quantile: float


def condition_of(cut: JudgedCut, field: SequentialField, hidden: np.ndarray, row: np.ndarray) -> Cut:
    """Say which rows a cut holds, of those that it was judged on and of new ones.

    `field`: that it is an end of. `hidden`, (n,): honest hidden field of the same rows, as the model that is saved
    would estimate it: the bound of new rows is its quantile. `row`, int (n,): numbers of the rows in the source.
    """
    side = 1 if cut.lowest else -1
    blocks, at_bound = [], np.zeros(len(row), bool)
    for block in np.unique(field.block[cut.rows]):
        inside = cut.rows & (field.block == block)
        bound = float(side * np.max(side * field.hidden[inside]))
        blocks.append((int(block), bound))
        at_bound |= inside & (field.hidden == bound)
    ordered = np.sort(side * hidden)
    bound = float(side * ordered[max(0, round(cut.quantile * len(hidden)) - 1)])
    end = "lowest" if cut.lowest else "highest"
    return Cut(end, cut.quantile, bound, tuple(blocks), tuple(row[at_bound].tolist()))


def number_of_cuts(settings: LedgerSettings = LEDGER_DEFAULTS) -> int:
    """Cuts that are judged: each quantile at either end.

    Examples
    --------
    >>> number_of_cuts()
    4
    """
    return 2 * len(settings.cuts)


def judged_cuts(
    rows: LabelledRows,
    field: SequentialField,
    apart: Sequence[np.ndarray] = (),
    *,
    seed: int = 0,
    error: float = 1.0,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> list[JudgedCut]:
    """Judge the ends of the hidden field: at most one cut of each sign, the one with the smallest p-value.

    `rows`: scores of a block are divided by the root of its design effect. `apart`, bool (n,): findings chosen before:
    rows in them are compared only with rows in the same ones. `seed`: of ties. `error`: share of the family-wise error
    that the cuts may spend, in (0, 1]. Returns those that are significant and have the sign that the field gives them.
    With nothing hidden the list is empty in at least 95 % of tables at `error` 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> field = rng.normal(size=800)
    >>> y = (rng.random(800) < 0.5 + 0.3 * np.sign(field)).astype(float)
    >>> half = np.full(800, 0.5)
    >>> cuts = judged_cuts(LabelledRows(y, half, half), SequentialField(field, np.arange(800) // 200))
    >>> [(cut.lowest, cut.quantile, cut.rows.sum().item()) for cut in cuts]
    [(True, 0.2, 160), (False, 0.2, 160)]
    """
    rng = np.random.default_rng((seed, _STREAM))
    blocks = _blocks(field, settings)
    if not blocks:
        return []
    test = _Test(rows, apart, blocks, rng, settings)
    alone = _Test(rows, (), blocks, np.random.default_rng((seed, _STREAM, 1)), settings) if apart else test
    level = settings.significance * error / number_of_cuts(settings)
    best: dict[bool, JudgedCut] = {}
    for lowest in (True, False):
        for quantile in settings.cuts:
            end = np.zeros(len(rows), bool)
            for inside, _ in blocks:
                end[inside] = _end(field.hidden[inside], quantile, lowest, rng)
            z, p_value = test.of(end, lowest)
            if p_value <= level and (lowest not in best or p_value < best[lowest].p_value):
                adjusted = min(1.0, p_value * settings.significance / level)
                score, least = standard_score(p_value, -1 if lowest else 1, sides=1), float(-ndtri(level))
                best[lowest] = JudgedCut(
                    rows=end,
                    lowest=lowest,
                    quantile=quantile,
                    z=z,
                    p_value=p_value,
                    p_adjusted=adjusted,
                    level=level,
                    conditional=test.size(end, score, least),
                    own=alone.size(
                        end, standard_score(alone.of(end, lowest)[1], -1 if lowest else 1, sides=1), least, own=True
                    ),
                    shrinkage=shrinkage(abs(score), least),
                )
    return sorted(best.values(), key=lambda cut: cut.p_value)


def _blocks(field: SequentialField, settings: LedgerSettings) -> list[tuple[np.ndarray, float]]:
    """Rows of each block that is judged, and its weight: the root of its rows times the rows that it learned from."""
    judged = np.isfinite(field.hidden)
    blocks = []
    for block in np.unique(field.block[judged]):
        inside = np.flatnonzero(judged & (field.block == block))
        # a field that says the same of all rows has no ends
        if len(inside) >= settings.block_rows and np.ptp(field.hidden[inside]) > 0:
            taught = max(1, int(np.sum(field.block < block)))
            blocks.append((inside, float(np.sqrt(len(inside) * taught))))
    return blocks


def _end(hidden: np.ndarray, quantile: float, lowest: bool, rng: np.random.Generator) -> np.ndarray:
    """Mark the rows at one end, as many as the quantile says; ties in random order."""
    order = np.lexsort((rng.random(len(hidden)), hidden if lowest else -hidden))
    rows = np.zeros(len(hidden), bool)
    rows[order[: round(quantile * len(hidden))]] = True
    return rows


@dataclass(frozen=True, eq=False)
class _Block:
    """A block that is judged: positions of its rows, how much each counts, its weight, and strata for either law."""

    inside: np.ndarray
    rows: LabelledRows
    mass: np.ndarray
    weight: float
    stratum: np.ndarray
    narrow: np.ndarray

    def apart(self, group: np.ndarray) -> np.ndarray:
        """Return how far each row's membership lies from the mean of its stratum."""
        return centred(group[self.inside].astype(np.float64), self.stratum, self.mass)

    def variance(self, a: np.ndarray) -> float:
        """Return that of a sum of residuals with these factors, under shuffles within strata."""
        return float(np.sum(shuffle_variances(centred(self.rows.residual, self.stratum), a, self.stratum)))

    def effect(self, group: np.ndarray) -> float:
        """Return the design effect of a group."""
        own = self.rows
        if own.design is None:
            return 1.0
        return own.design.design_effect(self.mass * self.apart(group), own.residual, own.variance)

    def normal(self, group: np.ndarray) -> float:
        """Return the standard score of a group."""
        a = self.mass * self.apart(group)
        variance = self.variance(a)
        return float(self.rows.residual @ a / np.sqrt(variance)) if variance > _NO_VARIANCE else 0.0

    def exact(self, group: np.ndarray) -> float:
        """Return the score that has the exact p-value of a group."""
        law, seen = law_of_right(self.rows.correct, group[self.inside], self.narrow)
        # half of a tie counts (the mid-p-value), so that no power is lost to steps and nothing hangs on a coin
        half = 0.5 * law[seen]
        below, above = law[:seen].sum() + half, law[seen + 1 :].sum() + half
        return float(ndtri(max(below, _LEAST)) if below < above else -ndtri(max(above, _LEAST)))


class _Test:
    """The same rows are asked about several groups: strata are cut once."""

    def __init__(self, rows: LabelledRows, apart, blocks, rng, settings) -> None:
        self.every, self.settings = rows, settings
        taken = [rows.take(inside) for inside, _ in blocks]
        strata = [
            [
                strata_within(
                    own.confidence,
                    [group[inside] for group in apart],
                    rows.rows_per_unit * width(len(inside)),
                    rng,
                    own.part,
                )
                for (inside, _), own in zip(blocks, taken, strict=True)
            ]
            for width in (settings.stratum_width, lambda _: settings.exact_stratum_rows)
        ]
        self.blocks = [
            _Block(inside, own, rows.mass[inside], weight, *cut)
            for (inside, weight), own, *cut in zip(blocks, taken, *strata, strict=True)
        ]

    def of(self, rows: np.ndarray, lowest: bool) -> tuple[float, float]:
        """Return the score of a group, and the p-value of its being right less often (if lowest) or more often."""
        side = 1 if lowest else -1
        z = self._combined(_Block.normal, rows)
        p_value = float(ndtr(side * z))
        if p_value < self.settings.exact_below:
            p_value = max(p_value, float(ndtr(side * self._combined(_Block.exact, rows))), _LEAST)
        return z, p_value

    def size(self, rows: np.ndarray, z: float, least: float, *, own: bool = False) -> Measure:
        """How much more often a group is right; its score is one weighted sum of residuals, of variance 1.

        Its own size compares it with all rows of equal confidence, its own among them.
        """
        factors, direction = np.zeros(len(rows)), np.zeros(len(rows))
        for block in self.blocks:
            inside, apart = block.inside, block.apart(rows)
            direction[inside] = rows[inside] - rows[inside].mean() if own else apart
            a = block.mass * apart
            variance = block.variance(a) * block.effect(rows)
            factors[inside] = block.weight * a / np.sqrt(variance) if variance > _NO_VARIANCE else 0.0
        factors /= np.linalg.norm([block.weight for block in self.blocks])
        test = GroupTest(factors, float(factors @ self.every.residual), 1.0, z, least)
        mass = self.every.mass * rows
        return size(test, self.every.expected, direction=direction, measured=mass / mass.sum() if own else None)

    def _combined(self, score: Callable[[_Block, np.ndarray], float], rows: np.ndarray) -> float:
        scores = [score(block, rows) / np.sqrt(block.effect(rows)) for block in self.blocks]
        weights = np.array([block.weight for block in self.blocks])
        return float(weights @ scores / np.linalg.norm(weights))
