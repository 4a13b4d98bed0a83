"""Comparing runs: the same rows under two models or prompts, or one model on two sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.checks import check_seed
from miscal.base.document import Measure, MeasureAgainstNull, clean_text, number
from miscal.base.errors import InputError, argument, command
from miscal.base.files import whole_folder
from miscal.base.process import one_thread
from miscal.base.shown import ShowsItself
from miscal.base.signatures import checked_call
from miscal.base.vocabulary import ANSWER, vocabulary
from miscal.calibration.metrics.scores import log_losses, squared_errors
from miscal.discovery.measurements import global_numbers, reliability
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.summary import Answer, Global, Summary
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.decisions import decisions_of, error_key, thresholds_of
from miscal.findings.residuals import holm
from miscal.report.brief import alone_at
from miscal.report.sheet import Sheet
from miscal.runs.compare import estimates
from miscal.runs.compare.compared_rows import RunRows, Sides, match_rows, names_of, read_rows
from miscal.runs.compare.document import ComparedRuns, CurveSides, FieldAgreement, MeasurePair, RunNumbers
from miscal.runs.compare.estimates import Floats
from miscal.runs.compare.sheet import answer_of, sheet_of

LOWER_IS_BETTER = ("calibration_error", "brier", "log_loss")
"""Measures of which the run with less is called better, where the difference is significant after Holm's adjustment."""
LIBRARIES = ("miscal", "numpy", "scipy", "scikit-learn", "polars")
COMPARISON_FILES = frozenset({"compare.json", "compare.html"})
"""What a folder of a comparison holds."""


class RunComparison(ShowsItself, ComparedRuns):
    """Two runs beside each other, as in ``compare.json``.

    Attributes
    ----------
    schema_version : int
    seed : int
        Of the bootstrap and of the order of rows of equal confidence.
    level : float
        Significance level of everything that is called a difference.
    kind : {"answer", "event", "judge"}
        What the confidences of both runs are the probabilities of.
    epsilon : float or None
        The narrower band of the runs that counts as well calibrated: numbers are written as finely as it asks for.
    runs : pair of RunNumbers
        In the order given.
    a, b : str
        Names of the two runs.
    same_rows : bool
        Whether rows were matched, so that differences are paired; else all rows of both are compared as two samples.
    matched_by : str
        What says that rows are the same.
    same_answers : bool
        Whether confidences and outcomes are equal row by row.
    n_a, n_b : int
        Rows compared.
    left_out_a, left_out_b : int
        Rows without a match.
    measures : dict of str to MeasurePair
        Numbers of both.
    accepted_error : float or None
        The error at which ``measures["alone"]`` says what each may decide alone: the least that the report of one of
        the runs says first.
    step : float or None
        By how much the mean of one run must be farther from the outcomes to be told in four of five comparisons of
        such rows.
    curves : CurveSides
        Reliability curves of both.
    fields : FieldAgreement or None
        How alike the fields are, where rows were matched.
    candidates : int
        Groups tested.
    differences : tuple of GroupPair
        The ledger of groups in which the hidden residuals differ, strongest first.
    groups : tuple of GroupPair
        The shifts of both ledgers.
    not_found : tuple of str
        Findings whose rows the data do not give.
    notes : tuple of str
        What makes the runs less alike than they look.
    versions : dict of str to str

    Examples
    --------
    >>> RunComparison.model_fields["schema_version"].default
    5
    """

    @property
    def worse(self) -> tuple[str, ...]:
        """Where the second run is worse calibrated than the first: all rows, or groups that differ.

        All rows: the calibration error is larger, beyond chance, or the mean is farther off. Groups, unless the run is
        better on all rows: their hidden residuals differ, all groups considered, and it is farther from the outcomes.
        Where nothing differs, each of the three is said of one pair in twenty at most, and one of them of one in ten.
        """
        farther = (
            group.description
            for group in self.differences
            if self.closer(group) == "a"
            and group.residual is not None
            and group.residual.p_value is not None
            and group.residual.p_value < SIGNIFICANCE
        )
        return (*(("all rows",) if self.better == "a" else ()), *(() if self.better == "b" else farther))

    @property
    def answer(self) -> Answer:
        """Which run is right more often, whose probabilities are worth more, and which to take."""
        return answer_of(self)

    def shown(self) -> Sheet:
        """Return its sheet: its three lines, where the runs differ, and its numbers."""
        return sheet_of(self)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write ``compare.json`` and the page ``compare.html`` into a folder, as ``miscal compare`` does.

        Parameters
        ----------
        folder : str or Path
        overwrite : bool, default False
            Replace a comparison that is there.

        Returns
        -------
        Path
            The folder.
        """
        write_comparison(lambda: self, folder, overwrite=overwrite)
        return Path(folder)


def write_comparison(make: Callable[[], RunComparison], out: str | Path, *, overwrite: bool = False) -> RunComparison:
    """Write a comparison and its page into a folder, both or neither; it is made once the folder is free and locked."""
    with whole_folder(out, holds=COMPARISON_FILES, writer=command("compare"), overwrite=overwrite) as folder:
        comparison = make()
        (folder / "compare.json").write_text(comparison.to_json(), encoding="utf-8")
        (folder / "compare.html").write_text(comparison.shown().page(), encoding="utf-8")
    return comparison


@checked_call
def compare(
    a: Any,
    b: Any,
    *,
    match: str | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> RunComparison:
    """Put two runs beside each other: which is better calibrated, where do they differ, where do both fail.

    Parameters
    ----------
    a, b : path or Run
        The runs, or their folders. More than two are for :func:`miscal.study`.
    match : str, optional
        A column of both runs' data: rows with equal values are the same. Without it rows are matched by their number
        in one file, by a column ``id``, by equal texts or by equal inputs: the first of these that matches a tenth of
        the smaller run's rows. Where next to nothing matches, the runs are compared as two sets.
    names : sequence of two str, optional
        What to call the runs. By default they are called by their folders, or by their place where they have none.
    seed : int, default 0
        Of the draws of rows behind intervals of smECE and of correlations, and of the folds behind E[y | f]. The same
        seed gives the same result.
    progress : callable, optional
        Called with the name of each step.

    Returns
    -------
    RunComparison
        ``.answer`` says it in three lines; ``.to_json()`` is ``compare.json``.

    Raises
    ------
    InputError
        If both are the same run, the rows of a run are not kept, runs are of an answer and of an event, outcomes of the
        same events contradict each other, or `match` matches no row.
    FileError
        If something is not a run folder, or the data of a run are gone.
    MismatchError
        If the data of a run are no longer what they were.

    Examples
    --------
    >>> compare("run", "other", names=["new"])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: names must be 2 different names, one for each run; got ['new']
    """
    check_seed(seed)
    tell = progress or (lambda name: None)
    if names is not None and not len(set(names)) == len(names) == 2:
        raise InputError(f"names must be 2 different names, one for each run; got {names!r}")
    opened = _opened(a, b)
    rows = []
    for run, name in zip(opened, names_of(opened) if names is None else names, strict=True):
        name = clean_text(str(name))
        tell(f"reading {name}")
        rows.append(read_rows(run, name))
    bands = [size for run in opened if (size := run.summary.settings.get("epsilon"))]
    with one_thread():
        tell("numbers of each run")
        numbers = _run_numbers(rows[0], seed), _run_numbers(rows[1], seed)
        tell("differences")
        return RunComparison(
            seed=seed,
            level=SIGNIFICANCE,
            kind=opened[0].summary.kind,
            epsilon=min(bands, default=None),
            runs=numbers,
            **beside(*rows, match=match, seed=seed, whole={one.name: one.global_ for one in numbers}),
            versions={name: metadata.version(name) for name in LIBRARIES},
        )


def _opened(a: Any, b: Any) -> list[RunContent]:
    one, two = opened = [read_run(run) if isinstance(run, (str, Path)) else run.content for run in (a, b)]
    # a copy of a folder is the same run
    if one.summary.to_json() == two.summary.to_json() and one.table.hash_rows().sum() == two.table.hash_rows().sum():
        raise InputError(f"runs must differ; {two.name} is the same run as {one.name}: give another one")
    if one.summary.kind != two.summary.kind:
        first, second = (vocabulary(run.summary.kind).about for run in opened)
        raise InputError(f"runs must be of one kind of probability; {one.name} is of {first}, {two.name} of {second}")
    return opened


def _run_numbers(rows: RunRows, seed: int) -> RunNumbers:
    summary = rows.run.summary
    return RunNumbers(
        name=rows.name,
        path=None if rows.run.path is None else clean_text(str(rows.run.path)),
        data=summary.data.path,
        where=rows.run.source.get("where"),
        method=summary.method,
        evidence=summary.evidence,
        n=len(rows),
        global_=global_numbers(rows.labelled(), seed=seed),
        certificate=summary.certificate,
        findings=len(summary.findings),
    )


def beside(
    a: RunRows, b: RunRows, *, match: str | None, seed: int, whole: Mapping[str, Global] | None = None
) -> dict[str, Any]:
    """Compare the rows of two runs, as a comparison holds it; `whole` has the numbers of all rows of runs, if known."""
    sides = match_rows(a, b, match)
    if sides.paired and a.run.summary.kind != ANSWER and sides.of_strangers:
        raise InputError(
            f"runs {a.name} and {b.name} have other outcomes in {sides.differing:,} of the {len(sides.a):,} rows "
            f"that were matched by {sides.by}, so these are not the same rows: name a column that tells rows apart "
            f"with {argument('match', takes='COL')}, or correct the outcomes"
        )
    named, fields = estimates.ComparedGroups(sides), None
    if sides.paired:
        both = {"delta": (sides.a.delta, sides.b.delta), "hidden": (sides.a.field, sides.b.field)}
        of = sides.a.unit, seed, sides.a.weight
        fields = {name: estimates.correlation_with_interval(*values, *of) for name, values in both.items()}
    accepted = accepted_error(a.run.summary, b.run.summary)
    return {
        "a": a.name,
        "b": b.name,
        "same_rows": sides.paired,
        "matched_by": sides.by or "no rows in common: the two runs are compared as two sets",
        "same_answers": sides.same_answers,
        "n_a": len(sides.a),
        "n_b": len(sides.b),
        "left_out_a": len(a) - len(sides.a),
        "left_out_b": len(b) - len(sides.b),
        "measures": judged(_measures(sides, seed, whole or {}, accepted), a.run.summary.kind),
        "accepted_error": accepted,
        "step": estimates.nearer_mean(sides)[1],
        "curves": CurveSides(a=reliability(sides.a.labelled()), b=reliability(sides.b.labelled())),
        "fields": fields and FieldAgreement(**fields),
        "candidates": len(named),
        "differences": named.differing(),
        "groups": named.side_by_side(),
        "not_found": named.not_found,
        "notes": _notes(sides),
    }


def judged(measures: Mapping[str, MeasurePair], kind: str) -> dict[str, MeasurePair]:
    """Say which run is better by which measure: of calibration, with p-values that allow for all that are asked."""
    p_values = {name: 1.0 if (p := one.difference.p_value) is None else p for name, one in measures.items()}
    adjusted = dict(
        zip(LOWER_IS_BETTER, holm(np.array([p_values[name] for name in LOWER_IS_BETTER])).tolist(), strict=True)
    )
    # rates of events are of the rows, not of the model
    questions = ("residual", "corrected_log_loss", *(["accuracy"] if kind == ANSWER else []))
    adjusted |= {name: p_values[name] for name in questions}
    found = dict(measures)
    for name, p_value in adjusted.items():
        one, side = measures[name], None
        if p_value <= SIGNIFICANCE:
            less = abs(one.a.value) < abs(one.b.value) if name == "residual" else one.difference.value < 0
            side = "a" if less != (name == "accuracy") else "b"
        found[name] = one.model_copy(update={"p_adjusted": p_value, "better": side})
    return found


def _measures(sides: Sides, seed: int, whole: Mapping[str, Global], accepted: float | None) -> dict[str, MeasurePair]:
    """Measure both sides; `whole` has the numbers of all rows of each run, where these are known."""
    each, known = (sides.a, sides.b), []
    for side in each:
        every = len(side) == len(side.whole) and side.weight is side.whole.weight and side.name in whole
        known.append(whole[side.name] if every else global_numbers(side.labelled(), seed=seed))
    one, two = known
    found = {
        "calibration_error": of_rows(sides, *(estimates.recalibration_saving(side, seed) for side in each)),
        "residual": of_rows(sides, *(side.residual for side in each)),
        # smECE is biased upwards by as much as noise adds to each run, so their difference has no interval of its own
        "smece": MeasurePair(
            a=Measure.of(one.smece),
            b=Measure.of(two.smece),
            difference=MeasureAgainstNull(value=number(one.smece.value - two.smece.value)),
        ),
    }
    # where rows are too few for the error, Student's tests of means are not to be trusted either
    few = found["calibration_error"].difference.value is None
    mean = found["residual"]
    tested = mean.difference.model_copy(update={"p_value": None if few else estimates.nearer_mean(sides)[0]})
    found["residual"] = mean.model_copy(update={"difference": tested})
    means = {
        "accuracy": [side.correct for side in each],
        "confidence": [side.confidence for side in each],
        "brier": [squared_errors(side.correct, side.confidence) for side in each],
        "log_loss": [log_losses(side.correct, side.confidence) for side in each],
    }
    for name, values in means.items():
        apart = estimates.difference(sides, *values, spare=0.0).tested(0)
        found[name] = MeasurePair(a=getattr(one, name), b=getattr(two, name), difference=apart)
    found["corrected_log_loss"] = of_rows(sides, *(log_losses(side.correct, side.corrected) for side in each))
    if accepted is not None:
        found["alone"] = of_rows(sides, *(_decided_alone(side, accepted) for side in each))
    return found


def of_rows(sides: Sides, a: Floats, b: Floats) -> MeasurePair:
    """Compare the means of values that were learned from other rows."""
    one, two = (mean.measure(0) for mean in estimates.side_means(sides, a, b))
    return MeasurePair(a=one, b=two, difference=estimates.difference(sides, a, b).tested(0))


def accepted_error(a: Summary, b: Summary) -> float | None:
    """Return the error at which it is compared what two runs may decide alone: the least that is said of one first."""
    first = [promises[0].max_error for one in (a, b) if (promises := alone_at(one))]
    known = [error for error in first if all(error in {one.max_error for one in run.alone} for run in (a, b))]
    return min(known, default=None)


def _decided_alone(side: RunRows, max_error: float) -> Floats:
    """Mark the rows that a run may decide alone, by the threshold that it promises."""
    thresholds = thresholds_of(side.run.summary.alone)[error_key(max_error)]
    decision = decisions_of(side.corrected, side.run.table["supported"].to_numpy()[side.at], thresholds)
    return np.array([one is not None for one in decision], dtype=np.float64)


def _notes(sides: Sides) -> tuple[str, ...]:
    """Say what about these two runs makes them less alike than they look."""
    a, b = sides.a.whole, sides.b.whole
    one, two = a.run.summary, b.run.summary
    notes = []
    if one.method != two.method:
        notes.append(f"the fields come from different methods: {one.method} for {a.name}, {two.method} for {b.name}")
    if one.evidence != two.evidence:
        notes.append(
            f"the findings rest on {one.evidence} rows of {a.name} and on {two.evidence} rows of {b.name}, so that one "
            "ledger may be shorter for want of rows"
        )
    if (a.weight is None) != (b.weight is None):
        which = a.name if b.weight is None else b.name
        notes.append(
            f"only {which} has weights, so all rows count alike here; the numbers of that run by itself are weighted"
        )
    if one.kind != ANSWER and sides.differing:
        notes.append(f"{sides.differing:,} of the rows that both have did not have the same outcome in both")
    _, differing = sides.columns()
    if differing:
        why = "differ between the runs" if sides.paired else "are not in both"
        notes.append(f"no groups were named by columns that {why}: {', '.join(map(clean_text, differing))}")
    return tuple(notes)
