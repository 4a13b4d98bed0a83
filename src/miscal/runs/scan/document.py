"""What a scan writes: its summary, the cells behind every number, its correction in SQL and Python, and its sheet."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from pprint import pformat

import numpy as np
import polars as pl
from markupsafe import Markup
from pydantic import FiniteFloat, NonNegativeInt, TypeAdapter

from miscal.base.document import Document, Measure, Part, Text
from miscal.base.errors import CorruptFile, FileError, MismatchError
from miscal.base.files import digest
from miscal.base.frames import read_parquet
from miscal.base.vocabulary import Kind, vocabulary
from miscal.calibration.calibrators import LOGIT_CLIP
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.data.counting import Cut, Question
from miscal.data.relations import DATE, TEXT, Dialect, Writer, farthest, odds_of, real, sigmoid, steps, writer_of
from miscal.discovery.answer import group_name
from miscal.discovery.summary import Answer
from miscal.discovery.tables import Tables, by_column
from miscal.findings.ledger.document import ColumnValue, Finding, FindingsMethod
from miscal.report.brief import group_columns
from miscal.report.formatting import begin, count, metric, p_value, printable, rate
from miscal.report.group_panels import column_views
from miscal.report.groups import Group, drawn_curves, forest_axis, group_of
from miscal.report.sheet import Cell, Column, Fold, Forest, Picture, Sheet, Table, measured
from miscal.runs.scan import correct_row
from miscal.runs.scan.correction import ScanCorrection, ScanMap, ScanShift
from miscal.runs.scan.plan import Counted

CELLS, SUMMARY, CORRECTION, SQL, PYTHON, PAGE = (
    "cells.parquet", "summary.json", "correction.json", "correction.sql", "correction.py", "report.html",
)  # fmt: skip
FILES = (CELLS, SUMMARY, CORRECTION, SQL, PYTHON, PAGE)
FORMAT = 4
"""Version of the layout of the cells and of the summary; others are refused."""


class ScanColumn(Part):
    """A column as it was counted.

    `kind`: text, number or date. `cells`: without that of missing values. `pooled, pooled_rows`: values with too few
    rows, and the rows of these, which are in no cell. `strata`: of the probability, in which it was counted.
    """

    name: Text
    kind: str
    cells: NonNegativeInt
    pooled: NonNegativeInt
    pooled_rows: NonNegativeInt
    strata: NonNegativeInt


class LeftOut(Part):
    """A column that was not counted, and why.

    `why`: in words.
    """

    name: Text
    why: Text


class ScanSummary(Document):
    """What a scan found.

    `group`: what is counted once; None where every row is. `accuracy`: share of outcomes that are 1, of the weight
    where rows have weights. `values`: every value of every column. `least_rows`: fewest rows of a cell. `cells`: rows
    of cells.parquet. `digest`: of that file.

    `source`: what was scanned. `probability, outcome`: the columns. `events`: sum of the outcomes. `weighted`: whether
    rows have weights. `strata`: of the probability. `pairs`: columns whose values were tested in pairs. `curve`:
    reliability of all rows. `questions`: queries. `seconds`: how long it took.
    """

    schema_version: int = FORMAT
    kind: Kind
    source: Text
    probability: Text
    outcome: Text
    n: NonNegativeInt
    events: FiniteFloat
    weighted: bool
    group: Text | None
    accuracy: Measure
    confidence: FiniteFloat
    strata: NonNegativeInt
    columns: tuple[ScanColumn, ...]
    left_out: tuple[LeftOut, ...]
    pairs: tuple[tuple[Text, Text], ...]
    findings: tuple[Finding, ...]
    accounted_for: tuple[Finding, ...]
    values: tuple[ColumnValue, ...]
    findings_method: FindingsMethod
    curve: CurveNumbers
    correction: ScanCorrection
    answer: Answer
    warnings: tuple[Text, ...]
    least_rows: NonNegativeInt
    questions: NonNegativeInt
    cells: NonNegativeInt
    digest: str = ""
    versions: dict[str, str]
    seconds: FiniteFloat = 0.0


@dataclass(frozen=True)
class Cells:
    """Everything that a scan counted, and how: what its summary is computed from; `asked`: the answers to questions."""

    about: Counted
    asked: dict[Question, pl.DataFrame]

    def __call__(self, question: Question) -> pl.DataFrame:
        """Return what was counted."""
        if question not in self.asked:
            raise MismatchError(
                "the cells do not hold what is asked of them: they are of another version or were changed; scan the "
                "rows again"
            )
        return self.asked[question]

    def to_bytes(self) -> bytes:
        """Return them as the content of a parquet file."""
        about = self.about.model_dump() | {"format": FORMAT, "questions": [asdict(one) for one in self.asked]}
        head = pl.DataFrame(
            {"question": [-1], "about": [json.dumps(about)]}, schema={"question": pl.Int64, "about": pl.String}
        )
        counted = (one.with_columns(question=pl.lit(k, pl.Int64)) for k, one in enumerate(self.asked.values()))
        stream = io.BytesIO()
        pl.concat([head, *counted], how="diagonal").write_parquet(stream, compression="zstd", statistics=False)
        return stream.getvalue()


def read_cells(path: str | Path) -> Cells:
    """Read the cells of a scan."""
    place = Path(path)
    if not place.is_file():
        raise FileError(f"{place}: no such file; give a folder that `miscal scan` wrote, or its cells.parquet")
    try:
        table = read_parquet(place)
        content = json.loads(table.filter(pl.col("question") == -1)["about"][0])
        if (known := content.pop("format")) != FORMAT:
            raise MismatchError(f"{place} has format {known}; this version reads {FORMAT}: scan the rows again")
        questions = TypeAdapter(tuple[Question, ...]).validate_python(content.pop("questions"))
        about = Counted(**content)
        numbers = table.drop("about").partition_by("question", as_dict=True)
        asked = {one: _answer(numbers[(k,)], one, about) for k, one in enumerate(questions)}
    except MismatchError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise CorruptFile(f"{place} holds no cells of a scan ({first[:200]}): scan the rows again") from error
    return Cells(about, asked)


def _answer(table: pl.DataFrame, question: Question, about: Counted) -> pl.DataFrame:
    """Return the counts of a question; refuse what no scan writes."""
    weighted = about.weight is not None
    terms = list(about.terms)
    if question.units:
        terms = ["n", "y", "e", "s", "v", *(("uw", "we", "ws", "wwv") if weighted else ())]
    elif question.residuals:
        terms = ["n", "y", "e", "v"]
    elif question.only is not None:
        terms = [name for name in ("n", "w", "ww") if name in terms]
    found = table.select(*(pl.col(question.keys).cast(pl.Float64), pl.col(terms).cast(pl.Float64)))
    keys = found.select(question.keys)
    many, right = found["n"], found["y"] if "y" in terms else pl.Series([0.0])
    if not (
        found.select(pl.all_horizontal(pl.all().is_finite().fill_null(False).all())).item()
        and keys.equals(keys.select(pl.all().floor()))
        and not keys.is_duplicated().any()
        and (many > 0).all()
        and (right >= 0).all()
        and (right <= many).all()
    ):
        raise ValueError("there are blanks, or numbers that are no counts")
    return found.with_columns(pl.col(question.keys).cast(pl.Int64))


def write_scan(folder: Path, summary: ScanSummary, cells: Cells, dialect: Dialect) -> ScanSummary:
    """Write cells, summary, correction and page; return the summary with the digest of the cells."""
    (folder / CELLS).write_bytes(cells.to_bytes())
    summary = summary.model_copy(update={"digest": digest(folder / CELLS)})
    found, probability = summary.correction, summary.probability
    content = found.model_dump(mode="json") | {"probability": probability}
    texts = {SUMMARY: summary.to_json(), CORRECTION: json.dumps(content, indent=1) + "\n"}
    texts |= {SQL: f"{as_sql(found, probability, dialect)}\n", PYTHON: as_python(found, probability)}
    for name, text in (texts | {PAGE: sheet_of(summary).page()}).items():
        (folder / name).write_text(text, encoding="utf-8")
    return summary


_TRUTHS = {"True": ("True", "true", "1"), "False": ("False", "false", "0")}
"""How engines write them as texts."""


def as_sql(correction: ScanCorrection, probability: str, dialect: Dialect = "ansi") -> str:
    """Return the corrected probability as one expression over the columns."""
    sql = writer_of(dialect)
    f = sql.as_number(probability)
    return expression(f, correction.map, [_shift(one, sql) for one in correction.shifts])


def expression(f: str, found: ScanMap, shifts: Sequence[str], never: Sequence[str] = ()) -> str:
    """Write a map of a probability and shifts of its log-odds as one expression; NULL where any of `never` holds."""
    base, odds = _mapped(found, f)
    unknown = f"CASE WHEN {' OR '.join([f'{f} IS NULL', f'{f} < 0', f'{f} > 1', *never])} THEN NULL"
    if not shifts:
        return f"{unknown} ELSE {base} END"
    shift = f"({' + '.join(shifts)})"
    return f"{unknown} WHEN {shift} = 0 THEN {base} ELSE {sigmoid(f'({odds}) + {shift}')} END"


def as_python(correction: ScanCorrection, probability: str) -> str:
    """Return a module whose `correct(row)` is the corrected probability."""
    content = {"probability": probability, **correction.model_dump(include={"map", "shifts"})}
    text = pformat(content, width=118, sort_dicts=False, compact=True)
    return inspect.getsource(correct_row).replace("CORRECTION: dict = {}", f"CORRECTION: dict = {text}", 1)


def _mapped(found: ScanMap, f: str) -> tuple[str, str]:
    """Write what the map makes of a probability, and the log-odds of that."""
    end = farthest(LOGIT_CLIP)
    if found.name == "platt":
        line = f"({real(found.slope)} * ({odds_of(f, LOGIT_CLIP)}) + {real(found.intercept)})"
        inside = f"CASE WHEN {line} <= {-end!r} THEN {-end!r} WHEN {line} >= {end!r} THEN {end!r} ELSE {line} END"
        return sigmoid(line), inside
    base = f if found.name == "identity" else steps(f, list(found.knots), list(found.values))
    return base, odds_of(base, LOGIT_CLIP)


def _shift(one: ScanShift, sql: Writer) -> str:
    cuts = [Cut(**column) for column in one.columns]
    if one.scores:
        cases = (f"WHEN {_cells(cuts[0], [k], sql)} THEN {real(one.size * x)}" for k, x in enumerate(one.scores))
        return f"CASE {' '.join(cases)} ELSE {real(0)} END"
    if len(cuts) == 1:
        inside = _cells(cuts[0], [cell for (cell,) in one.cells], sql)
    else:
        both = (" AND ".join(_cells(cut, [k], sql) for cut, k in zip(cuts, pair, strict=True)) for pair in one.cells)
        inside = " OR ".join(f"({pair})" for pair in both)
    yes, no = (0, one.size) if one.others else (one.size, 0)
    return f"CASE WHEN {inside} THEN {real(yes)} ELSE {real(no)} END"


def _cells(cut: Cut, cells: Sequence[int], sql: Writer) -> str:
    """Write which rows are in some cells of a column, as a condition that is never NULL."""
    column, parts = sql.name(cut.column), []
    number = column if cut.kind == DATE else sql.as_number(cut.column)
    # what is not finite is missing. Engines take NaN as the largest number, and DuckDB decides a comparison with the
    # largest one by the ends of a column of Parquet, which are written without NaN
    finite = cut.kind not in (DATE, TEXT)
    if cut.count in cells:
        parts.append(f"COALESCE({number} - {number}, 1) <> 0" if finite else f"{column} IS NULL")
    known = sorted(cell for cell in cells if 0 <= cell < cut.count)
    if cut.kind == TEXT:
        if known:
            parts.append(sql.known(cut.column, sql.one_of(cut.column, _texts(cut, known))))
    elif cut.values and known:
        listed = ", ".join(real(cut.values[cell]) for cell in known)
        parts.append(sql.known(cut.column, f"{number} IN ({listed})"))
    elif known:
        for first, last in _runs(known):
            low, high = (_end(cut, first - 1) if first else "", _end(cut, last) if last < cut.count - 1 else "")
            ends = [f"{number} >= {low}"] * bool(low) + [f"{number} < {high}"] * bool(high)
            ends += [f"COALESCE({number} - {number}, 1) = 0"] * (finite and not (low and high))
            parts.append(sql.known(cut.column, " AND ".join(ends)) if ends else f"{column} IS NOT NULL")
    return f"({' OR '.join(parts)})" if parts else "(1 = 0)"


def _texts(cut: Cut, cells: Sequence[int]) -> list[str]:
    values = [cut.values[cell] for cell in cells]
    return [text for one in values for text in _TRUTHS[one]] if cut.truth else values


def _runs(cells: Sequence[int]) -> list[tuple[int, int]]:
    breaks = [k for k in range(1, len(cells)) if cells[k] != cells[k - 1] + 1]
    return [(cells[a], cells[b - 1]) for a, b in zip([0, *breaks], [*breaks, len(cells)], strict=True)]


def _end(cut: Cut, place: int) -> str:
    if cut.kind != DATE:
        return real(cut.edges[place])
    moment = np.datetime64(int(cut.edges[place]), "s")
    return f"TIMESTAMP '{str(moment).replace('T', ' ')}'" if cut.timed else f"DATE '{str(moment)[:10]}'"


# --- the sheet ----------------------------------------------------------------------------------------------------

SHOWN = 6
"""Groups in the picture that opens the page."""
GLOSSARY = {
    "Hidden": "How much more or less often the outcome is 1 than in rows of the same stratum of the {probability}, "
    "which no reliability diagram shows. The interval allows for the choice among all groups tested.",
    "Stratum": "Rows of nearly equal {probability}. Strata have about equal counts; their ends come from counts of "
    "rows, never from outcomes.",
    "Cell": "Rows of one stratum and one value of a column, counted where the table lies. All numbers of this page "
    "follow from cells.parquet; `miscal scan cells.parquet` computes them again.",
}


def sheet_of(summary: ScanSummary) -> Sheet:
    """Return the sheet of a scan."""
    found = printable(summary)
    terms, method, fitted = vocabulary(found.kind), found.findings_method, found.correction
    whole = Group(0, "all rows", found.n, found.confidence, found.accuracy, None, Measure(value=None), "all")
    groups = [group_of(one, place, group_name(one)) for place, one in enumerate(found.findings, start=1)]
    given = {one.number: finding for one, finding in zip(groups, found.findings, strict=True)}
    name, *numbers = group_columns(terms)
    beside = lambda one: measured(given[one.number].conditional).whole if one.number else ""  # noqa: E731
    columns = [
        replace(name, of=lambda one: Cell(one.name, "; ".join(given[one.number].aliases[:3] if one.number else ()))),
        *numbers,
        Column("beside rows in the same groups above", beside, page=True),
        Column("adjusted p", lambda one: p_value(given[one.number].p_adjusted) if one.number else "", page=True),
    ]
    listed = Table(columns, [whole, *groups])
    tables = by_column(found.values)
    tested = f"{count(method.candidates)} groups were tested on {count(found.n)} rows."
    independent = "" if found.group else ", if rows are independent"
    empty = f"Where nothing is hidden, it stays empty in at least {rate(1 - method.level)} of data sets{independent}."
    counted = (
        f"{count(found.n)} rows in {count(found.strata)} strata, {count(found.cells)} cells, "
        f"{count(found.questions)} queries"
    )
    left_out = {one.name: f"not counted: {one.why}" for one in found.left_out}
    first = [whole, *groups[:SHOWN]]
    return Sheet(
        "scan",
        found.source,
        found.answer,
        found.kind,
        tables=[listed],
        facts=[("counted", counted), *([("not read", ", ".join(left_out))] if left_out else [])],
        notes=[begin(one) for one in found.warnings],
        pictures=[
            Picture(
                "Reliability of all rows",
                drawn_curves([("all", "all rows", {"raw": found.curve})], (46.0, 352.0), (318.0, 10.0)),
            ),
            Picture(
                "What it says, and what happened",
                Forest(first, forest_axis(first), terms.heads[1], "corrected"),
                f"{SHOWN} of {len(groups)}" if len(groups) > SHOWN else "",
            ),
        ],
        folds=[
            Fold("findings", "All groups", f"{count(len(groups))} beyond chance", [tested, listed, empty]),
            Fold(
                "columns",
                "Columns, value by value",
                f"{count(len(tables))} columns, {count(len(found.values))} values",
                [_values(found, tables)],
            ),
            Fold(
                "making",
                "How this was found",
                method.adjustment,
                [
                    f"Rows were counted where they lie: {counted}. {begin(method.adjustment)}.",
                    {
                        "log loss, as it is": metric(fitted.log_loss_raw),
                        f"by the map alone ({fitted.map.name})": metric(fitted.log_loss_map),
                        f"with {len(fitted.shifts)} shifts": f"{metric(fitted.log_loss)}, on held-out folds; groups "
                        "chosen on all rows",
                        **left_out,
                    },
                ],
            ),
        ],
        glossary={word: meaning.format(probability=terms.probability) for word, meaning in GLOSSARY.items()},
        version=found.versions.get("miscal"),
    )


def _values(found: ScanSummary, tables: Tables) -> Markup:
    """Draw the values of the columns, as the page of a run has them."""
    # a terminal needs no templates
    from miscal.report.frame import draw_template

    views = column_views(tables)
    values = {"columns": views, "more": len(tables) - len(views), "n": found.n, "kind": "rows", "listed": 99}
    return draw_template("panels/columns.html", found.kind, 1, **values)
