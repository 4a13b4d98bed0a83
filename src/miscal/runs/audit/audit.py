"""Audit a run: find out what the same steps find where there is nothing to find, or with other seeds and rows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import InputError, MismatchError, command
from miscal.base.files import locked, replace_file
from miscal.base.signatures import checked_call
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.calibration.metrics.checked_rows import take_rows
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.discovery.estimating import scale_weights
from miscal.discovery.evidence import TEST
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.run_folder import check_seal, seal
from miscal.estimators.estimate import regimes_of
from miscal.estimators.registry import make_estimator
from miscal.evidence.bootstrap import slice_bootstrap
from miscal.evidence.power import threshold_sensitivity
from miscal.evidence.settings import EVIDENCE_DEFAULTS
from miscal.findings import EPSILON, default_epsilon
from miscal.runs.audit.document import Audit
from miscal.runs.audit.refits import (
    Refitting,
    check_refitting,
    null_question,
    refit_under_null,
    refit_with_seeds,
)


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
        # runs of earlier versions have neither
        min_rows=settings.get("min_rows", MIN_SLICE_ROWS),
        device=device or settings.get("device", "auto"),
        evidence=run.summary.evidence,
    )
    make_estimator(rows.method, options=rows.options, device=rows.device)
    tell("null refits")
    nulls, curves = refit_under_null(rows, null, n_draws, tell)
    tell("other seeds")
    seeds, by_seed = refit_with_seeds(rows, n_seeds, tell)
    correct, confidence, delta, local = _measured_rows(run)
    cuts = {"epsilons": _epsilons(run), "min_rows": rows.min_rows, "weights": rows.weights}
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


def _epsilons(run: RunContent) -> tuple[float, ...]:
    """Return where regimes are cut again: at the usual thresholds, or, of a rare event, in the same proportion."""
    usual = default_epsilon(run.summary.kind, run.summary.global_.confidence.value or 0.0)
    return tuple(float(f"{usual * one / EPSILON:.2g}") for one in EVIDENCE_DEFAULTS.epsilons)


def _measured_rows(run: RunContent) -> tuple[np.ndarray, ...]:
    rows = run.table.filter(run.evaluated)
    # a row without a local estimate is one without a regime, whatever the epsilon
    local = rows["regime"].is_not_null().to_numpy()
    return (*(rows[name].to_numpy() for name in ("correct", "confidence", "delta")), local)
