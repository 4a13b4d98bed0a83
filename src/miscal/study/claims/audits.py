"""Claims on nulls, on seeds and on the reporting threshold."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from miscal.report.formatting import MINUS
from miscal.study import paper_numbers as paper
from miscal.study.aggregates import null_numbers, seed_numbers, threshold_correlations, threshold_numbers
from miscal.study.claims.claim import PaperClaim, counts, enough, in_every, ranged, ranged_briefly, rising
from miscal.study.tables import Tables, of_method
from miscal.study.verdict import of_pairs

AGREEING = 0.5
"""Correlation of fields above which seeds are said to agree here; the paper names none."""


def nulls(tables: Tables, method: str) -> list[PaperClaim]:
    """Whether field and gap are larger than after the labels were shuffled."""
    table, found = null_numbers(tables["nulls"], method), []
    references = paper.NULLS.values()
    published = {
        "delta_std": sum(row.delta_std > row.null_delta_std.mean for row in references),
        "gap": sum(row.gap > row.null_gap.mean for row in references),
    }
    says = {"delta_std": "The field varies more than if labels are shuffled.",
            "gap": "The gap is larger than if labels are shuffled."}  # fmt: skip
    for name, sentence in says.items():
        known = table.drop_nulls([name, f"{name}_null_mean", f"{name}_p"])
        if known.height:
            above = int((known[name] > known[f"{name}_null_mean"]).sum())
            # the smallest value that p can take; the tolerance is for the rounding of sums
            beyond = int((known[f"{name}_p"] <= 1 / (known["n_draws"] + 1) + 1e-12).sum())
            found.append(
                PaperClaim(
                    "nulls", "table 2", sentence,
                    f"above the mean of the refits in {of_pairs(published[name], len(paper.NULLS))}",
                    f"above their mean in {of_pairs(above, known.height)}, above every refit in {beyond}",
                    known.height, "It is larger than in every single refit, in every audited pair.",
                    *in_every(beyond, known.height),
                )
            )  # fmt: skip
    return [*found, *_stopped(tables, method)]


def _stopped(tables: Tables, method: str) -> list[PaperClaim]:
    epochs = epochs_of(tables, method).drop_nulls()
    if epochs.is_empty():
        return []
    later = int((epochs["observed"] > epochs["null_mean"]).sum())
    return [
        PaperClaim(
            "proxies", "appendix F.3", "Learning goes on for longer than if labels are shuffled.",
            "stated, without a number", f"a later epoch is kept in {of_pairs(later, epochs.height)}", epochs.height,
            "The kept epoch is later than the mean over refits, in every audited pair.",
            *in_every(later, epochs.height),
        )
    ]  # fmt: skip


def epochs_of(tables: Tables, method: str, null: str = "permuted") -> pl.DataFrame:
    """Return the kept epoch of each audited pair, on the data and under a null: pair, observed, null_mean, null_std."""
    some = of_method(tables["nulls"], method).filter(null=null, statistic="epoch")
    return some.select("pair", "observed", "null_mean", "null_std").unique("pair", keep="first", maintain_order=True)


def seeds(tables: Tables, method: str) -> list[PaperClaim]:
    """Whether other seeds find the same."""
    table = seed_numbers(tables["seeds"], tables["seed_pairs"], method).drop_nulls("correlation_mean")
    if table.is_empty():
        return []
    undefined = int(table["n_undefined"].sum())
    left_out = f"; {undefined} of {table['n_seed_pairs'].sum()} pairs of seeds are undefined" if undefined else ""
    correlations = table["correlation_mean"].to_list()
    same = sum(value > AGREEING for value in correlations)
    return [
        PaperClaim(
            "seeds", "table 3", "Fields of different seeds correlate.",
            ranged_briefly([row.correlation.mean for row in paper.SEEDS.values()]),
            f"{ranged_briefly(correlations)}{left_out}", table.height,
            f"The mean correlation is above {AGREEING:g} in every audited pair.",
            *in_every(same, table.height),
        ),
        *_signs(table),
    ]  # fmt: skip


def _signs(table: pl.DataFrame) -> list[PaperClaim]:
    agreed, chance = (table[f"{name}_mean"].to_list() for name in ("sign_agreement", "sign_by_chance"))
    more = sum(one > other for one, other in zip(agreed, chance, strict=True))
    return [
        PaperClaim(
            "seeds", "table 3", "Their signs agree.",
            ranged_briefly([row.sign_agreement.mean for row in paper.SEEDS.values()]),
            f"{ranged_briefly(agreed)}, where unrelated fields would give {ranged_briefly(chance)}", table.height,
            "They agree more often than those of unrelated fields with as many rows of each sign would, in every "
            "audited pair.", *in_every(more, table.height),
        )
    ]  # fmt: skip


def thresholds(tables: Tables, method: str) -> list[PaperClaim]:
    """Whether pairs with a large gap are found wherever regions are cut."""
    table = threshold_numbers(tables["thresholds"], method)
    if table.is_empty():
        return []
    n, above = int(table["n_pairs"].to_numpy().max()), table["n"].to_list()
    published = [row.n_pairs for row in paper.THRESHOLDS.values()]
    return [
        PaperClaim(
            "thresholds", "table 4", "Pairs with a gap above 0.06 are found at every threshold.",
            f"{counts(published)} of {paper.N_PAIRS} pairs", f"{counts(above)} of {n} pairs", n,
            "There is at least one at every threshold.", *enough(min(above) > 0, n),
        ),
        *_brier(table.drop_nulls("brier_gap")["brier_gap"].to_list(), max(above)),
    ]  # fmt: skip


def _brier(medians: Sequence[float], n: int) -> list[PaperClaim]:
    if not medians:
        return []
    return [
        PaperClaim(
            "thresholds", "table 4", "On the worst slices of these pairs the Brier score is worse, too: median gaps.",
            ranged([row.brier_gap for row in paper.THRESHOLDS.values()]), ranged(medians), n,
            "The median Brier gap is above 0 at every threshold that has such pairs.", *enough(min(medians) > 0, n),
        )
    ]  # fmt: skip


_RHO = {
    "brier_on_smece": ("brier_against_smece", "Brier gap and smECE gap go together on the slice worst by smECE."),
    "smece_gaps": ("smece_gaps", "smECE gaps on the slices worst by smECE and worst by the Brier score go together."),
    "brier_gaps": ("brier_gaps", "Brier gaps on these slices go together."),
}  # fmt: skip


def correlations(tables: Tables, method: str) -> list[PaperClaim]:
    """How gaps by two scores go together."""
    found, made = threshold_correlations(tables["thresholds"], method), []
    for key, (name, says) in _RHO.items():
        both = getattr(found, name)
        values = both.pearson.value, both.spearman.value
        if None in values:
            continue
        n = both.points["pair"].n_unique()
        weaker = min(both.pearson, both.spearman, key=lambda one: abs(one.value))
        holds, undecided = rising(weaker, n)
        made.append(
            PaperClaim(
                "thresholds", "appendix F.4", says, f"{paper.CORRELATIONS[key]:.2f} (kind not said)",
                f"Pearson {values[0]:.2f}, Spearman {values[1]:.2f}".replace("-", MINUS), n,
                "The weaker of both, over pairs and thresholds, is above 0 by an interval that counts each pair once. "
                "Gaps keep their sign; the paper's are probably cut off at 0.", holds, undecided,
            )
        )  # fmt: skip
    return made
