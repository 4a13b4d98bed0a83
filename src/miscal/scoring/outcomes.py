"""Pure formulas: from the log-probabilities of the candidates to confidence, outcome and candidate mass.

Source: arXiv 2605.13484, appendix on real data: log p(v | prompt) is the sum over the tokens of v, renormalised over
the candidates by a softmax.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model answered.

    Attributes
    ----------
    probs : ndarray of float64, shape (n_candidates,)
        Renormalised over the candidates, in [0, 1], sum 1.
    predicted : int
        Position of the most probable candidate, the first of equals.
    confidence : float
        In [0, 1]. Rule "top": probability of the predicted candidate. Rule "first": of the first one.
    correct : int
        1 if the candidate that `confidence` speaks of is the right one, else 0.
    mass : float
        Probability of all candidates together before renormalising, in [0, 1]. For candidates of several tokens, of
        the texts as they stand, whatever the length normalisation.
    tied : bool
        Whether another candidate is exactly as probable as the predicted one.
    """

    probs: np.ndarray
    predicted: int
    confidence: float
    correct: int
    mass: float
    tied: bool


def softmax(values: np.ndarray) -> np.ndarray:
    """Return exp(v) / sum exp(v), computed from the largest value down."""
    shifted = np.exp(values - values.max())
    return shifted / shifted.sum()


def scale(form: str, candidates: tuple[str, ...], n_tokens: np.ndarray) -> np.ndarray:
    """Return what each log-probability is divided by: 1, its number of tokens, or its number of UTF-8 bytes.

    The bytes are those of the answer, without the blank before it.
    """
    if form == "text_per_token":
        return n_tokens.astype(np.float64)
    if form == "text_per_byte":
        return np.array([max(1, len(text.removeprefix(" ").encode())) for text in candidates], dtype=np.float64)
    return np.ones(len(candidates))


def outcome(log_probs: np.ndarray, *, gold: int, rule: str, divisor: np.ndarray | None = None) -> Outcome:
    """Judge one row.

    Parameters
    ----------
    log_probs : ndarray of float64, shape (n_candidates,)
        Sum of the token log-probabilities of each candidate, <= 0 up to rounding.
    gold : int
        Position of the right candidate.
    rule : {"top", "first"}
        Whose probability is the confidence (see `Outcome`).
    divisor : ndarray of float64, shape (n_candidates,), optional
        Length normalisation (see `scale`); default none.

    >>> result = outcome(np.log([0.1, 0.3, 0.1]), gold=1, rule="top")
    >>> round(result.confidence, 6), result.correct, round(result.mass, 6)
    (0.6, 1, 0.5)
    """
    probs = softmax(log_probs if divisor is None else log_probs / divisor)
    predicted = int(np.argmax(probs))
    spoken = predicted if rule == "top" else 0
    mass = float(min(1.0, np.exp(log_probs).sum()))
    tied = int((probs == probs[predicted]).sum()) > 1
    return Outcome(probs, predicted, float(min(1.0, probs[spoken])), int(spoken == gold), mass, tied)
