"""``miscal export``: the correction of a run as SQL."""

import sys
from typing import Annotated, Literal

import typer

from miscal.cli.options import OverwriteTable, RunDir

Format = Annotated[Literal["sql"], typer.Argument(metavar="sql", help="The format: a correction that can be read.")]
OutFile = Annotated[str, typer.Option("--out", metavar="FILE", help="File to write, a .sql file.")]
DialectName = Annotated[Literal["ansi", "spark"], typer.Option("--dialect", help="How names are quoted.")]


def command(
    form: Format, run_dir: RunDir, out: OutFile, dialect: DialectName = "ansi", overwrite: OverwriteTable = False
) -> None:
    """Write the correction of a run as SQL: one expression over the names of the columns, for a select list."""
    from miscal.integrations.sql_expression import export_sql

    done = export_sql(run_dir, out, dialect=dialect, overwrite=overwrite)
    print(f"an expression of {done.shifts} shifts written to {out}")
    if (readable := done.readable) is not None:
        own = readable.correction
        print(f"log loss as it is       {own.log_loss_raw:.4f}")
        print(f"by the expression       {own.log_loss:.4f}, on held-out parts of these rows")
        print(f"by the full correction  {readable.log_loss_full:.4f}, which `miscal calibrate` applies")
        for one in readable.left_out:
            print(f"left out: {one}", file=sys.stderr)
