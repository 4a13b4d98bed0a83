"""The largest size that a test rejects: how every limit is inverted from its test."""

from __future__ import annotations

from collections.abc import Callable


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
