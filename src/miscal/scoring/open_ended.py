"""Open-ended questions: a model writes its answer, and one or several confidences of this answer are taken.

Options are checked here, questions asked where the weights are, and the table of answers put together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import did_you_mean
from miscal.base.errors import InputError
from miscal.base.number_wording import percent
from miscal.scoring.answer_confidences import SOURCES, Response, is_accepted, most_frequent, normalised
from miscal.scoring.candidates import Encoded, encode
from miscal.scoring.engine import Evaluated, Generation, LanguageModel, Streams, WritingModel, uniforms
from miscal.scoring.options import ScoringOptions
from miscal.scoring.questions import Item, metadata_columns, render

LETTERS = "letters"
GREEDY, MOST_FREQUENT = "greedy", "most-frequent"
EXACT, LATER = "exact", "later"
DEFAULT_SAMPLES = 10


# --- options ---------------------------------------------------------------------------------------------------------


def confidence_sources(given: str | Sequence[str]) -> tuple[str, ...] | None:
    """Read the sources of confidence, each alone or several with commas; None for the letters of multiple choice.

    >>> confidence_sources("p-true,likelihood"), confidence_sources("letters")
    (('p-true', 'likelihood'), None)
    """
    parts = [given] if isinstance(given, str) else given
    names = [name.strip() for part in parts for name in part.split(",")]
    unknown = [name for name in names if name not in (LETTERS, *SOURCES)]
    if unknown or not names:
        hint = did_you_mean(unknown[0], (LETTERS, *SOURCES)) if unknown else ""
        allowed = f"{LETTERS}, or one or several of {', '.join(SOURCES)}"
        raise InputError(f"confidence_from must be {allowed}; got {', '.join(unknown)!r}{hint}")
    if len(set(names)) < len(names):
        raise InputError(f"confidence_from names a source twice: {', '.join(names)}")
    if names == [LETTERS]:
        return None
    if LETTERS in names:
        raise InputError(
            "confidence_from: letters are weighed in multiple choice, and the others are confidences of an answer that "
            f"the model writes; got {', '.join(names)}: score them into two folders"
        )
    return tuple(names)


def open_ended(sources: tuple[str, ...], how: ScoringOptions) -> OpenEnded:
    """Check the options and return how the questions are asked."""
    answer, samples, temperature, verdict = how.answer or GREEDY, how.samples, how.temperature, how.verdict or EXACT
    if answer not in (GREEDY, MOST_FREQUENT):
        raise InputError(f"answer must be one of {GREEDY}, {MOST_FREQUENT}; got {answer!r}")
    drawn = answer == MOST_FREQUENT or any(SOURCES[name].samples for name in sources)
    if not drawn and (samples is not None or temperature is not None):
        raise InputError(
            "samples and temperature change nothing here, because no samples are drawn: leave them out, or add "
            "frequency to confidence_from"
        )
    least = 2 if answer == MOST_FREQUENT else 1
    if samples is not None and samples < least:
        raise InputError(f"samples must be at least {least} for the {answer} answer; got {samples}")
    if temperature is not None and not (math.isfinite(temperature) and temperature > 0):
        raise InputError(f"temperature must be a positive number; got {temperature}")
    if how.max_new_tokens is not None and how.max_new_tokens < 1:
        raise InputError(f"max_new_tokens must be at least 1; got {how.max_new_tokens}")
    if verdict not in (EXACT, LATER):
        raise InputError(f"verdict must be one of {EXACT}, {LATER}; got {verdict!r}")
    n_samples = (samples or DEFAULT_SAMPLES) if drawn else 0
    return OpenEnded(sources, answer, n_samples, temperature or 1.0, how.max_new_tokens or 32, how.seed, verdict)


# --- asking ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenEnded:
    """How open-ended questions are asked; `open_ended` checks the values.

    The first of the ``sources`` is the column ``confidence``. The "most-frequent" answer is chosen by the first half of
    the samples, of which there are 0 where nothing needs them. ``longest`` counts the tokens of an answer. ``verdict``
    is who judges it: "exact" match with the accepted ones, or "later" somebody.
    """

    sources: tuple[str, ...]
    answer: str = GREEDY
    samples: int = 0
    temperature: float = 1.0
    longest: int = 32
    seed: int = 0
    verdict: str = EXACT

    @property
    def n_choosing(self) -> int:
        """Return how many of the samples choose the answer: none, or half of them, rounded up."""
        return (self.samples + 1) // 2 if self.answer == MOST_FREQUENT else 0

    def encode(self, items: Sequence[Item], model: LanguageModel) -> tuple[list[Encoded], dict[int, str]]:
        """Tokenise the prompts, leaving room for the answer; see `miscal.scoring.candidates.encode`."""
        encoded, failed = encode(
            items, model.tokenize, max_length=max(1, model.max_length - self.longest), n_lead=model.n_lead
        )
        written = (1 + self.samples) * self.longest
        return [replace(one, written=written) for one in encoded], failed

    def evaluate(self, model: WritingModel, batch: Sequence[Encoded]) -> Evaluated:
        """Have the questions of a batch answered, and ask what the sources ask about the answers.

        Every row has a `Response`, as JSON; its log-probabilities are those of the answer's tokens and of all
        candidates that were weighed.
        """
        streams: Streams = [
            [None, *(uniforms(self.seed, row.id, sample, self.longest) for sample in range(self.samples))]
            for row in batch
        ]
        contexts = [row.context for row in batch]
        written = model.generate(contexts, streams, temperature=self.temperature, longest=self.longest)
        responses = [self._response(texts) for texts in written.texts]
        for name in self.sources:
            if SOURCES[name].template:
                responses = _followed(model, batch, responses, name)
        numbers = tuple(np.concatenate([r.answer.log_probs, *r.weighed.values()]) for r in responses)
        return Evaluated(numbers, written.hidden, tuple(response.to_json() for response in responses))

    def _response(self, texts: Sequence[Generation]) -> Response:
        answer, *samples = texts
        greedy, first = answer.text, samples[: self.n_choosing]
        if first:
            chosen = most_frequent([normalised(one.text) for one in first], preferred=normalised(greedy))
            answer = next(one for one in first if normalised(one.text) == chosen)
        return Response(answer, greedy, tuple(one.text for one in samples), self.n_choosing)

    def describe(self) -> dict[str, Any]:
        """Return what a manifest records of how the questions are asked."""
        return {
            "confidence_from": list(self.sources),
            "answer": self.answer,
            "samples": self.samples,
            "temperature": self.temperature,
            "max_new_tokens": self.longest,
            "verdict": self.verdict,
            "follow_up_prompts": {name: SOURCES[name].template for name in self.sources if SOURCES[name].template},
        }

    def table(self, items: Sequence[Item], responses: Mapping[int, str]) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows that have a response, by row number, and what a manifest counts of them.

        The verdict is 1 for right, 0 for wrong, None where nobody has said what is right. The columns of every table
        are followed by the confidences, in the order of the sources, what the sources add, and the metadata.
        """
        items = [item for item in items if item.row in responses]
        said = [Response.from_json(responses[item.row]) for item in items]
        verdicts = [
            int(is_accepted(response.answer.text, item.choices)) if self.verdict == EXACT and item.choices else None
            for item, response in zip(items, said, strict=True)
        ]
        read = [
            {name: value for source in self.sources for name, value in SOURCES[source].read(one).items()}
            for one in said
        ]
        confidences = [name for source in self.sources for name in SOURCES[source].columns]
        columns = {
            "id": [item.id for item in items],
            "text": [item.text for item in items],
            "confidence": [row[confidences[0]] for row in read],
            "correct": verdicts,
            "predicted": [response.answer.text for response in said],
            "answers": [list(item.choices) for item in items],
            **{name: [row[name] for row in read] for name in dict.fromkeys([*confidences, *read[0]])},
        }
        columns |= metadata_columns(items, columns)
        kinds = {name: pl.Float64() for name in ("confidence", *confidences)}
        overrides = {"correct": pl.Int8(), "answers": pl.List(pl.String), **kinds}
        missing = {name: columns[name].count(None) for name in confidences}
        return pl.DataFrame(columns, schema_overrides=overrides, strict=False), {
            "without_verdict": verdicts.count(None),
            "missing_confidences": {name: n for name, n in missing.items() if n},
            "empty_answers": sum(not response.answer.text for response in said),
            "cut_answers": sum(not response.answer.ended for response in said),
            "shortened_follow_ups": sum(response.cut > 0 for response in said),
        }

    def notes(self, counts: Mapping[str, Any], n_scored: int, folder: Path) -> list[str]:
        """Say what must be known of the answers of a finished run, counted by `table`, a sentence each."""
        found = []
        for column, n in counts["missing_confidences"].items():
            why = next(source.missing for source in SOURCES.values() if column in source.columns)
            found.append(f"{column} is missing in {n:,} of {n_scored:,} rows ({percent(n / n_scored)}), because {why}")
        if counts["empty_answers"]:
            found.append(f"the model wrote no answer in {counts['empty_answers']:,} of {n_scored:,} rows")
        if counts["cut_answers"]:
            found.append(
                f"{counts['cut_answers']:,} of {n_scored:,} answers were cut at the largest number of tokens; "
                "--max-new-tokens allows longer ones"
            )
        if counts["without_verdict"]:
            why = "as asked for" if self.verdict == LATER else "because no answer is given as accepted"
            found.append(
                f"{counts['without_verdict']:,} of {n_scored:,} rows have no verdict yet, {why}: copy "
                f"{folder / 'triples.parquet'}, write 1 (right) or 0 (wrong) into its column correct, and go on with "
                f"miscal discover COPY --embeddings {folder / 'embeddings.safetensors'}"
            )
        return found


def _followed(
    model: WritingModel, batch: Sequence[Encoded], responses: Sequence[Response], name: str
) -> list[Response]:
    """Ask what a source asks about the answers."""
    source = SOURCES[name]
    items = [
        Item(
            row.row,
            row.id,
            render(source.template, question=row.text, answer=response.answer.text),
            rule="open",
            text=row.text,
            candidates=source.candidates,
        )
        for row, response in zip(batch, responses, strict=True)
    ]
    encoded, failed = encode(
        items, model.tokenize, max_length=max(1, model.max_length - source.longest), n_lead=model.n_lead
    )
    if failed:  # the runner asks row by row then, and marks the one that it comes from
        raise ValueError(f"the prompt of {name}: {next(iter(failed.values()))}")
    if source.candidates:
        given = [{name: tuple(values.tolist())} for values in model.evaluate(encoded).log_probs]
        kind = "weighed"
    else:
        contexts, streams = [row.context for row in encoded], [[None]] * len(batch)
        texts = model.generate(contexts, streams, temperature=1.0, longest=source.longest).texts
        given, kind = [{name: reply.text} for (reply,) in texts], "replies"
    return [
        replace(response, **{kind: {**getattr(response, kind), **own}}, cut=response.cut + row.cut)
        for response, own, row in zip(responses, given, encoded, strict=True)
    ]
