"""Correct the probabilities of all classes, each row by fits that have not seen its class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from miscal.base.folds import assign_folds
from miscal.calibration.metrics.checked_rows import take_rows
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import TEST, FittedRows
from miscal.estimators.simplex.correction import SimplexCorrection, fit_simplex

_FOLDS = 3
"""Folds where other rows are evaluated, and for many values: a fit to a hundred classes takes minutes."""

_MANY_VALUES = 300_000
"""Rows times classes from which folds are fewer."""

_STREAM = 71


@dataclass(frozen=True, eq=False)
class CorrectedClasses:
    """Corrected probabilities of all classes.

    `fitted`: that is saved: fitted to all rows that teach. `probability`, (n, K) float64: of every row, by a correction
    whose every part, choices too, was learned from other rows. `by_map`, (n, K) float64: by the global maps of the same
    corrections alone.
    """

    fitted: SimplexCorrection
    probability: np.ndarray
    by_map: np.ndarray


def correct_classes(rows: FittedRows, seed: int) -> CorrectedClasses:
    """Fit the correction that is saved, and correct each row by one that has not seen its class.

    `rows`: of several classes, with evidence "all" or "test". Where all rows are evaluated, the folds are those of the
    field; where test rows do, the fit to the others corrects them.
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
    return CorrectedClasses(fitted, probability, by_map)


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


def with_top_label_corrected(rows: FittedRows, corrected: CorrectedClasses, seed: int) -> FittedRows:
    """Take the corrected probability of the class predicted as the corrected confidence.

    The field sees no class. Its own correction of the top label was worse than that of all classes in most sets tried,
    and two corrections of one probability would contradict each other. The field's estimate of the error stays.
    """
    triples = rows.triples
    f = corrected.probability[np.arange(len(triples)), triples.classes.predicted]
    return replace(
        rows,
        estimate=replace(rows.estimate, corrected=f),
        corrections=rows.corrections | {"miscal": f},
        expected_corrected=expected_outcome(triples, seed, f),
        # what blanks would change is known of the field's correction alone
        blanked=None,
        changed=None,
    )
