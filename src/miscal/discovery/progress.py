"""Report which stage a discovery is in, how long it will take and what was found so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from miscal.base.progress import progress_to

STAGES = ("split", "field", "regimes", "findings", "answer", "measures")
"""The stages of a discovery, in their order. The command adds "reading" before them, "map" and "report" after them."""

_ROWS = (500, 2_000, 12_000, 50_000, 200_000)
_SECONDS = {
    "split": (0.01, 0.01, 0.02, 0.1, 0.5),
    "field": (4.3, 3.5, 14.0, 50.0, 121.0),
    "regimes": (0.01, 0.01, 0.01, 0.02, 0.1),
    "findings": (0.02, 0.1, 0.4, 1.0, 4.0),
    "answer": (0.4, 0.5, 1.5, 3.0, 8.0),
    "measures": (0.7, 1.1, 2.5, 4.5, 10.0),
}
"""Seconds of each stage on two idle cores at these numbers of rows and 384 columns. They only say how long the stages
are beside each other: how fast this machine is, is learned from the stages that it has done."""

_COLUMNS = 384
"""Columns behind `_SECONDS`. About half of the time of the field grows with the columns."""

_NEARLY = 0.99
"""The most that a stage says to have done before its end."""

_LEAST_TIMED = 0.5
"""A stage expected to take fewer seconds says nothing of how fast the machine is."""


@dataclass(frozen=True)
class Progress:
    """How far a discovery has come.

    `stage`: the stage that runs: one of `STAGES`, or one that the command adds.
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


def expected_seconds(n: int, n_columns: int) -> dict[str, float]:
    """Return about how long the stages take on two idle cores.

    Returns seconds by stage, of those with method "auto" and evidence of all rows.

    Examples
    --------
    >>> round(expected_seconds(2_000, 384)["field"], 1)
    3.5
    """
    at = np.log(np.clip(n, _ROWS[0], None))
    known = np.log(_ROWS)
    found = {name: float(np.exp(np.interp(at, known, np.log(seconds)))) for name, seconds in _SECONDS.items()}
    # beyond the table, in proportion to the rows
    more = max(1.0, n / _ROWS[-1])
    found = {name: seconds * more for name, seconds in found.items()}
    found["field"] *= 0.5 + 0.5 * n_columns / _COLUMNS
    return found


@dataclass
class Clock:
    """Announces the stages of a discovery as they start and end, times them, and estimates what is left.

    `tell`: called with a :class:`Progress`. `expected`: about how long each stage takes, as from
    :func:`expected_seconds`, in the order of the stages; without an entry for "field" nothing is said of the time left
    before a fit is done. `seconds`: what the stages took. `found`: what the stage found that runs; set before its end.
    """

    tell: Callable[[Progress], None]
    expected: dict[str, float]
    seconds: dict[str, float] = field(default_factory=dict)
    found: str = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce a stage and time it."""
        start, self.found = time.monotonic(), ""

        def tell(share: float, found: str = "") -> None:
            passed = time.monotonic() - start
            self.tell(Progress(name, share, passed, self.left(name, share, passed), found))

        # 1 is for the end alone, after what follows the last piece
        tell(0.0)
        with progress_to(lambda share: tell(min(share, _NEARLY))):
            yield
        self.seconds[name] = round(time.monotonic() - start, 3)
        tell(1.0, self.found)

    def left(self, name: str, share: float, passed: float) -> float | None:
        """Estimate the seconds until the end of the discovery.

        `name`: the stage that runs. `share`: how much of it is done, in [0, 1]. `passed`: seconds that it has taken.
        Returns None where the stage has no expected length and has not said how far it is.
        """
        done = self.seconds
        if share:
            done = done | {name: passed / share}
        elif name not in self.expected:
            return None
        # how much longer than expected the stages take here, by those that were long enough to tell
        timed = [one for one in done if self.expected.get(one, 0.0) >= _LEAST_TIMED]
        speed = sum(done[one] for one in timed) / sum(self.expected[one] for one in timed) if timed else 1.0
        own = max(done[name] - passed, 0.0) if share else max(self.expected[name] * speed - passed, 0.0)
        names = list(_SECONDS)
        later = names[names.index(name) + 1 :]
        if any(one not in self.expected for one in later):
            return None
        return own + speed * sum(self.expected[one] for one in later)
