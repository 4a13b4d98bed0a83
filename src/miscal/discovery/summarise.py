"""Putting the numbers of a run together into its summary. Every number here is of test rows."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from miscal.data.triples import Triples
from miscal.discovery import measurements as measure
from miscal.discovery.summary import (
    CertificateNumbers,
    Columns,
    Data,
    MapInfo,
    Regime,
    Selection,
    Subregime,
    Summary,
    plain,
)
from miscal.estimators.field import FieldEstimate, MiscalibrationField
from miscal.evidence.certificates import Certificate, certificate
from miscal.findings import Subregimes, holm, mean_residual
from miscal.findings.verdict import LEVEL, Claim, Place, sentence, visible_size

LIBRARIES = ("miscal", "numpy", "scipy", "scikit-learn", "torch", "lightgbm", "polars")


@dataclass(frozen=True, eq=False)
class Findings:
    """What a discovery found, before it is measured.

    Attributes
    ----------
    triples : Triples
        All rows, with their split.
    model : MiscalibrationField
        The fitted field.
    estimate : FieldEstimate
        Honest estimates of all rows.
    regime : ndarray of object, shape (n,)
        ``"over"``, ``"good"``, ``"under"`` or None.
    parts : Subregimes
        Named parts of the regimes.
    corrections : dict of str to ndarray of float64, shape (n,)
        Corrected confidences by name.
    seed : int
        Of null draws and bootstrap.
    epsilon : float
        Half-width of the good band.
    """

    triples: Triples
    model: MiscalibrationField
    estimate: FieldEstimate
    regime: np.ndarray
    parts: Subregimes
    corrections: dict[str, np.ndarray]
    seed: int
    epsilon: float

    @property
    def test(self) -> np.ndarray:
        """Mask of the test rows."""
        return self.triples.split == "test"


def compose(findings: Findings, *, method: str, warnings: Sequence[str], map_info: dict[str, Any]) -> Summary:
    """Measure what was found and write it down.

    Parameters
    ----------
    findings : Findings
        The discovery.
    method : str
        ``"auto"`` or ``"paper"``.
    warnings : sequence of str
        What was odd about the rows and the split.
    map_info : dict
        How the map was made.

    Returns
    -------
    Summary
        The document, without its timing.
    """
    triples, test, seed = findings.triples, findings.test, findings.seed
    y, f, regime = triples.correct[test], triples.confidence[test], findings.regime[test]
    estimate = findings.estimate
    delta, visible, hidden = estimate.delta[test], estimate.visible[test], estimate.hidden[test]
    predictions = {name: values[test] for name, values in findings.corrections.items()}
    regimes = measure.regime_numbers(regime, y, f, seed=seed)
    proof = _certificate(findings)
    subregimes = tuple(Subregime(**plain(part.to_dict())) for part in findings.parts.table)
    return Summary(
        n=len(triples),
        **{f"n_{name}": int((triples.split == name).sum()) for name in ("train", "val", "test")},
        seed=seed,
        method=method,
        verdict=_verdict(findings, proof, regimes, subregimes),
        warnings=tuple(plain([*triples.notes, *warnings, *_remarks(regimes, regime, y)])),
        global_=measure.global_numbers(y, f, seed=seed),
        field=measure.field_numbers(delta, visible, hidden, f, regime, structure=bool(findings.model.structure_)),
        regimes=regimes,
        gap=measure.gap(y, f, regime, seed=seed),
        certificate=CertificateNumbers(**proof.to_dict()),
        correction=measure.comparison(predictions, y, regime),
        selection=_selection(findings.model),
        subregimes=subregimes,
        curves=measure.curves(f, predictions["miscal"], y, regime),
        histogram=measure.histogram(delta, regime),
        map=MapInfo(file="map.parquet", **map_info),
        data=_data(triples),
        settings=_settings(findings),
        versions=_versions(),
        timing={},
    )


def _certificate(findings: Findings) -> Certificate:
    triples, test, estimate = findings.triples, findings.test, findings.estimate
    hidden = estimate.hidden[test]
    return certificate(
        triples.correct[test],
        triples.confidence[test],
        estimate.delta[test],
        hidden if findings.model.structure_ else np.zeros_like(hidden),
        fit_correct=triples.correct[~test],
        fit_confidence=triples.confidence[~test],
        random_state=findings.seed,
    )


def _verdict(findings: Findings, proof: Certificate, regimes: Sequence[Regime], subregimes: Sequence[Subregime]) -> str:
    test = findings.test
    rate = np.clip(findings.triples.confidence[test] + findings.estimate.visible[test], 0.0, 1.0)
    claim = Claim(
        structure=bool(findings.model.structure_),
        lower_limit=proof.hidden.low,
        p_value=proof.hidden.p_value,
        n_test=proof.n,
        detectable=visible_size(proof.detectable, rate),
    )
    y, part, regime = findings.triples.correct[test], findings.parts.name[test], findings.regime[test]
    named = [(f'"{one.name}"', part == one.name) for one in subregimes]
    whole = [(f"the {r.share:.0%} found {r.name}-confident", regime == r.name) for r in regimes if r.name != "good"]
    return sentence(claim, places(named, y, rate) or places(whole, y, rate))


def places(regions: Sequence[tuple[str, np.ndarray]], y: np.ndarray, rate: np.ndarray) -> list[Place]:
    """Choose what the verdict names: regions that are right more or less often than rows of like confidence.

    That is another question than whether they are over- or under-confident: where all rows are, a region that is less
    so than others is a place of what is hidden, and one that is as much so is none.

    Parameters
    ----------
    regions : sequence of (str, ndarray of bool, shape (n,))
        Name, and which test rows are in it.
    y, rate : ndarray of float64, shape (n,)
        Outcomes of the test rows, and mu(f), the rate of y given the confidence alone.

    Returns
    -------
    list of Place
        Those whose mean of y - mu(f) differs from 0, at 0.05 after Holm's adjustment; those that carry most (size times
        rows) first.

    Examples
    --------
    >>> typical, worse = np.arange(400) < 300, np.arange(400) >= 300
    >>> y, rate = np.r_[np.arange(300) % 5 < 3, np.zeros(100)], np.full(400, 0.6)
    >>> places([("typical", typical), ("worse", worse)], y, rate)
    [Place(name='worse', hidden=-0.6)]
    """
    found = [mean_residual(y[rows], rate[rows]) for _, rows in regions]
    adjusted = holm(np.array([1.0 if one.p_value is None else one.p_value for one in found]))
    kept = [
        (-abs(one.value) * rows.sum(), Place(name, one.value))
        for (name, rows), one, p_value in zip(regions, found, adjusted, strict=True)
        if p_value < LEVEL
    ]
    return [place for _, place in sorted(kept, key=lambda item: item[0])]


def _remarks(regimes: Sequence[Regime], regime: np.ndarray, y: np.ndarray) -> list[str]:
    small = [part for part in regimes if part.name != "good" and 0 < part.n < measure.MIN_SLICE]
    remarks = [
        f"the {part.name} regime has {part.n} test row{'' if part.n == 1 else 's'} only: rough numbers"
        for part in small
    ]
    if y.min() == y.max():
        remarks.append(
            f"all {len(y)} test rows have the outcome {int(y[0])}, those learned from have both: their numbers may say "
            "more of how the rows were split than of the model"
        )
    unsupported = int(np.sum(regime == None))  # noqa: E711  element by element
    if unsupported:
        remarks.append(
            f"{unsupported} of {len(regime)} test rows lie too far from the rows learned from for a local estimate: "
            "their delta is the global map's and they belong to no regime"
        )
    return remarks


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


def _settings(findings: Findings) -> dict[str, Any]:
    """Everything that was chosen, and all it takes to read the same rows again."""
    options = {"seed": findings.seed, "epsilon": findings.epsilon, "level": LEVEL}
    return plain({**options, "field": findings.model.settings_, "source": findings.triples.source})


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in LIBRARIES}}
