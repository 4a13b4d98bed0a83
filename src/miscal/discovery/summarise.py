"""Putting the numbers of a run together into its summary: numbers are of the rows that testify."""

import platform
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any

import numpy as np

from miscal.calibration.metrics.gap import MIN_ROWS
from miscal.calibration.survey_design import SurveyDesign, effect_of_mean
from miscal.data.splits import own_ids
from miscal.data.triples import SPLITS, Triples
from miscal.discovery import measurements
from miscal.discovery.alarms import alarms
from miscal.discovery.correction_gains import correction_gains
from miscal.discovery.estimating import ALL, HonestRows
from miscal.discovery.json_values import clean_text, plain
from miscal.discovery.run_claim import claim_of
from miscal.discovery.run_rows import DescribedRows
from miscal.discovery.summary import (
    CertificateNumbers,
    Columns,
    Data,
    MapInfo,
    PlaceNumbers,
    Regime,
    Selection,
    SubregimeNumbers,
    Summary,
)
from miscal.discovery.wording import verdict_of
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.drift import drift, drift_warning
from miscal.evidence.rounded_confidences import rare_values_warning
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings import places

_MUCH_WEIGHT = 0.05
"""Share of all weight that one row may have without a warning. Not tuned."""

LIBRARIES = ("miscal", "numpy", "scipy", "scikit-learn", "torch", "lightgbm", "polars")
"""Libraries whose versions the summary keeps, where they are installed: those that its numbers depend on."""


def summarise(
    rows: DescribedRows,
    *,
    seed: int,
    epsilon: float,
    min_rows: int,
    warnings: Sequence[str],
    map_info: MapInfo,
) -> Summary:
    """Measure on the rows that testify what was estimated, and write it down.

    Parameters
    ----------
    rows : DescribedRows
        All rows of the run.
    seed : int
        Of null draws and bootstrap.
    epsilon : float
        Half-width of the band of delta that counts as well calibrated.
    min_rows : int
        The fewest rows of a regime whose gap is measured.
    warnings : sequence of str
        What was unusual about the rows and the split.
    map_info : MapInfo
        How the map was made.

    Returns
    -------
    Summary
        The document, without its timing.
    """
    honest = rows.honest
    triples, estimate, testify, model = honest.triples, honest.estimate, honest.testifies, honest.model
    correct, confidence, regime = triples.correct[testify], triples.confidence[testify], rows.regime[testify]
    expected, hidden_regime = honest.expected[testify], rows.hidden_regime[testify]
    delta, visible, hidden = estimate.delta[testify], estimate.visible[testify], estimate.hidden[testify]
    predictions = {name: values[testify] for name, values in honest.corrections.items()}
    known, weights = {"design": honest.design}, honest.weights
    counted = {"groups": honest.groups, "weights": weights}
    regimes = measurements.regime_numbers(correct, confidence, expected, regime, seed=seed, **known)
    whole = measurements.global_numbers(correct, confidence, triples, seed=seed, **counted)
    claimed, columns = claim_of(honest, seed=seed), plain(triples.source).get("columns", {})
    summary = Summary(
        n=len(triples),
        **_counts(triples),
        n_sample=None if honest.sample is None else int(honest.sample.sum()),
        seed=seed,
        method=model.method,
        evidence=honest.evidence,
        verdict="",
        alarms=_alarms(triples),
        warnings=tuple(
            plain([*triples.notes, *warnings, *_remarks(honest, regimes, estimate.supported[testify], regime)])
        ),
        global_=whole,
        field=measurements.field_numbers(
            confidence,
            delta,
            visible,
            hidden,
            regime,
            estimate.supported[testify],
            structure=claimed.structure,
            weights=weights,
        ),
        regimes=regimes,
        # smECE is of the whole error, which these regimes are not cut by
        hidden_regimes=measurements.regime_numbers(correct, confidence, expected, hidden_regime, seed=None, **known),
        gap=measurements.gap(
            correct, confidence, regime, seed=seed, min_rows=min_rows, whole=whole, regimes=regimes, **counted
        ),
        certificate=CertificateNumbers(**claimed.certificate.to_dict()),
        correction=measurements.comparison(correct, predictions, regime, weights),
        corrected_smece=measurements.smooth_ece(correct, predictions["miscal"], seed=seed, **counted),
        gains=correction_gains(correct, predictions, **counted),
        selection=_selection(model),
        subregimes=tuple(SubregimeNumbers(**plain(part.to_dict())) for part in rows.parts),
        findings=rows.ledger.numbers(),
        accounted_for=rows.ledger.accounted_numbers(),
        places=_places(rows, regimes),
        findings_method=rows.ledger.method(),
        groups=measurements.group_numbers(correct, expected, honest.design, columns.get("group")),
        weights=measurements.weight_numbers(weights, columns.get("weight")),
        curves=measurements.curves(correct, confidence, predictions["miscal"], regime, min_rows=min_rows, **counted),
        histogram=measurements.histogram(delta, regime),
        map=map_info,
        data=_data(triples),
        settings=_settings(triples, model, seed, epsilon, min_rows),
        versions=_versions(),
        timing={},
    )
    return summary.model_copy(update={"verdict": clean_text(verdict_of(summary))})


def _counts(triples: Triples) -> dict[str, int | None]:
    split = triples.split
    return {f"n_{name}": None if split is None else int((split == name).sum()) for name in SPLITS}


def _alarms(triples: Triples) -> tuple[str, ...]:
    columns = plain(triples.source).get("columns", {})
    named = {f"{part}_column": columns.get(part) for part in ("correct", "confidence")}
    return alarms(triples.correct, triples.confidence, groups=triples.group, weights=triples.weight, **named)


def _places(rows: DescribedRows, regimes: Sequence[Regime]) -> tuple[PlaceNumbers, ...]:
    """Places of what is hidden: subregimes, or where none is confirmed, whole regimes."""
    honest, testify = rows.honest, rows.honest.testifies
    known = honest.triples.correct[testify], honest.triples.confidence[testify], honest.expected[testify]
    regime = rows.regime[testify]
    inside = [
        parts.name[testify] == one.name for parts in (rows.subregimes, rows.hidden_subregimes) for one in parts.table
    ]
    whole = [(one.name, regime == one.name) for one in regimes if one.name != "good"]
    found = places(*known, list(enumerate(inside)), whole, design=honest.design)
    return tuple(
        PlaceNumbers(part=one.name, hidden=one.hidden)
        if isinstance(one.name, int)
        else PlaceNumbers(regime=one.name, hidden=one.hidden)
        for one in found
    )


def _remarks(rows: HonestRows, regimes: Sequence[Regime], supported: np.ndarray, regime: np.ndarray) -> list[str]:
    what, correct = "" if rows.evidence == ALL else "test ", rows.triples.correct[rows.testifies]
    small = [part for part in regimes if part.name != "good" and 0 < part.n < MIN_ROWS]
    remarks = [
        f"the {part.name} regime has only {part.n} {what}row{'' if part.n == 1 else 's'}, so its numbers are rough"
        for part in small
    ]
    if correct.min() == correct.max():
        remarks.append(
            f"all {len(correct):,} {what}rows have the outcome {int(correct[0])}"
            + (
                ", while the rows learned from have both: the numbers may say more about how the rows were split than "
                "about the model"
                if what
                else ""
            )
        )
    apart = regime == None  # noqa: E711  element by element
    if apart.any():
        remarks.append(
            f"{apart.sum():,} of {len(regime):,} {what}rows lie too far from the rows learned from for a local "
            "estimate: theirs comes from the confidence alone, and they belong to no regime"
        )
    kept = ~supported & ~apart
    if kept.any():
        remarks.append(
            f"{kept.sum():,} of {len(regime):,} {what}rows have so few of the rows learned from nearby that the local "
            "estimate, which they keep, is mostly noise; --option min_mass=1 gives such rows the estimate by the "
            "confidence alone"
        )
    tested, block = (rows.testifies, None) if rows.block is None else (rows.block >= 0, rows.block[rows.block >= 0])
    rare = rare_values_warning(rows.triples.confidence[tested], block)
    texts = (rare, *_few_count(rows.weights), *_unnamed_groups(rows), _drifted(rows) if what else None)
    return [*remarks, *(text for text in texts if text is not None)]


def _drifted(rows: HonestRows) -> str | None:
    """Warn where the test rows are of another kind than the rows learned from."""
    triples, testify = rows.triples, rows.testifies
    design = SurveyDesign.given(triples.group, triples.correct, rows.expected, triples.weight)
    effect = effect_of_mean(triples.correct, rows.expected, testify, design)
    return drift_warning(drift(triples.correct, triples.confidence, testify, effect))


def _few_count(weights: np.ndarray | None) -> list[str]:
    """Warn where a single row decides much of every number."""
    found = measurements.weight_numbers(weights)
    if found is None or found.largest < _MUCH_WEIGHT:
        return []
    return [
        f"a single row has {found.largest:.0%} of all weight, so that means over all {len(weights):,} rows are only as "
        f"precise as means over {found.n_effective:,.0f} rows of equal weight: intervals and tests are rough"
    ]


def _unnamed_groups(rows: HonestRows) -> list[str]:
    """Say what it costs that rows with equal inputs are taken as independent."""
    if rows.triples.group is not None:
        return []
    testify = rows.testifies
    correct, expected = rows.triples.correct[testify], rows.expected[testify]
    alike = SurveyDesign.given(own_ids(rows.triples)[testify], correct, expected)
    if alike is None:
        return []
    wider = float(np.sqrt(effect_of_mean(correct, expected, np.ones(len(correct), dtype=bool), alike)))
    return [
        "no groups are named, so intervals and p-values take rows with equal inputs as independent. Given the "
        f"confidence, the outcomes of equal inputs correlate by {alike.correlation:.2f}; if they depend on each other, "
        f"as the answers to one question or the visits of one patient do, the interval of a mean should be "
        f"{wider:.2f} times as wide: name the column that says which rows belong together with --group"
    ]


def _selection(model: MiscalibrationField) -> Selection:
    candidates = plain(list(model.selection_))
    return Selection(chosen=plain(dict(model.settings_)), candidates=tuple(candidates))


def _data(triples: Triples) -> Data:
    source = plain(triples.source)
    columns = source.get("columns", {})
    named = {part: columns.get(part) for part in ("confidence", "correct", "x", "text")}
    return Data(
        path=source.get("path"),
        sha256=source.get("sha256"),
        columns=Columns(**named, metadata=tuple(plain(list(triples.metadata)))),
        x_source=source.get("x_source"),
        n_features=triples.X.shape[1],
    )


def _settings(triples: Triples, model: MiscalibrationField, seed: int, epsilon: float, min_rows: int) -> dict[str, Any]:
    """Everything that was chosen, and all it takes to read the same rows again."""
    given: dict[str, Any] = {"seed": seed, "epsilon": epsilon, "min_rows": min_rows, "level": SIGNIFICANCE}
    # what was asked for, and where the field was learned
    given |= {"device": model.device, "computed_on": model.device_}
    if model.options:
        given["options"] = dict(model.options)
    return plain({**given, "field": model.settings_, "source": triples.source})


def _versions() -> dict[str, str]:
    told = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            told[name] = metadata.version(name)
    return told
