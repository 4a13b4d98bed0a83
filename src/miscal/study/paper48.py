"""The paper's 48 pairs (arXiv 2605.13484, section 5 and appendix D): twelve base models on four benchmarks."""

from __future__ import annotations

from typing import Any

from miscal.scoring.model_source import BASE_MODELS

NAME = "paper48"

DATASETS = ("mmlu", "mmlu-pro", "medmcqa", "hh-rlhf")
"""Tasks of `miscal score`, which have the paper's prompts."""

DATASET_ROWS = {"mmlu": 14_042, "mmlu-pro": 12_032, "medmcqa": 187_005, "hh-rlhf": 91_038}
"""Rows of each data set, for estimates before they are there. MMLU and MMLU-Pro: their test splits. MedMCQA: the rows
with a known answer. HH-RLHF: ten times the paper's 9,103 test rows, rounded, which harmless-base and helpful-base
make."""

METADATA = {"mmlu": ["subject"], "mmlu-pro": ["category"], "medmcqa": ["subject_name"], "hh-rlhf": ["subset"]}
"""Columns by which regimes are named and diagrams are split."""

AUDITED = (
    ("hh-rlhf", "ministral-3-14b"),
    ("hh-rlhf", "ministral-3-3b"),
    ("hh-rlhf", "qwen3-1.7b"),
    ("hh-rlhf", "qwen3-8b"),
    ("mmlu", "llama-3.2-3b"),
    ("medmcqa", "llama-3.2-1b"),
)
"""The pairs of the paper's tables 2 and 3."""

INTERPRETED = (("mmlu-pro", "qwen3-8b"),)
"""The pair of the paper's figure 15."""


OPTIONS: dict[str, Any] = {
    "max_epochs": 100, "patience": 20, "bank_size": 20_000, "neighbours": None, "min_mass": 0.0, "stop_hopeless": False,
}  # fmt: skip
"""What the paper states of the options of its estimator; it states no grid of (sigma, lambda)."""


def defaults() -> dict[str, Any]:
    """Return the settings that the paper states, as keys of a plan, and half precision for the hidden states.

    Examples
    --------
    >>> defaults()["split"], defaults()["audit"]["draws"]
    ('permutation', 20)
    """
    return {
        "name": NAME,
        "method": "paper",
        "evidence": "test",
        "split": "permutation",
        "epsilon": 0.05,
        "min_rows": 1,
        # 23 GB of hidden states rather than 46
        "score": {"embeddings_dtype": "float16"},
        "interpret": [_id(*pair) for pair in INTERPRETED],
        "audit": {"pairs": [_id(*pair) for pair in AUDITED], "draws": 20, "seeds": 5, "null": "permuted"},
    }


def pairs() -> list[dict[str, Any]]:
    """Return the paper's pairs, as entries of a plan.

    Examples
    --------
    >>> len(pairs()), pairs()[0]["pair"]
    (48, 'mmlu.qwen3-1.7b')
    """
    return [
        {
            "pair": _id(dataset, model),
            "dataset": dataset,
            "model": model,
            "family": known.family,
            "billions": known.billions,
            "score": {"model": model, "task": dataset},
            "names_only": METADATA[dataset],
        }
        for dataset in DATASETS
        for model, known in BASE_MODELS.items()
    ]


def _id(dataset: str, model: str) -> str:
    return f"{dataset}.{model}"
