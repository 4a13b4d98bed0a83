"""The summary of a run in a few lines for a terminal."""

from pathlib import Path

from miscal.base.document import MeasureAgainstNull
from miscal.base.number_wording import percent
from miscal.base.terminal import fact_lines, wrapped
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.data.column_reading import COORDINATE, NAMES_ONLY, ColumnReading
from miscal.discovery.summary import Regime, Summary
from miscal.findings.decisions import acted_on, broken_promise, gain_in_words
from miscal.report.class_facts import Facts, class_facts
from miscal.report.formatting import MINUS, bounds, points, size
from miscal.report.judge_facts import judge_facts
from miscal.report.precision import decimals_of
from miscal.report.printed_finding import finding_words
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

SHOWN = 5
"""Findings that are printed; the report lists all."""
MOST_COLUMNS = 20
"""Columns that are printed; the report lists all."""


def summary_lines(summary: Summary, out: Path) -> list[str]:
    """Tell what a run found.

    Parameters
    ----------
    summary : Summary
        The run.
    out : Path
        Its folder.

    Returns
    -------
    list of str
        Lines to print: alarms, the verdict, the strongest findings, the regimes, the correction, decisions, the rows
        and inputs, warnings, where the report is.
    """
    return [
        *(line for alarm in summary.alarms for line in (*wrapped(f"ALARM       {alarm}"), "")),
        *(line for sentence in first_sentence(summary.verdict) for line in wrapped(sentence, indent=0)),
        "",
        *fact_lines(finding_facts(summary)),
        *fact_lines(class_facts(summary.classes)),
        *fact_lines(judge_facts(summary.judge)),
        *fact_lines(more_facts(summary)),
        # a path is never broken: it is there to be copied
        f"report      {out / 'report.html'}",
    ]


def more_facts(summary: Summary) -> Facts:
    """Tell of the regimes, the correction, decisions, rows and inputs, and warn."""
    return [
        *_regimes(summary),
        *_correction(summary),
        *_decisions(summary),
        (
            "rows",
            ". ".join(
                phrase.rstrip(".") for phrase in (_rows(summary), counted_by(summary), weighed(summary)) if phrase
            ),
        ),
        *_inputs(summary),
        # an alarm among the warnings has been printed first
        *(("warning", warning) for warning in summary.warnings if warning not in summary.alarms),
    ]


def _rows(summary: Summary) -> str:
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


def _inputs(summary: Summary) -> Facts:
    left_out = [f"{one.name} ({one.left_out})" for one in summary.columns if one.left_out is not None]
    needed = needed_of_new_rows(summary.data.columns)
    return [
        *([("inputs", summary.data.x_source)] if summary.data.x_source else []),
        *([("columns", "; ".join(columns))] if (columns := _columns(summary)) else []),
        *([("left out", "; ".join(left_out))] if left_out else []),
        *([("calibrate", f"will need {needed}")] if needed else []),
    ]


def _columns(summary: Summary) -> list[str]:
    """Say what columns were read as; the coordinates of an embedding say nothing one by one."""
    used = [one for one in summary.columns if one.left_out is None or one.role == NAMES_ONLY]
    read = [f"{one.name} ({_read_as(one)})" for one in used if one.read_as != COORDINATE]
    more = [f"and {len(read) - MOST_COLUMNS} more in the report"] if len(read) > MOST_COLUMNS else []
    embedding = embedding_of(summary.columns)
    read = [embedding, *read] if embedding else read
    return [*read[:MOST_COLUMNS], *more]


def _read_as(column: ColumnReading) -> str:
    """Say what a column was read as, and its role."""
    blanks = f", {column.missing:,} blank" if column.missing else ""
    role = f", {column.role}" if column.role else ""
    return f"{column.read_as} of {column.levels:,} values{blanks}{role}"


def _regimes(summary: Summary) -> Facts:
    rows, words, decimals = row_words(summary).rows, vocabulary(summary.kind), decimals_of(summary)
    return [
        (
            regime.name,
            f"{_claimed(regime, words)} on {percent(regime.share)} of the {rows}: {words.rate} minus "
            f"{words.probability} {_shown(regime.residual, decimals)}{_hidden(regime, decimals)}",
        )
        for regime in summary.regimes
        if regime.name != "good" and regime.n >= MIN_SLICE_ROWS
    ]


def _claimed(regime: Regime, words: Vocabulary) -> str:
    name = words.regime(regime.name)
    return name if regime.confirmed.total else f"estimated to be {name}, but not confirmed,"


def _hidden(regime: Regime, decimals: int) -> str:
    return "" if regime.hidden is None else f", of which hidden {_shown(regime.hidden, decimals)}"


def _shown(measure: MeasureAgainstNull, decimals: int) -> str:
    between = bounds(measure.interval, digits=decimals)
    phrase = f"{points(measure.value, decimals)} points{f' ({between})' if between else ''}"
    return phrase.replace(MINUS, "-")


def finding_facts(summary: Summary) -> Facts:
    """Say the strongest findings, a line each, and how many more there are."""
    lines = [
        (f"finding {place}", f"{one.description}: {finding_words(one, vocabulary(summary.kind), summary.findings)}")
        for place, one in enumerate(summary.findings[:SHOWN], start=1)
    ]
    return [*lines, *more_findings(summary)]


def more_findings(summary: Summary) -> Facts:
    """Count the findings that are not shown, and the values that the findings explain."""
    told: Facts = []
    if (more := len(summary.findings) - SHOWN) > 0:
        told.append(("", f"and {more} more in the report and in findings.parquet"))
    if alone := summary.accounted_for:
        what = "1 more value of a column differs" if len(alone) == 1 else f"{len(alone)} more values of columns differ"
        explained = "but the findings above explain this in part or whole: see the tables of the report, or"
        told.append(("", f"{what}, {explained} `miscal show RUN_DIR --by COL`"))
    return told


def _decisions(summary: Summary) -> Facts:
    """Say what acting at the thresholds asked for leads to."""
    words = vocabulary(summary.kind)
    lines: Facts = []
    for one in (one for one in summary.decisions if one.source != "grid"):
        lines.append(("threshold", acted_on(one, words)))
        if one.net_benefit is not None:
            lines.append(("", gain_in_words(one.net_benefit, one.threshold, words)))
        worst = [broken_promise(told, summary.findings[told.finding].phrase, words) for told in one.findings[:1]]
        lines += [("", text) for text in worst]
    return lines


def _correction(summary: Summary) -> Facts:
    """Say how far off the confidences are before and after the correction."""
    raw, ours = (summary.correction.get(name) for name in ("raw", "miscal"))
    known = raw is not None and ours is not None and None not in (raw.all.smece, ours.all.smece)
    if not known:
        return []
    decimals = decimals_of(summary)
    before, after = (size(one.all.smece, decimals) for one in (raw, ours))
    line = f"calibration error {before} points before, {after} after"
    losses = raw.all.log_loss, ours.all.log_loss
    if None in losses:
        return [("correction", line)]
    return [("correction", f"{line}; log loss {losses[0]:.{decimals + 2}f} before, {losses[1]:.{decimals + 2}f} after")]
