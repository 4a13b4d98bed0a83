"""A sheet: the result of a command as one value, and its printings as page, terminal, notebook and markdown.

To show a result, fill a :class:`Sheet`: three lines, facts, tables, charts, and folds of the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from miscal.base.document import Measure
from miscal.base.shown import WIDTH, Shown, SignedBar, brief_names, escaped, markdown_table
from miscal.base.vocabulary import ANSWER, Kind
from miscal.discovery.summary import Answer
from miscal.report.drawing import Chart, Scale
from miscal.report.formatting import FORMS, MINUS, NBSP, THIN, bounds, clean
from miscal.report.groups import Curves, Group

LABEL = 13
"""Columns of what a fact is about, on a terminal."""
MOST_LINES, MOST_EACH = 30, 3
"""Lines on a terminal of a whole result, but for `miscal show`; and of one of the three lines, or of a fact."""
PATHS = ("page", "table", "cells", "correction", "next", "written to")
"""What a path or a command stands beside, which is never cut."""
_OBEYED = re.compile("[\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
"""Characters that turn the direction of a line, or end it."""


def opening(answer: Answer) -> dict[str, Any]:
    """Return three lines for a page: what is done stands apart from why."""
    lead, _, rest = answer.action.partition(":")
    return {"answer": answer, "lead": lead if rest else "", "rest": rest or answer.action}


def opening_lines(answer: Answer, dots: str = "…") -> list[str]:
    """Return three lines for a terminal, wrapped, each to three at most."""
    three = (one.replace("…", dots) for one in (answer.headline, answer.reason, answer.action))
    return [line for one in three for line in filled(one, WIDTH, MOST_EACH, dots)]


def aligned(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write a table as lines: the first column is of texts, the others are of numbers.

    Examples
    --------
    >>> aligned(("group", "rows"), [("all", "40"), ("a longer name", "1,200")])
    ['group           rows', 'all               40', 'a longer name  1,200']
    """
    table = [heads, *rows]
    widths = [max(columns_of(row[at]) for row in table) for at in range(len(heads))]
    return [
        "  ".join(_padded(*one) for one in zip(range(len(heads)), row, widths, strict=True)).rstrip() for row in table
    ]


def short_facts(facts: Sequence[tuple[str, str]], dots: str = "…", above: int = 0) -> list[str]:
    """Write facts beside what they are about, each in three lines at most; a path or a command is never broken.

    `above`: lines that stand above them. Where there is no more room, a fact has one line.

    Examples
    --------
    >>> short_facts([("rows", "40 of 50"), ("page", "run/report.html")])
    ['rows         40 of 50', 'page         run/report.html']
    """
    lines, spare = [], max(0, MOST_LINES - above - 1 - len(facts))
    for about, said in facts:
        most = min(MOST_EACH, 1 + spare)
        texts = [said] if about in PATHS else filled(said, WIDTH - LABEL, most, dots)
        spare -= len(texts) - 1
        lines += [f"{'' if at else about:<{LABEL}}{text}" for at, text in enumerate(texts)]
    return lines


def cut(text: str, most: int, dots: str = "…") -> str:
    """Cut a text at a word, where it is too long for its place, or within its first one.

    Examples
    --------
    >>> cut("a long name", 8), cut("anotherlongname", 8), cut("short", 8), cut("a long name", 9, "...")
    ('a long …', 'another…', 'short', 'a ...')
    """
    text = tidy(text)
    if columns_of(text) <= most:
        return text
    first, _, _ = text.partition(" ")
    if columns_of(first) > most - len(dots) - 1:
        return f"{_beginning(text, most - len(dots))}{dots}"
    return f"{_beginning(text, most - len(dots)).rpartition(' ')[0]} {dots}"


def filled(text: str, width: int, most: int, dots: str = "…") -> list[str]:
    """Wrap a text to lines of so many columns, so many lines at most; a word that is longer than a line is broken.

    Examples
    --------
    >>> filled("one two three four", 9, 2), filled("one two three", 9, 2), filled("abcdefgh", 5, 2)
    (['one two', 'three …'], ['one two', 'three'], ['abcde', 'fgh'])
    """
    lines, rest = [], tidy(text)
    while rest and len(lines) < most - 1 and columns_of(rest) > width:
        part = _beginning(rest, width)
        if rest[len(part)] != " " and " " in part:
            part = part.rpartition(" ")[0]
        lines.append(part)
        rest = rest[len(part) :].lstrip()
    return [*lines, *([cut(rest, width, dots)] if rest else [])]


def tidy(text: str) -> str:
    """Write a text in one line without what a terminal would obey."""
    return _OBEYED.sub("\ufffd", clean(" ".join(text.split())))


def columns_of(text: str) -> int:
    """Count the columns that a text takes on a terminal.

    Examples
    --------
    >>> columns_of("word"), columns_of("文字"), columns_of("e\u0301")
    (4, 4, 1)
    """
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def _beginning(text: str, most: int) -> str:
    """Return as much of a text as stands in so many columns."""
    taken = 0
    for end, one in enumerate(text):
        taken += columns_of(one)
        if taken > most:
            return text[:end]
    return text


def _padded(at: int, cell: str, width: int) -> str:
    space = " " * (width - columns_of(cell))
    return f"{cell}{space}" if at == 0 else f"{space}{cell}"


MOST_ROWS, MOST_NOTES, SPARE = 9, 3, 4
"""Rows of its table, and notes, that a sheet has on a terminal; and lines that long notes take of those of the rows."""
NAME, LEAST, NAME_LINES, BLOCKS = 40, 16, 3, 4
"""Columns of the name of a row on a terminal at most and at least, its lines, and blocks of a bar to either side."""
STYLES = ("base.css", "tables.css", "figures.css", "answer.css", "values.css", "print.css")
PROGRAMS = ("element.js", "order.js", "sort.js", "folds.js")

Facts = Sequence[tuple[str, str]]
"""What a fact is about, in a word or two, and what is said."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, what stands below it on a page, a class of styles, a chart.

    `size` draws a bar; `key` is what a page sorts it by, `href` where its text leads to.
    """

    text: str = ""
    aside: str = ""
    kind: str = ""
    chart: Chart | None = None
    size: float | None = None
    key: float | str | None = None
    href: str | None = None

    @property
    def whole(self) -> str:
        """Its text, and what stands below it in brackets."""
        return f"{self.text} ({self.aside})" if self.aside else self.text


def measured(one: Measure, form: str = "points", *digits: int) -> Cell:
    """Write a number with its interval beside it, in one of the forms of numbers."""
    return Cell(FORMS[form](one.value, *digits), bounds(one.interval, form, *digits))


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, what it is of, and what writes that.

    `of` is the name of a field of the rows, with dots for those within, or a function of a row. `number`: whether it
    stands to the right. `page`: whether pages alone have room for it. `drawn`: whether its cells are charts. `hint`:
    what a page says of the heading.
    """

    head: str
    of: str | Callable[[Any], Any]
    write: Callable[[Any], str] = str
    number: bool = True
    page: bool = False
    drawn: bool = False
    hint: str = ""

    def cell(self, row: Any) -> Cell:
        """Write the cell of a row."""
        value = attrgetter(self.of)(row) if isinstance(self.of, str) else self.of(row)
        return value if isinstance(value, Cell) else Cell(self.write(value), key=value)


@dataclass(frozen=True)
class Table:
    """Rows of anything, and the columns that are shown of them, of which the first names the row.

    `left` counts rows that are not among them; `sortable`: whether headings of its page sort it. `note` stands below
    it, and `name` is for those who cannot see where it stands.
    """

    columns: Sequence[Column]
    rows: Sequence[Any]
    left: int = 0
    sortable: bool = False
    name: str = ""
    note: str = ""

    def cells(self, *, page: bool = False) -> list[list[Cell]]:
        """Write the cells of every row; those that pages alone have, if `page`."""
        shown = self.shown(page=page)
        return [[column.cell(row) for column in shown] for row in self.rows]

    def shown(self, *, page: bool = False) -> list[Column]:
        """Return the columns that are shown."""
        return [column for column in self.columns if page or not (column.page or column.drawn)]

    def lines(self, most: int | None = None, dots: str = "…") -> list[str]:
        """Return its first rows as lines for a terminal; long names take several."""
        heads, rows = [column.head for column in self.shown()], self.cells()[:most]
        reach = max((abs(one.size or 0.0) for row in rows for one in row), default=0.0) or 1.0
        texts = [[_written(one, reach, dots) for one in row[1:]] for row in rows]
        for place in range(len(heads) - 1):
            if any(row[place + 1].size is not None for row in rows):
                # bars stand below each other
                longest = max(len(row[place]) for row in texts)
                texts = [[*row[:place], f"{row[place]:<{longest}}", *row[place + 1 :]] for row in texts]
        wide = sum(2 + max(map(len, column)) for column in zip(heads[1:], *texts, strict=True))
        limit = max(LEAST, min(NAME, WIDTH - wide))
        names = brief_names([row[0].text for row in rows], (NAME_LINES - 1) * limit)
        lines: list[tuple[str, ...]] = []
        for name, cells in zip([heads[0], *names], [heads[1:], *texts], strict=True):
            first, *more = filled(name.replace("…", dots), limit, NAME_LINES, dots) or [""]
            lines += [(first, *cells), *((line, *[""] * len(cells)) for line in more)]
        return aligned(lines[0], lines[1:])

    def markdown(self) -> str:
        """Return it as GitHub-flavoured markdown."""
        columns = self.shown()
        rows = [[plain(one.whole) for one in row] for row in self.cells()]
        numbers = [place for place, column in enumerate(columns) if place and column.number]
        return markdown_table([column.head for column in columns], rows, numbers=numbers)


@dataclass(frozen=True)
class Forest:
    """Groups on one axis: what was said, what happened, and a third number, each with its heading."""

    groups: Sequence[Group]
    along: Scale
    says: str
    third: str = ""


@dataclass(frozen=True)
class Picture:
    """A drawing with its title, and what stands beside the title; without a drawing it says why."""

    title: str
    drawn: Chart | Curves | Forest | str
    aside: str = ""


@dataclass(frozen=True)
class Part:
    """A block of a page with a title above it."""

    title: str
    block: Any


@dataclass(frozen=True)
class Fold:
    """A section of a page, which is one line until it is opened, with a `picture` beside it; without a line it is open.

    Its blocks are tables, pictures and parts; texts, which stand above a table if they come first, else below it;
    lists of notes; facts by what they are about; and markup, which is put in as it is. `unfolded`: it is open at first.
    """

    name: str
    title: str
    line: str
    blocks: Sequence[Any]
    picture: Chart | None = None
    unfolded: bool = False


@dataclass(frozen=True)
class Sheet:
    """The result of a command.

    `command` and `name` say what it is of, `kind` of what the probabilities are. Of the `tables`, terminals have room
    for the first, notebooks and markdown for all. `pictures` open the page, and `folds` follow; the notes and the
    `glossary` get a fold each. `alarm`: whether the headline is one. `marks` explain the last characters of what they
    are about, where these stand in the table; `more` says where the other rows are.
    """

    command: str
    name: str
    answer: Answer
    kind: Kind = ANSWER
    tables: Sequence[Table] = ()
    facts: Facts = ()
    notes: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    folds: Sequence[Fold] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    alarm: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)
    more: str = "see the page"
    decimals: int = 1
    version: str | None = None

    @property
    def title(self) -> str:
        """What it is, in a line."""
        return f"{self.command.capitalize()} of {self.name}"

    def lines(self, files: Facts = (), *, bars: bool = True, every: bool = False) -> list[str]:
        """Return it as lines for a terminal, thirty at most but for `every` row; `files` says where more is.

        `bars`: whether the terminal has the characters that bars are drawn with.
        """
        dots = "…" if bars else "..."
        lines = opening_lines(self.answer, dots)
        notes = [("note", one) for one in self.notes[:MOST_NOTES]]
        if more := len(self.notes) - len(notes):
            notes.append(("", f"{more} more: {self.more}"))
        facts = [(about, plain(said)) for about, said in (*self.facts, *notes, *files)]
        wanted, marks = min(len(short_facts(facts, dots)), len(facts) + SPARE), []
        for table in self.tables[:1]:
            for most in range(len(table.rows) if every else min(len(table.rows), MOST_ROWS), 0, -1):
                written = table.lines(most, dots)
                if more := len(table.rows) + table.left - most:
                    written.append(f"{more} more: {self.more}")
                # a mark is explained where it stands
                marks = [(about, said) for about, said in self.marks.items() if about[-1] in "".join(written)]
                if every or len(lines) + len(written) + len(marks) + wanted + 2 <= MOST_LINES or most <= 2:
                    lines += ["", *written]
                    break
        return [*lines, "", *short_facts([*marks, *facts], dots, 0 if every else len(lines))]

    def text(self) -> str:
        """Return it as text."""
        return "\n".join(self.lines())

    def html(self) -> str:
        """Return it as HTML for a notebook."""
        three = [one for one in (self.answer.headline, self.answer.reason, self.answer.action) if one]
        bars = []
        for table in self.tables:
            heads = [column.head for column in table.shown()]
            for name, *cells in table.cells():
                said = [f"{head} {one.whole}" for head, one in zip(heads[1:], cells, strict=True) if one.text]
                size = next((one.size for one in cells if one.size is not None), 0.0)
                bars.append(SignedBar(name.whole, size, "; ".join(said)))
        return Shown(
            self.title,
            alarms=tuple(three[:1] if self.alarm else ()),
            sentences=tuple(three[1:] if self.alarm else three),
            bars=tuple(bars),
            facts=(*self.facts, *(("note", one) for one in self.notes)),
        ).html()

    def markdown(self) -> str:
        """Return it as GitHub-flavoured markdown, for an issue or the summary of a job."""
        answer = self.answer
        headline = f"> **Alarm.** {escaped(answer.headline)}" if self.alarm else escaped(answer.headline)
        facts = [*self.marks.items(), *self.facts, *(("note", one) for one in self.notes)]
        said = "\n".join(f"- **{escaped(about)}**: {escaped(plain(text))}" for about, text in facts)
        action = f"**{escaped(answer.action)}**" if answer.action else ""
        tables = [table.markdown() for table in self.tables if table.rows]
        blocks = (f"### {escaped(self.title)}", headline, escaped(answer.reason), action, *tables, said)
        return "\n\n".join(block for block in blocks if block)

    def page(self) -> str:
        """Return its page: one HTML file without outside resource, always the same text."""
        # a terminal needs no templates
        from miscal.report.frame import page_words, render_page

        folds = [*self.folds]
        if self.notes:
            folds.append(Fold("notes", "Before you trust this", self.notes[0], [list(self.notes)]))
        if self.glossary:
            folds.append(Fold("glossary", "Words and signs", ", ".join(self.glossary), [self.glossary]))
        return render_page(
            "page.html",
            STYLES,
            PROGRAMS,
            command=self.command,
            name=self.name,
            pictures=self.pictures,
            folds=folds,
            doors=[one.name for one in folds],
            version=self.version,
            **page_words(self.kind, self.decimals),
            **opening(self.answer),
        )


def _written(one: Cell, reach: float, dots: str) -> str:
    """Write a cell, and draw its size as a bar from the middle."""
    if one.size is None:
        return plain(one.text)
    bar = ("█" if dots == "…" else "#") * max(1, round(BLOCKS * abs(one.size) / reach))
    drawn = f"{bar:>{BLOCKS}}{'':{BLOCKS}}" if one.size < 0 else f"{'':{BLOCKS}}{bar:<{BLOCKS}}"
    return f"{drawn} {plain(one.text)}"


def plain(text: str) -> str:
    """Write a number of a page with the characters that every terminal has.

    Examples
    --------
    >>> plain("−20.0 to +10.0"), plain("62\u202f%")
    ('-20.0 to +10.0', '62 %')
    """
    return text.replace(MINUS, "-").replace(THIN, " ").replace(NBSP, " ")
