"""A discovery written as a run folder, and a comparison as a folder of its own, each together with its page."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from miscal.base.files import resolve, whole_folder
from miscal.discovery.run_folder import check_target, run_folder

if TYPE_CHECKING:
    from miscal.discovery.comparing.document import RunComparison
    from miscal.discovery.discover import Discovery


def write_run(
    found: "Discovery | Callable[[], Discovery]", out: str | Path, *, overwrite: bool = False, report: bool = True
) -> "Discovery":
    """Write a discovery as a run folder, whole or not at all.

    Parameters
    ----------
    found : Discovery or callable
        What :func:`miscal.discovery.discover.discover` returned; or a function that returns it, which is called once
        the folder is known to be free and is locked, so that hours of work are not lost to a name that is taken.
    out : str or Path
        The folder to make.
    overwrite : bool, default False
        Replace an existing run folder.
    report : bool, default True
        Draw ``report.html`` too.

    Returns
    -------
    Discovery
        What was written.

    Raises
    ------
    InputError
        If the folder exists and `overwrite` is off, or holds files that miscal did not write.
    LockedError
        If another process is writing it.
    """
    with run_folder(out, overwrite=overwrite) as folder:
        discovery = found() if callable(found) else found
        # heavy modules come after the folder is known to be free
        from miscal.discovery.run import write_files
        from miscal.report.page import render

        write_files(discovery, folder)
        if report:
            render(folder, name=resolve(out).name)
    return discovery


COMPARISON_FILES = frozenset({"compare.json", "compare.html"})
"""What a folder of a comparison holds."""


def write_comparison(
    found: "RunComparison | Callable[[], RunComparison]", out: str | Path, *, overwrite: bool = False
) -> "RunComparison":
    """Write a comparison as ``compare.json`` and its page ``compare.html``, both or neither.

    Parameters
    ----------
    found : RunComparison or callable
        What :func:`miscal.compare` returned; or a function that returns it, which is called once the folder is known
        to be free and is locked.
    out : str or Path
        The folder to make.
    overwrite : bool, default False
        Replace an existing comparison.

    Returns
    -------
    RunComparison
        What was written.

    Raises
    ------
    InputError
        If the folder exists and `overwrite` is off, or holds files of other kinds.
    LockedError
        If another process is writing it.
    """

    def check() -> None:
        check_target(out, overwrite=overwrite, ours=COMPARISON_FILES, what="comparisons")

    with whole_folder(out, check=check) as folder:
        comparison = found() if callable(found) else found
        from miscal.report.comparison.page import build

        (folder / "compare.json").write_text(comparison.to_json(), encoding="utf-8")
        (folder / "compare.html").write_text(build(comparison), encoding="utf-8")
    return comparison
