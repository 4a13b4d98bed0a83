"""Measure what is told of several classes, on the evaluation rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from miscal.base.document import Measure
from miscal.calibration.metrics.scores import mean_interval
from miscal.calibration.simplex_maps import class_log_losses
from miscal.calibration.survey_design import average
from miscal.discovery import measurements
from miscal.discovery.classes.correction import CorrectedClasses
from miscal.discovery.classes.document import ClassEvent, ClassNumbers, Confusion
from miscal.discovery.classes.findings import TOP_LABEL_ERROR, ClassLedgers, confused
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.slice_numbers import CurvePair

_LEAST = 1e-300


def class_numbers(rows: FittedRows, corrected: CorrectedClasses, ledgers: ClassLedgers) -> ClassNumbers:
    """Measure all classes, and each as an event."""
    classes, evaluated = rows.triples.classes, rows.evaluated
    code, weight, groups = classes.code[evaluated], rows.evaluation_rows.weight, rows.evaluation_rows.group
    by_name = {"raw": classes.probability, "global map": corrected.by_map, "corrected": corrected.probability}
    told = {name: probability[evaluated] for name, probability in by_name.items()}
    losses = {name: class_log_losses(code, np.log(np.maximum(p, _LEAST))) for name, p in told.items()}
    saved = mean_interval(losses["raw"] - losses["corrected"], sample_weight=weight, groups=groups)
    events = tuple(_event(rows, corrected, ledgers, k) for k in range(len(classes.names)))
    return ClassNumbers(
        label=rows.triples.source.get("columns", {}).get("correct"),
        predicted_column=classes.predicted_column,
        error_top_label=TOP_LABEL_ERROR if ledgers.found else 1.0,
        error_class=ledgers.error,
        candidates=ledgers.candidates,
        correction=corrected.fitted.chosen,
        log_loss={name: average(values, weight) for name, values in losses.items()},
        accuracy={name: average(p.argmax(axis=1) == code, weight) for name, p in told.items()},
        saved=Measure(value=saved.value, interval=saved.interval),
        classes=events,
        confusions=_confusions(events, classes.predicted_column),
    )


def _event(rows: FittedRows, corrected: CorrectedClasses, ledgers: ClassLedgers, k: int) -> ClassEvent:
    classes, evaluated = rows.triples.classes, rows.evaluated
    happened = (classes.code == k).astype(np.float64)
    before = replace(
        rows.evaluation_rows, correct=happened[evaluated], confidence=classes.probability[evaluated, k],
        expected=classes.probability[evaluated, k],
    )  # fmt: skip
    after = replace(before, confidence=corrected.probability[evaluated, k])
    return ClassEvent(
        name=classes.names[k],
        labels=int(before.correct.sum()),
        predicted=int((classes.predicted[evaluated] == k).sum()),
        probability=average(before.confidence, before.weight),
        rate=average(before.correct, before.weight),
        raw=measurements.score(before),
        corrected=measurements.score(after),
        looked_at=k in ledgers.found,
        findings=ledgers.found[k].findings if k in ledgers.found else (),
        curves=CurvePair(raw=measurements.reliability(before), corrected=measurements.reliability(after))
        if k in ledgers.found
        else None,
    )


def _confusions(events: tuple[ClassEvent, ...], column: str) -> tuple[Confusion, ...]:
    """List the confusions of all classes, the largest first."""
    found = [
        Confusion(
            label=event.name, predicted=other, finding=place, n=one.n, probability=one.confidence, rate=one.accuracy,
            hidden=one.hidden, after=one.after, fate=one.fate, sign=one.sign, p_adjusted=one.p_adjusted,
        )
        for event in events
        for place, other, one in confused(event.findings, event.name, column)
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: -one.n * abs(one.hidden.value or 0.0)))
