"""What may be decided alone at an accepted error: is the promise kept, and how much is decided?

    python benchmarks/alone.py --only worlds --draws 1000 [--jobs 2]
    python benchmarks/alone.py --only pairs --data DIR [--jobs 2]

`worlds`: scores and outcomes of known truth, on fixed fields. A promise is broken where the true error of the rows
that the threshold decides is above the accepted one.

`pairs`: of each set of a model a half (of the units) is learned from and the other half judges: the share decided and
the error there, by the corrected and by the own confidence, by isotonic regression in five folds, by the rule that
sets a quarter of the rows apart to choose its start, and by the best threshold, which knows the outcomes.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from _data import read_set, set_names
from _script import limit_threads, options, results, show
from miscal import discover
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.selective import SelectiveRisk, candidate_thresholds, decided, few_errors

ERRORS = (0.02, 0.05, 0.1, 0.2)
LEVEL = 0.05
TRUE_RISK = {
    # share of wrong rows at each rank from the most certain (0) to the least (1), where e is accepted
    "wrong everywhere": lambda rank, e: np.full_like(rank, 1.01 * e),
    "rises evenly": lambda rank, e: np.minimum(4 * e * rank, 1),
    "rises late": lambda rank, e: np.where(rank < 0.3, 0.85 * e, 1.3 * e),
    "wrong at the top": lambda rank, e: np.where(rank < 0.1, 1.5 * e, np.where(rank < 0.6, 0.7 * e, 3 * e)),
    "up and down": lambda rank, e: np.where(rank < 0.1, 0.5 * e, np.where(rank < 0.3, 1.4 * e, 0.8 * e + e * rank)),
}
ROWS = {
    "rows": {"units": None, "weights": False, "ties": False},
    "units of 10": {"units": 10, "weights": False, "ties": False},
    "weights": {"units": None, "weights": True, "ties": False},
    "ties": {"units": None, "weights": False, "ties": True},
}
SIZES = (300, 1_000, 4_000)


def drawn(rng: np.random.Generator, world: str, e: float, n: int, kind: str) -> tuple[LabelledRows, np.ndarray]:
    """Rows of a world, ranked by a score, and the true share of wrong ones of each."""
    known, rank = ROWS[kind], rng.random(n)
    if known["ties"]:
        rank = np.round(rank, 2)
    wrong = TRUE_RISK[world](rank, e)
    group = None
    uniform = rng.random(n)
    if known["units"]:
        group = np.arange(n) // known["units"]
        # half of the rows of a unit share their draw
        shared = rng.random(n // known["units"] + 1)[group]
        uniform = np.where(rng.random(n) < 0.5, shared, uniform)
    weight = rng.choice([0.5, 1.0, 3.0], n) if known["weights"] else None
    y = (uniform >= wrong).astype(float)
    return LabelledRows.of(y, 1 - rank, group=group, weight=weight), wrong


def by_quarter(score: np.ndarray, wrong: np.ndarray, e: float, rng: np.random.Generator) -> float | None:
    """Threshold of the rule that sets a quarter of the rows apart to choose where its sequence starts."""
    first = rng.random(len(score)) < 0.25
    thresholds = candidate_thresholds(score[~first])

    def counts(some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside = [decided(score[some], at) for at in thresholds]
        return np.array([part.sum() for part in inside], float), np.array([wrong[some][part].sum() for part in inside])

    start = int(np.argmin(few_errors(*counts(first), e)))
    passed = few_errors(*counts(~first), e) <= LEVEL
    if not passed[start]:
        return None
    stop = np.flatnonzero(~passed[start:])
    return float(thresholds[start + (stop[0] if len(stop) else len(thresholds) - start) - 1])


def one_world(world: str, kind: str, n: int, draws: int) -> dict:
    """How often promises are broken, and the share decided, by accepted error."""
    limit_threads()
    start = time.perf_counter()
    found: dict[str, dict[str, float]] = {}
    for e in ERRORS[1:]:
        broken, share = 0, 0.0
        for draw in range(draws):
            rng = np.random.default_rng((draw, n, sorted(TRUE_RISK).index(world), sorted(ROWS).index(kind)))
            rows, _ = drawn(rng, world, e, n, kind)
            promised = SelectiveRisk(rows).promised(e)
            if promised is not None:
                rank = np.linspace(0, 1 - promised.value, 2_001)[1:]
                if ROWS[kind]["ties"]:
                    rank = np.round(rank, 2)
                broken += TRUE_RISK[world](rank, e).mean() > e + 1e-9
                share += promised.share / draws
        found[str(e)] = {"broken": broken / draws, "share": share}
    return {"world": world, "kind": kind, "rows": n, "draws": draws, "found": found,
            "seconds": time.perf_counter() - start}  # fmt: skip


def best_possible(score: np.ndarray, wrong: np.ndarray, e: float) -> float:
    """Largest share of which no more than e is wrong, by thresholds on the judging rows themselves."""
    order = np.argsort(-score, kind="stable")
    error = np.cumsum(wrong[order]) / np.arange(1, len(score) + 1)
    last = np.r_[np.diff(score[order]) != 0, True]  # ties are decided together
    able = np.flatnonzero((error <= e) & last)
    return 0.0 if not len(able) else (able[-1] + 1) / len(score)


def one_pair(folder: Path, most: int, name: str) -> dict:
    """Shares decided and errors on the other half."""
    limit_threads()
    start, data = time.perf_counter(), read_set(folder, name)
    rng = np.random.default_rng(17)
    half = np.zeros(len(data.correct), bool)
    half[rng.permutation(len(half))[: min(len(half) // 2, most)]] = True
    y, f, X = data.correct, data.confidence, data.X
    run = discover(X[half], y[half], confidence=f[half], map="pca", progress=False)
    learned = run.frame("field", wide=True)
    ours = np.asarray(run.correct(X[~half], confidence=f[~half])["corrected"])
    folds, iso = np.arange(half.sum()) % 5, np.zeros(half.sum())
    for k in range(5):
        known = folds != k
        iso[~known] = CALIBRATORS["isotonic"]().learn(y[half][known], f[half][known]).apply(f[half][~known])
    scores = {
        "corrected": (np.asarray(learned["corrected"]), ours),
        "own": (f[half], f[~half]),
        "isotonic": (iso, CALIBRATORS["isotonic"]().learn(y[half], f[half]).apply(f[~half])),
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for e in ERRORS:
        for rule, (known, new) in scores.items():
            promised = SelectiveRisk(LabelledRows.of(y[half], known)).promised(e)
            found.setdefault(str(e), {})[rule] = _judged(None if promised is None else promised.value, new, y[~half], e)
        quarter = [by_quarter(scores["corrected"][0], 1 - y[half], e, np.random.default_rng(k)) for k in range(10)]
        shares = [_judged(at, ours, y[~half], e) for at in quarter]
        found[str(e)]["quarter"] = {key: float(np.mean([one[key] for one in shares])) for key in shares[0]}
        for rule in ("corrected", "own"):
            best = best_possible(scores[rule][1], 1 - y[~half], e)
            found[str(e)][f"best {rule}"] = {"share": best, "wrong": 0.0, "beyond": 0.0}
    return {"set": name, "n": int(half.sum()), "found": found, "seconds": time.perf_counter() - start}


def _judged(threshold: float | None, score: np.ndarray, y: np.ndarray, e: float) -> dict[str, float]:
    """Share decided, share of these wrong, and whether that is beyond chance above what was accepted."""
    inside = np.zeros(len(y), bool) if threshold is None else decided(score, threshold)
    if not inside.any():
        return {"share": 0.0, "wrong": 0.0, "beyond": 0.0}
    wrong, n = float((1 - y[inside]).sum()), float(inside.sum())
    beyond = few_errors(np.array(n), np.array(n - wrong), 1 - e) < LEVEL
    return {"share": float(inside.mean()), "wrong": wrong / n, "beyond": float(beyond)}


def main() -> None:
    """Draw, promise, and compare with what is true."""
    parser = options(__doc__, "alone", data="folder of real sets", only="worlds", draws=1_000, rows=5_000)
    args = parser.parse_args()
    if args.only == "pairs":
        cells = results(
            args, ("set",), [(name,) for name in set_names(args.data)], partial(one_pair, args.data, args.rows)
        ).records
        rules = ("corrected", "own", "isotonic", "quarter", "best corrected", "best own")
        show(
            args, "alone_pairs", "Share decided on the other half, mean of sets; where more are wrong beyond chance",
            ("accepted", *rules, "broken"),
            [
                (f"{100 * e:g} %",
                 *(f"{np.mean([one['found'][str(e)][rule]['share'] for one in cells]):.3f}" for rule in rules),
                 f"{sum(one['found'][str(e)]['corrected']['beyond'] for one in cells):.0f} of {len(cells)}")
                for e in ERRORS
            ],
        )  # fmt: skip
        return
    keys = [(world, kind, n, args.draws) for world in TRUE_RISK for kind in ROWS for n in SIZES]
    store = results(args, ("world", "kind", "rows", "draws"), keys, one_world)
    cells = store.of(keys)
    errors = [str(e) for e in ERRORS[1:]]
    show(
        args, "alone_worlds", f"Promises broken, and share decided, of {args.draws} draws",
        ("truth", "rows", "number", *(f"broken at {e}" for e in errors), *(f"share at {e}" for e in errors)),
        [
            (one["world"], one["kind"], one["rows"], *(f"{one['found'][e]['broken']:.3f}" for e in errors),
             *(f"{one['found'][e]['share']:.2f}" for e in errors))
            for one in cells
        ],
    )  # fmt: skip
    most = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / args.draws)
    missed = [one for one in cells if any(one["found"][e]["broken"] > most for e in errors)]
    for one in missed:
        print(f"broken too often: {one['world']}, {one['kind']}, {one['rows']} rows")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
