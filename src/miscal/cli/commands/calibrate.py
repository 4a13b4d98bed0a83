"""``miscal calibrate``: apply a saved correction to new rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.options import given
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.cli.options import Engine, OutTable, OverwriteTable
from miscal.data.columns import NewColumns

if TYPE_CHECKING:
    from miscal.runs.correct import Corrected

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
Taken = Annotated[
    NewColumns, "confidence", "probability", "judge", "probabilities", "embeddings", "embedding_rows", "features",
    "text", "where", "missing_as_blank", "on_invalid", "encoding", "csv_escape",
]  # fmt: skip


def command(
    model_dir: ModelDir,
    data: Rows,
    out: OutTable,
    columns: Taken,
    engine: EngineOption = "local",
    overwrite: OverwriteTable = False,
) -> None:
    """Correct the confidences of new rows with a saved model.

    The table has the columns row, delta, corrected, mass, supported and reason; of several classes also predicted, and
    the corrected probability of each class. Any number of rows is corrected in bounded memory; if the command was
    stopped, the same command goes on where it was.
    """
    from miscal.runs.shown_progress import steps

    with steps() as progress:
        progress("loading")
        from miscal.runs.correct import calibrate_file

        done = calibrate_file(
            model_dir, data, out, engine=engine, overwrite=overwrite, progress=progress, **given(columns)
        )
    print_correction(done, out)


def print_correction(done: "Corrected", out: str) -> None:
    """Print the columns used, warnings, how many rows were corrected, and where the table is.

    `done`: what became of the rows; `out`: the file, as it was named.
    """
    print(f"columns     {columns_used(done.columns, vocabulary(done.kind))}")
    for warning in done.warnings:
        print(f"warning     {warning}")
    if done.resumed:
        print(f"resumed     {done.resumed:,} rows had been corrected before the command was stopped")
    values = done.tally.written - done.tally.empty
    share = f"{values:,}" if values == done.tally.asked else f"{values:,} of {done.tally.asked:,}"
    print(f"{share} rows corrected, written to {out}")


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
