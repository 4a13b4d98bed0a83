"""How certain it is what was found; alarms and warnings; judges and several classes."""

from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit, percent
from miscal.base.vocabulary import Vocabulary
from miscal.discovery.answer import LACKING, confusion_sentence, rate_sentence, scale_sentence, words_of
from miscal.discovery.summary_parts import ClassEvent, GroupRate
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.ledger.ledger import Finding
from miscal.findings.verdict import fate_words
from miscal.report.drawing import LINEAR_AXES, Dot, ProbabilityAxes, log_odds_axes
from miscal.report.formatting import DASH, bounds, count, metric
from miscal.report.sheet import Cell, Column, Part, Table
from miscal.report.source import Source
from miscal.report.texts import first_sentence


@dataclass(frozen=True)
class Limit:
    """A certificate as shown: its lower limit, its p-value, and whether that alone proves something."""

    label: str
    quantity: str
    low: float | None
    p_value: float | None
    proven: bool

    @property
    def size(self) -> str:
        """The limit in points, where it is above zero and what it limits is proven; else empty."""
        return lower_limit(self.low) if self.proven and self.low else ""


def notes(source: Source) -> dict[str, Any] | None:
    """Return the alarms, each its first sentence and the rest, and the warnings; None where there are none."""
    summary = source.summary
    alarms = [first_sentence(text) for text in summary.alarms if text.strip()]
    warnings = [text for text in summary.warnings if text.strip() and text not in summary.alarms]
    return {"alarms": alarms, "warnings": warnings} if alarms or warnings else None


def verdict(source: Source) -> dict[str, Any]:
    """Return limits, and the scores before and after the correction."""
    return {"summary": source.summary, **headline(source)}


def headline(source: Source) -> dict[str, Any]:
    """Return both limits, and the scores of all evaluation rows before and after the correction, None where unknown."""
    summary, terms = source.summary, source.terms
    proof, smece = summary.certificate, summary.global_.smece
    total = lower_end(proof.lower_bound_total)
    # the field may have nothing to say of an error that smECE shows: one question has one answer
    by_smece = total == 0 and smece.p_value is not None and smece.p_value < SIGNIFICANCE
    limits = (
        Limit(
            label="Miscalibration",
            quantity=f"mean absolute difference between the {terms.probability} and the {terms.chance}",
            low=total,
            p_value=smece.p_value if by_smece else proof.p_value_total,
            proven=by_smece or bool(total),
        ),
        Limit(
            label="Hidden miscalibration",
            quantity=f"mean absolute miscalibration that the {terms.probability} alone does not explain",
            low=lower_end(proof.lower_bound_hidden),
            p_value=proof.p_value,
            proven=proof.claims_hidden,
        ),
    )
    before, after = (summary.correction[name].all if name in summary.correction else None for name in ("raw", "miscal"))
    return {"limits": limits, "before": before, "after": after}


def lower_end(bound: Measure) -> float | None:
    """Return a lower limit; None where there is none.

    Examples
    --------
    >>> lower_end(Measure(value=0.12, interval=(0.0949, 1.0)))
    0.0949
    """
    return bound.interval[0] if bound.interval else None


HEADS = {"rate": "People would approve", "judge": "The judge says"}
"""Estimates of a row by their names, with their headings."""
AGREEMENT = {"agreement.true_positive": "passed, of approved", "agreement.true_negative": "failed, of rejected"}
"""The same of what a judge passes and fails: true-positive and true-negative rate."""


def judge(source: Source) -> list[Any] | None:
    """Return tables of all answers, of findings and of values of columns; None of a run that has no judge."""
    numbers = source.summary.judge
    if numbers is None:
        return None
    findings = [one for one in numbers.groups if one.finding is not None]
    others = [one for one in numbers.groups if one.finding is None]
    titled = {"All answers": [numbers.whole], "Where the judge errs": findings, "By value of a column": others}
    rates = [getattr(row, name) for rows in titled.values() for row in rows for name in HEADS]
    lacking = sorted({LACKING[rate.lacking] for rate in rates if rate is not None and rate.lacking is not None})
    options = source.summary.settings.get("source", {}).get("options", {})
    given = ", with the probabilities that were given" if options.get("labelling_probability") else ""
    columns = [
        Column("answers", "name"),
        Column("how many", "rate.n", count),
        Column("judged by people", "rate.n_labelled", count),
        *(Column(head, partial(_estimate, name)) for name, head in HEADS.items()),
    ]
    if numbers.whole.agreement is not None:
        columns += [
            Column("kappa", _kappa),
            *(Column(head, partial(_estimate, name)) for name, head in AGREEMENT.items()),
        ]
    return [
        f"{rate_sentence(numbers)} {scale_sentence(numbers)}".strip(),
        *(Part(title, Table(columns, rows, sortable=True)) for title, rows in titled.items() if rows),
        "People would approve: prediction-powered inference on the corrected judge (Angelopoulos et al., 2023), which "
        "uses the verdicts of people where there are some and the judge everywhere. It holds whatever the judge is "
        f"worth, if the answers that people have judged were chosen at random{given}. Intervals are at 95 %, each for "
        "its own row. The judge's own rate is right only where the judge is. "
        "Kappa is agreement beyond chance (Cohen, 1960); passed and failed: true-positive and true-negative rate."
        f"{''.join(f' A dash in place of an interval: {reason}.' for reason in lacking)}",
    ]


def _estimate(name: str, row: GroupRate) -> Cell:
    """Write an estimate of a row, and its interval below it."""
    rate = attrgetter(name)(row)
    if rate is None or rate.estimate is None:
        return Cell(DASH, key=-1)
    low, high = (percent(end, 1) for end in rate.interval) if rate.interval else ("", "")
    interval = f"{low.removesuffix(' %')} to {high}" if rate.interval else DASH
    return Cell(percent(rate.estimate, 1), interval, key=rate.estimate)


def _kappa(row: GroupRate) -> Cell:
    kappa = row.agreement.kappa if row.agreement else Measure(value=None)
    return Cell(metric(kappa.value, 2), bounds(kappa.interval, "metric", 2), key=kappa.value)


RARE, LOWEST = 0.05, 1e-3
"""Mean probability below which a diagram is drawn in log-odds, as on linear axes its dots would lie in a corner; and
the probability at which such axes end at least."""

STATES = {"raw": "As given", "global map": "By the global map", "corrected": "Corrected"}


class ClassSection(NamedTuple):
    """A class that was looked at, its place on the page, and its findings, each with its fate in words."""

    event: ClassEvent
    place: int
    about: str
    findings: list[tuple[Finding, str]]
    axes: ProbabilityAxes
    diagrams: list[tuple[str, list[Dot]]]
    terms: Vocabulary


def classes(source: Source) -> dict[str, Any] | None:
    """Return what is shown of classes; None of a run that has none."""
    numbers = source.summary.classes
    if numbers is None:
        return None
    looked = [one for one in numbers.classes if one.looked_at]
    places = {one.name: place for place, one in enumerate(numbers.classes, start=1)}
    # classes with findings first, those with the strongest at the top
    ordered = sorted(looked, key=lambda one: min((found.p_adjusted for found in one.findings), default=2.0))
    return {
        "numbers": numbers,
        "looked_at": len(looked),
        "places": places,
        "example": confusion_sentence(numbers.confusions[0]) if numbers.confusions else "",
        "sections": [_section(one, places[one.name]) for one in ordered],
        "states": STATES,
    }


def _section(one: ClassEvent, place: int) -> ClassSection:
    curves = [] if one.curves is None else [("Before", one.curves.raw), ("After the correction", one.curves.corrected)]
    known = [(when, curve) for when, curve in curves if curve is not None]
    shown = [value for _, curve in known for value in (*curve.confidence, *curve.accuracy)]
    axes = log_odds_axes(np.clip(shown, LOWEST, 1 - LOWEST)) if one.probability < RARE else LINEAR_AXES
    many = len(one.findings)
    found = [(finding, fate_words(finding.fate, finding.units_needed)) for finding in one.findings]
    return ClassSection(
        event=one,
        place=place,
        about=f"{one.labels:,} labels, {f'{many} finding' + ('' if many == 1 else 's') if many else 'no finding'}",
        findings=found,
        axes=axes,
        diagrams=[(when, axes.dots(curve)) for when, curve in known],
        terms=words_of(one.name if len(one.name) <= 20 else f"{one.name[:19]}…"),
    )
