"""Columns of dates, by their type or as they are written."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

_DOTTED = r"^\d{1,2}\.\d{1,2}\.\d{4}( \d{2}:\d{2}(:\d{2})?)?$"
"""Day, month and year, as 31.12.2023: with points they have one order everywhere, with strokes they have two."""
STROKED = r"^\d{1,2}/\d{1,2}/\d{2,4}\b"
"""Dates with strokes, which are not read."""
_FORM = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"


def _dotted(text: str) -> datetime:
    day, _, time = text.partition(" ")
    date, parts = datetime.strptime(day, "%d.%m.%Y"), [int(part) for part in time.split(":") if part]
    return date.replace(**dict(zip(("hour", "minute", "second"), parts, strict=False)))


_WRITTEN = {_FORM: datetime.fromisoformat, _DOTTED: _dotted}
"""Forms of dates that are written as text, and what reads each."""


def read_dates(series: pl.Series) -> pl.Series | None:
    """Read dates without a zone, with the time of UTC where one is given; None if the column holds anything else.

    Text that is nothing but dates in the form of ISO 8601, or nothing but dates like 31.12.2023, is read as dates,
    because CSV and JSON have no other way to give them.
    """
    if isinstance(series.dtype, pl.Datetime):
        zoned = series.dtype.time_zone is not None
        return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zoned else series
    if series.dtype == pl.Date:
        return series.cast(pl.Datetime("us"))
    if series.dtype != pl.String or series.null_count() == len(series):
        return None
    written = next((read for form, read in _WRITTEN.items() if series.str.contains(form).all()), None)
    if written is None:
        return None
    try:
        read = {text: written(text) for text in series.drop_nulls().unique().to_list()}
    except ValueError:  # a day that no calendar has
        return None
    plain = {
        text: value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        for text, value in read.items()
    }
    return pl.Series([None if text is None else plain[text] for text in series.to_list()], dtype=pl.Datetime("us"))
