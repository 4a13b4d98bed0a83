"""The questions of the owner of a study, answered from its tables: facts, numbers with intervals, and a note."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.condition import read_condition
from miscal.findings.ledger.document import value_words
from miscal.findings.shared_findings import SHARED
from miscal.report.formatting import brief_points, count, metric, percent, points, short, size
from miscal.study.aggregates import beyond_chance
from miscal.study.tables import LEARNED, SOUGHT, Tables, Words, of_method

NARROW = 0.02
"""Half-width of the interval of a mean residual at which a pair has rows enough to say how much it promises."""
MOST_NAMED = 4
"""Names that are listed before the rest is counted."""
_DRAWN = 40
"""Tries of corrections on other models that a picture shows; the tables have all."""

Row = dict[str, Any]
Found = tuple[list[Row], list[Row]]
"""Facts, and bars of a picture: name, value, and low and high, the ends of its 95 % interval; the pair whose report
says more, and what stands aside."""


class BoardQuestion(NamedTuple):
    """A question of a study's owner, and what answers it from the tables of one method.

    `door` is its short name; `note` says what is presumed. Its bars are in `unit`: "points" or "log loss". They are
    sizes of which less is better where it is `ordered`, else differences. `several`: it takes two models of a data set.
    """

    name: str
    door: str
    title: str
    note: str
    answer: Callable[[Tables, str], Found]
    unit: str = "points"
    ordered: bool = False
    several: bool = False


def answers(tables: Tables, method: str, words: Words) -> list[Row]:
    """Answer every question that the tables can answer, in the order of the page: the question, facts and bars."""
    several = of_method(tables["pairs"], method, LEARNED)["dataset"].is_duplicated().any()
    found = []
    for one in QUESTIONS:
        facts, bars = one.answer(tables, method) if several or not one.several else ([], [])
        if facts:
            asked = {"name": one.name, "door": one.door, "question": one.title.format_map(words)}
            note = one.note.format_map(words)
            found.append(asked | {"facts": facts, "bars": bars, "unit": one.unit, "ordered": one.ordered, "note": note})
    return found


def fact(about: str, n: int | str, of: int | None = None, names: Sequence[str] = ()) -> Row:
    """Say how many there are of something, and which.

    >>> fact("Ahead of all others", 0, 3)
    {'about': 'Ahead of all others', 'said': 'none of 3', 'names': []}
    """
    said = (n if isinstance(n, str) else count(n) if n else "none") + ("" if of is None else f" of {count(of)}")
    return {"about": about, "said": said, "names": list(names)}


def told(one: Row, between: str = "; ") -> str:
    """Write a fact in a line; beyond the first few names, they are counted."""
    names = list_names(one["names"], between)
    return f"{one['about']}: {one['said']}" + (f" ({names})" if names else "")


def list_names(names: Sequence[str], between: str = ", ", most: int = MOST_NAMED) -> str:
    """List the first few names, and count the rest."""
    return between.join([*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])])


def label(tables: Tables, row: Row, longest: int = 60) -> str:
    """Name a pair by its model; with its data set where the study has several."""
    model = short(row["model"], longest)
    return model if tables["pairs"]["dataset"].n_unique() < 2 else f"{model} on {short(row['dataset'], longest)}"


def ranks(row: Row) -> str:
    """Write the ranks that a model may have.

    >>> ranks({"best_rank": 1, "worst_rank": 1}), ranks({"best_rank": 1, "worst_rank": 3})
    ('1', '1\u20133')
    """
    return "\u2013".join(dict.fromkeys([str(row["best_rank"]), str(row["worst_rank"])]))


def in_order(rankings: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return the rows of the table ``rankings`` of one measure, the first models first."""
    own = rankings.filter(measure=measure)
    return own.sort("dataset", "best_rank", "worst_rank", "value", maintain_order=True)


def residuals(tables: Tables, method: str) -> pl.DataFrame:
    """Return what pairs keep less what they promise, from the table ``board``, where it has an interval."""
    own = of_method(tables["board"], method).filter(measure="residual")
    return own.drop_nulls(["value", "low", "high"]).sort("value", maintain_order=True)


def _bars(tables: Tables, some: pl.DataFrame, value: str = "value", ends: str = "", aside: Any = None) -> list[Row]:
    """Draw the rows of pairs that have a value and an interval, whose ends begin with `ends`."""
    low, high = f"{ends}low", f"{ends}high"
    return [
        _bar(label(tables, one), one[value], one[low], one[high], one["pair"], aside(one) if aside else "")
        for one in some.drop_nulls([value, low, high]).iter_rows(named=True)
    ]


def _bar(name: str, value: float, low: float, high: float, pair: str | None = None, aside: str = "") -> Row:
    return {"name": name, "value": value, "low": low, "high": high, "pair": pair, "aside": aside}


# --- what answers a question ------------------------------------------------------------------------------------------


def _promises(tables: Tables, method: str) -> Found:
    bars = _bars(tables, residuals(tables, method))
    sized = lambda one: f"{one['name']} by {size(abs(one['value']))} points"  # noqa: E731
    more, less = [sized(x) for x in bars if x["high"] < 0], [sized(x) for x in bars[::-1] if x["low"] > 0]
    of = len(bars)
    facts = [fact("More promised than kept", len(more), of, more), fact("Less promised than kept", len(less), of, less)]
    return (facts if bars else []), bars


def _ranked(measure: str) -> Callable[[Tables, str], Found]:
    """Say who is shown to be ahead by a measure of the table ``rankings``, else who may be; and draw all."""

    def answer(tables: Tables, method: str) -> Found:
        some = in_order(of_method(tables["rankings"], method), measure)
        ahead, sets = some.filter(best_rank=1, worst_rank=1), some["dataset"].n_unique()
        named = [f"{label(tables, one)}: {metric(one['value'])}" for one in ahead.iter_rows(named=True)]
        if sets > 1:
            facts = [fact("Data sets on which one is ahead of all others", len(named), sets, named)]
        else:
            facts = [fact("Ahead of all others", len(named), some.height, named)]
            first = [short(model, 60) for model in some.filter(best_rank=1)["model"]]
            facts += [] if named else [fact("Not shown to be behind any", len(first), some.height, first)]
        return (facts if sets else []), _bars(tables, some, aside=lambda row: f"rank {ranks(row)}")

    return answer


def _best(tables: Tables, method: str) -> Found:
    first = firsts(of_method(tables["group_rankings"], method))
    wins = Counter(first.filter("clear")["first"]).most_common()
    named = [f"{short(model, 60)} in {times}" for model, times in wins]
    facts = [fact("Groups with one ahead of all others", sum(n for _, n in wins), first.height, named)]
    return (facts if first.height else []), []


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


def _together(tables: Tables, method: str) -> Found:
    """Say in which groups the models of a data set err together, in which they differ, and where one stands alone."""
    groups, shared = (of_method(tables[name], method) for name in ("groups", "shared_findings"))
    found, laid_out = list(shared_lines(shared)), matrices(groups, shared)
    lines = [line for matrix in laid_out if len(matrix["models"]) > 1 for line in matrix["lines"]]
    if tables["failures"].filter(step=f"together {method}").height:
        return [fact("What they share", "could not be computed: see the failures")], []
    if not found and not lines:
        return [fact("Columns that name groups of two on one data set", 0)], []
    several = tables["pairs"]["dataset"].n_unique() > 1
    named = lambda one: one["description"] + (f" on {short(one['dataset'], 60)}" if several else "")  # noqa: E731
    together, bars = [], []
    for one in found:
        if one["shared"]:
            mean, *ends = one["size"]
            side, reach = "lower" if mean < 0 else "higher", " to ".join(size(end) for end in sorted(map(abs, ends)))
            given = " beside rows in the same groups before it" if one["given_others"] else ""
            together.append(f"{named(one)}, {size(abs(mean))} points {side}{given} ({reach}; in {one['agreement']})")
            bars.append(_bar(named(one), *one["size"], aside=one["agreement"]))
    apart = [
        f"{named(one)}, from " + " to ".join(f"{points(row['model_effect'])} ({row['model']})" for row in ends)
        for one in found
        if one["differs"] and (ends := one["each"][:: max(1, len(one["each"]) - 1)])
    ]
    by_one = [line for line in lines if len(line["marked"]) == 1 and line["finding"] is None]
    alone = [f"{line['name']} ({short(line['marked'][0]['model'], 60)})" for line in by_one]
    facts = [
        fact("Groups in which all err, taken together", len(together), names=together),
        fact("Groups in which they differ from each other", len(apart), names=apart),
        fact("Groups beyond chance for one by itself", len(alone), names=alone),
    ]
    return facts, bars


def _corrected(tables: Tables, method: str) -> Found:
    """Say whose log loss the correction lowers, and which marked groups it leaves."""
    own, saved = of_method(tables["pairs"], method, LEARNED), "log_loss_saved"
    bars = _bars(tables, own.sort(saved, descending=True, maintain_order=True), saved, f"{saved}_")
    n, helped, harmed = own.select(**beyond_chance(saved)).row(0)
    facts = [fact("Log loss lowered beyond chance", helped, n), fact("Raised beyond chance", harmed, n)]
    marked = of_method(tables["groups"], method).filter(_HOLDS)
    if marked.height:
        left = ((marked["after_low"] > 0) | (marked["after_high"] < 0)).sum()
        facts.append(fact("Marked cells of the matrix that are still off", left, marked.height))
    return (facts if n else []), bars


def _elsewhere(tables: Tables, method: str) -> Found:
    """Say whose hidden part lowers the log loss of which other models."""
    shifts = of_method(tables["transfer_shifts"], method).drop_nulls(["saved", "saved_low", "saved_high"])
    n, better, harmed = shifts.select(**beyond_chance("saved")).row(0)
    models = dict(tables["pairs"].select("pair", "model").iter_rows())
    bars = []
    for row in shifts.sort("saved", descending=True, maintain_order=True).iter_rows(named=True):
        one, other = (models.get(row[side], "") for side in ("pair_from", "pair_to"))
        named = f"from {short(one, 60)} to {label(tables, row | {'model': other})}"
        bars.append(_bar(named, row["saved"], row["saved_low"], row["saved_high"], row["pair_to"]))
    own = (shifts["log_loss_own"] <= shifts["log_loss_transferred"]).sum()
    facts = [
        fact("The hidden part of another helps", better, n, [bar["name"] for bar in bars[:better]]),
        fact("It harms", harmed, n),
        fact("Its own correction does at least as well", own, n),
    ]
    return (facts if n else []), bars[:_DRAWN]


def _few(tables: Tables, method: str) -> Found:
    """Say which pairs have too few rows for their mean error, and what hidden error they would have shown."""
    known, half, facts = residuals(tables, method), (pl.col("high") - pl.col("low")) / 2, []
    if known.height:
        wide = known.filter(half > NARROW, pl.col("low") <= 0, pl.col("high") >= 0).with_columns(
            more=(pl.col("n") * ((half / NARROW) ** 2 - 1)).ceil()
        )
        named = [f"{label(tables, one)}: about {roughly(one['more'])} more rows" for one in wide.iter_rows(named=True)]
        about = f"What is promised too much not known to within {percent(NARROW, 0)}, nor its side"
        facts.append(fact(about, len(named), known.height, named))
    pairs = of_method(tables["pairs"], method, LEARNED)
    for one in pairs.drop_nulls("detectable").sort("detectable").to_dicts()[:1]:
        rows = f"{label(tables, one)}: about {roughly(one['rows_for_5_points'])} rows for {brief_points(SOUGHT)}"
        about = "Smallest hidden error in a tenth of the rows that would be found"
        facts.append(fact(about, f"{size(one['detectable'])} points", names=[rows]))
    blind = pairs.drop_nulls("detectable_share").filter(pl.col("detectable").is_null())
    if blind.height:
        named = [label(tables, one) for one in blind.iter_rows(named=True)]
        facts.append(fact("No hidden error in a tenth of the rows would surely be found", blind.height, names=named))
    cells = of_method(tables["groups"], method)["p_value"]
    if untested := cells.null_count():
        facts.append(fact("Cells of the matrix with too few rows to be tested", untested, len(cells)))
    return facts, []


def roughly(rows: float) -> str:
    """Write a number of rows with two digits, which is what the root of the rows can tell.

    >>> roughly(19_640), roughly(87), roughly(0)
    ('20,000', '87', '0')
    """
    return count(int(float(f"{rows:.2g}")))


_AT_ONCE = (
    " The {models} are compared on the {rows} that all of a data set {judged}; each on its own rows where these are "
    "less than half of some. Intervals, comparisons and ranks of a data set all hold at once at 95 %."
)

QUESTIONS: tuple[BoardQuestion, ...] = (
    BoardQuestion(
        "promises", "Promised and kept", "Which {models} promise more than they keep, and by how much?",
        "The {rate} less the mean {probability}, in points, with the 95 % interval of each by itself: more or less is "
        "promised where it excludes 0. Left of 0: {over}.", _promises,
    ),
    BoardQuestion(
        "calibration_cost", "Best calibrated",
        "Which {probabilities} are best calibrated, and what does it cost that they are not?",
        "What a map of the {probability} alone saves per row, in log loss, where it has not seen the row: what a "
        "reliability diagram can show." + _AT_ONCE, _ranked("calibration_cost"), "log loss", ordered=True, several=True,
    ),
    BoardQuestion(
        "hidden_cost", "What is hidden", "Which hide the least, and what does it cost?",
        "What the correction saves per row, in log loss, beyond the best map of the {probability} alone: errors that "
        "cancel among rows of equal {probability}. What the correction did not find is not in it." + _AT_ONCE,
        _ranked("hidden_cost"), "log loss", ordered=True, several=True,
    ),
    BoardQuestion(
        "together", "Failing together", "Where do all of them fail together, and where only one?",
        "A {model} is compared with its own {rows} of equal {probability} alone, and what {models} make of one {row} "
        "is presumed to hang together. Sizes are of all {models}, taken together, with an interval that allows for the "
        "choice of the group; each group is beyond chance given those before it. Where nothing is hidden, a group is "
        "named on at most 5 % of data sets. What holds for one {model} by itself is marked in the matrix, after Holm's "
        "adjustment over all tested cells. That nothing is named does not prove that nothing is hidden.", _together,
        several=True,
    ),
    BoardQuestion(
        "best", "Best in each group", "Which is best calibrated in each group?",
        "By the absolute difference of {rate} and mean {probability}, which errors within a group may cancel. The "
        "{models} are compared on the same rows; all comparisons of all groups of a data set hold at once at 95 %.",
        _best, several=True,
    ),
    BoardQuestion(
        "corrected", "What correcting leaves", "What does correcting each of them leave?",
        "Log loss saved per row, on rows that the correction has not seen, with the 95 % interval of each by itself. "
        "Right of 0: corrected is better.", _corrected, "log loss",
    ),
    BoardQuestion(
        "log_loss_corrected", "Best once corrected", "Which is best once it is corrected?",
        "Log loss per row of the corrected {probabilities}, on rows that the correction has not seen: it rewards a "
        "{model} for telling apart what it knows." + _AT_ONCE, _ranked("log_loss_corrected"), "log loss", ordered=True,
        several=True,
    ),
    BoardQuestion(
        "elsewhere", "Corrections of others", "Does the correction of one {model} serve another?",
        "Log loss saved per row when the hidden part of the first {model}'s correction, in log-odds, is added to the "
        "second {model}'s own correction by the {probability} alone, on {rows} whose outcomes neither has seen. All "
        "intervals of a data set hold at once at 95 %. On new rows the first {model} has to be asked, too.", _elsewhere,
        "log loss", several=True,
    ),
    BoardQuestion(
        "few", "Rows enough", "Which have too few rows to say, and how many more would it take?",
        "Intervals, and errors that would be found, are presumed to shrink with the square root of the rows; rows "
        "that hang together are presumed to do so as they do here. A hidden error is one beside rows of equal "
        "{probability}, in a cluster of inputs that nobody names beforehand; found in 80 % of cases, on average over "
        "clusters. The table of pairs has each.", _few,
    ),
)  # fmt: skip
"""All questions, in the order of the page."""


# --- groups by models -------------------------------------------------------------------------------------------------


_HOLDS = pl.col("p_adjusted") <= SIGNIFICANCE


def matrices(groups: pl.DataFrame, shared: pl.DataFrame) -> list[Row]:
    """Lay out the tables ``groups`` and ``shared_findings`` of one method: groups by models, for each data set.

    Each has `dataset`, `models` in the order of the plan, and `lines`, of which shared findings come first; then what
    is marked for most models in one direction, texts before bins, the largest mean score. A line has a `name`, the
    `finding` that it is in the table ``shared_findings``, or None, and under `cells` a row of the table ``groups`` for
    each model, or None; `marked` are those that hold after adjustment.
    """
    hidden, width = pl.col("hidden"), (pl.col("high") - pl.col("low")).clip(1e-9)
    named = [one for one in shared_lines(shared) if one["shared"] and one["value"]]
    known = {(one["dataset"], *one["value"]): one["finding"] for one in named}
    lines = groups.group_by("dataset", "column", "value", maintain_order=True).agg(
        marks=pl.max_horizontal((_HOLDS & (hidden < 0)).sum(), (_HOLDS & (hidden > 0)).sum()),
        bin=pl.col("bin").any(),
        score=(hidden / width).mean().abs().fill_null(0.0),
        marked=pl.struct(pl.all()).filter(_HOLDS),
        cells=pl.struct(pl.all()),
    )
    keys = lines.select("dataset", "column", "value").rows()
    lines = lines.with_columns(
        pl.Series("finding", [known.get(key) for key in keys], pl.Int64),
        name=pl.concat_str("column", pl.lit(" = "), "value"),
    )
    order = {"finding": False, "marks": True, "bin": False, "score": True}
    lines = lines.sort(*order, descending=list(order.values()), nulls_last=True, maintain_order=True)
    found = []
    for (dataset,), some in groups.group_by("dataset", maintain_order=True):
        models = some["model"].unique(maintain_order=True).to_list()
        own = lines.filter(dataset=dataset).to_dicts()
        for line in own:
            by_model = {cell["model"]: cell for cell in line["cells"]}
            line["cells"] = [by_model.get(model) for model in models]
        found.append({"dataset": dataset, "models": models, "lines": own})
    return found


def shared_lines(table: pl.DataFrame) -> Iterator[Row]:
    """Put the rows of each finding of the table ``shared_findings`` together, in its order.

    Each has what all rows of the finding have, and `each`, those rows whose model has rows enough to be measured, by
    rising effect; `shared`, whether models err together there; `differs`, whether they differ; `size`, how much more
    often its rows are right, with its interval, by itself, or given others if it needs them; `agreement`, how many
    models point where all together do; and `value`, column and value as the table ``groups`` has them, None where it
    is of several columns, or of a text.
    """
    for _, rows in table.group_by("dataset", "method", "finding", maintain_order=True):
        first, each = rows.row(0, named=True), rows.drop_nulls("model_effect").sort("model_effect").to_dicts()
        name, p_value = "beyond" if first["given_others"] else "effect", first["p_difference_adjusted"]
        agreeing = sum(np.sign(one["model_effect"]) == np.sign(first[name]) for one in each)
        condition = read_condition(json.loads(first["condition"]))
        columns = condition.columns
        yield first | {
            "each": each,
            "shared": first["kind"] == SHARED,
            "differs": p_value is not None and p_value <= SIGNIFICANCE,
            "size": (first[name], first[f"{name}_low"], first[f"{name}_high"]),
            "agreement": f"{agreeing} of {len(each)}",
            "value": (columns[0], value_words(columns[0], condition)) if len(columns) == 1 else None,
        }
