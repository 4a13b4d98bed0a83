"""Where is a judge too lenient? Planted groups found, and groups named where none is planted.

    python benchmarks/judge_groups.py [--labels 200 500 2000] [--draws 200] [--nulls 1000]

A judge gives 1 to 5; its scores differ by model, topic and length. People approve with a probability that depends on
the score alone, except in the planted group, whose answers have a point more than they deserve:

    nothing   no such group
    length    answers of at least 400 words, the last quarter
    half way  answers of 300 to 600 words, which no quarter is
    model     one of five models

Scores become probabilities as in a run with ``--judge`` and ``--human``, and the ledger of findings looks for groups
(model, topic, language, position, words) as it does there. Beside it: a z-test of the same residuals for every value of
a column and every quarter of its numbers, by Bonferroni's correction. `found` counts draws in which a group of the
planted column is named as lenient, `any` those in which anything is named; where nothing is planted that is the
family-wise error, missed where a binomial test at 1 % finds it above 5 %.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl
from scipy.special import expit
from scipy.stats import binomtest, norm

from _script import limit_threads, options, results, show, target
from miscal.data.judged import JudgeScale
from miscal.discovery.findings import named_findings

FIELDS = ("world", "labels", "draw")
WORLDS = {"nothing": "", "length": "words in answer", "half way": "words in answer", "model": "model"}
LEVEL, MISSED_P = 0.05, 0.01


def answers(world: str, n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Columns, scores from 1 to 5, and the verdicts of people."""
    columns = {
        "model": rng.choice([f"model {k}" for k in "ABCDE"], n),
        "topic": rng.choice(["law", "code", "maths", "health", "travel", "history"], n),
        "language": rng.choice(["en", "de", "zh", "es"], n, p=[0.55, 0.2, 0.15, 0.1]),
        "position": rng.choice(["first", "second"], n),
        "words in answer": np.exp(rng.normal(5.45, 0.8, n)).round() + 5,
    }
    frame, words = pl.DataFrame(columns), columns["words in answer"]
    codes = [np.unique(columns[name], return_inverse=True)[1] for name in ("model", "topic")]
    deserved = 3.1 + 0.25 * (codes[0] - 2) + 0.2 * (codes[1] - 2.5) + rng.normal(0, 1.1, n)
    group = {"nothing": np.zeros(n, bool), "length": words >= 400, "half way": (words >= 300) & (words < 600),
             "model": columns["model"] == "model B"}[world]  # fmt: skip
    score = np.clip(np.round(deserved + group), 1, 5)
    earned = np.clip(score - group, 1, 5)
    return frame, score, (rng.random(n) < expit(1.1 * (earned - 3))).astype(float)


def draw(world: str, labels: int, number: int) -> dict[str, object]:
    """Look for groups by both ways in one draw."""
    start = time.perf_counter()
    frame, score, approved = answers(world, labels, np.random.default_rng((71, len(world), labels, number)))
    f = JudgeScale.fit(score, approved).probability(score)
    findings = named_findings(approved, f, frame, seed=number).findings
    planted = WORLDS[world]
    named = [one for one in findings if planted in one.columns and one.sign == "over"]
    tested = z_tests(frame, approved - f)
    least = LEVEL / len(tested)
    return {
        "world": world, "labels": labels, "draw": number, "any": bool(findings), "found": bool(named),
        "z_any": any(p < least for _, _, p in tested),
        "z_found": any(p < least and column == planted and mean < 0 for column, mean, p in tested),
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def z_tests(frame: pl.DataFrame, residual: np.ndarray) -> list[tuple[str, float, float]]:
    """Column, mean residual and p-value of each value of a column, and of each quarter of its numbers."""
    found = []
    for name in frame.columns:
        values = frame[name].to_numpy()
        if values.dtype.kind == "f":
            values = np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
        for value in np.unique(values):
            inside = residual[values == value]
            if len(inside) >= 10:
                spread = max(inside.std(ddof=1), 1e-9) / np.sqrt(len(inside))
                found.append((name, float(inside.mean()), float(2 * norm.sf(abs(inside.mean()) / spread))))
    return found


def main() -> None:
    parser = options(__doc__, "judge_groups", labels=[200, 500, 2_000], draws=200, nulls=1_000)
    args = parser.parse_args()
    limit_threads()
    keys = [
        (world, labels, number)
        for world in WORLDS for labels in args.labels
        for number in range(args.nulls if world == "nothing" else args.draws)
    ]  # fmt: skip
    store = results(args, FIELDS, keys, draw)
    rows, missed = [], []
    for world in WORLDS:
        for labels in args.labels:
            some = [store[key] for key in keys if key[:2] == (world, labels) and key in store.records]
            if not some:
                continue
            count = {name: sum(one[name] for one in some) for name in ("found", "z_found", "any", "z_any")}
            rows.append([world, labels, len(some), *(f"{value / len(some):.3f}" for value in count.values())])
            if (
                world == "nothing"
                and binomtest(count["any"], len(some), LEVEL, alternative="greater").pvalue < MISSED_P
            ):
                missed.append(f"{labels} labels")
    head = ["planted", "labels", "draws", "found", "found by z-tests", "any", "any by z-tests"]
    show(args, "judge_groups", "groups in which a judge is too lenient", head, rows)
    met = target(f"more than 5 % of the draws name a group where nothing is planted: {missed or 'none'}", not missed)
    sys.exit(not met)


if __name__ == "__main__":
    main()
