"""What random numbers start from, and what is global about them and not ours to change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

LARGEST_SEED = 2**32 - 1
"""numpy takes larger seeds, scikit-learn does not."""


@contextmanager
def global_random_kept() -> Iterator[None]:
    """Leave the state of Python's own ``random`` as it was.

    Nothing of ours draws from it, but some libraries do while they are imported for the first time: rich, which
    scikit-learn imports, numbers its styles from a random start. It also decorates functions.

    >>> before = random.getstate()
    >>> with global_random_kept():
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    before = random.getstate()
    try:
        yield
    finally:
        random.setstate(before)
