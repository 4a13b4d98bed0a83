"""Tables that stay where they are: what a lazy frame is, and how the rows of its columns are counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir
from typing import Any, TypeVar

import narwhals as nw
import polars as pl

from miscal.base.arrays import value_list
from miscal.base.errors import FileError, InputError, argument
from miscal.base.extras import installed, need
from miscal.base.files import write_whole
from miscal.base.tables import scan_parquet

TEXT, NUMBER, DATE = "text", "number", "date"
_ENDINGS = {".parquet": "read_parquet", ".csv": "read_csv"}
_STAGED, _ROOM = 1_000_000, 60
"""Rows from which on coded columns are written into a file, and bytes of free disk for each."""
_PATTERN = re.compile(r"([*?\[])")
"""Characters of a name that DuckDB takes for a pattern, unless they stand in brackets."""


Read = TypeVar("Read")


class Relation:
    """A table where it lies, its columns, and the questions that were asked of it."""

    def __init__(self, frame: nw.LazyFrame, name: str, show: Callable[[str], None] | None = None) -> None:
        self.frame, self.name, self.show = frame, name, show
        self.schema = dict(frame.collect_schema())

    def ask(self, keys: dict[str, nw.Expr], sums: dict[str, nw.Expr]) -> pl.DataFrame:
        """Sum terms over the rows of each combination of keys; of all rows where there is none."""
        frame = self.frame.select(**keys, **sums) if keys else self.frame.select(**sums)
        totals = [nw.col(name).sum() for name in sums]
        asked = frame.group_by(list(keys)).agg(*totals) if keys else frame.select(*totals)
        return self.collect(asked)

    def where(self, condition: nw.Expr) -> Relation:
        """Return the rows that meet a condition."""
        return Relation(self.frame.filter(condition), self.name, self.show)

    def collect(self, asked: nw.LazyFrame) -> pl.DataFrame:
        """Run a question."""
        if self.show is not None:
            native = asked.to_native()
            text = native.sql_query() if hasattr(native, "sql_query") else None
            self.show(text or (native.explain() if hasattr(native, "explain") else str(native)))
        options = {"engine": "streaming"} if asked.implementation.is_polars() else {}
        return self.failing(lambda: asked.collect(None if options else "polars", **options).to_polars())

    def failing(self, read: Callable[[], Read]) -> Read:
        """Read rows; say of which table they are where that fails."""
        try:
            return read()
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise FileError(
                f"{self.name} could not be read ({first[:300]}): nothing was written; mend the source and run it again"
            ) from error

    def kind_of(self, column: str) -> str | None:
        """Return what a column holds: text, numbers, dates, or None where nothing can be made of it."""
        found = self.schema[column]
        if found in (nw.Boolean, nw.String, nw.Categorical) or isinstance(found, nw.Enum):
            return TEXT
        if found.is_numeric():
            return NUMBER
        return DATE if found == nw.Date or found == nw.Datetime else None

    def check(self, names: Sequence[str], what: str) -> None:
        """Refuse columns that are not there."""
        for name in names:
            if name not in self.schema:
                raise InputError(
                    f"{argument(what)}: {self.name} has no column {name!r}; it has {value_list(list(self.schema)[:30])}"
                )


def open_relation(source: Any, *, sql: str | None = None, show: Callable[[str], None] | None = None) -> Relation:
    """Open a table without reading its rows: a file, a folder of files, a table of a database, or a lazy frame."""
    if isinstance(source, (str, Path)) or (source is None and sql is not None):
        return Relation(_from_files(source, sql), "the query" if source is None else str(source), show)
    if sql is not None:
        raise InputError(f"{argument('sql')} asks DuckDB; a frame asks its own engine: give one of the two")
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise InputError(
            f"`data` must be a path or a frame that narwhals knows, such as a polars LazyFrame or a DuckDB relation; "
            f"got a value of type {type(source).__name__}"
        ) from None
    if isinstance(frame, nw.DataFrame):
        frame = nw.from_native(frame.to_polars().lazy())
    return Relation(frame, "the frame", show)  # type: ignore[arg-type]


def only(relation: Relation, where: str) -> Relation:
    """Return the rows that meet a condition, in the SQL of the engine."""
    native = relation.frame.to_native()
    try:
        if isinstance(native, pl.LazyFrame):
            chosen = nw.from_native(native.filter(pl.sql_expr(where)))
        elif relation.frame.implementation.is_duckdb():
            chosen = nw.from_native(native.filter(where))
        else:
            raise InputError(f"{argument('where')} is for files, DuckDB and polars: filter the frame before")
        return Relation(chosen, relation.name, relation.show)
    except InputError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{argument('where')}: {where!r} is not a condition on {relation.name} ({first})") from None


def _from_files(source: str | Path | None, sql: str | None) -> nw.LazyFrame:
    need("sql", "`miscal scan` of files and databases", otherwise=", or scan a polars LazyFrame from Python")
    if sql is not None:
        if source is not None:
            raise InputError(f"{argument('sql')} says which rows are read; leave {str(source)!r} out")
        return nw.from_native(_tried(lambda: _connected().sql(sql), "--sql"))  # type: ignore[arg-type]
    text = str(source)
    if "::" in text:
        place, table = text.split("::", 1)
        if not Path(place).is_file():
            raise FileError(f"{place}: no such file; give FILE.duckdb::TABLE")
        connection, written = _connected(), place.replace("'", "''")
        _tried(lambda: connection.execute(f"attach '{written}' as source (read_only)"), place)
        return nw.from_native(_tried(lambda: connection.table(f"source.{table}"), text))  # type: ignore[arg-type]
    path, plain = Path(text), _PATTERN.sub(r"[\1]", text)
    ending = path.suffix
    if path.is_dir():
        found = sorted({one.suffix for one in path.iterdir() if one.suffix in _ENDINGS})
        if len(found) != 1:
            raise FileError(f"{text} must hold .parquet files or .csv files, and not both; got {found or 'neither'}")
        ending, text = found[0], f"{plain}/*{found[0]}"
    elif not path.is_file():
        raise FileError(f"{text}: no such file or folder; give .parquet, .csv, a folder of them or FILE.duckdb::TABLE")
    if ending not in _ENDINGS:
        raise FileError(f"{text}: {ending or 'no ending'} is not read; give .parquet, .csv or FILE.duckdb::TABLE")
    text = text if path.is_dir() else plain
    connection = _connected()
    return nw.from_native(_tried(lambda: getattr(connection, _ENDINGS[ending])(text), text))  # type: ignore[arg-type]


def worth_staging(relation: Relation, rows: float, folder: Path | None) -> bool:
    """Say whether rows are many, lie on this machine, and have room once more beside a folder, or among what passes."""
    here = relation.frame.implementation.is_polars() or relation.frame.implementation.is_duckdb()
    return here and rows >= _STAGED and disk_usage(folder.parent if folder else gettempdir()).free >= _ROOM * rows


def staged(relation: Relation, path: Path) -> Relation:
    """Write a table into a file, unless a scan that was cut off has left it; open that by DuckDB, or else by polars."""
    if not path.is_file():
        relation.failing(lambda: write_whole(path, relation.frame.sink_parquet))
    frame = _from_files(path, None) if installed("duckdb") else nw.from_native(scan_parquet(path))
    return Relation(frame, relation.name, relation.show)


def _connected(*place: str, **options: Any) -> Any:
    """Connect to DuckDB, which would draw its progress among what is printed."""
    import duckdb

    connection = duckdb.connect(*place, **options)
    connection.execute("set enable_progress_bar = false")
    return connection


def _tried(make: Callable[[], Any], what: str) -> Any:
    """Open something of DuckDB's, whose errors are those of the source."""
    try:
        return make()
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FileError(f"{what}: DuckDB cannot read it ({first[:300]})") from error


def number_counts(relation: Relation, rows: nw.Expr, column: str, cells: int) -> pl.DataFrame:
    """Count a column of numbers in cells of equal width, in which one that is heavy is counted again.

    Returns `n`, `low` and `high` of each cell, by rising numbers, without what is missing.
    """
    x = nw.col(column).cast(nw.Float64)
    known = ~x.is_null() & ~x.is_nan() & x.is_finite()
    numbers = relation.frame.select(x=nw.when(known).then(x), n=rows).filter(~nw.col("x").is_null())
    x, n = nw.col("x"), nw.col("n")
    ends = relation.collect(numbers.select(low=x.min(), high=x.max(), n=n.sum())).row(0, named=True)
    found, left = [pl.DataFrame(schema={"n": pl.Float64, "low": pl.Float64, "high": pl.Float64})], []
    if ends["low"] is not None:
        left.append((ends["low"], ends["high"], False))
    while left:
        low, high, again = left.pop()
        place = ((x - low) / (high - low) * cells).floor() if high > low else x * 0.0
        inside = numbers.filter((x >= low) & (x <= high)).with_columns(cell=place)
        counted = relation.collect(inside.group_by("cell").agg(n=n.sum(), low=x.min(), high=x.max()))
        heavy = (pl.col("n") > float(ends["n"]) / 80) & (pl.col("low") < pl.col("high"))
        if not again:
            refined = counted.filter(heavy).sort("n", descending=True).head(8)
            left += [(*one, True) for one in refined.select("low", "high").rows()]
            counted = counted.join(refined.select("cell"), on="cell", how="anti")
        found.append(counted.select(pl.col("n").cast(pl.Float64), "low", "high"))
    return pl.concat(found).sort("low")


def day_counts(relation: Relation, rows: nw.Expr, column: str) -> pl.DataFrame:
    """Count the rows of each day of a column of dates: `n`, and `low` in seconds since 1970, by rising days."""
    dates = nw.col(column)
    known = relation.frame.filter(~dates.is_null())
    parts = known.select(y=dates.dt.year(), m=dates.dt.month(), d=dates.dt.day(), n=rows)
    counted = relation.collect(parts.group_by("y", "m", "d").agg(n=nw.col("n").sum()))
    day = pl.datetime("y", "m", "d").dt.epoch("s").cast(pl.Float64)
    return counted.select(pl.col("n").cast(pl.Float64), low=day, high=day).sort("low")


def level_counts(relation: Relation, rows: nw.Expr, column: str, most: int) -> pl.DataFrame:
    """Count the rows of each text of a column, the most frequent first, at most so many: `value` and `n`."""
    text = nw.col(column).cast(nw.String)
    counted = relation.frame.select(value=text, n=rows).group_by("value").agg(n=nw.col("n").sum())
    found = relation.collect(counted.sort("n", "value", descending=[True, False]).head(most))
    return found.select("value", pl.col("n").cast(pl.Float64))
