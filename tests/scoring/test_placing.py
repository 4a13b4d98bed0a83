"""Where the weights of a model go, with the memories of devices and the sizes of models made up."""

import re
from types import SimpleNamespace

import pytest
import torch

from miscal.base import process
from miscal.base.errors import InputError, ResourceError
from miscal.scoring.forward import FILL, spread_over, weight_bytes
from miscal.scoring.huggingface import HuggingFaceModel

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
