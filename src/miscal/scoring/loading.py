"""Load a Hugging Face model for scoring: from a hub id, a folder or a .gguf file, running no foreign code."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from miscal.errors import FileError, InputError, MiscalError, ResourceError, TrustError
from miscal.scoring.candidates import Encoded
from miscal.scoring.forward import Evaluated, Picker, evaluate
from miscal.scoring.registry import resolve_name

DTYPES = ("auto", "float32", "bfloat16")
_ATTEMPTS = 5
_SECRETS = re.compile(r"(hf_[A-Za-z0-9]{4,}|(?<=://)[^/\s@]+@|(?<=[Bb]earer )\S+)")
_RUNS_CODE = ("auto_map", "_attn_implementation_internal", "trust_remote_code", "custom_pipelines")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What to load and how.

    Parameters
    ----------
    model : str
        Hub id, folder, ``.gguf`` file, or a short name of `miscal.scoring.registry`.
    revision : str, optional
        Branch, tag or commit on the hub; resolved to a commit and recorded.
    dtype : {"auto", "float32", "bfloat16"}, default "auto"
        "auto" takes bfloat16 where the machine computes well in it.
    device : str, default "auto"
        "auto" takes the first GPU if there is one.
    trust_remote_code : bool, default False
        Whether code that a checkpoint brings may run.
    threads : int, optional
        Threads of torch on the CPU; default: as torch is set.
    """

    model: str
    revision: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    trust_remote_code: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise InputError(f"dtype: one of {', '.join(DTYPES)} is allowed, {self.dtype!r} came")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model lies: folder or hub id, pinned revision, and the .gguf file in the folder if there is one."""

    location: str
    revision: str
    gguf_file: str | None
    local: bool


def redact(text: object) -> str:
    """Blank out access tokens and user parts of addresses.

    >>> redact("401 for https://me:pw@host/x with hf_abcdEFGH")
    '401 for https://***host/x with ***'
    """
    return _SECRETS.sub("***", str(text))


def bfloat16_is_fast(device: torch.device) -> bool:
    """Tell whether the machine multiplies bfloat16 matrices faster than float32 ones."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    if device.type != "cpu":
        return False
    checks = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))
    return any(check() for check in checks if check is not None)


def choose_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """Turn the name of a dtype into the dtype."""
    if dtype == "auto":
        return torch.bfloat16 if bfloat16_is_fast(device) else torch.float32
    return getattr(torch, dtype)


def fingerprint(paths: Sequence[Path]) -> str:
    """Name the content of weight files: sha256 over names, sizes, first and last MiB of each."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        with path.open("rb") as stream:
            digest.update(stream.read(1 << 20))
            stream.seek(max(0, size - (1 << 20)))
            digest.update(stream.read(1 << 20))
    return digest.hexdigest()


def locate(spec: ModelSpec) -> Source:
    """Find the model and pin its revision.

    Raises
    ------
    FileError
        If a folder holds no model, or a hub id cannot be reached and is not in the cache.
    TrustError
        If the folder's weights are pickles, or its configuration asks for code of its own.
    """
    name = resolve_name(spec.model)
    path = Path(name)
    if path.suffix == ".gguf" or path.is_dir():
        return _locate_local(path, spec)
    if path.is_absolute() or name.count("/") != 1:
        raise FileError(f"model {name}: no such folder or .gguf file, and not a hub id of the form owner/name")
    return Source(name, _pin(name, spec.revision), None, local=False)


def _locate_local(path: Path, spec: ModelSpec) -> Source:
    if not path.exists():
        raise FileError(f"model {path}: there is no such file")
    folder = path if path.is_dir() else path.parent
    ggufs = [path] if path.is_file() else sorted(folder.glob("*.gguf"))
    weights = sorted(folder.glob("*.safetensors"))
    if path.is_file() or (ggufs and not weights):
        if len(ggufs) != 1:
            raise InputError(f"model {path}: {len(ggufs)} .gguf files; name the one to load")
        return Source(str(folder), fingerprint(ggufs), ggufs[0].name, local=True)
    if not (folder / "config.json").exists():
        raise FileError(f"model {path}: the folder holds neither config.json nor a .gguf file")
    if not weights:
        raise TrustError(f"model {path}: no .safetensors weights; pickled weights can run code and are never loaded")
    if not spec.trust_remote_code:
        refuse_code(folder)
    extra = [folder / name for name in ("config.json", "tokenizer.json") if (folder / name).exists()]
    return Source(str(folder), fingerprint([*weights, *extra]), None, local=True)


def _asks_for_code(value: Any, name: str = "") -> str | None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _RUNS_CODE and inner:
                return key
            found = _asks_for_code(inner)
            if found:
                return found
    if isinstance(value, list):
        return next(filter(None, map(_asks_for_code, value)), None)
    return None


def refuse_code(folder: Path) -> None:
    """Refuse a folder whose configuration files name code to run.

    Raises
    ------
    TrustError
        Naming the file and the key.
    """
    for path in sorted(folder.glob("*.json")):
        if path.name.endswith(".index.json") or path.name == "tokenizer.json":
            continue
        try:
            key = _asks_for_code(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise FileError(f"model file {path}: not readable as JSON ({error})") from error
        if key:
            raise TrustError(f"model file {path}: {key!r} asks for code of its own; allow it with --trust-remote-code")


def retried(call: Callable[[], T], what: str, *, pause: float = 1.0) -> T:
    """Call up to five times, waiting longer each time; connection errors then become one line.

    Raises
    ------
    FileError
        If the last attempt fails too. Access tokens are blanked out of its text.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return call()
        except (OSError, ValueError) as error:
            final = attempt == _ATTEMPTS - 1 or _is_final(error)
            if final:
                raise FileError(f"{what}: {redact(error).splitlines()[0]}") from None
            time.sleep(pause * 2**attempt)
    raise AssertionError("unreachable")


def _is_final(error: Exception) -> bool:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return status != 429 and status < 500
    return isinstance(error, ValueError) or "offline" in str(error).lower()


def _pin(name: str, revision: str | None) -> str:
    """Resolve a hub revision to a commit, from the cache if the hub cannot be reached."""
    from huggingface_hub import HfApi, constants, snapshot_download

    def cached() -> str:
        return Path(snapshot_download(name, revision=revision, local_files_only=True)).name

    if constants.HF_HUB_OFFLINE:
        return retried(cached, f"model {name} (offline)")
    try:
        return retried(lambda: HfApi().model_info(name, revision=revision).sha, f"model {name}")
    except FileError:
        with contextlib.suppress(Exception):
            return cached()
        raise


class HuggingFaceModel:
    """A causal language model of transformers behind the scorer's protocol.

    Parameters
    ----------
    spec : ModelSpec

    Attributes
    ----------
    width : int
        Size of the hidden state.
    max_length : int
        Tokens the model takes.
    n_lead : int
        Special tokens the tokenizer puts in front.

    Raises
    ------
    FileError, TrustError, InputError, ResourceError
        See `locate`; ResourceError if the weights do not fit in memory.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.source = locate(spec)
        device = spec.device if spec.device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
        self.device = torch.device(device)
        self.dtype = choose_dtype(spec.dtype, self.device)
        self._tokenizer = self._load_tokenizer()
        self._model = self._load_model().eval().to(self.device)
        head = self._model.get_output_embeddings()
        if head is None:
            raise InputError(f"model {spec.model}: has no output layer; a causal language model is needed")
        self._picker = Picker(head)
        config = self._model.config.get_text_config()
        self.width = int(head.in_features)
        self.max_length = int(getattr(config, "max_position_embeddings", None) or 2048)
        self._trail, self.n_lead = self._special_tokens()

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"trust_remote_code": self.spec.trust_remote_code}
        if self.source.gguf_file:
            options["gguf_file"] = self.source.gguf_file
        if self.source.local:
            options["local_files_only"] = True
        else:
            options["revision"] = self.source.revision
        return options

    def _load_tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return _loaded(lambda: AutoTokenizer.from_pretrained(self.source.location, **self._options()), self.spec.model)

    def _load_model(self) -> Any:
        from transformers import AutoConfig

        options = self._options() | {"dtype": self.dtype}
        if self.source.gguf_file:
            options |= _unpacked()
        else:
            options["use_safetensors"] = True
        config = _loaded(lambda: AutoConfig.from_pretrained(self.source.location, **self._options()), self.spec.model)
        if not self.source.local and not self.spec.trust_remote_code and _asks_for_code(config.to_dict()):
            raise TrustError(f"model {self.spec.model}: asks for code of its own; allow it with --trust-remote-code")
        return _loaded(lambda: _auto_class(config).from_pretrained(self.source.location, **options), self.spec.model)

    def _special_tokens(self) -> tuple[int, int]:
        """Count the special tokens behind and in front of a text."""
        bare = self._tokenizer("a", add_special_tokens=False).input_ids
        full = self._tokenizer("a").input_ids
        lead = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        return len(full) - lead - len(bare), lead

    def describe(self) -> dict[str, object]:
        """Return what a manifest records of the model."""
        import transformers

        return {
            "model": self.spec.model,
            "revision": self.source.revision,
            "architecture": type(self._model).__name__,
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": self.device.type,
            "width": self.width,
            "max_length": self.max_length,
            "hidden_state": "input of the output layer (after the final norm) at the last prompt token",
            "trust_remote_code": self.spec.trust_remote_code,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts to ids, with the tokenizer's default special tokens in front and none behind."""
        ids = self._tokenizer(list(texts)).input_ids
        return [row[: len(row) - self._trail] for row in ids] if self._trail else ids

    def evaluate(self, batch: Sequence[Encoded]) -> Evaluated:
        """Score a batch (see `miscal.scoring.forward.evaluate`)."""
        with _threads(self.spec.threads):
            return evaluate(self._model, self._picker, batch, fill=0)


@contextlib.contextmanager
def _threads(count: int | None):
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _unpacked() -> dict[str, Any]:
    """Ask for plain dense weights: newer transformers keep GGUF blocks packed, which is ten times slower."""
    try:
        from transformers import GgufConfig
    except ImportError:
        return {}
    return {"quantization_config": GgufConfig(dequantize=True)}


def _auto_class(config: Any) -> Any:
    """Take the text-and-image class for multimodal checkpoints that have no causal class; text alone is given to it."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )

    kind = config.model_type
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return AutoModelForImageTextToText
    return AutoModelForCausalLM


def _loaded(call: Callable[[], T], name: str) -> T:
    """Load with bars and advice of transformers silenced; its errors become ours."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        with _silent():
            return retried(call, f"model {name}")
    except (MiscalError, KeyboardInterrupt):
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
            raise ResourceError(f"model {name}: the weights do not fit in memory") from error
        raise FileError(f"model {name}: {type(error).__name__}: {redact(error).splitlines()[0]}") from error


@contextlib.contextmanager
def _silent():
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
