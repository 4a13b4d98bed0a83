"""Decisions at thresholds: laws of what is promised and observed of the rows that are acted on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.decisions import net_benefit
from miscal.findings.decisions import Thresholds, decide

N = 600


def drawn(seed: int, n: int = N, off: float = 0.0):
    """Rows, the outcomes of which come true as often as is said, or less often by `off` log-odds."""
    rng = np.random.default_rng(seed)
    f = rng.beta(2, 2, n)
    y = (rng.random(n) < 1 / (1 + (1 - f) / f * np.exp(off))).astype(float)
    return LabelledRows.of(y, f), rng


def asked(*thresholds: float, cost=None) -> Thresholds:
    return Thresholds.of(thresholds, cost)


@given(st.integers(0, 50))
def test_means_and_shares_at_a_threshold_are_those_of_its_rows(seed):
    rows, _ = drawn(seed)
    [one] = decide(rows, rows.confidence**2, asked(0.37))
    for f, told in ((rows.confidence, one.before), (rows.confidence**2, one.after)):
        inside = f >= 0.37
        assert (told.n, told.share) == (inside.sum(), pytest.approx(inside.mean()))
        assert told.promised == pytest.approx(f[inside].mean())
        assert told.observed.value == pytest.approx(rows.correct[inside].mean())
        assert told.observed.interval[0] <= told.observed.value <= told.observed.interval[1]


def test_fewer_rows_are_acted_on_the_higher_the_threshold_and_all_at_the_lowest():
    rows, _ = drawn(1)
    counts = [one.before.n for one in decide(rows, rows.confidence, asked(1e-9, 1 - 1e-9))]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (N, 0)


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


def test_what_nobody_acts_on_has_no_rate_and_no_benefit():
    rows, _ = drawn(1)
    [one] = decide(rows, rows.confidence, asked(0.9999))
    assert (one.before.n, one.before.promised, one.before.observed.value) == (0, None, None)
    assert one.net_benefit.before == 0


@given(st.integers(0, 20))
def test_a_correction_that_changes_nothing_changes_no_decision(seed):
    rows, _ = drawn(seed)
    for one in decide(rows, rows.confidence, asked(0.6, cost=(2, 1))):
        assert one.before == one.after
        assert one.net_benefit.before == one.net_benefit.after
        assert one.net_benefit.gain.value == 0


@given(st.integers(0, 20))
def test_the_order_of_the_rows_does_not_matter(seed):
    rows, rng = drawn(seed)
    order, corrected = rng.permutation(N), np.sqrt(rows.confidence)
    plain = decide(rows, corrected, asked(0.4, cost=(3, 1)))
    shuffled = decide(rows.take(order), corrected[order], asked(0.4, cost=(3, 1)))
    for one, other in zip(plain, shuffled, strict=True):
        assert one.before.n == other.before.n
        assert one.after.promised == pytest.approx(other.after.promised)
        assert one.net_benefit.gain.interval == pytest.approx(other.net_benefit.gain.interval)


def test_a_weight_of_two_is_a_row_repeated_in_every_mean():
    rows, rng = drawn(4)
    twice = rng.random(N) < 0.4
    repeated = rows.take(np.r_[np.arange(N), np.flatnonzero(twice)])
    weighed = LabelledRows.of(rows.correct, rows.confidence, weight=1.0 + twice)
    [one], [other] = (decide(own, own.confidence**2, asked(0.4)) for own in (weighed, repeated))
    for told, meant in ((one.before, other.before), (one.after, other.after)):
        assert told.share == pytest.approx(meant.share)
        assert told.promised == pytest.approx(meant.promised)
        assert told.observed.value == pytest.approx(meant.observed.value)
    assert one.net_benefit.after == pytest.approx(other.net_benefit.after)
    assert one.net_benefit.gain.value == pytest.approx(other.net_benefit.gain.value)


def test_rows_of_a_group_that_agree_make_intervals_wider():
    rows, _ = drawn(5, 200)
    widths = []
    for group in (None, np.repeat(np.arange(200), 4)):
        own = LabelledRows.of(np.repeat(rows.correct, 4), np.repeat(rows.confidence, 4), group=group)
        [one] = decide(own, own.confidence, asked(0.5))
        widths.append(np.ptp(one.before.observed.interval))
    assert widths[1] > 1.5 * widths[0]


def test_the_threshold_that_costs_imply_stands_beside_those_that_were_named():
    rows, _ = drawn(8)
    found = decide(rows, rows.confidence, asked(0.8, 0.7, cost=(9, 1)))
    assert [(one.threshold, one.source) for one in found] == [(0.1, "cost"), (0.7, "given"), (0.8, "given")]
    assert found[0].net_benefit.before == pytest.approx(net_benefit(rows.correct, rows.confidence, 0.1))
    rate = rows.correct.mean()
    assert found[0].net_benefit.all == pytest.approx(rate - (1 - rate) / 9)
    assert decide(rows, rows.confidence, asked()) == ()


@pytest.mark.parametrize("of", [{"thresholds": 0.5}, {"cost": (2, 1)}])
def test_thresholds_and_costs_are_not_for_answers(of):
    assert Thresholds.of(**of, kind="event") == Thresholds.of(**of, kind="judge") == Thresholds.of(**of)
    assert Thresholds.of(max_error=0.1, kind="answer").max_error == (0.1,)
    with pytest.raises(InputError, match=r"events and judges.*max_error"):
        Thresholds.of(**of, kind="answer")
