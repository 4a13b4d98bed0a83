"""What every way of shifting the log-probabilities of several classes takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from miscal.data.triples import InputLayout

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
State = tuple[dict[str, Any], dict[str, np.ndarray]]
"""What a saved way consists of: JSON values, and arrays."""


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows of several classes to learn from.

    Attributes
    ----------
    X : (n, d)
        Inputs, as the readers make them.
    layout : InputLayout
    code : (n,) int64
        Place of each row's class.
    base : (n, K) float64
        Log-probabilities by the global map, out of fold.
    raw : (n, K) float64
        Log-probabilities as they were given.
    folds : (n,) int64
        By which every way is cross-fitted.
    weight : (n,) float64
        Numbers of rows.
    groups : (n,) array or None
        Rows of equal value hang together.
    seed : int
    """

    X: NDArray
    layout: InputLayout
    code: Ints
    base: Floats
    raw: Floats
    folds: Ints
    weight: Floats
    groups: NDArray | None
    seed: int

    def __len__(self) -> int:
        return len(self.code)

    @property
    def numbers(self) -> NDArray:
        """The columns of X that are numbers: codes of levels have no order."""
        return self.X[:, : self.layout.places + self.layout.numbers]


class Shift(Protocol):
    """A fitted way.

    Attributes
    ----------
    kind : str
        Which way it is, in a saved correction.
    """

    kind: ClassVar[str]

    def at(self, X: NDArray, base: Floats, raw: Floats) -> Floats:
        """Shift of the log-probabilities of rows, (n, K), before they are normalised again.

        `base` are those by the global map, (n, K), and `raw` those that were given.
        """
        ...

    def state(self) -> State:
        """Return everything learned."""
        ...

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a fitted way from what :meth:`state` returned."""
        ...


@dataclass(frozen=True, eq=False)
class CrossFittedShift:
    """A way, fitted to all rows, and its shifts of these rows by fits that have not seen them.

    Attributes
    ----------
    name : str
    member : Shift
    shift : (n, K) float64
    settings : dict
        What was chosen.
    """

    name: str
    member: Shift
    shift: Floats
    settings: dict[str, Any]
