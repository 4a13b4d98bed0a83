"""What is measured of each pair."""

from __future__ import annotations

from collections.abc import Callable

from miscal.study.studied import Rows, Studied

MEASURES: tuple[Callable[[Studied], Rows], ...] = ()
"""Of every pair."""

INTERPRETING: tuple[Callable[[Studied], Rows], ...] = ()
"""Of the pairs that the plan interprets."""
