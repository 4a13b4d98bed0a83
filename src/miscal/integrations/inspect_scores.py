"""Corrected confidences as a file of scores that Inspect attaches to its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from miscal.base.errors import InputError
from miscal.base.files import check_target, write_new

if TYPE_CHECKING:
    import polars as pl

    from miscal.discovery.run import RunContent

_KEY = ("sample_id", "epoch")
"""Columns by which `miscal import inspect` says which sample of a log a row is."""


def export_scores(run_dir: str | Path, out: str | Path, *, overwrite: bool = False) -> int:
    """Write the corrected confidences of a run as scores that Inspect reads as precomputed.

    Each record has the ``id`` and ``epoch`` of a sample, as ``value`` whether its answer is right ("C" or "I"), and as
    metadata the corrected ``confidence`` and the one ``before``, both in [0, 1]. The log itself is neither read nor
    changed: ``inspect score`` writes a new one.

    Parameters
    ----------
    run_dir : str or Path
        A run on a table that `miscal import inspect` wrote.
    out : str or Path
        The .json file to write.
    overwrite : bool, default False
        Replace an existing file.

    Returns
    -------
    int
        Records written.

    Raises
    ------
    InputError
        If the file exists or has another ending, the rows of the run are not of samples of Inspect, or two of them are
        of the same sample.
    FileError, CorruptFile
        If the run folder or its data cannot be read, or were changed.

    Examples
    --------
    >>> export_scores("no/such/run", "scores.json")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/run is not a folder: give the folder of a run, made by `miscal.discover`
    """
    from miscal.discovery.run import read_run

    place = check_target(out, overwrite=overwrite)
    if place.suffix.lower() != ".json":
        raise InputError(f"--out: the name must end in .json, by which Inspect tells its form; got {place.name!r}")
    content = read_run(run_dir)
    keys = _samples(content).rows()
    columns = (content.table[name].to_list() for name in ("correct", "confidence", "corrected"))
    records = [
        {
            "id": sample,
            "epoch": epoch,
            "value": "C" if correct else "I",
            "metadata": {"confidence": corrected, "before": before},
        }
        for (sample, epoch), correct, before, corrected in zip(keys, *columns, strict=True)
    ]
    write_new(out, json.dumps(records, indent=1).encode(), overwrite=overwrite, reads=[content.source["path"]])
    return len(records)


def _samples(content: RunContent) -> pl.DataFrame:
    """Return the keys of the rows of the run, each once."""
    table = content.data()
    missing = [name for name in _KEY if name not in table.columns]
    if missing:
        raise InputError(
            f"the data of {content.name} have no column {missing[0]!r}, which says of which sample a row is: discover "
            "on a table that `miscal import inspect` wrote"
        )
    used = table.load(list(_KEY))[content.table["row"].to_list()].select(_KEY)
    if used.is_duplicated().any():
        raise InputError(
            f"several rows of {content.name} are of the same sample and epoch, so that they are of several logs: "
            "import and discover one log at a time"
        )
    return used
