"""What a discovery leaves on disk, and how it is read back."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.base.state_folder import load_bundle, save_bundle
from miscal.discovery.discover import Discovery
from miscal.data.encoders import Encoder, encoder_from_state
from miscal.base.errors import CorruptFile
from miscal.estimators.field import MiscalibrationField
from miscal.data.readers import Inputs, reread
from miscal.base.files import check_seal, run_folder, seal
from miscal.discovery.summary import Summary, read_summary

if TYPE_CHECKING:
    import polars as pl

INPUT = "input"
"""Folder, inside that of the model, of the step from text or columns to x."""

_INPUT_FORM = "miscal-input"


@dataclass(frozen=True)
class Run:
    """A run folder, read back.

    Attributes
    ----------
    path : Path
        The folder.
    summary : Summary
        ``summary.json``.
    table : polars.DataFrame
        ``field.parquet``: one row per input row, as :attr:`miscal.discovery.discover.Discovery.table`.
    map : polars.DataFrame
        ``map.parquet``.
    """

    path: Path
    summary: Summary
    table: "pl.DataFrame"
    map: "pl.DataFrame"

    def load_model(self) -> "SavedModel":
        """Load the saved model."""
        return load_model(self.path)

    def triples(self) -> Any:
        """Read the rows of the run again, refusing data that changed since."""
        return reread(self.summary.settings["source"])


@dataclass(frozen=True)
class SavedModel:
    """What it takes to correct new rows.

    Attributes
    ----------
    field : MiscalibrationField
        The fitted field.
    encoder : Encoder or None
        The step from text or columns to x; None if the model was fitted on arrays.
    """

    field: MiscalibrationField
    encoder: Encoder | None

    def correct(self, inputs: Inputs) -> "pl.DataFrame":
        """Correct new rows.

        Parameters
        ----------
        inputs : Inputs
            From :func:`miscal.data.readers.read_inputs`, with this model's encoder.

        Returns
        -------
        polars.DataFrame
            ``row``, ``delta`` (positive: under-confident), ``corrected`` (in [0, 1]), ``mass``, ``supported``.
        """
        import polars as pl

        estimate = self.field.estimate(inputs.X, inputs.confidence)
        names = ("delta", "corrected", "mass", "supported")
        return pl.DataFrame({"row": inputs.row, **{name: getattr(estimate, name) for name in names}})


def write_run(found: Discovery, out: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
    """Write a discovery as a run folder, whole or not at all.

    Parameters
    ----------
    found : Discovery
        What :func:`miscal.discovery.discover.discover` returned.
    out : str or Path
        The folder to make.
    overwrite : bool, default False
        Replace an existing run folder.
    report : bool, default True
        Draw ``report.html`` too.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        If the folder exists and `overwrite` is off, or holds files that miscal did not write.
    LockedError
        If another process is writing it.
    """
    with run_folder(out, overwrite=overwrite) as folder:
        write_files(found, folder)
        if report:
            from miscal.report import render

            render(folder)
    return Path(out)


def write_files(found: Discovery, folder: Path) -> None:
    """Write summary, tables and model into an empty folder, and seal it.

    Parameters
    ----------
    found : Discovery
        The result.
    folder : Path
        Where to.
    """
    # no timestamps and one thread's row groups: the same discovery gives the same bytes
    found.table.write_parquet(folder / "field.parquet", compression="zstd")
    found.map.write_parquet(folder / "map.parquet", compression="zstd")
    (folder / "summary.json").write_text(found.summary.to_json(), encoding="utf-8")
    save_model(found.model, found.encoder, folder / "model")
    seal(folder)


def save_model(model: MiscalibrationField, encoder: Encoder | None, folder: str | Path) -> None:
    """Save a field, with the step that makes its x, without pickle.

    Parameters
    ----------
    model : MiscalibrationField
        Fitted.
    encoder : Encoder or None
        Of :attr:`miscal.data.triples.Triples.encoder`.
    folder : str or Path
        Where to.
    """
    model.save(folder)
    if encoder is not None:
        save_bundle(Path(folder) / INPUT, _INPUT_FORM, *encoder.state())


def load_model(folder: str | Path) -> SavedModel:
    """Load a saved model.

    Parameters
    ----------
    folder : str or Path
        A run folder, or the ``model`` folder in one.

    Returns
    -------
    SavedModel
        Field and encoder.

    Raises
    ------
    FileError, CorruptFile, TrustError, MismatchError
        If it is not a model, was damaged or changed, holds what miscal does not write, or is newer than this miscal.
    """
    folder = Path(folder)
    folder = folder / "model" if (folder / "model").is_dir() else folder
    field = MiscalibrationField.load(folder, beside=(INPUT,))
    has_input = (folder / INPUT).is_dir()
    return SavedModel(field, encoder_from_state(*load_bundle(folder / INPUT, _INPUT_FORM)) if has_input else None)


def read_run(folder: str | Path) -> Run:
    """Read a run folder back, after checking that nothing in it has changed.

    Parameters
    ----------
    folder : str or Path
        What `miscal discover` wrote.

    Returns
    -------
    Run
        Summary and tables.

    Raises
    ------
    FileError
        If it is not a run folder.
    CorruptFile
        If a file is damaged or was changed.
    MismatchError
        If a newer miscal wrote it.
    """
    import polars as pl

    folder = Path(folder)
    check_seal(folder)
    summary = read_summary(folder)
    try:
        tables = [pl.read_parquet(folder / name) for name in ("field.parquet", "map.parquet")]
    except (pl.exceptions.PolarsError, OSError) as error:
        raise CorruptFile(f"{folder}: a table cannot be read ({error}); run `miscal discover` again") from None
    return Run(folder, summary, *tables)
