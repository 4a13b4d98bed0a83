"""Scan: from a table that stays where it is to findings, a correction as SQL, and the cells that both follow from."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
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
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.survey_design import average
from miscal.data.columns import split_names
from miscal.data.counting import Answers, CellSource, Question
from miscal.data.relations import Dialect, only, open_relation, worth_staging
from miscal.discovery.answer import finding_sentence
from miscal.discovery.summary_parts import Answer, CurveNumbers
from miscal.findings.ledger.cells import CellTable, in_units, labelled
from miscal.findings.ledger.groups import PAIR, not_crossed
from miscal.findings.ledger.ledger import ADJUSTMENT, Finding, FindingsMethod, ledger_of
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.residuals import proportion_interval
from miscal.report.sheet import Sheet
from miscal.runs.scan.correction import ScanCorrection, Shifted, fit_correction
from miscal.runs.scan.document import (
    CELLS,
    CORRECTION,
    PAGE,
    PYTHON,
    SQL,
    SUMMARY,
    Cells,
    LeftOut,
    ScanColumn,
    ScanSummary,
    as_python,
    as_sql,
    read_cells,
)
from miscal.runs.scan.plan import checked_rows, found_units, named_columns, plan_of, sums_of
from miscal.runs.scan.sheet import sheet_of
from miscal.runs.settings import ScanOptions

FILES = (CELLS, SUMMARY, CORRECTION, SQL, PYTHON, PAGE)
_BINS = 10
SCAN_SETTINGS = replace(LEDGER_DEFAULTS, max_findings=20)
"""Each finding is one more round of questions."""
_INDEPENDENT = (
    "every row counts as one that is independent of the others: where rows hang together, as those of a day or of a "
    "person do, intervals are too narrow and findings too many"
)


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
        rows = [
            (one.description, one.n, one.confidence, one.accuracy, one.corrected, one.hidden.value,
             *(one.hidden.interval or (None, None)), one.p_adjusted)
            for one in self.summary.findings
        ]  # fmt: skip
        numbers = ("predicted", "happened", "corrected", "hidden", "low", "high", "p_adjusted")
        schema = {"group": pl.String, "rows": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
        return pl.DataFrame(rows, schema=schema, orient="row")

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
            return _write(self, folder, dialect)


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
    roles = {"weight": sums.weight, "count": sums.count, "events": sums.events, "group": sums.group}
    names = ("confidence", "correct") if asked.kind == "answer" else ("probability", "event")
    for what, column in {names[0]: sums.probability, names[1]: sums.event, **roles}.items():
        if column is not None:
            relation.check([column], what)
    opened, stamp = relation, relation.stamp()
    if asked.group in ("auto", "none"):
        asked = replace(asked, group=found_units(relation, sums, asked.least_rows) if asked.group == "auto" else None)
        sums = sums_of(asked)
    relation, outcome_is, notes = checked_rows(relation, sums)
    planned = plan_of(relation, sums, outcome_is, asked.columns, asked.least_rows)
    if not planned.cells.cuts:
        raise InputError(
            f"no column is left whose values may name a finding: name some with {argument('columns', takes='COL,COL')}"
        )
    cuts, size = (
        [*planned.cells.cuts, *(cut for pair in planned.cells.pairs for cut in pair)],
        (planned.n, planned.events),
    )
    about = {
        "kind": asked.kind,
        "source": relation.name,
        "probability": sums.probability,
        "outcome": sums.event or sums.events,
        "weight": sums.weight,
        "group": asked.group,
        "begins": list(planned.begins),
        "left_out": [
            *([name, "has a name that SQL takes for all columns, or for none: rename it"] for name in nameless),
            *map(list, planned.left_out),
        ],
        "notes": list(notes),
        "least_rows": asked.least_rows,
        "terms": list(sums.terms()),
        "uncrossed": planned.uncrossed,
        "plan": {
            "cuts": [asdict(cut) for cut in planned.cells.cuts],
            "pairs": [[asdict(cut) for cut in pair] for pair in planned.cells.pairs],
        },
    }
    answers = None
    if parts:
        made_of = [about, asdict(asked), planned.seen, stamp, *map(digest, relation.files), metadata.version("miscal")]
        answers = Answers(parts, json.dumps(made_of, default=str))
    stage = asked.stage == "always" or (asked.stage == "auto" and worth_staging(relation, planned.n, parts))
    source = CellSource(relation, sums, planned.begins, cuts, outcome_is, size, asked.least_rows, stage, answers)
    found = summarised(Cells(about, planned.cells, source.asked), start, source)
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
    ask, about, plan = ask or cells, cells.about, cells.plan
    words = vocabulary(about["kind"])
    everything, _, _ = labelled(ask(Question()), Question())
    units = about["group"] is not None
    if units:
        everything = in_units(everything, ask(Question(units=True)), None, np.zeros(len(everything), int))
    table = CellTable(plan, ask, SCAN_SETTINGS, units=units)
    ledger = ledger_of(table, settings=SCAN_SETTINGS)
    candidates = table.pairs + int((table.groups.kinds != PAIR).sum())
    places = [table.groups.places[one.condition] for one in ledger.findings]
    rows, splits = table.together(places) if places else (everything, [])
    found = [
        Shifted(
            number,
            table.member(place),
            split,
            table.scores(place),
            effect_of_mean(*table.own(place)),
        )
        for number, (place, split) in enumerate(zip(places, splits, strict=True), start=1)
        if split.inside.any()  # of merged cells, none may be left
    ]
    correction, corrected = fit_correction(rows, found, effect_of_mean(everything, np.ones(len(everything), bool)))
    findings = tuple(
        one.model_copy(update={"corrected": average(corrected[split.inside], rows.mass[split.inside])})
        if round(rows.counts[split.inside].sum()) == one.n
        else one
        for one, split in zip(ledger.findings, splits, strict=True)
    )
    accuracy = average(everything.correct, everything.weight)
    strata = len(about["begins"]) + 1
    weighted = about["weight"] is not None
    summary = ScanSummary(
        kind=about["kind"],
        source=about["source"],
        probability=about["probability"],
        outcome=about["outcome"],
        n=everything.n,
        events=float(everything.counts @ everything.correct),
        weighted=weighted,
        group=about["group"],
        accuracy=Measure(value=accuracy, interval=_interval(everything, accuracy)),
        confidence=average(everything.confidence, everything.weight),
        strata=strata,
        columns=tuple(
            ScanColumn(
                name=cut.column,
                kind=cut.kind,
                cells=cut.count,
                pooled=cut.pooled,
                pooled_rows=cut.pooled_rows,
                strata=-(-strata // cut.coarser),
            )
            for cut in plan.cuts
        ),
        left_out=tuple(LeftOut(name=name, why=why) for name, why in about["left_out"]),
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
        answer=_answer(findings, candidates, accuracy, everything, correction, words),
        warnings=_warnings(cells, table, findings),
        least_rows=about["least_rows"],
        questions=len(cells.asked),
        cells=sum(map(len, cells.asked.values())),
        versions={"miscal": metadata.version("miscal")},
        seconds=time.monotonic() - start,
    )
    return Scan(summary, cells)


def _interval(rows: LabelledRows, accuracy: float) -> tuple[float, float]:
    return proportion_interval(accuracy, rows.n / effect_of_mean(rows, np.ones(len(rows), bool)), 0.05)


def _curve(rows: LabelledRows) -> CurveNumbers:
    """Return the reliability curve of strata joined to ten bins of about equal counts."""
    stratum = rows.level.astype(int)
    share = np.cumsum(np.bincount(stratum, rows.counts)) / rows.n
    place = np.minimum(np.ceil(share * _BINS - 1e-9).astype(int) - 1, _BINS - 1)[stratum]
    found = []
    for one in np.unique(place):
        own = rows.take(place == one)
        rate = average(own.correct, own.weight)
        found.append((average(own.confidence, own.weight), rate, *_interval(own, rate), own.n))
    confidence, accuracy, low, high, n = map(tuple, zip(*found, strict=True))
    return CurveNumbers(confidence=confidence, accuracy=accuracy, low=low, high=high, n=n)


def _answer(
    findings: tuple[Finding, ...],
    candidates: int,
    accuracy: float,
    rows: LabelledRows,
    correction: ScanCorrection,
    words: Vocabulary,
) -> Answer:
    says, many = average(rows.confidence, rows.weight), len(findings)
    averages = words.averages.format(probability=spoken(says), rate=spoken(accuracy))
    things = f"{words.probabilities[0].upper()}{words.probabilities[1:]}"
    groups = "a group" if many == 1 else f"{many} groups"
    headline = f"{things} are off in {groups}, beyond what a reliability diagram of all rows shows."
    gained = correction.log_loss_raw - correction.log_loss
    losses = f"{correction.log_loss_raw:.4f} to {correction.log_loss:.4f}"
    action = f"Use correction.sql: log loss {losses} on held-out parts of these rows."
    if gained < 1e-3 * correction.log_loss_raw:
        action = "Leave them as they are: a correction would change the log loss by less than a thousandth."
    if not many:
        return Answer(
            headline=f"No group was found in which {words.probabilities} are off.",
            reason=f"Of {candidates:,} groups tested on {rows.n:,} rows, none differs from {words.equal_rows()}. "
            f"{averages}",
            action=action,
        )
    return Answer(headline=headline, reason=finding_sentence(findings[0], words), action=action)


def _warnings(cells: Cells, table: CellTable, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    about, group = cells.about, cells.about["group"]
    said = [_INDEPENDENT] if group is None else [f"rows are counted by {group}: what has one value of it counts once"]
    said += about["notes"]
    if untold := sum(one.corrected is None for one in findings):
        said.append(
            f"{untold:,} of the groups have no corrected mean: which of their rows are in other groups, too, would "
            f"tell of fewer than {about['least_rows']:,} rows"
        )
    for cut in cells.plan.cuts:
        if cut.pooled:
            said.append(
                f"{cut.column}: {cut.pooled_rows:,} rows have values of few rows ({cut.pooled:,} such values), and are "
                "in no group"
            )
        if cut.coarser > 1:
            strata = -(-(len(about["begins"]) + 1) // cut.coarser)
            said.append(f"{cut.column} has {cut.count:,} cells: it was counted in {strata} strata of the probability")
    pairs, left = len(cells.plan.pairs), len(table.left)
    looked_at = not_crossed(
        pairs + about["uncrossed"], pairs, table.settings.pair_rows, float(np.mean(table.small or 0))
    )
    said += [looked_at] if looked_at else []
    if left:
        one = " and ".join(table.left[0])
        said.append(f"values of {left:,} pairs of columns, as {one}, may differ, but less than those that were tested")
    if len(findings) == SCAN_SETTINGS.max_findings:
        said.append(f"there may be more than the {len(findings)} findings that are told")
    return tuple(said)


def _write(found: Scan, folder: Path, dialect: Dialect) -> ScanSummary:
    (folder / CELLS).write_bytes(found.cells.to_bytes())
    summary = found.summary.model_copy(update={"digest": digest(folder / CELLS)})
    (folder / SUMMARY).write_text(summary.to_json(), encoding="utf-8")
    content = summary.correction.model_dump(mode="json") | {"probability": summary.probability}
    (folder / CORRECTION).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (folder / SQL).write_text(found.sql(dialect) + "\n", encoding="utf-8")
    (folder / PYTHON).write_text(found.python(), encoding="utf-8")
    (folder / PAGE).write_text(sheet_of(summary).page(), encoding="utf-8")
    return summary
