"""``miscal calibrate``: apply a saved correction to new rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.errors import InputError
from miscal.cli import options

if TYPE_CHECKING:
    import polars as pl

    from miscal.data.readers import NewRows

ModelDir = Annotated[
    str, typer.Argument(metavar="MODEL_DIR", help="A folder written by `miscal discover`, or the folder model in it.")
]
Rows = Annotated[
    str, typer.Argument(metavar="DATA", help="A .parquet, .csv or .jsonl file of new rows; outcomes are not needed.")
]
OutFile = Annotated[str, typer.Option("--out", metavar="FILE", help="Table to write, a .parquet, .csv or .jsonl file.")]


def command(
    model_dir: ModelDir,
    data: Rows,
    out: OutFile,
    confidence: options.Confidence = None,
    embeddings: options.Embeddings = None,
    features: options.Features = None,
    text: options.Text = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    overwrite: options.OverwriteTable = False,
) -> None:
    """Correct the confidences of new rows with a saved model.

    The table has the columns row, delta, corrected, mass and supported.
    """
    from miscal.base.files import check_new_file, resolve
    from miscal.cli.progress import stages
    from miscal.data.writing import table_format, write_table

    table_format(out)
    place = check_new_file(out, overwrite=overwrite)
    if place == resolve(data):
        raise InputError(f"{out} holds the rows to correct and must not be replaced: give another --out")
    with stages() as progress:
        progress("loading the model")
        from miscal.discovery.saved_model import load_model

        model = load_model(model_dir)
        progress("reading")
        columns = {"embeddings": embeddings, "features": features, "text": text, "where": where}
        inputs = model.read(data, confidence=confidence, encoding=encoding, **columns)
        progress("correcting")
        corrected = model.correct(inputs)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_table(corrected, out)
    print_correction(corrected, inputs, out)


def print_correction(corrected: "pl.DataFrame", inputs: "NewRows", out: str) -> None:
    """Print the columns used, warnings, how many rows were corrected, and where the table is.

    Parameters
    ----------
    corrected : polars.DataFrame
        What was written.
    inputs : NewRows
        What was read, with the notes of the reader.
    out : str
        The file.
    """
    unsupported = int((~corrected["supported"]).sum())
    print(f"columns     {columns_used(inputs)}")
    for note in inputs.notes:
        print(f"warning     {note}")
    if unsupported:
        print(
            f"warning     {unsupported:,} of {len(corrected):,} rows are far from all rows the model was fitted on; "
            "they get the global correction only"
        )
    print(f"{len(corrected):,} rows corrected, written to {out}")


def columns_used(inputs: "NewRows") -> str:
    """Say which columns the confidences and the inputs were read from.

    Parameters
    ----------
    inputs : NewRows
        What was read.

    Returns
    -------
    str
        One line.
    """
    x = inputs.columns["x"]
    if isinstance(x, list):
        more = f", ... ({len(x)} in all)" if len(x) > 5 else ""
        shown = f"from {', '.join(map(repr, x[:5]))}{more}"
    else:
        shown = "from the embeddings given" if x is None else f"from {x!r}"
    return f"confidence from {inputs.columns['confidence']!r}, inputs {shown}"
