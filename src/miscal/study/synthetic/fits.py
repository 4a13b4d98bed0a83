"""From a cell to its record: draw the world, split it, fit, measure on test rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn

from miscal.base.process import n_workers, one_thread
from miscal.calibration.survey_design import correlation
from miscal.data.triples import Triples
from miscal.estimators.auto.estimator import AutoField
from miscal.estimators.auto.geometry import LOCAL, LocalMember
from miscal.estimators.paper.field import BANK_SIZE, draw_training
from miscal.estimators.paper.grid import ROUND, search
from miscal.estimators.paper.phi import BATCH, CLIP, WEIGHT_DECAY, Training, stream
from miscal.study.synthetic.experiments import ExperimentCell, Record, Settings, capacity_of, layers
from miscal.study.synthetic.worlds import World, known_coordinate_limit, random_split, sinusoid, three_clusters

_DIGITS = 6
"""Decimals of the rows kept for the figures: finer than any picture, a third of the bytes."""

_INIT, _ORDER = 3, 4
"""Purposes of the two random streams of a seed: starting weights, and the order of the rows."""


def compute(cell: ExperimentCell, settings: Settings, *, n_jobs: int = 1) -> Record:
    """Compute one cell; `n_jobs` processes for the grid within it change no number.

    Examples
    --------
    >>> few = Settings("resreg", rows=200, resreg_epochs=2)
    >>> compute(ExperimentCell("sinusoid", "resreg-1x8", 1.0, 1.0, 0), few)["facts"]["n_epochs"]
    2
    """
    with one_thread():
        world, split = draw(cell, settings.rows)
        test = split == "test"
        fit = _regression if capacity_of(cell.method) else _paper if cell.method == "paper" else _auto
        processes = n_workers(n_jobs, len(settings.sigmas) * len(settings.lambdas)) if fit is _paper else 1
        wall, cpu = time.perf_counter(), time.process_time()
        delta, coordinates, measure = fit(cell, world, split, settings, n_jobs)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        found = measure()
        if world.coordinate is not None and fit is not _regression:
            limit = known_coordinate_limit(world, np.flatnonzero(~test), np.flatnonzero(test))
            found["facts"] |= {"limit": limit[0], "limit_bandwidth": limit[1]}
    truth = world.delta[test]
    rows = {} if coordinates is None else _columns(world, test, delta, coordinates)
    r, error = correlation(delta, truth), rmse(delta, truth)
    spent = {"seconds": wall * processes, "cpu": cpu if processes == 1 else None}
    return cell._asdict() | {"r": r, "rmse": error} | spent | {"candidates": []} | found | {"rows": rows}


def draw(cell: ExperimentCell, rows: int) -> tuple[World, np.ndarray]:
    """Return a cell's world and its split, 'train', 'val' or 'test' per row."""
    if cell.world == "clusters":
        world = three_clusters(rows, random_state=cell.seed)
    else:
        world = sinusoid(rows, amplitude=cell.amplitude, frequency=cell.frequency, random_state=cell.seed)
    return world, random_split(rows, random_state=cell.seed)


# Each fit returns the field of the test rows, their learned coordinates where it has some, and what measures it beyond
# that, which is not part of its time.


def _paper(cell: ExperimentCell, world: World, split: np.ndarray, settings: Settings, n_jobs: int):
    """Search the whole grid, no setting stopped for being behind, and estimate by every candidate."""
    train, val, test = (np.flatnonzero(split == name) for name in ("train", "val", "test"))
    # as PaperField(random_state=seed) draws them
    data, seed = draw_training(world, np.ones(len(split)), train, val, BANK_SIZE, np.random.default_rng(cell.seed))
    found = search(
        data, sigmas=settings.sigmas, penalties=settings.lambdas, seed=seed, n_jobs=n_jobs,
        max_epochs=settings.epochs, patience=settings.patience, watch_loss=True,
    )  # fmt: skip
    fields = [training.estimate(data, world.X[test]) for training in found.trainings]
    chosen = found.candidates[found.chosen]

    def measure() -> dict[str, Any]:
        truth, candidates = world.delta[test], []
        for candidate, training, delta in zip(found.candidates, found.trainings, fields, strict=True):
            lowest = training.estimate(data, world.X[test], training.lowest())
            of_loss = {"loss_epoch": training.lowest_epoch, "loss_r": correlation(lowest, truth)}
            candidates.append(candidate.as_dict() | {"r": correlation(delta, truth)} | of_loss)
        facts = {"sigma": chosen.sigma, "lambda": chosen.penalty, "epoch": chosen.epoch}
        return {"candidates": candidates, "facts": facts | {"epochs_trained": epochs_trained(found.trainings)}}

    phi = found.trainings[found.chosen].best()
    return fields[found.chosen], phi.embed(torch.from_numpy(world.X[test])).numpy(), measure


def epochs_trained(trainings: tuple[Training, ...]) -> int:
    """Count the epochs really trained by settings that share a run: each different round of a bandwidth once."""
    rounds = {
        (training.sigma, start, tuple(training.proxies[: start + ROUND]))
        for training in trainings
        for start in range(0, len(training.proxies), ROUND)
    }
    return sum(len(history) - start for _, start, history in rounds)


def _auto(cell: ExperimentCell, world: World, split: np.ndarray, settings: Settings, n_jobs: int):
    known, test = split != "test", split == "test"
    field = AutoField(random_state=cell.seed)
    field.fit(Triples.of(world.X[known], confidence=world.confidence[known], correct=world.correct[known]))
    X, f = world.X[test], world.confidence[test]
    found = field.estimate(X, f)

    def measure() -> dict[str, Any]:
        candidates = judged_candidates(field, X, f, world.delta[test])
        return {"candidates": candidates, "facts": {"structure": bool(field.structure_)}}

    return found.delta, found.coordinates, measure


def _regression(cell: ExperimentCell, world: World, split: np.ndarray, settings: Settings, n_jobs: int):
    depth, width = layers(capacity_of(cell.method))
    train, val, r = split == "train", split == "val", world.residual.astype(np.float32)
    network = fit_network(
        world.X[train], r[train], world.X[val], r[val], seed=cell.seed, depth=depth, width=width,
        max_epochs=settings.resreg_epochs, patience=settings.resreg_patience, learning_rate=settings.resreg_rate,
    )  # fmt: skip
    facts = {"epoch": network.epoch, "n_epochs": network.n_epochs, "validation_error": network.error}
    return network.predict(world.X[split == "test"]), None, lambda: {"facts": facts}


def _columns(world: World, test: np.ndarray, delta: np.ndarray, coordinates: np.ndarray) -> dict[str, list]:
    first, second = _plane(coordinates.astype(np.float64), delta).T
    columns = {"x_0": world.X[test, 0], "x_1": world.X[test, 1], "confidence": world.confidence[test]}
    columns |= {"correct": world.correct[test], "true_delta": world.delta[test], "delta": delta}
    columns |= {"phi_0": first, "phi_1": second}
    rows = {name: np.round(np.asarray(values, dtype=np.float64), _DIGITS).tolist() for name, values in columns.items()}
    return rows if world.regime is None else rows | {"cluster": world.regime[test].tolist()}


def _plane(coordinates: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """Lay learned coordinates (n, k) out along their two main directions (n, 2), each rising with the field."""
    left, sizes, _ = np.linalg.svd(coordinates - coordinates.mean(0), full_matrices=False)
    plane = (left * sizes)[:, :2] * np.where(delta @ left[:, :2] < 0, -1.0, 1.0)
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))


def judged_candidates(field: AutoField, X: np.ndarray, confidence: np.ndarray, truth: np.ndarray) -> list[dict]:
    """Measure what ``method="auto"`` chose from, each candidate by itself on rows with a known field.

    Its choice is by out-of-fold log loss (nats). Of its table the fitted model keeps, and so can be measured: the
    global map, the kernels, the trees, the shift by cluster, the local shift, and what it returns (the stack, one of
    these alone, or the global map where it claims no structure). Without a claim it keeps the local shift alone: read
    from the global map, it is then what it passed by. Of the rows exactly one is `chosen`.
    """
    losses = {row["name"]: row["log_loss"] for row in field.selection_}
    # the stack, whose members are marked too, stands last
    returned = [row["name"] for row in field.selection_ if row["chosen"]][-1]
    # a local shift outside the stack has no row of its own in the table
    return [
        {"name": name, "log_loss": losses.get(name), "r": correlation(delta, truth), "chosen": name == returned}
        for name, delta in _fields(field, X, confidence, returned).items()
    ]


def _fields(field: AutoField, X: np.ndarray, confidence: np.ndarray, returned: str) -> dict[str, np.ndarray]:
    model = field.model_
    (at, _), base = model.query(X, confidence), model.base(confidence)
    shifts, local = {}, LocalMember()
    if model.structure and model.portfolio is not None:
        shifts, local = model.portfolio.first_shifts(at), model.portfolio.later.get(LOCAL, local)
    shifts |= {LOCAL: local.shift(at)}
    found = {f"global map: {model.global_map.name}": base - confidence}
    found |= {name: expit(at.offset + shift) - confidence for name, shift in shifts.items()}
    return found | {returned: field.estimate(X, confidence).delta}


def rmse(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Root mean square error of arrays (n,).

    Examples
    --------
    >>> rmse(np.array([0.0, 1.0]), np.array([0.0, 3.0]))
    1.4142135623730951
    """
    return float(np.sqrt(np.mean(np.square(estimate - truth))))


# --- residual regression ------------------------------------------------------------------------------------------
# The paper's alternative: a network g(x) fitted to r = y - f by least squares. The paper names mean squared error and
# 300 epochs, and for its other models Adam with weight decay 7e-6, batches of 1,024 and a gradient norm of at most 1,
# which are taken over. The learning rate, GELU and the choice of the epoch by validation error are ours.


class Network(NamedTuple):
    """A fitted network: weights (in, out) and biases (1, out) in turn, of epoch `epoch` out of `n_epochs`.

    ``error`` is the mean squared error on the validation rows.
    """

    parameters: tuple[Tensor, ...]
    epoch: int
    n_epochs: int
    error: float

    @torch.no_grad()
    def predict(self, X: np.ndarray) -> np.ndarray:
        """Estimate the field at float32 rows (q, d): float32 (q,), negative where over-confident."""
        return _forward(self.parameters, torch.from_numpy(np.ascontiguousarray(X))).numpy()


def fit_network(
    X: np.ndarray,
    residual: np.ndarray,
    X_val: np.ndarray,
    residual_val: np.ndarray,
    *,
    seed: int,
    depth: int,
    width: int,
    max_epochs: int = 300,
    patience: int = 300,
    learning_rate: float = 1e-3,
) -> Network:
    """Fit a network of `depth` hidden layers of `width`; its weights are those of the best validation epoch.

    Rows are float32: inputs (n, d) and (v, d), residuals r = y - f (n,) and (v,), positive where under-confident. The
    seed draws starting weights and batches.

    300 epochs are the paper's; training stops after `patience` epochs without a smaller validation error. The paper
    gives no learning rate for these networks; see :class:`miscal.study.synthetic.experiments.Settings`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1)).astype("float32")
    >>> network = fit_network(X[:40], X[:40, 0], X[40:], X[40:, 0], seed=0, depth=1, width=8, max_epochs=2)
    >>> network.predict(X).shape, network.n_epochs
    ((60,), 2)
    """
    inputs, r, inputs_val, r_val = map(torch.from_numpy, (X, residual, X_val, residual_val))
    parameters = _starting(seed, X.shape[1], depth, width)
    adam = torch.optim.Adam(parameters, lr=learning_rate, weight_decay=WEIGHT_DECAY, fused=True)
    best, epoch = Network((), 0, 0, float("inf")), 0
    while epoch < max_epochs and epoch - best.epoch < patience:
        order = torch.from_numpy(stream(seed, _ORDER, epoch).permutation(len(r)))
        for rows in order.split(BATCH):
            _step(parameters, adam, inputs[rows], r[rows])
        epoch += 1
        with torch.no_grad():
            error = (_forward(parameters, inputs_val) - r_val).square().mean(dtype=torch.float64).item()
        if error < best.error:
            best = Network(tuple(p.detach().clone() for p in parameters), epoch, epoch, error)
    return Network(best.parameters, best.epoch, epoch, best.error)


def _step(parameters: Sequence[Tensor], adam: torch.optim.Adam, X: Tensor, r: Tensor) -> None:
    """Take one step of Adam, the gradient norm held at ``CLIP``."""
    gradients = torch.autograd.grad((_forward(parameters, X) - r).square().mean(), parameters)
    norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
    scale = (CLIP / (norm + 1e-6)).clamp(max=1.0)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient * scale
    adam.step()


def _forward(parameters: Sequence[Tensor], x: Tensor) -> Tensor:
    """Map inputs (n, d) to outputs (n,)."""
    *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
    for weight, bias in hidden:
        x = nn.functional.gelu(torch.addmm(bias, x, weight))
    return torch.addmm(last[1], x, last[0])[:, 0]


def _starting(seed: int, n_features: int, depth: int, width: int) -> list[Tensor]:
    """Weights (in, out) and biases (1, out), uniform in +-1 / sqrt(fan in)."""
    rng, drawn = stream(seed, _INIT), []
    for fan_in, fan_out in pairwise([n_features, *[width] * depth, 1]):
        for rows in (fan_in, 1):
            values = rng.uniform(-(fan_in**-0.5), fan_in**-0.5, (rows, fan_out))
            drawn.append(torch.from_numpy(values.astype(np.float32)).requires_grad_())
    return drawn
