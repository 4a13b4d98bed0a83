"""The field and the strongest findings over time: means of the rows of each period."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.data.periods import PERIODS, period_starts
from miscal.discovery.fitted_rows import TIME, FittedRows
from miscal.discovery.summary import FindingOverTime, OverTime, PeriodNumbers, TimeBlock
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.enrichment import written_date
from miscal.findings.ledger.sizes import hidden_size, residual_size

MOST_PERIODS = 40
ROWS_OF_A_PERIOD = 50
"""On average, where periods can be so short: fewer rows show nothing but chance."""
MOST_FINDINGS = 6


def over_time(rows: FittedRows, column: str | None) -> OverTime | None:
    """Measure each period of time on the evaluation rows; None where no times are known.

    `rows`: with times, and their findings. `column`: name of the column of times.
    """
    if rows.triples.time is None:
        return None
    evaluated = rows.evaluated
    time = rows.triples.time[evaluated]
    period, starts = periods_of(time)
    times, number = np.unique(starts, return_inverse=True)
    names = [_written(one) for one in times]
    every = np.ones(len(time), dtype=bool)
    findings = tuple(
        FindingOverTime(finding=place, periods=tuple(_periods(rows, number, names, inside[evaluated])))
        for place, inside in enumerate(rows.ledger.members[:MOST_FINDINGS], start=1)
    )
    return OverTime(
        column=column,
        period=period,
        periods=tuple(_periods(rows, number, names, every)),
        findings=findings,
        blocks=_blocks(rows) if rows.evidence == TIME else (),
    )


def periods_of(time: NDArray) -> tuple[str | None, NDArray]:
    """Cut times into periods: the shortest with at most 40 periods, and 50 rows in each on average where that can be.

    `time`, (n,) array of datetime64 or float64. Returns `period`: one of :data:`miscal.data.periods.PERIODS`; None
    where times are numbers; `starts`, (n,) array: when the period of each row began.

    Examples
    --------
    >>> days = np.datetime64("2024-01-01", "s") + 86_400 * np.arange(3_000).astype("timedelta64[s]") // 30
    >>> period, starts = periods_of(days)
    >>> period, len(np.unique(starts)), periods_of(np.repeat([2015.0, 2016.0], 60))[1][[0, -1]].tolist()
    ('week', 15, [2015.0, 2016.0])
    """
    if time.dtype.kind != "M":
        return None, _rounded(time)
    last = PERIODS[-1], period_starts(time, PERIODS[-1])
    for period in PERIODS:
        starts = period_starts(time, period)
        count = len(np.unique(starts))
        if count < 2:
            break
        last = period, starts
        if count <= min(MOST_PERIODS, len(time) / ROWS_OF_A_PERIOD):
            break
    return last


def _rounded(time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round numbers down to a step of 1, 2 or 5 times a power of ten, if there are more than 40 of them."""
    if len(np.unique(time)) <= MOST_PERIODS:
        return time
    least = float(np.ptp(time)) / MOST_PERIODS
    power = 10.0 ** np.floor(np.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return np.floor(time / step) * step


def _periods(
    rows: FittedRows, number: NDArray[np.integer], names: list[str], inside: NDArray[np.bool_]
) -> Iterator[PeriodNumbers]:
    for place, name in enumerate(names):
        some = np.flatnonzero(inside & (number == place))
        if len(some):
            yield _numbers(name, rows.evaluation_rows.take(some), rows.corrected.take(some))


def _numbers(name: str, own: LabelledRows, corrected: LabelledRows) -> PeriodNumbers:
    accuracy, confidence = average(own.correct, own.weight), average(own.confidence, own.weight)
    return PeriodNumbers(
        start=name,
        n=len(own),
        accuracy=accuracy,
        confidence=confidence,
        corrected=average(corrected.confidence, own.weight),
        residual=residual_size(own, SIGNIFICANCE),
        hidden=hidden_size(own, SIGNIFICANCE),
        after=hidden_size(corrected, SIGNIFICANCE),
    )


def _blocks(rows: FittedRows) -> tuple[TimeBlock, ...]:
    time, block = rows.triples.time, rows.fold
    found = (time[block == k] for k in range(int(block.max()) + 1))
    return tuple(TimeBlock(first=_written(own.min()), last=_written(own.max()), n=len(own)) for own in found)


def _written(time: np.datetime64 | np.float64) -> str:
    return written_date(time) if isinstance(time, np.datetime64) else f"{time:.10g}"
