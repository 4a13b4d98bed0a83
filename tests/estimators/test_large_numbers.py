"""Numbers large beside their differences, as seconds since 1970: nothing is lost before they are centred."""

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.data.readers.new_rows import read_inputs
from miscal.data.readers.read import read_triples
from miscal.data.splits import kept_together
from miscal.discovery.discover import discover
from miscal.estimators.field import MiscalibrationField

N = 800
EPOCH = 1_700_000_000


def seconds(offset=0, seed=0):
    """Outcomes that depend on the second, by a wave of two periods within 3,000 seconds."""
    rng = np.random.default_rng(seed)
    second = rng.permutation(3_000)[:N]
    f = rng.uniform(0.3, 0.7, N)
    y = (rng.random(N) < f + 0.25 * np.sign(np.sin(second / 3_000 * 4 * np.pi))).astype(int)
    return (second + float(offset))[:, None], y, f


@pytest.fixture(scope="module")
def fields():
    made = {}
    for offset in (0, EPOCH):
        X, y, f = seconds(offset)
        made[offset] = MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)
    return made


def test_the_field_does_not_depend_on_where_zero_lies(fields):
    (X, _, f), (moved, _, _) = seconds(), seconds(EPOCH)
    near, far = fields[0].predict(X, confidence=f), fields[EPOCH].predict(moved, confidence=f)
    assert fields[EPOCH].structure_
    assert np.abs(near).mean() > 0.15
    assert np.abs(near - far).mean() < 0.005


def test_a_row_alone_is_centred_by_what_was_learned(fields, tmp_path):
    X, _, f = seconds(EPOCH)
    field = fields[EPOCH]
    together = field.predict(X, confidence=f)
    # alone, any number of seconds looks as if single precision held it
    alone = [field.predict(X[i : i + 1], confidence=f[i : i + 1])[0] for i in range(40)]
    np.testing.assert_allclose(alone, together[:40], atol=1e-5)
    field.save(tmp_path / "saved")
    again = MiscalibrationField.load(tmp_path / "saved")
    assert again.predict(X, confidence=f).tobytes() == together.tobytes()


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npy"])
def test_rows_that_differ_are_not_called_equal_in_any_file(ending, tmp_path):
    X, y, f = seconds(EPOCH)
    table = pl.DataFrame({"second": X[:, 0].astype(np.int64), "confidence": f, "correct": y})
    asked = {"features": "second"}
    if ending == ".npy":
        np.save(tmp_path / "x.npy", X)
        asked = {"embeddings": tmp_path / "x.npy"}
    path = tmp_path / f"d{'.csv' if ending == '.csv' else '.parquet'}"
    (table.write_csv if ending == ".csv" else table.write_parquet)(path)
    triples = read_triples(path, **asked)
    assert kept_together(triples) == ()
    np.testing.assert_array_equal(triples.places, X)
    new = read_inputs(path, encoder=triples.encoder, **({} if "features" in asked else asked))
    np.testing.assert_array_equal(new.X[:, :1], X)


@pytest.mark.slow
def test_a_discovery_finds_as_much_wherever_zero_lies():
    limits = []
    for offset in (0, EPOCH):
        X, y, f = seconds(offset)
        found = discover(read_triples({"second": X[:, 0], "confidence": f, "correct": y}, features="second"))
        limits.append(found.summary.certificate.lower_bound_hidden.interval[0])
    assert limits[0] > 0.1
    assert limits[1] == pytest.approx(limits[0], abs=0.01)


def test_the_papers_method_refuses_what_it_would_merge():
    X, y, f = seconds(EPOCH)
    with pytest.raises(InputError, match=r"cannot hold the values of 1 of 2 columns \(first column 1"):
        MiscalibrationField("paper").fit(np.column_stack([X - X.mean(), X]), y, confidence=f)


def test_numbers_at_the_end_of_the_range_are_computed_with():
    X, y, f = seconds()
    huge = np.column_stack([X[:, 0], np.where(np.arange(N) % 2, 3e38, -3e38)]).astype(np.float32)
    field = MiscalibrationField(n_jobs=1).fit(huge, y, confidence=f)
    assert np.isfinite(field.predict(huge, confidence=f)).all()
    assert np.isfinite(field.transform(huge)).all()
