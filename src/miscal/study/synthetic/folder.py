"""The folder of experiments: settings, finished cells and times.

It holds ``settings.json``, what its cells were made with, ``cells.jsonl``, the finished cells, and
``timing.json``, how long each run took. A folder whose cells were made with other settings, or by another version of
miscal, is refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, MismatchError
from miscal.base.files import check_target, replace_file, resolve
from miscal.study.synthetic.cells import ExperimentCell, Record
from miscal.study.synthetic.settings import Settings, from_stored
from miscal.study.synthetic.store import Store

_SETTINGS, _CELLS, _TIMING = "settings.json", "cells.jsonl", "timing.json"


class ExperimentFolder:
    """An output folder: its finished cells and the settings they were made with.

    Parameters
    ----------
    out : str or Path
        Made, parents included, if it is not there.

    Raises
    ------
    InputError
        If it is a file, or holds files that `miscal synthetic` did not write.
    """

    def __init__(self, out: str | Path) -> None:
        self.path = path = resolve(out)
        begun = (path / _SETTINGS).exists()
        # a run killed at its very start leaves hidden halves of files
        there = [one.name for one in path.iterdir() if begun or one.name[0] == "."] if path.is_dir() else []
        check_target(out, overwrite=True, holds=there, writer="`miscal synthetic`")
        path.mkdir(parents=True, exist_ok=True)
        self.store = Store(self.path / _CELLS, ExperimentCell._fields)

    def adopt(self, settings: Settings) -> None:
        """Take up an experiment: remember its settings, or refuse those that do not go with the cells there.

        Seeds may be added to an experiment; everything else stays as it was.

        Raises
        ------
        MismatchError
            With the settings that differ.
        """
        if others := self.store.other_versions():
            raise MismatchError(
                f"{self.path} was written by another version of miscal ({', '.join(others)}): give another --out"
            )
        there = self._read(_SETTINGS) or {"cells": settings.of_cells(), "experiments": {}}
        before = there["experiments"].get(settings.name, {})
        differing = _differing(there["cells"], settings.of_cells()) + _differing(before, settings.of_experiment())
        if differing:
            raise MismatchError(
                f"{self.path} holds cells made with other settings: {'; '.join(differing)}. "
                "Use the same ones, or give another --out"
            )
        there["experiments"][settings.name] = settings.of_experiment()
        self._write(_SETTINGS, there)

    def experiments(self) -> list[Settings]:
        """Return the settings of all experiments taken up here."""
        there = self._read(_SETTINGS) or {"experiments": {}}
        return [from_stored(name, there["cells"], own) for name, own in there["experiments"].items()]

    def load(self, cell: ExperimentCell) -> Record:
        """Return a finished cell's record."""
        return Record.from_json(self.store[cell])

    def add_timing(self, entry: dict[str, Any]) -> None:
        """Remember how long a run took."""
        self._write(_TIMING, [*self.timing(), entry])

    def timing(self) -> list[dict[str, Any]]:
        """Return the runs so far: experiment, jobs, cells computed, wall seconds."""
        return self._read(_TIMING) or []

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise CorruptFile(f"{self.path / name} is damaged: give another --out") from None

    def _write(self, name: str, content: Any) -> None:
        replace_file(self.path / name, (json.dumps(content, indent=1) + "\n").encode())


def _differing(there: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    return [
        f"{name} ({_shown(there[name])} there, {_shown(value)} asked)"
        for name, value in asked.items()
        if name in there and there[name] != value and not (name == "seeds" and value > there[name])
    ]


def _shown(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)
