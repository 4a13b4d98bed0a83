"""What the correction gains from the columns of a table: log loss on rows that no method has seen.

    python benchmarks/mixed_columns.py --data DIR [--rows 6000] [--seeds 0 1 2] [--sets mmlu/ flights]

Half of the rows (at most --rows in all, drawn by the seed) teach, the other half judges. miscal is given the embedding
alone, the columns alone, and both. Beside it stand the raw confidences, isotonic regression, and two peers, each with
the columns alone and with leading components of the embedding as well: LightGBM after isotonic regression, and MCGrad,
both with categories as categories and blanks as they are, tuned on a fifth of the teaching rows.

The targets are of miscal with everything there is: on average below miscal with the embedding alone and below the peer
that is best on each set in hindsight; and on no set worse than any peer by a paired test over rows and seeds at 5 %,
adjusted by Holm over all sets and peers.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

import _column_peers as peers
from _column_peers import Table
from _judge import holm
from _script import limit_threads, options, results, show, target
from miscal.calibration.metrics import log_losses
from miscal.data.readers import read_triples
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField

FIELDS = ("set", "seed", "rows", "method")
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
PEERS = ("lightgbm, columns", "lightgbm, all", "mcgrad, columns", "mcgrad, all")
OURS = ("miscal, embedding", "miscal, columns", "miscal, all")
METHODS = ("raw", "isotonic", *PEERS, *OURS)
LEVEL = 0.05


def set_names(folder: Path, chosen: Sequence[str]) -> list[str]:
    """Names of the sets in the folder that contain one of the strings."""
    names = [
        f"{key}/{model}"
        for key, (file, *_) in SETS.items()
        for model in pl.read_parquet(folder / file, columns=["model"])["model"].unique(maintain_order=True)
    ]
    return [name for name in [*names, *TABLES] if not chosen or any(part in name for part in chosen)]


@lru_cache(maxsize=1)
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


def methods_of(name: str) -> list[str]:
    """Methods that a set allows: without an embedding, the columns are all there is."""
    with_embedding = ("miscal, embedding", "miscal, all", "lightgbm, all", "mcgrad, all")
    return [method for method in METHODS if name not in TABLES or method not in with_embedding]


def measured(name: str, seed: int, rows: int, method: str, *, folder: Path) -> dict:
    """Log loss of a method on each row of the half that judges."""
    limit_threads()
    columns, everything = read_set(folder, name)
    order = np.random.default_rng(seed).permutation(len(columns))[:rows]
    learned, judged = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    start = time.perf_counter()
    p = _corrected(method, columns, everything, learned, judged, seed)
    loss = log_losses(columns.correct[judged], p)
    return {
        "set": name, "seed": seed, "rows": rows, "method": method, "n": len(judged),
        "loss": np.round(loss, 6).tolist(), "seconds": time.perf_counter() - start,
    }  # fmt: skip


def _corrected(
    method: str, columns: Triples, everything: Triples | None, learned: np.ndarray, judged: np.ndarray, seed: int
) -> np.ndarray:
    f, y = columns.confidence, columns.correct
    if method == "raw":
        return f[judged]
    if method == "isotonic":
        return IsotonicRegression(out_of_bounds="clip").fit(f[learned], y[learned]).predict(f[judged])
    who, sees = method.split(", ")
    if who == "miscal":
        rows = columns if sees == "columns" else everything
        if sees == "embedding":
            rows = replace(everything, X=everything.places, layout=None)
        field = MiscalibrationField(n_jobs=1).fit_triples(replace(rows.take(learned), split=None))
        return field.fitted_.correct(rows.X[judged], f[judged]).corrected
    embedding = everything.places.astype(np.float64) if sees == "all" else None
    table = Table(columns.encoder.columns_of(columns.X), f, y, embedding)
    return getattr(peers, who)(table, learned, judged, seed)


def main() -> int:
    """Measure, and show the tables."""
    chosen = {"seeds": [0, 1, 2], "sets": [""], "which": list(METHODS)}
    args = options(__doc__, "mixed_columns", data="folder of real sets", rows=6_000, **chosen).parse_args()
    if args.data is None:
        print("name the folder of the sets: --data DIR", file=sys.stderr)
        return 2
    names = set_names(args.data, args.sets)
    keys = [
        (name, seed, args.rows, method)
        for name in names for seed in args.seeds for method in methods_of(name) if method in args.which
    ]  # fmt: skip
    store = results(args, FIELDS, keys, partial(measured, folder=args.data))
    return 0 if _shown(args, names, Losses(store.records, args)) else 1


class Losses:
    """Log losses by set and method, all seeds one after the other."""

    def __init__(self, records: dict, args: argparse.Namespace) -> None:
        self._records, self._args = records, args

    def of(self, name: str, method: str) -> np.ndarray | None:
        """Losses of the judged rows of every seed; None where any is missing."""
        keys = [(name, seed, self._args.rows, method) for seed in self._args.seeds]
        if any(key not in self._records for key in keys):
            return None
        return np.concatenate([self._records[key]["loss"] for key in keys])

    def best(self, name: str) -> np.ndarray | None:
        """Those of miscal with everything there is."""
        return self.of(name, "miscal, columns" if name in TABLES else "miscal, all")

    def z(self, name: str, method: str) -> float:
        """Paired z of miscal less a method; a row that judges for several seeds counts once for its error."""
        difference = self.best(name) - self.of(name, method)
        error = difference.std() / np.sqrt(len(difference) / len(self._args.seeds))
        return float(difference.mean() / max(error, 1e-12))


def _shown(args: argparse.Namespace, names: Sequence[str], losses: Losses) -> bool:
    names = [name for name in names if losses.best(name) is not None]
    shown = []
    for name in names:
        found = [losses.of(name, method) for method in METHODS]
        shown.append([name, *("" if one is None else f"{one.mean():.4f}" for one in found)])
    show(args, "mixed-columns", "log loss on unseen rows", ["set", *METHODS], shown)
    met = _below(names, losses, ["miscal, embedding"], "miscal with the embedding alone")
    met &= _below(names, losses, PEERS, "the best peer of each set")
    return _nowhere_worse(args, names, losses) and met


def _below(names: Sequence[str], losses: Losses, methods: Sequence[str], words: str) -> bool:
    gaps = []
    for name in names:
        others = [one.mean() for method in methods if (one := losses.of(name, method)) is not None]
        gaps += [losses.best(name).mean() - min(others)] if others else []
    if not gaps:
        return target(f"with all columns, below {words}: not measured", False)
    average = float(np.mean(gaps))
    return target(f"with all columns, on average of {len(gaps)} sets below {words}: {average:+.4f}", average < 0)


def _nowhere_worse(args: argparse.Namespace, names: Sequence[str], losses: Losses) -> bool:
    pairs = [(n, m) for n in names for m in PEERS if losses.of(n, m) is not None]
    z = np.array([losses.z(*pair) for pair in pairs])
    worse = holm(norm.sf(z), LEVEL) if pairs else np.zeros(0, bool)
    rows = [[n, m, f"{(losses.best(n) - losses.of(n, m)).mean():+.4f}", f"{v:+.2f}", "yes" if w else ""]
            for (n, m), v, w in zip(pairs, z, worse, strict=True)]  # fmt: skip
    title = "miscal with all columns less each peer, log loss; z paired by rows; worse beyond chance (Holm)"
    show(args, "mixed-columns-duel", title, ["set", "peer", "difference", "z", "worse"], rows)
    named = [f"{n} than {m}" for (n, m), w in zip(pairs, worse, strict=True) if w]
    return target(f"worse than a peer beyond chance: {'; '.join(named) or 'nowhere'}", not named)


if __name__ == "__main__":
    raise SystemExit(main())
