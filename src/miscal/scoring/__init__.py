"""Ask a language model questions or preferences; nothing here estimates a field.

In: a model, and a task: a benchmark or a file of questions or pairs.
Out: hidden state, confidence and outcome of each row, in memory or as a folder that can be resumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miscal.scoring.engine import FakeModel
    from miscal.scoring.huggingface import HuggingFaceModel
    from miscal.scoring.model_source import ModelSpec
    from miscal.scoring.questions import PreferencePair, Question
    from miscal.scoring.scorer import score

_HOMES = {
    "FakeModel": "engine",
    "HuggingFaceModel": "huggingface",
    "ModelSpec": "model_source",
    "PreferencePair": "questions",
    "Question": "questions",
    "score": "scorer",
}

__all__ = ["FakeModel", "HuggingFaceModel", "ModelSpec", "PreferencePair", "Question", "score"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
