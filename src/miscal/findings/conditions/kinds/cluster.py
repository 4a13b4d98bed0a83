"""The rows whose inputs are similar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame


@dataclass(frozen=True)
class Cluster(Condition):
    """The rows whose inputs lie nearest to some centres that the run stored: ``"a cluster of 120 similar inputs"``.

    Attributes
    ----------
    n : int
        Rows of the run that it holds.
    scale : int
        How many centres there are at the scale of the cluster (:class:`~miscal.findings.input_clusters.InputClusters`).
    members : tuple of int
        The centres whose rows belong to it, from 0.
    """

    kind: ClassVar[str] = "cluster"
    n: int
    scale: int
    members: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def wording(self) -> Wording:
        return Wording("", f"a cluster of {self.n:,} similar inputs")

    @property
    def phrase(self) -> str:
        return self.words

    def lacks(self, frame: Frame) -> str | None:
        if frame.X is None:
            return "the rows have no inputs"
        if frame.clusters is None or self.scale not in frame.clusters.centres:
            return "the centres of the cluster are not stored"
        return None

    def rows(self, frame: Frame) -> Mask:
        return np.isin(frame.cluster_of(self.scale), self.members)
