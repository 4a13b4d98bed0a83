"""The questions of the owner of a study, answered from its tables: a sentence, numbers with intervals, and a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from miscal.report.formatting import brief_points, count, metric, percent, points, size
from miscal.report.texts import short
from miscal.study.matrix import GroupMatrix, SharedLine, holds, shared_lines
from miscal.study.tables import (
    CALIBRATION_COST,
    HIDDEN_COST,
    LEARNED,
    LOG_LOSS,
    RESIDUAL,
    SOUGHT,
    Tables,
    of_method,
)
from miscal.study.vocabulary import StudyVocabulary, count_of

NARROW = 0.02
"""Half-width of the interval of a mean residual at which a pair has rows enough to say how much it promises."""

_NAMED = 4
"""Names that a sentence lists before it counts the rest."""
_SAID = 3
"""Data sets up to which a sentence speaks of each."""
_DRAWN = 40
"""Tries of corrections on other models that a picture shows; the tables have all."""


@dataclass(frozen=True)
class Bar:
    """A number of a picture, in points of probability or in log loss, with the ends of its 95 % interval.

    `pair` is the one whose report says more, and `aside` stands behind the number.
    """

    name: str
    value: float
    low: float
    high: float
    pair: str | None = None
    aside: str = ""


@dataclass(frozen=True)
class Answer:
    """A question and its answer, with the name of its place on the page.

    `bars` are its picture, in "points" or in "log loss"; they are sizes of which less is better where it is `ordered`,
    else differences. The note says what is presumed.
    """

    name: str
    question: str
    sentence: str
    bars: tuple[Bar, ...] = ()
    unit: str = "points"
    note: str = ""
    ordered: bool = False


def answers(tables: Tables, method: str, matrices: Sequence[GroupMatrix], words: StudyVocabulary) -> list[Answer]:
    """Answer every question that the tables can answer, in the order of the page.

    Where no data set has two models, nothing is asked that takes two.
    """
    ranked = list(_ranked(tables, method, words))
    several = bool(of_method(tables["pairs"], method, LEARNED)["dataset"].is_duplicated().any())
    found = [_promises(tables, method, words), *(one for one in ranked if one.name != LOG_LOSS)]
    if several:
        found += [_together(tables, method, matrices, words), _best(tables, method, words)]
    found += [_corrected(tables, method), *(one for one in ranked if one.name == LOG_LOSS)]
    if several:
        found.append(_elsewhere(tables, method, words))
    return [*found, _few(tables, method, words)]


def label(tables: Tables, row: dict[str, Any]) -> str:
    """Name a pair by its model; with its data set where the study has several."""
    model = short(row["model"], 40)
    return model if tables["pairs"]["dataset"].n_unique() < 2 else f"{model} on {short(row['dataset'], 30)}"


def list_names(names: Sequence[str], between: str = ", ") -> str:
    """List names; beyond the first few, count them. Names that hold commas take something else in between."""
    first = list(names[:_NAMED])
    last = " and " if between == ", " else f"{between}and "
    if len(names) > _NAMED:
        return f"{between.join(first)}{last}{len(names) - _NAMED} more"
    return first[0] if len(first) == 1 else f"{between.join(first[:-1])}{last}{first[-1]}"


def _bars(tables: Tables, some: pl.DataFrame, value: str = "value", low: str = "low", high: str = "high") -> list[Bar]:
    """Draw the rows of pairs that have a value and an interval."""
    known = some.drop_nulls([value, low, high]).iter_rows(named=True)
    return [Bar(label(tables, one), one[value], one[low], one[high], one["pair"]) for one in known]


def _promises(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say which pairs promise more than they keep, and by how much."""
    bars = _bars(tables, of_method(tables["board"], method).filter(measure=RESIDUAL))
    bars.sort(key=lambda one: one.value)
    sized = {one: f"{one.name} by {points(abs(one.value)).lstrip('+')} points" for one in bars}
    more, less = [sized[one] for one in bars if one.high < 0], [sized[one] for one in bars[::-1] if one.low > 0]
    if not bars:
        said = "No pair has an interval yet."
    elif len(bars) == 1:
        verb = "does not promise more than it keeps, beyond chance"
        if more:
            verb = f"promises more than it keeps,{more[0].removeprefix(bars[0].name)}"
        said = f"{bars[0].name} {verb}."
    elif not more:
        said = f"None of the {count_of(len(bars), 'pair')} promises more than it keeps, beyond chance."
    else:
        verb = "promises more than it keeps" if len(more) == 1 else "promise more than they keep"
        said = f"{len(more)} of {count_of(len(bars), 'pair')} {verb}: {list_names(more)}."
    if less:
        said += (
            f" {list_names(less)} {'keeps more than it promises' if len(less) == 1 else 'keep more than they promise'}."
        )
    return Answer(
        "promises", "Which models promise more than they keep, and by how much?", said, tuple(bars),
        note=f"The {words.rate} less the mean {words.probability}, in points, with the 95 % interval of each by "
        f"itself. Left of 0: {words.over}.",
    )  # fmt: skip


_MEASURES = (
    (
        CALIBRATION_COST, "Which {probabilities} are best calibrated, and what does it cost that they are not?",
        "in calibration", "its errors cost {} of log loss per row",
        "What a map of the {probability} alone saves per row, in log loss, where it has not seen the row: what a "
        "reliability diagram can show.",
    ),
    (
        HIDDEN_COST, "Which hide the least, and what does it cost?", "in what is hidden",
        "what the correction finds costs {} of log loss per row",
        "What the correction saves per row, in log loss, beyond the best map of the {probability} alone: errors that "
        "cancel among rows of equal {probability}. What the correction did not find is not in it.",
    ),
    (
        LOG_LOSS, "Which is best once it is corrected?", "once corrected", "its log loss is {} per row",
        "Log loss per row of the corrected {probabilities}, on rows that the correction has not seen: it rewards a "
        "model for telling apart what it knows.",
    ),
)  # fmt: skip
"""What models are ranked by: the measure, its question, what it ranks by, its size, and how it is made."""


def in_order(rankings: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return the rows of the table ``rankings`` of one measure, the first models first."""
    own = rankings.filter(measure=measure)
    return own.sort("dataset", "best_rank", "worst_rank", "value", maintain_order=True)


def ranks(row: dict[str, Any]) -> str:
    """Write the ranks that a model may have.

    >>> ranks({"best_rank": 1, "worst_rank": 1}), ranks({"best_rank": 1, "worst_rank": 3})
    ('1', '1\u20133')
    """
    best, worst = row["best_rank"], row["worst_rank"]
    return str(best) if best == worst else f"{best}\u2013{worst}"


def _ranked(tables: Tables, method: str, words: StudyVocabulary) -> Iterator[Answer]:
    """Say of each measure which model is shown to be ahead on each data set, and where it is a tie."""
    for name, question, subject, cost, note in _MEASURES:
        some = in_order(of_method(tables["rankings"], method), name)
        if some.is_empty():
            continue
        parts = [own for _, own in some.group_by("dataset", maintain_order=True)]
        bars = [
            Bar(label(tables, one), one["value"], one["low"], one["high"], one["pair"], f"rank {ranks(one)}")
            for one in some.iter_rows(named=True)
        ]
        rows = f"the {words.rows} that all models of a data set {words.judged}"
        over = f"On {rows}" if some["common"].all() else f"Each on its own rows where {rows} are less than half of some"
        yield Answer(
            name, words.fill(question), _ahead(parts, subject, cost), tuple(bars), "log loss",
            f"{words.fill(note)} {over}. Intervals, comparisons and ranks of a data set all hold at once at "
            "95 %; a tie means that neither is shown to be ahead.", ordered=True,
        )  # fmt: skip


def _ahead(parts: list[pl.DataFrame], subject: str, cost: str) -> str:
    """Say who is ahead on each data set; where they are many, on how many."""
    if len(parts) == 1:
        return f"{subject.capitalize()}, {_standing(parts[0], cost)}."
    if len(parts) <= _SAID:
        each = [f"on {short(own['dataset'][0], 30)}, {_standing(own, cost)}" for own in parts]
        return f"{subject.capitalize()}: {'; '.join(each)}."
    wins = Counter(model for own in parts for model in own.filter(best_rank=1, worst_rank=1)["model"])
    if not wins:
        return f"On none of {len(parts)} data sets is one model shown to be ahead of all others {subject}."
    named, left = (
        list_names([f"{short(model, 40)} on {n}" for model, n in wins.most_common()]),
        len(parts) - wins.total(),
    )
    said = f"On {wins.total()} of {len(parts)} data sets one model is shown to be ahead of all others"
    return f"{said} {subject}: {named}." + (f" On the other {left} the first place is tied." if left else "")


def _standing(own: pl.DataFrame, cost: str) -> str:
    tied = own.filter(best_rank=1)
    alone, others = tied.filter(worst_rank=1), own.height - tied.height
    if alone.height:
        behind = "the other one" if others == 1 else f"all {others} others"
        return (
            f"{short(alone['model'][0], 40)} is shown to be ahead of {behind}: {cost.format(metric(alone['value'][0]))}"
        )
    if tied.height == 1:
        return f"{short(tied['model'][0], 40)} comes first, but is not shown to be ahead of all others"
    said = f"{list_names([short(model, 40) for model in tied['model']])} tie for the first place"
    if not others:
        return f"{said}, none of them shown to be behind another"
    each = "the other one is" if others == 1 else f"each of the {count(others)} others is"
    return f"{said}, and {each} shown to be behind some model"


def _best(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say in how many groups a model is shown to be ahead of all others, and in how many it is a tie."""
    name, question = "best", "Which is best calibrated in each group?"
    first = firsts(of_method(tables["group_rankings"], method))
    if first.is_empty():
        return Answer(name, question, "No group has rows enough of two models on one data set.")
    wins = Counter(first.filter("clear")["first"])
    n, tied = first.height, first.height - wins.total()
    if not wins:
        said = f"In none of {n} groups is one model shown to be better calibrated than all others: each is a tie."
    else:
        named = list_names([f"{short(model, 40)} in {times}" for model, times in wins.most_common()])
        said = f"In {wins.total()} of {n} groups one model is shown to be better calibrated than all others: {named}."
        if tied:
            said += " The other one is a tie." if tied == 1 else f" The other {tied} are ties."
    return Answer(
        name, question, said,
        note=f"By the absolute difference of {words.rate} and mean {words.probability}, which errors within a group "
        "may cancel. Models are compared on the same rows; all comparisons of all groups of a data set are one family, "
        "and hold at once at 95 %.",
    )  # fmt: skip


def firsts(groups: pl.DataFrame) -> pl.DataFrame:
    """Return who is first in each group of the table ``group_rankings``, of one method: a row for each, in their order.

    Columns dataset, column, value, n_models, clear (whether one model is shown to be ahead of all others), first (the
    one of the smallest difference), and tied (list of others that no model is shown to be ahead of).

    >>> table = pl.DataFrame({"dataset": "d", "column": "c", "value": "v", "model": ["a", "b", "c"],
    ...                       "residual": [0.02, -0.01, 0.3], "best_rank": [1, 1, 3], "worst_rank": [2, 2, 3]})
    >>> firsts(table).select("n_models", "clear", "first", "tied").row(0)
    (3, False, 'b', ['a'])
    """
    may = pl.col("best_rank") == 1
    ordered = pl.col("model").filter(may).sort_by(pl.col("residual").filter(may).abs())
    return groups.group_by("dataset", "column", "value", maintain_order=True).agg(
        n_models=pl.len(), clear=(pl.col("worst_rank") == 1).any(), first=ordered.first(), tied=ordered.slice(1)
    )


def _together(tables: Tables, method: str, matrices: Sequence[GroupMatrix], words: StudyVocabulary) -> Answer:
    """Say in which groups the models of a data set err together, in which they differ, and where one stands alone."""
    name, question = "together", "Where do all of them fail together, and where only one?"
    found = shared_lines(of_method(tables["shared_findings"], method))
    lines = [line for matrix in matrices if len(matrix.models) > 1 for line in matrix.lines]
    if tables["failures"].filter(step=f"together {method}").height:
        missing = "What models share could not be computed: see the failures."
    else:
        empty = all(of_method(tables[name], method).is_empty() for name in ("groups", "rankings"))
        missing = "What models share has not been computed." if empty else ""
    if not found and (missing or not lines):
        return Answer(name, question, missing or "No column names groups that two models on one data set share.")
    many = tables["pairs"]["dataset"].n_unique() > 1
    shared = [one for one in found if one.shared]
    said = [missing] if missing else []
    said += [_err_together(shared, many, words), _differ([one for one in found if one.differs], many)]
    if alone := [line for line in lines if len(line.marked) == 1 and not line.shared]:
        named = [f"{line.name(40)} ({short(line.marked[0]['model'], 30)})" for line in alone]
        said.append(f"Beyond chance for one model by itself: {list_names(named)}.")
    bars = [Bar(_named(one, many), *one.reported, aside=one.agreement) for one in shared]
    cells = sum(one is not None and one["p_value"] is not None for line in lines for one in line.cells)
    picture = (
        f"The picture shows how much higher or lower the {words.rate} of all models, taken together, is there, with an "
        "interval that allows for the choice of the group. " if shared else ""
    )  # fmt: skip
    beyond = "Each group is beyond chance given those before it. " if len(shared) > 1 else ""
    marks = (
        f"What holds for one model by itself is marked in the matrix, after Holm's adjustment over all {count(cells)} "
        "tested cells, which are one family of their own. " if cells else ""
    )  # fmt: skip
    return Answer(
        name, question, " ".join(said), tuple(bars),
        note=f"{picture}{beyond}A model is compared with its own {words.rows} of equal {words.probability} alone, and "
        f"what models make of one {words.row} is presumed to hang together. Where nothing is hidden, a group is named "
        f"on at most 5 % of data sets. {marks}That nothing is named does not prove that nothing is hidden.",
    )  # fmt: skip


def _err_together(found: Sequence[SharedLine], many: bool, words: StudyVocabulary) -> str:
    whose = "the models of a data set" if many else "the models"
    if not found:
        return f"No group is found in which {whose}, taken together, err in one direction."
    sizes = []
    for one in found:
        effect, low, high = one.reported
        ends = " to ".join(size(end) for end in sorted((abs(low), abs(high))))
        given = ", beside rows in the same groups before it," if one.finding["given_others"] else ""
        sizes.append(
            f"{size(abs(effect))} points {'lower' if effect < 0 else 'higher'}{given} on {_named(one, many)} ({ends}; "
            f"{one.agreement})"
        )
    return (
        f"Taken together, {whose} err on {count(len(found))} group{'' if len(found) == 1 else 's'}, beyond chance. "
        f"Beside {words.rows} of equal {words.probability}, the {words.rate} is {list_names(sizes, '; ')}."
    )


def _differ(found: Sequence[SharedLine], many: bool) -> str:
    if not found:
        return "On no group are models found to differ from each other."
    named = []
    for one in found:
        sides = (one.models[0], one.models[-1])
        ends = " to ".join(f"{points(end['model_effect'])} ({short(end['model'], 30)})" for end in sides)
        named.append(f"{_named(one, many)}, from {ends}")
    return f"They differ from each other on {list_names(named, '; ')}."


def _named(one: SharedLine, many: bool) -> str:
    name = short(one.finding["description"], 70)
    return f"{name} on {short(one.finding['dataset'], 30)}" if many else name


def _corrected(tables: Tables, method: str) -> Answer:
    """Say whose log loss the correction lowers, and which marked groups it leaves."""
    name, question = "corrected", "What does correcting each of them leave?"
    ends = ("log_loss_saved", "log_loss_saved_low", "log_loss_saved_high")
    bars = _bars(tables, of_method(tables["pairs"], method, LEARNED), *ends)
    if not bars:
        return Answer(name, question, "No pair is corrected yet.")
    helped, harmed = sum(one.low > 0 for one in bars), sum(one.high < 0 for one in bars)
    if len(bars) == 1:
        verb = "lowers" if helped else "raises" if harmed else "neither lowers nor raises"
        said = f"The correction {verb} the log loss of {bars[0].name}, beyond chance."
    else:
        said = (
            f"The correction lowers the log loss of {helped or 'none'} of {count_of(len(bars), 'pair')} and raises "
            f"that of {harmed or 'none'}, beyond chance."
        )
    if marked := [one for one in of_method(tables["groups"], method).iter_rows(named=True) if holds(one)]:
        left = sum(one["after_low"] is not None and not one["after_low"] <= 0 <= one["after_high"] for one in marked)
        said += (
            f" Of {count_of(len(marked), 'marked cell')} of the matrix, the interval of what it leaves excludes 0 "
            f"in {left or 'none'}."
        )
    return Answer(
        name, question, said, tuple(sorted(bars, key=lambda one: -one.value)), "log loss",
        "Log loss saved per row, on rows that the correction has not seen, with the 95 % interval of each by itself. "
        "Right of 0: corrected is better.",
    )  # fmt: skip


def _elsewhere(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say whose hidden part lowers the log loss of which other models."""
    name, question = "elsewhere", "Does the correction of one model serve another?"
    shifts = of_method(tables["transfer_shifts"], method).drop_nulls(["saved", "saved_low", "saved_high"])
    if shifts.is_empty():
        return Answer(
            name, question,
            f"This study does not say. It takes two models that answered the same {words.rows}, and a correction that "
            f"depends on more than the {words.probability}.",
        )  # fmt: skip
    better, harmed = shifts.filter(pl.col("saved_low") > 0), (shifts["saved_high"] < 0).sum()
    said = (
        f"What the correction of one model knows beyond the {words.probability} serves another on the same "
        f"{words.rows} in {better.height or 'none'} of {_tries(shifts)}, and harms in {harmed or 'none'}."
    )
    if 0 < better.height < shifts.height:
        said += f" Most of all {list_names(_names(tables, better.sort('saved', descending=True)))}."
    own = int((shifts["log_loss_own"] <= shifts["log_loss_transferred"]).sum())
    said += f" A model's own correction does at least as well in {own}."
    note = (
        "Log loss saved per row when the hidden part of the first model's correction, in log-odds, is added to the "
        f"second model's own correction by the {words.probability} alone, on {words.rows} whose outcomes neither "
        "has seen. All intervals of a data set hold at once at 95 %. On new rows the first model has to be asked, "
        "too."
    )
    known = shifts.sort("saved", descending=True).head(_DRAWN)
    ends = known.select("saved", "saved_low", "saved_high", "pair_to").iter_rows()
    bars = [Bar(label, *row) for label, row in zip(_names(tables, known), ends, strict=True)]
    return Answer(name, question, said, tuple(bars), "log loss", note)


def _tries(some: pl.DataFrame) -> str:
    return f"{some.height} {'try' if some.height == 1 else 'tries'}"


def _names(tables: Tables, some: pl.DataFrame) -> list[str]:
    """Name the two models of each try, with their data sets where the study has several."""
    pairs = {pair: names for pair, *names in tables["pairs"].select("pair", "model", "dataset").iter_rows()}
    found = []
    for sides in some.select("pair_from", "pair_to").iter_rows():
        (one, taught), (other, asked) = ([short(name, 30) for name in pairs.get(pair, ("", ""))] for pair in sides)
        on = "" if taught == asked else f" on {taught}"
        many = tables["pairs"]["dataset"].n_unique() > 1
        found.append(f"from {one}{on} to {other} on {asked}" if many else f"from {one} to {other}")
    return found


def _few(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say which pairs have too few rows for their mean error, and what hidden error they would have shown."""
    said = [_mean_error(tables, method), *_hidden(tables, of_method(tables["pairs"], method, LEARNED))]
    cells = of_method(tables["groups"], method)["p_value"]
    if untested := cells.null_count():
        verb = "has" if untested == 1 else "have"
        said.append(f"{count(untested)} of {count(len(cells))} cells of the matrix {verb} too few rows to be tested.")
    return Answer(
        "few", "Which have too few rows to say, and how many more would it take?", " ".join(said),
        note="Intervals, and errors that would be found, are presumed to shrink with the square root of the rows; rows "
        "that hang together are presumed to do so as they do here. A hidden error is one beside rows of equal "
        f"{words.probability}, in a cluster of inputs that nobody names beforehand; found in 80 % of cases, on average "
        "over clusters. The table of pairs has each.",
    )  # fmt: skip


def _mean_error(tables: Tables, method: str) -> str:
    known = of_method(tables["board"], method).filter(measure=RESIDUAL).drop_nulls(["low", "high"])
    if known.is_empty():
        return "No pair has an interval yet."
    named = []
    for one in known.iter_rows(named=True):
        half = (one["high"] - one["low"]) / 2
        if half > NARROW and one["low"] <= 0 <= one["high"]:
            more = roughly(int(np.ceil(one["n"] * ((half / NARROW) ** 2 - 1))))
            named.append(f"{label(tables, one)} (about {more} more rows)")
    if named:
        return f"Whether they promise too much cannot be said to within {percent(NARROW, 0)} of {list_names(named)}."
    return (
        "Every pair has rows enough to say whether it promises too much: its interval excludes 0, or is narrower than "
        f"{percent(NARROW, 0)} either way."
    )


def _hidden(tables: Tables, pairs: pl.DataFrame) -> Iterator[str]:
    """Say what the pairs would have found: the one of the smallest error, and the one of the largest alone."""
    some = pairs.drop_nulls("detectable").sort("detectable").to_dicts()
    blind = pairs.drop_nulls("detectable_share").filter(pl.col("detectable").is_null())
    if some:
        ends = some if len(some) < 2 else [some[0], some[-1]]
        named = " to ".join(f"{size(one['detectable'])} points ({label(tables, one)})" for one in ends)
        rows = " to ".join(roughly(n) for n in sorted({one["rows_for_5_points"] for one in ends}))
        yield (
            f"A hidden error in about a tenth of the rows would have been found {'from' if len(some) > 1 else 'at'} "
            f"{named}; one of {brief_points(SOUGHT)} takes about {rows} rows."
        )
    if blind.height:
        named = list_names([label(tables, one) for one in blind.iter_rows(named=True)])
        yield f"No hidden error in a tenth of the rows, however large, would surely be found in {named}."


def roughly(rows: int) -> str:
    """Write a number of rows with two digits, which is what the root of the rows can tell.

    >>> roughly(19_640), roughly(87), roughly(0)
    ('20,000', '87', '0')
    """
    return count(int(float(f"{rows:.2g}")))
