"""HKRR and HJZ by the package multicalibration, over clusters of the inputs. Need the extra [compare].

HKRR: Hebert-Johnson, Kim, Reingold and Rothblum, "Multicalibration", ICML 2018 (arXiv 1711.08513). HJZ: Haghtalab,
Jordan and Zhao, "A unifying perspective on multicalibration", NeurIPS 2023 (arXiv 2302.10863). The package is that of
Hansen, Devic, Nakkiran and Sharan, "When is multicalibration post-processing necessary?" (arXiv 2406.06487).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.choosing import BASES, best, fit_base, held_out
from baselines.groups import Labels, groupings, take
from baselines.protocol import Baseline, Floats
from miscal.calibration.metrics import log_losses
from miscal.data.triples import Triples

N_CLUSTERS = (16, 64)  # of the standardised columns; a fit of HJZ takes about a second for 10,000 rows
_CLIP = 0.001  # a probability of 0 or 1 is never moved by the weights of HJZ


class _Package(Baseline):
    """Multicalibration over all rows and k-means clusters, by the package.

    Number of clusters, base map and the algorithm's own settings are chosen by held-out log loss.
    """

    packages = ("multicalibration", "tqdm")

    algorithm: ClassVar[str]
    grid: ClassVar[tuple[Mapping[str, Any], ...]]

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        pairs, found = held_out(rows, seed), groupings(X, {}, seed, (None,), N_CLUSTERS)
        labels = {key: groups.of(X, {}) for key, groups in found.items()}
        losses = []
        for key, base, own in product(labels, BASES, self.grid):
            loss, sizes = 0.0, found[key].sizes
            for fit, score in pairs:
                p, start = (fit_base(base, y[fit], f[fit]).apply(f[part]) for part in (fit, score))
                model = self._model(p, y[fit], take(labels[key], fit), sizes, own, seed)
                loss += float(log_losses(y[score], _predict(model, start, take(labels[key], score), sizes)).sum())
            losses.append(({"clusters": key[1], "base": base, **own}, loss))
        self.settings_, _ = best(losses)
        key, base = (None, self.settings_["clusters"]), self.settings_["base"]
        own = {name: self.settings_[name] for name in self.grid[0]}
        self.groups_, self.map_ = found[key], fit_base(base, y, f)
        self.model_ = self._model(self.map_.apply(f), y, labels[key], found[key].sizes, own, seed)

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return _predict(self.model_, self.map_.apply(confidence), self.groups_.of(X, {}), self.groups_.sizes)

    def _model(self, p: Floats, y: Floats, labels: Labels, sizes: list[int], own: Mapping[str, Any], seed: int):
        from multicalibration.mcb import MulticalibrationPredictor

        model = MulticalibrationPredictor(self.algorithm)
        with _quiet(seed):
            model.fit(np.clip(p, _CLIP, 1 - _CLIP), y.copy(), _members(labels, sizes), dict(own))
        return model


class HKRR(_Package):
    """Move a bin of a group to its rate, group by group, until nothing is moved by a tenth of a bin or more."""

    name = "hkrr"
    place = 15.7
    algorithm = "HKRR"
    grid = tuple(
        {"lambda": width, "alpha": alpha, "max_iter": n, "randomized": True, "use_oracle": False}
        for width, alpha, n in ((0.1, 0.1, 1), (0.1, 0.025, 1), (0.1, 0.1, 5), (0.05, 0.1, 1))
    )  # fmt: skip


class HJZ(_Package):
    """Play a game: an adversary points at the worst bin of a group, the weights of its rows are moved by Hedge."""

    name = "hjz"
    place = 15.8
    algorithm = "HJZ"
    grid = tuple(
        {"algorithm": "Hedge", "other_algorithm": "None", "lr": rate, "other_lr": 0.9, "n_bins": 10, "iterations": 50}
        for rate in (0.95, 0.98)
    )


class _Members(list):
    """Rows of a group; the package asks again and again whether a row is among them."""

    def __init__(self, rows: NDArray) -> None:
        super().__init__(rows.tolist())
        self._known = set(self)

    def __contains__(self, row: object) -> bool:
        return row in self._known


def _members(labels: Labels, sizes: list[int]) -> list[_Members]:
    # a group without rows is kept, empty: the package knows groups by their place
    return [
        _Members(np.flatnonzero(label == group))
        for label, n in zip(labels, sizes, strict=True) for group in range(n)
    ]  # fmt: skip


def _predict(model, p: Floats, labels: Labels, sizes: list[int]) -> Floats:
    with _quiet(0):
        return np.asarray(model.predict(np.clip(p, _CLIP, 1 - _CLIP), _members(labels, sizes)), np.float64)


@contextmanager
def _quiet(seed: int) -> Iterator[None]:
    """Without progress bars; draws of the global generator are seeded, and its state is put back."""
    state = np.random.get_state()  # noqa: NPY002 - the package draws from it
    np.random.seed(seed)  # noqa: NPY002
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
