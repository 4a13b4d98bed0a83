"""frequency: how often the model gives the answer, counted over samples that did not choose it."""

from __future__ import annotations

from miscal.scoring.open_ended.frequency import agreement, held_out_frequency
from miscal.scoring.open_ended.matching import normalised
from miscal.scoring.open_ended.response import Response
from miscal.scoring.open_ended.sources.source import ConfidenceSource


def _frequency(response: Response) -> float:
    answer, samples = normalised(response.answer.text), [normalised(text) for text in response.samples]
    if not response.n_choosing:
        return agreement(answer, samples)
    return held_out_frequency(answer, samples, response.n_choosing, preferred=normalised(response.greedy))


SOURCE = ConfidenceSource(
    name="frequency",
    columns=("confidence_frequency",),
    confidences=lambda response: (_frequency(response),),
    evidence=lambda response: {"samples": list(response.samples)},
    samples=True,
)
