"""What the state of a monitor holds, with types and limits.

Checksums protect a state against damage, not against somebody who renews them. So what does not fit together is refused
before anything is computed from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from miscal.discovery.summary import Part, Share
from miscal.runs.monitor.questions import COLUMNS, FINDING, GAIN, LEVEL, MEANS, THRESHOLD

_MOST = 1e15
"""Beyond it, sums of squares could overflow; no monitor comes near."""

_Some = Annotated[int, Field(ge=1, le=int(_MOST))]
_Count = Annotated[int, Field(ge=0, le=int(_MOST))]
_Shift = Annotated[float, Field(ge=-100, le=100)]


@dataclass(frozen=True)
class Look:
    """One look, as told and as recognised.

    Attributes
    ----------
    source : str
        Name of the file.
    at : str or None
        What the user said of its date.
    rows, units, dropped : int
    ordered, content : str
        Digests of the rows in their order and in any order.
    accuracy, confidence, corrected : float
        Means over the rows.
    brier_raw, brier_corrected : float
    unsupported : float
        Share of rows.
    returning : int
        Rows of groups that came before.
    """

    source: str
    at: str | None
    rows: _Some
    units: _Some
    dropped: _Count
    ordered: str
    content: str
    accuracy: Share
    confidence: Share
    corrected: Share
    brier_raw: Share
    brier_corrected: Share
    unsupported: Share
    returning: _Count


@dataclass(frozen=True, eq=False)
class Grid:
    """Mean and standard deviation of each column of inputs at the first look, in steps of which rows are alike.

    Attributes
    ----------
    mean, scale : (d,) float64
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @staticmethod
    def of(X: np.ndarray) -> Grid:
        """Measure the columns of rows."""
        X = np.asarray(X, dtype=np.float64)
        scale = X.std(0)
        return Grid(X.mean(0), np.where(scale > 1e-12, scale, 1.0))


class KeptQuestion(Part):
    """A :class:`~.questions.Question`, as it is written, without its history."""

    key: str
    kind: Literal["gain", "level", "finding", "threshold"]
    label: str
    error: Annotated[float, Field(gt=0, lt=1)]
    allowed: tuple[_Shift | None, _Shift]
    factor: Annotated[float, Field(ge=1, le=1e6)]
    place: _Count | None
    threshold: Share | None
    above: bool
    centre: _Shift | None
    broken: tuple[_Some, _Some] | None

    def fits(self, looks: int) -> bool:
        """Whether the parts of the question fit together, and the number of looks."""
        low, high = self.allowed
        since, shown = self.broken or (1, 1)
        return (
            self.kind == self.key.partition(":")[0]
            and (low is None) == (self.kind == GAIN)
            and (low is None or low <= high)
            and since <= shown <= looks
            and (self.place is not None) == (self.kind == FINDING)
            and (self.threshold is not None) == (self.kind == THRESHOLD)
        )


class Kept(Part):
    """The part of a state that is JSON."""

    model: tuple[str, ...]
    group: str | None
    tolerance: Share | None
    layout: Literal[3]
    questions: tuple[KeptQuestion, ...]
    looks: Annotated[tuple[Look, ...], Field(min_length=1)]
    left_out: tuple[str, ...]
    known: _Count
    by_id: bool

    @model_validator(mode="after")
    def _fits(self) -> Self:
        keys = [one.key for one in self.questions]
        _require(len(set(keys)) == len(keys), "a question is there twice")
        _require({GAIN, LEVEL} <= set(keys), "a question is missing")
        _require(all(one.fits(len(self.looks)) for one in self.questions), "a question does not fit")
        return self


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)


def check_arrays(kept: Kept, grid: Grid, history: NDArray, seen: Iterable[NDArray]) -> None:
    """Refuse arrays that do not fit together.

    Parameters
    ----------
    kept : Kept
        What goes with them.
    grid : Grid
    history : (questions, looks, 13) float64
    seen : iterable of (n,) uint64
        Digests of groups and of rows, in rising order.

    Raises
    ------
    ValueError
        Naming what does not fit.
    """
    for name, array in vars(grid).items():
        _require(_numbers(array, grid.mean.shape), f"the {name} of the inputs")
    _require(grid.mean.ndim == 1 and bool((grid.scale > 0).all()), "the scale of the inputs")
    _require(_numbers(history, (len(kept.questions), len(kept.looks), len(COLUMNS))), "the history of the questions")
    of = dict(zip(COLUMNS, np.moveaxis(history, -1, 0), strict=True))
    rows, units = of["rows"], of["units"]
    whole = (units >= 0) & (units <= rows) & (rows <= _MOST) & (np.abs(history).max(-1) <= _MOST)
    for name in set(COLUMNS) - {"total", "cross"}:
        whole &= of[name] >= 0
    for name in MEANS:
        whole &= of[name] <= rows * (1 + 1e-9)
    _require(bool(whole.all()), "the history of the questions")
    for keys in seen:
        _require(keys.dtype == np.uint64 and keys.ndim == 1, "digests of rows")
        _require(bool((keys[1:] >= keys[:-1]).all()), "digests of rows that are out of order")


def _numbers(array: NDArray, shape: tuple[int, ...]) -> bool:
    return array.shape == shape and array.dtype == np.float64 and bool(np.isfinite(array).all())
