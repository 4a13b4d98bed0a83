"""What the scorer asks of a model, and batches run through one: halved when memory runs out, bad rows marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from miscal.base.errors import MiscalError, ResourceError
from miscal.scoring.candidates import Encoded
from miscal.scoring.model_source import ModelSpec

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
class BatchResult:
    """Numbers of one batch: the rows scored, their `Evaluated` numbers in this order, and reasons of the others."""

    rows: tuple[int, ...]
    log_probs: tuple[np.ndarray, ...]
    hidden: np.ndarray
    failed: dict[int, str]


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

    def run(self, batch: Sequence[Encoded]) -> BatchResult:
        """Score a batch; a row that the model cannot take is marked, as long as the model takes others."""
        try:
            parts = [self._attempt(part) for part in self._parts(batch)]
        except MiscalError:
            raise
        except Exception as error:
            return self._one_by_one(batch, error)
        return _checked(batch, _joined(parts))

    def _one_by_one(self, batch: Sequence[Encoded], error: Exception) -> BatchResult:
        """Find the rows that an error comes from; raise it where the model fails whatever it is given."""
        if not self._lives(batch[0]):
            raise error
        good, parts, failed = [], [], {}
        for row in batch:
            try:
                parts.append(self._attempt([row]))
                good.append(row)
            except MiscalError:
                raise
            except Exception as reason:
                if not self._lives(row):
                    raise
                failed[row.row] = (
                    f"the model failed: {type(reason).__name__}: {next(iter(str(reason).splitlines()), '')}"
                )
        if not good:
            return BatchResult((), (), np.zeros((0, self.model.width), dtype=np.float32), failed)
        result = _checked(good, _joined(parts))
        return replace(result, failed=failed | result.failed)

    def _lives(self, row: Encoded) -> bool:
        """Tell whether the model still takes the first token of a row: after some faults of a GPU it never does."""
        try:
            self.model.evaluate([replace(row, context=row.context[:1], added=())])
        except Exception:
            return False
        return True

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
        return _joined([self._attempt(part) for part in self._parts(batch)])


def _joined(parts: Sequence[Evaluated]) -> Evaluated:
    return Evaluated(
        tuple(value for part in parts for value in part.log_probs),
        np.concatenate([part.hidden for part in parts]),
    )


def _checked(batch: Sequence[Encoded], found: Evaluated) -> BatchResult:
    """Set aside the rows whose numbers are not finite."""
    log_probs, states = found.log_probs, found.hidden
    finite = [np.isfinite(state).all() and np.isfinite(v).all() for state, v in zip(states, log_probs, strict=True)]
    good = np.flatnonzero(finite)
    reason = "the model returned numbers that are not finite"
    failed = {row.row: reason for row, fine in zip(batch, finite, strict=True) if not fine}
    rows, values = tuple(batch[at].row for at in good), tuple(log_probs[at] for at in good)
    return BatchResult(rows, values, states[good], failed)
