"""What the scripts of the ledger share: rows as a user reads them, the ledger of them, what a finding's words mean.

A finding is judged by its words: `Meaning.of` finds the rows that a reader of the description would find.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars

from _data import FILES
from miscal.data.readers import read_triples
from miscal.data.triples import Triples
from miscal.discovery.estimating import HonestRows, expected_outcome
from miscal.discovery.findings import Ledger, write_ledger
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.field import MiscalibrationField
from miscal.findings.ledger import NAMED, Finding, clusters_of, readable, with_features

METADATA = {"mmlu": "subject", "mmlupro": "category", "stated": "dataset", "cifar100": "pred_superclass"}
"""Sets with metadata, and the column that says of which kind a row is, known before its outcome."""


def ledger_sets(folder: Path, chosen: Sequence[str] | None = None) -> list[str]:
    """Names, file/model, of the sets with metadata; `chosen` keeps those that contain one of its strings."""
    names = []
    for key in METADATA:
        if (path := folder / FILES[key][0]).exists():
            models = polars.read_parquet(path, columns=["model"])["model"].unique(maintain_order=True)
            names += [f"{key}/{model}" for model in models]
    return [name for name in names if not chosen or any(part in name for part in chosen)]


@lru_cache(maxsize=2)
def read_rows(folder: Path, name: str) -> Triples:
    """Read a set as `miscal discover` does, with its texts and its one column of metadata."""
    key, model = name.split("/", 1)
    path, inputs = (folder / file for file in FILES[key])
    place = polars.read_parquet(path, columns=["emb_row"])["emb_row"].to_numpy()
    return read_triples(
        path, confidence="f", correct="y", embeddings=np.load(inputs)[place], text="text", metadata=METADATA[key],
        where=f"model == '{model}'",
    )  # fmt: skip


def ledger_of(rows: Triples, seed: int = 0) -> Ledger:
    """Write the ledger of rows that all testify; no field is fitted, so that none of its ends is judged."""
    rows, none = replace(rows, split=None), np.zeros(len(rows))
    flat = FieldEstimate(none, none, none > 0, none, none, none, none[:, None], none)
    honest = HonestRows(rows, MiscalibrationField(), flat, expected_outcome(rows, seed), {})
    return write_ledger(honest, own_split=False, seed=seed)


@dataclass(frozen=True, eq=False)
class Meaning:
    """The rows that a description tells of.

    Attributes
    ----------
    columns : frozenset of str
    rows : bool array of shape (n,)
    """

    columns: frozenset[str]
    rows: np.ndarray

    @classmethod
    def of(cls, description: str, columns: Mapping[str, np.ndarray], text: Sequence[str] | None) -> Meaning | None:
        """Read a description; None where it is not made of values, intervals and terms of these columns."""
        read = _term(description, text) or _condition(description, columns)
        if read is not None:
            return read
        for word in (" and ", " or "):
            for cut in re.finditer(word, description):
                parts = [cls.of(half, columns, text) for half in (description[: cut.start()], description[cut.end() :])]
                if parts[0] is not None and parts[1] is not None:
                    join = np.logical_and if word == " and " else np.logical_or
                    return cls(parts[0].columns | parts[1].columns, join(parts[0].rows, parts[1].rows))
        return None


def _term(description: str, text: Sequence[str] | None) -> Meaning | None:
    found = re.fullmatch(r'"(\w+)" in the text', description)
    if found is None or text is None:
        return None
    return Meaning(frozenset(["text"]), _words(tuple(text)).get(found[1], np.zeros(len(text), bool)))


@lru_cache(maxsize=4)
def _words(text: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Rows that hold each word; words of one letter are none, as in the ledger's terms."""
    places: dict[str, list[int]] = {}
    for row, one in enumerate(text):
        for word in set(re.findall(r"\b\w\w+\b", one.lower())):
            places.setdefault(word, []).append(row)
    return {word: np.isin(np.arange(len(text)), rows) for word, rows in places.items() if len(rows) > 1}


def _condition(description: str, columns: Mapping[str, np.ndarray]) -> Meaning | None:
    for name in columns:
        if description.startswith(f"{name} "):
            rows = _cell(description[len(name) + 1 :], columns[name])
            if rows is not None:
                return Meaning(frozenset([name]), rows)
    return None


def _cell(words: str, values: np.ndarray) -> np.ndarray | None:
    missing = np.array([value is None or value != value or value == "(missing)" for value in values], bool)
    if words == "= (missing)":
        return missing
    numbers = _numbers(values, missing)
    if (found := re.fullmatch(r"= (.*)", words, re.DOTALL)) is not None:
        if numbers is None:
            rows = np.array([str(value) == found[1] for value in values], bool) & ~missing
        else:
            rows = np.isclose(numbers, _number(found[1]), rtol=1e-5) & ~missing
        return rows if rows.any() else None
    if numbers is None:
        return None
    low, high = -np.inf, np.inf
    if (found := re.fullmatch(r"(?:below|before) (\S+)", words)) is not None:
        high = _number(found[1])
    elif (found := re.fullmatch(r"after (\S+)", words)) is not None:
        return (numbers > _number(found[1])) & ~missing
    elif (found := re.fullmatch(r"between (\S+) and (\S+)", words)) is not None:
        return (numbers >= _number(found[1])) & (numbers <= _number(found[2])) & ~missing
    elif (found := re.fullmatch(r"at least (\S+)", words)) is not None:
        low = _number(found[1])
    elif (found := re.fullmatch(r"from (\S+) to below (\S+)", words)) is not None:
        low, high = _number(found[1]), _number(found[2])
    else:
        return None
    return (numbers >= low) & (numbers < high) & ~missing


def _numbers(values: np.ndarray, missing: np.ndarray) -> np.ndarray | None:
    """Numbers, or seconds since 1970 for dates; None for texts."""
    if values.dtype.kind in "iuf":
        return values.astype(float)
    if values.dtype.kind == "M":
        return np.where(missing, np.nan, values.astype("datetime64[s]").astype(np.int64))
    known = values[~missing]
    if values.dtype.kind == "O" and all(hasattr(value, "year") for value in known):
        dates = [None if gone else value for value, gone in zip(values, missing, strict=True)]
        return _numbers(np.array(dates, "M8[s]"), missing)
    if values.dtype.kind == "O" and all(isinstance(value, (int, float)) for value in known):
        return np.array([np.nan if gone else float(v) for v, gone in zip(values, missing, strict=True)])
    return None


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(written).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("nan")


def meaning(finding: Finding, rows: Triples) -> Meaning | None:
    """Read the words of a named finding as told of these rows, which need not be those it was found in."""
    if finding.source != NAMED:
        return None
    # a term is also described by what its texts are, which is no part of what its rows have in common
    words = finding.told.removeprefix("rows with ")
    columns = with_features(rows.metadata, rows.X, getattr(rows.encoder, "names", None))
    return Meaning.of(words, columns, rows.text)


def found_in(finding: Finding, rows: Triples, seed: int) -> Meaning | None:
    """Rows of a finding in the rows that it was found in: of a named one by its words, of a cluster as it was made."""
    if finding.source == NAMED:
        return meaning(finding, rows)
    for inside in _clusters(rows, seed):
        if inside.sum() == finding.n and np.isclose(rows.residual[inside].mean(), finding.residual):
            return Meaning(frozenset(finding.columns), inside)
    return None


@lru_cache(maxsize=2)
def _clusters(rows: Triples, seed: int) -> list[np.ndarray]:
    own_units = readable(getattr(rows.encoder, "names", None))
    return [inside for inside, _ in clusters_of(rows.X, own_units=own_units, seed=seed)]
