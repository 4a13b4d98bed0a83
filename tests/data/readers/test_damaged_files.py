"""A damaged file, or one that cannot be opened, is named as such and never half read."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from miscal.base.errors import CorruptFile, FileError, InputError
from miscal.data.readers.opening import open_source
from miscal.data.readers.read import read_triples

from .formats import N, frame, write_csv, write_jsonl

pytestmark = pytest.mark.whole


@pytest.mark.parametrize("name", ["d.parquet", "e.npy", "e.safetensors"])
def test_a_file_cut_anywhere_is_corrupt(name, tmp_path):
    path, X = tmp_path / name, np.ones((N, 4), dtype=np.float32)
    write = {"d.parquet": frame().write_parquet, "e.npy": lambda at: np.save(at, X)}
    write.get(name, lambda at: save_file({"x": X}, at))(path)
    whole = path.read_bytes()
    for cut in np.random.default_rng(0).integers(0, len(whole), 50):
        path.write_bytes(whole[:cut])
        with pytest.raises(CorruptFile, match=name):
            read_triples(path, features="x_*") if name == "d.parquet" else read_triples(frame(), embeddings=path)


def test_a_jsonl_file_cut_inside_a_line_names_the_line(tmp_path):
    whole = write_jsonl(frame(), tmp_path).read_text()
    for cut in np.random.default_rng(0).integers(1, len(whole), 50):
        (tmp_path / "cut.jsonl").write_text(whole[:cut])
        if whole[:cut].endswith(("}", "}\n")):
            continue
        with pytest.raises(CorruptFile, match=rf"line {whole[:cut].count(chr(10)) + 1}: not valid JSON"):
            read_triples(tmp_path / "cut.jsonl", features="x_*")


def test_a_csv_file_cut_inside_its_last_row_is_corrupt(tmp_path):
    whole = frame().drop("text").write_csv()
    (tmp_path / "cut.csv").write_text(whole[: whole.rindex(",") - 1])
    with pytest.raises(CorruptFile, match="cut short: line 121"):
        read_triples(tmp_path / "cut.csv", features="x_*")


@pytest.mark.parametrize("name", ["d.parquet", "d.csv", "d.jsonl", "e.npy", "e.safetensors"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe\x00" * 50, b"hello\n", b"PAR1", b"PK\x03\x04zip", b"{]"])
def test_files_that_are_not_what_their_name_says(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    source, x = (frame(), {"embeddings": path}) if name.startswith("e") else (path, {"features": "x_*"})
    with pytest.raises(FileError) as error:
        read_triples(source, **x)
    assert path.name in str(error.value) or "no column is called confidence" in str(error.value)


JSON_LINES = {
    "duplicate key": (
        '{"confidence": 0.5, "confidence": 0.6}',
        InputError,
        "line 2: the key 'confidence' occurs twice",
    ),
    "array": ("[1, 2]", CorruptFile, "line 2: each line must be an object .*; got list"),
    "number": ("7", CorruptFile, "line 2: each line must be .*; got number"),
    "deep": ("[" * 100_000, CorruptFile, "line 2"),
    "mixed types": (
        '{"confidence": "high", "correct": 1}',
        InputError,
        "line 2: 'confidence' is text .* number before",
    ),
    "missing key": ('{"correct": 1}', InputError, "confidence.*1 of 2 .*row 1"),
    "NaN": ('{"confidence": NaN, "correct": 1}', InputError, "confidence.*1 of 2 .*row 1"),
    "Infinity": ('{"confidence": -Infinity, "correct": 1}', InputError, "confidence.*1 of 2 .*row 1"),
    "list": ('{"confidence": [0.5], "correct": 1}', InputError, "line 2: 'confidence' is list"),
    "huge integer": ('{"confidence": 1' + "0" * 400 + ', "correct": 1}', InputError, "confidence"),
}


@pytest.mark.parametrize("case", JSON_LINES)
def test_bad_json_lines_are_named(case, tmp_path):
    line, error, message = JSON_LINES[case]
    path = tmp_path / "d.jsonl"
    path.write_text('{"confidence": 0.5, "correct": 1}\n' + line + "\n")
    with pytest.raises(error, match=message):
        read_triples(path, embeddings=np.zeros((2, 1)))


def test_other_odd_json_files(tmp_path):
    path = tmp_path / "d.json"
    path.write_text('[{"a": 1}]')
    with pytest.raises(CorruptFile, match="one JSON array"):
        open_source(path)
    path.write_text("\n \n\n")
    with pytest.raises(CorruptFile, match="only blank lines"):
        open_source(path)


def test_a_lone_surrogate_becomes_the_replacement_character(tmp_path):
    records = frame().to_dicts()
    lines = [json.dumps(record | {"text": "a\ud800b"}) for record in records]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    assert read_triples(tmp_path / "d.jsonl", features="x_*").text[0] == "a\ufffdb"


def test_csv_headers_that_cannot_be_used(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InputError, match="the header repeats 'a'"):
        open_source(tmp_path / "d.csv")
    for ending, mark, said in (
        ("csv", ";", "by semicolons; save it with commas"),
        ("csv", "|", "by bars; save it with commas"),
        ("csv", "\t", r"by tabs; .* ends in \.tsv"),
        ("tsv", ",", r"by commas; .* ends in \.csv"),
    ):
        (tmp_path / f"e.{ending}").write_text(f"confidence{mark}correct\n0.5{mark}1\n")
        with pytest.raises(InputError, match=said):
            open_source(tmp_path / f"e.{ending}")
    for header in ("confidence,correct\r0.5,1\r", f"confidence,{'x' * 200_000}\n0.5,1\n"):
        (tmp_path / "d.csv").write_text(header, newline="")
        with pytest.raises(CorruptFile, match="the header cannot be read"):
            open_source(tmp_path / "d.csv")


# --- paths --------------------------------------------------------------------------------------------------------


def test_paths_that_cannot_be_opened(tmp_path):
    write_csv(frame(), tmp_path)
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "d.xlsx").write_bytes(b"x")
    cases = {
        tmp_path / "dd.csv": "does not exist; did you mean d.csv",
        tmp_path / "loop.csv": "cannot be opened",
        tmp_path / "pipe.csv": "pipe or a device",
        tmp_path / "folder.csv": "a folder that miscal score did not write",
        tmp_path / "d.xlsx": "is of an unknown format; give a .parquet, .csv",
        tmp_path / ("n" * 300 + ".csv"): "cannot be opened",
        tmp_path / "a\0b.csv": "cannot be opened",
        "/dev/full": "pipe or a device",
        tmp_path / "d.csv" / "x.csv": "cannot be opened",
    }
    for path, message in cases.items():
        with pytest.raises(FileError, match=message):
            read_triples(path)
        with pytest.raises(FileError):
            read_triples(frame(), embeddings=path)
    for source in (3, None, [1, 2]):
        with pytest.raises(InputError, match="must be a path, a table or a dictionary"):
            read_triples(source)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = write_csv(frame(), tmp_path)
    path.chmod(0)
    with pytest.raises(FileError, match="permission"):
        read_triples(path)
