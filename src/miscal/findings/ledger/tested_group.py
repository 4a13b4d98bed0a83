"""What the scan says of one candidate."""

from __future__ import annotations

from dataclasses import dataclass

from miscal.findings.ledger.sizes import Tested
from miscal.findings.ledger.slopes import SHIFT


@dataclass(frozen=True, kw_only=True)
class TestedGroup(Tested):
    """A candidate that is beyond the cut: two-sided, given the groups chosen before it, or by itself.

    Attributes
    ----------
    group : int
        Its place among the groups.
    effect : str
        ``"shift"``, or ``"slope"`` where it is the slope of the group that is beyond the cut.
    aliases : tuple of int
        Other groups of nearly the same rows, with the same effect.
    by : int or None
        Of one that was not chosen: place, among those chosen, of the one that alone accounts for most of it. None
        for one that was chosen, and where none was.
    """

    group: int
    effect: str = SHIFT
    aliases: tuple[int, ...] = ()
    by: int | None = None
