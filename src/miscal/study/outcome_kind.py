"""What the confidence of a pair is of: that the model's answer is right, or that an event happens.

Where a model is asked for the more likely of two fixed things, such as which response people preferred, or where a
forecast is judged, the confidence is the probability of an event. One of 0.05 is then a firm prediction that the event
does not happen, which is right if it does not.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from miscal.base.vocabulary import EVENT, Kind
from miscal.data.readers.roles import Asked
from miscal.scoring.folder import MANIFEST
from miscal.scoring.questions import kind_of
from miscal.study.folder import StudyFolder
from miscal.study.plan import StudyPair


def outcome_of(pair: StudyPair, folder: StudyFolder) -> Kind:
    """Say what the confidence of a pair is of; the folder holds what its model answered, where it was asked.

    Its own key ``outcome`` comes first, then how its columns are named: "event" where ``probability``, ``event`` or
    ``positive`` are, and of a scored folder whose prompt asks for a preference; else "answer".
    """
    if pair.outcome is not None:
        return pair.outcome
    if Asked.of(**{name: getattr(pair, name) for name in Asked.OPTIONS}).kind == EVENT:
        return EVENT
    scored = folder.scored(pair.pair) if pair.data is None else Path(pair.data)
    try:
        prompt = json.loads((scored / MANIFEST).read_text(encoding="utf-8"))["settings"]["task.prompt"]
    except (OSError, ValueError, KeyError, TypeError):
        # a table, or a folder that has no manifest or holds no answers
        return "answer"
    return "event" if kind_of(prompt) == "preference" else "answer"


def prediction(correct: np.ndarray, confidence: np.ndarray, outcome: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each row's prediction is right, 0 or 1, and how sure the model is of it, in [0, 1].

    Of an answer these are outcome and confidence. Of an event the more likely side is predicted, and at a confidence of
    0.5 that it happens.

    >>> right, score = prediction(np.array([0.0, 1.0]), np.array([0.05, 0.05]), "event")
    >>> right.tolist(), score.tolist()
    ([1.0, 0.0], [0.95, 0.95])
    """
    if outcome == "answer":
        return correct, confidence
    return ((confidence >= 0.5) == (correct == 1)).astype(np.float64), np.maximum(confidence, 1 - confidence)
