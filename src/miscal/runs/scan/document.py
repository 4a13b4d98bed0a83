"""What a scan writes: its summary, and the cells that every number of it follows from."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Measure, Part, Text
from miscal.base.errors import CorruptFile, FileError, MismatchError
from miscal.base.tables import read_parquet
from miscal.base.vocabulary import Kind, vocabulary
from miscal.data.counting import Member, Question
from miscal.discovery.summary_parts import Answer, CurveNumbers
from miscal.findings.ledger import ColumnValue, Finding, FindingsMethod
from miscal.findings.ledger.cells import CellPlan
from miscal.runs.scan.correction import ScanCorrection
from miscal.runs.scan.plan import stored_cut

CELLS, SUMMARY, CORRECTION, SQL, PYTHON, PAGE = (
    "cells.parquet", "summary.json", "correction.json", "correction.sql", "correction.py", "report.html",
)  # fmt: skip
_ABOUT: dict[str, Any] = dict.fromkeys(("kind", "source", "probability", "outcome"), str)
_ABOUT |= dict.fromkeys(("begins", "left_out", "notes", "terms"), list) | {"uncrossed": int, "least_rows": int}
_ABOUT |= dict.fromkeys(("weight", "group"), str | None)
"""What cells say of themselves."""
FORMAT = 3
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
    """Everything that a scan counted, and how: what its summary is computed from.

    `asked`: the answer to each question. `about`: what was counted, and the parts that columns play.
    """

    about: dict[str, Any]
    plan: CellPlan
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
        questions = list(self.asked)
        about = self.about | {"format": FORMAT, "questions": [asdict(one) for one in questions]}
        head = pl.DataFrame(
            {"question": [-1], "about": [json.dumps(about)]}, schema={"question": pl.Int64, "about": pl.String}
        )
        parts = [head, *(self.asked[one].with_columns(question=pl.lit(k, pl.Int64)) for k, one in enumerate(questions))]
        stream = io.BytesIO()
        pl.concat(parts, how="diagonal").write_parquet(stream, compression="zstd", statistics=False)
        return stream.getvalue()


def read_cells(path: str | Path) -> Cells:
    """Read the cells of a scan."""
    place = Path(path)
    if not place.is_file():
        raise FileError(f"{place}: no such file; give a folder that `miscal scan` wrote, or its cells.parquet")
    try:
        table = read_parquet(place)
        about = json.loads(table.filter(pl.col("question") == -1)["about"][0])
        if about["format"] != FORMAT:
            raise MismatchError(
                f"{place} has format {about['format']}; this version reads {FORMAT}: scan the rows again"
            )
        questions = [_question(one) for one in about["questions"]]
        if wrong := [name for name, kind in _ABOUT.items() if not isinstance(about[name], kind)]:
            raise ValueError(f"{wrong[0]} is not known")
        vocabulary(about["kind"])
        numbers = table.drop("about").partition_by("question", as_dict=True)
        asked = {one: _answer(numbers[(k,)], one, about) for k, one in enumerate(questions)}
        plan = about["plan"]
        cuts = tuple(map(stored_cut, plan["cuts"]))
        cells = CellPlan(cuts, tuple((stored_cut(one), stored_cut(two)) for one, two in plan["pairs"]))
    except MismatchError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise CorruptFile(f"{place} holds no cells of a scan ({first[:200]}): scan the rows again") from error
    return Cells(about, cells, asked)


def _answer(table: pl.DataFrame, question: Question, about: dict[str, Any]) -> pl.DataFrame:
    """Return the counts of a question; refuse what no scan writes."""
    weighted = about["weight"] is not None
    terms = about["terms"]
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


def _question(content: dict[str, Any]) -> Question:
    members = tuple(
        Member(tuple(map(stored_cut, one["cuts"])), tuple(map(tuple, one["cells"])), one["others"], one["apart"])
        for one in content["members"]
    )
    return Question(
        tuple(map(stored_cut, content["cuts"])),
        members,
        content["coarser"],
        content["units"],
        content["only"],
        content["residuals"],
    )
