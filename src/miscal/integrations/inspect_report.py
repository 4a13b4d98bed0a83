"""Beside Inspect, and without it: calibration of scores that state a confidence, and a run folder beside a log.

Every function takes a list of (value, metadata), one for each score, and whether the confidences are percent. Scores
that cannot be used are left out with a warning. Where none is left the result is NaN, which is how Inspect writes that
there is no score: an error here would cost the evaluation all its other scores.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from logging import getLogger
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np

from miscal import metrics
from miscal.base.errors import InputError, MiscalError
from miscal.data.importers.logs import UnusableRow
from miscal.data.importers.stated_confidences import shares_of, stated
from miscal.data.importers.tools.inspect import right_or_wrong

logger = getLogger(__name__)

Scores = Sequence[tuple[Any, Any]]


def smece(scores: Scores, percent: bool | None = None) -> float:
    """Smooth calibration error of the scores, in [0, 1].

    Examples
    --------
    >>> round(smece([("C", {"confidence": 90})] * 9 + [("I", {"confidence": 90})]), 3)
    0.0
    """
    return _measured(metrics.smece, scores, percent)


def brier(scores: Scores, percent: bool | None = None) -> float:
    """Brier score of the scores, in [0, 1].

    Examples
    --------
    >>> brier([("C", {"confidence": 100}), ("I", {"confidence": 100})])
    0.5
    """
    return _measured(metrics.brier, scores, percent)


def overconfidence(scores: Scores, percent: bool | None = None) -> float:
    """Mean confidence minus accuracy, in [-1, 1].

    Examples
    --------
    >>> overconfidence([("C", {"confidence": 100}), ("I", {"confidence": 100})])
    0.5
    """
    return _measured(lambda correct, confidence: np.mean(confidence) - np.mean(correct), scores, percent)


def _measured(measure: Any, scores: Scores, percent: bool | None) -> float:
    correct, confidence = _triples(scores)
    if not correct:
        logger.warning("miscal: no score has a confidence and is right or wrong, so that there is nothing to measure")
        return math.nan
    try:
        shares = np.asarray(shares_of(confidence, percent))
    except InputError as error:
        logger.warning("miscal: %s; or say which by percent=True", error)
        return math.nan
    return float(measure(np.asarray(correct), shares))


def _triples(scores: Scores) -> tuple[list[int], list[float]]:
    """Return outcomes and confidences as they are stated, of the scores that have both."""
    correct, confidence, left_out = [], [], Counter()
    for value, metadata in scores:
        outcome, said = stated(value, metadata) or (None, None)
        if said is None:
            left_out["no confidence from 0 to 100 is stated"] += 1
            continue
        try:
            correct.append(right_or_wrong(outcome))
        except UnusableRow as reason:
            left_out[str(reason)] += 1
            continue
        confidence.append(said)
    for reason, n in left_out.items():
        logger.warning("miscal: %d of %d scores are left out: %s", n, len(scores), reason)
    return correct, confidence


_NOT_KINDS = ("sample_id", "epoch", "truncated")
"""Columns of an imported log that do not say of what kind a question is."""


def write_report(log: str) -> Path:
    """Discover on the samples of a log, and save the run beside it.

    Inputs are the texts of the questions and the metadata of the samples; the epochs of a question count as one.

    Parameters
    ----------
    log : str
        Path of the log, or its URI where that is of this machine.

    Returns
    -------
    Path
        The run folder, called as the log with ``-miscal`` behind it; its rows lie beside it, in a file that ends in
        ``-answers.parquet``. What miscal wrote before is replaced.

    Raises
    ------
    InputError
        If the log is on another machine, or its samples cannot be used.
    """
    from miscal.data.importers.imported import read_log
    from miscal.data.importers.logs import COLUMNS
    from miscal.runs.discover import discover

    place = _local(log)
    imported = read_log("inspect", place)
    data = imported.write(place.with_name(f"{place.stem}-answers.parquet"), overwrite=True)
    table = imported.table
    kinds = [one for one in table.columns if one not in (*COLUMNS, *_NOT_KINDS) and table[one].n_unique() > 1]
    repeated = table["sample_id"].n_unique() < len(table)
    text = {"text": "text", "embed_model": "tfidf"} if table["text"].null_count() == 0 else {"features": kinds}
    group = {"group": "sample_id"} if repeated else {}
    found = discover(data, confidence="confidence", correct="correct", metadata=kinds, progress=False, **text, **group)
    return found.save(place.with_name(f"{place.stem}-miscal"), overwrite=True)


def _local(log: str) -> Path:
    parts = urlparse(log)
    if parts.scheme in ("", "file"):
        return Path(unquote(parts.path) if parts.scheme else log)
    raise InputError(f"{log} is not a file of this machine: copy it here, then run `miscal import inspect` on it")


if __name__ == "__main__":
    try:
        print(write_report(sys.argv[1]) / "report.html")
    except MiscalError as error:
        sys.exit(str(error))
