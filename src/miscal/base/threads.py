"""What is global to a process and not ours to change: threads, filters of warnings, Python's own random numbers."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from miscal.base.errors import InputError

_FILTERING = RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: two on a busy machine wait for each other, and thread counts change last bits.

    Holds for the arithmetic libraries loaded so far, torch included. It also decorates functions.

    >>> with one_thread():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    # only where it is loaded already: importing it is slow
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


@contextmanager
def without_warning(category: type[Warning], message: str = "") -> Iterator[None]:
    """Ignore warnings of a kind whose text begins so; one thread at a time.

    Filters of warnings belong to the whole process: of two threads that change them at a time, the first to end would
    bring back the warnings of the other, and the last would leave its own filters behind.

    >>> with without_warning(UserWarning, "old"):
    ...     warnings.warn("older than you think", UserWarning)
    """
    with _FILTERING, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield


def n_workers(n_jobs: int | None, n_tasks: int) -> int:
    """Return the processes to use: at most one per task; by default the cores allowed here (affinity, cgroup).

    >>> n_workers(2, 24), n_workers(8, 3), n_workers(None, 1)
    (2, 3, 1)
    """
    import joblib

    if n_jobs is not None and n_jobs < 1:
        raise InputError(f"n_jobs must be at least 1, or None for all allowed cores; got {n_jobs}")
    return max(1, min(joblib.cpu_count() if n_jobs is None else n_jobs, n_tasks))


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
