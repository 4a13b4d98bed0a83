"""Audit a run: find out what the same steps find where there is nothing to find, or with other seeds and rows."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from miscal.base.errors import InputError, MismatchError, command
from miscal.base.signatures import checked_call
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.calibration.metrics.checked_rows import take_rows
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.discovery.estimating import weighed
from miscal.discovery.evidence import TEST
from miscal.discovery.run import RunContent
from miscal.estimators.estimate import regimes_of
from miscal.estimators.registry import make_estimator
from miscal.evidence.bootstrap import slice_bootstrap
from miscal.evidence.settings import EVIDENCE_DEFAULTS
from miscal.evidence.thresholds import threshold_sensitivity
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
    """Audit a run on the data it was made from.

    Parameters
    ----------
    run : RunContent
        From :func:`miscal.discovery.run.read_run`.
    null : {"visible", "calibrated", "permuted"}, default "visible"
        Which null the refits draw from: :data:`miscal.runs.audit.refits.NULL_QUESTIONS` says what each stands for.
        "permuted" is the paper's.
    n_draws : int, default 20
        Refits under the null; p-values are at least 1 / (1 + n_draws).
    n_seeds : int, default 5
        Seeds whose fields are compared.
    device : {"auto", "cpu", "cuda"}, optional
        Where to compute, as for :func:`miscal.discover`; by default what the run was given.
    progress : callable, optional
        Called with the name of each step.

    Returns
    -------
    Audit
        The same for the same run.

    Raises
    ------
    InputError
        If a setting is out of range, a GPU is asked for that is not there, the run was made from arrays rather than
        files, or it learned from a sample.
    MismatchError
        If the data changed since.
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
    by_smece, by_brier = (
        threshold_sensitivity(
            correct,
            confidence,
            lambda size: regimes_of(delta, size, local),
            epsilons=_epsilons(run),
            min_rows=rows.min_rows,
            by=score,
            weights=rows.weights,
        )
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


def _rows(run: RunContent) -> tuple[RunContent, Triples]:
    """Return the run and its rows in canonical order, with the split that the run stored, not one drawn again."""
    triples, order = in_canonical_order(weighed(run.triples())[0])
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
