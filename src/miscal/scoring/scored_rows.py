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
from miscal.scoring.questions import Item

COLUMNS = ("id", "text", "confidence", "correct", "predicted", "choices", "choice_probs", "candidate_mass")
"""Columns of every table of scored rows, before the metadata of the source."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows with their outcome, in the order of the questions; failed rows apart.

    Attributes
    ----------
    items : tuple of Item
        The rows that were scored.
    outcomes : tuple of Outcome
        One per item.
    failed : dict of int to str
        Row number to reason, for the rows that were not scored.
    """

    items: tuple[Item, ...]
    outcomes: tuple[Outcome, ...]
    failed: Mapping[int, str]

    def columns(self) -> dict[str, list]:
        """Return the columns `COLUMNS`, ``answer_index`` and the metadata, each a list in the order of the items."""
        pairs = list(zip(self.items, self.outcomes, strict=True))
        table = {
            "id": [item.id for item in self.items],
            "text": [item.text for item in self.items],
            "confidence": [result.confidence for result in self.outcomes],
            "correct": [result.correct for result in self.outcomes],
            "predicted": [result.predicted for result in self.outcomes],
            "choices": [list(item.choices) for item in self.items],
            "choice_probs": [result.probs.tolist() for result in self.outcomes],
            "candidate_mass": [result.mass for result in self.outcomes],
            "answer_index": [item.gold for item, _ in pairs],
        }
        return table | self.metadata()

    def metadata(self) -> dict[str, list]:
        """Return the metadata columns of the source; one named like a column of ours gets ``source_`` in front."""
        names = dict.fromkeys(name for item in self.items for name in item.metadata)
        taken = {*COLUMNS, "answer_index"}
        return {
            f"source_{name}" if name in taken else name: [item.metadata.get(name) for item in self.items]
            for name in names
        }

    def table(self) -> pl.DataFrame:
        """Return the columns as a data frame."""
        return pl.DataFrame(self.columns(), schema_overrides={"correct": pl.Int8, "predicted": pl.Int16}, strict=False)

    def triples(self, hidden: np.ndarray) -> Triples:
        """Return triples with the hidden states as X and the metadata, ``candidate_mass`` and ``predicted`` beside."""
        if not self.items:
            first = next(iter(self.failed.items()), (None, "there are none"))
            raise InputError(
                f"none of the {len(self.failed)} questions could be scored; the first is row {first[0]}: {first[1]}"
            )
        table = self.columns()
        beside = [*self.metadata(), "candidate_mass", "predicted"]
        triples = Triples.of(
            hidden,
            confidence=table["confidence"],
            correct=table["correct"],
            text=table["text"],
            metadata={name: np.asarray(table[name]) for name in beside},
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
    """Judge the rows whose log-probabilities are there.

    Parameters
    ----------
    items : sequence of Item
    encoded : sequence of Encoded
        For the number of tokens of each candidate.
    log_probs : mapping of int to ndarray of float64
        Row number to the log-probabilities of its candidates.
    failed : mapping of int to str
    form : str
        Form of the candidates (see `miscal.scoring.questions.FORMS`).
    """
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
