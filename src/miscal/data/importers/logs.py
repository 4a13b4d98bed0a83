"""What is read of a tool's log: its file (JSON, a table, an archive), and the rows that every importer returns."""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

import polars as pl

from miscal.base.errors import CorruptFile, FileError, InputError, ResourceError
from miscal.base.process import need
from miscal.data.readers.names import unreserved
from miscal.data.readers.opening import open_source
from miscal.data.readers.source import damage, fits, not_empty, text_of

_SCHEMA = {
    "id": pl.String,
    "text": pl.String,
    "confidence": pl.Float64,
    "correct": pl.Int8,
    "predicted": pl.Int16,
    "choices": pl.List(pl.String),
    "choice_probs": pl.List(pl.Float64),
    "candidate_mass": pl.Float64,
    "answer_index": pl.Int16,
    "judge": pl.Float64,
    "human": pl.Float64,
}
COLUMNS = tuple(_SCHEMA)[:-2]
"""Columns of an imported table of answers, before the metadata, as `miscal score` writes them; the others are of
judgements."""

_SURROGATE = re.compile("[\ud800-\udfff]")

Sample = TypeVar("Sample")


class UnusableLog(FileError):
    """A log that is undamaged, but holds no triples."""


class UnusableRow(Exception):
    """A row that is left out; the message is the reason, the same for all rows it holds for."""


@dataclass(frozen=True, slots=True)
class Row:
    """One answer, with the model's confidence or the scores of a judge; None is for what the log does not say.

    ``confidence`` in [0, 1] is the probability of the answer given, ``correct`` 0/1 whether that answer is right.
    ``judge`` and ``human`` are scores on their own scales. ``confidences`` are several of one answer, by the name of
    their column; None where one is missing. ``note`` says what confidence and outcome are in this tool. ``stated``
    marks a confidence as the model stated it, percent or not; a probability of the tool is none. ``within`` tells
    answers of one id apart, such as those of several models, which then are answers about one thing. ``predicted`` and
    ``answer_index`` are positions in ``choices``; without choices they stay None, and metadata hold the answers' texts,
    as ``chosen_answer`` and ``target``.
    """

    id: str
    text: str | None
    confidence: float | None = None
    correct: int | None = None
    predicted: int | None = None
    choices: tuple[str, ...] | None = None
    choice_probs: tuple[float, ...] | None = None
    candidate_mass: float | None = None
    answer_index: int | None = None
    judge: float | None = None
    human: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    confidences: Mapping[str, float | None] = field(default_factory=dict)
    note: str = ""
    stated: bool = False
    within: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Log:
    """The rows of one log, all of one kind.

    ``ids_of`` says what its ids are of: logs that say the same, be it nothing (""), have ids in common. By default, an
    id means something in its log alone.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    ids_of: str | None = None


def log_of(path: Path, rows: Sequence[Row], left_out: Mapping[str, Sequence[str]], notes: Iterable[str] = ()) -> Log:
    """Put a log together; one without rows is refused, with the reasons."""
    counted = [
        f"{len(ids)} rows left out: {reason} ({', '.join(map(str, ids[:5]))}{', ...' if len(ids) > 5 else ''})"
        for reason, ids in left_out.items()
    ]
    if not rows:
        raise UnusableLog(f"{path} has no usable row" + "".join(f"; {reason}" for reason in counted))
    conventions = dict.fromkeys(row.note for row in rows if row.note)
    return Log(tuple(rows), (*conventions, *notes, *(f"{path.name}: {reason}" for reason in counted)))


def probabilities(log_probs: Sequence[float]) -> list[float]:
    """Renormalise log-probabilities over the choices: exp(l) / sum exp(l).

    >>> probabilities([0.0, float("-inf"), 0.0])
    [0.5, 0.0, 0.5]
    """
    largest = max(log_probs)
    if not math.isfinite(largest) or any(math.isnan(value) for value in log_probs):
        raise UnusableRow("the log-probabilities are NaN or all infinite")
    # relative to the largest, or all might underflow to 0
    shares = [math.exp(value - largest) for value in log_probs]
    total = math.fsum(shares)
    return [share / total for share in shares]


def log_likelihoods(values: Sequence[Any]) -> list[float]:
    """Return log-likelihoods of choices as numbers."""
    found = [number(value) for value in values]
    if None in found:
        raise UnusableRow("a log-likelihood is not a number")
    return [value for value in found if value is not None]


def log_probability(value: Any) -> float:
    """Return the log-probability of a token; services may round one of 0 to a little above it."""
    found = number(value)
    if found is None or not found <= 1e-3:  # NaN too
        raise UnusableRow("a log-probability is not a number of at most 0")
    return min(0.0, found)


def number(value: Any) -> float | None:
    """Read a number, also one written as text; None if it is none.

    >>> number("-inf"), number(2), number("two"), number(True)
    (-inf, 2.0, None, None)
    """
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:  # a whole number beyond all floats
        return math.inf if value > 0 else -math.inf


def scalars(values: Mapping[str, Any], *but: str | None) -> dict[str, Any]:
    """Keep what can be a cell of a table: texts, numbers and truth values; the names `but` are left out."""
    return {
        str(name): value
        for name, value in values.items()
        if name not in but and (value is None or isinstance(value, str | int | float))
    }


def table_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Make the table; metadata named like a column of ours get ``source_`` in front.

    The columns of several confidences come after those of every table, as numbers. What no row has
    is no column, but for the verdicts of people.

    >>> table_of([Row("a", "?", 0.5, 1, metadata={"subject": "law", "id": 7})]).columns[-2:]
    ['subject', 'source_id']
    """
    columns = [_column(name, [getattr(row, name) for row in rows], kind) for name, kind in _SCHEMA.items()]
    # an empty column of texts would be taken for the inputs; one of verdicts is to be filled in
    filled = {"human"} if rows[0].confidence is None else set()
    columns = [column for column in columns if column.name in filled or column.null_count() < len(rows)]
    columns += [
        pl.Series(name, [row.confidences.get(name) for row in rows], dtype=pl.Float64)
        for name in confidence_names(rows)
    ]
    taken = {column.name for column in columns}
    for name in dict.fromkeys(name for row in rows for name in row.metadata):
        own = f"source_{name}" if name in taken else name
        columns.append(_metadata(_clean(own), [row.metadata.get(name) for row in rows]))
    # of metadata called both "id" and "source_id", the last stays
    return pl.DataFrame({column.name: column for column in columns})


def _column(name: str, values: list[Any], kind: Any) -> pl.Series:
    """Make a column; equal texts and lists, such as the choices of a question, are converted once."""
    distinct = {value: at for at, value in enumerate(dict.fromkeys(values))}
    return pl.Series(name, list(map(_clean, distinct)), dtype=kind).gather([distinct[value] for value in values])


def confidence_names(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns of several confidences of one answer, in the order of the log; none for judgements."""
    return tuple(dict.fromkeys(name for row in rows for name in row.confidences))


def _metadata(name: str, values: list[Any]) -> pl.Series:
    """One type per column: truth values, whole numbers, numbers, or else text."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return pl.Series(name, values, dtype=pl.Int64)
    # from 2**53 on, not every whole number is a float
    if kinds and kinds <= {int, float} and all(value is None or abs(value) < 2**53 for value in values):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, [_clean(text) for text in texts], dtype=pl.String)


def _clean(value: Any) -> Any:
    """Replace what is no Unicode text: half a surrogate pair, which JSON can hold and a table cannot."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    return [_clean(item) for item in value] if isinstance(value, tuple) else value


# --- files --------------------------------------------------------------------------------------------------------

MAGIC = b"PK\x03\x04"
ZSTD = 93
MAX_MEMBER = 2**30
"""Bytes a member may unfold to: the largest samples known have a tenth of it."""

MAX_RATIO = 200
"""How many times its own size an archive may unfold to, all members together: logs of text unfold to 5 to 30 times."""

FREE_BYTES = 2**26
"""What any archive may unfold to, however small it is."""

# largest window a decoder has to offer by zstd's own default: a frame that asks for more memory is refused
_WINDOW = 2**27
_BLOCK = 2**20
_LOCAL = struct.Struct("<4s22xHH")
"""Local header: signature, then the lengths of name and extra field (APPNOTE.TXT 4.3.7)."""


class Archive(zipfile.ZipFile):
    """An archive, of which no more is unfolded than fits; one whose directory, at the end, is missing is damaged."""

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise CorruptFile(f"{path} cannot be read as a ZIP archive: {error}; it is cut short or damaged") from None
        self.path = path
        # counted before anything is unfolded; members may share their bytes, so each is counted for itself
        size, unfolded = path.stat().st_size, sum(info.file_size for info in self.infolist())
        if unfolded > max(FREE_BYTES, MAX_RATIO * size):
            self.close()
            raise ResourceError(
                f"{path} has {size:,} bytes, but would unpack to {unfolded:,}, over {MAX_RATIO} times as many: no log "
                "of text is packed so tightly, so nothing of it is read. If it is sound, convert it to JSON (inspect "
                "log convert --to json)"
            )

    def content(self, name: str) -> bytearray:
        """Return what a member holds, or refuse one that is damaged or would not fit."""
        info = self.getinfo(name)
        where = Path(f"{self.path}/{name}")
        if info.file_size > MAX_MEMBER:
            raise ResourceError(f"{where} would unpack to {info.file_size} bytes; at most {MAX_MEMBER} are read")
        fits(where, 1, 8 * info.file_size)
        with damage(where, "a member of a ZIP archive"), self._unfolding(info) as stream:
            content = _bounded(stream, info.file_size)
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise CorruptFile(f"{where} is damaged: its size or checksum is not the one the archive records")
        return content

    @contextmanager
    def _unfolding(self, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        # bit 0 marks encryption (APPNOTE.TXT 4.4.4)
        if info.flag_bits & 1:
            raise CorruptFile(
                f"{self.path}/{info.filename} is encrypted, which no supported tool writes; give the log as the "
                "tool wrote it"
            )
        if info.compress_type != ZSTD:
            try:
                with self.open(info) as stream:
                    yield stream
            except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
                raise ValueError(str(error)) from None
            return
        convert = ", or convert the log to JSON (inspect log convert --to json)"
        need("logs", f"{self.path}, which is compressed with Zstandard,", otherwise=convert)
        import zstandard

        try:
            folded = io.BytesIO(self._raw(info))
            decoder = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
            yield decoder.stream_reader(folded, read_across_frames=True)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        with self.path.open("rb") as stream:
            stream.seek(info.header_offset)
            header = stream.read(_LOCAL.size)
            if len(header) < _LOCAL.size or not header.startswith(MAGIC):
                raise ValueError("no member begins where the archive says")
            # lengths of the local header: the archive's directory may hold others
            _, name, extra = _LOCAL.unpack(header)
            stream.seek(name + extra, io.SEEK_CUR)
            return stream.read(info.compress_size)


def _bounded(stream: IO[bytes], size: int) -> bytearray:
    """Read at most one byte more than `size`, block by block: a bomb costs no memory, and nothing is held twice."""
    content = bytearray()
    while len(content) <= size and (block := stream.read(min(_BLOCK, size + 1 - len(content)))):
        content += block
    return content


TABLES = ("*.parquet", "*.pq", "*.csv", "*.tsv", "*.json", "*.jsonl", "*.ndjson")
_PICKLE = b"\x80"


def parsed(text: str | bytes | bytearray, where: str) -> Any:
    """Parse JSON, with NaN and Infinity; a `CorruptFile` names `where` and the place of the fault."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        reason = getattr(error, "msg", error)
        raise CorruptFile(
            f"{where}: not valid JSON{at} ({reason}); the file is damaged, cut short, or of another kind"
        ) from None


def whole(path: Path) -> Any:
    """Read a file that is one JSON value."""
    return parsed(text_of(path), str(path))


def records(path: Path) -> list[Any]:
    """Read a file that is one JSON array, or one JSON value per line; blank lines are skipped."""
    text = text_of(path)
    if text.lstrip().startswith("["):
        return parsed(text, str(path))
    # not splitlines: texts in JSON may hold other line separators as they are
    lines = enumerate(text.split("\n"), start=1)
    return [parsed(line, f"{path}, line {number}") for number, line in lines if line.strip()]


def whole_or_records(path: Path) -> Any:
    """Read a file that is one JSON value, or one per line."""
    try:
        return whole(path)
    except InputError:
        return records(path)


def get_in(value: Any, *keys: str | int) -> Any:
    """Return what stands inside objects and arrays of JSON; None where it is not there.

    >>> get_in({"a": [{"b": 1}]}, "a", 0, "b"), get_in({"a": 1}, "a", "b")
    (1, None)
    """
    for key in keys:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def dict_in(value: Any, *keys: str | int) -> dict[str, Any]:
    """Return an object of JSON as it is, and an empty one for anything else."""
    found = get_in(value, *keys)
    return found if isinstance(found, dict) else {}


def list_in(value: Any, *keys: str | int) -> list[Any]:
    """Return an array of JSON as it is, and an empty one for anything else."""
    found = get_in(value, *keys)
    return found if isinstance(found, list) else []


def first_text(*values: Any) -> str | None:
    """Return the first that is a text."""
    return next((one for one in values if isinstance(one, str)), None)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read a table as a list of rows, without the row index that pandas has written.

    JSON may hold a list of objects, objects one per line, an object whose key ``data`` is such a list (as the
    interfaces of Langfuse and Phoenix return it), or columns as ``DataFrame.to_json`` of pandas writes them.
    """
    with not_empty(path).open("rb") as stream:
        if stream.read(1) == _PICKLE:
            raise UnusableLog(
                f"{path} is a pickle, which can run any program when it is opened, so it is not read: save the table "
                "by its method to_parquet, to_csv or to_json"
            )
    if path.suffix.lower() in (".parquet", ".pq", ".csv", ".tsv"):
        table = open_source(path)
        names = unreserved(table.columns, ())
        found = table.load(names).to_dicts() if names else []
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        found = records(path)
    else:
        content = whole_or_records(path)
        data = get_in(content, "data")
        found = content if isinstance(content, list) else data if isinstance(data, list) else _columns(content)
    if not found or not all(isinstance(row, dict) for row in found):
        endings = ", ".join(name.removeprefix("*") for name in TABLES)
        raise UnusableLog(f"{path} holds no rows: it must be a table ({endings}) with one row per record")
    return found


def rows_beside(path: Path, *beginnings: str) -> list[dict[str, Any]]:
    """Read the tables beside a log whose names begin in one of these ways."""
    places = [
        one for name in beginnings for one in sorted(path.parent.glob(f"{name}*")) if f"*{one.suffix.lower()}" in TABLES
    ]
    return [row for place in places for row in rows_of(place)]


def _columns(content: Any) -> list[Any]:
    """Turn columns of the form {name: {label: value}} into rows; anything else is one row."""
    columns = dict_in(content)
    if columns and all(isinstance(column, Mapping) and column for column in columns.values()):
        labels = list(next(iter(columns.values())))
        if all(list(column) == labels for column in columns.values()):
            return [{name: column[label] for name, column in columns.items()} for label in labels]
    return [content]
