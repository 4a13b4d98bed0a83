"""Every format carries the same rows, whole or in pieces, and its digest notices any change."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from miscal.base.errors import CorruptFile, FileError, InputError, MiscalError
from miscal.base.files import digest
from miscal.data.readers import opening
from miscal.data.readers.delimited import ends_of
from miscal.data.readers.opening import content_digest, open_source
from miscal.data.readers.read import read_triples, reread
from miscal.data.readers.source import Source, read_matrix, whole_numbers

from .formats import FORMATS, N, frame, write_csv, write_latin_csv

# --- every format carries the same rows ------------------------------------------------------------------------------


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

        def read(self, names, piece, **how):
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


# --- sources read in pieces: each piece, in any order and by any process, holds the rows that the whole has there ----


SIZE = 103


def table():
    rng = np.random.default_rng(0)
    words = ["plain", 'quoted "so"', "with, commas", "over\nlines", "", "ümlaut", None]
    return pl.DataFrame(
        {"n": rng.integers(0, 1_000, SIZE), "word": rng.choice(np.array(words, dtype=object), SIZE).tolist()}
    )


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("rows", [1, 7, 50, SIZE, 1_000])
def test_pieces_put_together_are_the_whole(ending, rows, tmp_path):
    path, data = tmp_path / f"a{ending}", table()
    if ending == ".parquet":
        data.write_parquet(path, row_group_size=13)
    elif ending == ".jsonl":
        data.write_ndjson(path)
        path.write_text("\n" + path.read_text().replace("\n", "\n \n", 5).rstrip("\n"))
    else:
        data.write_csv(path, separator="," if ending == ".csv" else "\t")
    pieces = open_source(path, whole=False).pieces(rows)
    assert [piece.start for piece in pieces] == list(range(0, SIZE, rows))
    # another process opens the source and is asked for one piece alone
    order = np.random.default_rng(1).permutation(len(pieces))
    found = {i: open_source(path, whole=False).load(["word", "n"], pieces[i]) for i in order}
    same = open_source(path, whole=False)
    again = {i: same.load(["word", "n"], pieces[i]) for i in order}
    for parts in (found, again):
        whole = pl.concat([parts[i] for i in range(len(pieces))], how="vertical_relaxed")
        assert whole.columns == ["word", "n"]
        assert whole["n"].cast(pl.Int64).to_list() == data["n"].to_list()
        assert whole["word"].to_list() == data["word"].to_list()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8-sig", "utf-16"])
def test_pieces_of_another_encoding(encoding, tmp_path):
    (tmp_path / "a.csv").write_bytes("word,n\r\nümlaut,1\r\nzwölf,2\r\n".encode(encoding))
    source = open_source(tmp_path / "a.csv", encoding=encoding, whole=False)
    parts = [source.load(["word"], piece)["word"].to_list() for piece in source.pieces(1)]
    assert parts == [["ümlaut"], ["zwölf"]]


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_embeddings_are_those_of_the_file(order, tmp_path):
    X = np.asarray(np.random.default_rng(0).normal(size=(20, 3)), np.float32, order=order)
    np.save(tmp_path / "x.npy", X)
    save_file({"x": np.ascontiguousarray(X)}, tmp_path / "x.safetensors")
    for name in ("x.npy", "x.safetensors"):
        assert read_matrix(tmp_path / name).shape == (20, 3)
        np.testing.assert_array_equal(read_matrix(tmp_path / name)[5:9], X[5:9])


# --- quotation marks in csv: no record is lost to one that csv does not allow, whole or in pieces --------------------


CELLS = st.text(alphabet='a",\n\r\\ ', max_size=6)
TABLES = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6)


def written(rows, **how):
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n", **how).writerows([("a", "b"), *rows])
    return out.getvalue()


def both_ways(path):
    """The columns as text, read whole and in pieces of two rows."""
    table = open_source(path).load(["a", "b"]).cast(pl.String)
    source = open_source(path, whole=False)
    pieces = pl.concat([source.load(["a", "b"], piece) for piece in source.pieces(2)])
    return [table.fill_null("").rows(), pieces.fill_null("").rows()]


def found(data, size=None):
    blocks = [data[i : i + size] for i in range(0, len(data), size)] if size else [data]
    return [int(end) for ends in ends_of(blocks, ",", "f.csv", lambda place: place) for end in ends]


@given(rows=TABLES, size=st.integers(1, 9))
@example(rows=[("", "x"), ('"', '""')], size=1)
def test_what_a_csv_writer_writes_is_read_again(rows, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("a") / "a.csv"
    path.write_text(written(rows), newline="")
    assert both_ways(path) == [rows, rows]
    ends = found(path.read_bytes())
    assert len(ends) == len(rows) + 1
    assert found(path.read_bytes(), size=size) == ends


PIPE = '"5\\" pipe"'
SPARK = "word,n\n" + "".join(f"{PIPE if i in (100, 400) else 'pipe'},{i}\n" for i in range(600))
MARKS = ['he said "yes",1', '"x"y,1', 'x "y",1', '"x" ,1', ' "x",1', 'a""b,1', '"a\r",1\n"b"\rc,2']
DAMAGED = {
    **{line: (f"a,b\n1,2\n{line}\n".encode(), r"a\.csv, line [345]: .*RFC 4180") for line in MARKS},
    "escaped by a backslash": (SPARK.encode(), r"a\.csv, line 102: .*pipe"),
    "never closed": (b'word,n\n"open,1\nb,2\nc,3\n', r"a\.csv, line 2: .* never closed"),
    "a blank header": (b"\na,b\n1,2\n", "first line is blank; it must hold the names"),
    "too few": (b"a,b,c\n1,2,3\n1,2\n1,2,3\n", "line 3: the header has 3 fields, but the record here has 2"),
    "too many": (b"a,b\n1,2\n1,2,3\n", "line 3: the header has 2 fields, but the record here has 3"),
    "one column": (b"a\n1\n\n1,2\n", "line 4: the header has 1 field, but the record here has 2"),
    "spaces alone": (b"a,b\n1,2\n \n1,2\n", "line 3: .* has 1;"),
    "a break in a field": (b'a,b\n"x\ny",2\n"x,\ny"\n1,2\n', "line 4: .* has 1;"),
    "a break in the header": (b'"a\nb",c\n1\n1,2\n', "line 3: .* has 1;"),
    "carriage returns": (b"a,b\r\n1,2\r\n1\r\n1,2\r\n", "line 3: .* has 1;"),
    "at the end": (b"a,b\n1,2\n1", "cut short: line 3 at its end has 1 of 2 fields"),
    "quoted, at the end": (b'a,b\n1,2\n"1,2"', "cut short: line 3 at its end has 1 of 2 fields"),
    "too many at the end": (b"a,b\n1,2\n1,2,3", "line 3: .* has 3;"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_records_that_csv_does_not_allow_are_refused_with_their_line(kind, tmp_path):
    content, said = DAMAGED[kind]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(CorruptFile, match=said):
        open_source(tmp_path / "a.csv", whole=False).pieces(1)


@settings(max_examples=60)
@given(rows=TABLES, at=st.integers(0, 5), more=st.booleans(), size=st.integers(1, 9))
def test_a_record_with_another_number_of_fields_is_found_in_blocks_of_any_size(rows, at, more, size):
    at = min(at, len(rows) - 1)
    out = io.StringIO()
    wrong = (*rows[at], "x") if more else rows[at][:1]
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([*rows[:at], wrong, *rows[at + 1 :]])
    data, begin = out.getvalue().encode(), len(written(rows[:at])) - len(written([]))
    blocks = [data[i : i + size] for i in range(0, len(data), size)]
    said = f"line {begin}: the header has 2 fields, but the record here has {len(wrong)}"
    with pytest.raises(CorruptFile, match=said):
        [*ends_of(blocks, ",", "f.csv", lambda place: place, fields=2)]


@pytest.mark.parametrize("text", ["a,b\n\n1,2\n\n", "a,b\r\n\r\n1,2\r\n\r\n"])
def test_a_blank_line_is_a_record_of_missing_values(text, tmp_path):
    (tmp_path / "a.csv").write_text(text, newline="")
    assert both_ways(tmp_path / "a.csv") == [[("", ""), ("1", "2"), ("", "")]] * 2


def test_blank_lines_of_a_single_column_are_missing_values(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n\n3\n\n")
    source = open_source(tmp_path / "a.csv", whole=False)
    pieces = pl.concat([source.load(["a"], piece) for piece in source.pieces(2)])
    assert open_source(tmp_path / "a.csv").load(["a"])["a"].to_list() == [1, None, 3, None]
    assert pieces["a"].to_list() == ["1", None, "3", None]


# --- the digest of what was read: any change is noticed, and nothing else matters ------------------------------------


X = np.random.default_rng(0).normal(size=(1_100, 6)).astype(np.float32)
FRAME = pl.DataFrame({"f": np.linspace(0, 1, len(X)), "word": ["a", None] * (len(X) // 2)})


CHANGES = {
    "rows swapped": lambda X: X[::-1],
    "columns swapped": lambda X: X[:, ::-1],
    "signs of even columns": lambda X: X * np.float32([-1, 1, -1, 1, -1, 1]),
    "signs of two columns": lambda X: X * np.float32([1, -1, 1, -1, 1, 1]),
    "all signs": lambda X: -X,
    "double precision": lambda X: X.astype(np.float64),
    "a row less": lambda X: X[:-1],
    "a column of zeros more": lambda X: np.pad(X, ((0, 0), (0, 2))),
    "zeros": np.zeros_like,
}


@pytest.mark.parametrize("name", CHANGES)
def test_embeddings_that_change_are_noticed(name):
    assert content_digest(FRAME, CHANGES[name](X)) != content_digest(FRAME, X)


def test_values_of_columns_count_and_where_they_lie_does_not():
    other = FRAME.with_columns(word=pl.col("word").fill_null("b"))
    assert content_digest(other, X) != content_digest(FRAME, X) != content_digest(FRAME, None)
    pieces = pl.concat([FRAME[:300], FRAME[300:]])
    assert content_digest(pieces, np.asfortranarray(X)) == content_digest(FRAME, X)
