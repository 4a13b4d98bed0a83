"""The worst-slice gaps of many pairs, at one epsilon and at several, from the tables ``pairs`` and ``thresholds``."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from miscal.study.aggregates.association import Association, pearson, spearman
from miscal.study.tables import LEARNED, RAW, of_method

LARGE_GAP = 0.06
"""From this gap on the paper calls a pair's hidden structure substantial (its section 5 and Table 4)."""


@dataclass(frozen=True)
class StudyGaps:
    """The gaps of all pairs under one method; gaps are clipped, so that a pair without a worst slice counts as 0.

    Attributes
    ----------
    n_pairs : int
    n_above_zero : int
        Pairs whose gap is above 0: a count for comparison with the paper alone, because smECE has a noise floor, and
        slices are smaller than the whole, so that a calibrated model has a gap above 0 in nearly every draw.
    n_measured : int
        Pairs whose gap has a 95 % interval, from the summary of the run; the raw geometry has none.
    n_beyond_chance : int
        Pairs whose interval lies above 0.
    n_lower_end_above_zero : int
        Pairs whose bootstrap percentiles of the gap lie above 0, as in the paper's Table 5. They do so for many
        calibrated models too, because the smECE of resampled rows is biased upwards: this is no test.
    mean, median : float or None
        Of the bootstrap means of max(0, gap), as in the paper's Table 5; missing ones count as 0. None without pairs.
    n_large : int
        Pairs with a gap of at least ``LARGE_GAP``.
    mean_share_worst, median_share_worst, largest_share_worst : float or None
        Share of rows in the worst slice, over those pairs; None without any.
    by_dataset : polars.DataFrame
        Columns dataset, n_pairs, n_above_zero, n_measured, n_beyond_chance, n_large.
    """

    n_pairs: int
    n_above_zero: int
    n_measured: int
    n_beyond_chance: int
    n_lower_end_above_zero: int
    mean: float | None
    median: float | None
    n_large: int
    mean_share_worst: float | None
    median_share_worst: float | None
    largest_share_worst: float | None
    by_dataset: pl.DataFrame


def gap_numbers(pairs: pl.DataFrame, method: str, geometry: str = LEARNED) -> StudyGaps:
    """Count and average the gaps of all pairs.

    Parameters
    ----------
    pairs : polars.DataFrame
        The table ``pairs``.
    method : {"paper", "auto"}
    geometry : {"learned", "raw"}, default "learned"

    Examples
    --------
    >>> pairs = pl.DataFrame({
    ...     "dataset": ["a", "a"], "method": "auto", "geometry": "learned", "gap_clipped": [0.08, 0.0],
    ...     "gap_boot_mean_clipped": [0.07, None], "gap_interval_low": [0.02, None], "gap_low": [0.03, None],
    ...     "share_worst": [0.4, None]})
    >>> found = gap_numbers(pairs, "auto")
    >>> found.n_pairs, found.n_beyond_chance, found.n_large, found.mean_share_worst, found.mean
    (2, 1, 1, 0.4, 0.035)
    """
    some = of_method(pairs, method, geometry)
    large = some.filter(pl.col("gap_clipped") >= LARGE_GAP)
    replicated = some["gap_boot_mean_clipped"].fill_null(0.0)
    share = large["share_worst"]
    counted = some.group_by("dataset").agg(
        pl.len().alias("n_pairs"),
        (pl.col("gap_clipped") > 0).sum().alias("n_above_zero"),
        pl.col("gap_interval_low").count().alias("n_measured"),
        (pl.col("gap_interval_low") > 0).sum().alias("n_beyond_chance"),
        (pl.col("gap_clipped") >= LARGE_GAP).sum().alias("n_large"),
    )
    return StudyGaps(
        n_pairs=some.height,
        n_above_zero=int((some["gap_clipped"] > 0).sum()),
        n_measured=int(some["gap_interval_low"].count()),
        n_beyond_chance=int((some["gap_interval_low"] > 0).sum()),
        n_lower_end_above_zero=int((some["gap_low"] > 0).sum()),
        mean=_number(replicated.mean()),
        median=_number(replicated.median()),
        n_large=large.height,
        mean_share_worst=_number(share.mean()),
        median_share_worst=_number(share.median()),
        largest_share_worst=_number(share.max()),
        by_dataset=counted.sort("dataset"),
    )


@dataclass(frozen=True)
class RawAgainstLearned:
    """The gap by the raw inputs beside the gap by the learned geometry, on the same pairs; gaps are clipped.

    Attributes
    ----------
    gaps : polars.DataFrame
        A row per pair that has both: pair, dataset, model, raw, learned, difference (learned - raw).
    n : int
        Pairs that have both.
    share_raw_above_zero, share_learned_above_zero, share_learned_larger : float or None
        Shares of these pairs whose gap is above 0, and whose difference is; None without pairs.
    """

    gaps: pl.DataFrame
    n: int
    share_raw_above_zero: float | None
    share_learned_above_zero: float | None
    share_learned_larger: float | None


def raw_against_learned(pairs: pl.DataFrame, method: str = "paper") -> RawAgainstLearned:
    """Pair the gaps of the two geometries.

    Parameters
    ----------
    pairs : polars.DataFrame
        The table ``pairs``.
    method : {"paper", "auto"}, default "paper"
        The study measures raw inputs for "paper" alone.

    Examples
    --------
    >>> pairs = pl.DataFrame({"pair": "p", "dataset": "d", "model": "m", "method": "paper",
    ...     "geometry": ["raw", "learned"], "gap_clipped": [0.0, 0.1]})
    >>> found = raw_against_learned(pairs)
    >>> found.share_raw_above_zero, found.share_learned_larger
    (0.0, 1.0)
    """
    keys = ["pair", "dataset", "model"]
    raw, learned = (
        of_method(pairs, method, geometry).select(*keys, pl.col("gap_clipped").alias(geometry))
        for geometry in (RAW, LEARNED)
    )
    gaps = raw.join(learned, on=keys).sort("pair").with_columns(difference=pl.col("learned") - pl.col("raw"))
    above = [_number((gaps[name] > 0).mean()) for name in (RAW, LEARNED, "difference")]
    return RawAgainstLearned(gaps, gaps.height, *above)


def size_trends(pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """Say for each family and data set whether the field varies more in larger models.

    Parameters
    ----------
    pairs : polars.DataFrame
        The table ``pairs``; pairs without family or size are left out.
    method : {"paper", "auto"}

    Returns
    -------
    polars.DataFrame
        Columns dataset, family, n (models), spearman (of billions and delta_std; null below 3 models).

    Examples
    --------
    >>> pairs = pl.DataFrame({"dataset": "d", "family": "f", "method": "auto", "geometry": "learned",
    ...     "billions": [1.0, 3.0, 8.0], "delta_std": [0.1, 0.2, 0.3]})
    >>> size_trends(pairs, "auto").rows()
    [('d', 'f', 3, 1.0)]
    """
    known = of_method(pairs, method, LEARNED).drop_nulls(["family", "billions", "delta_std"])
    rows = []
    for (dataset, family), some in known.group_by("dataset", "family"):
        found = spearman(some["billions"].to_numpy(), some["delta_std"].to_numpy())
        rows.append({"dataset": dataset, "family": family, "n": found.n, "spearman": found.value})
    schema = {"dataset": pl.String, "family": pl.String, "n": pl.Int64, "spearman": pl.Float64}
    return pl.DataFrame(rows, schema=schema).sort("dataset", "family")


def _number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]


_PLACE = ("pair", "epsilon")


def threshold_numbers(thresholds: pl.DataFrame, method: str, geometry: str = LEARNED) -> pl.DataFrame:
    """Describe, at each epsilon, the pairs whose worst slice has a gap above ``LARGE_GAP`` there (the paper's Table 4).

    Parameters
    ----------
    thresholds : polars.DataFrame
        The table of this name; slices that are worst by SmoothECE are used.
    method : {"paper", "auto"}
    geometry : {"learned", "raw"}, default "learned"

    Returns
    -------
    polars.DataFrame
        A row per epsilon, rising: epsilon, smece_gap and brier_gap (medians, of the same slices), share_quarter,
        share_median, share_three_quarters (quartiles of the slice's share of rows, in [0, 1]), n (pairs with such a
        gap), n_pairs (all). Medians and quartiles are null where n is 0.

    Examples
    --------
    >>> thresholds = pl.DataFrame({"pair": ["p", "q"], "method": "auto", "geometry": "learned", "by": "smece",
    ...     "epsilon": 0.05, "smece_gap": [0.08, 0.01], "brier_gap": [0.02, 0.0], "share": [0.4, 0.1]})
    >>> threshold_numbers(thresholds, "auto").select("smece_gap", "share_median", "n", "n_pairs").rows()
    [(0.08, 0.4, 1, 2)]
    """
    some = of_method(thresholds, method, geometry).filter(pl.col("by") == "smece")
    large = pl.col("smece_gap") > LARGE_GAP
    quartiles = {"share_quarter": 0.25, "share_median": 0.5, "share_three_quarters": 0.75}
    return (
        some.group_by("epsilon")
        .agg(
            *(pl.col(name).filter(large).median() for name in ("smece_gap", "brier_gap")),
            *(pl.col("share").filter(large).quantile(level, "linear").alias(name) for name, level in quartiles.items()),
            large.sum().cast(pl.Int64).alias("n"),
            pl.len().cast(pl.Int64).alias("n_pairs"),
        )
        .sort("epsilon")
    )


@dataclass(frozen=True)
class Correlated:
    """Two columns, over pair and epsilon, and how they go together.

    The rows of one pair depend on each other, so the intervals of the correlations are too short: show the values.

    Attributes
    ----------
    points : polars.DataFrame
        Columns pair, epsilon, x, y.
    pearson, spearman : Association
    """

    points: pl.DataFrame
    pearson: Association
    spearman: Association


@dataclass(frozen=True)
class ThresholdCorrelations:
    """The three correlations of the paper's appendix F.4.

    Attributes
    ----------
    brier_against_smece : Correlated
        x: smECE gap, y: Brier gap, both of the slice that is worst by smECE.
    smece_gaps : Correlated
        smECE gaps. x: of the slice that is worst by smECE, y: of the slice that is worst by the Brier score.
    brier_gaps : Correlated
        Brier gaps of the same two slices.
    """

    brier_against_smece: Correlated
    smece_gaps: Correlated
    brier_gaps: Correlated


def threshold_correlations(
    thresholds: pl.DataFrame, method: str, geometry: str = LEARNED, *, clip: bool = False
) -> ThresholdCorrelations:
    """Correlate gaps by SmoothECE and by the Brier score over pair and epsilon.

    Gaps are signed here. The paper's are cut off at 0, as far as its tables show, so that its correlations are over
    other values: `clip` sets negative smECE gaps to 0. Whether its Brier gaps are cut off cannot be told, so that these
    stay signed.

    Parameters
    ----------
    thresholds : polars.DataFrame
        The table of this name. A pair without a worst slice at an epsilon is left out there.
    method : {"paper", "auto"}
    geometry : {"learned", "raw"}, default "learned"
    clip : bool, default False
        Set negative smECE gaps to 0.

    Examples
    --------
    >>> one = {"pair": ["p", "q", "r"], "method": "auto", "geometry": "learned", "epsilon": 0.05,
    ...     "smece_gap": [0.1, 0.2, 0.3], "brier_gap": [0.0, 0.02, 0.01]}
    >>> thresholds = pl.concat(pl.DataFrame(one | {"by": by}) for by in ("smece", "brier"))
    >>> found = threshold_correlations(thresholds, "auto")
    >>> round(found.brier_against_smece.spearman.value, 6), round(found.smece_gaps.pearson.value, 6)
    (0.5, 1.0)
    """
    some = of_method(thresholds, method, geometry).drop_nulls(["smece_gap", "brier_gap"])
    if clip:
        some = some.with_columns(pl.col("smece_gap").clip(0.0))
    by_smece, by_brier = (some.filter(pl.col("by") == by) for by in ("smece", "brier"))
    both = by_smece.join(by_brier, on=_PLACE, suffix="_of_brier")
    return ThresholdCorrelations(
        _correlated(by_smece, "smece_gap", "brier_gap"),
        _correlated(both, "smece_gap", "smece_gap_of_brier"),
        _correlated(both, "brier_gap", "brier_gap_of_brier"),
    )


def _correlated(table: pl.DataFrame, x: str, y: str) -> Correlated:
    points = table.select(*_PLACE, x=x, y=y).sort(_PLACE)
    sides = points["x"].to_numpy(), points["y"].to_numpy()
    return Correlated(points, pearson(*sides), spearman(*sides))
