"""What the correction gains from the columns of a table: log loss on rows that no method has seen.

    python benchmarks/mixed_columns.py --data DIR [--rows 6000] [--seeds 1] [--sets mmlu/ flights]

Half of the rows (at most --rows in all, drawn by the seed) teach, the other half judges. Compared with the raw
confidences: isotonic regression; isotonic regression and then LightGBM on the same columns, categories its way, blanks
as they are, stopped early on a fifth of the teaching rows; miscal on the embedding alone, on the columns alone, and on
both. Differences to LightGBM are of the last, with a paired standard error. Missed where miscal with all
columns is worse than LightGBM beyond chance (p < .05 over the number of sets, Bonferroni), or on average.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from _script import limit_threads, mean, options, results, show, target
from miscal.data.readers import read_triples
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField

FIELDS = ("set", "seed", "rows")
SETS = {
    "mmlu": ("mmlu_msp_dev.parquet", "mmlu.minilm.npy", "subject,subcategory,category"),
    "mmlupro": ("mmlupro_verbal_dev.parquet", "mmlupro.minilm.npy", "category,src,n_options,n_tokens"),
    "stated": ("stated_dev.parquet", "stated.minilm.npy", "dataset,answer,n_options"),
}
"""Answers of models, with an embedding of the question; columns known before the outcome (no answer key)."""
TABLES = {
    "flights": ("flights_dev.parquet", "predicted_delay_risk", "delayed"),
    "census": ("census_dev_2015.parquet", "predicted_probability", "employed"),
}
"""Risks, with every column there is."""
CLIP = 1e-4
METHODS = ("raw", "isotonic", "isotonic + LightGBM", "miscal, embedding", "miscal, columns", "miscal, all")


def set_names(folder: Path, chosen: Sequence[str]) -> list[str]:
    """Names of the sets in the folder that contain one of the strings."""
    names = [
        f"{key}/{model}"
        for key, (file, *_) in SETS.items()
        for model in pl.read_parquet(folder / file, columns=["model"])["model"].unique(maintain_order=True)
    ]
    return [name for name in [*names, *TABLES] if not chosen or any(part in name for part in chosen)]


def read_set(folder: Path, name: str) -> tuple[Triples, Triples | None]:
    """Rows with their columns alone, and with an embedding before them where there is one."""
    if name in TABLES:
        file, confidence, correct = TABLES[name]
        return read_triples(folder / file, confidence=confidence, correct=correct, features="auto"), None
    key, model = name.split("/", 1)
    file, embeddings, columns = SETS[key]
    asked = {"confidence": "f", "correct": "y", "where": f"model = '{model}'", "features": columns}
    beside = {"embeddings": folder / embeddings, "embedding_rows": "emb_row"}
    return read_triples(folder / file, **asked), read_triples(folder / file, **asked, **beside)


def measured(name: str, seed: int, rows: int, *, folder: Path) -> dict:
    """Log loss of every method on the half that judges, and the difference that the target is about."""
    limit_threads()
    start = time.perf_counter()
    columns, everything = read_set(folder, name)
    order = np.random.default_rng(seed).permutation(len(columns))[:rows]
    learned, judged = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    f, y = columns.confidence, columns.correct
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(f[learned], y[learned])
    offset = logit(np.clip(isotonic.predict(f), CLIP, 1 - CLIP))
    losses = {
        "raw": _loss(y[judged], f[judged]),
        "isotonic": _loss(y[judged], expit(offset[judged])),
        "isotonic + LightGBM": _loss(y[judged], _trees(columns, offset, learned, judged, seed)),
        "miscal, columns": _loss(y[judged], _miscal(columns, learned, judged)),
    }
    if everything is not None:
        alone = replace(everything, X=everything.places, layout=None)
        losses["miscal, embedding"] = _loss(y[judged], _miscal(alone, learned, judged))
        losses["miscal, all"] = _loss(y[judged], _miscal(everything, learned, judged))
    best = losses.get("miscal, all", losses["miscal, columns"])
    difference = best - losses["isotonic + LightGBM"]
    return {
        "set": name, "seed": seed, "rows": rows, "n": len(judged),
        "loss": {method: float(loss.mean()) for method, loss in losses.items()},
        "difference": float(difference.mean()), "error": float(difference.std() / np.sqrt(len(difference))),
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def _loss(correct: np.ndarray, p: np.ndarray) -> np.ndarray:
    p = np.clip(p, CLIP, 1 - CLIP)
    return -(correct * np.log(p) + (1 - correct) * np.log1p(-p))


def _miscal(rows: Triples, learned: np.ndarray, judged: np.ndarray) -> np.ndarray:
    field = MiscalibrationField(n_jobs=1).fit_triples(replace(rows.take(learned), split=None))
    return field.fitted_.correct(rows.X[judged], rows.confidence[judged]).corrected


def _trees(rows: Triples, offset: np.ndarray, learned: np.ndarray, judged: np.ndarray, seed: int) -> np.ndarray:
    """LightGBM on the columns and the log-odds, with the isotonic map as offset."""
    import lightgbm

    columns = {name: _as_numbers(values) for name, values in rows.encoder.columns_of(rows.X).items()}
    X = np.column_stack([*(values for values, _ in columns.values()), logit(np.clip(rows.confidence, CLIP, 1 - CLIP))])
    settings = {
        "objective": "binary", "learning_rate": 0.03, "num_leaves": 8, "min_data_in_leaf": 30, "lambda_l2": 5,
        "boost_from_average": False, "verbose": -1, "num_threads": 1, "seed": seed,
    }  # fmt: skip
    held = np.random.default_rng(seed).random(len(learned)) < 0.2
    parts = [learned[~held], learned[held]]
    categories = [place for place, (_, category) in enumerate(columns.values()) if category]
    first, second = (
        lightgbm.Dataset(
            X[part], rows.correct[part], init_score=offset[part], categorical_feature=categories, params=settings
        )
        for part in parts
    )
    stop = lightgbm.early_stopping(30, verbose=False)
    model = lightgbm.train(settings, first, 400, valid_sets=[second.set_reference(first)], callbacks=[stop])
    return expit(offset[judged] + model.predict(X[judged], raw_score=True))


def _as_numbers(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """A column as LightGBM takes it, and whether it holds categories."""
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), np.nan, values.astype(np.int64)), False
    if values.dtype != object:
        return values.astype(np.float64), False
    return np.unique(["" if one is None else str(one) for one in values], return_inverse=True)[1].astype(float), True


def main() -> int:
    """Measure, and show the table."""
    args = options(__doc__, "mixed_columns", data="folder of real sets", rows=6_000, seeds=[0], sets=[""]).parse_args()
    if args.data is None:
        print("name the folder of the sets: --data DIR", file=sys.stderr)
        return 2
    names = set_names(args.data, args.sets)
    keys = [(name, seed, args.rows) for seed in args.seeds for name in names]
    store = results(args, FIELDS, keys, partial(measured, folder=args.data))
    found = [store.records[key] for key in keys if key in store.records]
    return 0 if _shown(args, names, found) else 1


def _shown(args: argparse.Namespace, names: Sequence[str], found: Sequence[dict]) -> bool:
    shown, worse = [], []
    bound = norm.isf(0.05 / max(1, len(found)))
    for name in names:
        some = [one for one in found if one["set"] == name]
        if not some:
            continue
        losses = [np.mean([one["loss"].get(method, np.nan) for one in some]) for method in METHODS]
        row = ["" if np.isnan(loss) else f"{loss:.4f}" for loss in losses]
        shown.append([name, *row, f"{mean(some, 'difference'):+.4f}", f"{mean(some, 'error'):.4f}"])
        worse += [name for one in some if one["difference"] > bound * one["error"]]
    show(args, "mixed-columns", "log loss on unseen rows", ["set", *METHODS, "to LightGBM", "error"], shown)
    average = mean(found, "difference")
    met = target(f"on average below isotonic + LightGBM: {average:+.4f}", average < 0)
    return target(f"worse than it beyond chance: {', '.join(worse) or 'nowhere'}", not worse) and met


if __name__ == "__main__":
    raise SystemExit(main())
