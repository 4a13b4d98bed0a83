"""Tables: Parquet by the exact name of its file, and results as the kind of frame that came in, matched by no index.

polars takes ``*``, ``?`` and ``[`` in a path for a pattern unless it is told not to: a run under ``exp[1]`` would read
the tables of its neighbour ``exp1``. So every Parquet file is opened here, and a test refuses any other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from miscal.base.arrays import is_frame
from miscal.base.errors import InputError

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


POLARS = "polars"


def narwhals_frame(source: Any) -> Any:
    """Wrap a frame of any library for narwhals; anything else, and a frame that repeats a name, stays as it is.

    >>> import polars as pl
    >>> narwhals_frame(pl.DataFrame({"x": [1]})).columns, narwhals_frame([1])
    (['x'], [1])
    """
    import narwhals as nw

    try:
        return nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError:
        # repeated names are refused where the columns are taken
        return source


@dataclass(frozen=True)
class FrameKind:
    """The kind of frame that results are given in.

    Attributes
    ----------
    backend : str
        "pandas", "polars", "pyarrow" or another library that narwhals can build frames of.
    index : pandas.Index or None
        Of all rows that came in; results about rows carry theirs.

    >>> import pandas as pd
    >>> import polars as pl
    >>> kind = FrameKind.of(pd.DataFrame({"x": [5, 6, 7]}, index=["a", "b", "c"]))
    >>> kind.frame(pl.DataFrame({"delta": [0.1, 0.2]}), np.array([2, 0])).index.tolist()
    ['c', 'a']
    """

    backend: str = POLARS
    index: Any = None

    @classmethod
    def of(cls, source: Any) -> FrameKind:
        """Tell the kind of what came in; polars for files, arrays and dictionaries."""
        if not is_frame(source) or isinstance(source, Mapping):
            return cls()
        import narwhals as nw

        frame = narwhals_frame(source)
        if not isinstance(frame, nw.DataFrame):
            return cls()
        return cls(str(frame.implementation), getattr(frame.to_native(), "index", None))

    def frame(self, table: pl.DataFrame, row: np.ndarray | None = None) -> Any:
        """Return a polars table as this kind of frame.

        Parameters
        ----------
        row : int array of shape (n,), optional
            Which row that came in each row of the table is about: a pandas frame then carries their index.
        """
        if self.backend == POLARS:
            return table
        if self.backend == "pyarrow":
            import polars as pl

            return table.to_arrow(compat_level=pl.CompatLevel.oldest())
        import narwhals as nw

        columns = {name: _values(table.get_column(name)) for name in table.columns}
        if self.backend != "pandas":
            return nw.from_dict(columns, backend=self.backend).to_native()
        import pandas as pd

        index = None if self.index is None or row is None else self.index.take(row)
        return pd.DataFrame(columns, index=index)


def _values(series: pl.Series) -> np.ndarray:
    """Values for a library that knows no lists or structures; its numbers are NaN where one is missing."""
    if not (
        series.dtype.is_numeric() or series.dtype.is_temporal() or (series.dtype == bool and not series.has_nulls())
    ):
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return values
    return series.to_numpy()


def refuse_other_order(arrays: Mapping[str, Any]) -> None:
    """Refuse values that carry the index of others in another order: rows are matched by their place.

    Parameters
    ----------
    arrays : mapping of str to array-like
        By what the message calls them, each with an index of its own or without.

    >>> import pandas as pd
    >>> data, f = pd.DataFrame({"x": [1, 2, 3]}), pd.Series([0.5, 0.6, 0.7], index=[2, 0, 1])
    >>> refuse_other_order({"data": data, "confidence": f})
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: confidence has the index of data in another order, ...
    """
    first = index = None
    for name, values in arrays.items():
        own = getattr(values, "index", None)
        # of lists and tuples it is a method
        if own is None or callable(own):
            continue
        if index is None:
            first, index = name, own
        elif len(own) == len(index) and not own.equals(index) and own.is_unique and index.isin(own).all():
            raise InputError(
                f"{name} has the index of {first} in another order, and values are matched by their place, never by an "
                f"index: give {name}.loc[{first}.index], or {name}.to_numpy() if the places are right as they are"
            )
