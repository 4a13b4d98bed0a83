"""Scan: from a table that stays where it is to findings, a correction as SQL, and the cells that both follow from."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.document import Measure
from miscal.base.errors import InputError, argument
from miscal.base.files import digest, whole_folder
from miscal.base.frames import scan_parquet
from miscal.base.number_wording import spoken
from miscal.base.options import given, of_fields, takes
from miscal.base.shown import ShowsItself
from miscal.base.signatures import checked_call
from miscal.base.vocabulary import vocabulary
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.calibration.survey_design import average
from miscal.data.columns import split_names
from miscal.data.counting import Answers, CellSource, Question
from miscal.data.relations import Dialect, only, open_relation, worth_staging
from miscal.discovery.answer import finding_sentence
from miscal.discovery.summary import Answer
from miscal.discovery.tables import findings_table
from miscal.findings.ledger.cells import CellTable, in_units, labelled
from miscal.findings.ledger.document import ADJUSTMENT, Finding, FindingsMethod
from miscal.findings.ledger.groups import PAIR, not_crossed
from miscal.findings.ledger.ledger import ledger_of
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.residuals import proportion_interval
from miscal.report.sheet import Sheet
from miscal.runs.scan.correction import Shifted, fit_correction
from miscal.runs.scan.document import FILES, Cells, ScanSummary, as_python, as_sql, read_cells, sheet_of, write_scan
from miscal.runs.scan.plan import Counted, checked_rows, found_units, named_columns, plan_of, sums_of
from miscal.runs.settings import ScanOptions

_BINS = 10
SCAN_SETTINGS = replace(LEDGER_DEFAULTS, max_findings=20)
"""Each finding is one more round of questions."""


@dataclass(frozen=True, repr=False)
class Scan(ShowsItself):
    """What a scan found, and the cells that it follows from.

    Attributes
    ----------
    summary : ScanSummary
        Everything that was found.
    cells : Cells
        What was counted.

    Examples
    --------
    >>> import miscal, polars as pl
    >>> rng = np.random.default_rng(0)
    >>> region, risk = rng.choice(["north", "south"], 4000), rng.uniform(0.3, 0.7, 4000)
    >>> late = rng.random(4000) < risk + np.where(region == "south", 0.2, -0.2)
    >>> loans = pl.LazyFrame({"risk": risk, "late": late, "region": region})
    >>> found = miscal.scan(loans, probability="risk", event="late")
    >>> found.findings["group"].to_list()
    ['region = north']
    """

    summary: ScanSummary
    cells: Cells

    def shown(self) -> Sheet:
        """Return its sheet: its three lines, the groups, and how they were found."""
        return sheet_of(self.summary)

    @property
    def findings(self) -> pl.DataFrame:
        """Return the findings as a table, the strongest first."""
        names = {"description": "group", "n": "rows", "confidence": "predicted", "accuracy": "happened"}
        names |= {"corrected": "corrected", "hidden": "hidden", "hidden_low": "low", "hidden_high": "high"}
        table = findings_table(self.summary.findings)
        return table.select(*(pl.col(name).alias(shown) for name, shown in names.items()), "p_adjusted")

    def sql(self, dialect: Dialect = "ansi") -> str:
        """Return the correction as one SQL expression over the names of the columns.

        Parameters
        ----------
        dialect : {"ansi", "spark"}, default "ansi"
            How names are quoted and types called.

        Returns
        -------
        str
            To stand in a select list: without alias, comment and semicolon.
        """
        return as_sql(self.summary.correction, self.summary.probability, dialect)

    def python(self) -> str:
        """Return the correction as a module of Python that needs nothing else.

        Returns
        -------
        str
            With a function ``correct(row)`` of a dict by names of columns.
        """
        return as_python(self.summary.correction, self.summary.probability)

    def save(self, out: str | Path, *, overwrite: bool = False, dialect: Dialect = "ansi") -> ScanSummary:
        """Write cells, summary, correction and page into a folder.

        Parameters
        ----------
        out : str or Path
            Folder to make.
        overwrite : bool, default False
            Replace a scan that is there.
        dialect : {"ansi", "spark"}, default "ansi"
            Of correction.sql.

        Returns
        -------
        ScanSummary
            As it was written.
        """
        with whole_folder(out, holds=FILES, writer="`miscal scan`", overwrite=overwrite) as folder:
            return write_scan(folder, self.summary, self.cells, dialect)


@checked_call
@takes(ScanOptions)
def scan(data: Any = None, **options: Any) -> Scan:
    """Find where a model is over- and under-confident in a table that stays where it is.

    Rows are counted by strata of the probability and values of columns, and findings are tested on these counts, as
    those of :func:`miscal.discover` that columns name are on rows. Every row counts, and no row travels.

    Parameters
    ----------
    data : path or lazy frame
        A .parquet or .csv file, a folder of them, ``FILE.duckdb::TABLE``, cells.parquet of a scan; or a frame that
        narwhals knows: polars, DuckDB, and others.
    **options

    Returns
    -------
    Scan
        What was found, with the correction as SQL and the cells.

    Raises
    ------
    InputError
        For anything that cannot be used, with the argument or column, what is allowed and what came.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.LazyFrame({"risk": [0.2, 0.8] * 500, "late": [0, 1] * 500, "kind": ["a", "b", "b", "a"] * 250})
    >>> scan(table, probability="risk", event="late").findings.height
    0
    """
    return scanned(data, of_fields(ScanOptions, options))


def scanned(data: Any, asked: ScanOptions, parts: Path | None = None) -> Scan:
    """Scan a table; `parts`: folder in which answers are kept until they are all there."""
    start = time.monotonic()
    if isinstance(data, (str, Path)) and _is_cells(Path(data)):
        if more := next(iter(given(asked)), None):
            raise InputError(f"{data} holds cells, which know what was counted: leave {argument(more)} out")
        return summarised(read_cells(data), start)
    sums = sums_of(replace(asked, group=None) if asked.group in ("auto", "none") else asked)
    show = (lambda text: print(text, file=sys.stderr)) if asked.show_sql else None
    relation = open_relation(data, sql=asked.sql, show=show)
    if asked.where is not None:
        relation = only(relation, asked.where)
    every = asked.columns in ("auto", ("auto",))
    named = [*sums.columns, *([sums.group] if sums.group else []), *(() if every else split_names(asked.columns))]
    relation, nameless = named_columns(relation, named, every)
    names = ("confidence", "correct") if asked.kind == "answer" else ("probability", "event")
    for what in (*names, "weight", "count", "events", "group"):
        column = sums.group if what == "group" else getattr(asked, what)
        if column is not None:
            relation.check([column], what)
    opened, stamp = relation, relation.stamp()
    if asked.group in ("auto", "none"):
        asked = replace(asked, group=found_units(relation, sums, asked.least_rows) if asked.group == "auto" else None)
        sums = sums_of(asked)
    relation, outcome_is, notes = checked_rows(relation, sums)
    planned, size, seen = plan_of(relation, sums, outcome_is, asked.columns, asked.least_rows)
    unnamed = [(name, "has a name that SQL takes for all columns, or for none: rename it") for name in nameless]
    about = Counted(
        kind=asked.kind,
        source=relation.name,
        probability=sums.probability,
        outcome=sums.event or sums.events,
        weight=sums.weight,
        group=asked.group,
        notes=notes,
        least_rows=asked.least_rows,
        terms=tuple(sums.terms()),
        **planned | {"left_out": (*unnamed, *planned["left_out"])},
    )
    if not about.plan.cuts:
        raise InputError(
            f"no column is left whose values may name a finding: name some with {argument('columns', takes='COL,COL')}"
        )
    answers = None
    if parts:
        made_of = [about.model_dump(), asdict(asked), seen, stamp, *map(digest, relation.files)]
        answers = Answers(parts, json.dumps([*made_of, metadata.version("miscal")], default=str))
    stage = asked.stage == "always" or (asked.stage == "auto" and worth_staging(relation, size[0], parts))
    cuts = [*about.plan.cuts, *(cut for pair in about.plan.pairs for cut in pair)]
    source = CellSource(relation, sums, about.begins, cuts, outcome_is, size, asked.least_rows, stage, answers)
    found = summarised(Cells(about, source.asked), start, source)
    if opened.stamp() != stamp:
        raise InputError(f"{relation.name} changed while it was read: scan a copy, or a table that nobody writes to")
    return found


def _is_cells(path: Path) -> bool:
    if path.suffix != ".parquet" or not path.is_file():
        return False
    try:
        return {"question", "about"} <= set(scan_parquet(path).collect_schema())
    except (pl.exceptions.PolarsError, OSError):
        return False


def summarised(cells: Cells, start: float, ask: Callable[[Question], pl.DataFrame] | None = None) -> Scan:
    """Compute everything that is said from cells; `ask` counts those that are not there yet."""
    ask, about = ask or cells, cells.about
    plan, words = about.plan, vocabulary(about.kind)
    everything, _, _ = labelled(ask(Question()), Question())
    units = about.group is not None
    if units:
        everything = in_units(everything, ask(Question(units=True)), None, np.zeros(len(everything), int))
    effect = effect_of_mean(everything)
    table = CellTable(plan, ask, SCAN_SETTINGS, units=units)
    ledger = ledger_of(table, settings=SCAN_SETTINGS)
    candidates = table.pairs + int((table.groups.kinds != PAIR).sum())
    places = [table.groups.places[one.condition] for one in ledger.findings]
    rows, splits = table.together(places) if places else (everything, [])
    found = [
        Shifted(number, table.member(place), split, table.scores(place), effect_of_mean(*table.own(place)))
        for number, (place, split) in enumerate(zip(places, splits, strict=True), start=1)
        if split.inside.any()  # of merged cells, none may be left
    ]
    correction, corrected = fit_correction(rows, found, effect)
    findings = tuple(
        one.model_copy(update={"corrected": average(corrected[split.inside], rows.mass[split.inside])})
        if round(rows.counts[split.inside].sum()) == one.n
        else one
        for one, split in zip(ledger.findings, splits, strict=True)
    )
    accuracy = average(everything.correct, everything.weight)
    confidence = average(everything.confidence, everything.weight)
    averages = words.averages.format(probability=spoken(confidence), rate=spoken(accuracy))
    things = f"{words.probabilities[0].upper()}{words.probabilities[1:]}"
    reason = (
        f"Of {candidates:,} groups tested on {everything.n:,} rows, none differs from {words.equal_rows()}. {averages}"
    )
    headline = f"No group was found in which {words.probabilities} are off."
    if findings:
        groups = "a group" if len(findings) == 1 else f"{len(findings)} groups"
        headline = f"{things} are off in {groups}, beyond what a reliability diagram of all rows shows."
        reason = finding_sentence(findings[0], words)
    losses = f"{correction.log_loss_raw:.4f} to {correction.log_loss:.4f}"
    action = f"Use correction.sql: log loss {losses} on held-out parts of these rows."
    if correction.log_loss_raw - correction.log_loss < 1e-3 * correction.log_loss_raw:
        action = "Leave them as they are: a correction would change the log loss by less than a thousandth."
    strata = len(about.begins) + 1
    columns = (
        {name: getattr(cut, name) for name in ("kind", "pooled", "pooled_rows")}
        | {"name": cut.column, "cells": cut.count, "strata": -(-strata // cut.coarser)}
        for cut in plan.cuts
    )
    counted: dict[str, Any] = {"columns": tuple(columns)}
    counted["left_out"] = tuple({"name": name, "why": why} for name, why in about.left_out)
    summary = ScanSummary(
        **counted,
        **about.model_dump(include={"kind", "source", "probability", "outcome", "group", "least_rows"}),
        n=everything.n,
        events=float(everything.counts @ everything.correct),
        weighted=about.weight is not None,
        accuracy=Measure(value=accuracy, interval=proportion_interval(accuracy, everything.n / effect, 0.05)),
        confidence=confidence,
        strata=strata,
        pairs=tuple((one.column, two.column) for one, two in plan.pairs),
        findings=findings,
        accounted_for=ledger.accounted,
        values=ledger.values,
        findings_method=FindingsMethod(
            candidates=candidates,
            adjustment=ADJUSTMENT,
            level=LEDGER_DEFAULTS.significance,
            evidence="all",
            n=everything.n,
        ),
        curve=_curve(everything),
        correction=correction,
        answer=Answer(headline=headline, reason=reason, action=action),
        warnings=tuple(_warnings(about, table, findings)),
        questions=len(cells.asked),
        cells=sum(map(len, cells.asked.values())),
        versions={"miscal": metadata.version("miscal")},
        seconds=time.monotonic() - start,
    )
    return Scan(summary, cells)


def _curve(rows: LabelledRows) -> CurveNumbers:
    """Return the reliability curve of strata joined to ten bins of about equal counts."""
    stratum = rows.level.astype(int)
    share = np.cumsum(np.bincount(stratum, rows.counts)) / rows.n
    place = np.minimum(np.ceil(share * _BINS - 1e-9).astype(int) - 1, _BINS - 1)[stratum]
    found = []
    for one in np.unique(place):
        own = rows.take(place == one)
        rate = average(own.correct, own.weight)
        ends = proportion_interval(rate, own.n / effect_of_mean(own), 0.05)
        found.append((average(own.confidence, own.weight), rate, *ends, own.n))
    confidence, accuracy, low, high, n = map(tuple, zip(*found, strict=True))
    return CurveNumbers(confidence=confidence, accuracy=accuracy, low=low, high=high, n=n)


def _warnings(about: Counted, table: CellTable, findings: tuple[Finding, ...]) -> Iterator[str]:
    independent = (
        "every row counts as one that is independent of the others: where rows hang together, as those of a day or of "
        "a person do, intervals are too narrow and findings too many"
    )
    yield f"rows are counted by {about.group}: what has one value of it counts once" if about.group else independent
    yield from about.notes
    if untold := sum(one.corrected is None for one in findings):
        yield (
            f"{untold:,} of the groups have no corrected mean: which of their rows are in other groups, too, would "
            f"tell of fewer than {about.least_rows:,} rows"
        )
    for cut in about.plan.cuts:
        if cut.pooled:
            yield (
                f"{cut.column}: {cut.pooled_rows:,} rows have values of few rows ({cut.pooled:,} such values), and are "
                "in no group"
            )
        if cut.coarser > 1:
            strata = -(-(len(about.begins) + 1) // cut.coarser)
            yield f"{cut.column} has {cut.count:,} cells: it was counted in {strata} strata of the probability"
    pairs, small = len(about.plan.pairs), float(np.mean(table.small or 0))
    if looked_at := not_crossed(pairs + about.uncrossed, pairs, table.settings.pair_rows, small):
        yield looked_at
    if left := len(table.left):
        one = " and ".join(table.left[0])
        yield f"values of {left:,} pairs of columns, as {one}, may differ, but less than those that were tested"
    if len(findings) == SCAN_SETTINGS.max_findings:
        yield f"there may be more than the {len(findings)} findings that are told"
