"""Laws of the lines that can raise an alarm: fair where nothing changed, quick where something did; where and when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from miscal.base.vocabulary import ANSWER, vocabulary
from miscal.data.triples import Triples
from miscal.discovery.summary import Measure
from miscal.evidence.betting import Restarts, log_evidence, log_of_several, mean_log_factors, variance_proxy
from miscal.findings.conditions import Frame
from miscal.findings.residuals import proportion_interval
from miscal.runs.monitor.alarms import alarms_of
from miscal.runs.monitor.basis import reference_of
from miscal.runs.monitor.bets import Watch
from miscal.runs.monitor.dating import likely_starts
from miscal.runs.monitor.document_numbers import ERROR, still
from miscal.runs.monitor.lines import COLUMNS, GAIN, Line, between_looks, shift_factors
from miscal.runs.monitor.new_rows import NewLabelled
from miscal.runs.monitor.plan import ORDINARY, MonitorPlan
from miscal.runs.monitor.questions import LEAST_ADVICE, questions_of, shares_of
from miscal.runs.monitor.values import values_of

ALPHA = 0.05
RATES = st.floats(0.001, 0.999)
SHIFTS = st.floats(-1, 1)

# --- bets ---------------------------------------------------------------------------------------------------------


@given(RATES, SHIFTS)
def test_an_outcome_is_no_wilder_than_its_proxy_says(p, shift):
    cumulant = np.log1p(p * np.expm1(shift)) - shift * p
    assert cumulant <= shift**2 * variance_proxy(np.array([p]))[0] / 2 + 1e-12


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.floats(0, 0.5))
def test_a_bet_on_a_mean_is_fair_at_its_bound_and_loses_below_it(values, allowed):
    """Whatever the values are: a distribution that puts the same weight on each, shifted to the bound or below it."""
    values = np.array(values)
    for mean in (allowed, allowed - 0.3):
        excess = np.clip(values - values.mean(), -1 - mean, 1) + mean - allowed
        factors = np.exp(mean_log_factors(excess - max(excess.mean(), 0.0), 2.0 + allowed))
        assert (factors.mean(0) <= 1 + 1e-12).all()


@given(st.floats(-30, 30), st.floats(0.01, 200), SHIFTS, st.floats(0.5, 500))
def test_evidence_is_the_mean_likelihood_over_what_the_shift_may_be(moment, information, mean, precision):
    spread = np.sqrt(1 / precision)
    shifts, step = np.linspace(mean - 12 * spread, mean + 12 * spread, 20_001, retstep=True)
    heights = shifts * moment - shifts**2 * information / 2 - precision * (shifts - mean) ** 2 / 2
    whole = np.logaddexp.reduce(heights) + np.log(step) + np.log(precision / (2 * np.pi)) / 2
    told = log_evidence(np.float64(moment), np.float64(information), mean, precision)
    # the grid ends at 12 standard deviations, beyond which large moments reach
    if abs((mean * precision + moment) / (precision + information) - mean) < 6 * spread:
        assert float(told) == pytest.approx(whole, abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 4))
def test_capital_that_wins_and_loses_nothing_stays_1_however_often_it_begins_anew(looks, bets):
    capital = Restarts.begin(bets)
    for _ in range(looks):
        capital = capital.after(np.zeros(bets))
    assert float(capital.log_value) == pytest.approx(0.0, abs=1e-12)


def test_a_late_win_is_nearly_as_good_as_an_early_one():
    for late in (1, 3, 10, 100, 1_000):
        capital = Restarts(np.array([-np.inf]))
        for _ in range(late - 1):
            capital = capital.after(np.array([-5.0]))
        # lost before, and won at one look: of a factor of a million, not more than a factor of 100 x looks is lost
        assert float(capital.after(np.log([1e6])).log_value) > np.log(1e6 / (100 * late))


@given(st.lists(st.floats(0.01, 1.99), min_size=1, max_size=8))
def test_streams_together_are_fair_where_each_is(values):
    """Each stream has one of two capitals of mean 1, independently: so has the product of half of each."""
    both = [np.array([value, 2 - value]) for value in values]
    mean = 1.0
    for pair in both:
        mean *= np.mean([np.exp(log_of_several(np.log([one]))) for one in pair])
    assert mean == pytest.approx(1.0)
    assert log_of_several(np.log(values)) == pytest.approx(sum(log_of_several(np.log([one])) for one in values))


# --- lines --------------------------------------------------------------------------------------------------------


def course_of(rng, monitors, looks, *, rows, before=0.0, error=0.1, rate=0.7, change=0.0, at=0):
    """Capitals of a line over looks of Bernoulli rows; the true shift is drawn as the run knows it."""
    shift = rng.normal(before, np.sqrt(error**2 + ORDINARY**2), monitors)
    line = Line("level", "level", "", 1.0, before, error, ORDINARY, Restarts.begin(Line.bets("level")))
    capital = Restarts(np.full((monitors, Line.bets("level")), -np.inf))
    past = np.zeros((2, monitors))
    proxy, found = float(variance_proxy(np.array([rate]))[0]), []
    for look in range(looks):
        chance = expit(logit(rate) + shift + (change if look >= at else 0.0))
        moment = rng.binomial(rows, chance) - rows * rate
        now = between_looks(moment, np.full(monitors, rows * proxy), ORDINARY)
        capital = capital.after(shift_factors(*now, *past, line.changes, before, line.precision))
        past = past + now
        found.append(capital.log_value)
    return np.array(found).T


@pytest.mark.parametrize("rows", [1, 20, 500])
@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_where_the_run_knew_its_own_error_capital_does_not_grow(rows, rate):
    """The expectation of the capital is at most 1 at each look, and few ever reach 20: over runs and rows together."""
    course = course_of(np.random.default_rng(0), 4_000, 50, rows=rows, rate=rate, error=0.15)
    capital = np.exp(course)
    error = capital.std(0) / np.sqrt(len(capital))
    assert (capital.mean(0) <= 1 + 4 * error).all()
    assert (course.max(1) >= np.log(1 / ALPHA)).mean() < ALPHA


def test_a_change_at_a_late_look_is_seen_in_that_look():
    course = course_of(np.random.default_rng(1), 200, 30, rows=500, change=-1.0, at=29)
    assert (course[:, 28] < np.log(20)).all()
    assert (course[:, 29] >= np.log(200)).mean() > 0.99


@given(st.permutations(range(6)))
def test_the_order_of_looks_decides_when_a_change_was_seen_but_not_what_is_known_of_the_shift(order):
    rng = np.random.default_rng(3)
    history = np.zeros((6, len(COLUMNS)))
    history[:, -2] = rng.uniform(5, 50, 6)
    history[:, -3] = rng.normal(0, 3, 6)
    sums = [line_of(history[list(one)]).normal_sums() for one in (range(6), order)]
    for one, two in zip(*sums, strict=True):
        assert one.sum() == pytest.approx(two.sum())


def line_of(history, key="value:0", **more):
    kind = key.partition(":")[0]
    return Line(key, kind, key, 0.1, 0.0, 0.1, ORDINARY, Restarts.begin(Line.bets(kind)), history=history, **more)


@pytest.mark.parametrize("at", [0, 3, 9])
def test_a_change_is_dated_to_the_looks_that_it_began_with(at):
    rng, inside = np.random.default_rng(at), 0
    for _ in range(50):
        history = np.zeros((10, len(COLUMNS)))
        history[:, -2] = 60.0
        shift = np.where(np.arange(10) >= at, -1.0, 0.0)
        history[:, -3] = rng.normal(shift * 60, np.sqrt(60))
        first, last, likeliest = likely_starts([line_of(history)], 10)
        assert 1 <= first <= likeliest <= last <= 10
        inside += first <= at + 1 <= last
    assert inside >= 45


# --- whole monitors ------------------------------------------------------------------------------------------------


def rows_of(rng, n, *, off=None):
    """Rows of four groups whose corrected confidences are right, but for a shift of one group."""
    X = rng.normal(size=(n, 2)).astype(np.float32)
    group = rng.integers(0, 4, n)
    f = rng.uniform(0.2, 0.9, n)
    shift = np.zeros(4) if off is None else np.array(off)
    y = (rng.random(n) < expit(logit(f) + shift[group])).astype(float)
    regime = np.full(n, "good", dtype=object)
    rows = NewLabelled(X, y, f, f, f, regime, np.ones(n, bool), np.arange(n), None, {}, None)
    return rows, {f"finding:{k}": group == k for k in range(4)}


def watch_of(rng):
    """A monitor of a run of 2,000 rows: all rows, and four groups."""
    known, members = rows_of(rng, 2_000)
    triples = Triples.of(known.X, confidence=known.confidence, correct=known.correct)
    reference = reference_of(triples, None, known.X, known.confidence, 0)
    shares = shares_of({"level": 1, "finding": 4, "gain": 1, "inputs": 1, "unsupported": 1}, 0)
    lines = [Line(key, key.partition(":")[0], key, shares[key.partition(":")[0]], 0.0, error, ORDINARY,
                  Restarts.begin(Line.bets(key.partition(":")[0])), place=None if key == "level" else int(key[-1]))
             for key, error in {"level": 0.05, **dict.fromkeys(members, 0.1)}.items()]  # fmt: skip
    gain = Line(GAIN, GAIN, GAIN, shares[GAIN], 0.0, 0.0, ORDINARY, Restarts.begin(Line.bets(GAIN)))
    return Watch.begin(
        ALPHA, 0.25, MonitorPlan(questions_of(None, 0.02, shares, vocabulary(ANSWER)), (gain, *lines)), reference
    )


def test_a_group_that_is_off_in_the_third_of_four_looks_raises_the_alarm_there_and_is_named_and_dated():
    """Pooled over looks, its shift of -1 is one of -0.25."""
    rng = np.random.default_rng(5)
    watch = watch_of(rng)
    for look in range(4):
        watch = watch.after(*rows_of(rng, 1_500, off=[0, -1.0, 0, 0] if look == 2 else None))
    assert watch.crossed == 3
    first = alarms_of(watch)[0]
    assert (first.key, first.raised, first.proven, first.since, first.start) == ("finding:1", 3, True, (3, 3), 3)
    # the numbers are of the look that raised it
    assert 300 < first.n < 450
    assert first.accuracy < first.corrected - 0.15
    assert -1.3 < first.shift < -0.7


def test_the_line_along_the_confidence_within_a_group_sees_its_slope_and_no_other_group():
    rng = np.random.default_rng(3)
    shifts = {"none": [], "flat": [], "other": []}
    for name in shifts:
        for _ in range(10):
            rows, members = rows_of(rng, 2_000)
            inside, odds = members["finding:0"], logit(rows.confidence)
            about = float(odds[inside].mean()), float(odds[inside].std())
            flat = {"none": inside & False, "flat": inside, "other": ~inside}[name]
            rate = np.where(flat, expit(about[0]), rows.corrected)
            again = NewLabelled(**{**vars(rows), "correct": (rng.random(len(rows)) < rate).astype(float)})
            line = Line(
                "rise:0", "rise", "", 0.1, 0.0, 0.1, ORDINARY, Restarts.begin(8), place=0, sign="over", about=about
            )
            seen = line.after(again, np.zeros((len(rows), 0)), inside, ALPHA).history_by_column
            shifts[name].append(float(seen["moment"][0] / seen["information"][0]))
    # 2 standard deviations above the mean of the group, a flat line is that much below the diagonal in log-odds
    assert np.mean(shifts["flat"]) < -1
    assert abs(np.mean(shifts["none"])) < 0.25
    assert abs(np.mean(shifts["other"])) < 0.25


def test_what_no_line_proves_alone_is_told_as_such():
    rng, told = np.random.default_rng(8), []
    for _ in range(12):
        watch = watch_of(rng)
        while watch.crossed is None:
            watch = watch.after(*rows_of(rng, 100, off=[-0.4] * 4))
        alarms = alarms_of(watch)
        assert all(one.raised == watch.crossed for one in alarms)
        told += [one.proven for one in alarms]
    assert not all(told)


def test_a_correction_that_is_worse_than_none_is_told_by_the_gain():
    rng = np.random.default_rng(2)
    watch = watch_of(rng)
    for _ in range(4):
        rows, members = rows_of(rng, 500)
        corrected = expit(logit(rows.confidence) + np.where(rows.X[:, 0] > 0, 0.9, -0.9))
        watch = watch.after(NewLabelled(**{**vars(rows), "corrected": corrected}), members)
    assert GAIN in {one.key for one in alarms_of(watch) if one.proven}


def test_advice_is_no_alarm():
    """A correction that misses something along an input, which no line asks for: better is possible."""
    rng = np.random.default_rng(4)
    watch = watch_of(rng)
    for _ in range(6):
        rows, members = rows_of(rng, 500)
        rate = expit(logit(rows.corrected) + 0.9 * np.sign(rows.X[:, 0]))
        y = (rng.random(len(rows)) < rate).astype(float)
        watch = watch.after(NewLabelled(**{**vars(rows), "correct": y}), members)
    asked = {one.key: one.crossed for one in watch.questions}
    assert asked["hidden"] is not None
    assert watch.crossed is None
    assert alarms_of(watch) == ()


@pytest.mark.parametrize("tolerance", [None, 0.0, 0.3])
def test_a_tolerance_is_of_advice_too(tolerance):
    asked = questions_of(tolerance, 0.02, {"unsupported": 0.1}, vocabulary(ANSWER))
    assert {one.kind: one.tolerance for one in asked}["total"] == (LEAST_ADVICE if tolerance is None else tolerance)


def test_shares_of_a_side_sum_to_one():
    counts = {"gain": 1, "level": 1, "feature": 3, "finding": 2, "regime": 1, "unsupported": 1}
    shares = shares_of(counts, 2)
    assert sum(share * counts.get(kind, 2) for kind, share in shares.items()) == pytest.approx(1)


# --- what is told -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ((-0.15, -0.05), (-0.2, -0.08), "yes"),
        ((-0.15, -0.05), (0.08, 0.2), "opposite"),
        ((-0.15, -0.05), (0.01, 0.2), "unclear"),
        ((-0.02, 0.06), (-0.2, -0.08), "unclear"),
        ((0.05, 0.15), (0.08, 0.2), "yes"),
        (None, (0.08, 0.2), "unclear"),
        ((0.05, 0.15), None, "unclear"),
    ],
)
def test_what_a_run_found_is_still_there_or_not_only_where_both_are_clear(before, now, said):
    value = None if before is None else sum(before) / 2
    assert still(Measure(value=value, interval=before), now) == said


def test_nothing_is_told_to_be_the_other_way_round_where_nothing_changed():
    """Of groups whose hidden residual is about none, the run finds some by chance; new rows are not the opposite."""
    rng, opposite = np.random.default_rng(0), 0
    for _ in range(2_000):
        true, error = rng.normal(0, 0.02), 0.02
        run, new = rng.normal(true, error, 2)
        ends = [(one - 1.96 * error, one + 1.96 * error) for one in (run, new)]
        opposite += still(Measure(value=run, interval=ends[0]), ends[1]) == "opposite"
    assert opposite <= 2


@given(st.integers(0, 40), st.integers(1, 40))
def test_the_interval_of_a_look_holds_the_rate(right, more):
    low, high = proportion_interval(right / (right + more), right + more, ERROR)
    assert 0 <= low <= right / (right + more) <= high <= 1


def test_values_of_a_column_are_apart_and_rare_ones_are_counted():
    n = 400
    names = np.array(["a"] * 200 + ["b"] * 150 + ["c"] * 40 + ["d"] * 10, dtype=object)
    frame = Frame(n, {"kind": names, "age": np.arange(n, dtype=float), "same": np.full(n, "x", dtype=object)})
    found = {column: (values, rest) for column, values, rest in values_of(frame, ["kind"])}
    assert [one.words for one in found["kind"][0]] == ["kind = a", "kind = b", "kind = c"]
    assert found["kind"][1] == 1
    every = {column: values for column, values, _ in values_of(frame, [])}
    assert set(every) == {"kind", "age"}
    assert sum(one.rows(frame) for one in every["age"]).tolist() == [1] * n
