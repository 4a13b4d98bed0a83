"""Laws of the kernel formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.estimators.kernel import EXPONENT_FLOOR, logit_shift, nearest, smooth


def rows(n, d, seed, scale=1.0):
    return np.random.default_rng(seed).normal(scale=scale, size=(n, d))


def unit_rows(n, d, seed):
    z = rows(n, d, seed).astype(np.float32)
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def two_loops(query, bank, values, sigma, weight=None):
    """Equation 2 of the paper, entry by entry, in double precision."""
    weight = np.ones(len(bank)) if weight is None else weight
    average, mass = np.zeros(len(query)), np.zeros(len(query))
    for i, x in enumerate(query.astype(float)):
        for j, b in enumerate(bank.astype(float)):
            k = weight[j] * np.exp(max(-np.sum((x - b) ** 2) / sigma**2, EXPONENT_FLOOR))
            mass[i] += k
            average[i] += k * values[j]
    return average / mass, mass


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 5),
    sigma=st.floats(0.05, 20.0),
    tile=st.sampled_from([(1, 1), (3, 4), (16, 5), (1024, 512)]),
    weighted=st.booleans(),
    same=st.booleans(),
)
def test_equals_two_nested_loops(seed, d, sigma, tile, weighted, same):
    bank, r = rows(17, d, seed), np.random.default_rng(seed).uniform(-1, 1, 17)
    query = bank if same else rows(11, d, seed + 1)
    weight = np.random.default_rng(seed).uniform(0.1, 3, 17) if weighted else None
    average, mass = smooth(query, bank, r, sigma, weight=weight, tile=tile)
    expected, expected_mass = two_loops(query, bank, r, sigma, weight)
    np.testing.assert_allclose(mass, expected_mass, rtol=1e-9, atol=1e-30)
    np.testing.assert_allclose(average, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.3, 1.0])
def test_single_precision_is_close_to_double_on_the_sphere(sigma):
    query, bank, r = unit_rows(300, 64, 0), unit_rows(700, 64, 1), rows(700, 1, 2)[:, 0]
    query[:200] = bank[:200] + rows(200, 64, 3, scale=sigma / 20).astype(np.float32)
    single, mass = smooth(query, bank, r.astype(np.float32), sigma)
    double, double_mass = smooth(query.astype(float), bank.astype(float), r, sigma)
    assert single.dtype == mass.dtype == np.float32
    near = double_mass > 1e-3
    assert near.sum() >= 150
    np.testing.assert_allclose(mass[near], double_mass[near], rtol=5e-4)
    np.testing.assert_allclose(single[near], double[near], atol=5e-4)


def test_single_precision_survives_a_far_origin_and_tiny_bandwidth():
    bank = rows(200, 3, 0).astype(np.float32)
    r = rows(200, 1, 1)[:, 0].astype(np.float32)
    near = smooth(bank, bank, r, 1e-3)[0]
    np.testing.assert_allclose(near, r, atol=1e-6)
    average, mass = smooth(bank + 1000, bank + 1000, r, 1.0)
    expected, expected_mass = smooth(bank, bank, r, 1.0)
    np.testing.assert_allclose(average, expected, atol=1e-2)
    np.testing.assert_allclose(mass, expected_mass, rtol=1e-2)


@given(seed=st.integers(0, 10**6), log_sigma=st.floats(-3, 3), log_scale=st.floats(-3, 3))
def test_never_nan_and_between_the_extremes(seed, log_sigma, log_scale):
    query, bank = (rows(9, 3, seed + i, scale=10**log_scale).astype(np.float32) for i in (0, 1))
    r = rows(9, 1, seed)[:, 0].astype(np.float32)
    average, mass = smooth(query, bank, r, 10**log_sigma)
    assert np.isfinite(average).all()
    assert (mass >= 0).all()
    assert (mass <= 9.001).all()
    assert (average >= r.min()).all()
    assert (average <= r.max()).all()


def test_constant_values_give_that_constant_exactly():
    average, _ = smooth(unit_rows(50, 4, 0), unit_rows(60, 4, 1), np.full(60, 0.3, np.float32), 0.2)
    assert (average == np.float32(0.3)).all()


def test_huge_bandwidth_gives_the_mean_and_the_count():
    r = rows(40, 1, 2)[:, 0]
    average, mass = smooth(rows(5, 3, 0), rows(40, 3, 1), r, 1e6)
    np.testing.assert_allclose(average, r.mean(), atol=1e-9)
    np.testing.assert_allclose(mass, 40)


def test_far_query_has_no_mass_and_the_plain_mean():
    r = rows(40, 1, 2)[:, 0]
    average, mass = smooth(np.full((1, 3), 1e4), rows(40, 3, 1), r, 0.1)
    assert mass[0] < 1e-30
    assert average[0] == pytest.approx(r.mean())


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_sign_flip_row_order_and_repeats(seed):
    rng = np.random.default_rng(seed)
    query, bank, r = rows(6, 2, seed), rows(20, 2, seed + 1), rng.uniform(-1, 1, 20)
    average, mass = smooth(query, bank, r, 0.7)
    np.testing.assert_allclose(smooth(query, bank, -r, 0.7)[0], -average, atol=1e-12)
    order = rng.permutation(20)
    shuffled, shuffled_mass = smooth(query, bank[order], r[order], 0.7)
    np.testing.assert_allclose(shuffled, average, atol=1e-12)
    np.testing.assert_allclose(shuffled_mass, mass, rtol=1e-12)
    times = rng.integers(0, 4, 20) + (np.arange(20) == 0)
    repeated = np.repeat(np.arange(20), times)
    by_weight = smooth(query, bank, r, 0.7, weight=times.astype(float))
    by_rows = smooth(query, bank[repeated], r[repeated], 0.7)
    np.testing.assert_allclose(by_weight, by_rows, rtol=1e-9, atol=1e-12)


def test_columns_are_averaged_each_by_itself():
    query, bank, values = rows(6, 2, 0), rows(20, 2, 1), rows(20, 3, 2)
    together, mass = smooth(query, bank, values, 0.5)
    assert together.shape == (6, 3)
    for j in range(3):
        alone, alone_mass = smooth(query, bank, values[:, j], 0.5)
        np.testing.assert_allclose(together[:, j], alone, atol=1e-12)
        np.testing.assert_allclose(mass, alone_mass)


def test_all_neighbours_are_the_whole_bank_and_few_are_the_nearest():
    query, bank, r = rows(8, 2, 0), rows(30, 2, 1), rows(30, 1, 2)[:, 0]
    np.testing.assert_allclose(
        smooth(query, bank, r, 0.5, neighbours=30), smooth(query, bank, r, 0.5), rtol=1e-9, atol=1e-12
    )
    index, _ = nearest(query, bank, 4)
    few, few_mass = smooth(query, bank, r, 0.5, neighbours=4)
    for i in range(8):
        expected = smooth(query[i : i + 1], bank[index[i]], r[index[i]], 0.5)
        np.testing.assert_allclose((few[i], few_mass[i]), np.ravel(expected), rtol=1e-9)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 25), same=st.booleans())
@settings(max_examples=25)
def test_nearest_agrees_with_sorting_all_distances(seed, k, same):
    bank = rows(25, 3, seed)
    query = bank if same else rows(7, 3, seed + 1)
    distances = np.linalg.norm(query[:, None] - bank[None], axis=2)
    index, distance = nearest(query, bank, k)
    np.testing.assert_allclose(distance, np.sort(distances, axis=1)[:, :k], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(distances, index, 1), distance, atol=1e-12)


def test_nearest_across_tiles(monkeypatch):
    monkeypatch.setattr("miscal.estimators.kernel.NEAREST_TILE", (4, 6))
    test_nearest_agrees_with_sorting_all_distances.hypothesis.inner_test(5, 9, True)


@pytest.mark.parametrize(("given_as", "told_as"), [("f4", "f4"), ("f8", "f8"), ("i8", "f4")])
def test_precision_follows_the_query(given_as, told_as):
    query, bank, r = rows(4, 2, 0, scale=3), rows(9, 2, 1), rows(9, 1, 2)[:, 0]
    told = smooth(query.astype(given_as), bank, r.astype(np.float32), 0.5)
    assert {part.dtype for part in told} == {np.dtype(told_as)}
    np.testing.assert_allclose(told[0], smooth(query.astype(given_as).astype(float), bank, r, 0.5)[0], atol=1e-5)


def test_inputs_may_be_read_only_strided_or_reversed_and_stay_unchanged():
    bank, r = rows(9, 4, 1), rows(9, 1, 2)[:, 0]
    expected = smooth(bank[::-1].copy(), bank, r, 0.5)[0]
    before = bank.copy()
    bank.setflags(write=False)
    np.testing.assert_allclose(smooth(bank[::-1], np.asfortranarray(bank), r, 0.5)[0], expected)
    np.testing.assert_array_equal(bank, before)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf, np.nan])
def test_refuses_bandwidths(sigma):
    with pytest.raises(InputError, match="sigma must be"):
        smooth(rows(2, 1, 0), rows(3, 1, 1), np.zeros(3), sigma)


def test_refuses_misfits():
    bank = rows(3, 2, 0)
    with pytest.raises(InputError, match=r"\(2, 1\) and \(3, 2\)"):
        smooth(rows(2, 1, 0), bank, np.zeros(3), 1.0)
    with pytest.raises(InputError, match="one entry per row of the bank, 3; got 1 values"):
        smooth(bank, bank, np.zeros(1), 1.0)
    with pytest.raises(InputError, match="weight must not be negative"):
        smooth(bank, bank, np.zeros(3), 1.0, weight=np.array([1.0, -1.0, 1.0]))
    with pytest.raises(InputError, match="k must be in 1 to 3"):
        nearest(bank, bank, 4)


@given(seed=st.integers(0, 10**6), ridge=st.floats(0.01, 10))
@settings(max_examples=25)
def test_logit_shift_solves_its_equation(seed, ridge):
    rng = np.random.default_rng(seed)
    query, bank = rows(5, 2, seed), rows(60, 2, seed + 1)
    offset, y = rng.normal(size=60), (rng.random(60) < 0.5).astype(float)
    shift = logit_shift(query, bank, offset, y, 0.8, ridge=ridge, steps=30)
    K = np.exp(-np.square(query[:, None] - bank[None]).sum(2) / 0.8**2)
    p = 1 / (1 + np.exp(-(offset[None] + shift[:, None])))
    np.testing.assert_allclose((K * (y - p)).sum(1), ridge * shift, atol=1e-8)
    flipped = logit_shift(query, bank, -offset, 1 - y, 0.8, ridge=ridge, steps=30)
    np.testing.assert_allclose(flipped, -shift, atol=1e-8)
