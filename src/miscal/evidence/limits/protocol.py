"""What a limit of the certificate is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.survey_design import SurveyDesign, shares
from miscal.evidence.blocks import in_turn
from miscal.evidence.settings import EvidenceSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Bound:
    """A lower bound of a mean absolute miscalibration.

    Attributes
    ----------
    value : float in [-1, 1]
        Its estimate; may be negative where there is nothing to find.
    low : float in [0, 1]
        One-sided lower confidence limit: the number to quote. 0 where nothing is shown.
    p_value : float in [0, 1]
        One-sided, of the hypothesis named in :func:`miscal.evidence.certificates.certificate`.
    """

    value: float
    low: float
    p_value: float

    @property
    def interval(self) -> tuple[float, float]:
        """``(low, 1)``."""
        return self.low, 1.0


NOTHING_CLAIMED = Bound(0.0, 0.0, 1.0)
"""The bound where the field claims nothing: there is nothing to test."""


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Checked rows that nothing was learned from, each an array of float64 of shape (n,).

    Attributes
    ----------
    correct : 0 or 1
        Outcomes.
    confidence : in [0, 1]
    delta : in [-1, 1]
        Estimated field; positive: under-confident. It was fixed before any of these outcomes was looked at.
    hidden : in [-1, 1]
        Its hidden part; same sign convention.
    expected : in [0, 1]
        mu(f), an estimate of E[y | f] from other rows.
    block : int64, or None
        Rows with a smaller number were tested before, and the field of a block was learned from earlier blocks only
        (and from rows that are not here): see :mod:`miscal.evidence.blocks`. None: one block.
    design : SurveyDesign, or None
        Rows whose outcomes hang together, each group within one block, and how much each counts. None: all rows are
        independent and count alike.
    """

    correct: Floats
    confidence: Floats
    delta: Floats
    hidden: Floats
    expected: Floats
    block: Ints | None = None
    design: SurveyDesign | None = None

    @property
    def weight(self) -> Floats | None:
        """How much each row counts, 1 on average; None where all count alike."""
        if self.design is None or self.design.weight is None:
            return None
        return shares(self.design.weight, len(self.correct)) * len(self.correct)

    def in_turn(self) -> list[UnseenRows]:
        """Return the rows of each block, the blocks in the order in which they are tested."""
        if self.block is None:
            return [self]
        parts = in_turn(self.block)
        return [self._take(rows) for rows in parts] if len(parts) > 1 else [self]

    def _take(self, rows: Ints) -> UnseenRows:
        arrays = ("correct", "confidence", "delta", "hidden", "expected")
        design = None if self.design is None else self.design.take(rows)
        return replace(self, **{name: getattr(self, name)[rows] for name in arrays}, block=None, design=design)


class Limit(Protocol):
    """A lower limit of a mean absolute miscalibration."""

    def __call__(self, rows: UnseenRows, settings: EvidenceSettings, rng: np.random.Generator) -> Bound:
        """Bound the miscalibration from below.

        Parameters
        ----------
        rows : UnseenRows
        settings : EvidenceSettings
        rng : numpy.random.Generator
            For limits that draw.

        Returns
        -------
        Bound
            `NOTHING_CLAIMED` where the field claims nothing.
        """
        ...
