"""What an object shows of itself, and its three printings: on a terminal, in a notebook, and as markdown."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

MOST = 24
"""Bars and facts that are shown; more belong on a page of their own."""
LONGEST = 600
"""Characters of one sentence or fact that are shown, so that no column of a user's can make a notebook large."""
WIDTH = 100
"""Columns that sentences are wrapped to."""
_INDENT = 12

# both can be told from a white and from a black ground, and from each other by those who see few colours
_NEGATIVE, _POSITIVE = "#d9622b", "#3b86c8"
# notebooks have rules of their own for tables of numbers
_STYLE = f"""<style>
.miscal-shown {{ font: 13px/1.45 system-ui, sans-serif; max-width: 60em; color: inherit; background: none; }}
.miscal-shown p {{ margin: .4em 0; }}
.miscal-shown .title {{ font-weight: 600; font-size: 15px; }}
.miscal-shown .alarm {{ border-left: 4px solid {_NEGATIVE}; padding-left: .6em; }}
.miscal-shown table {{ border-collapse: collapse; margin: .5em 0; background: none; color: inherit; font: inherit; }}
.miscal-shown tr {{ background: none !important; }}
.miscal-shown td, .miscal-shown th {{ text-align: left !important; vertical-align: top !important;
  padding: 2px 10px 2px 0; border: 0;
  color: inherit; background: none; white-space: normal; font-weight: inherit; min-width: 7em; max-width: 46em; }}
.miscal-shown th {{ opacity: .7; white-space: nowrap; }}
.miscal-shown svg {{ display: block; overflow: visible; }}
</style>"""

_ACTIVE = re.compile(r"[\\`*_\[\]<>|~&$^]")
"""Characters that could begin markup anywhere in a line."""
_AT_START = re.compile(r"^(\d+(?=[.)])|(?=[#+=-]))")
"""Where a line would become a heading, a list or a rule."""
_NOTHING = "<!-- -->"
"""A comment, which GitHub does not show: it parts what would otherwise become a mention, a reference or a link."""
_LINKED = re.compile(r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=GH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)


@dataclass(frozen=True)
class SignedBar:
    """A number with a sign, drawn as a bar from zero: what it is of, and the same in words."""

    about: str
    value: float
    words: str


@dataclass(frozen=True)
class Shown:
    """What an object shows of itself: alarms first; a fact is what it is about, in a word or two, and what is said.

    >>> shown = Shown("A run", sentences=("Nothing <b>bold</b> here.",), facts=(("rows", "400"),))
    >>> print(shown.text())
    A run
    <BLANKLINE>
    Nothing <b>bold</b> here.
    <BLANKLINE>
    rows        400
    >>> "Nothing &lt;b&gt;bold&lt;/b&gt; here." in shown.html()
    True
    """

    title: str
    alarms: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    bars: tuple[SignedBar, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return it as lines for a terminal."""
        alarms = [line for one in self.alarms for line in wrapped(f"ALARM       {_short(one)}")]
        sentences = [line for one in self.sentences for line in wrapped(_short(one), 0)]
        bars = [line for one in self.bars[:MOST] for line in wrapped(_short(f"{one.about}: {one.words}"), 4)]
        shown = [(_short(about), _short(said)) for about, said in _some(self.facts)]
        facts = fact_lines(shown, max([_INDENT, *(len(about) + 2 for about, _ in shown)]))
        blocks = [wrapped(_short(self.title), 0), alarms, sentences, bars, facts]
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def html(self) -> str:
        """Return it as HTML that stands by itself: escaped, without programs, readable on light and dark grounds."""
        largest = max((abs(one.value) for one in self.bars), default=1.0) or 1.0
        bars = [f"<tr><td>{_bar(one, largest)}</td>{_cells(one.about, one.words)}</tr>" for one in self.bars[:MOST]]
        facts = [f"<tr><th>{_safe(about)}</th><td>{_safe(said)}</td></tr>" for about, said in _some(self.facts)]
        parts = [
            _STYLE,
            f'<p class="title">{_safe(self.title)}</p>',
            *(f'<p class="alarm"><b>Alarm.</b> {_safe(one)}</p>' for one in self.alarms),
            *(f"<p>{_safe(one)}</p>" for one in self.sentences),
            _table(bars),
            _table(facts),
        ]
        return f'<div class="miscal-shown">{"".join(parts)}</div>'


class ShowsItself:
    """An object that shows itself: as HTML in notebooks, as text on a terminal.

    Its class has a method `shown` that returns a :class:`Shown`.
    """

    def shown(self) -> Shown:
        """Return what it shows of itself."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.shown().text()

    def _repr_html_(self) -> str:
        return self.shown().html()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = self.shown()
        return {"text/plain": shown.text(), "text/html": shown.html()}


def _some(facts: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    left = len(facts) - MOST
    return facts if left <= 0 else (*facts[:MOST], ("", f"and {left:,} more"))


def _short(text: str) -> str:
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    # what cannot be printed could move the cursor of a terminal, or be no character at all
    return "".join(character if character.isprintable() else " " for character in text)


def _safe(text: str) -> str:
    return html.escape(_short(text))


def _table(rows: list[str]) -> str:
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _cells(about: str, words: str) -> str:
    return f"<td>{_safe(about)}</td><td>{_safe(words)}</td>"


def _bar(one: SignedBar, largest: float) -> str:
    """Draw a bar from the middle: to the left where it is negative."""
    width = round(48 * min(abs(one.value) / largest, 1.0), 1)
    x, colour = (50 - width, _NEGATIVE) if one.value < 0 else (50, _POSITIVE)
    return (
        '<svg width="100" height="16" viewBox="0 0 100 16" role="presentation">'
        f'<rect x="{x}" y="3" width="{width}" height="10" fill="{colour}"/>'
        '<path d="M50 0V16" stroke="currentColor" stroke-opacity=".5"/></svg>'
    )


def first_words(text: str, most: int) -> str:
    """Return the first words of a text, with dots where it has more; signs such as = are no words.

    Examples
    --------
    >>> first_words("humid afternoons in spring", 2), first_words("humid  afternoons", 2)
    ('humid afternoons …', 'humid afternoons')
    >>> first_words("kind = law and model = old", 5)
    'kind = law and model = old'
    """
    words = text.split()
    counted = list(accumulate(any(map(str.isalnum, word)) for word in words))
    return " ".join(words if not counted or counted[-1] <= most else [*words[: counted.index(most + 1)], "…"])


def brief_names(names: Sequence[str], most: int) -> list[str]:
    """Write names in so many characters: without brackets, in signs, without columns, or without words in the middle.

    Two names that would read alike stay whole.

    Examples
    --------
    >>> brief_names(["model = gpt4o-mini and dataset = medical questions", "model = old (9 % are new)"], 34)
    ['gpt4o-mini, medical questions', 'model = old (9 % are new)']
    >>> brief_names(["pressure at least 1012 and seats at most 148"], 30)
    ['pressure >= 1012, seats <= 148']
    >>> brief_names(["visits of old patients in spring"], 22), brief_names(["a = long", "b = long"], 5)
    (['visits of … in spring'], ['a = long', 'b = long'])
    """
    short = [_brief_name(one, most) for one in names]
    return [one if short.count(one) == 1 else name for one, name in zip(short, names, strict=True)]


def _brief_name(name: str, most: int) -> str:
    bare = name.partition(" (")[0].strip()
    signs = bare.replace(" at least ", " >= ").replace(" at most ", " <= ").replace(" and ", ", ")
    values = ", ".join(one.partition(" = ")[2] or one for one in signs.split(", "))
    for one in (name, bare, signs, values):
        if len(one) <= most:
            return one
    half = (most - 1) // 2
    start, end = values[:half], values[-half:]
    return f"{start.rpartition(' ')[0] or start} … {end.partition(' ')[2] or end}"


def wrapped(text: str, indent: int = 12) -> list[str]:
    """Wrap a sentence to lines, all but the first of them indented; words and paths are never broken.

    Examples
    --------
    >>> [len(line) for line in wrapped("ten columns " * 10)]
    [99, 31]
    """
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def fact_lines(facts: Iterable[tuple[str, str]], width: int = 12) -> list[str]:
    """Write facts, each beside what it is about; one that goes on from the fact before stands under nothing.

    Examples
    --------
    >>> fact_lines([("rows", "400"), ("", "of two sets")], width=6)
    ['rows  400', '      of two sets']
    """
    return [line for about, text in facts for line in wrapped(f"{about:<{width}}{text}", width)]


def escaped(text: str, longest: int = LONGEST) -> str:
    r"""Return a text as markdown that shows it and does nothing else: no markup, mention, reference or link.

    Beyond `longest` characters it is cut.

    Examples
    --------
    >>> print(escaped("a_b | <b> by @someone, see #12"))
    a\_b \| \<b\> by @<!-- -->someone, see #<!-- -->12
    >>> print(escaped("- 3 points"), escaped("1. north"))
    \- 3 points 1\. north
    """
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    line = _LINKED.sub("\0", line)
    line = _AT_START.sub(r"\1\\", _ACTIVE.sub(r"\\\g<0>", line))
    return line.replace("\0", _NOTHING)


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[int] = ()) -> str:
    r"""Return a table; the columns whose places are `numbers` are aligned to the right.

    Examples
    --------
    >>> print(markdown_table(("value", "rows"), [("a|b", "12")], numbers=(1,)))
    | value | rows |
    |---|---:|
    | a\|b | 12 |
    """
    rule = "".join("---:|" if place in numbers else "---|" for place in range(len(heads)))
    return "\n".join([_row(heads), f"|{rule}", *(_row(one) for one in rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
