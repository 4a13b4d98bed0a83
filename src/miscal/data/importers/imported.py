"""Convert the logs of a tool into one parquet file."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from miscal.base.arrays import SHOWN_IN_WARNING, did_you_mean, value_list
from miscal.base.errors import CorruptFile, FileError, InputError, argument
from miscal.base.files import check_target, write_new
from miscal.data.importers.logs import Log, Row, UnusableLog, confidence_names, number, table_of
from miscal.data.importers.tools import importer, tool_names
from miscal.data.readers.source import existing

NAMES = (".parquet", ".pq")

REFUSED = {
    "lm-polygraph": (
        "LM-Polygraph saves pickles, which can run any program when they are opened, so they are not read: where the "
        "file is trusted, put its input texts, greedy texts, normalised confidences (1 is sure) and quality (0 or 1, "
        "as correct) into one table with prompt, response and a column for each confidence, and give that to miscal "
        "discover"
    ),
    "openai-evals": (
        "openai/evals records no confidence, so its logs are not read: where your evaluation adds one, put question, "
        "answer, confidence and correct (0 or 1) into one table, and give that to miscal discover"
    ),
}
"""Tools whose files are not read, and what to do in place of that."""


@dataclass(frozen=True)
class Imported:
    """Rows of one or more logs.

    Attributes
    ----------
    table : polars.DataFrame
        One row per answer, in the order of the logs: ``id`` (unique; of decisions, that of the item), ``text``,
        ``confidence`` in [0, 1], ``correct`` 0/1, ``predicted`` and ``answer_index`` (positions in ``choices``),
        ``choices``, ``choice_probs`` (sum 1), ``candidate_mass`` (probability of all choices together, before
        renormalising), then several confidences of one answer by their names, then metadata. What a log does not tell
        of a row is null, and what it tells of none is no column; never null are ``id``, ``confidence`` and ``correct``.
        Of judgements: ``id``, ``text``, ``judge`` and ``human`` (also without a verdict) as they stand, then metadata;
        ``id`` and ``judge`` are never null.
    notes : tuple of str
        Conventions used, rows left out and why, logs skipped and why.
    n_logs : int
        Logs that rows come from.
    files : tuple of Path
        Logs that were read, which are never replaced.
    """

    table: pl.DataFrame
    notes: tuple[str, ...]
    n_logs: int
    files: tuple[Path, ...] = ()

    def write(self, out: str | Path, *, overwrite: bool = False) -> Path:
        """Write the table as parquet, whole or not at all; missing folders are made."""
        check_out(out, overwrite=overwrite, reads=self.files)
        content = io.BytesIO()
        self.table.write_parquet(content, compression="zstd")
        return write_new(out, content.getvalue(), overwrite=overwrite, reads=self.files)


def read_log(
    tool: str,
    path: str | Path,
    *,
    confidence: str | None = None,
    confidence_columns: Sequence[str] | None = None,
    labels: str | Path | None = None,
) -> Imported:
    """Read the logs of another tool.

    Parameters
    ----------
    tool : str
        Who wrote the logs: one of :func:`miscal.data.importers.tools.tool_names`.
    path : str or Path
        A log of any name, or a folder that is searched for logs. Logs in a folder that hold no probabilities are
        skipped, with a note, as long as others do.
    confidence : str, optional
        Of several confidences of one answer, the one that column ``confidence`` takes; by default the first.
    confidence_columns : sequence of str, optional
        Which of several confidences get a column; by default all that are found.
    labels : str or Path, optional
        Of decisions: a table of what is right, with the columns id, question and label.

    Returns
    -------
    Imported

    Raises
    ------
    InputError
        If `tool` is not known, or the logs hold no probabilities.
    FileError, CorruptFile
        If a log cannot be read.
    """
    if tool in REFUSED:
        raise InputError(REFUSED[tool])
    if tool not in tool_names():
        hint = did_you_mean(tool, tool_names(), aside=True)
        raise InputError(f"the tool must be one of {', '.join(tool_names())}; got {tool!r}{hint}")
    of_tool = importer(tool)
    path = existing(Path(path), what="log")
    beside = () if labels is None else (existing(Path(labels), what="labels"),)
    if beside and not hasattr(of_tool, "labels_of"):
        raise InputError(f"{argument('labels')} says what is right of decisions; logs of {tool} say it themselves")
    options = {"labels": of_tool.labels_of(beside[0])} if beside else {}
    if path.is_file():
        return _assembled([_read(of_tool, path, options)], [], confidence, confidence_columns, (path, *beside))
    found = [one for one in _logs(of_tool, path) if not any(one.samefile(other) for other in beside)]
    if not found:
        looked_for = " or ".join(of_tool.FILES)
        raise FileError(f"{path} holds no logs of {tool}: its subfolders were searched too, for {looked_for}")
    logs, refused = [], []
    for place in found:
        try:
            logs.append((place, _read(of_tool, place, options)))
        except UnusableLog as error:
            refused.append(error)
    if not logs:
        more = f" (this is the first of {len(refused)} logs, none of which can be used)" if len(refused) > 1 else ""
        raise InputError(f"{refused[0]}{more}")
    named = [_named(log, place.relative_to(path)) if len(logs) > 1 else log for place, log in logs]
    skipped = [f"skipped: {error}" for error in refused]
    return _assembled(named, skipped, confidence, confidence_columns, (*found, *beside))


def check_out(out: str | Path, *, overwrite: bool = False, reads: Sequence[Path] = ()) -> Path:
    """Refuse a file that must not be written, or whose name ends otherwise."""
    place = check_target(out, overwrite=overwrite, reads=reads)
    if place.suffix.lower() not in NAMES:
        raise InputError(f"--out: the name must end in {' or '.join(NAMES)}; got {place.name!r}")
    return place


def _logs(of_tool: ModuleType, folder: Path) -> list[Path]:
    """Find the logs of a tool in a folder and its subfolders."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if any(fnmatchcase(path.name.lower(), pattern) for pattern in of_tool.FILES)
        and not path.name.startswith(getattr(of_tool, "BESIDE", ()))
        and path.is_file()
    )
    return of_tool.latest(found) if hasattr(of_tool, "latest") else found


def _read(of_tool: ModuleType, path: Path, options: Mapping[str, Any]) -> Log:
    try:
        return of_tool.read(path, **options)
    except RecursionError:
        raise CorruptFile(
            f"{path}: its values lie inside each other hundreds of times over, as no tool writes them"
        ) from None


def _named(log: Log, place: Path) -> Log:
    """Put the log's place before the ids, since the same question may be in several logs, or what its ids are of."""
    name = place.with_suffix("").as_posix()
    if log.ids_of is None:
        return replace(log, rows=tuple(replace(row, id=f"{name}/{row.id}") for row in log.rows))
    before = f"{log.ids_of}/" if log.ids_of else ""
    return replace(
        log, rows=tuple(replace(row, id=f"{before}{row.id}", within=(name, *row.within)) for row in log.rows)
    )


def _assembled(
    logs: list[Log], notes: list[str], confidence: str | None, columns: Sequence[str] | None, files: tuple[Path, ...]
) -> Imported:
    rows = [row for log in logs for row in log.rows]
    if len({row.confidence is None for row in rows}) > 1:
        raise InputError("some of these logs hold confidences and others scores of judges: import them one by one")
    first: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        first.setdefault(_key(row), row)
    if len(first) < len(rows):
        repeated = dict.fromkeys(name for (name, *_), n in Counter(map(_key, rows)).items() if n > 1)
        shown = value_list(repeated, SHOWN_IN_WARNING)
        notes = [f"{len(rows) - len(first):,} rows left out: their id occurred before ({shown})", *notes]
    rows, of_confidences = _chosen_confidence(list(first.values()), confidence, columns)
    distinct = dict.fromkeys([*(note for log in logs for note in log.notes), *of_confidences, *notes])
    return Imported(table_of(rows), tuple(distinct), len(logs), files)


def _key(row: Row) -> tuple[Any, ...]:
    return row.id, *row.within


def _chosen_confidence(
    rows: list[Row], confidence: str | None, columns: Sequence[str] | None
) -> tuple[Sequence[Row], list[str]]:
    """Take one of several confidences as that of each row; return the rows that have it, and notes on the others."""
    known = confidence_names(rows)
    names = list(columns or known)
    if not names and confidence is None:
        return rows, []
    if rows[0].confidence is None:
        raise InputError(
            f"{argument('confidence')} names one of several confidences of a model; these logs hold scores of judges, "
            "in the columns judge and human"
        )
    kept = [replace(row, confidences={name: _confidence(row, name) for name in names}) for row in rows]
    for name in [*names, *([confidence] if confidence else [])]:
        if all(row.confidences.get(name) is None for row in kept):
            hint = did_you_mean(name, known, aside=True)
            found = f"the confidences there are {', '.join(known)}" if known else "there is one confidence alone"
            raise InputError(f"{name!r} is no confidence between 0 and 1 of these logs: {found}{hint}")
    taken = confidence or names[0]
    having = [replace(row, confidence=value) for row in kept if (value := row.confidences.get(taken)) is not None]
    notes = [f"column confidence is {taken}; confidences of each answer: {', '.join(names)}"]
    if len(having) < len(kept):
        notes.append(f"{len(kept) - len(having):,} rows left out: there is no {taken}")
    if len(names) > 1:
        notes.append("compare them: a run of each with --confidence NAME, then miscal compare RUN RUN --out DIR")
    return having, notes


def _confidence(row: Row, name: str) -> float | None:
    found = number(row.confidences.get(name, row.metadata.get(name)))
    return found if found is not None and not math.isnan(found) and 0.0 <= found <= 1.0 else None
