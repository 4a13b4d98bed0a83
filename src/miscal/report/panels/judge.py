"""The judge: how often people would approve, of all answers, of the findings and of each value of a column."""

from typing import Any, NamedTuple

from miscal.base.number_wording import percent
from miscal.discovery.answer import LACKING, rate_sentence, scale_sentence
from miscal.discovery.summary_parts import Rate
from miscal.report.source import Source

HEADS = {"rate": "People would approve", "judge": "The judge says"}
"""Estimates of a row by their names, with their headings."""


class Estimate(NamedTuple):
    """An estimate as a cell of a table: its heading, what it is sorted by, and it and its interval in words."""

    head: str
    key: float
    rate: str
    interval: str


def judge(source: Source) -> dict[str, Any] | None:
    """Return what is shown of a judge; None of a run that has none."""
    numbers = source.summary.judge
    if numbers is None:
        return None
    findings = [one for one in numbers.groups if one.finding is not None]
    others = [one for one in numbers.groups if one.finding is None]
    titled = {"All answers": [numbers.whole], "Where the judge errs": findings, "By value of a column": others}
    tables = {name: rows for name, rows in titled.items() if rows}
    rates = [getattr(row, name) for rows in tables.values() for row in rows for name in HEADS]
    return {
        "lead": rate_sentence(numbers),
        "scale": scale_sentence(numbers),
        "heads": HEADS.values(),
        "tables": {
            title: [(row, [_estimate(head, getattr(row, name)) for name, head in HEADS.items()]) for row in rows]
            for title, rows in tables.items()
        },
        "reasons": sorted({LACKING[rate.lacking] for rate in rates if rate is not None and rate.lacking is not None}),
        "unequal": bool(source.summary.settings.get("source", {}).get("options", {}).get("labelling_probability")),
    }


def _estimate(head: str, rate: Rate | None) -> Estimate:
    if rate is None or rate.estimate is None:
        return Estimate(head, -1, "", "")
    low, high = (percent(end, 1) for end in rate.interval) if rate.interval else ("", "")
    interval = f"{low.removesuffix(' %')} to {high}" if rate.interval else "–"
    return Estimate(head, rate.estimate, percent(rate.estimate, 1), interval)
