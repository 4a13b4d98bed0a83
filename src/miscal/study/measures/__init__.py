"""The numbers of one pair: each module fills the tables that it names from what a discovery found."""

from collections.abc import Callable

from miscal.study.measures import layouts, purity
from miscal.study.studied import Rows, Studied

MEASURES: tuple[Callable[[Studied], Rows], ...] = ()
"""What is measured of every pair."""

INTERPRETING: tuple[Callable[[Studied], Rows], ...] = (purity.measure, layouts.measure)
"""What costs much, and is measured of the pairs that a plan names under ``interpret``."""
