"""The same rows give the same answer, or are refused alike, wherever they lie: made tables of odd names and values."""

import contextlib
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import miscal
from miscal.base.errors import MiscalError

from ...findings.ledger.test_cells import numbers

duckdb = pytest.importorskip("duckdb")
NAMES = [
    "a b",
    'the "kind"',
    "it's",
    "größe",
    "select",
    "--; x",
    "a.b",
    "%s",
    "Ünï/c",
    "[x]",
    "x{}",
    "CamelCase",
    "1st",
]
ODD = ["*", "^.*$", "^k", ""]
VALUES = [
    "a",
    "b",
    "O'Hare",
    "",
    "(missing)",
    "\N{SYMBOL FOR NULL}",
    "(empty)",
    "?",
    "true",
    "null",
    " a",
    "a,b",
    'q"q',
    "A",
]


def made(seed: int) -> tuple[pl.DataFrame, dict]:
    """Return a table and options of a scan of it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(600, 2_000))
    names = rng.permutation(NAMES)[:6].tolist()
    kind = rng.choice(rng.permutation(VALUES)[: rng.integers(3, 8)], n)
    rare = rng.random(n) < 0.04
    kind[rare] = [f"rare {k}" for k in rng.integers(0, 40, rare.sum())]
    risk, few = rng.beta(2, 3, n).round(int(rng.integers(2, 12))), rng.choice([0.5, 2.0, np.nan], n, p=[0.5, 0.3, 0.2])
    odds = logit(np.clip(risk, 0.01, 0.99)) + 1.2 * (kind == kind[0]) - 0.8 * (few == 2.0)
    late = (rng.random(n) < expit(odds)).astype(int)
    columns = {
        names[0]: pl.Series(kind).set(pl.Series(rng.random(n) < rng.choice([0.0, 0.1])), None),
        names[1]: few,
        names[2]: pl.Series(rng.normal(size=n).round(3)).set(pl.Series(rng.random(n) < 0.05), None),
        names[3]: pl.Series(rng.random(n) < 0.4).set(pl.Series(rng.random(n) < 0.1), None),
        names[4]: [date(2024, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 80, n)],
        names[5]: rng.integers(0, 30, n),
    }
    options: dict = {"probability": "p", "event": "late", "group": "none", "columns": names}
    frame = pl.DataFrame({"p": risk, "late": late} | columns)
    case = seed % 10
    if case == 1:
        frame, options["weight"] = frame.with_columns(w=pl.Series(rng.choice([0.0, 1.0, 2.5], n))), "w"
    elif case == 2:
        options["group"] = f"{names[4]}:week"
    elif case == 3:
        frame = frame.with_columns(unit=pl.Series(rng.integers(0, 90, n).astype(float)))
        frame = frame.with_columns(unit=pl.when(pl.int_range(n) < n * (seed % 20 > 9)).then(np.nan).otherwise("unit"))
        options["group"] = "unit"
    elif case == 4:
        options["least_rows"] = int(rng.integers(5, 40))
    elif case == 5:
        frame = frame.with_columns(pl.col(names[0]).alias(names[0].swapcase() + "X"), pl.lit("a").alias(names[0] + "x"))
        options["columns"] = "auto" if seed % 20 > 9 else names[:5]
    elif case == 6:
        frame = frame.with_columns(pl.when(pl.int_range(n) % 9 == 0).then(2.5).otherwise("late").alias("late"))
        options["positive"] = str(rng.choice(["1", "1.0", "2.5", "7", "yes"]))
    elif case == 7:
        odd = ODD[seed // 10 % len(ODD)]
        frame = frame.with_columns(pl.lit("a").alias(odd or "empty")).rename({"empty": ""} if not odd else {})
        options["columns"] = "auto"
    elif case == 8:
        frame = frame.with_columns(pl.col("late") == 1)
        options["positive"] = str(rng.choice(["True", "true", "False", "1"]))
    elif case == 9:
        frame = frame.with_columns(count=pl.Series(rng.integers(0, 4, n)))
        frame = frame.with_columns(k=pl.min_horizontal("count", pl.col("late") * 2)).drop("late")
        options |= {"event": None, "count": "count", "events": "k"}
    return frame, options


def places(frame, folder):
    """Yield every place that rows may lie in: of a csv, an empty text is a blank."""
    folder.mkdir()
    frame.write_parquet(folder / "rows.parquet")
    frame.write_csv(folder / "rows.csv")
    (folder / "parts").mkdir()
    frame[:300].write_parquet(folder / "parts" / "a.parquet")
    frame[300:].write_parquet(folder / "parts" / "b.parquet")
    with duckdb.connect(str(folder / "base.duckdb")) as base:
        base.sql(f"create table flights as from '{folder}/rows.parquet'")
    yield "parquet", folder / "rows.parquet"
    yield "csv", folder / "rows.csv"
    yield "folder", folder / "parts"
    yield "table", f"{folder}/base.duckdb::flights"
    yield "frame", frame.lazy()
    yield "relation", duckdb.connect().read_parquet(str(folder / "rows.parquet"))


def told(place, options):
    """Return what a scan says, and its correction of a thousand rows; None where it is refused."""
    try:
        found = miscal.scan(place, **options)
    except MiscalError as error:
        return None if "\n" not in str(error) else pytest.fail(str(error))
    return found.summary.model_dump(mode="json", exclude={"source", "seconds", "left_out"}), found


def assert_same(one, other, name):
    assert (one is None) == (other is None), name
    if one is None:
        return
    first, second = dict(numbers(one[0])), dict(numbers(other[0]))
    assert first.keys() == second.keys(), name
    for where, value in first.items():
        if isinstance(value, float) and isinstance(second[where], (int, float)):
            assert value == pytest.approx(second[where], rel=1e-9, abs=1e-9), (name, where)
        else:
            assert value == second[where], (name, where)


def compared(seed, folder):
    frame, options = made(seed)
    twins = len({name.lower() for name in frame.columns}) < frame.width
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    blank = frame.with_columns(pl.when(pl.col(one) != "").then(one).alias(one) for one in texts if one not in ODD)
    whole, without = told(frame, options), told(blank, options)
    for name, place in places(frame, folder):
        if twins and name in ("table", "relation"):
            continue  # DuckDB has given these names of its own
        assert_same(without if name == "csv" else whole, told(place, options), (seed, name))
    if whole is not None:
        whole[1].save(folder / "out")
        assert_same(whole, told(folder / "out" / "cells.parquet", {}), (seed, "cells"))
        with contextlib.suppress(duckdb.BinderException):
            asked = f"select {whole[1].sql()} as p from '{folder}/rows.parquet'"
            by_sql = duckdb.connect().sql(asked).pl()["p"]
            space: dict = {}
            exec(whole[1].python(), space)
            rows = frame.to_dicts()
            np.testing.assert_allclose(by_sql, [space["correct"](row) for row in rows], rtol=1e-11)
    return whole is not None


@pytest.mark.whole
@pytest.mark.parametrize("seed", [4, 5, 22])
def test_wherever_rows_lie_they_say_the_same(seed, tmp_path):
    assert compared(seed, tmp_path / "rows") or seed == 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_fifty_tables_say_the_same_wherever_they_lie(seed, tmp_path):
    assert compared(seed, tmp_path / "rows") or seed % 10 in (3, 5, 6, 7, 8)
