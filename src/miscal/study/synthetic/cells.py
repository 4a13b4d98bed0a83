"""The fits that an experiment consists of, and the results of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from miscal.study.synthetic.settings import Settings

RESREG = "resreg-"
"""How the method of a residual regression begins; its capacity follows."""


class ExperimentCell(NamedTuple):
    """One fit, or one search over the grid; the key of its record in the store.

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
    def capacity(self) -> str | None:
        """Layers and width of a residual regression; None for the other methods."""
        return self.method.removeprefix(RESREG) if self.method.startswith(RESREG) else None


@dataclass(frozen=True)
class Record:
    """What a finished cell leaves; every number is of test rows unless said otherwise.

    Attributes
    ----------
    cell : ExperimentCell
    r : float or None
        Pearson correlation of the estimated with the true field; None where the estimate is constant.
    rmse : float
        Of the estimate against the true field.
    seconds : float
        Spent on it, times the processes at work.
    cpu : float or None
        Processor seconds, less than `seconds` on a busy machine; None where several processes were at work.
    candidates : list of dict
        What was chosen from: name or (sigma, lambda), proxy or log loss, r, `chosen`.
    facts : dict
        Further numbers of the cell.
    rows : dict of list
        Columns of the test rows, for the figures.
    """

    cell: ExperimentCell
    r: float | None
    rmse: float
    seconds: float
    cpu: float | None = None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list] = field(default_factory=dict)

    @property
    def ranked(self) -> float:
        """r, with 0 for a constant estimate, which ranks nothing."""
        return 0.0 if self.r is None else self.r

    @property
    def busy(self) -> float:
        """Processor seconds; those spent where they are not known."""
        return self.seconds if self.cpu is None else self.cpu

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, those of the cell among the others."""
        values = asdict(self)
        return values.pop("cell")._asdict() | values

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Record:
        """Rebuild a record from :meth:`to_json`; what a store has added is left out.

        Examples
        --------
        >>> record = Record(ExperimentCell("clusters", "auto", None, None, 0), 0.9, 0.1, 2.0)
        >>> Record.from_json(record.to_json()) == record
        True
        """
        values = {name: content[name] for name in cls.__dataclass_fields__ if name != "cell"}
        return cls(ExperimentCell(*(content[name] for name in ExperimentCell._fields)), **values)


def cells_of(settings: Settings) -> list[ExperimentCell]:
    """Return the cells that an experiment needs.

    Residual regression is measured for all capacities at the largest amplitude, as in the paper, and for the largest
    capacity at all; the method beside it at all.

    Examples
    --------
    >>> len(cells_of(Settings("selection"))), len(cells_of(Settings("resreg"))), len(cells_of(Settings("clusters")))
    (25, 70, 1)
    """
    if settings.experiment == "clusters":
        return [ExperimentCell("clusters", settings.method, None, None, seed) for seed in range(settings.seeds)]
    kernel = _grid(settings, settings.method, settings.amplitudes)
    if settings.experiment != "resreg":
        return kernel
    largest, strongest = settings.capacities[-1], (max(settings.amplitudes),)
    smaller = [cell for c in settings.capacities[:-1] for cell in _grid(settings, RESREG + c, strongest)]
    return _grid(settings, RESREG + largest, settings.amplitudes) + kernel + smaller


def _grid(settings: Settings, method: str, amplitudes: tuple[float, ...]) -> list[ExperimentCell]:
    return [
        ExperimentCell("sinusoid", method, amplitude, frequency, seed)
        for seed in range(settings.seeds)
        for amplitude in amplitudes
        for frequency in settings.frequencies
    ]
