"""Made-up rows for `nothing.py`: what is true of them is known, and the field was fixed before their outcomes.

A world is a function of the number of rows, the kind of draw and a generator, and one line in `WORLDS`. It chooses
confidences f and a curve m(f); :func:`rows_of` does the rest. Outcomes are 1 with probability

    calibrated   f                nothing is wrong
    visible      m(f)             a reliability diagram shows all that is wrong
    planted      m(f) + h(x, f)   h is up to 0.15 up on a quarter of the rows, as much down on another, 0 elsewhere

h goes up and down equally often at every confidence, so that E[y | f] = m(f). The estimated field knows three quarters
of the signs of h, and is otherwise as misleading as a field can be: it follows the curve m(f) - f, and waves in f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit

Floats = np.ndarray
CALIBRATED, VISIBLE, PLANTED = KINDS = ("calibrated", "visible", "planted")
HIDDEN, RIGHT = 0.15, 0.75
GROUP_ROWS, SHARED = 5, 0.4
"""Rows of a group, and how strongly their outcomes correlate where confidences are equal."""
LEARNED_FROM = 3
"""How many times as many rows E[y | f] was learned from where those are other rows."""
SMALL = {100: 30, 300: 40, 1_000: 50, 5_000: 60}
POPULATION = 200_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a draw, each array of shape (n,).

    Attributes
    ----------
    correct, confidence
        Outcomes and confidences.
    rate, visible
        The truth: P(y = 1) given inputs and confidence, and given the confidence alone.
    delta, hidden
        A field and its hidden part, fixed before the outcomes.
    codes : dict of str to array of int
        Columns by whose values groups are named.
    group, weight
        None where rows are independent, and count alike.
    learned : (outcomes, confidences) or None
        Other rows that E[y | f] was learned from; None: it is learned from these, by folds.
    """

    correct: Floats
    confidence: Floats
    rate: Floats
    visible: Floats
    delta: Floats
    hidden: Floats
    codes: dict[str, np.ndarray]
    group: np.ndarray | None = None
    weight: Floats | None = None
    learned: tuple[Floats, Floats] | None = None

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The codes as texts, as a table has them."""
        return {name: code.astype(str).astype(object) for name, code in self.codes.items()}


Curve = Callable[[Floats], Floats]
World = Callable[[int, str, np.random.Generator], Rows]


def rows_of(
    f: Floats,
    curve: Curve,
    kind: str,
    rng: np.random.Generator,
    *,
    group: np.ndarray | None = None,
    weigh: Callable[[Floats, Floats], Floats] | None = None,
    learned: tuple[Floats, Floats] | None = None,
) -> Rows:
    """Draw signs, outcomes, a field and columns for given confidences; what a group shares is drawn once for it.

    `weigh` makes weights of the confidences and the signs, which it may favour by their absolute value alone.
    """
    unit = np.arange(len(f)) if group is None else group
    many = int(unit.max()) + 1
    sign = signs(many, rng)[unit]
    told = curve(f)
    visible = f if kind == CALIBRATED else told
    rate = visible + sign * hidden_size(visible) * (kind == PLANTED)
    guess = np.where(sign == 0, rng.choice([-1.0, 1.0], many)[unit], sign)
    guess *= np.where(rng.random(many) < RIGHT, 1.0, -1.0)[unit]
    misled = 0.5 * (told - f) + 0.1 * np.sin(6 * np.pi * f + rng.standard_normal(many)[unit])
    hidden = np.clip(0.1 * guess + misled, -1.0, 1.0)
    own = rng.random(len(f))
    if group is not None:
        own = np.where(rng.random(len(f)) < np.sqrt(SHARED), rng.random(many)[unit], own)
    band = np.clip(np.floor(4 * (f + rng.normal(0, 0.1, len(f)))), 0, 3).astype(int)
    codes = {"side": guess.astype(int), "band": band, "kind": rng.integers(0, 10, many)[unit]}
    return Rows(
        correct=(own < rate).astype(float), confidence=f, rate=rate, visible=visible,
        delta=np.clip(told - f + hidden, -1.0, 1.0), hidden=hidden,
        codes=codes, group=group, weight=None if weigh is None else weigh(f, np.abs(sign)), learned=learned,
    )  # fmt: skip


def signs(n: int, rng: np.random.Generator, up: float = 0.25) -> Floats:
    """Where the rate is above the curve, below it, or on it; half of the units are on it."""
    return rng.choice([1.0, -1.0, 0.0], n, p=[up, 0.5 - up, 0.5])


def hidden_size(rate: Floats) -> Floats:
    """How far the hidden part may go: no rate leaves [0, 1]."""
    return np.minimum(HIDDEN, np.minimum(rate, 1 - rate))


def squeezed(f: Floats, slope: float, shift: float = 0.0) -> Floats:
    """Rates whose log-odds are those of the confidence, stretched and shifted."""
    return expit(slope * logit(np.clip(f, 1e-6, 1 - 1e-6)) + shift)


def uniform(n: int, kind: str, rng: np.random.Generator) -> Rows:
    return rows_of(rng.uniform(0.02, 0.98, n), lambda f: squeezed(f, 0.6, -0.2), kind, rng)


def bimodal(n: int, kind: str, rng: np.random.Generator) -> Rows:
    f = np.where(rng.random(n) < 0.4, rng.beta(2, 12, n), rng.beta(12, 2, n))
    return rows_of(f, lambda f: squeezed(f, 0.5), kind, rng)


def saturated(n: int, kind: str, rng: np.random.Generator) -> Rows:
    """Three quarters of the confidences are above 0.97; the surer, the further off."""
    f = np.where(rng.random(n) < 0.75, 1 - 0.03 * rng.random(n) ** 3, rng.uniform(0.3, 0.97, n))
    return rows_of(f, lambda f: np.where(f > 0.999, 0.93, 0.85 * f), kind, rng)


def five_values(n: int, kind: str, rng: np.random.Generator) -> Rows:
    stated, right = np.array([0.5, 0.7, 0.8, 0.9, 0.99]), np.array([0.6, 0.45, 0.75, 0.7, 0.9])
    f = rng.choice(stated, n, p=[0.1, 0.2, 0.3, 0.3, 0.1])
    return rows_of(f, lambda f: right[np.searchsorted(stated, f)], kind, rng)


def hundred_values(n: int, kind: str, rng: np.random.Generator) -> Rows:
    """Whole per cents, each wrong by an amount of its own."""
    jumps = np.random.default_rng(18).uniform(-0.3, 0.3, 101)
    place = rng.integers(0, 101, n)
    return rows_of(place / 100, lambda f: np.clip(f + jumps[np.rint(100 * f).astype(int)], 0.02, 0.98), kind, rng)


def steep(n: int, kind: str, rng: np.random.Generator) -> Rows:
    return rows_of(rng.uniform(0.05, 0.95, n), lambda f: squeezed(f, 4.0), kind, rng)


def non_monotone(n: int, kind: str, rng: np.random.Generator) -> Rows:
    return rows_of(rng.uniform(0.02, 0.98, n), lambda f: 0.5 + 0.4 * np.sin(3 * np.pi * f), kind, rng)


def rare(n: int, kind: str, rng: np.random.Generator) -> Rows:
    """Outcomes of 1 in 1,000 to 1 in 20."""
    return rows_of(10 ** rng.uniform(-3.0, -1.3, n), lambda f: 2 * f, kind, rng)


def grouped(n: int, kind: str, rng: np.random.Generator) -> Rows:
    """Groups of five rows, named, of like but not equal confidence; what is hidden is alike in all rows of a group."""
    group = np.arange(n) // GROUP_ROWS
    f = rng.uniform(0.2, 0.9, int(group.max()) + 1)[group] + rng.normal(0, 0.08, n)
    return rows_of(np.clip(f, 0.02, 0.98), lambda f: squeezed(f, 0.6, -0.2), kind, rng, group=group)


def drifted(n: int, kind: str, rng: np.random.Generator) -> Rows:
    """E[y | f] was learned where confidences were lower, and what is hidden went up more often than down."""
    many = LEARNED_FROM * n
    f = rng.beta(2, 3, many)
    visible = f if kind == CALIBRATED else squeezed(f, 0.5)
    rate = visible + signs(many, rng, up=0.35) * hidden_size(visible) * (kind == PLANTED)
    learned = (rng.random(many) < rate).astype(float), f
    return rows_of(rng.beta(4, 2, n), lambda f: squeezed(f, 0.5), kind, rng, learned=learned)


def weighted(n: int, kind: str, rng: np.random.Generator) -> Rows:
    """Sure rows weigh more, and so do those on which something may be hidden; else weights differ at random."""
    f = rng.uniform(0.05, 0.95, n)

    def weigh(f: Floats, off: Floats) -> Floats:
        return (1 + 3 * f) * (1 + off) * rng.lognormal(0, 0.7, len(f))

    return rows_of(f, lambda f: squeezed(f, 0.6, -0.2), kind, rng, weigh=weigh)


def small(n: int, kind: str, rng: np.random.Generator) -> Rows:
    return rows_of(rng.beta(2, 1.5, n), lambda f: squeezed(f, 0.6, -0.2), kind, rng)


WORLDS: dict[str, World] = {
    "uniform": uniform,
    "bimodal": bimodal,
    "saturated": saturated,
    "five values": five_values,
    "101 values": hundred_values,
    "steep": steep,
    "non-monotone": non_monotone,
    "rare": rare,
    "grouped": grouped,
    "drifted": drifted,
    "weighted": weighted,
    "small": small,
}


def rows_in(world: str, n: int) -> int:
    """How many rows a draw has: 30 to 60 where they are to be few."""
    return SMALL.get(n, n) if world == "small" else n


def drawn(world: str, n: int, kind: str, draw: int) -> Rows:
    """Rows of a draw, the same whenever it is drawn."""
    rng = np.random.default_rng((draw, n, list(WORLDS).index(world), KINDS.index(kind), 118))
    return WORLDS[world](rows_in(world, n), kind, rng)


@lru_cache(maxsize=4)
def population(world: str, kind: str) -> Rows:
    """So many rows that their means are those of the world."""
    return WORLDS[world](POPULATION, kind, np.random.default_rng((KINDS.index(kind), 119)))
