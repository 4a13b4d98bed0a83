"""How often does a whole ranking hold: all intervals at once, and the ranks of all models?

    python benchmarks/rankings.py [--draws 2000] [--csv benchmarks/notes]

Tables of models by `miscal.evidence.rankings.rank`. Means: values on 15 to 300 questions that the models share, normal,
or outcomes of 0 and 1 (up to 94 % of them 1). `ties called ties` is the share of tables in which no two models of
equal means were told apart; `told apart` the share of pairs of unequal means that were.

Target: all intervals of a table hold, and all of its ranks, in 95 % of tables, by a binomial test at 1 %.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy.special import expit
from scipy.stats import binom

from _script import limit_threads, options, show, target
from miscal.evidence.rankings import rank

MEANS = {
    "8 equal models": [0.0] * 8,
    "12 equal models": [0.0] * 12,
    "6 models, two ties": [0.0, 0.0, 0.0, 0.3, 0.3, 0.6],
    "20 models, apart": [0.1 * k for k in range(20)],
}


def normal(rng: np.random.Generator, means: np.ndarray, questions: int) -> tuple:
    """Draw values that share the difficulty of the question."""
    values = means + rng.normal(size=(questions, 1)) + rng.normal(size=(questions, len(means)))
    mean = values.mean(0)
    return mean, (values - mean) / questions, means


def outcomes(rng: np.random.Generator, means: np.ndarray, questions: int) -> tuple:
    """Draw outcomes of 0 and 1, mostly 1; the truth is their expectation over questions."""
    hard = rng.normal(size=(questions, 1))
    values = (rng.random((questions, len(means))) < expit(1.5 + means + hard)).astype(float)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    truth = expit(1.5 + means[:, None] + nodes) @ weights / weights.sum()
    mean = values.mean(0)
    return mean, (values - mean) / questions, truth


def held(make, means: list[float], questions: int, draws: int) -> dict[str, float]:
    """Count tables whose intervals, differences and ranks all hold, and pairs that were told apart."""
    level, found = np.asarray(means), []
    better = level[:, None] > level[None, :]
    best, worst = 1 + better.sum(0), len(level) - better.sum(1)
    for draw in range(draws):
        estimate, influence, truth = make(np.random.default_rng((questions, draw)), level, questions)
        one = rank(estimate, influence, n_draws=499, random_state=draw)
        gap = truth[:, None] - truth[None, :]
        found.append((
            ((one.low <= truth) & (truth <= one.high)).all(),
            ((one.difference_low <= gap) & (gap <= one.difference_high)).all(),
            ((one.best_rank <= best) & (worst <= one.worst_rank)).all(),
            not (one.ahead & ~better & ~better.T).any(),
            one.ahead[better].mean() if better.any() else np.nan,
        ))  # fmt: skip
    names = ("intervals", "differences", "ranks", "tie called a tie", "apart")
    return dict(zip(names, np.mean(found, axis=0, dtype=float).tolist(), strict=True))


def main() -> None:
    """Measure, show, and compare with the target."""
    args = options(__doc__, draws=2_000).parse_args()
    limit_threads()
    cells = [
        (what, name, make, means, questions)
        for what, make, sizes in (("normal values", normal, (15, 30, 50, 300)), ("outcomes", outcomes, (30, 50, 300)))
        for name, means in MEANS.items() for questions in sizes
    ]  # fmt: skip
    rows, missed = [], []
    least = binom.ppf(0.01, args.draws, 0.95) / args.draws
    for what, name, make, means, questions in cells:
        one = held(make, means, questions, args.draws)
        rows.append([what, name, questions, *("" if np.isnan(v) else f"{100 * v:.1f}" for v in one.values())])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
        missed += [
            f"{what}, {name}, {questions} questions: {kind} of {100 * one[kind]:.1f} %"
            for kind in ("intervals", "differences", "ranks") if one[kind] < least
        ]  # fmt: skip
    show_held(args, rows)
    sys.exit(not target(f"whole tables hold ({'; '.join(missed) or 'no exception'})", not missed))


def show_held(args: argparse.Namespace, rows: list[list]) -> None:
    """Show how often whole tables hold."""
    head = ["values", "models", "questions", "intervals, %", "differences, %", "ranks, %", "ties called ties, %",
            "told apart, %"]  # fmt: skip
    show(args, "rankings", f"tables of {args.draws:,} in which all of a kind hold at once", head, rows)


if __name__ == "__main__":
    main()
