"""The folder of a study: its plan, finished cells, runs, splits and tables.

``plan.json`` is the plan as it was checked, ``cells`` has one file of JSON for each finished cell, ``pairs`` the run
folders, ``scored`` what models answered, ``keys`` and ``splits`` which question is on which side, ``tables`` what pages
are made from, ``revisions.json`` the commits of the hub's benchmarks, and ``timing.json`` how long each call took.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Self

from miscal.base.errors import CorruptFile, MismatchError
from miscal.base.files import check_target, digest, replace_file, resolve
from miscal.base.folders import CellStore
from miscal.study.plan import StudyCell, StudyPair, StudyPlan, differing, name_of, safe_name

PLAN, CELLS = "plan.json", "cells"
_TIMING, _REVISIONS = "timing.json", "revisions.json"
PLAN_YAML = "plan.yaml"
"""The plan as it was given, where it was made from a folder or given in Python."""


@dataclass(frozen=True)
class CellFolder:
    """A folder of finished cells and of what they were made with.

    Attributes
    ----------
    path : Path
        Absolute.
    """

    path: Path

    BEGUN: ClassVar[str]
    """File with which every such folder begins."""

    WRITER: ClassVar[str]
    """The command that writes it."""

    @classmethod
    def open(cls, out: str | Path) -> Self:
        """Make the folder, or take up one that the same command left.

        Raises
        ------
        InputError
            If it is a file, or holds files that the command did not write.
        """
        path = resolve(out)
        begun = (path / cls.BEGUN).exists()
        # a run that was killed at its very start leaves hidden halves of files
        there = [one.name for one in path.iterdir() if begun or one.name[0] == "."] if path.is_dir() else []
        check_target(out, overwrite=True, holds=there, writer=cls.WRITER)
        path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    @property
    def cells(self) -> CellStore:
        """The finished cells."""
        return CellStore(self.path / CELLS)

    def is_done(self, name: str) -> bool:
        """Whether a cell is finished."""
        return self.cells.path(name).exists()

    def record(self, name: str, keys: Collection[str]) -> dict[str, Any]:
        """Read a finished cell, which has these keys.

        Raises
        ------
        CorruptFile
            If its file was not written by miscal.
        """
        found = self.cells.find(name)
        if found is None or not found.keys() >= set(keys):
            raise CorruptFile(f"{self.cells.path(name)} is damaged: remove it and run the same command again")
        return found

    def timing(self) -> list[dict[str, Any]]:
        """Return how long earlier calls took."""
        return self._read(_TIMING) or []

    def add_timing(self, entry: dict[str, Any]) -> None:
        """Remember how long a call took."""
        self._write(_TIMING, [*self.timing(), entry])

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):
            raise CorruptFile(f"{self.path / name} is damaged: remove it and run the same command again") from None

    def _write(self, name: str, content: Any) -> None:
        replace_file(self.path / name, (json.dumps(content, indent=1) + "\n").encode())


class StudyFolder(CellFolder):
    """Where everything of a study lies."""

    BEGUN, WRITER = PLAN, "`miscal study`"

    # --- places ---------------------------------------------------------------------------------------------------

    def run(self, pair: str, method: str) -> Path:
        """Run folder of a pair under a method."""
        return self.path / "pairs" / pair / method

    def scored(self, pair: str) -> Path:
        """Folder of what a model answered."""
        return self.path / "scored" / pair

    def keys(self, pair: str) -> Path:
        """Table of the question that each row of a pair is about."""
        return self.path / "keys" / f"{pair}.parquet"

    def split(self, dataset: str) -> Path:
        """Table of the side that each question of a data set is on."""
        return self.path / "splits" / f"{safe_name(dataset)}.parquet"

    # --- cells ----------------------------------------------------------------------------------------------------

    def load(self, name: str) -> dict[str, Any]:
        """Read a finished cell; CorruptFile if its file was not written by miscal."""
        return self.record(name, ("settings", "rows", "facts", "seconds", "miscal"))

    def save(self, cell: StudyCell, rows: Any, facts: Any, seconds: float) -> None:
        """Keep the result of a cell; from then on it is done."""
        content = {
            "cell": cell.name,
            "settings": cell.settings,
            "facts": facts,
            "rows": rows,
            "seconds": round(seconds, 3),
            "miscal": metadata.version("miscal"),
        }
        self.cells.save(cell.name, content)

    # --- the plan -------------------------------------------------------------------------------------------------

    def adopt(self, plan: StudyPlan, cells: Sequence[StudyCell]) -> None:
        """Take up a plan, or refuse one that does not go with what is there.

        A plan may grow by pairs, interpretations and audits; a pair that has been measured stays in it.

        Raises
        ------
        MismatchError
            If cells were made with other settings, other data or another version of miscal, naming what differs.
        """
        if (before := self._read(PLAN)) is not None:
            self._refuse_lost(before, plan)
        for cell in cells:
            if self.is_done(cell.name):
                self._refuse_other(cell)
        sums: dict[Path, str] = {}
        for pair in plan.pairs:
            if pair.data is not None and self.is_done(name_of("read", pair.pair)):
                self._refuse_changed(pair, sums)
        self._write(PLAN, plan.model_dump(mode="json"))

    def write_yaml(self, content: Mapping[str, Any]) -> None:
        """Leave the plan as a YAML file that `miscal study` reads again."""
        import yaml

        text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=120)
        replace_file(self.path / PLAN_YAML, text.encode())

    def _refuse_lost(self, before: dict[str, Any], plan: StudyPlan) -> None:
        kept = {pair.pair for pair in plan.pairs}
        lost = [pair["pair"] for pair in before["pairs"] if pair["pair"] not in kept]
        measured = [pair for pair in lost if any((self.path / CELLS).glob(f"{name_of('measure', pair)}@*.json"))]
        if measured:
            raise MismatchError(
                f"{self.path} holds another study, because its pairs {', '.join(measured[:5])} are not in the plan: "
                "give another --out"
            )

    def _refuse_other(self, cell: StudyCell) -> None:
        there = self.load(cell.name)
        if there["miscal"] != metadata.version("miscal"):
            raise MismatchError(
                f"{self.path}: {cell.says} was made by another version of miscal ({there['miscal']}): give another "
                "--out"
            )
        changes = differing(there["settings"], json.loads(json.dumps(cell.settings)))
        if changes:
            raise MismatchError(
                f"{self.path}: {cell.says} was made with other settings: {'; '.join(changes)}. Use the same ones, or "
                "give another --out"
            )

    def _refuse_changed(self, pair: StudyPair, sums: dict[Path, str]) -> None:
        known = self.load(name_of("read", pair.pair))["facts"]["files"]
        for place in _files(pair):
            sums[place] = sums.get(place) or digest(place)
            # other files of a folder are not read
            read = place.name in known or str(place) in (pair.data, pair.embeddings)
            if read and sums[place] not in known.values():
                raise MismatchError(
                    f"{place} has changed since the pair {pair.pair} was read (its sha256 differs): put the old file "
                    "back, or give another --out"
                )

    def revisions(self) -> dict[str, str]:
        """Return the commits of the hub's benchmarks that earlier calls asked, by name."""
        return self._read(_REVISIONS) or {}

    def save_revisions(self, revisions: dict[str, str]) -> None:
        """Remember which commits of the hub's benchmarks are asked."""
        self._write(_REVISIONS, revisions)


def _files(pair: StudyPair) -> list[Path]:
    """Files of a pair that are there; the cells that still need one that is gone miss it themselves."""
    places = [Path(place) for place in (pair.data, pair.embeddings) if place is not None]
    inside = [file for place in places if place.is_dir() for file in sorted(place.iterdir())]
    return [place for place in (*places, *inside) if place.is_file()]


def plan_content(out: Path) -> dict[str, Any]:
    """Read the plan as it was checked; one without pairs where there is none, as beside tables that were copied."""
    try:
        found = json.loads((out / PLAN).read_bytes())
        return {"pairs": found["pairs"], "by": str(found.get("by", "model"))}
    except (OSError, ValueError, KeyError, TypeError):
        return {"pairs": [], "by": "model"}


def planned(out: Path) -> StudyPlan | None:
    """Read the plan; None where there is none in the folder, or one of another version of miscal."""
    try:
        return StudyPlan.model_validate_json((out / PLAN).read_bytes())
    except (OSError, ValueError):
        return None
