"""The sheet of a scan: the numbers of its summary, arranged and drawn."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from miscal.base.document import Measure
from miscal.base.vocabulary import vocabulary
from miscal.discovery.answer import group_name
from miscal.findings.ledger.values import ColumnValue
from miscal.report.brief import group_columns
from miscal.report.formatting import bounds, count, metric, p_value, points, rate
from miscal.report.groups import Group, drawn_curves
from miscal.report.panels.groups import column_views, forest_axis
from miscal.report.sheet import Cell, Column, Fold, Forest, Picture, Sheet, Table
from miscal.report.source import printable
from miscal.report.texts import begin
from miscal.runs.scan.document import ScanSummary

SHOWN = 6
"""Groups in the picture that opens the page."""
GLOSSARY = {
    "Hidden": "How much more or less often the outcome is 1 than in rows of the same stratum of the {probability}, "
    "which no reliability diagram shows. The interval allows for the choice among all groups tested.",
    "Stratum": "Rows of nearly equal {probability}. Strata have about equal counts; their ends come from counts of "
    "rows, never from outcomes.",
    "Cell": "Rows of one stratum and one value of a column, counted where the table lies. All numbers of this page "
    "follow from cells.parquet; `miscal scan cells.parquet` computes them again.",
}


def sheet_of(summary: ScanSummary) -> Sheet:
    """Return the sheet of a scan."""
    found = printable(summary)
    terms, method, fitted = vocabulary(found.kind), found.findings_method, found.correction
    whole = Group(0, "all rows", found.n, found.confidence, found.accuracy, None, Measure(value=None), "all")
    groups = [
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
        for place, one in enumerate(found.findings, start=1)
    ]
    given = {one.number: finding for one, finding in zip(groups, found.findings, strict=True)}
    name, *numbers = group_columns(terms)
    columns = [
        replace(name, of=lambda one: Cell(one.name, "; ".join(given[one.number].aliases[:3] if one.number else ()))),
        *numbers,
        Column(
            "beside rows in the same groups above",
            lambda one: _sized(given[one.number].conditional) if one.number else Cell(),
            page=True,
        ),
        Column("adjusted p", lambda one: p_value(given[one.number].p_adjusted) if one.number else "", page=True),
    ]
    listed = Table(columns, [whole, *groups])
    tables: dict[str, list[ColumnValue]] = {}
    for one in found.values:
        tables.setdefault(one.column, []).append(one)
    tested = f"{count(method.candidates)} groups were tested on {count(found.n)} rows."
    independent = "" if found.group else ", if rows are independent"
    empty = f"Where nothing is hidden, it stays empty in at least {rate(1 - method.level)} of data sets{independent}."
    counted = (
        f"{count(found.n)} rows in {count(found.strata)} strata, {count(found.cells)} cells, "
        f"{count(found.questions)} queries"
    )
    left_out = {one.name: f"not counted: {one.why}" for one in found.left_out}
    first = [whole, *groups[:SHOWN]]
    return Sheet(
        "scan",
        found.source,
        found.answer,
        found.kind,
        tables=[listed],
        facts=[("counted", counted), *([("not read", ", ".join(left_out))] if left_out else [])],
        notes=[begin(one) for one in found.warnings],
        pictures=[
            Picture(
                "Reliability of all rows",
                drawn_curves([("all", "all rows", {"raw": found.curve})], (46.0, 352.0), (318.0, 10.0)),
            ),
            Picture(
                "What it says, and what happened",
                Forest(first, forest_axis(first), terms.heads[1], "corrected"),
                f"{SHOWN} of {len(groups)}" if len(groups) > SHOWN else "",
            ),
        ],
        folds=[
            Fold("findings", "All groups", f"{count(len(groups))} beyond chance", [tested, listed, empty]),
            Fold(
                "columns",
                "Columns, value by value",
                f"{count(len(tables))} columns, {count(len(found.values))} values",
                [_values(found, tables)],
            ),
            Fold(
                "making",
                "How this was found",
                method.adjustment,
                [
                    f"Rows were counted where they lie: {counted}. {begin(method.adjustment)}.",
                    {
                        "log loss, as it is": metric(fitted.log_loss_raw),
                        f"by the map alone ({fitted.map.name})": metric(fitted.log_loss_map),
                        f"with {len(fitted.shifts)} shifts": f"{metric(fitted.log_loss)}, on held-out folds; groups "
                        "chosen on all rows",
                        **left_out,
                    },
                ],
            ),
        ],
        glossary={word: meaning.format(probability=terms.probability) for word, meaning in GLOSSARY.items()},
        version=found.versions.get("miscal"),
    )


def _sized(measure: Measure) -> Cell:
    if measure.value is None:
        return Cell()
    ends = bounds(measure.interval)
    return Cell(f"{points(measure.value)}{f' ({ends})' if ends else ''}")


def _values(found: ScanSummary, tables: dict[str, list[ColumnValue]]) -> Markup:
    """Draw the values of the columns, as the page of a run has them."""
    # a terminal needs no templates
    from miscal.report.frame import environment

    terms, views = vocabulary(found.kind), column_views(tables)
    words = {"terms": terms, "decimals": 1, "digits": 1 if terms.digits else 0}
    panel = environment().get_template("panels/columns.html")
    drawn = panel.render(columns=views, more=len(tables) - len(views), n=found.n, kind="rows", listed=99, **words)
    return Markup(drawn)  # noqa: S704 - its template escapes what it prints
