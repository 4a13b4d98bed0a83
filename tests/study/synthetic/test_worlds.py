"""Worlds are what they say."""

import numpy as np
import pytest
from scipy.special import expit, logit

from miscal.base.errors import InputError
from miscal.study.synthetic import worlds
from miscal.study.synthetic.worlds import known_coordinate_limit, random_split, sinusoid, three_clusters

WORLDS = {
    name: getattr(worlds, name) for name in ("three_clusters", "sinusoid", "planted", "calibrated", "visible_only")
}


@pytest.mark.parametrize("name", WORLDS)
def test_field_shift_and_confidence_agree(name):
    world = WORLDS[name](500, random_state=3)
    assert len(world) == len(world.X) == len(world.correct) == 500
    assert world.X.dtype == np.float32
    assert np.isfinite(world.X).all()
    assert ((world.confidence > 0) & (world.confidence < 1)).all()
    assert set(np.unique(world.correct)) <= {0.0, 1.0}
    np.testing.assert_allclose(world.delta, expit(logit(world.confidence) + world.shift) - world.confidence, atol=1e-9)
    np.testing.assert_array_equal(world.residual, world.correct - world.confidence)


@pytest.mark.parametrize("name", WORLDS)
def test_same_seed_same_world(name):
    one, two, other = (WORLDS[name](50, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.correct, two.correct)
    assert not np.array_equal(one.X, other.X)


@pytest.mark.parametrize("name", WORLDS)
def test_outcomes_follow_the_true_probability(name):
    world = WORLDS[name](20_000, random_state=0)
    eta = world.confidence + world.delta
    for part in (world.confidence < np.median(world.confidence), world.X[:, 0] > np.median(world.X[:, 0])):
        error = np.sqrt((eta * (1 - eta))[part].sum()) / part.sum()
        assert abs((world.correct - eta)[part].mean()) < 4 * error


def test_clusters_are_where_they_should_be():
    world = three_clusters(30_000)
    for c, (centre, shift) in enumerate(zip([(-2, 0), (0, 2), (2, 0)], (-1, 0, 1), strict=True)):
        rows = world.regime == c
        np.testing.assert_allclose(world.X[rows].mean(0), centre, atol=0.03)
        np.testing.assert_allclose(world.X[rows].std(0), 0.6, atol=0.02)
        assert (world.shift[rows] == shift).all()
        noise = logit(world.confidence[rows]) - world.X[rows] @ [0.5, 0.5]
        assert noise.std() == pytest.approx(0.5, abs=0.02)


def test_clusters_hide_from_the_confidence_alone():
    world = three_clusters(60_000)
    assert np.abs(world.delta).mean() > 0.09
    assert abs(world.residual.mean()) < 0.02


def test_sinusoid_is_the_formula():
    world = sinusoid(400, amplitude=0.8, frequency=2)
    along = world.X.astype(float) @ (np.ones(2) / np.sqrt(2))
    np.testing.assert_allclose(world.coordinate[:, 0], along, atol=1e-6)
    np.testing.assert_allclose(world.shift, 0.8 * np.sin(4 * np.pi * along), atol=1e-5)
    assert world.X.min() >= 0
    assert world.X.max() <= 1


def test_planted_groups_are_shifted_as_a_whole():
    world = WORLDS["planted"](5000, 40, shift=1.5)
    by_topic = {t: set(world.shift[world.regime == t]) for t in range(12)}
    assert all(len(values) == 1 for values in by_topic.values())
    assert sorted(v for (v,) in by_topic.values()) == [-1.5] * 3 + [0] * 6 + [1.5] * 3


def test_visible_only_depends_on_the_confidence_alone():
    world = WORLDS["visible_only"](5000)
    order = np.argsort(world.confidence)
    assert (np.diff(world.delta[order] + world.confidence[order]) >= 0).all()
    np.testing.assert_allclose(world.delta, expit(logit(world.confidence) / 2) - world.confidence, atol=1e-9)


def test_split_is_80_10_10_and_random():
    split = random_split(1005, random_state=0)
    assert [(split == s).sum() for s in ("train", "val", "test")] == [805, 100, 100]
    assert not np.array_equal(split, random_split(1005, random_state=1))


def test_limit_is_the_best_bandwidth_and_grows_with_the_signal():
    rows = np.arange(4000)
    weak, strong = (sinusoid(4000, amplitude=a, frequency=2) for a in (0.3, 1.0))
    limits = [known_coordinate_limit(w, rows[:3600], rows[3600:], bandwidths=[0.01, 0.04, 0.2]) for w in (weak, strong)]
    assert limits[0] < limits[1] < (1, 0)
    assert limits[1][0] > 0.95
    for bandwidth in (0.01, 0.04, 0.2):
        alone = known_coordinate_limit(strong, rows[:3600], rows[3600:], bandwidths=[bandwidth])
        assert alone[0] <= limits[1][0]


def test_limit_needs_a_coordinate():
    world = three_clusters(50)
    with pytest.raises(InputError, match="no known coordinate"):
        known_coordinate_limit(world, np.arange(40), np.arange(40, 50))


def test_refuses_no_rows():
    with pytest.raises(InputError, match="n must be at least 1"):
        sinusoid(0)
