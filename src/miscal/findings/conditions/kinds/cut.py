"""The rows at one end of the estimated hidden field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from miscal.base.number_wording import percent
from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame


@dataclass(frozen=True)
class Cut(Condition):
    """The rows at one end of the hidden field: ``"the 10 % of rows with the lowest estimated hidden residual"``.

    Attributes
    ----------
    end : {"lowest", "highest"}
    share : float in (0, 1)
        Of the rows of each block of the run.
    bound : float
        Of new rows, whose hidden field the saved model estimates: those at most `bound` (or at least, at the highest
        end). It is the quantile of the honest hidden field of the run.
    blocks : tuple of (int, float)
        Of the rows of the run: the number of each block that was judged, and its own bound.
    drawn : tuple of int
        Rows of the run at the bound of their block that belong to the cut; of rows with one value, some were drawn.

    Examples
    --------
    >>> worst = Cut("lowest", 0.1, -0.2, ((1, -0.25),), (7,))
    >>> worst.rows(Frame(3, hidden=np.array([-0.3, -0.2, 0.1]))).tolist()
    [True, True, False]
    """

    kind: ClassVar[str] = "cut"
    on_field: ClassVar[bool] = True
    end: Literal["lowest", "highest"]
    share: float
    bound: float
    blocks: tuple[tuple[int, float], ...]
    drawn: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def wording(self) -> Wording:
        return Wording("", f"the {percent(self.share)} of rows with the {self.end} estimated hidden residual")

    @property
    def phrase(self) -> str:
        return self.words

    def lacks(self, frame: Frame) -> str | None:
        return "the hidden residual of the rows is not estimated" if frame.hidden is None else None

    def rows(self, frame: Frame) -> Mask:
        side = 1 if self.end == "lowest" else -1
        hidden = side * frame.hidden
        if frame.block is None or frame.row is None:
            return hidden <= side * self.bound
        inside = np.isin(frame.row, self.drawn)
        for block, bound in self.blocks:
            inside |= (frame.block == block) & (hidden < side * bound)
        return inside
