"""``miscal scan``: findings where the data live."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from miscal.cli.options import Form, draws_blocks
from miscal.runs.scan.options import ScanOptions

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A .parquet or .csv file, a folder of them, FILE.duckdb::TABLE, or cells.parquet of a scan; none with "
        "--sql.",
    ),
]
Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Folder to write.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the scan if the folder exists.")]
DialectName = Annotated[
    Literal["ansi", "spark"], typer.Option("--dialect", help="Of correction.sql: how names are quoted.")
]


def command(
    out: Out,
    options: ScanOptions,
    form: Form,
    source: Source = None,
    dialect: DialectName = "ansi",
    overwrite: Overwrite = False,
) -> None:
    """Find where a model is over- and under-confident in a table that stays where it is.

    DuckDB counts the rows, every one of them; the findings follow from the counts. The folder gets the cells, the
    summary, the correction as one SQL expression, and a page.
    """
    from shutil import rmtree

    from miscal.base.files import check_target, locked, parents, parts_folder
    from miscal.runs.scan.command import FILES, scanned
    from miscal.runs.scan.page import scan_lines, scan_markdown
    from miscal.runs.shown_progress import steps

    check_target(out, overwrite=overwrite, holds=FILES, writer="`miscal scan`", reads=[source])
    # what was counted is kept beside the folder until it is there: a scan that was cut off goes on
    parts = parts_folder(out)
    with parents(parts), locked(out, kind="scan"), steps() as progress:
        progress("counting")
        summary = scanned(source, options, parts).save(out, overwrite=overwrite, dialect=dialect)
        rmtree(parts, ignore_errors=True)
    lines = scan_lines(summary, Path(out), bars=draws_blocks())
    form.print(lambda: lines, summary.to_json, lambda: scan_markdown(summary))
