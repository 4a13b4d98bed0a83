"""Made worlds of a judge and people, for the scripts about pass rates: what is true of them is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, logit

FOLDS, STEPS, RIDGE = 5, 8, 1.0
GROUPS = 5


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows of one draw: judge's score, verdict of all rows, which are labelled, and what else is known of them."""

    score: np.ndarray
    verdict: np.ndarray
    labelled: np.ndarray
    group: np.ndarray
    cluster: np.ndarray
    chance: np.ndarray
    """Probability of a label."""
    expected: np.ndarray
    """Probability that people approve."""
    columns: np.ndarray
    """What predictions are learned from: 1, the log-odds of the score, and the groups where a world has them."""

    @property
    def human(self) -> np.ndarray:
        """Verdicts, NaN where there is none."""
        return np.where(self.labelled, self.verdict, np.nan)


Make = Callable[[np.random.Generator, int, int], Draw]


def _draw(rng, score, expected, labels, *, group=None, cluster=None, chance=None, whole=False) -> Draw:
    n = len(score)
    group = rng.integers(0, GROUPS, n) if group is None else group
    cluster = np.arange(n) if cluster is None else cluster
    if chance is not None:
        labelled = rng.random(n) < chance
    elif whole:
        numbers = int(cluster.max()) + 1
        labelled = np.isin(cluster, rng.permutation(numbers)[: labels * numbers // n])
    else:
        labelled = np.isin(np.arange(n), rng.permutation(n)[:labels])
    columns = np.column_stack([np.ones(n), logit(np.clip(score, 0.01, 0.99)), *(group == k for k in range(1, GROUPS))])
    chance = np.full(n, labels / n) if chance is None else chance
    return Draw(score, (rng.random(n) < expected).astype(float), labelled, group, cluster, chance, expected, columns)


def plain(rng, n, labels):
    """A judge that knows much, and is too lenient everywhere."""
    x = rng.normal(size=n)
    return _draw(rng, expit(1.0 + 1.5 * x), expit(1.5 * x), labels)


def rare(rng, n, labels):
    """People approve of one row in fifty; the judge of three times as many."""
    x = rng.normal(size=n)
    return _draw(rng, expit(-3.5 + 1.5 * x), expit(-5.0 + 1.6 * x), labels)


def rare_and_seen(rng, n, labels):
    """One row in fifty, nearly all of which the judge sees."""
    hit = rng.random(n) < 0.02
    return _draw(rng, np.where(hit, 0.98, 0.02), np.where(hit, 0.95, 0.001), labels)


def saturated(rng, n, labels):
    """The judge passes 98 rows of 100, and people 92."""
    x = rng.normal(size=n)
    score = np.where((x < -1.5) & (rng.random(n) < 0.3), 0.0, 1.0)
    return _draw(rng, score, expit(3.2 + 1.3 * x), labels)


def groups(rng, n, labels):
    """The judge is too lenient by far with one group of five."""
    x, group = rng.normal(size=n), rng.integers(0, GROUPS, n)
    return _draw(rng, expit(0.5 + 1.5 * x), expit(0.5 + 1.5 * x - 2.0 * (group == 0)), labels, group=group)


def clusters(rng, n, labels):
    """Five answers to each question, whose verdicts hang together; whole questions are labelled."""
    question = np.arange(n) // 5
    x = rng.normal(size=n) + rng.normal(size=n // 5)[question]
    hard = 0.8 * rng.normal(size=n // 5)[question]
    return _draw(rng, expit(1.0 + x), expit(0.3 + x + hard), labels, cluster=question, whole=True)


def shift(rng, n, labels):
    """Rows that the judge fails are labelled up to ten times as often as others, with known probabilities."""
    x = rng.normal(size=n)
    chance = np.clip(np.exp(-0.8 * x), 0.3, 3.0)
    return _draw(rng, expit(1.0 + 1.5 * x), expit(1.5 * x), labels, chance=chance * labels / chance.sum())


def unequal(rng, n, labels, level=0.0):
    """As the last, but up to some hundred times as often, and not only where the judge says so."""
    x, other = rng.normal(size=(2, n))
    chance = np.exp(-1.2 * (0.8 * x + 0.6 * other))
    return _draw(rng, expit(level + 1.0 + 1.5 * x), expit(level + 1.5 * x), labels,
                 chance=np.minimum(chance * labels / chance.sum(), 0.99))  # fmt: skip


def no_signal(rng, n, labels):
    """The judge's scores have nothing to do with what people say."""
    return _draw(rng, rng.random(n), np.full(n, 0.6), labels)


WORLDS: dict[str, Make] = {
    "plain": plain, "rare": rare, "rare and seen": rare_and_seen, "saturated judge": saturated, "lenient group": groups,
    "clusters": clusters, "shift": shift, "no signal": no_signal, "unequal": unequal,
    "unequal and rarer": partial(unequal, level=-1.5),
}  # fmt: skip


def rate_of(world: str, group: int | None = None, n: int = 1_000_000) -> float:
    """Pass rate of a world, or of one of its groups."""
    draw = WORLDS[world](np.random.default_rng(99), n, 100)
    return float(draw.expected[slice(None) if group is None else draw.group == group].mean())


def cross_fitted(draw: Draw, rng: np.random.Generator) -> np.ndarray:
    """Probability that people approve, by ridge logistic regressions on the verdicts of the other folds.

    Clusters are kept together; a row without a verdict has the mean of all folds' predictions.
    """
    fold = rng.permutation(np.arange(int(draw.cluster.max()) + 1) % FOLDS)[draw.cluster]
    weight = 1 / draw.chance
    fits = np.array([
        _predicted(draw, draw.labelled & (fold != k), weight / weight[draw.labelled].mean()) for k in range(FOLDS)
    ])  # fmt: skip
    return np.where(draw.labelled, fits[fold, np.arange(len(fold))], fits.mean(0))


def _predicted(draw: Draw, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    A, y, w = draw.columns[rows], draw.verdict[rows], weight[rows]
    ridge = RIDGE * np.eye(A.shape[1])
    ridge[0, 0] = 1e-6
    b = np.zeros(A.shape[1])
    b[0] = logit(np.clip(y.mean(), 0.5 / len(y), 1 - 0.5 / len(y)))
    for _ in range(STEPS):
        q = expit(A @ b)
        b += np.linalg.solve((A * (w * q * (1 - q))[:, None]).T @ A + ridge, A.T @ (w * (y - q)) - ridge @ b)
        b = np.clip(b, -12, 12)
    return expit(draw.columns @ b)
