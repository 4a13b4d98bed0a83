"""Laws of the local readout, for a fixed geometry, and of the learned one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from miscal.estimators.auto.geometry import PlacedRows, fit_local
from miscal.estimators.auto.readout import LocalShift
from miscal.estimators.auto.settings import AUTO


def fixed(n=200, seed=0, ridge=2.0, **changes):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    offset = rng.normal(size=n).astype(np.float32)
    outcome = (rng.random(n) < expit(offset + x[:, 0])).astype(np.float32)
    local = LocalShift(np.eye(2, dtype=np.float32), ridge, x, offset, outcome, np.ones(n, np.float32), np.arange(n))
    return replace(local, **changes)


QUERIES = np.array([[0.0, 0.0], [1.0, -0.5], [-1.5, 0.3]])


def slow_shift(local, q):
    """Solve sum K w (y - sigmoid(o + D)) = ridge D by bisection, with plain loops."""
    weights = [w * np.exp(-np.sum((q - b) ** 2)) for w, b in zip(local.weight, local.bank, strict=True)]
    low, high = -20.0, 20.0
    for _ in range(80):
        D = (low + high) / 2
        value = sum(k * (y - expit(o + D)) for k, y, o in zip(weights, local.outcome, local.offset, strict=True))
        low, high = (D, high) if value > local.ridge * D else (low, D)
    return D, sum(weights)


def test_the_readout_equals_two_loops_and_a_bisection():
    local = fixed()
    read = local.read(QUERIES)
    for q, shift, mass in zip(QUERIES, read.shift, read.mass, strict=True):
        assert (shift, mass) == pytest.approx(slow_shift(local, q), abs=1e-3)


def test_offsets_at_both_ends_and_large_shifts_are_read_as_exactly():
    rng = np.random.default_rng(0)
    offset = np.concatenate([np.full(60, -13.8), np.full(60, 13.8), rng.normal(scale=3, size=80)]).astype(np.float32)
    # most are wrong about the ends, so that the shift there is large
    local = fixed(ridge=0.05, offset=offset, outcome=(rng.random(200) < 0.9).astype(np.float32))
    K = local.weight * np.exp(-np.square(QUERIES[:, None] - local.bank).sum(2))
    D = np.zeros(len(QUERIES))
    for _ in range(AUTO.newton_steps):
        p = expit(offset.astype(float) + D[:, None])
        v = p * (1 - p)
        curvature = (K * v).sum(1) + local.ridge
        D = D + np.clip((K * (local.outcome - p)).sum(1) / curvature - local.ridge * D / curvature, -2, 2)
    read = local.read(QUERIES)
    assert np.abs(D).max() > 2
    assert read.shift == pytest.approx(D, abs=1e-4)
    assert read.shift_error == pytest.approx(np.sqrt((K**2 / local.weight * v).sum(1)) / curvature, rel=1e-3)


def test_shift_and_mass_are_the_same_without_errors():
    with_errors, without = fixed().read(QUERIES), fixed().read(QUERIES, errors=False)
    assert without.shift_error is None
    assert (without.shift == with_errors.shift).all()
    assert (without.mass == with_errors.mass).all()


@given(st.integers(0, 1000), st.floats(0.1, 50))
def test_a_mirrored_world_has_the_opposite_shift(seed, ridge):
    local = fixed(seed=seed, ridge=ridge)
    mirrored = replace(local, offset=-local.offset, outcome=1 - local.outcome)
    assert mirrored.read(QUERIES).shift == pytest.approx(-local.read(QUERIES).shift, abs=1e-3)


@given(st.integers(0, 1000))
def test_row_order_is_irrelevant(seed):
    local = fixed(seed=seed)
    order = np.random.default_rng(seed).permutation(len(local.bank))
    moved = replace(
        local,
        bank=local.bank[order], offset=local.offset[order], outcome=local.outcome[order], rows=local.rows[order],
    )  # fmt: skip
    assert moved.read(QUERIES).shift == pytest.approx(local.read(QUERIES).shift, abs=1e-4)
    assert (moved.nearest(QUERIES, 3)[0] == local.nearest(QUERIES, 3)[0]).all()


def test_a_repeated_row_is_weight_two():
    local = fixed()
    again = np.r_[np.arange(200), np.arange(30)]
    repeated = replace(
        local,
        bank=local.bank[again], offset=local.offset[again], outcome=local.outcome[again],
        weight=local.weight[again], rows=local.rows[again],
    )  # fmt: skip
    weighted = replace(local, weight=np.where(np.arange(200) < 30, 2, 1).astype(np.float32))
    a, b = repeated.read(QUERIES), weighted.read(QUERIES)
    assert a.shift_error == pytest.approx(b.shift_error, rel=1e-4)
    assert a.shift == pytest.approx(b.shift, abs=1e-4)
    assert a.mass == pytest.approx(b.mass, rel=1e-4)


def test_a_far_query_has_no_mass_and_no_shift():
    read = fixed().read([[1e3, 1e3]])
    assert read.mass[0] < 1e-20
    assert abs(read.shift[0]) < 1e-6
    assert np.isfinite(read.shift_error[0])


def wavy(n, seed, frequency=3, amplitude=0.8):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    offset = x @ [1, -1] + 0.5 * rng.normal(size=n)
    shift = amplitude * np.sin(2 * np.pi * frequency * x.sum(1) / np.sqrt(2))
    return x.astype(np.float32), offset, (rng.random(n) < expit(offset + shift)).astype(float), shift


def test_the_geometry_finds_the_direction_that_matters():
    x, offset, y, _ = wavy(4000, 0)
    fresh, _, _, shift = wavy(1000, 1)
    local = fit_local(PlacedRows.of(x, y, offset), rng=np.random.default_rng(0), steps=20)
    direction = local.axes[:, np.abs(local.axes).sum(0).argmax()]
    assert abs(direction @ [1, 1]) / np.linalg.norm(direction) / np.sqrt(2) > 0.99
    assert np.corrcoef(local.read(fresh).shift, shift)[0, 1] > 0.9


def test_without_structure_the_shift_stays_small():
    x, offset, y, _ = wavy(4000, 2, amplitude=0.0)
    local = fit_local(PlacedRows.of(x, y, offset), rng=np.random.default_rng(0), steps=20)
    assert np.abs(local.read(x[:500]).shift).mean() < 0.15


def test_the_same_seed_gives_the_same_geometry():
    x, offset, y, _ = wavy(600, 3)
    a, b = (fit_local(PlacedRows.of(x, y, offset), rng=np.random.default_rng(5), steps=5) for _ in range(2))
    assert (a.axes == b.axes).all()


@pytest.mark.parametrize("copies", [2, 5])
def test_a_geometry_learned_from_repeated_rows_is_as_good_as_from_each_once(copies):
    x, offset, y, _ = wavy(1500, 4, frequency=1, amplitude=1.5)
    fresh, _, _, shift = wavy(500, 5, frequency=1, amplitude=1.5)

    def learned(times):
        number = np.repeat(np.arange(len(y)), times)
        rows = PlacedRows.of(x[number], y[number], offset[number], groups=number)
        local = fit_local(rows, rng=np.random.default_rng(0), steps=20)
        return local.read(fresh)

    once, repeated = learned(1), learned(copies)
    assert np.corrcoef(repeated.shift, shift)[0, 1] > np.corrcoef(once.shift, shift)[0, 1] - 0.05
    assert np.median(repeated.mass) > np.median(once.mass)


def test_groups_of_one_row_each_change_nothing():
    x, offset, y, _ = wavy(600, 3)
    a, b = (
        fit_local(PlacedRows.of(x, y, offset, groups=groups), rng=np.random.default_rng(5), steps=5)
        for groups in (None, np.arange(600)[::-1])
    )
    assert (a.axes == b.axes).all()
    assert a.ridge == b.ridge


@pytest.mark.parametrize("groups", [None, np.arange(60) % 13])
def test_the_written_out_gradient_of_the_loss_equals_finite_differences(groups):
    rng = np.random.default_rng(0)
    x, y, weight = rng.normal(size=(60, 4)), rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    rows = PlacedRows.of(x, y, rng.normal(size=60), weight, groups)
    batch = rows.batch(rng.permutation(60)[:50])
    batch = replace(batch, **{k: getattr(batch, k).astype(float) for k in ("x", "correct", "offset", "weight")})
    axes, log_ridge, step = rng.normal(size=(4, 3)), 0.7, 1e-5
    _, in_axes, in_ridge = batch.loss(axes, log_ridge)

    def sloped(i, j):
        along = np.zeros_like(axes)
        along[i, j] = step
        return (batch.loss(axes + along, log_ridge)[0] - batch.loss(axes - along, log_ridge)[0]) / (2 * step)

    assert in_axes == pytest.approx(np.array([[sloped(i, j) for j in range(3)] for i in range(4)]), rel=1e-5, abs=1e-8)
    ends = [batch.loss(axes, log_ridge + side)[0] for side in (step, -step)]
    assert in_ridge == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("together", [1, 3])
def test_the_loss_of_a_batch_leaves_each_group_out(together):
    rng = np.random.default_rng(1)
    x, y, offset, weight = rng.normal(size=(30, 2)), rng.integers(0, 2, 30), rng.normal(size=30), rng.uniform(1, 3, 30)
    group = np.arange(30) // together
    rows = PlacedRows.of(x, y, offset, weight, group)
    loss, *_ = rows.batch(rng.permutation(30)).loss(np.eye(2), np.log(2.0))
    total = 0.0
    for i in range(30):
        others = group != group[i]
        K = weight[others] * np.exp(-np.square(x[i] - x[others]).sum(1))
        p = expit(offset[others])
        logit = offset[i] + K @ (y[others] - p) / (K @ (p * (1 - p)) + 2)
        total += weight[i] * (np.logaddexp(0, logit) - y[i] * logit)
    assert loss == pytest.approx(total / 30, rel=1e-5)
