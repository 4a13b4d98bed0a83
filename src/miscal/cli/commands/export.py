"""``miscal export``: corrected confidences in the format of another tool, or the correction as SQL."""

import sys
from typing import Annotated, Literal

import typer

from miscal.cli.options import OverwriteTable, RunDir

ToolName = Annotated[
    Literal["inspect", "sql"],
    typer.Argument(metavar="TOOL", help="inspect: scores for its logs. sql: a correction that can be read."),
]
OutFile = Annotated[str, typer.Option("--out", metavar="FILE", help="File to write: .json of inspect, .sql of sql.")]
DialectName = Annotated[
    Literal["ansi", "spark"], typer.Option("--dialect", help="Of sql: how names are quoted and types called.")
]


def command(
    tool: ToolName, run_dir: RunDir, out: OutFile, dialect: DialectName = "ansi", overwrite: OverwriteTable = False
) -> None:
    """Write corrected confidences in the format of another tool, or a correction as SQL.

    inspect: next, `inspect score LOG --scorer inspect_ai/precomputed_scores -S scores=FILE --action append
    --output-file NEW`. sql: one expression over the names of the columns, to stand in a select list.
    """
    if tool == "sql":
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
        return
    from miscal.integrations.inspect_scores import export_scores

    n = export_scores(run_dir, out, overwrite=overwrite)
    print(f"{n:,} corrected confidences of {tool} samples written to {out}")
