"""What an experiment is run with, the cells that it consists of, what a finished one leaves, and tables of that.

Settings are what the paper states, and our grid, unless given otherwise. Tables are tidy, one observation a row, with
the same columns for every method.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import rankdata

from miscal.base.errors import InputError
from miscal.calibration.survey_design import correlation
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


# --- tables of what finished cells leave --------------------------------------------------------------------------

REGRET = {
    (0.2, 1.0): 0.088, (0.2, 2.0): 0.412, (0.2, 3.0): 0.041, (0.2, 4.0): 0.562, (0.2, 5.0): 0.000,
    (0.4, 1.0): 0.006, (0.4, 2.0): 0.002, (0.4, 3.0): 0.007, (0.4, 4.0): 0.017, (0.4, 5.0): 0.000,
    (0.6, 1.0): 0.008, (0.6, 2.0): 0.020, (0.6, 3.0): 0.000, (0.6, 4.0): 0.044, (0.6, 5.0): 0.000,
    (0.8, 1.0): 0.014, (0.8, 2.0): 0.023, (0.8, 3.0): 0.003, (0.8, 4.0): 0.032, (0.8, 5.0): 0.000,
    (1.0, 1.0): 0.017, (1.0, 2.0): 0.020, (1.0, 3.0): 0.002, (1.0, 4.0): 0.003, (1.0, 5.0): 0.000,
}  # fmt: skip
"""Oracle regret by (A, k): appendix, table 'Oracle regret across amplitudes and frequencies'."""

PLACE = ("method", "amplitude", "frequency", "seed")
"""The columns that every table begins with."""

_TYPES = {
    "seed": pl.Int64,
    **dict.fromkeys(("epoch", "n_epochs", "loss_epoch", "n_candidates", "layers", "width", "parameters"), pl.Int64),
    **dict.fromkeys(("method", "name", "stopped", "beside", "world"), pl.String),
    **dict.fromkeys(("chosen", "structure"), pl.Boolean),
}
"""Types of columns that are no numbers with a fraction."""


def frame(rows: Iterable[Mapping[str, Any]], names: str) -> pl.DataFrame:
    """Make a table of the place of each row and the columns named, null where it has none; the paper's method first."""
    columns = (*PLACE, *names.split())
    kept = [{name: row.get(name) for name in columns} for row in rows]
    table = pl.DataFrame(kept, schema={name: _TYPES.get(name, pl.Float64) for name in columns})
    return table.sort(PLACE, descending=[True, False, False, False], maintain_order=True, nulls_last=True)


def recovery(records: Sequence[Record]) -> pl.DataFrame:
    """Recovery of the field by cell: r and rmse on test rows, what was chosen, and the known-coordinate limit."""
    return frame((x | x["facts"] for x in records), "r rmse limit limit_bandwidth sigma lambda epoch structure")


def candidates(records: Sequence[Record]) -> pl.DataFrame:
    """Candidates of every cell: the grid of (sigma, lambda), or the named ones of auto."""
    names = "name sigma lambda proxy log_loss r epoch n_epochs stopped chosen loss_r loss_epoch"
    return frame(({n: x[n] for n in PLACE} | c for x in records for c in x["candidates"]), names)


def choices(records: Sequence[Record]) -> pl.DataFrame:
    """How good each cell's choice was, with the paper's regret beside it where it has one."""
    published = lambda x: {"paper_regret": REGRET.get((x["amplitude"], x["frequency"]))}  # noqa: E731
    rows = [x | choice_of(x) | published(x) | {"n_candidates": len(x["candidates"])} for x in records]
    return frame(rows, "spearman oracle chosen_r spread regret paper_regret n_candidates")


def choice_of(record: Record) -> dict[str, float | None]:
    """Judge a cell's choice: the paper's by the proxy, auto's by out-of-fold log loss."""
    return judge_choice(record["candidates"], "proxy" if record["method"] == "paper" else "log_loss")


def judge_choice(candidates: Sequence[Mapping[str, Any]], criterion: str) -> dict[str, float | None]:
    """Judge a choice that was made by the smallest criterion, a proxy or log loss (arXiv 2605.13484, section 5.1).

    Candidates are rows with recovery ``r`` on test rows (None, a constant estimate, counts as 0), the criterion,
    without which they do not enter the rank correlation, and ``chosen``, of which exactly one is True.

    Returns ``oracle`` and ``chosen_r``, recoveries of the best and of the chosen one; ``spread``, the largest less the
    smallest; ``regret``, oracle less chosen; and ``spearman``, the rank correlation of the negated criterion with
    recovery, None where either is constant.

    Examples
    --------
    >>> rows = [{"proxy": p, "r": r, "chosen": p == 0.20} for p, r in [(0.20, 0.8), (0.21, 0.9), (0.25, 0.1)]]
    >>> judge_choice(rows, "proxy")["spread"]
    0.8
    """
    found = np.array([row["r"] or 0.0 for row in candidates])
    known = [i for i, row in enumerate(candidates) if row[criterion] is not None]
    ranks = rankdata([-candidates[i][criterion] for i in known]), rankdata(found[known])
    spearman = correlation(*ranks) if known else None
    best, own = float(found.max()), next(float(r) for r, row in zip(found, candidates, strict=True) if row["chosen"])
    spread, rounded = float(best - found.min()), None if spearman is None else round(spearman, 12)
    return {"oracle": best, "chosen_r": own, "spread": spread, "regret": best - own, "spearman": rounded}


def regressions(records: Sequence[Record]) -> pl.DataFrame:
    """Residual regression by capacity and (A, k), beside the r of each other method on the same rows."""
    others: dict[tuple, list[Record]] = defaultdict(list)
    for x in records:
        if capacity_of(x["method"]) is None:
            others[x["amplitude"], x["frequency"], x["seed"]].append(x)
    rows = []
    for x in records:
        if capacity := capacity_of(x["method"]):
            depth, width = layers(capacity)
            size = {"layers": depth, "width": width, "parameters": n_parameters(capacity)}
            beside = others[x["amplitude"], x["frequency"], x["seed"]]
            rows += [x | x["facts"] | size | {"beside": one["method"], "beside_r": one["r"]} for one in beside]
    names = "layers width parameters r rmse epoch n_epochs validation_error beside beside_r"
    return frame(rows, names)


def test_rows(records: Sequence[Record]) -> pl.DataFrame:
    """Test rows of cells: inputs, confidence, outcome, true and estimated field."""
    frames = []
    for record in records:
        place = [pl.lit(record[name], _TYPES.get(name, pl.Float64)).alias(name) for name in PLACE]
        frames.append(pl.DataFrame(record["rows"]).select([*place, pl.all()]))
    return pl.concat(frames)


def costs_of(records: Sequence[Record]) -> pl.DataFrame:
    """Seconds of one process by cell, and the processor seconds among them."""
    return frame((x | {"cpu_seconds": x["cpu"]} for x in records), "world seconds cpu_seconds")
