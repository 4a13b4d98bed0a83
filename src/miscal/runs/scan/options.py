"""The options of a scan, of the command line and of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from miscal.base.options import number, parameter


@dataclass(frozen=True)
class ScanOptions:
    """Which column plays which part in a scan, and what is counted."""

    probability: str | None = parameter("Column of the predicted probability of an event, in [0, 1].", metavar="COL")
    event: str | None = parameter(
        "Column that says whether the event happened: 0/1, false/true, or any two values with --positive.",
        metavar="COL",
    )
    confidence: str | None = parameter(
        "Column of the confidence of an answer, instead of --probability.", metavar="COL"
    )
    correct: str | None = parameter("Column of 0 or 1, whether the answer is right, instead of --event.", metavar="COL")
    positive: str | None = parameter("The value of the outcome that counts as 1.", metavar="VALUE")
    columns: Any = parameter(
        "Columns whose values may name a finding: names separated by commas, or auto for every other column.",
        "auto",
        metavar="auto|COL,COL",
    )
    weight: str | None = parameter("Column of weights: for how many rows each stands.", metavar="COL")
    count: str | None = parameter(
        "Column of how many rows each row of the data stands for, with --events instead of --event.", metavar="COL"
    )
    events: str | None = parameter("Column of how many of these --count rows had the event.", metavar="COL")
    group: str | None = parameter(
        "Column of what is counted once, as rows of one day or of one person are; COL:day takes the days of a column "
        "of dates (hour, week, month and year likewise). none counts every row; auto takes a column named like an "
        "identity, or else the days of a column of dates, where these repeat.",
        "auto",
        metavar="auto|none|COL",
    )
    where: str | None = parameter("Condition that rows must meet, in the SQL of the engine.", metavar="EXPR")
    sql: str | None = parameter("Query whose rows are scanned, by DuckDB, instead of SOURCE.", metavar="QUERY")
    least_rows: int = parameter(
        "Merge cells of fewer rows, before anything is computed and before cells are written.",
        1,
        metavar="N",
        parse=number(int, 1),
    )
    stage: Literal["auto", "always", "never"] = parameter(
        "Whether the columns that are counted are first written, as numbers of cells, into a temporary file, of about "
        "20 bytes a row: several times as fast where rows are many. auto does so from a million rows on, with files, "
        "DuckDB and polars, where the disk has room.",
        "auto",
        metavar="auto|always|never",
    )
    show_sql: bool = parameter("Print on standard error what the engine is asked.", False)

    @property
    def kind(self) -> str:
        """Kind of the probability."""
        return "answer" if self.confidence is not None or self.correct is not None else "event"
