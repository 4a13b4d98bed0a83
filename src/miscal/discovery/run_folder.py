"""A run folder: what a discovery leaves on disk, written whole, sealed with a manifest, and read back."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.base.errors import CorruptFile, FileError, InputError
from miscal.base.files import digest, refuse_existing, replace_file, resolve, whole_folder
from miscal.data.readers import reread
from miscal.discovery.discover import Discovery
from miscal.discovery.saved_model import SavedModel, load_model, save_model
from miscal.discovery.summary import Summary, read_summary

if TYPE_CHECKING:
    import polars as pl

MANIFEST = "manifest.json"
CHECKED = ("summary.json", "field.parquet", "map.parquet", "audit.json")
"""Files whose sha256 the manifest keeps; the model folder has a manifest of its own, the report can be redrawn."""

OURS = frozenset({*CHECKED, MANIFEST, "model", "report.html"})


@dataclass(frozen=True)
class Run:
    """A run folder, read back.

    Attributes
    ----------
    path : Path
        The folder.
    summary : Summary
        ``summary.json``.
    table : polars.DataFrame
        ``field.parquet``: one row per input row, as :attr:`miscal.discovery.discover.Discovery.table`.
    map : polars.DataFrame
        ``map.parquet``.
    """

    path: Path
    summary: Summary
    table: "pl.DataFrame"
    map: "pl.DataFrame"

    def load_model(self) -> "SavedModel":
        """Load the saved model."""
        return load_model(self.path)

    def triples(self) -> Any:
        """Read the rows of the run again, refusing data that changed since."""
        return reread(self.summary.settings["source"])


def write_files(found: Discovery, folder: Path) -> None:
    """Write summary, tables and model into an empty folder, and seal it.

    Parameters
    ----------
    found : Discovery
        The result.
    folder : Path
        Where to.
    """
    # no timestamps and one thread's row groups: the same discovery gives the same bytes
    found.table.write_parquet(folder / "field.parquet", compression="zstd")
    found.map.write_parquet(folder / "map.parquet", compression="zstd")
    (folder / "summary.json").write_text(found.summary.to_json(), encoding="utf-8")
    save_model(found.model, found.encoder, folder / "model")
    seal(folder)


def read_run(folder: str | Path) -> Run:
    """Read a run folder back, after checking that nothing in it has changed.

    Parameters
    ----------
    folder : str or Path
        What `miscal discover` wrote.

    Returns
    -------
    Run
        Summary and tables.

    Raises
    ------
    FileError
        If it is not a run folder.
    CorruptFile
        If a file is damaged or was changed.
    MismatchError
        If a newer miscal wrote it.
    """
    import polars as pl

    folder = Path(folder)
    check_seal(folder)
    summary = read_summary(folder)
    try:
        tables = [pl.read_parquet(folder / name) for name in ("field.parquet", "map.parquet")]
    except (pl.exceptions.PolarsError, OSError) as error:
        raise CorruptFile(f"{folder}: a table cannot be read ({error}); run `miscal discover` again") from None
    return Run(folder, summary, *tables)


def check_target(out: str | Path, *, overwrite: bool = False) -> None:
    """Refuse an output folder that must not be written.

    Parameters
    ----------
    out : str or Path
        The folder a run is to become.
    overwrite : bool, default False
        Allow an existing run folder, and nothing else, to be replaced.

    Raises
    ------
    InputError
        If it exists and ``overwrite`` is off, or if it holds files that miscal did not write.
    """
    place = resolve(out)
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise InputError(f"{out} is a file, not a folder: give another --out")
    refuse_existing(out, overwrite)
    foreign = sorted(entry for entry in os.listdir(place) if entry not in OURS)
    if foreign:
        raise InputError(
            f"{out} holds {len(foreign)} entries that miscal did not write ({', '.join(map(repr, foreign[:5]))}): "
            "--overwrite replaces run folders only; give another --out"
        )


@contextlib.contextmanager
def run_folder(out: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder that becomes ``out`` when the block ends well, and vanishes when it does not.

    Parameters
    ----------
    out : str or Path
        The run folder to make. Missing parents are made.
    overwrite : bool, default False
        Replace an existing run folder, after the new one is complete.

    Yields
    ------
    Path
        The folder to write into: a hidden sibling of ``out``.

    Raises
    ------
    InputError
        If ``out`` exists and ``overwrite`` is off, or is not a run folder.
    LockedError
        If another process is writing ``out``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> with run_folder(out) as folder:
    ...     _ = (folder / "note.txt").write_text("done")
    ...     out.exists()
    False
    >>> (out / "note.txt").read_text()
    'done'
    """
    with whole_folder(out, check=lambda: check_target(out, overwrite=overwrite)) as folder:
        yield folder


def seal(folder: str | Path) -> None:
    """Write the manifest of a run folder: the sha256 of each file that must not change.

    Parameters
    ----------
    folder : str or Path
        The folder, with its files in place.
    """
    folder = Path(folder)
    sums = {name: digest(folder / name) for name in CHECKED if (folder / name).exists()}
    replace_file(folder / MANIFEST, (json.dumps({"sha256": sums}, indent=1) + "\n").encode())


def check_seal(folder: str | Path) -> None:
    """Refuse a folder that is not a run, or whose files changed since they were written.

    Parameters
    ----------
    folder : str or Path
        A run folder.

    Raises
    ------
    FileError
        If it is not a run folder.
    CorruptFile
        If a file is missing or differs from the manifest.
    """
    folder = Path(folder)
    for name, wanted in _manifest(folder).items():
        path = folder / name
        if not path.is_file():
            raise CorruptFile(f"{path} is missing from the run: run `miscal discover` again")
        if digest(path) != wanted:
            raise CorruptFile(f"{path} changed since miscal wrote it (sha256 differs): run `miscal discover` again")


def _manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileError(f"{folder} is not a folder: give the one that `miscal discover` wrote")
    try:
        sums = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["sha256"]
        wanted = {name: sums[name] for name in sums if name in CHECKED}
    except FileNotFoundError:
        raise FileError(
            f"{folder} is not a run folder (no {MANIFEST}): give the one that `miscal discover` wrote"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise CorruptFile(f"{folder / MANIFEST} is damaged: run `miscal discover` again") from None
    if len(wanted) != len(sums) or "summary.json" not in wanted or "field.parquet" not in wanted:
        raise CorruptFile(f"{folder / MANIFEST} is damaged: run `miscal discover` again")
    return wanted
