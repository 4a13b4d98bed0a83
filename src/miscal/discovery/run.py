"""Write a discovery into its folder, and read it back."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of
from miscal.base.errors import MismatchError
from miscal.data.readers.opening import EMBEDDINGS_FILE, ROWS_FILE, collected, found_in, is_table, open_source
from miscal.data.readers.read import reread
from miscal.data.readers.source import TENSOR, Source, own_parquet
from miscal.data.triples import FoundUnits, Triples
from miscal.discovery.fitted_rows import TEST, TIME
from miscal.discovery.layout import MAP_FILE, Picture
from miscal.discovery.run_folder import CLASS_FINDINGS_FILE, CLASSES_FILE, COLUMNS_FILE, check_seal, seal
from miscal.discovery.saved_model import SavedModel, load_clusters, load_model, save_clusters
from miscal.discovery.summary import Summary, read_summary
from miscal.discovery.tables import Tables, by_column, class_findings_table, classes_table, columns_table, tables_of
from miscal.findings.conditions.condition import InputClusters
from miscal.findings.ledger.document import ColumnValue


@dataclass(frozen=True, eq=False)
class GivenRows:
    """What was given in memory, to be kept with a run: the columns that were read, and the embeddings.

    Embeddings are not copied, because they may fill half of the memory; `digest` tells whether they were changed since.
    """

    table: pl.DataFrame | None = None
    embeddings: np.ndarray | None = None
    digest: str | None = None

    @classmethod
    def of(cls, table: pl.DataFrame | None, embeddings: np.ndarray | None) -> "GivenRows":
        """Take note of what the embeddings hold."""
        return cls(table, embeddings, None if embeddings is None else _digest(embeddings))

    def agree(self, other: "GivenRows") -> bool:
        """Say whether everything that both hold is the same, row by row."""
        if None not in (self.digest, other.digest) and self.digest != other.digest:
            return False
        if self.table is None or other.table is None:
            return True
        shared = [name for name in self.table.columns if name in other.table.columns]
        return all(column_of(self.table, name).equals(column_of(other.table, name)) for name in shared)

    def write(self, folder: Path) -> None:
        """Write them into the folder of a run."""
        if self.table is not None:
            self.table.write_parquet(folder / ROWS_FILE, compression="zstd")
        if self.embeddings is not None:
            from safetensors.numpy import save_file

            if _digest(self.embeddings) != self.digest:
                raise MismatchError(
                    "the array of embeddings was changed after the run was made from it, so that it cannot be saved "
                    "with the run: discover again, and save before the array is changed"
                )
            save_file({TENSOR: np.ascontiguousarray(self.embeddings)}, folder / EMBEDDINGS_FILE)


def _digest(values: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).view(np.uint8).data, digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class RunContent:
    """What a run holds: made in this process, read back from its folder, or both.

    `summary`: the numbers, as in ``summary.json``.
    `table`: one row per input row, in order, with the columns of ``field.parquet``. All values are honest. ``delta``
        estimates E[y - f], in [-1, 1]: positive means under-confident.
    `picture`: the map of the rows (a sample, if there are many), for the report, or what it is drawn from; `summary`
        says of a map how it was made once it is drawn.
    `findings`, `columns`: ``findings.parquet`` and ``columns.parquet``.
    `path`: the folder; None where there is none yet.

    The others are those of a run made in this process: what corrects new rows, how inputs were clustered, `values` of
    the columns, the `read` rows, what a folder must keep so that they can be read again from it (`kept`), and the data
    as they were `given`: a frame, a path, triples.
    """

    summary: Summary
    table: pl.DataFrame
    picture: pl.DataFrame | Picture
    findings: pl.DataFrame
    columns: pl.DataFrame
    path: Path | None = None
    model: SavedModel | None = None
    clusters: InputClusters | None = None
    values: tuple[ColumnValue, ...] | None = None
    read: Triples | None = None
    kept: GivenRows = GivenRows()
    given: Any = None

    @property
    def map(self) -> pl.DataFrame:
        """Two-dimensional positions of the rows, drawn when they are first asked for."""
        return self.picture.drawn[0] if isinstance(self.picture, Picture) else self.picture

    def with_map(self) -> "RunContent":
        """Return the same run with its map, and with a summary that says how it was made and how long that took."""
        if not isinstance(self.picture, Picture):
            return self
        table, info, seconds = self.picture.drawn
        told = {"map": info, "timing": {**self.summary.timing, "map": seconds}}
        return replace(self, summary=self.summary.model_copy(update=told), picture=table)

    @cached_property
    def tables(self) -> Tables:
        """The values of each named column."""
        return tables_of(self.columns) if self.values is None else by_column(self.values)

    @property
    def name(self) -> str:
        """What messages call it: its folder."""
        return "the run" if self.path is None else str(self.path)

    @property
    def evaluated(self) -> pl.Series:
        """Which rows of `table` are evaluated."""
        if self.summary.evidence == TEST:
            return self.table["split"] == "test"
        # with evidence "time", folds are blocks, of which the first only teaches
        return self.table["fold"].fill_null(0) >= (1 if self.summary.evidence == TIME else 0)

    def load_model(self) -> SavedModel:
        """Return the saved model."""
        return load_model(self.path) if self.model is None else self.model

    def load_clusters(self) -> InputClusters | None:
        """Return how inputs were clustered; None where they were not."""
        return load_clusters(self.path) if self.clusters is None and self.path is not None else self.clusters

    @property
    def source(self) -> dict[str, Any]:
        """Where the rows come from, and the options by which they are read."""
        source = self.summary.settings["source"]
        return source if self.path is None else found_in(self.path, source)

    def triples(self, **changed: Any) -> Triples:
        """Return the rows of the run; read again where it was read back, refusing data that changed since.

        `**changed`: options of reading that may be others than in the run.
        """
        rows = reread(self.source, **changed) if self.read is None else self.read
        return rows if rows.group is not None else self._with_units(rows)

    def _with_units(self, rows: Triples) -> Triples:
        """Return rows that know what the run counted them by; those that it left out are units of their own."""
        found = self.summary.units
        if found is None or self.table["unit"].null_count():
            return rows
        unit = self.table["unit"].max() + 1 + np.arange(len(rows))
        unit[np.searchsorted(rows.row, self.table["row"].to_numpy())] = self.table["unit"].to_numpy()
        known = FoundUnits(found.source, found.column, found.factor, found.coarser)
        return replace(rows, group=unit, counted_by=known)

    def same_data(self, other: "RunContent") -> bool:
        """Say whether the rows of another run are of the same file, or of the same object in memory."""
        # the object may have been changed in between
        if self.given is not None and self.given is other.given:
            return self.kept.agree(other.kept)
        digest = self.source.get("sha256")
        return digest is not None and digest == other.source.get("sha256")

    def data(self) -> Source:
        """Open the table that the rows were read from."""
        source = self.source
        options = source["options"]
        where = source["path"] if self.kept.table is None else self.kept.table
        return open_source(where, encoding=options["encoding"])

    def data_with(self, column: str) -> Source:
        """Open the table with a column that may not have been read: of a run in memory, the data as they were given."""
        table = self.data()
        if column in table.columns or self.given is None or not is_table(self.given):
            return table
        given, kept = open_source(collected(self.given)), self.kept.table
        if column not in given.columns or kept is None:
            return table
        shared = [name for name in kept.columns if name in given.columns]
        if not GivenRows(given.load(shared)).agree(GivenRows(kept)):
            raise MismatchError(f"{self.name}: the data were changed after the run was made from them: discover again")
        return given


def write_files(found: RunContent, folder: Path) -> None:
    """Write summary, tables, map, model and rows that were given in memory into an empty folder, and seal it."""
    found = found.with_map()
    # no timestamps and one thread's row groups: the same discovery gives the same bytes
    found.table.write_parquet(folder / "field.parquet", compression="zstd")
    found.findings.write_parquet(folder / "findings.parquet", compression="zstd")
    found.columns.write_parquet(folder / COLUMNS_FILE, compression="zstd")
    found.map.write_parquet(folder / MAP_FILE, compression="zstd")
    if (classes := found.summary.classes) is not None:
        classes_table(classes).write_parquet(folder / CLASSES_FILE, compression="zstd")
        class_findings_table(classes).write_parquet(folder / CLASS_FINDINGS_FILE, compression="zstd")
    (folder / "summary.json").write_text(found.summary.to_json(), encoding="utf-8")
    found.load_model().save(folder / "model")
    if found.clusters is not None:
        save_clusters(found.clusters, folder / "model")
    found.kept.write(folder)
    seal(folder)


def sealed_summary(folder: str | Path) -> Summary:
    """Read the summary alone of a run whose files are as they were written; what it raises, see :func:`read_run`."""
    check_seal(folder)
    return read_summary(folder)


def read_run(folder: str | Path) -> RunContent:
    """Read a run folder back, after checking that nothing in it has changed.

    `folder`: what `miscal discover` wrote. Returns summary and tables.
    """
    folder = Path(folder)
    summary = sealed_summary(folder)
    tables = [own_parquet(folder / name) for name in ("field.parquet", MAP_FILE, "findings.parquet")]
    path = folder / COLUMNS_FILE
    columns = own_parquet(path) if path.exists() else columns_table(())
    return RunContent(summary, *tables, columns=columns, path=folder)
