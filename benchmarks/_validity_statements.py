"""What miscal says of rows whose truth is known, for `nothing.py`: p-values where nothing is there, and misses.

A set of statements is a function of :class:`Asked` and one line in `STATEMENTS`; it returns :class:`Told`. P-values are
told only where their hypothesis is true. A limit or an interval misses where the truth lies outside. What is said of
these very rows (certificates, residuals, findings) is held against the truth of these rows; the scores, which speak of
more rows of the kind, against that of the world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np

from _shares import UNTOLD
from _validity_counts import Told
from _validity_worlds import CALIBRATED, KINDS, LEARNED_FROM, PLANTED, VISIBLE, WORLDS, Rows, drawn, population, rows_in
from miscal.base.folds import assign_folds
from miscal.calibration.labelled_rows import LabelledRows, check_rows, effect_of_mean, take_rows
from miscal.calibration.metrics.confidence_cells import merge, observed, smece_statistic
from miscal.calibration.metrics.gap import measure_gap
from miscal.calibration.metrics.inference import (
    METRICS,
    effect_given_confidence,
    measure_ece,
    measure_smece,
    null_draws,
    p_value_of,
)
from miscal.calibration.metrics.scores import bin_index, log_losses
from miscal.calibration.metrics.smooth import smece_of_residuals
from miscal.calibration.survey_design import SurveyDesign, average, shares
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.estimators.registry import regimes_of
from miscal.evidence.certificates import certificate, drift
from miscal.evidence.conditional import outcome_given_confidence, rare_values_warning
from miscal.evidence.kernel_score import smoothed_residuals
from miscal.evidence.simultaneous import running_interval, unit_sums
from miscal.findings.decisions import Thresholds, decide
from miscal.findings.judging import judge
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.residuals import EPSILON

ALL, TEST = "all", "test"
FEW_DRAWS = patch.multiple("miscal.evidence.settings", N_DRAWS=99, HALVINGS=12)
DRAWS_OF_TESTS = patch.multiple("miscal.evidence.settings", N_DRAWS=399, LEAST_SCORE_DRAWS=399, HALVINGS=12)
ERROR_DRAWS = 99
"""Fewer draws than a run takes (1,999 and 1,000): a p-value of 99 is as valid, and reaches 0.01. Intervals of errors
from 99 draws at a scale miss more often than those of a run, from 300: their quantiles lie about 0.7 points further in
on either side."""
FOLDS, BINS, LOOKS, OTHERS = 5, 15, 10, 9


@dataclass(frozen=True, eq=False)
class Asked:
    """A draw, and which of its rows are evaluated: all, E[y | f] being learned by folds, or all of a test split."""

    world: str
    kind: str
    n: int
    evidence: str
    seed: int

    @cached_property
    def rows(self) -> Rows:
        """The rows that are judged."""
        return drawn(self.world, self.n, self.kind, self.seed)

    @property
    def calibrated(self) -> bool:
        """Whether all confidences are the chances of being right."""
        return self.kind == CALIBRATED

    @property
    def nothing_hidden(self) -> bool:
        """Whether outcomes depend on the confidence alone."""
        return self.kind != PLANTED

    @cached_property
    def expected(self) -> np.ndarray:
        """E[y | f] as a run learns it."""
        y, f, n = self.rows.correct, self.rows.confidence, len(self.rows.correct)
        if self.evidence == TEST:
            return outcome_given_confidence(*(self.rows.learned or self._elsewhere()), f)
        known = {"group": self.rows.group, "weight": self.rows.weight}
        return expected_outcome(Triples(np.arange(n, dtype=np.float32)[:, None], f, y, **known), self.seed)

    def _elsewhere(self) -> tuple[np.ndarray, np.ndarray]:
        """Other rows of the same world."""
        more = self.others(LEARNED_FROM)
        return more.correct, more.confidence

    def others(self, times: int) -> Rows:
        """So many times as many other rows of the same world."""
        many = times * rows_in(self.world, self.n)
        return WORLDS[self.world](many, self.kind, np.random.default_rng((self.seed, self.n, 120)))

    @cached_property
    def block(self) -> np.ndarray | None:
        """Folds that are tested one after the other where all rows are evaluated."""
        if self.evidence == TEST:
            return None
        unit = np.arange(len(self.rows.correct)) if self.rows.group is None else self.rows.group
        return assign_folds(unit, FOLDS, np.random.default_rng(self.seed))

    @cached_property
    def design(self) -> SurveyDesign | None:
        """How strongly the outcomes of a group hang together, and how much each row counts."""
        rows = self.rows
        return LabelledRows.of(
            rows.correct, rows.confidence, self.expected, group=rows.group, weight=rows.weight
        ).design

    @property
    def warned(self) -> bool:
        """Whether a run would warn that stated confidences are too rare to be compared by themselves."""
        return rare_values_warning(self.rows.confidence, self.block) is not None


@FEW_DRAWS
def certificates(asked: Asked) -> Told:
    """Both p-values and both lower limits of the certificate."""
    rows, told = asked.rows, Told()
    # the limit of the total is dear; it is judged where confidences are calibrated and where something is planted
    delta = rows.delta * (asked.kind != VISIBLE)
    proof = certificate(
        LabelledRows.of(
            rows.correct,
            rows.confidence,
            asked.expected,
            delta=delta,
            hidden=rows.hidden,
            block=asked.block,
            group=rows.group,
            weight=rows.weight,
        ),
        random_state=asked.seed,
    )
    told.p_value("certificate, total", proof.total.p_value, asked.calibrated)
    told.p_value("certificate, hidden", proof.hidden.p_value, asked.nothing_hidden)
    for name, bound, error in (
        ("certificate, total", proof.total, rows.rate - rows.confidence),
        ("certificate, hidden", proof.hidden, rows.rate - rows.visible),
    ):
        told.interval(f"{name}: limit", (bound.low, 1.0), average(np.abs(error), rows.weight))
    return told


def hidden_tests(asked: Asked) -> Told:
    """The p-value of the claim and the two tests behind it, of inputs that outcomes have nothing to do with.

    Where all rows are evaluated, the field of a block is a ridge regression on the blocks before it, as a stand-in for
    auto.
    """
    rows, told = asked.rows, Told()
    if not asked.nothing_hidden:
        return told
    X = inputs_of(rows, np.random.default_rng((asked.seed, 121)))
    field, tested = (rows.hidden, np.ones(len(X), bool)) if asked.block is None else learned_in_turn(asked, X)
    block = None if asked.block is None else asked.block[tested]
    every = LabelledRows(rows.correct, rows.confidence, asked.expected, design=asked.design)
    with DRAWS_OF_TESTS:
        structure = smoothed_residuals(X, every, asked.seed).p_value
    learned = {"delta": 0 * field, "hidden": field, "group": rows.group, "weight": rows.weight}
    learned = {name: None if values is None else values[tested] for name, values in learned.items()}
    judged = LabelledRows.of(
        rows.correct[tested], rows.confidence[tested], asked.expected[tested], block=block, **learned
    )
    with DRAWS_OF_TESTS:
        proof = certificate(judged, p_structure=structure, random_state=asked.seed)
    told.p_value("hidden p-value", proof.p_value, hypothesis=True)
    told.p_value("test of the field", proof.p_field, hypothesis=True)
    told.p_value("kernel score", proof.p_structure, hypothesis=True)
    return told


def inputs_of(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    """Inputs that the outcomes do not depend on given the confidence: one follows it closely, rows of a group agree."""
    unit = np.arange(len(rows.correct)) if rows.group is None else rows.group
    noise = rng.normal(size=(int(unit.max()) + 1, 5))[unit]
    driven = np.clip(rows.confidence, 0.001, 0.999)
    driven = np.log(driven / (1 - driven)) + 0.1 * noise[:, 0]
    return np.column_stack([driven, noise[:, 1:], rows.codes["side"], np.eye(10)[rows.codes["kind"]]])


def learned_in_turn(asked: Asked, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Field of each row by a ridge regression of residuals on earlier blocks, and which rows have one."""
    rows, block = asked.rows, asked.block
    places = np.column_stack([X, X * rows.confidence[:, None]])
    places = (places - places.mean(0)) / np.maximum(places.std(0), 1e-9)
    field, residual = np.zeros(len(X)), rows.correct - asked.expected
    for k in range(1, FOLDS):
        past, now = block < k, block == k
        gram = places[past].T @ places[past] + past.sum() / 10 * np.eye(places.shape[1])
        field[now] = places[now] @ np.linalg.solve(gram, places[past].T @ residual[past])
    return np.clip(field, -1.0, 1.0), block > 0


def residuals(asked: Asked) -> Told:
    """The residual of a regime of the field, its visible part, and the hidden part of a regime of the hidden field."""
    rows, told = asked.rows, Told()
    regions = [regimes_of(rows.delta, EPSILON) == "over", regimes_of(rows.hidden, EPSILON) == "under"]
    known = rows.correct, rows.confidence, asked.expected
    over, under = judge(LabelledRows(*known, design=asked.design), regions, [-1, 1])
    for name, said, region, error, hypothesis in (
        ("residual", over["residual"], regions[0], rows.rate - rows.confidence, asked.calibrated),
        ("visible residual", over["visible"], regions[0], rows.visible - rows.confidence, asked.calibrated),
        ("hidden residual", under["hidden"], regions[1], rows.rate - rows.visible, asked.nothing_hidden),
    ):
        if region.any():
            told.p_value(name, said.p_value, hypothesis)
            truth = average(error[region], take_rows(rows.weight, region))
            told.interval(f"{name}: interval", said.interval, truth)
    return told


def scores(asked: Asked) -> Told:
    """Means over rows, each with its interval."""
    rows, told = asked.rows, Told()
    checked = check_rows(rows.correct, rows.confidence, rows.weight, rows.group)
    for name in ("accuracy", "confidence", "brier", "log_loss"):
        found = METRICS[name].estimate_of(checked, 1, 0)
        told.interval(f"{name}: interval", found.interval, mean_scores(asked.world, asked.kind)[name])
    return told


@lru_cache(maxsize=8)
def mean_scores(world: str, kind: str) -> dict[str, float]:
    """Means of the scores over all rows of a world."""
    rows = population(world, kind)
    f, p = rows.confidence, rows.rate
    one, zero = np.ones_like(f), np.zeros_like(f)
    values = {
        "accuracy": p, "confidence": f, "brier": p * (1 - f) ** 2 + (1 - p) * f**2,
        "log_loss": p * log_losses(one, f) + (1 - p) * log_losses(zero, f),
    }  # fmt: skip
    return {name: average(value, rows.weight) for name, value in values.items()}


def smooth_error(asked: Asked) -> Told:
    """The p-value of smECE, as `measure_smece` finds it, without the interval, which is dear."""
    rows, told = asked.rows, Told()
    tested = check_rows(rows.correct, rows.confidence, rows.weight, rows.group)
    cells = merge(tested, effect=effect_given_confidence(tested))
    statistic = smece_statistic(cells)
    null = null_draws(cells, statistic, ERROR_DRAWS, asked.seed)
    told.p_value("smece", p_value_of(null, observed(cells, statistic)), hypothesis=True)
    return told


def errors(asked: Asked) -> Told:
    """Calibration errors and the worst-slice gap."""
    rows, told = asked.rows, Told()
    y, f, regime = rows.correct, rows.confidence, regimes_of(rows.delta, EPSILON)
    draws = {"n_draws": ERROR_DRAWS, "random_state": asked.seed}
    counted, truth = {"groups": rows.group, "sample_weight": rows.weight}, true_errors(asked.world, asked.kind)
    whole = measure_smece(y, f, **counted, **draws)
    found: dict[str, Any] = {"smece": whole, "ece": measure_ece(y, f, **counted, **draws)}
    # as in a run, the intervals of the parts are not drawn again
    known = {"all": whole.interval}
    for name in ("over", "under"):
        inside = regime == name
        if inside.sum() >= 30:
            own = {key: take_rows(values, inside) for key, values in counted.items()}
            known[name] = measure_smece(y[inside], f[inside], **own, **draws).interval
    found["gap"] = measure_gap(y, f, regime, known=known, **counted, **draws)
    for name, one in found.items():
        told.p_value(name, one.p_value, asked.calibrated and name != "smece")
        told.interval(f"{name}: interval", one.interval, truth[name])
    return told


@lru_cache(maxsize=8)
def true_errors(world: str, kind: str) -> dict[str, float]:
    """Errors of a world, those of the slices of the field too."""
    rows = population(world, kind)
    f, regime = rows.confidence, regimes_of(rows.delta, EPSILON)
    weight = shares(rows.weight, len(f))

    def error(residual: np.ndarray, inside: np.ndarray) -> float:
        mass = weight[inside] / weight[inside].sum()
        return smece_of_residuals(f[inside], mass * residual[inside])

    whole = error(rows.visible - f, np.ones(len(f), bool))
    by_bin = np.bincount(bin_index(f, BINS, "width", weight), weight * (rows.visible - f))
    parts = [error(rows.rate - f, regime == name) for name in ("over", "under") if (regime == name).any()]
    return {"smece": whole, "ece": float(np.abs(by_bin).sum()), "gap": max(parts, default=0.0) - whole}


def findings(asked: Asked) -> Told:
    """The ledger over named groups: any finding. Intervals of findings are judged by `coverage`."""
    rows, told = asked.rows, Told()
    groups, n = named_groups(rows.columns), len(rows.correct)
    witnesses = LabelledRows(rows.correct, rows.confidence, asked.expected, row=np.arange(n), design=asked.design)
    found = find(witnesses, groups, seed=asked.seed)
    least = min((one.p_adjusted for one in found.findings), default=1.0)
    told.p_value("findings", least, asked.nothing_hidden)
    return told


def drift_of_rows(asked: Asked) -> Told:
    """The test that a run makes of a tenth of its rows: are they right as often as the others, at equal confidence?"""
    rows, told = asked.rows, Told()
    n = len(rows.correct)
    if rows.learned is None:
        more = asked.others(OTHERS)
        learned, group, weight = (more.correct, more.confidence), joined(rows.group, more.group), more.weight
        weight = None if weight is None else np.append(rows.weight, weight)
    else:
        learned, group, weight = rows.learned, None, None
    y, f = (np.append(ours, theirs) for ours, theirs in zip((rows.correct, rows.confidence), learned, strict=True))
    tested, expected = np.arange(len(y)) < n, outcome_given_confidence(*learned, f)
    labelled = LabelledRows.of(y, f, expected, group=group, weight=weight)
    found = drift(y, f, tested, effect_of_mean(labelled, tested), asked.seed)
    # what is hidden in the drifted world is distributed in another way among the rows learned from
    told.p_value("drift of E[y | f]", found.p_value, rows.learned is None or asked.nothing_hidden)
    return told


def joined(ours: np.ndarray | None, theirs: np.ndarray | None) -> np.ndarray | None:
    """Groups of two sets of rows that share none."""
    return None if ours is None or theirs is None else np.append(ours, int(ours.max()) + 1 + theirs)


def monitor(asked: Asked) -> Told:
    """The interval that holds at all looks together, at ten looks."""
    rows, told = asked.rows, Told()
    unit = np.arange(len(rows.correct)) if rows.group is None else np.unique(rows.group, return_inverse=True)[1]
    looks = np.linspace(0, unit.max() + 1, LOOKS + 1).astype(int)
    history, truth = [], []
    for first, last in pairwise(looks):
        at = (unit >= first) & (unit < last)
        p = rows.confidence[at]
        history.append(unit_sums(rows.correct[at] - p, np.ones(len(p)), p, unit[at]))
        truth.append(float((rows.rate[at] - p).sum()))
    sums = np.cumsum(history, axis=0)
    mean, radius = running_interval(sums, np.broadcast_to(sums[0], sums.shape), 0.05)
    told.misses["monitor: interval"] = bool((np.abs(mean - np.cumsum(truth) / sums[:, 0]) > radius).any())
    return told


def decisions(asked: Asked) -> Told:
    """Rates at or above a threshold, before and after a correction, and what the correction gains there."""
    rows, told = asked.rows, Told()
    witnesses = LabelledRows(rows.correct, rows.confidence, asked.expected, design=asked.design)
    corrected = np.clip(rows.confidence + rows.delta, 0.0, 1.0)
    quantile = np.quantile(rows.confidence, (0.1, 0.5, 0.9)[asked.seed % 3])
    [one] = decide(witnesses, corrected, Thresholds.of(np.clip(quantile, 1e-6, 1 - 1e-6)))
    above, after = rows.confidence >= one.threshold, corrected >= one.threshold
    for name, side, inside in (("at or above", one.before, above), ("after the correction", one.after, after)):
        if inside.any():
            truth = average(rows.rate[inside], take_rows(rows.weight, inside))
            told.interval(f"decisions, {name}: interval", side.observed.interval, truth)
    gained = (after.astype(float) - above) * (rows.rate - (1 - rows.rate) * one.threshold / (1 - one.threshold))
    told.interval("decisions, gain: interval", one.net_benefit.gain.interval, average(gained, rows.weight))
    return told


STATEMENTS: dict[str, Callable[[Asked], Told]] = {
    "certificates": certificates,
    "hidden tests": hidden_tests,
    "residuals": residuals,
    "scores": scores,
    "findings": findings,
    "drift": drift_of_rows,
    "monitor": monitor,
    "decisions": decisions,
    "smooth error": smooth_error,
    "errors": errors,
}
KINDS_OF = {"smooth error": (CALIBRATED,), "errors": (CALIBRATED, PLANTED), "hidden tests": (CALIBRATED, VISIBLE)}
"""Kinds of draws of which a set is asked, where not all."""
OF_EVIDENCE = ("certificates", "hidden tests", "residuals", "findings")
"""Sets to which it matters which rows are evaluated."""
WARNED, DRIFT = (f"{why}{UNTOLD}" for why in (", a run warns", ", drift"))
"""Ends of the names of statements that are not promised: where rare stated confidences make a run warn, and where the
rows that E[y | f] was learned from are of another kind."""
ON_EXPECTED = (
    "certificate, hidden", "certificate, hidden: limit", "hidden p-value", "test of the field", "kernel score",
    "visible residual", "visible residual: interval",
    "hidden residual", "hidden residual: interval", "findings",
)  # fmt: skip
OFF_BY_DRIFT = ("visible residual", "hidden residual: interval")
"""Starts of the names of those that presume that E[y | f] is that of the evaluation rows."""


def worlds_of(name: str) -> tuple[str, ...]:
    """Worlds of a set of statements: kind of rows, kind of draw and, where it matters, which rows are evaluated."""
    ways = (ALL, TEST) if name in OF_EVIDENCE else ("either",)
    return tuple(
        f"{world}, {kind}, {TEST if world == 'drifted' and len(ways) > 1 else way}"
        for world in WORLDS for kind in KINDS_OF.get(name, KINDS)
        for way in (ways if world != "drifted" else ways[:1])
    )  # fmt: skip


def asked_of(name: str, world: str, n: int, draw: int) -> Told:
    """Ask a set of statements of one draw; those that a run does not promise there have names of their own."""
    rows, kind, evidence = world.split(", ")
    asked, ends = Asked(rows, kind, n, evidence, draw), {}
    told = STATEMENTS[name](asked)
    if asked.warned:
        ends = dict.fromkeys(ON_EXPECTED, WARNED)
    elif asked.world == "drifted":
        ends = {one: DRIFT for one in ON_EXPECTED if one.startswith(OFF_BY_DRIFT)}
    told.p_values = {one + ends.get(one, ""): p for one, p in told.p_values.items()}
    told.misses = {one + ends.get(one, ""): wrong for one, wrong in told.misses.items()}
    return told
