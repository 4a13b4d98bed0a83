"""Say what is wrong with rows: row by row, or of new rows once where a whole column has another unit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from miscal.base.arrays import row_list, value_list
from miscal.base.checks import other_unit
from miscal.base.errors import InputError, argument

_REMEDY = (
    f"correct them, or leave such rows out with {argument('on_invalid', 'drop')}, or keep them, with the global map's "
    "value, "
    f"with {argument('on_invalid', 'null')}"
)

_WRITTEN = {
    r"^\s*-?[\d.,]+\s*%\s*$": "these are percentages: write decimals with a point, no sign, and divide by 100",
    r"^\s*-?\d*,\d+\s*$": "write decimals with a point in place of the comma",
}
"""Numbers in another form, and how to fix them."""


@dataclass
class RowFaults:
    """What is wrong with which rows; the first fault of a row is its reason.

    Attributes
    ----------
    row : int64 array of shape (n,)
        Row numbers in the source, from 0, for messages.
    found : list of (str, bool array of shape (n,), str, str)
        As :meth:`add` takes them.
    """

    row: np.ndarray
    found: list[tuple[str, np.ndarray, str, str]] = field(default_factory=list)

    def add(self, name: str, bad: np.ndarray, what: str, reason: str) -> None:
        """Note rows: what they are in a message about column `name`, and the reason that a row of its own is given."""
        if bad.any():
            self.found.append((name, bad, what, reason))

    def any(self) -> np.ndarray:
        """Rows with a fault, bool (n,)."""
        return np.logical_or.reduce([bad for _, bad, *_ in self.found]) if self.found else np.zeros(len(self.row), bool)

    def refuse(self, remedy: str = _REMEDY) -> None:
        """Raise for the first fault."""
        for name, bad, what, _ in self.found[:1]:
            raise InputError(
                f"{name}: {int(bad.sum())} of {len(bad)} values are {what} ({row_list(bad, self.row)}); {remedy}"
            )

    def reasons(self) -> np.ndarray:
        """Reason by row, (n,) of str, None where there is no fault."""
        out = np.full(len(self.row), None, dtype=object)
        for _, bad, _, reason in reversed(self.found):
            out[bad] = reason
        return out

    def counts(self) -> dict[str, int]:
        """Rows by reason."""
        left, out = np.full(len(self.row), True), {}
        for _, bad, _, reason in self.found:
            own = int((bad & left).sum())
            if own:
                out[reason] = own
            left &= ~bad
        return out


def numbers_in(
    series: pl.Series, name: str, typed: bool, faults: RowFaults, said: str, *, blanks: bool = False
) -> np.ndarray:
    """Read a column as float64, NaN where it holds no number; `blanks` says that these are no faults."""
    dtype = series.dtype
    if dtype == pl.String and not typed:
        return _parse_numbers(series, name, faults, said, blanks=blanks)
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        kind = "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else str(dtype)
        shown = f" ({value_list(series.head(3).to_list())})" if dtype == pl.String else ""
        if shown and series.str.strip_chars().cast(pl.Float64, strict=False).null_count() < len(series):
            shown = f" that looks like numbers{shown}: store it as numbers"
        raise InputError(f"{name} must be numbers; got {kind}{shown}")
    values = series.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    if not blanks:
        faults.add(name, np.isnan(values), "missing", f"{said} is missing")
    return values


def _parse_numbers(series: pl.Series, name: str, faults: RowFaults, said: str, *, blanks: bool) -> np.ndarray:
    # truth values in any case: pandas writes True, R and Excel TRUE
    text = series.str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0"})
    values = text.cast(pl.Float64, strict=False)
    missing = (series.is_null() | (text == "") | values.is_nan().fill_null(False)).fill_null(True).to_numpy()
    words = values.is_null().to_numpy() & ~missing
    if words.sum() > len(words) / 2:
        raise InputError(words_among_numbers(series, words, name, faults.row))
    if not blanks:
        faults.add(name, missing, "missing", f"{said} is missing")
    faults.add(
        name, words, f"not numbers, such as {value_list(series.filter(words).to_list())}", f"{said} is no number"
    )
    return values.fill_null(np.nan).to_numpy().copy()


def words_among_numbers(series: pl.Series, words: np.ndarray, name: str, row: np.ndarray) -> str:
    """Say which values of a column of text are no numbers, in which rows they stand, and what they are meant for."""
    held = series.filter(words)
    meant = next((f"; {remedy}" for form, remedy in _WRITTEN.items() if held.str.contains(form).all()), "")
    return (
        f"{name} must be numbers; {int(words.sum())} of {len(series)} values are not: {value_list(held.to_list())} "
        f"({row_list(words, row)}){meant}"
    )


def lists_not_finite(series: pl.Series) -> np.ndarray:
    """Rows whose list holds NaN or infinity, bool (n,)."""
    inner = series.cast(pl.List(pl.Float64)).fill_null([])
    return inner.list.eval(~pl.element().is_finite().fill_null(False)).list.any().fill_null(False).to_numpy()


def refuse_other_unit(name: str, values: np.ndarray, outside: np.ndarray, row: np.ndarray, column: str) -> None:
    """Refuse a column in another unit as a whole: row by row, those that happen to lie in [0, 1] would be corrected."""
    if not len(values) or not (other_unit(values) or outside.sum() > len(values) / 2):
        return
    remedy = other_unit(values) or f"correct them, or name another column with {argument(column)}"
    found = f"from {values.min():.6g} to {values.max():.6g}"
    raise InputError(
        f"{name} must lie in [0, 1]; got {int(outside.sum())} of {len(outside)} values outside it, {found} "
        f"({row_list(outside, row)}); {remedy}"
    )
