"""From the log-probabilities of candidates to confidence and outcome, and scored rows as a table and as triples.

Source: arXiv 2605.13484, appendix on real data: log p(v | prompt) is the sum over the tokens of v, renormalised over
the candidates by a softmax.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from miscal.base.arrays import SHOWN
from miscal.base.errors import InputError
from miscal.data.triples import Triples
from miscal.scoring.candidates import Encoded
from miscal.scoring.questions import Item, metadata_columns


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model answered.

    ``probs``, (n_candidates,), sum to 1 over the candidates; ``predicted`` is the position of the most probable one,
    the first of equals, and ``tied`` whether another is exactly as probable. ``confidence`` is by the rule "top" that
    of the predicted candidate, by "first" that of the first one; ``correct`` is whether this candidate is right.
    ``mass`` in [0, 1] is the probability of all candidates before renormalising, whatever the length normalisation.
    """

    probs: np.ndarray
    predicted: int
    confidence: float
    correct: int
    mass: float
    tied: bool


def softmax(values: np.ndarray) -> np.ndarray:
    """Return exp(v) / sum exp(v), computed from the largest value down."""
    shifted = np.exp(values - values.max())
    return shifted / shifted.sum()


def scale(form: str, candidates: tuple[str, ...], n_tokens: np.ndarray) -> np.ndarray:
    """Return what each log-probability is divided by: 1, its number of tokens, or its number of UTF-8 bytes.

    The bytes are those of the answer, without the blank before it.
    """
    if form == "text_per_token":
        return n_tokens.astype(np.float64)
    if form == "text_per_byte":
        return np.array([max(1, len(text.removeprefix(" ").encode())) for text in candidates], dtype=np.float64)
    return np.ones(len(candidates))


def outcome(log_probs: np.ndarray, *, gold: int, rule: str, divisor: np.ndarray | None = None) -> Outcome:
    """Judge one row.

    Parameters
    ----------
    log_probs : ndarray of float64, shape (n_candidates,)
        Sum of the token log-probabilities of each candidate, <= 0 up to rounding.
    gold : int
        Position of the right candidate.
    rule : {"top", "first"}
        Whose probability is the confidence (see `Outcome`).
    divisor : ndarray of float64, shape (n_candidates,), optional
        Length normalisation (see `scale`); default none.

    >>> result = outcome(np.log([0.1, 0.3, 0.1]), gold=1, rule="top")
    >>> round(result.confidence, 6), result.correct, round(result.mass, 6)
    (0.6, 1, 0.5)
    """
    probs = softmax(log_probs if divisor is None else log_probs / divisor)
    predicted = int(np.argmax(probs))
    spoken = predicted if rule == "top" else 0
    mass = float(min(1.0, np.exp(log_probs).sum()))
    tied = int((probs == probs[predicted]).sum()) > 1
    return Outcome(probs, predicted, float(min(1.0, probs[spoken])), int(spoken == gold), mass, tied)


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows with their outcome, in the order of the questions; failed rows apart.

    ``outcomes`` has one per item; ``failed`` is row number to reason.
    """

    items: tuple[Item, ...]
    outcomes: tuple[Outcome, ...]
    failed: Mapping[int, str]

    def columns(self) -> tuple[dict[str, list], dict[str, list]]:
        """Return our columns and those of the metadata, each a list in the order of the items."""
        own = {
            "id": [item.id for item in self.items],
            "text": [item.text for item in self.items],
            "confidence": [result.confidence for result in self.outcomes],
            "correct": [result.correct for result in self.outcomes],
            "predicted": [result.predicted for result in self.outcomes],
            "choices": [list(item.choices) for item in self.items],
            "choice_probs": [result.probs.tolist() for result in self.outcomes],
            "candidate_mass": [result.mass for result in self.outcomes],
            "answer_index": [item.gold for item in self.items],
        }
        return own, metadata_columns(self.items, own)

    def table(self) -> pl.DataFrame:
        """Return the columns as a data frame."""
        own, beside = self.columns()
        return pl.DataFrame(own | beside, schema_overrides={"correct": pl.Int8, "predicted": pl.Int16}, strict=False)

    def triples(self, hidden: np.ndarray) -> Triples:
        """Return triples with the hidden states as X and the metadata, ``candidate_mass`` and ``predicted`` beside."""
        if not self.items:
            first = next(iter(self.failed.items()), (None, "there are none"))
            raise InputError(
                f"none of the {len(self.failed)} questions could be scored; the first is row {first[0]}: {first[1]}"
            )
        own, beside = self.columns()
        beside |= {name: own[name] for name in ("candidate_mass", "predicted")}
        triples = Triples.of(
            hidden,
            confidence=own["confidence"],
            correct=own["correct"],
            text=own["text"],
            metadata={name: np.asarray(values) for name, values in beside.items()},
        )
        return replace(triples, row=np.array([item.row for item in self.items]), notes=self._left_out())

    def _left_out(self) -> tuple[str, ...]:
        if not self.failed:
            return ()
        shown = "; ".join(f"row {row}: {reason}" for row, reason in list(self.failed.items())[:SHOWN])
        more = "; ..." if len(self.failed) > SHOWN else ""
        return (f"{len(self.failed)} rows could not be scored and were left out ({shown}{more})",)


def assemble(
    items: Sequence[Item],
    encoded: Sequence[Encoded],
    log_probs: Mapping[int, np.ndarray],
    failed: Mapping[int, str],
    form: str,
) -> Scored:
    """Judge the rows whose log-probabilities are there, by row number."""
    n_tokens = {row.row: np.array([len(ids) for ids in row.added]) for row in encoded}
    kept = tuple(item for item in items if item.row in log_probs)
    results = tuple(
        outcome(
            log_probs[item.row],
            gold=item.gold,
            rule=item.rule,
            divisor=scale(form, item.candidates, n_tokens[item.row]),
        )
        for item in kept
    )
    return Scored(kept, results, dict(sorted(failed.items())))
