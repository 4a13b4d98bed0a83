"""Two pairs' runs, opened side by side: which rows testify, and which are the same question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.errors import InputError
from miscal.base.folds import row_groups
from miscal.discovery.comparing.estimates import together
from miscal.discovery.comparing.rows import (
    ID,
    TEXT,
    Match,
    RunRows,
    has_column,
    kind_of,
    match_rows,
    read_rows,
    seen_in,
)
from miscal.discovery.comparing.sides import Side
from miscal.discovery.run import Run
from miscal.study.studied import Labels


@dataclass(frozen=True)
class RunOf:
    """A pair and the folder of its run.

    Attributes
    ----------
    labels : Labels
    folder : Path
        As `miscal discover` leaves it, with the model.
    """

    labels: Labels
    folder: Path


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A pair's run, read back.

    Attributes
    ----------
    labels : Labels
    rows : RunRows
        All of its rows.
    testifies : bool array of shape (n,)
        Rows whose outcomes the saved field has not seen, or all rows where all testify.
    taught : bool array of shape (n,)
        Rows that the saved field learned from.
    """

    labels: Labels
    rows: RunRows
    testifies: NDArray[np.bool_]
    taught: NDArray[np.bool_]


def open_run(labels: Labels, run: Run) -> OpenRun:
    """Read the rows of a pair's run.

    Raises
    ------
    FileError, MismatchError
        If its data are gone, or are no longer what they were.
    InputError
        If the run was made from arrays, which cannot be read again.
    """
    rows = read_rows(run, labels.pair)
    split = np.array(run.table["split"].to_list(), dtype=object)
    everyone = split == None  # noqa: E711  element by element
    return OpenRun(labels, rows, everyone | (split == "test"), everyone | (split != "test"))


def same_inputs(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Say whether the saved field of one run can take the inputs of the other; texts go through its own encoder.

    Parameters
    ----------
    a, b : dict
        Where their rows come from, as each run noted it.

    Examples
    --------
    >>> few, many = ({"x": {"kind": "embeddings"}, "n_features": d} for d in (384, 768))
    >>> same_inputs(few, few), same_inputs(few, many)
    (True, False)
    """
    kind = kind_of(a)
    return kind == kind_of(b) and (kind == TEXT or a["n_features"] == b["n_features"])


def shared(a: OpenRun, b: OpenRun) -> Match | None:
    """Match the questions that two pairs of one data set share.

    Parameters
    ----------
    a, b : OpenRun

    Returns
    -------
    Match or None
        By row number in one file, ids, texts or inputs, as :func:`miscal.compare` tells them. Ids are believed even
        where nothing else is alike, because the plan says that both are one data set. None where the pairs are of two
        data sets, or nothing matches.
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
    """Mark the rows of `b` that testify and did not teach `a`, nor count as one with a row that did.

    Parameters
    ----------
    b, a : OpenRun
        The pair that is judged, and the one that taught.
    match : Match or None
        From :func:`shared`.

    Returns
    -------
    bool array of shape (n,)
    """
    seen = seen_in(a.rows, a.taught, b.rows)
    if match is not None:
        seen[match.b[a.taught[match.a]]] = True
    unit = row_groups(b.rows.X, b.rows.group)
    return b.testifies & ~np.isin(unit, unit[seen])


def side(run: OpenRun, at: NDArray[np.int64], unit: np.ndarray | None = None) -> Side:
    """Take rows of a run, with the units that count as one.

    Parameters
    ----------
    run : OpenRun
    at : int64 array of shape (m,)
    unit : int array of shape (m,), optional
        Units known already. Without them, rows of one named group count as one.

    Returns
    -------
    Side
        Of which rows with equal inputs count as one too, where no groups are named.
    """
    if unit is None:
        group = run.rows.group
        unit = np.arange(len(at)) if group is None else group[at].astype(str)
    known = Side(run.rows, at, np.unique(unit, return_inverse=True)[1])
    return Side(run.rows, at, np.unique(together(known), return_inverse=True)[1])
