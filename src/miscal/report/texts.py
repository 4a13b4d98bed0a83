"""Shorten and clean texts and settings for a page, and name the rows behind its numbers: all rows, or the test rows.

No other place tells the two apart: every template writes ``words.rows`` and its like.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.data.readers.column_readings import COORDINATE, ColumnReading
from miscal.discovery.summary import Columns, Summary
from miscal.discovery.units import Units
from miscal.report.formatting import MINUS, count, finite, percent

#: Longer lists are cut to their first values, with their full length stated.
MAX_LISTED, FIRST_LISTED = 8, 5
#: Surrogates cannot be written as UTF-8; control characters are errors in HTML.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def clean(text: Any) -> str:
    """Replace everything that HTML or UTF-8 cannot carry by U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", str(text))


def short(text: Any, length: int = 80) -> str:
    """Cut the text to `length` characters with its full length stated where it was cut.

    Examples
    --------
    >>> short("abcdef", 3)
    'abc… (6 characters)'
    """
    text = str(text)
    return clean(text) if len(text) <= length else f"{clean(text[:length])}… ({count(len(text))} characters)"


def first_sentence(text: str) -> tuple[str, str]:
    """Split a text after its first sentence; the rest is empty where there is only one.

    Examples
    --------
    >>> first_sentence("It is late. Go home. Now.")
    ('It is late.', 'Go home. Now.')
    """
    first, stop, rest = text.strip().partition(". ")
    return (f"{first}.", rest.strip()) if stop else (first, "")


def begin(text: str) -> str:
    """Write a phrase as the beginning of a sentence.

    Examples
    --------
    >>> begin("over-confident rows of the UK")
    'Over-confident rows of the UK'
    """
    return text[:1].upper() + text[1:]


def listed(items: Sequence[str], last: str = "or") -> str:
    """Write a list as a sentence has it.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a or b', 'a, b or c')
    """
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def setting(value: Any) -> str:
    """Put any JSON value of the settings into words.

    Examples
    --------
    >>> setting(None), setting(True), setting([1, 0.25]), setting({"a": 1})
    ('not set', 'yes', '1, 0.25', 'a: 1')
    >>> setting(list(range(100)))
    '0, 1, 2, 3, 4, … (100 in all)'
    """
    if value is None or value == "":
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        number = finite(value)
        if number is None:
            return "not defined"
        return (str(value) if isinstance(value, int) else f"{number:.5g}").replace("-", MINUS)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {setting(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _list(value)
    return short(value, 300)


def _list(values: Sequence[Any]) -> str:
    shown = values if len(values) <= MAX_LISTED else values[:FIRST_LISTED]
    rest = [] if len(shown) == len(values) else [f"… ({count(len(values))} in all)"]
    return ", ".join([*(setting(value) for value in shown), *rest]) or "none"


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


def left_out(
    sliced: Slices, names: Mapping[str, str], words: RowWords, what: str, of: Sequence[str] | None = None
) -> str:
    """Say why regimes have no diagram or table of their own, of those `of`; empty where all have one."""
    said, whole = [], sliced.whole
    few = [names[one].lower() for one in sliced.few if of is None or one in of]
    if whole is not None and (of is None or whole in of):
        said.append(
            f"The {names[whole].lower()} regime holds {percent(sliced.share, 0)} of the {words.rows}; its {what} would "
            "be that of all rows and is left out."
        )
    if few:
        have, own = ("s have", "their") if len(few) > 1 else (" has", "its")
        said.append(f"The {listed(few, 'and')} regime{have} too few rows for a {what} of {own} own.")
    return " ".join(said)


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
