"""Tables that stay where they are: what a lazy frame is, and how the rows of its columns are counted."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir
from typing import Any, Literal, TypeVar

import narwhals as nw
import numpy as np
import polars as pl

from miscal.base.arrays import value_list
from miscal.base.errors import FileError, InputError, ResourceError, argument
from miscal.base.files import NO_ROOM, system_error
from miscal.base.folders import CellStore
from miscal.base.frames import scan_parquet
from miscal.base.process import installed, need

Dialect = Literal["ansi", "spark"]


@dataclass(frozen=True)
class Writer:
    """How a dialect writes names, texts and casts."""

    quote: str
    number: str
    text: str
    escapes: bool = False
    """Whether a backslash stands before a quote within a text, not a second quote."""

    def name(self, column: str) -> str:
        """Quote the name of a column."""
        return f"{self.quote}{column.replace(self.quote, self.quote * 2)}{self.quote}"

    def as_number(self, column: str) -> str:
        """Take a column as numbers."""
        return f"CAST({self.name(column)} AS {self.number})"

    def one_of(self, column: str, values: Sequence[str]) -> str:
        """Say that a column is one of some values; true or false where it is not NULL."""
        quote = "\\'" if self.escapes else "''"
        texts = [one.replace("\\", "\\\\") if self.escapes else one for one in values]
        texts = ", ".join(f"'{one.replace(chr(39), quote)}'" for one in texts)
        return f"CAST({self.name(column)} AS {self.text}) IN ({texts})"

    def known(self, column: str, condition: str) -> str:
        """Say that a column is there and meets a condition: never NULL."""
        return f"({self.name(column)} IS NOT NULL AND {condition})"


DIALECTS = {"ansi": Writer('"', "DOUBLE PRECISION", "VARCHAR"), "spark": Writer("`", "DOUBLE", "STRING", escapes=True)}


def writer_of(dialect: str) -> Writer:
    """Return how a dialect writes, or refuse it."""
    if dialect not in DIALECTS:
        raise InputError(f"{argument('dialect')} must be one of {', '.join(DIALECTS)}; got {dialect!r}")
    return DIALECTS[dialect]


def real(number: float) -> str:
    """Write a number that engines take in double precision, where a plain one may be a decimal.

    Examples
    --------
    >>> real(0.25), real(1e-20)
    ('0.25e0', '1e-20')
    """
    text = repr(float(number))
    return text if "e" in text else f"{text}e0"


def odds_of(p: str, clip: float) -> str:
    """Write the log-odds of a probability that is taken as at least `clip` away from 0 and 1."""
    low, high, end = float(clip), 1 - float(clip), farthest(clip)
    return f"CASE WHEN {p} <= {low!r} THEN {-end!r} WHEN {p} >= {high!r} THEN {end!r} ELSE LN({p} / (1 - {p})) END"


def farthest(clip: float) -> float:
    """Return the largest log-odds that a clip leaves."""
    return float(np.log1p(-clip) - np.log(clip))


def sigmoid(odds: str) -> str:
    """Write the probability that has some log-odds."""
    return f"(1 / (1 + EXP(-({odds}))))"


def steps(f: str, knots: list[float], values: list[float]) -> str:
    """Write linear interpolation between knots, constant beyond them."""
    parts = [f"WHEN {f} <= {real(knots[0])} THEN {real(values[0])}"]
    for low, high, start, end in zip(knots, knots[1:], values, values[1:], strict=False):
        line = f" + ({f} - {real(low)}) * {real((end - start) / (high - low))}" if end != start else ""
        parts.append(f"WHEN {f} <= {real(high)} THEN {real(start)}{line}")
    return f"(CASE {' '.join(parts)} ELSE {real(values[-1])} END)"


TEXT, NUMBER, DATE = "text", "number", "date"
_ENDINGS = {
    ".parquet": "from read_parquet({}, union_by_name = true, {})",
    # 01/02/2024 is a text: which of the two is the month would be guessed
    ".csv": "from read_csv({}, union_by_name = true, header = true, dateformat = '%Y-%m-%d', {})",
}
_ALIKE = tuple(
    map(re.compile, (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*", r"DATE|TIMESTAMP(_\w+)?"))
)
"""Types of DuckDB that have a common one, which holds the values of each."""
_STAGED, _ROOM = 1_000_000, 60
"""Rows from which on coded columns are written into a file, and bytes of free disk for each."""
_PATTERN = re.compile(r"([*?\[])")
"""Characters of a name that DuckDB takes for a pattern, unless they stand in brackets."""
_DAY_OR_MONTH = re.compile(r"(?<!\d)\d\d?[/.-]\d\d?[/.-]\d{2,4}[ T]\d")
_HIDDEN = re.compile(r"\.|_[^=]*$")
_NAMES = writer_of("ansi")


Read = TypeVar("Read")


class Relation:
    """A table where it lies, its columns, and the questions that were asked of it."""

    def __init__(
        self, frame: nw.LazyFrame, name: str, show: Callable[[str], None] | None = None, files: Sequence[Path] = ()
    ) -> None:
        self.frame, self.name, self.show, self.files = frame, name, show, files
        self.schema = dict(frame.collect_schema())

    def stamp(self) -> list[Any]:
        """Return what differs once rows do: size and times of each file, or a sum over the rows that DuckDB reads."""
        if not self.files and not self.frame.implementation.is_duckdb():
            return []
        asked = "select count(*), sum(hash(every_row_of_miscal))::varchar from every_row_of_miscal"
        # who puts an old file back cannot put back when that was
        times = lambda one: (str(one), one.stat().st_size, one.stat().st_mtime_ns, one.stat().st_ctime_ns)  # noqa: E731
        native = self.frame.to_native()
        return self.failing(lambda: [*map(times, self.files)] or native.query("every_row_of_miscal", asked).fetchall())

    def ask(self, keys: dict[str, nw.Expr], sums: dict[str, nw.Expr]) -> pl.DataFrame:
        """Sum terms over the rows of each combination of keys; of all rows where there is none."""
        frame = self.frame.select(**keys, **sums) if keys else self.frame.select(**sums)
        totals = [nw.col(name).sum() for name in sums]
        asked = frame.group_by(list(keys)).agg(*totals) if keys else frame.select(*totals)
        return self.collect(asked)

    def holding(self, frame: nw.LazyFrame) -> Relation:
        """Return other rows or columns of it, which no longer are its files."""
        return Relation(frame, self.name, self.show)

    def where(self, condition: nw.Expr) -> Relation:
        """Return the rows that meet a condition."""
        return Relation(self.frame.filter(condition), self.name, self.show, self.files)

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
            if (cause := system_error(error)) is not None and cause.errno in NO_ROOM:
                raise ResourceError(f"{self.name}, as it is put aside: {NO_ROOM[cause.errno]}") from error
            raise FileError(
                f"{self.name} could not be read ({_said(error)}): nothing was written; mend the source and run it again"
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


def _said(error: Exception) -> str:
    """Return what an engine says of an error, and of which column and file."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join([lines[0], *(one.strip() for one in lines[1:] if re.match("Error when| *file = ", one))])[:500]


def open_relation(source: Any, *, sql: str | None = None, show: Callable[[str], None] | None = None) -> Relation:
    """Open a table without reading its rows: a file, a folder of files, a table of a database, or a lazy frame."""
    if isinstance(source, (str, Path)) or (source is None and sql is not None):
        name, files, rows = _from_files(source, sql)
        return Relation(nw.from_native(rows), name, show, files)
    if sql is not None:
        raise InputError(f"{argument('sql')} asks DuckDB; a frame asks its own engine: give one of the two")
    try:
        frame = nw.from_native(source)
    except TypeError:
        known = "a path or a frame that narwhals knows, such as a polars LazyFrame or a DuckDB relation"
        raise InputError(f"`data` must be {known}; got a value of type {type(source).__name__}") from None
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
        return Relation(chosen, relation.name, relation.show, relation.files)
    except InputError:
        raise
    except Exception as error:
        said = f"{where!r} is not a condition on {relation.name} ({_said(error)})"
        raise InputError(f"{argument('where')}: {said}") from None


def _from_files(source: str | Path | None, sql: str | None) -> tuple[str, Sequence[Path], Any]:
    """Open what DuckDB reads; return its name, its files and its rows."""
    need("sql", "`miscal scan` of files and databases", otherwise=", or scan a polars LazyFrame from Python")
    if sql is not None:
        if source is not None:
            raise InputError(f"{argument('sql')} says which rows are read; leave {str(source)!r} out")
        return "the query", (), _tried(lambda: _connected().sql(sql), "--sql")
    text, path = str(source), Path(str(source))
    if "::" in text and not path.exists():
        place, table = text.split("::", 1)
        if not Path(place).is_file():
            raise FileError(f"{place}: no such file; give FILE.duckdb::TABLE")
        connection = _connected()
        _tried(lambda: connection.execute(f"attach {_quoted(place)} as source (read_only)"), place)
        return text, (), _tried(lambda: connection.table(f"source.{table}"), text)
    if path.is_dir():
        files = _tables_below(path)
        endings = sorted({one.suffix.lower() for one in files})
        if len(endings) != 1:
            raise FileError(f"{text} must hold .parquet files or .csv files, and not both; got {endings or 'neither'}")
        return f"{text} ({len(files):,} file{'s' if len(files) > 1 else ''})", files, _together(files)
    if not path.is_file():
        raise FileError(f"{text}: no such file or folder; give .parquet, .csv, a folder of them or FILE.duckdb::TABLE")
    if path.suffix.lower() not in _ENDINGS:
        raise FileError(f"{text}: {path.suffix or 'no ending'} is not read; give .parquet, .csv or FILE.duckdb::TABLE")
    return text, (path,), _together((path,))


def _tables_below(folder: Path) -> list[Path]:
    """Return the tables in a folder and its folders; names with a dot or an underscore first are none, but `_k=v`."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=_refuse):
        if {"_delta_log", ".hoodie"} & set(folders) or any(one.endswith(".metadata.json") for one in names):
            raise FileError(f"{place} is a table whose log says which files count: let its engine read it, by --sql")
        folders[:], tables = ([one for one in sorted(kind) if not _HIDDEN.match(one)] for kind in (folders, names))
        found += [Path(place, one) for one in tables if Path(one).suffix.lower() in _ENDINGS]
        found += [linked for one in folders if (linked := Path(place, one)).is_symlink()]
    if odd := [one for one in found if not one.is_file()]:
        raise FileError(f"{odd[0]} is no file, or a link to a folder: leave it out, or scan the folder it leads to")
    if len({*map(os.path.realpath, found)}) < len(found):
        raise FileError(f"{folder} holds one file twice, by a link: leave one of the two out")
    return found


def _refuse(error: OSError) -> None:
    raise FileError(f"{error.filename}: {error.strerror}; check the path and its permissions")


def _together(files: Sequence[Path]) -> Any:
    """Open files as one table, by the names of their columns and of folders `name=value`."""
    connection, form, alone = _connected(), _ENDINGS[files[0].suffix.lower()], "hive_partitioning = false"

    def read(paths: Sequence[Path], options: str = alone) -> Any:
        names = ", ".join(_quoted(_PATTERN.sub(r"[\1]", str(one))) for one in paths)
        return _tried(lambda: connection.sql(form.format(f"[{names}]", options)), str(paths[0]))

    kinds: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path in files:
        for name, kind in _columns(path, read([path])).items():
            kinds[name][kind].append(path)
    for name, found in kinds.items():
        if lacking := sorted(set(files).difference(*found.values())):
            raise FileError(f"{lacking[0]} has no column {name!r}, which other files of it have: add or rename it")
        holds = f"{_NAMES.name(name)} is not null"
        held = [one for one in found if len(found) > 1 and read(found[one]).filter(holds).limit(1).fetchall()]
        if "parquet" in form and len(held) > 1 and not any(all(map(alike.fullmatch, held)) for alike in _ALIKE):
            one, two = (f"{kind} in {found[kind][0]}" for kind in held[:2])
            raise FileError(f"column {name!r} is {one} and {two}: write it with one type in all files")
    rows, keys = read(files), {one.split("=", 1)[0] for path in files for one in path.parent.parts if "=" in one}
    types = dict(zip(map(str.lower, rows.columns), map(str, rows.types), strict=True))
    own = {key: types[key.lower()] for key in keys if key.lower() in types}
    typed = ", ".join(f"{_quoted(key)}: {kind}" for key, kind in own.items())
    by_folder = f"hive_partitioning = true, hive_types = {{{typed}}}" if own else "hive_partitioning = true"
    for key in own:
        asked = f'"path of the file", {_NAMES.name(key)}'
        inside, outside = (
            read(files, f"{of}, filename = 'path of the file'").project(asked) for of in (alone, by_folder)
        )
        if odd := _tried(inside.except_(outside).limit(1).fetchall, f"folder {key}=..."):
            raise FileError(
                f"{odd[0][0]}: column {key!r} has {odd[0][1]!r}, its folder another value: rename the folder"
            )
    return read(files, by_folder) if keys else rows


def _columns(path: Path, rows: Any) -> dict[str, str]:
    """Return the types of a file's columns; refuse times that DuckDB would guess."""
    found = dict(zip(rows.columns, map(str, rows.types), strict=True))
    if path.suffix.lower() == ".csv" and "TIMESTAMP" in found.values():
        with path.open(encoding="utf-8", errors="replace") as file:
            if _DAY_OR_MONTH.search(file.read(1 << 20)):
                raise FileError(f"{path} has times whose day and month would be guessed: write 2024-12-31 23:59:59")
    return found


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def worth_staging(relation: Relation, rows: float, folder: Path | None) -> bool:
    """Say whether rows are many, lie on this machine, and have room once more beside a folder, or among what passes."""
    here = relation.frame.implementation.is_polars() or relation.frame.implementation.is_duckdb()
    return here and rows >= _STAGED and disk_usage(folder.parent if folder else gettempdir()).free >= _ROOM * rows


def staged(relation: Relation, path: Path) -> Relation:
    """Write a table into a file, unless a scan that was cut off has left it; open that by DuckDB, or else by polars."""
    store = CellStore(path.parent, [path.suffix])
    if store.find(path.stem) is None:
        store.save(path.stem, {}, {path.suffix: lambda at: relation.failing(lambda: relation.frame.sink_parquet(at))})
    frame = _connected().read_parquet(_PATTERN.sub(r"[\1]", str(path))) if installed("duckdb") else scan_parquet(path)
    return relation.holding(nw.from_native(frame))


def _connected(*place: str, **options: Any) -> Any:
    """Connect to DuckDB, which would draw its progress among what is printed."""
    import duckdb

    connection = duckdb.connect(*place, **options)
    connection.execute("set enable_progress_bar = false")
    connection.execute(f"set temp_directory = {_quoted(gettempdir())}")  # not the folder that the command is given in
    return connection


def _tried(make: Callable[[], Any], what: str) -> Any:
    """Open something of DuckDB's, whose errors are those of the source."""
    try:
        return make()
    except Exception as error:
        raise FileError(f"{what}: DuckDB cannot read it ({_said(error)})") from error


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


def pooled(cells: pl.DataFrame, pool: dict[str, int], least: int) -> pl.DataFrame:
    """Pool what has too few rows; where that is too few rows still, with what has the fewest."""
    names = list(pool)
    inside = pl.all_horizontal(pl.col(name) == value for name, value in pool.items())
    sizes = cells.group_by(names).agg(pl.col("n").sum()).sort(~inside, "n", *names)
    if (sizes["n"] >= least).all():
        return cells
    gone = sizes.filter((pl.col("n") < least) | (pl.col("n").cum_sum() - pl.col("n") < least))
    cells = cells.join(gone.select(*names, gone=True), on=names, how="left")
    cells = cells.with_columns(pl.when("gone").then(value).otherwise(name).alias(name) for name, value in pool.items())
    return cells.drop("gone")


def joined_along(cells: pl.DataFrame, key: str, within: list[str], least: int) -> pl.DataFrame:
    """Join neighbours along a key, within others, until they have rows enough: at their mean place."""
    sizes = cells.group_by([*within, key]).agg(pl.col("n").sum()).sort([*within, key])
    part = sizes.select(pl.struct(within).rle_id()).to_series().to_numpy() if within else np.zeros(len(sizes))
    run = [runs(rows, least) for rows in np.split(sizes["n"].to_numpy(), np.flatnonzero(np.diff(part)) + 1)]
    at = ((pl.col(key) * pl.col("n")).sum() / pl.col("n").sum()).over(*within, "run").round().cast(pl.Int64)
    sizes = sizes.with_columns(run=np.concatenate(run)).select(*within, key, at=at)
    joined = cells.join(sizes, on=[*within, key]).with_columns(pl.col("at").alias(key)).drop("at")
    keys = [name for name in cells.columns if name in (*within, key, "stratum")]
    return joined.group_by(keys).sum().sort(keys)


def runs(rows: np.ndarray, least: float) -> np.ndarray:
    """Give neighbours one number so that they have rows enough together, if all of them have.

    Examples
    --------
    >>> runs(np.array([3.0, 30, 12, 7, 5]), 20).tolist(), runs(np.array([3.0, 4]), 20).tolist()
    ([0, 0, 1, 1, 1], [0, 0])
    """
    run, held = np.zeros(len(rows), np.int64), 0.0
    for place, own in enumerate(rows.tolist()):
        full = held >= least
        run[place] = run[place - 1] + full if place else 0
        held = own if full else held + own
    return np.where((run == run[-1]) & (held < least), np.maximum(run - 1, 0), run)
