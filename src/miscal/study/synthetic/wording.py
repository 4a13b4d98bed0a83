"""Write numbers in words."""

from __future__ import annotations

import polars as pl

from miscal.report.formatting import metric


def over_seeds(values: pl.Series) -> str:
    """Mean over seeds, with the range where there are several.

    Examples
    --------
    >>> over_seeds(pl.Series([0.95, 0.97])), over_seeds(pl.Series([0.95]))
    ('0.960 (0.950 to 0.970)', '0.950')
    """
    filled = values.fill_null(0.0)
    if values.null_count() == len(values):
        return "undefined, the field is constant"
    if len(filled) == 1:
        return metric(filled[0])
    return f"{metric(filled.mean())} ({metric(filled.min())} to {metric(filled.max())})"


def brief(value: float) -> str:
    """Short form of a setting.

    Examples
    --------
    >>> brief(0.0001), brief(0.01), brief(3.0)
    ('1e-4', '0.01', '3')
    """
    return f"{value:.0e}".replace("e-0", "e-") if 0 < value < 0.005 else f"{value:g}"


def times_seeds(table: pl.DataFrame) -> str:
    """How many seeds a table holds.

    Examples
    --------
    >>> times_seeds(pl.DataFrame({"seed": [0, 0, 1]}))
    '2 seeds'
    """
    return count(table["seed"].n_unique(), "seed")


def count(number: int, word: str) -> str:
    """Count things.

    Examples
    --------
    >>> count(1, "cell"), count(25, "cell")
    ('1 cell', '25 cells')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def per_frequency(table: pl.DataFrame, column: str) -> str:
    """Means by frequency, as a list in words.

    Examples
    --------
    >>> per_frequency(pl.DataFrame({"frequency": [1.0, 2.0], "r": [0.9, None]}), "r")
    '0.900 (k = 1), 0.000 (k = 2)'
    """
    means = table.group_by("frequency").agg(pl.col(column).fill_null(0).mean()).sort("frequency")
    return ", ".join(f"{metric(value)} (k = {k:g})" for k, value in means.iter_rows())
