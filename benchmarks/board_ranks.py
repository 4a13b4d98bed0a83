"""How often does the board of a study tell equal models apart, and models that differ?

    python benchmarks/board_ranks.py [--draws 400] [--csv benchmarks/notes]

Studies of made-up models on one data set. Questions are of unlike difficulty, which all models share, and of four
topics; a feature of the question shifts the log-odds of every model's answers, which its confidence does not show.
Maps of the confidence, and corrections by confidence and feature, are logistic regressions learned from the other
four fifths of the questions. `equal`: all models have one law, so that every order that is claimed is claimed by
chance. `one worse`: the confidences of the first are too high by 0.7 in log-odds. Counted are studies in which any
two models are told apart, by each measure of the table `rankings`, in any group of `group_rankings`, and studies in
which any transfer of a hidden part is said to serve, where each model has a feature of its own (`transfer, nothing
shared`).

Target: where all models are equal, orders are claimed in at most 5 % of studies, by a binomial test at 1 %.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from _script import limit_threads, options, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.study.measures.models import (
    RANKED,
    ModelRows,
    measure_group_rankings,
    measure_rankings,
    measure_transfer_shifts,
)

CASES = [(models, questions) for models in (2, 4, 8) for questions in (300, 2_000)]
FOLDS, HIDDEN, WORSE = 5, 0.8, 0.7


def study(rng: np.random.Generator, models: int, questions: int, *, worse: float, alike: bool) -> list[ModelRows]:
    """Draw the rows of all models; `alike` gives all the same hidden feature."""
    hard, feature = rng.normal(size=questions), rng.choice([-1.0, 1.0], questions)
    topic = np.array(["law", "art", "sums", "birds"], dtype=object)[rng.integers(4, size=questions)]
    fold = rng.permutation(questions) % FOLDS
    found = []
    for k in range(models):
        own = feature if alike else rng.choice([-1.0, 1.0], questions)
        odds = hard + 0.7 * rng.normal(size=questions)
        correct = (rng.random(questions) < expit(odds + HIDDEN * own)).astype(float)
        confidence = expit(1.3 * odds + (worse if k == 0 else 0.0))
        visible, corrected = (
            crossfitted(columns, correct, fold)
            for columns in (logit(confidence)[:, None], np.column_stack([logit(confidence), own]))
        )
        named = {"pair": f"m{k}", "dataset": "d", "model": f"m{k}", "method": "auto"}
        rows, after = (LabelledRows.of(correct, one) for one in (confidence, corrected))
        found.append(ModelRows(named, rows, after, {"topic": topic}, None, np.arange(questions), visible, visible, {}))
    return found


def crossfitted(columns: np.ndarray, correct: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Predict each row by a regression of the other folds."""
    found = np.empty(len(correct))
    for k in range(FOLDS):
        fit = LogisticRegression(C=100.0).fit(columns[fold != k], correct[fold != k])
        found[fold == k] = fit.predict_proba(columns[fold == k])[:, 1]
    return found


def told_apart(seed: int, models: int, questions: int, worse: float) -> dict[str, bool]:
    """Say by which measures any two models of a study are told apart."""
    rows = study(np.random.default_rng((models, questions, seed)), models, questions, worse=worse, alike=True)
    ranked = measure_rankings(rows)["rankings"]
    found = {name: any(row["best_rank"] > 1 for row in ranked if row["measure"] == name) for name in RANKED}
    found["groups"] = any(row["best_rank"] > 1 for row in measure_group_rankings(rows)["group_rankings"])
    return found


def served(seed: int, models: int, questions: int) -> bool:
    """Say whether a hidden part is said to serve another model, though they share nothing."""
    rows = study(np.random.default_rng((models, questions, seed)), models, questions, worse=0.0, alike=False)
    return any(row["saved_low"] > 0 for row in measure_transfer_shifts(rows)["transfer_shifts"])


def main() -> None:
    """Count, show, and compare with the target."""
    args = options(__doc__, draws=400).parse_args()
    limit_threads()
    rows, missed = [], []
    most = binom.ppf(0.99, args.draws, 0.05) / args.draws
    for models, questions in CASES:
        for name, worse in (("equal", 0.0), ("one worse", WORSE)):
            drawn = [told_apart(seed, models, questions, worse) for seed in range(args.draws)]
            shares = {what: float(np.mean([one[what] for one in drawn])) for what in drawn[0]}
            if name == "equal":
                shares["transfer"] = float(np.mean([served(seed, models, questions) for seed in range(args.draws)]))
                missed += [f"{what} of {models} models, {questions}" for what, one in shares.items() if one > most]
            rows.append([name, models, questions, *(f"{100 * one:.1f}" for one in shares.values())])
            rows[-1] += [""] * (len(HEAD) - len(rows[-1]))
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    show(args, "board_ranks", f"studies of {args.draws:,}, in %, in which any two models are told apart", HEAD, rows)
    sys.exit(
        not target(f"equal models are told apart by chance alone ({'; '.join(missed) or 'no exception'})", not missed)
    )


HEAD = ["models are", "models", "questions", "calibration cost", "hidden cost", "log loss after", "groups",
        "transfer, nothing shared"]  # fmt: skip

if __name__ == "__main__":
    main()
