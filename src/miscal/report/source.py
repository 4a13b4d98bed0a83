"""Read what the report needs from a run folder: one summary and its tables."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from miscal.base.errors import CorruptFile, FileError, command
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.data.readers.source import own_parquet
from miscal.discovery.run_folder import COLUMNS_FILE
from miscal.discovery.summary import Summary, read_summary
from miscal.discovery.tables import Tables, schema, tables_of
from miscal.report import legend
from miscal.report.formatting import decimals_for, finite
from miscal.report.texts import clean

if TYPE_CHECKING:
    import polars as pl

Content = TypeVar("Content")

REMEDY = f"run {command('discover')} again to write a complete run folder"

#: Columns the page reads; what else the tables hold is left alone (the map's text and metadata are optional).
FIELD_COLUMNS = ("row", "confidence", "correct", "delta", "visible", "hidden")
ANSWER_PREFIX = "answer."
"""What columns of the map begin with that hold the model's answer and the right one."""
MAP_COLUMNS = (
    *("row", "split", "raw_1", "raw_2", "learned_1", "learned_2", "delta", "regime"),
    *("hidden_regime", "confidence", "correct", "corrected"),
)


@dataclass(frozen=True)
class Source:
    """Everything the page is drawn from.

    `summary` is ``summary.json``, its texts in characters that a page can carry. `field` has a row per input row:
    `row`, `confidence`, `correct`, `delta` (negative: over-confident), `visible`, `hidden`; `map` the rows that the map
    shows, with positions, texts and metadata. `columns` are the values of each named column.
    """

    name: str
    summary: Summary
    field: "pl.DataFrame"
    map: "pl.DataFrame"
    columns: Tables = field(default_factory=dict)

    @property
    def terms(self) -> Vocabulary:
        """The words of its kind of probability."""
        return vocabulary(self.summary.kind)

    @property
    def epsilon(self) -> float | None:
        """Half-width of the well-calibrated band, in probability; None where the settings name none."""
        return finite(self.summary.settings.get("epsilon"))

    @property
    def decimals(self) -> int:
        """Decimals of differences and sizes in percentage points."""
        return decimals_for(self.epsilon)

    @property
    def regime_names(self) -> dict[str, str]:
        """What regimes are called in this run, by their names in the summary."""
        p_values = {regime.name: regime.residual.p_value for regime in self.summary.regimes}
        return legend.regime_names(p_values.get("good"), self.epsilon, self.terms)


def read_source(folder: Path) -> Source:
    """Read and check a run folder.

    What is not there is a FileError, what is damaged or lacks a key or column a CorruptFile, and what a newer miscal
    wrote a MismatchError.
    """
    import polars as pl

    if not folder.is_dir():
        raise FileError(f"{folder}: no such run folder; give the folder of a run, made by {command('discover')}")
    summary = read_summary(folder)
    rows = _read_table(folder / "field.parquet", FIELD_COLUMNS)
    points = pl.DataFrame(schema=dict.fromkeys(MAP_COLUMNS, pl.Null))
    if summary.map is not None:
        points = _read_table(folder / "map.parquet", MAP_COLUMNS)
    path, columns = folder / COLUMNS_FILE, {}
    if path.exists():
        columns = tables_of(_read_table(path, tuple(schema())), name=str(path))
    return _source(summary, rows, points, columns, folder.resolve().name)


def source_of(run: Any, name: str) -> Source:
    """Return what the page of a discovery, or of a run read back, is drawn from; `name` calls data that are no file."""
    return _source(run.summary, run.table, run.map, run.tables, name)


def _source(summary: Summary, rows: "pl.DataFrame", points: "pl.DataFrame", columns: Tables, name: str) -> Source:
    path = summary.data.path
    return Source(
        name=(Path(path).name if path else "") or name,
        summary=printable(summary),
        field=rows.select(FIELD_COLUMNS),
        map=points,
        columns=columns,
    )


def printable(value: Content) -> Content:
    r"""Return the same content, of the same type, in characters that a page can carry.

    Examples
    --------
    >>> printable({"a\x00": ("b", 1)})
    {'a\ufffd': ('b', 1)}
    """
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: printable(inner) for name, inner in value})
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        inner = [printable(one) for one in value]
        # a named tuple takes its values one by one
        return type(value)(*inner) if hasattr(value, "_fields") else type(value)(inner)
    if isinstance(value, dict):
        return {clean(key): printable(inner) for key, inner in value.items()}
    return value


def _read_table(path: Path, needed: tuple[str, ...]) -> "pl.DataFrame":
    if not path.is_file():
        raise FileError(f"{path}: no such file; {REMEDY}")
    table = own_parquet(path)
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise CorruptFile(f"{path}: column {', '.join(missing)} is missing; it has {table.columns}; {REMEDY}")
    return table
