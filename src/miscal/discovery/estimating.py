"""Fit the field, estimate every row without its own outcome, and decide which rows may be evaluated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.arrays import value_list
from miscal.base.folds import assign_folds
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.labelled_rows import take_rows
from miscal.data import splits
from miscal.data.triples import FoundUnits, Triples
from miscal.discovery.fitted_rows import TEST, TIME, Evidence, FittedRows, blanked_rows, check_first_block
from miscal.discovery.units import with_units
from miscal.estimators import honest
from miscal.estimators.field import MiscalibrationField, checked_seed
from miscal.estimators.registry import FieldEstimate, estimator_class
from miscal.evidence.conditional import outcome_given_confidence

Parts = Sequence[tuple[np.ndarray, np.ndarray]]
"""Masks (n,) of the rows that are learned from, and of those that are judged by it."""
COMPARED = ("isotonic", "temperature", "platt")
"""Global corrections that the field's own is compared with."""

_FOLDS = 5
"""Folds of the regression of outcomes on confidence: it is one-dimensional, so more would change next to nothing."""

# stream of the folds of E[y | f]
_STREAM = 33


def prepare(triples: Triples, evidence: Evidence, seed: int) -> tuple[Triples, NDArray[np.int64], tuple[str, ...]]:
    """Give triples a split if the evidence needs one and they have none, and check that they can be learned from.

    Returns `triples`: in canonical order; with a split exactly if the test rows alone are evaluated; `order`, int64
    (n,): where each row stood among those of weight above 0; `warnings`: of equal inputs, and of where they are; of
    rows of weight 0.
    """
    triples, dropped = scale_weights(triples)
    triples, order = splits.in_canonical_order(triples)
    copied = splits.copies(triples) if triples.group is None else None
    if copied is not None:
        # an alarm of the summary says so; copies count as one
        triples = replace(triples, group=copied.row, counted_by=FoundUnits("equal inputs"))
    else:
        counted = with_units(triples, seed)
        if evidence == TIME and triples.group is None and counted.group is not None:
            # what reaches over blocks of time is counted once in each, as what judges a row must be earlier
            both = np.column_stack([counted.group, counted.time_block])
            counted = replace(counted, group=np.unique(both, axis=0, return_inverse=True)[1].ravel())
        triples = counted
    if triples.split is not None:
        # a reader that took the split from a column has warned already, in its notes
        warnings = () if triples.source.get("columns", {}).get("split") else splits.straddling(triples)
    elif evidence == TEST:
        split, warnings = splits.split_rows(triples, seed=seed)
        triples = replace(triples, split=split)
    elif evidence == TIME:
        check_first_block(triples)
        warnings = ()
    else:
        warnings = splits.kept_together(triples)
    splits.check_trainable(triples.correct, triples.split, triples.kind, triples.group)
    return triples, order, (*dropped, *warnings)


def unseen_columns(triples: Triples, method: str) -> tuple[str, ...]:
    """Warn of columns that name findings but that the estimator does not see; none of arrays, which name nothing else.

    Examples
    --------
    >>> rows = Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0], metadata={"topic": ["a", "b"]})
    >>> unseen_columns(rows, "paper")
    ()
    """
    if estimator_class(method).sees_columns or triples.encoder is None:
        return ()
    beside = triples.encoder.columns_of(triples.X[:1]) if triples.layout.numbers else {}
    if not (names := list(dict.fromkeys((*triples.metadata, *beside)))):
        return ()
    return (
        f'method "{method}" sees embeddings and numbers alone, as it was published: {value_list(names)} '
        f"{'names' if len(names) == 1 else 'name'} what is found, but neither field nor correction sees "
        f"{'it' if len(names) == 1 else 'them'}",
    )


def scale_weights(triples: Triples) -> tuple[Triples, tuple[str, ...]]:
    """Leave out rows of weight 0, and make the other weights 1 on average: only their ratios say anything.

    Examples
    --------
    >>> rows = Triples.of(np.zeros((3, 1)), confidence=[0.5] * 3, correct=[1, 0, 1], weight=[0, 2, 6])
    >>> rows, said = scale_weights(rows)
    >>> rows.weight.tolist(), said
    ([0.5, 1.5], ('1 of 3 rows have weight 0 and were left out',))
    """
    if triples.weight is None:
        return triples, ()
    # by the largest first, so that no sum of very large weights overflows
    weight = triples.weight / triples.weight.max()
    kept = weight > 0
    without = int((~kept).sum())
    rows = triples.take(kept) if without else triples
    # a sum that is rounded once does not depend on the order of rows
    mean = math.fsum(weight[kept]) / len(rows)
    said = (f"{without:,} of {len(triples):,} rows have weight 0 and were left out",) if without else ()
    return replace(rows, weight=weight[kept] / mean), said


def fit_rows(
    triples: Triples, model: MiscalibrationField, *, sample: int | None = None, evidence: Evidence | None = None
) -> FittedRows:
    """Fit the field, and estimate it at every row without any row's own outcome.

    `triples`: from :func:`prepared`. `model`: a field to be fitted, whose random state is the seed of all that follows.
    `sample`: learn from so many rows, drawn at random; all rows must be evaluated. `evidence`: from
    :func:`evidence_of`; by default as the split says.
    """
    seed = checked_seed(model.random_state)
    if sample is not None:
        return _fit_sample(triples, model, sample, seed)

    if evidence == TIME:
        return _fit_by_time(triples, model)
    if triples.split is None:
        blanked = blanked_rows(triples, np.full(len(triples), True), seed)
        found = honest.fit_honest_fields(model, triples, blanked)
        parts = [(found.fold != k, found.fold == k) for k in np.unique(found.fold)]
        known = {"fold": found.fold, "forward": found.forward, "block": found.block}
        known |= {"blanked": (blanked[0], found.changed)}
        return _put_together(triples, model, found.folded, parts, seed, **known)
    test = triples.split == "test"
    folded = honest.fit_honest(model, triples.take(~test))
    unseen = model.estimate(triples.X[test], triples.confidence[test])
    # the global maps learn from the rows that the field learned from
    learned = triples.split == "train" if model.fitted_.chooses_on_validation else ~test
    parts, blanked = [(learned, np.ones(len(triples), dtype=bool))], _blanked(model, triples, test, seed)
    return _put_together(triples, model, _both(test, unseen, folded), parts, seed, blanked=blanked)


def _put_together(
    triples: Triples, model: MiscalibrationField, estimate: FieldEstimate, parts: Parts, seed: int, **known: Any
) -> FittedRows:
    """Add what is learned of the confidences alone: E[y | f] before and after the correction, and global maps."""
    expected = expected_outcome(triples, seed), expected_outcome(triples, seed, estimate.corrected)
    corrections = corrections_by_name(triples, estimate.corrected, parts)
    return FittedRows(triples, model, estimate, *expected, corrections, **known)


def _blanked(
    model: MiscalibrationField, triples: Triples, unseen: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Correct some rows that a field has not seen, with columns blank."""
    row, X = blanked_rows(triples, unseen, seed)
    # past the check of how likely inputs are: these are unlike the others on purpose
    fitted = model.to_saved().fitted
    f = triples.confidence[row]
    return row, fitted.correct(X, f).corrected if len(f) else f


def _fit_sample(triples: Triples, model: MiscalibrationField, size: int, seed: int) -> FittedRows:
    """Learn from a sample; its rows are judged by fits on its other folds, all other rows by the fit on the sample.

    Groups are drawn whole, so what taught a field is independent of every row that it judges, and the rows outside the
    sample are a last block, after the folds of the sample: tests that go through the blocks in turn stay exact.
    """
    groups = triples.units
    sample = splits.draw_rows(groups, size, named=triples.group is not None, seed=seed)
    splits.check_trainable(triples.correct[sample], None, triples.kind)
    found = honest.fit_honest_fields(model, triples.take(sample))
    unseen = honest.estimate_in_blocks(model, triples.X, triples.confidence, np.flatnonzero(~sample))
    last = int(found.fold.max()) + 1
    fold, block = (_merged(sample, values, np.full(int((~sample).sum()), last)) for values in (found.fold, found.block))
    nowhere = np.zeros((len(sample), 0))
    folded, forward = (_both(sample, own, unseen, coordinates=nowhere) for own in (found.folded, found.forward))
    parts = [(sample & (fold != k), fold == k) for k in range(last + 1)]
    known = {"fold": fold, "forward": forward, "block": block, "sample": sample}
    known |= {"blanked": _blanked(model, triples, ~sample, seed)}
    return _put_together(triples, model, folded, parts, seed, **known)


def _fit_by_time(triples: Triples, model: MiscalibrationField) -> FittedRows:
    """Judge every row by what was learned from earlier blocks of time: field, E[y | f] and global maps alike."""
    block = triples.time_block
    estimate = honest.fit_forward(model, triples, block)
    parts = [(block < k, block == k) for k in range(1, int(block.max()) + 1)]
    corrections = corrections_by_name(triples, estimate.corrected, parts)
    raw, corrected = (expected_outcome(triples, 0, f, TIME) for f in (triples.confidence, estimate.corrected))
    known = {"fold": block, "forward": estimate, "block": np.where(block > 0, block, -1), "by_time": True}
    return FittedRows(triples, model, estimate, raw, corrected, corrections, **known)


@dataclass(frozen=True, eq=False)
class Refit:
    """The field of the evaluation rows, learned once more.

    `estimate`: honest, of the evaluation rows, in their order. `epoch`: epoch that was kept of the chosen setting, from
    1; None where the method has no epochs, or each fold chooses its own. `proxies`: validation Brier score of f + delta
    after each epoch of the chosen setting; empty where `epoch` is None.
    """

    estimate: FieldEstimate
    epoch: int | None = None
    proxies: tuple[float, ...] = ()


def fit_again(triples: Triples, model: MiscalibrationField, evidence: Evidence | None = None) -> Refit:
    """Fit a field once more, and estimate it honestly at the evaluation rows."""
    if evidence == TIME:
        block = triples.time_block
        return Refit(honest.forward_field(model, triples, block).take(block > 0))
    if triples.split is None:
        return Refit(honest.honest_field(model, triples))
    test = triples.split == "test"
    fitted = model.fit_triples(triples.take(~test)).fitted_
    estimate = model.estimate(triples.X[test], triples.confidence[test])
    proxies = getattr(fitted, "proxies_", ())
    return Refit(estimate, fitted.settings_["epoch"] if proxies else None, proxies)


def expected_outcome(
    triples: Triples, seed: int, confidence: np.ndarray | None = None, evidence: Evidence | None = None
) -> np.ndarray:
    """Regress the outcome on the confidence with other rows: E[y | f].

    `triples`: with a split, all rows but its test rows are learned from; without one, the folds that a row is not in.
    `seed`: of the folds. `confidence`, float64 (n,): a corrected confidence of the rows, to regress on in place of
    their own. `evidence`: ``"time"`` learns from earlier blocks alone; in the first it is the confidence. Returns
    float64 (n,): in [0, 1].
    """
    # folds are dealt as a run deals them, in whatever order the rows come
    triples, order = splits.in_canonical_order(triples)
    f = triples.confidence if confidence is None else confidence[order]
    # in order of confidence, nothing that follows has to sort or to search far
    rising = np.argsort(f, kind="stable")
    f, order = f[rising], order[rising]
    named = None if triples.group is None else np.unique(triples.group[rising], return_inverse=True)[1]
    y, weight = triples.correct[rising], take_rows(triples.weight, rising)
    if evidence == TIME:
        block = triples.time_block[rising]
        parts = [(block < k, block == k) for k in range(1, int(block.max()) + 1)]
    elif triples.split is not None:
        parts = [(triples.split[rising] != "test", np.full(len(f), True))]
    else:
        folds = assign_folds(triples.units, _FOLDS, np.random.default_rng((seed, _STREAM)))[rising]
        parts = [(folds != k, folds == k) for k in np.unique(folds)]
    expected = np.empty(len(f))
    expected[order] = f
    for known, inside in parts:
        group, own = take_rows(named, known), take_rows(weight, known)
        rates = outcome_given_confidence(y[known], f[known], f[inside], group=group, weight=own)
        expected[order[inside]] = rates
    return expected


def corrections_by_name(triples: Triples, corrected: np.ndarray, parts: Parts) -> dict[str, np.ndarray]:
    """Correct every row by each method.

    `corrected`, float64 (n,): confidences corrected by the field, in [0, 1]. `parts`: of each part the first mask, bool
    (n,), says which rows the global maps learn from, the second which they correct. Rows that no part corrects keep
    their confidence. Returns str (n,): confidences by the name of the correction: "raw" (uncorrected), "miscal" (the
    field's) and those of `COMPARED`.
    """
    found = {"raw": triples.confidence, "miscal": corrected, **{name: triples.confidence.copy() for name in COMPARED}}
    for name in COMPARED:
        for learned, inside in parts:
            weight = take_rows(triples.weight, learned)
            known = CALIBRATORS[name]().learn(triples.correct[learned], triples.confidence[learned], weight)
            found[name][inside] = known.apply(triples.confidence[inside])
    return found


def _both(inside: np.ndarray, own: FieldEstimate, others: FieldEstimate, **known: np.ndarray) -> FieldEstimate:
    """Put the estimates of the rows of a mask and of the others together."""
    names = [item.name for item in fields(own) if item.name not in known]
    return FieldEstimate(
        **{name: _merged(inside, getattr(own, name), getattr(others, name)) for name in names}, **known
    )


def _merged(inside: np.ndarray, own: np.ndarray, others: np.ndarray) -> np.ndarray:
    both = np.empty((len(inside), *own.shape[1:]), dtype=own.dtype)
    both[inside], both[~inside] = own, others
    return both
