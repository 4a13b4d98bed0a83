"""``miscal compare``: runs beside each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.errors import InputError
from miscal.cli import options
from miscal.cli.form import Markdown, check_form, print_result

if TYPE_CHECKING:
    from miscal.runs.compare.comparison import RunComparison

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN RUN [RUN ...]",
        help="Folders written by `miscal discover`; with --confidence-columns, one table.",
    ),
]
ConfidenceColumns = Annotated[
    str | None,
    typer.Option(
        "--confidence-columns",
        metavar="NAMES",
        help="Two to eight confidences of the same answers, separated by commas: each becomes a run on the rows of one "
        "table. --correct, --text, --features, --metadata, --group and --where are of that table.",
    ),
]
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
    confidence_columns: ConfidenceColumns = None,
    correct: options.Correct = None,
    text: options.Text = None,
    features: options.Features = None,
    metadata: options.Metadata = None,
    group: options.Group = None,
    where: options.Where = None,
    seed: options.Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Compare runs: the same rows under two models or prompts, or one model on two sets.

    With --confidence-columns, several confidences of the answers of one table: `miscal compare DATA
    --confidence-columns a,b --text text --out DIR`.

    Says which run is better calibrated, where they differ and where both fail, with intervals that are paired where
    the rows are the same.
    """
    check_form(json=json, markdown=markdown)
    from miscal.base.markdown import markdown as as_markdown
    from miscal.runs.compare.comparison import write_comparison
    from miscal.runs.shown_progress import steps

    of_table = {
        "correct": correct, "text": text, "features": features, "metadata": metadata, "group": group, "where": where,
    }  # fmt: skip
    given = {name: value for name, value in of_table.items() if value is not None}
    _check(runs, confidence_columns, given, match)

    def make() -> "RunComparison":
        if confidence_columns is not None:
            from miscal.data.readers.columns import split_names
            from miscal.runs.compare.confidences import compare_confidences

            names = split_names(confidence_columns)
            return compare_confidences(runs[0], names, seed=seed, progress=progress, **given)
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


def _check(runs: list[str], columns: str | None, given: dict[str, str], match: str | None) -> None:
    """Refuse options that belong to the other of the two kinds of comparison."""
    if columns is None and given:
        raise InputError(
            f"--{next(iter(given))} is of one table, whose confidences --confidence-columns names; runs know theirs: "
            "leave it out"
        )
    if columns is not None and (len(runs) > 1 or match is not None):
        what = "--match" if match is not None else f"{len(runs)} paths"
        raise InputError(f"--confidence-columns compares columns of one table; got {what}: give the table alone")
