"""The best point of a path along which a loss falls and then rises."""

from __future__ import annotations

from typing import Any

from miscal.estimators.auto.settings import AUTO


class BestOfPath:
    """Keeps the best of the points of a path, and tells when to stop looking.

    Points beyond the minimum are the dearest to compute, those of the least penalties or of the most rounds.

    Attributes
    ----------
    best : object
        What was given with the smallest loss; the earliest of equal ones.

    Examples
    --------
    >>> path = BestOfPath()
    >>> [path.ends(loss, place) for place, loss in enumerate([0.6, 0.5, 0.7, 0.8])], path.best
    ([False, False, False, True], 1)
    """

    def __init__(self) -> None:
        self._loss, self._worse = float("inf"), 0
        self.best: Any = None

    def ends(self, loss: float, point: Any) -> bool:
        """Take the next point of the path, and tell whether as many as `AUTO.patience` were no better than the best."""
        if self.best is None or loss < self._loss:
            self._loss, self._worse, self.best = loss, 0, point
        else:
            self._worse += 1
        return self._worse >= AUTO.patience
