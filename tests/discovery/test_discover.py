"""The pipeline around the estimator: splits, honesty, tables, files. A quick ridge stands in for the field here;
the real one goes the same way in tests/cli/test_discover.py."""

import re
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError, LockedError
from miscal.base.files import locked
from miscal.calibration.calibrators import Identity
from miscal.data.encoders.tfidf import TextTfidfSvd
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.discovery import estimating
from miscal.discovery.discover import discover as discover_triples
from miscal.discovery.progress import Progress
from miscal.discovery.run import read_run
from miscal.discovery.run_folder import check_seal
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.registry import ESTIMATORS
from miscal.report import render, write_run
from miscal.report.printed import summary_lines


class RidgeField:
    """A third estimator: delta = a linear function of the signs of x."""

    folds_keep_choices: ClassVar = False
    chooses_on_validation: ClassVar = False
    sees_columns: ClassVar = True
    most_rows_in_threads: ClassVar = 0
    structure_: ClassVar = True
    settings_: ClassVar = {"ridge": np.float64(1.0)}
    selection_: ClassVar = [{"name": "ridge", "log_loss": np.float32(0.5), "proxy": float("nan"), "chosen": True}]
    global_map_: ClassVar = Identity()
    seen: ClassVar = []

    def __init__(self, *, random_state=0, n_jobs=None, ridge=1.0):
        self.random_state, self.ridge = random_state, ridge

    def fit(self, rows):
        type(self).seen.append((rows.X.copy(), rows.correct.copy(), None if rows.split is None else rows.split.copy()))
        A = np.c_[np.ones(len(rows)), np.sign(rows.X)]
        self.w = np.linalg.solve(A.T @ A + self.ridge * np.eye(A.shape[1]), A.T @ rows.residual)
        return self

    def for_folds(self):
        return RidgeField(ridge=self.ridge)

    def estimate(self, X, confidence):
        n, f = len(X), confidence
        delta = np.clip(f + np.c_[np.ones(n), np.sign(X)] @ self.w, 0, 1) - f
        visible = np.full(n, self.w[0])
        return FieldEstimate(
            delta=delta,
            mass=np.full(n, 50.0),
            supported=X[:, 0] < 2.5,
            visible=visible,
            hidden=delta - visible,
            corrected=f + delta,
            coordinates=X.astype(float),
            standard_error=np.full(n, 0.05),
        )

    def transform(self, X):
        return X.astype(float)

    def state(self):
        return {}, {"w": self.w}

    @classmethod
    def from_state(cls, content, arrays):
        field = cls()
        field.w = arrays["w"]
        return field


@pytest.fixture(scope="module", autouse=True)
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATORS, "auto", f"{__name__}:RidgeField")
        yield


def discover(rows, **options):
    return discover_triples(rows, n_jobs=1, **options)


def triples(n=500, seed=0, strength=0.3, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    f = rng.uniform(0.35, 0.65, n)
    y = rng.random(n) < f + strength * np.sign(X[:, 0])
    text = [f"question {i} of {'law' if x < 0 else 'sums'}" for i, x in enumerate(X[:, 0])]
    return Triples.of(X, confidence=f, correct=y, text=text, metadata={"year": np.arange(n) % 7}, **options)


@pytest.fixture(scope="module")
def data():
    return triples()


TOLD: list[Progress] = []


@pytest.fixture(scope="module")
def found(data):
    return discover(data, map_method="pca", seed=1, progress=TOLD.append)


def test_stages_are_announced_and_timed(found):
    assert list(found.summary.timing) == [now.stage for now in TOLD if now.share == 0]
    assert list(found.summary.timing) == [now.stage for now in TOLD if now.share == 1]


def test_the_field_tells_every_fit_and_the_time_left(found):
    field = [now for now in TOLD if now.stage == "field"]
    shares = [now.share for now in field]
    # the start, the fit on all rows, ten folds and seven or eight of earlier folds, the end
    assert len(field) > 12
    assert shares[0] == 0
    assert shares[-1] == 1
    assert all(before < after for before, after in pairwise(shares))
    assert all(now.left is not None and now.left >= 0 for now in TOLD)
    assert field[-1].found.startswith("The model says")
    assert TOLD[-1].left < TOLD[0].left


@pytest.mark.parametrize(("file", "table"), [("field", "table"), ("columns", "columns")])
def test_the_columns_of_a_file_are_those_of_the_docs(found, file, table):
    page = (Path(__file__).parents[2] / "docs" / "outputs.md").read_text()
    section = page.split(f"\n## {file}.parquet\n")[1].split("\n## ")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    listed = [name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(listed) == sorted(getattr(found, table).columns)


ESTIMATED = ("delta", "mass", "corrected", "visible", "hidden", "supported")


@pytest.fixture(scope="module")
def tested(data):
    RidgeField.seen.clear()
    found = discover(data, map_method="pca", seed=1, evidence="test")
    return found, list(RidgeField.seen)


@pytest.mark.promise("V4")
def test_the_fit_never_sees_a_test_row(data, tested):
    found, seen = tested
    test = set(found.table.filter(pl.col("split") == "test")["row"].to_list())
    assert len(test) == 50
    assert seen
    for X, _, split in seen:
        rows = [int(np.flatnonzero((x == data.X).all(axis=1))[0]) for x in X]
        assert not test & set(rows)
        assert set(np.unique(split)) == {"train", "val"}


@pytest.mark.promise("V4")
def test_a_test_label_changes_no_estimate(data, tested):
    found, _ = tested
    split = found.table["split"].to_numpy().astype(str)
    flipped = replace(data, split=split, correct=np.where(split == "test", 1 - data.correct, data.correct))
    again = discover(flipped, map_method="pca", seed=1)
    for name in (*ESTIMATED, "regime", "subregime", "hidden_regime", "hidden_subregime"):
        assert again.table[name].equals(found.table[name]), name
    assert again.summary.global_ != found.summary.global_
    assert again.summary.evidence == found.summary.evidence == "test"


@pytest.mark.promise("V4")
def test_no_value_of_a_row_has_seen_its_outcome(data, found):
    """The outcomes of one fold change no estimate of its rows, neither by K-fold nor by earlier folds."""
    fold = found.table["fold"].to_numpy()
    assert sorted(set(fold)) == list(range(10))
    changed = replace(data, correct=np.where(fold == 4, 1 - data.correct, data.correct))
    again = discover(changed, map_method="pca", seed=1)
    inside = fold == 4
    for name in (*ESTIMATED, "regime", "hidden_regime"):
        assert again.table.filter(inside)[name].equals(found.table.filter(inside)[name]), name
    assert not again.table["delta"].equals(found.table["delta"])
    before, after = (estimating.fit_rows(in_canonical_order(rows)[0], seed=1, n_jobs=1) for rows in (data, changed))
    inside = inside[in_canonical_order(data)[1]]
    for name, values in before.corrections.items():
        np.testing.assert_array_equal(values[inside], after.corrections[name][inside])
    earlier = (before.block >= 0) & (before.block <= 4)
    assert set(before.block) == {-1, *range(2, 10)}
    np.testing.assert_array_equal(before.forward.delta[earlier], after.forward.delta[earlier])
    assert (before.forward.delta != after.forward.delta)[before.block > 4].any()


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
    estimating.fit_rows(data, seed=1, n_jobs=1)
    assert max(len(X) for X, _, _ in RidgeField.seen) == len(data)
    np.testing.assert_allclose(found.model.field.fitted_.w, RidgeField().fit(data).w)


def test_rows_keep_their_order_and_numbers(data):
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    table = discover(shuffled, map_method="pca").table
    np.testing.assert_array_equal(table["row"], shuffled.row)
    np.testing.assert_array_equal(table["confidence"], shuffled.confidence)


def test_unsupported_rows_belong_to_no_regime(data, found):
    far = data.X[:, 0] >= 2.5
    assert far.any()
    assert (found.table["regime"].is_null().to_numpy() == far).all()
    assert found.summary.field.share_unsupported == pytest.approx(far.mean())


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
    assert first.visible + first.hidden.value == pytest.approx(first.residual)
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


def test_the_ledger_keeps_the_promise_that_was_asked_for(data, found):
    other = discover(data, map_method="pca", seed=1, adjustment="fdr").summary
    assert "Hochberg" in other.findings_method.adjustment
    assert "Hochberg" not in found.summary.findings_method.adjustment
    assert {one.description for one in found.summary.findings} <= {one.description for one in other.findings}


def test_options_of_a_method_reach_it_and_are_kept(data, found):
    other = discover(data, map_method="pca", seed=1, options={"ridge": 1e4})
    assert other.summary.settings["options"] == {"ridge": 1e4}
    assert "options" not in found.summary.settings
    assert other.table["delta"].abs().max() < found.table["delta"].abs().max() / 2
    with pytest.raises(InputError, match="has no option 'rigde'; its options are ridge"):
        discover(data, options={"rigde": 1.0})


def test_what_cannot_be_stored_is_null_in_the_summary(found):
    assert found.summary.selection.candidates[0]["proxy"] is None
    assert found.summary.settings["field"]["ridge"] == 1.0
    assert "NaN" not in found.summary.to_json()


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
    assert "could not be located yet" in told.verdict or "the estimated field as a whole was not" in told.verdict


def test_a_run_comes_back_and_its_model_corrects(found, data, tmp_path):
    write_run(found, tmp_path / "run", report=False)
    check_seal(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert run.table.equals(found.table)
    assert run.map.equals(found.map)
    assert run.summary.to_json() == found.summary.to_json()
    kept, saved = (field.estimate(data.X, data.confidence) for field in (found.model.field, run.load_model().field))
    np.testing.assert_array_equal(kept.corrected, saved.corrected)
    with pytest.raises(InputError, match="memory"):
        run.triples()


@pytest.mark.promise("D1")
def test_the_same_rows_give_the_same_bytes(found, data, tmp_path):
    again = discover(data, map_method="pca", seed=1)
    for name, result in {"one": found, "two": again}.items():
        write_run(result, tmp_path / name, report=False)
    for file in ("field.parquet", "map.parquet", "model/tensors.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert found.summary.model_copy(update={"timing": {}}) == again.summary.model_copy(update={"timing": {}})


def test_the_report_is_drawn_from_a_run(found, tmp_path):
    write_run(found, tmp_path / "run")
    assert b"<html" in (tmp_path / "run" / "report.html").read_bytes()


@pytest.mark.promise("C6")
def test_a_run_in_use_is_refused(found, tmp_path):
    with locked(tmp_path / "run"), pytest.raises(LockedError):
        write_run(found, tmp_path / "run")


@pytest.mark.parametrize(
    ("setting", "value"), [("method", "autoo"), ("epsilon", 1.0), ("epsilon", -0.1), ("adjustment", "none")]
)
def test_settings_out_of_range_are_refused(data, setting, value):
    with pytest.raises(InputError, match=setting):
        discover(data, **{setting: value})


@pytest.mark.promise("I8")
@pytest.mark.parametrize("n", [5, 50, 99])
def test_too_few_rows_are_refused(n):
    with pytest.raises(InputError, match="too few rows"):
        discover(triples(n))


def test_every_field_of_the_estimate_is_merged(data):
    split = np.where(np.arange(len(data)) % 5 == 0, "test", "train")
    rows = estimating.fit_rows(replace(data, split=split), n_jobs=1)
    merged, direct = rows.estimate, rows.model.estimate(data.X, data.confidence)
    for item in fields(FieldEstimate):
        assert getattr(merged, item.name).shape == getattr(direct, item.name).shape
        assert np.array_equal(getattr(merged, item.name)[split == "test"], getattr(direct, item.name)[split == "test"])


@pytest.mark.promise("I6", "I11")
def test_confidences_all_equal_and_inputs_all_equal_end_in_numbers():
    rng = np.random.default_rng(0)
    flat = Triples.of(np.ones((200, 2)), confidence=np.full(200, 0.6), correct=rng.random(200) < 0.5)
    found = discover(flat, map_method="pca").summary
    assert found.field.correlation_with_confidence is None
    assert "NaN" not in found.to_json()


@pytest.mark.promise("I12")
def test_test_rows_of_one_outcome_are_warned_of(found, data):
    test = np.arange(len(data)) >= len(data) - 40
    correct = np.where(test, 1, data.correct)
    split = np.where(test, "test", np.where(np.arange(len(data)) % 5 == 0, "val", "train"))
    summary = discover(replace(data, correct=correct, split=split), map_method="pca").summary
    assert any("all 40 test rows have the outcome 1" in warning for warning in summary.warnings)
    assert not any("have the outcome" in warning for warning in found.summary.warnings)
    assert "NaN" not in summary.to_json()


WORDS = ("zebrafish", "quokka", "wombat", "axolotl")
ANSWER = "quinoa"


def secret_rows(n=800):
    """Texts whose first word says where the model is wrong, so that parts and findings are named by it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    f = rng.uniform(0.35, 0.65, n)
    y = rng.random(n) < f + 0.35 * np.sign(X[:, 0])
    text = [f"{WORDS[int(x < 0)]} {WORDS[2 + i % 2]} {i}" for i, x in enumerate(X[:, 0])]
    rows = Triples.of(X, confidence=f, correct=y, text=text, metadata={"year": np.arange(n) % 7})
    return replace(rows, answers={"right answer": np.array([f"said {ANSWER}"] * n, dtype=object)})


def told_by(folder):
    """Everything that the files of a run say, those of the model left out."""
    files = [path for path in folder.rglob("*") if path.is_file() and "model" not in path.relative_to(folder).parts]
    assert {path.suffix for path in files} == {".json", ".html", ".parquet"}
    tables = [pl.read_parquet(path).write_json() for path in files if path.suffix == ".parquet"]
    return "\n".join([*tables, *(path.read_text() for path in files if path.suffix != ".parquet")])


@pytest.mark.promise("S11")
def test_a_redacted_run_holds_no_word_of_the_texts_and_the_same_numbers(tmp_path):
    rows = secret_rows()
    open_run, hidden = (discover(rows, map_method="pca", evidence="test", redact_text=flag) for flag in (False, True))
    for name, found in {"open": open_run, "hidden": hidden}.items():
        write_run(found, tmp_path / name)
    said = told_by(tmp_path / "open").casefold()
    assert all(word in said for word in (*WORDS, ANSWER)), "the open run does not tell what the other leaves out"
    assert any("in the text" in one.description for one in open_run.summary.findings)
    render(tmp_path / "hidden")  # drawn again, it stays without texts
    said = told_by(tmp_path / "hidden").casefold()
    assert [word for word in (*WORDS, ANSWER) if word in said] == []
    assert "left off this page" in said
    assert hidden.summary.settings["redact_text"] is True
    assert open_run.summary.settings["redact_text"] is False
    for one, other in zip(open_run.summary.findings, hidden.summary.findings, strict=True):
        assert (one.n, one.hidden, one.p_adjusted, one.rows) == (other.n, other.hidden, other.p_adjusted, other.rows)
    values = [found.table.drop("subregime", "hidden_subregime") for found in (open_run, hidden)]
    assert values[0].equals(values[1])


@pytest.mark.promise("S11")
def test_texts_that_are_metadata_too_are_refused():
    rows = secret_rows(200)
    twice = replace(rows, metadata={"question": np.array(rows.text, dtype=object)})
    with pytest.raises(InputError, match="'question' holds them"):
        discover(twice, redact_text=True)


def test_a_model_that_keeps_words_is_warned_of():
    rows = secret_rows(200)
    encoder = TextTfidfSvd().fit(rows.text)
    warned = discover(
        replace(rows, encoder=encoder), map_method="pca", evidence="test", redact_text=True
    ).summary.warnings
    assert any("model/ holds the" in warning for warning in warned)
    without = discover(rows, map_method="pca", evidence="test", redact_text=True).summary.warnings
    assert not any("model/ holds" in warning for warning in without)


def test_confidences_turned_round_raise_alarms(data, found):
    assert found.summary.alarms == ()
    turned = discover(replace(data, confidence=0.9 - 0.8 * data.correct), map_method="pca").summary
    assert any("ranks right answers below" in alarm for alarm in turned.alarms)
    lines = summary_lines(turned, Path("run"))
    assert lines[0].startswith("ALARM")
    assert turned.alarms[0] in " ".join(line.strip() for line in lines)


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


@pytest.mark.parametrize("given", [0, -1, 2.5, "30", True])
def test_other_numbers_of_fewest_rows_are_refused(data, given):
    with pytest.raises(InputError, match="min_rows must be a whole number of at least 1"):
        discover(data, min_rows=given)


def test_a_method_without_use_for_a_gpu_says_so_in_one_sentence(data, found):
    told = discover(data, device="cuda", map_method="pca", seed=1).summary
    extra = set(told.warnings) - set(found.summary.warnings)
    assert extra == {'a GPU was asked for, but method "auto" computes on processors alone and had no use for it'}
    assert (told.settings["device"], told.settings["computed_on"]) == ("cuda", "cpu")
    assert (found.summary.settings["device"], found.summary.settings["computed_on"]) == ("auto", "cpu")
    assert told.field == found.summary.field
