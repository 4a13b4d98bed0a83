"""Audit a run: find out what the same steps find where there is nothing to find, or with other seeds and rows."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.document import plain
from miscal.base.errors import InputError, MismatchError, command
from miscal.base.files import locked, replace_file
from miscal.base.number_wording import score
from miscal.base.shown import ShowsItself
from miscal.base.signatures import checked_call
from miscal.calibration.labelled_rows import take_rows
from miscal.calibration.metrics.gap import clipped
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.discovery.answer import spoken
from miscal.discovery.estimating import scale_weights
from miscal.discovery.fitted_rows import TEST
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.run_folder import check_seal, seal
from miscal.discovery.summary_parts import Answer
from miscal.estimators.estimate import regimes_of
from miscal.estimators.registry import make_estimator
from miscal.evidence.power import Threshold, threshold_sensitivity
from miscal.evidence.settings import EVIDENCE_DEFAULTS, SIGNIFICANCE
from miscal.evidence.stability import NullStatistic, SliceBootstrap, Stability, slice_bootstrap
from miscal.findings.residuals import EPSILON, default_epsilon
from miscal.findings.verdict import in_points
from miscal.report.sheet import Column, Sheet, Table
from miscal.runs.audit.refits import (
    ProxyCurve,
    Refitting,
    SeedField,
    check_refitting,
    null_question,
    refit_under_null,
    refit_with_seeds,
)


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
    nulls: dict[str, NullStatistic]
    proxy_curves: tuple[ProxyCurve, ...]
    seeds: Stability
    by_seed: tuple[SeedField, ...]
    thresholds: tuple[Threshold, ...]
    thresholds_by_brier: tuple[Threshold, ...]
    bootstrap: SliceBootstrap

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
        return Answer(headline=_headline(self), reason=_reason(self), action=_action(self))

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
            facts=[("asked", self.null_question), *_facts(self.to_dict())],
        )


AGREE = (0.5, 0.8)
"""Mean correlations of the fields of two seeds from which on they agree in part, and agree. Not tuned."""


def _varies(found: Audit) -> NullStatistic:
    """Return how much the estimated errors vary: their hidden part, where the null keeps what is visible."""
    names = ("std_hidden", "delta_std") if found.null == "visible" else ("delta_std", "std_hidden")
    return next((found.nulls[name] for name in names if name in found.nulls), next(iter(found.nulls.values())))


def _too_few(found: Audit) -> bool:
    """Whether no p-value could be as small as it has to be."""
    return 1 / (1 + len(_varies(found).draws)) > SIGNIFICANCE


def _headline(found: Audit) -> str:
    one = _varies(found)
    what = "hidden errors" if found.null == "visible" else "errors"
    sizes = (
        f"estimated {what} vary by {in_points(one.observed)}, by chance {in_points(one.mean)} (p = {one.p_value:.3f})"
    )
    if _too_few(found) and one.p_value > SIGNIFICANCE:
        return f"Too few refits to tell: {sizes}."
    return f"This is not chance: {sizes}." if one.p_value <= SIGNIFICANCE else f"Chance may explain it: {sizes}."


def _agreement(found: Audit) -> str:
    mean = found.seeds.correlation.mean
    if mean is None:
        return "unknown"
    return "agree" if mean >= AGREE[1] else "agree in part" if mean >= AGREE[0] else "disagree"


def _reason(found: Audit) -> str:
    seeds = found.seeds
    agree = _agreement(found)
    if agree == "unknown" or seeds.correlation.mean is None:
        return f"With {seeds.n_seeds} other seeds the estimate is the same everywhere: nothing can be compared."
    signs = (
        ""
        if seeds.sign_agreement.mean is None
        else f", and {spoken(seeds.sign_agreement.mean)} of rows keep their sign"
    )
    return f"{seeds.n_seeds} seeds {agree}: their fields correlate by {seeds.correlation.mean:.2f}{signs}."


def _action(found: Audit) -> str:
    one, agree = _varies(found), _agreement(found)
    if one.p_value > SIGNIFICANCE:
        if _too_few(found):
            return f"Draw more: --draws {math.ceil(1 / SIGNIFICANCE) - 1} or more."
        return "Do not rely on the map: use findings, which are tested by themselves, or label more rows."
    if agree == "agree":
        return "Rely on the map: it depends little on seeds."
    return "Rely on the findings, not on the map: where it puts errors depends on the seed."


_OF_SEEDS = {
    "correlation": "correlation of the fields, over pairs",
    "sign_agreement": "share of rows with the same sign, over pairs",
    "field_std": "standard deviation of the field, over seeds",
    "gap": "worst-slice gap, at least 0, over seeds",
}


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say how far groups, seeds and resampled rows agree, as ``audit.json`` has it."""
    if found["null_correlation"] is not None:
        yield "groups", f"under the null, too, outcomes of a group correlate by {score(found['null_correlation'])}"
    seeds = found["seeds"]
    for name, words in _OF_SEEDS.items():
        yield "seeds", f"{words}: {_spread(**seeds[name])}"
    if n := seeds["n_undefined"]:
        of = f"{n} of {len(seeds['pairs'])} pairs of seeds"
        yield "seeds", f"{of} have a constant field, and no correlation: they are left out"
    bootstrap = found["bootstrap"]
    if bootstrap["worst"] is None:
        yield "bootstrap", "no regime with enough rows"
        return
    for name in ("gap", "share"):
        one = bootstrap[name]
        between = f"{score(one['mean'])} [{score(one['low'])}, {score(one['high'])}]"
        said = f"{score(one['value'])}; resampled {between}"
        yield "bootstrap", f"{name} of the worst slice, {bootstrap['worst']}: {said}"


def _spread(mean: float | None, std: float | None) -> str:
    """Say mean and standard deviation."""
    return "undefined" if mean is None else f"{score(mean)} +- {score(std)}"


@checked_call
def audit_run(
    run: RunContent,
    *,
    null: str = "visible",
    n_draws: int = EVIDENCE_DEFAULTS.null_draws,
    n_seeds: int = EVIDENCE_DEFAULTS.n_seeds,
    device: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit a run on the data it was made from; the same for the same run.

    `null` is "visible", "calibrated" or "permuted", which is the paper's: :data:`.refits.NULL_QUESTIONS` says what each
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
    run, triples = _rows(run)
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
    epsilons = tuple(float(f"{usual * one / EPSILON:.2g}") for one in EVIDENCE_DEFAULTS.epsilons)
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
        bootstrap=slice_bootstrap(
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


def _rows(run: RunContent) -> tuple[RunContent, Triples]:
    """Return the run and its rows in canonical order, with the split that the run stored, not one drawn again."""
    triples, order = in_canonical_order(scale_weights(run.triples())[0])
    if len(order) == len(run.table):
        run = replace(run, table=run.table[order])
    if not np.array_equal(triples.row, run.table["row"].to_numpy()):
        raise MismatchError(
            f"{run.name}: the data file no longer gives the rows of the run: run {command('discover')} again"
        )
    if run.summary.evidence != TEST:
        return run, triples
    return run, replace(triples, split=run.table["split"].to_numpy().astype(str))
