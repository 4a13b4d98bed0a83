"""Ask open-ended questions where the weights are: have answers and samples written, and ask about the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from miscal.scoring.candidates import Encoded, encode
from miscal.scoring.engine import Evaluated, LanguageModel
from miscal.scoring.generation import Generated, Generation, Stream, WritingModel, uniforms
from miscal.scoring.open_ended.frequency import most_frequent
from miscal.scoring.open_ended.matching import normalised
from miscal.scoring.open_ended.response import Response
from miscal.scoring.open_ended.sources import SOURCES
from miscal.scoring.open_ended.sources.source import FollowUp
from miscal.scoring.prompts import render
from miscal.scoring.questions import Item

GREEDY, MOST_FREQUENT = "greedy", "most-frequent"
ANSWERS = (GREEDY, MOST_FREQUENT)


@dataclass(frozen=True, slots=True)
class EncodedQuestion(Encoded):
    """Token ids of the prompt of an open-ended question, with what seeds its samples and what is asked later needs.

    Attributes
    ----------
    id, question : str
    written : int
        Tokens that all its texts may have together.
    """

    id: str
    question: str
    written: int

    @property
    def cost(self) -> int:
        """Positions the model computes for this row at most, padding and questions about the answer aside."""
        return len(self.context) + self.written


@dataclass(frozen=True, slots=True)
class OpenEnded:
    """How open-ended questions are asked. Values are checked where they come in (`miscal.scoring.open_ended.options`).

    Attributes
    ----------
    sources : tuple of str
        Names of the sources of confidence; the first is the column ``confidence``.
    answer : {"greedy", "most-frequent"}
        Which answer is taken; the most frequent one is chosen by the first half of the samples.
    samples : int
        Samples of each answer; 0 where nothing needs them.
    temperature : float
        Of the samples.
    longest : int
        Tokens of an answer at most.
    seed : int
        Of the samples.
    """

    sources: tuple[str, ...]
    answer: str = GREEDY
    samples: int = 0
    temperature: float = 1.0
    longest: int = 32
    seed: int = 0

    @property
    def n_choosing(self) -> int:
        """Return how many of the samples choose the answer: none, or half of them, rounded up."""
        return (self.samples + 1) // 2 if self.answer == MOST_FREQUENT else 0

    def encode(self, items: Sequence[Item], model: LanguageModel) -> tuple[list[Encoded], dict[int, str]]:
        """Tokenise the prompts, leaving room for the answer; see `miscal.scoring.candidates.encode`."""
        room = max(1, model.max_length - self.longest)
        encoded, failed = encode(items, model.tokenize, max_length=room, n_lead=model.n_lead)
        named = {item.row: item for item in items}
        written = (1 + self.samples) * self.longest
        return [
            EncodedQuestion(
                row.row, row.context, row.added, row.cut, row.moved, named[row.row].id, named[row.row].text, written
            )
            for row in encoded
        ], failed

    def evaluate(self, model: WritingModel, batch: Sequence[EncodedQuestion]) -> Evaluated:
        """Have the questions of a batch answered, and ask what the sources ask about the answers.

        Returns
        -------
        Evaluated
            With a `Response`, as JSON, for every row; its log-probabilities are those of the greedy answer's tokens and
            of all candidates that were weighed.
        """
        written = self._written(model, batch)
        responses = [self._response(texts) for texts in written.texts]
        for name in self.sources:
            follow_up = SOURCES[name].follow_up
            if follow_up:
                responses = self._followed(model, batch, responses, name, follow_up)
        numbers = tuple(np.concatenate([r.answer.log_probs, *r.weighed.values()]) for r in responses)
        return Evaluated(numbers, written.hidden, tuple(response.to_json() for response in responses))

    def _written(self, model: WritingModel, batch: Sequence[EncodedQuestion]) -> Generated:
        streams: list[list[Stream]] = [
            [None, *(uniforms(self.seed, row.id, sample, self.longest) for sample in range(self.samples))]
            for row in batch
        ]
        contexts = [row.context for row in batch]
        return model.generate(contexts, streams, temperature=self.temperature, longest=self.longest)

    def _response(self, texts: Sequence[Generation]) -> Response:
        greedy, samples = texts[0], texts[1:]
        answer, first = greedy, samples[: self.n_choosing]
        if first:
            chosen = most_frequent([normalised(one.text) for one in first], preferred=normalised(greedy.text))
            answer = next(one for one in first if normalised(one.text) == chosen)
        return Response(answer, greedy.text, tuple(one.text for one in samples), self.n_choosing)

    @staticmethod
    def _followed(
        model: WritingModel,
        batch: Sequence[EncodedQuestion],
        responses: Sequence[Response],
        name: str,
        follow_up: FollowUp,
    ) -> list[Response]:
        prompts = [
            render(follow_up.template, question=row.question, answer=response.answer.text)
            for row, response in zip(batch, responses, strict=True)
        ]
        items = [
            Item(row.row, row.id, prompt, follow_up.candidates, -1, "open", row.question, (), {})
            for row, prompt in zip(batch, prompts, strict=True)
        ]
        room = max(1, model.max_length - follow_up.longest)
        encoded, failed = encode(items, model.tokenize, max_length=room, n_lead=model.n_lead)
        if failed:  # the runner asks row by row then, and marks the one that it comes from
            raise ValueError(f"the prompt of {name}: {next(iter(failed.values()))}")
        cut = [response.cut + row.cut for response, row in zip(responses, encoded, strict=True)]
        if follow_up.candidates:
            weighed = model.evaluate(encoded).log_probs
            return [
                replace(r, weighed={**r.weighed, name: tuple(w.tolist())}, cut=c)
                for r, w, c in zip(responses, weighed, cut, strict=True)
            ]
        contexts: list[Sequence[int]] = [row.context for row in encoded]
        streams: list[list[Stream]] = [[None]] * len(batch)
        told = model.generate(contexts, streams, temperature=1.0, longest=follow_up.longest).texts
        return [
            replace(r, replies={**r.replies, name: reply.text}, cut=c)
            for r, (reply,), c in zip(responses, told, cut, strict=True)
        ]
