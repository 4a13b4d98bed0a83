"""One thread where more would lose."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: two on a busy machine wait for each other, and thread counts change last bits.

    Holds for the arithmetic libraries loaded so far, torch included.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)
