"""Ask a language model multiple-choice questions or preferences: question -> (hidden state, confidence, correct).

What enters loads models, reads tasks, or keeps what a model answered. Nothing here estimates a field, and nothing below
knows that models exist.
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
