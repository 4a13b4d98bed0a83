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


_FOR_ALL = "These candidates were compared for the saved correction, which learned from all rows."
# benchmarks/notes/answered.md
_DEAL = (
    "How rows are dealt moves a single corrected value: in a planted table another seed moved it by 6 points with 500 "
    "rows and by 5 with 2,000 (root mean square; one in twenty by more than 12 and 10), and the saved correction's by "
    "3 and 2."
)


@dataclass(frozen=True)
class RowWords:
    """The evaluation rows, in words.

    `row` and `rows` are one and several of them, `n` their number, `kind` and `of` such as ``" on test rows"`` and ``"
    of test rows"``, empty where they are all rows. Sentences: `basis` says what the numbers of the page rest on,
    `unseen` in which sense nothing was learned from the outcomes counted, `directions` how the directions of errors
    were predicted, `corrected` what the corrections compared were learned from, `candidates` what candidates were
    compared for.
    """

    row: str
    rows: str
    n: int
    kind: str
    of: str
    basis: str
    unseen: tuple[str, str]
    directions: str
    corrected: str
    candidates: str


def row_words(summary: Summary) -> RowWords:
    """Return what the evaluation rows of a run are called, by its evidence: ``"all"``, ``"test"`` or ``"time"``."""
    return {"all": _all_rows, "time": _later_rows}.get(summary.evidence, _test_rows)(summary)


def later_rows(summary: Summary) -> int:
    """Count the evaluation rows where each is judged by earlier ones: those of every block of time but the first."""
    return sum(block.n for block in summary.over_time.blocks[1:])


def sampled(n_sample: int, n: int) -> str:
    """Say that a field was learned from a sample.

    Examples
    --------
    >>> sampled(50_000, 10_000_000)
    'The field was learned from 50,000 of 10,000,000 rows, drawn at random; all rows are evaluated.'
    """
    return f"The field was learned from {n_sample:,} of {n:,} rows, drawn at random; all rows are evaluated."


def counted_by(summary: Summary) -> str:
    """Say what is counted once, where it is no single row, and what that changes.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> day = {"unit": "day of seen", "source": "column", "n_units": 92, "widening": 2.31, "factor": 1.0, "others": ()}
    >>> units = SimpleNamespace(**day)
    >>> counted_by(SimpleNamespace(units=units))
    'Counted by day of seen: 92 units, intervals 2.3 times as wide as by rows.'
    >>> other = SimpleNamespace(column="ptratio", widening=1.8)
    >>> counted_by(SimpleNamespace(units=SimpleNamespace(**day | {"source": "rows", "others": [other]})))
    '--group ptratio would widen intervals 1.8 times.'
    >>> counted_by(SimpleNamespace(units=None))
    ''
    """
    units = summary.units
    if units is None:
        return ""
    others = would_widen(units)
    others = f"{others}." if others else ""
    if units.source == "rows":
        return others
    found = {"near copies": " (equal and nearly equal inputs are one)", "equal inputs": " (equal inputs are one)"}
    coarser = (
        f", a factor of {units.factor:.1f} of it because the outcomes of a {units.coarser} hang together, too"
        if units.factor > 1
        else ""
    )
    return (
        f"Counted by {units.unit}{found.get(units.source, '')}: {units.n_units:,} units, intervals "
        f"{units.widening:.1f} times as wide as by rows{coarser}. {others}"
    ).rstrip()


def would_widen(units: Units, most: int = 2) -> str:
    """Say what else hangs together, and is what findings are for; empty where nothing does."""
    known = [f"{shlex.quote(one.column)} would widen intervals {one.widening:.1f} times" for one in units.others]
    return f"--group {', and --group '.join(known[:most])}" if known else ""


def weighed(summary: Summary) -> str:
    """Say how unequally rows count; empty where no weights were named.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> weights = SimpleNamespace(column="w", n_effective=812.4, largest=0.004)
    >>> weighed(SimpleNamespace(weights=weights))
    'Rows count by their weight (w) in every mean and share; means are as precise as those of 812 rows of equal weight.'
    >>> weighed(SimpleNamespace(weights=None))
    ''
    """
    weights = summary.weights
    if weights is None:
        return ""
    named = "" if weights.column is None else f" ({weights.column})"
    return (
        f"Rows count by their weight{named} in every mean and share; means are as precise as those of "
        f"{weights.n_effective:,.0f} rows of equal weight."
    )


def _all_rows(summary: Summary) -> RowWords:
    cut = "The rows were cut into folds, and the field at the rows of each fold was learned from the other folds. "
    saved = "The saved correction was fitted on all rows; its figures here are the cross-fitted ones."
    if summary.n_sample is not None:
        cut = (
            "The rows of the sample were cut into folds, and the field at the rows of each fold was learned from the "
            "other folds; the field at all other rows was learned from the whole sample, of which they are no part. "
        )
        saved = f"{sampled(summary.n_sample, summary.n)} The saved correction is that field's."
    return RowWords(
        row="row",
        rows="rows",
        n=summary.n,
        kind="",
        of="",
        basis=f"Unless stated otherwise, every number on this page is of all {count(summary.n)} rows, "
        f"and every value of a row comes from a fit that never saw its outcome. {saved}{_and_design(summary)}",
        unseen=(
            "Cross-fitting",
            f"{cut}So every row is evaluated, and no value of a row was learned from its own outcome.",
        ),
        directions="For each row, a field that had not seen its outcome predicted in which direction the model errs.",
        corrected="All corrections are cross-fitted: each row is corrected by one that was learned from other rows, "
        f"and from fewer of them than the saved correction. {_DEAL}",
        candidates=_FOR_ALL,
    )


def _later_rows(summary: Summary) -> RowWords:
    n, blocks, terms = later_rows(summary), summary.over_time.blocks, vocabulary(summary.kind)
    first = f"the first {count(blocks[0].n)} rows, to {blocks[0].last}"
    return RowWords(
        row="later row",
        rows="later rows",
        n=n,
        kind=" on later rows",
        of=" of later rows",
        basis=f"{terms.rate.capitalize()} and {terms.probability} are averages over all {count(summary.n)} rows. "
        f"Unless stated otherwise, every other number on this page is of {count(n)} rows, each judged by a field that "
        f"had seen only earlier rows. The rows were cut into {len(blocks)} blocks in the order of time, and {first}, "
        f"only teach. The saved correction was fitted on all rows.{_and_design(summary)}",
        unseen=(
            "Later rows",
            f"The rows were cut into {len(blocks)} blocks in the order of time, and the field at the rows of each "
            "block was learned from the blocks before it. So every row but those of the first block is evaluated, and "
            "no value of a row was learned from its own outcome or from any later one.",
        ),
        directions="For each row, a field that had seen only earlier rows predicted in which direction the model errs.",
        corrected="Each row is corrected by what was learned of earlier rows; the saved correction has learned from "
        "more.",
        candidates=_FOR_ALL,
    )


def _test_rows(summary: Summary) -> RowWords:
    n, terms = summary.n_test or 0, vocabulary(summary.kind)
    return RowWords(
        row="test row",
        rows="test rows",
        n=n,
        kind=" on test rows",
        of=" of test rows",
        basis=f"{terms.rate.capitalize()} and {terms.probability} are averages over all {count(summary.n)} rows. "
        f"Unless stated otherwise, every other number on this page was measured on the {count(n)} test rows, from "
        "which nothing was learned."
        f"{_and_design(summary)}",
        unseen=(
            "Test rows",
            "Rows that were set aside: nothing was fitted to their outcomes or chosen by them. Unless stated "
            "otherwise, only numbers from test rows count as evidence.",
        ),
        directions="Before the outcomes of the test rows were used, the field predicted in which direction the model "
        "errs on each of them.",
        corrected="No correction has learned from the test rows.",
        candidates="These candidates were compared before the test rows were used.",
    )


def _and_design(summary: Summary) -> str:
    notes = [one for one in (counted_by(summary), weighed(summary)) if one]
    return f" {' '.join(notes)} Every interval and p-value allows for {'both' if notes[1:] else 'it'}." if notes else ""


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
