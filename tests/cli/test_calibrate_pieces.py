"""`miscal calibrate` in pieces: the same answers, resumed where it stopped, of rows read as `discover` reads them."""

import csv
import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.data.readers.opening import open_source
from miscal.data.readers.read import read_triples
from miscal.runs.correct import command
from miscal.runs.correct.command import calibrate_file

from .conftest import run, start
from .new_rows import embedded, rows, set_cells

pytestmark = pytest.mark.whole


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(command, "_PIECE_ROWS", (16, 16))


@pytest.fixture
def stopped(small_pieces, monkeypatch):
    """Correct a file, and press Ctrl-C after some pieces; return what is said then."""

    def run(after, *given, **options):
        def pieces(job, left, engine):
            for piece in left[:after]:
                yield piece, job.run(piece)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(command, "correct_pieces", pieces)
            with pytest.raises(KeyboardInterrupt) as interrupted:
                calibrate_file(*given, **options)
        return interrupted.value.__notes__[0]

    return run


def write(data, path):
    """Write a table in the format of its ending."""
    {".parquet": data.write_parquet, ".csv": data.write_csv, ".jsonl": data.write_ndjson}[path.suffix](path)
    return path


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_pieces_make_no_difference(ending, calibrate, tmp_path, small_pieces, monkeypatch):
    data = rows().with_columns(kind=pl.when(pl.col("count") == 1).then(pl.lit('a "quoted",\nkind')).otherwise("kind"))
    path = write(set_cells("age", None, (40, 299))(data), tmp_path / f"new{ending}")
    options = ("--on-invalid", "null", "--where", "confidence > 0.35")
    pieces = calibrate("features", path, *options)
    monkeypatch.setattr(command, "_PIECE_ROWS", (1_024, 65_536))
    whole = calibrate("features", path, *options)
    assert pieces.status == whole.status == 0, pieces.err + whole.err
    assert pieces.out == whole.out
    assert pieces.table["reason"].equals(whole.table["reason"])
    np.testing.assert_allclose(pieces.table["corrected"], whole.table["corrected"], atol=1e-6)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_columns_that_are_kept_stand_beside_their_rows(ending, calibrate, tmp_path, small_pieces):
    data = set_cells("age", None, (40, 299))(rows()).with_columns(mixed=pl.int_range(300).cast(pl.Float64) / 4)
    path = write(data, tmp_path / f"new{ending}")
    options = ("--on-invalid", "drop", "--where", "confidence > 0.35")
    plain, kept = calibrate("features", path, *options).table, calibrate("features", path, *options, "--keep", "all")
    assert kept.table.columns == [*data.columns, *plain.columns]
    assert kept.table.select(plain.columns).equals(plain)
    # csv has no types: what is kept of it is text
    came = pl.read_csv(path, infer_schema=False) if ending == ".csv" else data
    assert kept.table.select(data.columns).equals(came[kept.table["row"]])
    some = calibrate("features", path, *options, "--keep", "kind,mixed", out="out.csv")
    assert some.table.columns == ["kind", "mixed", *plain.columns]


@pytest.mark.parametrize(
    ("keep", "out", "said"),
    [
        ("kinds", "a.csv", "there is no column 'kinds' (did you mean 'kind'?)"),
        ("kind,row", "a.csv", "has a column 'row' of its own"),
        ("pair", "a.csv", "csv cannot: write .parquet"),
    ],
)
def test_columns_that_cannot_be_kept_are_refused(keep, out, said, calibrate):
    data = rows().with_columns(row=1, pair=pl.concat_list(pl.lit(1), pl.lit(2)))
    refused = calibrate("features", data, "--keep", keep, out=out)
    assert refused.status == 2
    assert said in refused.err


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
@pytest.mark.parametrize("name", ["red, dark", 'a "quoted"', "two\nlines", "=SUM(A1)", ";\t|", "ünïcode ☃"])
def test_parts_make_the_table_that_is_written_at_once(tmp_path, ending, name):
    from miscal.data.writing import part_bytes
    from miscal.runs.correct.command import Parts
    from miscal.runs.correct.tally import Tally

    table = pl.DataFrame({"row": range(6), f"corrected_{name}": [0.25] * 6, name: [name] * 6})
    parts = Parts(tmp_path / "parts", ending)
    for number in (0, 1):
        parts.write(number, table[3 * number : 3 * number + 3], Tally())
    parts.join([0, 1], table.schema, tmp_path / f"joined{ending}")
    joined = (tmp_path / f"joined{ending}").read_bytes()
    if ending == ".parquet":
        assert pl.read_parquet(joined).equals(table)
    else:
        assert joined == part_bytes(table, ending, header=True)
    if ending == ".csv":
        assert [len(line) for line in csv.reader(io.StringIO(joined.decode(), newline=""))] == [3] * 7


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_a_command_that_was_stopped_goes_on_and_ends_with_the_same_bytes(
    models, tmp_path, ending, stopped, monkeypatch
):
    new = write(rows(), tmp_path / "new.parquet")
    whole, again = tmp_path / f"whole{ending}", tmp_path / f"again{ending}"
    calibrate_file(models["features"], new, whole)
    done, correct_pieces = [], command.correct_pieces
    assert "the same command goes on from there" in stopped(7, models["features"], new, again)
    assert not again.exists()

    def watched(job, left, engine):
        done.extend(left)
        yield from correct_pieces(job, left, engine)

    monkeypatch.setattr(command, "correct_pieces", watched)
    # one part was damaged in the meantime: it is corrected again
    (parts,) = tmp_path.glob(".miscal-*.parts")
    (parts / f"0000002{ending}").write_bytes(b"damaged")
    assert calibrate_file(models["features"], new, again).resumed == 6 * 16
    assert [piece.number for piece in done] == [2, *range(7, 19)]
    assert again.read_bytes() == whole.read_bytes()
    assert list(tmp_path.glob(".miscal-*")) == []


@pytest.mark.parametrize("replaced", ["rows", "embeddings", "kept"])
def test_a_file_replaced_by_one_of_the_same_size_and_time_is_not_mixed_in(replaced, models, tmp_path, stopped):
    data, x = tmp_path / "new.csv", tmp_path / "x.npy"

    def fill(seed, kept=0):
        values = rows(seed=seed)["confidence"].round(3).to_list()
        data.write_text("confidence,id\n" + "".join(f"{value:.3f},{kept}\n" for value in values))
        os.utime(data, (1, 1))

    def embed(seed):
        np.save(x, embedded(seed=seed))
        os.utime(x, (1, 1))

    fill(0)
    embed(0)
    out, whole = tmp_path / "out.csv", tmp_path / "whole.csv"
    stopped(3, models["embeddings"], data, out, embeddings=x, keep="id")
    file = x if replaced == "embeddings" else data
    size = file.stat().st_size
    {"rows": lambda: fill(1), "embeddings": lambda: embed(1), "kept": lambda: fill(0, kept=1)}[replaced]()
    assert file.stat().st_size == size
    assert calibrate_file(models["embeddings"], data, out, embeddings=x, keep="id").resumed == 0
    calibrate_file(models["embeddings"], data, whole, embeddings=x, keep="id")
    assert out.read_bytes() == whole.read_bytes()


def test_an_engine_that_is_not_installed_names_its_extra(calibrate, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    told = calibrate("features", rows(), "--engine", "ray")
    assert told.status == 2
    assert 'pip install "miscal[ray]"' in told.err


def test_a_failure_leaves_nothing_behind(models, tmp_path):
    rows().drop("age").write_parquet(tmp_path / "new.parquet")
    with pytest.raises(InputError):
        calibrate_file(models["features"], tmp_path / "new.parquet", tmp_path / "a" / "b" / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["new.parquet"]


@pytest.mark.slow
def test_a_killed_command_goes_on(models, tmp_path):
    """A signal in the middle of a real run: what was done is kept, nothing is written, and it is said."""
    big = pl.concat([rows()] * 1_000)
    big.write_parquet(tmp_path / "new.parquet")
    command = ("calibrate", models["features"], tmp_path / "new.parquet", "--out")
    process = start(*command, tmp_path / "stopped.csv")
    deadline = time.monotonic() + 100
    while not list(tmp_path.glob(".miscal-*.parts/0*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=100)[1]
    if process.returncode == 0:
        pytest.skip("all rows were corrected before the signal arrived")
    assert process.returncode == 143
    assert "the same command goes on from there" in err
    assert not (tmp_path / "stopped.csv").exists()
    resumed, whole = (run(*command, tmp_path / name) for name in ("stopped.csv", "whole.csv"))
    assert "rows had been corrected before" in resumed.out
    assert "rows had been corrected before" not in whole.out
    assert (tmp_path / "stopped.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_serving_needs_few_libraries(models, tmp_path):
    """scikit-learn, pandas, lightgbm and torch take longer to import than thousands of rows to correct."""
    rows().write_parquet(tmp_path / "new.parquet")
    code = (
        "import sys; from miscal.cli import main; status = main(sys.argv[1:]); "
        "print(status, sorted({'sklearn', 'pandas', 'lightgbm', 'torch', 'matplotlib'} & set(sys.modules)))"
    )
    command = ("calibrate", models["features"], tmp_path / "new.parquet", "--out", tmp_path / "out.csv")
    done = subprocess.run([sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


FEATURES = "age,count,one,kind"


@pytest.fixture
def tiny_pieces(monkeypatch):
    from miscal.data.readers import delimited
    from miscal.runs.correct import command

    monkeypatch.setattr(command, "_PIECE_ROWS", (16, 16))
    monkeypatch.setattr(delimited, "_TYPED_ROWS", 50)


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("tRUE", "FALSE")])
@pytest.mark.parametrize("where", ["flag = true", "not flag", "flag and count > 2"])
def test_truth_values_are_read_alike_in_any_case(words, where, calibrate, tmp_path, tiny_pieces):
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
def test_types_are_those_of_the_whole_file(values, tmp_path, tiny_pieces):
    column = ["", *([values[0]] * 120), *([values[1]] * 60)]
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{value},1\n" for value in column))
    whole = open_source(tmp_path / "a.csv").load(["a"])["a"]
    source = open_source(tmp_path / "a.csv", whole=False)
    parts = pl.concat([source.load(["a"], piece, typed=True) for piece in source.pieces(7)])["a"]
    assert parts.dtype == whole.dtype
    assert parts.equals(whole)


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
def test_conditions_on_other_rows_are_refused_everywhere(ending, expression, models, tmp_path, tiny_pieces):
    path = tmp_path / f"new{ending}"
    {".csv": rows().write_csv, ".parquet": rows().write_parquet}[ending](path)
    with pytest.raises(InputError, match="must be decided by each row alone"):
        read_triples(path, features=FEATURES, where=expression)
    with pytest.raises(InputError, match="must be decided by each row alone"):
        calibrate_file(models["features"], path, tmp_path / "out.csv", where=expression)
    assert not (tmp_path / "out.csv").exists()
