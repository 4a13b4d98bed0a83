"""Audit a run: find out what the same steps find where there is nothing to find, or with other seeds and rows."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.document import plain
from miscal.base.errors import InputError, MismatchError, command
from miscal.base.files import locked, replace_file
from miscal.base.number_wording import score
from miscal.base.shown import ShowsItself
from miscal.base.signatures import checked_call
from miscal.base.vocabulary import Kind, vocabulary
from miscal.calibration.labelled_rows import LabelledRows, take_rows
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS, clipped, worst_slice
from miscal.calibration.survey_design import SurveyDesign, average, spread
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.discovery.answer import spoken
from miscal.discovery.estimating import Refit, expected_outcome, fit_again, scale_weights
from miscal.discovery.fitted_rows import TEST, TIME, Evidence, evaluated_rows
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.run_folder import check_seal, seal
from miscal.discovery.summary import Answer
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import make_estimator, regimes_of
from miscal.evidence import stability
from miscal.evidence.power import Threshold, threshold_sensitivity
from miscal.evidence.settings import EPSILONS, N_SEEDS, NULL_DRAWS, SIGNIFICANCE
from miscal.findings.residuals import EPSILON, default_epsilon
from miscal.findings.verdict import in_points
from miscal.report.sheet import Column, Sheet, Table

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
class SeedField:
    """The field of one fit in numbers, on the evaluation rows; `seed` is that of the fit.

    ``worst`` is the regime with the larger smECE, None where both have too few rows; ``gap`` its smECE less that of all
    rows, and ``gap_clipped`` at least 0, as the paper appears to report it; ``share_worst`` its share of the rows.
    """

    delta_std: float
    worst: str | None
    gap: float | None
    gap_clipped: float
    share_worst: float | None
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
        rows = self.triples
        return LabelledRows.of(rows.correct, rows.confidence, self.expected, group=rows.group).design

    def fit(self, correct: np.ndarray, seed: int) -> Refit:
        """Learn the field from outcomes, (n,) of 0 and 1."""
        rows = replace(self.triples, correct=correct)
        asked = {"options": self.options, "n_jobs": self.n_jobs, "device": self.device}
        return fit_again(rows, MiscalibrationField(self.method, random_state=seed, **asked), self.evidence)

    def measure(self, refit: Refit, correct: np.ndarray, seed: int) -> SeedField:
        """Measure what a fit found, on the evaluation rows and with these outcomes of all rows."""
        evaluated, regime = self.evaluated, self.regime(refit)
        judged = correct[evaluated], self.triples.confidence[evaluated]
        found = worst_slice(*judged, regime, min_rows=self.min_rows, sample_weight=self.weights)
        return SeedField(
            delta_std=spread(refit.estimate.delta, self.weights),
            worst=found.worst,
            gap=found.value,
            gap_clipped=clipped(found.value),
            share_worst=None if found.worst is None else average(regime == found.worst, self.weights),
            seed=seed,
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
) -> tuple[dict[str, stability.NullStatistic], tuple[ProxyCurve, ...]]:
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
        found, regime = rows.measure(refit, outcomes, rows.seed), rows.regime(refit)
        return {
            "delta_std": found.delta_std,
            "std_hidden": spread(refit.estimate.hidden, rows.weights),
            "share_miscalibrated": average((regime == "over") | (regime == "under"), rows.weights),
            "gap": 0.0 if found.gap is None else found.gap,
            "gap_clipped": found.gap_clipped,
        }

    of = rows.triples.correct
    compared = stability.null_audit(statistics, outcomes_under(null, rows), of, n_draws=n_draws, random_state=rows.seed)
    return compared, tuple(curves)


def refit_with_seeds(
    rows: Refitting, n_seeds: int, tell: Callable[[str], None]
) -> tuple[stability.Stability, tuple[SeedField, ...]]:
    """Learn the field with the run's seed, which comes first, and those that follow it, on the same split."""
    fields, found = [], []
    for extra in range(n_seeds):
        tell(f"other seeds ({extra} of {n_seeds})")
        seed = rows.seed + extra
        refit = rows.own if extra == 0 else rows.fit(rows.triples.correct, seed)
        fields.append(refit.estimate.delta)
        found.append(rows.measure(refit, rows.triples.correct, seed))
    return stability.seed_stability(fields, gaps=[one.gap_clipped for one in found]), tuple(found)


def check_refitting(null: str, n_draws: int, n_seeds: int) -> None:
    """Refuse settings of an audit that are out of range, before anything is learned."""
    if null not in NULLS:
        raise InputError(f"null must be one of {', '.join(NULLS)}; got {null!r}")
    if n_draws < 1:
        raise InputError(f"n_draws must be at least 1; got {n_draws}")
    if n_seeds < 2:
        raise InputError(f"n_seeds must be at least 2, to have fields to compare; got {n_seeds}")


def outcomes_under(null: str, rows: Refitting) -> stability.Resampler:
    """Return what draws outcomes under a null: it takes a generator, and returns (n,) of 0 and 1.

    Hidden miscalibration that the rows of a group share is not told from outcomes that hang together. So where there
    is such, draws are noisier than need be, and p-values too large rather than too small.
    """
    triples = rows.triples
    if null == "permuted":
        together = np.full(len(triples), "train") if triples.split is None else triples.split
        return stability.permuted_outcomes(triples.correct, together, rows.design)
    rate = triples.confidence if null == "calibrated" else rows.expected
    return stability.bernoulli_outcomes(rate, rows.design)


# --- what is said --------------------------------------------------------------------------------------------------

AGREE = (0.5, 0.8)
"""Mean correlations of the fields of two seeds from which on they agree in part, and agree. Not tuned."""
_OF_SEEDS = {
    "correlation": "correlation of the fields, over pairs",
    "sign_agreement": "share of rows with the same sign, over pairs",
    "field_std": "standard deviation of the field, over seeds",
    "gap": "worst-slice gap, at least 0, over seeds",
}


@dataclass(frozen=True, repr=False)
class Audit(ShowsItself):
    """What an audit found; every number is of the evaluation rows: the test rows, or all.

    Attributes
    ----------
    null : str
        Which null the refits were drawn from.
    null_question : str
        The question that its p-values answer.
    null_correlation : float or None
        Intra-class correlation of the outcomes of a group that the refits were drawn with, as estimated given the
        confidence from all rows; None where no group of more than one row is named.
    nulls : dict of str to NullStatistic
        ``delta_std``, ``std_hidden``, ``share_miscalibrated``, ``gap`` (0 where neither regime has enough rows) and
        ``gap_clipped`` (0 where the gap is below 0), observed and null.
    proxy_curves : tuple of ProxyCurve
        Of the fit on the data and of those under the null: the chosen epoch, and the proxy after each epoch. Empty
        where the method has no proxy, or each fold chooses by its own.
    seeds : Stability
        Agreement of the fields of several seeds on the same split (of all rows: on folds that each seed deals), and
        the spread of their clipped gaps.
    by_seed : tuple of SeedField
        What each of these seeds found.
    thresholds : tuple of Threshold
        The run's field, cut at several epsilons; the worst slice has the larger smECE.
    thresholds_by_brier : tuple of Threshold
        The same, where the worst slice has the larger Brier score.
    bootstrap : SliceBootstrap
        The worst slice of the run's field, over resampled rows.
    """

    null: str
    null_question: str
    null_correlation: float | None
    nulls: dict[str, stability.NullStatistic]
    proxy_curves: tuple[ProxyCurve, ...]
    seeds: stability.Stability
    by_seed: tuple[SeedField, ...]
    thresholds: tuple[Threshold, ...]
    thresholds_by_brier: tuple[Threshold, ...]
    bootstrap: stability.SliceBootstrap

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``audit.json``: plain numbers, null where undefined; thresholds with clipped gaps."""
        content = asdict(self)
        for name in ("thresholds", "thresholds_by_brier"):
            content[name] = [{**one, "gap_clipped": clipped(one["gap"])} for one in content[name]]
        return plain(content)

    def to_json(self) -> str:
        """Return the text of ``audit.json``."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    @property
    def answer(self) -> Answer:
        """How far the result depends on chance, whether other seeds agree, and what may be trusted."""
        # how much the estimated errors vary: their hidden part, where the null keeps what is visible
        visible = self.null == "visible"
        one = self.nulls["std_hidden" if visible else "delta_std"]
        said = (
            f"estimated {'hidden errors' if visible else 'errors'} vary by {in_points(one.observed)}, by chance "
            f"{in_points(one.mean)} (p = {one.p_value:.3f})"
        )
        seeds, mean, signs = self.seeds, self.seeds.correlation.mean, self.seeds.sign_agreement.mean
        agree = "disagree" if mean is None or mean < AGREE[0] else "agree in part" if mean < AGREE[1] else "agree"
        reason = f"With {seeds.n_seeds} other seeds the estimate is the same everywhere: nothing can be compared."
        if mean is not None:
            kept = "" if signs is None else f", and {spoken(signs)} of rows keep their sign"
            reason = f"{seeds.n_seeds} seeds {agree}: their fields correlate by {mean:.2f}{kept}."
        if one.p_value <= SIGNIFICANCE:
            headline = f"This is not chance: {said}."
            action = "Rely on the findings, not on the map: where it puts errors depends on the seed."
            if agree == "agree":
                action = "Rely on the map: it depends little on seeds."
        elif 1 / (1 + len(one.draws)) > SIGNIFICANCE:
            # no p-value could be as small as it has to be
            headline = f"Too few refits to tell: {said}."
            action = f"Draw more: --draws {math.ceil(1 / SIGNIFICANCE) - 1} or more."
        else:
            headline = f"Chance may explain it: {said}."
            action = "Do not rely on the map: use findings, which are tested by themselves, or label more rows."
        return Answer(headline=headline, reason=reason, action=action)

    def shown(self) -> Sheet:
        """Return its sheet: its three lines, the question that its null answers, and its numbers."""
        columns = [
            Column("statistic", lambda name: name.replace("_", " ")),
            Column("observed", lambda name: score(self.nulls[name].observed)),
            Column("by chance", lambda name: _spread(self.nulls[name].mean, self.nulls[name].std)),
            Column("p", lambda name: f"{self.nulls[name].p_value:.3f}"),
        ]
        return Sheet(
            "audit",
            f"a run against the null {self.null!r}",
            self.answer,
            tables=[Table(columns, list(self.nulls))],
            facts=[("asked", self.null_question), *self._facts()],
        )

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Say how far groups, seeds and resampled rows agree."""
        if self.null_correlation is not None:
            yield "groups", f"under the null, too, outcomes of a group correlate by {score(self.null_correlation)}"
        for name, words in _OF_SEEDS.items():
            one = getattr(self.seeds, name)
            yield "seeds", f"{words}: {_spread(one.mean, one.std)}"
        if n := self.seeds.n_undefined:
            of = f"{n} of {len(self.seeds.pairs)} pairs of seeds"
            yield "seeds", f"{of} have a constant field, and no correlation: they are left out"
        if self.bootstrap.worst is None:
            yield "bootstrap", "no regime with enough rows"
            return
        for name in ("gap", "share"):
            one = getattr(self.bootstrap, name)
            said = f"{score(one.value)}; resampled {score(one.mean)} [{score(one.low)}, {score(one.high)}]"
            yield "bootstrap", f"{name} of the worst slice, {self.bootstrap.worst}: {said}"


def _spread(mean: float | None, std: float | None) -> str:
    """Say mean and standard deviation."""
    return "undefined" if mean is None else f"{score(mean)} +- {score(std)}"


@checked_call
def audit_run(
    run: RunContent,
    *,
    null: str = "visible",
    n_draws: int = NULL_DRAWS,
    n_seeds: int = N_SEEDS,
    device: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit a run on the data it was made from; the same for the same run.

    `null` is "visible", "calibrated" or "permuted", which is the paper's: :data:`NULL_QUESTIONS` says what each
    stands for. `n_draws` are the refits under it, so that p-values are at least 1 / (1 + n_draws), `n_seeds` the seeds
    whose fields are compared, and `device` is by default what the run was given.
    """
    check_refitting(null, n_draws, n_seeds)
    if run.summary.n_sample is not None:
        raise InputError(
            f"an audit learns the field again many times from all rows, but this run learned from a sample of its "
            f"{run.summary.n:,}: run `miscal discover` on a file with fewer rows, and audit that"
        )
    tell = progress or (lambda name: None)
    settings = run.summary.settings
    # rows in canonical order, with the split that the run stored, not one drawn again
    triples, order = in_canonical_order(scale_weights(run.triples())[0])
    if len(order) == len(run.table):
        run = replace(run, table=run.table[order])
    if not np.array_equal(triples.row, run.table["row"].to_numpy()):
        raise MismatchError(
            f"{run.name}: the data file no longer gives the rows of the run: run {command('discover')} again"
        )
    if run.summary.evidence == TEST:
        triples = replace(triples, split=run.table["split"].to_numpy().astype(str))
    rows = Refitting(
        triples,
        method=run.summary.method,
        options=settings.get("options"),
        seed=run.summary.seed,
        epsilon=settings["epsilon"],
        min_rows=settings["min_rows"],
        device=device or settings["device"],
        evidence=run.summary.evidence,
    )
    make_estimator(rows.method, options=rows.options, device=rows.device)
    tell("null refits")
    nulls, curves = refit_under_null(rows, null, n_draws, tell)
    tell("other seeds")
    seeds, by_seed = refit_with_seeds(rows, n_seeds, tell)
    table = run.table.filter(run.evaluated)
    correct, confidence, delta = (table[name].to_numpy() for name in ("correct", "confidence", "delta"))
    # a row without a local estimate is one without a regime, whatever the epsilon
    local = table["regime"].is_not_null().to_numpy()
    # regimes are cut again at the usual thresholds, or, of a rare event, in the same proportion
    usual = default_epsilon(run.summary.kind, run.summary.global_.confidence.value or 0.0)
    epsilons = tuple(float(f"{usual * one / EPSILON:.2g}") for one in EPSILONS)
    cuts = {"epsilons": epsilons, "min_rows": rows.min_rows, "weights": rows.weights}
    by_smece, by_brier = (
        threshold_sensitivity(correct, confidence, lambda size: regimes_of(delta, size, local), by=score, **cuts)
        for score in ("smece", "brier")
    )
    return Audit(
        null=null,
        null_question=null_question(null, run.summary.kind),
        null_correlation=None if rows.design is None else rows.design.correlation,
        nulls=nulls,
        proxy_curves=curves,
        seeds=seeds,
        by_seed=by_seed,
        thresholds=by_smece,
        thresholds_by_brier=by_brier,
        bootstrap=stability.slice_bootstrap(
            correct,
            confidence,
            regimes_of(delta, rows.epsilon, local),
            min_rows=rows.min_rows,
            groups=take_rows(rows.triples.group, rows.evaluated),
            weights=rows.weights,
            factor=rows.triples.counted_by.factor,
            random_state=run.summary.seed,
        ),
    )


@checked_call
def audit(run: str | Path, *, content: RunContent | None = None, **options: Any) -> Audit:
    """Audit a run folder, and write ``audit.json`` into it; `content` is what it holds, where that is known."""
    check_seal(run)
    with locked(run):
        found = audit_run(read_run(run) if content is None else content, **options)
        seal(run, but=["audit.json"])
        replace_file(Path(run) / "audit.json", found.to_json().encode())
        seal(run)
    return found
