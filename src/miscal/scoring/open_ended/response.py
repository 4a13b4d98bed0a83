"""What a model wrote about one open-ended question, before any formula looks at it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from miscal.scoring.generation import Generation


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a question, and what was asked about this answer.

    Attributes
    ----------
    answer : Generation
        The answer that all confidences are about.
    greedy : str
        The greedy answer; it is `answer` unless the most frequent one was asked for.
    samples : tuple of str
        Texts of the samples, in the order of their numbers.
    n_choosing : int
        How many of the samples, from the first on, chose the answer; 0 if it is the greedy one.
    weighed : mapping of str to tuple of float
        By source of a confidence: log-probabilities of the candidates it had weighed.
    replies : mapping of str to str
        By source: what the model wrote when it was asked about its answer.
    cut : int
        Tokens removed from the start of the prompts about the answer, where they were too long.
    """

    answer: Generation
    greedy: str
    samples: tuple[str, ...] = ()
    n_choosing: int = 0
    weighed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    replies: Mapping[str, str] = field(default_factory=dict)
    cut: int = 0

    def to_json(self) -> str:
        """Write it as one line of JSON; floats keep every digit."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Response:
        """Read what `to_json` wrote.

        Examples
        --------
        >>> response = Response(Generation("Rome", (-0.1, -0.25), True), "Rome", ("Rome", "Paris"))
        >>> Response.from_json(response.to_json()) == response
        True
        """
        values = json.loads(text)
        answer = values.pop("answer")
        return cls(
            **values
            | {
                "answer": Generation(answer["text"], tuple(answer["log_probs"]), answer["ended"]),
                "samples": tuple(values["samples"]),
                "weighed": {name: tuple(numbers) for name, numbers in values["weighed"].items()},
            }
        )
