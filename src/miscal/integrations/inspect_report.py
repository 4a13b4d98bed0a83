"""From a log of Inspect to a run folder beside it: ``python -m miscal.integrations.inspect_report LOG``."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

from miscal.base.errors import InputError, MiscalError

_NOT_KINDS = ("sample_id", "epoch", "truncated")
"""Columns of an imported log that do not say of what kind a question is."""


def write_report(log: str) -> Path:
    """Discover on the samples of a log, and save the run beside it.

    Inputs are the texts of the questions and the metadata of the samples; the epochs of a question count as one.

    Parameters
    ----------
    log : str
        Path of the log, or its URI where that is of this machine.

    Returns
    -------
    Path
        The run folder, called as the log with ``-miscal`` behind it; its rows lie beside it, in a file that ends in
        ``-answers.parquet``. What miscal wrote before is replaced.

    Raises
    ------
    InputError
        If the log is on another machine, or its samples cannot be used.
    """
    from miscal.data.importers import read_log
    from miscal.data.importers.imported_rows import COLUMNS
    from miscal.runs.discover import discover

    place = _local(log)
    imported = read_log("inspect", place)
    data = imported.write(place.with_name(f"{place.stem}-answers.parquet"), overwrite=True)
    table = imported.table
    kinds = [one for one in table.columns if one not in (*COLUMNS, *_NOT_KINDS) and table[one].n_unique() > 1]
    repeated = table["sample_id"].n_unique() < len(table)
    text = {"text": "text", "embed_model": "tfidf"} if table["text"].null_count() == 0 else {"features": kinds}
    group = {"group": "sample_id"} if repeated else {}
    found = discover(data, confidence="confidence", correct="correct", metadata=kinds, progress=False, **text, **group)
    return found.save(place.with_name(f"{place.stem}-miscal"), overwrite=True)


def _local(log: str) -> Path:
    parts = urlparse(log)
    if parts.scheme in ("", "file"):
        return Path(unquote(parts.path) if parts.scheme else log)
    raise InputError(f"{log} is not a file of this machine: copy it here, then run `miscal import inspect` on it")


if __name__ == "__main__":
    try:
        print(write_report(sys.argv[1]) / "report.html")
    except MiscalError as error:
        sys.exit(str(error))
