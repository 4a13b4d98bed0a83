"""How far long work has come, told to a listener without passing it through every function in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Progress:
    """How far a discovery has come.

    `stage`: the stage that runs: split, field, regimes, findings, answer or measures; the command adds "reading" before
        them, "map" and "report" after them.
    `share`: how much of this stage is done: 0 where it starts, 1 where it has ended. The field tells every fit in
        between, the other stages nothing.
    `seconds`: that this stage has taken so far.
    `left`: estimate of the seconds until the end of the discovery; None where nothing is known of it. It rests on the
        numbers of rows and columns, and from the first fit on, on how long the fits took.
    `found`: what the stage found, in a few words; empty before its end and where there is nothing to tell.
    """

    stage: str
    share: float = 0.0
    seconds: float = 0.0
    left: float | None = None
    found: str = ""
