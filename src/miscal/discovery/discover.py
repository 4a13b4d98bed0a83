"""Discovery: from triples to a field, its regimes, what unseen outcomes say of them, and a corrected model.

With evidence "all" every row is judged by fits that never saw its outcome, and every number is of all rows. With
evidence "test" everything that learns or chooses sees train and validation rows only, and numbers are of test rows.
With evidence "time" what judges a row, or corrects it, was learned from strictly earlier rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from miscal.base.checks import check_seed
from miscal.base.errors import InputError
from miscal.base.number_wording import percent
from miscal.base.process import global_random_kept, one_thread
from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.calibration.survey_design import average
from miscal.data.splits import sample_size
from miscal.data.triples import Triples
from miscal.discovery.estimating import fit_rows, prepare, unseen_columns
from miscal.discovery.findings import write_ledger
from miscal.discovery.fitted_rows import ALL, TIME, Evidence, evidence_of, refuse_learned_scale, refuse_time
from miscal.discovery.layout import MapMethod, Picture, check_layout
from miscal.discovery.progress import Clock, Progress, expected_seconds
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedClasses, SavedModel
from miscal.discovery.several_classes import run_classes
from miscal.discovery.summarise import first_answer, first_numbers, summarise
from miscal.discovery.summary_parts import Answer
from miscal.discovery.tables import columns_table, field_table, findings_table
from miscal.estimators.estimate import regimes_of
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import estimator_class, make_estimator, uses_device
from miscal.findings.alone import thresholds_of
from miscal.findings.decisions import Thresholds
from miscal.findings.residuals import default_epsilon

QUICK = "quick: named groups, and a simple correction of these; without quick all errors are looked for and corrected"
"""What a run without a field leaves out, and how to have it."""


@global_random_kept()
def discover(
    triples: Triples,
    *,
    method: str = "auto",
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    epsilon: float | None = None,
    min_rows: int = MIN_SLICE_ROWS,
    evidence: Evidence | None = None,
    sample: int | None = None,
    n_jobs: int | None = None,
    device: str = "auto",
    map_method: MapMethod = "pca",
    threshold: float | Sequence[float] = (),
    cost: tuple[float, float] | None = None,
    max_error: float | Sequence[float] = (),
    progress: Callable[[Progress], None] | None = None,
    answered: Callable[[Answer], None] | None = None,
) -> RunContent:
    """Find where a model is over- and under-confident, and test it with outcomes that nothing has seen.

    The options are those of :func:`miscal.discover`, which says what each means. Where triples carry a split it is used
    as it is. `progress` is called with a :class:`~miscal.discovery.progress.Progress` as each stage starts and ends,
    and after every fit of the field; `answered` with the three lines of the answer as soon as they are known: regimes
    are cut into parts and described, and the map is drawn, after them.

    Examples
    --------
    >>> few = Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0], split=["train", "test"])
    >>> discover(few)
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: too few rows: got 2; at least 100 are needed; ...
    """
    read = triples
    check_seed(seed)
    # made for its checks alone, before any work is done
    make_estimator(method, options=options, device=device)
    if epsilon is not None and not 0.0 <= epsilon < 1.0:
        raise InputError(f"epsilon must be in [0, 1); got {epsilon!r}")
    if not isinstance(min_rows, int) or isinstance(min_rows, bool) or min_rows < 1:
        raise InputError(f"min_rows must be a whole number of at least 1; got {min_rows!r}")
    thresholds = Thresholds.of(threshold, cost, max_error, triples.kind)
    check_layout(map_method)
    expected = expected_seconds(*triples.X.shape)
    if method != "auto":
        # it takes minutes or hours, by its settings: its first fit says more than any guess
        del expected["field"]
    clock = Clock(progress or (lambda now: None), expected)
    with clock.stage("split"):
        own_split = triples.split is not None
        evaluation = evidence_of(triples, method, evidence)
        if triples.classes is not None:
            refuse_time(evaluation)
        refuse_learned_scale(triples, evaluation)
        size = _sample_size(triples, evaluation, sample)
        triples, order, warnings = prepare(triples, evaluation, seed)
        warnings += unseen_columns(triples, method)
        if not estimator_class(method).learns_places:
            warnings += (QUICK,)
        if epsilon is None:
            epsilon = default_epsilon(triples.kind, average(triples.confidence, triples.weight))
    with clock.stage("field"):
        model = MiscalibrationField(method, random_state=seed, n_jobs=n_jobs, options=options, device=device)
        fitted = fit_rows(triples, model, sample=size, evidence=evaluation)
        true, says = (average(values, triples.weight) for values in (triples.correct, triples.confidence))
        words = vocabulary(triples.kind)
        clock.found = words.averages.format(probability=words.percent(says), rate=words.percent(true))
    # what follows is many small sums, which threads only slow down
    with one_thread():
        with clock.stage("regimes"):
            estimate = fitted.estimate
            regime, hidden_regime = (
                regimes_of(values, epsilon, estimate.local) for values in (estimate.delta, estimate.hidden)
            )
            words = vocabulary(triples.kind)
            shares = [f"{words.regime(name)} on {percent(np.mean(regime == name))}" for name in ("over", "under")]
            clock.found = f"Estimated to be {' and '.join(shares)} of the rows."
        with clock.stage("findings"):
            rows, several = run_classes(fitted, own_split=own_split, seed=seed)
            ledger = write_ledger(rows, own_split=own_split, seed=seed, several=several)
            count = "1 finding" if len(ledger.findings) == 1 else f"{len(ledger.findings)} findings"
            strongest = (f"{count}, the strongest: {one.description}." for one in ledger.findings)
            clock.found = next(strongest, "No finding.")
            rows = replace(rows, regime=regime, hidden_regime=hidden_regime, ledger=ledger)
        with clock.stage("answer"):
            known = first_numbers(rows, seed=seed, several=several)
        if answered is not None:
            answered(first_answer(known))
        with clock.stage("measures"):
            if device == "cuda" and not uses_device(method):
                idle = f'a GPU was asked for, but method "{method}" computes on processors alone and had no use for it'
                warnings = (*warnings, idle)
            summary = summarise(
                rows, known, seed=seed, epsilon=epsilon, min_rows=min_rows, warnings=warnings, thresholds=thresholds
            )
            table = field_table(rows)
            examples = [row for regime in summary.regimes for row in regime.exemplars]
            picture = Picture.of(rows, table, map_method, seed=seed, examples=examples)
    summary = summary.model_copy(update={"timing": clock.seconds})
    # in the order that the rows came in
    table = table[np.argsort(order)]
    classes = None if several is None else SavedClasses.of(triples, several.fitted)
    model = SavedModel(
        rows.model.to_saved(),
        triples.encoder,
        summary.data.columns.confidence,
        summary.kind,
        {one.name: cost.value for one in summary.columns if (cost := one.cost_if_missing) and cost.value is not None},
        classes,
        None if triples.judged is None else triples.judged.scale,
        thresholds_of(summary.alone),
    )
    tables = findings_table(ledger.findings), columns_table(ledger.values)
    return RunContent(
        summary, table, picture, *tables, model=model, clusters=ledger.clusters, values=ledger.values, read=read
    )


def _sample_size(triples: Triples, evaluation: Evidence, asked: int | None) -> int | None:
    if evaluation == ALL:
        return sample_size(len(triples), asked)
    if asked is not None:
        learned = "rows of earlier blocks of time" if evaluation == TIME else "train and validation rows of a split"
        raise InputError(
            f"sample says how many of all rows to learn from, but here the {learned} are learned "
            "from: leave one of them out"
        )
    return None
