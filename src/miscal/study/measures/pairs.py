"""The table ``pairs``: one row per geometry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from miscal.base.document import Measure
from miscal.calibration.metrics import clipped, log_losses
from miscal.discovery.summary import Summary
from miscal.evidence.bootstrap import slice_bootstrap
from miscal.evidence.certificates import Certificate
from miscal.evidence.thresholds import threshold_sensitivity
from miscal.runs.compare.estimates import clustered_mean
from miscal.study.pair_result import FieldRows, PairResult, TableRows
from miscal.study.tables import SOUGHT

_CHOICES = ("sigma", "lambda", "epoch", "alpha", "proxy")
_OF_LEARNED = (
    *("gap_interval_low", "gap_interval_high", "gap_floor", "gap_p"),
    *("structure", "limit_total", "p_total", "limit_hidden", "p_hidden"),
    *("detectable_share", "detectable", "rows_for_5_points"),
    *("n_findings", "finding", "seconds"),
)


def measure(result: PairResult) -> TableRows:
    """Describe the pair by its learned field and, where it is measured, by that of the raw inputs.

    Returns
    -------
    TableRows
        Table ``pairs``.
    """
    common = _common(result)
    rows = [common | {"geometry": "learned"} | _field(result, result.learned) | _gap(result, result.learned)]
    rows[0] |= _learned(result)
    if result.raw is not None:
        seen = result.raw.rows
        field = result.raw.field
        chosen = {"sigma": field.sigma, "alpha": field.alpha, "proxy": field.proxy}
        unknown = dict.fromkeys((*_CHOICES, *_OF_LEARNED))
        of_raw = common | {"geometry": "raw"} | _field(result, seen) | _gap(result, seen)
        rows.append(of_raw | unknown | chosen | {"seconds_field": result.raw.seconds})
    return {"pairs": rows}


def _common(result: PairResult) -> dict[str, Any]:
    """Collect what does not depend on the geometry."""
    summary, rows, settings = result.found.summary, result.learned, result.settings
    return result.named | {
        "family": result.labels.family,
        "billions": result.labels.billions,
        "evidence": summary.evidence,
        "seed": settings.seed,
        "epsilon": settings.epsilon,
        "min_rows": settings.min_rows,
        "outcome": result.labels.outcome,
        "n": summary.n,
        "n_train": summary.n_train,
        "n_val": summary.n_val,
        "n_test": len(rows.correct),
        "d": summary.data.n_features,
        # those of the summary are of all rows
        "accuracy": float(rows.correct.mean()),
        "confidence": float(rows.confidence.mean()),
        "smece": summary.global_.smece.value,
        "brier": summary.global_.brier.value,
        "log_loss": summary.global_.log_loss.value,
        "seconds_score": result.seconds_score,
    }


def _field(result: PairResult, rows: FieldRows) -> dict[str, Any]:
    """Describe the field over the rows, and what its correction saves."""
    regime = rows.regime
    of = (rows.confidence, result.globally_corrected, rows.corrected)
    raw, globally, local = (log_losses(rows.correct, confidence) for confidence in of)
    return {
        "log_loss_corrected": float(local.mean()),
        "log_loss_global": float(globally.mean()),
        **_saved("log_loss_saved", raw - local, result.unit),
        **_saved("log_loss_saved_local", globally - local, result.unit),
        "delta_mean": float(rows.delta.mean()),
        "delta_std": float(rows.delta.std()),
        "std_visible": float(rows.visible.std()),
        "std_hidden": float(rows.hidden.std()),
        "share_over": float(np.mean(regime == "over")),
        "share_under": float(np.mean(regime == "under")),
        "share_unsupported": float(np.mean(~rows.supported)),
    }


def _saved(name: str, saved: np.ndarray, unit: np.ndarray) -> dict[str, Any]:
    mean = clustered_mean(saved, unit)
    low, high = mean.interval(0) or (None, None)
    return {name: float(mean.value[0]), f"{name}_low": low, f"{name}_high": high}


def _gap(result: PairResult, rows: FieldRows) -> dict[str, Any]:
    """Measure the worst slice, on the rows and over the paper's bootstrap of them."""
    settings = result.settings
    y, f, least = rows.correct, rows.confidence, settings.min_rows
    (at,) = threshold_sensitivity(y, f, rows.cut, epsilons=(settings.epsilon,), min_rows=least)
    drawn = slice_bootstrap(
        y,
        f,
        rows.regime,
        min_rows=least,
        groups=result.groups,
        n_draws=settings.bootstrap_draws,
        random_state=settings.seed,
    )
    gap, share = drawn.gap, drawn.share
    return {
        "worst": at.worst,
        "gap": at.gap,
        "gap_clipped": clipped(at.gap),
        "gap_boot_mean": gap and gap.mean,
        "gap_boot_mean_clipped": gap and gap.mean_clipped,
        "gap_low": gap and gap.low,
        "gap_high": gap and gap.high,
        "share_worst": at.share_worst,
        "share_low": share and share.low,
        "share_high": share and share.high,
        "brier_gap": at.brier_gap,
    }


def _lower(measure: Measure) -> float | None:
    """Lower end of the interval: of a certificate, the limit itself, which is below its value."""
    return None if measure.interval is None else measure.interval[0]


def _learned(result: PairResult) -> dict[str, Any]:
    """Collect what a run knows of the learned geometry alone."""
    summary = result.found.summary
    certificate, findings = summary.certificate, summary.findings
    low, high = summary.gap.interval or (None, None)
    return _chosen(summary) | {
        "structure": summary.field.structure,
        "gap_interval_low": low,
        "gap_interval_high": high,
        "gap_floor": summary.gap.floor,
        "gap_p": summary.gap.p_value,
        "limit_total": _lower(certificate.lower_bound_total),
        "p_total": certificate.p_value_total,
        "limit_hidden": _lower(certificate.lower_bound_hidden),
        "p_hidden": certificate.p_value,
        **_detectable(certificate),
        "n_findings": len(findings),
        "finding": findings[0].description if findings else None,
        "seconds_field": summary.timing["field"],
        "seconds": sum(summary.timing.values()),
    }


def _detectable(certificate: Certificate) -> dict[str, Any]:
    """Say what error of a cluster of inputs would have been claimed, and how many rows an error of `SOUGHT` takes."""
    found = next((one for one in certificate.detectable_learned if one.place == "cluster"), None)
    size = None if found is None else found.size
    return {
        "detectable_share": None if found is None else found.share,
        "detectable": size,
        "rows_for_5_points": None if size is None else math.ceil(certificate.n * (size / SOUGHT) ** 2),
    }


def _chosen(summary: Summary) -> dict[str, Any]:
    """Return the paper's choices; "auto" has none of them."""
    if summary.method != "paper":
        return dict.fromkeys(_CHOICES)
    chosen = next(candidate for candidate in summary.selection.candidates if candidate["chosen"])
    return {name: (summary.selection.chosen | chosen)[name] for name in _CHOICES}
