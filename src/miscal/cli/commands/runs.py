"""What is done with finished runs: ``show``, ``report``, ``export``, ``audit``, ``card``, ``compare``, ``monitor``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from miscal.base.options import given, number, parameter
from miscal.cli.app import Form, RunDir, Target, draws_blocks
from miscal.cli.exit_status import ALARM, DONE
from miscal.data.columns import NewColumns
from miscal.runs.settings import DiscoverySettings

if TYPE_CHECKING:
    from miscal.runs.compare.comparison import RunComparison


@dataclass(frozen=True)
class ShowOptions:
    """What is shown of a run, if not all of it."""

    by: str | None = parameter(
        "Metadata columns of the run, or those of its features that name findings: a table for each, in turn.",
        metavar="COL,COL",
    )
    class_: str | None = parameter("A class, of a run of several classes, instead of --by.", metavar="NAME")
    columns: bool = parameter("What every column was read as, or why it was left out.", False)


def show(run_dir: RunDir, form: Form, of: ShowOptions) -> None:
    """Print a run with every group; or the table of a column, the findings of a class, or what columns were read as.

    Of each value of a column: rows, accuracy, confidence, residual, hidden residual, what the correction leaves of it,
    and the finding that it is or is explained by.
    """
    from miscal.base.errors import InputError

    if len(given(of)) > 1:
        raise InputError("give one of --by COL, --class NAME and --columns")
    if of.by is None and of.class_ is None:
        from miscal.discovery.summary import read_summary
        from miscal.report.brief import brief_lines, column_lines, run_sheet

        summary, folder = read_summary(run_dir), Path(run_dir)
        lines = column_lines(summary) if of.columns else brief_lines(summary, folder, every=True, bars=draws_blocks())
        form.print(lambda: lines, summary.to_json, lambda: run_sheet(summary, folder, every=True).markdown())
        return
    from miscal.data.columns import split_names
    from miscal.runs.tables import class_sheet, show, show_class, table_lines, table_markdown

    if of.by is not None:
        tables = [show(run_dir, column) for column in split_names(of.by)]
        written = [table.to_json() for table in tables]
        form.print(
            lambda: [line for table in tables for line in ("", *table_lines(table))][1:],
            lambda: written[0] if len(written) == 1 else f"[{','.join(written)}]\n",
            lambda: "\n\n".join(map(table_markdown, tables)),
        )
    else:
        one = show_class(run_dir, str(of.class_))
        form.show(lambda: class_sheet(one), one.to_json)


def report(run_dir: RunDir) -> None:
    """Draw the report of a run again, from the files in its folder."""
    from miscal.base.files import locked
    from miscal.discovery.run_folder import check_seal
    from miscal.report.page import render

    check_seal(run_dir)
    with locked(run_dir):
        print(render(run_dir))


Format = Annotated[Literal["sql"], typer.Argument(metavar="sql", help="The format: a correction that can be read.")]


@dataclass(frozen=True)
class ExportTarget(Target):
    """Where SQL is written, and which."""

    out: str = parameter("File to write, a .sql file.", ..., metavar="FILE")
    dialect: Literal["ansi", "spark"] = parameter("How names are quoted in SQL.", "ansi")


def export(form: Format, run_dir: RunDir, to: ExportTarget) -> None:
    """Write the correction of a run as SQL: one expression over the names of the columns, for a select list."""
    from miscal.integrations.sql_expression import export_sql

    done = export_sql(run_dir, **vars(to))
    print(f"an expression of {done.shifts} shifts written to {to.out}")
    if (readable := done.readable) is not None:
        own = readable.correction
        print(f"log loss as it is       {own.log_loss_raw:.4f}")
        print(f"by the expression       {own.log_loss:.4f}, on held-out parts of these rows")
        print(f"by the full correction  {readable.log_loss_full:.4f}, which `miscal calibrate` applies")
        for one in readable.left_out:
            print(f"left out: {one}", file=sys.stderr)


@dataclass(frozen=True)
class AuditOptions:
    """What a run is to be checked against."""

    null: Literal["visible", "calibrated", "permuted"] = parameter(
        "What the refits are to compare with. visible: is more found than if outcomes depended on the confidence "
        "alone? calibrated: more than if every confidence held? permuted, as in the paper: more than if neither "
        "inputs nor confidences said anything about the outcomes that are learned from?",
        "visible",
    )
    draws: int = parameter("How many times to refit under the null.", 20, metavar="N", parse=number(int, 1))
    seeds: int = parameter("How many seeds to compare, at least 2.", 5, metavar="N", parse=number(int, 2))
    device: Literal["auto", "cpu", "cuda"] | None = parameter(
        "Where a run of --method paper is learned again. Default: what the run was given."
    )


def audit(run_dir: RunDir, form: Form, how: AuditOptions) -> None:
    """Check a run against chance, other seeds and other thresholds.

    The run is repeated on outcomes without structure and with other seeds. Its regimes are cut again at other
    thresholds, and its test rows are resampled.
    """
    from miscal.runs.audit import audit
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        found = audit(
            run_dir, null=how.null, n_draws=how.draws, n_seeds=how.seeds, device=how.device, progress=progress
        )
    form.show(found.shown, found.to_json, written_to=Path(run_dir) / "audit.json")


@dataclass(frozen=True)
class CardTarget(Target):
    """Where a card is written, and by which grades."""

    out: str = parameter("Page to write, a .html or .md file.", ..., metavar="FILE")
    grades: str = parameter(
        "Column of grades, or in how many grades by risk to cut the probability.", "10", metavar="COL|K"
    )


def card(run_dir: RunDir, form: Form, to: CardTarget) -> None:
    """Write the card of a run for a committee: two pages, each number with its interval and its test.

    What was assessed; how well the model ranks; observed over expected, calibration intercept and slope, smECE, ECE
    and Brier score; grades; every segment of the named columns; decisions and monitoring so far; and methods and
    limits to paste into a report.
    """
    from miscal.runs.card.sheet import sheet_of, write_card

    found = write_card(run_dir, **vars(to))
    form.show(lambda: sheet_of(found), found.to_json, page=Path(to.out))


RunFolder = Annotated[str, typer.Argument(metavar="RUN", help="Folder written by `miscal discover`.")]
Other = Annotated[str, typer.Argument(metavar="RUN", help="Folder of the run to compare with it.")]


@dataclass(frozen=True)
class CompareOptions(Target):
    """How rows are matched, where the comparison is written, and whether a worse run is a failure."""

    out: str = parameter("Folder to write compare.json and compare.html into.", ..., metavar="DIR")
    match: str | None = parameter(
        "Column of both runs' data whose equal values mean the same row. Default: row numbers of one file, a column "
        "id, equal texts or equal inputs.",
        metavar="COL",
    )
    fail_if_worse: bool = parameter(
        "End with status 3 where the second run is worse calibrated than the first, beyond chance: on all rows or, "
        "where these do not tell them apart, in a group.",
        False,
    )


def compare(
    run: RunFolder, other: Other, how: CompareOptions, settings: Annotated[DiscoverySettings, "seed"], form: Form
) -> int:
    """Compare two runs: the same rows under two models or prompts, or one model on two sets.

    Says which run is right more often or better calibrated, what each is worth, and which to take, with intervals that
    are paired where the rows are the same. Several models or sets are a study: `miscal study --from`.

    Exit status: 0; 2 for an error you can fix; with --fail-if-worse 3 where the second run is worse than the first.
    """
    from miscal.runs.compare.comparison import compare, write_comparison
    from miscal.runs.shown_progress import steps

    def make() -> "RunComparison":
        found = compare(run, other, match=how.match, seed=settings.seed, progress=progress)
        progress("page")
        return found

    with steps() as progress:
        found = write_comparison(make, how.out, overwrite=how.overwrite)
    form.show(found.shown, found.to_json, page=Path(how.out) / "compare.html")
    if not (how.fail_if_worse and found.worse):
        return DONE
    first, *more = found.worse
    others = f" and {len(more)} more" if more else ""
    print(f"{found.b} is worse than {found.a}: {first}{others}", file=sys.stderr)
    return ALARM


Rows = Annotated[
    str,
    typer.Argument(
        metavar="NEW_LABELLED", help="A .parquet, .csv or .jsonl file of new rows with outcomes, none of them twice."
    ),
]
Taken = Annotated[
    NewColumns, "confidence", "correct", "probability", "event", "positive", "probabilities", "label", "embeddings",
    "features", "text", "where", "missing_as_blank", "group", "encoding",
]  # fmt: skip


@dataclass(frozen=True)
class LookOptions:
    """How a look is taken, and where it is kept."""

    out: str | None = parameter("Folder of the monitor. Default: monitor in RUN_DIR.", metavar="DIR")
    at: str | None = parameter("What to call this look on the page, e.g. its date.", metavar="DATE")
    tolerance: float | None = parameter(
        "Distance of outcomes from the corrected confidences that counts as right, e.g. 0.02; fixed at the first look. "
        "Default: 0.02 (less of rare events).",
        metavar="T",
        parse=number(float, 0),
    )
    on_invalid: Literal["error", "drop"] = parameter(
        "What to do if rows have missing or invalid values: stop with an error, or drop them.", "error"
    )


def monitor(run: RunDir, data: Rows, columns: Taken, form: Form, how: LookOptions) -> int:
    """Look whether the correction of a run still holds on labelled rows that came after.

    Each call adds a look at new rows. Of all rows, each finding and each threshold it says whether the correction
    holds, does not hold, or is not known to. Looks may be as many as one likes: while the corrected confidences are
    right, the probability that anything is ever said not to hold is at most 5 %.

    Exit status: 0 if no alarm was raised, 3 if one was, at this look or before; 2 for an error you can fix.
    """
    from miscal.discovery.run_folder import MONITOR
    from miscal.runs.monitor.command import monitor
    from miscal.runs.shown_progress import steps

    options = given(columns) | vars(how)
    with steps() as progress:
        found = monitor(run, data, progress=progress, **options)
    place = Path(run) / MONITOR if how.out is None else Path(how.out)
    form.show(found.shown, found.to_json, page=place / "monitor.html")
    return ALARM if found.alarm else DONE
