"""Several classes beside the top label: each as an event of its own, and a correction of all their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from miscal.base.document import Measure
from miscal.base.folds import assign_folds
from miscal.calibration.global_map import class_log_losses
from miscal.calibration.labelled_rows import LabelledRows, take_rows
from miscal.calibration.metrics.curve import CurvePair
from miscal.calibration.metrics.scores import mean_interval
from miscal.calibration.survey_design import average
from miscal.discovery import measurements
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import TEST, FittedRows
from miscal.discovery.summary import ClassEvent, ClassNumbers, Confusion
from miscal.estimators.simplex.correction import SimplexCorrection, fit_simplex
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.conditions.condition import with_features
from miscal.findings.ledger.document import Ledger
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find

_FOLDS = 3
"""Folds where other rows are evaluated, and for many values: a fit to a hundred classes takes minutes."""

_MANY_VALUES = 300_000
"""Rows times classes from which folds are fewer."""

_STREAM = 71


MOST_CLASSES = 20
"""Classes that are looked at, those of most labels: each takes its share of the error from all others."""
LEAST_LABELS = 30
"""Rows that a class needs, and the others together: of fewer, no group could tell."""
TOP_LABEL_ERROR = 0.5
"""Share of the family-wise error for the findings of the top label; the classes looked at divide the rest equally."""
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class ClassRun:
    """What is known of several classes before it is measured.

    `fitted`: the correction that is saved: fitted to all rows that teach. `probability`, (n, K) float64: of every row,
    by a correction whose every part, choices too, was learned from other rows. `by_map`, (n, K) float64: by the global
    maps of the same corrections alone. `ledgers`: by the place of the class. `error`: share of the family-wise error of
    each; 0 where none was looked at. `candidates`: tests of each.
    """

    fitted: SimplexCorrection
    probability: np.ndarray
    by_map: np.ndarray
    ledgers: dict[int, Ledger]
    error: float
    candidates: int

    @property
    def error_left(self) -> float:
        """Share of the family-wise error that is left for the top label."""
        return TOP_LABEL_ERROR if self.ledgers else 1.0


def run_classes(rows: FittedRows, *, own_split: bool, seed: int) -> tuple[FittedRows, ClassRun | None]:
    """Correct all classes and test each, if there are several.

    Returns `rows`: with the top label corrected as its class is.
    """
    if rows.triples.classes is None:
        return rows, None
    fitted, probability, by_map = correct_classes(rows, seed)
    found = class_ledgers(rows, probability, own_split=own_split, seed=seed)
    return with_top_label_corrected(rows, probability, seed), ClassRun(fitted, probability, by_map, *found)


def correct_classes(rows: FittedRows, seed: int) -> tuple[SimplexCorrection, np.ndarray, np.ndarray]:
    """Fit the correction that is saved, and correct each row by one that has not seen its class.

    `rows`: of several classes, with evidence "all" or "test". Where all rows are evaluated, the folds are those of the
    field; where test rows do, the fit to the others corrects them. Returns the first three fields of `ClassRun`.
    """
    triples, teaches = rows.triples, rows.teaches
    fitted = _fit(rows, teaches, seed)
    folds = _folds(rows, seed)
    probability, by_map = (np.empty_like(triples.classes.probability) for _ in range(2))
    for k in np.unique(folds):
        inside = folds == k
        known = fitted if not (inside & teaches).any() else _fit(rows, teaches & ~inside, seed)
        given = triples.classes.probability[inside]
        probability[inside] = known.apply(triples.X[inside], given)
        by_map[inside] = known.alone.apply(triples.X[inside], given)
    # as new rows are corrected: what is far from the rows learned from gets the global map
    far = ~rows.estimate.local
    probability[far] = by_map[far]
    return fitted, probability, by_map


def _folds(rows: FittedRows, seed: int) -> np.ndarray:
    if rows.evidence != TEST:
        few = rows.triples.classes.probability.size <= _MANY_VALUES
        # folds are put together, so that units stay whole; rows that teach nothing stay apart
        return rows.fold if few else np.where(rows.teaches, rows.fold % _FOLDS, _FOLDS)
    units = rows.triples.units[rows.teaches]
    folds = np.full(len(rows.triples), _FOLDS)
    folds[rows.teaches] = assign_folds(units, _FOLDS, np.random.default_rng((seed, _STREAM)))
    return folds


def _fit(rows: FittedRows, known: np.ndarray, seed: int) -> SimplexCorrection:
    triples = rows.triples
    return fit_simplex(
        triples.X[known],
        triples.classes.code[known],
        triples.classes.probability[known],
        layout=triples.layout,
        weight=take_rows(triples.weight, known),
        groups=triples.units[known],
        seed=seed,
    )


def with_top_label_corrected(rows: FittedRows, corrected: np.ndarray, seed: int) -> FittedRows:
    """Take the corrected probability of the class predicted as the corrected confidence.

    The field sees no class. Its own correction of the top label was worse than that of all classes in most sets tried,
    and two corrections of one probability would contradict each other. The field's estimate of the error stays.
    """
    triples = rows.triples
    f = corrected[np.arange(len(triples)), triples.classes.predicted]
    return replace(
        rows,
        estimate=replace(rows.estimate, corrected=f),
        corrections=rows.corrections | {"miscal": f},
        expected_corrected=expected_outcome(triples, seed, f),
        # what blanks would change is known of the field's correction alone
        blanked=None,
    )


def choose_classes(labels: np.ndarray) -> list[int]:
    """Choose the classes that are looked at, by how many rows have each, (K,): those of most first.

    Examples
    --------
    >>> choose_classes(np.array([40, 10, 500, 60]))
    [2, 3, 0]
    """
    enough = (labels >= LEAST_LABELS) & (labels.sum() - labels >= LEAST_LABELS)
    by_size = np.argsort(-labels, kind="stable")
    return [int(k) for k in by_size if enough[k]][:MOST_CLASSES]


def class_rows(rows: FittedRows, probability: np.ndarray, k: int, witness: np.ndarray, seed: int) -> LabelledRows:
    """Return some rows with class `k` as the event, by these probabilities of all classes."""
    triples = rows.triples
    p, happened = probability[:, k], (triples.classes.code == k).astype(np.float64)
    # where all rows are evaluated to the ledger, none is set apart to learn E[y | p] from
    split = None if witness.all() else triples.split
    expected = expected_outcome(replace(triples, confidence=p, correct=happened, split=split), seed)
    nothing = np.zeros(len(p))
    return rows.labelled(witness, correct=happened, confidence=p, expected=expected, delta=nothing, hidden=nothing)


def class_ledgers(
    rows: FittedRows, corrected: np.ndarray, *, own_split: bool, seed: int
) -> tuple[dict[int, Ledger], float, int]:
    """Test for each class in which groups it is the label more or less often than its probability says.

    Terms of texts and clusters of inputs are tested for the top label alone: they are many, and every class would pay
    for all of them.

    `rows`: of several classes. `corrected`, (n, K) float64: corrected probabilities that have not seen the rows'
    classes. `own_split`: whether the user set the test rows apart: then they alone are evaluated. Returns the last
    three fields of `ClassRun`.
    """
    witness = rows.evaluated if own_split else np.ones(len(rows.triples), dtype=bool)
    triples = rows.triples.take(witness)
    groups = named_groups(with_features(triples.metadata, triples.X, triples.encoder))
    chosen = choose_classes(np.bincount(triples.classes.code, minlength=len(triples.classes.names)))
    if not chosen:
        return {}, 0.0, 0
    error = (1 - TOP_LABEL_ERROR) / len(chosen)
    found = {}
    for k in chosen:
        before, after = (
            class_rows(rows, probability, k, witness, seed)
            for probability in (rows.triples.classes.probability, corrected)
        )
        found[k] = find(before, groups, corrected=after, seed=seed, error=error)
    return found, error, len(groups)


def class_numbers(rows: FittedRows, found: ClassRun) -> ClassNumbers:
    """Measure all classes, and each as an event."""
    classes, evaluated = rows.triples.classes, rows.evaluated
    code, weight, groups = classes.code[evaluated], rows.evaluation_rows.weight, rows.evaluation_rows.group
    by_name = {"raw": classes.probability, "global map": found.by_map, "corrected": found.probability}
    own = {name: probability[evaluated] for name, probability in by_name.items()}
    losses = {name: class_log_losses(code, np.log(np.maximum(p, _LEAST))) for name, p in own.items()}
    saved = mean_interval(losses["raw"] - losses["corrected"], sample_weight=weight, groups=groups)
    events = tuple(_event(rows, found, k) for k in range(len(classes.names)))
    return ClassNumbers(
        label=rows.triples.source.get("columns", {}).get("correct"),
        predicted_column=classes.predicted_column,
        error_top_label=found.error_left,
        error_class=found.error,
        candidates=found.candidates,
        correction=found.fitted.chosen,
        log_loss={name: average(values, weight) for name, values in losses.items()},
        accuracy={name: average(p.argmax(axis=1) == code, weight) for name, p in own.items()},
        saved=Measure.of(saved),
        classes=events,
        confusions=_confusions(events, classes.predicted_column),
    )


def _event(rows: FittedRows, found: ClassRun, k: int) -> ClassEvent:
    classes, evaluated = rows.triples.classes, rows.evaluated
    happened = (classes.code == k).astype(np.float64)
    before = replace(
        rows.evaluation_rows, correct=happened[evaluated], confidence=classes.probability[evaluated, k],
        expected=classes.probability[evaluated, k],
    )  # fmt: skip
    after, ledger = replace(before, confidence=found.probability[evaluated, k]), found.ledgers.get(k)
    curves = {"raw": measurements.reliability(before), "corrected": measurements.reliability(after)} if ledger else None
    return ClassEvent(
        name=classes.names[k],
        labels=int(before.correct.sum()),
        predicted=int((classes.predicted[evaluated] == k).sum()),
        probability=average(before.confidence, before.weight),
        rate=average(before.correct, before.weight),
        raw=measurements.score(before),
        corrected=measurements.score(after),
        looked_at=ledger is not None,
        findings=ledger.findings if ledger else (),
        curves=curves and CurvePair(**curves),
    )


def _confusions(events: tuple[ClassEvent, ...], column: str) -> tuple[Confusion, ...]:
    """List the findings of classes whose group is another class being predicted, the largest first."""
    found = [
        Confusion(
            label=event.name, predicted=str(one.condition.value), finding=place, n=one.n,
            probability=one.confidence, rate=one.accuracy,
            hidden=one.hidden, after=one.after, fate=one.fate, sign=one.sign, p_adjusted=one.p_adjusted,
        )
        for event in events
        for place, one in enumerate(event.findings, start=1)
        if isinstance(one.condition, Value) and one.condition.column == column
        if str(one.condition.value) != event.name
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: -one.n * abs(one.hidden.value or 0.0)))
