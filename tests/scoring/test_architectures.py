"""Four architectures, two of them inside multimodal checkpoints: the scorer against a plain loop."""

from collections import Counter

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from miscal.scoring import HuggingFaceModel, ModelSpec, Question, score
from miscal.scoring.model_source import BASE_MODELS, resolve_name
from miscal.scoring.scorer import as_items, evaluate_items

from . import reference

TOLERANCE = 1e-4
PLACES = ("an old house", "a very long road beside the river", "it", "seven towns of the north")


def questions(n: int = 6) -> list[Question]:
    texts = [f"Number {k}: " + "which one of these is it, " * (k % 5) + "?" for k in range(n)]
    return [Question(f"q{k}", text, PLACES[: 2 + k % 3], k % 2) for k, text in enumerate(texts)]


@pytest.fixture(scope="module")
def scorer(model_folder) -> HuggingFaceModel:
    return HuggingFaceModel(ModelSpec(str(model_folder), dtype="float32"))


@pytest.fixture(scope="module")
def plain(model_folder, scorer):
    """The same weights loaded by transformers alone."""
    auto = AutoModelForImageTextToText if "ministral" in str(model_folder) else AutoModelForCausalLM
    return auto.from_pretrained(model_folder, dtype=torch.float32).eval(), AutoTokenizer.from_pretrained(model_folder)


def numbers(model, form: str, batch_tokens: int, order=slice(None)):
    items = as_items(questions(), form=form)[order]
    raw = evaluate_items(model, items, batch_tokens=batch_tokens)
    assert not raw.failed
    rows = sorted(raw.log_probs)
    return [raw.log_probs[row] for row in rows], np.stack([raw.hidden[row] for row in rows])


@pytest.mark.parametrize("form", ["letter", "text"])
def test_the_scorer_equals_a_plain_loop(scorer, plain, form):
    log_probs, hidden = numbers(scorer, form, 4096)
    for question, values, state in zip(questions(), log_probs, hidden, strict=True):
        prompt = reference.multiple_choice_prompt(question.question, question.choices)
        names = "ABCD"[: len(question.choices)] if form == "letter" else question.choices
        expected = reference.candidate_log_probs(*plain, prompt, [f" {name}" for name in names])
        np.testing.assert_allclose(values, expected, atol=TOLERANCE)
        np.testing.assert_allclose(state, reference.last_hidden_state(*plain, prompt), atol=TOLERANCE)
    # far from flat
    assert max(np.ptp(values) for values in log_probs) > 0.05


@pytest.mark.parametrize("form", ["letter", "text"])
def test_batch_size_order_and_padding_change_nothing(scorer, form):
    whole, whole_hidden = numbers(scorer, form, 1_000_000)
    parts, parts_hidden = numbers(scorer, form, 300, slice(None, None, -1))
    np.testing.assert_allclose(np.concatenate(parts), np.concatenate(whole), atol=TOLERANCE)
    np.testing.assert_allclose(parts_hidden, whole_hidden, atol=TOLERANCE)


def test_bfloat16_is_close(model_folder, scorer):
    half = HuggingFaceModel(ModelSpec(str(model_folder), dtype="bfloat16"))
    exact, _ = numbers(scorer, "letter", 4096)
    rough, _ = numbers(half, "letter", 4096)
    assert np.abs(np.concatenate(exact) - np.concatenate(rough)).max() < 0.3
    assert half.describe()["dtype"] == "bfloat16"


def test_a_prompt_longer_than_the_model_is_cut_at_the_front(llama):
    asked = [Question("q", "word " * 400 + "end?", ("a", "b"), 0), Question("r", "end?", ("a", "b"), 0)]
    assert len(score(llama, asked)) == 2
    raw = evaluate_items(llama, as_items(asked[:1]))
    assert raw.encoded[0].cut > 0
    assert len(raw.encoded[0].context) == llama.max_length - 1
    assert raw.encoded[0].context[0] == 0


def test_the_registry_names_the_twelve_models_of_four_families():
    assert len(BASE_MODELS) == 12
    families = Counter(model.family for model in BASE_MODELS.values())
    assert families == {"qwen3": 3, "ministral3": 3, "llama": 3, "gemma3": 3}
    assert resolve_name("Llama-3.1-8B") == "meta-llama/Llama-3.1-8B"
