"""How the run was made: data, settings, candidates, versions, timing."""

from typing import Any

from miscal.report.source import Source
from miscal.report.words import clean, finite, metric, plain, seconds, short

NAME = "making"
TITLE = "How this was made"
SHORT = "Method"
MAX_CANDIDATES = 60
SCORES = ("proxy", "log_loss", "brier")


def context(source: Source) -> dict[str, Any]:
    """Tables of facts, and of candidates."""
    summary = source.summary
    return {
        "data": _data(summary),
        "settings": _facts(summary["settings"]),
        "versions": _facts(summary["versions"]),
        "map": _facts({k: v for k, v in (summary["map"] or {}).items() if k.endswith("method")}),
        "timing": _timing(summary["timing"]),
        **_candidates(summary["selection"]),
    }


def _data(summary: dict[str, Any]) -> list[tuple[str, str]]:
    data = dict(summary["data"])
    columns = data.pop("columns", None) or {}
    splits = ", ".join(f"{summary[f'n_{name}']:,} {word}" for name, word in _SPLITS)
    return [
        ("rows", f"{summary['n']:,}: {splits}"),
        *_facts({label: data.pop(key, None) for key, label in _DATA}),
        *_facts({f"column of {key}": value for key, value in columns.items() if value not in (None, [], "")}),
        *_facts(data),
    ]


_SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))
_DATA = (
    ("path", "file"),
    ("sha256", "sha256"),
    ("x_source", "source of the inputs"),
    ("n_features", "features"),
)


def _facts(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(clean(key).replace("_", " "), short(plain(value), 600)) for key, value in values.items()]


def _timing(timing: dict[str, Any]) -> list[dict[str, Any]]:
    stages = {key: finite(value) for key, value in timing.items()}
    longest = max((v for k, v in stages.items() if v and k != "total"), default=0)
    return [
        {
            "stage": clean(key).replace("_", " "),
            "seconds": seconds(value),
            "width": round(100 * value / longest, 1) if value and longest and key != "total" else 0,
        }
        for key, value in stages.items()
    ]


def _candidates(selection: dict[str, Any]) -> dict[str, Any]:
    """Return the table of candidates: settings first, scores last, the chosen one marked."""
    candidates = [c for c in selection.get("candidates") or [] if isinstance(c, dict)]
    keys = list(dict.fromkeys(key for candidate in candidates for key in candidate if key != "chosen"))
    columns = [key for key in keys if key not in SCORES] + [key for key in SCORES if key in keys]
    shown = candidates[:MAX_CANDIDATES] + [c for c in candidates[MAX_CANDIDATES:] if c.get("chosen")]
    return {
        "chosen": _facts(_chosen(selection)),
        "columns": [{"label": _label(key), "score": key in SCORES} for key in columns],
        "candidates": [
            {
                "chosen": bool(candidate.get("chosen")),
                "cells": [{"text": _cell(candidate.get(key), key), "score": key in SCORES} for key in columns],
            }
            for candidate in shown
        ],
        "hidden": len(candidates) - len(shown),
    }


def _chosen(selection: dict[str, Any]) -> dict[str, Any]:
    chosen = selection.get("chosen")
    rest = {key: value for key, value in selection.items() if key not in ("chosen", "candidates")}
    return {**(chosen if isinstance(chosen, dict) else {"choice": chosen} if chosen else {}), **rest}


def _label(key: str) -> str:
    return {"proxy": "proxy", "log_loss": "log loss", "brier": "Brier"}.get(key, clean(key).replace("_", " "))


def _cell(value: Any, key: str) -> str:
    if key in SCORES:
        return f"{value:.5f}" if finite(value) is not None else metric(None)
    return "–" if value is None else short(plain(value), 60)
