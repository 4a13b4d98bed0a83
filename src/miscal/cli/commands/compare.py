"""``miscal compare``: runs beside each other."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.errors import InputError
from miscal.base.options import given, parameter
from miscal.cli.options import Form
from miscal.data.columns import Columns
from miscal.runs.settings import DiscoverySettings

if TYPE_CHECKING:
    from miscal.runs.compare.comparison import RunComparison

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN RUN [RUN ...]",
        help="Folders written by `miscal discover`; with --confidence-columns, one table.",
    ),
]
Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Folder to write compare.json and compare.html into.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the comparison if the folder exists.")]

FailIfWorse = Annotated[
    bool,
    typer.Option(
        "--fail-if-worse",
        help="End with status 3 where a run is worse calibrated than the first, beyond chance: on all rows or, where "
        "these do not tell them apart, in a group.",
    ),
]


@dataclass(frozen=True)
class CompareOptions:
    """What is compared, and which rows are the same."""

    match: str | None = parameter(
        "Column of every run's data whose equal values mean the same row. Default: row numbers of one file, a column "
        "id, equal texts or equal inputs.",
        metavar="COL",
    )
    confidence_columns: str | None = parameter(
        "Two to eight confidences of the same answers, separated by commas: each becomes a run on the rows of one "
        "table. --correct, --text, --features, --metadata, --group and --where are of that table.",
        metavar="NAMES",
    )
    group: str | None = parameter(
        "Column of groups: rows of one group stay together. COL:day takes the days of a column of dates (hour, week, "
        "month and year likewise).",
        metavar="COL",
    )


def command(
    runs: Runs,
    out: Out,
    columns: Annotated[Columns, "correct", "text", "features", "metadata", "where"],
    settings: Annotated[DiscoverySettings, "seed"],
    form: Form,
    how: CompareOptions,
    overwrite: Overwrite = False,
    fail_if_worse: FailIfWorse = False,
) -> int:
    """Compare runs: the same rows under two models or prompts, or one model on two sets.

    With --confidence-columns, several confidences of the answers of one table: `miscal compare DATA
    --confidence-columns a,b --text text --out DIR`.

    Says which run is better calibrated, where they differ and where both fail, with intervals that are paired where
    the rows are the same.

    Exit status: 0; 2 for an error you can fix; with --fail-if-worse 3 where a run is worse calibrated than the first.
    """
    from miscal.cli.exit_status import ALARM, DONE
    from miscal.runs.compare.comparison import write_comparison
    from miscal.runs.shown_progress import steps

    seed, asked = settings.seed, given(columns) | ({} if how.group is None else {"group": how.group})
    _check(runs, how, asked)

    def make() -> "RunComparison":
        if how.confidence_columns is not None:
            from miscal.data.columns import split_names
            from miscal.runs.compare.confidences import compare_confidences

            names = split_names(how.confidence_columns)
            return compare_confidences(runs[0], names, seed=seed, progress=progress, **asked)
        from miscal.runs.compare.comparison import compare

        found = compare(runs, match=how.match, seed=seed, progress=progress)
        progress("page")
        return found

    from miscal.runs.compare.answer import comparison_lines, shown_comparison

    with steps() as progress:
        found = write_comparison(make, out, overwrite=overwrite)
    form.print(lambda: comparison_lines(found, Path(out)), found.to_json, lambda: shown_comparison(found).markdown())
    if not (fail_if_worse and found.worse):
        return DONE
    for name, (first, *more) in found.worse.items():
        others = f" and {len(more)} more" if more else ""
        print(f"{name} is worse than {found.runs[0].name}: {first}{others}", file=sys.stderr)
    return ALARM


def _check(runs: list[str], how: CompareOptions, asked: dict[str, str]) -> None:
    """Refuse options that belong to the other of the two kinds of comparison."""
    if how.confidence_columns is None and asked:
        raise InputError(
            f"--{next(iter(asked))} is of one table, whose confidences --confidence-columns names; runs know theirs: "
            "leave it out"
        )
    if how.confidence_columns is not None and (len(runs) > 1 or how.match is not None):
        what = "--match" if how.match is not None else f"{len(runs)} paths"
        raise InputError(f"--confidence-columns compares columns of one table; got {what}: give the table alone")
