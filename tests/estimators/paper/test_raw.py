"""The field of the raw inputs: the paper's formula in x, chosen by the paper's proxy."""

import numpy as np
import pytest

from miscal.estimators.kernel import median_distance
from miscal.estimators.paper.readout import ALPHAS, SCALES, Readout, choose_raw_field


class Halved:
    """A global map that halves every confidence."""

    def apply(self, confidence):
        return confidence / 2


def planted(n=240, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X, f = rng.normal(size=(n, d)).astype("float32"), rng.uniform(0.2, 0.8, n)
    y = (rng.random(n) < f + 0.2 * np.sign(X[:, 0])).astype(float)
    weight = rng.uniform(0.5, 2.0, n)
    return X, f, y, weight


def chosen(X, f, y, weight, **settings):
    half = len(X) // 2
    return choose_raw_field(
        X[:half], (y - f)[:half], weight[:half], X[half:], f[half:], y[half:], weight[half:], **settings
    )


def by_loop(x, bank, residual, weight, sigma):
    total = mass = 0.0
    for row, r, w in zip(bank.astype(float), residual, weight, strict=True):
        k = w * np.exp(-np.sum((x - row) ** 2) / sigma**2)
        total, mass = total + k * r, mass + k
    return total / mass


def test_the_field_is_the_weighted_kernel_average_of_the_bank():
    X, f, y, weight = planted()
    field = chosen(X, f, y, weight)
    expected = [by_loop(x, field.bank, field.residual, field.weight, field.sigma) for x in X[:10].astype(float)]
    assert field.estimate(X[:10], f[:10]).delta == pytest.approx(expected, abs=1e-5)


def test_settings_of_the_readout_are_those_of_the_learned_field():
    X, f, y, weight = planted()
    papers = chosen(X, f, y, weight, scales=[0.2])
    told = papers.estimate(X[120:], f[120:])
    assert told.local.all()
    np.testing.assert_array_equal(told.supported, told.mass >= 1)
    assert 0 < told.supported.sum() < len(told.supported)
    ours = chosen(X, f, y, weight, scales=[0.2], readout=Readout(min_mass=1), global_map=Halved())
    apart = ours.estimate(X[120:], f[120:])
    np.testing.assert_array_equal(apart.local, told.supported)
    np.testing.assert_allclose(apart.corrected[~apart.local], f[120:][~apart.local] / 2)
    np.testing.assert_array_equal(apart.delta[apart.local], told.delta[apart.local])


def test_bandwidth_and_scale_are_the_best_of_their_grids_on_validation_rows():
    X, f, y, weight = planted()
    field, half = chosen(X, f, y, weight), len(X) // 2
    residual, unit = y - f, median_distance(X[:half], np.random.default_rng(0))
    proxies, fields = [], []
    for scale in SCALES:
        delta = [by_loop(x, X[:half], residual[:half], weight[:half], scale * unit) for x in X[half:].astype(float)]
        proxies.append(np.average((residual[half:] - np.array(delta)) ** 2, weights=weight[half:]))
        fields.append(np.array(delta))
    best = int(np.argmin(proxies))
    assert field.sigma == pytest.approx(SCALES[best] * unit)
    assert field.proxy == pytest.approx(proxies[best], abs=1e-6)
    briers = []
    for alpha in ALPHAS:
        pull = np.tanh(alpha * np.abs(fields[best]))
        moved = f[half:] + np.where(fields[best] < 0, -f[half:], 1 - f[half:]) * pull
        briers.append(np.average((y[half:] - moved) ** 2, weights=weight[half:]))
    assert field.alpha == ALPHAS[int(np.argmin(briers))]


def test_the_unit_of_the_inputs_does_not_matter():
    X, f, y, weight = planted()
    field, scaled = chosen(X, f, y, weight), chosen(64 * X, f, y, weight)
    assert scaled.sigma == pytest.approx(64 * field.sigma)
    assert scaled.estimate(64 * X, f).delta == pytest.approx(field.estimate(X, f).delta, abs=1e-5)


def test_residuals_that_are_all_alike_give_a_flat_field_and_are_corrected_towards_it():
    X, f, _, weight = planted()
    field = choose_raw_field(X, np.full(len(X), -0.25), weight, X, f, (f > 0.5).astype(float))
    told = field.estimate(X, f)
    assert told.delta == pytest.approx(-0.25)
    assert np.all(told.corrected <= f)


def test_the_median_distance_leaves_out_equal_rows_and_does_not_overflow_in_half_precision():
    rng = np.random.default_rng(1)
    assert median_distance(np.zeros((5, 2)), rng) == 1.0
    wide = np.stack([np.zeros(4), np.full(4, 300.0)]).astype(np.float16)
    assert median_distance(wide, rng) == pytest.approx(600.0)
