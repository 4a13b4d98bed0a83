"""``miscal show``: the table of a column of a run."""

from typing import Annotated

import typer

from miscal.cli.options import RunDir

By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="COL",
        help="A metadata column of the run, or one of its features that name findings.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the table as JSON instead of text.")]


def command(run_dir: RunDir, by: By, json: Json = False) -> None:
    """Print the table of a column: every value with its numbers, and which finding it is or is explained by.

    For each value: rows, accuracy, confidence, residual, hidden residual, and what the correction leaves of it.
    """
    from miscal.runs.show.command import show
    from miscal.runs.show.wording import table_lines

    table = show(run_dir, by)
    print(table.to_json() if json else "\n".join(table_lines(table)), end="" if json else "\n")
