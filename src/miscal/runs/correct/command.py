"""Files of new rows corrected, any number of rows in bounded memory; a command that was stopped goes on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError, MiscalError, ResourceError
from miscal.base.files import check_target, digest, locked, parents, parts_folder, resolve
from miscal.base.vocabulary import Kind
from miscal.base.workers import ENGINES
from miscal.data.readers import NewSource
from miscal.data.readers.class_columns import is_matrix_file
from miscal.data.readers.pieces import Piece
from miscal.data.writing import table_format
from miscal.discovery.saved_model import model_folder, schema_of
from miscal.runs.correct.pieces import CorrectionJob, Parts, correct_pieces, forget, opened
from miscal.runs.correct.tally import Tally, refuse_foreign, total, warnings

# a piece: as many rows as have this many numbers, some copies of which are in memory for each thread
_PIECE_VALUES = 1 << 22
_PIECE_ROWS = (1_024, 65_536)


@dataclass(frozen=True)
class Corrected:
    """What became of a file of new rows: the table, counts, sentences, and the columns taken for confidence and x.

    ``resumed`` rows had been corrected by an earlier call of the same command.
    """

    out: Path
    tally: Tally
    warnings: list[str]
    columns: dict[str, Any]
    kind: Kind
    resumed: int


def calibrate_file(
    model: str | Path,
    data: str | Path,
    out: str | Path,
    *,
    engine: str = "local",
    on_invalid: str = "error",
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda said: None,
    **columns: Any,
) -> Corrected:
    """Correct the confidences of new rows with a saved model.

    Rows are read, corrected and written piece by piece. Until the table is whole its parts lie in a hidden folder
    beside it; the same command finds them there if it was stopped, and the table is the same to the byte.

    `data` is a .parquet, .csv, .tsv or .jsonl file, or a folder that ``miscal score`` wrote; `columns` are further
    options of `miscal.data.readers.open_new_rows`. `on_invalid` says what to do about rows without a usable confidence
    or input: stop, leave them out, or keep them with the global map's value and a reason.
    """
    place = check_target(out, overwrite=overwrite, reads=[data, *columns.values()])
    ending = table_format(place)
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    parts = Parts(parts_folder(place), ending)
    # jobs are looked up by their options
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in columns.items()}
    options = {**given, "on_invalid": on_invalid}
    for name in ("embeddings", "probabilities"):
        # as another process finds it
        if is_matrix_file(columns.get(name)):
            options[name] = str(resolve(columns[name]))
    job = CorrectionJob(
        str(resolve(model)), str(resolve(data)), tuple(sorted(options.items())), str(parts.folder), ending
    )
    with parents(place), locked(place):
        progress("loading the model")
        forget()
        saved, source = opened(job)
        progress("reading")
        least, most = _PIECE_ROWS
        pieces = source.pieces(max(least, min(most, _PIECE_VALUES // max(saved.estimator.n_features, 1))))
        job = replace(job, rows=sum(piece.rows for piece in pieces))
        parts.begin(_identity(job, source, pieces))
        with _kept_if_stopped(parts):
            tally, resumed = _run(job, parts, pieces, engine, progress)
            _refuse_nothing(tally, source)
            refuse_foreign(tally, source, saved.estimator)
            progress("writing")
            parts.join([piece.number for piece in pieces], schema_of(saved.classes), place)
        parts.remove()
    return Corrected(place, tally, warnings(tally, source, saved.estimator), source.columns, source.kind, resumed)


@contextlib.contextmanager
def _kept_if_stopped(parts: Parts) -> Iterator[None]:
    """Keep the parts where the same command could go on with them, and say so; else remove them."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, MiscalError) and not isinstance(error, ResourceError):
            parts.remove()
        else:
            error.add_note("what was corrected so far is kept, and the same command goes on from there")
        raise


def _refuse_nothing(tally: Tally, source: NewSource) -> None:
    if tally.asked == 0:
        raise InputError(
            f"where: {source.where!r} keeps none of the {tally.read} rows; correct the condition, or leave it out"
        )
    if tally.written == 0:
        reasons = ", ".join(f"{reason}: {n}" for reason, n in tally.faults.items())
        raise InputError(f"no row is left: all {tally.asked} were dropped as invalid ({reasons})")


def _identity(job: CorrectionJob, source: NewSource, pieces: Sequence[Piece]) -> dict[str, Any]:
    """Put together what must be the same for a command to go on from another's parts."""
    files = [*source.source.files]
    matrices = (source.inputs.embeddings, None if source.classes is None else source.classes.matrix)
    files += [Path(one) for one in matrices if isinstance(one, (str, Path))]
    folder = model_folder(job.model)
    return {
        "miscal": version("miscal"),
        "options": [list(pair) for pair in job.options],
        # their configs hold the checksums of everything else
        "model": [digest(path) for path in sorted(folder.rglob("config.json"))],
        # what they hold is checked piece by piece
        "files": [str(path) for path in files],
        "pieces": [len(pieces), pieces[0].rows],
    }


def _run(
    job: CorrectionJob, parts: Parts, pieces: Sequence[Piece], engine: str, progress: Callable[[str], None]
) -> tuple[Tally, int]:
    source = opened(job)[1]
    found = {piece: tally for piece in pieces if (tally := parts.tally(piece.number)) is not None}
    # parts count where the files hold today what those were made from
    tallies = {piece.number: tally for piece, tally in found.items() if source.digest(piece) == tally.digest}
    left = [piece for piece in pieces if piece.number not in tallies]
    n, resumed = sum(piece.rows for piece in pieces), sum(tally.read for tally in tallies.values())
    began, done = time.perf_counter(), 0
    for piece, tally in correct_pieces(job, left, engine):
        tallies[piece.number] = tally
        done += piece.rows
        progress(_said(resumed, done, n, time.perf_counter() - began))
    return total(tallies[piece.number] for piece in pieces), resumed


def _said(resumed: int, done: int, n: int, seconds: float) -> str:
    """Say how far it is.

    >>> _said(0, 1000, 4000, 0.5)
    'correcting: 1,000 of 4,000 rows, 2,000 rows a second, 2 s left'
    """
    rate = done / max(seconds, 1e-9)
    left = (n - resumed - done) / rate
    shown = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min" if left < 6_000 else f"{left / 3600:.1f} h"
    return f"correcting: {resumed + done:,} of {n:,} rows, {rate:,.0f} rows a second, {shown} left"
