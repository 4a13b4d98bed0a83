"""What does the frequency of the most frequent answer say of a model whose answers have known probabilities?

    python benchmarks/frequency_confidence.py

A third of the questions each are of three kinds: the model gives its three answers with probabilities .90, .07, .03
(sure), .50, .30, .20 (unsure) or a third each (guessing). How often an answer is right is planted:

    calibrated         as often as the model gives it
    over-confident     0.8 times as often
    under-confident    as often as the model gives it, and more often by what the naive frequency of 10 samples is too
                       high in questions of its kind; so the naive frequency of 10 samples looks calibrated

    naive              most frequent of all samples; confidence: the share of all samples that agree with it
    one division       most frequent of the first half; confidence: the share of the second half that agrees with it
    held-out           the same answer; confidence: that share averaged over all divisions (`miscal score`)

Nothing is drawn: confidence, accuracy, residual (accuracy minus confidence) and error (root of the mean squared
difference of a confidence from the probability of its answer) are exact sums over all samples.

Target: the residual of the held-out frequency is the planted one, up to rounding, and its error is below that of one
division.
"""  # fmt: skip

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from math import comb

import numpy as np

from _script import options, show, target
from miscal.scoring.answer_confidences import agreement, held_out_frequency, most_frequent

KINDS = {"sure": (0.9, 0.07, 0.03), "unsure": (0.5, 0.3, 0.2), "guessing": (1 / 3, 1 / 3, 1 / 3)}
NAMES = "abc"
SAMPLES, PLANTED_FOR = (4, 10, 20), 10
WORLDS = ("calibrated", "over-confident", "under-confident")
ESTIMATES = ("naive", "one division", "held-out")


def counted(n: int, probs: tuple[float, ...]) -> Iterator[tuple[list[str], float]]:
    """Every number of times that each answer may occur among n samples, as samples, with its probability."""
    for a in range(n + 1):
        for b in range(n + 1 - a):
            times = (a, b, n - a - b)
            ways = comb(n, a) * comb(n - a, b)
            drawn: list[str] = [name for name, count in zip(NAMES, times, strict=True) for _ in range(count)]
            yield drawn, ways * float(np.prod(np.power(probs, times)))


@cache
def outcomes(kind: str, k: int, estimate: str) -> np.ndarray:
    """Rows of (probability, probability of the answer, confidence) over everything that k samples may be."""
    probs = KINDS[kind]
    found = []
    if estimate == "naive":
        for samples, chance in counted(k, probs):
            answer = most_frequent(samples)
            found.append((chance, probs[NAMES.index(answer)], agreement(answer, samples)))
        return np.array(found)
    for first, chance in counted(k // 2, probs):
        answer = most_frequent(first)
        for second, other in counted(k - k // 2, probs):
            averaged = estimate == "held-out"
            value = held_out_frequency(answer, first + second, k // 2) if averaged else agreement(answer, second)
            found.append((chance * other, probs[NAMES.index(answer)], value))
    return np.array(found)


def flattery(kind: str) -> float:
    """How much the naive frequency is too high in questions of a kind."""
    chance, truth, confidence = outcomes(kind, PLANTED_FOR, "naive").T
    return float(chance @ (confidence - truth))


def accuracy(world: str, kind: str, truth: np.ndarray) -> np.ndarray:
    """How often answers are right that the model gives with these probabilities."""
    shift = flattery(kind) if world == "under-confident" else 0.0
    return (0.8 if world == "over-confident" else 1.0) * truth + shift


def measured(world: str, k: int, estimate: str) -> dict[str, float]:
    """Means over the kinds of questions; `planted` is the residual of the true probabilities of the answers."""
    means = []
    for kind in KINDS:
        chance, truth, confidence = outcomes(kind, k, estimate).T
        right = accuracy(world, kind, truth)
        means.append(
            [chance @ confidence, chance @ right, chance @ (right - truth), chance @ (confidence - truth) ** 2]
        )
    stated, right, planted, squares = np.mean(means, axis=0)
    error = float(np.sqrt(squares))
    return {"confidence": stated, "accuracy": right, "residual": right - stated, "planted": planted, "error": error}


def main() -> int:
    """Print the table and the target; 0 if it is met."""
    args = options(__doc__).parse_args()
    cells = {(w, k, e): measured(w, k, e) for w in WORLDS for k in SAMPLES for e in ESTIMATES}
    columns = ("confidence", "accuracy", "residual", "planted", "error")
    rows = [[*key, *(f"{round(cell[name], 4) + 0.0:.4f}" for name in columns)] for key, cell in cells.items()]
    head = ["world", "samples", "estimate", *columns]
    show(args, "frequency_confidence", "the frequency of the most frequent answer, exactly", head, rows)
    held = [cell for (_, _, estimate), cell in cells.items() if estimate == "held-out"]
    one = [cell for (_, _, estimate), cell in cells.items() if estimate == "one division"]
    exact = all(abs(cell["residual"] - cell["planted"]) < 1e-12 for cell in held)
    nearer = all(a["error"] < b["error"] for a, b in zip(held, one, strict=True))
    return not target("held-out residual as planted, error below that of one division", exact and nearer)


if __name__ == "__main__":
    sys.exit(main())
