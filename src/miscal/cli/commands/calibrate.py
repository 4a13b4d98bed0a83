"""``miscal calibrate``: apply a saved correction to new rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.options import given
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.cli.options import Engine, OutTable, OverwriteTable
from miscal.data.columns import NewColumns

if TYPE_CHECKING:
    from miscal.runs.correct import Corrected

MOST_WARNED, LONGEST = 4, 400
"""Warnings that are printed, and characters of each."""

ModelDir = Annotated[
    str, typer.Argument(metavar="MODEL_DIR", help="A folder written by `miscal discover`, or the folder model in it.")
]
Rows = Annotated[
    str, typer.Argument(metavar="DATA", help="A .parquet, .csv or .jsonl file of new rows; outcomes are not needed.")
]
EngineOption = Annotated[
    Engine,
    typer.Option("--engine", help="What runs it: this machine, or Ray (on the cluster that RAY_ADDRESS names)."),
]
Keep = Annotated[
    str,
    typer.Option(
        "--keep", metavar="NAMES", help="Columns of DATA that the table begins with, separated by commas, or all."
    ),
]
Taken = Annotated[
    NewColumns, "confidence", "probability", "judge", "probabilities", "embeddings", "features",
    "text", "where", "missing_as_blank", "on_invalid", "encoding",
]  # fmt: skip


def command(
    model_dir: ModelDir,
    data: Rows,
    out: OutTable,
    columns: Taken,
    keep: Keep = "",
    engine: EngineOption = "local",
    overwrite: OverwriteTable = False,
) -> None:
    """Correct the confidences of new rows with a saved model.

    The table has the columns row, delta, corrected, mass, supported and reason, after those that --keep names; of
    several classes also predicted, and the corrected probability of each class. Any number of rows is corrected in
    bounded memory; if the command was stopped, the same command goes on where it was.
    """
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        progress("loading")
        from miscal.runs.correct import calibrate_file

        done = calibrate_file(
            model_dir, data, out, engine=engine, keep=keep, overwrite=overwrite, progress=progress, **given(columns)
        )
    print("\n".join(corrected_lines(done, out)))


def corrected_lines(done: "Corrected", out: str) -> list[str]:
    """Return three lines on corrected rows, the columns used, warnings, and where the table is.

    `done`: what became of the rows; `out`: the file, as it was named.
    """
    from miscal.base.shown import fact_lines
    from miscal.report.opening import cut, opening_lines

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
