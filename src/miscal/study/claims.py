"""The paper's claims: its number, ours over the pairs at hand, and whether the direction is the same here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from miscal.base.arrays import counted
from miscal.base.number_wording import percent
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.formatting import metric
from miscal.study import aggregates, paper
from miscal.study.tables import LEARNED, Tables, of_method, vocabulary_of

FEWEST_PAIRS = 5
"""Pairs from which on a direction is stated at all."""
AGREEING = 0.5
"""Correlation of fields above which seeds are said to agree here; the paper names none."""
MANY = 0.25
"""Share of pairs from which on pairs are called many here; the paper counts 18 of 48."""
EDGE_CASE = 0.05
"""Share of rows up to which a slice is called an edge case here; the paper names none."""
TOLERANCE = -0.005
"""Mean change of smECE down to which a correction counts as doing no harm, whichever correction it is."""

_VARIED = {"hh-rlhf": "qwen3", "mmlu": "llama-3"}
VARIED = frozenset((of, name) for of, family in _VARIED.items() for name in paper.MODELS if name.startswith(family))
"""The pairs that section 5 names for a field that varies much."""

NO_DIRECTION = "no direction"
_NO_NUMBERS = "a figure without numbers"
_KEYS = ("figure", "place", "says", "published", "here", "n", "direction")
_Made = Iterator[tuple[str, str, str, str, str, int, str]]


def claims(tables: Tables, method: str) -> list[dict[str, Any]]:
    """Compare every claim of the paper that these tables have rows for, under one method.

    Each has the name of the `figure` or table of the page that shows it, the `place` in the paper, what it `says`
    in our words, the number `published` and the one `here`, `n`, the pairs that it rests on, and whether its
    `direction` is found here: "yes", "no", "no direction", or why it cannot be said.
    """
    makers = (_gaps, _improvements, _trends, _raw, _nulls, _seeds, _thresholds, _purity)
    return [dict(zip(_KEYS, claim, strict=True)) for make in makers for claim in make(tables, method)]


# --- directions ---------------------------------------------------------------------------------------------------


def direction(holds: bool | None, n: int, what: str = "pair", least: int = FEWEST_PAIRS) -> str:
    """State a direction if it is known, and of pairs enough.

    >>> direction(True, 5), direction(True, 4)
    ('yes', 'cannot be said from 4 pairs')
    """
    if holds is None or n < least:
        return f"cannot be said from {counted(n, what)}"
    return "yes" if holds else "no"


def in_every(holds: pl.Series) -> str:
    """Say whether something holds in every pair: one exception refutes it, a few pairs do not show it.

    One pair alone says nothing of every pair, whether it agrees or not.

    >>> [in_every(pl.Series(holds)) for holds in ([True] * 5, [True, False], [True] * 3, [False])]
    ['yes', 'no', 'cannot be said from 3 pairs', 'cannot be said from 1 pair']
    """
    refuted = len(holds) > 1 and not holds.all()
    return direction(holds.all(), len(holds), least=0 if refuted else FEWEST_PAIRS)


def in_most(holds: pl.Series, what: str = "pair", of: int | None = None) -> str:
    """Say whether something holds in more than half of the pairs, by an exact sign test at 5 %, two-sided.

    `of` is how many there are, where some cannot speak.

    >>> in_most(pl.Series([True] * 6)), in_most(pl.Series([False] * 6)), in_most(pl.Series([True, False]))
    ('yes', 'no', 'cannot be said from 2 pairs')
    """
    n, k = len(holds), int(holds.sum())
    told = n and stats.binomtest(k, n).pvalue <= SIGNIFICANCE
    return direction(2 * k > n if told else None, n if of is None else of, what, least=0)


def rising(found: aggregates.Association) -> str:
    """Say whether a correlation is above 0, by its interval.

    >>> rising(aggregates.fisher(0.9, 20)), rising(aggregates.fisher(0.9, 4))
    ('yes', 'cannot be said from 4 pairs')
    """
    told = found.low is not None and not found.low <= 0 <= found.high
    return direction(found.value > 0 if told else None, found.n)


def higher(some: Sequence[float], others: Sequence[float]) -> str:
    """Say whether some values are higher than others, by the exact rank-sum test at 5 %, two-sided.

    >>> higher([4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0]), higher([1.0], [0.0])
    ('yes', 'cannot be said from 2 pairs')
    """
    told = stats.mannwhitneyu(some, others).pvalue <= SIGNIFICANCE
    return direction(np.mean(some) > np.mean(others) if told else None, len(some) + len(others), least=0)


# --- claims -------------------------------------------------------------------------------------------------------


def of_pairs(holds: pl.Series) -> str:
    """Write in how many pairs something holds."""
    return f"{holds.sum()} of {counted(len(holds), 'pair')}"


def write_range(values: Sequence[float], digits: int = 3) -> str:
    """Write the ends of some numbers.

    >>> write_range([0.79, 0.912], 2), write_range([3, 3], 0)
    ('0.79 to 0.91', '3')
    """
    return " to ".join(dict.fromkeys([metric(min(values), digits), metric(max(values), digits)]))


def _gaps(tables: Tables, method: str) -> _Made:
    """How often the worst slice is worse than the whole, and by how much; and where fields vary most."""
    own = of_method(tables["pairs"], method, LEARNED)
    if own.is_empty():
        return
    n, above, large = own.height, own["gap_clipped"] > 0, own["gap_clipped"] >= aggregates.LARGE_GAP
    found, means = aggregates.verdict(own, method).row(0, named=True), paper.GAPS["gap"]
    beyond, share, n_large = (own["gap_interval_low"] > 0).fill_null(False), found["mean_share_worst"], int(large.sum())
    yield from (
        ("gaps", "appendix F.2", "In most pairs the gap is above 0.",
         f"{percent(paper.POSITIVE_LEARNED)} of {paper.N_PAIRS} pairs", of_pairs(above), n, NO_DIRECTION),
        ("gaps", "not in the paper", "In some pairs the gap is above 0 beyond chance.", "not reported",
         of_pairs(beyond), n, NO_DIRECTION),
        ("gaps", "section 5", "Many pairs have a gap of at least 0.06.",
         f"{paper.N_LARGE_GAP} of {paper.N_PAIRS} pairs", of_pairs(large), n, direction(n_large >= MANY * n, n)),
        ("gaps", "table 5a", "Size of the gap over all pairs, cut off at 0: mean and median.",
         f"{metric(means.mean())} and {metric(means.median())}",
         f"{metric(found['mean_gap'])} and {metric(found['median_gap'])}", n, NO_DIRECTION),
    )  # fmt: skip
    if share is not None:
        says = "In pairs with a gap of at least 0.06, the worst slice is no rare edge case."
        published = f"{percent(paper.LARGE_GAP_SHARE)} of rows (its table 5b contradicts this)"
        here, told = f"{percent(share)} of rows", direction(share > EDGE_CASE, n_large)
        yield "gaps", "section 5", says, published, here, n_large, told
    rows = own.drop_nulls("delta_std").to_dicts()
    named, others = (
        [row["delta_std"] for row in rows if (paper.reproduced(row) in VARIED) is inside] for inside in (True, False)
    )
    if named and others:
        says = "The field varies more for Qwen3 on HH-RLHF and Llama 3 on MMLU than elsewhere."
        here = f"standard deviation {metric(fmean(named))} in these pairs ({len(named)} here), "
        here += f"{metric(fmean(others))} in the others, on average"
        yield "fields", "figure 5a", says, _NO_NUMBERS, here, len(rows), higher(named, others)


def _improvements(tables: Tables, method: str) -> _Made:
    """Where corrections help, and where they do harm."""
    table = aggregates.improvements(tables["corrections"], tables["pairs"], method)
    n = of_method(tables["pairs"], method, LEARNED).height
    ours, others = ["miscal"], ["isotonic", "temperature"]
    helps = lambda means, harmed: not harmed and fmean(means) > 0  # noqa: E731
    for says, calibrators, regions, published, holds in (
        ("The local correction helps on both miscalibrated regions.", ours, ["over", "under"], "above 0 on both",
         helps),
        ("The local correction does no harm where calibration is good.", ours, ["good"], "about 0",
         lambda means, harmed: not harmed),
        ("Isotonic regression and temperature scaling help on all rows.", others, ["all"], "above 0", helps),
        ("Isotonic regression and temperature scaling often do harm where calibration is good.", others, ["good"],
         "often below 0", lambda means, harmed: 2 * harmed >= len(means)),
    ):  # fmt: skip
        means = table.filter(pl.col("calibrator").is_in(calibrators), pl.col("region").is_in(regions))["mean"].to_list()
        harmed = sum(mean < TOLERANCE for mean in means)
        if means:
            here = f"{write_range(means)}; {harmed} of {len(means)} means are below {metric(TOLERANCE)}"
            yield "improvements", "figure 6", says, published, here, n, direction(holds(means, harmed), n)


def _trends(tables: Tables, method: str) -> _Made:
    """Whether the gain over isotonic regression rises with the spread of the field, and this with size."""
    _, found = aggregates.heterogeneity_gain(tables["pairs"], tables["corrections"], method)
    if found.value is not None:
        says = "The gain over isotonic regression is larger where the field varies more."
        here = f"Spearman {found.text}"
        yield "gains", "figure 7a", says, "rising, without a number", here, found.n, rising(found)
    trends = aggregates.size_trends(tables["pairs"], method).drop_nulls("spearman")
    up = trends["spearman"] > 0
    if trends.height:
        says, published = "In several families the field varies more in larger models.", "rising in several families"
        here = f"rising in {up.sum()} of {len(up)} lines of three models or more"
        n = int(trends["n"].sum())
        yield "sizes", "figure 7b", says, f"{published}, without a number", here, n, in_most(up, "line")


def _raw(tables: Tables, method: str) -> _Made:
    """Set what the raw inputs find beside the learned geometry."""
    both = aggregates.raw_beside_learned(tables["pairs"], method)
    if both.is_empty():
        return
    learned, raw, n = both["gap_clipped"] > 0, both["gap_clipped_raw"] > 0, both.height
    both = both.drop_nulls(["delta_std", "delta_mean", "delta_std_raw", "delta_mean_raw"])
    lower, negative = both["delta_std_raw"] < both["delta_std"], both["delta_mean_raw"] < 0
    over, m = vocabulary_of(tables["pairs"])["over"], both.height
    yield from (
        ("raw-gaps", "appendix F.2", "Learning finds a slice worse than the whole more often than raw inputs do.",
         f"{percent(paper.POSITIVE_LEARNED)} learned, {percent(paper.POSITIVE_RAW)} raw",
         f"{percent(learned.mean())} learned, {percent(raw.mean())} raw", n,
         in_most(learned.filter(learned != raw), of=n)),
        ("raw-fields", "appendix F.2", "Fields of raw inputs vary less than learned ones.", _NO_NUMBERS,
         f"less in {of_pairs(lower)}", m, in_most(lower)),
        ("raw-fields", "appendix F.2", f"Fields of raw inputs are mostly {over}.", _NO_NUMBERS,
         f"mean below 0 in {of_pairs(negative)}", m, in_most(negative)),
    )  # fmt: skip


def _nulls(tables: Tables, method: str) -> _Made:
    """Whether field and gap are larger than after the labels were shuffled, and learning goes on for longer."""
    table = aggregates.null_numbers(tables["nulls"], method)
    for name, more in (("delta_std", "The field varies more"), ("gap", "The gap is larger")):
        known = table.drop_nulls([name, f"{name}_null_mean", f"{name}_p"])
        if known.height:
            # the smallest value that p can take; the tolerance is for the rounding of sums
            beyond = known[f"{name}_p"] <= 1 / (known["n_draws"] + 1) + 1e-12
            published, here = (of_pairs(one[name] > one[f"{name}_null_mean"]) for one in (paper.NULLS, known))
            published, here = f"above the mean of the refits in {published}", f"above their mean in {here}"
            here = f"{here}, above every refit in {beyond.sum()}"
            says = f"{more} than if labels are shuffled."
            yield "nulls", "table 2", says, published, here, known.height, in_every(beyond)
    epochs = table.drop_nulls(["epoch", "epoch_null_mean", "epoch_null_std"])
    later = epochs["epoch"] > epochs["epoch_null_mean"]
    if epochs.height:
        says = "Learning goes on for longer than if labels are shuffled."
        here, published = f"a later epoch is kept in {of_pairs(later)}", "stated, without a number"
        yield "proxies", "appendix F.3", says, published, here, len(later), in_every(later)


def _seeds(tables: Tables, method: str) -> _Made:
    """Whether other seeds find the same."""
    table = aggregates.seed_numbers(tables["seeds"], tables["seed_pairs"], method).drop_nulls("correlation_mean")
    if table.is_empty():
        return
    undefined, n = table["n_undefined"].sum(), table.height
    left_out = f"; {undefined} of {table['n_seed_pairs'].sum()} pairs of seeds are undefined" if undefined else ""
    correlations, agreed, chance = (
        table[f"{name}_mean"] for name in ("correlation", "sign_agreement", "sign_by_chance")
    )
    published = [write_range(paper.SEEDS[f"{name}_mean"], 2) for name in ("correlation", "sign_agreement")]
    here = f"{write_range(agreed, 2)}, where unrelated fields would give {write_range(chance, 2)}"
    yield from (
        ("seeds", "table 3", "Fields of different seeds correlate.", published[0],
         f"{write_range(correlations, 2)}{left_out}", n, in_every(correlations > AGREEING)),
        ("seeds", "table 3", "Their signs agree.", published[1], here, n, in_every(agreed > chance)),
    )  # fmt: skip


_CORRELATED = {
    "brier_on_smece": "Brier gap and smECE gap go together on the slice worst by smECE.",
    "smece_gaps": "smECE gaps on the slices worst by smECE and worst by the Brier score go together.",
    "brier_gaps": "Brier gaps on these slices go together.",
}


def _thresholds(tables: Tables, method: str) -> _Made:
    """Whether pairs with a large gap are found wherever regions are cut, and how gaps by two scores go together."""
    table = aggregates.threshold_numbers(tables["thresholds"], method)
    if table.is_empty():
        return
    n, above, cited = int(table["n_pairs"].to_numpy().max()), table["n"].to_list(), paper.THRESHOLDS
    most, published = max(above), f"{write_range(cited['n'], 0)} of {paper.N_PAIRS} pairs"
    says, here = "Pairs with a gap above 0.06 are found at every threshold.", f"{write_range(above, 0)} of {n} pairs"
    yield "thresholds", "table 4", says, published, here, n, direction(min(above) > 0, n)
    if medians := table["brier_gap"].drop_nulls().to_list():
        says = "On the worst slices of these pairs the Brier score is worse, too: median gaps."
        here, found = write_range(medians), direction(min(medians) > 0, most)
        yield "thresholds", "table 4", says, write_range(cited["brier_gap"]), here, most, found
    for name, (points, *both) in aggregates.threshold_correlations(tables["thresholds"], method).items():
        n, values = points["pair"].n_unique(), [one.value for one in both]
        if None not in values:
            published = f"{paper.CORRELATIONS[name]:.2f} (kind not said)"
            here = f"Pearson {metric(values[0], 2)}, Spearman {metric(values[1], 2)}"
            # rows of one pair depend on each other: the interval is that of as many rows as there are pairs
            found = rising(aggregates.fisher(min(values, key=abs), n))
            yield "thresholds", "appendix F.4", _CORRELATED[name], published, here, n, found


def _purity(tables: Tables, method: str) -> _Made:
    """Whether the learned space forgets the category and keeps the error."""
    found = aggregates.forgetting(tables["purity"], method)
    sign, category, outcome = (found.filter(of=of) for of in (aggregates.SIGN, "category", aggregates.OUTCOME))
    kept, falls, rises = sign["learned"] > sign["raw"], category["falls"], outcome["rises"]
    for place, published, what, holds, told in (
        # the learned space is arranged by the field, so that the first holds by construction
        ("figure 15", _NO_NUMBERS, "the sign of the field more", kept, NO_DIRECTION),
        ("figure 15", _NO_NUMBERS, "their category less", falls, in_most(falls)),
        ("not in the paper", "not reported", "their outcome more", rises, in_most(rises)),
    ):
        if len(holds):
            says = f"Neighbours share {what} often in the learned space than in raw inputs."
            yield "layouts", place, says, published, of_pairs(holds), len(holds), told
