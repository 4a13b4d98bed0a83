"""What a source of confidences says of itself: what it has asked, and how its numbers follow from the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from miscal.scoring.open_ended.response import Response


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question about the answer that the model has given.

    Attributes
    ----------
    template : str
        Prompt with ``{question}`` and ``{answer}``.
    candidates : tuple of str
        What the model weighs as the next words; empty where it writes a reply instead.
    longest : int
        Tokens of that reply at most.
    """

    template: str
    candidates: tuple[str, ...] = ()
    longest: int = 0


@dataclass(frozen=True, slots=True)
class ConfidenceSource:
    """A source of confidences.

    Attributes
    ----------
    name : str
        What ``--confidence-from`` calls it.
    columns : tuple of str
        Names of its columns of confidences, the source's own first.
    confidences : callable
        From a response to the values of these columns, in [0, 1] or None where there is none.
    evidence : callable
        From a response to the other columns that the source adds.
    follow_up : FollowUp, optional
        What is asked about the answer.
    samples : bool, default False
        Whether samples of the answer are needed.
    missing : str, optional
        Why a confidence can be None; it follows "because".
    """

    name: str
    columns: tuple[str, ...]
    confidences: Callable[[Response], Sequence[float | None]]
    evidence: Callable[[Response], Mapping[str, object]]
    follow_up: FollowUp | None = None
    samples: bool = False
    missing: str | None = None
