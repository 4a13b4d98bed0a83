"""The store of cells: whatever a kill leaves of one, the others stay, and going on gives the same bytes."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.cell_store import CellStore
from miscal.base.errors import FileError

pytestmark = pytest.mark.whole

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


def test_a_record_is_written_last(tmp_path):
    def stopped(path):
        raise KeyboardInterrupt

    store = CellStore(tmp_path / "cells", [".rows"])
    with pytest.raises(KeyboardInterrupt):
        store.save("first", {}, {".rows": stopped})
    assert list(store.folder.iterdir()) == []
    assert store.find("first") is None


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "cells").write_text("a file")
    with pytest.raises(FileError, match=r"folder .*cells"):
        CellStore(tmp_path / "cells").save("first", {})
