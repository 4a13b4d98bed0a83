"""``miscal compare``: runs beside each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miscal.cli import options

if TYPE_CHECKING:
    from miscal.discovery.comparing.document import MeasurePair, RunComparison, RunPair

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
) -> None:
    """Compare runs: the same rows under two models or prompts, or one model on two sets.

    Says which run is better calibrated, where they differ and where both fail, with intervals that are paired where
    the rows are the same.
    """
    from miscal.cli.progress import stages
    from miscal.report import write_comparison

    def make() -> "RunComparison":
        from miscal.discovery.compare import compare

        found = compare(runs, match=match, seed=seed, progress=progress)
        progress("page")
        return found

    with stages() as progress:
        found = write_comparison(make, out, overwrite=overwrite)
    print(found.to_json() if json else "\n".join(comparison_lines(found, Path(out))), end="" if json else "\n")


def comparison_lines(found: "RunComparison", out: Path) -> list[str]:
    """Tell what a comparison found.

    Parameters
    ----------
    found : RunComparison
        The comparison.
    out : Path
        Where it was written.

    Returns
    -------
    list of str
        Lines to print.
    """
    return [*(line for pair in found.pairs for line in _pair(pair)), f"{'page':<19}{out / 'compare.html'}"]


def _pair(pair: "RunPair") -> list[str]:
    compared = f"{pair.n_a:,}" if pair.same_rows else f"{pair.n_a:,} and {pair.n_b:,}"
    alone = f"; {pair.left_out_a:,} and {pair.left_out_b:,} have no match" if pair.same_rows else ""
    return [
        *pair.verdict,
        "",
        f"{'rows':<19}{compared} ({pair.matched_by}){alone}",
        *(_measure(name.replace("_", " "), one) for name, one in pair.measures.items()),
        *(f"{'note':<19}{note}" for note in pair.notes),
        "",
    ]


def _measure(name: str, one: "MeasurePair") -> str:
    if one.a.value is None or one.b.value is None:
        return f"{name:<19}too few rows"
    ends = one.difference.interval
    shown = "" if ends is None or None in ends else f" [{_signed(ends[0])}, {_signed(ends[1])}]"
    return f"{name:<19}{one.a.value:.3f} and {one.b.value:.3f}, difference {_signed(one.difference.value)}{shown}"


def _signed(value: float) -> str:
    # no minus before what rounds to zero
    return f"{round(value, 3) + 0.0:+.3f}"
