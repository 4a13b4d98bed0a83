"""Shared by the tests of the scorer: tiny models, questions, and where real questions lie."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from miscal.scoring import HuggingFaceModel, ModelSpec, PreferencePair, Question

_SPEC = importlib.util.spec_from_file_location("scoring_tiny", Path(__file__).with_name("tiny.py"))
tiny = sys.modules.setdefault("scoring_tiny", importlib.util.module_from_spec(_SPEC))
_SPEC.loader.exec_module(tiny)

WORDS = ("Paris", "Rome", "an old house", "seven", "Berlin", "the number of the spider", "it", "no answer")


def make_questions(n: int, n_choices: int = 4) -> list[Question]:
    """Questions of very different lengths."""
    return [
        Question(
            f"q{row}",
            f"Question {row}: " + " ".join(WORDS[(row + k) % len(WORDS)] for k in range(1 + (row * 7) % 11)) + "?",
            tuple(f"{WORDS[(row * 3 + k) % len(WORDS)]} {row + k}" for k in range(n_choices)),
            row % n_choices,
            {"topic": f"topic {row % 3}"},
        )
        for row in range(n)
    ]


def make_pairs(n: int) -> list[PreferencePair]:
    """Pairs whose chosen response is the shorter one."""
    return [
        PreferencePair(f"p{row}", f"Human: word {row}?\n\nAssistant:", "yes", "no " * (row % 5 + 2)) for row in range(n)
    ]


@pytest.fixture(scope="session", params=tiny.ARCHITECTURES)
def model_folder(request, tmp_path_factory) -> Path:
    """Each architecture in turn, saved."""
    return tiny.save_model(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory) -> Path:
    return tiny.save_model("llama", tmp_path_factory.mktemp("llama-alone"))


@pytest.fixture(scope="session")
def llama(llama_folder) -> HuggingFaceModel:
    return HuggingFaceModel(ModelSpec(str(llama_folder), dtype="float32"))
