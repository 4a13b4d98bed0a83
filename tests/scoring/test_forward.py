"""Forward passes: nothing is computed or widened that is not needed."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from miscal.scoring import FakeModel, Question
from miscal.scoring.forward import NORM_ROWS, log_softmax_at
from miscal.scoring.scorer import as_items, evaluate_items

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


@pytest.mark.parametrize(("device", "n_batches"), [("cpu", 2), ("cuda:0", 1)])
def test_the_budget_suits_the_device(device, n_batches):
    model, told = FakeModel(), []
    model.device = torch.device(device)
    items = as_items([Question(f"q{k}", "so " * 48, ("a", "b"), 0) for k in range(24)])
    evaluate_items(model, items, on_batch=told.append)
    assert (len(told), np.sum(told)) == (n_batches, 24)
