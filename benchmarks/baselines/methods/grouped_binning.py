"""Iterative grouped linear binning over clusters of the inputs and values of metadata.

Detommaso, Bertran, Fogliato and Roth, "Multicalibration for Confidence Scoring in LLMs", ICML 2024 (arXiv 2404.04689).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from baselines.choosing import BASES, base_offset, best, fit_base, held_out, make_folds
from baselines.groups import Labels, groupings, take
from baselines.protocol import Baseline, Floats, Metadata
from miscal.calibration.calibrators import logit
from miscal.calibration.metrics import log_losses
from miscal.data.triples import Triples

N_CLUSTERS = (8, 16, 32, 64)
VIEWS = (None, 20, 50)
"""What is clustered: standardised columns, or so many whitened components (Detommaso et al.: 20 dimensions by UMAP)."""
SHARES = (0.002, 0.01, 0.05)
"""Least share of the rows in a cell that is patched."""
N_BINS = 20
MAX_PATCHES, PATIENCE = 150, 30
_RIDGE = 1.0  # of a scaling's distance from the identity: a cell of one outcome has no finite scaling without
_STEPS = 6


@dataclass(frozen=True)
class Cell:
    """The rows of one group whose probability is in a half line of bins.

    Attributes
    ----------
    family, group : int
    low, high : int
        First and last bin, of N_BINS; one of them is the first or the last of all.
    """

    family: int
    group: int
    low: int
    high: int

    def rows(self, labels: Labels, odds: Floats) -> NDArray[np.int64]:
        """Rows in the cell."""
        bins = _bins(odds)
        return np.flatnonzero((labels[self.family] == self.group) & (bins >= self.low) & (bins <= self.high))


@dataclass(frozen=True)
class Patch:
    """A linear scaling of the log-odds in one cell.

    Attributes
    ----------
    cell : Cell
    intercept, slope : float
    """

    cell: Cell
    intercept: float
    slope: float

    def apply(self, labels: Labels, odds: Floats) -> Floats:
        """Log-odds after the patch, (n,)."""
        rows, out = self.cell.rows(labels, odds), odds.copy()
        out[rows] = self.intercept + self.slope * odds[rows]
        return out


class GroupedBinning(Baseline):
    """Patch, again and again, the cell of group and bins that is most miscalibrated, by a linear scaling of log-odds.

    A cell is a group of rows and a half line of bins of the current probability; the worst has the largest share of
    the rows times squared mean residual. The groups are all rows and the clusters of a k-means. Unlike the paper's,
    probabilities are not rounded to a grid after a patch. Columns that are clustered, number of clusters, base map,
    least share of a cell and number of patches are chosen by held-out log loss.
    """

    name = "grouped_binning"
    place = 15.5

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        folds, pairs = make_folds(X, seed), held_out(rows, seed)
        metadata = rows.metadata if self.reads_metadata else {}
        found = groupings(X, metadata, seed, VIEWS, N_CLUSTERS)
        labels = {key: groups.of(X, metadata) for key, groups in found.items()}
        losses = []
        for key, base, share in product(labels, BASES, SHARES):
            loss = np.zeros(MAX_PATCHES + 1)
            for fit, score in pairs:
                odds = base_offset(base, y[fit], f[fit], folds[fit])
                start = logit(fit_base(base, y[fit], f[fit]).apply(f[score]))
                inside, outside = take(labels[key], fit), take(labels[key], score)
                loss += _path(y[fit], odds, inside, share, y[score], start, outside)
            n = int(loss.argmin())
            chosen = {"components": key[0], "clusters": key[1], "base": base, "share": share, "patches": n}
            losses.append((chosen, float(loss[n])))
        self.settings_, _ = best(losses)
        key, base = (self.settings_["components"], self.settings_["clusters"]), self.settings_["base"]
        self.groups_, self.map_ = found[key], fit_base(base, y, f)
        self.patches_ = []
        odds = base_offset(base, y, f, folds)
        for _ in range(self.settings_["patches"]):
            patch = _worst(y, odds, labels[key], self.settings_["share"])
            if patch is None:
                break
            self.patches_.append(patch)
            odds = patch.apply(labels[key], odds)

    def _calibrate(self, X: NDArray, confidence: Floats, metadata: Metadata | None = None) -> Floats:
        labels, odds = self.groups_.of(X, metadata or {}), logit(self.map_.apply(confidence))
        for patch in self.patches_:
            odds = patch.apply(labels, odds)
        return expit(odds)


class GroupedBinningMetadata(GroupedBinning):
    """The same with the values of metadata as groups too, which no other baseline sees."""

    name = "grouped_binning_metadata"
    place = 15.6
    reads_metadata = True


def _path(y: Floats, odds: Floats, inside: Labels, share: float, y_out: Floats, out: Floats, outside: Labels) -> Floats:
    """Log loss of held-out rows after each number of patches, (MAX_PATCHES + 1,); inf where it is not tried."""
    losses = np.full(MAX_PATCHES + 1, np.inf)
    losses[0] = log_losses(y_out, expit(out)).sum()
    for i in range(1, MAX_PATCHES + 1):
        patch = _worst(y, odds, inside, share)
        if patch is None or i - int(losses.argmin()) > PATIENCE:
            break
        odds, out = patch.apply(inside, odds), patch.apply(outside, out)
        losses[i] = log_losses(y_out, expit(out)).sum()
    return losses


def _worst(y: Floats, odds: Floats, labels: Labels, share: float) -> Patch | None:
    """Patch the worst cell; None where every cell has mean residual 0 or too few rows."""
    bins, residual = _bins(odds), y - expit(odds)
    top, worst = 1e-12, None
    for family, label in enumerate(labels):
        n_groups = int(label.max()) + 1
        known = label >= 0
        cell = label[known] * N_BINS + bins[known]
        n = np.bincount(cell, minlength=n_groups * N_BINS).reshape(n_groups, N_BINS)
        total = np.bincount(cell, residual[known], n_groups * N_BINS).reshape(n_groups, N_BINS)
        for upwards in (False, True):
            rows, sums = (_tails(n), _tails(total)) if upwards else (n.cumsum(1), total.cumsum(1))
            score = np.where(rows >= max(share * len(y), 2), sums**2 / np.maximum(rows, 1), 0.0)
            at = np.unravel_index(int(score.argmax()), score.shape)
            if score[at] > top:
                edge = int(at[1])
                low, high = (edge, N_BINS - 1) if upwards else (0, edge)
                top, worst = score[at], Cell(family, int(at[0]), low, high)
    if worst is None:
        return None
    rows = worst.rows(labels, odds)
    return Patch(worst, *_scaling(y[rows], odds[rows]))


def _scaling(y: Floats, odds: Floats) -> tuple[float, float]:
    """Intercept and slope of y ~ Bernoulli(sigmoid(a + b odds)), with a small penalty of (a, b - 1), by Newton."""
    columns = np.column_stack([np.ones_like(odds), odds])
    prior = np.array([0.0, 1.0])
    found = prior.copy()
    for _ in range(_STEPS):
        p = expit(columns @ found)
        slope = columns.T @ (y - p) - _RIDGE * (found - prior)
        step = np.linalg.solve(columns.T @ (columns * (p * (1 - p))[:, None]) + _RIDGE * np.eye(2), slope)
        found = found + np.clip(step, -2, 2)
    return float(found[0]), float(found[1])


def _bins(odds: Floats) -> NDArray[np.int64]:
    return np.minimum((expit(odds) * N_BINS).astype(np.int64), N_BINS - 1)


def _tails(table: NDArray) -> NDArray:
    return table[:, ::-1].cumsum(1)[:, ::-1]
