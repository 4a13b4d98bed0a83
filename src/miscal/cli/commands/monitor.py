"""``miscal monitor``: whether the correction still holds on what came after."""

from pathlib import Path
from typing import Annotated

import typer

from miscal.cli import class_options, options
from miscal.cli.exit_status import ALARM, DONE
from miscal.cli.form import Markdown, check_form, print_result

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
        parser=options.non_negative,
        help="Distance of outcomes from the corrected confidences that counts as right, e.g. 0.02; fixed at the first "
        "look. Default: 0.02 (less of rare events), or what the run could be off by.",
        show_default=False,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of groups whose rows count as one, or none; fixed at the first look. Default: that of the run.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print monitor.json instead of text.")]


def command(
    run: options.RunDir,
    data: Rows,
    out: Out = None,
    confidence: options.Confidence = None,
    correct: options.Correct = None,
    probability: options.Probability = None,
    event: options.Event = None,
    positive: options.Positive = None,
    probabilities: class_options.NewProbabilities = None,
    label: class_options.NewLabel = None,
    embeddings: options.Embeddings = None,
    features: options.Features = None,
    text: options.Text = None,
    where: options.Where = None,
    missing_as_blank: options.MissingAsBlank = None,
    group: Group = None,
    at: At = None,
    tolerance: Tolerance = None,
    on_invalid: options.OnInvalidOption = options.OnInvalid.error,
    encoding: options.Encoding = "utf-8",
    csv_escape: options.CsvEscape = None,
    json: Json = False,
    markdown: Markdown = False,
) -> int:
    """Look whether the correction of a run still holds on labelled rows that came after.

    Each call adds a look at new rows. Of all rows, each finding and each threshold it says whether the correction
    holds, does not hold, or is not known to. Looks may be as many as one likes: while the corrected confidences are
    right, the probability that anything is ever said not to hold is at most 5 %.

    Exit status: 0 if no alarm was raised, 3 if one was, at this look or before; 2 for an error you can fix.
    """
    check_form(json=json, markdown=markdown)
    from miscal.base.markdown import markdown as as_markdown
    from miscal.runs.monitor.command import FOLDER, monitor
    from miscal.runs.monitor.wording import monitor_lines, shown_monitoring
    from miscal.runs.shown_progress import steps

    columns = {"confidence": confidence, "correct": correct, "probability": probability, "event": event}
    columns |= {"probabilities": probabilities, "label": label}
    columns |= {"positive": positive, "embeddings": embeddings, "features": features}
    with steps() as progress:
        found = monitor(
            run, data, out=out, at=at, tolerance=tolerance, group=group, progress=progress, text=text, where=where,
            on_invalid=on_invalid.value, encoding=encoding, csv_escape=csv_escape,
            missing_as_blank=options.several(missing_as_blank), **columns,
        )  # fmt: skip
    place = Path(run) / FOLDER if out is None else Path(out)
    print_result(
        lambda: monitor_lines(found, place),
        found.to_json,
        lambda: as_markdown(shown_monitoring(found)),
        json=json,
        markdown=markdown,
    )
    return ALARM if found.alarm else DONE
