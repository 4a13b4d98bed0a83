"""Tables in files: columns go by name, folders are read whole, and an answer is about the files that it says."""

import os
from datetime import date, datetime

import polars as pl
import pytest

import miscal
from miscal.base.errors import FileError, InputError
from miscal.data.relations import Relation, open_relation, staged

pytest.importorskip("duckdb")

ROWS = pl.DataFrame(
    {"risk": [0.1, 0.2, 0.3, 0.4], "late": [0, 1, 0, 1], "region": ["n", "s", "n", "s"], "day": [date(2024, 1, 2)] * 4}
)
FIRST, SECOND = ROWS[:2], ROWS[2:]
WRITE = {".csv": pl.DataFrame.write_csv, ".parquet": pl.DataFrame.write_parquet}
endings = pytest.mark.parametrize("ending", WRITE)


def put(folder, name, rows):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    WRITE[(folder / name).suffix.lower()](rows, folder / name)


def read(place) -> pl.DataFrame:
    relation = open_relation(place)
    return relation.collect(relation.frame).select(sorted(relation.schema))


def same(place, rows=ROWS):
    wanted = rows.select(sorted(rows.columns))
    assert read(place).sort("risk").cast(wanted.schema).equals(wanted, null_equal=True)


# --- columns go by name ---------------------------------------------------------------------------------------------


@endings
def test_the_order_of_columns_is_no_matter(tmp_path, ending):
    put(tmp_path, f"a{ending}", FIRST)
    put(tmp_path, f"b{ending}", SECOND.select("day", "region", "late", "risk"))
    same(tmp_path)


@endings
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.rename({"region": "area"}),
        lambda rows: rows.rename({"region": "Region"}),
        lambda rows: rows.drop("region"),
        lambda rows: rows.with_columns(more=1),
    ],
    ids=["renamed", "in another case", "fewer", "more"],
)
def test_files_of_other_columns_are_refused_with_file_and_column(tmp_path, ending, change):
    put(tmp_path, f"a{ending}", FIRST)
    put(tmp_path, f"b{ending}", change(SECOND))
    with pytest.raises(FileError, match=rf"[ab]\{ending} has no column '(region|area|Region|more)'"):
        open_relation(tmp_path)


def test_a_csv_without_a_header_is_none_of_a_folder(tmp_path):
    put(tmp_path, "a.csv", FIRST)
    SECOND.write_csv(tmp_path / "b.csv", include_header=False)
    with pytest.raises(FileError, match=r"b\.csv has no column"):
        open_relation(tmp_path)


def test_each_csv_is_read_as_it_is_written(tmp_path):
    put(tmp_path, "a.csv", FIRST)
    SECOND.write_csv(tmp_path / "b.csv", separator=";", quote_style="always", line_terminator="\r\n")
    same(tmp_path)


def test_a_name_with_a_number_is_a_name(tmp_path):
    rows = ROWS.rename({"late": "region_1", "day": 'a "b"'})
    put(tmp_path, "a.csv", rows)
    same(tmp_path, rows)


# --- types ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("one", "other", "values"),
    [
        (pl.Series([0, 1]), pl.Series([0.25, 0.75]), {0.0, 1.0, 0.25, 0.75}),
        (pl.Series([0.5, 1.0], dtype=pl.Float32), pl.Series([0.1, 0.2]), {0.5, 1.0, 0.1, 0.2}),
        (pl.Series([date(2024, 1, 2)] * 2), pl.Series([datetime(2024, 1, 2, 5)] * 2),
         {datetime(2024, 1, 2), datetime(2024, 1, 2, 5)}),
        (pl.Series([None, None], dtype=pl.Float64), pl.Series(["a", "b"]), {None, "a", "b"}),
        (pl.Series([None, None]), pl.Series(["a", "b"]), {None, "a", "b"}),
    ],
)  # fmt: skip
def test_files_of_two_types_have_the_common_one(tmp_path, one, other, values, turned):
    for name, held in zip("ab", (other, one) if turned else (one, other), strict=True):
        put(tmp_path, f"{name}.parquet", pl.DataFrame({"risk": [0.5, 0.5], "v": held}))
    assert set(read(tmp_path)["v"]) == values


@pytest.mark.parametrize("other", [pl.Series([1, 2]), pl.Series([True, False]), pl.Series([date(2024, 1, 1)] * 2)])
def test_types_that_have_none_in_common_are_refused(tmp_path, other):
    put(tmp_path, "a.parquet", FIRST)
    put(tmp_path, "b.parquet", SECOND.with_columns(region=other))
    with pytest.raises(FileError, match=r"column 'region' is VARCHAR in .*a\.parquet and .* in .*b\.parquet"):
        open_relation(tmp_path)


def test_numbers_and_texts_of_csv_are_texts_as_they_came(tmp_path):
    (tmp_path / "a.csv").write_text("risk,k\n0.1,1.10\n0.2,007\n")
    (tmp_path / "b.csv").write_text("risk,k\n0.3,x\n0.4,1.0\n")
    assert set(read(tmp_path)["k"]) == {"1.10", "007", "x", "1.0"}


def test_days_and_months_are_not_guessed(tmp_path):
    (tmp_path / "a.csv").write_text("risk,d\n0.1,01/02/2024\n0.2,03/02/2024\n")
    assert set(read(tmp_path / "a.csv")["d"]) == {"01/02/2024", "03/02/2024"}
    (tmp_path / "b.csv").write_text("risk,d\n0.1,01/02/2024 10:00:00\n0.2,03/02/2024 11:00:00\n")
    with pytest.raises(FileError, match="would be guessed"):
        open_relation(tmp_path / "b.csv")


# --- which files ----------------------------------------------------------------------------------------------------


@endings
def test_folders_in_a_folder_are_read_and_what_is_hidden_is_not(tmp_path, ending):
    put(tmp_path, f"one/deep/a{ending}", FIRST)
    put(tmp_path, f"two/b{ending.upper()}", SECOND)
    for name in (".hidden", "_tmp", "_temporary/0/c", ".ipynb_checkpoints/a", "two/._b"):
        put(tmp_path, f"{name}{ending}", FIRST)
    (tmp_path / "_SUCCESS").touch()
    same(tmp_path)
    assert open_relation(tmp_path).name.endswith("(2 files)")


def test_what_is_no_file_is_refused(tmp_path):
    put(tmp_path, "a.csv", ROWS)
    for name, make in {
        "loop.csv": lambda path: os.symlink(path.name, path),
        "gone.csv": lambda path: os.symlink("nowhere", path),
        "pipe.csv": os.mkfifo,
        "round": lambda path: os.symlink(tmp_path, path),
        "again.csv": lambda path: os.symlink(tmp_path / "a.csv", path),
        "_delta_log": os.mkdir,
    }.items():
        make(tmp_path / name)
        with pytest.raises(FileError):
            open_relation(tmp_path)
        (tmp_path / name).rmdir() if name == "_delta_log" else (tmp_path / name).unlink()
    same(tmp_path)


@endings
@pytest.mark.parametrize("name", ["a*[1]?", "it's", "a::b", "k=v/a"])
def test_a_file_is_the_one_of_its_name(tmp_path, ending, name):
    put(tmp_path, f"{name}{ending}", ROWS)
    put(tmp_path, f"a1{ending}", FIRST)
    rows = ROWS.with_columns(k=pl.lit("v")) if "=" in name else ROWS
    same(tmp_path / f"{name}{ending}", rows)


# --- names of folders -----------------------------------------------------------------------------------------------


@endings
@pytest.mark.parametrize("own", [False, True])
def test_folders_name_values(tmp_path, ending, own):
    for (region,), rows in ROWS.group_by("region"):
        put(tmp_path, f"region={region}/t{ending}", rows if own else rows.drop("region"))
    same(tmp_path)


@endings
def test_a_number_stays_as_the_file_has_it(tmp_path, ending):
    for text in ("01", "1"):
        put(tmp_path, f"{text}/k=01/t{ending}", FIRST.with_columns(k=pl.lit(1)))
    assert set(read(tmp_path)["k"]) == {1}


@endings
@pytest.mark.parametrize("folder", ["region=zzz", "Region=zzz", "risk=zzz", "region=n"])
def test_a_folder_that_says_otherwise_than_its_file_is_refused(tmp_path, ending, folder):
    put(tmp_path, f"{folder}/t{ending}", ROWS)
    for place in (tmp_path, tmp_path / folder / f"t{ending}"):
        with pytest.raises(FileError, match=r"(?i)region|risk"):
            open_relation(place)


@endings
def test_files_below_folders_of_other_names_are_refused(tmp_path, ending):
    put(tmp_path, f"k=1/a{ending}", FIRST)
    put(tmp_path, f"b{ending}", SECOND)
    with pytest.raises(FileError, match="mismatch"):
        open_relation(tmp_path)


# --- what changes, and what has no room -----------------------------------------------------------------------------


@endings
def test_files_that_change_in_the_midst_are_refused(tmp_path, monkeypatch, ending):
    """The sums of rows and of events are the same, so that only the files tell."""
    many = pl.concat([ROWS] * 200).with_columns(pl.Series("region", ["n", "n", "s", "s"] * 200))
    put(tmp_path, f"a{ending}", many)
    kept = os.stat(tmp_path / f"a{ending}")
    ask, asked = Relation.ask, []

    def changing(self, keys, sums):
        asked.append(keys)
        if len(asked) == 4:
            put(tmp_path, f"a{ending}", many.with_columns(region=many["region"].reverse()))
            os.utime(tmp_path / f"a{ending}", ns=(kept.st_atime_ns, kept.st_mtime_ns))
        return ask(self, keys, sums)

    monkeypatch.setattr(Relation, "ask", changing)
    with pytest.raises(InputError, match="changed while it was read"):
        miscal.scan(tmp_path / f"a{ending}", probability="risk", event="late", columns="region", group="none")


def test_a_staged_table_that_was_damaged_is_written_again(tmp_path):
    put(tmp_path, "a.parquet", ROWS)
    path = tmp_path / "parts" / "coded.parquet"
    relation = open_relation(tmp_path / "a.parquet")
    staged(relation, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    again = staged(relation, path)
    assert again.collect(again.frame).sort("risk").equals(ROWS.cast(again.collect(again.frame).schema))
