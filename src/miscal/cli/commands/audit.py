"""``miscal audit``: nulls, seeds, thresholds and bootstrap of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from miscal.base.options import number, parameter
from miscal.cli.options import Form, RunDir


@dataclass(frozen=True)
class AuditOptions:
    """What a run is to be checked against."""

    null: Literal["visible", "calibrated", "permuted"] = parameter(
        "What the refits are to compare with. visible: is more found than if outcomes depended on the confidence "
        "alone? calibrated: more than if every confidence held? permuted, as in the paper: more than if neither "
        "inputs nor confidences said anything about the outcomes that are learned from?",
        "visible",
    )
    draws: int = parameter("How many times to refit under the null.", 20, metavar="N", parse=number(int, 1))
    seeds: int = parameter("How many seeds to compare, at least 2.", 5, metavar="N", parse=number(int, 2))
    device: Literal["auto", "cpu", "cuda"] | None = parameter(
        "Where a run of --method paper is learned again. Default: what the run was given."
    )


def command(run_dir: RunDir, form: Form, how: AuditOptions) -> None:
    """Check a run against chance, other seeds and other thresholds.

    The run is repeated on outcomes without structure and with other seeds. Its regimes are cut again at other
    thresholds, and its test rows are resampled.
    """
    from miscal.runs.audit.audit import audit, audit_lines
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        found = audit(
            run_dir, null=how.null, n_draws=how.draws, n_seeds=how.seeds, device=how.device, progress=progress
        )
    form.print(lambda: audit_lines(found, Path(run_dir)), found.to_json, lambda: found.shown().markdown())
