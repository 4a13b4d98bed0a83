"""Models are loaded without running foreign code, from safetensors alone, and secrets stay secret."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from miscal.base.errors import FileError, InputError, MiscalError, TrustError
from miscal.scoring import HuggingFaceModel, ModelSpec, Question, score
from miscal.scoring.folder import score_folder
from miscal.scoring.model_source import choose_dtype, fingerprint, locate, redact, retried
from miscal.scoring.scorer import as_items

from . import tiny


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "owner/name"),
        ("qwen3-1.8b", r"did you mean qwen3-1\.7b"),
        ("https://me:hunter2@host/model.gguf", "address(?!.*hunter2)"),
        ("{}/model.gguf", "does not exist"),
        ("{}", r"2 \.gguf files"),
        ("{}/empty", "neither"),
    ],
)
def test_names_that_lead_nowhere(tmp_path, name, said):
    for place in ("a.gguf", "b.gguf"):
        (tmp_path / place).touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(MiscalError, match=said):
        locate(ModelSpec(name.format(tmp_path)))


@pytest.mark.parametrize(("gpu_has_it", "on_gpu"), [(True, torch.bfloat16), (False, torch.float32)])
def test_half_precision_is_for_a_gpu_alone_unless_asked_for(monkeypatch, gpu_has_it, on_gpu):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: gpu_has_it)
    for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: True, raising=False)
    assert choose_dtype("auto", torch.device("cuda")) == on_gpu
    assert choose_dtype("auto", torch.device("cpu")) == torch.float32
    assert choose_dtype("bfloat16", torch.device("cpu")) == torch.bfloat16
    with pytest.raises(InputError, match="float16"):
        ModelSpec("x", dtype="float16")


@pytest.fixture
def evil(llama_folder, tmp_path):
    """A copy of a model to be made dangerous."""
    return shutil.copytree(llama_folder, tmp_path / "evil")


CODE = "import pathlib\npathlib.Path(__file__).with_name('RAN').touch()\n"


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"auto_map": {"AutoModelForCausalLM": "code.Model"}}),
        ("config.json", {"auto_map": {"AutoConfig": "code.Config"}, "model_type": "unheard-of"}),
        ("config.json", {"_attn_implementation_internal": "someone/kernel"}),
        ("config.json", {"attn_implementation": "someone/kernel"}),
        ("config.json", {"text_config": {"_experts_implementation": {"": "someone/kernel"}}}),
        ("config.json", {"text_config": {"deep": [{"trust_remote_code": True}]}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["code.Tokenizer", None]}}),
    ],
)
def test_a_checkpoint_that_asks_for_code_is_refused_and_its_code_does_not_run(evil, file, change):
    (evil / "code.py").write_text(CODE)
    path = evil / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TrustError, match="trust-remote-code"):
        HuggingFaceModel(ModelSpec(str(evil)))
    assert not list(evil.rglob("RAN"))


def test_pickled_weights_are_never_loaded(evil):
    (evil / "model.safetensors").unlink()
    torch.save({}, evil / "pytorch_model.bin")
    with pytest.raises(TrustError, match="pickled"):
        HuggingFaceModel(ModelSpec(str(evil), trust_remote_code=True))


def test_damaged_weights_are_an_error_of_ours(evil):
    (evil / "model.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(FileError, match="evil"):
        HuggingFaceModel(ModelSpec(str(evil)))


def test_the_fingerprint_follows_the_weights(evil):
    path = evil / "model.safetensors"
    before = fingerprint([path])
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert fingerprint([path]) != before


def test_secrets_are_blanked_out():
    assert "hunter2" not in redact(Path("https://user:hunter2@host/x"))
    said = redact("GET https://user:hunter2@host/x Authorization: Bearer abc.def hf_AbCdEf123456")
    assert not any(secret in said for secret in ("hunter2", "abc.def", "hf_AbCdEf123456"))


class TooMany(OSError):
    """As a hub answers."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status} for hf_secretsecret")
        self.response = type("Response", (), {"status_code": status})()


@pytest.mark.parametrize(("status", "calls"), [(429, 5), (503, 5), (401, 1), (404, 1)])
def test_the_hub_is_asked_again_only_where_that_can_help(status, calls):
    asked = []

    def fail():
        asked.append(1)
        raise TooMany(status)

    with pytest.raises(FileError, match=str(status)) as caught:
        retried(fail, "model x", pause=0)
    assert len(asked) == calls
    assert "hf_secret" not in str(caught.value)


def test_errors_of_the_hubs_http_library_are_ours_and_faults_of_code_are_not_asked_again():
    """The library's errors are no OSError."""
    error = type("ConnectError", (type("HTTPError", (Exception,), {}),), {})("Name or service not known")
    answers = iter([error, "sha"])

    def ask():
        if isinstance(answer := next(answers), Exception):
            raise answer
        return answer

    assert retried(ask, "model x", pause=0) == "sha"
    answers = iter([error] * 5)
    with pytest.raises(FileError, match=r"model x: Name or service not known \(tried 5 times\)"):
        retried(ask, "model x", pause=0)
    answers = iter([KeyError("x"), "sha"])
    with pytest.raises(KeyError):
        retried(ask, "model x", pause=0)


@pytest.mark.parametrize("kept", [True, False])
def test_without_the_hub_the_cache_is_asked(kept, monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub")

    def unreachable(*arguments, **options):
        raise ConnectionError("no route")

    def snapshot(name, *, revision, local_files_only):
        if not kept:
            raise FileNotFoundError
        return str(tmp_path / "abc123")

    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub.HfApi, "model_info", unreachable)
    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    monkeypatch.setattr("miscal.scoring.model_source.time.sleep", lambda seconds: None)
    if kept:
        assert locate(ModelSpec("owner/name")).revision == "abc123"
    else:
        with pytest.raises(FileError, match=r"owner/name: no route \(tried 5 times\).*not in the cache"):
            locate(ModelSpec("owner/name"))


# --- checkpoints that are not whole --------------------------------------------------------------------------------


def changed(folder, out, change):
    """Copy a checkpoint with its tensors changed."""
    shutil.copytree(folder, out)
    tensors = load_file(out / "model.safetensors")
    change(tensors)
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    return ModelSpec(str(out), dtype="float32")


@pytest.fixture(scope="module")
def untied(tmp_path_factory):
    return tiny.save_model("qwen3", tmp_path_factory.mktemp("untied"))


MATRIX = "model.layers.0.mlp.down_proj.weight"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop("lm_head.weight"), r"lacks 1 tensor .*\(lm_head.weight\)"),
        (lambda t: (t.pop("lm_head.weight"), t.pop(MATRIX)), r"lacks 2 tensors .*\(lm_head.weight, model.layers.0"),
        (lambda t: t.update({MATRIX: t[MATRIX][:5].clone()}), rf"{MATRIX}: \(5, 64\) instead of \(32, 64\)"),
        (lambda t: t.update({"score.weight": torch.zeros(2, 32)}), r"holds 1 tensor .*\(score.weight\)"),
    ],
)
def test_a_checkpoint_that_is_not_whole_is_refused(untied, tmp_path, change, said):
    with pytest.raises(FileError, match=said):
        HuggingFaceModel(changed(untied, tmp_path / "changed", change))


@pytest.mark.parametrize(
    "name", ["rotary_emb.inv_freq", "vision_tower.patch_conv.weight", "multi_modal_projector.bias"]
)
def test_what_no_text_reaches_may_be_there(untied, tmp_path, name):
    spec = changed(untied, tmp_path / "changed", lambda t: t.update({f"model.{name}": torch.zeros(3)}))
    assert HuggingFaceModel(spec).width == 32


def test_the_tower_of_images_may_be_missing_and_a_tied_output_layer(llama_folder, tmp_path):
    assert "lm_head.weight" not in load_file(llama_folder / "model.safetensors")
    assert HuggingFaceModel(ModelSpec(str(llama_folder), dtype="float32")).width == 32
    folder, towers = tiny.save_model("gemma3", tmp_path / "whole"), ("vision_tower", "multi_modal_projector")

    def without(tensors):
        for name in [name for name in tensors if any(tower in name for tower in towers)]:
            del tensors[name]

    assert HuggingFaceModel(changed(folder, tmp_path / "changed", without)).width == 32


def test_warnings_of_the_tokenizer_are_kept_and_told(llama_folder, tmp_path, monkeypatch):
    from transformers import AutoTokenizer
    from transformers.utils import logging

    real = AutoTokenizer.from_pretrained

    def warns(*arguments, **options):
        logging.get_logger("transformers.tokenization").warning("this regex\nis wrong, hf_abcdEFGH")
        return real(*arguments, **options)

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", warns)
    spec = ModelSpec(str(llama_folder), dtype="float32")
    triples = score(spec, [Question("q", "Why?", ("a", "b"), 0)])
    assert triples.notes == ("the tokenizer warns: this regex is wrong, ***",)
    done = score_folder(spec, as_items([Question("q", "Why?", ("a", "b"), 0)]), tmp_path / "out", task={"task": "t"})
    assert done.manifest["warnings"] == ["this regex is wrong, ***"]
