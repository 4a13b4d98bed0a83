"""The page and the lines of a scan: the numbers of its summary arranged, and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from miscal.base.document import Measure
from miscal.base.number_wording import spoken
from miscal.base.vocabulary import vocabulary
from miscal.discovery.answer import group_name
from miscal.findings.ledger.ledger import Finding
from miscal.findings.ledger.values import ColumnValue
from miscal.report.brief import group_table
from miscal.report.formatting import bounds, count, p_value, points
from miscal.report.frame import environment, render_page
from miscal.report.groups import Curves, Group, drawn_curves
from miscal.report.opening import opening, opening_lines, short_facts
from miscal.report.panels.groups import column_views, forest_axis
from miscal.report.source import printable
from miscal.report.texts import begin
from miscal.runs.scan.document import CELLS, PAGE, SQL, ScanSummary

STYLES = ("base.css", "tables.css", "figures.css", "answer.css", "values.css", "print.css")
PROGRAMS = ("folds.js", "sort.js")
SHOWN = 6
"""Groups in the picture that opens the page, and on a terminal."""
GLOSSARY = (
    (
        "Hidden",
        "How much more or less often the outcome is 1 than in rows of the same stratum of the {probability}, which no "
        "reliability diagram shows. The interval allows for the choice among all groups tested.",
    ),
    (
        "Stratum",
        "Rows of nearly equal {probability}. Strata have about equal counts; their ends come from counts of rows, "
        "never from outcomes.",
    ),
    (
        "Cell",
        "Rows of one stratum and one value of a column, counted where the table lies. All numbers of this page follow "
        "from cells.parquet; `miscal scan cells.parquet` computes them again.",
    ),
)


def build(summary: ScanSummary) -> str:
    """Return the page of a scan: one HTML file without outside resource."""
    shown = printable(summary)
    terms = vocabulary(shown.kind)
    groups = groups_of(shown)
    tables: dict[str, list[ColumnValue]] = {}
    for one in shown.values:
        tables.setdefault(one.column, []).append(one)
    views = column_views(tables)
    words = {"terms": terms, "decimals": 1, "digits": 1 if terms.digits else 0}
    panel = environment().get_template("panels/columns.html")
    columns = panel.render(columns=views, more=len(tables) - len(views), n=shown.n, kind="rows", listed=99, **words)
    first = [_whole(shown), *groups[:SHOWN]]
    return render_page(
        "scan.html",
        STYLES,
        PROGRAMS,
        folder=Path(__file__).parent,
        document=shown,
        **opening(shown.answer),
        rows=first,
        groups=groups,
        curves=_curves(shown),
        along=forest_axis(first),
        listed_along=forest_axis(groups),
        facts=[_facts(one) for one in shown.findings],
        columns=Markup(columns),  # noqa: S704 - its template escapes what it prints
        columns_line=f"{count(len(tables))} columns, {count(len(shown.values))} values",
        glossary=[(word, meaning.format(probability=terms.probability)) for word, meaning in GLOSSARY],
        version=shown.versions.get("miscal"),
        **words,
    )


def groups_of(summary: ScanSummary) -> list[Group]:
    """Return the findings as groups of a table, in their order."""
    return [
        Group(
            number=place,
            name=group_name(one),
            n=one.n,
            predicted=one.confidence,
            happened=one.happened,
            corrected=one.corrected,
            hidden=one.hidden,
            colour="",
            equal=one.expected,
        )
        for place, one in enumerate(summary.findings, start=1)
    ]


def _whole(summary: ScanSummary) -> Group:
    says = summary.confidence
    return Group(0, "all rows", summary.n, says, summary.accuracy, None, Measure(value=None), "all")


def _curves(summary: ScanSummary) -> Curves:
    return drawn_curves([("all", "all rows", {"raw": summary.curve})], (46.0, 352.0), (318.0, 10.0))


def _facts(one: Finding) -> dict[str, Any]:
    return {
        "name": one.description,
        "hidden": f"{points(one.hidden.value)} ({bounds(one.hidden.interval)})",
        "given": f"{points(one.conditional.value)} ({bounds(one.conditional.interval)})",
        "p": p_value(one.p_adjusted),
        "also": "; ".join(one.aliases[:3]),
    }


def scan_lines(summary: ScanSummary, folder: Path | None, *, bars: bool = True) -> Sequence[str]:
    """Write a scan as lines of at most 100 columns."""
    words, groups, dots = vocabulary(summary.kind), groups_of(summary), "…" if bars else "..."
    lines = opening_lines(summary.answer, dots)
    if groups:
        lines += ["", *group_table([_whole(summary), *groups[:SHOWN]], words, bars=bars)]
        if more := len(groups) - SHOWN:
            lines += [f"{more} more"] if more > 0 else []
    counted = f"{count(summary.n)} rows in {count(summary.strata)} strata, {count(summary.cells)} cells"
    facts = [("counted", f"{counted}, {count(summary.questions)} queries")]
    facts += [("note", begin(one)) for one in summary.warnings[:3]]
    if summary.left_out:
        facts.append(("not read", ", ".join(one.name for one in summary.left_out)))
    if folder is not None:
        facts += [("page", str(folder / PAGE)), ("correction", str(folder / SQL)), ("cells", str(folder / CELLS))]
    return [*lines, "", *short_facts(facts, dots, len(lines))]


def scan_markdown(summary: ScanSummary) -> str:
    """Write a scan as GitHub-flavoured markdown."""
    from miscal.base.shown import escaped, markdown_table

    heads = ("group", "rows", "predicted", "happened", "hidden, points", "corrected")
    rows = [
        (escaped(one.name), count(one.n), spoken(one.predicted), spoken(one.happened.value or 0.0),
         f"{points(one.hidden.value)} ({bounds(one.hidden.interval)})",
         "" if one.corrected is None else spoken(one.corrected))
        for one in [_whole(summary), *groups_of(summary)]
    ]  # fmt: skip
    answer = summary.answer
    lines = (f"### {escaped(answer.headline)}", escaped(answer.reason), f"**{escaped(answer.action)}**")
    notes = "\n".join(f"- {escaped(begin(one))}" for one in summary.warnings)
    return "\n\n".join((*lines, markdown_table(heads, rows, numbers=range(1, 6)), notes))
