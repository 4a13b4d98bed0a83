"""Draw a run as page, terminal, notebook and markdown; nothing is computed here.

In: a `RunContent` or its folder, or a `Sheet` of any other result.
Out: a self-contained page, printed lines, pictures.
"""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.base.files import resolve
from miscal.discovery.run_folder import MONITOR, run_folder

if TYPE_CHECKING:
    from miscal.discovery.run import RunContent

__all__ = ["write_run"]


def write_run(
    found: "RunContent | Callable[[], RunContent]",
    out: str | Path,
    *,
    overwrite: bool = False,
    report: bool = True,
    reads: Collection[Any] = (),
    looks: Path | None = None,
) -> "RunContent":
    """Write a discovery with its map as a run folder, whole or not at all, and return both.

    `found` may be a function that makes it, called once the folder is known to be free and is locked, so that hours of
    work are not lost to a name that is taken. `reads` are paths that are never replaced; `looks` is the folder of its
    monitor, saved with it if it is there. A folder that exists without `overwrite`, or holds files of others, is an
    InputError; one that another process is writing a LockedError.
    """
    with run_folder(out, overwrite=overwrite, reads=reads) as folder:
        discovery = (found() if callable(found) else found).with_map()
        # heavy modules come after the folder is known to be free
        from miscal.discovery.run import write_files
        from miscal.report.frame import source_of
        from miscal.report.page import write_page

        write_files(discovery, folder)
        if looks is not None and looks.is_dir():
            shutil.copytree(looks, folder / MONITOR)
        if report:
            write_page(source_of(discovery, resolve(out).name), folder)
    return discovery
