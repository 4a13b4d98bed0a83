"""``miscal calibrate``: apply a saved correction to new rows."""

from typing import Annotated

import typer

from miscal.base.errors import InputError
from miscal.cli import options

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
        from miscal.data.readers import read_inputs
        from miscal.discovery.saved_model import load_model

        model = load_model(model_dir)
        if model.encoder is None:
            raise InputError(f"{model_dir} was fitted on arrays, so it cannot read files: use it from Python")
        progress("reading")
        columns = {"confidence": confidence, "embeddings": embeddings, "features": features, "text": text}
        inputs = read_inputs(data, encoder=model.encoder, where=where, encoding=encoding, **columns)
        progress("correcting")
        corrected = model.correct(inputs)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_table(corrected, out)
    print_correction(corrected, inputs.notes, out)


def print_correction(corrected, notes: tuple[str, ...], out: str) -> None:
    """Print how many rows were corrected, warnings, and where the table is.

    Parameters
    ----------
    corrected : polars.DataFrame
        What was written.
    notes : tuple of str
        Of the reader.
    out : str
        The file.
    """
    unsupported = int((~corrected["supported"]).sum())
    for note in notes:
        print(f"warning     {note}")
    if unsupported:
        print(
            f"warning     {unsupported:,} of {len(corrected):,} rows are far from all rows the model was fitted on; "
            "they get the global correction only"
        )
    print(f"{len(corrected):,} rows corrected, written to {out}")
