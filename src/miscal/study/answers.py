"""The questions of the owner of a study, answered from its tables: a sentence, numbers with intervals, and a note."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import counted
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.condition import read_condition
from miscal.findings.ledger.values import value_words
from miscal.findings.shared_findings import SHARED
from miscal.report.formatting import brief_points, count, metric, percent, points, size
from miscal.report.texts import short
from miscal.study.aggregates import beyond_chance
from miscal.study.tables import LEARNED, SOUGHT, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

NARROW = 0.02
"""Half-width of the interval of a mean residual at which a pair has rows enough to say how much it promises."""

_NAMED = 4
"""Names that a sentence lists before it counts the rest."""
_SAID = 3
"""Data sets up to which a sentence speaks of each."""
_DRAWN = 40
"""Tries of corrections on other models that a picture shows; the tables have all."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A question and its answer, with the name of its place on the page.

    `bars` are its picture, in "points" or in "log loss": name, value, and low and high, the ends of its 95 % interval;
    the `pair` whose report says more, and what stands `aside`. They are sizes of which less is better where it is
    `ordered`, else differences. The note says what is presumed.
    """

    name: str
    question: str
    sentence: str
    bars: Sequence[Row] = ()
    unit: str = "points"
    note: str = ""
    ordered: bool = False


def answers(tables: Tables, method: str, matrices: Sequence[Row], words: StudyVocabulary) -> list[Answer]:
    """Answer every question that the tables can answer, in the order of the page.

    Where no data set has two models, nothing is asked that takes two.
    """
    *first, corrected = _ranked(tables, method, words)
    found = [_promises(tables, method, words), *first, _corrected(tables, method), corrected]
    if of_method(tables["pairs"], method, LEARNED)["dataset"].is_duplicated().any():
        together = _together(tables, method, matrices, words), _best(tables, method, words)
        found = [*found[:-2], *together, *found[-2:], _elsewhere(tables, method, words)]
    return [one for one in (*found, _few(tables, method, words)) if one is not None]


def label(tables: Tables, row: Row, longest: int = 40) -> str:
    """Name a pair by its model; with its data set where the study has several."""
    model = short(row["model"], longest)
    return model if tables["pairs"]["dataset"].n_unique() < 2 else f"{model} on {short(row['dataset'], 30)}"


def list_names(names: Sequence[str], between: str = ", ") -> str:
    """List names; beyond the first few, count them. Names that hold commas take something else in between."""
    first, more = list(names[:_NAMED]), len(names) - _NAMED
    if more > 0:
        first.append(f"{more} more")
    last = " and " if between == ", " else f"{between}and "
    return last.join(filter(None, [between.join(first[:-1]), *first[-1:]]))


def _bars(tables: Tables, some: pl.DataFrame, value: str = "value", ends: str = "", ranked: bool = False) -> list[Row]:
    """Draw the rows of pairs that have a value and an interval, whose ends begin with `ends`."""
    low, high = f"{ends}low", f"{ends}high"
    return [
        _bar(label(tables, one), one[value], one[low], one[high], one["pair"], f"rank {ranks(one)}" if ranked else "")
        for one in some.drop_nulls([value, low, high]).iter_rows(named=True)
    ]


def _bar(name: str, value: float, low: float, high: float, pair: str | None = None, aside: str = "") -> Row:
    return {"name": name, "value": value, "low": low, "high": high, "pair": pair, "aside": aside}


def _promises(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say which pairs promise more than they keep, and by how much."""
    bars = _bars(
        tables, of_method(tables["board"], method).filter(measure="residual").sort("value", maintain_order=True)
    )
    sized = lambda one: f"{one['name']} by {size(abs(one['value']))} points"  # noqa: E731
    more, less = [sized(x) for x in bars if x["high"] < 0], [sized(x) for x in bars[::-1] if x["low"] > 0]
    said = "No pair has an interval yet."
    if bars:
        said = f"More is promised than kept in {len(more) or 'none'} of {counted(len(bars), 'pair')}, beyond chance"
        said += f": {list_names(more)}." if more else "."
    if less:
        said += f" Less is promised than kept in {len(less)}: {list_names(less)}."
    return Answer(
        "promises", "Which models promise more than they keep, and by how much?", said, bars,
        note=f"The {words.rate} less the mean {words.probability}, in points, with the 95 % interval of each by "
        f"itself. Left of 0: {words.over}.",
    )  # fmt: skip


_MEASURES = (
    (
        "calibration_cost", "Which {probabilities} are best calibrated, and what does it cost that they are not?",
        "in calibration", "its errors cost {} of log loss per row",
        "What a map of the {probability} alone saves per row, in log loss, where it has not seen the row: what a "
        "reliability diagram can show.",
    ),
    (
        "hidden_cost", "Which hide the least, and what does it cost?", "in what is hidden",
        "what the correction finds costs {} of log loss per row",
        "What the correction saves per row, in log loss, beyond the best map of the {probability} alone: errors that "
        "cancel among rows of equal {probability}. What the correction did not find is not in it.",
    ),
    (
        "log_loss_corrected", "Which is best once it is corrected?", "once corrected", "its log loss is {} per row",
        "Log loss per row of the corrected {probabilities}, on rows that the correction has not seen: it rewards a "
        "model for telling apart what it knows.",
    ),
)  # fmt: skip
"""What models are ranked by: the measure, its question, what it ranks by, its size, and how it is made."""


def in_order(rankings: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return the rows of the table ``rankings`` of one measure, the first models first."""
    own = rankings.filter(measure=measure)
    return own.sort("dataset", "best_rank", "worst_rank", "value", maintain_order=True)


def ranks(row: Row) -> str:
    """Write the ranks that a model may have.

    >>> ranks({"best_rank": 1, "worst_rank": 1}), ranks({"best_rank": 1, "worst_rank": 3})
    ('1', '1\u20133')
    """
    return "\u2013".join(dict.fromkeys([str(row["best_rank"]), str(row["worst_rank"])]))


def _ranked(tables: Tables, method: str, words: StudyVocabulary) -> Iterator[Answer | None]:
    """Say of each measure which model is shown to be ahead on each data set, and where it is a tie."""
    for name, question, subject, cost, note in _MEASURES:
        some = in_order(of_method(tables["rankings"], method), name)
        if some.is_empty():
            yield None
            continue
        rows = f"the {words.rows} that all models of a data set {words.judged}"
        over = f"On {rows}" if some["common"].all() else f"Each on its own rows where {rows} are less than half of some"
        yield Answer(
            name, words.fill(question), _ahead(some, subject, cost), _bars(tables, some, ranked=True), "log loss",
            f"{words.fill(note)} {over}. Intervals, comparisons and ranks of a data set all hold at once at "
            "95 %; a tie means that neither is shown to be ahead.", ordered=True,
        )  # fmt: skip


def _ahead(some: pl.DataFrame, subject: str, cost: str) -> str:
    """Say who is ahead on each data set; where they are many, on how many."""
    parts = [own for _, own in some.group_by("dataset", maintain_order=True)]
    if len(parts) <= _SAID:
        places = [f"on {short(own['dataset'][0], 30)}, " if len(parts) > 1 else "" for own in parts]
        said = [place + _standing(own, cost) for place, own in zip(places, parts, strict=True)]
        return f"{subject.capitalize()}{', ' if len(parts) == 1 else ': '}{'; '.join(said)}."
    wins = _wins(_leaders(some)["model"], len(parts), "data set", "on")
    return f"One model is shown to be ahead of all others {subject} on {wins}."


def _leaders(some: pl.DataFrame) -> pl.DataFrame:
    return some.filter(best_rank=1, worst_rank=1)


def _wins(first: Iterable[str], n: int, what: str, within: str) -> str:
    """Count how often each comes first among n."""
    wins = Counter(first)
    named = list_names([f"{short(model, 40)} {within} {times}" for model, times in wins.most_common()])
    return f"{wins.total() or 'none'} of {counted(n, what)}" + (f": {named}" if wins else "")


def _standing(own: pl.DataFrame, cost: str) -> str:
    leader = _leaders(own)
    if leader.height:
        value = cost.format(metric(leader["value"][0]))
        return f"{short(leader['model'][0], 40)} is shown to be ahead of all others: {value}"
    tied = [short(model, 40) for model in own.filter(best_rank=1)["model"]]
    if len(tied) == 1:
        return f"{tied[0]} comes first, but is not shown to be ahead of all others"
    return f"{list_names(tied)} tie for the first place of {own.height}"


def _best(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say in how many groups a model is shown to be ahead of all others."""
    first = firsts(of_method(tables["group_rankings"], method))
    said = "No group has rows enough of two models on one data set."
    if first.height:
        wins = _wins(first.filter("clear")["first"], first.height, "group", "in")
        said = f"One model is shown to be better calibrated than all others in {wins}."
    return Answer(
        "best", "Which is best calibrated in each group?", said,
        note=f"By the absolute difference of {words.rate} and mean {words.probability}, which errors within a group "
        "may cancel. Models are compared on the same rows; all comparisons of all groups of a data set are one family, "
        "and hold at once at 95 %." if first.height else "",
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


def _together(tables: Tables, method: str, matrices: Sequence[Row], words: StudyVocabulary) -> Answer:
    """Say in which groups the models of a data set err together, in which they differ, and where one stands alone."""
    name, question = "together", "Where do all of them fail together, and where only one?"
    found = shared_lines(of_method(tables["shared_findings"], method))
    lines = [line for matrix in matrices if len(matrix["models"]) > 1 for line in matrix["lines"]]
    missing = ""
    if tables["failures"].filter(step=f"together {method}").height:
        missing = "What models share could not be computed: see the failures."
    elif all(of_method(tables[one], method).is_empty() for one in ("groups", "rankings")):
        missing = "What models share has not been computed."
    if not found and (missing or not lines):
        return Answer(name, question, missing or "No column names groups that two models on one data set share.")
    several = tables["pairs"]["dataset"].n_unique() > 1
    named = lambda one: short(one["description"], 70) + (f" on {short(one['dataset'], 30)}" if several else "")  # noqa: E731
    effect = lambda row: f"{points(row['model_effect'])} ({short(row['model'], 30)})"  # noqa: E731
    shared = [one for one in found if one["shared"]]
    together, none = [], "no group is found"
    for one in shared:
        mean, *ends = one["size"]
        given = ", beside rows in the same groups before it," if one["given_others"] else ""
        side, reach = "lower" if mean < 0 else "higher", " to ".join(size(end) for end in sorted(map(abs, ends)))
        together.append(f"{named(one)}, {size(abs(mean))} points {side}{given} ({reach}; {one['agreement']})")
    apart = [f"{named(x)}, from {effect(x['each'][0])} to {effect(x['each'][-1])}" for x in found if x["differs"]]
    alone = [
        f"{group_name(line, 40)} ({short(line['marked'][0]['model'], 30)})"
        for line in lines
        if len(line["marked"]) == 1 and line["finding"] is None
    ]
    said = [
        missing,
        f"Taken together, the models err beyond chance on {counted(len(shared), 'group')}. By their {words.rate} "
        f"beside {words.rows} of equal {words.probability}: {list_names(together, '; ') or none}.",
        f"Where they differ from each other: {list_names(apart, '; ') or none}.",
        f"Beyond chance for one model by itself: {list_names(alone)}." if alone else "",
    ]
    cells = sum(one is not None and one["p_value"] is not None for line in lines for one in line["cells"])
    note = (
        "Sizes are of all models, taken together, with an interval that allows for the choice of the group; each group "
        f"is beyond chance given those before it. A model is compared with its own {words.rows} of equal "
        f"{words.probability} alone, and what models make of one {words.row} is presumed to hang together. Where "
        "nothing is hidden, a group is named on at most 5 % of data sets. What holds for one model by itself is marked "
        f"in the matrix, after Holm's adjustment over all {count(cells)} tested cells, which are a family of their "
        "own. That nothing is named does not prove that nothing is hidden."
    )
    bars = [_bar(named(one), *one["size"], aside=one["agreement"]) for one in shared]
    return Answer(name, question, " ".join(filter(None, said)), bars, note=note)


def _corrected(tables: Tables, method: str) -> Answer:
    """Say whose log loss the correction lowers, and which marked groups it leaves."""
    question, saved = "What does correcting each of them leave?", "log_loss_saved"
    own = of_method(tables["pairs"], method, LEARNED)
    bars = _bars(tables, own.sort(saved, descending=True, maintain_order=True), saved, f"{saved}_")
    if not bars:
        return Answer("corrected", question, "No pair is corrected yet.")
    n, helped, harmed = own.select(**beyond_chance(saved)).row(0)
    said = (
        f"The correction lowers the log loss in {helped or 'none'} of {counted(n, 'pair')} and raises it in "
        f"{harmed or 'none'}, beyond chance."
    )
    marked = of_method(tables["groups"], method).filter(pl.col("p_adjusted") <= SIGNIFICANCE)
    if marked.height:
        left = ((marked["after_low"] > 0) | (marked["after_high"] < 0)).sum()
        said += (
            f" Of {counted(marked.height, 'marked cell')} of the matrix, the interval of what it leaves excludes 0 "
            f"in {left or 'none'}."
        )
    return Answer(
        "corrected", question, said, bars, "log loss",
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
    n, better, harmed = shifts.select(**beyond_chance("saved")).row(0)
    known = shifts.sort("saved", descending=True, maintain_order=True)
    models = dict(tables["pairs"].select("pair", "model").iter_rows())
    bars = []
    for row in known.iter_rows(named=True):
        one, other = (models.get(row[side], "") for side in ("pair_from", "pair_to"))
        named = f"from {short(one, 30)} to {label(tables, row | {'model': other}, 30)}"
        bars.append(_bar(named, row["saved"], row["saved_low"], row["saved_high"], row["pair_to"]))
    most = f" Most of all {list_names([bar['name'] for bar in bars[:better]])}." if 0 < better < n else ""
    own = (shifts["log_loss_own"] <= shifts["log_loss_transferred"]).sum()
    said = (
        f"What the correction of one model knows beyond the {words.probability} serves another on the same "
        f"{words.rows} in {better or 'none'} of {n} tries, and harms in {harmed or 'none'}.{most} A model's own "
        f"correction does at least as well in {own}."
    )
    note = (
        "Log loss saved per row when the hidden part of the first model's correction, in log-odds, is added to the "
        f"second model's own correction by the {words.probability} alone, on {words.rows} whose outcomes neither "
        "has seen. All intervals of a data set hold at once at 95 %. On new rows the first model has to be asked, "
        "too."
    )
    return Answer(name, question, said, bars[:_DRAWN], "log loss", note)


def _few(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say which pairs have too few rows for their mean error, and what hidden error they would have shown."""
    said = [_mean_error(tables, method), *_hidden(tables, of_method(tables["pairs"], method, LEARNED))]
    cells = of_method(tables["groups"], method)["p_value"]
    if untested := cells.null_count():
        said.append(f"Too few rows to be tested: {count(untested)} of {count(len(cells))} cells of the matrix.")
    return Answer(
        "few", "Which have too few rows to say, and how many more would it take?", " ".join(said),
        note="Intervals, and errors that would be found, are presumed to shrink with the square root of the rows; rows "
        "that hang together are presumed to do so as they do here. A hidden error is one beside rows of equal "
        f"{words.probability}, in a cluster of inputs that nobody names beforehand; found in 80 % of cases, on average "
        "over clusters. The table of pairs has each.",
    )  # fmt: skip


def _mean_error(tables: Tables, method: str) -> str:
    known = of_method(tables["board"], method).filter(measure="residual").drop_nulls(["low", "high"])
    if known.is_empty():
        return "No pair has an interval yet."
    half = (pl.col("high") - pl.col("low")) / 2
    wide = known.filter(half > NARROW, pl.col("low") <= 0, pl.col("high") >= 0).with_columns(
        more=(pl.col("n") * ((half / NARROW) ** 2 - 1)).ceil()
    )
    named = [f"{label(tables, one)} (about {roughly(one['more'])} more rows)" for one in wide.iter_rows(named=True)]
    none = "none, as each interval excludes 0 or is narrower"
    return f"Too few rows to say to within {percent(NARROW, 0)} what is promised too much: {list_names(named) or none}."


def _hidden(tables: Tables, pairs: pl.DataFrame) -> Iterator[str]:
    """Say what the pairs would have found: the one of the smallest error, and the one of the largest alone."""
    some = pairs.drop_nulls("detectable").sort("detectable").to_dicts()
    blind = pairs.drop_nulls("detectable_share").filter(pl.col("detectable").is_null())
    if some:
        ends = some[:: max(1, len(some) - 1)]
        named = " to ".join(f"{size(one['detectable'])} points ({label(tables, one)})" for one in ends)
        rows = " to ".join(roughly(n) for n in sorted({one["rows_for_5_points"] for one in ends}))
        yield (
            f"A hidden error in about a tenth of the rows would have been found from {named}; one of "
            f"{brief_points(SOUGHT)} takes about {rows} rows."
        )
    if blind.height:
        named = list_names([label(tables, one) for one in blind.iter_rows(named=True)])
        yield f"No hidden error in a tenth of the rows, however large, would surely be found in {named}."


def roughly(rows: float) -> str:
    """Write a number of rows with two digits, which is what the root of the rows can tell.

    >>> roughly(19_640), roughly(87), roughly(0)
    ('20,000', '87', '0')
    """
    return count(int(float(f"{rows:.2g}")))


# --- groups by models -------------------------------------------------------------------------------------------------


_HOLDS = pl.col("p_adjusted") <= SIGNIFICANCE


def matrices(groups: pl.DataFrame, shared: pl.DataFrame) -> list[Row]:
    """Lay out the tables ``groups`` and ``shared_findings``: groups by models, for each data set and method.

    Each has `dataset`, `method`, `models` in the order of the plan, and `lines`, of which shared findings come first;
    then what is marked for most models in one direction, texts before bins, the largest mean score. A line has
    `column` and `value`, the `finding` that it is in the table ``shared_findings``, or None, and under `cells` a row of
    the table ``groups`` for each model, or None; `marked` are those that hold after adjustment.
    """
    hidden, width = pl.col("hidden"), (pl.col("high") - pl.col("low")).clip(1e-9)
    lines = groups.group_by("dataset", "method", "column", "value", maintain_order=True).agg(
        marks=pl.max_horizontal((_HOLDS & (hidden < 0)).sum(), (_HOLDS & (hidden > 0)).sum()),
        bin=pl.col("bin").any(),
        score=(hidden / width).mean().abs().fill_null(0.0),
        marked=pl.struct(pl.all()).filter(_HOLDS),
        cells=pl.struct(pl.all()),
    )
    known = {
        (one["dataset"], one["method"], *one["value"]): one["finding"]
        for one in shared_lines(shared)
        if one["shared"] and one["value"]
    }
    keys = lines.select("dataset", "method", "column", "value").rows()
    lines = lines.with_columns(pl.Series("finding", [known.get(key) for key in keys], pl.Int64))
    descending = [False, True, False, True]
    lines = lines.sort(
        "finding", "marks", "bin", "score", descending=descending, nulls_last=True, maintain_order=True
    )  # fmt: skip
    found = []
    for (dataset, method), some in groups.group_by("dataset", "method", maintain_order=True):
        models = some["model"].unique(maintain_order=True).to_list()
        own = lines.filter(dataset=dataset, method=method).to_dicts()
        for line in own:
            by_model = {cell["model"]: cell for cell in line["cells"]}
            line["cells"] = [by_model.get(model) for model in models]
        found.append({"dataset": dataset, "method": method, "models": models, "lines": own})
    return found


def group_name(line: Row, longest: int) -> str:
    """Name a group by its column and value.

    >>> group_name({"column": "subject", "value": "law"}, 40)
    'subject = law'
    """
    return f"{short(line['column'], 30)} = {short(line['value'], longest)}"


def shared_lines(table: pl.DataFrame) -> list[Row]:
    """Put the rows of each finding of the table ``shared_findings`` together, in its order.

    Each has what all rows of the finding have, and `each`, those rows whose model has rows enough to be measured, by
    rising effect; `shared`, whether models err together there; `differs`, whether they differ; `size`, how much more
    often its rows are right, with its interval, by itself, or given others if it needs them; `agreement`, how many
    models point where all together do; and `value`, column and value as the table ``groups`` has them, None where it
    is of several columns, or of a text.
    """
    found = []
    for _, rows in table.group_by("dataset", "method", "finding", maintain_order=True):
        first, each = rows.row(0, named=True), rows.drop_nulls("model_effect").sort("model_effect").to_dicts()
        name, p_value = "beyond" if first["given_others"] else "effect", first["p_difference_adjusted"]
        effect = first[name]
        agreeing = sum(np.sign(one["model_effect"]) == np.sign(effect) for one in each)
        condition = read_condition(json.loads(first["condition"]))
        columns = condition.columns
        found.append(
            first
            | {
                "each": each,
                "shared": first["kind"] == SHARED,
                "differs": p_value is not None and p_value <= SIGNIFICANCE,
                "size": (effect, first[f"{name}_low"], first[f"{name}_high"]),
                "agreement": f"{agreeing} of {len(each)} models",
                "value": (columns[0], value_words(columns[0], condition)) if len(columns) == 1 else None,
            }
        )
    return found
