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
from miscal.findings.conditions import Stored
from miscal.runs.monitor.basis import Basis
from miscal.runs.monitor.direction_sums import DirectionSums
from miscal.runs.monitor.lines import COLUMNS, FEATURE, FINDING, GAIN, LEVEL, REGIME, RISE, VALUE, Line
from miscal.runs.monitor.questions import BETS, HIDDEN, INPUTS, RAW, RAW_HIDDEN, RAW_TOTAL, TOTAL

_MOST = 1e15
"""Beyond it, sums of squares could overflow; no monitor comes near."""

_Bounded = Annotated[float, Field(ge=-_MOST, le=_MOST)]
_Positive = Annotated[float, Field(ge=0, le=_MOST)]
_Count = Annotated[int, Field(ge=0, le=int(_MOST))]
_Some = Annotated[int, Field(ge=1, le=int(_MOST))]
_Error = Annotated[float, Field(gt=0, le=1)]
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


class KeptCapital(Part):
    """A :class:`~miscal.evidence.betting.Capital`, as it is written."""

    log_active: tuple[_Bounded, ...]
    steps: _Positive
    log_peak: _Positive


class KeptQuestion(Part):
    """A :class:`~.questions.MonitorQuestion`, as it is written."""

    key: str
    kind: Literal["raw_total", "raw_hidden", "total", "hidden", "inputs", "unsupported"]
    label: str
    side: Literal["change", "advice", "raw"]
    share: _Error | None
    tolerance: _Positive
    course: tuple[_Bounded, ...]
    crossed: _Some | None
    capital: KeptCapital

    def fits(self, looks: int) -> bool:
        """Whether the parts of the question fit together, and the number of looks."""
        return (
            len(self.capital.log_active) == BETS[self.kind]
            and len(self.course) == looks
            and (self.crossed or 0) <= looks
            and (self.share is None) == (self.side == RAW)
            and (self.kind != "unsupported" or 0 < self.tolerance < 1)
        )


class KeptLine(Part):
    """A :class:`~.lines.Line`, as it is written, without its history."""

    key: str
    kind: Literal["gain", "level", "slope", "feature", "regime", "finding", "rise", "value"]
    label: str
    share: _Error
    before: _Shift
    error: _Positive
    ordinary: Annotated[float, Field(ge=0, le=10)]
    place: _Count | None
    sign: Literal["over", "under"] | None
    condition: Stored | None
    about: tuple[_Bounded, _Positive]
    course: tuple[_Bounded, ...]
    crossed: _Some | None
    log_active: tuple[_Bounded, ...]

    def fits(self, looks: int, coordinates: int) -> bool:
        """Whether the parts of the line fit together, and the numbers of looks and coordinates."""
        named = self.sign is not None and (self.kind not in (FINDING, RISE) or self.place is not None)
        return (
            len(self.log_active) == Line.bets(self.kind)
            and len(self.course) == looks
            and (self.crossed or 0) <= looks
            and self.about[1] > 0
            and (named or self.kind not in (REGIME, FINDING, RISE))
            and (self.kind != FEATURE or (self.place is not None and self.place < coordinates))
            and (self.kind in (FINDING, VALUE) if self.condition else self.kind != VALUE)
        )


class Kept(Part):
    """The part of a state that is JSON."""

    model: tuple[str, ...]
    group: str | None
    given_tolerance: _Positive | None
    alpha: _Error
    tolerance: _Positive
    questions: tuple[KeptQuestion, ...]
    layout: Literal[2]
    lines: Annotated[tuple[KeptLine, ...], Field(min_length=1)]
    together: dict[str, _Error]
    course: tuple[_Bounded, ...]
    crossed: _Some | None
    looks: Annotated[tuple[Look, ...], Field(min_length=1)]
    left_out: tuple[str, ...]
    by_id: bool

    @model_validator(mode="after")
    def _fits(self) -> Self:
        keys = [one.key for one in (*self.questions, *self.lines)]
        looks = len(self.looks)
        _require(len(set(keys)) == len(keys), "a question is there twice")
        _require({RAW_TOTAL, RAW_HIDDEN, TOTAL, HIDDEN} <= set(keys), "a question is missing")
        _require(all(one.kind in (one.key, one.key.partition(":")[0]) for one in self.questions), "a question is wrong")
        _require(all(one.fits(looks) for one in self.questions), "a question does not fit the looks")
        _require({GAIN, LEVEL} <= set(keys), "a line is missing")
        _require(all(one.kind == one.key.partition(":")[0] for one in self.lines), "a line is wrong")
        _require(len(self.course) == looks and (self.crossed or 0) <= looks, "the course does not fit the looks")
        columns = {one.condition.columns[0] for one in self.lines if one.condition is not None}
        _require(set(self.together) <= columns, "columns and values differ")
        return self


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)


def check_arrays(
    kept: Kept, basis: Basis, learned: dict[str, DirectionSums], reference: NDArray, seen: Iterable[NDArray]
) -> None:
    """Refuse arrays that do not fit together.

    Parameters
    ----------
    kept : Kept
        What goes with them.
    basis : Basis
    learned : dict of str to DirectionSums
        By question.
    reference : (m, k + 1) float32
    seen : iterable of (n,) uint64
        Digests of groups and of rows, in rising order.

    Raises
    ------
    ValueError
        Naming what does not fit.
    """
    d, k = basis.mean.size, basis.spread.size
    shapes = {"mean": (d,), "scale": (d,), "components": (k, d), "spread": (k,), "confidence": (2,)}
    for name, shape in shapes.items():
        _require(_numbers(getattr(basis, name), shape), f"the {name} of the coordinates")
    _require(min(basis.scale.min(), basis.spread.min(), basis.confidence[1]) > 0, "a scale that is not positive")
    _require(_numbers(reference, (len(reference), k + 1), np.float32), "rows of the run")
    widths = {RAW_TOTAL: 2, TOTAL: 2, HIDDEN: k + 3, INPUTS: 2 * (k + 1)}
    _require(set(learned) == set(widths), "what was learned")
    for key, width in widths.items():
        both = learned[key].gram, learned[key].moment
        _require(_numbers(both[0], (width, width)) and _numbers(both[1], (width,)), f"what was learned of {key}")
        _require(max(np.abs(one).max() for one in both) <= _MOST, f"what was learned of {key}")
    _require(all(one.fits(len(kept.looks), k) for one in kept.lines), "a line that does not fit the looks")
    for keys in seen:
        _require(keys.dtype == np.uint64 and keys.ndim == 1, "digests of rows")
        _require(bool((keys[1:] >= keys[:-1]).all()), "digests of rows that are out of order")


def checked_history(history: NDArray, lines: int, looks: int) -> NDArray[np.float64]:
    """Return the histories of all lines, unless they do not fit together.

    Raises
    ------
    ValueError
        Naming what does not fit.
    """
    _require(_numbers(history, (lines, looks, len(COLUMNS))), "the history of the lines")
    _require(bool(np.abs(history).max() <= _MOST), "the history of the lines")
    rows, units, right, confidence, corrected, hidden, moment, information, squares = np.moveaxis(history, -1, 0)
    whole = (units >= 0) & (units <= rows) & (np.abs(hidden) <= units) & (np.abs(moment) <= units)
    whole &= (information >= 0) & (information <= units) & (squares >= 0) & (squares <= units)
    for sums in (right, confidence, corrected):
        whole &= (sums >= 0) & (sums <= rows)
    _require(bool(whole.all()), "the history of the lines")
    return history


def _numbers(array: NDArray, shape: tuple[int, ...], kind: type = np.float64) -> bool:
    return array.shape == shape and array.dtype == kind and bool(np.isfinite(array).all())
