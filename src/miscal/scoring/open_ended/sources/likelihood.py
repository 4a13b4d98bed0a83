"""likelihood: the probability of the answer as a sequence of tokens, and the geometric mean of theirs.

Source: Malinin and Gales (2021), "Uncertainty Estimation in Autoregressive Structured Prediction" (arXiv 2002.07650).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from miscal.scoring.open_ended.sources.source import ConfidenceSource


def sequence_likelihood(log_probs: Sequence[float]) -> tuple[float, float]:
    """Return the likelihood of a sequence of tokens, as it is and normalised by its length.

    Parameters
    ----------
    log_probs : sequence of float
        Log-probability of each token given those before it, <= 0 up to rounding; at least one.

    Returns
    -------
    likelihood : float
        exp of their sum, the product of the probabilities, in [0, 1].
    per_token : float
        exp of their mean, the geometric mean of the probabilities, in [0, 1].

    Examples
    --------
    >>> likelihood, per_token = sequence_likelihood([math.log(0.5), math.log(0.125)])
    >>> round(likelihood, 6), round(per_token, 6)
    (0.0625, 0.25)
    """
    total = min(0.0, math.fsum(log_probs))
    return math.exp(total), math.exp(total / len(log_probs))


SOURCE = ConfidenceSource(
    name="likelihood",
    columns=("confidence_likelihood", "confidence_likelihood_per_token"),
    confidences=lambda response: sequence_likelihood(response.answer.log_probs),
    evidence=lambda response: {"answer_tokens": len(response.answer.log_probs)},
)
