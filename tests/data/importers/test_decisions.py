"""Logs of decision models: what a row is, where labels come from, and that no damage becomes a number."""

import copy
import json

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import MiscalError
from miscal.cli import main
from miscal.data.importers.imported import read_log
from miscal.data.readers.read import read_triples
from miscal.discovery.saved_model import DECISIONS
from miscal.discovery.units import with_units

from .golden.formats import HERE
from .test_golden import values
from .written import lines

NAN = float("nan")
FILES = {"calls": HERE / "decisions.jsonl", "rows": HERE / "decisions_bench.jsonl"}


def records(kind):
    return [json.loads(line) for line in FILES[kind].read_text().splitlines()]


# --- damage: the first answer of a question, changed -----------------------------------------------------------------

NUMBERS = (NAN, float("inf"), -0.2, 1.2, 90, "sure", None, True, [], {"p": 0.5})
SHARES = (None, [], "x", {}, {"Paris": 1.0, "Oslo": 0.0}, {"Paris": 0.7, "Rome": 0.2}, {"Paris": 0.9, "Rome": 0.2})
WRONG = (None, NAN, "Oslo", "", [], ["Paris"], {"Paris": 1}, 17)
ANSWERS = ("response", "answers")
PLACES = {
    **{(*ANSWERS, "right", "noul"): NUMBERS},
    **{(*ANSWERS, "city", "probabilities", "Paris"): NUMBERS},
    **{(*ANSWERS, "city", "probabilities"): SHARES},
    **{(*ANSWERS, "city", "choice"): WRONG[1:]},
    **{(*ANSWERS, "sure", "level"): WRONG[1:]},
    **{(*ANSWERS, "sure", "probabilities"): ({"0": 0.2, "3": 0.8}, {"low": 0.2, "high": 0.8}, {"2": 0.2})},
    **{(*ANSWERS, name): (None, "yes", 0.9, [], {}) for name in ("right", "city", "sure")},
    **{(*ANSWERS, name, "type"): (None, "rank", 3) for name in ("right", "city", "sure")},
    **{("labels", name): WRONG for name in ("right", "city", "sure")},
    ("request", "questions", "city", "criteria"): ({"Rome": None, "Bern": None}, ["Rome", "Bern"]),
    ("malformed",): (True, "cut off", 1),
}
DAMAGE = [("calls", place, value) for place, junk in PLACES.items() for value in junk]
DAMAGE += [("rows", ("output", "probabilities", "0"), value) for value in NUMBERS]
DAMAGE += [
    ("rows", place, value) for place in (("output",), ("output", "probabilities"), ("target",)) for value in WRONG
]


@pytest.mark.parametrize(("kind", "place", "junk"), DAMAGE)
def test_a_damaged_answer_is_left_out_and_counted(tmp_path, kind, place, junk):
    changed = records(kind)
    *above, last = place
    inner = first = changed[1 if kind == "rows" else 0]
    for key in above:
        inner = inner[key]
    inner[last] = junk
    assert len(DAMAGE) >= 60
    whole = read_log("decisions", FILES[kind]).table
    found = read_log("decisions", lines(tmp_path / "log.jsonl", changed))
    out = found.table
    name = next((name for name in ("right", "city", "sure") if name in place), None)
    of_item = (pl.col("id") == first.get("id", first.get("item_id"))) & (pl.col("repeat") == 0)
    kept = whole.filter(~of_item | ((pl.col("question") != name) if name else False))
    assert values(out) == values(kept)
    assert out["id"].to_list() == kept["id"].to_list()
    assert any("left out" in note for note in found.notes)


REFUSED = {
    "no labels": (lambda one: one.pop("labels"), "--labels FILE.*id, question and label"),
    "no probabilities": (lambda one: one["response"].update(answers={"right": {"type": "noul"}}), "no usable row"),
    "no answers": (lambda one: one.pop("response"), "holds no answers"),
    "all malformed": (lambda one: one.update(malformed=True), "malformed"),
}


@pytest.mark.parametrize("damage", REFUSED)
def test_a_log_without_a_usable_row_says_what_to_do(tmp_path, capsys, damage):
    change, words = REFUSED[damage]
    changed = records("calls")
    for one in changed:
        change(one)
    log = lines(tmp_path / "log.jsonl", changed)
    with pytest.raises(MiscalError, match=words):
        read_log("decisions", log)
    assert main(["import", "decisions", str(log), "--out", str(tmp_path / "out.parquet")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_two_answers_to_one_question_and_repeat_are_left_out_and_equal_ones_counted_once(tmp_path):
    changed = records("calls")
    again = copy.deepcopy(changed[0])
    again["response"]["answers"]["right"]["noul"] = 0.2
    found = read_log("decisions", lines(tmp_path / "log.jsonl", [*changed, again]))
    assert values(found.table) == values(read_log("decisions", FILES["calls"]).table)[1:]
    assert any("2 rows left out: there are two answers" in note for note in found.notes)
    assert any("2 rows left out: their id occurred before" in note for note in found.notes)
    again["malformed"] = True  # what failed and was asked again is answered once
    found = read_log("decisions", lines(tmp_path / "log.jsonl", [again, *changed]))
    assert values(found.table) == values(read_log("decisions", FILES["calls"]).table)


# --- labels, ids and columns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_labels_come_from_a_file(tmp_path, ending, capsys):
    calls = records("calls")
    told = [{"id": one["id"], "question": name, "label": str(label).lower() if name != "city" else label}
            for one in calls[1:] for name, label in one.pop("labels").items()]  # fmt: skip
    calls[0].pop("labels")
    log, labels = lines(tmp_path / "log.jsonl", calls), tmp_path / f"labels.{ending}"
    table = pl.DataFrame(told)
    (table.write_csv if ending == "csv" else table.write_ndjson)(labels)
    out = tmp_path / "out.parquet"
    assert main(["import", "decisions", str(log), "--labels", str(labels), "--out", str(out)]) == 0
    whole = read_log("decisions", FILES["calls"]).table
    assert values(pl.read_parquet(out)) == values(whole)
    # of one question for all items, no column says which
    table.filter(pl.col("question") == "right").drop("question").write_csv(tmp_path / "right.csv")
    right = read_log("decisions", log, labels=tmp_path / "right.csv").table.filter(pl.col("type") == "noul")
    assert right["correct"].to_list() == whole.filter(pl.col("type") == "noul")["correct"].to_list()
    # labels that are blank still are no labels; those of other items are refused, as are two of one item
    table.with_columns(label=pl.when(pl.col("question") == "city").then("label")).write_csv(tmp_path / "some.csv")
    assert set(read_log("decisions", log, labels=tmp_path / "some.csv").table["question"]) == {"city"}
    others, same = table.with_columns(id=pl.concat_str(pl.lit("z"), "id")), table.with_columns(question=pl.lit("right"))
    for bad, words in ((others, "such as 'a'.* 'za'"), (same, "two labels")):
        bad.write_csv(tmp_path / "bad.csv")
        with pytest.raises(MiscalError, match=words):
            read_log("decisions", log, labels=tmp_path / "bad.csv")
    with pytest.raises(MiscalError, match="logs of lm-eval say it themselves"):
        read_log("lm-eval", HERE / "lm_eval_stated.jsonl", labels=labels)
    assert main(["import", "decisions", str(log), "--labels", str(labels), "--out", str(labels), "--overwrite"]) == 2


def test_columns_of_classes_sum_to_one_and_the_confidence_is_that_of_the_log(tmp_path):
    rows = read_log("decisions", FILES["rows"]).table
    assert rows["p_1"].to_list() == pytest.approx([0.1, 0.3, 0.94 / 0.99, 0.5])
    assert rows["confidence"].to_list() == [0.8, 0.4, 0.94, 0.5]
    calls = read_log("decisions", FILES["calls"]).table
    assert not any(name.startswith("p_") for name in calls.columns)
    assert calls["stated_confidence"].to_list()[:3] == [None, 0.4, 0.2]
    assert calls["channel"].to_list() == ["mail"] * 9
    assert not {*DECISIONS} & {*calls.columns}  # which miscal calibrate writes beside those that are kept


def test_a_state_of_fields_gives_columns_and_none_replaces_one_of_ours(tmp_path):
    calls = records("calls")
    for one in calls:
        one["request"]["state"] = {"type": "refund", "amount": 3, "model": "sedan", "note": {"by": "x"}}
    table = read_log("decisions", lines(tmp_path / "log.jsonl", calls)).table
    assert table.select("source_type", "amount", "source_model").row(0) == ("refund", 3, "sedan")
    assert json.loads(table["text"][0])["note"] == {"by": "x"}


def test_logs_of_a_folder_share_items(tmp_path):
    for place in ("monday", "tuesday"):
        lines(tmp_path / "calls" / f"{place}.jsonl", records("calls"))
    table = read_log("decisions", tmp_path / "calls").table
    assert (len(table), table["id"].n_unique()) == (18, 2)
    head, *rest = records("rows")
    for bench in ("capitals", "rivers"):
        lines(tmp_path / "rows" / f"{bench}.jsonl", [head | {"bench": bench}, *rest])
    ids = read_log("decisions", tmp_path / "rows").table["id"]
    assert set(ids) == {f"{bench}/{item}" for bench in ("capitals", "rivers") for item in ("x1", "x2")}


def many(n, repeats):
    """Calls about n items with three questions; probabilities are rounded to .01, and outcomes belong to the item."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(400)])
    for item in range(n):
        p, right, urgent = rng.uniform(0.5, 1), bool(rng.random() < 0.7), int(rng.integers(3))
        state = {"message": f"item {item}", "about": " ".join(rng.choice(words, 12))}
        for _ in range(repeats):
            noul, level = round(float(np.clip(p + rng.normal(0, 0.02), 0, 1)), 2), rng.dirichlet(np.ones(3)).round(2)
            answers = {
                "ok": {"type": "noul", "noul": noul},
                "good": {"type": "noul", "noul": round(1 - noul, 2)},
                "urgent": {"type": "score", "probabilities": dict(zip("012", level.tolist(), strict=True))},
            }
            labels = {"ok": right, "good": not right, "urgent": urgent}
            yield {"id": item, "request": {"state": state}, "response": {"answers": answers}, "labels": labels}


def test_repeats_and_questions_of_an_item_are_one_unit(tmp_path):
    log = lines(tmp_path / "log.jsonl", many(120, 5))
    table = read_log("decisions", log).table
    assert (len(table), table["id"].n_unique()) == (1800, 120)
    found = tmp_path / "data.parquet"
    table.write_parquet(found)
    for options in ({"features": "auto"}, {"text": "text", "embed_model": "tfidf"}):
        triples = read_triples(found, **options)
        # what was right is no input, and no alarm
        target = [one for one in triples.source["read_columns"] if one["name"] == "target"]
        assert not any(one["leak"] or not one["left_out"] for one in target)
        counted = with_units(triples, seed=0)
        assert len(np.unique(counted.group)) == 120
    # without ids, rows of equal state are one item
    bare = [{name: value for name, value in one.items() if name != "id"} for one in many(120, 5)]
    again = read_log("decisions", lines(tmp_path / "bare.jsonl", bare)).table
    assert (len(again), again["id"].n_unique()) == (1800, 120)


def test_a_log_without_states_has_no_column_of_texts(tmp_path):
    rows = [{name: value for name, value in one.items() if name != "state"} for one in records("rows")]
    found = read_log("decisions", lines(tmp_path / "log.jsonl", rows)).table
    assert "text" not in found.columns
    assert values(found) == values(read_log("decisions", FILES["rows"]).table)


def test_a_decision_against_the_odds_is_kept_with_a_note(tmp_path):
    calls = records("calls")
    calls[0]["response"]["answers"]["city"]["choice"] = "Rome"
    found = read_log("decisions", lines(tmp_path / "log.jsonl", calls))
    assert values(found.table)[1] == (0.2, 0)
    assert any("in 1 rows the decision is not the likeliest" in note for note in found.notes)
