"""The test of one group within each of several models, and whether its effects differ between them.

Within model m a group is tested as the ledger tests it: T_m, the sum of its factors a times the residuals e, has a
variance V_m under shuffles within strata of near-equal confidence of that model, times the design effect of the model's
own rows (several answers of a model to one question). With k_m, what a difference of 1 adds to T_m, the effect is
d_m = T_m / k_m.

Whether the effects differ is asked by the usual sum Q = sum over models of w_m (d_m - mean of d)^2, with w_m = k_m^2 /
V_m (Cochran, Biometrics 10, 1954). Models answer the same questions, though, so the T_m hang together:

    Cov(T_m, T_n) = r_mn * sum over questions of (sum of a sqrt(v) of m) (sum of a sqrt(v) of n),

where v is the variance of an outcome given its rate, and r_mn the correlation of the residuals of the two models over
the questions that both answered, by moments as in :mod:`miscal.calibration.survey_design`. So Q has the law of a
weighted sum of squared normal numbers, whose weights are the eigenvalues of that covariance without the direction of a
common effect. No covariance is inverted. What other groups explain can be taken out of residuals and factors first,
within each model, so that a group is no echo of them. The weights are multiplied by what the questions' own sums show
beyond that (the sandwich of Liang and Zeger), if they show more, and by what few questions cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign, fewness
from miscal.evidence.conditional import centred
from miscal.evidence.sums import chi_squares_p_value
from miscal.findings.ledger.bins import TrendRows
from miscal.findings.ledger.blocks import Strata, cut_into_strata
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.ledger.sizes import GroupTest, size, trend_size

Floats, Ints = NDArray[np.float64], NDArray[np.int64]

_PAIRS_SEEN = 2.0
"""Added to the sum that products of residuals of two models are divided by: two models that share few questions are
taken not to hang together, which makes differences between them less certain."""
_STREAM = 35
_LEAST = float(np.finfo(np.float64).tiny)
_ROUNDING = 1e-9
_COLLINEAR = 1e-10
"""Of columns that others add up to, rounding leaves so much."""


@dataclass(frozen=True)
class ModelEffect:
    """How one model differs on the rows of a group from its own rows of equal confidence.

    `n`: its rows of the group. `effect`: how much more often they are right, in [-1, 1]; negative where less often. Of
    a trend: the rows at its upper end against those at its lower. With the 95 % interval of this one model, not
    adjusted; undefined where it has no rows to be compared. `after`: the same of the corrected confidences: what a
    correction leaves.
    """

    model: str
    n: int
    effect: Measure
    after: float | None = None


@dataclass(frozen=True, eq=False)
class GroupTests:
    """The sums of one group in M models that can test it.

    `place`, (M,) int: the models. `factors`, (n,) float64: a of each row. `centred`, (n,) float64: the column of the
    group less its mean in the stratum, and less what other groups explain of it in the model. `left`, (n,) float64: the
    residuals, less the same. `total, variance, gain`, (M,) float64: T, V and k.
    """

    place: Ints
    factors: Floats
    centred: Floats
    left: Floats
    total: Floats
    variance: Floats
    gain: Floats


class Without:
    """Takes out of columns, within each model, what the columns of other groups explain of them.

    `given`: the columns of the other groups, centred in strata. `within`: the rows of each model. `mass`, (n,) float64:
    how much each row counts. `residual`, (n,) float64: the residuals, centred in strata. `residual`, (n,) float64: the
    residuals without what the groups explain of them.
    """

    def __init__(self, given: Sequence[Floats], within: Sequence[Ints], mass: Floats, residual: Floats) -> None:
        self.within, self.mass = within, mass
        self.known = [np.column_stack([one[own] for one in given]) for own in within] if given else []
        products = (known.T @ (mass[own, None] * known) for own, known in zip(within, self.known, strict=False))
        self.inverse = [np.linalg.pinv(one, rcond=_COLLINEAR, hermitian=True) for one in products]
        self.residual = self.of(residual)

    def of(self, column: Floats) -> Floats:
        """Return a column (n,) without what the groups explain of it."""
        left = column.copy()
        for own, known, inverse in zip(self.within, self.known, self.inverse, strict=False):
            left[own] -= known @ (inverse @ (known.T @ (self.mass[own] * column[own])))
        return left


class ModelTests:
    """Tests groups within each of several models; strata are cut once.

    `rows`: of all models, with a part for each, and the questions as groups. `seed`: of the order of rows of equal
    confidence.
    """

    def __init__(self, rows: LabelledRows, models: int, seed: int) -> None:
        self.rows, self.models = rows, models
        self.part = np.zeros(len(rows), np.int64) if rows.part is None else rows.part
        rng = np.random.default_rng((seed, _STREAM))
        width = LEDGER_DEFAULTS.stratum_width(len(rows)) * rows.rows_per_unit
        self.strata = Strata.of(rows, cut_into_strata(rows.confidence, width, rng, self.part))
        self.residual = centred(rows.residual, self.strata.stratum, rows.mass)
        question = np.arange(len(rows)) if rows.group is None else rows.group
        # rows of one question and one model are a cell of a table of questions by models
        at, self.cell = np.unique(question * models + self.part, return_inverse=True)
        self.place, self.shape = (at // models, at % models), (int(question.max()) + 1, models)
        self.within: list[tuple[Ints, SurveyDesign | None]] = []
        for model in range(models):
            own = np.flatnonzero(self.part == model)
            taken = rows.take(own)
            self.within.append((own, SurveyDesign.of(taken.group, taken.residual, taken.variance)))
        self.spread = np.sqrt(rows.variance)
        # the correlation of the residuals of every two models, (models, models)
        seen, most = self._products(rows.residual), self._products(self.spread)
        self.correlation = np.clip(seen / (most + _PAIRS_SEEN), -1.0, 1.0)
        np.fill_diagonal(self.correlation, 1.0)

    def _by_question(self, values: Floats) -> csr_array:
        """Sum values (n,) over the rows of each question and model, (questions, models)."""
        return csr_array((np.bincount(self.cell, values), self.place), shape=self.shape)

    def _products(self, values: Floats) -> Floats:
        """Return the sums over questions of the products of every two models' sums of some values, (models, models)."""
        table = self._by_question(values)
        return (table.T @ table).toarray()

    def allowing_for(self, given: Sequence[Floats]) -> Without:
        """Return what takes the effects of other groups, by their columns (n,), out of columns and residuals."""
        known = [self.strata.centred(one) for one in given]
        return Without(known, [own for own, _ in self.within], self.rows.mass, self.residual)

    def of(self, column: Floats, inside: NDArray[np.bool_], without: Without | None = None) -> GroupTests:
        """Test a group within each model.

        `column`, (n,) float64: what each row adds to its test: 1 and 0, or the scores of a trend. `inside`, (n,) bool:
        its rows. `without`: other groups, whose effects are allowed for.
        """
        every = self.strata.centred(column)
        b, left = (every, self.residual) if without is None else (without.of(every), without.residual)
        a = self.rows.mass * b
        total, gain = (np.bincount(self.part, a * by, self.models) for by in (left, b))
        variance = np.bincount(self.part, self.strata.scatter * a**2, self.models)
        n, size = (np.bincount(self.part, by, self.models) for by in (inside, np.ones(len(a))))
        enough = gain > LEDGER_DEFAULTS.variance_left * np.bincount(self.part, self.rows.mass * every**2, self.models)
        able = (variance > 0) & enough & (np.minimum(n, size - n) >= LEDGER_DEFAULTS.min_rows)
        for model in np.flatnonzero(able).tolist():
            own, design = self.within[model]
            if design is not None:
                variance[model] *= design.design_effect(a[own], self.rows.residual[own], self.rows.variance[own])
        place = np.flatnonzero(able)
        return GroupTests(place, a, b, left, total[place], variance[place], gain[place])

    def effects(self, column: Floats, inside: NDArray[np.bool_], trend: TrendRows | None = None) -> dict[int, Measure]:
        """Measure the effect of a group in each model that can test it, by the place of the model."""
        test = self.of(column, inside)
        return {
            place: self._size(test, self.within[place][0], float(total), float(variance), trend, None)
            for place, total, variance in zip(test.place.tolist(), test.total, test.variance, strict=True)
        }

    def pooled(
        self, column: Floats, inside: NDArray[np.bool_], trend: TrendRows | None = None, level: float | None = None
    ) -> MeasureAgainstNull:
        """Measure the effect of a group over all models, by itself; its interval may miss with probability `level`."""
        test, rows = self.of(column, inside), self.rows
        total, variance = float(test.factors @ rows.residual), float(self.strata.scatter @ test.factors**2)
        if rows.design is not None:
            variance *= rows.design.design_effect(test.factors, rows.residual, rows.variance)
        found = self._size(test, np.arange(len(rows)), total, variance, trend, level)
        p_value = float(2 * ndtr(-abs(total) / np.sqrt(variance))) if variance > 0 else None
        return MeasureAgainstNull(value=found.value, interval=found.interval, p_value=p_value)

    def _size(
        self, test: GroupTests, own: Ints, total: float, variance: float, trend: TrendRows | None, level: float | None
    ) -> Measure:
        """Return the size that some rows show, with an interval of the level of the tests where none is given."""
        least = float(-ndtri((LEDGER_DEFAULTS.significance if level is None else level) / 2))
        # a score of 0 says that the size is not to be shrunk: what a model shows stays as it is
        one = GroupTest(test.factors[own], total, variance, z=0.0, least=least)
        rows = self.rows.take(own)
        if trend is None:
            return size(one, rows.expected, direction=test.centred[own])
        return trend_size(rows, trend.upper[own], trend.lower[own], trend.score[own], one)

    def difference(self, column: Floats, inside: NDArray[np.bool_], without: Without | None = None) -> float | None:
        """P-value of the effects being equal in all models that can test the group; None where fewer than two can."""
        test = self.of(column, inside, without)
        if len(test.place) < 2:
            return None
        deviation = np.sqrt(test.variance)
        z, scale = test.total / deviation, test.gain / deviation
        common = scale / np.linalg.norm(scale)
        apart = np.eye(len(z)) - np.outer(common, common)
        weights = np.maximum(np.linalg.eigvalsh(apart @ self._hanging(test) @ apart), _LEAST)
        variance = self._variance(test, apart / deviation, float(weights.sum()))
        if variance < _ROUNDING:
            # the models are one and the same
            return 1.0
        return chi_squares_p_value(float(z @ apart @ z), weights * variance / weights.sum())

    def _hanging(self, test: GroupTests) -> Floats:
        """Return the correlation of the sums of the models, (M, M)."""
        at = np.ix_(test.place, test.place)
        products = self._products(test.factors * self.spread)[at]
        lengths = np.sqrt(np.maximum(np.diag(products), _LEAST))
        found = self.correlation[at] * products / np.outer(lengths, lengths)
        np.fill_diagonal(found, 1.0)
        return found

    def _variance(self, test: GroupTests, apart: Floats, stated: float) -> float:
        """Expect of Q what is stated, or what the questions' own sums show if that is more; more where they are few.

        `apart` (M, M) makes of the sums of the models what Q adds the squares of.
        """
        effect = np.zeros(self.models)
        effect[test.place] = test.total / test.gain
        noise = test.factors * (test.left - effect[self.part] * test.centred)
        seen = self._by_question(noise).toarray()[:, test.place] @ apart.T
        squares = self._by_question(test.factors**2 * self.rows.variance).toarray()[:, test.place]
        expected = squares @ (1 / test.variance)
        questions = float(expected.sum()) ** 2 / max(float(expected @ expected), _LEAST)
        return max(stated, float(np.sum(seen**2))) * float(fewness(max(questions, 1.0)))
