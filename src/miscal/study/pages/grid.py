"""Tables as a page shows them: texts, with the values that they are sorted by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from miscal.report.formatting import DASH, count, metric, percent, signed


@dataclass(frozen=True)
class Heading:
    """A column: its heading, whether it holds numbers, and what it means."""

    title: str
    number: bool = True
    hint: str = ""


@dataclass(frozen=True)
class GridCell:
    """A cell: its text, the value that it is sorted by, a link, a second line, and a class."""

    text: str
    key: float | str | None = None
    href: str | None = None
    aside: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of a page.

    Attributes
    ----------
    name : str
        For those who hear the page.
    columns : sequence of Heading
    rows : sequence of sequence of GridCell
        The first cell of a row is its heading.
    note : str
        What stands below it.
    sortable : bool
    """

    name: str
    columns: Sequence[Heading]
    rows: Sequence[Sequence[GridCell]]
    note: str = ""
    sortable: bool = True


def text(value: Any, href: str | None = None) -> GridCell:
    """Write a text, which is sorted by itself."""
    said = DASH if value is None else str(value)
    return GridCell(said, None if value is None else said.lower(), href)


def score(value: float | None, low: float | None = None, high: float | None = None) -> GridCell:
    """Write a score with three decimals, and its interval below it.

    Examples
    --------
    >>> score(0.1234, 0.1, 0.2)
    GridCell(text='0.123', key=0.1234, href=None, aside='0.100 to 0.200', kind='')
    """
    return GridCell(
        metric(value), value, aside="" if low is None or high is None else f"{metric(low)} to {metric(high)}"
    )


def change(value: float | None, low: float | None = None, high: float | None = None) -> GridCell:
    """Write a signed score with three decimals, and its interval below it."""
    ends = "" if low is None or high is None else f"{signed(low, 3)} to {signed(high, 3)}"
    return GridCell(DASH if value is None else signed(value, 3), value, aside=ends)


def share(value: float | None, digits: int = 1) -> GridCell:
    """Write a share as a percentage."""
    return GridCell(percent(value, digits), value)


def whole(value: int | None) -> GridCell:
    """Write a count."""
    return GridCell(count(value), value)


def p(value: float | None) -> GridCell:
    """Write a p-value without its letter.

    Examples
    --------
    >>> p(0.0123).text, p(1e-9).text, p(None).text
    ('0.012', '< 0.001', '\u2013')
    """
    if value is None:
        return GridCell(DASH)
    return GridCell("< 0.001" if value < 0.001 else f"{value:.2g}", value)


def spread(mean: float | None, std: float | None) -> GridCell:
    """Write a mean and a standard deviation.

    Examples
    --------
    >>> spread(0.052, 0.004).text
    '0.052 \u00b1 0.004'
    """
    return GridCell(metric(mean) if std is None else f"{metric(mean)} \u00b1 {metric(std)}", mean)


def report_link(out: Path, pair: str, method: str, *, above: str = "") -> str | None:
    """Return the address of a pair's report; None where there is none.

    Parameters
    ----------
    out : Path
        Folder of the study.
    pair, method : str
    above : str
        From the page to the folder of the study: empty, or ``"../"``.
    """
    inside = Path("pairs") / pair / method / "report.html"
    return f"{above}{quote(inside.as_posix())}" if (out / inside).exists() else None
