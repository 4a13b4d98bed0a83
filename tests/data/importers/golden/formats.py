"""The golden files: one line each, which the contract of all importers and the fuzzing of their files go through."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Golden:
    """A file of a tool, and what is in it.

    ``confidence`` and ``outcome`` are what its first rows hold, in order (of judgements: judge and human). ``at`` is
    the key of the confidence inside a record; ``error`` is what a record holds whose test ended in an error. ``stated``
    says that confidences were stated in words, so that percent and probabilities are read alike. ``records`` are the
    keys that lead to the list of records, of which the first ``head`` are none. ``key`` tells rows apart.
    """

    tool: str
    file: str
    confidence: tuple[float, ...]
    outcome: tuple[float | None, ...]
    at: str = "confidence"
    stated: bool = True
    error: dict[str, Any] = field(default_factory=dict)
    records: tuple[str, ...] = ()
    head: int = 0
    key: tuple[str, ...] = ("id",)

    @property
    def path(self) -> Path:
        """The file."""
        return HERE / self.file


SAID, RIGHT = (0.9, 1.0, 0.75, 0.6), (1, 0, 1, 0)
JUDGED, VERDICTS = (0.9, 0.7, 0.8, 0.3), (1, 0, 1, None)
CHOSEN = (0.6652409557748219, 0.4683105308334812, 0.7053845126982412, 0.8668133321973349)
"""Largest softmax of (-1, -2 + k, -3), for k from 0 to 3."""

ASKED: dict[str, Any] = {"stated": False, "key": ("id", "question", "repeat", "model")}
BAD = {"malformed": True}
DECIDED, HIT = (0.9, 0.7, 0.6, 0.8, 0.66, 0.6, 0.5, 0.45, 0.5), (1, 1, 1, 1, 1, 0, 0, 0, 1)

FORMATS = (
    Golden("lm-eval", "lm_eval_stated.jsonl", (0.9, 0.75, 0.6), (1, 1, 0)),
    Golden("lm-eval", "lm_eval_choices.jsonl", (CHOSEN[0],), (1,), at="filtered_resps", stated=False),
    Golden("promptfoo", "promptfoo.json", SAID, RIGHT, error={"failureReason": 2}, records=("results", "results")),
    Golden("promptfoo", "promptfoo.jsonl", SAID, RIGHT, error={"failureReason": 2}),
    Golden("phoenix", "phoenix/annotations.csv", JUDGED, VERDICTS, at="result.score", stated=False),
    Golden("langfuse", "langfuse/scores.json", JUDGED, VERDICTS, at="value", stated=False, records=("data",)),
    Golden("decisions", "decisions.jsonl", DECIDED, HIT, at="noul", **ASKED),
    Golden("decisions", "decisions_app.json", (0.75, 0.6, 0.7, 0.8), (1, 0, 1, 1), at="noul", error=BAD, **ASKED),
    Golden("decisions", "decisions_bench.jsonl", (0.8, 0.4, 0.94, 0.5), (1, 0, 1, 0), at="probabilities", error=BAD,
           head=1, **ASKED),
)  # fmt: skip

REFUSED = (
    ("promptfoo", "deepeval.json", "holds no results of promptfoo"),
    ("phoenix", "langfuse/scores.json", "holds no annotations of Phoenix"),
    ("langfuse", "phoenix/annotations.csv", "holds no scores of Langfuse"),
    ("lm-eval", "promptfoo.jsonl", "is not a samples file of lm-eval"),
    ("decisions", "promptfoo.jsonl", "holds no answers of a decision model"),
)
"""Files that are refused, and the words that say why."""
