"""Results of cells in a folder, each whole or not there, so that a command that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from miscal.base.files import digest, disk_errors, has_digest, replace_file, write_whole


class CellStore:
    """The results of a command that is done in cells.

    A cell is one file of JSON, its record, which is written last, and files of its own beside it, whose sha256 the
    record holds. It is finished when all of them are there and fit, and is computed again otherwise: a process that is
    killed loses the cell that it was computing, and no other.

    Parameters
    ----------
    folder : Path
        Made with the first cell.
    endings : collection of str, default ()
        Of the files that every cell has beside its record.

    >>> import tempfile
    >>> store = CellStore(Path(tempfile.mkdtemp()), [".txt"])
    >>> store.save("first", {"n": 2}, {".txt": lambda path: path.write_text("two rows")})
    >>> store.find("first")["n"], store.find("second")
    (2, None)
    >>> _ = store.path("first", ".txt").write_text("damaged"); store.find("first") is None
    True
    """

    def __init__(self, folder: Path, endings: Collection[str] = ()) -> None:
        self.folder, self.endings = folder, frozenset(endings)

    def path(self, name: str, ending: str = ".json") -> Path:
        """Return the place of a cell's file: of its record, or with another ending."""
        return self.folder / f"{name}{ending}"

    def save(
        self, name: str, record: Mapping[str, Any], files: Mapping[str, Callable[[Path], object]] | None = None
    ) -> None:
        """Keep the result of a cell; from then on it is finished.

        Parameters
        ----------
        record : mapping
            JSON values.
        files : mapping of str to callable, optional
            What writes each of its files, by ending; called with the path to write to.
        """
        with disk_errors(f"folder {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            for ending, write in (files or {}).items():
                write_whole(self.path(name, ending), write)
            sums = {"sha256": {ending: digest(self.path(name, ending)) for ending in files}} if files else {}
            replace_file(self.path(name), (json.dumps({**record, **sums}, allow_nan=False) + "\n").encode())

    def find(self, name: str) -> dict[str, Any] | None:
        """Return the record of a cell; None if it is not finished, or damaged."""
        try:
            record = json.loads(self.path(name).read_bytes())
            sums = record.pop("sha256", {})
            fit = all(has_digest(self.path(name, ending), wanted) for ending, wanted in sums.items())
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return None
        return record if fit and self.endings == set(sums) else None
