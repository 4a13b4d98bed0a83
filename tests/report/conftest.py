"""Run folders as `discover` leaves them, made from a small world with known regimes."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from miscal.discovery.summary import SCHEMA_VERSION
from miscal.discovery.tables import schema

from .made_world import EPSILON, NAMES, TOPICS, curve, estimate, keywords, make_world, scores
from .visits import browser, drawn, visit

__all__ = ["browser", "drawn", "visit"]

FINDING = {
    "description": "subject = <b>law</b>",
    "condition": {"kind": "value", "column": "subject", "value": "<b>law</b>", "of": "text"},
    "source": "named",
    "columns": ["subject"],
    "n": 120,
    "share": 0.1,
    "accuracy": 0.3,
    "confidence": 0.7,
    "corrected": 0.41,
    "residual": {"value": -0.4, "interval": [-0.48, -0.32]},
    "visible": -0.15,
    "hidden": {"value": -0.25, "interval": [-0.33, -0.17]},
    "conditional": {"value": -0.26, "interval": [-0.34, -0.18]},
    "after": {"value": -0.17, "interval": [-0.24, -0.11]},
    "fate": "reduced",
    "odds_ratio": 0.37,
    "p_value": 1e-9,
    "p_adjusted": 1e-6,
    "sign": "over",
    "aliases": ['"court" in the text'],
    "rows": [3, 5],
}
VALUE = {
    "column": "subject",
    "value": "<b>law</b>",
    "n": 120,
    "share": 0.1,
    "accuracy": 0.3,
    "confidence": 0.7,
    **{f"{name}{end}": value + at for name, value in {"residual": -0.4, "hidden": -0.25, "after": -0.17}.items()
       for end, at in {"": 0.0, "_low": -0.05, "_high": 0.05}.items()},
    "mark": "finding",
    "finding": 1,
    "conditional": -0.26,
    "conditional_low": -0.34,
    "conditional_high": -0.18,
    "condition": json.dumps(FINDING["condition"]),
}  # fmt: skip
"""A row of columns.parquet."""
RANKING = {"value": 0.71, "interval": [0.68, 0.74]}
PLAIN = {"ranking": RANKING, "far": False, "verdicts": False, "usual": 0.5, "usual_share": 0.01}
SHRINKS = {"raw": 0, "miscal": 0.95, "isotonic": 0.1, "temperature": 0.05, "platt": 0.07}
"""How much of the field each correction takes away."""
METHOD = {"candidates": 1234, "adjustment": "by Bonferroni", "level": 0.05, "evidence": "all", "n": 1200}


def regime_entry(name: str, test: pl.DataFrame) -> dict:
    part = test.filter(pl.col("regime") == name)
    if not part.height:
        nothing = {"value": None, "interval": None, "p_value": None}
        measures = {"residual": nothing, "smece": {**nothing, "floor": None}}
        return {"name": name, "n": 0, "share": 0.0, **dict.fromkeys(("accuracy", "confidence", "brier")), **measures}
    residual = (part["correct"] - part["confidence"]).to_numpy()
    half = 1.96 * residual.std() / max(len(residual), 1) ** 0.5
    return {
        "name": name,
        "n": part.height,
        "share": part.height / test.height,
        "accuracy": part["correct"].mean(),
        "confidence": part["confidence"].mean(),
        "residual": {**estimate(float(residual.mean()), half), "p_value": 2e-9 if name != "good" else 0.3},
        "visible": {**estimate(0.2 * float(residual.mean()), half), "p_value": 0.2},
        "hidden": {**estimate(0.8 * float(residual.mean()), half), "p_value": 2e-8},
        "confirmed": {"total": name != "good", "visible": False, "hidden": name != "good"},
        "smece": {**estimate(abs(float(residual.mean()))), "floor": 0.021, "p_value": 0.0009},
        "brier": 0.231,
    }


def contents(name: str, test: pl.DataFrame) -> dict:
    """What is told of a regime beside its numbers: a topic that is commoner in it, words, and typical rows."""
    topic = next(topic for topic, regime in TOPICS.items() if regime == name)
    shares = {"n": 300, "share": 0.96, "share_overall": 0.17, "lift": 5.8}
    odds = {"odds_ratio": 31.4, "interval": [20.1, 44.0], "p_value": 1e-9}
    return {
        "metadata": [{"column": "topic", "value": f"= {topic}", **shares, **odds}],
        "keywords": keywords(topic)[:7],
        "exemplars": test.filter(pl.col("regime") == name)["row"].head(3).to_list(),
    }


def summarise(world: pl.DataFrame, epsilon: float = EPSILON) -> dict:
    test = world.filter(pl.col("split") == "test")
    slices = {"all": test, **{name: test.filter(pl.col("regime") == name) for name in NAMES}}
    edges = np.linspace(-0.5, 0.5, 41)
    shares = {name: slices[name].height / test.height for name in NAMES}
    residual = float((test["correct"] - test["confidence"]).mean())
    return {
        "schema_version": SCHEMA_VERSION,
        "n": world.height,
        **{f"n_{name}": world.filter(pl.col("split") == name).height for name in ("train", "val", "test")},
        "seed": 0,
        "method": "auto",
        "global": {
            "accuracy": estimate(world["correct"].mean(), 0.02),
            "confidence": estimate(world["confidence"].mean(), 0.01),
            "smece": {**estimate(abs(residual) + 0.004, 0.01), "floor": 0.016, "p_value": 0.21},
            "ece": estimate(0.021, 0.01),
            "brier": estimate(0.214, 0.01),
            "log_loss": estimate(0.61, 0.02),
        },
        "field": {
            "mean": test["delta"].mean(),
            "std": test["delta"].std(),
            "std_visible": 0.03,
            "std_hidden": 0.15,
            "share_over": shares["over"],
            "share_under": shares["under"],
            "share_unsupported": 0.012,
            "correlation_with_confidence": -0.41,
            "structure": True,
        },
        "regimes": [
            regime_entry(name, test) | (contents(name, test) if name in {*test["regime"]} - {"good"} else {})
            for name in NAMES
        ],
        # smECE is not measured where regimes are cut by the hidden field
        "hidden_regimes": [
            {**regime_entry(name, test), "smece": {"value": None, "interval": None, "floor": None, "p_value": None}}
            for name in NAMES
        ],
        "gap": {**estimate(0.171, 0.04), "floor": 0.024, "p_value": 0.0004, "worst": "over"},
        "certificate": {
            "lower_bound_total": {"value": 0.128, "interval": [0.106, 1.0]},
            "lower_bound_hidden": {"value": 0.117, "interval": [0.094, 1.0]},
            "p_value": 0.0002,
            "p_field": 0.0002,
            "p_structure": 0.0002,
            "p_value_total": 0.0002,
        },
        "answer": {
            "headline": "Confidences are off by at least 9 points on average, beyond what a reliability diagram of all "
            "rows shows.",
            "reason": "On rows with subject = law the model says 70 % and is right 30 % of the time (120 rows).",
            "action": "Use the correction: log loss 0.640 to 0.520 on rows that it has not seen.",
        },
        "plain": PLAIN,
        "warnings": ["214 rows share their input with another row; each such group was kept on one side of the split."],
        "correction": {
            method: {name: scores(part, shrink) for name, part in slices.items()} for method, shrink in SHRINKS.items()
        },
        "corrected_smece": {"value": 0.021, "interval": [0.012, 0.036], "floor": 0.015, "p_value": 0.2},
        "gains": {
            method: {
                name: {"value": value, "interval": [value - 0.002, value + 0.002]} for name in ("brier", "log_loss")
            }
            for method, value in (("raw", 0.12), ("isotonic", 0.011), ("temperature", 0.013), ("platt", 0.001))
        },
        "selection": {
            "chosen": {"model": "stack + kernel", "sigma": 0.3},
            "candidates": [
                {"name": name, "sigma": sigma, "proxy": 0.2 + 0.01 * k, "log_loss": 0.58 + 0.012 * k, "chosen": k == 0}
                for k, (name, sigma) in enumerate(
                    [("stack + kernel", 0.3), ("kernel", 0.3), ("ridge", None), ("isotonic", None), ("identity", None)]
                )
            ],
        },
        "findings": [FINDING],
        "findings_method": METHOD,
        "timing": {"read": 0.21, "fit": 31.42, "audit": 4.2, "map": 2.9, "total": 38.73},
        "curves": {
            name: {"raw": curve(slices[name], "confidence"), "corrected": curve(slices[name], "corrected")}
            for name in ("all", "over", "under")
        }
        | {"findings": [{"raw": curve(test[:200], "confidence", 5), "corrected": curve(test[:200], "corrected", 5)}]},
        "histogram": {
            "edges": edges.tolist(),
            **{name: np.histogram(slices[name]["delta"].to_numpy(), edges)[0].tolist() for name in NAMES},
        },
        "data": {
            "path": "data/answers_2024.parquet",
            "sha256": "3f5a" * 16,
            "columns": {"confidence": "f", "correct": "y", "x": "emb_*", "text": "question", "metadata": ["topic"]},
            "x_source": "embeddings given with the data",
            "n_features": 384,
        },
        "settings": {"method": "auto", "seed": 0, "epsilon": epsilon, "on_invalid": "error", "groups": None},
        "versions": {"miscal": "0.1.0", "python": "3.11.2", "torch": "2.13.0", "numpy": "2.4.1"},
        "map": {"file": "map.parquet", "method": "PCA", "n_shown": world.height, "n_total": world.height},
    }


def null_summary(summary: dict) -> dict:
    """What `discover` writes when nothing is found: nulls, zeros, empty lists."""
    nothing = {"value": None, "interval": None, "floor": None, "p_value": None, "worst": None}
    return {
        **summary,
        "gap": nothing,
        "certificate": {
            "lower_bound_total": {"value": 0.0, "interval": [0.0, 1.0]},
            "lower_bound_hidden": {"value": 0.0, "interval": [0.0, 1.0]},
            "p_value": 1.0,
            "p_field": 1.0,
            "p_structure": 1.0,
            "p_value_total": 1.0,
        },
        "answer": {
            "headline": "No miscalibration was found: 50 rows would have shown an average of about 4 points.",
            "reason": "Of 1,234 groups tested, none differs from rows of equal confidence beyond chance.",
            "action": "There is nothing to correct. About 200 rows would show errors half as large.",
        },
        "warnings": [],
        "hidden_regimes": [],
        "findings": [],
        "selection": {"chosen": {}, "candidates": []},
        "field": {**summary["field"], "std_hidden": 0.0, "structure": False, "correlation_with_confidence": None},
    }


def all_evidence(summary: dict) -> None:
    """Turn the summary into one of a run in which every row is evaluated."""
    summary.update(evidence="all", n_train=None, n_val=None, n_test=None)


class RunMaker:
    """Writes run folders: `kind` is full, empty (nothing found, no texts, no metadata) or hostile (given texts)."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, n: int = 500, *, kind: str = "full", seed: int = 0, payload: str = "", edit=None) -> Path:
        world = make_world(n, seed, flat=kind == "empty")
        if kind == "empty":
            world = world.with_columns(regime=pl.lit("good"))
        summary = summarise(world)
        points = world.rename({"topic": "meta.topic", "length": "meta.length"}).drop("supported")
        if kind == "empty":
            summary, points = null_summary(summary), points.drop("text", "meta.topic", "meta.length")
            points = points.with_columns(hidden_regime=pl.lit("good"))
        if payload:
            summary, points = hostile(summary, points, payload)
        if edit:
            edit(summary)
        # a run of before, or without named columns, has no tables
        return self.write(world, points, summary, [] if kind == "empty" else values(payload))

    def write(self, world: pl.DataFrame, points: pl.DataFrame, summary: dict, values: list[dict]) -> Path:
        run = self.folder / f"run{len(list(self.folder.glob('run*')))}"
        run.mkdir(parents=True)
        world.select(
            *("row", "split", "confidence", "correct", "delta", "mass", "regime", "corrected"),
            *("visible", "hidden", "supported"),
        ).write_parquet(run / "field.parquet")
        points.write_parquet(run / "map.parquet")
        if values:
            pl.DataFrame(values, schema=schema()).write_parquet(run / "columns.parquet")
        (run / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        return run


def value_of(value: str, column: str = "subject", **changed) -> dict:
    condition = {"kind": "value", "column": column, "value": value, "of": "text"}
    return {**VALUE, "column": column, "value": value, "condition": json.dumps(condition), **changed}


def values(payload: str = "") -> list[dict]:
    """A column with a value of every mark, and one of numbers; the payload is a value, and the name of a column."""
    nothing = {"finding": None, "conditional": None, "conditional_low": None, "conditional_high": None}
    ages = [(None, 20.0), (20.0, None)]
    spans = [json.dumps({"kind": "span", "column": payload or "age", "low": low, "high": high}) for low, high in ages]
    return [
        value_of("<b>law</b>"),
        value_of("history", n=90, mark="explained", hidden=-0.1),
        value_of("art", n=300, mark="not distinguishable", hidden=0.01, **nothing),
        value_of(payload or "knots", n=3, mark="too few rows", hidden=0.3, **nothing),
        *({**value_of("", payload or "age", mark="not tested", **nothing), "condition": one} for one in spans),
    ]


def hostile(summary: dict, points: pl.DataFrame, payload: str) -> tuple[dict, pl.DataFrame]:
    """The payload in every text that reaches the page."""
    points = points.with_columns(
        pl.format("{} {}", pl.lit(payload), pl.col("text")).alias("text"),
        pl.lit(payload).alias("meta.topic"),
        pl.lit(payload).alias(f"meta.{payload}"),
    )
    for one in summary["regimes"]:
        named = [{**item, "column": payload, "value": payload} for item in one.get("metadata", ())]
        one.update(keywords=[payload], metadata=named)
    summary["findings"] = [{**FINDING, "description": payload, "columns": [payload], "aliases": [payload]}]
    lines = dict.fromkeys(("headline", "reason", "action"), payload)
    summary.update(warnings=[payload], alarms=[payload], answer=lines)
    summary["data"].update(path=f"dir/{payload}", x_source=payload)
    summary["data"]["columns"].update(confidence=payload, metadata=[payload])
    summary["settings"][payload] = payload
    summary["versions"].update(miscal=payload, **{payload: payload})
    summary["timing"][payload] = 1.0
    summary["map"].update(method=payload)
    summary["selection"] = {
        "chosen": {payload: payload},
        "candidates": [{payload: payload, "proxy": 0.1, "chosen": True}],
    }
    return summary, points


@pytest.fixture
def make_run(tmp_path):
    return RunMaker(tmp_path)


@pytest.fixture(scope="module")
def make_module_run(tmp_path_factory):
    return RunMaker(tmp_path_factory.mktemp("runs"))
