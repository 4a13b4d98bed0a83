"""Hostile texts through all of discover, secrets in every output, texts that take long, files that unpack to much."""

import csv
import gzip
import io
import json
import socket
import subprocess
import sys
import zipfile
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from miscal.base.errors import FileError, InputError, MiscalError
from miscal.cli import main
from miscal.data.encoders.texts import TextTfidfSvd
from miscal.data.readers.read import read_triples
from miscal.data.writing import defused, write_table
from miscal.discovery.discover import discover
from miscal.report import write_run
from miscal.runs.monitor.command import monitor
from miscal.study.plan_file import read_plan
from miscal.study.tables import write_tables

from ..cli.new_rows import rows
from ..data.importers.written import archive, header
from ..data.test_writing import STARTS
from ..report.read_page import PAYLOADS, Page

pytestmark = pytest.mark.whole

# --- pages --------------------------------------------------------------------------------------------------------


def hostile_rows(payloads, seed=0):
    """Rows in which every payload is a text, a value, and the name of a column."""
    table, n = rows(190, seed), len(payloads)
    return table.with_columns(
        text=pl.Series([f"{payloads[k % n]} {text}" for k, text in enumerate(table["text"])]),
        kind=pl.Series([payloads[k % n] for k in range(len(table))]),
        **{payload: pl.Series([f"{payload} {k % 2}" for k in range(len(table))]) for payload in payloads},
    )


def pages_of(folder, payloads):
    """Discover rows and look at newer ones; return the pages of the run and of its monitor."""
    name = payloads[0].replace("/", "_")
    for kind, seed in (("old", 0), ("new", 1)):
        (folder / kind / name).mkdir(parents=True)
        hostile_rows(payloads, seed).write_parquet(folder / kind / name / f"{name}.parquet")
    data = folder / "old" / name / f"{name}.parquet"
    triples = read_triples(data, features="age,count", metadata=["kind", *payloads])
    write_run(discover(triples, evidence="test", map_method="pca"), folder / name)
    monitor(folder / name, folder / "new" / name / f"{name}.parquet", at=payloads[0])
    places = (folder / name / "report.html", folder / name / "monitor" / "monitor.html")
    return [Page(place.read_text(encoding="utf-8")) for place in places]


@pytest.mark.slow
def test_a_run_on_hostile_rows_adds_no_element_to_its_pages(tmp_path):
    """Texts, values, names of columns and of files, through keywords, names of parts, findings and looks."""
    hostile_ones = pages_of(tmp_path, [payload.strip() for payload in PAYLOADS])
    plain_ones = pages_of(tmp_path, [f"word{k}" for k in range(len(PAYLOADS))])
    for hostile, plain in zip(hostile_ones, plain_ones, strict=True):
        assert set(hostile.tags) == set(plain.tags)
        assert hostile.tags.count("script") == plain.tags.count("script")
        names = {name for _, name, _ in hostile.attributes}
        assert not {name for name in names if name.startswith("on")} | ({"srcdoc"} & names)


# --- csv ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [*STARTS, " =", "\u3000@"])
def test_tables_of_a_study_and_of_corrections(tmp_path, start):
    text = f"{start}HYPERLINK(1)"
    folder = SimpleNamespace(path=tmp_path, is_done=lambda name: False)
    failure = {"pair": text, "dataset": text, "model": text, "step": "read", "message": text}
    write_tables(folder, [], [failure])
    write_table(pl.DataFrame({text: [text], "n": [-1]}), tmp_path / "t.csv")
    for path in (tmp_path / "tables" / "failures.csv", tmp_path / "t.csv"):
        cells = [cell for line in csv.reader(io.StringIO(path.read_bytes().decode(), newline="")) for cell in line]
        assert not [cell for cell in cells if cell[0] in STARTS and cell != "-1"]
        assert f"'{text}" in cells


# --- secrets ------------------------------------------------------------------------------------------------------

CANARIES = {
    "HF_TOKEN": "hf_canary_one",
    "OPENAI_API_KEY": "sk-canary-two",
    "AWS_SECRET_ACCESS_KEY": "canary/three+x",
    "DB_PASSWORD": "canary-four",
    "SOME_CREDENTIALS": "canary-five",
    "MISCAL_ENDPOINT_KEY": "canary-seven",
}
USER = "canary:six@"
FAILURES = {
    "no such data": ["discover", "{secret}.parquet", "--out", "run"],
    "no such column": ["discover", "d.parquet", "--out", "run", "--confidence", "{secret}"],
    "no such feature": ["discover", "d.parquet", "--out", "run", "--features", "{secret}*"],
    "a condition": ["discover", "d.parquet", "--out", "run", "--where", "kind == {secret}"],
    "no such run": ["report", "{secret}"],
    "no such model": ["calibrate", "{secret}", "d.parquet", "--out", "c.csv"],
    "no such command": ["{secret}"],
    "an address": ["discover", f"https://{USER}host/d.parquet", "--out", "run"],
    "no such new rows": ["monitor", "{secret}", "d.parquet"],
    "an endpoint": f"score --endpoint https://{USER}host --model {{secret}} --questions q --out run".split(),
    "a log": ["import", "lm-eval", "{secret}", "--out", "l.parquet"],
    "a plan": ["study", "{secret}.yaml", "--out", "study"],
}


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("failure", FAILURES)
def test_no_failure_tells_a_secret(tmp_path, monkeypatch, capfd, failure, debug):
    monkeypatch.chdir(tmp_path)
    rows(120).write_parquet("d.parquet")
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    for value in CANARIES.values():
        arguments = [word.format(secret=value) for word in FAILURES[failure]]
        assert main([*arguments, "--debug"] if debug and failure != "no such command" else arguments) == 2
    said = capfd.readouterr()
    for secret in [*CANARIES.values(), "canary:six"]:
        assert secret not in said.out + said.err
    assert [path.name for path in tmp_path.iterdir()] == ["d.parquet"]


@pytest.mark.slow
def test_no_file_of_a_run_holds_a_secret_of_the_environment(tmp_path, monkeypatch):
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    write_run(discover(read_triples(rows(120), features="age,count"), evidence="test"), tmp_path / "run")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"canary" not in written


# --- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "!!python/object/apply:os.system ['touch pwned']",
        "pairs: !!python/object/new:subprocess.Popen [['touch', 'pwned']]",
        "a: &a [*a, *a]",
        "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnop")),
        "[" * 5_000,
        "a: 2021-99-99",
        "unknown: 1\npairs: []",
        "pairs: [",
        "- just\n- a list",
        "",
    ],
)
def test_a_plan_runs_nothing_and_knows_its_keys(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(content)
    with pytest.raises(MiscalError):
        read_plan(str(tmp_path / "plan.yaml"))
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("value", ["[", "!!python/name:os.system", "2021-99-99"])
def test_what_is_set_on_the_command_line_is_data_too(tmp_path, value):
    (tmp_path / "plan.yaml").write_text("pairs: ${PAIRS}\n")
    with pytest.raises(MiscalError, match="--set PAIRS"):
        read_plan(tmp_path / "plan.yaml", sets={"PAIRS": value})


# --- length -------------------------------------------------------------------------------------------------------

LONG = 1_000_000
TEXTS = {"one letter": "a", "blanks": " ", "marks": "\u0301", "brackets": "(", "formula": "\t", "lines": "\n"}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", TEXTS)
def test_a_million_characters_take_no_time(name):
    """Readers, encoder, csv: each sees a text as long as a book of one character."""
    text = TEXTS[name] * LONG
    table = rows(120)
    table = table.with_columns(text=pl.Series([text, *table["text"][1:]]))
    triples = read_triples(table, features="age,count")
    assert len(triples) == 120
    TextTfidfSvd().fit(table["text"].to_list()).transform([text])
    assert defused(table.select("text")).height == 120


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", ["a" + "*a" * 60 + "b", "*" * 5_000 + "b", "[a" * 500, "?" * 5_001])
def test_patterns_of_columns_take_no_time(pattern):
    table = rows(120).with_columns(pl.lit(1.0).alias("a" * 5_000))
    with pytest.raises(InputError):
        read_triples(table, features=pattern)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["x" * LONG, "x" * 1_000 + "\n" * LONG])
def test_a_name_of_a_million_characters_is_cut_in_messages(name, capfd, tmp_path):
    rows(120).write_parquet(tmp_path / "d.parquet")
    status = main(["discover", str(tmp_path / "d.parquet"), "--out", str(tmp_path / "run"), "--confidence", name])
    assert status == 2
    assert capfd.readouterr().err.count("\n") == 1


# --- network ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [("8.8.8.8", 443), ("2001:4860:4860::8888", 443)])
def test_the_suite_can_reach_no_other_machine(address):
    with pytest.raises(OSError, match="the tests may not reach"):
        socket.create_connection(address, timeout=1)


GIB = 2**30
UNDER_LIMIT = """
import json, resource, sys
import polars, numpy
from miscal.base.errors import MiscalError
from miscal.data.importers.imported import read_log
from miscal.data.readers.read import read_triples

kind, path = sys.argv[1], sys.argv[2]
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    if kind == "log":
        read_log("inspect", path)
    elif kind == "embeddings":
        rows = {"confidence": numpy.linspace(0, 1, 200), "correct": numpy.arange(200) % 2}
        read_triples(rows, embeddings=path)
    else:
        read_triples(path, **json.loads(kind))
    print("read")
except MiscalError as error:
    print(f"{type(error).__name__}: {error}")
"""


def repeated(path, table, times, **options):
    """Write the same rows many times, a group at a time."""
    with pq.ParquetWriter(path, table.schema, compression="zstd", **options) as writer:
        for _ in range(times):
            writer.write_table(table)
    return path


def outcomes(n):
    return {"confidence": np.full(n, 0.5), "correct": np.arange(n) % 2}


def numbers(folder):
    table = pa.table(outcomes(10**6) | {"x": np.zeros(10**6)})
    return repeated(folder / "numbers.parquet", table, 40), json.dumps({"features": "x"})


def texts(folder):
    table = pa.table(outcomes(1_000) | {"text": ["x" * 50_000] * 1_000})
    path = repeated(folder / "texts.parquet", table, 30, use_dictionary=False)
    return path, json.dumps({"text": "text", "embed_model": "tfidf"})


def log(folder):
    """The archive names the size itself; one that lies about it is tested with the importer."""
    return archive(folder / "log.eval", {"header.json": json.dumps(header()).encode()}, claim=GIB + 1), "log"


def embeddings(folder):
    """A sparse file: it takes no room on disk."""
    path = folder / "x.npy"
    np.lib.format.open_memmap(path, "w+", np.float32, (200, 10**8))
    return path, "embeddings"


def lying_header(folder):
    """A header that promises more than there is."""
    begin = json.dumps({"x": {"dtype": "F32", "shape": [200, 10**8], "data_offsets": [0, 8 * 10**10]}}).encode()
    (folder / "x.safetensors").write_bytes(len(begin).to_bytes(8, "little") + begin + b"\0" * 800)
    return folder / "x.safetensors", "embeddings"


@pytest.mark.parametrize("bomb", [numbers, texts, log, embeddings, lying_header], ids=lambda bomb: bomb.__name__)
def test_what_unpacks_to_more_than_memory_is_refused(tmp_path, bomb):
    path, kind = bomb(tmp_path)
    told = subprocess.run(
        [sys.executable, "-c", UNDER_LIMIT, kind, str(path)], capture_output=True, text=True, timeout=120
    )
    assert told.returncode == 0, told.stderr[-2000:]
    refusal = "CorruptFile" if bomb is lying_header else "ResourceError"
    assert told.stdout.startswith(f"{refusal}: "), told.stdout
    assert path.name in told.stdout


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.tsv"])
@pytest.mark.parametrize("pack", ["gzip", "zip", "zstandard"])
def test_compressed_text_is_not_unpacked(tmp_path, name, pack):
    """Nothing but Parquet and the archives of logs is ever unpacked."""
    table = pl.DataFrame(outcomes(200) | {"x": np.zeros(200)})
    content = table.write_ndjson().encode() if name == "d.jsonl" else table.write_csv().encode()
    if pack == "zip":
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as out:
            out.writestr(name, content)
        packed = held.getvalue()
    else:
        packed = gzip.compress(content) if pack == "gzip" else zstandard.compress(content)
    (tmp_path / name).write_bytes(packed)
    with pytest.raises(FileError, match=name):
        read_triples(tmp_path / name, features="x")
