"""Scored rows put together: numbers of the batches joined to the items, as a table and as triples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from miscal.base.arrays import SHOWN
from miscal.base.errors import InputError
from miscal.data.triples import Triples
from miscal.scoring.candidates import Encoded
from miscal.scoring.outcomes import Outcome, outcome, scale
from miscal.scoring.questions import Item, metadata_columns


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
