"""Audits of one pair: what is found under a null, how the proxy went, what other seeds find; and both methods on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.discovery.run import RunContent
from miscal.evidence.stability import spread
from miscal.runs.audit import DATA, Refitting, check_refitting, refit_under_null, refit_with_seeds
from miscal.study.pair_result import PairResult, TableRows
from miscal.study.plan import StudyPair
from miscal.study.tables import attributes, with_ends

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
) -> TableRows:
    """Audit one pair under one method: draws + seeds fits of its field.

    Its triples, names, method and settings are used; what was found on them is not looked at. `null` is what the
    refits draw outcomes from (:data:`miscal.runs.audit.NULL_QUESTIONS`), "permuted" being the paper's, and the
    study's own seed is among `seeds`. Fills ``nulls``, ``proxy_curves`` (method "paper" with test rows), ``seeds`` and
    ``seed_pairs``.

    Raises
    ------
    InputError
        If a setting is out of range.
    """
    check_refitting(null, draws, seeds)
    quietly = lambda name: None  # noqa: E731
    rows = Refitting(
        result.triples,
        method=result.method,
        options=options,
        seed=result.pair.seed,
        epsilon=result.epsilon,
        min_rows=result.pair.min_rows,
        n_jobs=n_jobs,
        device=device,
    )
    nulls, curves = refit_under_null(rows, null, draws, quietly)
    stability, by_seed = refit_with_seeds(rows, seeds, quietly)
    named, pair = result.named, attributes(result.pair, "pair", "dataset", "model")
    compared = {
        name: attributes(nulls[source], "observed", "mean", "std", "p_value") for name, source in STATISTICS.items()
    }
    for name in ("proxy", "epoch") if curves else ():
        # they measure no structure, so that there is no p-value
        values = {curve.draw: float(getattr(curve, name)) for curve in curves}
        observed = values.pop(DATA)
        known = attributes(spread(list(values.values())), "mean", "std")
        compared[name] = {"observed": observed, "p_value": None, **known}
    return {
        "nulls": [
            {**named, "null": null, "statistic": name, "observed": found["observed"], "null_mean": found["mean"]}
            | {"null_std": found["std"], "p_value": found["p_value"], "n_draws": draws}
            for name, found in compared.items()
        ],
        "proxy_curves": [
            {**pair, "null": null, "draw": curve.draw, "epoch": epoch, "proxy": proxy, "chosen": epoch == curve.epoch}
            for curve in curves
            for epoch, proxy in enumerate(curve.proxies, start=1)
        ],
        "seeds": [named | attributes(one, "seed", "delta_std", "worst", "gap", "share_worst") for one in by_seed],
        "seed_pairs": [
            {**named, "seed_a": by_seed[one.a].seed, "seed_b": by_seed[one.b].seed}
            | attributes(one, "correlation", "sign_agreement", "sign_by_chance")
            for one in stability.pairs
        ],
    }


# --- both methods -----------------------------------------------------------------------------------------------------


def duel_rows(pair: StudyPair, auto: RunContent, paper: RunContent, unit: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Compare the corrections of two methods on the same rows, in the same order: the row of the table ``duels``.

    There is none where no row is evaluated in both. `unit`, (n,), numbers the rows that count as one, because their
    inputs are equal or their group is; the interval is Student's, over units (Liang and Zeger, 1986).
    """
    tables = auto.table, paper.table
    evaluated = np.logical_and.reduce([table["split"].fill_null("test").to_numpy() == "test" for table in tables])
    at = np.flatnonzero(evaluated)
    if not len(at):
        return []
    correct = tables[0]["correct"].to_numpy()[at].astype(np.float64)
    ours, theirs = (log_losses(correct, table["corrected"].to_numpy()[at]) for table in tables)
    saved = mean_interval(theirs - ours, groups=unit[at])
    return [
        {
            **attributes(pair, "pair", "dataset", "model"),
            "n": len(at),
            "log_loss_auto": float(ours.mean()),
            "log_loss_paper": float(theirs.mean()),
            **with_ends("saved", saved.value, saved.interval),
        }
    ]
