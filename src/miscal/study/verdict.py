"""What a study says as a whole, in numbers and words; its three lines, and what ``summary.json`` holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from miscal.base.arrays import counted
from miscal.base.shown import first_words
from miscal.discovery.answer import spoken
from miscal.discovery.summary_parts import Answer as Lines
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.verdict import in_points
from miscal.report.formatting import metric, points
from miscal.report.opening import aligned, cut, opening_lines
from miscal.study.aggregates import LARGE_GAP, beyond_chance, verdict
from miscal.study.answers import Answer, answers, in_order, label, matrices, ranks, shared_lines
from miscal.study.claims import PaperClaim, claims
from miscal.study.paper_numbers import N_PAIRS, SOURCE, differing, reproduced
from miscal.study.plan import StudyPlan
from miscal.study.tables import LEARNED, Tables, methods_of, of_method
from miscal.study.vocabulary import BEYOND_CHANCE, StudyVocabulary, of_pairs, vocabulary_of


def duel_sentence(tables: Tables) -> str | None:
    """Say which method leaves the lower log loss; None where no pair has both."""
    n, better, worse = tables["duels"].select(**beyond_chance("saved")).row(0)
    if not n:
        return None
    return (
        f"Our method leaves a lower log loss than the paper's in {of_pairs(better, n)} and a higher one in {worse}, on "
        f"the same rows, {BEYOND_CHANCE}."
    )


def sentences(found: Mapping[str, Any], words: StudyVocabulary) -> list[str]:
    """Say a verdict (:func:`miscal.study.aggregates.verdict`) in the words of a study, in whole sentences."""
    n = found["n_pairs"]
    said = [
        f"In {of_pairs(found['n_gap_beyond_chance'], n)} the worst slice is worse calibrated than the whole beyond "
        f"chance, {BEYOND_CHANCE}. In {found['n_gap_large']} the gap is at least {LARGE_GAP:g}.",
        "No pair has a certificate of hidden miscalibration.",
    ]
    if tested := found["n_tested"]:
        family = found["n_family"]
        allowed = f"all {family} pairs that are planned" if family > tested else "the number of pairs"
        said[1] = (
            f"For {of_pairs(found['n_proved'], tested)} the certificate proves hidden miscalibration after "
            f"allowing for {allowed} (Holm, 5 %). Without that allowance it would be {found['n_proved_alone']}."
        )
    if n := found["n_compared"]:
        said.append(
            f"The local correction lowers the log loss in {of_pairs(found['n_helped'], n)} and raises it in "
            f"{found['n_harmed']}, {BEYOND_CHANCE}."
        )
    if n := found["n_compared_local"]:
        said.append(
            f"It leaves a lower log loss than a map of the {words.probability} alone in "
            f"{of_pairs(found['n_helped_local'], n)} and a higher one in {found['n_harmed_local']}, counted in the "
            "same way."
        )
    return said


class StudySummary(BaseModel):
    """What a study says as a whole: what ``summary.json`` holds, and what only the pages need.

    Attributes
    ----------
    n_pairs, n_planned, n_paper_pairs : int
        Pairs that are finished, pairs of the plan, and finished pairs that are the paper's, by their names and numbers
        of rows.
    answer : Answer
        The study in three lines.
    verdict : list of str
        The answers; beside the paper the opening, a paragraph for each method, and which is better.
    answers : list of Answer
        To the owner's questions, under `method`: "auto" where pairs have it.
    methods : dict of str to dict
        The counts of each method, the paper's first.
    claims : dict of str to list of PaperClaim
        By method; empty where the paper is not spoken of.
    opening, settings : str
        Whether the pairs are the paper's, in one sentence; whether method paper had the settings that the paper states,
        and what differs, as part of a sentence.
    matrices : list of dict
        Groups by models, one for each data set.
    of_paper : bool
        Whether the paper is spoken of, on a page of its own.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: int = 1
    paper: str = SOURCE
    n_pairs: int
    n_planned: int
    n_paper_pairs: int
    n_failures: int
    answer: Lines
    verdict: list[str]
    answers: list[Answer]
    methods: dict[str, dict[str, Any]]
    claims: dict[str, list[PaperClaim]]
    opening: str = Field(exclude=True)
    settings: str = Field(exclude=True)
    duel: str | None = Field(exclude=True)
    words: StudyVocabulary = Field(exclude=True)
    method: str = Field(exclude=True)
    matrices: list[dict[str, Any]] = Field(exclude=True)
    of_paper: bool = Field(exclude=True)


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
    pairs, planned = tables["pairs"], by_method or {}
    # of a pair under both methods the paper's
    rows = pairs.sort("method", descending=True, maintain_order=True).unique("pair", keep="first", maintain_order=True)
    papers = [row for row in rows.to_dicts() if reproduced(row)]
    by_paper = other_settings(rows.filter(method="paper").to_dicts(), plan)
    without_plan = "" if plan else "; without its plan no more than evidence, epsilon and min_rows could be compared"
    methods = {one: verdict(pairs, one, planned.get(one)).row(0, named=True) for one in methods_of(pairs)}
    words, method, of_paper = vocabulary_of(pairs), list(methods)[-1] if methods else "auto", paper or bool(papers)
    laid_out = [one for one in matrices(tables["groups"], tables["shared_findings"]) if one["method"] == method]
    answered = answers(tables, method, laid_out, words) if methods else []
    opening, duel = _opening(rows.height, len(papers), other_settings(papers, plan)), duel_sentence(tables)
    said = [one.sentence for one in answered] or ["Nothing can be said yet: no pair is finished."]
    if of_paper:
        of_methods = [f"Method {one}: {' '.join(sentences(found, words))}" for one, found in methods.items()]
        said += [opening, *of_methods, *([duel] if duel else [])]
    return StudySummary(
        n_pairs=rows.height,
        n_planned=n_planned,
        n_paper_pairs=len(papers),
        n_failures=tables["failures"].height,
        answer=headline_of(tables, method, words, n_planned),
        verdict=said,
        answers=answered,
        methods=methods,
        claims={one: claims(tables, one) for one in methods} if of_paper else {},
        opening=opening,
        settings=(by_paper or "with the settings that the paper states") + without_plan,
        duel=duel,
        words=words,
        method=method,
        matrices=laid_out,
        of_paper=of_paper,
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
            f"These are not the paper's pairs: none of the {counted(n, 'pair')} here joins one of its models with one "
            "of its data sets. Its numbers stand beside ours for orientation: directions can be compared, values "
            "cannot."
        )
    return (
        f"Only {n_paper} of the {n} pairs are the paper's (it has {N_PAIRS}), {by}; the other {n - n_paper} are not. "
        "Directions can be compared over all of them, values only pair by pair."
    )


# --- in three lines, and printed --------------------------------------------------------------------------------------


MOST_WORDS, LONGEST = 6, 40
"""Words of a group's name, and characters of a model's, in a sentence; the page holds the whole names."""
MOST_PRINTED = 16
"""Pairs that are printed; the page has all."""


def headline_of(tables: Tables, method: str, words: StudyVocabulary, n_planned: int) -> Lines:
    """Say in three lines what a study found."""
    if tables["pairs"].is_empty():
        return Lines(
            headline="Nothing can be said yet: no pair is finished.",
            reason="No pair is finished.",
            action="Run the same command again: it goes on where it stopped.",
        )
    return Lines(
        headline=_headline(tables, method),
        reason=_reason(tables, method, words),
        action=_action(tables, method, n_planned),
    )


def _headline(tables: Tables, method: str) -> str:
    """Say which model is best calibrated, or that it is a tie; of models that have no other, who promises too much."""
    ranked = in_order(of_method(tables["rankings"], method), "calibration_cost")
    ranked = ranked.filter(pl.len().over("dataset") > 1)
    n, leaders = ranked["dataset"].n_unique(), ranked.filter(best_rank=1, worst_rank=1)
    if not n:
        return _promise(tables, method) or "It is not known yet which models promise more than they keep."
    if n > 1:
        if leaders.is_empty():
            return f"No model is shown to be best calibrated on any of {n} data sets."
        [(first, wins)], tied = Counter(leaders["model"]).most_common(1), n - leaders.height
        rest = f"; on {tied} it is a tie" if tied else ""
        return f"{_name(first)} is best calibrated on {wins} of {n} data sets{rest}."
    if leaders.height:
        first, cost = _name(leaders["model"][0]), metric(max(leaders["value"][0], 0.0))
        return f"{first} is best calibrated of {ranked.height} models: its errors cost {cost} of log loss."
    tie = ranked.filter(best_rank=1).height
    if tie == 1:
        return f"{_name(ranked['model'][0])} comes first of {ranked.height} models, but is not shown to be best."
    which = "all" if tie == ranked.height else f"{tie} of {ranked.height}"
    return f"No model is shown to be best calibrated: {which} tie for the first place."


def _residuals(tables: Tables, method: str) -> pl.DataFrame:
    own = of_method(tables["board"], method).filter(measure="residual")
    return own.drop_nulls(["value", "low", "high"]).sort("value")


def _promise(tables: Tables, method: str) -> str | None:
    """Say in how many pairs more is promised than kept, and where most; None without an interval."""
    own = _residuals(tables, method)
    if own.is_empty():
        return None
    more, first = own.filter(pl.col("high") < 0).height, own.row(0, named=True)
    said = f"More is promised than kept in {more or 'none'} of {counted(own.height, 'pair')}"
    return said + (f", most by {_label(tables, first)}: {in_points(abs(first['value']))}." if more else ".")


def _reason(tables: Tables, method: str, words: StudyVocabulary) -> str:
    """Say where the models fail together, or that they are not shown to."""
    found = [one for one in shared_lines(of_method(tables["shared_findings"], method)) if one["shared"]]
    own = of_method(tables["pairs"], method, LEARNED)
    if found:
        one = max(found, key=lambda line: abs(line["size"][0]))
        effect, name = one["size"][0], first_words(one["description"], MOST_WORDS)
        apart = f"{in_points(abs(effect))} {'lower' if effect < 0 else 'higher'}"
        return (
            f"They fail together, {name}: {words.rate} {apart} than at equal {words.probability} ({one['agreement']})."
        )
    if own["dataset"].is_duplicated().any():
        return " ".join(filter(None, ["No group was found where they fail together.", _promise(tables, method)]))
    proved = (own["p_hidden"] < SIGNIFICANCE).sum()
    return f"Hidden miscalibration is shown in {proved} of {counted(own.height, 'pair')}, each by itself."


def _action(tables: Tables, method: str, n_planned: int) -> str:
    """Say what is left to be run, and which models to correct."""
    own = of_method(tables["pairs"], method, LEARNED)
    n, failed = tables["pairs"]["pair"].n_unique(), tables["failures"].height
    known, helped, harmed = own.select(**beyond_chance("log_loss_saved")).row(0)
    if not known:
        said = "Go on: no pair is corrected yet."
    elif not helped:
        said = (
            f"Leave them uncorrected: correcting lowers the log loss of none of {counted(known, 'pair')} beyond chance."
        )
    else:
        which = "all pairs" if helped == known else f"{helped} of {counted(known, 'pair')}"
        said = (
            f"Use the correction of {which}: log loss falls beyond chance{f'; in {harmed} it rises' if harmed else ''}."
        )
    if failed:
        said += f" Mend {counted(failed, 'failure')}, and run again."
    elif n < n_planned:
        said += f" Not finished: {n_planned - n} of {n_planned} pairs."
    return said


def _name(model: str) -> str:
    """Return a model's name as it stands in a sentence."""
    return cut(first_words(model, 2), LONGEST)


def _label(tables: Tables, row: dict[str, Any]) -> str:
    many = tables["pairs"]["dataset"].n_unique() > 1
    return _name(row["model"]) + (f" on {_name(row['dataset'])}" if many else "")


def study_lines(tables: Tables, method: str, lines: Lines) -> tuple[str, ...]:
    """Return what is printed of a study: its three lines, and a table of its pairs."""
    three, own = opening_lines(lines), of_method(tables["pairs"], method, LEARNED)
    if own.is_empty():
        return tuple(three)
    ranked = in_order(of_method(tables["rankings"], method), "calibration_cost").with_row_index("place")
    ranked = ranked.select("pair", "place", "best_rank", "worst_rank", cost="value")
    residuals = _residuals(tables, method).select("pair", "value", "low", "high")
    rows = own.join(ranked, on="pair", how="left").join(residuals, on="pair", how="left")
    rows = rows.sort("place", nulls_last=True, maintain_order=True).to_dicts()
    heads = ("model", "rows", "says", "comes true", "off, points", "cost", "rank", "saved")
    table = [_line(tables, row) for row in rows[:MOST_PRINTED]]
    more = [f"{len(rows) - MOST_PRINTED} more: see the page"] if len(rows) > MOST_PRINTED else []
    return (*three, "", *aligned(heads, table), *more, "")


def _line(tables: Tables, row: dict[str, Any]) -> Sequence[str]:
    known = lambda value, write: "" if value is None else write(value)  # noqa: E731
    value, low, high = (known(row[name], points) for name in ("value", "low", "high"))
    return (
        cut(label(tables, row), 26),
        f"{row['n_test']:,}",
        known(row["confidence"], spoken),
        known(row["accuracy"], spoken),
        f"{value} ({low} to {high})" if value else "",
        known(row["cost"], lambda cost: metric(max(cost, 0.0))),
        "" if row["place"] is None else ranks(row),
        known(row["log_loss_saved"], metric),
    )
