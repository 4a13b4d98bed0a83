"""What auto finds where there is nothing to find, and beside it what it finds where something is planted.

    python benchmarks/nulls.py --data DIR --draws 50 [--sets mmlu/Meta-Llama-3 stated/gpt-4o]

Inputs and confidences are a real set's; outcomes are drawn anew for every draw:

    calibrated     y ~ Bernoulli(f): the whole field is flat
    visible        y ~ Bernoulli(g(f)), g an isotonic map fitted to the real outcomes: the hidden field is flat
    planted        y ~ Bernoulli(sigmoid(logit g(f) + a z)), z = 1 in a k-means cluster of 10 to 20 % of the rows
    real           the real outcomes, split anew (for mlb538, whose forecasts are calibrated everywhere)

Each draw is split 80/10/10, auto is fitted with the same settings to train and validation rows, and the verdict comes
from the library's certificate on test rows, as in `miscal discover`. p-values are tested against uniform, one-sided
(smaller than uniform).
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import kstest

from _data import read_set, set_names
from _findings import claim_of
from _script import limit_threads, mean, options, results, show, target
from miscal.calibration.calibrators import Isotonic, logit
from miscal.calibration.survey_design import correlation
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.settings import SIGNIFICANCE

FIELDS = ("set", "world", "strength", "draw")
SHARE = (0.10, 0.20)
MOST_STD, LEAST_QUIET, LEAST_P = 0.02, 0.95, 0.01


@lru_cache(maxsize=4)
def planted_cluster(folder: Path | None, name: str) -> np.ndarray:
    """Rows of a k-means cluster of 10 to 20 % of the rows, bool (n,)."""
    from sklearn.cluster import KMeans

    X = read_set(folder, name).X
    for k in range(5, 30):
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(X)
        share = np.bincount(labels) / len(labels)
        chosen = int(np.abs(share - np.mean(SHARE)).argmin())
        if SHARE[0] <= share[chosen] <= SHARE[1]:
            return labels == chosen
    raise SystemExit(f"no cluster of {name} has between 10 and 20 % of its rows")


def chances(folder: Path | None, name: str, world: str, strength: float) -> np.ndarray:
    """P(y = 1) of every row in the world."""
    data = read_set(folder, name)
    if world == "calibrated":
        return data.confidence
    seen = Isotonic(smoothing=1.0).fit(data.correct, data.confidence).predict(data.confidence)
    return seen if world == "visible" else expit(logit(seen) + strength * planted_cluster(folder, name))


def one_draw(folder: Path | None, name: str, world: str, strength: float, draw: int) -> dict:
    """Draw outcomes, fit auto, certify on test rows."""
    limit_threads()
    data = read_set(folder, name)
    rng = np.random.default_rng((draw, 17))
    p = data.correct if world == "real" else chances(folder, name, world, strength)
    y, f, split = (rng.random(len(p)) < p).astype(float), data.confidence, data.split(draw)
    known, test = split != "test", split == "test"
    start = time.perf_counter()
    field = MiscalibrationField(random_state=draw, n_jobs=1).fit(data.X[known], y[known], confidence=f[known])
    found = field.estimate(data.X[test], f[test])
    claim = claim_of(field, found, y, f, test, seed=draw)
    return {
        "set": name, "world": world, "strength": strength, "draw": draw, "seconds": time.perf_counter() - start,
        "std": float(found.delta.std()), "std_hidden": float(found.hidden.std()), "structure": field.structure_,
        **{k: field.settings_[k] for k in ("gain", "gain_error", "score")},
        "p_hidden": claim.hidden.p_value, "p_total": claim.total.p_value,
        "found": claim.claims_hidden,
        **truth_agreement(data, world, p, found, test),
    }  # fmt: skip


def truth_agreement(data, world: str, p: np.ndarray, found, test: np.ndarray) -> dict:
    """Correlation of the field with the truth, where that is known and not constant."""
    truth = (p - data.confidence)[test]
    if world == "real" or truth.std() < 1e-9 or found.delta.std() < 1e-9:
        return {}
    return {"r": correlation(found.delta, truth)}


def show_worlds(args: argparse.Namespace, records: list[dict]) -> list[str]:
    """Show a row for each world; the null worlds that miss a target."""
    groups: dict[tuple, list[dict]] = {}
    for record in records:
        groups.setdefault((record["set"], record["world"], record["strength"]), []).append(record)
    shown, missed = [], []
    for (name, world, strength), rows in sorted(groups.items()):
        values = {k: np.array([r[k] for r in rows]) for k in ("std", "std_hidden", "p_hidden", "p_total", "found")}
        spread = [f"{f(values[k]):.4f}" for k in ("std", "std_hidden") for f in (np.mean, np.max)]
        claims = [f"{mean(rows, 'structure'):.2f}", f"{1 - values['found'].mean():.2f}"]
        r = mean(rows, "r")
        tests = [*_small(values["p_hidden"]), *_small(values["p_total"]), "" if np.isnan(r) else f"{r:.2f}"]
        shown.append([name, world, strength or "", len(rows), *spread, *claims, *tests])
        if world != "planted" and not _quiet(values, world):
            missed.append(f"{name} {world}")
    head = ["set", "world", "a", "draws", "std delta", "largest std delta", "std hidden", "largest std hidden",
            "structure", "none found", "hidden p < 0.05", "KS hidden", "total p < 0.05", "KS total",
            "r with truth"]  # fmt: skip
    show(args, args.cache.stem, "what auto claims in each world; shares of draws", head, shown)
    return missed


def _quiet(values: dict[str, np.ndarray], world: str) -> bool:
    """Flat fields, no more claims than allowed, p-values that are not smaller than uniform."""
    flat = values["std_hidden"].mean() <= MOST_STD and (world != "calibrated" or values["std"].mean() <= MOST_STD)
    # outcomes that are real may well be miscalibrated as a whole
    kinds = ("p_hidden",) if world != "calibrated" else ("p_hidden", "p_total")
    uniform = all(kstest(values[k], "uniform", alternative="greater").pvalue >= LEAST_P for k in kinds)
    return bool(flat and uniform and 1 - values["found"].mean() >= LEAST_QUIET)


def _small(p: np.ndarray) -> list[str]:
    """Share below 0.05, and the one-sided KS p-value of "smaller than uniform"."""
    return [f"{(p < SIGNIFICANCE).mean():.2f}", f"{kstest(p, 'uniform', alternative='greater').pvalue:.2g}"]


def worlds(args: argparse.Namespace) -> list[tuple]:
    """Keys of all draws."""
    kinds = [(w, 0.0) for w in args.worlds if w in ("calibrated", "visible")]
    kinds += [("planted", a) for a in args.strengths if "planted" in args.worlds]
    keys = [(n, w, a, d) for n in set_names(args.data, args.sets) for w, a in kinds for d in range(args.draws)]
    if "real" in args.worlds and args.data:
        keys += [(n, "real", 0.0, d) for n in set_names(args.data, ["mlb538/"]) for d in range(args.draws)]
    return sorted(keys, key=lambda key: key[3])


def main() -> None:
    parser = options(__doc__, "nulls", data="folder of real sets; default: the demo data", draws=50,
                     worlds=["calibrated", "visible", "planted", "real"], strengths=[0.5, 1.0, 2.0])  # fmt: skip
    parser.add_argument("--sets", nargs="+", help="default: mmlu/Meta-Llama-3, or the demo data")
    args = parser.parse_args()
    args.sets = args.sets or (["mmlu/Meta-Llama-3"] if args.data else None)
    store = results(args, FIELDS, worlds(args), partial(one_draw, args.data))
    missed = show_worlds(args, list(store.records.values()))
    sys.exit(not target(f"null worlds that miss a target: {missed or 'none'}", not missed))


if __name__ == "__main__":
    main()
