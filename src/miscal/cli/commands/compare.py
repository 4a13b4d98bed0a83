"""``miscal compare``: runs beside each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miscal.cli import options
from miscal.cli.form import Markdown, check_form, print_result

if TYPE_CHECKING:
    from miscal.runs.compare.document import RunComparison

Runs = Annotated[list[str], typer.Argument(metavar="RUN RUN [RUN ...]", help="Folders written by `miscal discover`.")]
Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Folder to write compare.json and compare.html into.")]
MatchColumn = Annotated[
    str | None,
    typer.Option(
        "--match",
        metavar="COL",
        help="Column of every run's data whose equal values mean the same row. Default: row numbers of one file, a "
        "column id, equal texts or equal inputs.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the comparison if the folder exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print compare.json instead of text.")]


def command(
    runs: Runs,
    out: Out,
    match: MatchColumn = None,
    seed: options.Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Compare runs: the same rows under two models or prompts, or one model on two sets.

    Says which run is better calibrated, where they differ and where both fail, with intervals that are paired where
    the rows are the same.
    """
    check_form(json=json, markdown=markdown)
    from miscal.base.markdown import markdown as as_markdown
    from miscal.runs.compare.command import write_comparison
    from miscal.runs.shown_progress import steps

    def make() -> "RunComparison":
        from miscal.runs.compare.comparison import compare

        found = compare(runs, match=match, seed=seed, progress=progress)
        progress("page")
        return found

    from miscal.runs.compare.wording import comparison_lines, shown_comparison

    with steps() as progress:
        found = write_comparison(make, out, overwrite=overwrite)
    print_result(
        lambda: comparison_lines(found, Path(out)),
        found.to_json,
        lambda: as_markdown(shown_comparison(found)),
        json=json,
        markdown=markdown,
    )
