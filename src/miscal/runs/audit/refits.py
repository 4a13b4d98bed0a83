"""Fit the field of a run again, on null outcomes and with other seeds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from miscal.base.errors import InputError
from miscal.base.vocabulary import Kind, vocabulary
from miscal.calibration.labelled_rows import take_rows
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS, clipped, worst_slice
from miscal.calibration.survey_design import SurveyDesign, average, spread
from miscal.data.triples import Triples
from miscal.discovery.estimating import Refit, expected_outcome, fit_again
from miscal.discovery.fitted_rows import TIME, Evidence, evaluated_rows
from miscal.estimators.estimate import regimes_of
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.stability import (
    NullStatistic,
    Resampler,
    Stability,
    bernoulli_outcomes,
    null_audit,
    permuted_outcomes,
    seed_stability,
)
from miscal.findings.residuals import EPSILON

NULL_QUESTIONS = {
    "visible": "Would miscal find as much if {outcomes} depended on the {probability} alone, in whatever way a "
    "reliability diagram shows?",
    "calibrated": "Would miscal find as much if every {probability} were the {chance}?",
    "permuted": "Would miscal find as much if outcomes were shuffled among the rows that are learned from, so that "
    "neither inputs nor {probabilities} say anything about them? (the null of the paper)",
}
"""What a null stands for, as the question that its p-values answer, in the words of a vocabulary.

visible: y ~ Bernoulli(g(f)), g the cross-fitted E[y | f]; calibrated: y ~ Bernoulli(f); permuted: y permuted within
train and within validation rows, or among all rows where all are evaluated. In each of them the outcomes of a named
group hang together as strongly as in the data, given g(f) (:mod:`miscal.evidence.stability`).
"""

NULLS = tuple(NULL_QUESTIONS)


def null_question(null: str, kind: Kind) -> str:
    """Return the question that the p-values of a null answer.

    Examples
    --------
    >>> null_question("calibrated", "event")
    'Would miscal find as much if every predicted risk were the probability of the event?'
    """
    words = vocabulary(kind)
    fills = {name: getattr(words, name) for name in ("outcomes", "probability", "probabilities")}
    return NULL_QUESTIONS[null].format(**fills, chance=words.chance)


DATA = -1
"""Number of the fit on the data among those on draws of a null, which count from 0."""


@dataclass(frozen=True)
class Slice:
    """The field of one fit in numbers, on the evaluation rows.

    ``worst`` is the regime with the larger smECE, None where both have too few rows; ``gap`` its smECE less that of all
    rows, and ``gap_clipped`` at least 0, as the paper appears to report it; ``share_worst`` its share of the rows.
    """

    delta_std: float
    worst: str | None
    gap: float | None
    gap_clipped: float
    share_worst: float | None


@dataclass(frozen=True)
class SeedField(Slice):
    """The field that one seed found."""

    seed: int


@dataclass(frozen=True)
class ProxyCurve:
    """How the proxy went while the chosen setting was trained (method "paper").

    ``draw`` counts refits from 0, and -1 is the fit on the data; ``epoch`` is the one that was kept, from 1, and
    ``proxy`` its validation Brier score of f + delta, the smallest of ``proxies``, those after each epoch.
    """

    draw: int
    epoch: int
    proxy: float
    proxies: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Refitting:
    """Rows, with their split as the run used it, and how their field is learned again, as for ``discover``."""

    triples: Triples
    method: str = "auto"
    options: Mapping[str, Any] | None = None
    seed: int = 0
    epsilon: float = EPSILON
    min_rows: int = MIN_SLICE_ROWS
    n_jobs: int | None = None
    device: str = "auto"
    evidence: Evidence | None = None

    @cached_property
    def evaluated(self) -> np.ndarray:
        """Mask of the evaluation rows: bool, shape (n,)."""
        return self.triples.time_block > 0 if self.evidence == TIME else evaluated_rows(self.triples)

    @cached_property
    def own(self) -> Refit:
        """The fit on the data under the run's own seed, which nulls and seeds share."""
        return self.fit(self.triples.correct, self.seed)

    @cached_property
    def expected(self) -> np.ndarray:
        """E[y | f] of each row, learned from rows outside its fold, whatever the split; float64 (n,)."""
        # not the run's global map, which is simple: the data may hold a visible curve that it does not follow
        return expected_outcome(replace(self.triples, split=None), self.seed)

    @cached_property
    def design(self) -> SurveyDesign | None:
        """How strongly the rows of a named group hang together, given E[y | f]; None where all are independent."""
        group = self.triples.group
        return None if group is None else SurveyDesign.given(group, self.triples.correct, self.expected)

    def fit(self, correct: np.ndarray, seed: int) -> Refit:
        """Learn the field from outcomes, (n,) of 0 and 1."""
        rows = replace(self.triples, correct=correct)
        asked = {"options": self.options, "n_jobs": self.n_jobs, "device": self.device}
        return fit_again(rows, MiscalibrationField(self.method, random_state=seed, **asked), self.evidence)

    def measure(self, refit: Refit, correct: np.ndarray) -> Slice:
        """Measure what a fit found, on the evaluation rows and with these outcomes of all rows."""
        evaluated, regime = self.evaluated, self.regime(refit)
        judged = correct[evaluated], self.triples.confidence[evaluated]
        found = worst_slice(*judged, regime, min_rows=self.min_rows, sample_weight=self.weights)
        return Slice(
            delta_std=spread(refit.estimate.delta, self.weights),
            worst=found.worst,
            gap=found.value,
            gap_clipped=clipped(found.value),
            share_worst=None if found.worst is None else average(regime == found.worst, self.weights),
        )

    @property
    def weights(self) -> np.ndarray | None:
        """How much each evaluation row counts; None where all count alike."""
        return take_rows(self.triples.weight, self.evaluated)

    def regime(self, refit: Refit) -> np.ndarray:
        """Cut a fit's field of the evaluation rows into regimes."""
        return regimes_of(refit.estimate.delta, self.epsilon, refit.estimate.local)


def refit_under_null(
    rows: Refitting, null: str, n_draws: int, tell: Callable[[str], None]
) -> tuple[dict[str, NullStatistic], tuple[ProxyCurve, ...]]:
    """Learn the field from outcomes of a null, and compare what is found with what the data give.

    There are no curves where the method has no proxy, or each fold chooses by its own.
    """
    curves: list[ProxyCurve] = []
    # the data come first
    draws = count(DATA)

    def statistics(outcomes: np.ndarray) -> dict[str, float]:
        draw = next(draws)
        tell(f"null refits ({draw - DATA} of {n_draws})")
        refit = rows.own if draw == DATA else rows.fit(outcomes, rows.seed)
        if refit.proxies:
            curves.append(ProxyCurve(draw, refit.epoch, refit.proxies[refit.epoch - 1], refit.proxies))
        found, regime = rows.measure(refit, outcomes), rows.regime(refit)
        return {
            "delta_std": found.delta_std,
            "std_hidden": spread(refit.estimate.hidden, rows.weights),
            "share_miscalibrated": average((regime == "over") | (regime == "under"), rows.weights),
            "gap": 0.0 if found.gap is None else found.gap,
            "gap_clipped": found.gap_clipped,
        }

    draw_outcomes = outcomes_under(null, rows)
    compared = null_audit(statistics, draw_outcomes, rows.triples.correct, n_draws=n_draws, random_state=rows.seed)
    return compared, tuple(curves)


def refit_with_seeds(
    rows: Refitting, n_seeds: int, tell: Callable[[str], None]
) -> tuple[Stability, tuple[SeedField, ...]]:
    """Learn the field with the run's seed, which comes first, and those that follow it, on the same split."""
    fields, found = [], []
    for extra in range(n_seeds):
        tell(f"other seeds ({extra} of {n_seeds})")
        seed = rows.seed + extra
        refit = rows.own if extra == 0 else rows.fit(rows.triples.correct, seed)
        fields.append(refit.estimate.delta)
        found.append(SeedField(**vars(rows.measure(refit, rows.triples.correct)), seed=seed))
    return seed_stability(fields, gaps=[one.gap_clipped for one in found]), tuple(found)


def check_refitting(null: str, n_draws: int, n_seeds: int) -> None:
    """Refuse settings of an audit that are out of range, before anything is learned."""
    if null not in NULLS:
        raise InputError(f"null must be one of {', '.join(NULLS)}; got {null!r}")
    if n_draws < 1:
        raise InputError(f"n_draws must be at least 1; got {n_draws}")
    if n_seeds < 2:
        raise InputError(f"n_seeds must be at least 2, to have fields to compare; got {n_seeds}")


def outcomes_under(null: str, rows: Refitting) -> Resampler:
    """Return what draws outcomes under a null: it takes a generator, and returns (n,) of 0 and 1.

    Hidden miscalibration that the rows of a group share is not told from outcomes that hang together. So where there
    is such, draws are noisier than need be, and p-values too large rather than too small.
    """
    triples = rows.triples
    if null == "permuted":
        together = np.full(len(triples), "train") if triples.split is None else triples.split
        return permuted_outcomes(triples.correct, together, rows.design)
    rate = triples.confidence if null == "calibrated" else rows.expected
    return bernoulli_outcomes(rate, rows.design)
