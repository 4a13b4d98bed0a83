"""What the tasks of this folder compute of each question, and of all questions.

The confidence is the probability of the likeliest choice, renormalised over the choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from miscal import metrics
from miscal.base.errors import InputError
from miscal.data.importers.imported_rows import probabilities

Answers = Sequence[tuple[float, float]]
"""Confidence in [0, 1] and outcome, 0 or 1, of each answer."""


def process_results(doc: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Return the accuracy of an answer, and for each other metric its confidence and outcome.

    Parameters
    ----------
    doc : mapping
        A question, whose ``answer`` is the position of the right choice, from 0, or its letter.
    results : sequence of (float, bool)
        Log-likelihood of each choice, and whether it is the likeliest text.

    Raises
    ------
    InputError
        If the question has no such answer.

    Examples
    --------
    >>> found = process_results({"answer": "B"}, [(-2.0, False), (-1.0, True)])
    >>> found["acc"], round(found["smece"][0], 3)
    (1.0, 0.731)
    """
    shares = probabilities([one[0] for one in results])
    predicted = int(np.argmax(shares))
    right = float(predicted == _position(doc.get("answer"), len(shares)))
    answer = shares[predicted], right
    return {"acc": right, "smece": answer, "brier": answer, "overconfidence": answer}


def _position(answer: Any, n_choices: int) -> int:
    at = ord(answer.strip().upper()) - ord("A") if isinstance(answer, str) and len(answer.strip()) == 1 else answer
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < n_choices:
        raise InputError(
            f"answer must be the position of the right choice, from 0 to {n_choices - 1}, or its letter; got {answer!r}"
        )
    return at


def smece(answers: Answers) -> float:
    """Smooth calibration error, in [0, 1].

    Examples
    --------
    >>> round(smece([(0.5, 1.0), (0.5, 0.0)]), 6)
    0.0
    """
    confidence, correct = np.asarray(answers).T
    return metrics.smece(correct, confidence)


def brier(answers: Answers) -> float:
    """Brier score of the confidence, in [0, 1].

    Examples
    --------
    >>> brier([(1.0, 0.0), (1.0, 1.0)])
    0.5
    """
    confidence, correct = np.asarray(answers).T
    return metrics.brier(correct, confidence)


def overconfidence(answers: Answers) -> float:
    """Mean confidence minus accuracy, in [-1, 1].

    Examples
    --------
    >>> overconfidence([(1.0, 0.0), (1.0, 1.0)])
    0.5
    """
    confidence, correct = np.asarray(answers).T
    return float(confidence.mean() - correct.mean())
