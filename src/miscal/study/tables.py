"""The folder of a study: its plan, finished cells, runs, splits; and its tables, how they are written and read.

``plan.json`` is the plan as it was checked, ``cells`` has one file of JSON for each finished cell, ``pairs`` the run
folders, ``scored`` what models answered, ``keys`` and ``splits`` which question is on which side, ``tables`` what
figures, pages and verdicts are made from and nothing else, ``revisions.json`` the commits of the hub's benchmarks, and
``timing.json`` how long each call took. The words of a study, of answers, of events and of both, are here, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from miscal.base.errors import CorruptFile, FileError, MismatchError
from miscal.base.files import check_target, digest, replace_file, resolve, write_whole
from miscal.base.folders import CellStore
from miscal.base.frames import read_parquet
from miscal.base.vocabulary import ANSWER, EVENT, vocabulary
from miscal.data.writing import defused
from miscal.findings.residuals import holm
from miscal.study.plan import METHODS, StudyCell, StudyPair, StudyPlan, differing, name_of, safe_name

Tables = Mapping[str, pl.DataFrame]
"""Tables of a study by name, with the columns of :data:`miscal.study.tables.TABLES`; each may be empty."""

LEARNED, RAW = "learned", "raw"

SOUGHT = 0.05
"""Hidden error of a tenth of the rows that the table ``pairs`` says how many rows would show."""

REGIONS = ("all", "over", "under", "good")
"""Regions that corrections are scored on, in the order of pages and figures: all rows, and the regimes of delta."""

_TYPES: Mapping[str, type[pl.DataType]]
_TYPES = {"text": pl.String, "whole": pl.Int64, "number": pl.Float64, "truth": pl.Boolean}


TABLES: dict[str, dict[str, type[pl.DataType]]] = {}
"""The columns of every table, in their order, with their types, as the page ``tables.md`` has them."""

MEANINGS: dict[str, dict[str, str]] = {}
"""What the columns of every table mean, by the same page."""


def _read_page() -> None:
    for line in Path(__file__).with_name("tables.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            types, meanings = TABLES.setdefault(line[4:-1], {}), MEANINGS.setdefault(line[4:-1], {})
        elif line.startswith("| `"):
            names, kind, meaning = line[2:-2].split(" | ", 2)
            columns = re.findall(r"\w+", names)
            types |= dict.fromkeys(columns, _TYPES[kind])
            meanings |= dict.fromkeys(columns, meaning.replace("\\|", "|"))


_read_page()


def read_tables(out: str | Path) -> dict[str, pl.DataFrame]:
    """Read every table of a study from its folder; one that is not there yet is empty.

    Raises
    ------
    FileError
        If the folder has no tables at all.
    CorruptFile
        If a table cannot be read or lacks a column.
    """
    folder = Path(out) / "tables"
    if not folder.is_dir():
        raise FileError(f"{out}: no tables of a study are there; give the folder that `miscal study` wrote")
    return {name: _read(folder / f"{name}.parquet", name) for name in TABLES}


def _read(path: Path, name: str) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame(schema=TABLES[name])
    try:
        return read_parquet(path).select(pl.col(column).cast(kind) for column, kind in TABLES[name].items())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise CorruptFile(f"{path}: {str(error).splitlines()[0]}; run `miscal study` again to write it anew") from None


def write_tables(folder: StudyFolder, cells: Sequence[StudyCell], failures: Sequence[Mapping[str, Any]]) -> None:
    """Write every table as parquet and csv: what the cells of the plan left, and the rows of ``failures``.

    Rows come in the order of the plan's cells, and within a cell as it made them: the same cells give the same bytes,
    whichever was finished first.
    """
    done = [folder.load(cell.name)["rows"] for cell in cells if folder.is_done(cell.name)]
    place = folder.path / "tables"
    place.mkdir(exist_ok=True)
    for name in TABLES:
        table = frame(name, failures if name == "failures" else [row for rows in done for row in rows.get(name, ())])
        if name == "groups":
            table = adjust(table)
        write_whole(place / f"{name}.parquet", table.write_parquet)
        write_whole(place / f"{name}.csv", defused(table).write_csv)


def adjust(groups: pl.DataFrame) -> pl.DataFrame:
    """Fill in ``p_adjusted``: Holm (1979) over all cells of one method that have a p-value, whatever their data set.

    >>> table = pl.DataFrame({"method": ["auto"] * 3, "p_value": [0.01, 0.04, None], "p_adjusted": [None] * 3})
    >>> adjust(table)["p_adjusted"].to_list()
    [0.02, 0.04, None]
    """
    values = np.full(groups.height, np.nan)
    p_value, method = groups["p_value"].cast(pl.Float64).fill_null(np.nan).to_numpy(), groups["method"].to_numpy()
    for one in dict.fromkeys(method):
        tested = (method == one) & ~np.isnan(p_value)
        values[tested] = holm(p_value[tested])
    return groups.with_columns(pl.Series("p_adjusted", values, pl.Float64).fill_nan(None))


def frame(name: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table with the columns and types of :data:`miscal.study.tables.TABLES`.

    >>> frame("failures", []).columns
    ['pair', 'dataset', 'model', 'step', 'message']
    """
    return pl.DataFrame(rows, schema=TABLES[name], orient="row")


def attributes(source: object, *names: str) -> dict[str, Any]:
    """Fill columns with the attributes of their names."""
    return {name: getattr(source, name) for name in names}


def with_ends(
    name: str, value: float | None, interval: tuple[float, float] | None, ends: str | None = None
) -> dict[str, float | None]:
    """Fill the column of a number and those of the ends of its interval, null where there is none.

    >>> with_ends("gain", 0.5, (0.25, 0.75)), with_ends("gain", 0.5, None, ends="")
    ({'gain': 0.5, 'gain_low': 0.25, 'gain_high': 0.75}, {'gain': 0.5, 'low': None, 'high': None})
    """
    start, (low, high) = f"{name}_" if ends is None else ends, interval or (None, None)
    return {name: value, f"{start}low": low, f"{start}high": high}


def methods_of(table: pl.DataFrame) -> list[str]:
    """Return the methods that a table holds, the paper's first.

    >>> methods_of(pl.DataFrame({"method": ["auto", "paper", "auto"]}))
    ['paper', 'auto']
    """
    held = set(table["method"].to_list())
    return [method for method in METHODS if method in held]


def of_method(table: pl.DataFrame, method: str, geometry: str | None = None) -> pl.DataFrame:
    """Return the rows of one method, and of one geometry where one is named.

    >>> table = pl.DataFrame({"method": ["paper", "auto"], "geometry": ["raw", "learned"]})
    >>> of_method(table, "paper").height, of_method(table, "paper", "learned").height
    (1, 0)
    """
    return table.filter(method=method) if geometry is None else table.filter(method=method, geometry=geometry)


# --- the folder -------------------------------------------------------------------------------------------------------

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
        content = {"cell": cell.name, "settings": cell.settings, "facts": facts, "rows": rows}
        content |= {"seconds": round(seconds, 3), "miscal": metadata.version("miscal")}
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
        return {"by": "model", **found, "pairs": list(found["pairs"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"pairs": [], "by": "model"}


# --- words: no figure, table or claim asks which kind its pairs are of ------------------------------------------------

Words = Mapping[str, str]
"""Words by what they stand for, each as it stands within a sentence.

`probability` is what models state, `rate` how often it comes true, `rate_meaning` the heading of its column; `over` and
`under` are said of probabilities that are higher, or lower, than how often they come true; `error` is what is so of
probabilities in which something is hidden, with its verb. `row` is what the models of a data set share, `judged` what
they did with it, `left` what deferral leaves to somebody else, and `errors` what is counted among the rows that it
leaves with the model. `model` and `models` are what is compared: the values of the column that a plan was made by.
"""

_ANSWER, _EVENT = vocabulary(ANSWER), vocabulary(EVENT)
_WORDS = {
    "probability": (_ANSWER.probability, _EVENT.probability, "probability"),
    "probabilities": (_ANSWER.probabilities, _EVENT.probabilities, "probabilities"),
    "rate": (_ANSWER.rate, _EVENT.rate, "accuracy or event rate"),
    "rate_meaning": ("share of right answers", "how often the event happens",
                     "share of right answers; where marked, how often the event happens"),
    "over": (_ANSWER.over, _EVENT.over, f"{_ANSWER.over} or {_EVENT.over}"),
    "under": (_ANSWER.under, _EVENT.under, f"{_ANSWER.under} or {_EVENT.under}"),
    "error": ("the confidence is wrong", "the predicted risk is off", "the probability is wrong"),
    "row": ("question", "row", "question"),
    "rows": ("questions", "rows", "questions"),
    "judged": ("answered", "predicted", "judged"),
    "left": ("answers", "rows", "answers or forecasts"),
    "errors": ("risk", "failed forecasts", "risk"),
    "model": ("model", "model", "model"),
    "models": ("models", "models", "models"),
}  # fmt: skip
"""Words of answers, of events, and of both."""

ANSWERS, EVENTS, BOTH = ({name: words[kind] for name, words in _WORDS.items()} for kind in range(3))


def vocabulary_of(pairs: pl.DataFrame, by: str = "model") -> Words:
    """Return the words for rows of the table ``pairs``, whose column ``outcome`` says what each is of.

    `by` is the name of the column whose values are compared.

    >>> vocabulary_of(pl.DataFrame({"outcome": ["event", "event"]}))["rate"]
    'event rate'
    >>> words = vocabulary_of(pl.DataFrame({"outcome": ["event", "answer"]}), "origin")
    >>> words["rate"], words["models"]
    ('accuracy or event rate', 'origins')
    """
    events = pairs["outcome"] == EVENT
    words = EVENTS if pairs.height and events.all() else BOTH if events.any() else ANSWERS
    return words | {"model": by, "models": f"values of {by}" if by.endswith(("s", "x", "h", "y")) else f"{by}s"}
