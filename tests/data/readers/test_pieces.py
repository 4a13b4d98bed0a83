"""Sources read in pieces: each piece, in any order and by any process, holds the rows that the whole has there."""

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from miscal.base.errors import CorruptFile
from miscal.data.readers.opening import open_source
from miscal.data.readers.source import read_matrix

N = 103


def table():
    rng = np.random.default_rng(0)
    words = ["plain", 'quoted "so"', "with, commas", "over\nlines", "", "ümlaut", None]
    return pl.DataFrame({"n": rng.integers(0, 1_000, N), "word": rng.choice(np.array(words, dtype=object), N).tolist()})


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("rows", [1, 7, 50, N, 1_000])
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
    assert [piece.start for piece in pieces] == list(range(0, N, rows))
    # another process opens the source and is asked for one piece alone
    order = np.random.default_rng(1).permutation(len(pieces))
    found = {i: open_source(path, whole=False).load(["word", "n"], pieces[i]) for i in order}
    same = open_source(path, whole=False)
    again = {i: same.load(["word", "n"], pieces[i]) for i in order}
    for parts in (found, again):
        whole = pl.concat([parts[i] for i in range(len(pieces))], how="vertical_relaxed")
        assert whole.columns == ["word", "n"]
        assert whole["n"].cast(pl.Int64).to_list() == data["n"].to_list()
        wanted = data["word"].to_list()
        assert whole["word"].to_list() == wanted


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8-sig", "utf-16"])
def test_pieces_of_another_encoding(encoding, tmp_path):
    (tmp_path / "a.csv").write_bytes("word,n\r\nümlaut,1\r\nzwölf,2\r\n".encode(encoding))
    source = open_source(tmp_path / "a.csv", encoding=encoding, whole=False)
    parts = [source.load(["word"], piece)["word"].to_list() for piece in source.pieces(1)]
    assert parts == [["ümlaut"], ["zwölf"]]


def test_a_quotation_mark_that_is_not_closed_is_no_row(tmp_path):
    (tmp_path / "a.csv").write_text('word,n\n"open,1\nb,2\nc,3\n')
    with pytest.raises(CorruptFile, match=r"a\.csv, line 2: .* never closed"):
        open_source(tmp_path / "a.csv", whole=False).pieces(10)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_embeddings_are_those_of_the_file(order, tmp_path):
    X = np.asarray(np.random.default_rng(0).normal(size=(20, 3)), np.float32, order=order)
    np.save(tmp_path / "x.npy", X)
    save_file({"x": np.ascontiguousarray(X)}, tmp_path / "x.safetensors")
    for name in ("x.npy", "x.safetensors"):
        assert read_matrix(tmp_path / name).shape == (20, 3)
        np.testing.assert_array_equal(read_matrix(tmp_path / name)[5:9], X[5:9])
