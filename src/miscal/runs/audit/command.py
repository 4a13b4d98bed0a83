"""Audit a run folder, and write ``audit.json`` into it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from miscal.base.files import locked, replace_file
from miscal.base.signatures import checked_call
from miscal.discovery.run_folder import check_seal, seal
from miscal.evidence.settings import EVIDENCE_DEFAULTS

if TYPE_CHECKING:
    from miscal.discovery.run import RunContent
    from miscal.runs.audit.document import Audit


@checked_call
def audit(
    run: str | Path,
    *,
    content: RunContent | None = None,
    null: str = "visible",
    n_draws: int = EVIDENCE_DEFAULTS.null_draws,
    n_seeds: int = EVIDENCE_DEFAULTS.n_seeds,
    device: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit a run on the data it was made from, and write ``audit.json`` into its folder.

    Parameters
    ----------
    run : str or Path
        A run folder.
    content : RunContent, optional
        What it holds, where that is known; by default it is read.
    null, n_draws, n_seeds, device, progress
        As for :func:`miscal.runs.audit.audit.audit_run`.

    Raises
    ------
    FileError, CorruptFile
        If the folder is no run, or was changed.
    LockedError
        If another process is writing it.
    InputError, MismatchError
        As :func:`miscal.runs.audit.audit.audit_run` says.
    """
    check_seal(run)
    with locked(run):
        # heavy modules come after the folder is known to be whole and free
        from miscal.discovery.run import read_run
        from miscal.runs.audit.audit import audit_run

        opened = read_run(run) if content is None else content
        found = audit_run(opened, null=null, n_draws=n_draws, n_seeds=n_seeds, device=device, progress=progress)
        seal(run, but=["audit.json"])
        replace_file(Path(run) / "audit.json", found.to_json().encode())
        seal(run)
    return found
