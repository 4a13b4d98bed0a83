"""Does the ledger name anything where nothing is hidden?

    python benchmarks/ledger_nulls.py [--sizes 300 1000 10000] [--draws 2000 2000 200]

Tables of three columns of categories, three of numbers, a date and a text, with missing values; the confidence depends
on them, so that a group differs from others in confidence. Outcomes depend on the confidence alone:

    calibrated    y ~ Bernoulli(f)
    visible       P(y = 1) = sigmoid(0.6 logit f - 0.4): over-confident, as any diagram shows
    non-monotone  P(y = 1) = 0.5 + 0.4 sin(3 pi f)
    saturated     calibrated confidences, of which two thirds are above 0.97
    stated        five confidences, each wrong by its own amount
    concentrated  calibrated confidences that each product has in a narrow range of its own

For every `PER_TABLE` draws of outcomes there is a new table. A draw is false if the ledger of its named groups holds
anything; that must be so in at most 5 %: missed where a binomial test at 1 % rejects that.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.ledger import Groups, find, named_groups

FIELDS = ("world", "rows", "table", "draws")
WORLDS = ("calibrated", "visible", "non-monotone", "saturated", "stated", "concentrated")
PER_TABLE, LEVEL, MISSED_P = 20, 0.05, 0.01
_STATED, _RIGHT = np.array([0.5, 0.7, 0.8, 0.9, 0.99]), np.array([0.6, 0.45, 0.75, 0.7, 0.9])


@lru_cache(maxsize=8)
def table(n: int, seed: int) -> tuple[Groups, np.ndarray, np.ndarray]:
    """Named groups of a table, its products, and the score that confidences come from, of mean 0 and deviation 1."""
    rng = np.random.default_rng((seed, 85, n))
    region, plan, product = (rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0))) for k in (5, 3, 12))
    income, age, balance = rng.lognormal(3.4, 0.5, n), rng.integers(18, 91, n), rng.normal(size=n)
    words = np.array([f"word{i}" for i in range(80)])
    often = 1 / np.arange(4, 84)
    topic = rng.integers(0, 80, n)
    text = [" ".join([*rng.choice(words, 7, p=often / often.sum()), words[t]]) for t in topic]
    days = rng.integers(0, 1_000, n).astype("timedelta64[D]")
    columns = {
        "region": region.astype(str).astype(object), "plan": plan.astype(str).astype(object),
        "product": np.where(rng.random(n) < 0.1, None, product.astype(str).astype(object)),
        "income": np.where(rng.random(n) < 0.1, np.nan, income), "age": age.astype(float), "balance": balance,
        "opened": np.datetime64("2021-01-01", "s") + days,
    }  # fmt: skip
    parts = [rng.normal(0, 0.5, 12)[k] for k in (region, plan, product)] + [balance / 2, age / 40, topic / 40]
    score = np.sum(parts, 0) + rng.normal(0, 0.5, n)
    return named_groups(columns, text), product, (score - score.mean()) / score.std()


def confidence_and_chance(world: str, product: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and P(y = 1) given them."""
    f = expit(0.6 + 1.2 * score)
    if world == "concentrated":
        f = expit((product - 5.5) / 3 + 0.15 * score)
    if world == "saturated":
        f = expit(4.5 + 2.0 * score)
    if world == "stated":
        place = np.searchsorted(np.quantile(score, [0.15, 0.35, 0.6, 0.85]), score)
        return _STATED[place], _RIGHT[place]
    if world == "visible":
        return f, expit(0.6 * logit(f) - 0.4)
    return f, 0.5 + 0.4 * np.sin(3 * np.pi * f) if world == "non-monotone" else f


def one_table(world: str, n: int, seed: int, draws: int) -> dict:
    """Draw the outcomes of a table `draws` times; how often the ledger names anything, and what."""
    limit_threads()
    start = time.perf_counter()
    groups, *of_rows = table(n, seed)
    f, chance = confidence_and_chance(world, *of_rows)
    named: list[str] = []
    wrong = 0
    for draw in range(draws):
        rng = np.random.default_rng((seed, draw, 86, n, WORLDS.index(world)))
        y = (rng.random(n) < chance).astype(float)
        expected = expected_outcome(Triples(np.arange(n, dtype=np.float32)[:, None], f, y), draw)
        rows = LabelledRows(y, f, expected, hidden=np.zeros(n), row=np.arange(n))
        found = find(rows, groups, seed=draw).findings
        wrong += bool(found)
        named += [one.description for one in found]
    return {
        "world": world, "rows": n, "table": seed, "draws": draws, "wrong": wrong, "named": named,
        "candidates": len(groups), "seconds": time.perf_counter() - start,
    }  # fmt: skip


def show_worlds(args: argparse.Namespace, records: list[dict]) -> list[str]:
    """Show a row for each world and number of rows; those that miss."""
    shown, missed = [], []
    for n in args.sizes:
        for world in WORLDS:
            rows = [r for r in records if (r["world"], r["rows"]) == (world, n)]
            draws, wrong = (sum(r[k] for r in rows) for k in ("draws", "wrong"))
            p = binomtest(wrong, draws, LEVEL, alternative="greater").pvalue
            ms = 1_000 * sum(r["seconds"] for r in rows) / draws
            candidates = int(np.mean([r["candidates"] for r in rows]))
            shown.append([n, world, draws, candidates, wrong, f"{wrong / draws:.4f}", f"{p:.2g}", f"{ms:.0f}"])
            if p < MISSED_P:
                missed.append(f"{world}, n = {n}: {wrong / draws:.3f}")
    head = [
        "rows", "world", "draws", "groups, mean", "false", "share", "p of at most 0.05", "ms a draw"
    ]  # fmt: skip
    show(args, "ledger_nulls", "the ledger where nothing is hidden", head, shown)
    return missed


def main() -> None:
    parser = options(__doc__, "ledger_nulls", sizes=[300, 1_000, 10_000], draws=[2_000, 2_000, 200])
    args = parser.parse_args()
    if len(args.draws) != len(args.sizes):
        parser.error(f"--draws needs one number for each of --sizes, {len(args.sizes)}; got {len(args.draws)}")
    keys = [
        (world, n, seed, min(PER_TABLE, draws))
        for n, draws in zip(args.sizes, args.draws, strict=True)
        for seed in range(-(-draws // PER_TABLE)) for world in WORLDS
    ]  # fmt: skip
    store = results(args, FIELDS, keys, one_table)
    missed = show_worlds(args, [store[key] for key in keys])
    sys.exit(not target(f"worlds in which more than 5 % of the draws have a finding: {missed or 'none'}", not missed))


if __name__ == "__main__":
    main()
