"""``miscal monitor``: whether the correction still holds on what came after."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from miscal.base.options import given, number, parameter
from miscal.cli.exit_status import ALARM, DONE
from miscal.cli.options import Form, RunDir
from miscal.data.columns import NewColumns

Rows = Annotated[
    str,
    typer.Argument(
        metavar="NEW_LABELLED", help="A .parquet, .csv or .jsonl file of new rows with outcomes, none of them twice."
    ),
]
Taken = Annotated[
    NewColumns, "confidence", "correct", "probability", "event", "positive", "probabilities", "label", "embeddings",
    "features", "text", "where", "missing_as_blank", "group", "encoding",
]  # fmt: skip


@dataclass(frozen=True)
class LookOptions:
    """How a look is taken, and where it is kept."""

    out: str | None = parameter("Folder of the monitor. Default: monitor in RUN_DIR.", metavar="DIR")
    at: str | None = parameter("What to call this look on the page, e.g. its date.", metavar="DATE")
    tolerance: float | None = parameter(
        "Distance of outcomes from the corrected confidences that counts as right, e.g. 0.02; fixed at the first look. "
        "Default: 0.02 (less of rare events).",
        metavar="T",
        parse=number(float, 0),
    )
    on_invalid: Literal["error", "drop"] = parameter(
        "What to do if rows have missing or invalid values: stop with an error, or drop them.", "error"
    )


def command(run: RunDir, data: Rows, columns: Taken, form: Form, how: LookOptions) -> int:
    """Look whether the correction of a run still holds on labelled rows that came after.

    Each call adds a look at new rows. Of all rows, each finding and each threshold it says whether the correction
    holds, does not hold, or is not known to. Looks may be as many as one likes: while the corrected confidences are
    right, the probability that anything is ever said not to hold is at most 5 %.

    Exit status: 0 if no alarm was raised, 3 if one was, at this look or before; 2 for an error you can fix.
    """
    from miscal.discovery.run_folder import MONITOR
    from miscal.runs.monitor.command import monitor
    from miscal.runs.monitor.document import monitor_lines
    from miscal.runs.shown_progress import steps

    options = given(columns) | vars(how)
    with steps() as progress:
        found = monitor(run, data, progress=progress, **options)
    place = Path(run) / MONITOR if how.out is None else Path(how.out)
    form.print(lambda: monitor_lines(found, place), found.to_json, lambda: found.shown().markdown())
    return ALARM if found.alarm else DONE
