"""Rows that are checked, split and counted, and what the scores of a judge stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from miscal.base.errors import InputError
from miscal.base.folders import built, state_of
from miscal.data.judged import MOST_LEVELS, JudgeScale
from miscal.data.splits import check_trainable, copies, input_ids, permuted_split, split_rows, straddling
from miscal.data.triples import Triples, check_group, check_split
from miscal.discovery.estimating import prepare

# --- splits keep what belongs together on one side, and a user's own split is used as it is --------------------------


def triples(X, **more):
    X = np.asarray(X, dtype=np.float32)
    X = X[:, None] if X.ndim == 1 else X
    n = len(X)
    return Triples.of(X, confidence=np.full(n, 0.5), correct=np.arange(n) % 2, **more)


def shares(split):
    return {name: float(np.mean(split == name)) for name in ("train", "val", "test")}


def test_take_keeps_every_column_in_step():
    n = 20
    t = triples(
        np.arange(n),
        weight=np.arange(n) + 1.0,
        group=np.arange(n) // 2,
        split=["train"] * n,
        text=[f"t{i}" for i in range(n)],
        metadata={"m": np.arange(n) * 10},
        kind="event",
    )
    index = np.array([7, 3, 3])
    part = t.take(index)
    assert part.row.tolist() == [7, 3, 3]
    assert part.kind == "event"
    assert part.X[:, 0].tolist() == [7, 3, 3]
    assert part.text == ("t7", "t3", "t3")
    assert part.weight.tolist() == [8, 4, 4]
    assert part.metadata["m"].tolist() == [70, 30, 30]
    assert part.group.tolist() == [3, 1, 1]
    np.testing.assert_array_equal(t.take(t.correct == 1).row, np.arange(1, n, 2))
    assert part.take([0]).row.tolist() == [7]


def test_columns_of_other_lengths_are_refused():
    for more in ({"text": ["a"]}, {"group": [1]}, {"split": ["train"]}, {"metadata": {"m": np.zeros(3)}}):
        with pytest.raises(InputError, match="lengths differ"):
            triples(np.arange(5), **more)
    with pytest.raises(InputError, match="confidence has 1"):
        Triples.of(np.zeros((3, 1)), confidence=[0.5], correct=[0, 1, 1])


@pytest.mark.parametrize("n", [100, 101, 109, 1000, 1234])
def test_single_rows_split_into_exact_shares(n):
    split, warnings = split_rows(triples(np.arange(n)), seed=3)
    counts = {name: int(np.sum(split == name)) for name in ("train", "val", "test")}
    assert warnings == ()
    assert abs(counts["val"] - n / 10) <= 1
    assert abs(counts["test"] - n / 10) <= 1
    assert sum(counts.values()) == n


def test_the_seed_fixes_the_split_and_another_changes_it():
    t = triples(np.arange(500))
    for split in (lambda seed: split_rows(t, seed=seed)[0], lambda seed: permuted_split(500, seed)):
        np.testing.assert_array_equal(split(1), split(1))
        assert (split(1) != split(2)).any()


@pytest.mark.parametrize(("n", "seeds", "permuted"), [(50, 600, False), (200, 1_000, True)])
def test_every_row_is_as_likely_to_be_tested_as_any_other(n, seeds, permuted):
    t = triples(np.arange(n))
    splits = (permuted_split(n, seed) if permuted else split_rows(t, seed=seed)[0] for seed in range(seeds))
    tested = np.mean([split == "test" for split in splits], axis=0)
    assert abs(tested.mean() - 0.1) < 0.002
    assert np.all(np.abs(tested - 0.1) < 5 * np.sqrt(0.09 / seeds))


@settings(max_examples=60)
@given(st.data())
def test_equal_inputs_and_groups_stay_on_one_side(data):
    n = data.draw(st.integers(200, 400))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    x = rng.integers(0, data.draw(st.integers(150, 1000)), n)
    group = rng.integers(0, data.draw(st.integers(3, 400)), n) if data.draw(st.booleans()) else None
    t = triples(x, group=group)
    split, _ = split_rows(t, seed=0)
    count = np.bincount(x)
    for value in np.flatnonzero((count > 1) & (count <= max(0.01 * n, 20))):
        assert len(set(split[x == value])) == 1
    if group is not None:
        assert all(len(set(split[group == g])) == 1 for g in np.unique(group))


def test_several_answers_to_each_of_few_questions_stay_on_one_side():
    x = np.repeat(np.arange(90), 8)  # each over 1 % of the rows
    split, warnings = split_rows(triples(x), seed=0)
    assert all(len(set(split[x == value])) == 1 for value in range(90))
    assert not any("at random" in w for w in warnings)


def test_an_input_over_one_percent_is_split_at_random_with_a_warning():
    x = np.concatenate([np.zeros(300), np.arange(1, 701)])
    split, warnings = split_rows(triples(x), seed=0)
    assert any("1 %" in w and "300 rows" in w for w in warnings)
    assert set(split[:300]) == {"train", "val", "test"}
    assert abs(shares(split)["test"] - 0.1) < 0.02


def test_all_inputs_identical_still_splits_eighty_ten_ten():
    split, warnings = split_rows(triples(np.zeros((200, 3))), seed=0)
    assert shares(split) == {"train": 0.8, "val": 0.1, "test": 0.1}
    assert len(warnings) == 1


def test_three_groups_give_three_splits():
    split, warnings = split_rows(triples(np.arange(300), group=np.arange(300) // 100), seed=0)
    assert set(split) == {"train", "val", "test"}
    assert any("cannot be 80/10/10" in w for w in warnings)


def test_inputs_made_from_text_are_compared_by_text():
    X = np.zeros((300, 2), dtype=np.float32)
    t = Triples(
        X=X,
        confidence=np.full(300, 0.5),
        correct=np.arange(300) % 2.0,
        text=tuple(f"t{i // 2}" for i in range(300)),
        source={"x": {"kind": "text-tfidf"}},
    )
    split, warnings = split_rows(t, seed=0)
    assert all(split[i] == split[i + 1] for i in range(0, 300, 2))
    assert warnings[0].startswith("300 rows have the same input")


def test_equality_of_inputs_is_by_value_of_each_number():
    assert input_ids(np.array([[0.0], [-0.0], [1e-30]])).tolist() == [0, 0, 1]
    assert input_ids(["a", "A", "a"]).tolist() == [0, 1, 0]


def test_a_users_split_is_kept_and_straddling_inputs_are_counted():
    x = np.array([0, 0, 1, 1, 2])
    t = triples(x, split=["train", "test", "val", "validation", "dev"])
    assert t.split.tolist() == ["train", "test", "val", "val", "val"]
    (warning,) = straddling(t)
    assert "1 inputs (2 rows)" in warning
    assert straddling(triples(x)) == ()


@pytest.mark.parametrize("values", [["train", "Test"], ["train", None], ["train", float("nan")], [0, 1], ["eval", "x"]])
def test_other_split_names_are_refused_with_what_was_given(values):
    with pytest.raises(InputError, match=r"train, val \(validation, valid, dev\) or test; it holds .*row") as error:
        check_split(values)
    assert repr(values[1])[:4] in str(error.value)


def test_a_missing_group_is_refused():
    for missing in (None, float("nan")):
        with pytest.raises(InputError, match=r"group: 1 of 3 .*row 1"):
            check_group(np.array(["a", missing, "b"], dtype=object))


def test_too_few_rows_are_refused_with_the_minimum():
    for n in (2, 5, 19, 50, 99):
        with pytest.raises(InputError, match=rf"too few rows: got {n}; at least 100"):
            check_trainable(np.arange(n) % 2.0, np.array(["train"] * n))
    with pytest.raises(InputError, match="120 train, 0 val, 0 test"):
        check_trainable(np.arange(120) % 2.0, np.array(["train"] * 120))
    with pytest.raises(InputError, match="got 99; at least 100"):
        permuted_split(99, 0)


def test_one_class_is_refused():
    split, _ = split_rows(triples(np.arange(200)), seed=0)
    check_trainable(np.arange(200) % 2.0, split)
    for value in (0.0, 1.0):
        with pytest.raises(InputError, match=f"one class only: all 200 rows are {int(value)}"):
            check_trainable(np.full(200, value), split)
    with pytest.raises(InputError, match="of split 'train'"):
        check_trainable((split == "test").astype(float), split)


@pytest.mark.parametrize("n", [100, 109, 1_203, 91_038])
def test_a_permuted_split_has_exact_tenths_whatever_the_seed(n):
    for seed in range(3):
        split = permuted_split(n, seed)
        assert [int((split == name).sum()) for name in ("val", "test")] == [n // 10] * 2
        assert set(split) == {"train", "val", "test"}


def test_equal_inputs_straddle_a_permuted_split_and_are_counted():
    x = np.repeat(np.arange(500.0), 2)
    split = permuted_split(1_000, 0)
    apart = split[::2] != split[1::2]
    assert apart.sum() > 100
    (warning,) = straddling(triples(x, split=split))
    assert warning.startswith(f"{apart.sum()} inputs ({2 * apart.sum()} rows) occur in more than one split")


def test_only_kinds_that_there_are():
    with pytest.raises(InputError, match=r"kind must be one of 'answer', 'event', 'judge'; got 'risk'"):
        Triples.of([[0.0]], confidence=[0.5], correct=[1], kind="risk")


# --- a file that holds every row several times -----------------------------------------------------------------------


COPIED = 120


def few_rows(seed=0, **beside):
    rng = np.random.default_rng(seed)
    f = rng.choice([0.6, 0.8, 0.9], COPIED)
    X = rng.integers(0, 3, (COPIED, 2)).astype(float)
    return Triples.of(X, confidence=f, correct=np.arange(COPIED) % 2, **beside)


NUMBERED = {
    "metadata": {"number": np.arange(COPIED), "name": np.array([f"row {i}" for i in range(COPIED)], dtype=object)}
}


@given(times=st.integers(2, 4), seed=st.integers(0, 99))
def test_every_copy_has_the_number_of_its_row_in_whatever_order(times, seed):
    order = np.random.default_rng(seed).permutation(np.tile(np.arange(COPIED), times))
    found = copies(few_rows(**NUMBERED).take(order))
    assert found.times == times
    assert len(set(zip(order.tolist(), found.row.tolist(), strict=True))) == COPIED


def test_rows_of_few_categories_that_agree_are_no_copies():
    assert copies(few_rows()) is None
    assert copies(few_rows(**NUMBERED)) is None
    # one row more than a whole number of copies
    assert copies(few_rows(**NUMBERED).take(np.r_[np.tile(np.arange(COPIED), 3), 0])) is None


@pytest.mark.parametrize("column", ["text", "metadata"])
def test_rows_that_differ_in_a_text_or_in_metadata_are_no_copies(column):
    some = few_rows().take(np.tile(np.arange(COPIED), 2))
    names = [f"row {i}" for i in range(2 * COPIED)]
    beside = {"text": names} if column == "text" else {"metadata": {"name": np.array(names, dtype=object)}}
    assert copies(some) is not None
    parts = {"confidence": some.confidence, "correct": some.correct}
    assert copies(Triples.of(some.X, **parts, **beside)) is None


def test_copies_count_as_one_unless_groups_are_named():
    twice = few_rows(**NUMBERED).take(np.tile(np.arange(COPIED), 2))
    grouped, order, _ = prepare(twice, "all", 0)
    group = grouped.group[np.argsort(order)]
    assert (group[:COPIED] == group[COPIED:]).all()
    assert len(set(grouped.group.tolist())) == COPIED
    assert prepare(few_rows(**NUMBERED), "all", 0)[0].group is None


# --- what the scores of a judge stand for ----------------------------------------------------------------------------


@given(
    arrays(np.float64, 60, elements=st.integers(-3, 30).map(float)),
    arrays(np.float64, 60, elements=st.sampled_from([0.0, 1.0])),
)
def test_a_scale_never_falls_and_never_says_never(score, approved):
    approved[:2] = 0.0, 1.0
    scale = JudgeScale.fit(score, approved)
    found = scale.probability(np.sort(score))
    assert (np.diff(found) >= -1e-12).all()
    assert ((found > 0) & (found < 1)).all()
    assert built(JudgeScale, *state_of(scale)) == scale


@given(st.permutations(range(40)), st.floats(0.1, 5), st.floats(-9, 9))
def test_order_of_rows_and_units_do_not_matter(order, factor, shift):
    rng = np.random.default_rng(0)
    score, approved = rng.integers(1, 6, 40).astype(float), (rng.random(40) < 0.6).astype(float)
    first = JudgeScale.fit(score, approved).probability(score)
    moved = factor * score + shift
    again = JudgeScale.fit(moved[order], approved[order]).probability(moved)
    assert np.allclose(first, again)


def test_a_repeated_row_equals_weight_two():
    rng = np.random.default_rng(1)
    score, approved = rng.integers(1, 6, 200).astype(float), (rng.random(200) < 0.5).astype(float)
    weight = rng.integers(1, 3, 200)
    twice = np.repeat(np.arange(200), weight)
    by_weight = JudgeScale.fit(score, approved, weight.astype(float))
    # the added answers of each score are worth a row of mean weight, so that they differ a little
    assert np.allclose(by_weight.approval, JudgeScale.fit(score[twice], approved[twice]).approval, atol=0.01)


def test_scales_of_many_scores_are_mapped_by_a_curve():
    rng = np.random.default_rng(2)
    score = rng.uniform(0, 100, 4000)
    chance = 1 / (1 + np.exp(-(score - 50) / 15))
    scale = JudgeScale.fit(score, (rng.random(4000) < chance).astype(float))
    assert len(scale.scores) > MOST_LEVELS
    assert np.abs(scale.probability(score) - chance).max() < 0.05


@pytest.mark.parametrize("broken", [{"scores": [2.0, 1.0]}, {"approval": [0.9, 0.1]}, {"approval": [0.1, 1.5]}])
def test_a_damaged_scale_is_refused(broken):
    with pytest.raises(ValueError, match="rise"):
        built(JudgeScale, state_of(JudgeScale((1.0, 2.0), (0.1, 0.9)))[0] | broken, {})
