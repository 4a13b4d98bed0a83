"""Worlds of `nothing.py` that are tables: lists of findings, scans, and the gate of a comparison.

`ledger`: tables of three columns of categories, three of numbers, a date and a text, with missing values; the
confidence depends on them, so that a group differs from others in confidence. Outcomes depend on the confidence alone:

    calibrated    y ~ Bernoulli(f)
    visible       P(y = 1) = sigmoid(0.6 logit f - 0.4): over-confident, as any diagram shows
    non-monotone  P(y = 1) = 0.5 + 0.4 sin(3 pi f)
    saturated     calibrated confidences, of which two thirds are above 0.97
    stated        five confidences, each wrong by its own amount
    concentrated  calibrated confidences that each product has in a narrow range of its own

`scan`: two columns of texts, two of numbers, a date and a truth value, visible as above; `groups`: outcomes of one day
hang together, and the region and one number are those of the day; `weights`: between 0.2 and 5, by the plan.

`gate`: runs by `quick` of two versions of a model that both miss the region "south" by 0.8 in log-odds; `sets`: each
has predicted rows of its own; `matched`: both the same events; `worse`: as sets, and the second also misses the region
"west", by 1; `higher`: as matched, but nothing is missed, and the second is 6 points too high everywhere.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl
from scipy.special import expit, logit

from _shares import UNTOLD
from miscal import compare, discover, scan
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.ledger.groups import Groups, named_groups
from miscal.findings.ledger.ledger import find

# --- lists of findings ----------------------------------------------------------------------------------------------

WORLDS = ("calibrated", "visible", "non-monotone", "saturated", "stated", "concentrated")
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


def listed(world: str, n: int, seed: int, draws: int) -> dict:
    """Draw the outcomes of a table, and count the lists that hold anything."""
    groups, *of_rows = table(n, seed)
    f, chance = confidence_and_chance(world, *of_rows)
    wrong = 0
    for draw in range(draws):
        rng = np.random.default_rng((seed, draw, 86, n, WORLDS.index(world)))
        y = (rng.random(n) < chance).astype(float)
        expected = expected_outcome(Triples(np.arange(n, dtype=np.float32)[:, None], f, y), draw)
        rows = LabelledRows(y, f, expected, hidden=np.zeros(n), row=np.arange(n))
        wrong += bool(find(rows, groups, seed=draw).findings)
    return {"any finding": (draws, wrong)}


# --- scans ----------------------------------------------------------------------------------------------------------

SCANS = ("rows", "groups", "weights")
ASKED = {"groups": {"group": "at:day"}, "weights": {"weight": "w", "group": "none"}}


def scanned(world: str, n: int, seed: int) -> pl.DataFrame:
    """Draw a table in which nothing is hidden."""
    rng = np.random.default_rng((seed, 511, SCANS.index(world)))
    days = 120
    day, region_of, load_of = rng.integers(0, days, n), rng.integers(0, 4, days), rng.normal(size=days)
    whole = world == "groups"
    plan, age = rng.integers(0, 12, n), rng.integers(18, 91, n)
    region, load = (region_of[day], load_of[day]) if whole else (rng.integers(0, 4, n), rng.normal(size=n))
    f = expit(rng.normal(size=n) + 0.3 * (plan - 5) / 3 + 0.5 * load)
    odds = 0.6 * logit(f) - 0.4 + (rng.normal(0, 0.5, days)[day] if whole else 0.0)
    return pl.DataFrame(
        {
            "f": f, "y": (rng.random(n) < expit(odds)).astype(int),
            "plan": plan.astype(str), "region": region.astype(str), "age": age, "load": load,
            "at": np.datetime64("2024-01-01") + day.astype("timedelta64[D]"), "member": rng.random(n) < 0.3,
            "w": np.exp(rng.normal(0, 0.5, n)).clip(0.2, 5) * (1 + plan % 3),
        }
    )  # fmt: skip


def scans(world: str, rows: int, part: int, tables: int) -> dict:
    """Scan tables, and count those in which anything is found."""
    found = 0
    for k in range(part * tables, (part + 1) * tables):
        frame = scanned(world, rows, k)
        frame = frame if world == "weights" else frame.drop("w")
        asked = ASKED.get(world, {"group": "none"})
        found += bool(scan(frame.lazy(), probability="f", event="y", **asked).summary.findings)
    return {"any finding": (tables, found)}


# --- the gate of a comparison ---------------------------------------------------------------------------------------

GATES = ("sets", "matched", "worse", "higher")


def versions(world: str, n: int, seed: int) -> list[pl.DataFrame]:
    """Draw the predictions of both versions."""
    rng = np.random.default_rng((seed, 522, GATES.index(world)))
    drawn = []
    for version in range(2):
        if not (drawn and world in ("matched", "higher")):
            region, age = rng.choice(["north", "south", "east", "west"], n), rng.integers(18, 90, n)
            plan, base = rng.integers(0, 6, n).astype(str), rng.normal(-0.8, 1, n)
            missed = 0.8 * (region == "south") * (world != "higher") + (world == "worse") * version * (region == "west")
            y = (rng.random(n) < expit(base + missed)).astype(int)
        columns = {
            "id": np.arange(n) + (0 if world in ("matched", "higher") else version * n),
            "region": region,
            "plan": plan,
        }
        f = expit(base + rng.normal(0, 0.2, n)) + 0.06 * version * (world == "higher")
        drawn.append(pl.DataFrame({**columns, "age": age, "f": np.minimum(f, 1.0), "y": y}))
    return drawn


def stopped(world: str, rows: int, part: int, pairs: int) -> dict:
    """Compare runs, and count the candidates that are stopped, by all rows and by a group."""
    whole = group = 0
    asked = {"probability": "f", "event": "y", "metadata": ["region", "plan", "age"]}
    for k in range(part * pairs, (part + 1) * pairs):
        runs = [discover(one, **asked, group="none", quick=True, progress=False) for one in versions(world, rows, k)]
        where = compare(*runs, names=["accepted", "candidate"]).worse
        whole, group = whole + ("all rows" in where), group + any(one != "all rows" for one in where)
    end = "" if world in ("sets", "matched") else UNTOLD
    return {f"stopped by all rows{end}": (pairs, whole), f"stopped by a group{end}": (pairs, group)}
