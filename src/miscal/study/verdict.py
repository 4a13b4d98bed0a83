"""Write what a study says as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.residuals import holm
from miscal.study.aggregates import LARGE_GAP, StudyGaps, gap_numbers
from miscal.study.tables import LEARNED, methods_of, of_method
from miscal.study.vocabulary import StudyVocabulary

BEYOND_CHANCE = "by a 95 % interval that excludes 0, not adjusted for the number of pairs"
"""What counts as beyond chance where pairs are counted by their intervals."""


@dataclass(frozen=True)
class MethodVerdict:
    """What one method found, over all its pairs.

    Attributes
    ----------
    method : {"paper", "auto"}
    gaps : StudyGaps
        Of the learned geometry.
    n_tested : int
        Pairs with a certificate.
    n_family : int
        Pairs that p-values are adjusted over: those planned for the method, whether or not they are finished.
    n_proved : int
        Pairs whose hidden miscalibration is proved at 5 % after Holm's adjustment over the family: by the p-value
        alone, as in the verdict of a run.
    n_proved_alone : int
        The same without adjustment.
    n_compared : int
        Pairs whose corrected log loss was compared with the uncorrected one.
    n_helped, n_harmed : int
        Pairs whose log loss the correction lowers or raises, by a 95 % interval that excludes 0; not adjusted for the
        number of pairs.
    n_compared_local : int
        Pairs whose corrected log loss was compared with that of a map of the confidence alone.
    n_helped_local, n_harmed_local : int
        Pairs in which the correction leaves a lower or a higher log loss than that map, counted in the same way.
    """

    method: str
    gaps: StudyGaps
    n_tested: int
    n_family: int
    n_proved: int
    n_proved_alone: int
    n_compared: int
    n_helped: int
    n_harmed: int
    n_compared_local: int
    n_helped_local: int
    n_harmed_local: int


def certificates(pairs: pl.DataFrame, method: str, n_planned: int | None = None) -> pl.DataFrame:
    """List the certificates of hidden miscalibration, adjusted for the number of pairs.

    Parameters
    ----------
    pairs : polars.DataFrame
        The table ``pairs``.
    method : {"paper", "auto"}
    n_planned : int, optional
        Pairs that the plan has for this method. Those without a certificate, because they are not finished, failed or
        have none, count as tested with a p-value of 1, so that an unfinished study proves no more than the finished one
        would with the same p-values. By default the pairs with a certificate are all there are.

    Returns
    -------
    polars.DataFrame
        The rows of `pairs` (learned geometry) that have a ``p_hidden``, with ``p_adjusted`` (Holm 1979), smallest
        first.

    Examples
    --------
    >>> key = {"method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"pair": ["p", "q", "r"], "p_hidden": [0.04, 0.01, None]})
    >>> certificates(pairs, "auto").select("pair", "p_adjusted").rows()
    [('q', 0.02), ('p', 0.04)]
    >>> certificates(pairs, "auto", n_planned=4).select("pair", "p_adjusted").rows()
    [('q', 0.04), ('p', 0.12)]
    """
    tested = of_method(pairs, method, LEARNED).drop_nulls("p_hidden")
    others = np.ones(_family(tested, n_planned) - tested.height)
    adjusted = holm(np.concatenate([tested["p_hidden"].to_numpy(), others]))[: tested.height]
    return tested.with_columns(pl.Series("p_adjusted", adjusted, pl.Float64)).sort(
        "p_adjusted", "p_hidden", "pair", maintain_order=True
    )


def _family(tested: pl.DataFrame, n_planned: int | None) -> int:
    # tables may hold pairs that the plan has no more
    return max(tested.height, n_planned or 0)


def method_verdict(pairs: pl.DataFrame, method: str, n_planned: int | None = None) -> MethodVerdict:
    """Count what one method found.

    Parameters
    ----------
    pairs : polars.DataFrame
        The table ``pairs``.
    method : {"paper", "auto"}
    n_planned : int, optional
        As for :func:`certificates`.
    """
    proved, some = certificates(pairs, method, n_planned), of_method(pairs, method, LEARNED)
    n_compared, n_helped, n_harmed = _counts_beyond_chance(some, "log_loss_saved")
    n_compared_local, n_helped_local, n_harmed_local = _counts_beyond_chance(some, "log_loss_saved_local")
    return MethodVerdict(
        method=method,
        gaps=gap_numbers(pairs, method),
        n_tested=proved.height,
        n_family=_family(proved, n_planned),
        n_proved=_count(proved["p_adjusted"] <= SIGNIFICANCE),
        n_proved_alone=_count(proved["p_hidden"] <= SIGNIFICANCE),
        n_compared=n_compared,
        n_helped=n_helped,
        n_harmed=n_harmed,
        n_compared_local=n_compared_local,
        n_helped_local=n_helped_local,
        n_harmed_local=n_harmed_local,
    )


def _counts_beyond_chance(pairs: pl.DataFrame, difference: str) -> tuple[int, int, int]:
    """Count the pairs that have an interval of the difference, those where it lies above 0, and below 0."""
    low, high = f"{difference}_low", f"{difference}_high"
    known = pairs.drop_nulls([low, high])
    return known.height, _count(known[low] > 0), _count(known[high] < 0)


def verdicts(tables: Mapping[str, pl.DataFrame], n_planned: Mapping[str, int] | None = None) -> list[MethodVerdict]:
    """Return a verdict for each method that has pairs, the paper's first.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        The table ``pairs`` is used.
    n_planned : mapping of str to int, optional
        Pairs that the plan has, by method: :func:`miscal.study.folder.n_planned_by_method`.
    """
    planned, pairs = n_planned or {}, tables["pairs"]
    return [method_verdict(pairs, method, planned.get(method)) for method in methods_of(pairs)]


def duel_sentence(tables: Mapping[str, pl.DataFrame]) -> str | None:
    """Say which method leaves the lower log loss; None where no pair has both.

    Examples
    --------
    >>> duel_sentence({"duels": pl.DataFrame({"saved_low": [0.1, -0.1], "saved_high": [0.3, 0.2]})})[:76]
    "Our method leaves a lower log loss than the paper's in 1 of 2 pairs and a hi"
    """
    n, better, worse = _counts_beyond_chance(tables["duels"], "saved")
    if not n:
        return None
    return (
        f"Our method leaves a lower log loss than the paper's in {of_pairs(better, n)} and a higher one in {worse}, on "
        f"the same rows, {BEYOND_CHANCE}."
    )


def sentences(verdict: MethodVerdict, words: StudyVocabulary) -> list[str]:
    """Say a verdict in the words of a study.

    Returns
    -------
    list of str
        Whole sentences.
    """
    gaps = verdict.gaps
    said = [
        f"In {of_pairs(gaps.n_beyond_chance, gaps.n_pairs)} the worst slice is worse calibrated than the whole beyond "
        f"chance, {BEYOND_CHANCE}. In {gaps.n_large} the gap is at least {LARGE_GAP:g}."
    ]
    if verdict.n_tested:
        planned = verdict.n_family > verdict.n_tested
        tested = f"all {verdict.n_family} pairs that are planned" if planned else "the number of pairs"
        said.append(
            f"For {of_pairs(verdict.n_proved, verdict.n_tested)} the certificate proves hidden miscalibration after "
            f"allowing for {tested} (Holm, 5 %). Without that allowance it would be "
            f"{verdict.n_proved_alone}."
        )
    else:
        said.append("No pair has a certificate of hidden miscalibration.")
    if verdict.n_compared:
        said.append(
            f"The local correction lowers the log loss in {of_pairs(verdict.n_helped, verdict.n_compared)} and raises "
            f"it in {verdict.n_harmed}, {BEYOND_CHANCE}."
        )
    if verdict.n_compared_local:
        said.append(
            f"It leaves a lower log loss than a map of the {words.probability} alone in "
            f"{of_pairs(verdict.n_helped_local, verdict.n_compared_local)} and a higher one in "
            f"{verdict.n_harmed_local}, counted in the same way."
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
