"""Copies of noise bring no gain: rows of equal inputs never lie on both sides of a fold. A leak would be seen."""

import sys

import numpy as np
import pytest

from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.honest import honest_field

N, SEEDS = 200, 100


def copied_noise(share, seed):
    """Rows without structure, of which a share are copies of each other with the same outcome."""
    rng = np.random.default_rng(seed)
    X, f = rng.normal(size=(N, 8)), rng.uniform(0.2, 0.8, N)
    y = (rng.random(N) < f).astype(float)
    pairs = int(share * N / 2)
    at = np.r_[: N - pairs, :pairs]
    return Triples.of(X[at], confidence=f[at], correct=y[at])


def gains(share):
    """Mean gain in Brier score that honest values claim, for each of many draws."""
    found = []
    for seed in range(SEEDS):
        rows = copied_noise(share, seed)
        delta = honest_field(MiscalibrationField(n_jobs=1), rows, n_folds=3).delta
        found.append(np.mean(rows.residual**2 - (rows.residual - delta) ** 2))
    return np.array(found)


def lower_limit(gain):
    """Lower end of the 95 % interval of the mean gain over draws."""
    return gain.mean() - 1.96 * gain.std(ddof=1) / np.sqrt(len(gain))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_copies_of_noise_bring_no_gain(share):
    assert lower_limit(gains(share)) <= 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_folds_that_part_copies_would_show_a_gain(monkeypatch):
    """What the test above can see: each row its own group, everywhere."""
    for name, module in list(sys.modules.items()):
        if name.startswith("miscal") and hasattr(module, "row_groups"):
            monkeypatch.setattr(module, "row_groups", lambda X, *given: np.arange(len(X)))
    assert lower_limit(gains(0.5)) > 0
