"""From a cell to its record: draw the world, split it, fit, measure on test rows."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from miscal.base.threads import n_workers, one_thread
from miscal.data.triples import Triples
from miscal.estimators.auto import AutoField
from miscal.estimators.paper.field import BANK_SIZE, draw_training
from miscal.estimators.paper.grid import GridSearch, search
from miscal.estimators.paper.phi import TrainingData, layer_sizes
from miscal.synthetic import arithmetic
from miscal.synthetic.candidates import judged_candidates
from miscal.synthetic.cells import Cell, Record
from miscal.synthetic.resreg import Problem, fit_networks
from miscal.synthetic.scores import correlation
from miscal.synthetic.settings import Settings, layers
from miscal.synthetic.worlds import World, known_coordinate_limit, random_split, sinusoid, three_clusters

RESREG = "resreg-"
_DIGITS = 6


def compute(cells: Sequence[Cell], settings: Settings, *, n_jobs: int = 1) -> list[Record]:
    """Compute cells that belong together: one, or networks of residual regression of one capacity.

    Parameters
    ----------
    cells : sequence of Cell
    settings : Settings
    n_jobs : int, default 1
        Processes for the paper's grid within one cell. Changes no number.

    Returns
    -------
    list of Record
        In the order of the cells.

    Examples
    --------
    >>> few = Settings("resreg", rows=200, resreg_epochs=2)
    >>> [record] = compute([Cell("sinusoid", "resreg-1x8", 1.0, 1.0, 0)], few)
    >>> record.facts["n_epochs"], record.floor > 0
    (2, True)
    """
    with one_thread():
        if cells[0].method.startswith(RESREG):
            return _regressions(cells, settings)
        fit = _paper if cells[0].method == "paper" else _auto
        return [fit(cell, settings, n_jobs) for cell in cells]


def draw(cell: Cell, rows: int) -> tuple[World, np.ndarray]:
    """Return a cell's world and its split, 'train', 'val' or 'test' per row."""
    if cell.world == "clusters":
        world = three_clusters(rows, random_state=cell.seed)
    else:
        world = sinusoid(rows, amplitude=cell.amplitude, frequency=cell.frequency, random_state=cell.seed)
    return world, random_split(rows, random_state=cell.seed)


def training_data(world: World, split: np.ndarray, seed: int) -> tuple[TrainingData, int]:
    """Return what the paper's search trains on, and its seed: as ``PaperField(random_state=seed)`` draws them."""
    train, val = np.flatnonzero(split == "train"), np.flatnonzero(split == "val")
    return draw_training(world, np.ones(len(split)), train, val, BANK_SIZE, np.random.default_rng(seed))


class _Clock:
    """Wall seconds times processes, and processor seconds where this process does it all."""

    def __init__(self, processes: int = 1) -> None:
        self.processes, self.wall, self.cpu = processes, time.perf_counter(), time.process_time()

    def spent(self) -> dict[str, float | None]:
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        return {"seconds": wall * self.processes, "cpu": cpu if self.processes == 1 else None}


def _paper(cell: Cell, settings: Settings, n_jobs: int) -> Record:
    """Search the whole grid, no setting stopped for being behind, and measure every candidate on test rows."""
    world, split = draw(cell, settings.rows)
    data, seed = training_data(world, split, cell.seed)
    sizes = layer_sizes(world.X.shape[1])
    rates = arithmetic.representation_rates(len(data.X), sizes)
    clock = _Clock(n_workers(n_jobs, len(settings.sigmas) * len(settings.lambdas)))
    found = search(
        data,
        sigmas=settings.sigmas,
        penalties=settings.lambdas,
        seed=seed,
        n_jobs=n_jobs,
        max_epochs=settings.epochs,
        patience=settings.patience,
        stop_hopeless=False,
    )
    test = split == "test"
    fields = [training.estimate(data, world.X[test]) for training in found.trainings]
    truth = world.delta[test]
    candidates = [
        candidate.as_dict() | {"r": correlation(delta, truth)}
        for candidate, delta in zip(found.candidates, fields, strict=True)
    ]
    spent = clock.spent()
    epoch = arithmetic.representation_epoch(len(data.X), len(data.X_val), sizes, len(data.bank))
    chosen = found.candidates[found.chosen]
    return _record(
        cell,
        world,
        test,
        fields[found.chosen],
        **spent,
        flops=arithmetic.scaled(epoch, _epochs_trained(found)),
        plain_flops=arithmetic.scaled(epoch, sum(candidate.n_epochs for candidate in found.candidates)),
        rates=rates,
        candidates=candidates,
        facts={"sigma": chosen.sigma, "lambda": chosen.penalty, "epoch": chosen.epoch},
    )


def _epochs_trained(found: GridSearch) -> int:
    histories: dict[float, list[list[float]]] = {}
    for training in found.trainings:
        histories.setdefault(training.sigma, []).append(training.proxies)
    return sum(arithmetic.epochs_trained(same) for same in histories.values())


def _auto(cell: Cell, settings: Settings, n_jobs: int) -> Record:
    world, split = draw(cell, settings.rows)
    known, test = split != "test", split == "test"
    clock = _Clock()
    field = AutoField(random_state=cell.seed)
    field.fit(Triples.of(world.X[known], confidence=world.confidence[known], correct=world.correct[known]))
    X_test = np.asarray(world.X[test], np.float32)
    delta = field.estimate(X_test, world.confidence[test]).delta
    spent = clock.spent()
    return _record(
        cell,
        world,
        test,
        delta,
        **spent,
        candidates=judged_candidates(field, X_test, world.confidence[test], world.delta[test]),
        facts={"structure": bool(field.structure_)},
    )


def _regressions(cells: Sequence[Cell], settings: Settings) -> list[Record]:
    depth, width = layers(cells[0].method.removeprefix(RESREG))
    drawn = [draw(cell, settings.rows) for cell in cells]
    problems = [_problem(world, split, cell.seed) for cell, (world, split) in zip(cells, drawn, strict=True)]
    n_train, n_val = len(problems[0].X), len(problems[0].X_val)
    rate = arithmetic.gemm_rate(min(1024, n_train), width, width, stack=len(cells))
    clock = _Clock()
    fitted = fit_networks(
        problems,
        depth=depth,
        width=width,
        max_epochs=settings.resreg_epochs,
        patience=settings.resreg_patience,
        learning_rate=settings.resreg_rate,
    )
    spent = clock.spent()
    epoch = arithmetic.regression_epoch(n_train, n_val, depth, width)
    total = sum(network.n_epochs for network in fitted)
    records = []
    for cell, (world, split), network in zip(cells, drawn, fitted, strict=True):
        flops = {arithmetic.NETWORK: epoch * network.n_epochs}
        records.append(
            _record(
                cell,
                world,
                split == "test",
                network.predict(world.X[split == "test"]),
                **{name: value * network.n_epochs / total for name, value in spent.items()},
                flops=flops,
                plain_flops={arithmetic.NETWORK: epoch * settings.resreg_epochs},
                rates={arithmetic.NETWORK: rate},
                facts={"epoch": network.epoch, "n_epochs": network.n_epochs, "validation_error": network.error},
                keep_rows=False,
            )
        )
    return records


def _problem(world: World, split: np.ndarray, seed: int) -> Problem:
    train, val, r = split == "train", split == "val", world.residual.astype(np.float32)
    return Problem(world.X[train], r[train], world.X[val], r[val], seed)


def _record(
    cell: Cell, world: World, test: np.ndarray, delta: np.ndarray, *, facts: dict, keep_rows: bool = True, **values
) -> Record:
    truth = world.delta[test]
    if world.coordinate is not None and keep_rows:
        limit = known_coordinate_limit(world, np.flatnonzero(~test), np.flatnonzero(test))
        facts = facts | {"limit": limit.correlation, "limit_bandwidth": limit.bandwidth}
    rmse = float(np.sqrt(np.mean(np.square(delta - truth))))
    rows = _columns(world, test, delta) if keep_rows else {}
    return Record(cell, correlation(delta, truth), rmse, facts=facts, rows=rows, **values)


def _columns(world: World, test: np.ndarray, delta: np.ndarray) -> dict[str, list]:
    columns = {
        "x_0": world.X[test, 0],
        "x_1": world.X[test, 1],
        "confidence": world.confidence[test],
        "correct": world.correct[test],
        "true_delta": world.delta[test],
        "delta": delta,
    }
    rows = {name: np.round(np.asarray(values, dtype=np.float64), _DIGITS).tolist() for name, values in columns.items()}
    return rows if world.regime is None else rows | {"cluster": world.regime[test].tolist()}
