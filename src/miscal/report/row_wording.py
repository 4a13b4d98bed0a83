"""Name the rows behind the numbers: all rows, or the test rows.

The only place that tells the two apart: every template writes ``words.rows`` and its like.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.data.column_reading import COORDINATE, ColumnReading
from miscal.discovery.summary import Columns, Summary, Units
from miscal.report.formatting import count

#: A regime that holds more of the rows than this is the whole: its panels would repeat those of all rows.
REPEATS = 0.95

#: Columns that new rows need of which the names are written.
MOST_NEEDED = 10


@dataclass(frozen=True)
class RowWords:
    """The evaluation rows, in words.

    `row` and `rows` are one and several of them, `n` their number, `kind` and `of` such as ``" on test rows"`` and ``"
    of test rows"``, empty where they are all rows; `basis` says what the numbers of the page rest on.
    """

    row: str
    rows: str
    n: int
    kind: str
    of: str
    basis: str


def row_words(summary: Summary) -> RowWords:
    """Return what the evaluation rows of a run are called, by its evidence: ``"all"``, ``"test"`` or ``"time"``."""
    n, some, judged = {
        "all": (summary.n, "", "each judged by a fit that never saw its outcome"),
        "time": (later_rows(summary), "later ", "each judged by a fit that had seen only earlier rows"),
    }.get(summary.evidence, (summary.n_test or 0, "test ", "from which nothing was learned"))
    rows, terms = f"{some}rows", vocabulary(summary.kind)
    whole = f"{terms.rate.capitalize()} and {terms.probability} are averages over all {count(summary.n)} rows; "
    sample = "" if summary.n_sample is None else f" The field was learned from {count(summary.n_sample)} of them."
    basis = f"Unless stated otherwise, every number on this page is of {count(n)} {rows}, {judged}.{sample}"
    if some:
        basis = f"{whole}unless stated otherwise, every other number on this page is of {count(n)} {rows}, {judged}."
    units, weights = summary.units, summary.weights
    if units is not None and units.source != "rows":
        basis += f" Intervals and p-values count by {units.unit}: {count(units.n_units)} units."
    if weights is not None:
        basis += f" Means are as precise as those of {weights.n_effective:,.0f} rows of equal weight."
    return RowWords(f"{some}row", rows, n, some and f" on {rows}", some and f" of {rows}", basis)


def later_rows(summary: Summary) -> int:
    """Count the evaluation rows where each is judged by earlier ones: those of every block of time but the first."""
    return 0 if summary.over_time is None else sum(block.n for block in summary.over_time.blocks[1:])


def would_widen(units: Units, most: int = 2) -> str:
    """Say what else hangs together, and is what findings are for; empty where nothing does."""
    known = [f"{shlex.quote(one.column)} would widen intervals {one.widening:.1f} times" for one in units.others]
    return f"--group {', and --group '.join(known[:most])}" if known else ""


@dataclass(frozen=True)
class Slices:
    """Which regimes have panels of their own.

    Those `shown` hold enough rows, but not nearly all of them; `few` hold fewer than a diagram or a table needs;
    `whole` holds nearly all, a `share` of the rows, so that its panels would repeat those of all rows.
    """

    shown: tuple[str, ...]
    few: tuple[str, ...]
    whole: str | None
    share: float


def slices(summary: Summary) -> Slices:
    """Return which regimes have panels of their own."""
    filled = [regime for regime in summary.regimes if regime.n]
    whole = next((regime for regime in filled if regime.share > REPEATS), None)
    return Slices(
        shown=tuple(regime.name for regime in filled if regime is not whole and regime.n >= MIN_SLICE_ROWS),
        few=tuple(regime.name for regime in filled if regime.n < MIN_SLICE_ROWS),
        whole=whole.name if whole else None,
        share=whole.share if whole else 0.0,
    )


def needed_of_new_rows(columns: Columns) -> str:
    """Say what new rows must have to be corrected; nothing where the run does not know it.

    Examples
    --------
    >>> used = {"confidence": "p", "correct": "y", "x": ("topic",), "text": None}
    >>> needed_of_new_rows(Columns(**used, needed=("p", "topic"), embeddings=True))
    "embeddings and the columns 'p', 'topic'"
    """
    if not columns.needed:
        return ""
    more = f", ... ({len(columns.needed)} in all)" if len(columns.needed) > MOST_NEEDED else ""
    shown = ", ".join(map(repr, columns.needed[:MOST_NEEDED]))
    word = "column" if len(columns.needed) == 1 else "columns"
    return f"{'embeddings and ' if columns.embeddings else ''}the {word} {shown}{more}"


def embedding_of(columns: Sequence[ColumnReading]) -> str:
    """Name the columns that are the coordinates of an embedding, which say nothing one by one; empty without any.

    Examples
    --------
    >>> embedding_of([ColumnReading(f"x_{j}", COORDINATE, 90, 0) for j in range(64)])
    'x_0 to x_63 (an embedding of 64 columns)'
    """
    names = [one.name for one in columns if one.read_as == COORDINATE and one.left_out is None]
    return f"{names[0]} to {names[-1]} (an embedding of {len(names):,} columns)" if names else ""
