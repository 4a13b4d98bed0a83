"""Cells of few rows merged, so that none that is kept tells of fewer."""

from __future__ import annotations

import numpy as np
import polars as pl


def pooled(cells: pl.DataFrame, pool: dict[str, int], least: int) -> pl.DataFrame:
    """Pool what has too few rows; where that is too few rows still, with what has the fewest."""
    names = list(pool)
    inside = pl.all_horizontal(pl.col(name) == value for name, value in pool.items())
    sizes = cells.group_by(names).agg(pl.col("n").sum()).sort(~inside, "n", *names)
    if (sizes["n"] >= least).all():
        return cells
    gone = sizes.filter((pl.col("n") < least) | (pl.col("n").cum_sum() - pl.col("n") < least))
    cells = cells.join(gone.select(*names, gone=True), on=names, how="left")
    cells = cells.with_columns(pl.when("gone").then(value).otherwise(name).alias(name) for name, value in pool.items())
    return cells.drop("gone")


def joined_along(cells: pl.DataFrame, key: str, within: list[str], least: int) -> pl.DataFrame:
    """Join neighbours along a key, within others, until they have rows enough: at their mean place."""
    sizes = cells.group_by([*within, key]).agg(pl.col("n").sum()).sort([*within, key])
    part = sizes.select(pl.struct(within).rle_id()).to_series().to_numpy() if within else np.zeros(len(sizes))
    run = [runs(rows, least) for rows in np.split(sizes["n"].to_numpy(), np.flatnonzero(np.diff(part)) + 1)]
    at = ((pl.col(key) * pl.col("n")).sum() / pl.col("n").sum()).over(*within, "run").round().cast(pl.Int64)
    sizes = sizes.with_columns(run=np.concatenate(run)).select(*within, key, at=at)
    joined = cells.join(sizes, on=[*within, key]).with_columns(pl.col("at").alias(key)).drop("at")
    keys = [name for name in cells.columns if name in (*within, key, "stratum")]
    return joined.group_by(keys).sum().sort(keys)


def runs(rows: np.ndarray, least: float) -> np.ndarray:
    """Give neighbours one number so that they have rows enough together, if all of them have.

    Examples
    --------
    >>> runs(np.array([3.0, 30, 12, 7, 5]), 20).tolist(), runs(np.array([3.0, 4]), 20).tolist()
    ([0, 0, 1, 1, 1], [0, 0])
    """
    run, held = np.zeros(len(rows), np.int64), 0.0
    for place, own in enumerate(rows.tolist()):
        full = held >= least
        run[place] = run[place - 1] + full if place else 0
        held = own if full else held + own
    return np.where((run == run[-1]) & (held < least), np.maximum(run - 1, 0), run)
