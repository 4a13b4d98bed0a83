"""What a study says as a whole: how many pairs are miscalibrated unevenly, and for how many that is proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.residuals import holm
from miscal.study.numbers import GapNumbers, gap_numbers
from miscal.study.numbers.choosing import LEARNED, of_method

METHODS = ("paper", "auto")
"""Methods in the order of pages."""


@dataclass(frozen=True)
class MethodVerdict:
    """What one method found, over all its pairs.

    Attributes
    ----------
    method : {"paper", "auto"}
    gaps : GapNumbers
        Of the learned geometry.
    n_tested : int
        Pairs with a certificate.
    n_proved : int
        Pairs whose hidden miscalibration is proved at 5 % after Holm's adjustment over the tested pairs.
    n_proved_alone : int
        The same without adjustment.
    n_compared : int
        Pairs whose corrected log loss was compared with the uncorrected one.
    n_helped, n_harmed : int
        Pairs whose log loss the correction lowers or raises, the 95 % interval not including 0.
    """

    method: str
    gaps: GapNumbers
    n_tested: int
    n_proved: int
    n_proved_alone: int
    n_compared: int
    n_helped: int
    n_harmed: int


def certificates(pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """List the certificates of hidden miscalibration, adjusted for the number of pairs.

    Parameters
    ----------
    pairs : polars.DataFrame
        The table ``pairs``.
    method : {"paper", "auto"}

    Returns
    -------
    polars.DataFrame
        The rows of `pairs` (learned geometry) that have a ``p_hidden``, with ``p_adjusted`` (Holm 1979, over these
        pairs), smallest first.

    Examples
    --------
    >>> key = {"method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"pair": ["p", "q", "r"], "p_hidden": [0.04, 0.01, None]})
    >>> certificates(pairs, "auto").select("pair", "p_adjusted").rows()
    [('q', 0.02), ('p', 0.04)]
    """
    tested = of_method(pairs, method, LEARNED).drop_nulls("p_hidden")
    adjusted = holm(tested["p_hidden"].to_numpy())
    return tested.with_columns(pl.Series("p_adjusted", adjusted, pl.Float64)).sort(
        "p_adjusted", "p_hidden", "pair", maintain_order=True
    )


def method_verdict(pairs: pl.DataFrame, method: str) -> MethodVerdict:
    """Count what one method found.

    Parameters
    ----------
    pairs : polars.DataFrame
        The table ``pairs``.
    method : {"paper", "auto"}
    """
    proved = certificates(pairs, method)
    compared = of_method(pairs, method, LEARNED).drop_nulls(["log_loss_saved_low", "log_loss_saved_high"])
    return MethodVerdict(
        method=method,
        gaps=gap_numbers(pairs, method),
        n_tested=proved.height,
        n_proved=_count(proved["p_adjusted"] <= SIGNIFICANCE),
        n_proved_alone=_count(proved["p_hidden"] <= SIGNIFICANCE),
        n_compared=compared.height,
        n_helped=_count(compared["log_loss_saved_low"] > 0),
        n_harmed=_count(compared["log_loss_saved_high"] < 0),
    )


def verdicts(tables: Mapping[str, pl.DataFrame]) -> list[MethodVerdict]:
    """Return a verdict for each method that has pairs, the paper's first."""
    held = set(tables["pairs"]["method"].to_list())
    return [method_verdict(tables["pairs"], method) for method in METHODS if method in held]


def sentences(verdict: MethodVerdict) -> list[str]:
    """Say a verdict in words.

    Parameters
    ----------
    verdict : MethodVerdict

    Returns
    -------
    list of str
        Whole sentences.
    """
    gaps = verdict.gaps
    said = [
        f"In {of_pairs(gaps.n_above_zero, gaps.n_pairs)} the worst slice is worse calibrated than the whole; in "
        f"{gaps.n_large} the gap is at least 0.06."
    ]
    if verdict.n_tested:
        said.append(
            f"For {of_pairs(verdict.n_proved, verdict.n_tested)} the certificate proves hidden miscalibration after "
            f"allowing for the number of pairs (Holm, 5 %). Judged alone, {verdict.n_proved_alone} would pass."
        )
    else:
        said.append("No pair has a certificate of hidden miscalibration.")
    if verdict.n_compared:
        said.append(
            "The local correction lowers the log loss beyond chance in "
            f"{of_pairs(verdict.n_helped, verdict.n_compared)} and raises it in {verdict.n_harmed}."
        )
    return said


def of_pairs(k: int, n: int) -> str:
    """Write a count of pairs.

    Examples
    --------
    >>> of_pairs(3, 40), of_pairs(1, 1)
    ('3 of 40 pairs', '1 of 1 pair')
    """
    return f"{k} of {n} pair{'' if n == 1 else 's'}"


def _count(truths: pl.Series) -> int:
    return int(np.sum(truths.fill_null(False).to_numpy()))
