"""What each part of method="auto" earns, left out or cut: log loss on rows left out, and processor time of a fit.

    python benchmarks/ablation.py --data DIR [--rows 3000] [--seeds 0 1] [--sets mmlu/ flights] [--variants ...]

Sets are those of benchmarks/_data.py, the tables of _column_sets.py, and planted worlds. Of each, --rows
rows drawn by the seed teach, and at most --judged others judge. A variant is the whole estimator but for one family of
scores, or with other constants; its log loss is compared with that of the whole on the same rows: mean difference over
sets with a 95 % interval (positive: what is left out earned something), the sets on which the variant is worse by a
paired test over rows at 5 % (adjusted by Holm over sets), and its share of the seconds. Judging rows are taken as
independent, which those of one day of flights are not.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import _column_sets
import _data
from _judge import holm
from _script import limit_threads, options, results, show
from _worlds import WORLDS
from miscal.calibration.metrics import log_losses, paired_difference
from miscal.data.triples import Triples
from miscal.estimators.auto import estimator, few_columns, portfolio
from miscal.estimators.auto.kernels import WIDE
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.field import MiscalibrationField

FIELDS = ("set", "seed", "rows", "variant")
LEVEL = 0.05
WHOLE = "whole"
WITHOUT = {
    "middle kernel": ("kernel of x, middle",),
    "joint kernels": (
        "kernel of x and confidence",
        "kernel of x and confidence, narrow",
        "kernel of x and confidence, wide",
    ),
    "trees": ("boosted trees",),
    "trees of columns": ("boosted trees of columns",),
    "clusters": ("shift by cluster",),
    "levels": ("shift by level of columns",),
    "groups that stand out": ("shift and slope of groups that stand out",),
}
"""Families of first scores, by the names of their scores; the widest kernel places rows, and always stays."""
LATER = ("refined kernels", "local shift", "few columns of many")
_ROUNDS = (25, 50, 100, 150, 200)
_TWICE = tuple(2 * rounds for rounds in _ROUNDS)
SETTINGS: dict[str, dict[str, Any]] = {
    "three inner folds": {"n_folds": 3},
    "twice the rounds at half the rate": {"tree_rates": (0.025, 0.05), "tree_rounds": (_TWICE, _ROUNDS)},
    "patience 2": {"patience": 2},
    "250 landmarks": {"landmarks": 250},
    "twice the Adam steps": {"fold_steps": (40, 20), "final_steps": (60, 20)},
    "batches of 1,024": {"batch": 1_024},
    "three partitions": {"n_clusters": (8, 32, 128)},
}
"""Variants by the constants that are changed."""
VARIANTS = (WHOLE, *SETTINGS, *(f"without {name}" for name in (*LATER, *WITHOUT)))
OF_TABLES = ("without trees of columns", "without levels", "without groups that stand out")
OF_FEW_COLUMNS = ("three_clusters", "sinusoid")


def set_names(folder: Path | None, chosen: list[str] | None) -> list[str]:
    """Names of all sets that contain one of the strings."""
    names = [*_data.set_names(folder), *(_column_sets.TABLES if folder else ()), *WORLDS]
    return [name for name in names if not chosen or any(part in name for part in chosen)]


def serves(variant: str, name: str) -> bool:
    """Tell whether a variant differs from the whole on a set."""
    if variant in OF_TABLES:
        return name in _column_sets.TABLES
    if variant == "without middle kernel":
        return name in OF_FEW_COLUMNS
    return variant != "without refined kernels" or name not in (*OF_FEW_COLUMNS, *_column_sets.TABLES)


def read(folder: Path | None, name: str, seed: int, size: int) -> Triples:
    """Rows of a set, or of a world of some size."""
    if name in WORLDS:
        world = WORLDS[name](n=size, random_state=seed)
        return Triples.of(world.X, confidence=world.confidence, correct=world.correct)
    if name in _column_sets.TABLES:
        return _column_sets.read_set(folder, name)[0]
    data = _data.read_set(folder, name)
    return Triples.of(data.X, confidence=data.confidence, correct=data.correct)


@contextmanager
def changed(variant: str) -> Iterator[None]:
    """Leave a part of the estimator out, or change its constants."""
    name = variant.removeprefix("without ")
    if variant in SETTINGS:
        with _set(SETTINGS[variant]):
            yield
    elif name == "refined kernels":
        with patch.object(estimator, "refined_scores", lambda rows: {}):
            yield
    elif name == "local shift":
        whole = estimator.crossfit_local
        with patch.object(estimator, "crossfit_local", lambda *given: (None, whole(*given)[1])):
            yield
    elif name == "few columns of many":
        with patch.object(few_columns, "serve", lambda rows: False):
            yield
    elif name in WITHOUT:
        first = tuple(partial(_others, scores, WITHOUT[name]) for scores in portfolio.FIRST)
        with patch.object(portfolio, "FIRST", first):
            yield
    else:
        yield


@contextmanager
def _set(values: Mapping[str, Any]) -> Iterator[None]:
    """Change constants that every module holds a reference to."""
    before = {key: getattr(AUTO, key) for key in values}
    for key, value in values.items():
        object.__setattr__(AUTO, key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            object.__setattr__(AUTO, key, value)


def _others(scores: Any, left_out: tuple[str, ...], rows: Any) -> dict[str, Any]:
    return {name: fit for name, fit in scores(rows).items() if name not in left_out or name == WIDE}


def measured(name: str, seed: int, size: int, variant: str, *, folder: Path | None, judged: int) -> dict:
    """Log loss of a variant on each judging row, and the processor time of its fit."""
    limit_threads()
    rows = read(folder, name, seed, size + judged)
    order = np.random.default_rng((seed, size)).permutation(len(rows))
    # rows of a small set are divided in two
    learned = min(size, len(rows) * 2 // 3)
    taught, others = np.sort(order[:learned]), np.sort(order[learned : learned + judged])
    start = time.process_time()
    with changed(variant):
        field = MiscalibrationField(n_jobs=1, random_state=seed).unfitted(seed).fit(rows.take(taught))
    seconds = time.process_time() - start
    p = field.correct(rows.X[others], rows.confidence[others]).corrected
    loss = np.round(log_losses(rows.correct[others], p), 6).tolist()
    return {
        "set": name, "seed": seed, "rows": size, "variant": variant, "seconds": seconds, "loss": loss,
        "weights": {row["name"]: row["weight"] for row in field.selection_ if row["weight"]},
    }  # fmt: skip


def shown(args: argparse.Namespace, store: Any, names: list[str]) -> None:
    """Show a row for each variant, over the sets on which it and the whole are known."""
    rows = []
    for variant in args.variants:
        if variant == WHOLE:
            continue
        differences, errors, p_values, seconds, known = [], [], [], [], []
        for name in names:
            keys = [(name, seed, args.rows) for seed in args.seeds]
            pairs = [
                (store.records[(*key, variant)], store.records[(*key, WHOLE)])
                for key in keys
                if (*key, variant) in store.records and (*key, WHOLE) in store.records
            ]
            if not pairs:
                continue
            theirs, whole = (np.concatenate([pair[i]["loss"] for pair in pairs]) for i in (0, 1))
            difference = theirs - whole
            found = paired_difference(theirs, whole) if difference.any() else None
            known.append(name)
            differences.append(difference.mean())
            errors.append(difference.std() / np.sqrt(len(difference)))
            worse = found is not None and found.value > 0
            p_values.append(found.p_value if worse else 1.0)
            seconds.append([sum(pair[i]["seconds"] for pair in pairs) for i in (0, 1)])
        if not known:
            continue
        mean, error = np.mean(differences), np.sqrt(np.square(errors).sum()) / len(errors)
        worse = [name for name, rejected in zip(known, holm(np.array(p_values), LEVEL), strict=True) if rejected]
        share = np.sum(seconds, axis=0)
        interval = f"{mean - 1.96 * error:+.5f}", f"{mean + 1.96 * error:+.5f}"
        rows.append(
            [variant, len(known), f"{mean:+.5f}", *interval, ", ".join(worse), f"{100 * share[0] / share[1]:.0f} %"]
        )
    head = ["variant", "sets", "log loss less the whole's", "low", "high", "worse on (Holm)", "seconds of the whole's"]
    show(args, args.cache.stem, f"parts of auto, {args.rows:,} rows to learn from", head, rows)


def main() -> None:
    """Measure, and show the table."""
    chosen = {"rows": 3_000, "judged": 6_000, "seeds": [0], "variants": list(VARIANTS)}
    parser = options(__doc__, "ablation", data="folder of real sets; default: the demo data", **chosen)
    parser.add_argument("--sets", nargs="+", help="keep the sets whose name contains one of these")
    args = parser.parse_args()
    names = set_names(args.data, args.sets)
    keys = [
        (name, seed, args.rows, variant)
        for seed in args.seeds for variant in args.variants for name in names if serves(variant, name)
    ]  # fmt: skip
    store = results(args, FIELDS, keys, partial(measured, folder=args.data, judged=args.judged))
    shown(args, store, names)


if __name__ == "__main__":
    main()
