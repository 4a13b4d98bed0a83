"""What the fits of one run share: everything that depends on inputs and confidences alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.data.triples import Triples
from miscal.estimators.auto.clusters import find_centres
from miscal.estimators.auto.inputs import Scaler, fit_scaler
from miscal.estimators.auto.settings import AUTO

# stream of the rows and starts
_STREAM = 98


@dataclass(frozen=True, eq=False)
class SharedInputs:
    """Scaling and clusters of inputs, learned once for all fits of a run.

    The fits without a fold use them, too, though the rows left out had a part in them. Their estimates are honest all
    the same, as no outcome enters here: given inputs and confidences, everything here is fixed, and what the fits learn
    of outcomes they learn from their own rows alone.

    Attributes
    ----------
    scaler : Scaler
    centres : tuple of ndarray of shape (k, q), float32
        Of partitions into more and more clusters, in the leading components.
    """

    scaler: Scaler
    centres: tuple[NDArray[np.float32], ...]


def learn_shared(rows: Triples, seed: int) -> SharedInputs:
    """Learn scaling and clusters from rows, all of positive weight and in canonical order; no outcome is looked at."""
    rng = np.random.default_rng((seed, _STREAM))
    scaler = fit_scaler(rows.X, rows.confidence, rng, rows.layout)
    n = len(rows)
    some = np.arange(n) if n <= AUTO.centre_rows else np.sort(rng.choice(n, AUTO.centre_rows, replace=False))
    places = scaler(rows.X[some], rows.confidence[some]).components
    return SharedInputs(scaler, tuple(find_centres(places, AUTO.n_clusters, int(rng.integers(2**31)))))
