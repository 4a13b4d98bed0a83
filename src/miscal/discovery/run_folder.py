"""Make the folder of a run whole or not at all, seal it with a manifest, and refuse it if a file was changed.

Nothing here imports what discovers, so that a folder that is taken is refused at once.
"""

import contextlib
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, FileError, command
from miscal.base.files import digest, replace_file, whole_folder

MANIFEST = "manifest.json"
MONITOR = "monitor"
"""Folder of a run's monitor. It watches this run alone, so that no other run is put in its place."""

COLUMNS_FILE = "columns.parquet"
CLASSES_FILE, CLASS_FINDINGS_FILE = "classes.parquet", "class_findings.parquet"
# the last two as miscal.data.readers.opening calls them, which takes long to import
CHECKED = (
    "summary.json", "field.parquet", "findings.parquet", COLUMNS_FILE, CLASSES_FILE, CLASS_FINDINGS_FILE, "map.parquet",
    "audit.json", "rows.parquet", "rows.safetensors",
)  # fmt: skip
"""Files whose sha256 the manifest keeps; the model folder has a manifest of its own, the report can be redrawn."""

OURS = frozenset({*CHECKED, MANIFEST, "model", "report.html"})


@contextlib.contextmanager
def run_folder(out: str | Path, *, overwrite: bool = False, reads: Collection[Any] = ()) -> Iterator[Path]:
    """Yield an empty folder that becomes ``out`` when the block ends well, and vanishes when it does not.

    `out`: the run folder to make. Missing parents are made. `overwrite`: replace an existing run folder, after the new
    one is complete. `reads`: paths that the run is made from; the others are ignored. Returns the folder to write into:
    a hidden sibling of ``out``.

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
    with whole_folder(out, holds=OURS, writer=command("discover"), overwrite=overwrite, reads=reads) as folder:
        yield folder


def seal(folder: str | Path, *, but: Collection[str] = ()) -> None:
    """Write the manifest of a run folder: the sha256 of each file that must not change.

    `folder`: the folder, with its files in place. `but`: files that are about to be replaced. Left out until they are,
    so that the run is whole at every moment.
    """
    folder = Path(folder)
    sums = {name: digest(folder / name) for name in CHECKED if name not in but and (folder / name).exists()}
    replace_file(folder / MANIFEST, (json.dumps({"sha256": sums}, indent=1) + "\n").encode())


def check_seal(folder: str | Path) -> None:
    """Refuse a folder that is not a run, or whose files changed since they were written."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileError(f"{folder} is not a folder: give the folder of a run, made by {command('discover')}")
    try:
        sums = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["sha256"]
        wanted = {name: sums[name] for name in sums if name in CHECKED}
    except FileNotFoundError:
        raise FileError(
            f"{folder} is not a run folder (no {MANIFEST}): give the folder of a run, made by {command('discover')}"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CorruptFile(f"{folder / MANIFEST} is damaged: run {command('discover')} again") from None
    # an entry that is not ours, or the lack of one that every run has: not what `seal` wrote
    if len(wanted) != len(sums) or "summary.json" not in wanted or "field.parquet" not in wanted:
        raise CorruptFile(f"{folder / MANIFEST} is damaged: run {command('discover')} again")
    for name, digested in wanted.items():
        path = folder / name
        if not path.is_file():
            raise CorruptFile(f"{path} is missing from the run: run {command('discover')} again")
        if digest(path) != digested:
            raise CorruptFile(f"{path} changed since miscal wrote it (sha256 differs): run {command('discover')} again")
