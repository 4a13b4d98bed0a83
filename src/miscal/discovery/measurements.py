"""Measure the numbers of a run on rows that nothing was learned from, in all and over time.

`rows` are the evaluation rows, and `regime` is an array of object of shape (n,): ``"over"``, ``"good"``, ``"under"``,
or None where the field is no local estimate. `seed` is that of the bootstrap and of the null draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.document import Measure, number
from miscal.base.folds import PERIODS, period_starts
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.curve import CurveNumbers, CurvePair, curve_of
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS, GapNumbers, gap_of, slice_number
from miscal.calibration.metrics.inference import DRAWS, METRICS, ErrorEstimate, correction_metrics, smece_of
from miscal.calibration.metrics.scores import log_losses, mean_of_values, squared_errors
from miscal.calibration.survey_design import average, correlation, spread
from miscal.discovery import summary
from miscal.discovery.fitted_rows import TIME, FittedRows
from miscal.discovery.summary import Score
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.enrichment import written_time
from miscal.findings.judging import REGIMES, judge_regimes
from miscal.findings.ledger.sizes import hidden_size, residual_size

BINS, BINS_OF_FINDINGS = 15, 8
HISTOGRAM_BINS = 40
"""Of the reliability curves and of the histogram: for the eye only."""
OURS = "miscal"
"""Name of miscal's own correction among those that are compared."""


EXTREME = 0.02
"""A probability nearer to 0 or 1 than this differs from them by its log-odds alone. A convention."""


MOST_PERIODS = 40
ROWS_OF_A_PERIOD = 50
"""On average, where periods can be so short: fewer rows show nothing but chance."""
MOST_FINDINGS = 6


def share_extreme(rows: LabelledRows) -> float:
    """Return the share of rows whose confidence is near 0 or 1."""
    return average((np.abs(rows.confidence - 0.5) > 0.5 - EXTREME).astype(float), rows.weight)


def global_numbers(rows: LabelledRows, everyone: LabelledRows | None = None, *, seed: int) -> summary.Global:
    """Measure the evaluation rows; accuracy and confidence, which nothing is learned for, are of all rows.

    `everyone`: all rows, where others do not evaluated.
    """
    of = dict.fromkeys(METRICS, rows)
    if everyone is not None:
        of |= dict.fromkeys(("accuracy", "confidence"), everyone)
    scores = {name: metric.estimate_of(of[name], DRAWS, seed) for name, metric in METRICS.items()}
    return summary.Global(**{name: score if name == "smece" else Measure.of(score) for name, score in scores.items()})


def weight_numbers(weights: np.ndarray | None, column: str | None = None) -> summary.WeightNumbers | None:
    """Say how unequally rows count; None where they count alike because no weights are named.

    `weights`, float64 (n,): of the evaluation rows. `column`: that names them.

    Examples
    --------
    >>> found = weight_numbers(np.array([1.0, 1.0, 2.0]))
    >>> round(found.n_effective, 2), found.largest
    (2.67, 0.5)
    """
    if weights is None:
        return None
    share = weights / weights.sum()
    return summary.WeightNumbers(column=column, n_effective=1 / float(share @ share), largest=float(share.max()))


def field_numbers(
    rows: LabelledRows, regime: np.ndarray, supported: np.ndarray, *, visible: np.ndarray, structure: bool
) -> summary.FieldNumbers:
    """Describe the estimated field over the evaluation rows.

    `supported`, bool (n,): whether enough of the rows learned from lie nearby. `visible`, float64 (n,): the visible
    part of the field, in [-1, 1]; positive: under-confident. `structure`: whether the estimator claims local structure.
    Returns the correlation is null where delta or the confidence is constant.
    """
    weights = rows.weight
    return summary.FieldNumbers(
        mean=number(average(rows.delta, weights)),
        std=number(spread(rows.delta, weights)),
        std_visible=number(spread(visible, weights)),
        std_hidden=number(spread(rows.hidden, weights)),
        share_over=average(regime == "over", weights),
        share_under=average(regime == "under", weights),
        share_unsupported=average(~supported, weights),
        correlation_with_confidence=correlation(rows.delta, rows.confidence, weights),
        structure=structure,
    )


def regime_numbers(
    rows: LabelledRows,
    regime: np.ndarray,
    *,
    seed: int | None,
    located: bool = True,
    contents: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[summary.Regime, ...]:
    """Measure each regime on evaluation rows: over, good, under; the numbers of an empty one are null.

    `seed`: of the bootstrap and of the null draws of smECE; None leaves smECE out. `located`: whether the claim is,
    without which nothing that is hidden is confirmed. `contents`: what else is said of a regime, by its name.
    """
    found = []
    for name, judged in judge_regimes(rows, regime).items():
        own = rows.take(regime == name)
        values = {"accuracy": own.correct, "confidence": own.confidence, "brier": (own.correct - own.confidence) ** 2}
        if not located:
            judged["confirmed"] = judged["confirmed"].model_copy(update={"hidden": False})
        one = summary.Regime(
            name=name,
            n=len(own),
            share=average(regime == name, rows.weight),
            **{of: average(each, own.weight) if len(own) else None for of, each in values.items()},
            **judged,
            smece=ErrorEstimate(value=None) if seed is None else smooth_ece(own, seed=seed),
            **(contents or {}).get(name, {}),
        )
        found.append(one)
    return tuple(found)


def smooth_ece(rows: LabelledRows, *, seed: int) -> ErrorEstimate:
    """Measure smECE with its interval, noise floor and p-value; all null where there are no rows."""
    return smece_of(rows, DRAWS, seed) if len(rows) else ErrorEstimate(value=None)


def comparison(
    rows: LabelledRows, predictions: Mapping[str, np.ndarray], regime: np.ndarray
) -> dict[str, summary.Comparison]:
    """Score corrections on all evaluation rows and on each regime of the uncorrected field.

    `predictions`, str (n,): their corrected confidences by name of the correction.
    """
    slices = {"all": np.ones(len(rows), dtype=bool), **{name: regime == name for name in REGIMES}}
    return {
        name: summary.Comparison(
            **{part: score(replace(rows, confidence=p).take(inside)) for part, inside in slices.items()}
        )
        for name, p in predictions.items()
    }


def score(rows: LabelledRows) -> Score:
    """Score the confidences of some rows."""
    values = {metric.name: metric.value_of(rows) if len(rows) else None for metric in correction_metrics()}
    return Score(n=len(rows), **values)


def correction_gains(rows: LabelledRows, predictions: Mapping[str, np.ndarray]) -> dict[str, summary.Gain]:
    """Subtract the losses of miscal's correction from those of each other correction, row by row.

    `rows`: the n evaluation rows. `predictions`, str (n,): their corrected confidences by name of the correction,
    miscal's among them. Returns mean differences with 95 % intervals; positive where miscal's correction is better.

    Examples
    --------
    >>> sure = np.full(100, 0.9)
    >>> gains = correction_gains(LabelledRows.of(np.array([0.0, 1.0] * 50), sure), {"raw": sure, "miscal": sure - 0.4})
    >>> list(gains), round(gains["raw"].brier.value, 2)
    (['raw'], 0.16)
    """
    ours = predictions[OURS]

    def saved(losses: Callable[[np.ndarray, np.ndarray], np.ndarray], theirs: np.ndarray) -> Measure:
        difference = losses(rows.correct, theirs) - losses(rows.correct, ours)
        return Measure.of(mean_of_values(rows, difference))

    return {
        name: summary.Gain(brier=saved(squared_errors, theirs), log_loss=saved(log_losses, theirs))
        for name, theirs in predictions.items()
        if name != OURS
    }


def curves(
    rows: LabelledRows,
    corrected: np.ndarray,
    regime: np.ndarray,
    findings: Sequence[np.ndarray] = (),
    *,
    min_rows: int = MIN_SLICE_ROWS,
) -> summary.Curves:
    """Compute reliability curves of all evaluation rows, both miscalibrated regimes and findings, before and after.

    `corrected`, float64 (n,): their confidences after the correction. `findings`: the rows of each, bool (n,).
    `min_rows`: the fewest rows of a slice whose curve is computed.
    """
    slices = {"all": np.ones(len(rows), dtype=bool), "over": regime == "over", "under": regime == "under"}
    kinds = {"raw": rows, "corrected": replace(rows, confidence=corrected)}

    def pair(inside: np.ndarray, n_bins: int = BINS) -> CurvePair:
        return CurvePair(
            **{kind: reliability(of.take(inside), n_bins, min_rows=min_rows) for kind, of in kinds.items()}
        )

    drawn = {name: pair(inside) for name, inside in slices.items()}
    # few bins: several curves stand in one picture
    return summary.Curves(**drawn, findings=tuple(pair(inside, BINS_OF_FINDINGS) for inside in findings))


def reliability(rows: LabelledRows, n_bins: int = BINS, *, min_rows: int = MIN_SLICE_ROWS) -> CurveNumbers | None:
    """Return the reliability curve of rows, None where they are fewer than `min_rows`."""
    if len(rows) < min_rows:
        return None
    # thirty units to a bin, where there are too few for all bins: a curve of fewer goes up and down by chance
    n_bins = max(1, min(n_bins, rows.n_units // 30))
    return CurveNumbers(**{name: values.tolist() for name, values in curve_of(rows, n_bins).items()})


def histogram(delta: np.ndarray, regime: np.ndarray, epsilon: float) -> summary.Histogram:
    """Count the test rows' delta in bins that span it evenly around 0, by regime.

    `epsilon`: Half-width of the band that counts as well calibrated, of which at least twice as much is spanned.
    Returns 40 bins from -m to m, m the absolute value that one row in a thousand exceeds; such rows are in the outer
    bins.

    Examples
    --------
    >>> counts = histogram(np.array([-0.3, 0.0, 0.3]), np.array(["over", "good", "under"], dtype=object), 0.05)
    >>> counts.edges[0], sum(counts.over), sum(counts.good), counts.under[-1]
    (-0.3, 1, 1, 1)
    """
    # a few rows that are far out would press all others into the middle; bins of a field that is 0 must have a width
    reach = max(2 * epsilon, float(np.quantile(np.abs(delta), 0.999, method="higher")), 1e-6)
    delta = np.clip(delta, -reach, reach)
    edges = np.linspace(-reach, reach, HISTOGRAM_BINS + 1)
    counts = {name: np.histogram(delta[regime == name], edges)[0].tolist() for name in REGIMES}
    return summary.Histogram(edges=edges.tolist(), **counts)


def gap(
    rows: LabelledRows,
    regime: np.ndarray,
    *,
    seed: int,
    min_rows: int = MIN_SLICE_ROWS,
    whole: summary.Global,
    regimes: Sequence[summary.Regime],
) -> GapNumbers:
    """Measure the worst-slice gap; null where neither regime has enough rows.

    `min_rows`: rows that a regime needs. `whole`: from :func:`global_numbers`, of the same rows and seed. `regimes`:
    from :func:`regime_numbers`, of the same rows and seed. The intervals of smECE of both are not drawn again.
    """
    measured = {"all": whole.smece.interval, **{part.name: part.smece.interval for part in regimes}}
    known = {name: ends for name, ends in measured.items() if ends is not None}
    found = gap_of(rows, slice_number(regime), min_rows=min_rows, random_state=seed, known=known)
    return GapNumbers.of(found)


def over_time(rows: FittedRows, column: str | None) -> summary.OverTime | None:
    """Measure each period of time on the evaluation rows; None where no times are known.

    `rows`: with times, and their findings. `column`: name of the column of times.
    """
    if rows.triples.time is None:
        return None
    evaluated = rows.evaluated
    time = rows.triples.time[evaluated]
    period, starts = periods_of(time)
    times, number = np.unique(starts, return_inverse=True)
    names = [written_time(one) for one in times]
    every = np.ones(len(time), dtype=bool)
    findings = tuple(
        summary.FindingOverTime(finding=place, periods=tuple(_periods(rows, number, names, inside[evaluated])))
        for place, inside in enumerate(rows.ledger.members[:MOST_FINDINGS], start=1)
    )
    return summary.OverTime(
        column=column,
        period=period,
        periods=tuple(_periods(rows, number, names, every)),
        findings=findings,
        blocks=tuple(
            summary.TimeBlock(first=written_time(own.min()), last=written_time(own.max()), n=len(own))
            for own in (rows.triples.time[rows.fold == k] for k in range(int(rows.fold.max()) + 1))
        )
        if rows.evidence == TIME
        else (),
    )


def periods_of(time: NDArray) -> tuple[str | None, NDArray]:
    """Cut times into periods: the shortest with at most 40 periods, and 50 rows in each on average where that can be.

    `time`, (n,) array of datetime64 or float64. Returns `period`: one of :data:`miscal.base.folds.PERIODS`; None
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
) -> Iterator[summary.PeriodNumbers]:
    for place, name in enumerate(names):
        some = np.flatnonzero(inside & (number == place))
        if len(some):
            own, corrected = rows.evaluation_rows.take(some), rows.corrected.take(some)
            yield summary.PeriodNumbers(
                start=name,
                n=len(own),
                accuracy=average(own.correct, own.weight),
                confidence=average(own.confidence, own.weight),
                corrected=average(corrected.confidence, own.weight),
                residual=residual_size(own, SIGNIFICANCE),
                hidden=hidden_size(own, SIGNIFICANCE),
                after=hidden_size(corrected, SIGNIFICANCE),
            )
