"""A saved state comes back bit by bit, or is refused; nothing in it can run."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base import state_folder
from miscal.base.errors import CorruptFile, FileError, MismatchError, TrustError

CONTENT = {"scale": 0.1, "names": ["a", "b"], "nested": {"none": None}}
TENSORS = {"w": np.array([0.1, np.pi, -0.0]), "i": np.array([1, 2], dtype=np.int64), "flag": np.array(True)}


@pytest.fixture
def folder(tmp_path):
    state_folder.save_state(tmp_path / "model", "test", CONTENT, TENSORS)
    return tmp_path / "model"


def test_content_and_arrays_come_back_exactly(folder):
    content, tensors = state_folder.load_state(folder, "test")
    assert content == CONTENT
    assert set(tensors) == set(TENSORS)
    for name, array in TENSORS.items():
        assert tensors[name].dtype == array.dtype
        assert tensors[name].tobytes() == array.tobytes()


def test_the_same_values_give_the_same_bytes(folder, tmp_path):
    state_folder.save_state(tmp_path / "again", "test", CONTENT, dict(reversed(TENSORS.items())))
    for name in (state_folder.CONFIG, state_folder.TENSORS):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("name", [state_folder.CONFIG, state_folder.TENSORS])
def test_no_flipped_bit_changes_what_is_loaded(folder, name):
    good = (folder / name).read_bytes()
    want = state_folder.load_state(folder, "test")
    for bit in range(0, 8 * len(good), 7):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        (folder / name).write_bytes(bad)
        try:
            content, tensors = state_folder.load_state(folder, "test")
        except (CorruptFile, MismatchError):
            continue
        assert content == want[0]
        assert all(np.array_equal(tensors[key], want[1][key]) for key in want[1])


@settings(max_examples=100)
@given(st.data())
def test_truncated_files_are_damage(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("state")
    state_folder.save_state(folder, "test", CONTENT, TENSORS)
    path = folder / data.draw(st.sampled_from([state_folder.CONFIG, state_folder.TENSORS]))
    good = path.read_bytes()
    path.write_bytes(good[: data.draw(st.integers(0, len(good) - 2))])
    with pytest.raises(CorruptFile):
        state_folder.load_state(folder, "test")


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


@pytest.mark.parametrize(
    "name", ["model.pkl", "pytorch_model.bin", "tensors.npz", state_folder.TENSORS, state_folder.CONFIG]
)
def test_pickles_are_never_loaded(folder, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (folder / name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises((TrustError, CorruptFile)):
        state_folder.load_state(folder, "test")
    assert not (tmp_path / "exploded").exists()


def test_links_out_of_the_folder_are_refused(folder, tmp_path):
    target = tmp_path / "elsewhere"
    (folder / state_folder.TENSORS).rename(target)
    (folder / state_folder.TENSORS).symlink_to(target)
    with pytest.raises(TrustError):
        state_folder.load_state(folder, "test")


def test_other_things_are_refused_by_name(folder, tmp_path):
    with pytest.raises(MismatchError, match="'test', not 'other'"):
        state_folder.load_state(folder, "other")
    with pytest.raises(FileError, match="not a folder"):
        state_folder.load_state(tmp_path / "none", "test")
    with pytest.raises(FileError, match="no saved model"):
        state_folder.load_state(tmp_path, "test")


@pytest.mark.parametrize(("change", "remedy"), [(-1, "newer miscal .* upgrade"), (1, "older miscal .* save the model")])
def test_a_state_of_another_version_is_refused(folder, monkeypatch, change, remedy):
    monkeypatch.setattr(state_folder, "VERSION", state_folder.VERSION + change)
    with pytest.raises(MismatchError, match=remedy):
        state_folder.load_state(folder, "test")
