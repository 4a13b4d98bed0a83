"""``miscal export``: corrected confidences in the format of another tool, or the correction as SQL."""

from typing import Annotated, Literal

import typer

from miscal.cli.options import OverwriteTable, RunDir

ToolName = Annotated[
    Literal["inspect", "sql"],
    typer.Argument(metavar="TOOL", help="inspect: scores for its logs. sql: the correction of a quick run."),
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

        n = export_sql(run_dir, out, dialect=dialect, overwrite=overwrite)
        print(f"an expression of {n} shifts written to {out}")
        return
    from miscal.integrations.inspect_scores import export_scores

    n = export_scores(run_dir, out, overwrite=overwrite)
    print(f"{n:,} corrected confidences of {tool} samples written to {out}")
