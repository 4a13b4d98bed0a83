"""One split per data set, shared by all models on it: a question is on the same side for every one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from miscal.base.folds import linked
from miscal.data.splits import permuted_split, split_by
from miscal.study.plan import SplitKind

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
    alone = np.arange(len(keys))
    units = alone if kind == "permutation" else _together([(_at(names, at), own) for names, own in parts])
    if kind == "permutation" and not known:
        return dict(zip(keys, permuted_split(len(keys), seed).tolist(), strict=True))
    # the first key of a unit decides for its new ones
    of_unit: dict[int, str] = {}
    for key, side in sorted(known.items()):
        of_unit.setdefault(int(units[at[key]]), side)
    sides = np.array([known.get(key) or of_unit.get(int(units[at[key]]), "") for key in keys], dtype="<U5")
    fresh = np.flatnonzero(sides == "")
    if len(fresh):
        sides[fresh] = split_by(fresh[:, None].astype(np.float64), units[fresh], seed=seed)[0]
    return dict(zip(keys, sides.tolist(), strict=True))


def _at(names: Sequence[str], at: Mapping[str, int]) -> np.ndarray:
    return np.array([at[name] for name in names], dtype=np.int64)


def _together(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Give keys that hang together in some pair, or by way of others, the same number."""
    codes, first = [], 0
    for _, units in parts:
        codes.append(first + np.unique(units, return_inverse=True)[1])
        first = int(codes[-1].max()) + 1
    return linked(np.concatenate([keys for keys, _ in parts]), np.concatenate(codes))
