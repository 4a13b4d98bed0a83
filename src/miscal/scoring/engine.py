"""What a model is asked, as token ids; batches run through it, halved when memory runs out; a model of hashes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from miscal.base.errors import MiscalError, ResourceError
from miscal.scoring.model_source import ModelSpec
from miscal.scoring.questions import Item

Tokenize = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of one item.

    Attributes
    ----------
    row : int
        Row of the item.
    context : tuple of int
        The prompt, as every joint tokenisation begins.
    added : tuple of tuple of int
        What each candidate adds to the context.
    cut : int
        Tokens removed from the start of a prompt that was too long.
    moved : bool
        True if joining prompt and candidate changed the last tokens of the prompt: the context then ends earlier.
    """

    row: int
    context: tuple[int, ...]
    added: tuple[tuple[int, ...], ...]
    cut: int
    moved: bool

    @property
    def cost(self) -> int:
        """Positions the model computes for this row at most, padding aside."""
        single = all(len(ids) == 1 for ids in self.added)
        return len(self.context) + (0 if single else sum(len(ids) for ids in self.added))


def shared_length(first: Sequence[int] | str, second: Sequence[int] | str) -> int:
    """Return how many items two sequences share from their start on.

    >>> shared_length("another", "anonymous")
    3
    """
    for position, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return position
    return min(len(first), len(second))


def split_joint(prompt: Sequence[int], joints: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Split joint tokenisations into the context they share with the prompt and what each candidate adds.

    Parameters
    ----------
    prompt : sequence of int
        Ids of the prompt alone.
    joints : sequence of sequences of int
        Ids of the prompt joined with each candidate.

    Returns
    -------
    context : list of int
        Longest beginning of the prompt that all joints have.
    added : list of list of int
        The rest of each joint.

    >>> split_joint([5, 6], [[5, 6, 7], [5, 6, 8, 9]])
    ([5, 6], [[7], [8, 9]])
    >>> split_joint([5, 6], [[5, 67], [5, 6, 8]])       # the join merged the last token
    ([5], [[67], [6, 8]])
    """
    end = min((shared_length(prompt, joint) for joint in joints), default=len(prompt))
    return list(prompt[:end]), [list(joint[end:]) for joint in joints]


def _encode(item: Item, prompt: list[int], joints: list[list[int]], max_length: int, n_lead: int) -> Encoded:
    context, added = split_joint(prompt, joints)
    if not context:
        raise ValueError("the prompt has no tokens")
    if not all(added):
        raise ValueError("a candidate adds no token")
    keep = max_length - max((len(ids) for ids in added), default=0)
    if keep <= n_lead:
        raise ValueError(f"a candidate is longer than the {max_length} tokens that the model takes")
    # the leading special tokens and the end are kept
    kept = context if len(context) <= keep else context[:n_lead] + context[len(context) - (keep - n_lead) :]
    return Encoded(
        row=item.row,
        context=tuple(kept),
        added=tuple(tuple(ids) for ids in added),
        cut=len(context) - len(kept),
        moved=len(context) < len(prompt),
    )


def _together(items: Sequence[Item], tokenize: Tokenize) -> list[list[list[int]]]:
    """Ids of each prompt alone and joined with each candidate."""
    every = iter(tokenize([text for item in items for text in (item.prompt, *_continued(item.prompt, item))]))
    return [[next(every) for _ in range(1 + len(item.candidates))] for item in items]


def _continued(start: str, item: Item) -> list[str]:
    return [start + candidate for candidate in item.candidates]


def _from_last_lines(items: Sequence[Item], tokenize: Tokenize, n_lead: int) -> list[list[list[int]]]:
    """Return the same ids as `_together` for a fraction of the work: the last line, which is mostly the same, joined.

    A line's ids may be put in the place of the prompt's last ones where the prompt ends in them as they are and joining
    does not reach back to the line's first token; other items are tokenised whole.
    """
    lines = [item.prompt[item.prompt.rfind("\n") + 1 :] for item in items]
    texts = dict.fromkeys(t for line, item in zip(lines, items, strict=True) for t in (line, *_continued(line, item)))
    known = dict(zip(texts, (ids[n_lead:] for ids in tokenize(list(texts))), strict=True))
    found: list[list[list[int]] | None] = []
    for line, item, ids in zip(lines, items, tokenize([item.prompt for item in items]), strict=True):
        own, joints = known[line], [known[text] for text in _continued(line, item)]
        aligned = len(own) > 1 and ids[n_lead:][-len(own) :] == own and all(joint[:1] == own[:1] for joint in joints)
        found.append([ids, *(ids[: len(ids) - len(own)] + joint for joint in joints)] if aligned else None)
    rest = iter(_together([item for item, ids in zip(items, found, strict=True) if ids is None], tokenize))
    return [next(rest) if ids is None else ids for ids in found]


def encode(
    items: Sequence[Item], tokenize: Tokenize, *, max_length: int, n_lead: int = 0
) -> tuple[list[Encoded], dict[int, str]]:
    """Tokenise items; a row that cannot be tokenised is reported with its reason instead of stopping the others.

    Parameters
    ----------
    tokenize : callable
        Texts to lists of ids, with the tokenizer's default special tokens in front and none behind.
    max_length : int
        Tokens the model takes; longer prompts keep their leading special tokens and their end.
    n_lead : int, default 0
        Number of leading special tokens.

    Returns
    -------
    encoded : list of Encoded
        In the order of the items, without the rows that failed.
    failed : dict of int to str
        Row number to reason.
    """
    encoded, failed = [], {item.row: item.problem for item in items if item.problem}
    usable = [item for item in items if not item.problem]
    try:
        tokens = _from_last_lines(usable, tokenize, n_lead)
    except Exception:  # one bad text fails a whole call: find it by tokenising item by item
        tokens = [None] * len(usable)
    for item, ids in zip(usable, tokens, strict=True):
        try:
            prompt, *joints = ids if ids is not None else _together([item], tokenize)[0]
            encoded.append(_encode(item, prompt, joints, max_length, n_lead))
        except Exception as error:  # a poisoned row is marked, never the end of the run
            failed[item.row] = f"it cannot be tokenised: {type(error).__name__}: {error}"
    return encoded, failed


_MEMORY_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory", "bad_alloc")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Numbers of one batch, in its order.

    ``log_probs`` has for each row float64 (n_candidates,), sums of token log-probabilities. ``hidden``, float32
    (n_rows, width), is the hidden state at the last position of the context.
    """

    log_probs: tuple[np.ndarray, ...]
    hidden: np.ndarray


class LanguageModel(Protocol):
    """What the scorer asks of a model."""

    width: int
    max_length: int
    n_lead: int

    def describe(self) -> dict[str, object]:
        """Return what the manifest records: model, revision, dtype, width."""

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts to ids, default special tokens in front, none behind."""

    def evaluate(self, batch: Sequence[Encoded]) -> Evaluated:
        """Log-probabilities of the candidates and hidden states of a batch."""


@dataclass(frozen=True, slots=True)
class BatchAnswers:
    """What the model said of rows, before it is judged: by row, numbers as in `Evaluated`, or why there are none."""

    log_probs: dict[int, np.ndarray] = field(default_factory=dict)
    hidden: dict[int, np.ndarray] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)


# --- running -------------------------------------------------------------------------------------------------------


def ran_out_of_memory(error: BaseException) -> bool:
    """Tell a lack of memory, of whatever library, from other errors."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "AcceleratorOutOfMemoryError"):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _MEMORY_SIGNS)


class Runner:
    """Evaluate batches and remember the number of rows that fitted in memory.

    One of a `ModelSpec` says what is to be loaded (`compute_batch`).
    """

    def __init__(self, model: LanguageModel | ModelSpec) -> None:
        self.model: Any = model
        self.most_rows: int | None = None

    def run(self, batch: Sequence[Encoded], answers: BatchAnswers | None = None) -> BatchAnswers:
        """Score a batch, beside other answers; a row that the model cannot take is marked, if it takes others."""
        answers = answers or BatchAnswers()
        self._evaluate(batch, min(len(batch), self.most_rows or len(batch)), answers)
        return answers

    def _evaluate(self, batch: Sequence[Encoded], size: int, answers: BatchAnswers) -> None:
        """Evaluate so many rows at a time; fewer where memory runs out, and one by one where a row is the fault."""
        for start in range(0, len(batch), size):
            part, smaller = batch[start : start + size], 0
            try:
                found = self.model.evaluate(part)
            except MiscalError:
                raise
            except Exception as error:
                if ran_out_of_memory(error):
                    if len(part) == 1:
                        raise ResourceError(
                            f"memory ran out on a single row of {part[0].cost} tokens; use a smaller model or "
                            "--dtype bfloat16"
                        ) from error
                    smaller = self.most_rows = min(self.most_rows or len(part), len(part) // 2)
                elif len(part) > 1:
                    smaller = 1
                elif self._lives(part[0]):
                    said = next(iter(str(error).splitlines()), "")
                    answers.failed[part[0].row] = f"the model failed: {type(error).__name__}: {said}"
                    continue
                else:
                    raise
            if smaller:
                # not where the error is handled, which would keep what the pass held in memory
                self._evaluate(part, smaller, answers)
                continue
            for row, values, state in zip(part, found.log_probs, found.hidden, strict=True):
                if np.isfinite(values).all() and np.isfinite(state).all():
                    answers.log_probs[row.row], answers.hidden[row.row] = values, state
                else:
                    answers.failed[row.row] = "the model returned numbers that are not finite"

    def _lives(self, row: Encoded) -> bool:
        """Tell whether the model still takes the first token of a row: after some faults of a GPU it never does."""
        try:
            self.model.evaluate([replace(row, context=row.context[:1], added=())])
        except Exception:
            return False
        return True


_PIECE = re.compile(r" ?[A-Za-z]+| ?\d|\s|.")


def _seeded(tokens: Sequence[int]) -> np.random.Generator:
    digest = hashlib.sha256(np.asarray(tokens, dtype=np.int64).tobytes()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))


class FakeModel:
    """A model whose numbers depend on nothing but its input.

    It follows the same protocol as a real one (`miscal.scoring.engine.LanguageModel`).

    Parameters
    ----------
    width : int, default 16
        Size of the hidden state.
    max_length : int, default 512
        Tokens it takes.

    Examples
    --------
    >>> from miscal.scoring import Question, score
    >>> triples = score(FakeModel(), [Question("q1", "1 + 1?", ("2", "3"), 0), Question("q2", "2 + 2?", ("5", "4"), 1)])
    >>> triples.X.shape, bool(((triples.confidence >= 0.5) & (triples.confidence <= 1)).all())
    ((2, 16), True)
    """

    n_lead = 0

    def __init__(self, width: int = 16, max_length: int = 512) -> None:
        self.width = width
        self.max_length = max_length

    def describe(self) -> dict[str, object]:
        """Return what a manifest records of the model."""
        return {"model": "fake", "revision": "1", "dtype": "float32", "width": self.width}

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Cut texts into words, digits and signs; ids are hashes of the pieces."""
        return [[int(hashlib.sha256(p.encode()).hexdigest()[:6], 16) for p in _PIECE.findall(text)] for text in texts]

    def evaluate(self, batch: Sequence[Encoded]) -> Evaluated:
        """Score a batch; a row's numbers do not depend on its neighbours."""
        hidden = np.stack([_seeded(row.context).standard_normal(self.width) for row in batch]).astype(np.float32)
        log_probs = tuple(
            np.array([-_seeded((*row.context, *ids)).exponential(2.0) - len(ids) for ids in row.added]) for row in batch
        )
        return Evaluated(log_probs, hidden)
