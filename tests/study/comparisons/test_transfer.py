"""Fields on shared questions agree or oppose as planted, and no question that taught a correction judges it."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from miscal.discovery.run import read_run
from miscal.discovery.saved_model import load_model
from miscal.estimators.field import MiscalibrationField
from miscal.scoring.folder import describe_run
from miscal.study import comparisons
from miscal.study.comparisons import (
    correction_rows,
    field_rows,
    open_run,
    same_space,
    shared,
    space_of,
    transfer_rows,
    unseen,
)
from miscal.study.tables import TABLES

from .conftest import COPIED, SPLIT, N, answers, named, questions, write_run

pytestmark = pytest.mark.whole

TEST = np.array(SPLIT) == "test"


@pytest.fixture(scope="module")
def opened(runs):
    return {name: open_run(run.pair, read_run(run.folder)) for name, run in runs.items()}


@pytest.fixture(scope="module")
def tables(runs):
    return {name: transfer_rows(runs["a"], runs[name], "paper") for name in ("like", "opposite", "other")}


def data(run):
    return pl.read_parquet(run.folder.parent / "data.parquet")


def field(run):
    return pl.read_parquet(run.folder / "field.parquet")


def log_loss(correct, confidence):
    p = np.clip(confidence, 1e-4, 1 - 1e-4)
    return float(np.mean([-np.log(q if y else 1 - q) for y, q in zip(correct, p, strict=True)]))


def test_rows_have_the_columns_of_their_tables(tables):
    for found in tables.values():
        for name, rows in found.items():
            assert all(list(row) == list(TABLES[name].columns) for row in rows)


@pytest.mark.parametrize(("name", "sign"), [("like", 1), ("opposite", -1)])
def test_planted_fields_are_found_to_agree_or_to_oppose(tables, name, sign):
    for row in tables[name]["transfer_fields"]:
        assert sign * row["correlation"] > 0.9
        assert row["low"] <= row["correlation"] <= row["high"]
        assert sign * row["low"] > 0.8
        assert (row["sign_agreement"] > 0.8) if sign > 0 else (row["sign_agreement"] < 0.2)


def test_fields_are_compared_on_the_evaluation_questions_in_both(runs, tables):
    ours, theirs = (data(run).select("id").hstack(field(run)).filter(split="test") for run in (runs["a"], runs["like"]))
    joined = ours.join(theirs, on="id", suffix="_b")
    for row in tables["like"]["transfer_fields"]:
        one, two = joined[row["what"]].to_list(), joined[f"{row['what']}_b"].to_list()
        assert row["n_shared"] == len(one) == TEST.sum()
        assert row["correlation"] == pytest.approx(np.corrcoef(one, two)[0, 1])
        agreeing = sum((x > 0) == (y > 0) and (x < 0) == (y < 0) for x, y in zip(one, two, strict=True))
        assert row["sign_agreement"] == pytest.approx(agreeing / len(one))


def test_order_and_number_of_rows_in_the_data_do_not_matter(opened):
    """Questions are matched by their ids, wherever they stand."""
    one, two = opened["a"], opened["like"]
    order = np.random.default_rng(0).permutation(len(two.rows))[:-20]
    moved = replace(
        two.rows, **{k: getattr(two.rows, k)[order] for k in ("X", "row", "delta", "field", "correct", "confidence")}
    )
    mixed = replace(two, rows=moved, evaluated=two.evaluated[order], taught=two.taught[order])
    known = {"method": "paper", "seed": 3}
    kept = np.isin(np.arange(len(two.rows)), order)
    less = replace(two, evaluated=two.evaluated & kept)
    plain, other = (
        field_rows(one, less, shared(one, less), **known),
        field_rows(one, mixed, shared(one, mixed), **known),
    )
    assert plain[0]["n_shared"] == other[0]["n_shared"] == (TEST & kept).sum()
    assert [row["correlation"] for row in other] == pytest.approx([row["correlation"] for row in plain])


def test_copies_of_questions_do_not_make_the_interval_shorter(opened):
    one, two = opened["a"], opened["opposite"]
    # noise, so that the interval has a width
    rng = np.random.default_rng(0)
    noisy = replace(two.rows, delta=two.rows.delta + rng.normal(0, 0.3, len(two.rows)))
    two = replace(two, rows=noisy)

    def fourfold(run):
        again = {k: np.repeat(getattr(run.rows, k), 4, axis=0) for k in ("X", "delta", "field")}
        masks = {k: np.repeat(getattr(run, k), 4) for k in ("evaluated", "taught")}
        n = 4 * len(run.rows)
        return replace(run, rows=replace(run.rows, row=np.arange(n), **again), **masks)

    match = shared(one, two)
    copied = replace(match, **{k: np.arange(4 * len(match.a)) for k in ("a", "b", "unit")})
    single = field_rows(one, two, match, "paper")[0]
    copies = field_rows(fourfold(one), fourfold(two), copied, "paper")[0]
    assert copies["n_shared"] == 4 * single["n_shared"]
    assert copies["correlation"] == pytest.approx(single["correlation"])
    assert copies["high"] - copies["low"] == pytest.approx(single["high"] - single["low"], rel=0.1)


def test_the_interval_is_that_of_independent_pairs(opened):
    """Where a question says nothing of another, Fisher's transformation gives about the same interval."""
    one, two = opened["a"], opened["like"]
    rng = np.random.default_rng(1)
    z = rng.normal(size=len(one.rows))
    first = replace(one, rows=replace(one.rows, delta=z))
    second = replace(two, rows=replace(two.rows, delta=z + rng.normal(size=len(z))))
    row = field_rows(first, second, shared(first, second), "paper")[0]
    half = 1.96 / np.sqrt(row["n_shared"] - 3)
    expected = np.tanh(np.arctanh(row["correlation"]) + np.array([-half, half]))
    assert [row["low"], row["high"]] == pytest.approx(expected, abs=0.03)


def test_a_constant_field_has_no_correlation(opened):
    one, two = opened["a"], opened["like"]
    flat = replace(two, rows=replace(two.rows, field=np.zeros(len(two.rows))))
    hidden = field_rows(one, flat, shared(one, flat), "paper")[1]
    assert hidden["correlation"] is hidden["low"] is hidden["high"] is None
    # the other field is 0 too at rows without support
    assert hidden["sign_agreement"] == np.mean(one.rows.field[TEST] == 0)


def test_pairs_of_two_data_sets_have_no_fields_to_compare(tables):
    assert tables["other"]["transfer_fields"] == []


@pytest.mark.parametrize(("name", "sign"), [("like", 1), ("opposite", -1), ("other", 1)])
def test_a_correction_helps_where_the_error_is_the_same(tables, name, sign):
    for row in tables[name]["transfer_corrections"]:
        assert sign * row["saved"] > 0
        assert row["saved_low"] < row["saved"] < row["saved_high"]
        assert sign * (row["saved_low"] if sign > 0 else row["saved_high"]) > 0


def test_losses_are_those_of_the_saved_field_on_the_other_pairs_test_rows(runs, tables):
    row = tables["like"]["transfer_corrections"][0]
    answers, own = data(runs["like"]), field(runs["like"])
    X = load_model(runs["a"].folder / "model").encoder.transform(answers)[TEST]
    y = answers["correct"].to_numpy()[TEST]
    f = answers["confidence"].to_numpy()[TEST]
    transferred = MiscalibrationField.load(runs["a"].folder / "model", beside=("input", "clusters")).calibrate(X, f)
    assert (row["pair_from"], row["pair_to"], row["n"]) == ("a", "like", TEST.sum())
    assert row["log_loss_raw"] == pytest.approx(log_loss(y, f))
    assert row["log_loss_own"] == pytest.approx(log_loss(y, own["corrected"].to_numpy()[TEST]))
    assert row["log_loss_transferred"] == pytest.approx(log_loss(y, transferred))
    assert row["saved"] == pytest.approx(row["log_loss_raw"] - row["log_loss_transferred"])
    each = [log_loss([a], [b]) - log_loss([a], [c]) for a, b, c in zip(y, f, transferred, strict=True)]
    # Student's interval of 160 paired values, 1.975 its quantile
    half = 1.975 * np.std(each, ddof=1) / np.sqrt(len(each))
    assert [row["saved_low"], row["saved_high"]] == pytest.approx([row["saved"] - half, row["saved"] + half], rel=1e-3)


def test_no_question_that_taught_is_judged(runs, opened, tables):
    """The other set has questions that the first was taught by, under other ids: its inputs give them away."""
    there, back = tables["other"]["transfer_corrections"]
    assert (there["pair_from"], there["n"]) == ("a", TEST.sum() - COPIED)
    assert (back["pair_from"], back["n"]) == ("other", TEST.sum())
    judged = unseen(opened["other"], opened["a"], None)
    one, two = (data(runs[name]).select("x_0", "x_1", "x_2").rows() for name in ("a", "other"))
    taught = {x for x, part in zip(one, SPLIT, strict=True) if part != "test"}
    assert judged.tolist() == [part == "test" and x not in taught for x, part in zip(two, SPLIT, strict=True)]


def test_ids_that_the_plan_vouches_for_keep_a_question_out(opened):
    """Two models' inputs of one question have nothing in common; its id has."""
    one, two = opened["a"], opened["like"]
    strange = replace(two, rows=replace(two.rows, X=two.rows.X + 1, text=None, columns={}))
    first = replace(one, rows=replace(one.rows, columns={}))
    # a question that taught one pair and is a test row of the other
    first = replace(first, taught=first.taught | (np.arange(len(TEST)) == len(TEST) - 1))
    match = shared(first, strange)
    assert match is not None
    assert match.by == "the column 'id'"
    judged = unseen(strange, first, match)
    assert judged.sum() == TEST.sum() - 1
    assert not judged[-1]
    elsewhere = replace(strange, pair=named("like", "two", "B"))
    assert shared(first, elsewhere) is None
    assert unseen(elsewhere, first, None).sum() == TEST.sum()


def test_rows_of_one_group_are_left_out_together(opened):
    one, other = opened["a"], opened["other"]
    group = np.arange(len(TEST)) // 4
    judged = unseen(replace(other, rows=replace(other.rows, group=group)), one, None)
    plain = unseen(other, one, None)
    left_out = {g for g, part, fine in zip(group, TEST, plain, strict=True) if part and not fine}
    expected = [bool(part) and g not in left_out for g, part in zip(group, TEST, strict=True)]
    assert judged.tolist() == expected


def test_where_every_row_taught_no_shared_question_is_judged(opened):
    everyone = {name: np.ones(len(TEST), bool) for name in ("evaluated", "taught")}
    one, two, other = (replace(opened[name], **everyone) for name in ("a", "like", "other"))
    assert correction_rows(one, two, shared(one, two), "paper") == []
    (row,) = correction_rows(one, other, None, "paper")
    assert row["n"] == len(TEST) - COPIED


@pytest.mark.parametrize(
    "change", [{"n_features": 2}, {"x": {"kind": "embeddings", "names": None}, "columns": {"x": None}}]
)
def test_inputs_of_another_width_or_kind_are_not_corrected(opened, runs, change, monkeypatch):
    one, two = opened["a"], opened["other"]
    settings = two.rows.run.summary.settings
    unlike = two.rows.run.summary.model_copy(update={"settings": settings | {"source": settings["source"] | change}})
    run = replace(two.rows.run, summary=unlike)
    assert correction_rows(one, replace(two, rows=replace(two.rows, run=run)), None, "paper") == []
    # nor are the rows read, which may take minutes
    monkeypatch.setattr(comparisons, "read_run", {runs["a"].folder: one.rows.run, runs["other"].folder: run}.get)
    monkeypatch.setattr(comparisons, "open_run", None)
    found = transfer_rows(runs["a"], runs["other"], "paper")
    assert found == {"transfer_fields": [], "transfer_corrections": []}


def scored(folder, **settings):
    """The source of a run on a folder of `miscal score`."""
    folder.mkdir()
    place = folder / "embeddings.safetensors"
    model = {"model": "m", "revision": "r", "hidden_state": "input of the output layer"} | settings
    told = describe_run(model, [], task={"task": "mmlu"}, batch_tokens=1)
    (folder / "manifest.json").write_text(json.dumps({"settings": told}))
    return source_of(place, "own")


def source_of(place, sha256, d=64):
    return {
        "x": {"kind": "embeddings", "names": None}, "n_features": d, "columns": {"x": str(place)},
        "files": [{"path": str(place), "sha256": sha256}],
    }  # fmt: skip


@pytest.mark.parametrize("other", [{"model": "n"}, {"revision": "s"}, {"hidden_state": "output of block 3 of 9"}])
def test_hidden_states_are_of_one_space_by_model_revision_and_layer(tmp_path, other):
    one, two, unlike = scored(tmp_path / "a"), scored(tmp_path / "b"), scored(tmp_path / "c", **other)
    assert same_space(space_of(one), space_of(two))
    assert not same_space(space_of(one), space_of(unlike))
    assert not same_space(space_of(one), space_of(two | {"n_features": 63}))


def test_embeddings_of_files_are_of_one_space_if_the_file_or_the_encoder_is_the_same(tmp_path):
    one, again, other = (source_of(tmp_path / name, sha) for name, sha in (("a", "1"), ("b", "1"), ("c", "2")))
    assert same_space(space_of(one), space_of(again))
    assert not same_space(space_of(one), space_of(other))
    assert same_space(space_of(one, "minilm"), space_of(other, "minilm"))
    assert not same_space(space_of(one, "minilm"), space_of(other, "e5"))
    assert not same_space(space_of(one, "minilm"), space_of(other))
    in_memory = one | {"columns": {"x": None}}
    assert not same_space(space_of(in_memory), space_of(in_memory))


def test_one_data_set_whose_questions_cannot_be_told_apart_gives_no_row(opened):
    assert correction_rows(opened["a"], opened["like"], None, "paper") == []


@pytest.mark.slow
def test_texts_go_through_the_encoder_of_the_pair_that_taught(tmp_path):
    """Two sets of texts have columns of their own; the saved field reads the other's texts as it read its own."""

    def written(seed):
        table = answers(questions(seed), 1, seed)
        rng = np.random.default_rng(seed)
        first = np.where(table["x_0"].to_numpy() > 0, "sums", "law")
        text = [
            f"{word} number {a} and {b}" for word, (a, b) in zip(first, rng.integers(999, size=(N, 2)), strict=True)
        ]
        return table.select("id", "confidence", "correct", text=pl.Series(text))

    options = {"text": "text", "embed_model": "tfidf"}
    a, b = (
        write_run(written(seed), tmp_path / str(seed), named(str(seed), str(seed), "m"), SPLIT, **options)
        for seed in (5, 6)
    )
    there, _ = transfer_rows(a, b, "paper")["transfer_corrections"]
    table = data(b)
    corrected = load_model(a.folder).correct(table, text="text")["corrected"].to_numpy()
    assert there["n"] == TEST.sum()
    assert there["log_loss_transferred"] == pytest.approx(log_loss(table["correct"].to_numpy()[TEST], corrected[TEST]))
    assert there["saved_low"] > 0
