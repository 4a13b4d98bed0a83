"""The paper's claims: its number, ours over the pairs at hand, and whether the direction is the same here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean, median

import polars as pl

from miscal.report.numbers import metric, percent
from miscal.study import references as paper
from miscal.study.numbers import (
    gap_numbers,
    heterogeneity_gain,
    improvements,
    null_numbers,
    raw_against_learned,
    seed_numbers,
    size_trends,
    threshold_correlations,
    threshold_numbers,
)
from miscal.study.numbers.association import Association
from miscal.study.numbers.choosing import LEARNED, RAW, of_method
from miscal.study.numbers.forgetting import forgetting
from miscal.study.verdict import METHODS, of_pairs

Tables = Mapping[str, pl.DataFrame]

NO_HARM = -0.005
"""Mean change of smECE down to which a correction still counts as harmless on well-calibrated rows."""

AGREEING = 0.5
"""Correlation of fields, and share of equal signs, above which seeds agree; by chance half of the signs are equal."""

EDGE_CASE = 0.05
"""Share of rows up to which a slice is called an edge case here; the paper names none."""


@dataclass(frozen=True)
class Claim:
    """One claim of the paper beside what a study found.

    Attributes
    ----------
    figure : str
        Name of the figure or table of the page that shows it.
    place : str
        Where the paper makes it.
    says : str
        The claim, in our words.
    published : str
        The paper's number for its own pairs.
    here : str
        Ours.
    n : int
        Pairs that it rests on.
    holds : bool or None
        Whether the direction of the claim is found here; None where it has none, or nothing can be said.
    meaning : str
        What counts as its direction.
    """

    figure: str
    place: str
    says: str
    published: str
    here: str
    n: int
    holds: bool | None
    meaning: str


def claims(tables: Tables, method: str) -> list[Claim]:
    """Compare every claim of the paper that these tables speak to.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        Tables of a study; all of them, each may be empty.
    method : {"paper", "auto"}

    Returns
    -------
    list of Claim
        Only of claims for which there are rows.
    """
    return [claim for make in _MAKERS for claim in make(tables, method)]


def methods_of(tables: Tables) -> list[str]:
    """Return the methods that the table of pairs holds, the paper's first."""
    held = set(tables["pairs"]["method"].to_list())
    return [method for method in METHODS if method in held]


def _gaps(tables: Tables, method: str) -> list[Claim]:
    found = gap_numbers(tables["pairs"], method)
    n = found.n_pairs
    if not n:
        return []
    published = list(paper.GAPS.values())
    above = sum(gap.low > 0 for gap in published)
    means = [gap.mean for gap in published]
    return [
        Claim(
            "gaps", "appendix F.2", "In most pairs the worst slice is worse calibrated than the whole.",
            f"{paper.POSITIVE_LEARNED:.0%} of {paper.N_PAIRS} pairs", of_pairs(found.n_above_zero, n), n,
            found.n_above_zero > n / 2, "The gap is above 0 in more than half of the pairs.",
        ),
        Claim(
            "gaps", "section 5", "Many pairs have a gap of at least 0.06.",
            of_pairs(paper.N_LARGE_GAP, paper.N_PAIRS), of_pairs(found.n_large, n), n,
            found.n_large > 0, "At least one pair has such a gap.",
        ),
        Claim(
            "gaps", "table 5a", "The bootstrap interval of the gap lies above 0.",
            of_pairs(above, paper.N_PAIRS), of_pairs(found.n_lower_end_above_zero, n), n,
            found.n_lower_end_above_zero > n / 2, "It does in more than half of the pairs.",
        ),
        Claim(
            "gaps", "table 5a", "Size of the gap over all pairs, cut off at 0: mean and median.",
            f"{metric(fmean(means))} and {metric(median(means))}", f"{metric(found.mean)} and {metric(found.median)}",
            n, None, "A size has no direction.",
        ),
        *_shares(found.n_large, found.mean_share_worst),
    ]  # fmt: skip


def _shares(n: int, mean: float | None) -> list[Claim]:
    if mean is None:
        return []
    published = f"{percent(paper.LARGE_GAP_SHARE, 0)} of rows (its table 5b contradicts this)"
    return [
        Claim(
            "gaps", "section 5", "In pairs with a gap of at least 0.06, the worst slice is no rare edge case.",
            published, f"{percent(mean, 0)} of rows", n, mean > EDGE_CASE,
            f"The worst slice holds over {EDGE_CASE:.0%} of the rows on average.",
        )
    ]  # fmt: skip


def _raw(tables: Tables, method: str) -> list[Claim]:
    found = raw_against_learned(tables["pairs"], method)
    if not found.n:
        return []
    raw, learned = found.share_raw_above_zero or 0.0, found.share_learned_above_zero or 0.0
    keys = ["pair", "delta_std", "delta_mean"]
    sides = (of_method(tables["pairs"], method, side).select(keys) for side in (LEARNED, RAW))
    both = next(sides).join(next(sides), on="pair", suffix="_raw").drop_nulls()
    lower, negative = (both["delta_std_raw"] < both["delta_std"]).sum(), (both["delta_mean_raw"] < 0).sum()
    return [
        Claim(
            "raw-gaps", "appendix F.2", "Learning finds a slice worse than the whole more often than raw inputs do.",
            f"{paper.POSITIVE_LEARNED:.0%} learned, {paper.POSITIVE_RAW:.0%} raw",
            f"{learned:.0%} learned, {raw:.0%} raw", found.n, learned > raw, "Its share is larger.",
        ),
        Claim(
            "raw-fields", "appendix F.2", "Fields of raw inputs vary less than learned ones.",
            "a figure without numbers", f"less in {of_pairs(lower, both.height)}", both.height,
            lower > both.height / 2, "They vary less in more than half of the pairs.",
        ),
        Claim(
            "raw-fields", "appendix F.2", "Fields of raw inputs are mostly over-confident.",
            "a figure without numbers", f"mean below 0 in {of_pairs(negative, both.height)}", both.height,
            negative > both.height / 2, "Their mean is negative in more than half of the pairs.",
        ),
    ]  # fmt: skip


def _improvements(tables: Tables, method: str) -> list[Claim]:
    table = improvements(tables["corrections"], tables["pairs"], method)
    n = of_method(tables["pairs"], method, LEARNED).height
    if table.is_empty():
        return []
    ours, both = ["miscal"], ["isotonic", "temperature"]
    return [
        *_signs(table, n, ours, ["over", "under"], "The local correction helps on both miscalibrated regions.",
                "above 0 on both", lambda up, of: up == of, "Its mean is above 0 in every region and data set."),
        *_signs(table, n, ours, ["good"], "The local correction does no harm where calibration is good.",
                "about 0", lambda up, of: up == of, f"Its mean is above {metric(NO_HARM)} in every data set.", NO_HARM),
        *_signs(table, n, both, ["all"], "Isotonic regression and temperature scaling help on all rows.",
                "above 0", lambda up, of: up == of, "Both means are above 0 in every data set."),
        *_signs(table, n, both, ["good"], "Isotonic regression and temperature scaling often do harm where calibration "
                "is good.", "often below 0", lambda up, of: up < of, "At least one of the means is not above 0."),
    ]  # fmt: skip


def _signs(
    table: pl.DataFrame, n: int, calibrators: list[str], regions: list[str], says: str, published: str,
    holds: Callable[[int, int], bool], meaning: str, least: float = 0.0,
) -> list[Claim]:  # fmt: skip
    some = table.filter(pl.col("calibrator").is_in(calibrators), pl.col("region").is_in(regions))
    if some.is_empty():
        return []
    up, of = int((some["mean"] > least).sum()), some.height
    values = some["mean"].to_list()
    here = f"above {metric(least) if least else 0} in {up} of {of} means ({_range(values)})"
    return [Claim("improvements", "figure 6", says, published, here, n, holds(up, of), meaning)]


def _gains(tables: Tables, method: str) -> list[Claim]:
    found = heterogeneity_gain(tables["pairs"], tables["corrections"], method).association
    if found.value is None:
        return []
    return [
        Claim(
            "gains", "figure 7a", "The gain over isotonic regression is larger where the field varies more.",
            "rising, without a number", f"Spearman {_r(found)}", found.n, found.value > 0,
            "The rank correlation is above 0.",
        )
    ]  # fmt: skip


def _sizes(tables: Tables, method: str) -> list[Claim]:
    trends = size_trends(tables["pairs"], method).drop_nulls("spearman")
    if trends.is_empty():
        return []
    rising, of = int((trends["spearman"] > 0).sum()), trends.height
    return [
        Claim(
            "sizes", "figure 7b", "In several families the field varies more in larger models.",
            "rising in several families, without a number", f"rising in {rising} of {of} lines of three models or more",
            int(trends["n"].sum()), rising > of / 2, "More than half of these lines rise.",
        )
    ]  # fmt: skip


def _nulls(tables: Tables, method: str) -> list[Claim]:
    table, found = null_numbers(tables["nulls"], method), []
    references = paper.NULLS.values()
    published = {
        "delta_std": sum(row.delta_std > row.null_delta_std.mean for row in references),
        "gap": sum(row.gap > row.null_gap.mean for row in references),
    }
    says = {"delta_std": "The field varies more than under permuted labels.",
            "gap": "The gap is larger than under permuted labels."}  # fmt: skip
    for name, sentence in says.items():
        known = table.drop_nulls([name, f"{name}_null_mean"])
        if known.height:
            larger = int((known[name] > known[f"{name}_null_mean"]).sum())
            found.append(
                Claim(
                    "nulls",
                    "table 2",
                    sentence,
                    of_pairs(published[name], len(paper.NULLS)),
                    of_pairs(larger, known.height),
                    known.height,
                    larger == known.height,
                    "It is larger than the mean over refits in every audited pair.",
                )
            )
    return found


def _seeds(tables: Tables, method: str) -> list[Claim]:
    table, found = seed_numbers(tables["seeds"], tables["seed_pairs"], method), []
    says = {"correlation": "Fields of different seeds correlate.", "sign_agreement": "Their signs agree."}
    for name, sentence in says.items():
        known = table.drop_nulls(f"{name}_mean")[f"{name}_mean"].to_list()
        published = [getattr(row, name).mean for row in paper.SEEDS.values()]
        if known:
            found.append(
                Claim(
                    "seeds",
                    "table 3",
                    sentence,
                    _range(published),
                    _range(known),
                    len(known),
                    min(known) > AGREEING,
                    f"The mean is above {AGREEING:g} in every audited pair.",
                )
            )
    return found


def _thresholds(tables: Tables, method: str) -> list[Claim]:
    table = threshold_numbers(tables["thresholds"], method)
    n = table["n_pairs"].max() if table.height else 0
    known = table.drop_nulls(["smece_gap", "brier_gap"])
    if known.is_empty():
        return []
    counts = [row.n_pairs for row in paper.THRESHOLDS.values()]
    smallest = min(table["n"].to_list())
    rows = paper.THRESHOLDS.values()
    return [
        Claim(
            "thresholds", "table 4", "Pairs with a gap above 0.06 are found at every threshold.",
            f"{_counts(counts)} of {paper.N_PAIRS} pairs",
            f"{_counts(table['n'].to_list())} of {n} pairs", int(n or 0), smallest > 0,
            "There is at least one at every threshold.",
        ),
        Claim(
            "thresholds", "table 4", "On the worst slices of these pairs the Brier score is worse, too: median gaps.",
            _range([row.brier_gap for row in rows]), _range(known["brier_gap"].to_list()), int(n or 0),
            min(known["brier_gap"].to_list()) > 0, "The median Brier gap is above 0 at every threshold.",
        ),
    ]  # fmt: skip


_RHO = {
    "brier_on_smece": ("brier_against_smece", "Brier gap and smECE gap go together on the slice worst by smECE."),
    "smece_gaps": ("smece_gaps", "smECE gaps on the slices worst by smECE and worst by the Brier score go together."),
    "brier_gaps": ("brier_gaps", "Brier gaps on these slices go together."),
}  # fmt: skip


def _correlations(tables: Tables, method: str) -> list[Claim]:
    correlations, found = threshold_correlations(tables["thresholds"], method), []
    for key, (name, says) in _RHO.items():
        both = getattr(correlations, name)
        values = both.pearson.value, both.spearman.value
        if None not in values:
            here = f"Pearson {values[0]:.2f}, Spearman {values[1]:.2f}".replace("-", "\u2212")
            published = f"{paper.CORRELATIONS[key]:.2f} (kind not said)"
            found.append(
                Claim(
                    "thresholds",
                    "appendix F.4",
                    says,
                    published,
                    here,
                    both.points["pair"].n_unique(),
                    min(values) > 0,
                    "Both correlations over pairs and thresholds are above 0.",
                )
            )
    return found


def _purity(tables: Tables, method: str) -> list[Claim]:
    found = forgetting(tables["purity"], method).pairs
    sides = {
        "Neighbours share the sign of the field more often in the learned space than in raw inputs.":
            [one.sign.learned > one.sign.raw for one in found if one.sign is not None],
        "Neighbours share their category less often in the learned space than in raw inputs.":
            [one.forgets for one in found if one.category is not None],
        "Neighbours share the outcome more often in the learned space than in raw inputs.":
            [one.keeps for one in found if one.outcome is not None],
    }  # fmt: skip
    return [
        Claim("layouts", "figure 15", says, "a figure without numbers", of_pairs(sum(holds), len(holds)), len(holds),
              sum(holds) > len(holds) / 2, "So it is in more than half of the interpreted pairs.")
        for says, holds in sides.items() if holds
    ]  # fmt: skip


_MAKERS = (
    _gaps, _improvements, _gains, _sizes, _raw, _nulls, _seeds, _thresholds, _correlations, _purity,
)  # fmt: skip


def _range(values: list[float]) -> str:
    low, high = metric(min(values)), metric(max(values))
    return low if low == high else f"{low} to {high}"


def _counts(values: list[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"


def _r(found: Association) -> str:
    ends = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}{ends}".replace("-", "\u2212")
