"""All that a run says of itself on a terminal, with --verbose, and the words of a finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.number_wording import percent, spoken
from miscal.base.shown import fact_lines, wrapped
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.data.column_reading import COORDINATE, NAMES_ONLY, ColumnReading
from miscal.discovery.summary import Summary
from miscal.discovery.summary_parts import ClassNumbers, GroupRate, JudgeNumbers
from miscal.discovery.wording import confusion_sentence, group_sentence, rate_sentence, scale_sentence, words_of
from miscal.findings.conditions import Trend
from miscal.findings.decisions import acted_on, broken_promise, gain_in_words
from miscal.findings.ledger import SLOPE, Finding
from miscal.findings.verdict import fate_words, in_points, interval_of_size, rises, says, together_words
from miscal.report.formatting import MINUS, bounds, decimals_for, finite, points, size
from miscal.report.row_wording import (
    counted_by,
    embedding_of,
    later_rows,
    needed_of_new_rows,
    row_words,
    sampled,
    weighed,
)
from miscal.report.texts import first_sentence

MOST_FINDINGS, MOST_MODELS, MOST_CLASSES, MOST_COLUMNS = 5, 5, 3, 20
"""Findings, models of a judge, confusions and classes with findings, and columns that are shown of all."""

Facts = list[tuple[str, str]]
"""What something is about, in a word, and what is said of it."""


def summary_lines(summary: Summary, out: Path) -> list[str]:
    """Write all that a run found as lines for a terminal, and where in its folder the report is."""
    words, found = vocabulary(summary.kind), summary.findings
    facts = [
        *(
            (f"finding {place}", f"{one.description}: {finding_words(one, words, found)}")
            for place, one in enumerate(found[:MOST_FINDINGS], start=1)
        ),
        *_more_findings(summary),
        *_classes(summary.classes),
        *_judge(summary.judge),
        *_regimes(summary, words),
        *_correction(summary),
        *_decisions(summary, words),
        *_rows(summary),
        # an alarm among the warnings has been shown first
        *(("warning", warning) for warning in summary.warnings if warning not in summary.alarms),
    ]
    return [
        *(line for alarm in summary.alarms for line in (*wrapped(f"ALARM       {alarm}"), "")),
        *(line for sentence in first_sentence(summary.verdict) for line in wrapped(sentence, indent=0)),
        "",
        *fact_lines(facts),
        # a path is never broken: it is there to be copied
        f"report      {out / 'report.html'}",
    ]


def finding_words(finding: Finding, words: Vocabulary, findings: Sequence[Finding]) -> str:
    """Say of a finding of a list how many rows it has, how far they are off and what the correction leaves of that."""
    slope, left = finding.effect == SLOPE, ""
    if finding.fate is not None:
        after = rises(finding.after, words).replace(MINUS, "-") if slope else _more_often(finding.after, words)
        left = f"; after the correction {after}: {fate_words(finding.fate, finding.units_needed)}"
    if slope:
        off = says(finding, words)
    else:
        rate = words.group_rate.format(words.percent(finding.accuracy))
        ends = " at the lower end" if isinstance(finding.condition, Trend) else ""
        along = f"; {says(finding, words)}" if finding.curve else ""
        off = f"{rate}, {_more_often(finding.before, words)} {words.than_equal_rows()}{ends}{along}"
    return f"{finding.n:,} rows, {off}{together_words(finding, findings)}{left}"


def _more_often(difference: Measure, words: Vocabulary) -> str:
    """Say how much more or less often something comes true: ``"15 points less often (10 to 20)"``."""
    value = difference.value or 0.0
    often = "less often" if value < 0 else "more often"
    between = interval_of_size(value, difference.interval, words.digits).replace(MINUS, "-")
    return f"{in_points(abs(value), words.digits)} {often}{f' ({between})' if between else ''}"


def _more_findings(summary: Summary) -> Facts:
    """Count the findings that are not shown, and the values that the findings explain."""
    facts: Facts = []
    if (more := len(summary.findings) - MOST_FINDINGS) > 0:
        facts.append(("", f"and {more} more in the report and in findings.parquet"))
    if alone := summary.accounted_for:
        what = "1 more value of a column differs" if len(alone) == 1 else f"{len(alone)} more values of columns differ"
        explained = "but the findings above explain this in part or whole: see the tables of the report, or"
        facts.append(("", f"{what}, {explained} `miscal show RUN_DIR --by COL`"))
    return facts


def _classes(numbers: ClassNumbers | None) -> Facts:
    """Say what was found of classes: confusions, the first finding of those with the strongest, and the correction."""
    if numbers is None:
        return []
    with_findings = sorted((one for one in numbers.classes if one.findings), key=lambda one: one.findings[0].p_adjusted)
    looked, many, found = sum(one.looked_at for one in numbers.classes), len(numbers.classes), len(numbers.findings)
    counted = (
        f"{many:,}{'' if looked == many else f', of which {looked:,} were looked at as events'}: "
        f"{f'{found:,}' if found else 'no'} finding{'s' if found > 1 else ''}"
        + (f", {len(numbers.confusions):,} of them confusions" if numbers.confusions else "")
        + (" (`miscal show RUN_DIR --class NAME`)" if found else "")
    )
    losses, accuracy = numbers.log_loss, numbers.accuracy
    return [
        *(("confusion", confusion_sentence(one)) for one in numbers.confusions[:MOST_CLASSES]),
        *(
            (
                "class",
                f"{one.name}, {one.findings[0].description}: "
                f"{finding_words(one.findings[0], words_of(one.name), one.findings)}",
            )
            for one in with_findings[:MOST_CLASSES]
        ),
        (
            "classes",
            f"{counted}; log loss of all classes {losses['raw']:.4g} before, {losses['global map']:.4g} by the global "
            f"map, {losses['corrected']:.4g} after the correction; {spoken(accuracy['raw'])} of the likeliest "
            f"classes are right before, {spoken(accuracy['corrected'])} after",
        ),
    ]


def _judge(numbers: JudgeNumbers | None) -> Facts:
    """Say how often people would approve of all answers and of those of each model, and what scores stand for."""
    if numbers is None:
        return []
    scale = scale_sentence(numbers)
    return [
        ("people", rate_sentence(numbers)),
        *(("model", group_sentence(one)) for one in model_rates(numbers)[:MOST_MODELS]),
        *([("scores", scale)] if scale else []),
    ]


def model_rates(numbers: JudgeNumbers) -> list[GroupRate]:
    """Return the rates of the models, the highest first; those without one last."""
    models = [one for one in numbers.groups if one.column is not None and one.column == numbers.model_column]
    return sorted(models, key=lambda one: -1.0 if one.rate.estimate is None else one.rate.estimate, reverse=True)


def _regimes(summary: Summary, words: Vocabulary) -> Facts:
    rows, decimals = row_words(summary).rows, decimals_for(finite(summary.settings.get("epsilon")))

    def shown(measure: MeasureAgainstNull) -> str:
        between = bounds(measure.interval, digits=decimals)
        return f"{points(measure.value, decimals)} points{f' ({between})' if between else ''}".replace(MINUS, "-")

    facts = []
    for one in summary.regimes:
        if one.name != "good" and one.n >= MIN_SLICE_ROWS:
            name = words.regime(one.name)
            claimed = name if one.confirmed.total else f"estimated to be {name}, but not confirmed,"
            hidden = "" if one.hidden is None else f", of which hidden {shown(one.hidden)}"
            text = f"{words.rate} minus {words.probability} {shown(one.residual)}{hidden}"
            facts.append((one.name, f"{claimed} on {percent(one.share)} of the {rows}: {text}"))
    return facts


def _correction(summary: Summary) -> Facts:
    """Say how far off the confidences are before and after the correction."""
    raw, ours = (summary.correction.get(name) for name in ("raw", "miscal"))
    if raw is None or ours is None or None in (raw.all.smece, ours.all.smece):
        return []
    decimals = decimals_for(finite(summary.settings.get("epsilon")))
    before, after = (size(one.all.smece, decimals) for one in (raw, ours))
    losses = raw.all.log_loss, ours.all.log_loss
    digits = decimals + 2
    lost = "" if None in losses else f"; log loss {losses[0]:.{digits}f} before, {losses[1]:.{digits}f} after"
    return [("correction", f"calibration error {before} points before, {after} after{lost}")]


def _decisions(summary: Summary, words: Vocabulary) -> Facts:
    """Say what acting at the thresholds asked for leads to."""
    lines: Facts = []
    for one in (one for one in summary.decisions if one.source != "grid"):
        lines.append(("threshold", acted_on(one, words)))
        if one.net_benefit is not None:
            lines.append(("", gain_in_words(one.net_benefit, one.threshold, words)))
        if one.findings:
            worst = one.findings[0]
            lines.append(("", broken_promise(worst, summary.findings[worst.finding].phrase, words)))
    return lines


def _rows(summary: Summary) -> Facts:
    """Say how rows were used and counted, what columns were read as, and what new rows need."""
    phrases = (_split(summary), counted_by(summary), weighed(summary))
    left_out = "; ".join(f"{one.name} ({one.left_out})" for one in summary.columns if one.left_out is not None)
    needed = needed_of_new_rows(summary.data.columns)
    facts = {
        "rows": ". ".join(phrase.rstrip(".") for phrase in phrases if phrase),
        "inputs": summary.data.x_source,
        "columns": "; ".join(_columns(summary)),
        "left out": left_out,
        "calibrate": f"will need {needed}" if needed else "",
    }
    return [(about, text) for about, text in facts.items() if text]


def _split(summary: Summary) -> str:
    if summary.n_sample is not None:
        return f"{summary.n:,}. {sampled(summary.n_sample, summary.n)}"
    if summary.evidence == "all":
        return f"{summary.n:,}, each judged by fits that have not seen its outcome"
    if summary.evidence == "time":
        return (
            f"{summary.n:,}. The first {summary.over_time.blocks[0].n:,} in the order of time only teach; "
            f"{later_rows(summary):,} are judged by fits that have seen only earlier rows"
        )
    return f"{summary.n:,} ({summary.n_train:,} train, {summary.n_val:,} validation, {summary.n_test:,} test)"


def _columns(summary: Summary) -> list[str]:
    """Say what columns were read as; the coordinates of an embedding say nothing one by one."""
    used = [one for one in summary.columns if one.left_out is None or one.role == NAMES_ONLY]
    read = [f"{one.name} ({_read_as(one)})" for one in used if one.read_as != COORDINATE]
    more = [f"and {len(read) - MOST_COLUMNS} more in the report"] if len(read) > MOST_COLUMNS else []
    embedding = embedding_of(summary.columns)
    return [*([embedding, *read] if embedding else read)[:MOST_COLUMNS], *more]


def column_lines(summary: Summary) -> list[str]:
    """Write what every column was read as, or why it was left out."""
    wide = max((len(one.name) for one in summary.columns), default=0) + 2
    said = [
        (one.name, _read_as(one) if one.left_out is None else f"left out: {one.left_out}") for one in summary.columns
    ]
    return fact_lines(said, min(wide, 40)) or ["the inputs have no columns with names"]


def _read_as(column: ColumnReading) -> str:
    """Say what a column was read as, and its role."""
    blanks = f", {column.missing:,} blank" if column.missing else ""
    return f"{column.read_as} of {column.levels:,} values{blanks}{f', {column.role}' if column.role else ''}"
