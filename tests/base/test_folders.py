"""Saved states come back bit by bit, or are refused; files are old or new, never a part of either."""

import os
import pickle
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from miscal.base import folders
from miscal.base.errors import CorruptFile, FileError, InputError, LockedError, MismatchError, ResourceError, TrustError
from miscal.base.files import check_target, disk_errors, locked, replace_file
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


@dataclass(frozen=True)
class Point:
    x: int
    by: Literal["hand", "rule"] = "hand"


class Base:
    pass


@dataclass(eq=False)
class Whole(Base):
    number: float
    name: str | None
    sure: bool
    place: tuple[float, Point]
    parts: tuple[np.ndarray, ...]
    weights: dict[Point, NDArray[np.float64]]
    named: dict[str, list[int]]
    anything: dict[str, Any]
    maybe: NDArray[np.float32] | None = None
    other: Base | None = None


class Plain(Base):
    learned_: float
    default_: int = 3


def whole(**changed):
    parts, other = (np.arange(3), np.zeros(0)), Plain()
    other.learned_ = 0.5
    weights = {Point(1): np.ones(2), Point(2, "rule"): np.zeros(1)}
    one = Whole(np.float32(0.5), None, True, (1.0, Point(3)), parts, weights, {"a": [1], "b": []}, {"k": [1, None]})
    return replace(one, other=other, **changed)


@pytest.mark.parametrize("maybe", [None, np.ones(2, np.float32)])
@pytest.mark.parametrize("weights", [{}, whole().weights])
def test_an_object_comes_back_as_it_was(tmp_path, maybe, weights):
    one = whole(maybe=maybe, weights=weights)
    folders.save_state(tmp_path, "test", *folders.state_of(one))
    again = folders.load(tmp_path, "test", Base)
    assert type(again) is Whole
    for name in ("number", "name", "sure", "place", "named", "anything"):
        assert getattr(again, name) == getattr(one, name)
    assert [part.tolist() for part in again.parts] == [part.tolist() for part in one.parts]
    assert {key: value.tolist() for key, value in again.weights.items()} == {
        key: value.tolist() for key, value in weights.items()
    }
    assert (again.maybe is None) == (maybe is None)
    assert (type(again.other), again.other.learned_, again.other.default_) == (Plain, 0.5, 3)


WRONG_VALUES = (
    {"number": "0.5"}, {"number": True}, {"number": None}, {"name": 3}, {"sure": 1}, {"place": [1.0]},
    {"place": [1.0, {"class": "Point", "x": 1.5, "by": "hand"}]},
    {"place": [1.0, {"class": "Point", "x": 1, "by": "chance"}]}, {"parts": [None] * 3}, {"parts": {}},
    {"weights": {"a": None}}, {"named": [["a", [1]]]}, {"other": {"class": "Path"}}, {"other": {}}, {"more": 1},
    {"class": "Bomb"}, {"class": ["Whole"]}, {"name": ...},
)  # fmt: skip
WRONG_ARRAYS = {"weights.0.1": np.arange(2)}, {"maybe": np.ones(2)}, {"parts.1": ...}


@pytest.mark.parametrize(
    ("values", "arrays"), [*((one, {}) for one in WRONG_VALUES), *(({}, one) for one in WRONG_ARRAYS)]
)
def test_values_and_arrays_of_other_types_than_the_class_names_are_refused(tmp_path, values, arrays):
    content, tensors = folders.state_of(whole())
    changed = content | values, tensors | arrays
    kept = [{name: value for name, value in part.items() if value is not ...} for part in changed]
    folders.save_state(tmp_path, "test", *kept)
    with pytest.raises(CorruptFile, match=r"do not fit together[^\n]*\Z"):
        folders.load(tmp_path, "test", Base)


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


def test_replaced_files_are_old_or_new(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    replace_file(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(ResourceError, match="the disk is full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_has_one_owner_until_the_block_ends_well_or_badly(tmp_path, inside):
    folder = tmp_path / "run"
    folder.mkdir()

    def fail_while_owning():
        with locked(folder, inside=inside):
            assert bool(list(folder.iterdir())) == inside
            with pytest.raises(LockedError, match="another miscal process"), locked(folder, inside=inside):
                pass
            raise RuntimeError("boom")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="boom"):
            fail_while_owning()
    assert list(tmp_path.rglob("*")) == [folder]


@pytest.mark.parametrize(("number", "kind"), [(28, ResourceError), (27, ResourceError), (13, FileError)])
def test_errors_of_the_disk_are_ours_and_name_the_place(number, kind):
    with pytest.raises(kind, match="folder a: ") as error, disk_errors("folder a"):
        raise OSError(number, "words of the system")
    assert isinstance(error.value.__cause__, OSError)
    with pytest.raises(InputError, match="mine"), disk_errors("folder a"):
        raise InputError("mine")


@pytest.mark.parametrize(
    ("out", "read", "holds"),
    [
        *((name, "rows.csv", None) for name in ("rows.csv", "again.csv", "link.csv", "../here/rows.csv")),
        ("rows.csv", "link.csv", None),
        ("folder/rows.csv", "folder", None),
        ("folder", "folder/rows.csv", ["rows.csv"]),
    ],
)
def test_what_is_read_is_never_replaced_under_any_name(tmp_path, monkeypatch, out, read, holds):
    (tmp_path / "here" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    for name in ("rows.csv", "folder/rows.csv"):
        (tmp_path / "here" / name).write_text("rows")
    os.link("rows.csv", "again.csv")
    os.symlink("rows.csv", "link.csv")
    others = [object(), None, "no column"]
    assert check_target(out, overwrite=True, holds=holds, reads=others) == (tmp_path / "here" / out).resolve()
    with pytest.raises(InputError, match="would replace what is read from"):
        check_target(out, overwrite=True, holds=holds, reads=[*others, read])
