"""What may be decided alone at an accepted error: is the promise kept, and how much is decided?

    python benchmarks/alone.py --only worlds --draws 1000 [--jobs 2]
    python benchmarks/alone.py --only pairs --data DIR [--jobs 2]
    python benchmarks/alone.py --only groups
    python benchmarks/alone.py --only runs --draws 100 [--jobs 2]

`worlds`: scores and outcomes of known truth, on fixed fields. A promise is broken where the true error of the rows
that the threshold decides is above the accepted one.

`pairs`: of each set of a model a half (of the units) is learned from and the other half judges: the share decided and
the error there, by the corrected and by the own confidence, by isotonic regression in five folds, by the rule that
sets a quarter of the rows apart to choose its start, and by the best threshold, which knows the outcomes.

`groups`: fifty values of a column among decided rows, in one of which twice as many are wrong as accepted, or in none;
in all others as many are wrong as accepted. How often is it named, and how often is any other?

`runs`: whole runs on tables of known truth. Is the promise of the saved model kept on new rows?
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import expit

from _data import read_set, set_names
from _script import limit_threads, options, results, show, target
from miscal import discover
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.selective import SelectiveRisk, candidate_thresholds, decided, few_errors
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.decisions import decided_alone

ERRORS = (0.02, 0.05, 0.1, 0.2)
LEVEL = 0.05
GROUPS = 50
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


def one_list(e: float, n: int, planted: bool, draw: int) -> tuple[bool, bool]:
    """Whether the planted value is named, and whether any other is."""
    rng = np.random.default_rng((draw, n, planted))
    group = np.repeat(np.arange(GROUPS), n)
    wrong = rng.random(len(group)) < np.where(planted & (group == 0), 2 * e, e)
    # a rest without errors, so that all of these rows are decided
    rest = np.full(10 * len(group), -1)
    y = np.r_[1.0 - wrong, np.ones(len(rest))]
    rows = LabelledRows.of(y, np.full(len(y), 0.99))
    asked = [(Value("group", str(k), "text"), np.r_[group, rest] == k, float(GROUPS)) for k in range(GROUPS)]
    [found], _ = decided_alone(rows, rows, np.ones(len(y), bool), [e], groups=asked)
    named = {one.condition.value for one in found.breaks}
    return "0" in named, bool(named - {"0"} if planted else named)


def one_run(n: int, draw: int) -> dict:
    """Whether the promises of a whole run, and of its saved model on new rows, are false."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((draw, n))

    def table(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = rng.normal(size=(size, 6))
        logit = 1.6 + 1.3 * X[:, 0]
        return X, expit(logit), expit(logit + np.where(X[:, 1] > 0, 0.8, -0.8))

    X, f, p = table(n)
    run = discover(X, (rng.random(n) < p).astype(float), confidence=f, map="pca", progress=False)
    found = {}
    X_new, f_new, p_new = table(20_000)
    for e in ERRORS[1:]:
        decide = np.asarray(run.decide(X_new, confidence=f_new, max_error=e)["decide"], bool)
        wrong = float((1 - p_new[decide]).mean()) if decide.any() else 0.0
        found[str(e)] = {"share": float(decide.mean()), "wrong": wrong}
    return {"rows": n, "draw": draw, "found": found, "seconds": time.perf_counter() - start}


def show_groups(args: Namespace) -> bool:
    """Print how often a group that breaks is named, and others; whether the targets are met."""
    lines, met = [], True
    for e, n in ((0.1, 200), (0.05, 500)):
        planted, null = ([one_list(e, n, some, draw) for draw in range(args.draws)] for some in (True, False))
        named, others = sum(one for one, _ in planted), sum(other for _, other in null)
        lines.append((f"{100 * e:g} %", n, f"{named} of {args.draws}", f"{others} of {args.draws}"))
        met &= named >= 0.8 * args.draws and others <= (LEVEL + 2 * np.sqrt(LEVEL / args.draws)) * args.draws
    show(args, "alone_groups", f"The value that breaks, among {GROUPS}", ("accepted", "rows of each", "named",
         "any named where none breaks"), lines)  # fmt: skip
    return target("named in 80 of 100, any where none breaks in at most 5 % within noise", met)


def show_runs(args: Namespace) -> bool:
    """Print how often the promise of a saved model is false on new rows; whether that is seldom enough."""
    sizes = (1_000, 3_000)
    cells = results(args, ("rows", "draw"), [(n, k) for n in sizes for k in range(args.draws)], one_run).records
    lines, met = [], True
    for n in sizes:
        for e in map(str, ERRORS[1:]):
            found = [one["found"][e] for one in cells.values() if one["rows"] == n]
            broken = sum(one["wrong"] > float(e) for one in found)
            met &= broken <= (0.06 + 2 * np.sqrt(0.06 / len(found))) * len(found)
            lines.append((n, f"{100 * float(e):g} %", f"{np.mean([one['share'] for one in found]):.3f}",
                          f"{broken} of {len(found)}"))  # fmt: skip
    show(args, "alone_runs", "Saved models on 20,000 new rows", ("rows", "accepted", "share decided", "broken"), lines)
    return target("broken by the saved model in at most 6 % within noise", met)


def show_pairs(args: Namespace) -> bool:
    """Print the shares decided by each rule on the other half; nothing of it has a target that is met or not."""
    names = [(name,) for name in set_names(args.data)]
    cells = results(args, ("set",), names, partial(one_pair, args.data, args.rows)).of(names)
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
    return True


def show_worlds(args: Namespace) -> bool:
    """Print how often promises are broken; whether that is seldom enough in every world."""
    keys = [(world, kind, n, args.draws) for world in TRUE_RISK for kind in ROWS for n in SIZES]
    cells = results(args, ("world", "kind", "rows", "draws"), keys, one_world).of(keys)
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
    return target("broken in at most 5 % of draws within noise, in every world", not missed)


PARTS = {"worlds": show_worlds, "pairs": show_pairs, "groups": show_groups, "runs": show_runs}


def main() -> None:
    """Draw, promise, and compare with what is true."""
    parser = options(__doc__, "alone", data="folder of real sets", only="worlds", draws=1_000, rows=5_000)
    args = parser.parse_args()
    args.cache = args.cache.with_stem(f"{args.cache.stem}_{args.only}")
    sys.exit(not PARTS[args.only](args))


if __name__ == "__main__":
    main()
