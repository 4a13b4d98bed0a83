"""From logs to a file that the rest of miscal reads: written whole, never over another, by command and by call."""

import copy
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import MiscalError
from miscal.cli import main
from miscal.data.importers import tools
from miscal.data.importers.imported import check_out, read_log
from miscal.data.importers.logs import COLUMNS, Row
from miscal.data.importers.stated_confidences import answers_log
from miscal.data.importers.tools import tool_names
from miscal.data.readers.read import read_triples

from .golden.formats import FORMATS, HERE
from .test_golden import values
from .written import answered, header, inspected, lines, log_json, sample


def import_log(tool, path, out, *, overwrite=False):
    """Import logs as the command does."""
    check_out(out, overwrite=overwrite)
    return read_log(tool, path).write(out, overwrite=overwrite)


N = 120


def logs_of(tool, folder):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), size=N)
    folder.mkdir(exist_ok=True)
    if tool == "lm-eval":
        return lines(folder / "x.jsonl", [sample(i, np.log(p).tolist(), gold=int(i % 4)) for i, p in enumerate(probs)])
    tops = ["ABCD"[int(p.argmax())] for p in probs]
    samples = [
        inspected(i, answered(top, p), answer=top, target="ABCD"[i % 4])
        for i, (top, p) in enumerate(zip(tops, probs, strict=True))
    ]
    return log_json(folder / "x.json", samples)


@pytest.mark.parametrize("tool", ["inspect", "lm-eval"])
def test_what_is_imported_is_read_as_triples(tmp_path, tool):
    out = import_log(tool, logs_of(tool, tmp_path / "logs"), tmp_path / "new" / "data.parquet")
    table = pl.read_parquet(out)
    assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS
    triples = read_triples(out, text="text", metadata=["task", "model"], embed_model="tfidf")
    assert len(triples) == N
    np.testing.assert_array_equal(triples.confidence, table["confidence"].to_numpy())
    np.testing.assert_array_equal(triples.correct, table["correct"].to_numpy())
    assert triples.text[0] == table["text"][0]
    assert 0 < table["correct"].mean() < 1
    # no column of a log that holds the right answer is an input, or an alarm
    read = read_triples(out, text="text", metadata="auto", embed_model="tfidf")
    assert not {"answer", "answer_index"} & {*read.metadata}
    assert not any(one["leak"] for one in read.source["read_columns"])
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["data.parquet"]


TOY = """
from miscal.data.importers.logs import Row, log_of

FILES = ("*.toy",)


def read(path):
    pairs = [line.split() for line in path.read_text().splitlines()]
    return log_of(path, [Row(str(i), None, float(f), int(y)) for i, (f, y) in enumerate(pairs)], {})
"""


def test_an_importer_is_one_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "toy_tool.py").write_text(TOY)
    monkeypatch.setattr(tools, "__path__", [*tools.__path__, str(tmp_path / "modules")])
    (tmp_path / "a.toy").write_text("0.5 1\n0.75 0\n")
    assert "toy-tool" in tool_names()
    table = read_log("toy-tool", tmp_path).table
    assert table.select("confidence", "correct").rows() == [(0.5, 1), (0.75, 0)]
    assert main(["import", "toy-tool", str(tmp_path), "--out", str(tmp_path / "data.parquet")]) == 0
    assert "2 rows of 1 log imported" in capsys.readouterr().out
    assert pl.read_parquet(tmp_path / "data.parquet").equals(table)


def test_the_command(tmp_path, capsys):
    logs = logs_of("inspect", tmp_path / "logs")
    out = tmp_path / "data.parquet"
    assert main(["import", "inspect", str(logs), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert f"{N} rows of 1 log imported" in told
    assert "renormalised" in told
    assert main(["import", "inspect", str(logs), "--out", str(out)]) == 2
    refused = capsys.readouterr().err
    assert "--overwrite" in refused
    assert refused.count("\n") == 1
    assert main(["import", "inspect", str(logs), "--out", str(out), "--overwrite"]) == 0
    capsys.readouterr()
    assert main(["import", "inspct", str(logs), "--out", str(tmp_path / "new.parquet")]) == 2
    assert "got 'inspct' (did you mean 'inspect'?)" in capsys.readouterr().err


def test_metadata_columns_have_one_type_and_names_of_their_own(tmp_path):
    records = [sample(i, [-1, -2]) for i in range(3)]
    for record, value in zip(records, (1, "two", None), strict=True):
        record["doc"] |= {"id": value, "level": value, "score": 0.5 if value else 1, "huge": 2**80, "choices": ["a"]}
    table = read_log("lm-eval", lines(tmp_path / "x.jsonl", records)).table
    assert table["source_id"].to_list() == ["1", "two", None]
    assert table["level"].to_list() == ["1", "two", None]
    assert table["score"].to_list() == [0.5, 0.5, 1.0]
    assert table["huge"].to_list() == [str(2**80)] * 3
    assert table["id"].to_list() == ["0", "1", "2"]


# --- whatever a log holds, the answer is a table or an error of ours -------------------------------------------------

JUNK = st.sampled_from(
    [
        *(None, True, -1, 2**64, 10**400, 1e308, -0.0, float("nan"), "", "x", "-inf", "\ud800", "90-95%"),
        *([], [[]], {}, {"a": None}, ["A", 1], [None], {"confidence": 90}, {"": 1}),
    ]
)
STATED = [{"id": k, "input": "?", "scores": {"judge": {"value": "C", "metadata": {"confidence": 90}}}} for k in "ab"]
RECORDS = {
    "lm-eval": [sample(k, [-1.0, -2.0]) for k in range(2)],
    "inspect": header() | {"samples": [inspected(k, answered("B", (0.2, 0.7)), answer="B") for k in "qr"]},
    "inspect stated": header() | {"samples": STATED},
}
GOLDEN = {golden.file: golden for golden in FORMATS if golden.path.suffix in (".json", ".jsonl")}
NEUTRAL = {"input", "doc", "eval", "vars", "messages", "expectedOutput", "prompt", "timestamp", "comment", "run_config"}
"""Keys below which nothing is a confidence, an outcome or an id."""


def places(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def at_place(value, at):
    for key in at:
        value = value[key]
    return value


def changed(value, at, kind, junk):
    """Put junk at a place, or leave it out, wrap it in a list, write it as text, call it otherwise, or repeat it."""
    if not at:
        return junk
    value = copy.deepcopy(value)
    inner, key = at_place(value, at[:-1]), at[-1]
    old = inner.pop(key)
    new = {"junk": junk, "wrap": [old], "text": json.dumps(old)}.get(kind, old)
    if isinstance(inner, list):
        inner[key:key] = {"drop": [], "repeat": [old, copy.deepcopy(old)]}.get(kind, [new])
    elif kind != "drop":
        inner["id" if kind == "rename" else key] = new
    return value


def written_log(kind, record, folder):
    """Write a record, with what lies beside it; return the tool and the path."""
    if kind in GOLDEN:
        golden = GOLDEN[kind]
        path = folder / golden.path.name
        many = path.suffix == ".jsonl" and isinstance(record, list)
        path.write_text("".join(json.dumps(one) + "\n" for one in (record if many else [record])))
        return golden.tool, path
    tool = kind.split()[0]
    path = folder / ("x.jsonl" if tool == "lm-eval" else "x.json")
    path.write_text(json.dumps(record))
    return tool, path


def record_of(kind):
    if kind not in GOLDEN:
        return json.loads(json.dumps(RECORDS[kind]))
    text = GOLDEN[kind].path.read_text()
    return [json.loads(line) for line in text.splitlines()] if kind.endswith(".jsonl") else json.loads(text)


@pytest.mark.parametrize("kind", [*RECORDS, *GOLDEN])
@settings(max_examples=100)
@given(data=st.data())
def test_nothing_else_ever_comes_out(tmp_path_factory, kind, data):
    record = record_of(kind)
    at = data.draw(st.sampled_from(list(places(record))))
    how = data.draw(st.sampled_from(["junk", "junk", "drop", "wrap", "text", "rename", "repeat"]))
    folder = tmp_path_factory.mktemp("junk")
    whole = values(read_log(*written_log(kind, record, folder)).table)
    try:
        table = read_log(*written_log(kind, changed(record, at, how, data.draw(JUNK)), folder)).table
    except MiscalError:
        return
    assert table["id"].null_count() == 0
    assert table.select(GOLDEN[kind].key if kind in GOLDEN else "id").is_unique().all()
    if NEUTRAL.intersection(at):
        assert values(table) == whole
    if "judge" in table.columns:
        assert table["judge"].is_finite().all()
        return
    assert table["confidence"].is_between(0, 1).all()
    assert table["correct"].is_in([0, 1]).all()
    assert all(
        sum(shares) == pytest.approx(1)
        for shares in table.get_column("choice_probs", default=pl.Series([])).drop_nulls()
    )


@pytest.mark.parametrize("kind", [*RECORDS, *GOLDEN])
def test_values_deep_inside_each_other_are_read_or_refused(tmp_path, kind):
    record = record_of(kind)
    for at in list(places(record))[1:40]:
        deep = json.loads("[" * 900 + "]" * 900)
        try:
            read_log(*written_log(kind, changed(record, at, "junk", deep), tmp_path))
        except MiscalError:
            continue


@pytest.mark.parametrize("kind", ["inspect", "inspect stated"])
def test_a_sample_that_occurs_twice_is_counted_once(tmp_path, kind):
    record = record_of(kind)
    whole = read_log(*written_log(kind, record, tmp_path))
    twice = read_log(*written_log(kind, record | {"samples": 2 * record["samples"]}, tmp_path))
    assert twice.table.equals(whole.table)
    assert any("2 rows left out: their id occurred before" in note for note in twice.notes)


@pytest.mark.parametrize(
    ("top", "words"),
    [
        (None, "no top_logprobs"),
        ([{"token": " B", "logprob": -1.0}, {"logprob": -1.0}], "no top_logprobs"),
        ([{"token": " B", "logprob": 0.0}, {"token": " A", "logprob": -0.1}], "more than 1"),
    ],
)
def test_letters_whose_probabilities_are_damaged_are_left_out(tmp_path, top, words):
    one, other = (inspected(k, answered("B", (0.2, 0.7)), answer="B") for k in "qr")
    one["output"]["choices"][0]["logprobs"]["content"][-1]["top_logprobs"] = top
    found = read_log("inspect", log_json(tmp_path / "x.json", [one, other]))
    assert found.table["id"].to_list() == ["r/epoch 1"]
    assert any(words in note and "1 rows left out" in note for note in found.notes)


def test_the_index_that_pandas_writes_is_no_row_or_column(tmp_path):
    place = tmp_path / "annotations.csv"
    content = (HERE / "phoenix" / "annotations.csv").read_text().splitlines()
    place.write_text("\n".join([f",{content[0]}", *(f"{at},{line}" for at, line in enumerate(content[1:]))]))
    with_index = read_log("phoenix", place).table
    place.write_text("\n".join(content))
    assert with_index.equals(read_log("phoenix", place).table)


@pytest.mark.parametrize("confidence", [float("nan"), 83.0, -0.1])
def test_a_probability_that_is_none_is_left_out_with_its_reason(confidence):
    def row_of(name, value):
        return Row(name, "?", value, 1)

    log = answers_log(Path("log"), [("a", 0.4), ("b", confidence)], row_of)
    assert [row.id for row in log.rows] == ["a"]
    assert "1 rows left out: their confidence is no number from 0 to 1 (b)" in " ".join(log.notes)
