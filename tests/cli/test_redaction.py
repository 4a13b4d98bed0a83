"""Texts that are left out: no word of them in any file or page of a run, nor of what is done to it afterwards."""

import json

import numpy as np
import polars as pl
import pytest

from miscal.discovery.summary import read_summary

from .conftest import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

WORDS = ("zebrafish", "quokka", "wombat", "axolotl")
ROLES = ("--confidence", "confidence", "--correct", "correct", "--features", "x_*")
GIVEN = (*ROLES, "--metadata", "year", "--map", "pca", "--evidence", "test")


def answers(seed, n=600):
    """Texts whose words say where the model is wrong, beside inputs that hardly do."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 4, n)
    X = 0.3 * np.eye(4)[topic] + rng.normal(size=(n, 4))
    f = rng.uniform(0.3, 0.7, n)
    y = rng.random(n) < f + np.array([0.3, -0.3, 0.25, -0.25])[topic]
    frame = {f"x_{k}": X[:, k] for k in range(4)} | {"confidence": f, "correct": y.astype(int)}
    text = [f"{WORDS[t] if rng.random() < 0.95 else ''} number {i % 9}" for i, t in enumerate(topic)]
    return pl.DataFrame(frame | {"text": text, "year": rng.integers(2001, 2004, n)})


def made_of(folder):
    """Everything that the files of a folder say, ``model/`` left out, as they are and as they are read."""
    files = [path for path in folder.rglob("*") if path.is_file() and "model" not in path.relative_to(folder).parts]
    tables = [pl.read_parquet(path).write_json().encode() for path in files if path.suffix == ".parquet"]
    assert {".json", ".html"} <= {path.suffix for path in files}
    return b"\n".join([*tables, *(path.read_bytes() for path in files)]).lower()


def said(folder):
    return [word for word in WORDS if word.encode() in made_of(folder)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("redaction")
    answers(0).write_parquet(place / "seen.parquet")
    answers(1, 400).write_parquet(place / "new.parquet")
    for name, options in {"open": (), "hidden": ("--redact-text",), "other": ("--redact-text", "--seed", "1")}.items():
        ended = run("discover", place / "seen.parquet", "--out", place / name, *GIVEN, *options)
        assert ended.status == 0, ended.err
    return place


def test_no_word_of_the_texts_is_in_any_file_of_a_redacted_run_or_of_what_is_done_to_it(folder):
    assert said(folder / "open") == list(WORDS), "the open run does not tell what the others leave out"
    told = json.loads((folder / "hidden" / "summary.json").read_text())["findings"]
    assert any(one["condition"] == {"kind": "term", "term": None, "number": 1} for one in told)
    looked = run("monitor", folder / "hidden", folder / "new.parquet", *ROLES[:4])
    assert looked.status in (0, 3), looked.err
    compared = run("compare", folder / "hidden", folder / "other", "--out", folder / "pair")
    assert compared.status == 0, compared.err
    drawn = run("report", folder / "hidden")
    assert drawn.status == 0, drawn.err
    table = run("show", folder / "hidden", "--by", "year")
    assert table.status == 0, table.err
    for name in ("hidden", "other", "pair"):
        assert said(folder / name) == []
    shown = "".join((one.out + one.err).lower() for one in (looked, compared, drawn, table))
    assert not any(word in shown for word in WORDS)
    left = json.loads((folder / "hidden" / "monitor" / "monitor.json").read_text())["left_out"]
    assert left
    assert all("the run leaves texts out" in one for one in left)


def test_the_page_of_an_open_run_can_be_drawn_without_a_word_of_the_texts(folder):
    ended = run("report", folder / "open", "--redact-text")
    assert ended.status == 0, ended.err
    page = (folder / "open" / "report.html").read_text(encoding="utf-8").lower()
    assert [word for word in WORDS if word in page] == []
    assert "term 1 of the texts (left out)" in page


def test_a_monitor_watches_every_finding_of_a_run_that_tells_its_texts(folder):
    ended = run("monitor", folder / "open", folder / "new.parquet", *ROLES[:4])
    assert ended.status in (0, 3), ended.err
    document = json.loads((folder / "open" / "monitor" / "monitor.json").read_text())
    summary = read_summary(folder / "open")
    assert document["left_out"] == []
    watched = [one for one in document["questions"] if one["kind"] == "finding"]
    assert [one["phrase"] for one in watched] == [one.phrase for one in summary.findings]
    assert all(one["rows"]["n"] > 0 for one in watched)
