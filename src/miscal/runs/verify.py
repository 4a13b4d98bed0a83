"""Verify a scan or a run: what follows from the cells, or from the rows, that lie beside its summary."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.errors import CorruptFile, FileError, MiscalError
from miscal.base.files import digest
from miscal.base.signatures import checked_call
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics import METRICS
from miscal.calibration.metrics.scores import log_losses, squared_errors
from miscal.calibration.survey_design import average
from miscal.data.readers.table import own_parquet
from miscal.data.triples import Triples
from miscal.discovery import measurements
from miscal.discovery.run import RunContent
from miscal.discovery.run_folder import check_seal
from miscal.discovery.summary import read_summary
from miscal.findings.ledger.groups import frame_of_rows
from miscal.runs.scan.command import summarised
from miscal.runs.scan.document import CELLS, CORRECTION, PYTHON, SQL, SUMMARY, read_cells

TOLERANCE = 1e-9
_NOT_COMPUTED = ("digest", "versions", "seconds")
NOT_FROM_CELLS = (
    "that the cells are counts of the rows they are said to be of: who has the rows can scan them again",
    "the time that the scan took",
)
"""What cells cannot show."""
FIELD = "field.parquet"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
NOT_FROM_ROWS = (
    "field and corrected probabilities: who has the rows can discover again",
    "intervals, p-values and the choice of findings and parts, for which folds and draws are needed",
)
"""What the table of a run cannot show."""


@dataclass(frozen=True)
class Verified:
    """What became of a verification.

    Attributes
    ----------
    source : str
        What they were computed from.
    numbers : int
        Numbers and texts that were compared.
    differences : tuple of str
        Each place that differs: what is written, and what follows from the cells.
    not_checked : tuple of str
        What cannot be computed from cells.
    seconds : float
        How long it took.

    Examples
    --------
    >>> Verified("the cells", 2, ("summary.n: 10 is written, 11 follows from the cells",), (), 0.1).equal
    False
    """

    source: str
    numbers: int
    differences: tuple[str, ...]
    not_checked: tuple[str, ...]
    seconds: float

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


@checked_call
def verify(folder: str | Path) -> Verified:
    """Compute the summary of a scan again from its cells, and compare it number by number, to 1e-9.

    Of a run of :func:`miscal.discover` it computes what follows from ``field.parquet``: counts, means, losses, regimes,
    and, where the data are at hand, findings.

    Parameters
    ----------
    folder : str or Path
        A folder that ``miscal scan`` or ``miscal discover`` wrote.

    Returns
    -------
    Verified
        What differs, if anything.

    Raises
    ------
    FileError, CorruptFile
        If files are missing, or hold something else.

    Examples
    --------
    >>> verify("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder is no scan and no run: it has neither cells.parquet nor field.parquet
    """
    start, place = time.monotonic(), Path(folder)
    if (place / FIELD).is_file():
        return _verified_run(place, start)
    if not (place / CELLS).is_file():
        raise FileError(f"{folder} is no scan and no run: it has neither {CELLS} nor {FIELD}")
    written, correction = _json(place / SUMMARY), _json(place / CORRECTION)
    found = summarised(read_cells(place / CELLS), start)
    again = found.summary.model_dump(mode="json", by_alias=True)
    seen = digest(place / CELLS)
    differences = []
    if written.get("digest") != seen:
        differences.append(f"digest of {CELLS}: {written.get('digest')} is written, the file has {seen}")
    if (version := (written.get("versions") or {}).get("miscal")) != again["versions"]["miscal"]:
        differences.append(f"version: written by miscal {version}, computed by {again['versions']['miscal']}")
    for name in _NOT_COMPUTED:
        written.pop(name, None)
        again.pop(name, None)
    pairs = [("summary", written, again)]
    again_correction = again["correction"] | {"probability": again["probability"]}
    pairs.append(("correction", correction, again_correction))
    many = 0
    for name, one, other in pairs:
        for where, a, b, same in _compared(one, other, name):
            many += 1
            if not same:
                differences.append(f"{where}: {_shown(a)} is written, {_shown(b)} follows from the cells")
    for name, able in ((SQL, (found.sql("ansi"), found.sql("spark"))), (PYTHON, (found.python(),))):
        text = (place / name).read_text(encoding="utf-8") if (place / name).is_file() else ""
        if not any(_same_text(text, one) for one in able):
            differences.append(f"{name} is not what follows from the cells")
    return Verified("the cells", many + 2, tuple(differences), NOT_FROM_CELLS, time.monotonic() - start)


def _verified_run(place: Path, start: float) -> Verified:
    differences, not_checked = [], list(NOT_FROM_ROWS)
    try:
        check_seal(place)
    except CorruptFile as error:
        differences.append(str(error))
    written = _json(place / SUMMARY)
    run = RunContent(read_summary(place), own_parquet(place / FIELD), *(pl.DataFrame(),) * 3, path=place)
    triples = None
    try:
        triples = run.triples()
    except MiscalError as error:
        not_checked.append(f"findings, because the data could not be read again: {str(error)[:200]}")
    if triples is None and run.summary.weights is not None:
        not_checked.append("weighted means: the weights are in the data")
        again: dict[str, Any] = {"n": len(run.table)}
    else:
        again = numbers_of_rows(run, triples)
    many = 0
    for where, a, b, same in _compared(_part(written, again), again, "summary"):
        many += 1
        if not same:
            differences.append(f"{where}: {_shown(a)} is written, {_shown(b)} follows from the rows")
    return Verified("the rows", many, tuple(differences), tuple(not_checked), time.monotonic() - start)


def numbers_of_rows(run: RunContent, triples: Triples | None) -> dict[str, Any]:
    """Compute what follows from the table of a run, named as in its summary; findings where the data are given."""
    table, summary = run.table, run.summary
    weight = None if triples is None else triples.weight
    if triples is not None:
        triples = triples.take(np.searchsorted(triples.row, table["row"].to_numpy()))
        weight = triples.weight
    values = {
        name: table[name].cast(float).to_numpy()
        for name in ("confidence", "correct", "corrected", "delta", "visible", "hidden")
    }
    every = LabelledRows.of(values["correct"], values["confidence"], weight=weight)
    inside = run.evaluated.to_numpy()
    rows = replace(every, delta=values["delta"], hidden=values["hidden"]).take(inside)
    regime, hidden_regime = (np.array(table[name].to_list(), object)[inside] for name in ("regime", "hidden_regime"))
    corrected, supported = values["corrected"][inside], table["supported"].to_numpy()[inside]
    smece = METRICS["smece"].value_of
    whole = {name: {"value": metric.value_of(rows)} for name, metric in METRICS.items()}
    # nothing is learned for these: they are of all rows
    whole |= {name: {"value": METRICS[name].value_of(every)} for name in ("accuracy", "confidence")}
    compared = measurements.comparison(rows, {"raw": rows.confidence, "miscal": corrected}, regime)
    losses = {"brier": squared_errors, "log_loss": log_losses}
    gains = {name: one(rows.correct, rows.confidence) - one(rows.correct, corrected) for name, one in losses.items()}
    found = {
        "n": len(every),
        "share_extreme": measurements.share_extreme(every),
        "global": whole,
        "field": measurements.field_numbers(
            rows, regime, supported, visible=values["visible"][inside], structure=summary.field.structure
        ).model_dump(mode="json"),
        "regimes": [
            _of_regime(own) | ({"smece": {"value": smece(own)}} if len(own) else {})
            for own in (rows.take(regime == one.name) for one in summary.regimes)
        ],
        "hidden_regimes": [_of_regime(rows.take(hidden_regime == one.name)) for one in summary.hidden_regimes],
        "correction": {name: one.model_dump(mode="json") for name, one in compared.items()},
        "corrected_smece": {"value": smece(replace(rows, confidence=corrected))},
        "gains": {"raw": {name: {"value": average(saved, rows.weight)} for name, saved in gains.items()}},
        "histogram": measurements.histogram(rows.delta, regime, summary.settings["epsilon"]).model_dump(mode="json"),
    }
    slices = [
        own["smece"]["value"]
        for own, one in zip(found["regimes"], summary.regimes, strict=True)
        if one.name != "good" and own["n"] >= summary.settings["min_rows"]
    ]
    if slices:
        found["gap"] = {"value": max(slices) - whole["smece"]["value"]}
    if triples is None:
        return found
    own = triples.take(np.flatnonzero(inside))
    frame = frame_of_rows(
        own.metadata, own.X, run.load_model().encoder, text=own.text, clusters=run.load_clusters(), hidden=rows.hidden
    )
    found["findings"] = [{} for _ in summary.findings]
    for said, one in zip(found["findings"], summary.findings, strict=True):
        # an end of the field is one of the fields before it, which are not written
        if one.condition.lacks(frame) is None and not one.condition.on_field:
            members = one.condition.rows(frame)
            said |= _means(rows.take(members)) | {"corrected": average(corrected[members], rows.take(members).weight)}
    return found


def _means(rows: LabelledRows) -> dict[str, Any]:
    """Return what is said of some rows; of none, how many they are."""
    if not len(rows):
        return {"n": 0}
    means = {"accuracy": rows.correct, "confidence": rows.confidence, "residual": rows.correct - rows.confidence}
    return {"n": len(rows)} | {name: average(values, rows.weight) for name, values in means.items()}


def _of_regime(rows: LabelledRows) -> dict[str, Any]:
    found = _means(rows)
    return found | {"residual": {"value": found["residual"]}} if len(rows) else found


def _part(written: Any, again: Any) -> Any:
    """Return what is written at the places of another document."""
    if isinstance(written, dict) and isinstance(again, dict):
        return {name: _part(written.get(name), own) for name, own in again.items()}
    if isinstance(written, list) and isinstance(again, list) and len(written) == len(again):
        return [_part(*pair) for pair in zip(written, again, strict=True)]
    return written


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path}: no such file; scan the rows again") from None
    except (ValueError, OSError) as error:
        raise CorruptFile(f"{path} is not readable as JSON ({str(error)[:200]})") from error
    if not isinstance(content, dict):
        raise CorruptFile(f"{path} holds something else than a summary of a scan")
    return content


def _compared(one: Any, other: Any, where: str) -> Iterator[tuple[str, Any, Any, bool]]:
    """Yield every place of two documents, with both values and whether they are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from _compared(one.get(key), other.get(key), f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from _compared(*pair, f"{where}[{place}]")
    elif _is_number(one) and _is_number(other):
        yield where, one, other, abs(one - other) <= TOLERANCE * max(1.0, abs(one))
    else:
        yield where, one, other, one == other


def _same_text(one: str, other: str) -> bool:
    """Compare two texts but for spaces, and their numbers as numbers: the last digit is the machine's."""
    (words, numbers), (others, more) = (
        (" ".join(_NUMBER.sub("0", text).split()), [float(x) for x in _NUMBER.findall(text)]) for text in (one, other)
    )
    return words == others and bool(np.allclose(numbers, more, rtol=TOLERANCE, atol=TOLERANCE))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
