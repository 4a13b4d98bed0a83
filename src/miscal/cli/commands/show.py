"""``miscal show``: a run with every group, or the table of one of its columns."""

from pathlib import Path
from typing import Annotated

import typer

from miscal.cli.options import Form, RunDir, draws_blocks

By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COL,COL",
        help="Metadata columns of the run, or those of its features that name findings: a table for each, in turn.",
    ),
]
Class = Annotated[
    str | None,
    typer.Option("--class", metavar="NAME", help="A class, of a run of several classes, instead of --by."),
]
Shown = Annotated[bool, typer.Option("--columns", help="What every column was read as, or why it was left out.")]


def command(run_dir: RunDir, form: Form, by: By = None, name: Class = None, columns: Shown = False) -> None:
    """Print a run with every group; or the table of a column, the findings of a class, or what columns were read as.

    Of each value of a column: rows, accuracy, confidence, residual, hidden residual, what the correction leaves of it,
    and the finding that it is or is explained by.
    """
    from miscal.base.errors import InputError

    if (by is not None) + (name is not None) + columns > 1:
        raise InputError("give one of --by COL, --class NAME and --columns")
    if by is None and name is None:
        from miscal.discovery.summary import read_summary
        from miscal.report.brief import brief_lines, brief_markdown
        from miscal.report.printed import column_lines

        summary, folder = read_summary(run_dir), Path(run_dir)
        lines = column_lines(summary) if columns else brief_lines(summary, folder, every=True, bars=draws_blocks())
        form.print(lambda: lines, summary.to_json, lambda: brief_markdown(summary, folder))
        return
    from miscal.data.columns import split_names
    from miscal.runs.show import class_lines, class_markdown, show, show_class, table_lines, table_markdown

    if by is not None:
        tables = [show(run_dir, column) for column in split_names(by)]
        written = [table.to_json() for table in tables]
        form.print(
            lambda: [line for table in tables for line in ("", *table_lines(table))][1:],
            lambda: written[0] if len(written) == 1 else f"[{','.join(written)}]\n",
            lambda: "\n\n".join(map(table_markdown, tables)),
        )
    else:
        one = show_class(run_dir, str(name))
        form.print(lambda: class_lines(one), one.to_json, lambda: class_markdown(one))
