"""Two runs compared: two pairs by their fields and by each other's corrections, one pair by both methods."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.errors import InputError
from miscal.base.folds import row_groups
from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.discovery.run import RunContent, read_run
from miscal.evidence.stability import seed_stability
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
from miscal.runs.compare.estimates import correlation_with_interval, equal_units, mean_of
from miscal.scoring.folder import MANIFEST
from miscal.study.pair_result import TableRows
from miscal.study.plan import StudyPair
from miscal.study.tables import attributes, with_ends

EMBEDDINGS = "embeddings"


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A pair's run, read back.

    `evaluated` (n,) marks the rows whose outcomes the saved field has not seen, or all rows where all are evaluated;
    `taught` (n,) those that it learned from.
    """

    pair: StudyPair
    rows: RunRows
    evaluated: NDArray[np.bool_]
    taught: NDArray[np.bool_]


def open_run(pair: StudyPair, run: RunContent) -> OpenRun:
    """Read the rows of a pair's run; an error if its data are gone or changed, or it was made from arrays."""
    rows = read_rows(run, pair.pair)
    split = np.array(run.table["split"].to_list(), dtype=object)
    everyone = split == None  # noqa: E711  element by element
    return OpenRun(pair, rows, everyone | (split == "test"), everyone | (split != "test"))


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
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
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
    if a.pair.dataset != b.pair.dataset:
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


def transfer_rows(a: tuple[StudyPair, Path], b: tuple[StudyPair, Path], method: str, *, seed: int = 0) -> TableRows:
    """Compare two pairs, each with its run folder: fields under one method, and each correction on the other pair.

    Fills ``transfer_fields`` (two rows, or none where the pairs share no questions) and ``transfer_corrections`` (a
    row for each direction in which a correction can be judged). `seed` is of the draws behind the intervals of
    correlations.

    Raises
    ------
    FileError, CorruptFile, MismatchError
        If a folder is no run or was changed, or its data are gone or are no longer what they were.
    InputError
        If a run was made from arrays, which cannot be read again.
    """
    read = [(pair, read_run(folder)) for pair, folder in (a, b)]
    spaces = (space_of(run.summary.settings["source"], pair.encoder) for pair, run in read)
    if a[0].dataset != b[0].dataset and not same_space(*spaces):
        # nothing can be compared, so the embeddings need not be read
        return {"transfer_fields": [], "transfer_corrections": []}
    one, two = (open_run(*run) for run in read)
    there, back = shared(one, two), shared(two, one)
    corrections = [*correction_rows(one, two, there, method), *correction_rows(two, one, back, method)]
    return {
        "transfer_fields": field_rows(one, two, there, method, seed=seed),
        "transfer_corrections": corrections,
    }


def field_rows(a: OpenRun, b: OpenRun, match: Match | None, method: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """Correlate two pairs' fields on the questions evaluated in both (``match``: which are the same).

    The interval holds for these two fields and further questions like these: questions are drawn again, and those that
    count as one, or have equal inputs, are drawn together. Fits are not repeated. There are two rows, "delta" and
    "hidden", or none without two shared questions. A correlation is null where one field is constant. A field of 0
    agrees in sign with another 0 only.
    """
    both = [] if match is None else np.flatnonzero(a.evaluated[match.a] & b.evaluated[match.b])
    if match is None or len(both) < 2:
        return []
    at_a, at_b = match.a[both], match.b[both]
    unit = side(a, at_a, match.unit[both]).unit
    known = {"method": method, "dataset": a.pair.dataset, "pair_a": a.pair.pair, "pair_b": b.pair.pair}
    rows = []
    for what, name in (("delta", "delta"), ("hidden", "field")):
        one, two = getattr(a.rows, name)[at_a], getattr(b.rows, name)[at_b]
        found = correlation_with_interval(one, two, unit, seed)
        agreement = seed_stability([one, two]).pairs[0].sign_agreement
        value = with_ends("correlation", found.value, found.interval, ends="")
        rows.append({**known, "n_shared": len(both), "what": what, **value, "sign_agreement": agreement})
    return rows


def correction_rows(a: OpenRun, b: OpenRun, match: Match | None, method: str) -> list[dict[str, Any]]:
    """Correct the evaluation rows of pair `b` by the saved field of pair `a` (``match``: which questions are the same).

    Questions that taught the field are left out, with whatever counts as one with them. Where all rows of a pair
    evaluated, its saved field has learned from all of them, so that no question that both pairs share is judged. There
    is no row where the inputs are not of one space, where no row is left to judge, or where two pairs of one data set
    do not say which of their questions are the same. The interval of the paired saving is Student's, over questions
    that count as one (Liang and Zeger, 1986).
    """
    unknown = a.pair.dataset == b.pair.dataset and match is None
    spaces = (space_of(one.rows.source, one.pair.encoder) for one in (a, b))
    at = () if unknown or not same_space(*spaces) else np.flatnonzero(unseen(b, a, match))
    if not len(at):
        return []
    correct, confidence = b.rows.correct[at], b.rows.confidence[at]
    transferred = log_losses(correct, _corrected(a, b, at))
    raw, own = log_losses(correct, confidence), log_losses(correct, b.rows.corrected[at])
    saved = mean_of(side(b, at), raw - transferred)
    return [
        {
            "method": method,
            "pair_from": a.pair.pair,
            "pair_to": b.pair.pair,
            "n": len(at),
            "log_loss_raw": float(raw.mean()),
            "log_loss_own": float(own.mean()),
            "log_loss_transferred": float(transferred.mean()),
            **with_ends("saved", float(saved.value[0]), saved.interval(0)),
        }
    ]


def _corrected(a: OpenRun, b: OpenRun, at: NDArray[np.int64]) -> np.ndarray:
    """Return the confidences of rows of `b`, corrected by the saved field of `a`."""
    source = b.rows.source
    taken = ("confidence", "probability", "embeddings", "embedding_rows", "where", "encoding")
    options = {name: source["options"].get(name) for name in taken}
    if kind_of(source) == TEXT:
        options["text"] = source["columns"]["text"]
    # rows that the run itself dropped may be in the file; they are not asked for
    table = a.rows.run.load_model().correct(source["path"], on_invalid="null", **options)
    place = np.searchsorted(table["row"].to_numpy(), b.rows.row[at])
    return table["corrected"].to_numpy()[place]


def duel_rows(pair: StudyPair, auto: RunContent, paper: RunContent, unit: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Compare the corrections of two methods on the same rows, in the same order: the row of the table ``duels``.

    There is none where no row is evaluated in both. `unit`, (n,), numbers the rows that count as one, because their
    inputs are equal or their group is; the interval is Student's, over units (Liang and Zeger, 1986).
    """
    tables = auto.table, paper.table
    evaluated = np.logical_and.reduce([table["split"].fill_null("test").to_numpy() == "test" for table in tables])
    at = np.flatnonzero(evaluated)
    if not len(at):
        return []
    correct = tables[0]["correct"].to_numpy()[at].astype(np.float64)
    ours, theirs = (log_losses(correct, table["corrected"].to_numpy()[at]) for table in tables)
    saved = mean_interval(theirs - ours, groups=unit[at])
    return [
        {
            **attributes(pair, "pair", "dataset", "model"),
            "n": len(at),
            "log_loss_auto": float(ours.mean()),
            "log_loss_paper": float(theirs.mean()),
            **with_ends("saved", saved.value, saved.interval),
        }
    ]
