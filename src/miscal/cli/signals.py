"""Take the signals that ask a process to end: a file that imports nothing of ours, so that it is read first."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def on_signals(stop: Callable[[int, object], None]) -> Iterator[None]:
    """Call a function at Ctrl-C and SIGTERM while the block runs; a signal the parent had ignored stays ignored."""
    before = {}
    with suppress(ValueError):  # not the main thread: signals are not ours
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
