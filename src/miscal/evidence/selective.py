"""What may be decided without a person at an accepted error: selective prediction with a promise.

Rows whose score reaches a threshold are decided; their share is the coverage, the share of wrong ones among them the
selective risk (El-Yaniv and Wiener, 2010; Geifman and El-Yaniv, 2017). Of a threshold the promise is that

    E[(wrong - max_error) 1{score >= threshold}] <= 0,

and the rule that chooses it breaks this in at most 5 % of data sets. It is a fixed sequence of tests (Angelopoulos et
al., "Learn then Test", 2021) with a start that the rows choose themselves:

- it starts at the share of rows of which the evidence for fewer errors is strongest, if the probability of so few
  errors at the accepted rate is at most `START` there;
- it goes on to laxer thresholds while that probability is at most `WALK`, and ends at the first that is not.

Where the error among decided rows rises as the threshold falls, a promise is broken only if the start itself lies
where it is false, or if the first threshold at which it is false is passed. The first happens in at most 2 % of data
sets (nested binomial counts at 200 places, of 200 to 300,000 rows), the second in at most 4 %, never both; measured
together 0 to 5 % (60 worlds, 300 draws each: ``benchmarks/alone.py --only worlds --draws 300``).

Setting a quarter of the rows apart to choose the start, and testing at 5 % on the others, promises as much, but its
result hangs on how the rows are dealt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.survey_design import fewness

Floats = NDArray[np.float64]

START = 0.001
"""Probability of so few errors at which a sequence may start anywhere: the smallest of 200 nested ones is below it in
2 % of data sets where the promise is false everywhere."""
WALK = 0.04
"""Probability of so few errors up to which a sequence goes on."""
SHARES = 200
"""Shares of the rows whose thresholds are tried: 0.5 %, 1 %, ..., all."""
DIGITS = 3
"""Digits of a threshold, counted from 1: 0.987, 0.99912. With more, a threshold promises nothing else."""
NOISE = 1e-9
"""Scores that differ by less are the same: rounding differs between machines."""


@dataclass(frozen=True)
class PromisedThreshold:
    """A threshold with what is promised of the rows that it decides.

    `value`: in [0, 1]; rows of at least this score are decided. `n`: rows decided. `share`: of all rows, in (0, 1], by
    weight. `error`: share of wrong ones among the decided, in [0, 1]. `upper`: below which the error lies, in [0, 1].
    """

    value: float
    n: int
    share: float
    error: float
    upper: float


def decided(score: Floats, threshold: float) -> NDArray[np.bool_]:
    """Mark the rows that a threshold decides.

    Examples
    --------
    >>> decided(np.array([0.3, 0.9 - 1e-12, 0.95]), 0.9).tolist()
    [False, True, True]
    """
    return score >= threshold - NOISE


def candidate_thresholds(score: Floats) -> Floats:
    """Return the thresholds that are tried, the strictest first; equal scores are decided together.

    `score`, (n,): in [0, 1], at least one row. Returns (m,), m <= 200, each with three digits counted from 1.

    Examples
    --------
    >>> candidate_thresholds(np.array([0.5, 0.98765, 0.5, 0.7])).tolist()
    [0.9876, 0.7, 0.5]
    """
    ranked = np.sort(score)[::-1]
    places = np.ceil(np.arange(1, SHARES + 1) / SHARES * len(score)).astype(np.int64) - 1
    beside = 1 - ranked[np.unique(places)]
    # rounded away from 1, so that the row at the place is decided
    size = 10.0 ** (np.floor(np.log10(np.maximum(beside, 1e-12))) - DIGITS + 1)
    written = np.ceil(beside / size - 1e-6) * size
    return np.unique(np.round(np.clip(1 - written, 0, 1), 12))[::-1]


def few_errors(n: Floats, wrong: Floats, max_error: float) -> Floats:
    """Probability of at most so many errors among so many rows at the accepted rate, by the binomial law.

    Takes n, wrong: not necessarily whole numbers, as in :func:`miscal.findings.residuals.proportion_residual`.

    Examples
    --------
    >>> few_errors(np.array([59.0, 100.0]), np.array([0.0, 5.0]), 0.05).round(3).tolist()
    [0.048, 0.616]
    """
    from scipy.special import betainc

    return np.where(wrong >= n, 1.0, betainc(np.maximum(n - wrong, NOISE), wrong + 1, 1 - max_error))


class SelectiveRisk:
    """The error among the rows that each threshold decides.

    `rows`: of which nothing was learned behind their `confidence`, which ranks them; `correct` says whether the
    decision is right.
    """

    def __init__(self, rows: LabelledRows) -> None:
        self.rows = rows
        self.thresholds = candidate_thresholds(rows.confidence)
        order = np.argsort(-rows.confidence, kind="stable")
        weight = rows.mass[order]
        places = np.searchsorted(-rows.confidence[order], NOISE - self.thresholds, side="right")
        total = np.cumsum(weight)[places - 1]
        self.n = places
        self.share = total / weight.sum()
        self.error = np.clip(np.cumsum(weight * (1 - rows.correct[order]))[places - 1] / total, 0, 1)
        self._effects: dict[int, float] = {}

    def probability(self, place: int, max_error: float) -> float:
        """Probability of so few errors at one threshold; rows that hang together count for as many fewer."""
        n = self._count(place)
        return float(few_errors(np.array(n), np.array(n * self.error[place]), max_error))

    def evidence(self, max_error: float) -> Floats:
        """Log likelihood ratio of the observed error against the accepted one; negative where more are wrong."""
        r = np.clip(self.error, NOISE, 1 - NOISE)
        found = self.n * (r * np.log(r / max_error) + (1 - r) * np.log((1 - r) / (1 - max_error)))
        return np.where(self.error < max_error, found, -found)

    def promised(self, max_error: float) -> PromisedThreshold | None:
        """Return the laxest threshold at which at most so many errors can be promised; None where there is none.

        Examples
        --------
        >>> score = np.linspace(0.5, 1, 1000)
        >>> right = np.where(np.arange(1000) % 10 == 0, 0.0, 1.0) + (score > 0.7)
        >>> risk = SelectiveRisk(LabelledRows.of(np.minimum(right, 1.0), score))
        >>> risk.promised(0.05), risk.promised(0.001)
        (PromisedThreshold(value=0.517, n=966, share=0.966, error=0.0372..., upper=0.0496...), None)
        """
        from scipy.special import betaincinv

        start = last = int(np.argmax(self.evidence(max_error)))
        if self.probability(start, max_error) > START:
            return None
        while last + 1 < len(self.thresholds) and self.probability(last + 1, max_error) <= WALK:
            last += 1
        count, error = self._count(last), float(self.error[last])
        upper = float(betaincinv(count * error + 1, count * (1 - error), 1 - WALK)) if error < 1 else 1.0
        return PromisedThreshold(float(self.thresholds[last]), int(self.n[last]), float(self.share[last]), error, upper)

    def _count(self, place: int) -> float:
        """Independent rows that say as much of the error as those that a threshold decides."""
        if place not in self._effects:
            inside = decided(self.rows.confidence, float(self.thresholds[place]))
            effect = effect_of_mean(self.rows, inside)
            if self.rows.group is not None:
                effect *= float(fewness(float(len(np.unique(self.rows.group[inside])))))
            self._effects[place] = effect
        return float(self.n[place]) / self._effects[place]

    def rows_needed(self, max_error: float, power: float = 0.8) -> int | None:
        """Rows with which a promise would be made with a power, if errors stay as they are; None where none could be.

        Takes the threshold of which the fewest would do. Its error is the smallest of several, so that this is a lower
        bound rather than an estimate.
        """
        from scipy.special import ndtri

        r = np.maximum(self.error, 0.5 / self.n)
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = ndtri(1 - START) * np.sqrt(max_error * (1 - max_error)) + ndtri(power) * np.sqrt(r * (1 - r))
            needed = np.where(r < max_error, (wanted / (max_error - r)) ** 2 / self.share, np.inf)
        best = int(np.argmin(needed))
        if not np.isfinite(needed[best]):
            return None
        return int(np.ceil(needed[best] * self.n[best] / self._count(best)))
