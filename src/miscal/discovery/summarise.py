"""Put the numbers of a run together into its summary."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.document import clean_text, plain
from miscal.base.number_wording import percent
from miscal.base.vocabulary import JUDGE, vocabulary
from miscal.calibration.labelled_rows import effect_of_mean, labelled, take_rows
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.data.judged import JudgeReading
from miscal.data.readers.column_readings import READ_COLUMNS, ColumnReading
from miscal.data.readers.outcomes import scale_words
from miscal.data.splits import copies
from miscal.data.triples import SPLITS, Triples
from miscal.discovery import measurements
from miscal.discovery.alarms import alarms, copy_alarms, leak_alarms, plain_facts, say_little
from miscal.discovery.answer import answer_of
from miscal.discovery.fitted_rows import ALL, TEST, TIME, FittedRows
from miscal.discovery.measurements import over_time
from miscal.discovery.several_classes import ClassRun, class_numbers
from miscal.discovery.summary import Answer, Columns, Data, Regime, Selection, Summary, WeightNumbers
from miscal.discovery.units import Units, unit_numbers
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import estimator_class
from miscal.evidence.blocks import needed
from miscal.evidence.certificates import Certificate, certificate, drift, drift_warning
from miscal.evidence.conditional import rare_values_warning
from miscal.evidence.judged_rows import (
    GroupRate,
    JudgedRows,
    JudgeNumbers,
    ScalePoint,
    agreement,
    judge_rate,
    pass_rate,
)
from miscal.evidence.kernel_score import smoothed_residuals
from miscal.evidence.limits.agreement import NOTHING_CLAIMED
from miscal.evidence.power import detectable_places
from miscal.evidence.settings import FIELD_WEIGHT, LEAST_UNITS, SIGNIFICANCE
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.conditions.condition import Frame, frame_of_rows
from miscal.findings.decisions import MAX_ERRORS, Alone, RiskCurves, Thresholds, asked_groups, decide, decided_alone
from miscal.findings.judging import contents_of

_MUCH_WEIGHT = 0.05
"""Share of all weight that one row may have without a warning. Not tuned."""
_WHICH = {ALL: "", TEST: "test ", TIME: "later "}
"""Which rows are evaluated, before the word "rows"."""
LIBRARIES = ("miscal", "numpy", "scipy", "scikit-learn", "torch", "lightgbm", "polars")
"""Libraries whose versions the summary keeps, where they are installed: those that its numbers depend on."""


def claim_of(rows: FittedRows, *, seed: int) -> Certificate:
    """Put the field to the test, with the rows and values that make the test exact.

    Where test rows are set apart they are tested, by the field of the others. Where all rows are evaluated, the test
    goes through the folds one after the other, each judged by a field that has learned from earlier folds only; the
    first folds only teach. K-fold values would not do: a row's field depends there on the outcomes of rows whose fields
    depend on its own, and a test that takes them as fixed rejects too often. The kernel score needs no field, and looks
    at all evaluation rows. Of fewer than 10 units nothing is claimed.
    """
    estimate, inside = rows.forward or rows.estimate, rows.evaluated if rows.block is None else rows.block >= 0
    blocks = {} if rows.block is None else {"block": rows.block}
    # the field as it was learned: whether the estimator would correct by it is no question of the test
    tested = rows.labelled(inside, estimate, hidden=estimate.ungated, **blocks)
    if rows.evaluation_rows.n_units < LEAST_UNITS:
        return Certificate.of(NOTHING_CLAIMED, NOTHING_CLAIMED, n=len(tested))
    # of no field, groups alone are asked for
    if not estimator_class(rows.model.method).learns_places:
        return certificate(tested, random_state=seed)
    every, places = rows.evaluation_rows, rows.triples.lasting_places
    inputs = places if rows.evaluated.all() else places[rows.evaluated]
    found = smoothed_residuals(inputs, every, random_state=seed)
    if found is None:  # where inputs or outcomes are all alike
        return certificate(tested, random_state=seed)
    # what the score needs to reject beside a field that says as much as chance
    level = needed(1 - FIELD_WEIGHT, SIGNIFICANCE)
    learned = detectable_places(found, level, random_state=seed)
    return certificate(tested, p_structure=found.p_value, detectable_learned=learned, random_state=seed)


def first_numbers(rows: FittedRows, *, seed: int, several: ClassRun | None = None) -> dict[str, Any]:
    """Measure what the three lines of the answer say; returns fields of the summary, by their names.

    `rows`: all rows of the run, without their parts. `seed`: of null draws and bootstrap. `several`: what is known of
    several classes.
    """
    triples, evaluated, tested = rows.triples, rows.evaluated, rows.evaluation_rows
    predictions = {name: values[evaluated] for name, values in rows.corrections.items()}
    claimed = claim_of(rows, seed=seed)
    everyone = labelled(triples.correct, triples.confidence, triples.group, triples.weight)
    copied, columns = copies(triples), plain(triples.source).get("columns", {})
    plainly = plain_facts(everyone, copied, triples.kind, triples.source.get("one_answer"))
    named = {f"{part}_column": columns.get(part) for part in ("correct", "confidence")}
    cost = rows.costs
    read = (ColumnReading(**one) for one in plain(list(triples.source.get(READ_COLUMNS, ()))))
    readings = tuple(replace(one, cost_if_missing=cost.get(one.name)) for one in read)
    leaking, copying = leak_alarms(readings), copy_alarms(copied, len(triples))
    hidden_regime, located = rows.hidden_regime[evaluated], claimed.located
    return {
        "kind": triples.kind,
        "n": len(triples),
        **{f"n_{name}": None if triples.split is None else int((triples.split == name).sum()) for name in SPLITS},
        "method": rows.model.method,
        "share_extreme": measurements.share_extreme(everyone),
        "plain": plainly,
        "alarms": (*leaking, *copying, *alarms(everyone, plainly, **named, kind=triples.kind)),
        "global_": measurements.global_numbers(tested, everyone, seed=seed),
        # smECE is of the whole error, which these regimes are not cut by
        "hidden_regimes": measurements.regime_numbers(tested, hidden_regime, seed=None, located=located),
        "certificate": claimed,
        "correction": measurements.comparison(tested, predictions, rows.regime[evaluated]),
        "gains": measurements.correction_gains(tested, predictions),
        "findings": rows.ledger.findings,
        "most_off": rows.ledger.most_off,
        "findings_method": rows.ledger.method,
        "units": unit_numbers(tested, triples.counted_by),
        "data": _data(triples),
        "columns": readings,
        "classes": None if several is None else class_numbers(rows, several),
        "judge": judge_numbers(rows),
    }


def first_answer(known: dict[str, Any]) -> Answer:
    """Say in three lines what a run found, as its summary will, of what :func:`first_numbers` returns."""
    return answer_of(Summary.model_construct(**known))


def summarise(
    rows: FittedRows,
    known: dict[str, Any],
    *,
    seed: int,
    epsilon: float,
    min_rows: int,
    warnings: Sequence[str],
    thresholds: Thresholds,
) -> Summary:
    """Measure on the evaluation rows what was estimated, and write it down.

    `rows`: all rows of the run. `known`: what :func:`first_numbers` has measured. `seed`: of null draws and bootstrap.
    `epsilon`: Half-width of the band of delta that counts as well calibrated. `min_rows`: the fewest rows of a regime
    whose gap is measured. `warnings`: what was unusual about the rows and the split. `thresholds`: what was asked of
    decisions. The summary says nothing of a map, which is drawn later.
    """
    triples, evaluated, model, tested = rows.triples, rows.evaluated, rows.model, rows.evaluation_rows
    regime = rows.regime[evaluated]
    supported, visible = rows.estimate.supported[evaluated], rows.estimate.visible[evaluated]
    predictions = {name: values[evaluated] for name, values in rows.corrections.items()}
    columns, whole = plain(triples.source).get("columns", {}), known["global_"]
    structure, located = bool(rows.model.structure_), known["certificate"].located
    made_of = contents_of(triples, rows.estimate.delta, rows.regime, rows.evaluated, seed=seed)
    regimes = measurements.regime_numbers(tested, regime, seed=seed, located=located, contents=made_of)
    weights = measurements.weight_numbers(take_rows(triples.weight, evaluated), columns.get("weight"))
    said = (*leak_alarms(known["columns"]), *say_little(known["plain"], triples.kind), *triples.notes, *warnings)
    members = [inside[evaluated] for inside in rows.ledger.members]
    alone, alone_curves = _alone(rows, thresholds)
    summary = Summary(
        **known,
        n_sample=None if rows.sample is None else int(rows.sample.sum()),
        seed=seed,
        evidence=rows.evidence,
        answer=Answer(headline="", reason="", action=""),
        warnings=tuple(plain([*said, *_remarks(rows, regimes, known["units"], weights)])),
        field=measurements.field_numbers(tested, regime, supported, visible=visible, structure=structure),
        regimes=regimes,
        gap=measurements.gap(tested, regime, seed=seed, min_rows=min_rows, whole=whole, regimes=regimes),
        corrected_smece=measurements.smooth_ece(replace(tested, confidence=predictions["miscal"]), seed=seed),
        selection=Selection(chosen=plain(dict(model.settings_)), candidates=tuple(plain(list(model.selection_)))),
        accounted_for=rows.ledger.accounted,
        decisions=decide(tested, predictions["miscal"], thresholds),
        alone=alone,
        alone_curves=alone_curves,
        over_time=over_time(rows, columns.get("time")),
        weights=weights,
        curves=measurements.curves(tested, predictions["miscal"], regime, members, min_rows=min_rows),
        histogram=measurements.histogram(tested.delta, regime, epsilon),
        settings=_settings(triples, model, seed, epsilon, min_rows) | thresholds.chosen,
        versions=_versions(),
        timing={},
    )
    return summary.model_copy(update={"answer": answer_of(summary)})


def _alone(rows: FittedRows, asked: Thresholds) -> tuple[tuple[Alone, ...], tuple[RiskCurves, ...]]:
    """Say what may be decided alone, and where among findings and values of named columns that breaks."""
    inside, ledger = rows.evaluated, rows.ledger
    some = rows.triples.take(inside)
    frame = frame_of_rows(some.metadata, some.X, some.encoder, text=some.text, clusters=ledger.clusters)
    values = ((one.condition, one.condition.rows(frame)) for one in ledger.values if one.n >= MIN_SLICE_ROWS)
    findings = ((one.condition, part[inside]) for one, part in zip(ledger.findings, ledger.members, strict=True))
    return decided_alone(
        rows.evaluation_rows,
        rows.corrected,
        rows.estimate.local[inside],
        sorted({*MAX_ERRORS, *asked.max_error}),
        kind=rows.triples.kind,
        groups=asked_groups(values, findings, ledger.method.candidates),
    )


def _remarks(rows: FittedRows, regimes: Sequence[Regime], units: Units, weights: WeightNumbers | None) -> Iterator[str]:
    """Say what is unusual about the evaluation rows."""
    regime, supported = rows.regime[rows.evaluated], rows.estimate.supported[rows.evaluated]
    words = vocabulary(rows.triples.kind)
    what, correct = _WHICH[rows.evidence], rows.evaluation_rows.correct
    # where no place is learned, no regime is told of
    for part in regimes if estimator_class(rows.model.method).learns_places else ():
        if part.name != "good" and 0 < part.n < MIN_SLICE_ROWS:
            count = f"{part.n} {what}row{'' if part.n == 1 else 's'}"
            yield f"the {part.name} regime has only {count}, so its numbers are rough"
    if correct.min() == correct.max():
        learned = (
            ", while the rows learned from have both: the numbers may say more about how the rows were split than "
            "about the model"
        )
        yield (
            f"all {len(correct):,} {what}rows have the outcome {int(correct[0])}"
            f"{learned if rows.evidence == TEST else ''}"
        )
    if units.n_units < LEAST_UNITS:
        yield (
            f"only {units.n_units} units ({units.unit}) are evaluated, and of fewer than "
            f"{LEAST_UNITS} nothing is claimed: give rows of more units, or, if rows are independent "
            "of each other, --group none"
        )
    apart = regime == None  # noqa: E711  element by element
    if apart.any():
        yield (
            f"{apart.sum():,} of {len(regime):,} {what}rows lie too far from the rows learned from for a local "
            f"estimate: theirs comes from the {words.probability} alone, and they belong to no regime"
        )
    if (kept := ~supported & ~apart).any():
        yield (
            f"{kept.sum():,} of {len(regime):,} {what}rows have so few of the rows learned from nearby that the local "
            "estimate, which they keep, is mostly noise; --option min_mass=1 gives such rows the estimate by the "
            f"{words.probability} alone"
        )
    tested, block = (rows.evaluated, None) if rows.block is None else (rows.block >= 0, rows.block[rows.block >= 0])
    if rare := rare_values_warning(rows.triples.confidence[tested], block, kind=rows.triples.kind):
        yield rare
    if weights is not None and weights.largest >= _MUCH_WEIGHT:
        heaviest = rows.triples.row[rows.evaluated][rows.triples.weight[rows.evaluated].argmax()]
        yield (
            f"a single row has {percent(weights.largest)} of all weight, so that means over all {len(regime):,} rows "
            f"are only as precise as means over {weights.n_effective:,.0f} rows of equal weight: intervals and tests "
            f"are rough. If the weight of row {heaviest} is a mistake, correct it"
        )
    if rows.evidence == TEST:
        every, evaluated = rows.every, rows.evaluated
        found = drift(every.correct, every.confidence, evaluated, effect_of_mean(every, evaluated))
        if moved := drift_warning(found, rows.triples.kind):
            yield moved


def _data(triples: Triples) -> Data:
    source = plain(triples.source)
    columns = source.get("columns", {})
    named = {part: columns.get(part) for part in ("confidence", "correct", "x", "text")}
    named |= {part: columns[part] for part in ("names_only", "needed", "embeddings") if part in columns}
    if columns.get("positive") is not None:
        named["positive"] = str(columns["positive"])
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
    source = {name: value for name, value in triples.source.items() if name != READ_COLUMNS}
    return plain({**given, "field": model.settings_, "source": source})


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


MOST_VALUES = 20
"""Columns with more values than this are not listed value by value."""

_SHOWN_SCORES = 12
"""Scores of a scale that are listed; of longer ones so many from its lowest to its highest."""

_ANY_CHANCE = 0.5
"""Stands for the labelling probability of a row that was not labelled, which no estimate looks at."""


def judge_numbers(found: FittedRows) -> JudgeNumbers | None:
    """Estimate pass rates of all rows, of the findings, and of the values of columns.

    `found`: with its findings. Returns None where no judge was named.
    """
    reading = found.triples.judged
    if found.triples.kind != JUDGE or reading is None:
        return None
    rows, score, frame = _scored(found, reading)
    # of a scale, what people approve in half of the cases; of two words, the better one
    passes = 0.5 if reading.scale is None or len(reading.scale.scores) != 2 else reading.scale.approval[1]

    def rate(inside: NDArray[np.bool_], **about: Any) -> GroupRate:
        own = rows.take(inside)
        alike = agreement(own, score[inside] >= passes)
        return GroupRate(**about, rate=pass_rate(own), judge=judge_rate(own, score[inside]), agreement=alike)

    scale: tuple[ScalePoint, ...] = ()
    if reading.scale is not None:
        words = scale_words(reading.scale)
        chosen = np.unique(np.linspace(0, len(words) - 1, min(len(words), _SHOWN_SCORES)).round().astype(int))
        scale = tuple(ScalePoint(score=words[at], approval=reading.scale.approval[at]) for at in chosen)
    return JudgeNumbers(
        scale=scale,
        n_unjudged=len(reading.unjudged),
        whole=rate(np.full(len(score), True), name="all answers"),
        groups=tuple(rate(inside, **about) for about, inside in _groups(found, frame)),
    )


def _scored(found: FittedRows, reading: JudgeReading) -> tuple[JudgedRows, NDArray[np.float64], Frame]:
    """Return all rows that the judge scored, those that people have judged first; their scores; what names groups."""
    triples, others = found.triples, reading.unjudged
    m = len(others)
    predicted = found.model.correct(others.X, others.confidence).corrected if m else np.zeros(0)
    X = np.concatenate([triples.X, others.X]) if m else triples.X
    metadata = {name: _joined(values, others.metadata[name]) for name, values in triples.metadata.items()}
    chance = None if reading.labelling is None else np.concatenate([reading.labelling, np.full(m, _ANY_CHANCE)])
    cluster = _clusters(triples, others) if m else triples.group
    weight = None if triples.weight is None else np.concatenate([triples.weight, others.weight])
    rows = JudgedRows.of(
        np.concatenate([found.estimate.corrected, predicted]),
        np.concatenate([triples.correct, np.full(m, np.nan)]),
        labelling_probability=chance, cluster=cluster, weight=weight,
    )  # fmt: skip
    text = None if triples.text is None else (*triples.text, *(others.text or ()))
    frame = frame_of_rows(metadata, X, triples.encoder, text=text, clusters=found.ledger.clusters)
    return rows, np.concatenate([triples.confidence, others.confidence]), frame


def _clusters(triples: Triples, others: Triples) -> NDArray | None:
    """Return what rows are counted by; unjudged ones by themselves where the run found units that it cannot see."""
    if triples.group is None or others.group is not None:
        return None if triples.group is None else _joined(triples.group, others.group)
    by = triples.counted_by.column
    if by in triples.metadata and by in others.metadata:
        return _joined(triples.metadata[by], others.metadata[by]).astype(str)
    _, number = np.unique(triples.group, return_inverse=True)
    return np.concatenate([number, number.max() + 1 + np.arange(len(others))])


def _joined(first: NDArray, second: NDArray | None) -> NDArray:
    second = first[:0] if second is None else second
    if first.dtype.kind == second.dtype.kind and first.dtype.kind in "biufM":
        return np.concatenate([first, second])
    return np.concatenate([first.astype(object), second.astype(object)])


def _groups(found: FittedRows, frame: Frame) -> Iterator[tuple[dict, NDArray[np.bool_]]]:
    for place, one in enumerate(found.ledger.findings, start=1):
        if one.condition.lacks(frame) is None:
            yield {"name": one.description, "finding": place}, one.condition.rows(frame)
    for column in found.triples.metadata:
        values = frame.texts(column)
        known = sorted({value for value in values if value is not None})
        kind = frame.columns[column].dtype.kind
        if 2 <= len(known) <= MOST_VALUES and kind in "Ob":
            for value in known:
                about = {"column": clean_text(column), "value": clean_text(value)}
                yield {"name": clean_text(Value(column, value, "text").words), **about}, values == value
