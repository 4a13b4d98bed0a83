"""The numbers of the paper (arXiv 2605.13484, version 1) beside a study's own, and the plan of its 48 pairs.

The paper's numbers are those of its own pairs of models and data sets, and references for whoever has these pairs.
They are no targets for other pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from miscal.scoring.model_source import BASE_MODELS

SOURCE = "arXiv 2605.13484"

DATASETS = ("hh-rlhf", "mmlu", "mmlu-pro", "medmcqa")
"""The paper's data sets, in the order of its table 5."""

MODELS = tuple(BASE_MODELS)
"""The paper's base models, in the order of its table 5."""

N_PAIRS = len(DATASETS) * len(MODELS)

EXAMPLE = ("hh-rlhf", "qwen3-8b")
"""The pair of figure 4."""

PaperPair = tuple[str, str]
"""Data set and model, by their names here."""


def _frame(columns: str, rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns.split(), orient="row")


NULLS = _frame(
    "dataset model delta_std delta_std_null_mean delta_std_null_std gap gap_null_mean gap_null_std",
    [
        ("hh-rlhf", "ministral-3-14b", 0.173, 0.052, 0.004, 0.117, 0.000, 0.000),
        ("hh-rlhf", "ministral-3-3b", 0.126, 0.071, 0.005, 0.049, 0.000, 0.000),
        ("hh-rlhf", "qwen3-1.7b", 0.154, 0.092, 0.005, 0.083, 0.040, 0.003),
        ("hh-rlhf", "qwen3-8b", 0.199, 0.174, 0.008, 0.135, 0.063, 0.007),
        ("mmlu", "llama-3.2-3b", 0.170, 0.151, 0.007, 0.124, 0.025, 0.004),
        ("medmcqa", "llama-3.2-1b", 0.137, 0.028, 0.008, 0.084, 0.000, 0.001),
    ],
)
"""Table 2, appendix F.3, over 20 refits: the null permutes the labels within train and within validation."""

SEEDS = _frame(
    "dataset model correlation_mean correlation_std sign_agreement_mean sign_agreement_std gap_mean gap_std "
    "delta_std_mean delta_std_std",
    [
        ("hh-rlhf", "ministral-3-14b", 0.87, 0.03, 0.79, 0.06, 0.13, 0.05, 0.17, 0.01),
        ("hh-rlhf", "ministral-3-3b", 0.84, 0.03, 0.86, 0.02, 0.07, 0.01, 0.14, 0.01),
        ("hh-rlhf", "qwen3-1.7b", 0.95, 0.02, 0.86, 0.04, 0.09, 0.01, 0.15, 0.01),
        ("hh-rlhf", "qwen3-8b", 0.96, 0.02, 0.83, 0.05, 0.13, 0.01, 0.20, 0.01),
        ("mmlu", "llama-3.2-3b", 0.98, 0.00, 0.91, 0.01, 0.13, 0.00, 0.17, 0.01),
        ("medmcqa", "llama-3.2-1b", 0.81, 0.03, 0.82, 0.02, 0.08, 0.01, 0.14, 0.01),
    ],
)
"""Table 3, appendix F.3."""

THRESHOLDS = _frame(
    "epsilon smece_gap brier_gap share_quarter share_median share_three_quarters n n_pairs",
    [
        (0.01, 0.083, 0.013, 0.203, 0.558, 0.646, 14, N_PAIRS),
        (0.05, 0.083, 0.021, 0.125, 0.498, 0.625, 18, N_PAIRS),
        (0.10, 0.092, 0.017, 0.266, 0.494, 0.593, 20, N_PAIRS),
        (0.15, 0.111, 0.025, 0.243, 0.478, 0.559, 18, N_PAIRS),
    ],
)
"""Table 4, appendix F.4: pairs with a smECE gap over 0.06. The shares contradict table 5b: they are no reference."""

_NONE = (None, None, None)
_Cell = tuple[float, float, float]
_GAPS: Mapping[str, tuple[_Cell, ...]] = {
    "qwen3-1.7b": ((0.083, 0.070, 0.098), (0.074, 0.048, 0.112), (0.013, 0.000, 0.038), (0.002, 0.000, 0.010)),
    "qwen3-4b": ((0.101, 0.071, 0.129), (0.062, 0.046, 0.083), (0.031, 0.000, 0.063), (0.002, 0.000, 0.010)),
    "qwen3-8b": ((0.132, 0.116, 0.148), (0.069, 0.049, 0.090), (0.066, 0.029, 0.102), (0.002, 0.000, 0.010)),
    "ministral-3-3b": ((0.060, 0.046, 0.076), (0.033, 0.022, 0.047), (0.026, 0.000, 0.059), (0.048, 0.037, 0.058)),
    "ministral-3-8b": ((0.003, 0.000, 0.014), (0.081, 0.036, 0.133), (0.051, 0.019, 0.089), (0.046, 0.039, 0.054)),
    "ministral-3-14b": ((0.118, 0.102, 0.131), (0.010, 0.003, 0.018), (0.046, 0.013, 0.077), (0.057, 0.049, 0.065)),
    "llama-3.2-1b": ((0.011, 0.000, 0.026), (0.038, 0.024, 0.051), (0.005, 0.000, 0.025), (0.084, 0.075, 0.095)),
    "llama-3.2-3b": ((0.106, 0.089, 0.122), (0.124, 0.113, 0.136), (0.015, 0.000, 0.050), (0.064, 0.052, 0.074)),
    "llama-3.1-8b": ((0.002, 0.000, 0.013), (0.064, 0.053, 0.073), (0.029, 0.000, 0.079), (0.082, 0.068, 0.093)),
    "gemma-3-1b": ((0.067, 0.052, 0.081), (0.002, 0.000, 0.012), (0.110, 0.069, 0.148), (0.002, 0.000, 0.009)),
    "gemma-3-4b": ((0.002, 0.000, 0.013), (0.020, 0.008, 0.032), (0.005, 0.000, 0.028), (0.004, 0.000, 0.011)),
    "gemma-3-12b": ((0.040, 0.026, 0.055), (0.026, 0.014, 0.038), (0.005, 0.000, 0.028), (0.002, 0.000, 0.008)),
}
_SIZES: Mapping[str, tuple[_Cell | None, ...]] = {
    "qwen3-1.7b": ((26.4, 26.4, 27.0), (4.7, 3.4, 13.3), (43.1, 41.7, 74.8), None),
    "qwen3-4b": ((11.4, 10.4, 11.6), (15.2, 15.2, 15.2), (46.0, 45.3, 54.4), None),
    "qwen3-8b": ((35.6, 35.1, 39.1), (11.9, 11.6, 12.9), (34.5, 7.4, 48.4), (20.1, 20.1, 20.1)),
    "ministral-3-3b": ((33.4, 33.4, 33.4), (23.6, 9.3, 34.4), (31.1, 9.2, 36.8), (35.9, 21.9, 38.5)),
    "ministral-3-8b": (None, (4.9, 3.2, 20.0), (33.2, 16.2, 38.7), (38.7, 26.7, 41.6)),
    "ministral-3-14b": ((17.8, 17.8, 17.8), (27.2, 24.3, 58.6), (28.0, 5.2, 51.6), (48.3, 38.5, 54.7)),
    "llama-3.2-1b": ((20.8, 2.4, 21.4), (24.3, 3.8, 36.4), None, (39.2, 38.3, 42.5)),
    "llama-3.2-3b": ((48.3, 47.3, 50.9), (41.1, 35.6, 42.5), (19.3, 4.5, 22.7), (42.0, 38.7, 42.7)),
    "llama-3.1-8b": (None, (39.2, 27.5, 51.1), (12.5, 5.3, 31.0), (39.3, 39.4, 39.4)),
    "gemma-3-1b": ((30.4, 30.4, 30.4), None, (0.7, 0.6, 0.6), None),
    "gemma-3-4b": (None, (22.7, 22.7, 22.7), None, (40.4, 40.2, 40.2)),
    "gemma-3-12b": ((36.2, 36.1, 36.1), (22.5, 22.3, 22.3), None, (24.2, 20.1, 40.0)),
}


GAPS = _frame(
    "dataset model gap gap_low gap_high share_worst share_low share_high",
    [
        (dataset, model, *_GAPS[model][at], *(share and round(share / 100, 5) for share in _SIZES[model][at] or _NONE))
        for at, dataset in enumerate(DATASETS)
        for model in MODELS
    ],
)
"""Table 5, appendix F.5: bootstrap means with 95 % intervals of the worst-slice smECE gap, clipped at 0 as far as its
numbers show, and of the share of test rows in the worst slice, null where the paper has a dash; all 48 pairs."""

N_LARGE_GAP = 18
"""Pairs with a gap of at least 0.06: section 5, "Validity"."""

LARGE_GAP_SHARE = 0.41
"""Mean share of test rows in their worst slices: section 5, "Validity". Table 5b contradicts it."""

POSITIVE_RAW, POSITIVE_LEARNED = 0.58, 0.80
"""Share of pairs with a positive gap in raw and in learned geometry: appendix F.2."""

CORRELATIONS: Mapping[str, float] = {"brier_on_smece": 0.26, "smece_gaps": 0.70, "brier_gaps": 0.77}
"""Over pairs and thresholds, appendix F.4; whether Pearson's or Spearman's is not said.

Keys: Brier gap against smECE gap on the slice that is worst by smECE; smECE gaps on the slices that are worst by smECE
and by the Brier score; Brier gaps on these slices.
"""


def paper_pair(dataset: str, model: str) -> PaperPair | None:
    """Return which of the paper's pairs these are, by their names alone; None for any other pair.

    Names are as a plan has them: case does not matter, and a model may go by its hub id.

    Examples
    --------
    >>> paper_pair("MMLU", "Qwen/Qwen3-8B-Base")
    ('mmlu', 'qwen3-8b')
    >>> paper_pair("mmlu", "gpt-2") is None
    True
    """
    pair = (dataset.lower(), short_name(model))
    return pair if pair[0] in DATASETS and pair[1] in MODELS else None


def short_name(model: str) -> str:
    """Name a base model as the paper's tables do, in small letters; another one by its own name."""
    return next((name for name, known in BASE_MODELS.items() if known.hub_id.lower() == model.lower()), model.lower())


N_TOLERANCE = 0.05
"""Relative difference in rows up to which a pair is the paper's: releases of a benchmark differ by a few rows, samples
and other splits by more."""


def reproduced(row: Mapping[str, Any]) -> PaperPair | None:
    """Return which of the paper's pairs a row of the table ``pairs`` is of, or None.

    What counts are its names, and a number of rows within 5 % of the paper's.

    Examples
    --------
    >>> row = {"dataset": "mmlu", "model": "qwen3-8b", "n": 14_042}
    >>> reproduced(row), reproduced(row | {"n": 2_000})
    (('mmlu', 'qwen3-8b'), None)
    """
    pair = paper_pair(row["dataset"], row["model"])
    if pair is None or row["n"] is None:
        return None
    papers = DATASET_ROWS[pair[0]]
    return pair if abs(row["n"] - papers) <= N_TOLERANCE * papers else None


def beside(table: pl.DataFrame, pairs: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """Set the paper's numbers, with ``_paper``, beside rows of pairs: null where a pair is not the paper's."""
    known = [(row["pair"], *(reproduced(row) or (None, None))) for row in pairs.unique("pair", keep="first").to_dicts()]
    of = pl.DataFrame(known, schema=["pair", "dataset", "model"], orient="row", strict=False)
    cited = of.cast(pl.String).join(numbers, on=["dataset", "model"]).drop("dataset", "model")
    cited = cited.rename({name: f"{name}_paper" for name in cited.columns if name != "pair"})
    return table.join(cited, on="pair", how="left", maintain_order="left")


# --- the plan of the paper's pairs ------------------------------------------------------------------------------------

NAME = "paper48"

DATASET_ROWS = {"mmlu": 14_042, "mmlu-pro": 12_032, "medmcqa": 187_005, "hh-rlhf": 91_038}
"""Rows of each data set, all of them tasks of `miscal score` with the paper's prompts. MMLU and MMLU-Pro: their test
splits. MedMCQA: the rows with a known answer. HH-RLHF: ten times the paper's 9,103 test rows, rounded, which
harmless-base and helpful-base make."""

METADATA = {"mmlu": ["subject"], "mmlu-pro": ["category"], "medmcqa": ["subject_name"], "hh-rlhf": ["subset"]}
"""Columns by which regimes are named and diagrams are split."""


OPTIONS: dict[str, Any] = {
    "max_epochs": 100, "patience": 20, "bank_size": 20_000, "neighbours": None, "min_mass": 0.0, "stop_hopeless": False,
}  # fmt: skip
"""What the paper states of the options of its estimator; it states no grid of (sigma, lambda)."""


def paper48_defaults() -> dict[str, Any]:
    """Return the settings that the paper states, as keys of a plan, and half precision for the hidden states.

    Examples
    --------
    >>> paper48_defaults()["split"], paper48_defaults()["audit"]["draws"]
    ('permutation', 20)
    """
    stated = {"method": "paper", "evidence": "test", "split": "permutation", "epsilon": 0.05, "min_rows": 1}
    # the pairs of tables 2 and 3, and that of figure 15
    audited = list(map(".".join, NULLS.select("dataset", "model").rows()))
    asked = {"audit": {"pairs": audited, "draws": 20, "seeds": 5}, "interpret": ["mmlu-pro.qwen3-8b"]}
    # 23 GB of hidden states rather than 46
    return {"name": NAME} | stated | asked | {"score": {"embeddings_dtype": "float16"}}


def paper48_pairs() -> list[dict[str, Any]]:
    """Return the paper's pairs, as entries of a plan.

    Examples
    --------
    >>> len(paper48_pairs()), paper48_pairs()[0]["pair"]
    (48, 'mmlu.qwen3-1.7b')
    """
    return [
        {"pair": f"{dataset}.{model}", "dataset": dataset, "model": model, "names_only": METADATA[dataset]}
        | {"family": known.family, "billions": known.billions, "score": {"model": model, "task": dataset}}
        for dataset in DATASET_ROWS
        for model, known in BASE_MODELS.items()
    ]
