"""What a study says as a whole: the verdict of each method in numbers and words, and what ``summary.json`` holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from miscal.discovery.summary_parts import Answer as Lines
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.residuals import holm
from miscal.study.aggregates import LARGE_GAP, StudyGaps, gap_numbers
from miscal.study.answers import Answer, answers
from miscal.study.claims import PaperClaim, claims
from miscal.study.headline import headline_of
from miscal.study.matrix import GroupMatrix, matrices
from miscal.study.paper_numbers import N_PAIRS, SOURCE, differing, reproduced
from miscal.study.plan import StudyPlan
from miscal.study.tables import LEARNED, Tables, methods_of, of_method
from miscal.study.vocabulary import BEYOND_CHANCE, StudyVocabulary, count_of, of_pairs, vocabulary_of

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class MethodVerdict:
    """What one method found, over all its pairs.

    Attributes
    ----------
    method : {"paper", "auto"}
    gaps : StudyGaps
    n_family : int
        Pairs that p-values are adjusted over: those planned for the method, whether or not they are finished.
    n_tested, n_proved, n_proved_alone : int
        Pairs with a certificate; those whose hidden miscalibration is proved at 5 % after Holm's adjustment over the
        family, by the p-value alone, as in the verdict of a run; and the same without adjustment.
    n_compared, n_helped, n_harmed : int
        Pairs whose corrected log loss was compared with the uncorrected one, and those whose log loss the correction
        lowers or raises, by a 95 % interval that excludes 0; not adjusted for the number of pairs.
    n_compared_local, n_helped_local, n_harmed_local : int
        The same beside a map of the confidence alone.
    """

    method: str
    gaps: StudyGaps
    n_family: int
    n_tested: int
    n_proved: int
    n_proved_alone: int
    n_compared: int
    n_helped: int
    n_harmed: int
    n_compared_local: int
    n_helped_local: int
    n_harmed_local: int


def certificates(pairs: pl.DataFrame, method: str, n_planned: int | None = None) -> pl.DataFrame:
    """List the certificates of hidden miscalibration in the table ``pairs``, adjusted for the number of pairs.

    Those of the `n_planned` pairs that have no certificate, because they are not finished, failed or have none, count
    as tested with a p-value of 1, so that an unfinished study proves no more than the finished one would with the same
    p-values. The rows that have a ``p_hidden`` (learned geometry) come with ``p_adjusted`` (Holm 1979), smallest first.

    >>> key = {"method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"pair": ["p", "q", "r"], "p_hidden": [0.04, 0.01, None]})
    >>> certificates(pairs, "auto").select("pair", "p_adjusted").rows()
    [('q', 0.02), ('p', 0.04)]
    >>> certificates(pairs, "auto", n_planned=4).select("pair", "p_adjusted").rows()
    [('q', 0.04), ('p', 0.12)]
    """
    tested = of_method(pairs, method, LEARNED).drop_nulls("p_hidden")
    # tables may hold pairs that the plan has no more
    others = np.ones(max(0, (n_planned or 0) - tested.height))
    adjusted = holm(np.concatenate([tested["p_hidden"].to_numpy(), others]))[: tested.height]
    found = tested.with_columns(pl.Series("p_adjusted", adjusted, pl.Float64))
    return found.sort("p_adjusted", "p_hidden", "pair", maintain_order=True)


def method_verdict(pairs: pl.DataFrame, method: str, n_planned: int | None = None) -> MethodVerdict:
    """Count what one method found in the table ``pairs``; `n_planned` as for :func:`certificates`."""
    proved, some = certificates(pairs, method, n_planned), of_method(pairs, method, LEARNED)
    return MethodVerdict(
        method,
        gap_numbers(pairs, method),
        max(proved.height, n_planned or 0),
        proved.height,
        int((proved["p_adjusted"] <= SIGNIFICANCE).sum()),
        int((proved["p_hidden"] <= SIGNIFICANCE).sum()),
        *_counts_beyond_chance(some, "log_loss_saved"),
        *_counts_beyond_chance(some, "log_loss_saved_local"),
    )


def _counts_beyond_chance(pairs: pl.DataFrame, difference: str) -> tuple[int, int, int]:
    """Count the pairs that have an interval of the difference, those where it lies above 0, and below 0."""
    low, high = (pairs[f"{difference}_{end}"] for end in ("low", "high"))
    return int((low.is_not_null() & high.is_not_null()).sum()), int((low > 0).sum()), int((high < 0).sum())


def verdicts(tables: Tables, n_planned: Mapping[str, int] | None = None) -> list[MethodVerdict]:
    """Return a verdict for each method that has pairs, the paper's first; `n_planned` is by method."""
    planned, pairs = n_planned or {}, tables["pairs"]
    return [method_verdict(pairs, method, planned.get(method)) for method in methods_of(pairs)]


def duel_sentence(tables: Tables) -> str | None:
    """Say which method leaves the lower log loss; None where no pair has both."""
    n, better, worse = _counts_beyond_chance(tables["duels"], "saved")
    if not n:
        return None
    return (
        f"Our method leaves a lower log loss than the paper's in {of_pairs(better, n)} and a higher one in {worse}, on "
        f"the same rows, {BEYOND_CHANCE}."
    )


def sentences(verdict: MethodVerdict, words: StudyVocabulary) -> list[str]:
    """Say a verdict in the words of a study, in whole sentences."""
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
            f"allowing for {tested} (Holm, 5 %). Without that allowance it would be {verdict.n_proved_alone}."
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


@dataclass(frozen=True)
class StudySummary:
    """What a study says as a whole.

    Attributes
    ----------
    n_pairs, n_planned, n_paper : int
        Pairs that are finished, pairs of the plan, and finished pairs that are the paper's, by their names and numbers
        of rows.
    opening : str
        Whether the pairs are the paper's, in one sentence.
    verdicts : list of MethodVerdict
    claims : dict of str to list of PaperClaim
        By method.
    n_failures : int
    duel : str or None
        Which of the two methods leaves the lower log loss, in a sentence; None where no pair has both.
    words : StudyVocabulary
    method : str
        Under which the questions of the owner are answered: "auto" where pairs have it.
    answers : list of Answer
    matrices : list of GroupMatrix
        Models by groups, one for each data set.
    of_paper : bool
        Whether the paper is spoken of, on a page of its own.
    settings : str
        Whether method paper had the settings that the paper states, and what differs, as part of a sentence.
    lines : Answer
        The study in three lines.
    """

    n_pairs: int
    n_planned: int
    n_paper: int
    opening: str
    verdicts: list[MethodVerdict]
    claims: dict[str, list[PaperClaim]]
    n_failures: int
    duel: str | None
    words: StudyVocabulary
    method: str
    answers: list[Answer]
    matrices: list[GroupMatrix]
    of_paper: bool
    settings: str
    lines: Lines

    @property
    def paragraphs(self) -> list[str]:
        """The verdict in words: the answers; beside the paper the opening, a paragraph a method, and the better one."""
        said = [answer.sentence for answer in self.answers] or ["Nothing can be said yet: no pair is finished."]
        return [*said, *self.beside_paper] if self.of_paper else said

    @property
    def beside_paper(self) -> list[str]:
        """What is said beside the paper."""
        paragraphs = [f"Method {v.method}: {' '.join(sentences(v, self.words))}" for v in self.verdicts]
        return [self.opening, *paragraphs, *([self.duel] if self.duel else [])]


def summarise(
    tables: Tables,
    n_planned: int,
    by_method: Mapping[str, int] | None = None,
    plan: StudyPlan | None = None,
    *,
    paper: bool = False,
) -> StudySummary:
    """Put together what a study says.

    Certificates are adjusted over the pairs that the plan has `by_method`; its settings are compared with those that
    the paper states. With `paper` the paper is spoken of even if no pair is the paper's.
    """
    found, pairs = verdicts(tables, by_method), tables["pairs"]
    # of a pair under both methods the paper's
    rows = pairs.sort("method", descending=True, maintain_order=True).unique("pair", keep="first", maintain_order=True)
    papers = [row for row in rows.to_dicts() if reproduced(row)]
    by_paper = other_settings(rows.filter(method="paper").to_dicts(), plan)
    without_plan = "" if plan else "; without its plan no more than evidence, epsilon and min_rows could be compared"
    words, method = vocabulary_of(pairs), found[-1].method if found else "auto"
    laid_out = [one for one in matrices(tables["groups"], tables["shared_findings"]) if one.method == method]
    return StudySummary(
        n_pairs=rows.height,
        n_planned=n_planned,
        n_paper=len(papers),
        opening=_opening(rows.height, len(papers), other_settings(papers, plan)),
        verdicts=found,
        claims={verdict.method: claims(tables, verdict.method) for verdict in found},
        n_failures=tables["failures"].height,
        duel=duel_sentence(tables),
        words=words,
        method=method,
        answers=answers(tables, method, laid_out, words) if found else [],
        matrices=laid_out,
        of_paper=paper or bool(papers),
        settings=(by_paper or "with the settings that the paper states") + without_plan,
        lines=headline_of(tables, method, words, n_planned),
    )


def other_settings(rows: Sequence[Mapping[str, Any]], plan: StudyPlan | None = None) -> str:
    """Name the settings that are not the paper's, and in how many pairs where not in all; empty under the paper's.

    >>> row = {"dataset": "a", "model": "m", "n": 9, "method": "paper", "evidence": "test", "epsilon": 0.05}
    >>> other_settings([row | {"min_rows": 30}])
    "under other settings than the paper's: min_rows 30 (paper: 1)"
    """
    found = Counter(one for row in rows for one in differing(row, plan))
    named = [one + (f" in {of_pairs(n, len(rows))}" if n < len(rows) else "") for one, n in found.items()]
    return f"under other settings than the paper's: {', '.join(named)}" if named else ""


def _opening(n: int, n_paper: int, note: str) -> str:
    """Say whether the n finished pairs are the paper's; the note says in which settings those differ."""
    by = "by the names of data set and model and the number of rows" + (f", but {note}" if note else "")
    if not n:
        return "No pair is finished yet."
    if n_paper == n:
        return f"These are {n} of the paper's {N_PAIRS} pairs, {by}."
    if not n_paper:
        return (
            f"These are not the paper's pairs: none of the {count_of(n, 'pair')} here joins one of its models with one "
            "of its data sets. Its numbers stand beside ours for orientation: directions can be compared, values "
            "cannot."
        )
    return (
        f"Only {n_paper} of the {n} pairs are the paper's (it has {N_PAIRS}), {by}; the other {n - n_paper} are not. "
        "Directions can be compared over all of them, values only pair by pair."
    )


def as_json(summary: StudySummary) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    by_method = {method: [asdict(claim) for claim in found] for method, found in summary.claims.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "paper": SOURCE,
        "n_pairs": summary.n_pairs,
        "n_planned": summary.n_planned,
        "n_paper_pairs": summary.n_paper,
        "n_failures": summary.n_failures,
        "answer": summary.lines.model_dump(),
        "verdict": summary.paragraphs,
        "answers": [asdict(answer) for answer in summary.answers],
        "methods": {verdict.method: _numbers(verdict) for verdict in summary.verdicts},
        "claims": by_method if summary.of_paper else {},
    }


def _numbers(verdict: MethodVerdict) -> dict[str, Any]:
    gaps = verdict.gaps
    counts = {name: value for name, value in vars(verdict).items() if name not in ("method", "gaps", "n_family")}
    return {
        "n_pairs": gaps.n_pairs,
        "n_gap_above_zero": gaps.n_above_zero,
        "n_gap_beyond_chance": gaps.n_beyond_chance,
        "n_gap_large": gaps.n_large,
        "mean_gap": gaps.mean,
        "median_gap": gaps.median,
    } | counts
