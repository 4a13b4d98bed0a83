"""The first screen, with curves and groups; the list of findings; and a table of values for every named column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from miscal.base.arrays import counted
from miscal.base.shown import brief_names
from miscal.base.vocabulary import Vocabulary
from miscal.discovery.summary import Summary
from miscal.findings.conditions.column_kinds import Missing, Trend
from miscal.findings.conditions.condition import TEXT
from miscal.findings.ledger.document import EXPLAINED, FEW_ROWS, FINDING, ColumnValue, Finding
from miscal.findings.ledger.sizes import CORRECTED
from miscal.findings.residuals import EPSILON
from miscal.findings.verdict import fate_words, together_words
from miscal.report import formatting
from miscal.report.brief import alone_line
from miscal.report.drawing import HIGH, SIDES, Chart, Mark, Scale, glance, path, reach_of
from miscal.report.formatting import NBSP, bounds, clean, count, first_sentence, listed, points, short
from miscal.report.frame import ASSETS, COLOURS, Source, View, draw, draw_template
from miscal.report.groups import Group, all_rows, curves_of, first_groups, forest_axis, groups_of, off_by_themselves
from miscal.report.map_data import examples
from miscal.report.sheet import Fold, Picture, opening

FIRST, LEAST = 6, 3
"""Groups of the first screen at most, and at least; the list below has all."""
LONGEST_NAME, WORDS, EACH = 55, 100, 6
"""Characters of a group's name there; words of lines and names beside three groups, and those that each more brings:
the screen holds 200 with everything else."""
CHANGED = 0.0005
"""A correction that moves no group by as much has no column and no switch."""
STATES = {"raw": "as it is", "corrected": "corrected"}


def answer(source: Source) -> Fold:
    """Show the three lines and both pictures."""
    return Fold("answer", "", "", [draw(source, "answer", **first_screen(source.summary))])


def first_screen(summary: Summary) -> dict[str, Any]:
    """Return the three lines and both pictures of a run."""
    every = first_groups(summary)
    groups = off_by_themselves(every)
    names = brief_names([one.name for one in groups[:FIRST]], LONGEST_NAME)
    first = [replace(one, name=name) for one, name in zip(groups, names, strict=False)]
    lines = (summary.answer.headline, summary.answer.reason, summary.answer.action)
    said = alone_line(summary)

    def fits(alone: str, many: int) -> bool:
        texts = (*lines, alone, *(one.name for one in first[:many]))
        return len(re.findall(r"\S*\w\S*", " ".join(texts))) + EACH * (many - LEAST) <= WORDS

    # the groups make room for what may be decided, as far as three of them are left
    for alone in (said, first_sentence(said)[0], ""):
        many = next((many for many in range(len(first), LEAST, -1) if fits(alone, many)), LEAST)
        if fits(alone, many):
            break
    first = first[:many]
    rows = [one for one in (all_rows(summary), *first) if one is not None]
    changed = any(one.corrected is not None and abs(one.corrected - one.predicted) >= CHANGED for one in rows)
    rows = rows if changed else [replace(one, corrected=None) for one in rows]
    curves = curves_of(summary, groups)
    return {
        **opening(summary.answer),
        "alone": alone,
        "curves": curves,
        "several": curves is not None and len(curves.states["raw"]) > 1,
        "rows": rows,
        # all rows alone look far off on an axis of their own
        "along": forest_axis(rows, () if curves is None or groups else (curves.x.low, curves.x.high)),
        "total": len(every),
        "shown": len(first),
        "listed_at": "findings" if summary.findings else "classes",
        "changed": changed,
        "states": STATES,
    }


USED = ("paper", "ink", "muted", "rule", "link", "use", "good", "g1", "g2", "g3")
"""Colours of the first screen."""


THEMES = {
    "light": ('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]'),
    "dark": ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]'),
}
"""How Jupyter, VS Code and Colab say that they are light or dark, whatever the screen is."""


def notebook(summary: Summary) -> str:
    """Return the first screen of a run's page for a notebook: no program, nothing from a network."""
    light, dark = (" ".join(f"--{name}: {COLOURS[name][place]};" for name in USED) for place in range(2))
    # by the theme of the notebook, else by that of the screen
    rules = [f".miscal-run {{ {light} }}", f"@media (prefers-color-scheme: dark) {{ .miscal-run {{ {dark} }} }}"]
    for theme, shades in zip(THEMES.values(), (light, dark), strict=True):
        rules.append(f"{', '.join(f'{one} .miscal-run' for one in theme)} {{ {shades} }}")
    return draw_template(
        "notebook.html",
        summary.kind,
        formatting.decimals_for(formatting.finite(summary.settings.get("epsilon"))),
        style=Markup((ASSETS / "answer.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        colours=Markup("\n".join(rules) + "\n"),  # noqa: S704
        **first_screen(summary),
    )


SHOWN = 20
MAX_EXAMPLES = 3
_LINE = 120
_LEAST_REACH, _MOST_DOTS = 0.05, 300
"""Reach of pictures beside zero at least; values of columns in the one beside a line: those of most rows."""


def findings(source: Source) -> Fold | None:
    """Show the strongest findings; nothing where the run tested no named group."""
    summary = source.summary
    method = summary.findings_method
    if method is None or method.candidates == 0:
        return None
    groups = groups_of(summary, SHOWN)
    rows = _rows(source, groups)
    body = draw(
        source, "findings", groups=groups, rows=rows, along=forest_axis(groups), method=method, corrected=CORRECTED,
        left_out=max(0, len(summary.findings) - SHOWN), accounted=len(summary.accounted_for),
        of_classes=0 if summary.classes is None else len(summary.classes.findings), tables=bool(source.columns),
        kind="test rows" if method.evidence == "test" else "rows",
    )  # fmt: skip
    return Fold("findings", "All groups", "", [body])


def _rows(source: Source, groups: Sequence[Group]) -> list[View]:
    """Return what is shown of each finding once it is opened, its most telling rows among it."""
    summary, found = source.summary, source.summary.findings[:SHOWN]
    telling = examples(source, [one.rows[:MAX_EXAMPLES] for one in found])
    shown = []
    for group, one, rows in zip(groups, found, telling, strict=True):
        trend = one.condition if isinstance(one.condition, Trend) else None
        compared = "Beside rows in the same groups above" if group.number > 1 else ""
        compared = "Its upper third against its lower third" if trend else compared
        view = View(
            finding=one,
            curves=curves_of(summary, [replace(group, colour=group.colour or "plain")]) if group.curves else None,
            examples=rows,
            together=together_words(one, found).removeprefix(", "),
            conditional=compared if one.conditional.value is not None else "",
            trend=_trend(one, trend, source) if trend else None,
            also=_also(one),
            origin=_origin(one),
            odds=odds_in_words(one.odds_ratio, source.terms),
            fate=fate_words(one.fate, one.units_needed),
        )
        shown.append(view)
    return shown


def _also(finding: Finding) -> str:
    """Return other names of its rows, whole, as many as a line holds: a beginning may be that of another name."""
    text = ""
    for one in map(clean, finding.aliases):
        longer = f"{text}; {one}" if text else one
        text = longer if len(longer) <= _LINE else text
    return text


def _origin(finding: Finding) -> str:
    """Say where the group comes from."""
    if finding.source == "named":
        columns = [f"the column {short(column, 40)}" for column in finding.columns if column != TEXT]
        return f"named by {listed([*columns, *(['a term of the texts'] if TEXT in finding.columns else [])], 'and')}"
    return "found from the inputs, then described" if finding.source == "found" else finding.source


def odds_in_words(ratio: float | None, terms: Vocabulary) -> str:
    """Say an odds ratio.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> odds_in_words(0.37, vocabulary("answer")), odds_in_words(2.0, vocabulary("event"))
    ('0.37 times', '2 times')
    """
    if ratio is None:
        return f"not defined: all {terms.equal_rows()} have one outcome"
    return f"{'over 100' if ratio > 100 else f'{ratio:.2g}'} times"


def _trend(finding: Finding, condition: Trend, source: Source) -> Picture | None:
    """Draw how much more often rows are right than rows of equal confidence, along a column; None without its table."""
    column, terms = clean(condition.column), source.terms
    bins = [one for one in source.columns.get(column, ()) if one.hidden.value is not None]
    bins = [one for one in bins if not isinstance(one.condition, Missing)]
    if len(bins) < 2:
        return None
    reach, last = reach_of((one.hidden for one in bins), _LEAST_REACH), len(bins) - 1
    x, y = Scale(0, last, 40.0, 208.0), Scale(-reach, reach, 104.0, 8.0)
    marks = []
    for place, one in enumerate(bins):
        size, ends = points(one.hidden.value, source.decimals), bounds(one.hidden.interval, digits=source.decimals)
        said = f"{one.value}: {count(one.n)} rows, {size} points ({ends})"
        marks.append(Mark(x(place), y(one.hidden.value or 0.0), y.whisker(one.hidden.interval), said))
    chart = Chart(
        *(222, 134, x, y),
        x_ticks=[(x.start - 6, bins[0].value, "start"), (x.stop + 6, bins[-1].value, "end")],
        y_ticks=[(y(share * reach), points(share * reach, 0)) for share in (-1, 0, 1)],
        marks=marks,
        lines=[("curve", path((mark.x, mark.y) for mark in marks))],
        titles=(column, ""),
        inset=6.0,
        signed=True,
    )
    often = "less" if finding.sign == "over" else "more"
    equal = f"rows of equal {terms.probability}"
    drawn = f"Points above and below {equal}, by tenths of the rows, with 95{NBSP}% intervals."
    return Picture(f"The {condition.higher} is, the {often} often {terms.comes_true()}", chart, drawn)


MOST_VALUES, FEWEST_VALUES, MOST_IN_ALL = 100, 10, 2_000
"""Values that a table shows: all tables together stay a small part of the page."""

_RANKS = {FINDING: 0, EXPLAINED: 1_000, FEW_ROWS: 3_000}
"""Order of the marks: findings, what they explain, the rest, and values of few rows."""


def columns(source: Source) -> Fold | None:
    """Show a table for each column; nothing where the run has none."""
    method, tables = source.summary.findings_method, source.columns
    if not tables or method is None:
        return None
    views = column_views(tables, source.epsilon or EPSILON)
    body = draw(
        source, "columns", columns=views, more=len(tables) - len(views), n=method.n,
        kind="test rows" if method.evidence == "test" else "rows", listed=SHOWN,
    )  # fmt: skip
    values = [one for table in tables.values() for one in table]
    found = sum(one.mark == FINDING for one in values)
    of = f"{count(len(values))} values of {counted(len(tables), 'column')}"
    line = f"{of}; {found} of them {'is a finding' if found == 1 else 'are findings'}"
    return Fold("columns", "Columns, value by value", line, [body], _glance(values))


def _glance(values: Sequence[ColumnValue]) -> Chart | None:
    """Draw what is hidden at every value of the columns, beside zero; findings have the colours of their sign."""
    known = sorted((one for one in values if one.hidden.value is not None), key=lambda one: -one.n)[:_MOST_DOTS]
    if not known:
        return None
    reach = max(_LEAST_REACH, *(abs(one.hidden.value) for one in known))
    across, marks = Scale(-reach, reach, *SIDES), []
    for one in sorted(known, key=lambda one: one.mark == FINDING):
        kind = ("under" if one.hidden.value > 0 else "over") if one.mark == FINDING else "other"
        marks.append(Mark(across(one.hidden.value), HIGH / 2, None, "", kind))
    return glance([("zero", f"M{across(0)} 3V25")], marks)


def column_views(tables: Mapping[str, Sequence[ColumnValue]], least: float = EPSILON) -> list[View]:
    """Return what is drawn of columns: of many the first, and of each the values that a page holds; `more` are left.

    A row of a value has what it (`key`) and its mark (`rank`) are sorted by; `sign` is the direction of its hidden
    residual, empty where it is not distinguishable; `faint` whether it has too few rows to say much.
    """
    shown = list(tables.items())[: MOST_IN_ALL // FEWEST_VALUES]
    most = min(MOST_VALUES, max(FEWEST_VALUES, MOST_IN_ALL // max(1, len(shown))))
    return [_column(name, values, most, least) for name, values in shown]


def _column(name: str, values: Sequence[ColumnValue], most: int, least: float) -> View:
    # the values that findings name, and of the others the largest; in the order of the table
    weights = [(one.finding is None, -one.n) for one in values]
    shown = [values[at] for at in sorted(sorted(range(len(values)), key=weights.__getitem__)[:most])]
    # intervals of a few rows would make all others too short to see
    tested = [one for one in shown if one.mark != FEW_ROWS] or shown
    ends = [end for one in tested for size in (one.hidden, one.after) for end in size.interval or ()]
    reach = max([least, *(abs(end) for end in ends if end is not None)])
    axis, ordered = Scale(-reach, reach, 4.0, 156.0), not any(one.is_text for one in values)
    rows = [
        View(
            value=one,
            key=place if ordered else one.value.lower(),
            rank=_RANKS.get(one.mark, 2_000) + (one.finding or 0),
            chart=_bar(one, axis),
            sign=("over" if (one.hidden.value or 0.0) < 0 else "under") if one.mark in (FINDING, EXPLAINED) else "",
            faint=one.mark == FEW_ROWS,
        )
        for place, one in enumerate(shown)
    ]
    findings, explained = (sum(one.mark == mark for one in values) for mark in (FINDING, EXPLAINED))
    about = [counted(len(values), "value"), *([counted(findings, "finding")] if findings else [])]
    about += [f"{explained} explained by findings"] if explained else []
    return View(name=name, rows=rows, more=len(values) - len(shown), ordered=ordered, about=", ".join(about))


def _bar(one: ColumnValue, axis: Scale) -> Chart:
    """Draw what is hidden at a value as a bar with its interval, and as a circle what the correction leaves."""
    lines = [("zero", f"M{axis(0)} 0V16"), ("gap", f"M{axis(0)} 8H{axis.inside(one.hidden.value or 0.0)}")]
    if ends := axis.whisker(one.hidden.interval):
        lines.append(("whisker", f"M{ends[0]} 8H{ends[1]}"))
    left = [] if one.after.value is None else [Mark(axis.inside(one.after.value), 8, None, "", "sure")]
    return Chart(160, 16, marks=left, lines=lines, radius=3)
