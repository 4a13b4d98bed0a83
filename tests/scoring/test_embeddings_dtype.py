"""Hidden states in half precision on disk: the same numbers rounded, whoever computes them and however often."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from miscal.base.errors import MismatchError
from miscal.base.workers import Processes
from miscal.data.readers.read import read_triples
from miscal.scoring import FakeModel, Question
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items, score


def questions(n: int = 24) -> list[Question]:
    return [Question(f"q{k}", f"Which is it? {'so ' * (k % 9)}", ("a", "b"), k % 2) for k in range(n)]


def run(out: Path, *, model=None, dtype="float16", n=24, **options):
    settings = {"task": {"task": "test"}, "batch_tokens": 120, "embeddings_dtype": dtype}
    return score_folder(model or FakeModel(), as_items(questions(n)), out, **settings, **options)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != ".lock"}


class Large(FakeModel):
    """Has one hidden state of a given magnitude, in a batch of its own."""

    def __init__(self, magnitude: float) -> None:
        super().__init__()
        self.magnitude = magnitude

    def evaluate(self, batch):
        found = super().evaluate(batch)
        hidden = found.hidden.copy()
        # the longest question
        hidden[[len(row.context) for row in batch].index(max(len(row.context) for row in batch)), 3] = -self.magnitude
        return replace(found, hidden=hidden)


class Stops(FakeModel):
    """Fails at the third batch."""

    left = 2

    def evaluate(self, batch):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().evaluate(batch)


def test_stored_numbers_are_rounded_to_half_precision_and_take_half_the_space(tmp_path):
    whole, half = tmp_path / "whole", tmp_path / "half"
    run(whole, dtype="float32")
    done = run(half)
    exact = score(FakeModel(), questions()).X
    stored = load_file(half / "embeddings.safetensors")["x"]
    assert stored.dtype == np.float16
    np.testing.assert_array_equal(stored, exact.astype(np.float16))
    np.testing.assert_allclose(stored.astype(np.float32), exact, rtol=2**-11, atol=2**-25)
    sizes = [(folder / "embeddings.safetensors").stat().st_size for folder in (whole, half)]
    # but for the header, whose numbers have another digit
    assert sizes[0] - sizes[1] == pytest.approx(exact.size * 2, abs=8)
    assert content(whole)["triples.parquet"] == content(half)["triples.parquet"]
    assert done.manifest["embeddings"] == {"dtype": "float16"}
    assert json.loads(content(whole)["manifest.json"])["embeddings"] == {"dtype": "float32"}


def test_discover_reads_them_in_single_precision(tmp_path):
    run(tmp_path, n=120)
    X = read_triples(tmp_path).X
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, score(FakeModel(), questions(120)).X.astype(np.float16).astype(np.float32))


def test_a_broken_run_and_one_in_processes_leave_the_same_bytes(tmp_path):
    whole, broken, apart = (tmp_path / name for name in ("whole", "broken", "apart"))
    run(whole)
    with pytest.raises(KeyboardInterrupt):
        run(broken, model=Stops())
    run(broken)
    run(apart, workers=Processes(2))
    assert content(whole) == content(broken) == content(apart)


def test_another_precision_is_another_run(tmp_path):
    run(tmp_path)
    with pytest.raises(MismatchError, match='embeddings_dtype was "float16" and is "float32"'):
        run(tmp_path, dtype="float32")


@pytest.mark.parametrize(("magnitude", "dtype"), [(65_504.0, "float16"), (65_505.0, "float32"), (1e9, "float32")])
def test_a_number_that_does_not_fit_keeps_all_in_single_precision_and_is_told(tmp_path, magnitude, dtype):
    done = run(tmp_path, model=Large(magnitude))
    stored = load_file(tmp_path / "embeddings.safetensors")["x"]
    assert stored.dtype == np.dtype(dtype)
    assert np.isfinite(stored).all()
    assert stored.min() == -magnitude
    assert done.manifest["embeddings"]["dtype"] == dtype
    note = done.manifest["embeddings"].get("note")
    assert (note is None) == (dtype == "float16")
    if note:
        assert note.startswith("the hidden states are stored in float32, because one of them has the magnitude")
        assert f"{magnitude:,.0f}" in note
