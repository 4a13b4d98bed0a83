"""p-true: the model is asked whether its own answer is right.

Source: Kadavath et al. (2022), "Language Models (Mostly) Know What They Know" (arXiv 2207.05221), section 3.
"""

from __future__ import annotations

import numpy as np

from miscal.scoring.open_ended.response import Response
from miscal.scoring.open_ended.sources.source import ConfidenceSource, FollowUp
from miscal.scoring.outcomes import outcome

TEMPLATE = (
    "Question: {question}\n"
    "Proposed Answer: {answer}\n"
    "Is the proposed answer:\n"
    " (A) True\n"
    " (B) False\n"
    "The proposed answer is:"
)
CANDIDATES = (" (A)", " (B)")


def _weighed(response: Response) -> tuple[float, float]:
    """Return the probability of True among the two, and that of both together."""
    result = outcome(np.array(response.weighed["p-true"]), gold=0, rule="first")
    return result.confidence, result.mass


SOURCE = ConfidenceSource(
    name="p-true",
    columns=("confidence_p_true",),
    confidences=lambda response: (_weighed(response)[0],),
    evidence=lambda response: {"candidate_mass": _weighed(response)[1]},
    follow_up=FollowUp(TEMPLATE, candidates=CANDIDATES),
)
