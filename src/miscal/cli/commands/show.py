"""``miscal show``: the table of a column of a run."""

from typing import Annotated

import typer

from miscal.cli.options import Form, RunDir

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


def command(run_dir: RunDir, form: Form, by: By = None, name: Class = None) -> None:
    """Print the table of a column, with the finding that each value is or is explained by; or the findings of a class.

    For each value: rows, accuracy, confidence, residual, hidden residual, and what the correction leaves of it.
    """
    from miscal.base.errors import InputError
    from miscal.runs.show import class_lines, class_markdown, show, show_class, table_lines, table_markdown

    if (by is None) == (name is None):
        raise InputError(
            "give one of --by COL, for the table of a column, and --class NAME, for the findings of a class"
        )
    if by is not None:
        table = show(run_dir, by)
        form.print(lambda: table_lines(table), table.to_json, lambda: table_markdown(table))
    else:
        one = show_class(run_dir, str(name))
        form.print(lambda: class_lines(one), one.to_json, lambda: class_markdown(one))
