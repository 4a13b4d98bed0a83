"""Runs of the pipeline with other rows and settings, each of them a run of its own beside a usual one."""

from dataclasses import replace

import numpy as np
import pytest

from miscal.base.errors import InputError
from miscal.data.triples import Triples
from miscal.discovery.run import read_run
from miscal.estimators.registry import ESTIMATORS
from miscal.report import write_run

from .ridge import RidgeField, discover, quick, triples  # noqa: F401 - a fixture

pytestmark = pytest.mark.whole


def test_rows_keep_their_order_and_numbers(data):
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    table = discover(shuffled, map_method="pca").table
    np.testing.assert_array_equal(table["row"], shuffled.row)
    np.testing.assert_array_equal(table["confidence"], shuffled.confidence)


class KeepingField(RidgeField):
    """A method that keeps its local estimate where few rows are near, as the paper's does."""

    def for_folds(self):
        return KeepingField(ridge=self.ridge)

    def estimate(self, X, confidence):
        return replace(super().estimate(X, confidence), local=np.ones(len(X), dtype=bool))


def test_rows_that_keep_their_estimate_belong_to_regimes_and_are_counted(data, found):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATORS, "auto", f"{__name__}:KeepingField")
        kept = discover(data, map_method="pca", seed=1)
    assert kept.table["supported"].equals(found.table["supported"])
    assert not kept.table["supported"].all()
    assert kept.table["regime"].null_count() == 0
    assert kept.summary.field.share_unsupported == found.summary.field.share_unsupported > 0
    assert any("which they keep, is mostly noise" in line for line in kept.summary.warnings)
    assert not any("belong to no regime" in line for line in kept.summary.warnings)


def test_findings_name_what_no_diagram_shows_from_all_rows(tmp_path):
    """The column `kind` knows where the model is right less often; with a split, the test rows alone are evaluated."""
    rows = triples(1000, strength=0.35)
    kind = np.where(rows.X[:, 0] < 0, "left", "right").astype(object)
    told = replace(rows, metadata={"kind": kind, "year": np.arange(1000) % 7}, text=None)
    found = discover(told, map_method="pca")
    [first, *_] = found.summary.findings
    assert first.description in ("kind = left", "kind = right")
    assert found.summary.findings_method.evidence == "all"
    assert found.summary.findings_method.n == 1000
    assert first.visible + first.hidden.value == pytest.approx(first.residual.value)
    assert found.findings["description"].to_list() == [one.description for one in found.summary.findings]
    write_run(found, tmp_path / "run", report=False)
    assert read_run(tmp_path / "run").findings.equals(found.findings)
    split = np.array(["train", "val", "test", "test"])[np.arange(1000) % 4]
    own = discover(replace(told, split=split), map_method="pca").summary.findings_method
    assert (own.evidence, own.n) == ("test", 500)


def test_rows_without_columns_and_texts_have_clusters_to_find():
    rows = triples(1000, strength=0.35)
    found = discover(replace(rows, text=None, metadata={}), map_method="pca").summary
    assert found.findings_method.candidates > 0
    assert {one.source for one in found.findings} <= {"found"}


def test_options_of_a_method_reach_it_and_are_kept(data, found):
    other = discover(data, map_method="pca", seed=1, options={"ridge": 1e4})
    assert other.summary.settings["options"] == {"ridge": 1e4}
    assert "options" not in found.summary.settings
    assert other.table["delta"].abs().max() < found.table["delta"].abs().max() / 2
    with pytest.raises(InputError, match="has no option 'rigde'; its options are ridge"):
        discover(data, options={"rigde": 1.0})


def test_the_claim_does_not_ask_whether_the_estimator_corrects_by_what_it_learned(found, data, monkeypatch):
    monkeypatch.setattr(RidgeField, "structure_", False)
    silent = discover(data, map_method="pca", seed=1).summary
    assert not silent.field.structure
    assert silent.certificate == found.summary.certificate


def test_structure_that_the_field_does_not_see_is_found_and_not_located(monkeypatch):
    monkeypatch.setattr(RidgeField, "structure_", False)
    honest = RidgeField.estimate
    monkeypatch.setattr(
        RidgeField, "estimate", lambda self, X, f: replace(honest(self, X, f), hidden=np.zeros(len(X)), ungated=None)
    )
    told = discover(replace(triples(strength=0.25), text=None, metadata={}), map_method="pca").summary
    proof = told.certificate
    assert proof.p_field == 1.0
    assert proof.p_value == proof.p_structure < 0.01
    assert proof.lower_bound_hidden.interval[0] == 0


def test_the_same_rows_give_the_same_bytes(found, data, tmp_path):
    again = discover(data, map_method="pca", seed=1)
    for name, result in {"one": found, "two": again}.items():
        write_run(result, tmp_path / name, report=False)
    for file in ("field.parquet", "map.parquet", "model/tensors.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert found.summary.model_copy(update={"timing": {}}) == again.summary.model_copy(update={"timing": {}})


def test_confidences_all_equal_and_inputs_all_equal_end_in_numbers():
    rng = np.random.default_rng(0)
    flat = Triples.of(np.ones((200, 2)), confidence=np.full(200, 0.6), correct=rng.random(200) < 0.5)
    found = discover(flat, map_method="pca").summary
    assert found.field.correlation_with_confidence is None
    assert "NaN" not in found.to_json()


def test_the_fewest_rows_of_a_regime_are_a_setting_that_is_kept():
    rows = triples(n=300)
    # 30 test rows in all, so that neither regime has 30
    few = discover(rows, evidence="test", min_rows=1, map_method="pca").summary
    usual = discover(rows, evidence="test", map_method="pca").summary
    assert (few.settings["min_rows"], usual.settings["min_rows"]) == (1, 30)
    sizes = {regime.name: regime.n for regime in few.regimes}
    assert 0 < max(sizes["over"], sizes["under"]) < 30
    assert usual.gap.value is None
    worst = next(regime for regime in few.regimes if regime.name == few.gap.worst)
    assert few.gap.value == pytest.approx(worst.smece.value - few.global_.smece.value)


def test_a_device_is_kept_and_changes_no_field(data, found):
    """A method without use for a GPU says so in one sentence."""
    other, usual = discover(data, device="cuda", map_method="pca", seed=1).summary, found.summary
    said = 'a GPU was asked for, but method "auto" computes on processors alone and had no use for it'
    assert set(other.warnings) - set(usual.warnings) == {said}
    assert (other.settings["device"], other.settings["computed_on"]) == ("cuda", "cpu")
    assert (usual.settings["device"], usual.settings["computed_on"]) == ("auto", "cpu")
    assert other.field == usual.field
    assert other.findings == usual.findings
