"""Whole runs of which the truth is known, for `nothing.py`.

Tables of a category of eight values, one of three and three numbers, the inputs are their one-hot
and standardised columns. Confidences f, rates given them m(f), and what they hide:

    kinds     f uniform, m(f) of log-odds 0.6 logit f - 0.2; of eight kinds two are right more often by up to 0.15, two
              less often
    stated    five values with five rates; as much is hidden at both ends of a number
    grouped   y ~ Bernoulli(f): nothing is wrong. Groups of five rows, named, of one input and one confidence, whose
              outcomes correlate by 0.4
    drifted   as kinds; the test split of 35 %, which alone is evaluated, has higher confidences than what is learned
              from, where the kinds that are right more often are also twice as frequent

What the summary says of the certificate, and of the regimes of the field and of its hidden part, with a p-value, a
limit or an interval, is held against the truth. P-values count where their hypothesis is true: in "grouped". Findings
are judged by `coverage`, scores on fixed fields.
"""

from __future__ import annotations

import numpy as np

from _shares import UNTOLD
from _validity_counts import Told
from _validity_worlds import GROUP_ROWS, SHARED, hidden_size, squeezed
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.run import RunContent

STATED, RIGHT = np.array([0.5, 0.7, 0.8, 0.9, 0.99]), np.array([0.6, 0.45, 0.75, 0.7, 0.9])
SPLIT = {"train": 0.5, "val": 0.15, "test": 0.35}
DRIFT = f", drift{UNTOLD}"
KIND_SIGNS = np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0])


class Table:
    """Rows of a world: a table, and the truth of each row."""

    def __init__(self, world: str, n: int, rng: np.random.Generator) -> None:
        unit = np.arange(n) // GROUP_ROWS if world == "grouped" else np.arange(n)
        many = int(unit.max()) + 1
        self.split = np.repeat(list(SPLIT), np.diff(np.rint(np.cumsum([0, *SPLIT.values()]) * n).astype(int)))
        test = world == "drifted" and self.split == "test"
        kind = np.where(test, rng.integers(0, 8, many), rng.choice(8, many, p=_kinds(world)))[unit]
        self.numbers = rng.normal(size=(many, 3))[unit]
        form = rng.choice(["short", "long", "other"], many)[unit]
        f = rng.choice(STATED, n) if world == "stated" else rng.uniform(0.05, 0.95, n)
        if world == "drifted":
            f = np.where(test, rng.beta(4, 2, n), rng.beta(2, 3, n))
        self.f = f[unit * GROUP_ROWS] if world == "grouped" else f
        self.visible = self._curve(world)
        ends = np.sign(self.numbers[:, 0]) * (np.abs(self.numbers[:, 0]) > 0.6745)
        sign = {"stated": ends, "grouped": np.zeros(n)}.get(world, KIND_SIGNS[kind])
        self.rate = self.visible + sign * hidden_size(self.visible)
        own = rng.random(n)
        if world == "grouped":
            own = np.where(rng.random(n) < np.sqrt(SHARED), rng.random(many)[unit], own)
        self.y = (own < self.rate).astype(float)
        self.X = np.c_[np.eye(8)[kind], form[:, None] == np.array(["short", "long"]), self.numbers]
        self.columns = {
            "kind": np.array([f"kind {k}" for k in range(8)], object)[kind], "form": form.astype(object),
            "age": self.numbers[:, 0].round(2), "year": self.numbers[:, 2].round(1),
        }  # fmt: skip
        self.group = unit if world == "grouped" else None
        self.evaluated = test if world == "drifted" else np.ones(n, bool)

    def _curve(self, world: str) -> np.ndarray:
        if world == "stated":
            return RIGHT[np.searchsorted(STATED, self.f)]
        return self.f if world == "grouped" else squeezed(self.f, 0.6, -0.2)

    def triples(self) -> Triples:
        """Rows as a user gives them."""
        split = None if self.evaluated.all() else self.split
        return Triples.of(
            self.X, confidence=self.f, correct=self.y, metadata=self.columns, group=self.group, split=split
        )


WORLDS = ("kinds", "stated", "grouped", "drifted")


def _kinds(world: str) -> np.ndarray:
    """Shares of the kinds in what is learned from; where they drift, what is hidden goes up more often than down."""
    shares = np.where(KIND_SIGNS > 0, 2.0, 1.0) if world == "drifted" else np.ones(8)
    return shares / shares.sum()


def one_run(world: str, n: int, draw: int) -> Told:
    """Draw a table, run the whole of discover, and hold what it says against the truth."""
    table, told = Table(world, n, np.random.default_rng((draw, n, WORLDS.index(world), 121))), Told()
    found = discover(table.triples(), seed=draw, n_jobs=1, map_method="pca")
    of_certificate(table, found, world, told)
    of_regimes(table, found, world, told)
    drifts = world == "drifted"
    told.misses = {
        name + DRIFT * (drifts and name.startswith(("visible", "hidden"))): wrong for name, wrong in told.misses.items()
    }
    return told


def of_certificate(table: Table, found: RunContent, world: str, told: Told) -> None:
    """Both p-values and limits, of the rows that were tested: where folds teach first, those of the last ones."""
    proof, rows = found.summary.certificate, table.evaluated
    if table.evaluated.all():
        fold = found.table["fold"].to_numpy()
        rows = next(fold >= k for k in range(int(fold.max()) + 1) if (fold >= k).sum() == proof.n)
    for name, p, limit, error in (
        ("certificate, total", proof.p_value_total, proof.lower_bound_total, table.rate - table.f),
        ("certificate, hidden", proof.p_value, proof.lower_bound_hidden, table.rate - table.visible),
    ):
        told.p_value(name, p, world == "grouped")
        told.interval(f"{name}: limit", limit.interval, float(np.abs(error[rows]).mean()))


def of_regimes(table: Table, found: RunContent, world: str, told: Told) -> None:
    """Residuals of the over and under regimes of the field and of its hidden part, each with its parts."""
    truth = {"residual": table.rate - table.f, "visible": table.visible - table.f, "hidden": table.rate - table.visible}
    for field, regimes in (("", found.summary.regimes), ("hidden_", found.summary.hidden_regimes)):
        of_row = found.table[f"{field}regime"].to_numpy()
        for one in regimes:
            inside = (of_row == one.name) & table.evaluated
            if one.name == "good" or not inside.any():
                continue
            for part, error in truth.items():
                said, name = getattr(one, part), f"{part} of {field}{one.name}".replace("_", " ")
                told.p_value(name, said.p_value, world == "grouped")
                told.interval(f"{name}: interval", said.interval, float(error[inside].mean()))
            if not field:
                told.p_value(f"smece of {one.name}", one.smece.p_value, world == "grouped")
