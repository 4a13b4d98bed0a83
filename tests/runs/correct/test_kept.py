"""What is kept beside a correction is what came: laws at every door, and a refusal where a format cannot hold it."""

import csv
import datetime as dt
import io
import json
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.runs.correct import command
from miscal.runs.correct.command import calibrate_file

from ...cli.new_rows import fitted, rows

NAMES = ["zip", "=odd", "*", "^k.*$", "", " sp ", "k1"]
CELLS = [
    "00501",
    "1.10",
    "1000",
    "-5",
    "+316",
    "@u",
    "=1+1",
    " 1 ",
    "",
    "TRUE",
    "NaN",
    "inf",
    "1e400",
    'q"q',
    "x\r\ny",
    "\t1",
]


pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("kept") / "model", features="age,count,kind")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(command, "_PIECE_ROWS", (16, 16))


def kept(model, source, out, names="all"):
    calibrate_file(model, source, out, keep=names, overwrite=True)
    return out


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(CELLS) | st.text(st.characters(codec="utf-8"), max_size=6), min_size=48, max_size=48),
    st.permutations(NAMES),
    st.sampled_from([".csv", ".jsonl", ".parquet"]),
)
def test_cells_of_csv_are_the_text_that_came(model, tmp_path_factory, cells, names, ending):
    folder = tmp_path_factory.mktemp("csv")
    texts = rows(48).select("confidence", "age", "count", "kind").cast(pl.String)
    lines = [[*row, *(cells[(i + k) % 48] for k in range(len(names)))] for i, row in enumerate(texts.rows())]
    with (folder / "new.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([[*texts.columns, *names], *lines])
    out = kept(model, folder / "new.csv", folder / f"out{ending}")
    if ending == ".csv":
        header, *found = csv.reader(io.StringIO(out.read_bytes().decode(), newline=""))
        found = [row[: len(lines[0])] for row in found]
    else:
        table = pl.read_parquet(out) if ending == ".parquet" else pl.read_ndjson(out, infer_schema_length=None)
        header = table.columns
        found = [[value or "" for value in row[: len(lines[0])]] for row in table.rows()]
    assert header[: len(lines[0])] == [*texts.columns, *names]
    assert found == lines


TYPED = {
    "zones": pl.Series([dt.datetime(2020, 1, 2, 3, 4, 5, 6), None]).dt.replace_time_zone("Europe/Berlin"),
    "nanoseconds": pl.Series([1577934245000000001, 2]).cast(pl.Datetime("ns")),
    "durations": pl.Series([dt.timedelta(seconds=1.5), None]),
    "decimals": pl.Series([Decimal("1.10"), Decimal("-3.00")]),
    "categories": pl.Series(["a", None]).cast(pl.Categorical),
    "levels": pl.Series(["b", "a"]).cast(pl.Enum(["b", "a"])),
    "lists": pl.Series([[1.0, float("inf")], []]),
    "records": pl.Series([{"^a$": 1, "b": "x"}, {"^a$": 2, "b": None}]),
    "bytes": pl.Series([b"\xff\x00", None]),
    "nan": pl.Series([float("nan"), None]),
    "inf": pl.Series([float("inf"), 0.1]),
    "single": pl.Series([0.1, 16777216.0]).cast(pl.Float32),
    "large": pl.Series([2**70, -1]),
    "texts": pl.Series(["", None]),
}
NO_CSV, NO_JSON = {"durations", "lists", "records", "bytes"}, {"bytes", "lists", "inf"}


def test_columns_of_parquet_keep_type_and_value_or_are_refused(model, tmp_path):
    columns = {f"^{name[:2]}.*$": pl.concat([values] * 24) for name, values in TYPED.items()}
    rows(48).with_columns(**columns).write_parquet(tmp_path / "new.parquet")
    found = pl.read_parquet(kept(model, tmp_path / "new.parquet", tmp_path / "out.parquet"))
    for name, column in columns.items():
        assert found[name].equals(column, check_dtypes=True), name
    for ending, beyond in ((".csv", NO_CSV), (".jsonl", NO_JSON)):
        for name in beyond:
            with pytest.raises(InputError, match=r"holds .*leave the column out"):
                kept(model, tmp_path / "new.parquet", tmp_path / f"out{ending}", f"^{name[:2]}.*$")
        kept(model, tmp_path / "new.parquet", tmp_path / f"out{ending}", [f"^{k[:2]}.*$" for k in {*TYPED} - beyond])


SAME = [
    [1, None],
    [1, 2.5],
    [1.0, float("nan")],
    ["00501", ""],
    [True, False],
    [{"a": 1}, {"b": [2]}],
    [[], [1]],
    [2**70, 1],
]
OTHERS = [
    [True, 1],
    [2**60 + 1, 0.5],
    [[1, "a"], []],
    [{"a": 1}, {"a": "x"}],
    [2**200, 1],
    ["\ud800", ""],
    [{"a": {}}, {"a": [1]}],
]


def without_null(value):
    """Return a value of JSON without what is null or NaN, and true apart from 1."""
    if isinstance(value, dict):
        return {key: found for key, one in value.items() if (found := without_null(one)) is not None}
    if isinstance(value, list):
        return [without_null(one) for one in value]
    return None if value != value else (type(value), value) if isinstance(value, bool) else value


def write_jsonl(path, *columns):
    came = [{**one, **{str(k): v[i % 2] for k, v in enumerate(columns)}} for i, one in enumerate(rows(48).to_dicts())]
    path.write_text("\n".join(map(json.dumps, came)), encoding="utf-8")
    return came


def test_values_of_jsonl_come_back(model, tmp_path):
    came = write_jsonl(tmp_path / "new.jsonl", *SAME)
    lines = kept(model, tmp_path / "new.jsonl", tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    for line, record in zip(lines, came, strict=True):
        assert without_null({name: json.loads(line)[name] for name in record}) == without_null(record)


@pytest.mark.parametrize("values", OTHERS, ids=str)
def test_values_that_a_column_would_change_are_refused(model, tmp_path, values):
    write_jsonl(tmp_path / "new.jsonl", values)
    with pytest.raises(InputError, match="'0' holds values that no column keeps"):
        kept(model, tmp_path / "new.jsonl", tmp_path / "out.jsonl")


@pytest.mark.parametrize("depth", [17, 400, 200_000])
def test_values_nested_too_deep_are_refused_at_once(model, tmp_path, depth):
    lines = [json.dumps(record)[:-1] + ', "n": ' + "[" * depth + "]" * depth + "}" for record in rows(48).to_dicts()]
    (tmp_path / "new.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"'n' holds values that no column keeps|not valid JSON"):
        kept(model, tmp_path / "new.jsonl", tmp_path / "out.jsonl")
