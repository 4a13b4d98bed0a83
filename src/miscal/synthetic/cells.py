"""Cells: which fits an experiment rests on, and what each left."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from miscal.synthetic.settings import Settings


@dataclass(frozen=True, order=True)
class Cell:
    """One fit, or one search over the paper's grid.

    Attributes
    ----------
    world : {"clusters", "sinusoid"}
    method : str
        "paper" (all of the grid), "auto", or "resreg-" and a capacity.
    amplitude, frequency : float or None
        A and k of the sinusoid.
    seed : int
        Of world, split and fit.
    """

    world: str
    method: str
    amplitude: float | None
    frequency: float | None
    seed: int

    @property
    def name(self) -> str:
        """Name of the cell's file, without its ending.

        Examples
        --------
        >>> Cell("sinusoid", "paper", 0.2, 3.0, 1).name
        'sinusoid-paper-A0.2-k3.0-seed1'
        """
        place = "" if self.amplitude is None else f"-A{self.amplitude!r}-k{self.frequency!r}"
        return f"{self.world}-{self.method}{place}-seed{self.seed}"


@dataclass(frozen=True)
class Record:
    """What a finished cell leaves; every number is of test rows unless said otherwise.

    Attributes
    ----------
    cell : Cell
    r : float or None
        Pearson correlation of the estimated with the true field; None where the estimate is constant.
    rmse : float
        Of the estimate against the true field.
    seconds : float
        Spent on it, times the processes at work.
    cpu : float or None
        Processor seconds, less than `seconds` on a busy machine; None where several processes were at work.
    flops : dict
        Floating-point operations of the matrix products, by their shape; empty where they are not counted.
    rates : dict
        Operations per second of a matrix product of that shape, measured just before.
    plain_flops : dict
        What the fits would take one by one, sharing nothing.
    candidates : list of dict
        What was chosen from: name or (sigma, lambda), proxy or log loss, r, `chosen`.
    facts : dict
        Further numbers of the cell.
    rows : dict of list
        Columns of the test rows, for the figures.
    """

    cell: Cell
    r: float | None
    rmse: float
    seconds: float
    cpu: float | None = None
    flops: dict[str, float] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    plain_flops: dict[str, float] = field(default_factory=dict)
    candidates: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list] = field(default_factory=dict)

    @property
    def floor(self) -> float | None:
        """Seconds the counted matrix products take at the measured rates; None where nothing was counted."""
        return _seconds(self.flops, self.rates)

    @property
    def plain_floor(self) -> float | None:
        """Seconds at the same rates if nothing were shared between the fits."""
        return _seconds(self.plain_flops, self.rates)

    @property
    def ranked(self) -> float:
        """r, with 0 for a constant estimate, which ranks nothing."""
        return 0.0 if self.r is None else self.r

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Record:
        """Rebuild a record from :meth:`to_json`.

        Examples
        --------
        >>> record = Record(Cell("clusters", "auto", None, None, 0), 0.9, 0.1, 2.0)
        >>> Record.from_json(record.to_json()) == record
        True
        """
        return cls(**content | {"cell": Cell(**content["cell"])})


def cells_of(settings: Settings) -> list[Cell]:
    """Cells that an experiment needs.

    Residual regression is measured for all capacities at the largest amplitude, as in the paper, and for the largest
    capacity at all; the method beside it at all.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    list of Cell

    Examples
    --------
    >>> len(cells_of(Settings("selection"))), len(cells_of(Settings("resreg"))), len(cells_of(Settings("clusters")))
    (25, 70, 1)
    """
    if settings.experiment == "clusters":
        return [Cell("clusters", settings.method, None, None, seed) for seed in range(settings.seeds)]
    kernel = _grid(settings, settings.method, settings.amplitudes)
    if settings.experiment != "resreg":
        return kernel
    largest, strongest = settings.capacities[-1], (max(settings.amplitudes),)
    smaller = [cell for c in settings.capacities[:-1] for cell in _grid(settings, f"resreg-{c}", strongest)]
    return _grid(settings, f"resreg-{largest}", settings.amplitudes) + kernel + smaller


def _grid(settings: Settings, method: str, amplitudes: tuple[float, ...]) -> list[Cell]:
    return [
        Cell("sinusoid", method, amplitude, frequency, seed)
        for seed in range(settings.seeds)
        for amplitude in amplitudes
        for frequency in settings.frequencies
    ]


def _seconds(flops: dict[str, float], rates: dict[str, float]) -> float | None:
    return sum(count / rates[shape] for shape, count in flops.items()) if flops else None
