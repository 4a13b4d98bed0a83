"""The paper's claims: its number, ours over the pairs at hand, and whether the direction is the same here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
import polars as pl
from scipy import stats

from miscal.base.arrays import counted
from miscal.base.number_wording import percent
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.formatting import MINUS, metric
from miscal.study import aggregates
from miscal.study import paper_numbers as paper
from miscal.study.tables import LEARNED, RAW, Tables, of_method
from miscal.study.vocabulary import of_pairs, vocabulary_of

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

VARIED = frozenset(
    (dataset, model)
    for dataset, family in (("hh-rlhf", "qwen3"), ("mmlu", "llama-3"))
    for model in paper.MODELS
    if model.startswith(family)
)
"""The pairs that section 5 names for a field that varies much."""

_NO_NUMBERS = "a figure without numbers"

Direction = bool | str
"""Whether the direction of a claim is found, or why nothing can be said."""


@dataclass(frozen=True)
class PaperClaim:
    """One claim of the paper beside what a study found.

    Attributes
    ----------
    figure : str
        Name of the figure or table of the page that shows it.
    place : str
        Where the paper makes it.
    says : str
        The claim, in our words.
    published, here : str
        The paper's number for its own pairs, and ours.
    n : int
        Pairs that it rests on.
    holds : bool or None
        Whether its direction is found here; None where it has none, or where `undecided` says why nothing can be said.
    undecided : str
        Why the direction cannot be said; empty where it can be, and where the claim has none.
    """

    figure: str
    place: str
    says: str
    published: str
    here: str
    n: int
    holds: bool | None = None
    undecided: str = ""

    @property
    def answer(self) -> str:
        """Whether the direction is the same: "yes", "no", "no direction", or why it cannot be said."""
        return self.undecided or {True: "yes", False: "no", None: "no direction"}[self.holds]


def claims(tables: Tables, method: str) -> list[PaperClaim]:
    """Compare every claim of the paper that these tables have rows for, under one method."""
    makers = (_gaps, _spreads, _improvements, _gains, _sizes, _raw, _nulls, _seeds, _thresholds, _purity)
    found = []
    for make in makers:
        for *claim, direction in make(tables, method):
            holds, undecided = (None, direction) if isinstance(direction, str) else (direction, "")
            found.append(PaperClaim(*claim, holds=holds, undecided=undecided))
    return found


_Made = Iterator[tuple[str, str, str, str, str, int, Direction | None]]

# --- directions ---------------------------------------------------------------------------------------------------


def too_few(n: int, what: str = "pair") -> str:
    """Leave a direction open, because n pairs are too few."""
    return f"cannot be said from {counted(n, what)}"


def enough(holds: bool, n: int) -> Direction:
    """State a direction if there are pairs enough.

    >>> enough(True, 5), enough(True, 4)
    (True, 'cannot be said from 4 pairs')
    """
    return bool(holds) if n >= FEWEST_PAIRS else too_few(n)


def in_every(holds: pl.Series) -> Direction:
    """Say whether something holds in every pair: one exception refutes it, a few pairs do not show it.

    One pair alone says nothing of every pair, whether it agrees or not.

    >>> [in_every(pl.Series(holds)) for holds in ([True] * 5, [True, False], [True] * 3, [False])]
    [True, False, 'cannot be said from 3 pairs', 'cannot be said from 1 pair']
    """
    return False if len(holds) > 1 and not holds.all() else enough(holds.all(), len(holds))


def in_most(holds: pl.Series, what: str = "pair", of: int | None = None) -> Direction:
    """Say whether something holds in more than half of the pairs, by an exact sign test at 5 %, two-sided.

    `of` is how many there are, where some cannot speak.

    >>> in_most(pl.Series([True] * 6)), in_most(pl.Series([False] * 6)), in_most(pl.Series([True, False]))
    (True, False, 'cannot be said from 2 pairs')
    """
    n, k = len(holds), int(holds.sum())
    if n == 0 or stats.binomtest(k, n).pvalue > SIGNIFICANCE:
        return too_few(n if of is None else of, what)
    return 2 * k > n


def rising(found: aggregates.Association) -> Direction:
    """Say whether a correlation is above 0, by its interval.

    >>> rising(aggregates.fisher(0.9, 20)), rising(aggregates.fisher(0.9, 4))
    (True, 'cannot be said from 4 pairs')
    """
    return too_few(found.n) if found.rises is None else enough(found.rises, found.n)


def higher(some: Sequence[float], others: Sequence[float]) -> Direction:
    """Say whether some values are higher than others, by the exact rank-sum test at 5 %, two-sided.

    >>> higher([4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0]), higher([1.0], [0.0])
    (True, 'cannot be said from 2 pairs')
    """
    if stats.mannwhitneyu(some, others).pvalue > SIGNIFICANCE:
        return too_few(len(some) + len(others))
    return bool(np.mean(some) > np.mean(others))


def write_range(values: Sequence[float], digits: int = 3) -> str:
    """Write the ends of some numbers.

    >>> write_range([0.79, 0.912], 2), write_range([3, 3], 0)
    ('0.79 to 0.91', '3')
    """
    return " to ".join(dict.fromkeys([metric(min(values), digits), metric(max(values), digits)]))


# --- claims -------------------------------------------------------------------------------------------------------


def _shares(
    figure: str, place: str, says: str, published: str, holds: pl.Series, direction: Direction | None, here: str = "{}"
) -> tuple[str, str, str, str, str, int, Direction | None]:
    """Claim something of each pair: in how many it holds."""
    return figure, place, says, published, here.format(of_pairs(int(holds.sum()), len(holds))), len(holds), direction


def _gaps(tables: Tables, method: str) -> _Made:
    """How often the worst slice is worse than the whole, and by how much."""
    own = of_method(tables["pairs"], method, LEARNED)
    if own.is_empty():
        return
    n, gap, large = own.height, own["gap_clipped"], own["gap_clipped"] >= aggregates.LARGE_GAP
    found = aggregates.verdict(own, method).row(0, named=True)
    means = [one.mean for one in paper.GAPS.values()]
    learned = f"{percent(paper.POSITIVE_LEARNED)} of {paper.N_PAIRS} pairs"
    beyond = (own["gap_interval_low"] > 0).fill_null(False)
    yield _shares("gaps", "appendix F.2", "In most pairs the gap is above 0.", learned, gap > 0, None)
    yield _shares(
        "gaps", "not in the paper", "In some pairs the gap is above 0 beyond chance.", "not reported", beyond, None
    )
    yield _shares(
        "gaps", "section 5", "Many pairs have a gap of at least 0.06.", of_pairs(paper.N_LARGE_GAP, paper.N_PAIRS),
        large, enough(large.sum() >= MANY * n, n),
    )  # fmt: skip
    yield (
        "gaps", "table 5a", "Size of the gap over all pairs, cut off at 0: mean and median.",
        f"{metric(fmean(means))} and {metric(median(means))}",
        f"{metric(found['mean_gap'])} and {metric(found['median_gap'])}", n, None,
    )  # fmt: skip
    if (share := found["mean_share_worst"]) is not None:
        n = int(large.sum())
        yield (
            "gaps", "section 5", "In pairs with a gap of at least 0.06, the worst slice is no rare edge case.",
            f"{percent(paper.LARGE_GAP_SHARE)} of rows (its table 5b contradicts this)", f"{percent(share)} of rows",
            n, enough(share > EDGE_CASE, n),
        )  # fmt: skip


def _spreads(tables: Tables, method: str) -> _Made:
    """Pairs that the paper names for a field that varies much, beside the other pairs."""
    rows = of_method(tables["pairs"], method, LEARNED).drop_nulls("delta_std").to_dicts()
    named, others = (
        [row["delta_std"] for row in rows if (paper.reproduced(row) in VARIED) is inside] for inside in (True, False)
    )
    if named and others:
        yield (
            "fields", "figure 5a", "The field varies more for Qwen3 on HH-RLHF and Llama 3 on MMLU than elsewhere.",
            _NO_NUMBERS, f"standard deviation {metric(fmean(named))} in these pairs ({len(named)} here), "
            f"{metric(fmean(others))} in the others, on average", len(rows), higher(named, others),
        )  # fmt: skip


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
            yield "improvements", "figure 6", says, published, here, n, enough(holds(means, harmed), n)


def _gains(tables: Tables, method: str) -> _Made:
    """Whether the gain over isotonic regression is larger where the field varies more."""
    _, found = aggregates.heterogeneity_gain(tables["pairs"], tables["corrections"], method)
    if found.value is not None:
        yield (
            "gains", "figure 7a", "The gain over isotonic regression is larger where the field varies more.",
            "rising, without a number", f"Spearman {found.text}", found.n, rising(found),
        )  # fmt: skip


def _sizes(tables: Tables, method: str) -> _Made:
    """Whether larger models vary more."""
    trends = aggregates.size_trends(tables["pairs"], method).drop_nulls("spearman")
    up = trends["spearman"] > 0
    if trends.height:
        yield (
            "sizes", "figure 7b", "In several families the field varies more in larger models.",
            "rising in several families, without a number",
            f"rising in {up.sum()} of {len(up)} lines of three models or more", int(trends["n"].sum()),
            in_most(up, "line"),
        )  # fmt: skip


def _raw(tables: Tables, method: str) -> _Made:
    """Set what the raw inputs find beside the learned geometry."""
    gaps = aggregates.raw_against_learned(tables["pairs"], method)
    if gaps.is_empty():
        return
    learned, raw = gaps[LEARNED] > 0, gaps[RAW] > 0
    sides = [of_method(tables["pairs"], method, geometry) for geometry in (LEARNED, RAW)]
    both = sides[0].join(sides[1], on="pair", suffix="_raw")
    both = both.drop_nulls(["delta_std", "delta_mean", "delta_std_raw", "delta_mean_raw"])
    lower, negative = both["delta_std_raw"] < both["delta_std"], both["delta_mean_raw"] < 0
    yield (
        "raw-gaps", "appendix F.2", "Learning finds a slice worse than the whole more often than raw inputs do.",
        f"{percent(paper.POSITIVE_LEARNED)} learned, {percent(paper.POSITIVE_RAW)} raw",
        f"{percent(learned.mean())} learned, {percent(raw.mean())} raw", gaps.height,
        in_most(learned.filter(learned != raw), of=gaps.height),
    )  # fmt: skip
    for says, holds, here in (
        ("Fields of raw inputs vary less than learned ones.", lower, "less in {}"),
        (f"Fields of raw inputs are mostly {vocabulary_of(tables['pairs']).over}.", negative, "mean below 0 in {}"),
    ):
        yield _shares("raw-fields", "appendix F.2", says, _NO_NUMBERS, holds, in_most(holds), here)


def _nulls(tables: Tables, method: str) -> _Made:
    """Whether field and gap are larger than after the labels were shuffled, and learning goes on for longer."""
    table = aggregates.null_numbers(tables["nulls"], method)
    cited = paper.NULLS.values()
    for name, published, says in (
        ("delta_std", sum(row.delta_std > row.null_delta_std.mean for row in cited),
         "The field varies more than if labels are shuffled."),
        ("gap", sum(row.gap > row.null_gap.mean for row in cited), "The gap is larger than if labels are shuffled."),
    ):  # fmt: skip
        known = table.drop_nulls([name, f"{name}_null_mean", f"{name}_p"])
        if known.height:
            above = (known[name] > known[f"{name}_null_mean"]).sum()
            # the smallest value that p can take; the tolerance is for the rounding of sums
            beyond = known[f"{name}_p"] <= 1 / (known["n_draws"] + 1) + 1e-12
            yield (
                "nulls", "table 2", says, f"above the mean of the refits in {of_pairs(published, len(cited))}",
                f"above their mean in {of_pairs(above, known.height)}, above every refit in {beyond.sum()}",
                known.height, in_every(beyond),
            )  # fmt: skip
    epochs = table.drop_nulls(["epoch", "epoch_null_mean", "epoch_null_std"])
    later = epochs["epoch"] > epochs["epoch_null_mean"]
    if epochs.height:
        yield _shares(
            "proxies", "appendix F.3", "Learning goes on for longer than if labels are shuffled.",
            "stated, without a number", later, in_every(later), "a later epoch is kept in {}",
        )  # fmt: skip


def _seeds(tables: Tables, method: str) -> _Made:
    """Whether other seeds find the same."""
    table = aggregates.seed_numbers(tables["seeds"], tables["seed_pairs"], method).drop_nulls("correlation_mean")
    if table.is_empty():
        return
    undefined = int(table["n_undefined"].sum())
    left_out = f"; {undefined} of {table['n_seed_pairs'].sum()} pairs of seeds are undefined" if undefined else ""
    correlations, agreed, chance = (
        table[f"{name}_mean"] for name in ("correlation", "sign_agreement", "sign_by_chance")
    )
    yield (
        "seeds", "table 3", "Fields of different seeds correlate.",
        write_range([row.correlation.mean for row in paper.SEEDS.values()], 2),
        f"{write_range(correlations, 2)}{left_out}", table.height, in_every(correlations > AGREEING),
    )  # fmt: skip
    yield (
        "seeds", "table 3", "Their signs agree.",
        write_range([row.sign_agreement.mean for row in paper.SEEDS.values()], 2),
        f"{write_range(agreed, 2)}, where unrelated fields would give {write_range(chance, 2)}", table.height,
        in_every(agreed > chance),
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
    n, above, cited = int(table["n_pairs"].to_numpy().max()), table["n"].to_list(), paper.THRESHOLDS.values()
    yield (
        "thresholds", "table 4", "Pairs with a gap above 0.06 are found at every threshold.",
        f"{write_range([row.n_pairs for row in cited], 0)} of {paper.N_PAIRS} pairs",
        f"{write_range(above, 0)} of {n} pairs", n, enough(min(above) > 0, n),
    )  # fmt: skip
    if medians := table["brier_gap"].drop_nulls().to_list():
        yield (
            "thresholds", "table 4", "On the worst slices of these pairs the Brier score is worse, too: median gaps.",
            write_range([row.brier_gap for row in cited]), write_range(medians), max(above),
            enough(min(medians) > 0, max(above)),
        )  # fmt: skip
    for name, (points, *both) in aggregates.threshold_correlations(tables["thresholds"], method).items():
        n, values = points["pair"].n_unique(), [one.value for one in both]
        if None not in values:
            # rows of one pair depend on each other: the interval is that of as many rows as there are pairs
            yield (
                "thresholds", "appendix F.4", _CORRELATED[name], f"{paper.CORRELATIONS[name]:.2f} (kind not said)",
                f"Pearson {values[0]:.2f}, Spearman {values[1]:.2f}".replace("-", MINUS), n,
                rising(aggregates.fisher(min(values, key=abs), n)),
            )  # fmt: skip


def _purity(tables: Tables, method: str) -> _Made:
    """Whether the learned space forgets the category and keeps the sign."""
    found = aggregates.forgetting(tables["purity"], method)
    sign, category = found.filter(of=aggregates.SIGN), found.filter(of="category")
    for says, holds, direction in (
        # the learned space is arranged by the field, so that the first holds by construction
        ("Neighbours share the sign of the field more often in the learned space than in raw inputs.",
         sign["learned"] > sign["raw"], None),
        ("Neighbours share their category less often in the learned space than in raw inputs.", category["falls"],
         in_most(category["falls"])),
    ):  # fmt: skip
        if len(holds):
            yield _shares("layouts", "figure 15", says, _NO_NUMBERS, holds, direction)
