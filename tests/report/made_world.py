"""A small world with known regimes, whose topics decide the sign of the field, and what may be decided alone in it."""

import numpy as np
import polars as pl

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.decisions import MAX_ERRORS, Thresholds, asked_groups, decide, decided_alone

EPSILON = 0.05
NAMES = ("over", "under", "good")
TOPICS = {
    "contract law": "over",
    "chemistry": "over",
    "geography": "under",
    "word puzzles": "under",
    "arithmetic": "good",
    "history": "good",
}
WORDS = {
    "contract law": "Which clause of the agreement makes the promisor liable when the offer lapses before acceptance",
    "chemistry": "What is the oxidation state of the central atom in the complex formed with excess ligand",
    "geography": "Which river forms the border between the two countries named in the passage",
    "word puzzles": "Which of these words is spelled backwards to form another word with the opposite meaning",
    "arithmetic": "What is the remainder when the product of the two numbers is divided by seven",
    "history": "In which century did the treaty that ended the long war between the houses come into force",
}


def keywords(topic: str) -> list[str]:
    return [word.lower() for word in WORDS[topic].split() if len(word) > 5]


def make_world(n: int, seed: int, flat: bool) -> pl.DataFrame:
    """Rows with topics; the topic decides the sign of the field unless the world is flat."""
    rng = np.random.default_rng(seed)
    topics = rng.choice(list(TOPICS), size=n)
    centre = {name: 2.4 * np.array([np.cos(a), np.sin(a)]) for name, a in zip(TOPICS, np.arange(6), strict=True)}
    raw = np.array([centre[name] for name in topics]) + rng.normal(0, 1.1, (n, 2))
    sign = np.array([{"over": -1.0, "under": 1.0, "good": 0.0}[TOPICS[name]] for name in topics]) * (not flat)
    delta = sign * rng.gamma(6, 0.035, n) + rng.normal(0, 0.012, n)
    truth = rng.beta(3, 2, n)
    confidence = np.clip(truth - delta, 0.02, 0.98)
    delta = truth - confidence
    correct = (rng.random(n) < truth).astype(int)
    learned = np.column_stack([delta + rng.normal(0, 0.03, n), 0.2 * raw[:, 1] + rng.normal(0, 0.15, n)])
    visible = 0.3 * (0.5 - confidence)
    regime, hidden_regime = (
        np.where(field < -EPSILON, "over", np.where(field > EPSILON, "under", "good"))
        for field in (delta, delta - visible)
    )
    return pl.DataFrame(
        {
            "row": np.arange(n),
            "split": np.where(np.arange(n) % 10 == 0, "test", np.where(np.arange(n) % 10 == 1, "val", "train")),
            "confidence": confidence,
            "correct": correct.astype(float),
            "delta": delta,
            "mass": rng.gamma(9, 8, n),
            "regime": regime,
            "corrected": np.clip(confidence + 0.9 * delta, 0, 1),
            "visible": visible,
            "hidden": delta - visible,
            "hidden_regime": hidden_regime,
            "supported": np.ones(n, bool),
            "raw_1": raw[:, 0],
            "raw_2": raw[:, 1],
            "learned_1": learned[:, 0],
            "learned_2": learned[:, 1],
            "topic": topics,
            "text": [f"{WORDS[name]}? Question {i} of the set." for i, name in enumerate(topics)],
            "length": rng.integers(20, 400, n),
        }
    )


def curve(table: pl.DataFrame, column: str, bins: int = 12) -> dict | None:
    if table.height < 30:
        return None
    table = table.sort(column).with_columns(bin=np.arange(table.height) * bins // table.height)
    groups = table.group_by("bin", maintain_order=True).agg(
        confidence=pl.col(column).mean(), accuracy=pl.col("correct").mean(), n=pl.len()
    )
    error = 1.96 * (groups["accuracy"] * (1 - groups["accuracy"]) / groups["n"]).sqrt()
    return {
        "confidence": groups["confidence"].to_list(),
        "accuracy": groups["accuracy"].to_list(),
        "low": (groups["accuracy"] - error).clip(0, 1).to_list(),
        "high": (groups["accuracy"] + error).clip(0, 1).to_list(),
        "n": groups["n"].to_list(),
    }


def scores(table: pl.DataFrame, shrink: float) -> dict | None:
    if not table.height:
        return {"smece": None, "brier": None, "log_loss": None, "n": 0}
    f = (table["confidence"] + shrink * table["delta"]).clip(0.01, 0.99).to_numpy()
    y = table["correct"].to_numpy()
    return {
        "smece": abs(float(np.mean(y - f))) + 0.01,
        "brier": float(np.mean((y - f) ** 2)),
        "log_loss": float(-np.mean(y * np.log(f) + (1 - y) * np.log(1 - f))),
        "n": table.height,
    }


def estimate(value: float | None, half: float = 0.03) -> dict:
    return {"value": value, "interval": None if value is None else [value - half, value + half]}


def made(n=2000, *, kind="answer", thresholds=(0.6,), cost=None, max_error=()):
    """Return them of a model that is too sure of what it says of one subject, which its correction does not see."""
    rng = np.random.default_rng(0)
    f, law = rng.beta(5, 1, n), np.arange(n) < n // 10
    y = (rng.random(n) < np.where(law, 0.5, f**0.5)).astype(float)
    rows, corrected = LabelledRows.of(y, f), f**0.7
    groups = asked_groups([(Value("subject", "<b>law</b>", "text"), law)], [], 1)
    near, asked = np.full(n, True), Thresholds.of(thresholds, cost, max_error)
    alone, curves = decided_alone(rows, LabelledRows.of(y, corrected), near, MAX_ERRORS, kind=kind, groups=groups)
    parts = {"alone": alone, "alone_curves": curves, "decisions": decide(rows, corrected, asked)}
    return {name: [one.model_dump(mode="json") for one in part] for name, part in parts.items()}, asked.chosen


def with_alone(kind="answer", **asked):
    def change(summary):
        parts, chosen = made(kind=kind, **asked)
        summary |= parts | {"kind": kind}
        summary["settings"] |= chosen

    return change
