"""What depends on epsilon, over many pairs, from the table ``thresholds``."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from miscal.study.numbers.association import Association, pearson, spearman
from miscal.study.numbers.choosing import LEARNED, of_method
from miscal.study.numbers.gaps import LARGE_GAP

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

    Returns
    -------
    ThresholdCorrelations

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
