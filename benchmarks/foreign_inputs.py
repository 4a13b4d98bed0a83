"""Are embeddings of another model noticed before a correction, and how often are rows told of for nothing?

    python benchmarks/foreign_inputs.py [--data DIR] [--draws 200] [--csv benchmarks/notes]

Real sets: half of a set's inputs is described as a fit does it, the other half is changed and compared. Each set is
taken with all its columns, and as its 64 and 12 leading principal components. The changes keep what embeddings of
another model share with them, the width: "same" is the other half as it is, "rotated" by a random orthogonal matrix,
"negated", "zeros", "unit norm" divides each row by its length, "permuted" puts the columns into another order. Each
cell shows the largest distance of a measure and what follows: a refusal, a warning, or nothing ("passed"). One model is
taken of each file, since all answers to a file have one set of inputs.

False alarms: rows drawn from one distribution are described and compared, in worlds that are normal, heavy-tailed, of
few values, one-hot, and of clusters. There are at most --draws draws of each world and size, fewer of large ones. The
stated rate is at most 1 in 1,000; missed where a binomial test at 1e-4 says that it is more.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import binomtest, ortho_group

from _data import read_set, set_names
from _script import limit_threads, options, show, target
from miscal.base.folds import row_groups
from miscal.estimators.input_profile import FALSE_ALARM, learn_profile, look

COMPONENTS, SEED = (None, 64, 12), 7
CHANGES = {
    "same": lambda X, rng: X,
    "rotated": lambda X, rng: X @ ortho_group.rvs(X.shape[1], random_state=rng),
    "negated": lambda X, rng: -X,
    "zeros": lambda X, rng: np.zeros_like(X),
    "unit norm": lambda X, rng: X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9),
    "permuted": lambda X, rng: X[:, rng.permutation(X.shape[1])],
}
OTHER_MODELS = ("rotated", "zeros", "permuted")
SIZES, COLUMNS, LEAST_NEW, LEAST_DRAWS, MOST_VALUES, LEAST_P = (
    (20, 200, 1_000, 4_000),
    (1, 12, 64, 384),
    500,
    10,
    2e6,
    1e-4,
)


def normal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Spread that falls from column to column, about a mean that is not 0."""
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.5 + 1


def heavy_tailed(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_t(2, size=(n, d))


def few_valued(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.where(rng.random((n, d)) < 0.9, 0, rng.integers(0, 3, (n, d)))


def one_hot(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.eye(d)[rng.integers(0, d, n)]


def clusters(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return 3 * rng.normal(size=(10, d))[rng.integers(0, 10, n)] + rng.normal(size=(n, d))


WORLDS = {"normal": normal, "heavy tails": heavy_tailed, "few values": few_valued, "one-hot": one_hot,
          "clusters": clusters}  # fmt: skip


def halves(X: np.ndarray, components: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of inputs, equal rows in one of them, as principal components of the first or as they are."""
    group = row_groups(X)
    first = (np.random.default_rng(SEED).permutation(group.max() + 1) % 2 == 0)[group]
    if components is None:
        return X[first], X[~first]
    mean = X[first].mean(0)
    axes = np.linalg.svd(X[first] - mean, full_matrices=False)[2][:components].T
    return (X[first] - mean) @ axes, (X[~first] - mean) @ axes


def answers(folder: Path | None, names: list[str]) -> list[dict]:
    """What is told of each change of each set."""
    found = []
    for name, components in product(names, COMPONENTS):
        old, new = halves(read_set(folder, name).X, components)
        profile, rng = learn_profile(old), np.random.default_rng(SEED)
        row = {"set": name.split("/")[0], "columns": old.shape[1], "fitted": len(old), "new": len(new)}
        for change, changed in CHANGES.items():
            told = look(profile, changed(new, rng).astype(np.float32))
            answer = "refused" if told.impossible else "warned" if told.unlike else "passed"
            row |= {change: (told.distance, answer), "allowed": told.allowed}
        found.append(row)
    return found


def alarms(world: str, n: int, d: int, draws: int) -> tuple[int, int, float]:
    """Draws that were told of, draws of which anything can be told, and the largest distance as a share of allowed."""
    new, found = max(n, LEAST_NEW), []
    for i in range(draws):
        X = WORLDS[world](np.random.default_rng((SEED, n, d, i)), n + new, d).astype(np.float32)
        profile = learn_profile(X[:n], seed=i)
        told = None if profile is None else look(profile, X[n:])
        found += [] if told is None else [told.distance / told.allowed]
    return sum(share > 1 for share in found), len(found), max(found, default=0.0)


def main() -> int:
    parser = options(__doc__, data="folder of the real sets; default: the packaged demo data", draws=200)
    args = parser.parse_args()
    limit_threads()
    first = {name.split("/")[0]: name for name in reversed(set_names(args.data))}
    rows = answers(args.data, [*reversed(first.values())])
    show(
        args, "foreign_inputs", "Changed inputs: largest distance, and what is said",
        ["set", "columns", "rows of the fit", "new rows", "allowed", *CHANGES],
        [[r["set"], r["columns"], r["fitted"], r["new"], f"{r['allowed']:.3f}",
          *("{:.2f} {}".format(*r[change]) for change in CHANGES)] for r in rows],
    )  # fmt: skip

    table, told, drawn = [], 0, 0
    for d, world in product(COLUMNS, WORLDS):
        counts = [
            alarms(world, n, d, int(np.clip(MOST_VALUES / (max(n, LEAST_NEW) * d), LEAST_DRAWS, args.draws)))
            for n in SIZES
        ]
        told, drawn = told + sum(c[0] for c in counts), drawn + sum(c[1] for c in counts)
        table.append([d, world, *(f"{c[0]} of {c[1]}" for c in counts), f"{max(c[2] for c in counts):.2f}"])
        print(*table[-1], file=sys.stderr, flush=True)
    head = ["columns", "world", *(f"{n:,} rows" for n in SIZES), "largest distance / allowed"]
    show(args, "foreign_inputs-alarms", "False alarms, of draws of which anything can be told", head, table)

    met = target(
        f"other halves told of: {sum(r['same'][1] != 'passed' for r in rows)} of {len(rows)} (target 0)",
        all(r["same"][1] == "passed" for r in rows),
    )
    passed = [f"{r['set']} {r['columns']} {c}" for r in rows for c in OTHER_MODELS if r[c][1] == "passed"]
    met &= target(
        f"rotated, zero or permuted inputs that pass: {len(passed)} of {len(OTHER_MODELS) * len(rows)} "
        f"({', '.join(passed) or 'none'}; target 0)",
        not passed,
    )
    found = binomtest(told, drawn, FALSE_ALARM, alternative="greater")
    most = binomtest(told, drawn).proportion_ci(0.9, "exact").high
    line = f"false alarms: {told} of {drawn:,} draws, a rate of at most {most:.5f} with 95 % confidence"
    met &= target(f"{line} (stated: {FALSE_ALARM})", found.pvalue >= LEAST_P)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
