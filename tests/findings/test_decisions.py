"""Decisions at thresholds and what may be decided alone: promises hold, and where they break is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.decisions import net_benefit
from miscal.evidence.selective import candidate_thresholds, decided
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.decisions import Alone, Thresholds, asked_groups, decide, decided_alone

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


def statement(score: np.ndarray, y: np.ndarray, error: float = 0.1, **known: object) -> Alone:
    """Return the promise at one accepted error, with a raw confidence that says nothing."""
    raw = LabelledRows.of(y, np.full(len(y), 0.5), **known)
    return decided_alone(raw, LabelledRows.of(y, score, **known), np.full(len(y), True), [error])[0][0]


def scored(rng: np.random.Generator, n: int, error: object) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, uniform, and outcomes of which a share is wrong that depends on the score's rank from the top."""
    rank = rng.random(n)
    return 1 - rank, (rng.random(n) >= error(rank)).astype(float)


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=25, deadline=None)
def test_what_is_promised_was_observed_and_order_changes_nothing(seed: int, error: float) -> None:
    rng = np.random.default_rng(seed)
    score, y = scored(rng, 500, lambda rank: rank / 2)
    found = statement(score, y, error)
    shuffled = rng.permutation(500)
    assert statement(score[shuffled], y[shuffled], error) == found
    if found.threshold is not None:
        inside = decided(score, found.threshold)
        assert found.n == inside.sum()
        assert found.error.value == pytest.approx(1 - y[inside].mean())
        assert found.error.value <= found.error.upper <= error
        assert found.share.interval[0] <= found.share.value <= found.share.interval[1]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=400))
@settings(max_examples=50, deadline=None)
def test_thresholds_fall_and_the_last_decides_all(score: list[float]) -> None:
    found = candidate_thresholds(np.array(score))
    assert (np.diff(found) < 0).all()
    assert decided(np.array(score), found[-1]).all()
    assert found.min() >= 0
    assert found.max() <= 1


def test_a_row_written_twice_counts_like_weight_two() -> None:
    score, y = scored(np.random.default_rng(3), 2000, lambda rank: rank / 3)
    weight = np.tile([1.0, 2.0], 1000)
    weighted = statement(score, y, weight=weight)
    repeated = statement(np.repeat(score, weight.astype(int)), np.repeat(y, weight.astype(int)))
    inside = decided(score, weighted.threshold)
    assert weighted.error.value == pytest.approx((weight * (1 - y))[inside].sum() / weight[inside].sum())
    # 3,000 independent rows say more than 2,000 that stand for 3,000
    assert weighted.share.value <= repeated.share.value


def test_copies_promise_no_more_than_the_rows_that_they_are_copies_of() -> None:
    score, y = scored(np.random.default_rng(4), 1000, lambda rank: rank / 8)
    once = statement(score, y)
    copied = statement(np.repeat(score, 5), np.repeat(y, 5), group=np.repeat(np.arange(1000), 5))
    assert 0 < copied.share.value <= once.share.value


def test_an_event_and_its_opposite_are_decided_alike() -> None:
    rng = np.random.default_rng(5)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(float)
    near, raw = np.full(2000, True), np.full(2000, 0.5)

    def sides(y: np.ndarray, p: np.ndarray) -> list[Alone]:
        return list(decided_alone(LabelledRows.of(y, raw), LabelledRows.of(y, p), near, [0.1], kind="event")[0])

    (yes, no), (other_yes, other_no) = sides(y, p), sides(1 - y, 1 - p)
    assert (yes.decision, no.decision) == ("yes", "no")
    assert yes.share == other_no.share
    assert no.error == other_yes.error
    assert no.threshold == pytest.approx(1 - other_yes.threshold)
    assert no.threshold < 0.5 < yes.threshold


def test_curves_hold_every_promise_and_what_was_observed_at_each_threshold() -> None:
    rng = np.random.default_rng(7)
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(float)
    near = rng.random(3000) < 0.9
    rows = LabelledRows.of(y, np.round(p, 1)), LabelledRows.of(y, p)
    promises, curves = decided_alone(*rows, near, kind="event")
    for one in curves:
        for curve, confidence, able in ((one.raw, rows[0].confidence, True), (one.corrected, p, near)):
            right = y == (one.decision == "yes")
            assert len(curve.share) <= 60
            assert list(curve.share) == sorted(curve.share)
            for threshold, share, error in zip(curve.threshold, curve.share, curve.error, strict=True):
                reached = confidence - threshold if one.decision == "yes" else threshold - confidence
                inside = (reached >= -1e-9) & able
                assert inside.sum() >= 20
                assert (share, error) == (pytest.approx(inside.mean()), pytest.approx(1 - right[inside].mean()))
        of = [at for at in promises if at.decision == one.decision]
        assert {at.threshold for at in of} - {None} <= set(one.corrected.threshold)
        assert {at.raw.threshold for at in of} - {None} <= set(one.raw.threshold)


def test_rows_far_from_all_others_are_never_decided() -> None:
    score, y = np.full(1000, 0.95), np.ones(1000)
    near = np.arange(1000) < 600
    [found], _ = decided_alone(LabelledRows.of(y, score), LabelledRows.of(y, score), near, [0.05])
    assert (found.n, found.raw.share) == (600, 1.0)


def test_nothing_is_promised_of_few_rows_and_it_is_said_how_many_would_do() -> None:
    found = statement(np.linspace(0.5, 1, 40), np.ones(40), 0.05)
    assert (found.threshold, found.n) == (None, 0)
    assert found.units_needed > 40
    assert statement(np.linspace(0.5, 1, 400), np.tile([0.0, 1.0], 200), 0.05).units_needed is None


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.05, 0.2])
@pytest.mark.parametrize(
    "world",
    [
        lambda rank, e: np.full_like(rank, e),
        lambda rank, e: np.minimum(4 * e * rank, 1),
        lambda rank, e: np.where(rank < 0.1, 1.5 * e, np.where(rank < 0.6, 0.7 * e, 2 * e)),
    ],
)
def test_a_promise_is_false_in_at_most_one_data_set_of_twenty(world: object, error: float) -> None:
    rng, broken = np.random.default_rng(6), 0
    even = np.linspace(0, 1, 10_001)[1:]
    risk = np.cumsum(world(even, error)) / np.arange(1, 10_001)
    for _ in range(400):
        found = statement(*scored(rng, 1000, lambda rank: world(rank, error)), error)
        if found.threshold is not None:
            broken += np.interp(1 - found.threshold, even, risk) > error + 1e-12
    assert broken <= 400 * 0.05 + 2 * np.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize(("n", "error"), [(200, 0.1), (500, 0.05)])
def test_a_group_that_is_wrong_twice_as_often_is_named(n: int, error: float) -> None:
    rng, named, false = np.random.default_rng(n), 0, 0
    for _ in range(100):
        kind = rng.integers(0, 50, 50 * n)
        y = (rng.random(50 * n) >= np.where(kind == 0, 2 * error, error / 2)).astype(float)
        groups = asked_groups([(Value("kind", str(k), "text"), kind == k) for k in range(50)], [], 0)
        rows = LabelledRows.of(y, np.full(len(y), 0.99))
        [found], _ = decided_alone(rows, rows, np.full(len(y), True), [error], groups=groups)
        of = [one.condition.value for one in found.breaks]
        named, false = named + ("0" in of), false + bool(set(of) - {"0"})
    assert named >= 80
    assert false <= 9
