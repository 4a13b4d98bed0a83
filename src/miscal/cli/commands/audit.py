"""``miscal audit``: nulls, seeds, thresholds and bootstrap of a run."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from miscal.base.options import number
from miscal.cli.options import Form, RunDir, parser_of

NullOption = Annotated[
    Literal["visible", "calibrated", "permuted"],
    typer.Option(
        "--null",
        help="What the refits are to compare with. visible: is more found than if outcomes depended on the "
        "confidence alone? calibrated: more than if every confidence held? permuted, as in the paper: more than "
        "if neither inputs nor confidences said anything about the outcomes that are learned from?",
    ),
]
Draws = Annotated[
    int, typer.Option(metavar="N", parser=parser_of(number(int, 1)), help="How many times to refit under the null.")
]
Seeds = Annotated[
    int, typer.Option(metavar="N", parser=parser_of(number(int, 2)), help="How many seeds to compare, at least 2.")
]
DeviceOption = Annotated[
    Literal["auto", "cpu", "cuda"] | None,
    typer.Option(
        "--device",
        help="Where a run of --method paper is learned again. Default: what the run was given.",
        show_default=False,
    ),
]


def command(
    run_dir: RunDir,
    form: Form,
    null: NullOption = "visible",
    draws: Draws = 20,
    seeds: Seeds = 5,
    device: DeviceOption = None,
) -> None:
    """Check a run against chance, other seeds and other thresholds.

    The run is repeated on outcomes without structure and with other seeds. Its regimes are cut again at other
    thresholds, and its test rows are resampled.
    """
    from miscal.runs.audit.audit import audit
    from miscal.runs.audit.document import audit_lines
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        found = audit(run_dir, null=null, n_draws=draws, n_seeds=seeds, device=device, progress=progress)
    form.print(lambda: audit_lines(found, Path(run_dir)), found.to_json, lambda: found.shown().markdown())
