"""What a limit of the certificate is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.settings import EvidenceSettings


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


NOTHING_CLAIMED = Bound(0.0, 0.0, 1.0)
"""The bound where the field claims nothing: there is nothing to test."""


class Limit(Protocol):
    """A lower limit of a mean absolute miscalibration."""

    def __call__(self, rows: LabelledRows, settings: EvidenceSettings, rng: np.random.Generator) -> Bound:
        """Bound the miscalibration from below.

        Takes rows: with `delta` and `hidden`; rng: for limits that draw. Returns: Bound: `NOTHING_CLAIMED` where the
        field claims nothing.
        """
        ...


def largest_rejected(rejects: Callable[[float], bool], halvings: int, *, low: float = 0.0, high: float = 1.0) -> float:
    """Bisect for the size at which a test stops to reject.

    Takes rejects: whether a size is rejected; halvings: steps: the answer is within (high - low) / 2 ** halvings.
    Returns float: The largest size found that is rejected, or `low`.

    Examples
    --------
    >>> round(largest_rejected(lambda size: size < 0.3, 20), 5)
    0.3
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low
