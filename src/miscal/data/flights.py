"""The packaged example of events: flights, and the risk of delay that a small model predicts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miscal.data.triples import Triples

COLUMNS: dict[str, Any] = {
    "probability": "predicted_delay_risk",
    "event": "delayed",
    "features": "auto",
    "time": "departure",
    "group": "departure:day",
}
"""Which columns play which part. The flights of a day hang together: they share its weather."""


def path() -> Path:
    """Return the path of the packaged file."""
    return Path(str(files("miscal") / "data" / "flights.parquet"))


def load(seed: int = 0) -> Triples:
    """Return 10,000 flights out of New York, April to June 2013, and the predicted risk of delay.

    They are of kind "event", in groups by day: confidence is the predicted risk; correct is 1 where a flight left more
    than 15 minutes late or was cancelled. X holds carrier, airports, hour, weekday, distance, weather and plane.

    Examples
    --------
    >>> flights = load()
    >>> len(flights), flights.kind, len(set(flights.group))
    (10000, 'event', 91)
    """
    from miscal.data.readers.read import read_triples

    return read_triples(path(), **COLUMNS, seed=seed)
