"""Read the table of a column from a run folder."""

from pathlib import Path

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.errors import FileError, InputError, command, either
from miscal.data.readers.names import find
from miscal.data.readers.table import own_parquet
from miscal.discovery.run import sealed_summary
from miscal.discovery.run_folder import COLUMNS_FILE
from miscal.discovery.summary import Summary
from miscal.discovery.summary_parts import ClassEvent
from miscal.discovery.tables import ColumnTable, Tables, tables_of


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
    miscal.base.errors.FileError: no/such/folder is not a folder: give the folder of a run, made by `miscal.discover`
    """
    folder = Path(run_dir)
    summary, path = sealed_summary(folder), folder / COLUMNS_FILE
    if not path.exists():
        raise FileError(
            f"{folder} was made by an earlier miscal, which wrote no {COLUMNS_FILE}: run {command('discover')} again "
            "on its data"
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


def show_class(run_dir: str | Path, name: str) -> ClassEvent:
    """Return a class of a run, with its findings.

    Parameters
    ----------
    run_dir : str or Path
        What `miscal discover` wrote.
    name : str
        A class.

    Returns
    -------
    ClassEvent

    Raises
    ------
    FileError, CorruptFile, MismatchError
        As :func:`show`.
    InputError
        If the run is not of several classes, or has no such class.
    """
    numbers = sealed_summary(run_dir).classes
    if numbers is None:
        raise InputError(
            f"--class: {run_dir} is no run of several classes, as "
            f"{either('`miscal discover --probabilities NAMES`', '`miscal.discover(probabilities=...)`')} makes them"
        )
    known = {one.name: one for one in numbers.classes}
    if name not in known:
        hint = did_you_mean(name, known, aside=True)
        raise InputError(f"--class: there is no class {name!r}{hint}; the classes are {value_list(known)}")
    return known[name]


def _table(column: str, tables: Tables, summary: Summary) -> ColumnTable:
    method, values = summary.findings_method, tables[column]
    evidence = summary.evidence if method is None else method.evidence
    return ColumnTable(
        column, evidence, sum(one.n for one in values), values, summary.kind, summary.settings.get("epsilon")
    )
