"""``miscal monitor``: whether the correction still holds on what came after."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from miscal.base.options import given, number
from miscal.cli.exit_status import ALARM, DONE
from miscal.cli.options import Form, RunDir, parser_of
from miscal.data.columns import NewColumns

Rows = Annotated[
    str,
    typer.Argument(
        metavar="NEW_LABELLED", help="A .parquet, .csv or .jsonl file of new rows with outcomes, none of them twice."
    ),
]
Out = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Folder of the monitor. Default: monitor in RUN_DIR.")
]
At = Annotated[str | None, typer.Option(metavar="DATE", help="What to call this look on the page, e.g. its date.")]
Tolerance = Annotated[
    float | None,
    typer.Option(
        metavar="T",
        parser=parser_of(number(float, 0)),
        help="Distance of outcomes from the corrected confidences that counts as right, e.g. 0.02; fixed at the first "
        "look. Default: 0.02 (less of rare events), or what the run could be off by.",
        show_default=False,
    ),
]
OnInvalid = Annotated[
    Literal["error", "drop"],
    typer.Option(
        "--on-invalid", help="What to do if rows have missing or invalid values: stop with an error, or drop them."
    ),
]
Taken = Annotated[
    NewColumns, "confidence", "correct", "probability", "event", "positive", "probabilities", "label", "embeddings",
    "features", "text", "where", "missing_as_blank", "group", "encoding", "csv_escape",
]  # fmt: skip


def command(
    run: RunDir,
    data: Rows,
    columns: Taken,
    form: Form,
    out: Out = None,
    at: At = None,
    tolerance: Tolerance = None,
    on_invalid: OnInvalid = "error",
) -> int:
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

    options = given(columns) | {"on_invalid": on_invalid}
    with steps() as progress:
        found = monitor(run, data, out=out, at=at, tolerance=tolerance, progress=progress, **options)
    place = Path(run) / MONITOR if out is None else Path(out)
    form.print(lambda: monitor_lines(found, place), found.to_json, lambda: found.shown().markdown())
    return ALARM if found.alarm else DONE
