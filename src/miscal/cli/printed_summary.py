"""The summary of a run in a few lines for a terminal."""

from pathlib import Path

from miscal.discovery.summary import Measure, Regime, Summary
from miscal.report.rows import row_words


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
        Lines to print: alarms, the verdict, what was learned from, the key numbers, warnings, where the report is.
    """
    return [
        *(line for alarm in summary.alarms for line in (f"ALARM       {alarm}", "")),
        summary.verdict,
        "",
        _rows(summary),
        *_inputs(summary),
        f"model       accuracy {_shown(summary.global_.accuracy)}, confidence {_shown(summary.global_.confidence)}",
        *_regimes(summary),
        *_findings(summary),
        *_log_loss(summary),
        *(f"warning     {warning}" for warning in summary.warnings),
        f"report      {out / 'report.html'}",
    ]


def _rows(summary: Summary) -> str:
    if summary.evidence == "all":
        return f"rows        {summary.n:,}, each judged by fits that have not seen its outcome"
    return (
        f"rows        {summary.n:,} ({summary.n_train:,} train, {summary.n_val:,} validation, {summary.n_test:,} test)"
    )


def _inputs(summary: Summary) -> list[str]:
    return [f"inputs      {summary.data.x_source}"] if summary.data.x_source else []


def _shown(measure: Measure) -> str:
    if measure.value is None:
        return "undefined"
    if measure.interval is None:
        return f"{measure.value:.3f}"
    low, high = measure.interval
    return f"{measure.value:.3f} [{low:.3f}, {high:.3f}]"


def _regimes(summary: Summary) -> list[str]:
    rows = row_words(summary).rows
    return [
        f"{regime.name:<12}{regime.share:.0%} of the {rows}, accuracy minus confidence {_shown(regime.residual)}"
        f"{_hidden(regime)}"
        for regime in summary.regimes
        if regime.name != "good" and regime.n
    ]


def _hidden(regime: Regime) -> str:
    return "" if regime.hidden is None else f", of it hidden {_shown(regime.hidden)}"


def _findings(summary: Summary) -> list[str]:
    """Say the three strongest findings, and how many more there are."""
    words = {"over": "less often", "under": "more often"}
    lines = [
        f"finding     {one.description}: {one.n:,} rows, right {one.accuracy:.0%} of the time, "
        f"{abs(100 * one.hidden.value):.0f} points {words[one.sign]} than rows of equal confidence"
        for one in summary.findings[:3]
    ]
    more = len(summary.findings) - len(lines)
    return [*lines, f"            and {more} more findings in findings.parquet"] if more > 0 else lines


def _log_loss(summary: Summary) -> list[str]:
    losses = {name: scores.all.log_loss for name, scores in summary.correction.items()}
    known = [f"{name} {loss:.4f}" for name, loss in losses.items() if loss is not None]
    return [f"log loss    {', '.join(known)}"] if known else []
