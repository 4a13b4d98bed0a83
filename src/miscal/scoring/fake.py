"""A language model made of hashes: deterministic, instant, good for documentation and tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from miscal.scoring.candidates import Encoded
from miscal.scoring.engine import Evaluated

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
