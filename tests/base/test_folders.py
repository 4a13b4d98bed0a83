"""A saved state comes back bit by bit, or is refused; nothing in it can run."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base import folders
from miscal.base.errors import CorruptFile, FileError, MismatchError, TrustError
from miscal.base.folders import CellStore

CONTENT = {"scale": 0.1, "names": ["a", "b"], "nested": {"none": None}}
TENSORS = {"w": np.array([0.1, np.pi, -0.0]), "i": np.array([1, 2], dtype=np.int64), "flag": np.array(True)}


@pytest.fixture
def folder(tmp_path):
    folders.save_state(tmp_path / "model", "test", CONTENT, TENSORS)
    return tmp_path / "model"


def test_content_and_arrays_come_back_exactly(folder):
    content, tensors = folders.load_state(folder, "test")
    assert content == CONTENT
    assert set(tensors) == set(TENSORS)
    for name, array in TENSORS.items():
        assert tensors[name].dtype == array.dtype
        assert tensors[name].tobytes() == array.tobytes()


def test_the_same_values_give_the_same_bytes(folder, tmp_path):
    folders.save_state(tmp_path / "again", "test", CONTENT, dict(reversed(TENSORS.items())))
    for name in (folders.CONFIG, folders.TENSORS):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("name", [folders.CONFIG, folders.TENSORS])
def test_no_flipped_bit_changes_what_is_loaded(folder, name):
    good = (folder / name).read_bytes()
    want = folders.load_state(folder, "test")
    for bit in range(0, 8 * len(good), 7):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        (folder / name).write_bytes(bad)
        try:
            content, tensors = folders.load_state(folder, "test")
        except (CorruptFile, MismatchError):
            continue
        assert content == want[0]
        assert all(np.array_equal(tensors[key], want[1][key]) for key in want[1])


@settings(max_examples=100)
@given(st.data())
def test_truncated_files_are_damage(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("state")
    folders.save_state(folder, "test", CONTENT, TENSORS)
    path = folder / data.draw(st.sampled_from([folders.CONFIG, folders.TENSORS]))
    good = path.read_bytes()
    path.write_bytes(good[: data.draw(st.integers(0, len(good) - 2))])
    with pytest.raises(CorruptFile):
        folders.load_state(folder, "test")


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


@pytest.mark.parametrize("name", ["model.pkl", "pytorch_model.bin", "tensors.npz", folders.TENSORS, folders.CONFIG])
def test_pickles_are_never_loaded(folder, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (folder / name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises((TrustError, CorruptFile)):
        folders.load_state(folder, "test")
    assert not (tmp_path / "exploded").exists()


def test_links_out_of_the_folder_are_refused(folder, tmp_path):
    target = tmp_path / "elsewhere"
    (folder / folders.TENSORS).rename(target)
    (folder / folders.TENSORS).symlink_to(target)
    with pytest.raises(TrustError):
        folders.load_state(folder, "test")


def test_other_things_are_refused_by_name(folder, tmp_path):
    with pytest.raises(MismatchError, match="'test', not 'other'"):
        folders.load_state(folder, "other")
    with pytest.raises(FileError, match="not a folder"):
        folders.load_state(tmp_path / "none", "test")
    with pytest.raises(FileError, match="no saved model"):
        folders.load_state(tmp_path, "test")


@pytest.mark.parametrize(("change", "remedy"), [(-1, "newer miscal .* upgrade"), (1, "older miscal .* save the model")])
def test_a_state_of_another_version_is_refused(folder, monkeypatch, change, remedy):
    monkeypatch.setattr(folders, "VERSION", folders.VERSION + change)
    with pytest.raises(MismatchError, match=remedy):
        folders.load_state(folder, "test")


NAMES = ["first", "second", "third"]
ENDINGS = (".rows", ".json", ".more")


def fill(store: CellStore) -> list[str]:
    """Compute the cells that are missing; return their names."""
    missing = [name for name in NAMES if store.find(name) is None]
    for name in missing:
        files = {ending: lambda path, text=name + ending: path.write_text(text) for ending in (".rows", ".more")}
        store.save(name, {"cell": name, "n": len(name)}, files)
    return missing


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.whole
@given(name=st.sampled_from(NAMES), ending=st.sampled_from(ENDINGS), kept=st.integers(-1, 8), data=st.data())
def test_what_a_kill_or_damage_leaves_costs_one_cell_and_no_byte(name, ending, kept, data):
    with tempfile.TemporaryDirectory() as folder:
        store = CellStore(Path(folder), [".rows", ".more"])
        assert fill(store) == NAMES
        whole = content(store.folder)
        path = store.path(name, ending)
        before = path.read_bytes()
        if kept < 0:
            path.unlink()
        else:
            ways = [before[: min(kept, len(before) - 1)], before + b"y", b"{}", b"[]", b"3"]
            path.write_bytes(data.draw(st.sampled_from(ways)))
        assert [one for one in NAMES if store.find(one) is None] == [name]
        assert fill(store) == [name]
        assert content(store.folder) == whole


@pytest.mark.whole
def test_a_record_is_written_last(tmp_path):
    def stopped(path):
        raise KeyboardInterrupt

    store = CellStore(tmp_path / "cells", [".rows"])
    with pytest.raises(KeyboardInterrupt):
        store.save("first", {}, {".rows": stopped})
    assert list(store.folder.iterdir()) == []
    assert store.find("first") is None


@pytest.mark.whole
def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "cells").write_text("a file")
    with pytest.raises(FileError, match=r"folder .*cells"):
        CellStore(tmp_path / "cells").save("first", {})
