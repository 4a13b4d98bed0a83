"""``miscal audit``: nulls, seeds, thresholds and bootstrap of a run."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from miscal.cli.form import Markdown, check_form, print_result
from miscal.cli.options import Device, RunDir, whole


class Null(StrEnum):
    """Hypotheses without structure, to refit under."""

    visible = "visible"
    calibrated = "calibrated"
    permuted = "permuted"


NullOption = Annotated[
    Null,
    typer.Option(
        "--null",
        help="What the refits are to compare with. visible: is more found than if outcomes depended on the "
        "confidence alone? calibrated: more than if every confidence held? permuted, as in the paper: more than "
        "if neither inputs nor confidences said anything about the outcomes that are learned from?",
    ),
]
Draws = Annotated[int, typer.Option(metavar="N", parser=whole(1), help="How many times to refit under the null.")]
Seeds = Annotated[int, typer.Option(metavar="N", parser=whole(2), help="How many seeds to compare, at least 2.")]
DeviceOption = Annotated[
    Device | None,
    typer.Option(
        "--device",
        help="Where a run of --method paper is learned again. Default: what the run was given.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the audit as JSON instead of text.")]


def command(
    run_dir: RunDir,
    null: NullOption = Null.visible,
    draws: Draws = 20,
    seeds: Seeds = 5,
    device: DeviceOption = None,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Check a run against chance, other seeds and other thresholds.

    The run is repeated on outcomes without structure and with other seeds. Its regimes are cut again at other
    thresholds, and its test rows are resampled.
    """
    check_form(json=json, markdown=markdown)
    from miscal.base.markdown import markdown as as_markdown
    from miscal.runs.audit.command import audit
    from miscal.runs.audit.wording import audit_lines, shown_audit
    from miscal.runs.shown_progress import steps

    on = None if device is None else device.value
    with steps() as progress:
        found = audit(run_dir, null=null.value, n_draws=draws, n_seeds=seeds, device=on, progress=progress)
    print_result(
        lambda: audit_lines(found.to_dict(), Path(run_dir)),
        found.to_json,
        lambda: as_markdown(shown_audit(found.to_dict())),
        json=json,
        markdown=markdown,
    )
