"""What is measured of every pair: itself, its corrections, slices of its rows, and values of its field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from miscal.base.document import clean_text
from miscal.base.vocabulary import Kind
from miscal.calibration.labelled_rows import LabelledRows, take_rows
from miscal.calibration.metrics.decisions import deferral_gains, risk_at_coverage
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS, clipped
from miscal.calibration.metrics.scores import log_losses
from miscal.calibration.metrics.smooth import smece
from miscal.discovery.estimating import corrections_by_name
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.discovery.measurements import comparison, reliability
from miscal.discovery.summary import Comparison
from miscal.evidence.power import threshold_sensitivity
from miscal.evidence.stability import slice_bootstrap
from miscal.report.brief import FIRST_ERROR
from miscal.runs.compare.estimates import group_means
from miscal.study.pair_result import FieldRows, PairResult, TableRows
from miscal.study.tables import REGIONS, SOUGHT, TABLES, attributes, with_ends

COVERAGES = tuple(np.linspace(0.05, 1.0, 20).round(2).tolist())
"""Coverages of the risk-coverage curve: 0.05, 0.10, ..., 1."""

EPSILONS = (0.01, 0.05, 0.10, 0.15)
"""Half-widths of the band at which the table ``thresholds`` cuts the field."""

BOOTSTRAP_DRAWS = 1_000
"""Draws of the paper's bootstrap of the worst slice, and of the gains of deferral."""

REGIME = "regime"
"""What the tables call the column of regimes."""

MOST_VALUES = 60
"""Values of a metadata column that are shown, the most frequent ones: no figure has room for more."""

BIN_EDGES = np.linspace(-1.0, 1.0, 201).round(2)
"""Bins of width 0.01 over all values that a field can have, the same for all pairs: they can be added. Half-widths of
the band in whole hundredths, such as 0.05, are edges, so that no bin lies on both sides of one."""


def measure_pair(result: PairResult) -> TableRows:
    """Fill the table ``pairs``: a row for the learned field and, where it is measured, one for the raw inputs."""
    blank = dict.fromkeys(TABLES["pairs"])
    more = {"learned": _of_learned(result), "raw": result.raw and result.raw.chosen}
    each = result.geometries.items()
    return {"pairs": [blank | _of_geometry(result, name, rows) | more[name] for name, rows in each]}


def _of_geometry(result: PairResult, geometry: str, rows: FieldRows) -> dict[str, Any]:
    """Describe the pair, the field over its rows, what its correction saves, and the worst slice."""
    summary, pair, regime = result.found.summary, result.pair, rows.regime
    y, f, least = rows.correct, rows.confidence, pair.min_rows
    raw, globally, local = (log_losses(y, confidence) for confidence in (f, result.globally_corrected, rows.corrected))
    (at,) = threshold_sensitivity(y, f, rows.regimes_of, epsilons=(result.epsilon,), min_rows=least)
    drawn = slice_bootstrap(
        y, f, regime, min_rows=least, groups=result.groups, n_draws=BOOTSTRAP_DRAWS, random_state=pair.seed
    )
    gap, share = drawn.gap, drawn.share
    return {
        **result.named,
        "geometry": geometry,
        **attributes(pair, "family", "billions", "seed", "min_rows"),
        "outcome": summary.kind,
        "epsilon": result.epsilon,
        **attributes(summary, "evidence", "n", "n_train", "n_val"),
        **{name: getattr(summary.global_, name).value for name in ("smece", "brier", "log_loss")},
        "n_test": len(y),
        "d": summary.data.n_features,
        # those of the summary are of all rows
        "accuracy": float(y.mean()),
        "confidence": float(f.mean()),
        "seconds_score": result.seconds_score,
        "log_loss_corrected": float(local.mean()),
        "log_loss_global": float(globally.mean()),
        **_mean("log_loss_saved", raw - local, result.unit),
        **_mean("log_loss_saved_local", globally - local, result.unit),
        "delta_mean": float(rows.delta.mean()),
        "delta_std": float(rows.delta.std()),
        "std_visible": float(rows.visible.std()),
        "std_hidden": float(rows.hidden.std()),
        "share_over": float(np.mean(regime == "over")),
        "share_under": float(np.mean(regime == "under")),
        "share_unsupported": float(np.mean(~rows.supported)),
        **attributes(at, "worst", "gap", "share_worst", "brier_gap"),
        "gap_clipped": clipped(at.gap),
        "gap_boot_mean": gap and gap.mean,
        "gap_boot_mean_clipped": gap and gap.mean_clipped,
        "gap_low": gap and gap.low,
        "gap_high": gap and gap.high,
        "share_low": share and share.low,
        "share_high": share and share.high,
    }


def _mean(name: str, values: np.ndarray, unit: np.ndarray, ends: str | None = None) -> dict[str, float | None]:
    """Average values of rows, with an interval over units."""
    mean = group_means(values, np.asarray(unit), spare=0.0)
    return with_ends(name, float(mean.value[0]), mean.interval(0), ends)


def _of_learned(result: PairResult) -> dict[str, Any]:
    """Collect what a run knows of the learned geometry alone."""
    summary = result.found.summary
    certificate, findings, selection = summary.certificate, summary.findings, summary.selection
    chosen: dict[str, Any] = {}
    if summary.method == "paper":
        chosen = selection.chosen | next(candidate for candidate in selection.candidates if candidate["chosen"])
    found = next((one for one in certificate.detectable_learned if one.place == "cluster"), None)
    size = None if found is None else found.size
    low, high = summary.gap.interval or (None, None)
    return {
        **{name: chosen.get(name) for name in ("sigma", "lambda", "epoch", "alpha", "proxy")},
        "structure": summary.field.structure,
        "gap_interval_low": low,
        "gap_interval_high": high,
        "gap_floor": summary.gap.floor,
        "gap_p": summary.gap.p_value,
        # of a certificate the lower end of the interval is the limit itself, which is below its value
        "limit_total": (certificate.lower_bound_total.interval or (None,))[0],
        "p_total": certificate.p_value_total,
        "limit_hidden": (certificate.lower_bound_hidden.interval or (None,))[0],
        "p_hidden": certificate.p_value,
        "detectable_share": None if found is None else found.share,
        "detectable": size,
        "rows_for_5_points": None if size is None else math.ceil(certificate.n * (size / SOUGHT) ** 2),
        "n_findings": len(findings),
        "finding": findings[0].description if findings else None,
        "seconds_field": summary.timing["field"],
        "seconds": sum(summary.timing.values()),
    }


def measure_corrections(result: PairResult) -> TableRows:
    """Score raw and corrected confidences on all rows and on each regime of the uncorrected field: ``corrections``."""
    compared: dict[str, Mapping[str, Comparison]] = {"learned": result.found.summary.correction}
    if result.raw is not None:
        compared["raw"] = _of_raw(result, result.raw)
    rows = [
        {**result.named, "geometry": geometry, "calibrator": name, "region": region}
        | attributes(getattr(scores, region), "n", "smece", "brier", "log_loss")
        for geometry, by_name in compared.items()
        for name, scores in by_name.items()
        for region in REGIONS
    ]
    return {"corrections": rows}


def _of_raw(result: PairResult, raw: FieldRows) -> Mapping[str, Comparison]:
    """Compare the raw field's correction with global ones learned from the same training rows."""
    test = evaluated_rows(result.triples)
    corrected = result.triples.confidence.copy()
    corrected[test] = raw.corrected
    train = (result.found.table["split"] == "train").to_numpy()
    values = corrections_by_name(result.triples, corrected, [(train, np.ones(len(test), dtype=bool))])
    labelled = LabelledRows.of(raw.correct, raw.confidence)
    return comparison(labelled, {name: value[test] for name, value in values.items()}, raw.regime)


def measure_deferral(result: PairResult) -> TableRows:
    """Compute risk at every coverage by raw and corrected confidences, and what correcting gains; learned geometry.

    Where the confidence is of an event, the more likely side is the answer, and rows are ranked by its probability.
    Correction may change the answer then, so that even without deferral the risk may change.
    """
    rows = result.learned
    confidences = {"raw": rows.confidence, "corrected": rows.corrected}
    ranked = {name: prediction(rows.correct, f, result.found.summary.kind) for name, f in confidences.items()}
    curve = [
        {**result.named, "score": name, "coverage": coverage, "risk": float(risk)}
        for name, (right, score) in ranked.items()
        for coverage, risk in zip(COVERAGES, risk_at_coverage(right, score, COVERAGES), strict=True)
    ]
    (right, before), (right_after, after) = ranked.values()
    gains = deferral_gains(
        right, before, after, correct_after=right_after, groups=result.groups, n_draws=BOOTSTRAP_DRAWS,
        random_state=result.pair.seed,
    )  # fmt: skip
    of_gains = [
        {**result.named, "at": "area" if gain.at is None else f"{gain.at:g}", "raw": gain.before}
        | {"corrected": gain.after, **with_ends("gain", gain.gain, gain.interval)}
        for gain in gains
    ]
    return {"deferral": curve, "deferral_gains": of_gains}


def prediction(correct: np.ndarray, confidence: np.ndarray, outcome: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each row's prediction is right, 0 or 1, and how sure the model is of it, in [0, 1].

    Of an answer these are outcome and confidence. Of an event the more likely side is predicted, and at a confidence of
    0.5 that it happens.

    >>> right, score = prediction(np.array([0.0, 1.0]), np.array([0.05, 0.05]), "event")
    >>> right.tolist(), score.tolist()
    ([1.0, 0.0], [0.95, 0.95])
    """
    if outcome == "answer":
        return correct, confidence
    return ((confidence >= 0.5) == (correct == 1)).astype(np.float64), np.maximum(confidence, 1 - confidence)


def measure_board(result: PairResult) -> TableRows:
    """Fill the table ``board``: what models are compared by, each with its interval."""
    rows, summary = result.learned, result.found.summary
    error, promises = summary.global_.smece, [one for one in summary.alone if one.max_error == FIRST_ERROR]
    # of events there are two, decided as yes and as no
    share = promises[0].share.interval if len(promises) == 1 else None
    own = {
        "residual": _mean("value", rows.correct - rows.confidence, result.unit, ends=""),
        "smece": with_ends("value", error.value, error.interval, ends=""),
        "alone": with_ends("value", sum(one.share.value or 0.0 for one in promises), share, ends=""),
        "alone_raw": with_ends("value", sum(one.raw.share for one in promises), None, ends=""),
    }
    return {"board": [{**result.named, "measure": name, "n": len(rows.correct), **size} for name, size in own.items()]}


def measure_curves(result: PairResult) -> TableRows:
    """Fill ``curves`` and ``regions``: reliability and numbers of every region; uncorrected confidences, learned.

    A regime of fewer than ``min_rows`` rows has no curve, nor has a value of fewer than 30.
    """
    rows, bins, regions = result.learned, [], []
    for column, value, mask in _regions(result):
        key = {**result.named, "column": column, "value": value}
        y, f = rows.correct[mask], rows.confidence[mask]
        labelled = LabelledRows.of(y, f, group=take_rows(result.groups, mask))
        least = result.pair.min_rows if column == REGIME else MIN_SLICE_ROWS
        if (curve := reliability(labelled, min_rows=least)) is not None:
            columns = attributes(curve, "confidence", "accuracy", "low", "high", "n")
            bins += [
                key | {"bin": k} | {name: column[k] for name, column in columns.items()} for k in range(len(curve.n))
            ]
        means = {"accuracy": y, "confidence": f, "delta_mean": rows.delta[mask]}
        averaged = {name: float(values.mean()) if len(y) else None for name, values in means.items()}
        regions.append(key | {"n": len(y), "smece": smece(y, f) if len(y) > 1 else None} | averaged)
    return {"curves": bins, "regions": regions}


def _regions(result: PairResult) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield column, value and mask (n,) of each region: regimes, and values of metadata, neither missing nor rare."""
    for name, mask in result.learned.regions.items():
        yield REGIME, name, mask
    seen = evaluated_rows(result.triples)
    for column, whole in result.triples.metadata.items():
        values = whole[seen]
        # NaN, and a missing date, differ from themselves
        known = np.array([value is not None and value == value for value in values], dtype=bool)
        text = np.array([clean_text(str(value)) if own else "" for value, own in zip(values, known, strict=True)])
        names, counts = np.unique(text[known], return_counts=True)
        for k in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
            if counts[k] >= MIN_SLICE_ROWS:
                yield clean_text(column), str(names[k]), known & (text == names[k])


def measure_thresholds(result: PairResult) -> TableRows:
    """Fill the table ``thresholds``: the field of each geometry, cut at every epsilon of the settings."""
    cut = {"epsilons": EPSILONS, "min_rows": result.pair.min_rows}
    rows = [
        {**result.named, "geometry": geometry, "by": by, **attributes(at, "epsilon", "worst", "brier_gap")}
        | {"n": None if at.share_worst is None else round(at.share_worst * len(seen.correct)), "share": at.share_worst}
        | {"smece_gap": at.gap, "smece_gap_clipped": clipped(at.gap)}
        for geometry, seen in result.geometries.items()
        for by in ("smece", "brier")
        for at in threshold_sensitivity(seen.correct, seen.confidence, seen.regimes_of, by=by, **cut)
    ]
    return {"thresholds": rows}


def measure_histograms(result: PairResult) -> TableRows:
    """Fill the table ``histograms``: the values of the field of each geometry, counted."""
    rows = [
        {**result.named, "geometry": geometry, "left": float(left), "right": float(right), "n": int(n)}
        for geometry, seen in result.geometries.items()
        for left, right, n in zip(BIN_EDGES[:-1], BIN_EDGES[1:], np.histogram(seen.delta, BIN_EDGES)[0], strict=True)
    ]
    return {"histograms": rows}
