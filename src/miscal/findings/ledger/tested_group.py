"""What the scan says: of one candidate, and of all."""

from __future__ import annotations

from dataclasses import dataclass, field

from miscal.base.document import Measure
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
    twin : int or None
        Place of the group whose slope is beyond the cut, too, where it has the rows of this one: a shift and a slope of
        the same rows are one finding.
    by : int or None
        Of one that was not chosen: place, among those chosen, of the one that alone accounts for most of it. None
        for one that was chosen, and where none was.
    """

    group: int
    effect: str = SHIFT
    aliases: tuple[int, ...] = ()
    twin: int | None = None
    by: int | None = None


@dataclass(frozen=True)
class Scanned:
    """What a scan found.

    Attributes
    ----------
    chosen : tuple of TestedGroup
        In the order of choice. With nothing hidden there are none in at least 95 % of tables.
    alone : tuple of TestedGroup
        Values and bins of columns, and slopes of them, that are beyond the cut by themselves and were not chosen, the
        strongest first, with `p_given` and `by`. With nothing hidden there are none unless a group was chosen: the two
        are tested at the same cut.
    slopes : dict of int to Measure
        Of each value and bin with rows enough: how much more its accuracy rises from the lower to the upper third of
        its confidences, by itself, with the 95 % interval of this one (:func:`.slopes.slope_size`).
    """

    chosen: tuple[TestedGroup, ...] = ()
    alone: tuple[TestedGroup, ...] = ()
    slopes: dict[int, Measure] = field(default_factory=dict)
