"""The output folder: settings, finished cells, and who may write it.

``settings.json`` says what the cells were made with; ``cells/`` holds one file per finished cell, written whole or
not at all; ``timing.json`` how long each run took. A folder whose cells were made with other settings is refused.
"""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, FileError, InputError, MismatchError
from miscal.base.files import replace_file, resolve
from miscal.synthetic.cells import Cell, Record
from miscal.synthetic.settings import Settings, from_stored

VERSION = 1
_SETTINGS, _CELLS, _TIMING = "settings.json", "cells", "timing.json"


class Store:
    """A folder of cells.

    Parameters
    ----------
    out : str or Path
        Made, parents included, if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> cell = Cell("clusters", "auto", None, None, 0)
    >>> store.save(Record(cell, 0.9, 0.1, 2.0))
    >>> store.load(cell).r, store.has(Cell("clusters", "auto", None, None, 1))
    (0.9, False)
    """

    def __init__(self, out: str | Path) -> None:
        self.folder = resolve(out)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{out} is a file, not a folder: give another --out")
        if self.folder.is_dir() and not (self.folder / _SETTINGS).exists() and _holds_files(self.folder):
            raise InputError(f"{out} holds files, but none of `miscal synthetic`: give another --out")
        (self.folder / _CELLS).mkdir(parents=True, exist_ok=True)

    def adopt(self, settings: Settings) -> None:
        """Take up an experiment: remember its settings, or refuse those that do not go with the cells there.

        Seeds may be added to an experiment; everything else stays as it was.

        Raises
        ------
        MismatchError
            With the settings that differ.
        """
        made_by = {"version": VERSION, "miscal": metadata.version("miscal")}
        there = self._read(_SETTINGS) or made_by | {"cells": settings.of_cells(), "experiments": {}}
        if any(there.get(name) != value for name, value in made_by.items()):
            raise MismatchError(f"{self.folder} was written by another version of miscal: give another --out")
        before = there["experiments"].get(settings.name)
        differing = _differing(there["cells"], settings.of_cells())
        if before is not None:
            differing += _differing(before, settings.of_experiment())
        if differing:
            raise MismatchError(
                f"{self.folder} holds cells made with other settings: {'; '.join(differing)}. "
                "Use the same ones, or give another --out"
            )
        there["experiments"][settings.name] = settings.of_experiment()
        self._write(_SETTINGS, there)

    def experiments(self) -> list[Settings]:
        """Return the settings of all experiments taken up here."""
        there = self._read(_SETTINGS) or {"experiments": {}}
        return [from_stored(name, there["cells"], own) for name, own in there["experiments"].items()]

    def has(self, cell: Cell) -> bool:
        """Whether a cell is finished."""
        return self._path(cell).exists()

    def save(self, record: Record) -> None:
        """Keep a finished cell."""
        replace_file(self._path(record.cell), json.dumps(record.to_json(), allow_nan=False).encode())

    def load(self, cell: Cell) -> Record:
        """Read a finished cell."""
        path = self._path(cell)
        try:
            return Record.from_json(json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise FileError(f"{path} is missing: run the experiment again") from None
        except (ValueError, TypeError, KeyError):
            raise CorruptFile(f"{path} is damaged: remove it and run the experiment again") from None

    def add_timing(self, entry: dict[str, Any]) -> None:
        """Remember how long a run took."""
        self._write(_TIMING, [*self.timing(), entry])

    def timing(self) -> list[dict[str, Any]]:
        """Return the runs so far: experiment, jobs, cells computed, wall seconds."""
        return self._read(_TIMING) or []

    def _path(self, cell: Cell) -> Path:
        return self.folder / _CELLS / f"{cell.name}.json"

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise CorruptFile(f"{self.folder / name} is damaged: give another --out") from None

    def _write(self, name: str, content: Any) -> None:
        replace_file(self.folder / name, (json.dumps(content, indent=1) + "\n").encode())


def _holds_files(folder: Path) -> bool:
    # a run killed at its very start leaves empty folders and hidden halves of files
    return any(path.is_file() and not path.name.startswith(".") for path in folder.rglob("*"))


def _differing(there: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    return [
        f"{name} ({_shown(there.get(name))} there, {_shown(value)} asked)"
        for name, value in asked.items()
        if there.get(name) != value and not (name == "seeds" and value > there.get(name, 0))
    ]


def _shown(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)
