"""Claims on the gap of the worst slice, on the spread of the field, and on what the raw inputs find."""

from __future__ import annotations

from statistics import fmean, median

from miscal.report.numbers import metric
from miscal.study import references as paper
from miscal.study.claims.claim import Claim, Tables, enough, higher, in_most, whole_percent
from miscal.study.numbers import gap_numbers, raw_against_learned, size_trends
from miscal.study.numbers.choosing import LEARNED, RAW, of_method
from miscal.study.verdict import BEYOND_CHANCE, of_pairs

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


def gaps(tables: Tables, method: str) -> list[Claim]:
    """How often the worst slice is worse than the whole, and by how much."""
    found = gap_numbers(tables["pairs"], method)
    n = found.n_pairs
    if not n:
        return []
    means = [gap.mean for gap in paper.GAPS.values()]
    return [
        Claim(
            "gaps", "appendix F.2", "In most pairs the gap is above 0.",
            f"{whole_percent(paper.POSITIVE_LEARNED)} of {paper.N_PAIRS} pairs", of_pairs(found.n_above_zero, n), n,
            "A calibrated model has a gap above 0, too, so that this count shows nothing by itself.",
        ),
        Claim(
            "gaps", "not in the paper", "In some pairs the gap is above 0 beyond chance.", "not reported",
            of_pairs(found.n_beyond_chance, n), n, f"Counted {BEYOND_CHANCE}.",
        ),
        Claim(
            "gaps", "section 5", "Many pairs have a gap of at least 0.06.",
            of_pairs(paper.N_LARGE_GAP, paper.N_PAIRS), of_pairs(found.n_large, n), n,
            "At least a quarter of the pairs have such a gap.", *enough(found.n_large >= MANY * n, n),
        ),
        Claim(
            "gaps", "table 5a", "Size of the gap over all pairs, cut off at 0: mean and median.",
            f"{metric(fmean(means))} and {metric(median(means))}", f"{metric(found.mean)} and {metric(found.median)}",
            n, "A size has no direction.",
        ),
        *_shares(found.n_large, found.mean_share_worst),
    ]  # fmt: skip


def _shares(n: int, mean: float | None) -> list[Claim]:
    if mean is None:
        return []
    published = f"{whole_percent(paper.LARGE_GAP_SHARE)} of rows (its table 5b contradicts this)"
    return [
        Claim(
            "gaps", "section 5", "In pairs with a gap of at least 0.06, the worst slice is no rare edge case.",
            published, f"{whole_percent(mean)} of rows", n,
            f"The worst slice holds over {whole_percent(EDGE_CASE)} of the rows on average.",
            *enough(mean > EDGE_CASE, n),
        )
    ]  # fmt: skip


def spreads(tables: Tables, method: str) -> list[Claim]:
    """Pairs that the paper names for a field that varies much, beside the other pairs."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for row in of_method(tables["pairs"], method, LEARNED).drop_nulls("delta_std").iter_rows(named=True):
        known = paper.reproduced(row)
        values[known is not None and known.pair in VARIED].append(row["delta_std"])
    named, others = values[True], values[False]
    if not named or not others:
        return []
    return [
        Claim(
            "fields", "figure 5a", "The field varies more for Qwen3 on HH-RLHF and Llama 3 on MMLU than elsewhere.",
            _NO_NUMBERS, f"standard deviation {metric(fmean(named))} in these pairs ({len(named)} here), "
            f"{metric(fmean(others))} in the others, on average",
            len(named) + len(others), "It is larger in the named pairs, by a rank-sum test at 5 %.",
            *higher(named, others),
        )
    ]  # fmt: skip


def sizes(tables: Tables, method: str) -> list[Claim]:
    """Whether larger models vary more."""
    trends = size_trends(tables["pairs"], method).drop_nulls("spearman")
    if trends.is_empty():
        return []
    up, of = int((trends["spearman"] > 0).sum()), trends.height
    return [
        Claim(
            "sizes", "figure 7b", "In several families the field varies more in larger models.",
            "rising in several families, without a number", f"rising in {up} of {of} lines of three models or more",
            int(trends["n"].sum()), "More than half of these lines rise, by a sign test at 5 %.",
            *in_most(up, of, "line"),
        )
    ]  # fmt: skip


def raw(tables: Tables, method: str) -> list[Claim]:
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
        Claim(
            "raw-gaps", "appendix F.2", "Learning finds a slice worse than the whole more often than raw inputs do.",
            f"{whole_percent(paper.POSITIVE_LEARNED)} learned, {whole_percent(paper.POSITIVE_RAW)} raw",
            f"{whole_percent(found.share_learned_above_zero or 0.0)} learned, "
            f"{whole_percent(found.share_raw_above_zero or 0.0)} raw", found.n,
            "Of the pairs in which one of them alone has a gap above 0, it is the learned one in more than half, by a "
            "sign test at 5 %.", *in_most(alone[0], sum(alone), of=found.n),
        ),
        Claim(
            "raw-fields", "appendix F.2", "Fields of raw inputs vary less than learned ones.",
            _NO_NUMBERS, f"less in {of_pairs(lower, both.height)}", both.height,
            "They vary less in more than half of the pairs, by a sign test at 5 %.", *in_most(lower, both.height),
        ),
        Claim(
            "raw-fields", "appendix F.2", "Fields of raw inputs are mostly over-confident.",
            _NO_NUMBERS, f"mean below 0 in {of_pairs(negative, both.height)}", both.height,
            "Their mean is negative in more than half of the pairs, by a sign test at 5 %.",
            *in_most(negative, both.height),
        ),
    ]  # fmt: skip
