"""``miscal calibrate``: apply a saved correction to new rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.cli import class_options, judge_options, options

if TYPE_CHECKING:
    from miscal.runs.correct import Corrected

ModelDir = Annotated[
    str, typer.Argument(metavar="MODEL_DIR", help="A folder written by `miscal discover`, or the folder model in it.")
]
Rows = Annotated[
    str, typer.Argument(metavar="DATA", help="A .parquet, .csv or .jsonl file of new rows; outcomes are not needed.")
]
OutFile = Annotated[str, typer.Option("--out", metavar="FILE", help="Table to write, a .parquet, .csv or .jsonl file.")]
OnInvalidNew = Annotated[
    options.OnInvalidNewRow,
    typer.Option(
        "--on-invalid",
        help="What to do if rows have missing or invalid values: stop with an error, drop them, or keep them with the "
        "global correction (none where the confidence is missing) and a reason (null).",
    ),
]
EngineOption = Annotated[
    options.Engine,
    typer.Option("--engine", help="What runs it: this machine, or Ray (on the cluster that RAY_ADDRESS names)."),
]


def command(
    model_dir: ModelDir,
    data: Rows,
    out: OutFile,
    confidence: options.Confidence = None,
    probability: options.Probability = None,
    judge: judge_options.NewJudge = None,
    probabilities: class_options.NewProbabilities = None,
    embeddings: options.Embeddings = None,
    embedding_rows: options.EmbeddingRows = None,
    features: options.Features = None,
    text: options.Text = None,
    where: options.Where = None,
    missing_as_blank: options.MissingAsBlank = None,
    on_invalid: OnInvalidNew = options.OnInvalidNewRow.error,
    engine: EngineOption = options.Engine.local,
    encoding: options.Encoding = "utf-8",
    csv_escape: options.CsvEscape = None,
    overwrite: options.OverwriteTable = False,
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

        inputs = {"embeddings": embeddings, "embedding_rows": embedding_rows, "features": features, "text": text}
        done = calibrate_file(
            model_dir, data, out, engine=engine.value, on_invalid=on_invalid.value, overwrite=overwrite,
            progress=progress, confidence=confidence, probability=probability, judge=judge, probabilities=probabilities,
            encoding=encoding, csv_escape=csv_escape, where=where,
            missing_as_blank=options.several(missing_as_blank), **inputs,
        )  # fmt: skip
    print_correction(done, out)


def print_correction(done: "Corrected", out: str) -> None:
    """Print the columns used, warnings, how many rows were corrected, and where the table is.

    Parameters
    ----------
    done : Corrected
        What became of the rows.
    out : str
        The file, as it was named.
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

    Parameters
    ----------
    columns : dict
        Of :attr:`Corrected.columns`.
    words : Vocabulary
        Of the model's kind of probability.

    Returns
    -------
    str
        One line.

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
