"""Summarise audits, one row for each pair."""

from __future__ import annotations

import polars as pl

from miscal.study.tables import of_method

_PAIR = ("pair", "dataset", "model")

NULL_STATISTICS = ("delta_std", "gap", "proxy", "epoch")
"""What is laid out by pair, as the table ``nulls`` calls it."""


def null_numbers(nulls: pl.DataFrame, method: str, null: str = "permuted") -> pl.DataFrame:
    """Set each pair's spread and gap beside those of its refits under a null (the paper's Table 2).

    Parameters
    ----------
    nulls : polars.DataFrame
        The table of this name.
    method : {"paper", "auto"}
    null : {"permuted", "visible", "calibrated"}, default "permuted"

    Returns
    -------
    polars.DataFrame
        A row per pair: pair, dataset, model, and of delta_std, gap (clipped), proxy and epoch each `<name>`,
        `<name>_null_mean`, `<name>_null_std`, `<name>_p`; n_draws. Where a statistic was not measured these are null,
        and so are p-values of proxy and epoch, which measure no structure.

    Examples
    --------
    >>> nulls = pl.DataFrame({"pair": "p", "dataset": "d", "model": "m", "method": "paper", "null": "permuted",
    ...     "statistic": ["delta_std", "gap"], "observed": [0.2, 0.1], "null_mean": [0.05, 0.0],
    ...     "null_std": [0.01, 0.0], "p_value": [0.048, 0.048], "n_draws": 20})
    >>> null_numbers(nulls, "paper").select("delta_std", "gap_null_mean", "gap_p", "n_draws").rows()
    [(0.2, 0.0, 0.048, 20)]
    """
    some = of_method(nulls, method).filter(pl.col("null") == null)
    values = {"observed": "", "null_mean": "_null_mean", "null_std": "_null_std", "p_value": "_p"}
    found = some.group_by(_PAIR).agg(
        *(
            pl.col(column).filter(pl.col("statistic") == statistic).first().alias(f"{statistic}{ending}")
            for statistic in NULL_STATISTICS
            for column, ending in values.items()
        ),
        pl.col("n_draws").max(),
    )
    return found.sort("pair")


def seed_numbers(seeds: pl.DataFrame, seed_pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """Say how alike the refits of each pair are (the paper's Table 3): means, and standard deviations with n - 1.

    Parameters
    ----------
    seeds, seed_pairs : polars.DataFrame
        The tables of these names. A gap that is negative or missing counts as 0.
    method : {"paper", "auto"}

    Returns
    -------
    polars.DataFrame
        A row per pair: pair, dataset, model, and of correlation, sign_agreement, sign_by_chance (over the pairs of
        seeds that have a correlation), gap and delta_std (over seeds) each `<name>_mean` and `<name>_std`; n_seeds,
        and of the pairs of seeds n_seed_pairs and n_undefined, those without a correlation because a field is
        constant.

    Examples
    --------
    >>> key = {"pair": "p", "dataset": "d", "model": "m", "method": "paper"}
    >>> seeds = pl.DataFrame(key | {"seed": [0, 1], "gap": [0.1, 0.3], "delta_std": [0.2, 0.2]})
    >>> seed_pairs = pl.DataFrame(key | {"correlation": [0.9], "sign_agreement": [0.8], "sign_by_chance": [0.5]})
    >>> seed_numbers(seeds, seed_pairs, "paper").select("correlation_mean", "gap_mean", "n_seeds").rows()
    [(0.9, 0.2, 2)]
    """
    each = of_method(seeds, method).with_columns(pl.col("gap").fill_null(0.0).clip(0.0))
    n_seeds = pl.len().cast(pl.Int64).alias("n_seeds")
    alone = each.group_by(_PAIR).agg(*_spread(pl.col("gap"), pl.col("delta_std")), n_seeds)
    known = pl.col("correlation").is_not_null()
    together = (
        of_method(seed_pairs, method)
        .group_by(_PAIR)
        .agg(
            *_spread(*(pl.col(name).filter(known) for name in _TOGETHER)),
            pl.len().cast(pl.Int64).alias("n_seed_pairs"),
            (~known).sum().cast(pl.Int64).alias("n_undefined"),
        )
    )
    return together.join(alone, on=_PAIR).sort("pair")


_TOGETHER = ("correlation", "sign_agreement", "sign_by_chance")


def _spread(*values: pl.Expr) -> list[pl.Expr]:
    return [
        expression
        for value in values
        for expression in (value.mean().name.suffix("_mean"), value.std(ddof=1).name.suffix("_std"))
    ]
