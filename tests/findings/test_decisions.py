"""Decisions at thresholds: laws of what is promised and observed on either side, and of the groups that are named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.decisions import net_benefit, threshold_grid
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.findings.decisions import Thresholds, decide, promise
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find

N = 600


def drawn(seed: int, n: int = N, off: float = 0.0):
    """Rows, the outcomes of which come true as often as is said, or less often by `off` log-odds."""
    rng = np.random.default_rng(seed)
    f = rng.beta(2, 2, n)
    y = (rng.random(n) < 1 / (1 + (1 - f) / f * np.exp(off))).astype(float)
    return LabelledRows.of(y, f), rng


def asked(*thresholds: float, cost=None) -> Thresholds:
    return Thresholds.of(thresholds, cost)


def rounded(values):
    """The same values with numbers rounded: sums depend on the order of the rows in their last digits."""
    if isinstance(values, dict):
        return {name: rounded(value) for name, value in values.items()}
    if isinstance(values, tuple):
        return tuple(map(rounded, values))
    return round(values, 9) if isinstance(values, float) else values


def at(decisions, threshold: float):
    return next(one for one in decisions if one.threshold == threshold)


@given(st.integers(0, 50))
def test_both_sides_of_a_threshold_are_all_rows_and_their_means_are_those_of_the_rows(seed):
    rows, _ = drawn(seed)
    for one in decide(rows, rows.confidence**2, asked(0.37)):
        for f, above, below in (
            (rows.confidence, one.before, one.before_below),
            (rows.confidence**2, one.after, one.after_below),
        ):
            inside = f >= one.threshold
            assert above.n + below.n == N
            assert above.n == inside.sum()
            assert above.share + below.share == pytest.approx(1)
            for told, mask in ((above, inside), (below, ~inside)):
                if told.n:
                    assert told.promised == pytest.approx(f[mask].mean())
                    assert told.observed.value == pytest.approx(rows.correct[mask].mean())
                    assert told.observed.interval[0] <= told.observed.value <= told.observed.interval[1]


def test_fewer_rows_are_acted_on_the_higher_the_threshold_and_all_at_the_lowest():
    rows, _ = drawn(1)
    counts = [one.before.n for one in decide(rows, rows.confidence, asked(1e-9, 1 - 1e-9))]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (N, 0)


def test_what_nobody_acts_on_has_no_rate():
    rows, _ = drawn(1)
    nothing = at(decide(rows, rows.confidence, asked(0.9999)), 0.9999).before
    assert (nothing.n, nothing.promised, nothing.observed.value, nothing.p_value) == (0, None, None, None)
    assert not nothing.broken


@given(st.integers(0, 20))
def test_a_correction_that_changes_nothing_changes_no_decision(seed):
    rows, _ = drawn(seed)
    for one in decide(rows, rows.confidence, asked(cost=(2, 1))):
        assert one.before == one.after
        assert one.before_below == one.after_below
        assert one.raised == one.lowered == 0
        assert one.net_benefit.before == one.net_benefit.after
        assert one.net_benefit.gain.value == 0


def test_a_promise_is_broken_exactly_where_it_lies_outside_the_interval():
    rows, _ = drawn(3, 60)
    for off in np.linspace(-0.4, 0.4, 41):
        moved = replace(rows, confidence=np.clip(rows.confidence + off, 0.01, 0.99))
        found = promise(moved, np.ones(60, dtype=bool))
        low, high = found.observed.interval
        assert (found.p_value < 0.05) == (not low <= found.promised <= high)


@given(st.integers(0, 20))
def test_the_order_of_the_rows_does_not_matter(seed):
    rows, rng = drawn(seed)
    members = [rng.random(N) < 0.3, np.arange(N) < 200]
    order = rng.permutation(N)
    corrected = np.sqrt(rows.confidence)
    plain = decide(rows, corrected, asked(0.4, cost=(3, 1)), members=members, candidates=2)
    shuffled = decide(
        rows.take(order), corrected[order], asked(0.4, cost=(3, 1)), members=[one[order] for one in members],
        candidates=2,
    )  # fmt: skip
    for one, other in zip(plain, shuffled, strict=True):
        assert rounded(one.model_dump(exclude={"findings"})) == rounded(other.model_dump(exclude={"findings"}))
        assert [told.finding for told in one.findings] == [told.finding for told in other.findings]


def test_a_weight_of_two_is_a_row_repeated_in_every_mean():
    rows, rng = drawn(4)
    twice = rng.random(N) < 0.4
    repeated = rows.take(np.r_[np.arange(N), np.flatnonzero(twice)])
    weighed = LabelledRows.of(rows.correct, rows.confidence, weight=1.0 + twice)
    for one, other in zip(*(
        decide(own, own.confidence**2, asked(0.4, cost=(3, 1)), members=()) for own in (weighed, repeated)
    ), strict=False):  # fmt: skip
        if one.threshold == other.threshold:
            for told, meant in ((one.before, other.before), (one.after_below, other.after_below)):
                assert told.share == pytest.approx(meant.share)
                assert told.promised == pytest.approx(meant.promised)
                assert told.observed.value == pytest.approx(meant.observed.value)
            assert one.net_benefit.after == pytest.approx(other.net_benefit.after)
            assert one.net_benefit.gain.value == pytest.approx(other.net_benefit.gain.value)


def test_rows_of_a_group_that_agree_make_intervals_wider():
    rows, _ = drawn(5, 200)
    alone, together = (
        LabelledRows.of(np.repeat(rows.correct, 4), np.repeat(rows.confidence, 4), group=group)
        for group in (None, np.repeat(np.arange(200), 4))
    )
    widths = []
    for own in (alone, together):
        low, high = promise(own, own.confidence >= 0.5).observed.interval
        widths.append(high - low)
    assert widths[1] > 1.5 * widths[0]


def test_what_is_said_of_few_rows_of_a_group_is_not_told():
    rows, _ = drawn(6)
    few = np.zeros(N, dtype=bool)
    few[np.flatnonzero(rows.confidence >= 0.5)[: MIN_SLICE_ROWS - 1]] = True
    one_more = few.copy()
    one_more[np.flatnonzero((rows.confidence >= 0.5) & ~few)[0]] = True
    never = replace(rows, correct=np.where(one_more, 0.0, rows.correct))
    told = [
        [one.finding for one in at(decide(never, never.confidence, asked(0.5), members=[mask]), 0.5).findings]
        for mask in (few, one_more)
    ]
    assert told == [[], [0]]


def test_a_group_is_named_on_the_side_on_which_its_promise_is_broken_and_the_worst_first():
    rows, rng = drawn(7, 4000)
    low, high = (rng.random(4000) < 0.2 for _ in range(2))
    kept = ~low & ~high
    y = np.where(high & (rows.confidence >= 0.5), 0.0, rows.correct)
    y = np.where(low & (rows.confidence < 0.5) & (rng.random(4000) < 0.6), 1.0, y)
    found = decide(replace(rows, correct=y), rows.confidence, asked(0.5), members=[low, high, kept], candidates=3)
    named = [(told.finding, told.below) for told in at(found, 0.5).findings]
    assert named == [(1, False), (0, True)]
    for told in at(found, 0.5).findings:
        assert told.before.broken
        assert not told.before.observed.interval[0] <= told.before.promised <= told.before.observed.interval[1]


def test_the_rows_of_each_finding_come_in_the_order_of_the_findings():
    rng = np.random.default_rng(11)
    n = 1200
    kind, age = rng.choice(["law", "art", "sums"], n).astype(object), rng.uniform(20, 60, n)
    half = np.full(n, 0.5)
    y = (rng.random(n) < 0.5 - 0.3 * (kind == "law") + 0.3 * (age > 50)).astype(float)
    rows = LabelledRows(y, half, half, hidden=0 * y, row=np.arange(n))
    found = find(rows, named_groups({"kind": kind, "age": age}))
    assert len(found.findings) >= 2
    for one, inside in zip(found.findings, found.members, strict=True):
        assert one.n == inside.sum()
        assert one.accuracy == pytest.approx(y[inside].mean())


def test_costs_name_the_threshold_that_they_imply_and_it_is_told_first():
    rows, _ = drawn(8)
    found = decide(rows, rows.confidence, asked(0.8, 0.7, cost=(9, 1)))
    assert [one.threshold for one in found if one.start] == [0.1]
    assert at(found, 0.1).source == "cost"
    assert [at(found, t).source for t in (0.8, 0.7)] == ["given", "given"]
    of_costs = at(found, 0.1).net_benefit
    assert of_costs.before == pytest.approx(net_benefit(rows.correct, rows.confidence, 0.1))
    rate = rows.correct.mean()
    assert of_costs.all == pytest.approx(rate - (1 - rate) / 9)
    assert [one.threshold for one in decide(rows, rows.confidence, asked(0.8, 0.7)) if one.start] == [0.8]


def test_where_nothing_is_asked_that_threshold_is_told_first_at_which_most_decisions_change():
    rows, _ = drawn(9)
    changed = np.where((rows.confidence > 0.56) & (rows.confidence < 0.74), 0.5, rows.confidence)
    found = decide(rows, changed)
    assert {one.source for one in found} == {"grid"}
    start = next(one for one in found if one.start)
    assert start.raised + start.lowered == max(one.raised + one.lowered for one in found) > 0
    # where no decision changes, one that acts on about half of the rows
    start = next(one for one in decide(rows, rows.confidence) if one.start)
    assert abs(start.before.share - 0.5) < 0.06


@given(st.floats(0.0005, 0.5), st.integers(0, 5))
def test_the_grid_lies_in_the_range_of_the_confidences_however_rare_the_event(scale, seed):
    f = scale * np.random.default_rng(seed).beta(1, 8, 2000)
    grid = threshold_grid(f)
    assert len(grid) >= 5
    assert list(grid) == sorted(set(grid))
    for threshold in grid:
        assert min((f >= threshold).sum(), (f < threshold).sum()) >= 30


@pytest.mark.parametrize(
    ("threshold", "cost", "said"),
    [
        (0, None, "above 0 and below 1; got 0"),
        ([0.5, 1.0], None, "above 0 and below 1; got 1"),
        ("many", None, "threshold must be"),
        (float("nan"), None, "threshold must be"),
        ((), (1,), "two positive numbers"),
        ((), (1, 0), "two positive numbers"),
        ((), 3, "two positive numbers"),
        ((), (1, float("inf")), "two positive numbers"),
    ],
)
def test_thresholds_and_costs_that_make_no_sense_are_refused(threshold, cost, said):
    with pytest.raises(InputError, match=said):
        Thresholds.of(threshold, cost)
