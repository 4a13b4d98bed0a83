"""Turn arrays of every kind into numpy exactly, or refuse them by name."""

from __future__ import annotations

import difflib
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.errors import InputError

if TYPE_CHECKING:
    import polars as pl

SHOWN, SHOWN_IN_WARNING = 5, 3
"""How many row numbers or values a message lists; values, where it is no error."""


def row_blocks(n: int, width: int, *, values: int = 1 << 22) -> Iterator[slice]:
    """Cut the rows of an (n, width) array into blocks of so many values, so that work on them needs little memory."""
    step = max(1, values // width)
    return (slice(start, start + step) for start in range(0, n, step))


# --- messages -----------------------------------------------------------------------------------------------------


def row_list(bad: np.ndarray, rows: np.ndarray | None = None) -> str:
    """Name the first rows where `bad` is true, by numbers that are counted from 0.

    Parameters
    ----------
    bad : bool array of shape (n,)
        The rows to name.
    rows : int array of shape (n,), optional
        Row numbers in the caller's file; positions from 0 by default.

    >>> row_list(np.array([False, True, True]))
    'rows 1, 2, counted from 0'
    >>> row_list(np.ones(7, bool))
    'rows 0, 1, 2, 3, 4, ..., counted from 0'
    """
    index = np.flatnonzero(bad)
    shown = index[:SHOWN] if rows is None else np.asarray(rows)[index[:SHOWN]]
    more = ", ..." if len(index) > SHOWN else ""
    return ("row " if len(index) == 1 else "rows ") + ", ".join(str(int(i)) for i in shown) + more + ", counted from 0"


def value_list(values: Any, most: int = SHOWN) -> str:
    """Write the first distinct values for a message, strings quoted and shortened.

    >>> value_list(["a", 2.0, True])
    "'a', 2, True"
    """
    distinct = list(dict.fromkeys(map(quoted, values)))
    return ", ".join(distinct[:most]) + (f", ... ({len(distinct)} in all)" if len(distinct) > most else "")


def quoted(value: Any) -> str:
    """Write a value for a message in at most forty characters, a string quoted."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def counted(n: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that `name` is probably a slip of the pen for: at most a third of the letters differ.

    Parameters
    ----------
    names : iterable of str
        Compared without regard to upper and lower case.

    >>> nearest("confidense", ["id", "Confidence"]), nearest("new", ["uni"])
    ('Confidence', None)
    """
    lowered = {one.lower(): one for one in names}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.66)
    return lowered[near[0]] if near else None


def did_you_mean(name: Any, names: Iterable[str], *, aside: bool = False) -> str:
    """Return the end of a message that asks for the nearest of several names; empty where none is near.

    With `aside` it stands in brackets, for the middle of a sentence.

    >>> did_you_mean("confidense", ["id", "Confidence"]), did_you_mean("new", ["uni"])
    ("; did you mean 'Confidence'?", '')
    >>> did_you_mean("confidense", ["id", "Confidence"], aside=True)
    " (did you mean 'Confidence'?)"
    """
    near = nearest(str(name), names)
    if not near:
        return ""
    return f" (did you mean {near!r}?)" if aside else f"; did you mean {near!r}?"


# --- conversion ---------------------------------------------------------------------------------------------------


def is_frame(values: Any) -> bool:
    """Whether `values` is a table (pandas, polars, pyarrow) rather than an array."""
    return (hasattr(values, "columns") or _arrow(values)) and not isinstance(values, np.ndarray)


def _arrow(values: Any) -> bool:
    """Tell a batch or stream of pyarrow by its name, so that pyarrow need not be installed."""
    kind = type(values)
    return kind.__module__.startswith("pyarrow") and kind.__name__ in ("RecordBatch", "RecordBatchReader")


def without_batches(values: Any) -> Any:
    """Return a batch or stream of pyarrow as its table, and anything else as it is.

    >>> import pyarrow
    >>> without_batches(pyarrow.RecordBatch.from_pydict({"x": [1]})).column_names, without_batches([1])
    (['x'], [1])
    """
    if not _arrow(values):
        return values
    import pyarrow

    return values.read_all() if hasattr(values, "read_all") else pyarrow.Table.from_batches([values])


def _from_torch(values: Any, name: str) -> np.ndarray:
    if str(values.layout) != "torch.strided":
        raise InputError(f"{name} is a sparse torch tensor ({values.layout}); give a dense one: {name}.to_dense()")
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) in ("torch.bfloat16", "torch.float16") else values).numpy()


def _from_series(values: Any, name: str) -> np.ndarray | None:
    """Convert a pandas, polars or pyarrow series, NaN for missing; None if it is not a series."""
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    if not (series.dtype.is_numeric() or series.dtype in (nw.Boolean, nw.Object, nw.Categorical, nw.Unknown)):
        # a column of nothing but missing values may come typed as text
        null = series.dtype == nw.String and len(series) > 0 and series.is_null().all()
        if not null:
            raise _dtype_error(name, str(series.dtype), series.drop_nulls().head(1).to_list())
    missing = series.is_null().to_numpy()
    if not missing.any():
        return np.asarray(series.to_numpy())
    out = np.full(len(series), np.nan)
    kept = numeric(np.asarray(series.drop_nulls().to_numpy()), name)
    out[~missing] = kept
    return out


def column_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Take one column of a polars table, by its exact name, as a series without a name.

    Polars takes names such as ``*`` and ``^a$`` for patterns wherever they stand in an expression, and most methods of
    a series are expressions on its name. Columns that a user has named are therefore taken by this function alone.
    Whole numbers that no number of 64 bits holds exactly are texts, which lose nothing: they name something.

    >>> import polars as pl
    >>> column_of(pl.DataFrame({"^a$": [1, None], "a": [2, 3]}), "^a$").is_null().to_list()
    [False, True]
    >>> wide = pl.DataFrame({"hash": [2**70 + 1], "size": [2**70]})
    >>> column_of(wide, "hash").to_list(), column_of(wide, "size").to_list()
    (['1180591620717411303425'], [1.1805916207174113e+21])
    """
    series = frame.get_column(name).alias("")
    return _in_64_bits(series) if str(series.dtype) in ("Int128", "UInt128") else series


def _in_64_bits(series: pl.Series) -> pl.Series:
    """Whole numbers of 128 bits, which numpy does not have, as numbers where each is one exactly; else as text."""
    import polars as pl

    for kind in (pl.Int64, pl.UInt64, pl.Float64):
        numbers = series.cast(kind, strict=False)
        if numbers.cast(series.dtype, strict=False).eq_missing(series).all():
            return numbers
    return series.cast(pl.String)


def as_text(series: pl.Series) -> pl.Series:
    """Write values as text, whole numbers without a point: a column of 1, 2 and a blank is read as 1.0 and 2.0.

    >>> import polars as pl
    >>> [as_text(pl.Series(values)).to_list() for values in ([1, 2], [1.0, 2.5, None], ["1.0", "a"])]
    [['1', '2'], ['1', '2.5', None], ['1.0', 'a']]
    """
    import polars as pl

    text = series.cast(pl.String)
    if not (series.dtype.is_float() or series.dtype.is_decimal()):
        return text
    whole = series.cast(pl.Int64, strict=False)
    return whole.cast(pl.String).zip_with((whole == series).fill_null(value=False), text)


def dense_rank(series: pl.Series) -> pl.Series:
    """Rank the distinct values from 1, null where blank; what is no number as text, whose levels alone are sorted.

    >>> import polars as pl
    >>> dense_rank(pl.Series(["b", None, "a", "b"])).to_list()
    [2, None, 1, 2]
    """
    import polars as pl

    if series.dtype.is_numeric():
        return series.rank("dense").cast(pl.Int64)
    series = series.cast(pl.String)
    return series.cast(pl.Enum(series.unique().drop_nulls().sort())).to_physical().cast(pl.Int64) + 1


def without_column(table: Any, column: Any) -> tuple[Any, Any]:
    """Take a column out of a table: a frame's by its name, an array's by its place.

    Parameters
    ----------
    table : frame, or array-like of shape (n, d)

    Returns
    -------
    rest, values
        The table without the column, of the same kind, and the column.

    >>> rest, values = without_column([[1.0, 0.5], [2.0, 0.7]], 1)
    >>> rest.tolist(), values.tolist()
    ([[1.0], [2.0]], [0.5, 0.7])
    """
    if is_frame(table):
        import narwhals as nw

        frame = nw.from_native(without_batches(table))
        if column not in frame.columns:
            hint = did_you_mean(column, frame.columns)
            raise InputError(f"X has no column {column!r}; it has {value_list(frame.columns)}{hint}")
        return frame.drop(column).to_native(), frame[column].to_native()
    array = np.asarray(table)
    if array.ndim != 2 or not isinstance(column, (int, np.integer)) or not -array.shape[1] <= column < array.shape[1]:
        raise InputError(
            f"X is an array of shape {array.shape}, whose columns are named by their place; got {column!r}"
        )
    return np.delete(array, column, axis=1), array[:, column]


def frame_columns(frame: Any) -> dict[str, Any]:
    """Take a table in memory apart, by the names of its columns as text.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table
        A name that is a number is written as text.
    """
    import narwhals as nw

    frame = without_batches(frame)
    given = list(getattr(frame, "column_names", frame.columns))
    # NaN, which pandas makes of None, names nothing
    odd = [name for name in given if not isinstance(name, (str, numbers.Real)) or name != name]
    if odd:
        levels = " of several levels (a MultiIndex)" if isinstance(odd[0], tuple) else ""
        flat = "['_'.join(map(str, name)) for name in frame.columns]" if levels else "[...]"
        raise InputError(
            f"column names must be text; {len(odd)} of {len(given)} are names{levels or ' of other types'}, such as "
            f"{odd[0]!r}: rename them, e.g. frame.columns = {flat}"
        )
    names = [str(name) for name in given]
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise InputError(
            f"column names must be distinct; these occur more than once: {value_list(repeated)}. Rename or drop some"
        )
    if hasattr(frame, "iloc"):
        # what is given is never changed, and pandas would take a number for a row
        frame = frame.copy(deep=False)
        frame.columns = names
    table = nw.from_native(frame, eager_only=True)
    return {name: table[name].to_native() for name in names}


class DtypeError(InputError):
    """An array of some other dtype than numbers; `dtype` names it."""

    def __init__(self, name: str, dtype: str, found: str = "") -> None:
        self.dtype = dtype
        super().__init__(f"{name} must be numbers; its dtype is {dtype}{found}. Convert it first, e.g. astype(float)")


def _dtype_error(name: str, dtype: str, examples: Any = ()) -> DtypeError:
    return DtypeError(name, dtype, f" (first: {value_list(examples)})" if len(examples) else "")


def _from_objects(values: np.ndarray, name: str) -> np.ndarray:
    """Exact conversion of Python numbers; None and pandas.NA become NaN."""
    flat = values.ravel()
    out = np.empty(flat.shape, dtype=np.float64)
    for i, value in enumerate(flat):
        # by name, so that pandas need not be installed
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            out[i] = np.nan
        elif isinstance(value, (numbers.Real, Decimal, np.bool_)):
            try:
                out[i] = float(value)
            except OverflowError:
                # refused with its row by whoever needs finite numbers
                out[i] = np.inf
        else:
            raise DtypeError(name, "object", f" and it holds a {type(value).__name__}: {quoted(value)}")
    return out.reshape(values.shape)


def numeric(values: Any, name: str) -> np.ndarray:
    """`values` as a numpy array of booleans, integers or floats; missing entries become NaN.

    Parameters
    ----------
    values : array-like
        Anything the module accepts, of any number of dimensions.
    name : str
        What messages call it.

    Returns
    -------
    numpy.ndarray
        dtype of kind b, i, u or f. May share memory with `values`; never write to it.

    >>> numeric([1, None, 0.5], "confidence")
    array([1. , nan, 0.5])
    """
    if values is None:
        raise InputError(f"{name} is missing (None); give one number per row")
    if hasattr(values, "tocsr"):
        raise InputError(f"{name} is a sparse matrix ({type(values).__name__}); give a dense one: {name}.toarray()")
    # by name, so that torch is not imported for those who do not use it
    if type(values).__module__.split(".")[0] == "torch" and hasattr(values, "detach"):
        values = _from_torch(values, name)
    elif not isinstance(values, (np.ndarray, list, tuple)):
        series = _from_series(values, name)
        values = values if series is None else series
    try:
        array = np.asarray(values.data if np.ma.isMaskedArray(values) else values)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is not a regular array: {error}") from None
    array, mask = _checked_dtype(array, name), np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None
    return array if mask is None or not mask.any() else np.where(mask, np.nan, array.astype(np.float64))


def _checked_dtype(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype.kind == "O":
        return _from_objects(values, name)
    if values.dtype.kind == "c":
        raise InputError(f"{name} must be real numbers; its dtype is {values.dtype}. Complex data not supported")
    if values.dtype.name.startswith(("bfloat16", "float8")):  # ml_dtypes: numpy has no kind for them
        return values.astype(np.float32)
    if values.dtype.kind not in "biuf":
        raise _dtype_error(name, str(values.dtype), values.ravel()[:1].tolist())
    return values


def leading_eigenvectors(products: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """Return the k largest eigenvalues of a symmetric matrix, the largest first, and their eigenvectors in columns.

    >>> values, vectors = leading_eigenvectors(np.diag([1.0, 3.0, 2.0]), 2)
    >>> values.tolist(), np.abs(vectors).tolist()
    ([3.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    """
    values, vectors = np.linalg.eigh(products)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


def oriented(directions: NDArray) -> NDArray:
    """Turn each column so that its largest entry is positive: a solver may return either of the two signs.

    Of entries that are as large but for a thousandth the first counts, so that rounding decides nothing.

    >>> oriented(np.array([[0.6, 0.8], [-0.8, 0.6]])).tolist()
    [[-0.6, 0.8], [0.8, 0.6]]
    """
    size = np.abs(directions)
    largest = (size >= 0.999 * size.max(0)).argmax(0)
    return directions * np.sign(directions[largest, np.arange(directions.shape[1])])
