"""Laws of a monitor, on rows made by hand and on runs that are folders: no field is fitted but in the slow tests."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from miscal.base.errors import CorruptFile, InputError, MismatchError
from miscal.data.triples import Triples
from miscal.evidence.betting import Capital, Restarts, clipped_logit
from miscal.runs.monitor import state as states
from miscal.runs.monitor.basis import Basis, Reference, reference_of
from miscal.runs.monitor.bets import Watch, blocks, conditional_log_factors
from miscal.runs.monitor.direction_sums import DirectionSums
from miscal.runs.monitor.identity import RowKeys, many_alike, more_than_chance, order_digest, refuse_counted
from miscal.runs.monitor.lines import Line
from miscal.runs.monitor.new_rows import NewLabelled
from miscal.runs.monitor.plan import ORDINARY, MonitorPlan
from miscal.runs.monitor.questions import ADVICE, BETS, CHANGE, RAW, MonitorQuestion
from miscal.runs.monitor.state import MonitorState
from miscal.runs.monitor.state_schema import Look

SIDES = {
    "raw_total": RAW,
    "raw_hidden": RAW,
    "total": ADVICE,
    "hidden": ADVICE,
    "inputs": CHANGE,
    "unsupported": CHANGE,
}
LINES = ("gain", "level", "regime:over", "regime:under")
ALPHA = 0.05
BY_ROW = ("correct", "confidence", "corrected", "visible", "regime", "supported")


def rows_of(seed=0, n=400, *, off=0.0, left=0.0, move=0.0, units=None):
    """Return rows whose corrected confidences are right, but for a shift of all, of half, or of the inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[:, 2] += move
    f = rng.uniform(0.2, 0.9, n)
    corrected = expit(clipped_logit(f) + 0.6 * np.sign(X[:, 0]))
    rate = expit(clipped_logit(corrected) + off + left * np.sign(X[:, 1]))
    y = (rng.random(n) < rate).astype(float)
    regime = np.where(X[:, 0] > 0, "under", "over").astype(object)
    unit = np.arange(n) if units is None else np.sort(rng.integers(0, units, n))
    unit = np.unique(unit, return_inverse=True)[1]
    group = None if units is None else unit.astype(str).astype(object)
    return NewLabelled(X, y, f, corrected, f, regime, np.ones(n, bool), unit, group, {}, None)


def part(rows, at):
    """Some rows, as a file of their own."""
    unit = np.unique(rows.unit[at], return_inverse=True)[1]
    arrays = (getattr(rows, name)[at] for name in ("X", *BY_ROW))
    group, ids = (None if values is None else values[at] for values in (rows.group, rows.id))
    return NewLabelled(*arrays, unit, group, {}, None, ids)


def both(rows, more):
    """Two files, one after the other."""
    arrays = {name: np.concatenate([getattr(one, name) for one in (rows, more)]) for name in (*BY_ROW, "X")}
    ids = None if rows.id is None else np.concatenate([rows.id, more.id])
    return NewLabelled(**arrays, unit=np.arange(len(rows) + len(more)), group=None, columns={}, text=None, id=ids)


def line(key, *, before=0.0, error=0.02, share=0.15, **more):
    kind, _, name = key.partition(":")
    capital = Restarts.begin(Line.bets(kind))
    return Line(key, kind, key, share, before, error, ORDINARY, capital, sign=name or None, **more)


def begin(tolerance=0.25):
    run = rows_of(99, 2_000)
    questions = []
    for kind, side in SIDES.items():
        share = {RAW: None, ADVICE: 0.5, CHANGE: 0.2}[side]
        rate = {"unsupported": 0.02, "total": 0.1}.get(kind, 0.0)
        questions.append(MonitorQuestion(kind, kind, kind, side, share, rate, Capital.begin(BETS[kind])))
    basis = Basis.fit(run.X, run.confidence, 0)
    reference = Reference(basis, basis.of(run.X, run.confidence).astype(np.float32))
    return Watch.begin(ALPHA, tolerance, MonitorPlan(tuple(questions), tuple(map(line, LINES))), reference)


def inside(rows):
    return {f"regime:{name}": rows.regime == name for name in ("over", "under")}


def looked(*batches, watch=None):
    watch = watch or begin()
    for rows in batches:
        watch = watch.after(rows, inside(rows))
    return watch


def question(watch, key):
    return next(one for one in (*watch.questions, *watch.lines) if one.key == key)


def answered(watch):
    return {one.key for one in (*watch.questions, *watch.lines) if one.crossed is not None}


def test_nothing_is_seen_where_nothing_changed_and_what_was_found_is_still_there():
    watch = looked(*(rows_of(seed) for seed in range(6)))
    assert answered(watch) == {"raw_hidden"}
    assert max(watch.course) < np.log(5)
    assert watch.crossed is None


@pytest.mark.parametrize(
    ("changed", "seen"),
    [
        ({"off": -0.7}, {"total", "level", "regime:over", "regime:under"}),
        ({"left": 1.0}, {"hidden"}),
        ({"move": 1.0}, {"inputs"}),
    ],
)
def test_a_change_is_seen_by_the_question_that_asks_for_it(changed, seen):
    watch = looked(*(rows_of(seed, **changed) for seed in range(5)))
    assert answered(watch) - {"raw_hidden", "raw_total"} == seen


def test_rows_unlike_all_rows_of_the_run_are_seen():
    rows = rows_of(3)
    far = NewLabelled(**{**vars(rows), "supported": np.arange(400) % 5 > 0})
    assert "unsupported" in answered(looked(far))


@pytest.mark.parametrize("cut", [1, 37, 200, 399])
def test_bets_that_learn_nothing_do_not_depend_on_where_a_file_was_cut(cut):
    rows = rows_of(1)
    whole, halves = looked(rows), looked(part(rows, slice(0, cut)), part(rows, slice(cut, None)))
    one, two = question(whole, "unsupported").capital, question(halves, "unsupported").capital
    np.testing.assert_allclose(one.log_active, two.log_active, atol=1e-9)
    assert one.log_peak == pytest.approx(two.log_peak)
    for key in LINES:
        one, two = (question(watch, key).history.sum(0) for watch in (whole, halves))
        np.testing.assert_allclose(one[[0, 2, 3, 4]], two[[0, 2, 3, 4]], atol=1e-9)
    fixed = slice(0, 10)  # all but the two that were learned
    one, two = question(whole, "total").capital, question(halves, "total").capital
    np.testing.assert_allclose(one.log_active[fixed], two.log_active[fixed], atol=1e-9)


def test_the_order_of_rows_within_a_group_is_irrelevant():
    rows = rows_of(2, units=80)
    mixed = part(rows, np.lexsort([np.random.default_rng(0).random(400), rows.unit]))
    one, two = looked(rows), looked(mixed)
    for key in ("raw_total", "total", "raw_hidden", "hidden", "unsupported", *LINES):
        np.testing.assert_allclose(
            question(one, key).capital.log_active, question(two, key).capital.log_active, atol=1e-9
        )


def test_a_group_is_one_step():
    rows = rows_of(2, units=80)
    watch = looked(rows)
    assert 70 < rows.units <= 80
    assert question(watch, "total").capital.steps == rows.units
    assert question(watch, "hidden").capital.steps == rows.units


def test_blocks_never_break_a_group():
    rows = rows_of(4, n=3_000, units=700)
    cuts = list(blocks(rows))
    assert cuts[0].start == 0
    assert cuts[-1].stop == 3_000
    assert all(a.stop == b.start and rows.unit[b.start] != rows.unit[b.start - 1] for a, b in pairwise(cuts))


def test_rows_of_the_run_are_compared_with_once_and_never_run_out():
    watch = begin()
    left = [len(watch.reference)]
    for seed in range(30):
        watch = looked(rows_of(seed), watch=watch)
        left.append(len(watch.reference))
    assert all(a > b > 0 for a, b in pairwise(left))


@pytest.mark.slow
@pytest.mark.parametrize("world", [{}, {"units": 150}, {"off": ORDINARY}])
def test_few_monitors_ever_raise_an_alarm_where_nothing_changed(world):
    alarms = 0
    for seed in range(100):
        watch = looked(*(rows_of(1_000 * seed + k, 500, **world) for k in range(8)))
        alarms += watch.crossed is not None
    # the 99.9 % quantile of 100 draws at 5 %
    assert alarms <= 13


def test_directions_learned_from_rows_of_the_run_do_not_tell_the_others_apart():
    """Wide inputs without any direction: the components fit the rows that they were learned from, and no others."""
    rng = np.random.default_rng(0)
    known = Triples.of(rng.normal(size=(600, 64)), confidence=rng.uniform(0.2, 0.9, 600), correct=np.zeros(600))
    reference = reference_of(known, None, known.X, known.confidence, 0)
    assert len(reference.rows) == 400
    begun = begin()
    watch = Watch.begin(ALPHA, 0.0, MonitorPlan(begun.questions, begun.lines), reference)
    for seed in range(8):
        rows = rows_of(seed, 200)
        wide = NewLabelled(**{**vars(rows), "X": rng.normal(size=(200, 64)).astype(np.float32)})
        watch = looked(NewLabelled(**{**vars(wide), "confidence": rng.uniform(0.2, 0.9, 200)}), watch=watch)
    assert question(watch, "inputs").capital.log_peak < np.log(20)


def test_one_row_is_a_look():
    watch = looked(*(part(rows_of(5), slice(k, k + 1)) for k in range(3)))
    assert question(watch, "total").capital.steps == 3


def test_where_no_tilt_differs_nothing_is_bet():
    y = np.array([0.0, 1.0, 1.0, 0.0])
    nothing = conditional_log_factors(y, np.full(4, 0.5), np.zeros(4), np.zeros((4, 3)), np.arange(4))
    assert nothing.tolist() == [0.0, 0.0, 0.0]


def test_what_was_learned_has_the_sign_of_what_was_seen():
    Z = np.column_stack([np.ones(500), np.linspace(-1, 1, 500)])
    learned = DirectionSums.nothing(2).after(Z, 0.2 * Z[:, 1], np.full(500, 0.25))
    score = learned.score(Z)
    assert np.corrcoef(score, Z[:, 1])[0, 1] > 0.99
    assert 0 < score.max() < 0.8 / 1.0


# --- state --------------------------------------------------------------------------------------------------------


def state_of(*batches):
    looks, seen, watch = [], RowKeys.none(), looked(*batches)
    for rows in batches:
        own = RowKeys.of(rows, watch.basis)
        seen = seen.joined(own)
        looks.append(
            Look("new.csv", None, len(rows), rows.units, 0, order_digest(own.rows), order_digest(np.sort(own.rows)),
                 0.5, 0.5, 0.5, 0.2, 0.2, 0.0, 0)
        )  # fmt: skip
    return MonitorState(("one",), None, None, watch, tuple(looks), ("left",), batches[0].id is not None, seen)


def test_a_state_comes_back_as_it_was(tmp_path):
    batches = [rows_of(seed) for seed in range(3)]
    before = state_of(*batches[:2])
    states.save(before, tmp_path)
    again = states.load(tmp_path)
    assert (again.model, again.looks, again.left_out) == (before.model, before.looks, before.left_out)
    one, two = (looked(batches[2], watch=state.watch) for state in (before, again))
    for a, b in zip(one.questions, two.questions, strict=True):
        np.testing.assert_array_equal(a.capital.log_active, b.capital.log_active)
        assert a.course == b.course
    for a, b in zip(one.lines, two.lines, strict=True):
        np.testing.assert_array_equal(a.capital.log_active, b.capital.log_active)
        np.testing.assert_array_equal(a.history, b.history)
        assert a.course == b.course
    assert (one.course, one.crossed) == (two.course, two.crossed)


def test_the_state_holds_new_rows_only_as_digests(tmp_path):
    rows = rows_of(0)
    states.save(state_of(rows), tmp_path)
    sizes = {array.shape for array in states.load_state(tmp_path / states.FOLDER, states.FORM)[1].values()}
    assert not any(len(rows) in shape for shape in sizes - {(len(rows),)})


@pytest.mark.parametrize("name", ["config.json", "tensors.safetensors"])
def test_a_damaged_state_is_refused(tmp_path, name):
    states.save(state_of(rows_of(0)), tmp_path)
    path = tmp_path / states.FOLDER / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises((CorruptFile, MismatchError), match="begin a new monitor"):
        states.load(tmp_path)


def drawn(n, seed, values=None):
    """Rows of few distinct values each, or of none twice."""
    rows = rows_of(seed, n)
    if values is None:
        return rows
    kinds = np.random.default_rng(seed).integers(0, values, n)
    X = np.stack([kinds, kinds % 3, kinds % 2], 1).astype(np.float64)
    return replace(rows, X=X, confidence=np.round(0.2 + 0.6 * kinds / values, 2))


def counted(state, rows, folder):
    """Whether a look at rows is refused, and with which words."""
    keys = RowKeys.of(rows, state.watch.basis)
    try:
        refuse_counted(state.looks, state.seen, keys, folder, rows)
    except InputError as error:
        return str(error)
    return ""


AGAIN = {
    "the same": lambda rows, new: np.arange(700),
    "another order": lambda rows, new: new.permutation(700),
    "newest first, with newer ones": None,
    "690 of them": lambda rows, new: new.permutation(700)[:690],
    "300 of them": lambda rows, new: new.permutation(700)[:300],
    "one of them": lambda rows, new: np.array([5]),
}


@pytest.mark.promise("I10")
@pytest.mark.parametrize("ids", [False, True], ids=["by values", "by ids"])
@pytest.mark.parametrize("how", AGAIN)
def test_no_row_counts_twice(tmp_path, how, ids):
    rows, other = drawn(700, 0), drawn(300, 1)
    if ids:
        rows = replace(rows, id=np.array([f"a{k}" for k in range(700)], dtype=object))
        other = replace(other, id=np.array([f"b{k}" for k in range(300)], dtype=object))
    state = state_of(rows)
    assert counted(state, other, tmp_path) == ""
    if AGAIN[how] is None:
        again = both(other, part(rows, np.arange(700)[::-1]))
    else:
        again = part(rows, AGAIN[how](rows, np.random.default_rng(2)))
    assert "counted before" in counted(state, again, tmp_path)
    # nor across looks
    assert "counted before" in counted(state_of(other, rows), again, tmp_path)


@pytest.mark.promise("I10")
@pytest.mark.parametrize("values", [20, 200, 2_000])
def test_rows_of_few_values_may_be_equal_by_chance_but_not_all_of_them(tmp_path, values):
    state = state_of(drawn(700, 0, values), drawn(700, 1, values))
    for seed in range(2, 22):
        assert counted(state, drawn(700, seed, values), tmp_path) == ""
    whole = drawn(700, 0, values)
    mixed = part(whole, np.random.default_rng(5).permutation(700))
    assert "counted before" in counted(state, mixed, tmp_path)
    # where nearly all rows are equal to others, some may be given again unseen: docs/monitor.md says so
    some = part(whole, np.random.default_rng(5).permutation(700)[:690])
    assert bool(counted(state, some, tmp_path)) == (values > 20)


@given(st.lists(st.integers(0, 2**63), unique=True, min_size=1, max_size=30), st.data())
def test_where_no_two_rows_are_equal_a_single_one_that_returns_is_too_many(seen, data):
    again = data.draw(st.sampled_from(seen))
    seen = np.array(seen, np.uint64)
    assert more_than_chance(np.array([again], np.uint64), seen)
    assert not more_than_chance(np.setdiff1d(np.arange(40, dtype=np.uint64), seen), seen)


def test_rows_that_return_but_for_rounding_are_counted_in_the_warning():
    rows = drawn(700, 0)
    state = state_of(rows)
    rounded = replace(rows, X=rows.X.astype(np.float64).round(6), confidence=rows.confidence.round(6))
    told = many_alike(RowKeys.of(rounded, state.watch.basis).alike, state.seen.alike)
    assert told > 600
    assert many_alike(RowKeys.of(drawn(700, 3), state.watch.basis).alike, state.seen.alike) == 0


def test_a_row_is_the_same_in_single_and_double_precision():
    rows, basis = drawn(50, 0), looked(drawn(50, 0)).basis
    double = replace(rows, X=np.where(rows.X == 0, -0.0, rows.X.astype(np.float64)))
    np.testing.assert_array_equal(RowKeys.of(rows, basis).rows, RowKeys.of(double, basis).rows)


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
