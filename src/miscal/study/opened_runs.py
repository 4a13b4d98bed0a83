"""Two pairs' runs, opened side by side: which rows are evaluated, and which are the same question."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.errors import InputError
from miscal.base.folds import row_groups
from miscal.discovery.run import RunContent
from miscal.runs.compare.compared_rows import (
    ID,
    TEXT,
    Match,
    RunRows,
    Side,
    has_column,
    kind_of,
    match_rows,
    read_rows,
    seen_in,
)
from miscal.runs.compare.estimates import equal_units
from miscal.scoring.folder import MANIFEST
from miscal.study.pair_result import Labels

EMBEDDINGS = "embeddings"


@dataclass(frozen=True)
class PairRun:
    """A pair, the folder of its run with the model, and what made its embeddings, as the plan names it."""

    labels: Labels
    folder: Path
    encoder: str | None = None


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A pair's run, read back.

    `evaluated` (n,) marks the rows whose outcomes the saved field has not seen, or all rows where all are evaluated;
    `taught` (n,) those that it learned from. `encoder` is what made its embeddings, as the plan names it.
    """

    labels: Labels
    rows: RunRows
    evaluated: NDArray[np.bool_]
    taught: NDArray[np.bool_]
    encoder: str | None = None

    @property
    def space(self) -> tuple[Any, ...] | None:
        """Of its inputs, from :func:`space_of`."""
        return space_of(self.rows.source, self.encoder)


def open_run(labels: Labels, run: RunContent, encoder: str | None = None) -> OpenRun:
    """Read the rows of a pair's run; an error if its data are gone or changed, or it was made from arrays."""
    rows = read_rows(run, labels.pair)
    split = np.array(run.table["split"].to_list(), dtype=object)
    everyone = split == None  # noqa: E711  element by element
    return OpenRun(labels, rows, everyone | (split == "test"), everyone | (split != "test"), encoder)


def space_of(source: dict[str, Any], encoder: str | None = None) -> tuple[Any, ...] | None:
    """Name the space of a pair's inputs: the saved field of a pair can take the inputs of another of the same space.

    Texts are one space, because they go through the encoder of the pair that taught; named columns are one if their
    names are the same. Embeddings of one width need not mean the same: those of a scored folder are of one space if
    model, revision and layer are equal in the manifests; others if the plan names one encoder for both, or if they are
    one file. None where it cannot be said. `source` is where the rows of a run come from, as the run noted it.

    Examples
    --------
    >>> few, many = ({"x": {"kind": "embeddings"}, "n_features": d} for d in (384, 768))
    >>> space_of(few, "minilm") == space_of(few, "minilm"), space_of(few, "minilm") == space_of(many, "minilm")
    (True, False)
    >>> space_of(few) is None
    True
    """
    kind = kind_of(source)
    if kind == TEXT:
        return (TEXT,)
    if kind[0] != EMBEDDINGS:
        return (*kind, source["n_features"])
    made = ("encoder", encoder) if encoder is not None else _made_by(source)
    return None if made is None else (EMBEDDINGS, source["n_features"], *made)


def _made_by(source: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return the model, revision and layer of a scored folder, else the digest of the file of embeddings."""
    place = source.get("columns", {}).get("x")
    if place is None:
        return None
    path = Path(place).resolve()
    try:
        settings = json.loads((path.parent / MANIFEST).read_text(encoding="utf-8"))["settings"]
        return tuple(settings[name] for name in ("model", "model.revision", "model.hidden_state"))
    except (OSError, ValueError, KeyError, TypeError):
        # no folder of `miscal score`: the file says what it is by its content alone
        sums = {Path(file["path"]): file["sha256"] for file in source["files"]}
        return ("file", sums[path]) if path in sums else None


def same_space(a: tuple[Any, ...] | None, b: tuple[Any, ...] | None) -> bool:
    """Say whether two spaces are known and equal.

    Examples
    --------
    >>> same_space(("text",), ("text",)), same_space(None, None)
    (True, False)
    """
    return a is not None and a == b


def shared(a: OpenRun, b: OpenRun) -> Match | None:
    """Match the questions that two pairs of one data set share; None for pairs of two data sets, or without a match.

    They are matched by row number in one file, ids, texts or inputs, as :func:`miscal.compare` does. Ids are believed
    even where nothing else is alike, because the plan says that both are one data set.
    """
    if a.labels.dataset != b.labels.dataset:
        return None
    found = match_rows(a.rows, b.rows)
    if found is None and has_column(a.rows, ID) and has_column(b.rows, ID):
        try:
            return match_rows(a.rows, b.rows, ID)
        except InputError:
            # no id in common
            return None
    return found


def unseen(b: OpenRun, a: OpenRun, match: Match | None) -> NDArray[np.bool_]:
    """Mark the rows of `b` (n,) that are evaluated and did not teach `a`, nor count as one with a row that did.

    `match` is that of :func:`shared`.
    """
    seen = seen_in(a.rows, a.taught, b.rows)
    if match is not None:
        seen[match.b[a.taught[match.a]]] = True
    unit = row_groups(b.rows.X, b.rows.group)
    return b.evaluated & ~np.isin(unit, unit[seen])


def side(run: OpenRun, at: NDArray[np.int64], unit: np.ndarray | None = None) -> Side:
    """Take rows (m,) of a run, with the units that count as one: those known already, else the named groups.

    Where no groups are named, rows with equal inputs count as one, too.
    """
    if unit is None:
        group = run.rows.group
        unit = np.arange(len(at)) if group is None else group[at].astype(str)
    known = Side(run.rows, at, np.unique(unit, return_inverse=True)[1])
    return Side(run.rows, at, np.unique(equal_units(known), return_inverse=True)[1])
