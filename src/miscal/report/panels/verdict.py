"""How certain it is what was found; alarms and warnings; judges and several classes."""

from functools import partial
from operator import attrgetter

import numpy as np

from miscal.base.arrays import counted
from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit, percent
from miscal.discovery.answer import LACKING, confusion_sentence, rate_sentence, scale_sentence, words_of
from miscal.discovery.summary import ClassEvent
from miscal.evidence.judged_rows import GroupRate
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.verdict import fate_words
from miscal.report import formatting
from miscal.report.drawing import LINEAR_AXES, log_odds_axes
from miscal.report.formatting import DASH, bounds, count, metric, p_value
from miscal.report.frame import View, draw
from miscal.report.sheet import Cell, Column, Fold, Part, Table
from miscal.report.source import Source
from miscal.report.texts import first_sentence, row_words


def notes(source: Source) -> Fold | None:
    """Show the alarms, each its first sentence and the rest, and the warnings; nothing where there are none."""
    summary = source.summary
    alarms = [first_sentence(text) for text in summary.alarms if text.strip()]
    warnings = [text for text in summary.warnings if text.strip() and text not in summary.alarms]
    if not alarms and not warnings:
        return None
    line = f"{counted(len(summary.warnings), 'note')} on the data and on how certain the numbers are"
    line = first_sentence(summary.alarms[0])[0] if summary.alarms else line
    return Fold("notes", "Before you trust this", line, [draw(source, "notes", alarms=alarms, warnings=warnings)])


def verdict(source: Source) -> Fold:
    """Show both limits, and the scores of all evaluation rows before and after the correction."""
    summary, terms, words = source.summary, source.terms, row_words(source.summary)
    proof, smece = summary.certificate, summary.global_.smece
    total = lower_end(proof.lower_bound_total)
    # the field may have nothing to say of an error that smECE shows: one question has one answer
    by_smece = total == 0 and smece.p_value is not None and smece.p_value < SIGNIFICANCE
    limits = (
        _limit(
            label="Miscalibration",
            quantity=f"mean absolute difference between the {terms.probability} and the {terms.chance}",
            low=total,
            p_value=smece.p_value if by_smece else proof.p_value_total,
            proven=by_smece or bool(total),
        ),
        _limit(
            label="Hidden miscalibration",
            quantity=f"mean absolute miscalibration that the {terms.probability} alone does not explain",
            low=lower_end(proof.lower_bound_hidden),
            p_value=proof.p_value,
            proven=proof.claims_hidden,
        ),
    )
    before, after = (summary.correction[name].all if name in summary.correction else None for name in ("raw", "miscal"))
    body = draw(source, "verdict", summary=summary, limits=limits, before=before, after=after)
    line = f"Hidden error: {p_value(proof.p_value)} on {count(proof.n or words.n)} {words.rows}"
    return Fold("verdict", "How certain this is", line, [body])


def _limit(label: str, quantity: str, low: float | None, p_value: float | None, proven: bool) -> View:
    """Return a certificate as shown; its size is in points where it is above zero and what it limits is proven."""
    size = lower_limit(low) if proven and low else ""
    return View(label=label, quantity=quantity, low=low, p_value=p_value, proven=proven, size=size)


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


def judge(source: Source) -> Fold | None:
    """Show tables of all answers, of findings and of values of columns; nothing of a run that has no judge."""
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
    line = rate_sentence(numbers)
    if numbers.whole.agreement is not None:
        columns += [
            Column("kappa", _kappa),
            *(Column(head, partial(_estimate, name)) for name, head in AGREEMENT.items()),
        ]
    return Fold("judge", "How often people would approve", first_sentence(line)[0], [
        f"{line} {scale_sentence(numbers)}".strip(),
        *(Part(title, Table(columns, rows, sortable=True)) for title, rows in titled.items() if rows),
        "People would approve: prediction-powered inference on the corrected judge (Angelopoulos et al., 2023), which "
        "uses the verdicts of people where there are some and the judge everywhere. It holds whatever the judge is "
        f"worth, if the answers that people have judged were chosen at random{given}. Intervals are at 95 %, each for "
        "its own row. The judge's own rate is right only where the judge is. "
        "Kappa is agreement beyond chance (Cohen, 1960); passed and failed: true-positive and true-negative rate."
        f"{''.join(f' A dash in place of an interval: {reason}.' for reason in lacking)}",
    ])  # fmt: skip


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


def classes(source: Source) -> Fold | None:
    """Show every class, and confusions; nothing of a run that has none."""
    numbers = source.summary.classes
    if numbers is None:
        return None
    looked = [one for one in numbers.classes if one.looked_at]
    places = {one.name: place for place, one in enumerate(numbers.classes, start=1)}
    # classes with findings first, those with the strongest at the top
    ordered = sorted(looked, key=lambda one: min((found.p_adjusted for found in one.findings), default=2.0))
    many, confused = len(numbers.findings), numbers.confusions
    line = f"{len(numbers.classes):,} classes, {many:,} findings, {len(confused):,} confusions"
    example = confusion_sentence(confused[0]) if confused else ""
    sections = [_section(one, places[one.name], source.decimals) for one in ordered]
    body = draw(
        source, "classes", numbers=numbers, looked_at=len(looked), places=places, example=example, sections=sections,
        states=STATES,
    )  # fmt: skip
    return Fold("classes", "Classes", line, [body])


def _section(one: ClassEvent, place: int, decimals: int) -> View:
    curves = [] if one.curves is None else [("Before", one.curves.raw), ("After the correction", one.curves.corrected)]
    known = [(when, curve) for when, curve in curves if curve is not None]
    shown = [value for _, curve in known for value in (*curve.confidence, *curve.accuracy)]
    axes = log_odds_axes(np.clip(shown, LOWEST, 1 - LOWEST)) if one.probability < RARE else LINEAR_AXES
    many, terms = len(one.findings), words_of(one.name if len(one.name) <= 20 else f"{one.name[:19]}…")
    said = lambda says, rate, _, n: (  # noqa: E731
        f"{count(n)} rows: model says {formatting.percent(says, decimals)}, it is the label in "
        f"{formatting.percent(rate, decimals)}"
    )
    drawn = [(when, axes.diagram(curve, terms, said)) for when, curve in known]
    found = [(finding, fate_words(finding.fate, finding.units_needed)) for finding in one.findings]
    return View(
        event=one,
        place=place,
        about=f"{one.labels:,} labels, {f'{many} finding' + ('' if many == 1 else 's') if many else 'no finding'}",
        findings=found,
        diagrams=[(when, chart) for when, chart in drawn if chart is not None],
        terms=terms,
    )
