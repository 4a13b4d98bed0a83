"""Open a file, a folder, or a table in memory: a frame, a dataset of Hugging Face, a dictionary of arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from miscal.base.arrays import frame_columns, is_frame, numeric, without_batches
from miscal.base.checks import check_lengths
from miscal.base.errors import CorruptFile, FileError, InputError, MismatchError, argument
from miscal.base.files import digest, has_digest
from miscal.base.frames import narwhals_frame, scan_parquet
from miscal.data.readers.delimited import Delimited
from miscal.data.readers.jsonl import JsonLines
from miscal.data.readers.source import (
    Piece,
    Source,
    cut_evenly,
    damage,
    exactly,
    existing,
    fits,
    nan_as_null,
    not_empty,
    whole_numbers,
)

MAGIC = b"PAR1"
_SAMPLE = 32
_CELL = 64
"""Bytes that a text or list cell is taken to need when sizes are estimated before reading."""
# pieces that are read together
_SLAB = 4
TRIPLES = "triples.parquet"
EMBEDDINGS = "embeddings.safetensors"
MANIFEST = "manifest.json"


class Parquet(Source):
    """A Parquet file, of which only the columns asked for are read; the embeddings of a scored folder are its x."""

    kind = "parquet"

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Tell a Parquet file by its name, or a folder of `miscal score` by what it holds."""
        if not isinstance(source, Path):
            return False
        return (source / TRIPLES).exists() if source.is_dir() else source.suffix.lower() in (".parquet", ".pq")

    def __init__(self, source: Path, encoding: str = "utf-8", *, whole: bool = True) -> None:
        path = source
        if source.is_dir():
            self.kind, path, embeddings = "scored", existing(source / TRIPLES), source / EMBEDDINGS
            _refuse_changed(source)
            self.embeddings = embeddings if embeddings.exists() else None
        _check_magic(not_empty(path))
        with damage(path, "Parquet"):
            self.schema = dict(scan_parquet(path).collect_schema())
        self.path, self.files, self.columns = path, (path,), tuple(self.schema)
        self._lock = Lock()
        self._slabs: dict[tuple[int, int, tuple[str, ...]], pl.DataFrame] = {}

    def _n_rows(self) -> int:
        with damage(self.path, "Parquet"):
            return scan_parquet(self.path).select(pl.len()).collect().item()

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows."""
        return cut_evenly(self._n_rows(), rows)

    def read(self, names: Sequence[str], piece: Piece | None, *, typed: bool, kept: bool) -> pl.DataFrame:
        """Read some columns; of a piece with those beside it, which the next calls ask for.

        A page of the file is unpacked whole, however few of its rows are wanted: eight times the work for a piece of
        10,000 rows of many columns, twice for a slab of four.
        """
        table = scan_parquet(self.path)
        if piece is None:
            n = self._n_rows()
            with damage(self.path, "Parquet"):
                fits(self.path, n, self._row_bytes(table, names, n))
                return table.select(exactly(names, self.schema)).collect()[list(names)]
        slab, place = divmod(piece.number, _SLAB)
        # the size that all pieces but the last have
        rows = piece.start // piece.number if piece.number else piece.rows
        key = slab, rows, tuple(names)
        # one thread reads, the others find it there
        with self._lock, damage(self.path, "Parquet"):
            if key not in self._slabs:
                part = table.slice(piece.start - place * rows, _SLAB * rows).select(exactly(names, self.schema))
                # of the slabs read before, only the last can still be asked for
                self._slabs = dict([*self._slabs.items()][-1:]) | {key: part.collect()}
            return self._slabs[key][list(names)].slice(place * rows, piece.rows)

    def _row_bytes(self, table: pl.LazyFrame, names: Sequence[str], n: int) -> int:
        """Estimate the bytes of a row; of texts by some rows at the beginning, in the middle and at the end.

        Texts that repeat take next to nothing in the file, whose own sizes therefore say nothing.
        """
        kinds = [self.schema[name] for name in names]
        plain = sum(kind.is_numeric() or kind.is_temporal() or kind == pl.Boolean for kind in kinds)
        texts = [name for name, kind in zip(names, kinds, strict=True) if kind == pl.String]
        seen = [0.0]
        if texts and n:
            lengths = table.select(exactly(texts, self.schema).str.len_bytes())
            parts = [lengths.slice(at, _SAMPLE).collect() for at in {0, n // 2, max(0, n - _SAMPLE)}]
            seen = [part.sum_horizontal().mean() or 0 for part in parts]
        return 8 * plain + _CELL * (len(kinds) - plain) + int(max(seen))


def _refuse_changed(folder: Path) -> None:
    """Refuse a scored folder whose files are not those that were written."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        return
    try:
        sums = json.loads(manifest.read_text(encoding="utf-8")).get("files", {})
        wanted = {name: sums[name] for name in (TRIPLES, EMBEDDINGS) if name in sums}
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise CorruptFile(f"{manifest} is damaged ({error}): score again") from None
    for name, known in wanted.items():
        if not has_digest(folder / name, known):
            files = f"{folder / TRIPLES} with {argument('embeddings', str(folder / EMBEDDINGS))}"
            raise CorruptFile(
                f"{folder / name} is missing or has changed since `miscal score` wrote it: score again, or name {files}"
            )


def _check_magic(path: Path) -> None:
    with path.open("rb") as file:
        head, size = file.read(4), path.stat().st_size
        # a file of under four bytes has no place four before its end
        file.seek(-min(4, size), 2)
        if head != MAGIC:
            raise CorruptFile(f"{path} is not a Parquet file: it begins with {head!r}, not {MAGIC!r}")
        if file.read(4) != MAGIC:
            raise CorruptFile(f"{path} is cut short: at byte {size} the end mark {MAGIC!r} is missing")


# every whole number up to it is a float
_LARGEST_WHOLE = 2**53


def is_table(source: Any) -> bool:
    """Tell whether `source` is a table in memory."""
    return isinstance(source, (Mapping, pl.LazyFrame)) or is_frame(source) or _is_dataset(source)


def _is_dataset(source: Any) -> bool:
    """Tell a dataset of Hugging Face by its name, so that the package need not be installed."""
    return type(source).__module__.split(".")[0] == "datasets" and hasattr(source, "to_polars")


def collected(source: Any) -> Any:
    """Return what a lazy frame or query of any library holds, as a polars frame, and batches as a table."""
    source = source.to_polars() if _is_dataset(source) else without_batches(source)
    frame = narwhals_frame(source)
    return frame.collect(backend="polars").to_native() if isinstance(frame, nw.LazyFrame) else source


def with_columns(source: Any, values: Mapping[str, Any]) -> Any:
    """Return a table with further columns, each value at the place of its row, whatever index either of them has.

    `source`: not changed.

    Examples
    --------
    >>> with_columns({"x": [1, 2]}, {"y": [3, 4]})
    {'x': [1, 2], 'y': [3, 4]}
    """
    source = collected(source)
    if isinstance(source, pl.DataFrame):
        check_lengths(data=source, **values)
        return source.with_columns(_series(name, one) for name, one in values.items())
    known = source if isinstance(source, Mapping) else frame_columns(source)
    columns = {**{str(name): one for name, one in known.items()}, **values}
    if not columns:
        raise InputError("the data have no columns; at least confidence and correct are needed")
    check_lengths(**columns)
    return columns


class FrameSource(Source):
    """A table in memory, of which only the columns asked for are converted."""

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Tell a table in memory."""
        return is_table(source)

    def __init__(self, source: Any, encoding: str = "utf-8", *, whole: bool = True) -> None:
        self.kind = "arrays" if isinstance(source, Mapping) else "frame"
        table = with_columns(source, {})
        self.converted = isinstance(table, pl.DataFrame)
        self.values: Mapping[str, Any] = table.to_dict() if self.converted else table
        self.columns, self._loaded = tuple(self.values), pl.DataFrame()

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows."""
        return cut_evenly(len(self.load(self.columns[:1])), rows)

    def read(self, names: Sequence[str], piece: Piece | None, *, typed: bool, kept: bool) -> pl.DataFrame:
        """Read some columns; for pieces a column is converted once."""
        known = self._loaded.to_dict() if piece else {}
        made = known | (self.values if self.converted else {})
        made |= {name: _series(name, self.values[name]) for name in names if name not in made}
        frame = nan_as_null(pl.DataFrame({name: made[name] for name in names}))
        if piece is None:
            return frame
        self._loaded = pl.DataFrame(known | frame.to_dict())
        return frame.slice(piece.start, piece.rows)


def _series(name: str, values: Any) -> pl.Series:
    """Numbers through the checks all arrays pass; anything else by its Python values."""
    try:
        array = numeric(values, name)
    except InputError:
        return _from_objects(name, values)
    if array.ndim != 1:
        return _from_objects(name, array)
    # floats do not hold all of these whole numbers, which may be ids: equal ones would be one
    if array.dtype.kind == "f" and (np.abs(array) > _LARGEST_WHOLE).any():
        entries = _entries(values)
        if all(one is None or isinstance(one, (int, np.integer)) for one in entries):
            return whole_numbers(name, entries)
    return pl.Series(name, array.astype(array.dtype.newbyteorder("=")))


def _entries(values: Any) -> list[Any]:
    """Python values of a column, None where one is missing."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        gone = series.is_null().to_list()
        return [None if missing else entry for missing, entry in zip(gone, series.to_list(), strict=True)]
    entries = values.tolist() if hasattr(values, "tolist") else list(values)
    return [None if isinstance(one, float) and one != one else one for one in entries]


def _from_objects(name: str, values: Any) -> pl.Series:
    try:
        return pl.Series(name, _entries(values), dtype=_ordered(values))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"column {name!r} cannot be used, because its values are of several types ({str(error).splitlines()[0]})"
        ) from None


def _ordered(values: Any) -> pl.Enum | None:
    """Return the type of ordered categories of texts; None for anything else."""
    kind = getattr(values, "dtype", None)
    categories = list(kind.categories) if getattr(kind, "ordered", False) else []
    return pl.Enum(categories) if categories and all(isinstance(one, str) for one in categories) else None


READERS: tuple[type[Source], ...] = (Parquet, Delimited, JsonLines, FrameSource)


def open_source(source: Any, *, encoding: str = "utf-8", whole: bool = True) -> Source:
    """Open a file, folder or table in memory, and read none of its rows yet.

    `source`: .parquet, .csv, .tsv, .jsonl; a folder written by ``miscal score``; a pandas, polars or pyarrow
    frame, or a dataset of Hugging Face; a dictionary of arrays; `encoding`: of text files; `whole`: the keys of any
    JSON line are columns. Otherwise those of the first lines are, and no file is ever in memory as a whole.
    """
    if isinstance(source, (str, Path)):
        source = existing(Path(source))
    for reader in READERS:
        if reader.accepts(source):
            return reader(source, encoding, whole=whole)
    if isinstance(source, Path):
        what = "a folder that miscal score did not write" if source.is_dir() else "of an unknown format"
        known = "a .parquet, .csv, .tsv or .jsonl file, or a folder written by miscal score"
        raise FileError(f"{source} is {what}; give {known}")
    given = type(source).__name__
    raise InputError(f"the data must be a path, a table or a dictionary of columns; got a value of type {given}")


# --- the same rows again ----------------------------------------------------------------------------------------------


ROWS_FILE, EMBEDDINGS_FILE = "rows.parquet", "rows.safetensors"
"""Files of a run folder that keep the columns and the embeddings that were given in memory."""


def fingerprints(
    source: Any, table: Source, embeddings: Any, columns: Sequence[str], probabilities: Any = None
) -> dict[str, Any]:
    """Record the data's path and sha256, and those of every file read.

    `probabilities` are a matrix beside the table, if they are one.

    Returns ``path`` and ``sha256`` (None for a table in memory; for a folder, that of its table),
    ``files``, the ``reader``, and where anything was in memory ``in_memory``: its ``columns`` that were read, and
    whether ``embeddings`` were, too.
    """
    beside = [Path(one) for one in (embeddings, probabilities) if isinstance(one, (str, Path))]
    files = [{"path": str(file.resolve()), "sha256": digest(file)} for file in (*table.files, *beside)]
    in_memory = not isinstance(source, (str, Path))
    given = embeddings is not None and not isinstance(embeddings, (str, Path))
    memory = {"in_memory": {"columns": list(columns) if in_memory else [], "embeddings": given}}
    return {
        "path": None if in_memory else str(Path(source).resolve()),
        "sha256": None if in_memory else files[0]["sha256"],
        "files": files,
        "reader": table.kind,
        **(memory if in_memory or given else {}),
    }


def found_in(folder: Path, source: dict[str, Any]) -> dict[str, Any]:
    """Return where rows can be read from: as it was, with the files of the run folder for what was in memory.

    `folder`: of the run; `source`: ``Triples.source`` of the run.
    """
    memory = source.get("in_memory")
    if memory is None:
        return source
    found = source | {"options": dict(source["options"])}
    if memory["columns"] and (rows := folder / ROWS_FILE).is_file():
        found["path"] = str(rows)
    if memory["embeddings"] and (embeddings := folder / EMBEDDINGS_FILE).is_file():
        found["options"]["embeddings"] = str(embeddings)
    return found


def refuse_changed(source: dict[str, Any]) -> None:
    """Refuse data that are not what they were.

    `source`: ``Triples.source`` of the run.
    """
    options = source.get("options")
    gone = options and source.get("in_memory", {}).get("embeddings") and options["embeddings"] is None
    if source.get("path") is None or options is None or gone:
        raise InputError("the rows were given in memory, not as a file, so they cannot be read again")
    for file in source["files"]:
        path = existing(Path(file["path"]))
        if digest(path) != file["sha256"]:
            was, remedy = f"{file['sha256'][:12]}...", "put the old file back, or run again"
            raise MismatchError(f"{path} has changed since the run: its sha256 is no longer {was}; {remedy}")


def content_digest(frame: pl.DataFrame, *matrices: np.ndarray | None) -> str:
    """SHA-256 of hashes of rows and of the matrices that belong to them.

    A row of other values in the columns keeps its hash with chance 2^-64. It guards against files that were replaced,
    not against someone who makes rows whose hashes are equal.

    `frame`: columns that were read; `matrices` (m, d): embeddings and probabilities that were read. Returns 64
    hexadecimal digits, the same whatever the time and name of a file, and wherever the values lie in memory.

    Examples
    --------
    >>> one, other = (pl.DataFrame({"f": [0.1, value]}) for value in (0.2, 0.3))
    >>> [content_digest(frame, None) == content_digest(one, None) for frame in (one.clone(), other)]
    [True, False]
    """
    sha = hashlib.sha256(frame.hash_rows().to_numpy())
    for matrix in matrices:
        if matrix is not None:
            sha.update(f"{matrix.dtype} {matrix.shape}".encode())
            sha.update(np.ascontiguousarray(matrix))
    return sha.hexdigest()
