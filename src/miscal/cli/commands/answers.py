"""``miscal score`` and ``import``: the answers of models as a table of triples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.errors import InputError
from miscal.base.number_wording import decimal
from miscal.base.options import given, parameter
from miscal.cli.app import Target
from miscal.data.importers.tools import tool_names
from miscal.scoring.questions import EndpointOptions, ScoringOptions

if TYPE_CHECKING:
    from miscal.data.importers.imported import Imported


@dataclass(frozen=True)
class ScoredTask:
    """Which model is asked, what it is asked, and where its answers are written."""

    model: str = parameter(
        "The model: a hub id, a short name, a folder or a .gguf file; with --endpoint, its name there.",
        ...,
        metavar="M",
    )
    task: str | None = parameter(
        "The task: mmlu, mmlu-pro, medmcqa, hh-rlhf, or a file of questions or pairs.", metavar="T"
    )
    out: str = parameter("Folder to write; an unfinished run there is resumed.", ..., metavar="DIR")


def score(what: ScoredTask, options: ScoringOptions, server: EndpointOptions) -> None:
    """Ask a language model questions or preferences. Next: `miscal discover DIR`.

    With --endpoint and --questions in place of --task, ask a server of decision models.
    """
    asked = given(server)
    if asked if what.task is not None else not {"endpoint", "questions"} <= asked.keys():
        raise InputError("give --task alone, or --endpoint with --questions")
    if asked and (own := [f"--{name.replace('_', '-')}" for name in given(options)]):
        raise InputError(f"{', '.join(own)}: a server that is asked by --endpoint takes no options of a model of yours")
    try:
        if asked:
            from miscal.scoring.endpoint import ask

            _tell(ask(model=what.model, out=what.out, **asked), what.out)
            return
        from miscal.scoring.command import run

        done = run(**vars(what), **vars(options))
    except KeyboardInterrupt as stop:
        stop.add_note("run the same command again to go on from here")
        raise
    print(f"{done.n_scored:,} rows scored, {done.n_failed:,} failed, {done.n_truncated:,} truncated: {done.out}")
    for note in done.notes:
        print(f"note: {note}")
    speed = f", {decimal(done.questions_per_second, 1)} questions per second" if done.questions_per_second else ""
    print(f"accuracy {decimal(done.accuracy, 3)}, confidence {decimal(done.confidence, 3)}{speed}")


Tool = Annotated[str, typer.Argument(metavar="TOOL", help=f"The tool that wrote the logs: {', '.join(tool_names())}.")]
Logs = Annotated[str, typer.Argument(metavar="PATH", help="A log file, or a folder to search for logs.")]


@dataclass(frozen=True)
class ImportOptions(Target):
    """Which of several confidences of one answer are kept, and what is right where the logs do not say it."""

    out: str = parameter("Table to write, a .parquet file.", ..., metavar="DATA")
    confidence: str | None = parameter(
        "Of several confidences of one answer, the one for column confidence. Default: the first.", metavar="NAME"
    )
    confidence_columns: str | None = parameter(
        "Which of several confidences get a column, separated by commas. Default: all.", metavar="NAMES"
    )
    labels: str | None = parameter(
        "Of decisions: what is right, a table with the columns id, question and label. Default: what the logs say.",
        metavar="FILE",
    )


def import_(tool: Tool, path: Logs, how: ImportOptions) -> None:
    """Turn the logs of another tool into a table. Next: `miscal discover DATA --text text`.

    Examples, one for each tool:

    miscal import lm-eval logs --out answers.parquet (samples of --log_samples)

    miscal import inspect logs --out answers.parquet (.eval and .json logs)

    miscal import promptfoo results.json --out answers.parquet (promptfoo eval -o results.json)

    miscal import phoenix exports --out judged.parquet (annotations, and spans beside them)

    miscal import langfuse exports --out judged.parquet (scores, and traces beside them)

    miscal import decisions log.jsonl --labels right.csv --out decided.parquet (requests with their answers)
    """
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        progress("reading")
        from miscal.data.importers.imported import check_out, read_log

        check_out(how.out, overwrite=how.overwrite)
        from miscal.data.columns import split_names

        columns = split_names(how.confidence_columns) if how.confidence_columns else None
        found = read_log(tool, path, confidence=how.confidence, confidence_columns=columns, labels=how.labels)
        progress("writing")
        found.write(how.out, overwrite=how.overwrite)
    _tell(found, how.out)


def _tell(found: "Imported", out: str) -> None:
    """Print the notes on a table of logs, its means, and where it is."""
    for note in found.notes:
        print(f"note        {note}")
    if "confidence" in found.table.columns:
        means = found.table.select("correct", "confidence").mean().row(0)
        print(f"accuracy {means[0]:.3f}, confidence {means[1]:.3f}")
    else:
        print(f"next        miscal discover {out} --judge judge --human human --out RUN")
    logs = "log" if found.n_logs == 1 else "logs"
    print(f"{len(found.table):,} rows of {found.n_logs:,} {logs} imported, written to {out}")
