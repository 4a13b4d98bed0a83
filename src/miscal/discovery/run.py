"""Write a discovery into its folder, and read it back."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.data.readers import reread
from miscal.data.readers.table import own_parquet
from miscal.discovery.column_tables import columns_table
from miscal.discovery.discover import Discovery
from miscal.discovery.fitted_rows import TEST, TIME
from miscal.discovery.run_folder import COLUMNS_FILE, check_seal, seal
from miscal.discovery.saved_model import SavedModel, load_clusters, load_model, save_clusters, save_model
from miscal.discovery.summary import Summary, read_summary

if TYPE_CHECKING:
    import polars as pl

    from miscal.findings.input_clusters import InputClusters


@dataclass(frozen=True)
class Run:
    """A run folder, read back.

    Attributes
    ----------
    path : Path
        The folder.
    summary : Summary
        ``summary.json``.
    table : polars.DataFrame
        ``field.parquet``: one row per input row, as :attr:`miscal.discovery.discover.Discovery.table`.
    map : polars.DataFrame
        ``map.parquet``.
    findings : polars.DataFrame
        ``findings.parquet``.
    columns : polars.DataFrame
        ``columns.parquet``; without rows where the run was made before there was such a file.
    """

    path: Path
    summary: Summary
    table: "pl.DataFrame"
    map: "pl.DataFrame"
    findings: "pl.DataFrame"
    columns: "pl.DataFrame"

    @property
    def testifies(self) -> "pl.Series":
        """Which rows of `table` testify."""
        if self.summary.evidence == TEST:
            return self.table["split"] == "test"
        # with evidence "time", folds are blocks, of which the first only teaches
        return self.table["fold"].fill_null(0) >= (1 if self.summary.evidence == TIME else 0)

    def load_model(self) -> "SavedModel":
        """Load the saved model."""
        return load_model(self.path)

    def load_clusters(self) -> "InputClusters | None":
        """Load how inputs were clustered; None where they were not."""
        return load_clusters(self.path)

    def triples(self) -> Any:
        """Read the rows of the run again, refusing data that changed since."""
        return reread(self.summary.settings["source"])


def write_files(found: Discovery, folder: Path) -> None:
    """Write summary, tables and model into an empty folder, and seal it."""
    # no timestamps and one thread's row groups: the same discovery gives the same bytes
    found.table.write_parquet(folder / "field.parquet", compression="zstd")
    found.findings.write_parquet(folder / "findings.parquet", compression="zstd")
    found.columns.write_parquet(folder / COLUMNS_FILE, compression="zstd")
    found.map.write_parquet(folder / "map.parquet", compression="zstd")
    (folder / "summary.json").write_text(found.summary.to_json(), encoding="utf-8")
    column = found.summary.data.columns.confidence
    read = {one.name: one.cost_if_missing for one in found.summary.columns}
    costs = {name: cost.value for name, cost in read.items() if cost is not None and cost.value is not None}
    place, kind = folder / "model", found.summary.kind
    save_model(found.model, found.encoder, place, confidence=column, kind=kind, costs=costs)
    if found.clusters is not None:
        save_clusters(found.clusters, folder / "model")
    seal(folder)


def read_run(folder: str | Path) -> Run:
    """Read a run folder back, after checking that nothing in it has changed.

    Parameters
    ----------
    folder : str or Path
        What `miscal discover` wrote.

    Returns
    -------
    Run
        Summary and tables.

    Raises
    ------
    FileError
        If it is not a run folder.
    CorruptFile
        If a file is damaged or was changed.
    MismatchError
        If a newer miscal wrote it.
    """
    folder = Path(folder)
    check_seal(folder)
    summary = read_summary(folder)
    tables = [own_parquet(folder / name) for name in ("field.parquet", "map.parquet", "findings.parquet")]
    path = folder / COLUMNS_FILE
    columns = own_parquet(path) if path.exists() else columns_table(())
    return Run(folder, summary, *tables, columns=columns)
