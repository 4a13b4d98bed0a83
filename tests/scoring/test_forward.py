"""Forward passes against a plain loop, of five architectures; nothing is computed in vain; where weights go."""

import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from miscal.base import process
from miscal.base.errors import InputError, ResourceError
from miscal.scoring import FakeModel, HuggingFaceModel, ModelSpec, Question, forward, score
from miscal.scoring.forward import FILL, NORM_ROWS, log_softmax_at, spread_over, weight_bytes
from miscal.scoring.model_source import BASE_MODELS, resolve_name
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
    encoded, answers = evaluate_items(model, as_items([Question(f"q{k}", f"{k}?", ("a", "b"), 0) for k in range(5)]))
    weight = model._model.get_output_embeddings().weight.detach().double()
    for row in encoded:
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
    _, raw = evaluate_items(model, items, batch_tokens=batch_tokens)
    assert not raw.failed
    rows = sorted(raw.log_probs)
    return [raw.log_probs[row] for row in rows], np.stack([raw.hidden[row] for row in rows])


@pytest.mark.parametrize("form", ["letter", "text"])
def test_the_scorer_equals_a_plain_loop(scorer, plain, form):
    log_probs, hidden = numbers(scorer, form, 4096)
    for question, values, state in zip(questions(), log_probs, hidden, strict=True):
        prompt = tiny.multiple_choice_prompt(question.question, question.choices)
        names = "ABCD"[: len(question.choices)] if form == "letter" else question.choices
        expected = tiny.candidate_log_probs(*plain, prompt, [f" {name}" for name in names])
        np.testing.assert_allclose(values, expected, atol=TOLERANCE)
        np.testing.assert_allclose(state, tiny.last_hidden_state(*plain, prompt), atol=TOLERANCE)
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
    [cut] = evaluate_items(llama, as_items(asked[:1]))[0]
    assert cut.cut > 0
    assert len(cut.context) == llama.max_length - 1
    assert cut.context[0] == 0


def test_the_registry_names_the_twelve_models_of_four_families():
    assert len(BASE_MODELS) == 12
    families = Counter(model.family for model in BASE_MODELS.values())
    assert families == {"qwen3": 3, "ministral3": 3, "llama": 3, "gemma3": 3}
    assert resolve_name("Llama-3.1-8B") == "meta-llama/Llama-3.1-8B"


GB = 10**9


@pytest.fixture
def machine(monkeypatch):
    """Make a machine of GPUs with so much free memory, and of so much main memory."""

    def made(gpus, main):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(gpus))
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda gpu: (gpus[gpu], 2 * gpus[gpu]))
        monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=main))

    return made


@pytest.mark.parametrize(
    ("n_bytes", "device", "devices"),
    [
        (84 * GB, "cuda", None),
        (85 * GB, "cuda", None),
        (86 * GB, "cuda", (0, 1)),
        (86 * GB, "cuda:1", (1,)),
        (30 * GB, "cuda:1", None),
        (200 * GB, "cuda", (0, 1)),
        (999 * GB, "cpu", None),
        (999 * GB, "mps", None),
    ],
)
def test_a_model_is_spread_if_it_is_larger_than_the_first_gpu_asked_for(n_bytes, device, devices, machine):
    machine([100 * GB, 40 * GB], 200 * GB)
    room = spread_over(n_bytes, torch.device(device), "big")
    if devices is None:
        assert room is None
    else:
        free = {0: 100 * GB, 1: 40 * GB, "cpu": 200 * GB}
        assert room == {place: int(FILL * free[place]) for place in (*devices, "cpu")}
        assert sum(room.values()) >= n_bytes


def test_a_model_larger_than_all_memories_is_refused_with_both_sizes(machine):
    machine([100 * GB, 40 * GB], 60 * GB)
    assert spread_over(170 * GB, torch.device("cuda"), "big") is not None
    with pytest.raises(ResourceError) as error:
        spread_over(171 * GB, torch.device("cuda"), "big")
    assert re.search(r"model big\b.*171\.0 GB.*170\.0 GB", str(error.value))


def test_without_accelerate_a_model_larger_than_a_gpu_is_refused_in_one_line(machine, monkeypatch):
    installed = process.installed
    monkeypatch.setattr(process, "installed", lambda name: name != "accelerate" and installed(name))
    machine([100 * GB], 200 * GB)
    # one that fits does without
    assert spread_over(80 * GB, torch.device("cuda"), "big") is None
    with pytest.raises(InputError, match=r'model big.* needs accelerate.*pip install "miscal\[llm\]"'):
        spread_over(90 * GB, torch.device("cuda"), "big")


@pytest.mark.parametrize(("dtype", "each"), [(torch.float32, 4), (torch.bfloat16, 2)])
def test_the_bytes_of_weights_are_counted_without_making_them(dtype, each):
    from transformers import AutoModelForCausalLM, LlamaConfig

    # 96 GB in single precision: made, they would not fit here
    config = LlamaConfig(
        hidden_size=8_192, intermediate_size=28_672, num_hidden_layers=28, num_attention_heads=64,
        num_key_value_heads=8, vocab_size=32_000, tie_word_embeddings=False,
    )  # fmt: skip
    attention, mlp = 2 * 8_192 * (8_192 + 1_024), 3 * 8_192 * 28_672
    count = 28 * (attention + mlp + 2 * 8_192) + 8_192 + 2 * 32_000 * 8_192
    assert weight_bytes(AutoModelForCausalLM, config, dtype) == each * count


@pytest.mark.parametrize("room", [None, {0: 85 * GB, "cpu": 100 * GB}])
def test_a_model_that_is_spread_is_loaded_with_the_room_of_each_device(room, monkeypatch):
    from miscal.scoring import huggingface

    asked, moved = {}, []

    class Network:
        def to(self, device):
            moved.append(device)
            return self

    class Build:
        @staticmethod
        def from_pretrained(place, **options):
            asked.update(options)
            return Network(), {}

    model = object.__new__(HuggingFaceModel)
    model.__dict__ |= {
        "room": room, "device": torch.device("cuda"), "dtype": torch.bfloat16, "config": None,
        "spec": type("Spec", (), {"model": "big"}), "source": type("Source", (), {"gguf_file": None, "location": "."}),
        "options": dict,
    }  # fmt: skip
    monkeypatch.setattr(huggingface, "_auto_class", lambda config: Build)
    monkeypatch.setattr(huggingface, "loaded", lambda load, *rest: load())
    monkeypatch.setattr(huggingface, "refuse_incomplete", lambda report, name: None)
    assert isinstance(model._load_model(), Network)
    assert {name: asked.get(name) for name in ("device_map", "max_memory")} == (
        {"device_map": None, "max_memory": None} if room is None else {"device_map": "auto", "max_memory": room}
    )
    # where it is spread, it stays where it is
    assert moved == ([torch.device("cuda")] if room is None else [])
