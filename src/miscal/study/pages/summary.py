"""``summary.json`` of a study: its verdict in numbers and words, and the paper's claims beside what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from miscal.study.answers import Answer, answers
from miscal.study.claims import PaperClaim, claims
from miscal.study.matrix import GroupMatrix, matrices
from miscal.study.paper_numbers import N_PAIRS, SOURCE, differing, reproduced
from miscal.study.plan import StudyPlan
from miscal.study.tables import Tables
from miscal.study.verdict import MethodVerdict, duel_sentence, of_pairs, sentences, verdicts
from miscal.study.vocabulary import ANSWERS, StudyVocabulary, vocabulary_of

SCHEMA_VERSION = 1

_BY = "the names of data set and model and the number of rows"
_WITHOUT_PLAN = "; without its plan no more than evidence, epsilon and min_rows could be compared"


@dataclass(frozen=True)
class StudySummary:
    """What a study says as a whole.

    Attributes
    ----------
    n_pairs, n_planned : int
        Pairs that are finished, and pairs of the plan.
    n_paper : int
        Finished pairs that are the paper's, by their names and numbers of rows.
    opening : str
        Whether the pairs are the paper's, in one sentence.
    verdicts : list of MethodVerdict
    claims : dict of str to list of PaperClaim
        By method.
    n_failures : int
    duel : str or None
        Which of the two methods leaves the lower log loss, in a sentence; None where no pair has both.
    words : StudyVocabulary
        Those of its pairs.
    method : str
        Under which the questions of the owner are answered: "auto" where pairs have it.
    answers : list of Answer
    matrices : list of GroupMatrix
        Models by groups, one for each data set.
    of_paper : bool
        Whether the paper is spoken of, on a page of its own.
    settings : str
        Whether method paper had the settings that the paper states, and what differs, as part of a sentence.
    """

    n_pairs: int
    n_planned: int
    n_paper: int
    opening: str
    verdicts: list[MethodVerdict]
    claims: dict[str, list[PaperClaim]]
    n_failures: int
    duel: str | None = None
    words: StudyVocabulary = ANSWERS
    method: str = "auto"
    answers: list[Answer] = field(default_factory=list)
    matrices: list[GroupMatrix] = field(default_factory=list)
    of_paper: bool = False
    settings: str = ""

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

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
    n_planned : int
        Pairs of the plan.
    by_method : mapping of str to int, optional
        Pairs that the plan has for each method, over which certificates are adjusted.
    plan : StudyPlan, optional
        Whose settings are compared with those that the paper states.
    paper : bool, default False
        Speak of the paper even if no pair is the paper's.
    """
    names = tables["pairs"].select("pair", "dataset", "model").unique("pair", maintain_order=True)
    found = verdicts(tables, by_method)
    # of a pair under both methods the paper's
    sorted_rows = tables["pairs"].sort("method", descending=True, maintain_order=True)
    rows = list(sorted_rows.unique("pair", keep="first", maintain_order=True).iter_rows(named=True))
    papers = [row for row in rows if reproduced(row)]
    n_paper = len(papers)
    by_paper = other_settings([row for row in rows if row["method"] == "paper"], plan)
    words = vocabulary_of(tables["pairs"])
    method = found[-1].method if found else "auto"
    laid_out = [one for one in matrices(tables["groups"], tables["shared_findings"]) if one.method == method]
    return StudySummary(
        n_pairs=names.height,
        n_planned=n_planned,
        n_paper=n_paper,
        opening=opening(names.height, n_paper, other_settings(papers, plan)),
        verdicts=found,
        claims={verdict.method: claims(tables, verdict.method) for verdict in found},
        n_failures=tables["failures"].height,
        duel=duel_sentence(tables),
        words=words,
        method=method,
        answers=answers(tables, method, laid_out, words) if found else [],
        matrices=laid_out,
        of_paper=paper or n_paper > 0,
        settings=(by_paper or "with the settings that the paper states") + ("" if plan else _WITHOUT_PLAN),
    )


def other_settings(rows: Sequence[Mapping[str, Any]], plan: StudyPlan | None = None) -> str:
    """Name the settings that are not the paper's, and in how many pairs where not in all; empty under the paper's.

    Parameters
    ----------
    rows : sequence of mapping
        Of the table ``pairs``.
    plan : StudyPlan, optional

    Examples
    --------
    >>> row = {"dataset": "a", "model": "m", "n": 9, "method": "paper", "evidence": "test", "epsilon": 0.05}
    >>> other_settings([row | {"min_rows": 30}])
    "under other settings than the paper's: min_rows 30 (paper: 1)"
    """
    found = Counter(one for row in rows for one in differing(row, plan))
    named = [one + (f" in {of_pairs(n, len(rows))}" if n < len(rows) else "") for one, n in found.items()]
    return f"under other settings than the paper's: {', '.join(named)}" if named else ""


def opening(n: int, n_paper: int, note: str = "") -> str:
    """Say whether the pairs are the paper's.

    Parameters
    ----------
    n : int
        Finished pairs.
    n_paper : int
        Those that are the paper's.
    note : str
        Settings of these that differ from the paper's.

    Examples
    --------
    >>> opening(3, 3)
    "These are 3 of the paper's 48 pairs, by the names of data set and model and the number of rows."
    """
    if not n:
        return "No pair is finished yet."
    if n_paper == n:
        return f"These are {n} of the paper's {N_PAIRS} pairs, by {_BY}{_with_note(note)}."
    if not n_paper:
        return (
            f"These are not the paper's pairs: none of the {of_pairs(n, n).partition(' of ')[2]} here joins one of its "
            "models with one of its data sets. Its numbers stand beside ours for orientation: directions can be "
            "compared, values cannot."
        )
    return (
        f"Only {n_paper} of the {n} pairs are the paper's (it has {N_PAIRS}), by {_BY}{_with_note(note)}; the other "
        f"{n - n_paper} are not. Directions can be compared over all of them, values only pair by pair."
    )


def _with_note(note: str) -> str:
    return f", but {note}" if note else ""


def as_json(summary: StudySummary) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    return {
        "schema_version": SCHEMA_VERSION,
        "paper": SOURCE,
        "n_pairs": summary.n_pairs,
        "n_planned": summary.n_planned,
        "n_paper_pairs": summary.n_paper,
        "n_failures": summary.n_failures,
        "verdict": summary.paragraphs,
        "answers": [asdict(answer) for answer in summary.answers],
        "methods": {verdict.method: _numbers(verdict) for verdict in summary.verdicts},
        "claims": {method: [asdict(claim) for claim in found] for method, found in summary.claims.items()}
        if summary.of_paper
        else {},
    }


def _numbers(verdict: MethodVerdict) -> dict[str, Any]:
    gaps = verdict.gaps
    return {
        "n_pairs": gaps.n_pairs,
        "n_gap_above_zero": gaps.n_above_zero,
        "n_gap_beyond_chance": gaps.n_beyond_chance,
        "n_gap_large": gaps.n_large,
        "mean_gap": gaps.mean,
        "median_gap": gaps.median,
        "n_tested": verdict.n_tested,
        "n_proved": verdict.n_proved,
        "n_proved_alone": verdict.n_proved_alone,
        "n_compared": verdict.n_compared,
        "n_helped": verdict.n_helped,
        "n_harmed": verdict.n_harmed,
        "n_compared_local": verdict.n_compared_local,
        "n_helped_local": verdict.n_helped_local,
        "n_harmed_local": verdict.n_harmed_local,
    }
