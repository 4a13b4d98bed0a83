"""A discovery written as a run folder, together with its page."""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.base.files import resolve
from miscal.discovery.run_folder import MONITOR, run_folder

if TYPE_CHECKING:
    from miscal.discovery.run import RunContent


def write_run(
    found: "RunContent | Callable[[], RunContent]",
    out: str | Path,
    *,
    overwrite: bool = False,
    report: bool = True,
    reads: Collection[Any] = (),
    looks: Path | None = None,
) -> "RunContent":
    """Write a discovery as a run folder, whole or not at all.

    Parameters
    ----------
    found : RunContent or callable
        What :func:`miscal.discovery.discover.discover` returned; or a function that returns it, which is called once
        the folder is known to be free and is locked, so that hours of work are not lost to a name that is taken.
    out : str or Path
        The folder to make.
    overwrite : bool, default False
        Replace an existing run folder.
    report : bool, default True
        Draw ``report.html`` too.
    reads : collection
        Paths that the run is made from, which are never replaced; the others are ignored.
    looks : Path, optional
        Folder of its monitor, to be saved with it; it need not exist.

    Returns
    -------
    RunContent
        What was written.

    Raises
    ------
    InputError
        If the folder exists and `overwrite` is off, or holds files that miscal did not write.
    LockedError
        If another process is writing it.
    """
    with run_folder(out, overwrite=overwrite, reads=reads) as folder:
        discovery = found() if callable(found) else found
        # heavy modules come after the folder is known to be free
        from miscal.discovery.run import write_files
        from miscal.report.page import write_page
        from miscal.report.source import source_of

        write_files(discovery, folder)
        if looks is not None and looks.is_dir():
            shutil.copytree(looks, folder / MONITOR)
        if report:
            tables = discovery.table, discovery.map, discovery.tables
            source = source_of(discovery.summary, *tables, name=resolve(out).name)
            write_page(source, folder)
    return discovery
