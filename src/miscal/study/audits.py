"""Audits of one pair: what is found under a null, how the proxy went, and what other seeds find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from miscal.evidence.null import NullStatistic
from miscal.evidence.stability import spread
from miscal.runs.audit.refits import (
    DATA,
    ProxyCurve,
    Refitting,
    check_refitting,
    refit_under_null,
    refit_with_seeds,
)
from miscal.study.pair_result import PairResult, TableRows

STATISTICS = {
    "delta_std": "delta_std",
    "std_hidden": "std_hidden",
    "share_miscalibrated": "share_miscalibrated",
    "gap": "gap_clipped",
}
"""Statistic of the table ``nulls``: the statistic of the audit that it is."""


def audit(
    result: PairResult,
    *,
    null: str = "permuted",
    draws: int = 20,
    seeds: int = 5,
    options: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    device: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> TableRows:
    """Audit one pair under one method: draws + seeds fits of its field.

    Parameters
    ----------
    result : PairResult
        Its triples, labels, method and settings are used; what was found on them is not looked at.
    null : {"permuted", "visible", "calibrated"}, default "permuted"
        What the refits draw outcomes from: :data:`miscal.runs.audit.refits.NULL_QUESTIONS` says what each stands for.
        "permuted" is the paper's.
    draws : int, default 20
        Refits under the null; p-values are at least 1 / (1 + draws).
    seeds : int, default 5
        Seeds whose fields are compared, the study's own among them.
    options : mapping of str to object, optional
        Settings of the method, as for :func:`miscal.discover`.
    n_jobs : int, optional
        Processes of each fit.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where method "paper" trains.
    progress : callable, optional
        Called with the name of each step.

    Returns
    -------
    mapping of str to sequence of mapping
        Rows of the tables ``nulls``, ``proxy_curves`` (method "paper" with test rows), ``seeds`` and ``seed_pairs``.

    Raises
    ------
    InputError
        If a setting is out of range.
    """
    check_refitting(null, draws, seeds)
    tell, settings = progress or (lambda name: None), result.settings
    rows = Refitting(
        result.triples,
        method=result.method,
        options=options,
        seed=settings.seed,
        epsilon=settings.epsilon,
        min_rows=settings.min_rows,
        n_jobs=n_jobs,
        device=device,
    )
    nulls, curves = refit_under_null(rows, null, draws, tell)
    stability, by_seed = refit_with_seeds(rows, seeds, tell)
    named = result.named
    pair = {name: named[name] for name in ("pair", "dataset", "model")}
    compared = [*_compared(nulls), *_chosen(curves)]
    return {
        "nulls": [{**named, "null": null, **row, "n_draws": draws} for row in compared],
        "proxy_curves": [{**pair, "null": null, **row} for curve in curves for row in _epochs(curve)],
        "seeds": [
            {
                **named,
                "seed": one.seed,
                "delta_std": one.delta_std,
                "worst": one.worst,
                "gap": one.gap,
                "share_worst": one.share_worst,
            }
            for one in by_seed
        ],
        "seed_pairs": [
            {
                **named,
                "seed_a": by_seed[one.a].seed,
                "seed_b": by_seed[one.b].seed,
                "correlation": one.correlation,
                "sign_agreement": one.sign_agreement,
                "sign_by_chance": one.sign_by_chance,
            }
            for one in stability.pairs
        ],
    }


def _compared(nulls: Mapping[str, NullStatistic]) -> list[dict[str, Any]]:
    return [
        {
            "statistic": name,
            "observed": found.observed,
            "null_mean": found.mean,
            "null_std": found.std,
            "p_value": found.p_value,
        }
        for name, found in ((name, nulls[source]) for name, source in STATISTICS.items())
    ]


def _chosen(curves: tuple[ProxyCurve, ...]) -> list[dict[str, Any]]:
    """Compare epoch and proxy of the fits; they measure no structure, so that there is no p-value."""
    if not curves:
        return []
    rows = []
    for name in ("proxy", "epoch"):
        values = {curve.draw: float(getattr(curve, name)) for curve in curves}
        observed, drawn = values.pop(DATA), spread(list(values.values()))
        row = {"observed": observed, "null_mean": drawn.mean, "null_std": drawn.std, "p_value": None}
        rows.append({"statistic": name, **row})
    return rows


def _epochs(curve: ProxyCurve) -> list[dict[str, Any]]:
    return [
        {"draw": curve.draw, "epoch": epoch, "proxy": proxy, "chosen": epoch == curve.epoch}
        for epoch, proxy in enumerate(curve.proxies, start=1)
    ]
