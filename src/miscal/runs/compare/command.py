"""Compare runs, and write the comparison as a folder with its page."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from miscal.base.errors import command
from miscal.base.files import whole_folder

if TYPE_CHECKING:
    from miscal.runs.compare.document import RunComparison

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
    with whole_folder(out, holds=COMPARISON_FILES, writer=command("compare"), overwrite=overwrite) as folder:
        comparison = found() if callable(found) else found
        from miscal.runs.compare.page import build

        (folder / "compare.json").write_text(comparison.to_json(), encoding="utf-8")
        (folder / "compare.html").write_text(build(comparison), encoding="utf-8")
    return comparison
