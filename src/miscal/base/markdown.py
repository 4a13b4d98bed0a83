"""What an object shows of itself as GitHub-flavoured markdown, for an issue or the summary of a job."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from miscal.base.shown import LONGEST, Shown

_ACTIVE = re.compile(r"[\\`*_\[\]<>|~&$^]")
"""Characters that could begin markup anywhere in a line."""
_AT_START = re.compile(r"^(\d+(?=[.)])|(?=[#+=-]))")
"""Where a line would become a heading, a list or a rule."""
_NOTHING = "<!-- -->"
"""A comment, which GitHub does not show: it parts what would otherwise become a mention, a reference or a link."""
_LINKED = re.compile(r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=GH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)


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


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[int] = ()) -> str:
    r"""Return a table; the columns whose places are `numbers` are aligned to the right.

    Examples
    --------
    >>> print(table(("value", "rows"), [("a|b", "12")], numbers=(1,)))
    | value | rows |
    |---|---:|
    | a\|b | 12 |
    """
    rule = "".join("---:|" if place in numbers else "---|" for place in range(len(heads)))
    return "\n".join([_row(heads), f"|{rule}", *(_row(one) for one in rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def markdown(shown: Shown) -> str:
    """Return what an object shows of itself, but for its diagram.

    Examples
    --------
    >>> print(markdown(Shown("A run", alarms=("Far off.",), sentences=("Nothing hidden.",), facts=(("rows", "400"),))))
    ### A run
    <BLANKLINE>
    > **Alarm.** Far off.
    <BLANKLINE>
    Nothing hidden.
    <BLANKLINE>
    | | |
    |---|---|
    | rows | 400 |
    """
    bars = "\n".join(f"- **{escaped(one.about)}**: {escaped(one.words)}" for one in shown.bars)
    facts = "\n".join(["| | |", "|---|---|", *map(_row, shown.facts)]) if shown.facts else ""
    return "\n\n".join(
        block
        for block in (
            f"### {escaped(shown.title)}",
            *(f"> **Alarm.** {escaped(one)}" for one in shown.alarms),
            *(escaped(one) for one in shown.sentences),
            bars,
            facts,
        )
        if block
    )
