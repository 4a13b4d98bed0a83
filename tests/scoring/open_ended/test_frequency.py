"""The frequency of an answer: what is unbiased and what flatters, by summing over everything that may be drawn."""

from collections import defaultdict
from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.scoring.answer_confidences import agreement, held_out_frequency, most_frequent

ANSWERS = "abc"
shares = st.lists(st.integers(1, 9), min_size=2, max_size=3).map(lambda n: [one / sum(n) for one in n])


def worlds(probs, k):
    """Every sequence of k samples with its probability."""
    for drawn in product(range(len(probs)), repeat=k):
        yield [ANSWERS[at] for at in drawn], prod(probs[at] for at in drawn)


@given(shares, st.integers(2, 6), st.sampled_from([None, "b"]), st.data())
def test_the_held_out_frequency_is_unbiased_given_every_answer(probs, k, preferred, data):
    m = data.draw(st.integers(1, k - 1))
    chance, total = defaultdict(float), defaultdict(float)
    for samples, probability in worlds(probs, k):
        answer = most_frequent(samples[:m], preferred)
        chance[answer] += probability
        total[answer] += probability * held_out_frequency(answer, samples, m, preferred)
    for answer, p in zip(ANSWERS, probs, strict=False):
        assert total[answer] == pytest.approx(p * chance[answer], abs=1e-12)


@settings(max_examples=20)
@given(shares, st.integers(2, 6))
def test_its_variance_is_never_above_that_of_one_division(probs, k):
    m = (k + 1) // 2
    one = averaged = 0.0
    for samples, probability in worlds(probs, k):
        answer = most_frequent(samples[:m])
        truth = probs[ANSWERS.index(answer)]
        one += probability * (agreement(answer, samples[m:]) - truth) ** 2
        averaged += probability * (held_out_frequency(answer, samples, m) - truth) ** 2
    assert averaged <= one + 1e-12


@settings(max_examples=20)
@given(shares, st.integers(2, 6))
def test_the_share_of_the_samples_that_chose_flatters_and_that_of_others_does_not(probs, k):
    naive = fixed = 0.0
    for samples, probability in worlds(probs, k):
        answer = most_frequent(samples)
        naive += probability * (agreement(answer, samples) - probs[ANSWERS.index(answer)])
        fixed += probability * agreement("a", samples)
    assert naive > 1e-6
    assert fixed == pytest.approx(probs[0], abs=1e-12)


@settings(max_examples=15)
@given(shares, st.integers(2, 4))
def test_averaging_both_halves_flatters_where_they_agree(probs, k):
    """Why the held-out frequency is no such average."""
    chance = total = truth = 0.0
    for samples, probability in worlds(probs, 2 * k):
        first, second = most_frequent(samples[:k]), most_frequent(samples[k:])
        if first == second:
            both = (agreement(first, samples[k:]) + agreement(first, samples[:k])) / 2
            chance, total = chance + probability, total + probability * both
            truth += probability * probs[ANSWERS.index(first)]
    assert total > truth


def test_the_order_of_the_samples_that_are_averaged_over_changes_nothing():
    samples = list("aabacbb")
    assert held_out_frequency("a", samples, 4) == held_out_frequency("a", samples[:3] + samples[:2:-1], 4)
