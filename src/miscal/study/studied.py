"""What a study knows of one pair: its labels, the settings of the study, and what `discover` found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from miscal.data.triples import Triples
from miscal.discovery.discover import Discovery

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
    """

    pair: str
    dataset: str
    model: str
    family: str | None = None
    billions: float | None = None


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


@dataclass(frozen=True)
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
    """

    labels: Labels
    method: str
    settings: MeasureSettings
    triples: Triples
    found: Discovery
