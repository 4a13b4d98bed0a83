"""What the scripts of the ledger share: rows as a user reads them, the ledger of them, the rows of its findings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars

from _data import FILES, METADATA, set_names
from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples
from miscal.discovery.discover import write_ledger
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import FittedRows
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import FieldEstimate
from miscal.findings.conditions.condition import Frame, InputClusters, with_features
from miscal.findings.ledger.document import Finding, Ledger


def ledger_sets(folder: Path | None) -> list[str]:
    """Names of the sets with metadata."""
    return [name for name in set_names(folder) if folder and name.split("/")[0] in METADATA]


@lru_cache(maxsize=2)
def read_rows(folder: Path, name: str) -> Triples:
    """Read a set as `miscal discover` does, with its texts and its one column of metadata."""
    key, model = name.split("/", 1)
    path, inputs = (folder / file for file in FILES[key])
    place = polars.read_parquet(path, columns=["emb_row"])["emb_row"].to_numpy()
    return read_triples(
        path, confidence="f", correct="y", embeddings=np.load(inputs)[place], text="text", names_only=METADATA[key],
        where=f"model == '{model}'",
    )  # fmt: skip


def ledger_of(rows: Triples, seed: int = 0) -> Ledger:
    """Write the ledger of rows that all are evaluated; no field is fitted, so that none of its ends is judged."""
    rows, none = replace(rows, split=None), np.zeros(len(rows))
    flat = FieldEstimate(none, none, none > 0, none, none, none, none[:, None], none)
    expected = expected_outcome(rows, seed), expected_outcome(rows, seed, flat.corrected)
    honest = FittedRows(rows, MiscalibrationField(), flat, *expected, {})
    return write_ledger(honest, own_split=False, seed=seed)


@dataclass(frozen=True, eq=False)
class Meaning:
    """The columns that a finding speaks of, and its rows.

    Attributes
    ----------
    columns : frozenset of str
    rows : bool array of shape (n,)
    """

    columns: frozenset[str]
    rows: np.ndarray


def found_in(finding: Finding, rows: Triples, clusters: InputClusters | None = None) -> Meaning | None:
    """Rows of a finding among any rows; None where they cannot be told."""
    columns = with_features(rows.metadata, rows.X, rows.encoder)
    frame = Frame(len(rows), columns, rows.text, rows.X, clusters)
    if finding.condition.lacks(frame) is not None:
        return None
    return Meaning(frozenset(finding.columns), finding.condition.rows(frame))
