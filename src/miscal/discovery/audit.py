"""Auditing a run: what the same steps find where there is nothing, with other seeds, thresholds and rows."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from miscal.base.errors import InputError, MismatchError
from miscal.calibration.metrics import worst_slice_gap
from miscal.data.triples import Triples
from miscal.discovery.estimating import ALL, estimate_again, expected_outcome, testifying
from miscal.discovery.json_values import plain
from miscal.discovery.run import Run
from miscal.evidence.bootstrap import SliceBootstrap, slice_bootstrap
from miscal.evidence.null import NullStatistic, Resampler, bernoulli_outcomes, null_audit, permuted_outcomes
from miscal.evidence.settings import EVIDENCE_DEFAULTS
from miscal.evidence.stability import Stability, seed_stability
from miscal.evidence.thresholds import Threshold, threshold_sensitivity
from miscal.findings import cut

NULLS = ("visible", "calibrated", "permuted")
"""y ~ Bernoulli(g(f)), g the cross-fitted E[y | f]; y ~ Bernoulli(f); y permuted within train and within validation
rows, or among all rows where all testify."""


@dataclass(frozen=True)
class Audit:
    """What an audit found; every number is of the rows that testify: the test rows, or all.

    Attributes
    ----------
    null : str
        Which null the refits were drawn from.
    nulls : dict of str to NullStatistic
        ``std_hidden``, ``share_miscalibrated`` and ``gap`` (0 where neither regime has 30 rows), observed and null.
    seeds : Stability
        Agreement of the fields of several seeds on the same split (of all rows: on folds that each seed deals).
    thresholds : tuple of Threshold
        The run's field, cut at several epsilons.
    bootstrap : SliceBootstrap
        The worst slice of the run's field, over resampled rows.
    """

    null: str
    nulls: dict[str, NullStatistic]
    seeds: Stability
    thresholds: tuple[Threshold, ...]
    bootstrap: SliceBootstrap

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``audit.json``: plain numbers, null where undefined."""
        return plain(asdict(self))


def audit_run(
    run: Run,
    *,
    null: str = "visible",
    n_draws: int = EVIDENCE_DEFAULTS.null_draws,
    n_seeds: int = EVIDENCE_DEFAULTS.n_seeds,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit a run on the data it was made from.

    Parameters
    ----------
    run : Run
        From :func:`miscal.discovery.run.read_run`.
    null : {"visible", "calibrated", "permuted"}, default "visible"
        Which null the refits draw from.
    n_draws : int, default 20
        Refits under the null; p-values are at least 1 / (1 + n_draws).
    n_seeds : int, default 5
        Seeds whose fields are compared.
    progress : callable, optional
        Called with the name of each step.

    Returns
    -------
    Audit
        The same for the same run.

    Raises
    ------
    InputError
        If a setting is out of range, the run was made from arrays rather than files, or it learned from a sample.
    MismatchError
        If the data changed since.
    """
    if null not in NULLS:
        raise InputError(f"null must be one of {', '.join(NULLS)}; got {null!r}")
    if n_seeds < 2:
        raise InputError(f"n_seeds must be at least 2, to have fields to compare; got {n_seeds}")
    if run.summary.n_sample is not None:
        raise InputError(
            f"an audit learns the field again many times from all rows, but this run learned from a sample of its "
            f"{run.summary.n:,}: run `miscal discover` on a file with fewer rows, and audit that"
        )
    tell = progress or (lambda name: None)
    triples = _rows(run)
    settings = {
        "method": run.summary.method,
        "options": run.summary.settings.get("options"),
        "seed": run.summary.seed,
    }
    epsilon = run.summary.settings["epsilon"]
    tell("null refits")
    nulls = _nulls(run, triples, null, n_draws, epsilon, settings, tell)
    tell("other seeds")
    seeds = _seeds(triples, n_seeds, settings, tell)
    correct, confidence, delta, supported = _measured_rows(run)
    return Audit(
        null=null,
        nulls=nulls,
        seeds=seeds,
        thresholds=threshold_sensitivity(correct, confidence, lambda size: cut(delta, size, supported)),
        bootstrap=slice_bootstrap(correct, confidence, cut(delta, epsilon, supported), random_state=run.summary.seed),
    )


def _rows(run: Run) -> Triples:
    """Return the run's rows with the split that the run stored, not one drawn again."""
    triples = run.triples()
    if not np.array_equal(triples.row, run.table["row"].to_numpy()):
        raise MismatchError(
            f"{run.path}: the data file no longer gives the rows of the run: run `miscal discover` again"
        )
    if run.summary.evidence == ALL:
        return triples
    return replace(triples, split=run.table["split"].to_numpy().astype(str))


def _measured_rows(run: Run) -> tuple[np.ndarray, ...]:
    rows = run.table if run.summary.evidence == ALL else run.table.filter(run.table["split"] == "test")
    return tuple(rows[name].to_numpy() for name in ("correct", "confidence", "delta", "supported"))


def _nulls(
    run: Run, triples: Triples, null: str, n_draws: int, epsilon: float, settings: dict, tell: Callable[[str], None]
) -> dict[str, NullStatistic]:
    testify = testifying(triples)
    count = iter(range(n_draws + 1))

    def statistics(outcomes: np.ndarray) -> dict[str, float]:
        tell(f"null refits ({next(count)} of {n_draws})")
        estimate = estimate_again(replace(triples, correct=outcomes), **settings)
        regime = cut(estimate.delta, epsilon, estimate.supported)
        gap = worst_slice_gap(outcomes[testify], triples.confidence[testify], regime).value
        return {
            "std_hidden": float(estimate.hidden.std()),
            "share_miscalibrated": float(np.mean((regime == "over") | (regime == "under"))),
            "gap": 0.0 if gap is None else gap,
        }

    draw = outcomes_under(null, triples, run.summary.seed)
    return null_audit(statistics, draw, triples.correct, n_draws=n_draws, random_state=run.summary.seed)


def outcomes_under(null: str, triples: Triples, seed: int) -> Resampler:
    """Return what draws outcomes under a null.

    Parameters
    ----------
    null : {"visible", "calibrated", "permuted"}
        See `NULLS`.
    triples : Triples
        The rows of the run, with its split if it has one.
    seed : int
        Of the folds of E[y | f].

    Returns
    -------
    callable
        Takes a numpy.random.Generator, returns (n,) float64 of 0 and 1.
    """
    if null == "permuted":
        together = np.full(len(triples), "train") if triples.split is None else triples.split
        return permuted_outcomes(triples.correct, together)
    if null == "calibrated":
        return bernoulli_outcomes(triples.confidence)
    # not the run's global map, which is simple: the data may hold a visible curve that it does not follow
    return bernoulli_outcomes(expected_outcome(replace(triples, split=None), seed))


def _seeds(triples: Triples, n_seeds: int, settings: dict, tell: Callable[[str], None]) -> Stability:
    fields = []
    # the first is the run's own seed
    for extra in range(n_seeds):
        tell(f"other seeds ({extra} of {n_seeds})")
        fields.append(estimate_again(triples, **{**settings, "seed": settings["seed"] + extra}).delta)
    return seed_stability(fields)
