"""A bundle comes back bit by bit, or is refused; nothing in it can run."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base import state_folder as bundles
from miscal.base.errors import CorruptFile, FileError, MismatchError, TrustError

CONTENT = {"scale": 0.1, "names": ["a", "b"], "nested": {"none": None}}
TENSORS = {"w": np.array([0.1, np.pi, -0.0]), "i": np.array([1, 2], dtype=np.int64), "flag": np.array(True)}


@pytest.fixture
def folder(tmp_path):
    bundles.save_bundle(tmp_path / "model", "test", CONTENT, TENSORS)
    return tmp_path / "model"


def test_content_and_arrays_come_back_exactly(folder):
    content, tensors = bundles.load_bundle(folder, "test")
    assert content == CONTENT
    assert set(tensors) == set(TENSORS)
    for name, array in TENSORS.items():
        assert tensors[name].dtype == array.dtype
        assert tensors[name].tobytes() == array.tobytes()


def test_the_same_values_give_the_same_bytes(folder, tmp_path):
    bundles.save_bundle(tmp_path / "again", "test", CONTENT, dict(reversed(TENSORS.items())))
    for name in (bundles.CONFIG, bundles.TENSORS):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("name", [bundles.CONFIG, bundles.TENSORS])
def test_no_flipped_bit_changes_what_is_loaded(folder, name):
    good = (folder / name).read_bytes()
    want = bundles.load_bundle(folder, "test")
    for bit in range(0, 8 * len(good), 7):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        (folder / name).write_bytes(bad)
        try:
            content, tensors = bundles.load_bundle(folder, "test")
        except (CorruptFile, MismatchError):
            continue
        assert content == want[0]
        assert all(np.array_equal(tensors[key], want[1][key]) for key in want[1])


@settings(deadline=None)
@given(st.data())
def test_truncated_files_are_damage(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("bundle")
    bundles.save_bundle(folder, "test", CONTENT, TENSORS)
    path = folder / data.draw(st.sampled_from([bundles.CONFIG, bundles.TENSORS]))
    good = path.read_bytes()
    path.write_bytes(good[: data.draw(st.integers(0, len(good) - 2))])
    with pytest.raises(CorruptFile):
        bundles.load_bundle(folder, "test")


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


@pytest.mark.parametrize("name", ["model.pkl", "pytorch_model.bin", "tensors.npz", bundles.TENSORS, bundles.CONFIG])
def test_pickles_are_never_loaded(folder, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (folder / name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises((TrustError, CorruptFile)):
        bundles.load_bundle(folder, "test")
    assert not (tmp_path / "exploded").exists()


def test_links_out_of_the_folder_are_refused(folder, tmp_path):
    target = tmp_path / "elsewhere"
    (folder / bundles.TENSORS).rename(target)
    (folder / bundles.TENSORS).symlink_to(target)
    with pytest.raises(TrustError):
        bundles.load_bundle(folder, "test")


def test_other_things_are_refused_by_name(folder, tmp_path):
    with pytest.raises(MismatchError, match="'test', not 'other'"):
        bundles.load_bundle(folder, "other")
    with pytest.raises(FileError, match="not a folder"):
        bundles.load_bundle(tmp_path / "none", "test")
    with pytest.raises(FileError, match="no saved model"):
        bundles.load_bundle(tmp_path, "test")


@pytest.mark.parametrize(("change", "remedy"), [(-1, "newer miscal .* upgrade"), (1, "older miscal .* save the model")])
def test_a_bundle_of_another_version_is_refused(folder, monkeypatch, change, remedy):
    monkeypatch.setattr(bundles, "VERSION", bundles.VERSION + change)
    with pytest.raises(MismatchError, match=remedy):
        bundles.load_bundle(folder, "test")
