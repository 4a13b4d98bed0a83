"""``miscal import``: results that another tool has written, as one table of triples."""

from typing import Annotated

import typer

from miscal.cli import options
from miscal.data.importers import tool_names

Tool = Annotated[str, typer.Argument(metavar="TOOL", help=f"The tool that wrote the logs: {', '.join(tool_names())}.")]
Logs = Annotated[str, typer.Argument(metavar="PATH", help="A log file, or a folder to search for logs.")]
OutFile = Annotated[str, typer.Option("--out", metavar="DATA", help="Table to write, a .parquet file.")]


def command(
    tool: Tool,
    path: Logs,
    out: OutFile,
    overwrite: options.OverwriteTable = False,
) -> None:
    """Turn the logs of another tool into a table. Next: `miscal discover DATA --text text`."""
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        progress("reading")
        from miscal.data.importers import read_log
        from miscal.data.importers.imported import check_out

        check_out(out, overwrite=overwrite)
        found = read_log(tool, path)
        progress("writing")
        found.write(out, overwrite=overwrite)
    for note in found.notes:
        print(f"note        {note}")
    means = found.table.select("correct", "confidence").mean().row(0)
    print(f"accuracy {means[0]:.3f}, confidence {means[1]:.3f}")
    logs = "log" if found.n_logs == 1 else "logs"
    print(f"{len(found.table):,} rows of {found.n_logs:,} {logs} imported, written to {out}")
