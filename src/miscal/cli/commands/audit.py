"""``miscal audit``: nulls, seeds, thresholds and bootstrap of a run."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from miscal.cli.options import RunDir, whole


class Null(StrEnum):
    """Hypotheses without structure, to refit under."""

    visible = "visible"
    calibrated = "calibrated"
    permuted = "permuted"


NullOption = Annotated[
    Null,
    typer.Option(
        "--null",
        help="Outcomes to refit on: drawn from the globally corrected confidence, drawn from the confidence "
        "itself, or permuted among the rows that are learned from.",
    ),
]
Draws = Annotated[int, typer.Option(metavar="N", parser=whole(1), help="How many times to refit under the null.")]
Seeds = Annotated[int, typer.Option(metavar="N", parser=whole(2), help="How many seeds to compare, at least 2.")]
Json = Annotated[bool, typer.Option("--json", help="Print the audit as JSON instead of text.")]


def command(
    run_dir: RunDir, null: NullOption = Null.visible, draws: Draws = 20, seeds: Seeds = 5, json: Json = False
) -> None:
    """Check a run against chance, other seeds and other thresholds.

    The run is repeated on outcomes without structure and with other seeds. Its regimes are cut again at other
    thresholds, and its test rows are resampled.
    """
    import json as writer

    from miscal.base.files import locked, replace_file
    from miscal.cli.progress import stages
    from miscal.discovery.run_folder import check_seal, seal

    check_seal(run_dir)
    with locked(run_dir), stages() as progress:
        from miscal.discovery.audit import audit_run
        from miscal.discovery.run import read_run

        found = audit_run(read_run(run_dir), null=null.value, n_draws=draws, n_seeds=seeds, progress=progress).to_dict()
        text = writer.dumps(found, indent=1, allow_nan=False) + "\n"
        replace_file(Path(run_dir) / "audit.json", text.encode())
        seal(run_dir)
    print(text if json else "\n".join(audit_lines(found, Path(run_dir))), end="" if json else "\n")


def audit_lines(found: dict, run_dir: Path) -> list[str]:
    """Say what the audit found.

    Parameters
    ----------
    found : dict
        The content of ``audit.json``.
    run_dir : Path
        Where it lies.

    Returns
    -------
    list of str
        Lines to print.
    """
    lines = []
    for name, one in found["nulls"].items():
        words = name.replace("_", " ")
        lines.append(
            f"{words:<22}{one['observed']:.3f}, {one['mean']:.3f} on average under the null (p = {one['p_value']:.3f})"
        )
    agreement = found["seeds"]["correlation"]["mean"]
    lines.append(
        f"{'seeds':<22}average correlation of the fields {'undefined' if agreement is None else f'{agreement:.3f}'}"
    )
    for one in found["thresholds"]:
        gap = "none" if one["gap"] is None else f"{one['gap']:.3f}"
        lines.append(
            f"epsilon {one['epsilon']:<14}over {one['share_over']:.0%}, under {one['share_under']:.0%}, gap {gap}"
        )
    return [*lines, f"{'written to':<22}{run_dir / 'audit.json'}"]
