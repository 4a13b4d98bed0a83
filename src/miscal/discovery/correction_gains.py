"""What the local correction saves against each other correction, row by row on the same rows."""

from collections.abc import Mapping

import numpy as np

from miscal.calibration.metrics.scores import log_losses, mean_interval, squared_errors
from miscal.discovery.json_values import interval
from miscal.discovery.summary import Gain, Measure

OURS = "miscal"


def correction_gains(
    correct: np.ndarray,
    predictions: Mapping[str, np.ndarray],
    *,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> dict[str, Gain]:
    """Subtract the losses of miscal's correction from those of each other correction.

    Parameters
    ----------
    correct : float64 array of shape (n,), 0 or 1
    predictions : mapping of str to float64 array of shape (n,), in [0, 1]
        Corrected confidences by name of the correction, miscal's among them.
    groups : array of shape (n,), optional
        Rows of equal value may hang together; by default all rows are independent.
    weights : float64 array of shape (n,), optional
        How much each row counts; all alike by default.

    Returns
    -------
    dict of str to Gain
        Paired mean differences with 95 % intervals; positive where miscal's correction is better.

    Examples
    --------
    >>> y = np.array([0.0, 1.0] * 50)
    >>> gains = correction_gains(y, {"raw": np.full(100, 0.9), "miscal": np.full(100, 0.5)})
    >>> list(gains), round(gains["raw"].brier.value, 2)
    (['raw'], 0.16)
    """
    ours = predictions[OURS]

    def saved(losses, theirs: np.ndarray) -> Measure:
        difference = losses(correct, theirs) - losses(correct, ours)
        mean = mean_interval(difference, sample_weight=weights, groups=groups)
        return Measure(value=mean.value, interval=interval(*(mean.interval or (None, None))))

    return {
        name: Gain(brier=saved(squared_errors, theirs), log_loss=saved(log_losses, theirs))
        for name, theirs in predictions.items()
        if name != OURS
    }
