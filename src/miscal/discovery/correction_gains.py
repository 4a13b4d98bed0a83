"""What the local correction saves against each other correction, row by row on the same rows."""

from collections.abc import Mapping

import numpy as np

from miscal.base.json_values import interval
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import log_losses, mean_interval, squared_errors
from miscal.discovery.summary import Gain, Measure

OURS = "miscal"


def correction_gains(rows: LabelledRows, predictions: Mapping[str, np.ndarray]) -> dict[str, Gain]:
    """Subtract the losses of miscal's correction from those of each other correction.

    Parameters
    ----------
    rows : LabelledRows
        The n rows that testify.
    predictions : mapping of str to float64 array of shape (n,), in [0, 1]
        Corrected confidences by name of the correction, miscal's among them.

    Returns
    -------
    dict of str to Gain
        Paired mean differences with 95 % intervals; positive where miscal's correction is better.

    Examples
    --------
    >>> sure = np.full(100, 0.9)
    >>> gains = correction_gains(LabelledRows.of(np.array([0.0, 1.0] * 50), sure), {"raw": sure, "miscal": sure - 0.4})
    >>> list(gains), round(gains["raw"].brier.value, 2)
    (['raw'], 0.16)
    """
    ours = predictions[OURS]

    def saved(losses, theirs: np.ndarray) -> Measure:
        difference = losses(rows.correct, theirs) - losses(rows.correct, ours)
        mean = mean_interval(difference, sample_weight=rows.weight, groups=rows.group)
        return Measure(value=mean.value, interval=interval(*(mean.interval or (None, None))))

    return {
        name: Gain(brier=saved(squared_errors, theirs), log_loss=saved(log_losses, theirs))
        for name, theirs in predictions.items()
        if name != OURS
    }
