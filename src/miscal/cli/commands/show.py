"""``miscal show``: the table of a column of a run."""

from typing import Annotated

import typer

from miscal.cli.options import RunDir

By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COL",
        help="A metadata column of the run, or one of its features that name findings.",
    ),
]
Class = Annotated[
    str | None,
    typer.Option("--class", metavar="NAME", help="A class, of a run of several classes, instead of --by."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the table as JSON instead of text.")]


def command(run_dir: RunDir, by: By = None, name: Class = None, json: Json = False) -> None:
    """Print the table of a column, with the finding that each value is or is explained by; or the findings of a class.

    For each value: rows, accuracy, confidence, residual, hidden residual, and what the correction leaves of it.
    """
    from miscal.base.errors import InputError
    from miscal.runs.show.class_wording import class_lines
    from miscal.runs.show.command import show, show_class
    from miscal.runs.show.wording import table_lines

    if (by is None) == (name is None):
        raise InputError(
            "give one of --by COL, for the table of a column, and --class NAME, for the findings of a class"
        )
    shown, lines = (show(run_dir, by), table_lines) if by is not None else (show_class(run_dir, str(name)), class_lines)
    print(shown.to_json() if json else "\n".join(lines(shown)), end="" if json else "\n")
