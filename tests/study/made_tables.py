"""Made-up tables of a study: random, but valid; nothing in them was measured."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import polars as pl

from miscal.study import paper
from miscal.study.tables import TABLES, frame

FAMILIES = {"qwen3": "Qwen3", "ministral": "Ministral 3", "llama": "Llama 3", "gemma": "Gemma 3"}
REGIONS, CALIBRATORS = ("all", "over", "under", "good"), ("raw", "miscal", "isotonic", "temperature", "platt")
EPSILONS = (0.01, 0.05, 0.1, 0.15)
HOSTILE = "</script><img src=x onerror=\"window.hit=1\"><svg onload='window.hit=1'>{{1}} " + "long" * 30


def frames(rows: dict[str, list[dict[str, Any]]]) -> dict[str, pl.DataFrame]:
    """Every table of the contract, with these rows; a row may leave columns out, which are null then."""
    return {name: frame(name, rows.get(name, [])) for name in TABLES}


def papers_pairs(n: int) -> list[dict[str, Any]]:
    """Labels of n pairs of the paper."""
    pairs = []
    for dataset, model in product(paper.DATASETS, paper.MODELS):
        family = next(name for key, name in FAMILIES.items() if model.startswith(key))
        billions = float(model.rsplit("-", 1)[1].removesuffix("b"))
        labels = {"pair": f"{dataset}.{model}", "dataset": dataset, "model": model}
        pairs.append({**labels, "family": family, "billions": billions})
    chosen = sorted({round(i) for i in np.linspace(0, len(pairs) - 1, n)})
    return [pairs[i] for i in chosen]


def other_pairs(n: int) -> list[dict[str, Any]]:
    """Labels of n pairs that are not the paper's, three models a data set, some without family or size."""
    made = []
    for k in range(n):
        dataset, model = ("trivia", "law exam", "school maths")[k // 3 % 3], f"model {k % 3}"
        labels = {"pair": f"p{k}", "dataset": dataset if k < 9 else f"set {k // 9} {dataset}", "model": model}
        made.append({**labels, "family": None if k % 3 == 2 else "models", "billions": (0.1, 0.5, None)[k % 3]})
    return made


def tables(
    pairs: list[dict[str, Any]], *, seed: int = 0, raw: bool = True, methods=("paper", "auto"), failed: int = 0
) -> dict[str, pl.DataFrame]:
    """Tables of these pairs; the last `failed` of them failed and have no rows."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    done, broken = pairs[: len(pairs) - failed], pairs[len(pairs) - failed :]
    for labels, method in product(done, methods):
        _pair(rows, rng, labels, method, raw=raw and method == "paper")
    for labels in done[::8]:
        for method in methods:
            _audit(rows, rng, _key(labels) | {"method": method})
        _interpreted(rows, rng, _key(labels) | {"method": methods[-1]})
    _duels(rows, rng, done, methods)
    _together(rows, rng, done, methods)
    for labels in broken:
        why = "mmlu.jsonl: no such file; give the path of the questions"
        rows["failures"].append({**_key(labels), "step": "score", "message": why})
    return frames(rows)


def _key(labels: dict[str, Any]) -> dict[str, Any]:
    return {name: labels[name] for name in ("pair", "dataset", "model")}


def _pair(rows, rng, labels, method, *, raw) -> None:
    n_test = int(rng.integers(1_000, 9_000))
    for geometry in ("learned", "raw") if raw else ("learned",):
        row = _measured(rng, labels | {"method": method, "geometry": geometry}, n_test)
        rows["pairs"].append(row)
        _corrected(rows, rng, row)
        _thresholds(rows, rng, row)
        _histogram(rows, rng, row)
    row = next(x for x in rows["pairs"] if (x["pair"], x["method"]) == (labels["pair"], method))
    _reliability(rows, rng, row)
    _deferral(rows, rng, row)


def _measured(rng, named, n_test) -> dict[str, Any]:
    learned = named["geometry"] == "learned"
    spread = float(rng.uniform(0.03, 0.2)) if learned else float(rng.uniform(0.0, 0.05))
    mean = float(rng.normal(-0.04, 0.05))
    over, under = (float(rng.uniform(0.1, 0.5)) for _ in range(2))
    empty = rng.uniform() < 0.12
    gap = None if empty else float(rng.normal(0.03 + 0.3 * spread, 0.03))
    log_loss, saved = float(rng.uniform(0.4, 0.7)), float(rng.normal(0.01, 0.01))
    hidden = float(max(0.0, rng.normal(0.03, 0.03)))
    shown = 0.0 if gap is None else max(0.0, gap)
    row = {
        **named, "evidence": "test", "seed": 0, "epsilon": 0.05, "min_rows": 30,
        "n": paper.DATASET_ROWS.get(named["dataset"], 10 * n_test),
        "n_train": 8 * n_test, "n_val": n_test, "n_test": n_test, "d": 2048, "sigma": 0.2, "alpha": 3.0,
        "proxy": 0.2, "structure": bool(rng.uniform() < 0.8),
        "accuracy": float(rng.uniform(0.3, 0.8)), "confidence": float(rng.uniform(0.4, 0.9)),
        "smece": float(rng.uniform(0.01, 0.1)), "brier": float(rng.uniform(0.15, 0.25)),
        "log_loss": log_loss, "log_loss_corrected": log_loss - saved, "log_loss_saved": saved,
        "log_loss_saved_low": saved - 0.008, "log_loss_saved_high": saved + 0.008,
        "delta_mean": mean, "delta_std": spread, "std_visible": spread / 3, "std_hidden": spread * math.sqrt(8) / 3,
        "share_over": over, "share_under": under, "share_unsupported": 0.01,
        "worst": None if empty else ("over" if over > under else "under"), "gap": gap, "gap_clipped": shown,
        "gap_boot_mean_clipped": None if empty else max(0.0, gap + 0.002), "outcome": "answer",
        "log_loss_global": log_loss - saved / 2, "log_loss_saved_local": saved / 2,
        "log_loss_saved_local_low": saved / 2 - 0.006, "log_loss_saved_local_high": saved / 2 + 0.006,
        "gap_boot_mean": None if empty else gap + 0.002, "gap_low": None if empty else gap - 0.02,
        "gap_high": None if empty else gap + 0.02, "gap_p": None if empty else float(rng.uniform()),
        "share_worst": None if empty else max(over, under), "share_low": None if empty else max(over, under) - 0.01,
        "share_high": None if empty else max(over, under) + 0.01,
        "brier_gap": None if empty else float(rng.normal(0.02, 0.02)), "seconds_field": 30.0, "seconds": 41.0,
    }  # fmt: skip
    if learned:
        ends = (None, None, None) if empty else (max(0.0, gap - 0.025), gap + 0.015, 0.012)
        row |= dict(zip(("gap_interval_low", "gap_interval_high", "gap_floor"), ends, strict=True))
        row |= {"limit_total": hidden + 0.01, "p_total": 0.001, "limit_hidden": hidden, "n_findings": 2,
                "p_hidden": float(10.0 ** -rng.uniform(0, 6)), "finding": "subject = law",
                "lambda": 0.001, "epoch": 7}  # fmt: skip
    return row


def _corrected(rows, rng, pair) -> None:
    n = pair["n_test"]
    sizes = {"all": n, "over": round(n * pair["share_over"]), "under": round(n * pair["share_under"])}
    sizes["good"] = n - sizes["over"] - sizes["under"]
    if pair["worst"] is None:
        sizes["under"] = 0
    for region, calibrator in product(REGIONS, CALIBRATORS):
        if sizes[region] <= 0:
            continue
        better = {"raw": 0.0, "miscal": 0.06, "isotonic": 0.02, "temperature": 0.01, "platt": 0.015}[calibrator]
        level = {"all": 0.05, "over": 0.12, "under": 0.12, "good": 0.03}[region]
        better *= pair["delta_std"] / 0.1 if calibrator == "miscal" else 1.0
        value = abs(float(level - (better if region in ("over", "under") else better / 3) + rng.normal(0, 0.008)))
        row = {name: pair[name] for name in ("pair", "dataset", "model", "method", "geometry")}
        scores = {"smece": value, "brier": 0.2 + value / 10, "log_loss": 0.6 + value / 5}
        rows["corrections"].append(row | {"calibrator": calibrator, "region": region, "n": sizes[region], **scores})


def _thresholds(rows, rng, pair) -> None:
    base = {name: pair[name] for name in ("pair", "dataset", "model", "method", "geometry")}
    for epsilon, by in product(EPSILONS, ("smece", "brier")):
        if pair["worst"] is None:
            nothing = {"worst": None, "n": 0, "share": 0.0, "smece_gap": None, "smece_gap_clipped": 0.0}
            rows["thresholds"].append(base | {"epsilon": epsilon, "by": by, **nothing, "brier_gap": None})
            continue
        gap, share = pair["gap"] + epsilon / 5 + float(rng.normal(0, 0.004)), pair["share_worst"] * (1 - epsilon)
        brier = gap / 4 + float(rng.normal(0, 0.01))
        slice_ = {"worst": pair["worst"], "n": round(share * pair["n_test"]), "share": share, "smece_gap": gap}
        slice_ |= {"smece_gap_clipped": max(0.0, gap), "brier_gap": brier}
        rows["thresholds"].append(base | {"epsilon": epsilon, "by": by} | slice_)


def _histogram(rows, rng, pair) -> None:
    base = {name: pair[name] for name in ("pair", "dataset", "model", "method", "geometry")}
    values = rng.normal(pair["delta_mean"], max(pair["delta_std"], 1e-3), pair["n_test"]).clip(-1, 1)
    counts, edges = np.histogram(values, np.linspace(-1, 1, 81))
    for left, right, n in zip(edges[:-1], edges[1:], counts, strict=True):
        if n:
            rows["histograms"].append(base | {"left": float(left), "right": float(right), "n": int(n)})


def _reliability(rows, rng, pair) -> None:
    base = {name: pair[name] for name in ("pair", "dataset", "model", "method")}
    shifts = {("regime", "all"): -0.02, ("regime", "over"): -0.15, ("regime", "under"): 0.12, ("regime", "good"): 0.0,
              ("subset", "helpful"): -0.03, ("subset", "harmless"): 0.01}  # fmt: skip
    for (column, value), shift in shifts.items():
        n = pair["n_test"] // (1 if value == "all" else 3)
        region = {"column": column, "value": value, "n": n, "accuracy": 0.6 + shift, "confidence": 0.6}
        rows["regions"].append(base | region | {"smece": abs(shift) + 0.01, "delta_mean": shift})
        for k in range(8):
            confidence = 0.1 + 0.11 * k
            accuracy = float(np.clip(confidence + shift + rng.normal(0, 0.015), 0.01, 0.99))
            ends = {"low": max(0.0, accuracy - 0.04), "high": min(1.0, accuracy + 0.04)}
            bin_ = {"column": column, "value": value, "bin": k, "confidence": confidence, "accuracy": accuracy}
            rows["curves"].append(base | bin_ | ends | {"n": n // 8})


def _deferral(rows, rng, pair) -> None:
    base = {name: pair[name] for name in ("pair", "dataset", "model", "method")}
    risk, better = 1 - pair["accuracy"], float(rng.uniform(-0.005, 0.03))
    for score, coverage in product(("raw", "corrected"), np.linspace(0.05, 1, 20)):
        saved = better * 4 * coverage * (1 - coverage) if score == "corrected" else 0.0
        value = float(risk * (0.3 + 0.7 * coverage) - saved)
        rows["deferral"].append(base | {"score": score, "coverage": float(coverage), "risk": value})
    for at in ("area", "0.5", "0.8", "0.9"):
        gain = better * (0.66 if at == "area" else 4 * float(at) * (1 - float(at)))
        ends = {"gain": gain, "gain_low": gain - 0.005, "gain_high": gain + 0.005}
        rows["deferral_gains"].append(base | {"at": at, "raw": risk / 2, "corrected": risk / 2 - gain, **ends})


def _audit(rows, rng, base) -> None:
    for statistic, observed, null in (("delta_std", 0.15, 0.06), ("gap", 0.09, 0.01), ("proxy", 0.2, 0.21),
                                      ("epoch", 40.0, 6.0)):  # fmt: skip
        observed, null = observed * float(rng.uniform(0.8, 1.2)), null * float(rng.uniform(0.8, 1.2))
        tested = None if statistic in ("proxy", "epoch") else 1 / 21
        row = {"null": "permuted", "statistic": statistic, "observed": observed, "null_mean": null}
        rows["nulls"].append(base | row | {"null_std": null / 8, "p_value": tested, "n_draws": 20})
    pair = {name: base[name] for name in ("pair", "dataset", "model")}
    if base["method"] == "paper":
        for draw in range(-1, 20):
            last = 60 if draw < 0 else int(rng.integers(20, 30))
            fall = 0.012 if draw < 0 else 0.0005
            for epoch in range(1, last + 1):
                proxy = 0.21 - fall * (1 - math.exp(-epoch / 12)) + float(rng.normal(0, 0.0004))
                row = {"null": "permuted", "draw": draw, "epoch": epoch, "proxy": proxy, "chosen": epoch == last - 5}
                rows["proxy_curves"].append(pair | row)
    for seed in range(5):
        values = {"delta_std": 0.15 + 0.01 * float(rng.normal()), "gap": 0.09 + 0.01 * float(rng.normal())}
        rows["seeds"].append(base | {"seed": seed, "worst": "over", "share_worst": 0.3, **values})
    for a, b in combinations(range(5), 2):
        agreed = {"correlation": float(rng.uniform(0.8, 0.98)), "sign_agreement": float(rng.uniform(0.75, 0.92)),
                  "sign_by_chance": 0.55}  # fmt: skip
        rows["seed_pairs"].append(base | {"seed_a": a, "seed_b": b, **agreed})


def _interpreted(rows, rng, base) -> None:
    centres = rng.normal(0, 4, (6, 2))
    for space in ("raw", "learned"):
        for row in range(300):
            topic, delta = row % 6, float(rng.normal(0, 0.12))
            place = centres[topic] if space == "raw" else np.array([40 * delta, 0.0])
            x, y = place + rng.normal(0, 1, 2)
            where = {"space": space, "row": row, "x": float(x), "y": float(y), "layout": "pca"}
            rows["layouts"].append(base | where | {"category": f"topic {topic}", "delta": delta})
        for by, pure in (("category", 0.6 if space == "raw" else 0.3), ("sign", 0.4 if space == "raw" else 0.8)):
            null = {"null_mean": 0.2, "null_std": 0.01, "p_value": 0.005}
            asked = {"space": space, "by": by, "neighbours": 10, "n": 300}
            rows["purity"].append(base | asked | {"purity": pure, **null})


def _duels(rows, rng, pairs, methods) -> None:
    for pair in pairs if len(methods) > 1 else ():
        saved = float(rng.normal(0.004, 0.006))
        losses = {"log_loss_auto": 0.58, "log_loss_paper": 0.58 + saved, "saved": saved}
        ends = {"saved_low": saved - 0.006, "saved_high": saved + 0.006}
        labels = {name: pair[name] for name in ("pair", "dataset", "model")}
        rows["duels"].append(labels | {"n": 1000} | losses | ends)


def _together(rows, rng, pairs, methods) -> None:
    for method, dataset in product(methods, dict.fromkeys(pair["dataset"] for pair in pairs)):
        own = [_key(pair) | {"method": method} for pair in pairs if pair["dataset"] == dataset]
        if len(own) < 2:
            continue
        for measure in ("calibration_cost", "hidden_cost", "log_loss_corrected"):
            for place, (value, base) in enumerate(zip(np.sort(rng.uniform(0, 0.5, len(own))), own, strict=True)):
                ends = {"value": value, "low": value - 0.02, "high": value + 0.02, "n": 1000, "common": True}
                ranks = {"best_rank": max(1, place), "worst_rank": min(len(own), place + 2)}
                rows["rankings"].append(base | {"measure": measure} | ends | ranks)
        for value, (place, base) in product(("helpful", "harmless"), enumerate(own)):
            ranks = {"best_rank": 1 if value == "helpful" or not place else 2, "worst_rank": len(own) if place else 1}
            group = {"column": "subset", "value": value, "n": 300, "residual": 0.01 + place / 50}
            rows["group_rankings"].append(base | group | ranks)
        for one, other in permutations(own, 2):
            saved = float(rng.normal(0.004, 0.006))
            losses = {"log_loss_raw": 0.6, "log_loss_visible": 0.59, "log_loss_own": 0.585,
                      "log_loss_transferred": 0.59 - saved}  # fmt: skip
            ends = {"saved": saved, "saved_low": saved - 0.006, "saved_high": saved + 0.006}
            row = {"dataset": dataset, "method": method, "pair_from": one["pair"], "pair_to": other["pair"], "n": 1000}
            rows["transfer_shifts"].append(row | losses | ends)
