"""``summary.json`` of a study: its verdict in numbers and words, and the paper's claims beside what was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from miscal.study.claims import Claim, claims
from miscal.study.figures.figure import Tables
from miscal.study.references import N_PAIRS, SOURCE, count_paper_pairs
from miscal.study.verdict import MethodVerdict, of_pairs, sentences, verdicts

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class StudySummary:
    """What a study says as a whole.

    Attributes
    ----------
    n_pairs, n_planned : int
        Pairs that are finished, and pairs of the plan.
    n_paper : int
        Finished pairs that are the paper's, by their names.
    opening : str
        Whether the pairs are the paper's, in one sentence.
    verdicts : list of MethodVerdict
    claims : dict of str to list of Claim
        By method.
    n_failures : int
    """

    n_pairs: int
    n_planned: int
    n_paper: int
    opening: str
    verdicts: list[MethodVerdict]
    claims: dict[str, list[Claim]]
    n_failures: int

    @property
    def said(self) -> list[str]:
        """The verdict in words: the opening, then a paragraph a method."""
        return [self.opening, *(f"Method {v.method}: {' '.join(sentences(v))}" for v in self.verdicts)]


def summarise(tables: Tables, n_planned: int) -> StudySummary:
    """Put together what a study says.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
    n_planned : int
        Pairs of the plan.
    """
    names = tables["pairs"].select("pair", "dataset", "model").unique("pair", maintain_order=True)
    n_paper = count_paper_pairs(zip(names["dataset"], names["model"], strict=True))
    found = verdicts(tables)
    return StudySummary(
        n_pairs=names.height,
        n_planned=n_planned,
        n_paper=n_paper,
        opening=opening(names.height, n_paper),
        verdicts=found,
        claims={verdict.method: claims(tables, verdict.method) for verdict in found},
        n_failures=tables["failures"].height,
    )


def opening(n: int, n_paper: int) -> str:
    """Say whether the pairs are the paper's.

    Parameters
    ----------
    n : int
        Finished pairs.
    n_paper : int
        Those that are the paper's.

    Examples
    --------
    >>> opening(3, 3)
    "These are 3 of the paper's 48 pairs, by the names of data set and model."
    """
    if not n:
        return "No pair is finished yet."
    if n_paper == n:
        return f"These are {n} of the paper's {N_PAIRS} pairs, by the names of data set and model."
    if not n_paper:
        return (
            f"These are not the paper's pairs: none of the {of_pairs(n, n).partition(' of ')[2]} here joins one of its "
            "models with one of its data sets. Its numbers stand beside ours for orientation: directions can be "
            "compared, values cannot."
        )
    return (
        f"Only {n_paper} of the {n} pairs are the paper's (it has {N_PAIRS}), by the names of data set and model; the "
        f"other {n - n_paper} are not. Directions can be compared over all of them, values only pair by pair."
    )


def as_json(summary: StudySummary) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    return {
        "schema_version": SCHEMA_VERSION,
        "paper": SOURCE,
        "n_pairs": summary.n_pairs,
        "n_planned": summary.n_planned,
        "n_paper_pairs": summary.n_paper,
        "n_failures": summary.n_failures,
        "verdict": summary.said,
        "methods": {verdict.method: _numbers(verdict) for verdict in summary.verdicts},
        "claims": {method: [asdict(claim) for claim in found] for method, found in summary.claims.items()},
    }


def _numbers(verdict: MethodVerdict) -> dict[str, Any]:
    gaps = verdict.gaps
    return {
        "n_pairs": gaps.n_pairs,
        "n_gap_above_zero": gaps.n_above_zero,
        "n_gap_lower_end_above_zero": gaps.n_lower_end_above_zero,
        "n_gap_large": gaps.n_large,
        "mean_gap": gaps.mean,
        "median_gap": gaps.median,
        "n_tested": verdict.n_tested,
        "n_proved": verdict.n_proved,
        "n_proved_alone": verdict.n_proved_alone,
        "n_compared": verdict.n_compared,
        "n_helped": verdict.n_helped,
        "n_harmed": verdict.n_harmed,
    }
