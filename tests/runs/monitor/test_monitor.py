"""Laws of a monitor, on rows made by hand: no field is fitted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from miscal.base.errors import InputError, MismatchError
from miscal.calibration.calibrators import logit
from miscal.evidence.simultaneous import SUMS
from miscal.runs.monitor import state as states
from miscal.runs.monitor.document import BROKEN, FINDING, GAIN, HOLDS, LEVEL, PROMISE, THRESHOLD, UNKNOWN, LookNumbers
from miscal.runs.monitor.new_rows import NewLabelled
from miscal.runs.monitor.state import FROM_FIRST, MonitorState, Question, groups_of, keys_of, refuse_counted, sums_of

BY_ROW = ("correct", "confidence", "corrected", "supported")


def rows_of(seed=0, n=400, *, off=0.0, left=0.0, turn=0.0, units=None, days=0.0):
    """Return rows whose corrected confidences are right, but for a shift of all, of half, along inputs, or by unit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    f = rng.uniform(0.2, 0.9, n)
    corrected = expit(logit(f) + 0.6 * np.sign(X[:, 0]))
    unit = np.arange(n) if units is None else np.sort(rng.integers(0, units, n))
    unit = np.unique(unit, return_inverse=True)[1]
    moved = days * rng.normal(size=unit.max() + 1)[unit] if days else 0.0
    rate = expit(logit(corrected) + off + left * np.sign(X[:, 1]) - turn * np.sign(X[:, 0]) + moved)
    y = (rng.random(n) < rate).astype(float)
    group = None if units is None else unit.astype(str).astype(object)
    return NewLabelled(X, y, f, corrected, np.ones(n, bool), unit, group)


def part(rows, at):
    """Some rows, as a file of their own."""
    unit = np.unique(rows.unit[at], return_inverse=True)[1]
    arrays = (getattr(rows, name)[at] for name in ("X", *BY_ROW))
    group, ids = (None if values is None else values[at] for values in (rows.group, rows.id))
    return NewLabelled(*arrays, unit, group, id=ids)


def both(rows, more):
    """Two files, one after the other."""
    arrays = {name: np.concatenate([getattr(one, name) for one in (rows, more)]) for name in (*BY_ROW, "X")}
    ids = None if rows.id is None else np.concatenate([rows.id, more.id])
    return NewLabelled(**arrays, unit=np.arange(len(rows) + len(more)), id=ids)


def question(kind, **more):
    zone = {GAIN: (None, 0.0), PROMISE: (None, 0.1)}.get(kind, (-0.02, 0.02))
    return Question(**{"key": kind, "kind": kind, "about": kind, "error": 0.04, "allowed": zone} | more)


def looked(one, *batches, inside=None):
    for rows in batches:
        one = one.after(rows, None if inside is None else inside(rows))
    return one


def right(rows):
    """Rows of the half that `left` shifts up."""
    return rows.X[:, 1] > 0


# --- answers ------------------------------------------------------------------------------------------------------

ANSWERS = [
    (LEVEL, {}, 1, UNKNOWN),
    (LEVEL, {}, 40, HOLDS),
    (LEVEL, {"off": -0.7}, 3, BROKEN),
    (LEVEL, {"left": 1.0}, 12, UNKNOWN),
    (FINDING, {"left": 1.0}, 3, BROKEN),
    (GAIN, {}, 12, HOLDS),
    (GAIN, {"turn": 1.2}, 3, BROKEN),
    (LEVEL, {"units": 5}, 1, UNKNOWN),
]


@pytest.mark.parametrize(("kind", "changed", "looks", "state"), ANSWERS)
def test_each_question_is_answered_by_what_it_is_about(kind, changed, looks, state):
    place = 0 if kind == FINDING else None
    one = looked(
        question(kind, place=place), *(rows_of(seed, **changed) for seed in range(looks)),
        inside=right if kind == FINDING else None,
    )  # fmt: skip
    assert one.state == state


@given(st.floats(-0.3, 0.3), st.floats(0.001, 0.2), st.integers(0, 50))
def test_the_answer_never_contradicts_the_interval(off, width, seed):
    one = looked(question(LEVEL, allowed=(-width, width)), *(rows_of(seed + k, off=off) for k in range(3)))
    since, shown = one.broken or (1, 3)
    _, mean, radius = (values[-1] for values in one.course(since, shown))
    clear, within = abs(mean) - radius > width, abs(mean) + radius <= width
    assert one.state == (BROKEN if clear else HOLDS if within else UNKNOWN)


def test_what_was_shown_once_stays():
    one = looked(question(LEVEL), rows_of(0, 2_000, off=-0.7), *(rows_of(seed, 4_000) for seed in range(1, 8)))
    assert one.broken == (1, 1)
    assert one.state == BROKEN


@pytest.mark.parametrize("calm", [5, 60])
def test_a_change_after_a_long_calm_is_seen_by_the_rows_since(calm):
    one = looked(question(LEVEL), *(rows_of(seed, 1_000) for seed in range(calm)))
    assert one.state != BROKEN
    one = looked(one, *(rows_of(calm + seed, 1_000, off=-0.5) for seed in range(2)))
    assert one.broken is not None
    assert one.broken[0] > calm - 5
    # the numbers quoted are those of the rows since
    _, mean, radius = one.course(*one.broken)
    assert mean[-1] + radius[-1] < -0.02


def test_the_error_of_all_starts_together_is_that_of_the_question():
    later = np.arange(2, 100_000)
    assert FROM_FIRST + ((1 - FROM_FIRST) / (later * (later - 1))).sum() == pytest.approx(1, abs=1e-4)


def test_looks_before_the_first_rows_of_a_finding_change_nothing():
    nothing = looked(
        question(FINDING, place=0), *(rows_of(seed) for seed in range(3)), inside=lambda rows: np.zeros(len(rows), bool)
    )
    assert nothing.state == UNKNOWN
    batches = [rows_of(seed, left=-1.0) for seed in range(3, 6)]
    late, early = (looked(one, *batches, inside=right) for one in (nothing, question(FINDING, place=0)))
    assert late.broken == (early.broken[0] + 3, early.broken[1] + 3)
    for one, two in zip(late.course(1, 6), early.course(1, 3), strict=True):
        np.testing.assert_allclose(one[3:], two)


@pytest.mark.parametrize("above", [True, False])
def test_a_threshold_is_about_the_rows_on_its_side(above):
    rows = rows_of(1)
    sums = dict(zip(SUMS, question(THRESHOLD, threshold=0.6, above=above).sums(rows), strict=False))
    side = (rows.corrected >= 0.6) == above
    assert sums["rows"] == side.sum()
    assert sums["total"] == pytest.approx((rows.correct - rows.corrected)[side].sum())


@pytest.mark.parametrize(("decision", "threshold"), [("answer", 0.8), ("yes", 0.7), ("no", 0.3)])
def test_a_promise_is_about_the_near_rows_that_are_decided_and_about_what_is_wrong(decision, threshold):
    rows = rows_of(1)
    near = np.arange(len(rows)) % 3 > 0
    one = question(PROMISE, threshold=threshold, decision=decision)
    sums = dict(zip(SUMS, one.sums(replace(rows, supported=near)), strict=False))
    inside = near & (rows.corrected <= threshold if decision == "no" else rows.corrected >= threshold)
    assert sums["rows"] == inside.sum()
    assert sums["total"] == (rows.correct if decision == "no" else 1 - rows.correct)[inside].sum()


@pytest.mark.parametrize(("off", "accepted", "state"), [(0.0, 0.3, HOLDS), (0.0, 0.13, UNKNOWN), (-2.0, 0.2, BROKEN)])
def test_a_promise_holds_or_not_by_its_whole_interval(off, accepted, state):
    one = question(PROMISE, threshold=0.8, decision="answer", allowed=(None, accepted))
    assert looked(one, *(rows_of(seed, 1_000, off=off) for seed in range(3))).state == state


def test_a_group_in_which_twice_as_many_are_wrong_is_told_from_all_rows():
    def batch(seed):
        rows, rng = rows_of(seed, 1_000), np.random.default_rng(seed)
        wrong = rng.random(len(rows)) < np.where(rows.X[:, 2] > 1.2, 0.2, 0.09)
        return replace(rows, correct=1.0 - wrong)

    batches = [batch(seed) for seed in range(12)]
    promise = question(PROMISE, threshold=0.3, decision="answer")
    assert looked(promise, *batches).state != BROKEN
    assert looked(promise, *batches, inside=lambda rows: rows.X[:, 2] > 1.2).state == BROKEN


@pytest.mark.slow
@pytest.mark.parametrize("world", [{}, {"units": 60}])
def test_few_monitors_ever_say_that_a_promise_does_not_hold_where_it_does(world):
    """Exactly as many are wrong as were accepted."""
    broken = 0
    for seed in range(200):
        batches = [rows_of(1_000 * seed + k, 500, **world) for k in range(6)]
        rng = np.random.default_rng(seed)
        batches = [replace(rows, correct=(rng.random(len(rows)) < 0.9).astype(float)) for rows in batches]
        broken += looked(question(PROMISE, threshold=0.6, decision="answer"), *batches).state == BROKEN
    # the 99.9 % quantile of 200 draws at 4 %
    assert broken <= 18


def test_the_log_loss_that_is_told_is_whole():
    """One outcome at a corrected confidence of 0 costs 9.2 nats, not one."""
    rows = rows_of(0, 200)
    rows = replace(rows, confidence=np.full(200, 0.5), corrected=np.where(np.arange(200) == 0, 0.0, 0.5),
                   correct=np.r_[1.0, np.tile([0.0, 1.0], 100)[1:]])  # fmt: skip
    sums = dict(zip(SUMS, question(GAIN).sums(rows), strict=False))
    assert sums["total"] == pytest.approx(-np.log(1e-4) + np.log(0.5))


def test_rare_outcomes_that_did_not_come_yet_prove_no_harm():
    """A correction from 0.01 % to 0.5 % costs a little at nearly every row, and saves much at the one in 200."""
    rng = np.random.default_rng(0)
    corrected, y = np.full(600, 0.005), np.zeros(600)
    rows = replace(rows_of(0, 600), confidence=np.full(600, 1e-4), corrected=corrected, correct=y)
    assert looked(question(GAIN), rows).state == UNKNOWN
    more = replace(rows, correct=(rng.random(600) < 0.005).astype(float))
    assert looked(question(GAIN), *[more] * 5).state != BROKEN


@pytest.mark.slow
@pytest.mark.parametrize("world", [{}, {"units": 60, "days": 0.5}])
def test_few_monitors_ever_say_that_it_does_not_hold_where_it_does(world):
    broken = 0
    for seed in range(100):
        one = looked(question(LEVEL, allowed=(0.0, 0.0)), *(rows_of(1_000 * seed + k, 500, **world) for k in range(8)))
        broken += one.state == BROKEN
    # the 99.9 % quantile of 100 draws at 4 %
    assert broken <= 11


# --- state --------------------------------------------------------------------------------------------------------


def state_of(*batches):
    looks, seen, groups = [], np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    means = dict.fromkeys(("accuracy", "confidence", "corrected", "brier_raw", "brier_corrected"), 0.2)
    for place, rows in enumerate(batches, start=1):
        seen = seen if rows.id is None else np.union1d(seen, keys_of(rows.id))
        groups = np.union1d(groups, groups_of(rows))
        counts = {"look": place, "rows": len(rows), "units": rows.units, "dropped": 0, "returning": 0}
        looks.append(LookNumbers(source="new.csv", at=None, **counts, **means, lost=-0.1, unsupported=0.0))
    asked = tuple(
        looked(one, *batches)
        for one in (question(LEVEL), question(GAIN), question(FINDING, place=0), question(THRESHOLD, threshold=0.5))
    )
    return MonitorState(
        model=("one",), group=None, tolerance=None, questions=asked, looks=looks, left_out=("left",),
        by_id=batches[0].id is not None, sums=[int(sums_of(rows)[-1]) for rows in batches], seen=seen, groups=groups,
    )  # fmt: skip


def test_a_state_comes_back_as_it_was(tmp_path):
    before = state_of(*(rows_of(seed, off=-1.0) for seed in range(2)))
    states.save(before, tmp_path)
    again = states.load(tmp_path)
    assert again.model_dump() == before.model_dump()
    assert before.questions[0].broken is not None
    for one, two in zip(before.questions, again.questions, strict=True):
        assert {**vars(one), "history": one.history.tolist()} == {**vars(two), "history": two.history.tolist()}


def test_the_state_holds_new_rows_only_as_digests(tmp_path):
    rows = replace(rows_of(0), id=np.arange(400).astype(str).astype(object))
    states.save(state_of(rows), tmp_path)
    sizes = {array.shape for array in states.load_state(tmp_path / states.FOLDER, states.FORM)[1].values()}
    assert not any(len(rows) in shape for shape in sizes - {(len(rows),)})


def counted(state, rows, folder):
    """Whether a look at rows is refused, and with which words."""
    try:
        refuse_counted(state, rows, folder)
    except InputError as error:
        return str(error)
    return ""


AGAIN = {
    "the same": np.arange(700),
    "another order": np.random.default_rng(2).permutation(700),
    "300 of them": np.random.default_rng(2).permutation(700)[:300],
    "one of them": np.array([5]),
}


@pytest.mark.parametrize("how", AGAIN)
def test_no_row_with_an_id_counts_twice(tmp_path, how):
    rows, other = rows_of(0, 700), rows_of(1, 300)
    rows = replace(rows, id=np.array([f"a{k}" for k in range(700)], dtype=object))
    other = replace(other, id=np.array([f"b{k}" for k in range(300)], dtype=object))
    again = part(rows, AGAIN[how])
    assert counted(state_of(rows), other, tmp_path) == ""
    for state in (state_of(rows), state_of(rows, other)):
        assert "counted before" in counted(state, again, tmp_path)
        assert "counted before" in counted(state, both(replace(other, id=other.id + "c"), again), tmp_path)


def test_without_ids_a_look_that_begins_with_an_earlier_one_is_refused(tmp_path):
    rows, other = rows_of(0, 700), rows_of(1, 300)
    mixed = part(rows, AGAIN["another order"])
    for state in (state_of(rows), state_of(other, rows), state_of(rows, other)):
        for again in (rows, mixed, both(mixed, rows_of(2, 50))):
            assert "counted before" in counted(state, again, tmp_path)
        for new in (part(rows, AGAIN["300 of them"]), rows_of(2, 900), part(rows_of(2, 900), np.array([5]))):
            assert counted(state, new, tmp_path) == ""


def test_a_row_is_the_same_in_single_and_double_precision():
    rows = rows_of(0, 50)
    double = replace(rows, X=np.where(rows.X == 0, -0.0, rows.X.astype(np.float64)))
    np.testing.assert_array_equal(sums_of(rows), sums_of(double))


OTHER = [
    ((("two",), None, None), "not the one that this monitor began with"),
    ((("one",), 0.3, None), "tolerance of its default"),
    ((("one",), None, "patient"), "without groups"),
]


@pytest.mark.parametrize(("given", "said"), OTHER)
def test_a_monitor_keeps_its_model_and_settings(given, said):
    state = state_of(rows_of(0))
    states.refuse_other(state, ("one",), None, None)
    with pytest.raises(MismatchError, match=said):
        states.refuse_other(state, *given)
