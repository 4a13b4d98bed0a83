"""A file is the old one or the new one, never a part of either."""

import os

import pytest

from miscal.base.files import replace_file


def test_replaced_files_are_old_or_new(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    replace_file(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]
