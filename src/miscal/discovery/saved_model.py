"""A fitted field saved with the step that makes its x: what `miscal calibrate` needs to correct new rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from miscal.base.state_folder import load_state, save_state
from miscal.data.encoders import Encoder, encoder_from_state
from miscal.data.readers import NewRows
from miscal.estimators.field import MiscalibrationField

if TYPE_CHECKING:
    import polars as pl

INPUT = "input"
"""Folder inside the model's that holds the step from text or columns to x."""

_INPUT_FORM = "miscal-input"


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

    def correct(self, inputs: NewRows) -> "pl.DataFrame":
        """Correct new rows.

        Parameters
        ----------
        inputs : NewRows
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
        save_state(Path(folder) / INPUT, _INPUT_FORM, *encoder.state())


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
    return SavedModel(field, encoder_from_state(*load_state(folder / INPUT, _INPUT_FORM)) if has_input else None)
