"""Shared by the tests of the scorer: tiny models and a file of questions."""

from pathlib import Path

import polars as pl
import pytest

from miscal.scoring import HuggingFaceModel, ModelSpec

from . import tiny


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


@pytest.fixture(scope="session")
def task_file(tmp_path_factory) -> str:
    """Questions, sorted by category, as benchmarks are."""
    rows = [
        {"id": f"q{k}", "question": f"Number {k}?", "choices": ["one", "two"], "answer_index": k % 2, "category": name}
        for k, name in enumerate(["art"] * 15 + ["biology"] * 30 + ["law"] * 75)
    ]
    path = tmp_path_factory.mktemp("task") / "task.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return str(path)
