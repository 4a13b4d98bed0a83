"""From logs to a file that the rest of miscal reads: written whole, never over another, by command and by call."""

import copy
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError, MiscalError
from miscal.cli import main
from miscal.data.importers import import_log, read_log, tool_names, tools
from miscal.data.importers.imported_rows import COLUMNS
from miscal.data.readers import read_triples

from .written import answered, asked, inspected, lines, log_json, run_folder, sample, stats

N = 120


def logs_of(tool, folder):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), size=N)
    folder.mkdir(exist_ok=True)
    if tool == "lm-eval":
        return lines(folder / "x.jsonl", [sample(i, np.log(p).tolist(), gold=int(i % 4)) for i, p in enumerate(probs)])
    if tool == "inspect":
        tops = ["ABCD"[int(p.argmax())] for p in probs]
        samples = [
            inspected(i, answered(top, p), answer=top, target="ABCD"[i % 4])
            for i, (top, p) in enumerate(zip(tops, probs, strict=True))
        ]
        return log_json(folder / "x.json", samples)
    entries = [stats(f"id{i}", max_prob=p.max(), exact_match=int(p.argmax() == i % 4)) for i, p in enumerate(probs)]
    return run_folder(folder, entries, [asked(f"id{i}", right=i % 4) for i in range(N)])


@pytest.mark.parametrize("tool", ["helm", "inspect", "lm-eval"])
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


@pytest.mark.promise("C4")
def test_existing_files_are_kept_unless_told(tmp_path):
    logs = logs_of("lm-eval", tmp_path / "logs")
    out = tmp_path / "data.parquet"
    out.write_bytes(b"mine")
    with pytest.raises(InputError, match="overwrite=True"):
        import_log("lm-eval", logs, out)
    assert out.read_bytes() == b"mine"
    with pytest.raises(MiscalError):
        import_log("lm-eval", tmp_path / "nothing", out, overwrite=True)
    assert out.read_bytes() == b"mine"
    import_log("lm-eval", logs, out, overwrite=True)
    assert len(pl.read_parquet(out)) == N


@pytest.mark.parametrize(
    ("tool", "out", "words"),
    [
        (
            "lmeval",
            "x.parquet",
            "lm-eval, openai-evals, phoenix, promptfoo, uqlm; got 'lmeval' .did you mean 'lm-eval'",
        ),
        ("helm", "x.csv", "parquet"),
    ],
)
def test_wrong_arguments(tmp_path, tool, out, words):
    with pytest.raises(InputError, match=words):
        import_log(tool, tmp_path, tmp_path / out)


TOY = """
from miscal.data.importers.imported_rows import ImportedRow, log_of

LOOKED_FOR = "*.toy"


def logs(folder):
    return sorted(folder.glob("*.toy"))


def read(path):
    pairs = [line.split() for line in path.read_text().splitlines()]
    return log_of(path, [ImportedRow(str(i), None, float(f), int(y)) for i, (f, y) in enumerate(pairs)], {})
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
    [None, True, -1, 10**400, 1e308, float("nan"), "", "x", "-inf", [], [[]], {}, {"a": None}, ["A", 1]]
)
RECORDS = {
    "lm-eval": sample(0, [-1.0, -2.0]),
    "inspect": {
        "eval": {"task": "t", "model": "m"},
        "samples": [inspected("q", answered("B", (0.2, 0.7)), answer="B")],
    },
    "helm": [stats("a", max_prob=0.5, exact_match=1.0)],
    "helm state": {"adapter_spec": {"method": "multiple_choice_joint"}, "request_states": [asked("a")]},
}


def places(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def changed(value, at, junk):
    value = copy.deepcopy(value)
    inner = value
    for key in at[:-1]:
        inner = inner[key]
    if not at:
        return junk
    inner[at[-1]] = junk
    return value


@pytest.mark.promise("F3")
@pytest.mark.parametrize("kind", RECORDS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_nothing_else_ever_comes_out(tmp_path_factory, kind, data):
    record = json.loads(json.dumps(RECORDS[kind]))
    junk = data.draw(JUNK)
    record = changed(record, data.draw(st.sampled_from(list(places(record)))), junk)
    folder = tmp_path_factory.mktemp("junk")
    name = {"lm-eval": "x.jsonl", "inspect": "x.json", "helm": "per_instance_stats.json"}.get(
        kind, "scenario_state.json"
    )
    path = folder / name
    path.write_text(json.dumps(record) + "\n")
    if kind == "helm state":
        path = run_folder(folder, RECORDS["helm"]) / "per_instance_stats.json"
    try:
        table = read_log(kind.split()[0], path).table
    except MiscalError:
        return
    assert table["confidence"].is_between(0, 1).all()
    assert table["correct"].is_in([0, 1]).all()
    assert table["id"].null_count() == 0
