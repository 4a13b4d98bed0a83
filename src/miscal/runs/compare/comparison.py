"""Comparing runs: the same rows under two models or prompts, or one model on two sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.checks import check_seed
from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.errors import FileError, InputError, argument, command
from miscal.base.files import whole_folder
from miscal.base.json_values import clean_text, number
from miscal.base.shown import Shown, ShowsItself
from miscal.base.signatures import checked_call
from miscal.base.threads import one_thread
from miscal.base.vocabulary import ANSWER, vocabulary
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import log_losses, squared_errors
from miscal.discovery.measurements import global_numbers, reliability
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.summary import Global
from miscal.discovery.summary_parts import Answer
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.residuals import holm
from miscal.runs.compare import estimates, groups
from miscal.runs.compare.answer import answer_of, shown_comparison
from miscal.runs.compare.compared_rows import RunRows, Side, Sides, match_rows, names_of, read_rows, sides_of
from miscal.runs.compare.document import (
    ComparedRuns,
    CurveSides,
    FieldAgreement,
    MeasurePair,
    RunNumbers,
    RunPair,
    verdict,
)
from miscal.runs.compare.estimates import Floats

LOWER_IS_BETTER = ("calibration_error", "brier", "log_loss")
"""Measures of which the run with less is called better, where the difference is significant after Holm's adjustment."""
SPARE = 1.0
"""One row whose saving is off by this much is added to the variance of savings: they may agree by chance. Intervals are
a few percent wider for it where the savings are large. Not tuned."""
LIBRARIES = ("miscal", "numpy", "scipy", "scikit-learn", "polars")
COMPARISON_FILES = frozenset({"compare.json", "compare.html"})
"""What a folder of a comparison holds."""


class RunComparison(ShowsItself, ComparedRuns):
    """Runs beside each other, as in ``compare.json``.

    Attributes
    ----------
    schema_version : int
    seed : int
        Of the bootstrap and of the order of rows of equal confidence.
    level : float
        Significance level of everything that is called a difference.
    kind : {"answer", "event", "judge"}
        What the confidences of all runs are the probabilities of.
    epsilon : float or None
        The narrowest band of the runs that counts as well calibrated: numbers are written as finely as it asks for.
    runs : tuple of RunNumbers
        In the order given.
    pairs : tuple of RunPair
        Every two runs, the earlier one as `a`.
    confidences : tuple of ConfidenceNumbers
        Where the runs are several confidences of one table; else empty, as are the differences.
    confidence_differences : tuple of ConfidenceDifference
        Of every two, the earlier one as `a`.
    left_out : int
        Rows of that table that lack one of the confidences.
    versions : dict of str to str

    Examples
    --------
    >>> RunComparison.model_fields["schema_version"].default
    3
    """

    @property
    def verdict(self) -> tuple[str, ...]:
        """What a person wants to know first: the first sentences about every pair."""
        return tuple(pair.verdict[0] for pair in self.pairs)

    @property
    def worse(self) -> dict[str, tuple[str, ...]]:
        """Runs that are worse calibrated than the first, each with where: all rows, or groups that differ.

        All rows: the calibration error is larger, beyond chance, or the mean is farther off. Groups, unless the run is
        better on all rows: their hidden residuals differ, all groups considered, and it is farther from the outcomes.
        Where nothing differs, each of the three is said of one pair in twenty at most, and one of them of one in ten.
        """
        found = {}
        for pair in (pair for pair in self.pairs if pair.a == self.runs[0].name):
            groups = () if pair.better == "b" else (one.description for one in pair.worse_in)
            found[pair.b] = (*(("all rows",) if pair.better == "a" else ()), *groups)
        return {name: where for name, where in found.items() if where}

    @property
    def answer(self) -> Answer:
        """Which run is better calibrated, where they differ most, and which to trust."""
        return answer_of(self)

    def shown(self) -> Shown:
        """Return what it shows of itself in a notebook and on a terminal."""
        return shown_comparison(self)

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
        from miscal.runs.compare.page import build

        (folder / "compare.json").write_text(comparison.to_json(), encoding="utf-8")
        (folder / "compare.html").write_text(build(comparison), encoding="utf-8")
    return comparison


@checked_call
def compare(
    runs: Sequence[Any],
    *,
    match: str | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> RunComparison:
    """Put runs beside each other: which is better calibrated, where do they differ, where do both fail.

    Parameters
    ----------
    runs : sequence of path or Run
        At least two runs, or their folders. Every two of them are compared.
    match : str, optional
        A column of every run's data: rows with equal values are the same. Without it rows are matched by their number
        in one file, by a column ``id``, by equal texts or by equal inputs: the first of these that matches a tenth of
        the smaller run's rows. Where next to nothing matches, the runs are compared as two sets.
    names : sequence of str, optional
        What to call the runs. By default they are called by their folders, or by their place where they have none.
    seed : int, default 0
        Of the draws of rows behind intervals of smECE and of correlations, and of the folds behind E[y | f]. The same
        seed gives the same result.
    progress : callable, optional
        Called with the name of each step.

    Returns
    -------
    RunComparison
        ``.verdict`` has a sentence for each pair; ``.pairs`` all numbers; ``.to_json()`` is ``compare.json``.

    Raises
    ------
    InputError
        If there are fewer than two runs or one is given twice, the rows of a run are not kept, runs are of an answer
        and of an event, outcomes of the same events contradict each other, or `match` matches no row.
    FileError
        If something is not a run folder, or the data of a run are gone.
    MismatchError
        If the data of a run are no longer what they were.

    Examples
    --------
    >>> compare(["run"])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: runs must be at least two to be compared; got 1
    """
    check_seed(seed)
    tell = progress or (lambda name: None)
    opened = _opened(runs)
    if names is not None and (isinstance(names, str) or not len(set(names)) == len(names) == len(opened)):
        raise InputError(f"names must be {len(opened)} different names, one for each run; got {names!r}")
    called = [clean_text(str(name)) for name in (names_of(opened) if names is None else names)]
    rows = []
    for run, name in zip(opened, called, strict=True):
        tell(f"reading {name}")
        rows.append(read_rows(run, name))
    with one_thread():
        tell("numbers of each run")
        numbers = tuple(_run_numbers(one, seed) for one in rows)
        whole = {one.name: one.global_ for one in numbers}
        pairs = []
        for a, b in combinations(rows, 2):
            tell(f"{a.name} and {b.name}")
            found = match_rows(a, b, match)
            if found is not None and opened[0].summary.kind != ANSWER and found.of_strangers:
                raise InputError(
                    f"runs {a.name} and {b.name} have other outcomes in {found.differing:,} of the {len(found.a):,} "
                    f"rows that were matched by {found.by}, so these are not the same rows: name a column that tells "
                    f"rows apart with {argument('match', takes='COL')}, or correct the outcomes"
                )
            sides = sides_of(a, b, found)
            pairs.append((a, b, sides, _measures(sides, seed, whole)))
        judged = zip(pairs, _judged([measures for *_, measures in pairs]), strict=True)
        judged_pairs = tuple(_pair(a, b, sides, measures, seed) for (a, b, sides, _), measures in judged)
    versions = {name: metadata.version(name) for name in LIBRARIES}
    bands = [size for run in opened if (size := run.summary.settings.get("epsilon"))]
    about = {"kind": opened[0].summary.kind, "epsilon": min(bands, default=None)}
    return RunComparison(seed=seed, level=SIGNIFICANCE, **about, runs=numbers, pairs=judged_pairs, versions=versions)


def _opened(runs: Sequence[Any]) -> list[RunContent]:
    if isinstance(runs, (str, Path)) or len(runs) < 2:
        given = 1 if isinstance(runs, (str, Path)) else len(runs)
        raise InputError(f"runs must be at least two to be compared; got {given}")
    opened: list[RunContent] = []
    seen: dict[tuple, RunContent] = {}
    for one in runs:
        run = _read(Path(one)) if isinstance(one, (str, Path)) else one.content
        # a copy of a folder is the same run
        content = run.summary.to_json(), run.table.hash_rows().sum()
        if content in seen:
            raise InputError(
                f"runs must differ; {run.name} is the same run as {seen[content].name}: leave one of them out"
            )
        seen[content] = run
        opened.append(run)
    first = opened[0]
    for run in opened[1:]:
        if run.summary.kind != first.summary.kind:
            one, other = (vocabulary(each.summary.kind).about for each in (first, run))
            raise InputError(
                f"runs must be of one kind of probability; {first.name} is of {one}, {run.name} of {other}"
            )
    return opened


def _read(folder: Path) -> RunContent:
    if folder.is_dir() and not (folder / "field.parquet").exists() and not (folder / "summary.json").exists():
        raise FileError(f"{folder} is not a run folder: give the folder of a run, made by {command('discover')}")
    return read_run(folder)


def _run_numbers(rows: RunRows, seed: int) -> RunNumbers:
    summary = rows.run.summary
    labelled = LabelledRows.of(rows.correct, rows.confidence, group=rows.group, weight=rows.weight)
    return RunNumbers(
        name=rows.name,
        path=None if rows.run.path is None else clean_text(str(rows.run.path)),
        data=summary.data.path,
        where=rows.source.get("where"),
        method=summary.method,
        evidence=summary.evidence,
        n=len(rows),
        global_=global_numbers(labelled, seed=seed),
        certificate=summary.certificate,
        findings=len(summary.findings),
    )


def _judged(pairs: Sequence[dict[str, MeasurePair]]) -> list[dict[str, MeasurePair]]:
    """Say which run of each pair is better by which measure, with the p-values of all of these adjusted together."""
    asked = [(k, name) for k in range(len(pairs)) for name in LOWER_IS_BETTER]
    found = [pairs[k][name].difference for k, name in asked]
    adjusted = holm(np.array([1.0 if one.p_value is None else one.p_value for one in found]))
    judged = [dict(measures) for measures in pairs]
    for (k, name), one, p_value in zip(asked, found, adjusted.tolist(), strict=True):
        side = None if p_value > SIGNIFICANCE else "a" if one.value < 0 else "b"
        judged[k][name] = judged[k][name].model_copy(update={"p_adjusted": p_value, "better": side})
    for measures in judged:
        mean = measures["residual"]
        p_value = min(1.0, len(pairs) * (1.0 if mean.difference.p_value is None else mean.difference.p_value))
        side = None if p_value > SIGNIFICANCE else "a" if abs(mean.a.value) < abs(mean.b.value) else "b"
        measures["residual"] = mean.model_copy(update={"p_adjusted": p_value, "better": side})
    return judged


def _pair(a: RunRows, b: RunRows, sides: Sides, measures: dict[str, MeasurePair], seed: int) -> RunPair:
    named = groups.candidates(sides)
    numbers = groups.CandidateMeans(sides, named)
    pair = RunPair(
        a=a.name,
        b=b.name,
        verdict=(),
        same_rows=sides.paired,
        matched_by=sides.match.by if sides.match else "no rows in common: the two runs are compared as two sets",
        same_answers=sides.same_answers,
        n_a=len(sides.a),
        n_b=len(sides.b),
        left_out_a=len(a) - len(sides.a),
        left_out_b=len(b) - len(sides.b),
        measures=measures,
        step=estimates.nearer_mean(sides, SPARE)[1],
        curves=CurveSides(
            **{name: reliability(side.labelled()) for name, side in zip("ab", (sides.a, sides.b), strict=True)}
        ),
        fields=_fields(sides, seed) if sides.match else None,
        candidates=len(named),
        differences=groups.differing(numbers),
        groups=groups.side_by_side(numbers),
        not_found=named.not_found,
        notes=_notes(sides),
    )
    return pair.model_copy(update={"verdict": verdict(pair, vocabulary(a.run.summary.kind))})


def _measures(sides: Sides, seed: int, whole: Mapping[str, Global]) -> dict[str, MeasurePair]:
    """Measure both sides; `whole` has the numbers of all rows of each run, where these are known."""
    each = (sides.a, sides.b)
    one, two = (_numbers(side, seed, whole) for side in each)
    rows = {
        "accuracy": [side.correct for side in each],
        "confidence": [side.confidence for side in each],
        "brier": [squared_errors(side.correct, side.confidence) for side in each],
        "log_loss": [log_losses(side.correct, side.confidence) for side in each],
    }
    means = {
        name: MeasurePair(
            a=getattr(one, name), b=getattr(two, name), difference=estimates.mean_difference(sides, *values).tested(0)
        )
        for name, values in rows.items()
    }
    mean = _of_rows(sides, *(side.residual for side in each))
    error = _of_rows(sides, *(estimates.recalibration_saving(side, seed) for side in each))
    local = _of_rows(sides, *(side.local_saving for side in each))
    # smECE is biased upwards by as much as noise adds to each run, so their difference has no interval of its own
    smece = MeasurePair(
        a=Measure(value=one.smece.value, interval=one.smece.interval),
        b=Measure(value=two.smece.value, interval=two.smece.interval),
        difference=MeasureAgainstNull(value=number(one.smece.value - two.smece.value)),
    )
    # where rows are too few for the error, Student's tests of means are not to be trusted either
    p_value = None if error.difference.value is None else estimates.nearer_mean(sides, SPARE)[0]
    mean = mean.model_copy(update={"difference": mean.difference.model_copy(update={"p_value": p_value})})
    return {"calibration_error": error, "residual": mean, "smece": smece, **means, "local_saving": local}


def _numbers(side: Side, seed: int, whole: Mapping[str, Global]) -> Global:
    own = side.rows
    all_rows = len(side) == len(own) and side.weight is own.weight and own.name in whole
    return whole[own.name] if all_rows else global_numbers(side.labelled(), seed=seed)


def _of_rows(sides: Sides, a: Floats, b: Floats) -> MeasurePair:
    """Compare the means of values that were learned from other rows."""
    one, two = (
        estimates.mean_of(side, values, spare=SPARE).measure(0) for side, values in ((sides.a, a), (sides.b, b))
    )
    return MeasurePair(a=one, b=two, difference=estimates.mean_difference(sides, a, b, spare=SPARE).tested(0))


def _fields(sides: Sides, seed: int) -> FieldAgreement:
    found = {}
    for name, values in {"delta": "delta", "hidden": "field"}.items():
        one, two = (getattr(side.rows, values)[side.at] for side in (sides.a, sides.b))
        found[name] = estimates.correlation_with_interval(one, two, sides.a.unit, seed, sides.a.weight)
    return FieldAgreement(**found)


def _notes(sides: Sides) -> tuple[str, ...]:
    """Say what about these two runs makes them less alike than they look."""
    a, b = sides.a.rows, sides.b.rows
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
    if sides.match is not None and one.kind != ANSWER and sides.match.differing:
        notes.append(f"{sides.match.differing:,} of the rows that both have did not have the same outcome in both")
    _, differing = sides.columns()
    if differing:
        why = "differ between the runs" if sides.paired else "are not in both"
        notes.append(f"no groups were named by columns that {why}: {', '.join(map(clean_text, differing))}")
    return tuple(notes)
