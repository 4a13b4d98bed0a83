"""How often a model gives an answer, estimated from samples of which some may have chosen that answer.

A sample that helped to choose an answer agrees with it more often than a new sample would: the share of all samples
that agree with their own most frequent answer is too high. Here only samples that chose nothing count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb


def most_frequent(answers: Sequence[str], preferred: str | None = None) -> str:
    """Return the most frequent of some answers.

    Of equally frequent ones it is the preferred one if it is among them, else the first in alphabetical order. This
    order depends on the texts alone, never on the samples, which `held_out_frequency` relies on.

    Parameters
    ----------
    answers : sequence of str
        Normalised, at least one.
    preferred : str, optional
        Normalised.

    Examples
    --------
    >>> most_frequent(["rome", "paris", "rome"]), most_frequent(["rome", "paris"]), most_frequent(["b", "a"], "b")
    ('rome', 'paris', 'b')
    """
    counts = Counter(answers)
    return min(counts, key=lambda answer: (-counts[answer], answer != preferred, answer))


def agreement(answer: str, samples: Sequence[str]) -> float:
    """Return the share of samples that agree with an answer that they did not choose.

    It is an unbiased estimate of the probability that a sample gives this answer.

    Parameters
    ----------
    answer : str
        Normalised, and chosen without the samples (the greedy one, for example).
    samples : sequence of str
        Normalised, at least one.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> agreement("rome", ["rome", "paris", "rome", "rome"])
    0.75
    """
    return sum(sample == answer for sample in samples) / len(samples)


def held_out_frequency(answer: str, samples: Sequence[str], n_choosing: int, preferred: str | None = None) -> float:
    """Estimate the probability of an answer that some of the samples have chosen.

    The answer is the most frequent of `n_choosing` samples, and the share of the others that agree with it is an
    unbiased estimate of its probability, since these did not choose it. Which samples choose is arbitrary, so the share
    is averaged over all divisions of the samples in which those that choose would have chosen this answer. This is the
    Rao-Blackwell estimate given how often each answer occurs: as unbiased as the share of one division, for each answer
    that may be chosen, and never of a larger variance. No division is drawn: they are counted.

    Parameters
    ----------
    answer : str
        Normalised; the most frequent one of the first `n_choosing` samples (:func:`most_frequent`).
    samples : sequence of str
        All samples, normalised, drawn independently.
    n_choosing : int
        At least 1, and fewer than there are samples.
    preferred : str, optional
        As for :func:`most_frequent`.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    With counts n of the answers, m samples that choose, and x of them giving the answer a, the number of divisions is
    C(n_a, x) times the coefficient of z^(m - x) in the product, over the other answers c, of the sum of C(n_c, h) z^h
    over h <= x, or h <= x - 1 where c comes before a in the order of ties. The share of the rest is
    (n_a - x) / (n - m). Unbiased means that E[estimate | answer] is the probability of the answer, exactly.

    Averaging the two directions of one division (each half counts for the choice of the other) is right only on
    average over all answers: where both halves choose the same answer, each has helped to choose what it counts for.

    Examples
    --------
    All six agree; of three against three, those that do not choose agree less often than half of the time:

    >>> held_out_frequency("rome", ["rome"] * 6, 3)
    1.0
    >>> held_out_frequency("rome", ["rome", "rome", "paris", "paris", "rome", "paris"], 3)
    0.3
    """
    counts = Counter(samples)
    own, n_counting = counts.pop(answer), len(samples) - n_choosing
    total = agreeing = 0
    for chosen in range(1, min(own, n_choosing) + 1):
        before = {other: answer != preferred and (other == preferred or other < answer) for other in counts}
        limits = {other: chosen - 1 if first else chosen for other, first in before.items()}
        divisions = comb(own, chosen) * _ways(counts, limits, n_choosing - chosen)
        total += divisions
        agreeing += divisions * (own - chosen)
    return agreeing / (total * n_counting)


def _ways(counts: Mapping[str, int], limits: Mapping[str, int], size: int) -> int:
    """Count the sets of `size` samples in which no answer occurs more often than its limit."""
    ways = [1] + [0] * size
    for answer, count in counts.items():
        most = min(count, limits[answer], size)
        ways = [sum(ways[have - h] * comb(count, h) for h in range(min(most, have) + 1)) for have in range(size + 1)]
    return ways[size]
