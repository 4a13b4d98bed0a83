"""What an experiment is run with, the cells that it consists of, and what a finished one leaves.

Settings are what the paper states, and our grid, unless given otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from miscal.base.errors import InputError
from miscal.estimators.paper.grid import LAMBDAS, SIGMAS
from miscal.estimators.paper.phi import MAX_EPOCHS, PATIENCE

EXPERIMENTS = ("clusters", "sinusoid", "interaction", "selection", "resreg")
METHODS = ("paper", "auto")

AMPLITUDES = (0.2, 0.4, 0.6, 0.8, 1.0)
FREQUENCIES = (1.0, 2.0, 3.0, 4.0, 5.0)
CAPACITIES = ("1x64", "2x128", "2x256", "3x512", "3x1024")
"""Hidden layers x width of residual regression; the largest is the paper's."""

MIN_WORLD_ROWS = 200
"""Rows of a world at least, so that 80/10/10 leaves 20 rows in the test split; not tuned."""
_OF_CELLS = (
    "rows", "sigmas", "lambdas", "epochs", "patience", "resreg_epochs", "resreg_patience", "resreg_rate",
)  # fmt: skip
_NUMBERS = ("amplitudes", "frequencies", "sigmas", "lambdas")
_COUNTS = ("seeds", "epochs", "patience", "resreg_epochs", "resreg_patience")
_LARGEST_WIDTH = 8192
"""A guard against mistyped widths: eight times the paper's."""


@dataclass(frozen=True)
class Settings:
    """An experiment and everything its numbers depend on.

    Parameters
    ----------
    experiment : {"clusters", "sinusoid", "interaction", "selection", "resreg"}
    method : {"paper", "auto"}, default "paper"
        Estimator; for resreg the one that stands beside it.
    seeds : int, default 1
        Seeds 0 to seeds - 1; each draws world, split and fit.
    rows : int, default 10,000
        n, split 80/10/10.
    amplitudes, frequencies : tuples of float
        A (log-odds) and k (periods per unit of u'x).
    sigmas, lambdas : tuples of float
        The grid, by default ours: the paper states none.
    epochs, patience : int
        Of phi.
    capacities : tuple of str
        Hidden layers x width, in any order; kept smallest first.
    resreg_epochs, resreg_patience : int
        Of residual regression. The paper trains 300 epochs and says nothing of stopping: so do we, keeping the weights
        of the best validation epoch. A smaller patience is faster, but rapid fields are learned late or not at all:
        a network can improve after hundreds of epochs in which it did not.
    resreg_rate : float
        Learning rate of residual regression. The 3e-5 that the paper gives for its own models leaves small networks at
        r = 0 where it reports success (k = 2); 1e-3 does not.

    Raises
    ------
    InputError
        For values that cannot be used.

    Examples
    --------
    >>> Settings("interaction").frequencies, Settings("sinusoid").frequencies[-1]
    ((3.0,), 5.0)
    """

    experiment: str
    method: str = "paper"
    seeds: int = 1
    rows: int = 10_000
    amplitudes: tuple[float, ...] = AMPLITUDES
    frequencies: tuple[float, ...] = ()
    sigmas: tuple[float, ...] = SIGMAS
    lambdas: tuple[float, ...] = LAMBDAS
    epochs: int = MAX_EPOCHS
    patience: int = PATIENCE
    capacities: tuple[str, ...] = CAPACITIES
    resreg_epochs: int = 300
    resreg_patience: int = 300
    resreg_rate: float = 1e-3

    def __post_init__(self) -> None:
        if not self.frequencies:
            object.__setattr__(self, "frequencies", (3.0,) if self.experiment == "interaction" else FREQUENCIES)
        for name in _NUMBERS:
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        _check(self)
        object.__setattr__(self, "capacities", tuple(sorted(self.capacities, key=n_parameters)))

    @property
    def name(self) -> str:
        """Experiment and method, as one key."""
        return f"{self.experiment}/{self.method}"

    def of_cells(self) -> dict[str, Any]:
        """Return the settings that every cell of a folder shares, as JSON values."""
        return self._as_json(_OF_CELLS)

    def of_experiment(self) -> dict[str, Any]:
        """Return the settings that say which cells there are, as JSON values."""
        axes = {"clusters": (), "resreg": ("amplitudes", "frequencies", "capacities")}
        return self._as_json(("seeds", *axes.get(self.experiment, ("amplitudes", "frequencies"))))

    def _as_json(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: list(v) if isinstance(v := getattr(self, name), tuple) else v for name in names}


def from_stored(name: str, of_cells: dict[str, Any], of_experiment: dict[str, Any]) -> Settings:
    """Rebuild settings from what a folder keeps.

    Examples
    --------
    >>> asked = Settings("sinusoid", amplitudes=(1.0,), rows=500)
    >>> from_stored(asked.name, asked.of_cells(), asked.of_experiment()) == asked
    True
    """
    experiment, method = name.split("/")
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in (of_cells | of_experiment).items()}
    return Settings(experiment, method, **values)


def layers(capacity: str) -> tuple[int, int]:
    """Hidden layers and width of a capacity.

    Examples
    --------
    >>> layers("3x1024")
    (3, 1024)
    """
    depth, _, width = capacity.partition("x")
    if not (depth.isdigit() and width.isdigit() and 1 <= int(depth) <= 9 and 1 <= int(width) <= _LARGEST_WIDTH):
        raise InputError(
            f"a capacity is hidden layers x width, for instance 3x1024 (1 to 9 layers, width at most "
            f"{_LARGEST_WIDTH:,}); got {capacity!r}"
        )
    return int(depth), int(width)


def n_parameters(capacity: str) -> int:
    """Weights and biases of a residual-regression network of two inputs.

    Examples
    --------
    >>> n_parameters("1x64")
    257
    """
    depth, width = layers(capacity)
    return 3 * width + (depth - 1) * (width + 1) * width + width + 1


def _check(settings: Settings) -> None:
    for name, known in (("experiment", EXPERIMENTS), ("method", METHODS)):
        if getattr(settings, name) not in known:
            raise InputError(f"{name} must be one of {', '.join(known)}; got {getattr(settings, name)!r}")
    if settings.experiment == "interaction" and settings.method != "paper":
        raise InputError("interaction is about sigma and lambda, which only --method paper has; leave --method out")
    least = {"rows": MIN_WORLD_ROWS} | dict.fromkeys(_COUNTS, 1)
    for name, low in least.items():
        if getattr(settings, name) < low:
            raise InputError(f"{name} must be at least {low}; got {getattr(settings, name)}")
    if not 0 < settings.resreg_rate < 1:
        raise InputError(f"resreg_rate must be above 0 and below 1; got {settings.resreg_rate}")
    for name in (*_NUMBERS, "capacities"):
        values, may_be_zero = getattr(settings, name), name == "lambdas"  # without a penalty, lambda is 0
        allowed = all(isinstance(v, str) or 0 < v < 1e6 or (v == 0 and may_be_zero) for v in values)
        if not values or len(set(values)) < len(values) or not allowed:
            range_ = "not negative" if may_be_zero else "all above 0"
            raise InputError(f"{name} must hold at least one value, {range_} and no value twice; got {list(values)}")
    for capacity in settings.capacities:
        layers(capacity)


# --- cells --------------------------------------------------------------------------------------------------------

RESREG = "resreg-"
"""How the method of a residual regression begins; its capacity follows."""


class ExperimentCell(NamedTuple):
    """One fit, or one search over the grid.

    World ("clusters" or "sinusoid"), method ("paper" for all of the grid, "auto", or "resreg-" and a capacity), A and k
    of the sinusoid, and the seed of world, split and fit.
    """

    world: str
    method: str
    amplitude: float | None
    frequency: float | None
    seed: int

    @property
    def name(self) -> str:
        """Its name, which is that of its file too.

        Examples
        --------
        >>> ExperimentCell("clusters", "auto", None, None, 0).name
        'clusters@auto@None@None@0'
        """
        return "@".join(map(str, self))


Record = dict[str, Any]
"""What a finished cell leaves: its own columns, and of test rows unless said otherwise:

`r`, Pearson correlation of the estimated with the true field, None where the estimate is constant, and `rmse`;
`seconds` spent on it, times the processes at work, and `cpu`, processor seconds, None where several were at work;
`candidates`, what was chosen from: name or (sigma, lambda), proxy or log loss, r, `chosen`; `facts`, further numbers;
`rows`, columns of the test rows, for the figures.
"""

KEYS = (*ExperimentCell._fields, "r", "rmse", "seconds", "cpu", "candidates", "facts", "rows")
"""Keys of a record."""


def capacity_of(method: str) -> str | None:
    """Layers and width of a residual regression; None for the other methods."""
    return method.removeprefix(RESREG) if method.startswith(RESREG) else None


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
