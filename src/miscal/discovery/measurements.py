"""Numbers of a run, measured on rows that nothing has learned from: arrays in, parts of the summary out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from miscal.calibration import metrics
from miscal.calibration.metrics.gap import MIN_ROWS
from miscal.calibration.metrics.rows import take_groups
from miscal.calibration.survey_design import SurveyDesign, average, effect_of_mean, spread
from miscal.data.triples import Triples
from miscal.discovery.json_values import interval, number
from miscal.discovery.summary import (
    Comparison,
    CurveNumbers,
    CurvePair,
    Curves,
    FieldNumbers,
    GapNumbers,
    Global,
    GroupNumbers,
    Histogram,
    Measure,
    Regime,
    Score,
    SmoothEce,
    WeightNumbers,
)
from miscal.findings import Judged, judge_regimes

SLICES = ("over", "good", "under")
BINS = 15
HISTOGRAM_BINS = 40
"""Of the reliability curves and of the histogram: for the eye only."""


def global_numbers(
    correct: np.ndarray,
    confidence: np.ndarray,
    everyone: Triples | None = None,
    *,
    seed: int,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Global:
    """Measure the rows that testify; accuracy and confidence, which nothing is learned for, are of all rows.

    Parameters
    ----------
    correct, confidence : ndarray of float64, shape (n,)
        Outcomes (0 or 1) and confidences (in [0, 1]) of the rows that testify.
    everyone : Triples, optional
        All rows, where others do not testify.
    seed : int
        Of the bootstrap and of the null draws.
    groups : ndarray of shape (n,), optional
        Rows of equal value may hang together; by default all rows are independent.
    weights : ndarray of float64, shape (n,), optional
        How much each row counts; all alike by default.

    Returns
    -------
    Global
        Every metric with its interval.
    """
    scores = metrics.global_scores(correct, confidence, sample_weight=weights, groups=groups, random_state=seed)
    if everyone is not None:
        of_all = everyone.correct, everyone.confidence
        counted = {"sample_weight": everyone.weight, "groups": everyone.group}
        scores |= {name: metrics.METRICS[name].estimate(*of_all, **counted) for name in ("accuracy", "confidence")}
    return Global(**{name: _stored(score, Global.kind(name)) for name, score in scores.items()})


def smooth_ece(
    correct: np.ndarray,
    confidence: np.ndarray,
    *,
    seed: int,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> SmoothEce:
    """Measure SmoothECE with its interval, noise floor and p-value; all null where there are no rows."""
    if len(correct) == 0:
        return SmoothEce(value=None)
    found = metrics.measure_smece(correct, confidence, sample_weight=weights, groups=groups, random_state=seed)
    return _stored(found, SmoothEce)


def group_numbers(
    correct: np.ndarray, expected: np.ndarray, design: SurveyDesign | None, column: str | None = None
) -> GroupNumbers | None:
    """Say how strongly the rows of a group hang together, and for how many independent rows they count.

    Parameters
    ----------
    correct, expected : ndarray of float64, shape (n,)
        Outcomes of the rows that testify, and E[y | f] of each, learned from other rows.
    design : SurveyDesign or None
        Of these rows.
    column : str, optional
        That names the groups.

    Returns
    -------
    GroupNumbers or None
        None where all rows are independent.

    Examples
    --------
    >>> y, pairs = np.tile([1.0, 1.0, 0.0, 0.0], 250), SurveyDesign(np.arange(1000) // 2, 1.0)
    >>> found = group_numbers(y, np.full(1000, 0.5), pairs)
    >>> found.n, found.largest, round(found.n_effective / 100)
    (500, 2, 5)
    """
    if design is None or design.group is None:
        return None
    sizes = np.bincount(design.group)
    effect = effect_of_mean(correct, expected, np.ones(len(correct), dtype=bool), design)
    return GroupNumbers(
        column=column,
        n=len(sizes),
        largest=int(sizes.max()),
        correlation=design.correlation,
        effect=effect,
        n_effective=len(correct) / effect,
    )


def weight_numbers(weights: np.ndarray | None, column: str | None = None) -> WeightNumbers | None:
    """Say how unequally rows count; None where they count alike because no weights are named.

    Parameters
    ----------
    weights : ndarray of float64, shape (n,), > 0, or None
        Of the rows that testify.
    column : str, optional
        That names them.

    Returns
    -------
    WeightNumbers or None

    Examples
    --------
    >>> found = weight_numbers(np.array([1.0, 1.0, 2.0]))
    >>> round(found.n_effective, 2), found.largest
    (2.67, 0.5)
    """
    if weights is None:
        return None
    share = weights / weights.sum()
    return WeightNumbers(column=column, n_effective=1 / float(share @ share), largest=float(share.max()))


def field_numbers(
    confidence: np.ndarray,
    delta: np.ndarray,
    visible: np.ndarray,
    hidden: np.ndarray,
    regime: np.ndarray,
    supported: np.ndarray,
    *,
    structure: bool,
    weights: np.ndarray | None = None,
) -> FieldNumbers:
    """Describe the estimated field over test rows.

    Parameters
    ----------
    confidence : ndarray of float64, shape (n,)
        Confidences.
    delta, visible, hidden : ndarray of float64, shape (n,)
        The field and its two parts, in [-1, 1]; positive: under-confident.
    regime : ndarray of object, shape (n,)
        ``"over"``, ``"good"``, ``"under"``, or None where the field is no local estimate.
    supported : ndarray of bool, shape (n,)
        Whether enough of the rows learned from lie nearby.
    structure : bool
        Whether the estimator claims local structure.
    weights : ndarray of float64, shape (n,), optional
        How much each row counts; all alike by default.

    Returns
    -------
    FieldNumbers
        The correlation is null where delta or the confidence is constant.
    """
    return FieldNumbers(
        mean=number(average(delta, weights)),
        std=number(spread(delta, weights)),
        std_visible=number(spread(visible, weights)),
        std_hidden=number(spread(hidden, weights)),
        share_over=average(regime == "over", weights),
        share_under=average(regime == "under", weights),
        share_unsupported=average(~supported, weights),
        correlation_with_confidence=correlation(delta, confidence, weights),
        structure=structure,
    )


def correlation(a: np.ndarray, b: np.ndarray, weights: np.ndarray | None = None) -> float | None:
    """Pearson correlation, None where one side is constant up to rounding.

    Parameters
    ----------
    a, b : ndarray of float64, shape (n,)
        Values.
    weights : ndarray of float64, shape (n,), optional
        How much each row counts; all alike by default.

    Returns
    -------
    float or None
        In [-1, 1].

    Examples
    --------
    >>> correlation(np.array([0.0, 1.0]), np.array([2.0, 4.0])), correlation(np.zeros(2), np.arange(2.0))
    (1.0, None)
    """
    spreads = spread(a, weights), spread(b, weights)
    if min(spreads) < 1e-12:
        return None
    together = average((a - average(a, weights)) * (b - average(b, weights)), weights)
    return float(np.clip(together / (spreads[0] * spreads[1]), -1.0, 1.0))


def regime_numbers(
    correct: np.ndarray,
    confidence: np.ndarray,
    expected: np.ndarray,
    regime: np.ndarray,
    *,
    seed: int | None,
    design: SurveyDesign | None = None,
) -> tuple[Regime, ...]:
    """Measure each regime on rows that testify: over, good, under; the numbers of an empty one are null.

    Parameters
    ----------
    correct, confidence : ndarray of float64, shape (n,)
        Outcomes and confidences of the rows that testify.
    expected : ndarray of float64, shape (n,)
        E[y | f] of each, learned from other rows.
    regime : ndarray of object, shape (n,)
        Regime of each, of the total field or of the hidden one.
    seed : int or None
        Of the bootstrap and of the null draws of smECE; None leaves smECE out.
    design : SurveyDesign, optional
        Which rows hang together, and how much each counts; by default none do, and all count alike.

    Returns
    -------
    tuple of Regime
        Three entries.
    """
    judged = judge_regimes(correct, confidence, expected, regime, SLICES, design=design)
    return tuple(_regime(name, correct, confidence, design, regime == name, judged[name], seed) for name in SLICES)


def _regime(
    name: str,
    correct: np.ndarray,
    confidence: np.ndarray,
    design: SurveyDesign | None,
    rows: np.ndarray,
    judged: Judged,
    seed: int | None,
) -> Regime:
    y, f, known = correct[rows], confidence[rows], None if design is None else design.take(rows)
    groups, weights = (None, None) if known is None else (known.group, known.weight)
    return Regime(
        name=name,
        n=len(y),
        share=average(rows, None if design is None else design.weight),
        accuracy=_average(y, weights),
        confidence=_average(f, weights),
        **judged.to_dict(),
        smece=SmoothEce(value=None) if seed is None else smooth_ece(y, f, seed=seed, groups=groups, weights=weights),
        brier=_average((y - f) ** 2, weights),
    )


def _average(values: np.ndarray, weights: np.ndarray | None) -> float | None:
    return average(values, weights) if len(values) else None


def comparison(
    correct: np.ndarray,
    predictions: Mapping[str, np.ndarray],
    regime: np.ndarray,
    weights: np.ndarray | None = None,
) -> dict[str, Comparison]:
    """Score corrections on all test rows and on each regime of the uncorrected field.

    Parameters
    ----------
    correct : ndarray of float64, shape (n,)
        Outcomes of the test rows.
    predictions : mapping of str to ndarray of float64, shape (n,)
        Their corrected confidences by name of the correction.
    regime : ndarray of object, shape (n,)
        Regime of each test row.
    weights : ndarray of float64, shape (n,), optional
        How much each row counts; all alike by default.

    Returns
    -------
    dict of str to Comparison
        Scores are null on an empty slice.
    """
    slices = {"all": np.ones(len(correct), dtype=bool), **{name: regime == name for name in SLICES}}
    return {
        name: Comparison(
            **{part: _score(correct[rows], p[rows], take_groups(weights, rows)) for part, rows in slices.items()}
        )
        for name, p in predictions.items()
    }


def _score(correct: np.ndarray, confidence: np.ndarray, weights: np.ndarray | None) -> Score:
    values = {
        metric.name: metric.value(correct, confidence, sample_weight=weights) if len(correct) else None
        for metric in metrics.correction_metrics()
    }
    return Score(n=len(correct), **values)


def curves(
    correct: np.ndarray,
    confidence: np.ndarray,
    corrected: np.ndarray,
    regime: np.ndarray,
    *,
    min_rows: int = MIN_ROWS,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Curves:
    """Compute reliability curves of all test rows and of the two miscalibrated regimes, before and after correction.

    Parameters
    ----------
    correct : ndarray of float64, shape (n,)
        Outcomes of the test rows.
    confidence, corrected : ndarray of float64, shape (n,)
        Their confidences before and after the correction.
    regime : ndarray of object, shape (n,)
        Regime of each test row.
    min_rows : int, default 30
        The fewest rows of a slice whose curve is computed.
    groups : ndarray of shape (n,), optional
        Rows of equal value may hang together; by default all rows are independent.
    weights : ndarray of float64, shape (n,), optional
        How much each row counts; all alike by default.

    Returns
    -------
    Curves
        Null for a slice of fewer rows.
    """
    slices = {"all": np.ones(len(correct), dtype=bool), "over": regime == "over", "under": regime == "under"}
    return Curves(
        **{
            name: CurvePair(
                **{
                    kind: reliability(
                        correct[rows],
                        f[rows],
                        take_groups(groups, rows),
                        take_groups(weights, rows),
                        min_rows=min_rows,
                    )
                    for kind, f in (("raw", confidence), ("corrected", corrected))
                }
            )
            for name, rows in slices.items()
        }
    )


def reliability(
    correct: np.ndarray,
    confidence: np.ndarray,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    min_rows: int = MIN_ROWS,
) -> CurveNumbers | None:
    """Return the reliability curve of rows, None where they are fewer than `min_rows`; all arrays of shape (n,)."""
    if len(correct) < min_rows:
        return None
    # ten rows to a bin on average, where there are too few for all bins
    n_bins = max(1, min(BINS, len(correct) // 10))
    curve = metrics.reliability_curve(correct, confidence, n_bins=n_bins, groups=groups, sample_weight=weights)
    return CurveNumbers(**{name: np.asarray(getattr(curve, name)).tolist() for name in CurveNumbers.model_fields})


def histogram(delta: np.ndarray, regime: np.ndarray) -> Histogram:
    """Count the test rows' delta in bins that span it evenly around 0, by regime.

    Parameters
    ----------
    delta : ndarray of float64, shape (n,)
        The field.
    regime : ndarray of object, shape (n,)
        Regime of each test row; rows without one are not counted.

    Returns
    -------
    Histogram
        40 bins from -m to m, m the largest absolute value (at least 0.1).

    Examples
    --------
    >>> counts = histogram(np.array([-0.3, 0.0, 0.3]), np.array(["over", "good", "under"], dtype=object))
    >>> counts.edges[0], sum(counts.over), sum(counts.good), counts.under[-1]
    (-0.3, 1, 1, 1)
    """
    # bins of a field that is 0 everywhere must have a width
    reach = max(0.1, float(np.abs(delta).max()))
    edges = np.linspace(-reach, reach, HISTOGRAM_BINS + 1)
    counts = {name: np.histogram(delta[regime == name], edges)[0].tolist() for name in SLICES}
    return Histogram(edges=edges.tolist(), **counts)


def gap(
    correct: np.ndarray,
    confidence: np.ndarray,
    regime: np.ndarray,
    *,
    seed: int,
    min_rows: int = MIN_ROWS,
    whole: Global,
    regimes: Sequence[Regime],
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> GapNumbers:
    """Measure the worst-slice gap; null where neither regime has enough rows.

    Parameters
    ----------
    correct, confidence : ndarray of float64, shape (n,)
        Outcomes and confidences of the test rows.
    regime : ndarray of object, shape (n,)
        Regime of each.
    seed : int
        Of the null draws.
    min_rows : int, default 30
        Rows that a regime needs.
    whole : Global
        From :func:`global_numbers`, of the same rows and seed.
    regimes : sequence of Regime
        From :func:`regime_numbers`, of the same rows and seed. The intervals of smECE of both are not drawn again.
    groups : ndarray of shape (n,), optional
        Rows of equal value may hang together; by default all rows are independent.
    weights : ndarray of float64, shape (n,), optional
        How much each row counts; all alike by default.

    Returns
    -------
    GapNumbers
        Value, interval, floor, p-value and the worse slice.
    """
    measured = {"all": whole.smece.interval, **{part.name: part.smece.interval for part in regimes}}
    known = {name: ends for name, ends in measured.items() if ends is not None}
    found = metrics.measure_gap(
        correct,
        confidence,
        regime,
        min_rows=min_rows,
        sample_weight=weights,
        groups=groups,
        random_state=seed,
        known=known,
    )
    return _stored(found, GapNumbers)


def _stored(estimate: Any, kind: type[Measure]) -> Any:
    """Store those values of an estimate that the summary has a key for."""
    values = {name: getattr(estimate, name) for name in kind.model_fields}
    return kind(
        **{**values, "value": number(estimate.value), "interval": interval(*(estimate.interval or (None, None)))}
    )
