"""A file is the old one or the new one, never a part of either; a folder has one owner; a full disk is said plainly."""

import os

import pytest

from miscal.base.errors import FileError, InputError, LockedError, ResourceError
from miscal.base.files import check_target, disk_errors, locked, replace_file


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
