"""Choose (sigma, lambda) as the paper does: train each setting of a grid, and keep the smallest validation proxy.

The proxy is the validation Brier score of f + delta_hat, unclipped (arXiv 2605.13484, appendix A). Settings are
trained in rounds of epochs; settings whose lambda has not mattered yet, no row having lacked mass, share one run.
All are trained until their patience ends, as in the paper. As an option (``stop_hopeless``), those that cannot catch up
are stopped after each round: those whose best squared errors exceed the leader's, row by row on the validation split,
by more than ``HOPELESS`` standard errors. Their table rows keep the proxy reached.
Each run is by itself on one thread, several at a time in processes, so the numbers do not depend on how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import joblib
import numpy as np
import torch

from miscal.base.errors import InputError, ResourceError, argument
from miscal.base.process import n_workers, one_thread
from miscal.estimators.paper.phi import MAX_EPOCHS, PATIENCE, Training, TrainingData, layer_sizes

SIGMAS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1)

HOPELESS = 3.0
"""Paired standard errors behind the leader at which a setting is stopped."""

ROUND = 10
"""Epochs between comparisons."""


@dataclass(frozen=True)
class GridCandidate:
    """One row of the selection table.

    ``proxy`` is the validation Brier score of f + delta_hat at the setting's best epoch ``epoch`` (from 1), out of
    ``n_epochs`` trained; ``stopped`` says why training ended.
    """

    sigma: float
    penalty: float
    proxy: float
    epoch: int
    n_epochs: int
    stopped: Literal["epochs", "patience", "hopeless"]
    chosen: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the row for a JSON table, the penalty under its name in the paper, ``lambda``."""
        row = asdict(self)
        return {"sigma": row.pop("sigma"), "lambda": row.pop("penalty"), **row}


@dataclass(frozen=True)
class GridSearch:
    """All candidates of a grid in grid order, their trained states, and which is chosen."""

    candidates: tuple[GridCandidate, ...]
    trainings: tuple[Training, ...]

    @property
    def chosen(self) -> int:
        """Index of the chosen candidate."""
        return next(i for i, candidate in enumerate(self.candidates) if candidate.chosen)


def search(
    data: TrainingData,
    *,
    sigmas: Sequence[float] = SIGMAS,
    penalties: Sequence[float] = LAMBDAS,
    seed: int = 0,
    n_jobs: int | None = None,
    max_epochs: int = MAX_EPOCHS,
    patience: int = PATIENCE,
    stop_hopeless: bool = False,
    device: str = "cpu",
    watch_loss: bool = False,
) -> GridSearch:
    """Train the grid and choose by the proxy.

    Takes sigmas, penalties: the grid; n_jobs: processes, by default as many as cores are allowed to this process;
    stop_hopeless: stop settings that cannot catch up; device: where to train; watch_loss: keep the weights of the
    lowest validation loss, too (``Training.lowest``).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, r = rng.normal(size=(60, 1)).astype("float32"), rng.normal(size=60).astype("float32")
    >>> one = np.ones(20, "float32")
    >>> data = TrainingData(X[:40], r[:40], np.ones(40, "float32"), X[40:], r[40:], one, np.arange(40))
    >>> found = search(data, sigmas=[0.3, 1.0], penalties=[0.01], max_epochs=2, n_jobs=1)
    >>> [candidate.n_epochs for candidate in found.candidates], found.chosen in (0, 1)
    ([2, 2], True)
    """
    check_grid(sigmas, penalties)
    sizes = layer_sizes(data.X.shape[1])
    trainings = [
        Training(
            sizes,
            sigma,
            penalty,
            seed=seed,
            max_epochs=max_epochs,
            patience=patience,
            device=device,
            watch_loss=watch_loss,
        )
        for sigma in sigmas
        for penalty in penalties
    ]
    hopeless = np.zeros(len(trainings), dtype=bool)
    # tasks are few and long: handed out one by one, no process waits for another's batch
    workers = n_workers(n_jobs, len(trainings))
    with joblib.Parallel(n_jobs=workers if device == "cpu" else 1, batch_size=1) as parallel:
        # the last round may reach beyond max_epochs, where every training stops by itself
        for until in range(ROUND, max_epochs + ROUND, ROUND):
            running = [i for i, t in enumerate(trainings) if not (t.finished or hopeless[i])]
            _advance_all(parallel, trainings, running, data, until)
            if stop_hopeless:
                hopeless |= _hopeless(trainings, data.weight_val)
            for training, stopped in zip(trainings, hopeless, strict=True):
                if training.finished or stopped:
                    training.release()
    return _search(trainings)


def _advance_all(
    parallel: joblib.Parallel, trainings: list[Training], running: list[int], data: TrainingData, until: int
) -> None:
    """Advance the running settings in place; where the mass penalty has not bitten, one stands for its sigma."""
    groups: dict[tuple[float, int | None], list[int]] = {}
    for i in running:
        # None for all settings of this sigma that lambda has not touched yet
        groups.setdefault((trainings[i].sigma, i if trainings[i].penalised else None), []).append(i)
    _advance_each(parallel, trainings, [group[0] for group in groups.values()], data, until)
    apart = []
    for first, *rest in groups.values():
        if trainings[first].penalised:
            # lambda began to matter during this round, so the others must go through it themselves
            apart += rest
        else:
            for i in rest:
                trainings[i] = trainings[first].with_penalty(trainings[i].penalty)
    _advance_each(parallel, trainings, apart, data, until)


def _advance_each(
    parallel: joblib.Parallel, trainings: list[Training], which: list[int], data: TrainingData, until: int
) -> None:
    advanced = parallel(joblib.delayed(_advance)(trainings[i], data, until) for i in which)
    for i, training in zip(which, advanced, strict=True):
        trainings[i] = training


def _advance(training: Training, data: TrainingData, until: int) -> Training:
    try:
        with one_thread():
            return training.advance(data, until)
    except torch.cuda.OutOfMemoryError:
        n, d = data.X.shape
        raise ResourceError(
            f"the GPU has too little free memory for {n:,} training rows of {d:,} columns: free some of it, or give "
            f"{argument('device', 'cpu')}"
        ) from None


def _hopeless(trainings: list[Training], weight: np.ndarray) -> np.ndarray:
    """Whether each setting is, by its best epoch, many paired standard errors behind the leader."""
    errors = np.stack([training.best_errors for training in trainings])
    leader = min(range(len(trainings)), key=lambda i: trainings[i].best_proxy)
    behind = errors - errors[leader]
    share = weight / weight.sum(dtype=np.float64)
    mean = behind @ share
    # standard error of a mean with weights that sum to 1
    deviation = np.sqrt(np.square(behind - mean[:, None]) @ np.square(share))
    # the leader, and settings equal to it up to rounding, have a mean and a deviation of 0
    return mean > HOPELESS * deviation + 1e-12


def _search(trainings: list[Training]) -> GridSearch:
    rows = [_candidate(training) for training in trainings]
    best = min(range(len(rows)), key=lambda i: rows[i].proxy)
    rows[best] = replace(rows[best], chosen=True)
    return GridSearch(tuple(rows), tuple(trainings))


def _candidate(training: Training) -> GridCandidate:
    ended = "epochs" if training.epoch >= training.max_epochs else "patience"
    return GridCandidate(
        sigma=training.sigma,
        penalty=training.penalty,
        proxy=training.best_proxy,
        epoch=training.best_epoch,
        n_epochs=training.epoch,
        stopped=ended if training.finished else "hopeless",
    )


def check_grid(sigmas: Any, lambdas: Any) -> None:
    """Refuse what is no grid.

    Examples
    --------
    >>> check_grid([0.1], 0.01)
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: lambdas must be a list of finite numbers of at least 0; got 0.01
    """
    for name, values, least in (("sigmas", sigmas, "above 0"), ("lambdas", lambdas, "of at least 0")):
        allowed = _are_numbers(values) and (min(values) > 0 or (min(values) == 0 and name == "lambdas"))
        if not allowed:
            raise InputError(f"{name} must be a list of finite numbers {least}; got {values!r}")


def _are_numbers(values: Any) -> bool:
    if not isinstance(values, Sequence | np.ndarray) or len(values) == 0:
        return False
    return all(
        isinstance(one, int | float | np.number) and not isinstance(one, bool) and np.isfinite(one) for one in values
    )
