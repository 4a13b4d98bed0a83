"""A field learned from a sample: all rows are evaluated, none by a field that has seen its outcome or its like."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.data.splits import draw_rows, sample_size
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.estimating import fit_rows
from miscal.estimators import honest
from miscal.estimators.field import MiscalibrationField

pytestmark = pytest.mark.whole

N, SIZE = 6_000, 900


def planted(n=N, seed=0, *, shift=-0.25):
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 6, n)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 0] += 5 * (topic % 3)
    X[:, 1] += 5 * (topic // 3)
    f = rng.uniform(0.35, 0.9, n)
    y = (rng.random(n) < np.clip(f + shift * (topic == 2), 0.02, 0.98)).astype(float)
    return Triples.of(X, confidence=f, correct=y, metadata={"topic": np.array([f"t{k}" for k in range(6)])[topic]})


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(honest, "_FOLDS_OF_FEW", 3)
        return discover(planted(), sample=SIZE, map_method="pca", n_jobs=1)


@pytest.fixture
def three_folds(monkeypatch):
    """A third of the fits; the statistical test below keeps them all."""
    monkeypatch.setattr(honest, "_FOLDS_OF_FEW", 3)


def test_planted_groups_are_found_with_every_row_evaluated(found):
    summary = found.summary
    assert (summary.n, summary.n_sample, summary.evidence) == (N, SIZE, "all")
    assert [finding.description for finding in summary.findings] == ["topic = t2"]
    assert summary.findings[0].n == found.table.height // 6 or abs(summary.findings[0].n - N / 6) < 120
    assert summary.certificate.lower_bound_hidden.interval[0] > 0
    judged = found.table.filter(pl.col("delta").is_not_null())
    assert judged.height == N
    assert summary.regimes[0].n > 0.5 * N / 6


def test_rows_outside_the_sample_are_one_fold_and_the_last(found):
    folds = found.table["fold"].value_counts().sort("fold")
    assert folds["count"].to_list()[-1] == N - SIZE
    assert sum(folds["count"].to_list()[:-1]) == SIZE


@pytest.mark.usefixtures("three_folds")
def test_outcomes_outside_the_sample_teach_nothing():
    rows = planted(1_000)
    known = fit_rows(rows, MiscalibrationField(n_jobs=1), sample=300)
    outside = ~known.sample
    flipped = rows.correct.copy()
    flipped[outside] = 1 - flipped[outside]
    changed = Triples.of(rows.X, confidence=rows.confidence, correct=flipped)
    again = fit_rows(changed, MiscalibrationField(n_jobs=1), sample=300)
    np.testing.assert_array_equal(again.sample, known.sample)
    np.testing.assert_array_equal(again.estimate.delta, known.estimate.delta)
    np.testing.assert_array_equal(again.forward.hidden, known.forward.hidden)


@pytest.mark.usefixtures("three_folds")
def test_a_sample_of_all_rows_is_no_sample():
    rows = planted(200)
    one, two = (discover(rows, sample=size, map_method="pca", n_jobs=1) for size in (None, 200))
    assert one.summary.n_sample is two.summary.n_sample is None
    assert one.table.equals(two.table)
    assert one.summary.model_copy(update={"timing": {}}) == two.summary.model_copy(update={"timing": {}})


def test_values_are_those_of_the_saved_field(found):
    rows, outside = planted(), found.table["fold"].to_numpy() == found.table["fold"].max()
    corrected = found.model.field.calibrate(rows.X[outside], rows.confidence[outside])
    np.testing.assert_allclose(found.table["corrected"].to_numpy()[outside], corrected, atol=2e-4)


class TestDraw:
    def test_groups_are_drawn_whole(self):
        groups = np.repeat(np.arange(400), 5)
        drawn = draw_rows(groups, 500, named=True, seed=1)
        assert drawn.sum() == 500
        assert set(np.bincount(groups, drawn)) == {0.0, 5.0}

    def test_every_row_is_as_likely_as_any_other(self):
        drawn = np.mean([draw_rows(np.arange(50), 10, named=False, seed=seed) for seed in range(400)], axis=0)
        assert np.abs(drawn - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 400)

    def test_a_large_group_of_equal_inputs_is_broken_up_and_a_named_one_refused(self):
        groups = np.r_[np.zeros(500, int), np.arange(1, 501)]
        assert 60 < draw_rows(groups, 200, named=False, seed=0)[:500].sum() < 140
        with pytest.raises(InputError, match="at least 2,500 rows"):
            draw_rows(groups, 200, named=True, seed=0)

    def test_sizes(self):
        assert [sample_size(n, None) for n in (500_000, 500_001)] == [None, 200_000]
        with pytest.raises(InputError, match="at least 100"):
            sample_size(10_000, 99)


def test_a_sample_needs_rows_that_all_are_evaluated():
    rows = planted(400)
    with pytest.raises(InputError, match="leave one of them out"):
        discover(rows, sample=200, evidence="test")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_where_nothing_is_hidden_samples_claim_nothing():
    """Of runs with calibrated outcomes at most a few claim something: 5 % of 40, and three standard errors."""
    claims = 0
    for seed in range(40):
        run = discover(planted(2_000, seed, shift=0.0), sample=500, seed=seed, map_method="pca", n_jobs=1)
        claims += run.summary.certificate.p_value < 0.05 or bool(run.summary.findings)
    assert claims <= 6


ON_DISK = """
import resource, sys
import numpy as np
import miscal.data.readers.read as reading
from miscal.base import precision
from miscal.data.readers.read import read_triples
from miscal.discovery.estimating import fit_rows
from miscal.estimators.field import MiscalibrationField
from miscal.findings.judging import contents_of
from miscal.findings.ledger import clusters
from miscal.findings.ledger.groups import named_groups

# as if the inputs, of 400 MB, were many times larger
reading.LARGE_BYTES = precision.LARGE_BYTES = clusters.MANY_VALUES = 1 << 24
rows = sys.argv[1]
def read():
    return read_triples(rows + "/rows.parquet", embeddings=rows + sys.argv[2])
read()  # what is imported and started once counts before the limit
held = int(next(l for l in open("/proc/self/status") if l.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (held + 300 * 2**20,) * 2)
triples = read()
known = fit_rows(triples, MiscalibrationField(n_jobs=1), sample=300)
clusters.with_clusters(named_groups({}), triples.X)
regime = np.where(triples.confidence > 0.6, "over", "under")
contents_of(triples, known.estimate.delta, regime, known.evaluated, seed=0)
print(len(triples), np.isfinite(known.estimate.delta).all())
"""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_inputs_stay_on_disk(tmp_path, dtype):
    n, d = 260_000, 384
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", dtype, (n, d))
    for start in range(0, n, 10_000):
        X[start : start + 10_000] = rng.standard_normal((10_000, d), np.float32)
    f = rng.uniform(0.2, 0.9, n)
    pl.DataFrame({"confidence": f, "correct": (rng.random(n) < f).astype(int)}).write_parquet(tmp_path / "rows.parquet")
    ran = subprocess.run(
        [sys.executable, "-c", ON_DISK, str(tmp_path), "/x.npy"], capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == ["260000", "True"], ran.stderr[-2000:]
