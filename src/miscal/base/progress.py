"""Report the progress of long work to a listener, without passing it through every function in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Result = TypeVar("Result")

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


@contextmanager
def progress_to(listener: Callable[[float], None]) -> Iterator[None]:
    """Have the share of the work that is done told to a function, for the length of a ``with`` block.

    Parameters
    ----------
    listener : callable
        Called with a share in (0, 1] after each piece.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def with_progress(results: Iterable[Result], sizes: Sequence[float]) -> Iterator[Result]:
    """Pass results on as they come, and tell what share of the work they were, and what is told of it in between.

    Parameters
    ----------
    results : iterable
        One for each piece of the work, made as they are asked for.
    sizes : sequence of float
        How much work each piece is, in any unit.

    Yields
    ------
    object
        Each result.

    >>> shares = []
    >>> with progress_to(shares.append):
    ...     list(with_progress(["first", "second"], [3, 1]))
    ['first', 'second']
    >>> shares
    [0.75, 1.0]
    """
    done, total, made = 0.0, float(sum(sizes)), iter(results)
    for size in sizes:
        tell = _LISTENER.get() or (lambda share: None)
        with progress_to(lambda share, tell=tell, done=done, size=size: tell((done + share * size) / total)):
            result = next(made)
        done += size
        tell(done / total)
        yield result
