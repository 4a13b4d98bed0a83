"""Two runs compared: two pairs by their fields and by each other's corrections, one pair by both methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.discovery.run import RunContent, read_run
from miscal.evidence.stability import seed_stability
from miscal.runs.compare.compared_rows import TEXT, Match, kind_of
from miscal.runs.compare.estimates import correlation_with_interval, mean_of
from miscal.study.opened_runs import OpenRun, PairRun, open_run, same_space, shared, side, space_of, unseen
from miscal.study.pair_result import Labels, TableRows
from miscal.study.tables import attributes, with_ends


def transfer_rows(a: PairRun, b: PairRun, method: str, *, seed: int = 0) -> TableRows:
    """Compare the fields of two pairs under one method, and judge each pair's correction on the other.

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
    first, second = read_run(a.folder), read_run(b.folder)
    spaces = (space_of(run.summary.settings["source"], of.encoder) for run, of in ((first, a), (second, b)))
    if a.labels.dataset != b.labels.dataset and not same_space(*spaces):
        # nothing can be compared, so the embeddings need not be read
        return {"transfer_fields": [], "transfer_corrections": []}
    one, two = open_run(a.labels, first, a.encoder), open_run(b.labels, second, b.encoder)
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
    known = {"method": method, "dataset": a.labels.dataset, "pair_a": a.labels.pair, "pair_b": b.labels.pair}
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
    unknown = a.labels.dataset == b.labels.dataset and match is None
    at = () if unknown or not same_space(a.space, b.space) else np.flatnonzero(unseen(b, a, match))
    if not len(at):
        return []
    correct, confidence = b.rows.correct[at], b.rows.confidence[at]
    transferred = log_losses(correct, _corrected(a, b, at))
    raw, own = log_losses(correct, confidence), log_losses(correct, b.rows.corrected[at])
    saved = mean_of(side(b, at), raw - transferred)
    return [
        {
            "method": method,
            "pair_from": a.labels.pair,
            "pair_to": b.labels.pair,
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
    taken = ("confidence", "probability", "embeddings", "embedding_rows", "where", "encoding", "csv_escape")
    options = {name: source["options"].get(name) for name in taken}
    if kind_of(source) == TEXT:
        options["text"] = source["columns"]["text"]
    # rows that the run itself dropped may be in the file; they are not asked for
    table = a.rows.run.load_model().correct(source["path"], on_invalid="null", **options)
    place = np.searchsorted(table["row"].to_numpy(), b.rows.row[at])
    return table["corrected"].to_numpy()[place]


def duel_rows(labels: Labels, auto: RunContent, paper: RunContent, unit: NDArray[np.int64]) -> list[dict[str, Any]]:
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
            **attributes(labels, "pair", "dataset", "model"),
            "n": len(at),
            "log_loss_auto": float(ours.mean()),
            "log_loss_paper": float(theirs.mean()),
            **with_ends("saved", saved.value, saved.interval),
        }
    ]
