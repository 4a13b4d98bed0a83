"""Read the table of a column from a run folder."""

from pathlib import Path

from miscal.base.errors import FileError, InputError
from miscal.data.readers.columns import find
from miscal.data.readers.table import own_parquet
from miscal.discovery.column_tables import ColumnTable, Tables, tables_of
from miscal.discovery.run_folder import COLUMNS_FILE, check_seal
from miscal.discovery.summary import Summary, read_summary


def show(run_dir: str | Path, by: str) -> ColumnTable:
    """Return the table of a column: every value with its numbers and what the findings say of it.

    Parameters
    ----------
    run_dir : str or Path
        What `miscal discover` wrote.
    by : str
        A metadata column of the run, or one of its features where these name findings.

    Returns
    -------
    ColumnTable

    Raises
    ------
    FileError
        If it is not a run folder, or was made before there were such tables.
    MissingColumn
        If the run has no table of such a column; the message lists the columns and suggests the nearest.
    InputError
        If the values of the column name rows, not groups, or the run has no table at all.
    CorruptFile
        If a file is damaged or was changed.
    MismatchError
        If another miscal wrote the run, in another layout.

    Examples
    --------
    >>> show("no/such/folder", "subject")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder is not a folder: give the one that `miscal discover` wrote
    """
    folder = Path(run_dir)
    check_seal(folder)
    summary, path = read_summary(folder), folder / COLUMNS_FILE
    if not path.exists():
        raise FileError(
            f"{folder} was made by an earlier miscal, which wrote no {COLUMNS_FILE}: run `miscal discover` again on "
            "its data"
        )
    tables = tables_of(own_parquet(path), name=str(path))
    if by not in tables and by in summary.data.columns.metadata:
        raise InputError(
            f"--by: column {by!r} has more different values than half of its rows, so that they name rows and not "
            "groups, and the run has no table of it"
        )
    if not tables:
        raise InputError(f"--by: {folder} has no table of any column: name columns with `miscal discover --metadata`")
    return _table(find(by, list(tables), what="--by"), tables, summary)


def _table(column: str, tables: Tables, summary: Summary) -> ColumnTable:
    method, values = summary.findings_method, tables[column]
    evidence = summary.evidence if method is None else method.evidence
    return ColumnTable(
        column, evidence, sum(one.n for one in values), values, summary.kind, summary.settings.get("epsilon")
    )
