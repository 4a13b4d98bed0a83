"""``miscal compare``: two runs beside each other."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miscal.cli.options import Form
from miscal.runs.settings import DiscoverySettings

if TYPE_CHECKING:
    from miscal.runs.compare.comparison import RunComparison

RunFolder = Annotated[str, typer.Argument(metavar="RUN", help="Folder written by `miscal discover`.")]
Other = Annotated[str, typer.Argument(metavar="RUN", help="Folder of the run to compare with it.")]
Match = Annotated[
    str | None,
    typer.Option(
        "--match",
        metavar="COL",
        help="Column of both runs' data whose equal values mean the same row. Default: row numbers of one file, a "
        "column id, equal texts or equal inputs.",
    ),
]
Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Folder to write compare.json and compare.html into.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the comparison if the folder exists.")]

FailIfWorse = Annotated[
    bool,
    typer.Option(
        "--fail-if-worse",
        help="End with status 3 where the second run is worse calibrated than the first, beyond chance: on all rows "
        "or, where these do not tell them apart, in a group.",
    ),
]


def command(
    run: RunFolder,
    other: Other,
    out: Out,
    settings: Annotated[DiscoverySettings, "seed"],
    form: Form,
    match: Match = None,
    overwrite: Overwrite = False,
    fail_if_worse: FailIfWorse = False,
) -> int:
    """Compare two runs: the same rows under two models or prompts, or one model on two sets.

    Says which run is better calibrated, where they differ and where both fail, with intervals that are paired where
    the rows are the same. Several models or sets are a study: `miscal study --from`.

    Exit status: 0; 2 for an error you can fix; with --fail-if-worse 3 where the second run is worse than the first.
    """
    from miscal.cli.exit_status import ALARM, DONE
    from miscal.runs.compare.answer import comparison_lines, shown_comparison
    from miscal.runs.compare.comparison import compare, write_comparison
    from miscal.runs.shown_progress import steps

    def make() -> "RunComparison":
        found = compare(run, other, match=match, seed=settings.seed, progress=progress)
        progress("page")
        return found

    with steps() as progress:
        found = write_comparison(make, out, overwrite=overwrite)
    form.print(lambda: comparison_lines(found, Path(out)), found.to_json, lambda: shown_comparison(found).markdown())
    if not (fail_if_worse and found.worse):
        return DONE
    first, *more = found.worse
    others = f" and {len(more)} more" if more else ""
    print(f"{found.b} is worse than {found.a}: {first}{others}", file=sys.stderr)
    return ALARM
