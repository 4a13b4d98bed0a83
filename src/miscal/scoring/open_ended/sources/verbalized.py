"""verbalized: the model states how likely its answer is to be right, as a number from 0 to 100.

Source: Tian et al. (2023), "Just Ask for Calibration" (arXiv 2305.14975), their prompt in two stages ("Verb. 2S"): the
answer first, then its probability, so that all confidences of a row are about the same answer.
"""

from __future__ import annotations

from miscal.data.importers.stated_confidences import confidence_of
from miscal.scoring.open_ended.sources.source import ConfidenceSource, FollowUp

TEMPLATE = (
    "Question: {question}\n"
    "Proposed answer: {answer}\n"
    "How likely is it, from 0 to 100, that the proposed answer is correct? Reply with the number alone.\n"
    "Number from 0 to 100:"
)
LONGEST = 12


def stated(reply: str) -> float | None:
    """Read a confidence that was stated as a number from 0 to 100.

    The reply must be the number and nothing else, but for its scale (85 %, 17/20) and a full stop behind it. A decimal
    of at most 1 without a scale (0.9) may be a probability or a percentage, so it is no confidence either.

    Parameters
    ----------
    reply : str
        One line.

    Returns
    -------
    float or None
        In [0, 1]; None where the reply states no confidence.

    Examples
    --------
    >>> stated("85"), stated("85%."), stated("0"), stated("0.5 %"), stated("17/20")
    (0.85, 0.85, 0.0, 0.005, 0.85)
    >>> stated("about 85"), stated("0.9"), stated("101"), stated("")
    (None, None, None, None)
    """
    found = confidence_of(reply, top=100.0)
    return None if found is None else found / 100.0


SOURCE = ConfidenceSource(
    name="verbalized",
    columns=("confidence_verbalized",),
    confidences=lambda response: (stated(response.replies["verbalized"]),),
    evidence=lambda response: {"verbalized_reply": response.replies["verbalized"]},
    follow_up=FollowUp(TEMPLATE, longest=LONGEST),
    missing="the model stated no number from 0 to 100",
)
