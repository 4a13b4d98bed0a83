"""What a study knows of one pair: its labels, the settings of the study, and what `discover` found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from miscal.calibration.metrics.rows import take_groups
from miscal.data.triples import Triples
from miscal.discovery.discover import Discovery
from miscal.discovery.estimating import testifying
from miscal.study.plan import OutcomeKind
from miscal.study.rows import FieldRows, RawGeometry, globally_corrected, learned_rows, raw_geometry, units

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows by the name of their table, with the columns of :data:`miscal.study.tables.TABLES`."""


@dataclass(frozen=True)
class Labels:
    """What a pair is called.

    Attributes
    ----------
    pair : str
        Its id in the study: letters, digits, dot, hyphen and underscore, so that it can name a folder.
    dataset, model : str
        As the plan names them.
    family : str or None
        Models that differ in size alone share one.
    billions : float or None
        Parameters of the model, in billions.
    outcome : {"answer", "event"}
        What its confidence is of: see :mod:`miscal.study.outcome`.
    """

    pair: str
    dataset: str
    model: str
    family: str | None = None
    billions: float | None = None
    outcome: OutcomeKind = "answer"


@dataclass(frozen=True)
class MeasureSettings:
    """Settings of the numbers of a pair.

    Attributes
    ----------
    seed : int
        Of split, fit and draws.
    epsilon : float
        Half-width of the band of delta that counts as well calibrated.
    epsilons : tuple of float
        Further ones, for the table ``thresholds``.
    min_rows : int
        Fewest rows of a slice whose gap is measured; 1 reproduces the paper.
    bootstrap_draws : int
        Draws of the paper's bootstrap of the worst slice.
    raw : bool
        Whether the field of the raw inputs is measured too (method "paper" alone).
    """

    seed: int = 0
    epsilon: float = 0.05
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.10, 0.15)
    min_rows: int = 30
    bootstrap_draws: int = 1_000
    raw: bool = True


@dataclass(frozen=True, eq=False)
class Studied:
    """One pair under one method, as found.

    Attributes
    ----------
    labels : Labels
    method : {"paper", "auto"}
    settings : MeasureSettings
    triples : Triples
        All rows of the pair, with their split; without one where all rows testify.
    found : Discovery
        What :func:`miscal.discover` found on them.
    seconds_score : float or None
        Seconds spent on asking the model; None for data that were read.
    """

    labels: Labels
    method: str
    settings: MeasureSettings
    triples: Triples
    found: Discovery
    seconds_score: float | None = None

    @property
    def named(self) -> dict[str, Any]:
        """The columns that every table of a pair begins with."""
        labels = self.labels
        return {"pair": labels.pair, "dataset": labels.dataset, "model": labels.model, "method": self.method}

    @cached_property
    def learned(self) -> FieldRows:
        """The rows that testify, in the learned geometry."""
        return learned_rows(self.found, self.triples, self.settings.epsilon)

    @cached_property
    def raw(self) -> RawGeometry | None:
        """The field of the raw inputs; None where it is not asked for, or there is none."""
        if not self.settings.raw:
            return None
        return raw_geometry(self.found, self.triples, self.learned, self.settings.seed)

    @cached_property
    def globally_corrected(self) -> np.ndarray:
        """Confidences of the rows that testify, corrected by the best map of the confidence alone; float64 (n,)."""
        return globally_corrected(self.found, self.triples)

    @cached_property
    def unit(self) -> np.ndarray:
        """Numbers of the rows that testify, the same of rows that count as one; int64 (n,)."""
        return units(self.triples)

    @property
    def groups(self) -> np.ndarray | None:
        """Named group of each row that testifies, (n,); None where no groups are named."""
        return take_groups(self.triples.group, testifying(self.triples))

    @property
    def geometries(self) -> dict[str, FieldRows]:
        """Rows by the name of their geometry: "learned" and, where it is measured, "raw"."""
        return {"learned": self.learned} | ({} if self.raw is None else {"raw": self.raw.rows})
