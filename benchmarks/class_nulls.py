"""Does any list of a run of several classes name anything where nothing is hidden?

    python benchmarks/class_nulls.py [--classes 3 10] [--rows 500] [--draws 1000]

Tables of two columns of categories and two of numbers, on which the probabilities depend; the label is drawn by these
probabilities, so that they are calibrated, whatever else is known of a row:

    even        all classes are about as frequent
    confident   two thirds of the largest probabilities are above 0.9
    unequal     each class is about two thirds as frequent as the one before it

A draw is false if the findings of the top label, or of any class looked at, hold anything: lists of named groups alone,
with their shares of the family-wise error. That must be so in at most 5 %: missed where a binomial test at 1 % rejects
that.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.class_probabilities import ClassProbabilities
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.several_classes import TOP_LABEL_ERROR, class_ledgers
from miscal.estimators.estimate import FieldEstimate
from miscal.findings.ledger import LEDGER_DEFAULTS, find, named_groups

FIELDS = ("world", "classes", "rows", "draw")
WORLDS = ("even", "confident", "unequal")
LEVEL, MISSED_P, TOGETHER = 0.05, 0.01, 20


def rows_of(world: str, n_classes: int, n: int, draw: int) -> Triples:
    """Rows whose probabilities depend on their columns, and labels drawn by them."""
    rng = np.random.default_rng((draw, n_classes, n, WORLDS.index(world), 87))
    region, plan = rng.choice(5, n), rng.choice(3, n)
    income, age = rng.lognormal(3.4, 0.5, n), rng.integers(18, 91, n).astype(float)
    z = rng.normal(size=(n, n_classes)) + 0.5 * rng.normal(size=(5, n_classes))[region]
    z += 0.5 * rng.normal(size=(3, n_classes))[plan] + np.outer((age - 50) / 40, rng.normal(size=n_classes))
    z *= 4.0 if world == "confident" else 1.5
    z += np.log(2 / 3) * np.arange(n_classes) if world == "unequal" else 0.0
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    code = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    top = p.argmax(axis=1)
    names = tuple(f"class {k}" for k in range(n_classes))
    metadata = {
        "region": region.astype(str).astype(object), "plan": plan.astype(str).astype(object), "income": income,
        "age": age, "predicted": np.array([names[k] for k in top], dtype=object),
    }  # fmt: skip
    return Triples(
        np.arange(n, dtype=np.float64)[:, None], p[np.arange(n), top], (top == code).astype(float),
        metadata=metadata, classes=ClassProbabilities(names, p, code),
    )  # fmt: skip


def named(triples: Triples, seed: int) -> tuple[bool, bool, int]:
    """Say whether the list of the top label and any of those of classes hold anything; how many were looked at."""
    f, n = triples.confidence, len(triples)
    expected = expected_outcome(triples, seed)
    rows = LabelledRows(triples.correct, f, expected, hidden=np.zeros(n), row=np.arange(n))
    top = find(rows, named_groups(triples.metadata), seed=seed, error=TOP_LABEL_ERROR).findings
    fields = [name for name in FieldEstimate.__dataclass_fields__ if name != "coordinates"]
    nothing = FieldEstimate(**dict.fromkeys(fields, np.zeros(n)), coordinates=np.zeros((n, 1)))
    fitted = FittedRows(triples, None, nothing, expected, expected, {})
    by_class = class_ledgers(
        fitted, triples.classes.probability, own_split=False, seed=seed, settings=LEDGER_DEFAULTS
    ).found
    return bool(top), any(one.findings for one in by_class.values()), len(by_class)


def some_draws(world: str, n_classes: int, n: int, first: int) -> dict:
    """Draw `TOGETHER` tables."""
    limit_threads()
    start = time.perf_counter()
    told = np.array([named(rows_of(world, n_classes, n, draw), draw) for draw in range(first, first + TOGETHER)])
    return {
        "world": world, "classes": n_classes, "rows": n, "draw": first, "top": int(told[:, 0].sum()),
        "of_classes": int(told[:, 1].sum()), "any": int((told[:, 0] | told[:, 1]).sum()),
        "looked_at": float(told[:, 2].mean()), "seconds": time.perf_counter() - start,
    }  # fmt: skip


def show_worlds(args: argparse.Namespace, records: list[dict]) -> list[str]:
    """Show a row for each world and number of classes; those that miss."""
    shown, missed = [], []
    for n_classes in args.classes:
        for world in WORLDS:
            rows = [r for r in records if (r["world"], r["classes"]) == (world, n_classes)]
            draws = TOGETHER * len(rows)
            top, of_classes, either = (sum(r[k] for r in rows) for k in ("top", "of_classes", "any"))
            p = binomtest(either, draws, LEVEL, alternative="greater").pvalue
            looked = np.mean([r["looked_at"] for r in rows])
            share = f"{either / draws:.4f}"
            shown.append(
                [args.rows, n_classes, world, draws, f"{looked:.1f}", top, of_classes, either, share, f"{p:.2g}"]
            )
            if p < MISSED_P:
                missed.append(f"{world}, {n_classes} classes: {either / draws:.3f}")
    head = [
        "rows", "classes", "world", "draws", "looked at, mean", "false, top label", "false, a class", "false, any",
        "share", "p of at most 0.05",
    ]  # fmt: skip
    show(args, "class_nulls", "the lists of several classes where nothing is hidden", head, shown)
    return missed


def main() -> None:
    parser = options(__doc__, "class_nulls", classes=[3, 10], rows=500, draws=1_000)
    args = parser.parse_args()
    keys = [
        (world, n_classes, args.rows, first)
        for first in range(0, args.draws, TOGETHER) for n_classes in args.classes for world in WORLDS
    ]  # fmt: skip
    store = results(args, FIELDS, keys, some_draws)
    missed = show_worlds(args, [store[key] for key in keys])
    sys.exit(not target(f"worlds in which more than 5 % of the draws have a finding: {missed or 'none'}", not missed))


if __name__ == "__main__":
    main()
