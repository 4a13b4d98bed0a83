"""Files of new rows corrected piece by piece, any number in bounded memory; a command that was stopped goes on."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base import files
from miscal.base.errors import InputError, MiscalError, ResourceError
from miscal.base.folders import CellStore
from miscal.base.frames import scan_parquet
from miscal.base.process import n_workers, with_progress
from miscal.base.vocabulary import Kind, vocabulary
from miscal.base.workers import InProcess, Threads, WorkItem, choose_workers
from miscal.data.columns import split_names
from miscal.data.readers.names import find
from miscal.data.readers.new_rows import NewSource
from miscal.data.readers.opening import content_digest
from miscal.data.readers.source import Piece, is_matrix_file
from miscal.data.writing import part_bytes, table_format
from miscal.discovery.saved_model import SavedModel, correct_rows, load_model, model_folder, schema_of
from miscal.discovery.summary import Answer
from miscal.runs.correct.tally import Tally, refuse_foreign, tally_of, warnings

# more would hold more pieces in memory, and wait for the disk
_MOST_THREADS = 8
_MANIFEST = "manifest.json"
# rows of a row group of the Parquet file: the same whatever the parts
_GROUP_ROWS = 262_144


class Parts(CellStore):
    """The parts of one table: cells with a file of rows of the table's ending, whose record is their counts."""

    def __init__(self, folder: Path, ending: str) -> None:
        super().__init__(folder, (ending,))
        self.ending = ending

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Keep the parts that are there if they are of the same command, model and data; else start anew."""
        manifest = self.folder / _MANIFEST
        wanted = json.dumps(identity, sort_keys=True)
        try:
            same = manifest.read_text(encoding="utf-8") == wanted
        except OSError:
            same = False
        if not same:
            self.remove()
            with files.disk_errors(f"folder {self.folder}"):
                self.folder.mkdir(parents=True)
                files.replace_file(manifest, wanted.encode())

    def tally(self, number: int) -> Tally | None:
        """Return the counts of a part that is done; None if it is not."""
        record = self.find(f"{number:07}")
        try:
            return None if record is None else Tally(**record)
        except (TypeError, AttributeError):
            return None

    def write(self, number: int, table: pl.DataFrame, tally: Tally) -> None:
        """Put a part on disk; see `save`."""
        content = part_bytes(table, self.ending)
        self.save(f"{number:07}", asdict(tally), {self.ending: lambda path: path.write_bytes(content)})

    def join(self, numbers: Sequence[int], schema: Mapping[str, Any], out: Path) -> None:
        """Put the table together, and in its place when it is whole."""
        paths = [self.path(f"{number:07}", self.ending) for number in numbers]

        def joined(partial: Path) -> None:
            if self.ending == ".parquet":
                scan = scan_parquet(paths, schema)
                scan.sink_parquet(partial, compression="zstd", row_group_size=_GROUP_ROWS, maintain_order=True)
                return
            with partial.open("wb") as whole:
                if self.ending == ".csv":
                    whole.write(part_bytes(pl.DataFrame(schema=schema), self.ending, header=True))
                for path in paths:
                    with path.open("rb") as part:
                        shutil.copyfileobj(part, whole)

        files.write_whole(out, joined)

    def remove(self) -> None:
        """Remove all parts."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class CorrectionJob:
    """Everything that a process needs to correct a piece; plain values, so that it can be sent to another machine.

    Folder of the saved model, file of the rows, options of `.new_rows.open_new_rows`, folder of the parts,
    ending of the table, columns of the file that the table has too, with their types, and the rows of all pieces, 0
    where they are not counted yet; the accepted error, where rows are to be decided.
    """

    model: str
    data: str
    options: tuple[tuple[str, Any], ...]
    parts: str
    ending: str
    keep: tuple[tuple[str, Any], ...] = ()
    rows: int = 0
    max_error: float | None = None

    def run(self, piece: Piece) -> Tally:
        """Correct a piece and put it on disk."""
        model, source = opened(self.model, self.data, self.options)
        rows = source.read(piece)
        table = correct_rows(model.estimator.fitted, rows, model.classes, model.alone_at(self.max_error))
        tally = tally_of(rows, table, model.estimator, source.encoder, self.rows)
        if self.keep:
            kept = self.kept(source, piece)
            tally = replace(tally, digest=f"{tally.digest} {content_digest(kept)}")
            table = pl.concat([kept[rows.row - piece.start], table], how="horizontal")
        Parts(Path(self.parts), self.ending).write(piece.number, table, tally)
        return tally

    def kept(self, source: NewSource, piece: Piece) -> pl.DataFrame:
        """Read the columns of a piece that the table has, too."""
        types = dict(self.keep)
        # csv has no types: what it holds is text, and stays the text that it is
        frame = source.source.load(list(types), piece, kept=True)
        for name, kind in types.items():
            if frame[name].dtype not in (kind, pl.Null):
                raise InputError(f"keep: column {name!r} holds values of several types: leave it out")
        # by their places: a cast by names takes ^a$ for a pattern
        return pl.DataFrame({name: frame[name].alias("").cast(kind) for name, kind in types.items()})

    def digest(self, source: NewSource, piece: Piece) -> str:
        """Digest of all that is read of a piece, as :meth:`run` leaves it with the counts."""
        read = source.digest(piece)
        return f"{read} {content_digest(self.kept(source, piece))}" if self.keep else read


@lru_cache(maxsize=1)
def opened(model: str, data: str, options: tuple[tuple[str, Any], ...]) -> tuple[SavedModel, NewSource]:
    """Model and source of a job, opened once in a process."""
    loaded = load_model(model)
    return loaded, loaded.open(data, **dict(options))


def correct_pieces(job: CorrectionJob, pieces: Sequence[Piece], engine: str) -> Iterator[tuple[Piece, Tally]]:
    """Correct pieces, each of which is put on disk; yield what each adds to the counts, as they come.

    The engine "local" takes threads of this process, one for each processor it may use (the arithmetic lets go of the
    interpreter); "ray" this machine, or the cluster that RAY_ADDRESS names. Model, data and output must lie where every
    machine of the cluster sees them under the same path.
    """
    threads = min(n_workers(None, max(len(pieces), 1)), _MOST_THREADS)
    with choose_workers(engine, lambda: InProcess() if threads == 1 else Threads(threads)) as workers:
        yield from workers.results(WorkItem(f"piece {piece.number}", job.run, (piece,), key=piece) for piece in pieces)


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

    @property
    def answer(self) -> Answer:
        """How many rows were corrected, how many of them by the probability alone, and how the table is used."""
        tally, words = self.tally, vocabulary(self.kind)
        values, alone = tally.written - tally.empty, tally.global_only
        share = f"{values:,}" if values == tally.asked else f"{values:,} of {tally.asked:,}"
        how = f"{alone:,} of them by the {words.probability} alone" if alone else "each with what its inputs say"
        if values == tally.asked == 1:
            how = f"by the {words.probability} alone" if alone else "with what its inputs say"
        reason = "Nothing about them is unlike the rows that it was learned from."
        if n := len(self.warnings):
            things = "One thing" if n == 1 else f"{n:,} things"
            reason = f"{things} about them may make the correction worse: see below."
        action = "Use the column corrected: the row numbers are those of the file."
        if 2 * alone > values:
            action = "Learn the correction anew: most rows are unlike those that it was learned from."
        elif self.warnings:
            action = "Read the warnings first: then use the column corrected."
        return Answer(
            headline=f"{share} row{'s' if tally.asked != 1 else ''} corrected, {how}.", reason=reason, action=action
        )


def calibrate_file(
    model: str | Path,
    data: str | Path,
    out: str | Path,
    *,
    engine: str = "local",
    keep: str | Sequence[str] = (),
    max_error: float | None = None,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda said: None,
    **columns: Any,
) -> Corrected:
    """Correct the confidences of new rows with a saved model.

    Rows are read, corrected and written piece by piece. Until the table is whole its parts lie in a hidden folder
    beside it; the same command finds them there if it was stopped, and the table is the same to the byte.

    `data` is a .parquet, .csv, .tsv or .jsonl file, or a folder that ``miscal score`` wrote; `columns` are further
    options of `.new_rows.open_new_rows`. `on_invalid` says what to do about rows without a usable confidence
    or input: stop, leave them out, or keep them with the global map's value and a reason. `keep` names columns of the
    data that the table begins with, or is "all". `max_error` is an error that the run promised thresholds for: the
    table then says of each row whether it may be decided alone.
    """
    place = files.check_target(out, overwrite=overwrite, reads=[data, *columns.values()])
    ending = table_format(place)
    parts = Parts(files.parts_folder(place), ending)
    # jobs are looked up by their options
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in columns.items()}
    for name in ("embeddings", "probabilities"):
        # as another process finds it
        if is_matrix_file(columns.get(name)):
            options[name] = str(files.resolve(columns[name]))
    job = CorrectionJob(
        str(files.resolve(model)), str(files.resolve(data)), tuple(sorted(options.items())), str(parts.folder), ending,
        max_error=max_error,
    )  # fmt: skip
    with files.parents(place), files.locked(place):
        progress("loading the model")
        # what is open may be another file by now, and a source keeps rows that it has read
        opened.cache_clear()
        saved, source = opened(job.model, job.data, job.options)
        progress("reading")
        least, most = _PIECE_ROWS
        pieces = source.pieces(max(least, min(most, _PIECE_VALUES // max(saved.estimator.n_features, 1))))
        saved.alone_at(max_error)
        own = schema_of(saved.classes, decides=max_error is not None)
        kept = _types_of_kept(keep, source, pieces[0], own)
        job = replace(job, keep=tuple(kept.items()), rows=sum(piece.rows for piece in pieces))
        parts.begin(_identity(job, source, pieces))
        try:
            tally, resumed = _run(job, parts, pieces, engine, progress)
            if tally.asked == 0:
                condition = f"{source.where!r} keeps none of the {tally.read} rows"
                raise InputError(f"where: {condition}; correct the condition, or leave it out")
            if tally.written == 0:
                reasons = ", ".join(f"{reason}: {n}" for reason, n in tally.faults.items())
                raise InputError(f"no row is left: all {tally.asked} were dropped as invalid ({reasons})")
            refuse_foreign(tally, source, saved.estimator)
            progress("writing")
            parts.join([piece.number for piece in pieces], {**kept, **own}, place)
        except BaseException as error:
            # parts are kept where the same command could go on with them
            if isinstance(error, MiscalError) and not isinstance(error, ResourceError):
                parts.remove()
            else:
                error.add_note("what was corrected so far is kept, and the same command goes on from there")
            raise
        parts.remove()
    return Corrected(place, tally, warnings(tally, source, saved.estimator), source.columns, source.roles.kind, resumed)


def _types_of_kept(
    keep: str | Sequence[str], source: NewSource, first: Piece, own: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the columns of the data that the table begins with, each with its type."""
    there = tuple(source.source.columns)
    names = there if keep == "all" else tuple(dict.fromkeys(split_names(keep)))
    for name in names:
        find(name, there, what="keep")
        if name in own:
            raise InputError(f"keep: the table has a column {name!r} of its own: name the others, or rename it")
    types = source.source.load(names, first, kept=True).schema if names else {}
    return {name: pl.String() if kind == pl.Null else kind for name, kind in types.items()}


def _identity(job: CorrectionJob, source: NewSource, pieces: Sequence[Piece]) -> dict[str, Any]:
    """Put together what must be the same for a command to go on from another's parts."""
    paths = [*source.source.files]
    matrices = (source.roles.embeddings, None if source.roles.classes is None else source.roles.classes.matrix)
    paths += [Path(one) for one in matrices if isinstance(one, (str, Path))]
    folder = model_folder(job.model)
    return {
        "miscal": version("miscal"),
        "options": [list(pair) for pair in job.options],
        "keep": [[name, str(kind)] for name, kind in job.keep],
        "max_error": job.max_error,
        # their configs hold the checksums of everything else
        "model": [files.digest(path) for path in sorted(folder.rglob("config.json"))],
        # what they hold is checked piece by piece
        "files": [str(path) for path in paths],
        "pieces": [len(pieces), pieces[0].rows],
    }


def _run(
    job: CorrectionJob, parts: Parts, pieces: Sequence[Piece], engine: str, progress: Callable[[str], None]
) -> tuple[Tally, int]:
    source = opened(job.model, job.data, job.options)[1]
    found = {piece: tally for piece in pieces if (tally := parts.tally(piece.number)) is not None}
    # parts count where the files hold today what those were made from
    tallies = {piece.number: tally for piece, tally in found.items() if job.digest(source, piece) == tally.digest}
    left = [piece for piece in pieces if piece.number not in tallies]
    n, resumed = sum(piece.rows for piece in pieces), sum(tally.read for tally in tallies.values())
    began, done = time.perf_counter(), 0
    progress(f"correcting {n:,} rows")
    for piece, tally in with_progress(correct_pieces(job, left, engine), [piece.rows for piece in left]):
        tallies[piece.number] = tally
        done += piece.rows
        progress(_said(resumed, done, n, time.perf_counter() - began))
    return sum((tallies[piece.number] for piece in pieces), Tally()), resumed


def _said(resumed: int, done: int, n: int, seconds: float) -> str:
    """Say how far it is.

    >>> _said(0, 1000, 4000, 0.5)
    'correcting: 1,000 of 4,000 rows, 2,000 rows a second, 2 s left'
    """
    rate = done / max(seconds, 1e-9)
    left = (n - resumed - done) / rate
    shown = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min" if left < 6_000 else f"{left / 3600:.1f} h"
    return f"correcting: {resumed + done:,} of {n:,} rows, {rate:,.0f} rows a second, {shown} left"
