"""What a study says as a whole: its three lines, what ``summary.json`` holds, and what is printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from miscal.base.arrays import counted
from miscal.discovery.answer import spoken
from miscal.discovery.summary import Answer as Lines
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.verdict import in_points
from miscal.report.formatting import metric, points
from miscal.report.sheet import aligned, cut, opening_lines
from miscal.study.aggregates import beyond_chance, verdict
from miscal.study.answers import answers, in_order, label, list_names, ranks, residuals, shared_lines
from miscal.study.claims import claims
from miscal.study.paper import EXAMPLE, N_PAIRS, NAME, OPTIONS, SOURCE, PaperPair, reproduced, short_name
from miscal.study.plan import METHODS, StudyPlan
from miscal.study.plan_file import read_plan
from miscal.study.tables import LEARNED, Tables, Words, methods_of, of_method

NO_PLAN: Mapping[str, Any] = {"pairs": ()}

MOST_PRINTED = 16
"""Pairs that are printed; the page has all."""
LONGEST = 40
"""Characters of a model's name in a line; the page holds the whole name."""


def method_of(tables: Tables) -> str:
    """Name the method that a study is told by: "auto" where pairs have it."""
    return (methods_of(tables["pairs"]) or METHODS)[-1]


def summarise(
    tables: Tables, words: Words, plan: Mapping[str, Any] = NO_PLAN, *, paper: bool = False
) -> dict[str, Any]:
    """Put together what a study says, as JSON values: what ``summary.json`` holds.

    The `plan` is that of ``plan.json``: certificates are adjusted over the pairs that it has for a method, and its
    settings are compared with those that the paper states. With `paper` the paper is spoken of even if no pair is its
    own: there are ``claims`` then, ``opening`` says whether the pairs are the paper's, and ``settings`` which settings
    are not.
    """
    pairs, method = tables["pairs"], method_of(tables)
    # of a pair under both methods the paper's
    rows = pairs.sort("method", descending=True, maintain_order=True).unique("pair", keep="first", maintain_order=True)
    known = {*rows["pair"], *tables["failures"]["pair"].drop_nulls()}
    papers, planned = [row for row in rows.to_dicts() if reproduced(row)], max(len(plan["pairs"]), len(known))
    methods = {one: verdict(pairs, one, n_planned(plan, one)).row(0, named=True) for one in methods_of(pairs)}
    found = {
        "schema_version": 2,
        "n_pairs": rows.height,
        "n_planned": planned,
        "n_failures": tables["failures"].height,
        "answer": headline_of(tables, words, planned).model_dump(mode="json"),
        "answers": answers(tables, method, words) if methods else [],
        "methods": methods,
    }
    if paper or papers:
        found |= {
            "paper": SOURCE,
            "n_paper_pairs": len(papers),
            "opening": _opening(rows.height, len(papers)),
            "settings": other_settings(papers or rows.filter(method="paper").to_dicts(), plan),
            "claims": {one: claims(tables, one) for one in methods},
        }
    return found


def n_planned(plan: Mapping[str, Any], method: str) -> int | None:
    """Count the pairs that are planned for a method; None where no plan is known."""
    return sum(pair["method"] in (method, "both") for pair in plan["pairs"]) if plan["pairs"] else None


def other_settings(rows: Sequence[Mapping[str, Any]], plan: Mapping[str, Any] = NO_PLAN) -> list[str]:
    """Name the settings that are not the paper's, and in how many pairs where not in all; none under the paper's.

    >>> row = {"dataset": "a", "model": "m", "n": 9, "method": "paper", "evidence": "test", "epsilon": 0.05}
    >>> other_settings([row | {"min_rows": 30}])
    ['min_rows 30 (paper: 1)']
    """
    found = Counter(one for row in rows for one in differing(row, plan))
    return [one + (f" in {n} of {counted(len(rows), 'pair')}" if n < len(rows) else "") for one, n in found.items()]


def _opening(n: int, n_paper: int) -> str:
    """Say whether the n finished pairs are the paper's, by the names of data set and model and the number of rows."""
    if n_paper == n:
        return f"These are {n} of the paper's {N_PAIRS} pairs."
    which = f"Only {n_paper} of the {n} pairs are the paper's" if n_paper else "These are not the paper's pairs"
    return f"{which}: directions can be compared over all of them, values pair by pair alone."


# --- in three lines, and printed --------------------------------------------------------------------------------------


def headline_of(tables: Tables, words: Words, n_planned: int) -> Lines:
    """Say in three lines what a study found: which model to take, where they fail together, and what to do."""
    if tables["pairs"].is_empty():
        said = "Nothing can be said yet: no pair is finished.", "No pair is finished."
        said = *said, "Run the same command again: it goes on where it stopped."
    else:
        method = method_of(tables)
        said = _headline(tables, method, words), _reason(tables, method, words), _action(tables, method, n_planned)
    return Lines(**dict(zip(("headline", "reason", "action"), said, strict=True)))


def _headline(tables: Tables, method: str, words: Words) -> str:
    """Say which model to take, or that none is ahead; of models that have no other, who promises too much.

    A model is ahead where it is shown to have a lower log loss than every other one once all are corrected, all
    comparisons of a data set holding at once (:func:`miscal.evidence.simultaneous.rank`). Only of models that answered
    the same questions can one be taken.
    """
    ranked = in_order(of_method(tables["rankings"], method), "log_loss_corrected")
    ranked = ranked.filter(pl.len().over("dataset") > 1)
    n, leaders = ranked["dataset"].n_unique(), ranked.filter(best_rank=1, worst_rank=1)
    if not n:
        return _promise(tables, method) or "It is not known yet which promise more than they keep."
    if leaders.is_empty():
        first = list_names([cut(model, LONGEST) for model in ranked.filter(best_rank=1)["model"]], " or ", 3)
        many = f"{ranked.filter(best_rank=1).height} of {ranked.height}"
        where = f" on any of {n} data sets" if n > 1 else f": {first if len(first.split()) <= 6 else many} may be best"
        return f"No {words['model']} is shown to be ahead of all others once corrected{where}."
    wins = Counter(leaders["model"]).most_common()
    named = list_names([f"{cut(model, LONGEST)} on {times}" for model, times in wins], most=2)
    which = f"{named} of {n} data sets" if n > 1 else cut(leaders["model"][0], LONGEST)
    value = "" if n > 1 else f", {metric(leaders['value'][0])},"
    if ranked["common"].all():
        return f"Take {which}: once corrected, its log loss{value} is the lowest."
    return f"Shown to have the lowest log loss{value} once corrected: {which}."


def _promise(tables: Tables, method: str) -> str:
    """Say in how many pairs more is promised than kept, and where most; nothing without an interval."""
    own = residuals(tables, method)
    if own.is_empty():
        return ""
    more, first = own.filter(pl.col("high") < 0).height, own.row(0, named=True)
    name, most = cut(label(tables, first, 200), LONGEST), in_points(abs(first["value"]))
    return f"Promised too much: {more or 'none'} of {counted(own.height, 'pair')}" + (
        f", most by {name}, {most}." if more else "."
    )


def _reason(tables: Tables, method: str, words: Words) -> str:
    """Say where the models fail together, or that they are not shown to."""
    found = [one for one in shared_lines(of_method(tables["shared_findings"], method)) if one["shared"]]
    own = of_method(tables["pairs"], method, LEARNED)
    if found:
        one = max(found, key=lambda line: abs(line["size"][0]))
        apart = f"{in_points(abs(one['size'][0]))} {'lower' if one['size'][0] < 0 else 'higher'}"
        return (
            f"They fail together, {one['description']}: {words['rate']} {apart} than at equal {words['probability']} "
            f"({one['agreement']} {words['models']})."
        )
    if own["dataset"].is_duplicated().any():
        return f"No group was found where they fail together. {_promise(tables, method)}".rstrip()
    proved = (own["p_hidden"] < SIGNIFICANCE).sum()
    return f"Hidden miscalibration is shown in {proved} of {counted(own.height, 'pair')}, each by itself."


def _action(tables: Tables, method: str, n_planned: int) -> str:
    """Say what is left to be run, and which models to correct."""
    own = of_method(tables["pairs"], method, LEARNED)
    n, failed = tables["pairs"]["pair"].n_unique(), tables["failures"].height
    known, helped, harmed = own.select(**beyond_chance("log_loss_saved")).row(0)
    of = counted(known, "pair")
    if not known:
        said = "Go on: no pair is corrected yet."
    elif not helped:
        said = f"Leave them uncorrected: correcting lowers the log loss of none of {of} beyond chance."
    else:
        which, rises = "all pairs" if helped == known else f"{helped} of {of}", f"; in {harmed} it rises"
        said = f"Use the correction of {which}: log loss falls beyond chance{rises if harmed else ''}."
    if failed:
        said += f" Mend {counted(failed, 'failure')}, and run again."
    elif n < n_planned:
        said += f" Not finished: {n_planned - n} of {n_planned} pairs."
    return said


def study_lines(tables: Tables, words: Words, lines: Lines) -> tuple[str, ...]:
    """Return what is printed of a study: its three lines, and a table of its pairs."""
    method = method_of(tables)
    three, own = opening_lines(lines), of_method(tables["pairs"], method, LEARNED)
    if own.is_empty():
        return tuple(three)
    ranked = in_order(of_method(tables["rankings"], method), "log_loss_corrected").with_row_index("place")
    ranked = ranked.select("pair", "place", "best_rank", "worst_rank")
    promised = residuals(tables, method).select("pair", "value", "low", "high")
    rows = own.join(ranked, on="pair", how="left").join(promised, on="pair", how="left")
    rows = rows.sort("place", nulls_last=True, maintain_order=True).to_dicts()
    heads = (words["model"], "rows", "says", "comes true", "off, points", "after", "rank", "saved")
    table = [_line(tables, row) for row in rows[:MOST_PRINTED]]
    more = [f"{len(rows) - MOST_PRINTED} more: see the page"] if len(rows) > MOST_PRINTED else []
    return (*three, "", *aligned(heads, table), *more, "")


def _line(tables: Tables, row: dict[str, Any]) -> Sequence[str]:
    known = lambda name, write: "" if row[name] is None else write(row[name])  # noqa: E731
    value, low, high = (known(name, points) for name in ("value", "low", "high"))
    stated = [known(name, spoken) for name in ("confidence", "accuracy")]
    after, saved = (known(name, metric) for name in ("log_loss_corrected", "log_loss_saved"))
    off, rank = f"{value} ({low} to {high})" if value else "", "" if row["place"] is None else ranks(row)
    return (cut(label(tables, row), 26), f"{row['n_test']:,}", *stated, off, after, rank, saved)


# --- settings that are not the paper's --------------------------------------------------------------------------------

LEFT_OPEN = frozenset([
    # names, and what else is measured
    "pair", "dataset", "model", "family", "billions", "name", "by", "outcome", "raw", "interpret",
    "audit.pairs",
    # the paper does not state them
    "seed", "score.seed", "audit.seeds", "score.dtype", "score.embeddings_dtype", "score.revision",
    "score.task_revision",
    # they change no number but by rounding
    "device", "score.device", "score.batch_tokens", "score.threads", "score.trust_remote_code",
    # how the columns of a file are called and read; that there is a file is compared
    "id", "confidence", "correct", "probability", "event", "positive", "names_only", "allow_leak",
    "leave_out", "on_invalid", "encoding",
])  # fmt: skip
"""Keys of a plan in which it cannot differ from the paper; every other one is compared."""

_OF_ROWS = ("method", "evidence", "epsilon", "min_rows")
"""Settings that the table ``pairs`` has as they were used, defaults filled in."""


def differing(row: Mapping[str, Any], plan: Mapping[str, Any] = NO_PLAN) -> tuple[str, ...]:
    """Name the settings of a pair that are not those that the paper states, in words as ``"min_rows 30 (paper: 1)"``.

    `row` is of the table ``pairs``, whose method, evidence, epsilon and min_rows are compared. Where the plan has the
    pair, all its settings are; of a pair that is not the paper's, those that speak of no model, file or column.

    Examples
    --------
    >>> row = {"pair": "p", "dataset": "mmlu", "model": "qwen3-8b", "n": 14_042, "method": "paper", "evidence": "test"}
    >>> differing(row | {"epsilon": 0.05, "min_rows": 1}), differing(row | {"epsilon": 0.3, "min_rows": 1})
    ((), ('epsilon 0.3 (paper: 0.05)',))
    """
    known = reproduced(row)
    published = _published(known or EXAMPLE)
    here = {
        name: value for one in plan["pairs"] if one.get("pair") == row["pair"] for name, value in _settings(plan, one)
    }
    here |= {name: row[name] for name in _OF_ROWS}
    if known is None:
        of_plans = StudyPlan.model_fields.keys() - {"score"}
        here = {name: value for name, value in here.items() if name.partition(".")[0] in of_plans}
    return tuple(
        f"{name} {_plainly(value)} (paper: {_plainly(published[name]) if name in published else 'not stated'})"
        for name, value in here.items()
        if name not in LEFT_OPEN and (name not in published or value != published[name])
    )


def _settings(plan: Mapping[str, Any], pair: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the settings of a pair by their keys, those of a mapping as ``score.limit``."""
    whole = {name: value for name, value in plan.items() if name not in ("pairs", "score")} | dict(pair)
    if asked := pair["score"]:
        whole["score"] = asked | {"model": short_name(asked["model"]), "form": asked["form"] or "letter"}
    yield from ((name, value) for name, value in whole.items() if not isinstance(value, dict))
    for name, value in whole.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", part) for key, part in value.items())


@cache
def _published(pair: PaperPair) -> dict[str, Any]:
    plan = read_plan(NAME).model_dump(mode="json")
    own = next(one for one in plan["pairs"] if (one["dataset"], one["model"]) == pair)
    stated = {f"options.{name}": value for name, value in OPTIONS.items()}
    return {"score": None, "audit": None} | dict(_settings(plan, own)) | stated


def _plainly(value: Any) -> str:
    return "none" if value in (None, []) else str(value)
