"""Discovery: from triples to a field, its regimes, what unseen outcomes say of them, and a corrected model.

With evidence "all" every row is judged by fits that never saw its outcome, and every number is of all rows. With
evidence "test" everything that learns or chooses sees train and validation rows only, and numbers are of test rows.
With evidence "time" what judges a row, or corrects it, was learned from strictly earlier rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import is_frame
from miscal.base.checks import check_confidence, check_correct, check_lengths, check_seed, check_weight
from miscal.base.document import clean_text
from miscal.base.errors import InputError
from miscal.base.number_wording import percent
from miscal.base.process import Progress, global_random_kept, one_thread, progress_to
from miscal.base.vocabulary import vocabulary
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.calibration.survey_design import average
from miscal.data.readers.opening import open_source
from miscal.data.readers.rows import metadata_of
from miscal.data.splits import sample_size
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome, fit_rows, prepare, unseen_columns
from miscal.discovery.fitted_rows import ALL, TIME, Evidence, FittedRows, evidence_of
from miscal.discovery.layout import MapMethod, Picture, check_layout
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedClasses, SavedModel
from miscal.discovery.several_classes import ClassRun, run_classes
from miscal.discovery.summarise import first_answer, first_numbers, summarise
from miscal.discovery.summary import Answer
from miscal.discovery.tables import columns_table, field_table, findings_table
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import estimator_class, make_estimator, regimes_of, uses_device
from miscal.evidence.settings import LEAST_UNITS
from miscal.findings.conditions.condition import readable, with_features
from miscal.findings.decisions import Thresholds, thresholds_of
from miscal.findings.ledger.clusters import with_clusters
from miscal.findings.ledger.document import ADJUSTMENT, FindingsMethod, Ledger
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
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
    as it is. `progress` is called with a :class:`~miscal.base.process.Progress` as each stage starts and ends,
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


def write_ledger(
    rows: FittedRows,
    *,
    own_split: bool,
    seed: int,
    several: ClassRun | None = None,
) -> Ledger:
    """Test named groups and clusters of inputs of the rows that may be evaluated.

    `rows`: with honest estimates, and E[y | f] of each. `own_split`: whether the user set the test rows apart: then
    they alone are evaluated. `seed`: of the folds, of the clusters, and of the order of rows of equal confidence.
    `several`: what is known of several classes, which take their share of the error.
    """
    # named groups and clusters are fixed before any outcome is seen, so all rows may be evaluated: not where the user
    # set some apart, nor in order of time, where E[y | f] may be learned from earlier rows alone
    evidence = rows.evidence if own_split or rows.evidence == TIME else ALL
    witness = rows.evaluated if evidence == rows.evidence else np.ones(len(rows.triples), dtype=bool)
    triples = rows.triples if witness.all() else rows.triples.take(witness)
    columns = with_features(triples.metadata, triples.X, triples.encoder)
    groups, own_units = named_groups(columns, triples.text), readable(triples.encoder, triples.X)
    groups, space = with_clusters(groups, triples.places, own_units=own_units, seed=seed)
    witnesses, corrected = rows.evaluation_rows, rows.corrected
    if evidence != rows.evidence:
        # where all rows are evaluated to the ledger, none is set apart to learn E[y | f] from
        every, f = replace(rows.triples, split=None), rows.estimate.corrected
        witnesses = rows.labelled(witness, expected=expected_outcome(every, seed))
        corrected = rows.labelled(witness, confidence=f, expected=expected_outcome(every, seed, f))
    error = 1.0 if several is None else several.error_left
    error = error if witnesses.n_units >= LEAST_UNITS else 0.0
    found = find(witnesses, groups, corrected=corrected, seed=seed, error=error)
    many = 0 if several is None else len(several.ledgers)
    share = (
        "; of the error of all, a half is for the top label, and the other half for the "
        f"{many} classes looked at, in equal parts"
    )
    share = share if many else ""
    method = FindingsMethod(
        candidates=len(groups),
        adjustment=ADJUSTMENT + share,
        level=LEDGER_DEFAULTS.significance,
        evidence=evidence,
        n=len(triples),
        not_crossed=groups.not_crossed,
        by_rows=found.by_rows,
    )
    # metadata was named by the user, features may be many
    metadata = {clean_text(name) for name in triples.metadata}
    values = tuple(sorted(found.values, key=lambda one: one.column not in metadata))
    members = tuple(np.zeros(len(witness), bool) for _ in found.members)
    for among_all, inside in zip(members, found.members, strict=True):
        among_all[witness] = inside
    return replace(found, values=values, members=members, method=method, clusters=space)


def named_findings(y_true: Any, y_prob: Any, by: Any, *, sample_weight: Any = None, seed: int = 0) -> Ledger:
    """Write the ledger of the groups that columns name, and the tables of these columns.

    `y_true`, (n,): outcomes, 0 or 1. `y_prob`, (n,): probabilities in [0, 1]. `by`, (n,): what names groups. Values
    without a name are called by that of their series, or "by". `sample_weight`, (n,): Non-negative; rows of weight 0
    are left out. Returns findings, the strongest first, tested together as those of a run are; and every value of the
    columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = rng.random(600) < np.where(kind == "law", 0.3, 0.7)
    >>> [one.description for one in named_findings(y, np.full(600, 0.5), {"kind": kind}).findings]
    ['kind = law']
    """
    table = (
        by if is_frame(by) or isinstance(by, (Mapping, pl.LazyFrame)) else {str(getattr(by, "name", None) or "by"): by}
    )
    opened = open_source(table)
    frame = opened.load(opened.columns)
    n = check_lengths(y_true=y_true, y_prob=y_prob, by=frame, sample_weight=sample_weight)
    weight = None if sample_weight is None else check_weight(sample_weight, n)
    triples = Triples(
        np.arange(n, dtype=np.float64)[:, None],
        check_confidence(y_prob, name="y_prob"),
        check_correct(y_true, name="y_true"),
        weight=weight,
        metadata={name: metadata_of(frame, name) for name in frame.columns},
    )
    if weight is not None:
        triples = triples.take(np.flatnonzero(weight > 0))
        triples = replace(triples, row=np.arange(len(triples)))
    rows = LabelledRows.of(
        triples.correct, triples.confidence, expected_outcome(triples, seed), row=triples.row,
        weight=triples.weight,
    )  # fmt: skip
    return find(rows, named_groups(triples.metadata), seed=seed)


_ROWS = (500, 2_000, 12_000, 50_000, 200_000)
_SECONDS = {
    "split": (0.01, 0.01, 0.02, 0.1, 0.5),
    "field": (4.3, 3.5, 14.0, 50.0, 121.0),
    "regimes": (0.01, 0.01, 0.01, 0.02, 0.1),
    "findings": (0.02, 0.1, 0.4, 1.0, 4.0),
    "answer": (0.4, 0.5, 1.5, 3.0, 8.0),
    "measures": (0.7, 1.1, 2.5, 4.5, 10.0),
}
"""Seconds of each stage on two idle cores at these numbers of rows and 384 columns. They only say how long the stages
are beside each other: how fast this machine is, is learned from the stages that it has done."""

_COLUMNS = 384
"""Columns behind `_SECONDS`. About half of the time of the field grows with the columns."""

_NEARLY = 0.99
"""The most that a stage says to have done before its end."""

_LEAST_TIMED = 0.5
"""A stage expected to take fewer seconds says nothing of how fast the machine is."""


def expected_seconds(n: int, n_columns: int) -> dict[str, float]:
    """Return about how long the stages take on two idle cores.

    Returns seconds by stage, of those with method "auto" and evidence of all rows.

    Examples
    --------
    >>> round(expected_seconds(2_000, 384)["field"], 1)
    3.5
    """
    at = np.log(np.clip(n, _ROWS[0], None))
    known = np.log(_ROWS)
    found = {name: float(np.exp(np.interp(at, known, np.log(seconds)))) for name, seconds in _SECONDS.items()}
    # beyond the table, in proportion to the rows
    more = max(1.0, n / _ROWS[-1])
    found = {name: seconds * more for name, seconds in found.items()}
    found["field"] *= 0.5 + 0.5 * n_columns / _COLUMNS
    return found


@dataclass
class Clock:
    """Announces the stages of a discovery as they start and end, times them, and estimates what is left.

    `tell`: called with a :class:`Progress`. `expected`: about how long each stage takes, as from
    :func:`expected_seconds`, in the order of the stages; without an entry for "field" nothing is said of the time left
    before a fit is done. `seconds`: what the stages took. `found`: what the stage found that runs; set before its end.
    """

    tell: Callable[[Progress], None]
    expected: dict[str, float]
    seconds: dict[str, float] = field(default_factory=dict)
    found: str = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce a stage and time it."""
        start, self.found = time.monotonic(), ""

        def tell(share: float, found: str = "") -> None:
            passed = time.monotonic() - start
            self.tell(Progress(name, share, passed, self.left(name, share, passed), found))

        # 1 is for the end alone, after what follows the last piece
        tell(0.0)
        with progress_to(lambda share: tell(min(share, _NEARLY))):
            yield
        self.seconds[name] = round(time.monotonic() - start, 3)
        tell(1.0, self.found)

    def left(self, name: str, share: float, passed: float) -> float | None:
        """Estimate the seconds until the end of the discovery.

        `name`: the stage that runs. `share`: how much of it is done, in [0, 1]. `passed`: seconds that it has taken.
        Returns None where the stage has no expected length and has not said how far it is.
        """
        done = self.seconds
        if share:
            done = done | {name: passed / share}
        elif name not in self.expected:
            return None
        # how much longer than expected the stages take here, by those that were long enough to tell
        timed = [one for one in done if self.expected.get(one, 0.0) >= _LEAST_TIMED]
        speed = sum(done[one] for one in timed) / sum(self.expected[one] for one in timed) if timed else 1.0
        own = max(done[name] - passed, 0.0) if share else max(self.expected[name] * speed - passed, 0.0)
        names = list(_SECONDS)
        later = names[names.index(name) + 1 :]
        if any(one not in self.expected for one in later):
            return None
        return own + speed * sum(self.expected[one] for one in later)
