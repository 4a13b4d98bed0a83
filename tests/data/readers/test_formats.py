"""Every format carries the same rows."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from safetensors.numpy import save_file

from miscal.base.errors import CorruptFile, FileError, InputError, MiscalError
from miscal.base.files import digest
from miscal.data.readers import opening
from miscal.data.readers.read import read_triples, reread
from miscal.data.readers.source import Source, whole_numbers

from .formats import FORMATS, N, frame, write_csv, write_latin_csv


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_triples(name, tmp_path):
    data = frame()
    got = read_triples(FORMATS[name](data, tmp_path), features="x_*,kind", metadata="kind", group="group")
    want = read_triples(data, features="x_*,kind", metadata="kind", group="group")
    np.testing.assert_array_equal(got.X, want.X)
    np.testing.assert_array_equal(got.confidence, data["confidence"])
    np.testing.assert_array_equal(got.correct, data["correct"])
    np.testing.assert_array_equal(got.split, want.split)
    assert got.metadata["kind"].tolist() == data["kind"].to_list()
    assert [t.replace("\n", " ") for t in got.text] == [t.replace("\n", " ") for t in data["text"]]
    assert got.places.shape == (N, 5)
    assert got.row.tolist() == list(range(N))


def test_a_csv_in_another_encoding_is_read_when_named(tmp_path):
    path = write_latin_csv(frame(), tmp_path)
    assert read_triples(path, features="x_*", encoding="latin-1").text[0].endswith("é")
    with pytest.raises(FileError, match=r"line 3: byte b'\\xe9' .* is not utf-8.*`encoding`"):
        read_triples(path, features="x_*")
    for unknown in ("klingon", "", "a\0b", "rot13", "hex", "base64", "zlib", "undefined", "idna", "mbcs"):
        with pytest.raises(InputError, match=f"encoding must be one of texts .*got {re.escape(repr(unknown))}"):
            read_triples(path, features="x_*", encoding=unknown)


LARGE = {
    "64 bits without a sign": ([2**63 + 2 * i for i in range(N)], False),
    "hashes": ([2**64 + i for i in range(N)], True),
    "hashes among small numbers": ([i - 2**70 * (i == 3) - 1 * (i == 3) for i in range(N)], True),
    "powers of two": ([2 ** (64 + i % 9) for i in range(N)], False),
    "128 bits without a sign": ([2**127 + i for i in range(N)], True),
    "beyond 128 bits": ([i + 10**40 * (i == 3) for i in range(N)], True),
}


@pytest.mark.parametrize("case", LARGE)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "polars", "pandas", "dictionary"])
def test_large_whole_numbers_are_read_as_what_they_are_or_refused_by_row(kind, case, tmp_path):
    values, as_text = LARGE[case]
    rows = frame().drop("text", "group").to_dict(as_series=False) | {"large": values}
    table = pl.DataFrame({name: whole_numbers(name, v) if name == "large" else v for name, v in rows.items()})
    source = {"polars": table, "pandas": pd.DataFrame(rows), "dictionary": rows}.get(kind, tmp_path / f"d.{kind}")
    if kind == "csv":
        lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
        source.write_text("\n".join(lines) + "\n")
    if kind == "jsonl":
        source.write_text("".join(json.dumps(dict(zip(rows, row, strict=True))) + "\n" for row in table.rows()))
    if kind == "parquet":
        table.write_parquet(source)
    got = read_triples(source, features="x_*", group="large", names_only="large")
    np.testing.assert_array_equal(pd.factorize(got.group)[0], pd.factorize(pd.Series(values, dtype=object))[0])
    assert [int(one) for one in got.metadata["large"].tolist()] == values
    if as_text:
        with pytest.raises(InputError, match=r"weight \(column 'large'\) must be numbers; .*row \d+\): .*round them"):
            read_triples(source, features="x_*", weight="large")
    else:
        weights = read_triples(source, features="x_*", weight="large").weight
        np.testing.assert_allclose(weights / weights[0], np.array(values, float) / values[0])


def test_a_dataset_in_memory_is_read_as_a_frame():
    datasets = pytest.importorskip("datasets")
    data = frame()
    found = read_triples(datasets.Dataset.from_dict(data.to_dict(as_series=False)), features="x_*")
    np.testing.assert_array_equal(found.places, read_triples(data, features="x_*").places)


def scored(folder, n=N):
    frame(n).write_parquet(folder / "triples.parquet")
    X = np.random.default_rng(1).normal(size=(n, 4)).astype(np.float32)
    save_file({"x": X}, folder / "embeddings.safetensors")
    return X


def test_a_scored_folder_brings_its_embeddings(tmp_path):
    X = scored(tmp_path)
    got = read_triples(tmp_path)
    np.testing.assert_array_equal(got.X, X)
    assert got.text[0].startswith("row 0")
    assert "the inputs are those of embeddings.safetensors, which lies beside the data" in got.notes
    assert {f["path"].rsplit("/", 1)[1] for f in got.source["files"]} == {"triples.parquet", "embeddings.safetensors"}


def test_a_scored_folder_that_changed_is_refused_until_its_files_are_named(tmp_path):
    scored(tmp_path)
    names = ("triples.parquet", "embeddings.safetensors")
    (tmp_path / "manifest.json").write_text(json.dumps({"files": {n: digest(tmp_path / n) for n in names}}))
    assert len(read_triples(tmp_path)) == N
    frame().reverse().write_parquet(tmp_path / "triples.parquet")
    with pytest.raises(CorruptFile, match=r"triples\.parquet is missing or has changed since `miscal score` wrote it"):
        read_triples(tmp_path)
    named = read_triples(tmp_path / "triples.parquet", embeddings=tmp_path / "embeddings.safetensors")
    assert named.text[0].startswith(f"row {N - 1}")


@pytest.mark.parametrize("content", ["", "[]", '{"files": 3}', "\x00"])
def test_a_scored_folder_with_a_damaged_manifest_is_refused(content, tmp_path):
    scored(tmp_path)
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(CorruptFile, match=r"manifest\.json is damaged"):
        read_triples(tmp_path)


def test_the_same_rows_can_be_read_again_until_the_file_changes(tmp_path):
    np.save(tmp_path / "e.npy", np.random.default_rng(0).normal(size=(N, 3)))
    path = write_csv(frame(), tmp_path)
    first = read_triples(path, embeddings=str(tmp_path / "e.npy"), where="x_2 > 3", seed=5, metadata="kind")
    again = reread(json.loads(json.dumps(first.source)))
    for name in ("X", "confidence", "correct", "split", "row"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert again.source["options"] == first.source["options"]
    np.save(tmp_path / "e.npy", np.zeros((N, 3)))
    with pytest.raises(MiscalError, match="has changed since the run"):
        reread(first.source)
    (tmp_path / "e.npy").unlink()
    with pytest.raises(FileError, match="does not exist"):
        reread(first.source)
    with pytest.raises(InputError, match="given in memory"):
        reread(read_triples(frame(), features="x_*").source)


# --- another format -----------------------------------------------------------------------------------------------


def test_a_reader_is_one_module_and_its_line(tmp_path, monkeypatch):
    class Pipes(Source):
        kind = "pipes"

        @classmethod
        def accepts(cls, source):
            return getattr(source, "suffix", "") == ".pipes"

        def __init__(self, source, encoding, *, whole):
            lines = [line.split("|") for line in source.read_text(encoding).splitlines()]
            self.frame = pl.DataFrame({name: [*map(float, cells)] for name, *cells in zip(*lines, strict=True)})
            self.columns, self.files = tuple(self.frame.columns), (source,)

        def load(self, names, piece=None, **how):
            return self.frame.select(names)

    (tmp_path / "a.pipes").write_text(frame()["confidence", "correct", "x_1", "x_2"].write_csv(separator="|"))
    with pytest.raises(FileError, match=r"a\.pipes"):
        read_triples(tmp_path / "a.pipes", features="x_*")
    monkeypatch.setattr(opening, "READERS", (*opening.READERS, Pipes))
    triples = read_triples(tmp_path / "a.pipes", features="x_*")
    np.testing.assert_array_equal(triples.X, read_triples(frame(), features="x_*").X)
    assert triples.source["reader"] == "pipes"


@pytest.mark.parametrize("depth", [17, 900])
def test_a_column_of_json_nested_too_deep_stops_nothing_that_does_not_use_it(depth, tmp_path):
    line = '{"f": 0.5, "n": ' + "[" * depth + "]" * depth + "}\n"
    (tmp_path / "a.jsonl").write_text(line * 3)
    loaded = opening.open_source(tmp_path / "a.jsonl").load(["f", "n"])
    assert loaded["f"].to_list() == [0.5] * 3
    assert loaded["n"].dtype.is_nested()
