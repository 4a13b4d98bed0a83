"""The paper's claims: its number, ours over the pairs at hand, and whether the direction is the same here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from miscal.base.number_wording import percent
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.formatting import MINUS, metric
from miscal.study import aggregates
from miscal.study import paper_numbers as paper
from miscal.study.tables import LEARNED, RAW, Tables, of_method
from miscal.study.vocabulary import count_of, of_pairs, vocabulary_of

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


class Direction(NamedTuple):
    """Whether the direction of a claim is found; `holds` is None where it has none, or where `undecided` says why."""

    holds: bool | None
    undecided: str = ""


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
        if self.holds is None:
            return self.undecided or "no direction"
        return "yes" if self.holds else "no"


def claims(tables: Tables, method: str) -> list[PaperClaim]:
    """Compare every claim of the paper that these tables have rows for, under one method."""
    makers = (_gaps, _spreads, _improvements, _gains, _sizes, _raw, _nulls, _seeds, _thresholds, _correlations, _purity)
    return [claim for make in makers for claim in make(tables, method)]


def too_few(n: int, what: str = "pair") -> Direction:
    """Leave a direction open, because n pairs are too few."""
    return Direction(None, f"cannot be said from {count_of(n, what)}")


def enough(holds: bool, n: int) -> Direction:
    """State a direction if there are pairs enough.

    >>> enough(True, 5), enough(True, 4)
    (Direction(holds=True, undecided=''), Direction(holds=None, undecided='cannot be said from 4 pairs'))
    """
    return Direction(bool(holds)) if n >= FEWEST_PAIRS else too_few(n)


def in_every(k: int, n: int) -> Direction:
    """Say whether something holds in every pair, of k in n: one exception refutes it, a few pairs do not show it.

    One pair alone says nothing of every pair, whether it agrees or not.

    >>> in_every(5, 5).holds, in_every(2, 3).holds, in_every(3, 3).undecided, in_every(0, 1).undecided
    (True, False, 'cannot be said from 3 pairs', 'cannot be said from 1 pair')
    """
    return Direction(False) if k < n and n > 1 else enough(k == n, n)


def in_most(k: int, n: int, what: str = "pair", of: int | None = None) -> Direction:
    """Say whether something holds in more than half of n pairs, by an exact sign test at 5 %, two-sided.

    `of` is how many there are, where some cannot speak.

    >>> in_most(6, 6).holds, in_most(0, 6).holds, in_most(5, 6).undecided
    (True, False, 'cannot be said from 6 pairs')
    """
    if n == 0 or stats.binomtest(k, n).pvalue > SIGNIFICANCE:
        return too_few(n if of is None else of, what)
    return Direction(2 * k > n)


def is_rising(value: float | None, n: int) -> Direction:
    """Say whether a correlation is above 0, by Fisher's interval for n independent pairs.

    There may be fewer of these than rows that were correlated.

    >>> is_rising(0.9, 20).holds, is_rising(0.9, 4).undecided
    (True, 'cannot be said from 4 pairs')
    """
    rises = aggregates.fisher(value, n).rises
    return too_few(n) if rises is None else enough(rises, n)


def higher(some: Sequence[float], others: Sequence[float]) -> Direction:
    """Say whether some values are higher than others, by the exact rank-sum test at 5 %, two-sided.

    >>> higher([4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0]).holds, higher([1.0], [0.0]).undecided
    (True, 'cannot be said from 2 pairs')
    """
    if not some or not others or stats.mannwhitneyu(some, others).pvalue > SIGNIFICANCE:
        return too_few(len(some) + len(others))
    return Direction(bool(np.mean(some) > np.mean(others)))


def write_range(values: Sequence[float], digits: int = 3) -> str:
    """Write the ends of some numbers.

    >>> write_range([0.79, 0.912], 2), write_range([3, 3], 0)
    ('0.79 to 0.91', '3')
    """
    low, high = metric(min(values), digits), metric(max(values), digits)
    return low if low == high else f"{low} to {high}"


def _gaps(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """How often the worst slice is worse than the whole, and by how much."""
    found = aggregates.gap_numbers(tables["pairs"], method)
    n = found.n_pairs
    if not n:
        return
    means = [gap.mean for gap in paper.GAPS.values()]
    yield PaperClaim(
        "gaps", "appendix F.2", "In most pairs the gap is above 0.",
        f"{percent(paper.POSITIVE_LEARNED)} of {paper.N_PAIRS} pairs", of_pairs(found.n_above_zero, n), n,
    )  # fmt: skip
    yield PaperClaim(
        "gaps", "not in the paper", "In some pairs the gap is above 0 beyond chance.", "not reported",
        of_pairs(found.n_beyond_chance, n), n,
    )  # fmt: skip
    yield PaperClaim(
        "gaps", "section 5", "Many pairs have a gap of at least 0.06.",
        of_pairs(paper.N_LARGE_GAP, paper.N_PAIRS), of_pairs(found.n_large, n), n,
        *enough(found.n_large >= MANY * n, n),
    )  # fmt: skip
    yield PaperClaim(
        "gaps", "table 5a", "Size of the gap over all pairs, cut off at 0: mean and median.",
        f"{metric(fmean(means))} and {metric(median(means))}", f"{metric(found.mean)} and {metric(found.median)}",
        n,
    )  # fmt: skip
    if (share := found.mean_share_worst) is not None:
        yield PaperClaim(
            "gaps", "section 5", "In pairs with a gap of at least 0.06, the worst slice is no rare edge case.",
            f"{percent(paper.LARGE_GAP_SHARE)} of rows (its table 5b contradicts this)", f"{percent(share)} of rows",
            found.n_large,
            *enough(share > EDGE_CASE, found.n_large),
        )  # fmt: skip


def _spreads(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Pairs that the paper names for a field that varies much, beside the other pairs."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for row in of_method(tables["pairs"], method, LEARNED).drop_nulls("delta_std").iter_rows(named=True):
        values[paper.reproduced(row) in VARIED].append(row["delta_std"])
    named, others = values[True], values[False]
    if named and others:
        yield PaperClaim(
            "fields", "figure 5a", "The field varies more for Qwen3 on HH-RLHF and Llama 3 on MMLU than elsewhere.",
            _NO_NUMBERS, f"standard deviation {metric(fmean(named))} in these pairs ({len(named)} here), "
            f"{metric(fmean(others))} in the others, on average",
            len(named) + len(others), *higher(named, others),
        )  # fmt: skip


def _sizes(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Whether larger models vary more."""
    trends = aggregates.size_trends(tables["pairs"], method).drop_nulls("spearman")
    up, of = int((trends["spearman"] > 0).sum()), trends.height
    if of:
        yield PaperClaim(
            "sizes", "figure 7b", "In several families the field varies more in larger models.",
            "rising in several families, without a number", f"rising in {up} of {of} lines of three models or more",
            int(trends["n"].sum()), *in_most(up, of, "line"),
        )  # fmt: skip


def _raw(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Set what the raw inputs find beside the learned geometry."""
    gaps = aggregates.raw_against_learned(tables["pairs"], method)
    if gaps.is_empty():
        return
    of_raw, of_learned = (gaps[name] > 0 for name in (RAW, LEARNED))
    alone = [int((one & ~other).sum()) for one, other in ((of_learned, of_raw), (of_raw, of_learned))]
    learned, raw = (
        of_method(tables["pairs"], method, side).select("pair", "delta_std", "delta_mean") for side in (LEARNED, RAW)
    )
    both = learned.join(raw, on="pair", suffix="_raw").drop_nulls()
    lower, negative = (both["delta_std_raw"] < both["delta_std"]).sum(), (both["delta_mean_raw"] < 0).sum()
    yield PaperClaim(
        "raw-gaps", "appendix F.2", "Learning finds a slice worse than the whole more often than raw inputs do.",
        f"{percent(paper.POSITIVE_LEARNED)} learned, {percent(paper.POSITIVE_RAW)} raw",
        f"{percent(of_learned.to_numpy().mean())} learned, {percent(of_raw.to_numpy().mean())} raw", gaps.height,
        *in_most(alone[0], sum(alone), of=gaps.height),
    )  # fmt: skip
    yield PaperClaim(
        "raw-fields", "appendix F.2", "Fields of raw inputs vary less than learned ones.",
        _NO_NUMBERS, f"less in {of_pairs(lower, both.height)}", both.height,
        *in_most(lower, both.height),
    )  # fmt: skip
    yield PaperClaim(
        "raw-fields", "appendix F.2", f"Fields of raw inputs are mostly {vocabulary_of(tables['pairs']).over}.",
        _NO_NUMBERS, f"mean below 0 in {of_pairs(negative, both.height)}", both.height,
        *in_most(negative, both.height),
    )  # fmt: skip


def _improvements(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Where corrections help, and where they do harm."""
    table = aggregates.improvements(tables["corrections"], tables["pairs"], method)
    n = of_method(tables["pairs"], method, LEARNED).height
    ours, others, least = ("miscal",), ("isotonic", "temperature"), metric(TOLERANCE)
    for says, calibrators, regions, published, holds in (
        ("The local correction helps on both miscalibrated regions.", ours, ("over", "under"), "above 0 on both",
         _helps),
        ("The local correction does no harm where calibration is good.", ours, ("good",), "about 0",
         lambda means: _harmed(means) == 0),
        ("Isotonic regression and temperature scaling help on all rows.", others, ("all",), "above 0", _helps),
        ("Isotonic regression and temperature scaling often do harm where calibration is good.", others, ("good",),
         "often below 0", lambda means: 2 * _harmed(means) >= len(means)),
    ):  # fmt: skip
        means = table.filter(pl.col("calibrator").is_in(calibrators), pl.col("region").is_in(regions))["mean"].to_list()
        if means:
            here = f"{write_range(means)}; {_harmed(means)} of {len(means)} means are below {least}"
            yield PaperClaim("improvements", "figure 6", says, published, here, n, *enough(holds(means), n))


def _helps(means: list[float]) -> bool:
    return _harmed(means) == 0 and fmean(means) > 0


def _harmed(means: list[float]) -> int:
    return sum(mean < TOLERANCE for mean in means)


def _gains(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Whether the gain over isotonic regression is larger where the field varies more."""
    _, found = aggregates.heterogeneity_gain(tables["pairs"], tables["corrections"], method)
    if found.value is None:
        return
    yield PaperClaim(
        "gains", "figure 7a", "The gain over isotonic regression is larger where the field varies more.",
        "rising, without a number", f"Spearman {found.text}", found.n,
        *(too_few(found.n) if found.rises is None else enough(found.rises, found.n)),
    )  # fmt: skip


def _nulls(tables: Tables, method: str) -> Iterator[PaperClaim]:
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
            above = int((known[name] > known[f"{name}_null_mean"]).sum())
            # the smallest value that p can take; the tolerance is for the rounding of sums
            beyond = int((known[f"{name}_p"] <= 1 / (known["n_draws"] + 1) + 1e-12).sum())
            yield PaperClaim(
                "nulls", "table 2", says,
                f"above the mean of the refits in {of_pairs(published, len(cited))}",
                f"above their mean in {of_pairs(above, known.height)}, above every refit in {beyond}",
                known.height, *in_every(beyond, known.height),
            )  # fmt: skip
    epochs = table.drop_nulls(["epoch", "epoch_null_mean", "epoch_null_std"])
    later = int((epochs["epoch"] > epochs["epoch_null_mean"]).sum())
    if epochs.height:
        yield PaperClaim(
            "proxies", "appendix F.3", "Learning goes on for longer than if labels are shuffled.",
            "stated, without a number", f"a later epoch is kept in {of_pairs(later, epochs.height)}", epochs.height,
            *in_every(later, epochs.height),
        )  # fmt: skip


def _seeds(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Whether other seeds find the same."""
    table = aggregates.seed_numbers(tables["seeds"], tables["seed_pairs"], method).drop_nulls("correlation_mean")
    if table.is_empty():
        return
    undefined = int(table["n_undefined"].sum())
    left_out = f"; {undefined} of {table['n_seed_pairs'].sum()} pairs of seeds are undefined" if undefined else ""
    correlations, agreed, chance = (
        table[f"{name}_mean"].to_list() for name in ("correlation", "sign_agreement", "sign_by_chance")
    )
    same = sum(value > AGREEING for value in correlations)
    more = sum(one > other for one, other in zip(agreed, chance, strict=True))
    yield PaperClaim(
        "seeds", "table 3", "Fields of different seeds correlate.",
        write_range([row.correlation.mean for row in paper.SEEDS.values()], 2),
        f"{write_range(correlations, 2)}{left_out}", table.height,
        *in_every(same, table.height),
    )  # fmt: skip
    yield PaperClaim(
        "seeds", "table 3", "Their signs agree.",
        write_range([row.sign_agreement.mean for row in paper.SEEDS.values()], 2),
        f"{write_range(agreed, 2)}, where unrelated fields would give {write_range(chance, 2)}", table.height,
        *in_every(more, table.height),
    )  # fmt: skip


def _thresholds(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Whether pairs with a large gap are found wherever regions are cut."""
    table = aggregates.threshold_numbers(tables["thresholds"], method)
    if table.is_empty():
        return
    n, above, cited = int(table["n_pairs"].to_numpy().max()), table["n"].to_list(), paper.THRESHOLDS.values()
    yield PaperClaim(
        "thresholds", "table 4", "Pairs with a gap above 0.06 are found at every threshold.",
        f"{write_range([row.n_pairs for row in cited], 0)} of {paper.N_PAIRS} pairs",
        f"{write_range(above, 0)} of {n} pairs", n,
        *enough(min(above) > 0, n),
    )  # fmt: skip
    if medians := table["brier_gap"].drop_nulls().to_list():
        yield PaperClaim(
            "thresholds", "table 4", "On the worst slices of these pairs the Brier score is worse, too: median gaps.",
            write_range([row.brier_gap for row in cited]), write_range(medians), max(above),
            *enough(min(medians) > 0, max(above)),
        )  # fmt: skip


_CORRELATED = {
    "brier_on_smece": "Brier gap and smECE gap go together on the slice worst by smECE.",
    "smece_gaps": "smECE gaps on the slices worst by smECE and worst by the Brier score go together.",
    "brier_gaps": "Brier gaps on these slices go together.",
}


def _correlations(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """How gaps by two scores go together."""
    found = aggregates.threshold_correlations(tables["thresholds"], method)
    for name, says in _CORRELATED.items():
        n, values = found[name].points["pair"].n_unique(), (found[name].pearson.value, found[name].spearman.value)
        if None not in values:
            yield PaperClaim(
                "thresholds", "appendix F.4", says, f"{paper.CORRELATIONS[name]:.2f} (kind not said)",
                f"Pearson {values[0]:.2f}, Spearman {values[1]:.2f}".replace("-", MINUS), n,
                *is_rising(min(values, key=abs), n),
            )  # fmt: skip


def _purity(tables: Tables, method: str) -> Iterator[PaperClaim]:
    """Whether the learned space forgets the category and keeps the sign."""
    found = aggregates.forgetting(tables["purity"], method)
    signs = [one.sign.learned > one.sign.raw for one in found if one.sign is not None]
    forgotten = [one.forgets for one in found if one.category is not None]
    for says, holds, direction in (
        # the learned space is arranged by the field, so that the first holds by construction
        ("Neighbours share the sign of the field more often in the learned space than in raw inputs.", signs,
         Direction(None)),
        ("Neighbours share their category less often in the learned space than in raw inputs.", forgotten,
         in_most(sum(forgotten), len(forgotten))),
    ):  # fmt: skip
        if holds:
            yield PaperClaim("layouts", "figure 15", says, _NO_NUMBERS, of_pairs(sum(holds), len(holds)), len(holds),
                             *direction)  # fmt: skip
