"""Maps are for the eye: finite, reproducible, and as far apart as the rows are."""

import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.arrays import row_blocks
from miscal.base.errors import InputError
from miscal.discovery import layout
from miscal.discovery.layout import lay_out, shown_rows


@settings(max_examples=50)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 5))
def test_principal_components_keep_what_two_dimensions_can(n, d, seed):
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    positions = lay_out(X, method="pca", seed=seed)
    assert positions.shape == (n, 2)
    variances = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:2] ** 2
    np.testing.assert_allclose((positions**2).sum(axis=0)[: len(variances)], variances, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 5), (60, 3)])
def test_rows_that_are_all_equal_lie_on_one_point(shape):
    assert not lay_out(np.ones(shape, dtype=np.float32)).any()


def test_components_fitted_on_a_sample_are_close_to_those_of_all(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5000, 2)) * [9, 3] @ rng.normal(size=(2, 100)) + rng.normal(size=(5000, 100)) * 0.1).astype(
        "f4"
    )
    everything = lay_out(X, method="pca")
    monkeypatch.setattr(layout, "_FIT_VALUES", 100 * 1000)
    monkeypatch.setattr(layout, "row_blocks", partial(row_blocks, values=100 * 7))
    sampled = lay_out(X, method="pca")
    for k in range(2):
        assert abs(np.corrcoef(everything[:, k], sampled[:, k])[0, 1]) > 0.99


@given(st.integers(0, 200), st.integers(1, 100), st.integers(0, 3))
def test_a_sample_is_sorted_distinct_and_reproducible(n, limit, seed):
    rows = shown_rows(n, seed=seed, limit=limit)
    assert len(rows) == min(n, limit)
    assert (np.diff(rows) > 0).all()
    assert ((rows >= 0) & (rows < n)).all()
    np.testing.assert_array_equal(rows, shown_rows(n, seed=seed, limit=limit))


def test_tsne_lays_out_no_more_than_its_landmarks(monkeypatch):
    """What t-SNE costs is bounded by the landmarks, so that no number of rows outgrows a fifth of the fit."""
    from sklearn.manifold import TSNE

    sizes, fit = [], TSNE.fit_transform
    monkeypatch.setattr(layout, "LANDMARKS", 80)
    monkeypatch.setattr(TSNE, "fit_transform", lambda self, X, y=None: (sizes.append(len(X)), fit(self, X))[1])
    for n in (60, 200, 2000):
        lay_out(np.random.default_rng(0).normal(size=(n, 5)).astype(np.float32), method="tsne")
    assert sizes == [60, 80, 80]


def test_tsne_keeps_clusters_apart_beyond_its_landmarks_too(monkeypatch):
    monkeypatch.setattr(layout, "LANDMARKS", 150)
    group = np.arange(600) % 3
    X = np.random.default_rng(0).normal(size=(600, 20)).astype(np.float32) + 10 * np.eye(20, dtype="f4")[group]
    positions = lay_out(X, method="tsne")
    centres = np.array([positions[group == side].mean(axis=0) for side in range(3)])
    nearest = np.linalg.norm(positions[:, None] - centres, axis=2).argmin(axis=1)
    assert np.mean(nearest == group) > 0.98


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e15])
@pytest.mark.parametrize("shape", [(3, 1), (50, 1), (120, 2), (120, 40)])
def test_tsne_is_finite_and_equal_rows_lie_on_one_point(shape, scale):
    X = (scale * np.random.default_rng(0).normal(size=shape)).astype(np.float32)
    positions = lay_out(np.r_[X, X], method="tsne")
    assert positions.shape == (2 * len(X), 2)
    assert np.isfinite(positions).all()
    np.testing.assert_allclose(positions[: len(X)], positions[len(X) :], atol=1e-3 * max(1.0, np.abs(positions).max()))


def test_umap_without_its_package_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(InputError, match="umap-learn"):
        lay_out(np.zeros((60, 2)), method="umap")


@pytest.mark.slow
def test_umap_keeps_clusters_apart_and_repeats_itself():
    pytest.importorskip("umap")
    group = np.repeat([0, 1], 200)
    X = np.random.default_rng(0).normal(size=(400, 20)).astype(np.float32) + 10 * group[:, None]
    one, two = (lay_out(X, method="umap", seed=3) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    centres = [one[group == side].mean(axis=0) for side in (0, 1)]
    spread = max(one[group == side].std() for side in (0, 1))
    assert np.linalg.norm(centres[0] - centres[1]) > spread
