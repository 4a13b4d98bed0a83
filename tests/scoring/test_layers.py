"""Hidden states of other layers equal those that the model itself reports, and change no confidence."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from miscal.base.errors import InputError
from miscal.scoring import HuggingFaceModel, ModelSpec
from miscal.scoring.model_source import layer_of
from miscal.scoring.scorer import as_items, evaluate_items

from .conftest import make_questions

_SPEC = importlib.util.spec_from_file_location("scoring_reference", Path(__file__).with_name("reference.py"))
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

QUESTIONS = make_questions(7)


@pytest.fixture(scope="module")
def states(model_folder):
    """All hidden states of every prompt, by the model alone: a list of (n_blocks + 1, tokens, width)."""
    auto = AutoModelForImageTextToText if "ministral" in str(model_folder) else AutoModelForCausalLM
    model = auto.from_pretrained(model_folder, dtype=torch.float32).eval()
    tokenizer, found = AutoTokenizer.from_pretrained(model_folder), []
    for question in QUESTIONS:
        ids = torch.tensor(
            [tokenizer(reference.multiple_choice_prompt(question.question, question.choices))["input_ids"]]
        )
        with torch.no_grad():
            found.append(torch.stack(model(input_ids=ids, output_hidden_states=True).hidden_states)[:, 0].numpy())
    return found


def scored(folder, layer, form):
    model = HuggingFaceModel(ModelSpec(str(folder), dtype="float32", layer=layer))
    raw = evaluate_items(model, as_items(QUESTIONS, form=form), batch_tokens=4096)
    rows = range(len(QUESTIONS))
    return model, np.stack([raw.hidden[row] for row in rows]), [raw.log_probs[row] for row in rows]


# letters are one token each and padded on the right, texts have several and are padded on the left
@pytest.mark.parametrize("form", ["letter", "text"])
def test_states_are_those_that_the_model_reports(model_folder, states, form):
    _, _, plain = scored(model_folder, "last", form)
    wanted = {
        "last": [each[-1, -1] for each in states],
        "middle": [each[2, -1] for each in states],  # the second of three blocks
        "1": [each[1, -1] for each in states],
        "mean": [each[-1].mean(axis=0) for each in states],
    }
    for layer, expected in wanted.items():
        _, hidden, log_probs = scored(model_folder, layer, form)
        np.testing.assert_allclose(hidden, np.stack(expected), atol=1e-4)
        for one, two in zip(log_probs, plain, strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_manifest_says_what_was_kept(llama_folder):
    told = {layer: scored(llama_folder, layer, "letter")[0].describe()["hidden_state"] for layer in ("last", 2, "mean")}
    assert told == {
        "last": "input of the output layer (after the final norm) at the last prompt token",
        2: "output of block 2 of 3 at the last prompt token",
        "mean": "input of the output layer (after the final norm), mean over the prompt's tokens",
    }


@pytest.mark.parametrize("layer", ["first", "", 0, -1, "1.5", "²"])
def test_what_names_no_layer_is_refused_before_anything_is_loaded(layer):
    with pytest.raises(InputError, match="layer must be last, middle, mean, or the number of a block"):
        ModelSpec("no model", layer=layer)


def test_a_block_that_the_model_does_not_have_is_refused(llama_folder):
    with pytest.raises(InputError, match="layer must be at most 3"):
        HuggingFaceModel(ModelSpec(str(llama_folder), layer=4))


@pytest.mark.parametrize(("n_blocks", "middle"), [(1, 1), (2, 1), (3, 2), (24, 12), (25, 13)])
def test_the_middle_has_as_many_blocks_before_it_as_behind(n_blocks, middle):
    assert layer_of("middle", n_blocks).block == middle
