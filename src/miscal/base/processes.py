"""Hold Ctrl-C back while a worker process starts: the parent answers it, and the worker prints no traceback."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait, here and in a process that is started meanwhile: one that still imports would print a traceback.

    Windows has no such mask; there it may.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start clears the mask, so not within it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
