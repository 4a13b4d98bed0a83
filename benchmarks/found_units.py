"""Is nothing claimed of rows that hang together, although nobody says that they do?

    python benchmarks/found_units.py [--draws 40] [--jobs 2]

Tables whose probabilities are right for a new unit (a new customer, day, question), while the outcomes of the rows of a
unit share a normal number in log-odds: whatever is claimed is claimed falsely. Nothing is named. Worlds:

    independent           five numbers, every row by itself
    equal x 2, 5, 20      so many rows of equal inputs and of other probabilities (standard deviation 0.8)
    copies .0001 to .01   five rows of inputs that differ by so many standard deviations (0.8)
    days, days in turn    60 days of a date among the inputs (0.5); in turn: each day's number is 0.7 of the last one's
    prompts               five prompts of each question, whose embedding of 32 columns is the same (0.8)
    accounts              three of five numbers are those of one of 50 accounts (0.6); with and without its number
    crossed               a user of 100 and an item of 80, both (0.5): one of them is counted, no target

Asked are the claim of hidden miscalibration, its lower limit above 0, and any finding; in `units, by rows` the same
where each row is counted (--group none), which no run does by itself.
"""

from __future__ import annotations

import sys
from datetime import date, timedelta
from functools import partial

import numpy as np
import polars as pl
from scipy.special import expit, logit

from _shares import UNTOLD, Question, ask
from _validity_counts import Told
from miscal.data.readers.read import read_triples
from miscal.discovery.estimating import fit_rows, prepare
from miscal.discovery.findings import write_ledger
from miscal.discovery.summarise import claim_of
from miscal.evidence.settings import SIGNIFICANCE

WORLDS = (
    "independent", "equal x 2", "equal x 5", "equal x 20", "copies .0001", "copies .001", "copies .01", "days",
    "days in turn", "prompts", "accounts", "accounts with number", "crossed",
)  # fmt: skip
# of a normal number; enough that the mean over it is exact to four digits
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def shared_number(rng: np.random.Generator, unit: np.ndarray, spread: float) -> np.ndarray:
    """Normal number of each row's unit."""
    return spread * rng.normal(size=int(unit.max()) + 1)[unit]


def inputs_of(world: str, n: int, rng: np.random.Generator) -> tuple[dict, np.ndarray, float]:
    """Columns of a table, what the rows share in log-odds, and its standard deviation."""
    every, numbers = np.arange(n), {}
    kind, _, value = world.partition(" ")
    if kind in ("equal", "copies"):
        many = int(value.removeprefix("x ")) if kind == "equal" else 5
        unit = every // many
        X = rng.normal(size=(n // many + 1, 5))[unit] + (0 if kind == "equal" else float(value)) * rng.normal(
            size=(n, 5)
        )
        return {f"x{k}": X[:, k] for k in range(5)}, shared_number(rng, unit, 0.8), 0.8
    if kind == "days":
        unit = rng.integers(0, 60, n)
        number = rng.normal(size=60)
        if value:
            for k in range(1, 60):
                number[k] = 0.7 * number[k - 1] + np.sqrt(1 - 0.7**2) * number[k]
        numbers["day"] = [date(2024, 1, 1) + timedelta(int(one)) for one in unit]
        shared, spread = 0.5 * number[unit], 0.5
    elif kind == "accounts":
        unit = rng.integers(0, 50, n)
        numbers = {f"own{k}": rng.normal(size=50)[unit] for k in range(3)}
        numbers |= {"account": unit} if value else {}
        shared, spread = shared_number(rng, unit, 0.6), 0.6
    elif kind == "crossed":
        numbers = {"user": rng.integers(0, 100, n), "item": rng.integers(0, 80, n)}
        shared = sum(shared_number(rng, unit, 0.5) for unit in numbers.values())
        spread = 0.5 * np.sqrt(2)
    else:
        shared, spread = np.zeros(n), 0.0
    return numbers | {f"x{k}": rng.normal(size=n) for k in range(3)}, shared, spread


def units(group: str, world: str, rows: int, draw: int) -> Told:
    """Draw a table, count by what is found or by rows, and see what is claimed."""
    rng = np.random.default_rng((draw, rows, WORLDS.index(world), 302))
    embeddings = None
    if world == "prompts":
        unit = np.arange(rows) // 5
        embeddings = rng.normal(size=(rows // 5 + 1, 32))[unit]
        table, shared, spread = {}, shared_number(rng, unit, 0.8), 0.8
    else:
        table, shared, spread = inputs_of(world, rows, rng)
    given = logit(rng.uniform(0.15, 0.85, rows))
    # right for a new unit: the mean over what its rows share
    f = expit(given[:, None] + spread * _NODES) @ (_WEIGHTS / _WEIGHTS.sum())
    table |= {"confidence": f, "correct": (rng.random(rows) < expit(given + shared)).astype(int)}
    read = read_triples(pl.DataFrame(table), embeddings=embeddings, group=group, seed=draw)
    triples, *_ = prepare(read, "all", draw)
    found = fit_rows(triples, seed=draw, n_jobs=1)
    claim = claim_of(found, seed=draw)
    end = UNTOLD if group == "none" or world == "crossed" else ""
    return Told(misses={
        f"claim{end}": claim.p_value < SIGNIFICANCE, f"limit{end}": claim.lower_bound_hidden.interval[0] > 0,
        f"finding{end}": bool(write_ledger(found, own_split=False, seed=draw).findings),
    }, means={"units are counted": float(triples.group is not None)})  # fmt: skip


QUESTIONS = {
    "units": Question(partial(units, "auto"), WORLDS, (1_000,), 40),
    "units, by rows": Question(partial(units, "none"), WORLDS, (1_000,), 10),
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "found_units", QUESTIONS))
