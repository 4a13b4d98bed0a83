"""Discover, calibrate, monitor and plans read a file alike, and refuse the same."""

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.data.readers.opening import open_source
from miscal.data.readers.read import read_triples
from miscal.runs.correct.command import calibrate_file

from .new_rows import rows

pytestmark = pytest.mark.whole

FEATURES = "age,count,one,kind"


@pytest.fixture
def small_pieces(monkeypatch):
    from miscal.data.readers import delimited
    from miscal.runs.correct import command

    monkeypatch.setattr(command, "_PIECE_ROWS", (16, 16))
    monkeypatch.setattr(delimited, "_TYPED_ROWS", 50)


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("tRUE", "FALSE")])
@pytest.mark.parametrize("where", ["flag = true", "not flag", "flag and count > 2"])
def test_truth_values_are_read_alike_in_any_case(words, where, calibrate, tmp_path, small_pieces):
    data = rows().with_columns(flag=pl.Series([words[i % 2] for i in range(len(rows()))]))
    # a piece of missing values tells no type
    data = data.with_columns(flag=pl.when(pl.int_range(pl.len()) < 32).then(None).otherwise("flag"))
    data.write_csv(tmp_path / "new.csv")
    told = calibrate("features", tmp_path / "new.csv", "--where", where)
    assert told.status == 0, told.err
    triples = read_triples(tmp_path / "new.csv", features=FEATURES, where=where)
    np.testing.assert_array_equal(told.table["row"], triples.row)


@pytest.mark.parametrize(
    "values",
    [["TRUE", "False"], ["1", "2"], ["1", "2.5"], ["1", "x"], ["true", "1"], ["", "3"], ["nan", "1"], [" 5", "1"]],
)
def test_types_are_those_of_the_whole_file(values, tmp_path, small_pieces):
    column = ["", *([values[0]] * 120), *([values[1]] * 60)]
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{value},1\n" for value in column))
    whole = read_whole(tmp_path / "a.csv")
    source = open_source(tmp_path / "a.csv", whole=False)
    parts = pl.concat([source.load(["a"], piece, typed=True) for piece in source.pieces(7)])["a"]
    assert parts.dtype == whole.dtype
    assert parts.equals(whole)


def read_whole(path):
    from miscal.data.readers.opening import open_source

    return open_source(path).load(["a"])["a"]


@pytest.mark.parametrize("word", ["TRUE", "True", "true"])
def test_a_number_that_is_a_truth_value_is_corrected(word, calibrate, tmp_path):
    data = rows().with_columns(one=pl.lit(1.0))
    data.write_csv(tmp_path / "numbers.csv")
    data.with_columns(one=pl.lit(word)).write_csv(tmp_path / "words.csv")
    numbers, words = (calibrate("features", tmp_path / name) for name in ("numbers.csv", "words.csv"))
    assert numbers.status == words.status == 0, words.err
    assert numbers.table.equals(words.table)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("expression", ["confidence > avg(confidence)", "row_number() over (order by age) > 5"])
def test_conditions_on_other_rows_are_refused_everywhere(ending, expression, models, tmp_path, small_pieces):
    path = tmp_path / f"new{ending}"
    {".csv": rows().write_csv, ".parquet": rows().write_parquet}[ending](path)
    with pytest.raises(InputError, match="must be decided by each row alone"):
        read_triples(path, features=FEATURES, where=expression)
    with pytest.raises(InputError, match="must be decided by each row alone"):
        calibrate_file(models["features"], path, tmp_path / "out.csv", where=expression)
    assert not (tmp_path / "out.csv").exists()
