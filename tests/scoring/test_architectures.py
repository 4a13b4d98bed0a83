"""Four architectures, two of them inside multimodal checkpoints: the scorer against a plain loop."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from miscal.scoring import HuggingFaceModel, ModelSpec, Question, score
from miscal.scoring.model_source import BASE_MODELS, resolve_name
from miscal.scoring.scorer import as_items, evaluate_items

_SPEC = importlib.util.spec_from_file_location("scoring_reference", Path(__file__).with_name("reference.py"))
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

TOLERANCE = 1e-4
PLACES = ("an old house", "a very long road beside the river", "it", "seven towns of the north")


def questions(n: int = 9) -> list[Question]:
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


def test_predictions_are_far_from_flat(scorer):
    log_probs, _ = numbers(scorer, "letter", 4096)
    assert max(np.ptp(values) for values in log_probs) > 0.05


@pytest.mark.parametrize("form", ["letter", "text"])
@pytest.mark.parametrize("batch_tokens", [1, 300])
def test_batch_size_order_and_padding_change_nothing(scorer, form, batch_tokens):
    whole, whole_hidden = numbers(scorer, form, 1_000_000)
    parts, parts_hidden = numbers(scorer, form, batch_tokens, slice(None, None, -1))
    np.testing.assert_allclose(np.concatenate(parts), np.concatenate(whole), atol=TOLERANCE)
    np.testing.assert_allclose(parts_hidden, whole_hidden, atol=TOLERANCE)


def test_left_and_right_padding_agree(scorer):
    """Letters are padded on the right, texts on the left: the hidden state of the same prompt must not differ."""
    _, right = numbers(scorer, "letter", 1_000_000)
    _, left = numbers(scorer, "text", 1_000_000)
    np.testing.assert_allclose(left, right, atol=TOLERANCE)


def test_the_output_layer_applied_to_the_hidden_state_gives_the_logits(scorer, plain):
    model, tokenizer = plain
    _, hidden = numbers(scorer, "letter", 4096)
    for question, state in zip(questions(), hidden, strict=True):
        ids = tokenizer(reference.multiple_choice_prompt(question.question, question.choices), return_tensors="pt")
        with torch.no_grad():
            logits = model(input_ids=ids["input_ids"]).logits[0, -1]
            ours = model.get_output_embeddings()(torch.from_numpy(state))
        torch.testing.assert_close(ours, logits, atol=TOLERANCE, rtol=0)


def test_bfloat16_is_close(model_folder, scorer):
    half = HuggingFaceModel(ModelSpec(str(model_folder), dtype="bfloat16"))
    exact, _ = numbers(scorer, "letter", 4096)
    rough, _ = numbers(half, "letter", 4096)
    assert np.abs(np.concatenate(exact) - np.concatenate(rough)).max() < 0.3
    assert half.describe()["dtype"] == "bfloat16"


def test_a_prompt_longer_than_the_model_is_cut_at_the_front(llama):
    long = "word " * 400
    triples = score(llama, [Question("q", long + "end?", ("a", "b"), 0), Question("r", "end?", ("a", "b"), 0)])
    assert len(triples) == 2
    raw = evaluate_items(llama, as_items([Question("q", long + "end?", ("a", "b"), 0)]))
    assert raw.encoded[0].cut > 0
    assert len(raw.encoded[0].context) == llama.max_length - 1
    assert raw.encoded[0].context[0] == 0


def test_the_registry_names_the_twelve_models_of_four_families():
    assert len(BASE_MODELS) == 12
    families = [model.family for model in BASE_MODELS.values()]
    assert {family: families.count(family) for family in families} == {
        "qwen3": 3,
        "ministral3": 3,
        "llama": 3,
        "gemma3": 3,
    }
    assert resolve_name("Llama-3.1-8B") == "meta-llama/Llama-3.1-8B"
