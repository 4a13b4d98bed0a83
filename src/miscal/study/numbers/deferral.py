"""What correcting confidences changes for deferral, over many pairs, from the table ``deferral_gains``."""

from __future__ import annotations

import polars as pl

from miscal.study.numbers.choosing import of_method


def deferral_numbers(gains: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average the gains of deferral over pairs, and count those beyond chance.

    Parameters
    ----------
    gains : polars.DataFrame
        The table ``deferral_gains``.
    method : {"paper", "auto"}

    Returns
    -------
    polars.DataFrame
        A row per entry of `at`: at, raw, corrected, gain (means over pairs), n_better (pairs whose interval of the gain
        lies above 0), n_worse (below 0), n_pairs.

    Examples
    --------
    >>> gains = pl.DataFrame({"method": "auto", "at": "area", "raw": [0.25, 0.5], "corrected": [0.125, 0.5],
    ...     "gain": [0.125, 0.0], "gain_low": [0.1, -0.1], "gain_high": [0.2, 0.1]})
    >>> deferral_numbers(gains, "auto").select("at", "gain", "n_better", "n_worse", "n_pairs").rows()
    [('area', 0.0625, 1, 0, 2)]
    """
    return (
        of_method(gains, method)
        .group_by("at")
        .agg(
            *(pl.col(name).mean() for name in ("raw", "corrected", "gain")),
            (pl.col("gain_low") > 0).sum().cast(pl.Int64).alias("n_better"),
            (pl.col("gain_high") < 0).sum().cast(pl.Int64).alias("n_worse"),
            pl.len().cast(pl.Int64).alias("n_pairs"),
        )
        .sort("at")
    )
