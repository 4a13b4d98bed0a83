"""Which rows of several pairs on one data set are answers to the same question, and the split that models share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.folds import linked
from miscal.data.splits import permuted_split, split_by
from miscal.data.triples import Triples
from miscal.study.plan import SplitKind

LEAST = 0.1
"""Share of the rows that must have a partner in another pair, or a way of telling questions is not believed."""

_DIGEST = 16
"""Bytes of a digest: two of a billion inputs are alike by accident in one study of 10^20."""


@dataclass(frozen=True, eq=False)
class AskedRows:
    """What tells the questions of the rows of one pair.

    Attributes
    ----------
    source : str or None
        What the keys are of: the name of a column of ids, or a file whose rows they number.
    key : (n,) str
        Value of the column of ids, or number of the row in its file.
    content : (n,) str, or None
        Digest of the text or the embedding; None where inputs are columns of a table, of which equal ones are different
        cases that happen to agree.
    group : (n,) array, or None
        Named group: its rows count as one question.
    """

    source: str | None
    key: NDArray
    content: NDArray | None
    group: NDArray | None = None


def digests(triples: Triples) -> list[str] | None:
    """Digest the text, or the embedding, of each row; None where inputs are columns of a table.

    >>> found = digests(Triples.of([[0.0], [1.0], [0.0]], confidence=[0.5] * 3, correct=[0, 1, 0]))
    >>> found[0] == found[2], found[0] == found[1]
    (True, False)
    """
    if triples.text is not None:
        contents = (text.encode() for text in triples.text)
    elif triples.layout.table:
        return None
    else:
        # adding 0 turns -0.0 into 0.0, which is the same input and other bytes
        contents = (row.tobytes() for row in np.ascontiguousarray(triples.places) + np.float32(0))
    return [hashlib.blake2b(content, digest_size=_DIGEST).hexdigest() for content in contents]


def same_questions(pairs: Sequence[AskedRows]) -> list[NDArray[np.int64]]:
    """Give numbers to the questions of several pairs on one data set: for each pair (n,), from 0 without gaps over all.

    Rows are of one question if they have equal keys, where all pairs take them from a column of one name or from the
    rows of one file; else if their texts or embeddings are equal. The first way is taken that finds a partner in
    another pair for a tenth of all rows. Where none does, every row is a question of its own. Rows of one named group
    count as one question, whatever else they are, and so do the rows of other pairs that have their questions.

    >>> one, other = (AskedRows("id", np.array(keys), None) for keys in (["a", "b"], ["b", "c"]))
    >>> [numbers.tolist() for numbers in same_questions([one, other])]
    [[0, 1], [1, 2]]
    """
    lengths = [len(one.key) for one in pairs]
    pair = np.repeat(np.arange(len(pairs)), lengths)
    ways = []
    if pairs[0].source is not None and len({one.source for one in pairs}) == 1:
        ways.append([one.key for one in pairs])
    if all(one.content is not None for one in pairs):
        ways.append([one.content for one in pairs])
    believed = (found for found in map(_numbers, ways) if _shared(found, pair) >= LEAST)
    number = next(believed, np.arange(len(pair)))
    if any(one.group is not None for one in pairs):
        named = _numbers([one.group for one in pairs if one.group is not None])
        # where none are named, each row has a group of its own
        group = int(named.max()) + 1 + np.arange(len(pair))
        group[np.repeat([one.group is not None for one in pairs], lengths)] = named
        number = linked(number, group)[number]
    return np.split(number, np.cumsum(lengths)[:-1])


def _numbers(parts: Sequence[NDArray]) -> NDArray[np.int64]:
    """Give equal values of all parts one number, from 0."""
    values = pl.concat([pl.Series(part.astype(str)) for part in parts])
    return values.rank("dense").to_numpy().astype(np.int64) - 1


def _shared(number: NDArray[np.int64], pair: NDArray[np.int64]) -> float:
    """Share of the rows whose question another pair has, too."""
    both = np.unique(np.column_stack([number, pair]), axis=0)
    return float(np.mean(np.bincount(both[:, 0])[number] > 1))


# --- the split ----------------------------------------------------------------------------------------------------

PairKeys = tuple[Sequence[str], np.ndarray]
"""Of one pair: the key of each row, and numbers, equal where rows must stay together."""


def draw_split(
    parts: Sequence[PairKeys], *, kind: SplitKind, seed: int, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Split the keys of a data set 80/10/10: 'train', 'val' or 'test' by key, whatever the order of the pairs.

    "permutation" is the paper's: every key by itself. "grouped" keeps together the keys whose rows hang together in any
    pair. Keys that are `known` stay on their sides, and new ones that hang together with one of them go to its side.

    Examples
    --------
    >>> keys = [str(number) for number in range(200)]
    >>> sides = draw_split([(keys, np.arange(200))], kind="permutation", seed=0)
    >>> [list(sides.values()).count(name) for name in ("train", "val", "test")]
    [160, 20, 20]
    """
    keys = sorted({key for names, _ in parts for key in names})
    at = {key: number for number, key in enumerate(keys)}
    known = {key: side for key, side in (known or {}).items() if key in at}
    if kind == "permutation" and not known:
        return dict(zip(keys, permuted_split(len(keys), seed).tolist(), strict=True))
    units = np.arange(len(keys)) if kind == "permutation" else _linked_units(parts, at)
    # the first key of a unit decides for its new ones
    of_unit: dict[int, str] = {}
    for key, side in sorted(known.items()):
        of_unit.setdefault(int(units[at[key]]), side)
    sides = np.array([known.get(key) or of_unit.get(int(units[at[key]]), "") for key in keys], dtype="<U5")
    fresh = np.flatnonzero(sides == "")
    if len(fresh):
        sides[fresh] = split_by(fresh[:, None].astype(np.float64), units[fresh], seed=seed)[0]
    return dict(zip(keys, sides.tolist(), strict=True))


def _linked_units(parts: Sequence[PairKeys], at: Mapping[str, int]) -> np.ndarray:
    """Give keys that hang together in some pair, or by way of others, the same number; `at` numbers the keys."""
    numbers, codes, first = [], [], 0
    for names, units in parts:
        numbers += [at[name] for name in names]
        codes.append(first + np.unique(units, return_inverse=True)[1])
        first = int(codes[-1].max()) + 1
    return linked(np.array(numbers), np.concatenate(codes))
