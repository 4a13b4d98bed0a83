"""Methods to compare with, behind one protocol.

``fit(X, confidence, correct, split=, random_state=)``, then ``calibrate(X, confidence)`` and ``delta(X, confidence)``.
``METHODS`` maps names to classes; a new method is one file and one line here.

Examples
--------
>>> import numpy as np
>>> from miscal.baselines import METHODS
>>> rng = np.random.default_rng(0)
>>> X, f = rng.normal(size=(600, 2)), np.full(600, 0.5)
>>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(float)
>>> ridge = METHODS["ridge"]().fit(X, f, y)
>>> np.sign(ridge.delta([[-1.0, 0.0], [1.0, 0.0]], [0.5, 0.5])).tolist()
[-1.0, 1.0]
"""

from miscal.baselines.fields import Auto, Paper
from miscal.baselines.global_maps import BetaCalibration, IsotonicRegression, PlattScaling, Raw, TemperatureScaling
from miscal.baselines.mcgrad import MCGradBaseline
from miscal.baselines.protocol import Baseline
from miscal.baselines.residuals import Multiaccuracy, ResidualNetwork
from miscal.baselines.ridge import Ridge, RidgeIsotonic
from miscal.baselines.slices import KMeansSlices
from miscal.baselines.smoothing import RawKernel
from miscal.baselines.trees import BoostedTrees

__all__ = ["METHODS", "Baseline"]

METHODS: dict[str, type[Baseline]] = {
    method.name: method
    for method in (
        Raw,
        TemperatureScaling,
        PlattScaling,
        BetaCalibration,
        IsotonicRegression,
        Ridge,
        RidgeIsotonic,
        BoostedTrees,
        MCGradBaseline,
        RawKernel,
        KMeansSlices,
        Multiaccuracy,
        ResidualNetwork,
        Paper,
        Auto,
    )
}
