"""Run batches through a model: halve them when memory runs out, mark the rows that cannot be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from miscal.errors import ResourceError
from miscal.scoring.candidates import Encoded

_MEMORY_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory", "bad_alloc")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Numbers of one batch, in its order.

    Attributes
    ----------
    log_probs : tuple of ndarray of float64
        Per row, shape (n_candidates,): sum of the token log-probabilities.
    hidden : ndarray of float32, shape (n_rows, width)
        Hidden state at the last position of the context.
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
class BatchResult:
    """Numbers of one batch.

    Attributes
    ----------
    rows : tuple of int
        Rows scored, in the order of `log_probs` and `hidden`.
    log_probs : tuple of ndarray of float64
        Per row, shape (n_candidates,).
    hidden : ndarray of float32, shape (len(rows), width)
    failed : dict of int to str
        Rows without a result and the reason.
    """

    rows: tuple[int, ...]
    log_probs: tuple[np.ndarray, ...]
    hidden: np.ndarray
    failed: dict[int, str]


def ran_out_of_memory(error: BaseException) -> bool:
    """Tell a lack of memory, of whatever library, from other errors."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "AcceleratorOutOfMemoryError"):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _MEMORY_SIGNS)


class Runner:
    """Evaluate batches and remember the number of rows that fitted in memory.

    Parameters
    ----------
    model : LanguageModel
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.most_rows: int | None = None

    def run(self, batch: Sequence[Encoded]) -> BatchResult:
        """Score a batch.

        Raises
        ------
        ResourceError
            If not even one row fits in memory.
        """
        parts = [self._attempt(part) for part in self._parts(batch)]
        return _checked(batch, [value for part in parts for value in part.log_probs], [part.hidden for part in parts])

    def _parts(self, batch: Sequence[Encoded]) -> list[Sequence[Encoded]]:
        size = min(len(batch), self.most_rows or len(batch))
        return [batch[start : start + size] for start in range(0, len(batch), size)]

    def _attempt(self, batch: Sequence[Encoded]) -> Evaluated:
        try:
            return self.model.evaluate(batch)
        except Exception as error:
            if not ran_out_of_memory(error):
                raise
            if len(batch) == 1:
                raise ResourceError(
                    f"memory ran out on a single row of {batch[0].cost} tokens; use a smaller model or --dtype bfloat16"
                ) from error
        half = len(batch) // 2
        self.most_rows = min(self.most_rows or half, half)
        parts = [self._attempt(part) for part in self._parts(batch)]
        return Evaluated(tuple(v for p in parts for v in p.log_probs), np.concatenate([p.hidden for p in parts]))


def _checked(batch: Sequence[Encoded], log_probs: list[np.ndarray], hidden: list[np.ndarray]) -> BatchResult:
    """Set aside the rows whose numbers are not finite."""
    states = np.concatenate(hidden)
    good = [at for at in range(len(batch)) if np.isfinite(states[at]).all() and np.isfinite(log_probs[at]).all()]
    failed = {
        row.row: "the model returned numbers that are not finite" for at, row in enumerate(batch) if at not in set(good)
    }
    return BatchResult(tuple(batch[at].row for at in good), tuple(log_probs[at] for at in good), states[good], failed)
