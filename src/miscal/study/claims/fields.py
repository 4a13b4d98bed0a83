"""Claims on gaps, on the spread of the field, on corrections, and on what neighbours share in the learned space."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, median

import polars as pl

from miscal.base.number_wording import percent
from miscal.report.formatting import metric
from miscal.study import paper_numbers as paper
from miscal.study.aggregates import gap_numbers, heterogeneity_gain, improvements, raw_against_learned, size_trends
from miscal.study.aggregates.association import Association
from miscal.study.aggregates.forgetting import forgetting
from miscal.study.claims.claim import (
    NO_DIRECTION,
    Direction,
    PaperClaim,
    enough,
    higher,
    in_most,
    ranged,
    rising,
)
from miscal.study.tables import LEARNED, RAW, Tables, of_method
from miscal.study.verdict import BEYOND_CHANCE, of_pairs
from miscal.study.vocabulary import vocabulary_of

MANY = 0.25
"""Share of pairs from which on pairs are called many here; the paper counts 18 of 48."""

EDGE_CASE = 0.05
"""Share of rows up to which a slice is called an edge case here; the paper names none."""

VARIED = frozenset(
    (dataset, model)
    for dataset, family in (("hh-rlhf", "qwen3"), ("mmlu", "llama-3"))
    for model in paper.MODELS
    if model.startswith(family)
)
"""The pairs that section 5 names for a field that varies much."""

_NO_NUMBERS = "a figure without numbers"


def gaps(tables: Tables, method: str) -> list[PaperClaim]:
    """How often the worst slice is worse than the whole, and by how much."""
    found = gap_numbers(tables["pairs"], method)
    n = found.n_pairs
    if not n:
        return []
    means = [gap.mean for gap in paper.GAPS.values()]
    return [
        PaperClaim(
            "gaps", "appendix F.2", "In most pairs the gap is above 0.",
            f"{percent(paper.POSITIVE_LEARNED)} of {paper.N_PAIRS} pairs", of_pairs(found.n_above_zero, n), n,
            "A calibrated model has a gap above 0, too, so that this count shows nothing by itself.",
        ),
        PaperClaim(
            "gaps", "not in the paper", "In some pairs the gap is above 0 beyond chance.", "not reported",
            of_pairs(found.n_beyond_chance, n), n, f"Counted {BEYOND_CHANCE}.",
        ),
        PaperClaim(
            "gaps", "section 5", "Many pairs have a gap of at least 0.06.",
            of_pairs(paper.N_LARGE_GAP, paper.N_PAIRS), of_pairs(found.n_large, n), n,
            "At least a quarter of the pairs have such a gap.", *enough(found.n_large >= MANY * n, n),
        ),
        PaperClaim(
            "gaps", "table 5a", "Size of the gap over all pairs, cut off at 0: mean and median.",
            f"{metric(fmean(means))} and {metric(median(means))}", f"{metric(found.mean)} and {metric(found.median)}",
            n, "A size has no direction.",
        ),
        *_shares(found.n_large, found.mean_share_worst),
    ]  # fmt: skip


def _shares(n: int, mean: float | None) -> list[PaperClaim]:
    if mean is None:
        return []
    published = f"{percent(paper.LARGE_GAP_SHARE)} of rows (its table 5b contradicts this)"
    return [
        PaperClaim(
            "gaps", "section 5", "In pairs with a gap of at least 0.06, the worst slice is no rare edge case.",
            published, f"{percent(mean)} of rows", n,
            f"The worst slice holds over {percent(EDGE_CASE)} of the rows on average.",
            *enough(mean > EDGE_CASE, n),
        )
    ]  # fmt: skip


def spreads(tables: Tables, method: str) -> list[PaperClaim]:
    """Pairs that the paper names for a field that varies much, beside the other pairs."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for row in of_method(tables["pairs"], method, LEARNED).drop_nulls("delta_std").iter_rows(named=True):
        values[paper.reproduced(row) in VARIED].append(row["delta_std"])
    named, others = values[True], values[False]
    if not named or not others:
        return []
    return [
        PaperClaim(
            "fields", "figure 5a", "The field varies more for Qwen3 on HH-RLHF and Llama 3 on MMLU than elsewhere.",
            _NO_NUMBERS, f"standard deviation {metric(fmean(named))} in these pairs ({len(named)} here), "
            f"{metric(fmean(others))} in the others, on average",
            len(named) + len(others), "It is larger in the named pairs, by a rank-sum test at 5 %.",
            *higher(named, others),
        )
    ]  # fmt: skip


def sizes(tables: Tables, method: str) -> list[PaperClaim]:
    """Whether larger models vary more."""
    trends = size_trends(tables["pairs"], method).drop_nulls("spearman")
    if trends.is_empty():
        return []
    up, of = int((trends["spearman"] > 0).sum()), trends.height
    return [
        PaperClaim(
            "sizes", "figure 7b", "In several families the field varies more in larger models.",
            "rising in several families, without a number", f"rising in {up} of {of} lines of three models or more",
            int(trends["n"].sum()), "More than half of these lines rise, by a sign test at 5 %.",
            *in_most(up, of, "line"),
        )
    ]  # fmt: skip


def raw(tables: Tables, method: str) -> list[PaperClaim]:
    """Set what the raw inputs find beside the learned geometry."""
    found = raw_against_learned(tables["pairs"], method)
    if not found.n:
        return []
    of_raw, of_learned = (found.gaps[name] > 0 for name in (RAW, LEARNED))
    alone = [int((one & ~other).sum()) for one, other in ((of_learned, of_raw), (of_raw, of_learned))]
    keys = ["pair", "delta_std", "delta_mean"]
    sides = (of_method(tables["pairs"], method, side).select(keys) for side in (LEARNED, RAW))
    both = next(sides).join(next(sides), on="pair", suffix="_raw").drop_nulls()
    lower, negative = (both["delta_std_raw"] < both["delta_std"]).sum(), (both["delta_mean_raw"] < 0).sum()
    return [
        PaperClaim(
            "raw-gaps", "appendix F.2", "Learning finds a slice worse than the whole more often than raw inputs do.",
            f"{percent(paper.POSITIVE_LEARNED)} learned, {percent(paper.POSITIVE_RAW)} raw",
            f"{percent(found.share_learned_above_zero or 0.0)} learned, "
            f"{percent(found.share_raw_above_zero or 0.0)} raw", found.n,
            "Of the pairs in which one of them alone has a gap above 0, it is the learned one in more than half, by a "
            "sign test at 5 %.", *in_most(alone[0], sum(alone), of=found.n),
        ),
        PaperClaim(
            "raw-fields", "appendix F.2", "Fields of raw inputs vary less than learned ones.",
            _NO_NUMBERS, f"less in {of_pairs(lower, both.height)}", both.height,
            "They vary less in more than half of the pairs, by a sign test at 5 %.", *in_most(lower, both.height),
        ),
        PaperClaim(
            "raw-fields", "appendix F.2", f"Fields of raw inputs are mostly {vocabulary_of(tables['pairs']).over}.",
            _NO_NUMBERS, f"mean below 0 in {of_pairs(negative, both.height)}", both.height,
            "Their mean is negative in more than half of the pairs, by a sign test at 5 %.",
            *in_most(negative, both.height),
        ),
    ]  # fmt: skip


TOLERANCE = -0.005
"""Mean change of smECE down to which a correction counts as doing no harm, whichever correction it is."""

_OURS, _OTHERS = ("miscal",), ("isotonic", "temperature")
_HELPS = f"No mean is below {metric(TOLERANCE)}, and together they are above 0."


def improved(tables: Tables, method: str) -> list[PaperClaim]:
    """Where corrections help, and where they do harm."""
    table = improvements(tables["corrections"], tables["pairs"], method)
    n = of_method(tables["pairs"], method, LEARNED).height
    claims = (
        ("The local correction helps on both miscalibrated regions.", _OURS, ("over", "under"), "above 0 on both",
         _helps, _HELPS),
        ("The local correction does no harm where calibration is good.", _OURS, ("good",), "about 0",
         lambda means: _harmed(means) == 0, f"No mean is below {metric(TOLERANCE)}."),
        ("Isotonic regression and temperature scaling help on all rows.", _OTHERS, ("all",), "above 0", _helps, _HELPS),
        ("Isotonic regression and temperature scaling often do harm where calibration is good.", _OTHERS, ("good",),
         "often below 0", lambda means: 2 * _harmed(means) >= len(means),
         f"At least half of the means are below {metric(TOLERANCE)}."),
    )  # fmt: skip
    return [claim for one in claims for claim in _claimed(table, n, *one)]


def _claimed(
    table: pl.DataFrame, n: int, says: str, calibrators: tuple[str, ...], regions: tuple[str, ...], published: str,
    holds: Callable[[list[float]], bool], meaning: str,
) -> list[PaperClaim]:  # fmt: skip
    some = table.filter(pl.col("calibrator").is_in(calibrators), pl.col("region").is_in(regions))
    if some.is_empty():
        return []
    means = some["mean"].to_list()
    here = f"{ranged(means)}; {_harmed(means)} of {len(means)} means are below {metric(TOLERANCE)}"
    return [PaperClaim("improvements", "figure 6", says, published, here, n, meaning, *enough(holds(means), n))]


def _helps(means: list[float]) -> bool:
    return _harmed(means) == 0 and fmean(means) > 0


def _harmed(means: list[float]) -> int:
    return sum(mean < TOLERANCE for mean in means)


def gains(tables: Tables, method: str) -> list[PaperClaim]:
    """Whether the gain over isotonic regression is larger where the field varies more."""
    found = heterogeneity_gain(tables["pairs"], tables["corrections"], method).association
    if found.value is None:
        return []
    return [
        PaperClaim(
            "gains", "figure 7a", "The gain over isotonic regression is larger where the field varies more.",
            "rising, without a number", f"Spearman {found.text}", found.n,
            "The 95 % interval of the rank correlation lies above 0.", *_apart(found),
        )
    ]  # fmt: skip


def _apart(found: Association) -> Direction:
    """Decide by the interval of ranks where there is one."""
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return rising(Association(None, None, None, found.n), found.n)
    return enough(found.low > 0, found.n)


def purity(tables: Tables, method: str) -> list[PaperClaim]:
    """Whether the learned space forgets the category and keeps the sign."""
    found = forgetting(tables["purity"], method).pairs
    signs = [one.sign.learned > one.sign.raw for one in found if one.sign is not None]
    forgotten = [one.forgets for one in found if one.category is not None]
    sides = (
        ("Neighbours share the sign of the field more often in the learned space than in raw inputs.", signs,
         NO_DIRECTION,
         "It has no direction: the learned space is arranged by the field, so that this holds by construction."),
        ("Neighbours share their category less often in the learned space than in raw inputs.", forgotten,
         in_most(sum(forgotten), len(forgotten)),
         "This holds in more than half of the interpreted pairs, by a sign test at 5 %."),
    )  # fmt: skip
    return [
        PaperClaim("layouts", "figure 15", says, _NO_NUMBERS, of_pairs(sum(holds), len(holds)), len(holds), meaning,
              *direction)
        for says, holds, direction, meaning in sides if holds
    ]  # fmt: skip
