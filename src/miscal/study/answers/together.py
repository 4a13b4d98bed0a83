"""The question where all models fail together, and where only one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from miscal.report.formatting import count, points, size
from miscal.report.texts import short
from miscal.study.answers.answer import Answer, Bar, group_name, listed
from miscal.study.matrix import GroupMatrix
from miscal.study.shared_table import SharedLine, shared_lines
from miscal.study.tables import LEARNED, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

_LONGEST = 70


def where_they_fail_together(
    tables: Tables, method: str, matrices: Sequence[GroupMatrix], words: StudyVocabulary
) -> Answer:
    """Say in which groups the models of a data set err together, in which they differ, and where one stands alone."""
    question = "Where do all of them fail together, and where only one?"
    found = shared_lines(of_method(tables["shared_findings"], method))
    lines = [(matrix, line) for matrix in matrices for line in matrix.lines if len(matrix.models) > 1]
    if (missing := _missing(tables, method)) and not found:
        return Answer("together", question, missing)
    if not lines and not found:
        return Answer("together", question, "No column names groups that two models on one data set share.")
    many = tables["pairs"]["dataset"].n_unique() > 1
    together = [one for one in found if one.shared]
    apart = [one for one in found if one.differs]
    alone = [line for _, line in lines if len(line.marked) == 1 and not line.shared]
    said = [missing] if missing else []
    said += [_err_together(together, many, words), _differ(apart, many)]
    if alone:
        named = [f"{group_name(line)} ({short(line.marked[0]['model'], 30)})" for line in alone]
        said.append(f"Beyond chance for one model by itself: {listed(named)}.")
    bars = [_bar(one, many) for one in together]
    return Answer("together", question, " ".join(said), tuple(bars), note=_note(lines, len(together), words))


def _missing(tables: Tables, method: str) -> str:
    """Say that the models of a data set have not been looked at together; nothing where they were."""
    failed = tables["failures"].filter(pl.col("step") == f"together {method}")
    if failed.height:
        return "What models share could not be computed: see the failures."
    several = of_method(tables["pairs"], method, LEARNED)["dataset"].is_duplicated().any()
    empty = all(of_method(tables[name], method).is_empty() for name in ("groups", "rankings"))
    return "What models share has not been computed." if several and empty else ""


def _err_together(found: Sequence[SharedLine], many: bool, words: StudyVocabulary) -> str:
    whose = "the models of a data set" if many else "the models"
    if not found:
        return f"No group is found in which {whose}, taken together, err in one direction."
    groups = f"{count(len(found))} group{'' if len(found) == 1 else 's'}"
    sizes = [_with_size(one, many) for one in found]
    return (
        f"Taken together, {whose} err on {groups}, beyond chance. Beside {words.rows} of equal {words.probability}, "
        f"the {words.rate} is {listed(sizes, '; ')}."
    )


def _with_size(one: SharedLine, many: bool) -> str:
    effect, low, high = one.told
    way = "lower" if effect < 0 else "higher"
    ends = sorted((abs(low), abs(high)))
    given = ", once the groups before it are allowed for," if one.finding["given_others"] else ""
    return (
        f"{size(abs(effect))} points {way}{given} on {_named(one, many)} ({size(ends[0])} to {size(ends[1])}; "
        f"{one.agreeing} of {len(one.models)} models)"
    )


def _differ(found: Sequence[SharedLine], many: bool) -> str:
    if not found:
        return "On no group are models found to differ from each other."
    named = []
    for one in found:
        least, most = one.models[0], one.models[-1]
        ends = " to ".join(f"{points(end['model_effect'])} ({short(end['model'], 30)})" for end in (least, most))
        named.append(f"{_named(one, many)}, from {ends}")
    return f"They differ from each other on {listed(named, '; ')}."


def _named(one: SharedLine, many: bool) -> str:
    name = short(one.finding["description"], _LONGEST)
    return f"{name} on {short(one.finding['dataset'], 30)}" if many else name


def _bar(one: SharedLine, many: bool) -> Bar:
    return Bar(_named(one, many), *one.told, aside=f"{one.agreeing} of {len(one.models)} models")


def _note(lines: Sequence, drawn: int, words: StudyVocabulary) -> str:
    cells = sum(one is not None and one["p_value"] is not None for _, line in lines for one in line.cells)
    picture = (
        f"The picture shows how much higher or lower the {words.rate} of all models, taken together, is there, with an "
        "interval that allows for the choice of the group. " if drawn else ""
    )  # fmt: skip
    beyond = "Each group is beyond chance given those before it. " if drawn > 1 else ""
    marks = (
        f"What holds for one model by itself is marked in the matrix, after Holm's adjustment over all {count(cells)} "
        "tested cells, which are one family of their own. " if cells else ""
    )  # fmt: skip
    return (
        f"{picture}{beyond}A model is compared with its own {words.rows} of equal {words.probability} alone, and "
        f"what models make of one {words.row} is presumed to hang together. Where nothing is hidden, a group is named "
        f"on at most 5 % of data sets. {marks}That nothing is named does not prove that nothing is hidden."
    )
