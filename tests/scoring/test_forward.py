"""Forward passes: nothing is computed or widened that is not needed."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from miscal.scoring import FakeModel, HuggingFaceModel, ModelSpec, Question, forward
from miscal.scoring.forward import NORM_ROWS, log_softmax_at
from miscal.scoring.scorer import as_items, evaluate_items

from . import tiny

VOCABULARY = 40


def largest(kind: torch.dtype, call) -> int:
    """Return the number of elements of the largest tensor of a kind that a call makes."""
    sizes = [0]

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor) and out.dtype == kind:
                sizes.append(out.numel())
            return out

    with Watch():
        call()
    return max(sizes)


def test_log_softmax_is_that_of_torch_and_widens_few_rows_at_a_time():
    n = 5 * NORM_ROWS + 3
    logits = torch.randn(n, VOCABULARY, generator=torch.Generator().manual_seed(0)).bfloat16()
    ids = [row % VOCABULARY for row in range(n)]
    expected = torch.log_softmax(logits.float(), dim=-1)[torch.arange(n), torch.tensor(ids)]
    torch.testing.assert_close(log_softmax_at(logits, range(n), ids), expected)
    assert largest(torch.float32, lambda: log_softmax_at(logits, range(n), ids)) <= NORM_ROWS * VOCABULARY


def test_logits_are_computed_at_the_last_prompt_token_alone(llama):
    questions = [Question(f"q{k}", "Which is it? " * 5, ("a", "b"), 0) for k in range(6)]
    items = as_items(questions)
    vocabulary = llama._model.get_output_embeddings().weight.shape[0]
    seen = []
    hook = llama._model.get_output_embeddings().register_forward_hook(lambda module, args, out: seen.append(out.shape))
    try:
        evaluate_items(llama, items, batch_tokens=10_000)
    finally:
        hook.remove()
    assert [tuple(shape) for shape in seen] == [(6, 1, vocabulary)]


@pytest.mark.parametrize("name", ["llama", "qwen3"])  # tied to the embedding, and not
def test_the_output_layer_of_a_bfloat16_model_computes_in_float32(name, tmp_path, monkeypatch):
    monkeypatch.setattr(forward, "HEAD_ROWS", 100)  # several pieces
    model = HuggingFaceModel(ModelSpec(str(tiny.save_model(name, tmp_path)), dtype="bfloat16"))
    answers = evaluate_items(model, as_items([Question(f"q{k}", f"{k}?", ("a", "b"), 0) for k in range(5)]))
    weight = model._model.get_output_embeddings().weight.detach().double()
    for row in answers.encoded:
        logits = weight @ torch.from_numpy(answers.hidden[row.row]).double()
        expected = torch.log_softmax(logits, dim=-1)[[ids[0] for ids in row.added]]
        # in bfloat16, the numbers differ by some 1e-2
        np.testing.assert_allclose(answers.log_probs[row.row], expected, atol=1e-5)


def test_an_output_layer_that_is_no_plain_linear_one_is_left_as_it_is():
    class Doubled(torch.nn.Linear):
        def forward(self, states):
            return 2 * super().forward(states)

    layer, states = Doubled(3, 4).bfloat16(), torch.ones(2, 3, dtype=torch.bfloat16)
    expected = layer(states)
    forward.compute_in_float32(layer)
    torch.testing.assert_close(layer(states), expected)


@pytest.mark.parametrize(("device", "n_batches"), [("cpu", 2), ("cuda:0", 1)])
def test_the_budget_suits_the_device(device, n_batches):
    model, told = FakeModel(), []
    model.device, whole = torch.device(device), model.evaluate
    model.evaluate = lambda batch: told.append(len(batch)) or whole(batch)
    items = as_items([Question(f"q{k}", "so " * 48, ("a", "b"), 0) for k in range(24)])
    evaluate_items(model, items)
    assert (len(told), np.sum(told)) == (n_batches, 24)
