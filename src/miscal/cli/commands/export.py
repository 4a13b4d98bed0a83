"""``miscal export``: corrected confidences in the format of another tool."""

from typing import Annotated, Literal

import typer

from miscal.cli.options import OverwriteTable, RunDir

ToolName = Annotated[Literal["inspect"], typer.Argument(metavar="TOOL", help="The tool that is to read them: inspect.")]
OutFile = Annotated[str, typer.Option("--out", metavar="FILE", help="File of scores to write: a .json file.")]


def command(tool: ToolName, run_dir: RunDir, out: OutFile, overwrite: OverwriteTable = False) -> None:
    """Write the corrected confidences of a run in the format of another tool.

    Next: `inspect score LOG --scorer inspect_ai/precomputed_scores -S scores=FILE --action append --output-file NEW`.
    """
    from miscal.integrations.inspect_scores import export_scores

    n = export_scores(run_dir, out, overwrite=overwrite)
    print(f"{n:,} corrected confidences of {tool} samples written to {out}")
