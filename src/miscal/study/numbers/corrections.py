"""What corrections improve, over many pairs, from the tables ``corrections`` and ``pairs``."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from miscal.study.numbers.association import Association, spearman
from miscal.study.numbers.choosing import LEARNED, of_method

OURS, ISOTONIC, UNCORRECTED = "miscal", "isotonic", "raw"
_KEY = ("pair", "dataset", "model", "method", "geometry")


def improvements(corrections: pl.DataFrame, pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average over models by how much each correction lowers SmoothECE, by data set and region.

    Parameters
    ----------
    corrections, pairs : polars.DataFrame
        The tables of these names. Of `pairs` the least number of rows of a slice is used: a region with fewer does not
        take part.
    method : {"paper", "auto"}
        Geometry "learned".

    Returns
    -------
    polars.DataFrame
        Columns dataset, region, calibrator, mean (of smECE(raw) - smECE(calibrator); positive: the correction helps),
        std (over models, n - 1; null for one), n_pairs (that have the region), n_all (pairs of the data set).

    Examples
    --------
    >>> key = {"pair": "p", "dataset": "d", "model": "m", "method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"min_rows": 30})
    >>> corrections = pl.DataFrame(key | {
    ...     "calibrator": ["raw", "miscal"], "region": "over", "n": 40, "smece": [0.5, 0.25]})
    >>> improvements(corrections, pairs, "auto").rows()
    [('d', 'over', 'miscal', 0.25, None, 1, 1)]
    """
    of_all = of_method(pairs, method, LEARNED).group_by("dataset").agg(pl.len().cast(pl.Int64).alias("n_all"))
    grouped = _saved(corrections, pairs, method).group_by("dataset", "region", "calibrator")
    averaged = grouped.agg(
        mean=pl.col("saved").mean(), std=pl.col("saved").std(ddof=1), n_pairs=pl.len().cast(pl.Int64)
    )
    return averaged.join(of_all, on="dataset").sort("dataset", "region", "calibrator")


def _saved(corrections: pl.DataFrame, pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """smECE(raw) - smECE(calibrator) of every region with rows enough."""
    some = of_method(corrections, method, LEARNED).drop_nulls("smece")
    least = pairs.select(*_KEY, "min_rows")
    some = some.join(least, on=_KEY).filter(pl.col("n") >= pl.col("min_rows"))
    before = some.filter(pl.col("calibrator") == UNCORRECTED).select(*_KEY, "region", before="smece")
    after = some.filter(pl.col("calibrator") != UNCORRECTED)
    return after.join(before, on=[*_KEY, "region"]).with_columns(saved=pl.col("before") - pl.col("smece"))


@dataclass(frozen=True)
class HeterogeneityGain:
    """How much more the local correction gains over isotonic regression where the field varies more.

    Attributes
    ----------
    points : polars.DataFrame
        A row per pair with a worst slice: pair, dataset, model, family, delta_std, worst, gain (smECE of isotonic
        regression less smECE of the local correction on the worst slice; positive: ours is better).
    association : Association
        Spearman's correlation of delta_std and gain, with its interval over pairs.
    """

    points: pl.DataFrame
    association: Association


def heterogeneity_gain(pairs: pl.DataFrame, corrections: pl.DataFrame, method: str) -> HeterogeneityGain:
    """Set the gain over isotonic regression on the worst slice against the spread of the field.

    Parameters
    ----------
    pairs, corrections : polars.DataFrame
        The tables of these names.
    method : {"paper", "auto"}
        Geometry "learned".

    Returns
    -------
    HeterogeneityGain

    Examples
    --------
    >>> key = {"pair": ["p", "q", "r"], "dataset": "d", "model": "m", "method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"family": "f", "delta_std": [0.1, 0.2, 0.3], "worst": "over"})
    >>> smece = {"isotonic": [0.2, 0.3, 0.5], "miscal": [0.1, 0.1, 0.1]}
    >>> corrections = pl.concat(
    ...     pl.DataFrame(key | {"calibrator": name, "region": "over", "smece": values})
    ...     for name, values in smece.items())
    >>> heterogeneity_gain(pairs, corrections, "auto").association.value
    1.0
    """
    shown = of_method(pairs, method, LEARNED).drop_nulls(["worst", "delta_std"])
    shown = shown.select(*_KEY, "family", "delta_std", "worst")
    of_pair = of_method(corrections, method, LEARNED).rename({"region": "worst"})
    for calibrator in (ISOTONIC, OURS):
        one = of_pair.filter(pl.col("calibrator") == calibrator).select(
            *_KEY, "worst", pl.col("smece").alias(calibrator)
        )
        shown = shown.join(one, on=[*_KEY, "worst"])
    points = shown.with_columns(gain=pl.col(ISOTONIC) - pl.col(OURS)).drop_nulls("gain").sort("pair")
    columns = ("pair", "dataset", "model", "family", "delta_std", "worst", "gain")
    found = spearman(points["delta_std"].to_numpy(), points["gain"].to_numpy())
    return HeterogeneityGain(points.select(columns), found)
