"""The pipeline around the estimator: splits, honesty, tables, files. A quick ridge stands in for the field here;
the real one goes the same way in tests/cli/test_discover.py. What else a run is asked for is in test_variants.py."""

import re
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.data.splits import in_canonical_order
from miscal.discovery import estimating
from miscal.discovery.run import read_run
from miscal.discovery.run_folder import check_seal
from miscal.discovery.tables import field_table
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import FieldEstimate
from miscal.report import write_run

from .ridge import RidgeField, discover, quick  # noqa: F401 - a fixture


def test_stages_are_announced_and_timed(found, told):
    assert list(found.summary.timing) == [now.stage for now in told if now.share == 0]
    assert list(found.summary.timing) == [now.stage for now in told if now.share == 1]


def test_the_field_tells_every_fit_and_the_time_left(told):
    field = [now for now in told if now.stage == "field"]
    shares = [now.share for now in field]
    # the start, the fit on all rows, five folds and three of earlier folds; the last share is that of the end
    assert len(field) >= 10
    assert shares[0] == 0
    assert shares[-1] == 1
    assert all(before < after for before, after in pairwise(shares))
    assert all(now.left is not None and now.left >= 0 for now in told)
    assert field[-1].found.startswith("The model says")
    assert told[-1].left < told[0].left


def test_every_column_of_the_field_is_explained(found):
    explained = [name for names in re.findall(r"^ *`([a-z_, ]+)`: ", field_table.__doc__, re.MULTILINE)
                 for name in names.split(", ")]  # fmt: skip
    assert explained == found.table.columns


ESTIMATED = ("delta", "mass", "corrected", "visible", "hidden", "supported")


@pytest.fixture(scope="module")
def tested(data):
    RidgeField.seen.clear()
    found = discover(data, map_method="pca", seed=1, evidence="test")
    return found, list(RidgeField.seen)


def test_the_fit_never_sees_a_test_row(data, tested):
    found, seen = tested
    test = set(found.table.filter(pl.col("split") == "test")["row"].to_list())
    assert len(test) == 50
    assert seen
    for X, _, split in seen:
        rows = [int(np.flatnonzero((x == data.X).all(axis=1))[0]) for x in X]
        assert not test & set(rows)
        assert set(np.unique(split)) == {"train", "val"}


def test_a_test_label_changes_no_estimate(data, tested):
    found, _ = tested
    split = found.table["split"].to_numpy().astype(str)
    flipped = replace(data, split=split, correct=np.where(split == "test", 1 - data.correct, data.correct))
    again = discover(flipped, map_method="pca", seed=1)
    for name in (*ESTIMATED, "regime", "hidden_regime"):
        assert again.table[name].equals(found.table[name]), name
    assert again.summary.global_ != found.summary.global_
    assert again.summary.evidence == found.summary.evidence == "test"


def test_no_value_of_a_row_has_seen_its_outcome(data, found):
    """The outcomes of one fold change no estimate of its rows, neither by K-fold nor by earlier folds."""
    fold = found.table["fold"].to_numpy()
    assert sorted(set(fold)) == list(range(5))
    changed = replace(data, correct=np.where(fold == 2, 1 - data.correct, data.correct))
    again = discover(changed, map_method="pca", seed=1)
    inside = fold == 2
    for name in (*ESTIMATED, "regime", "hidden_regime"):
        assert again.table.filter(inside)[name].equals(found.table.filter(inside)[name]), name
    assert not again.table["delta"].equals(found.table["delta"])
    before, after = (
        estimating.fit_rows(in_canonical_order(rows)[0], MiscalibrationField(random_state=1, n_jobs=1))
        for rows in (data, changed)
    )
    inside = inside[in_canonical_order(data)[1]]
    for name, values in before.corrections.items():
        np.testing.assert_array_equal(values[inside], after.corrections[name][inside])
    earlier = (before.block >= 0) & (before.block <= 2)
    assert set(before.block) == {-1, *range(1, 5)}
    np.testing.assert_array_equal(before.forward.delta[earlier], after.forward.delta[earlier])
    assert (before.forward.delta != after.forward.delta)[before.block > 2].any()


def test_all_rows_are_evaluated_unless_some_are_set_apart(data, found, tested):
    summary = found.summary
    assert (summary.evidence, summary.n_train, summary.n_val, summary.n_test) == ("all", None, None, None)
    assert found.table["split"].is_null().all()
    assert sum(part.n for part in summary.regimes) == found.table["regime"].is_not_null().sum()
    assert tested[0].table["fold"].is_null().all()
    # nothing is learned for these two, so that all rows have their say in either case
    for name in ("accuracy", "confidence"):
        assert getattr(summary.global_, name) == getattr(tested[0].summary.global_, name)
    with pytest.raises(InputError, match=r"evidence 'all' .* the data name a split"):
        discover(replace(data, split=np.where(np.arange(500) % 2, "train", "test")), evidence="all")
    with pytest.raises(InputError, match="evidence must be 'all', 'test' or 'time'; got 'some'"):
        discover(data, evidence="some")


def test_the_saved_correction_has_learned_from_all_rows(data, found):
    RidgeField.seen.clear()
    estimating.fit_rows(data, MiscalibrationField(random_state=1, n_jobs=1))
    assert max(len(X) for X, _, _ in RidgeField.seen) == len(data)
    np.testing.assert_allclose(found.model.field.fitted_.w, RidgeField().fit(data).w)


def test_unsupported_rows_belong_to_no_regime(data, found):
    far = data.X[:, 0] >= 2.5
    assert far.any()
    assert (found.table["regime"].is_null().to_numpy() == far).all()
    assert found.summary.field.share_unsupported == pytest.approx(far.mean())


def test_what_cannot_be_stored_is_null_in_the_summary(found):
    assert found.summary.selection.candidates[0]["proxy"] is None
    assert found.summary.settings["field"]["ridge"] == 1.0
    assert "NaN" not in found.summary.to_json()


def test_a_run_comes_back_and_its_model_corrects(found, data, tmp_path):
    written = write_run(found, tmp_path / "run", report=False)
    check_seal(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert run.table.equals(found.table)
    assert run.map.equals(found.map)
    assert run.summary.to_json() == written.summary.to_json()
    # of the map it is written once it is drawn
    assert (found.summary.map, written.summary.map.n_shown) == (None, len(found.map))
    assert written.summary.model_copy(update={"map": None, "timing": found.summary.timing}) == found.summary
    kept, saved = (field.estimate(data.X, data.confidence) for field in (found.model.field, run.load_model().field))
    np.testing.assert_array_equal(kept.corrected, saved.corrected)
    with pytest.raises(InputError, match="memory"):
        run.triples()


def test_every_field_of_the_estimate_is_merged(data):
    split = np.where(np.arange(len(data)) % 5 == 0, "test", "train")
    rows = estimating.fit_rows(replace(data, split=split), MiscalibrationField(n_jobs=1))
    merged, direct = rows.estimate, rows.model.estimate(data.X, data.confidence)
    for item in fields(FieldEstimate):
        assert getattr(merged, item.name).shape == getattr(direct, item.name).shape
        assert np.array_equal(getattr(merged, item.name)[split == "test"], getattr(direct, item.name)[split == "test"])


@pytest.mark.parametrize("given", [0, -1, 2.5, "30", True])
def test_other_numbers_of_fewest_rows_are_refused(data, given):
    with pytest.raises(InputError, match="min_rows must be a whole number of at least 1"):
        discover(data, min_rows=given)
