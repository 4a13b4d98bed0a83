"""Read Parquet tables by the exact name of their file.

polars takes ``*``, ``?`` and ``[`` in a path for a pattern unless it is told not to: a run under ``exp[1]`` would read
the tables of its neighbour ``exp1``. So every Parquet file is opened here, and a test refuses any other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def read_parquet(path: str | Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a Parquet file.

    Parameters
    ----------
    columns : sequence of str, optional
        By default all.

    >>> import tempfile
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory(suffix="[1]") as folder:
    ...     pl.DataFrame({"a": [1, 2]}).write_parquet(f"{folder}/table.parquet")
    ...     read_parquet(f"{folder}/table.parquet").rows()
    [(1,), (2,)]
    """
    import polars as pl

    return pl.read_parquet(path, columns=None if columns is None else list(columns), glob=False)


def scan_parquet(path: str | Path | Sequence[Path], schema: Mapping[str, Any] | None = None) -> pl.LazyFrame:
    """Open a Parquet file, or several of one schema, of which only what is asked for is read.

    Parameters
    ----------
    schema : mapping of str to polars type, optional
        By default the first file's.
    """
    import polars as pl

    return pl.scan_parquet(path, glob=False, schema=None if schema is None else dict(schema))
