"""Take one look: from the run folder to state, document, table and page, all of them or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.base.errors import command
from miscal.base.files import whole_folder
from miscal.discovery.run_folder import MONITOR

if TYPE_CHECKING:
    from miscal.runs.monitor.document import Monitoring

STATE = "state"
MONITOR_FILES = frozenset({"monitor.json", "monitor.html", "course.csv", STATE})
"""What the folder of a monitor holds."""

FOLDER = MONITOR
"""Name of the folder in that of the run."""


def monitor(
    run: str | Path,
    data: Any,
    *,
    out: str | Path | None = None,
    at: str | None = None,
    tolerance: float | None = None,
    group: str | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Monitoring:
    """Look whether the correction of a run still holds on labelled rows that came after.

    Each call is a look at a batch of new rows, added to those before. Looks may be as many, as often and as large as
    one likes, and stopped at any time: while the corrected confidences are right, the probability that it is ever said
    of anything that the correction does not hold is at most 5 %.

    Parameters
    ----------
    run : str or Path
        A run folder.
    data : path or table
        New rows with outcomes, as for :func:`miscal.read_triples`; none of them at an earlier look.
    out : str or Path, optional
        Folder of the monitor; by default ``monitor`` in the run folder. It is made at the first look.
    at : str, optional
        What to call the look, for example its date. Nothing is computed from it.
    tolerance : float in [0, 1), optional
        Distance of outcomes from the corrected confidences that counts as right. By default 0.02 (of rare events less:
        0.4 of the run's band), or what the run could be off by without knowing it. Fixed at the first look.
    group : str, optional
        Column of groups whose rows depend on each other; by default what the run counts by. "none" counts rows. Fixed
        at the first look.
    progress : callable, optional
        Called with the name of each step.
    **options
        Where the columns are, as for ``miscal calibrate``: ``confidence`` and ``correct``, or ``probability``,
        ``event`` and ``positive``, or ``probabilities`` and ``label`` of several classes;
        ``embeddings``, ``features``, ``text``, ``where``, ``missing_as_blank``,
        ``encoding``, ``csv_escape``, and ``on_invalid`` ("error" or "drop").

    Returns
    -------
    Monitoring
        ``.alarm`` says whether one was raised at this look or before, ``.verdict`` why; ``.to_json()`` is
        ``monitor.json``.

    Raises
    ------
    InputError
        If rows were counted before, or the data do not offer what the model needs.
    FileError, CorruptFile, TrustError
        If the run, the data or the state of the monitor cannot be used.
    MismatchError
        If the model or a setting is not the one that the monitor began with.
    LockedError
        If another process is writing the monitor.

    Notes
    -----
    Asymptotic confidence sequences by units (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024), tuned to the first
    look. docs/monitor.md says what is asked and what is presumed.

    Examples
    --------
    >>> monitor("no/such/run", "new.parquet")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/run is not a folder: give the folder of a run, made by `miscal.discover`
    """
    tell = progress or (lambda name: None)
    tell("reading the run")
    from miscal.discovery.run_folder import check_seal

    # before anything is locked or made in a folder that is none
    check_seal(run)
    place = Path(run) / FOLDER if out is None else Path(out)

    with whole_folder(place, holds=MONITOR_FILES, writer=command("monitor"), overwrite=True, reads=[data]) as folder:
        from miscal.discovery.run import read_run
        from miscal.runs.monitor.look import look
        from miscal.runs.monitor.state import load, save

        before = load(place) if place.is_dir() and any(place.iterdir()) else None
        tell("reading and correcting the rows")
        looked = look(read_run(run), data, before, place, at=at, tolerance=tolerance, group=group, **options)
        tell("page")
        save(looked.state, folder)
        _write(looked.document, folder)
    return looked.document


def _write(document: Monitoring, folder: Path) -> None:
    from miscal.data.writing import write_table
    from miscal.runs.monitor.page import build
    from miscal.runs.monitor.views import course_table

    (folder / "monitor.json").write_text(document.to_json(), encoding="utf-8")
    write_table(course_table(document), folder / "course.csv")
    (folder / "monitor.html").write_text(build(document), encoding="utf-8")
