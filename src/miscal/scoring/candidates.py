"""Prompt and candidates as token ids: what the candidate adds to the prompt when both are tokenised together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    every = iter(tokenize([text for item in items for text in (item.prompt, *_joined(item.prompt, item))]))
    return [[next(every) for _ in range(1 + len(item.candidates))] for item in items]


def _joined(start: str, item: Item) -> list[str]:
    return [start + candidate for candidate in item.candidates]


def _from_last_lines(items: Sequence[Item], tokenize: Tokenize, n_lead: int) -> list[list[list[int]]]:
    """Return the same ids as `_together` for a fraction of the work: the last line, which is mostly the same, joined.

    A line's ids may be put in the place of the prompt's last ones where the prompt ends in them as they are and joining
    does not reach back to the line's first token; other items are tokenised whole.
    """
    lines = [item.prompt[item.prompt.rfind("\n") + 1 :] for item in items]
    texts = dict.fromkeys(t for line, item in zip(lines, items, strict=True) for t in (line, *_joined(line, item)))
    known = dict(zip(texts, (ids[n_lead:] for ids in tokenize(list(texts))), strict=True))
    found: list[list[list[int]] | None] = []
    for line, item, ids in zip(lines, items, tokenize([item.prompt for item in items]), strict=True):
        own, joints = known[line], [known[text] for text in _joined(line, item)]
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
