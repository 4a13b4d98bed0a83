"""The findings of a run: which rows testify, which outcomes were expected of them, and the ledger of named groups."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from miscal.discovery.estimating import ALL, TEST, HonestRows, expected_outcome
from miscal.discovery.json_values import clean_text, plain
from miscal.discovery.summary import FindingNumbers, FindingsMethod
from miscal.findings.ledger import (
    ADJUSTMENT,
    LEDGER_DEFAULTS,
    Finding,
    Witnesses,
    find,
    named_groups,
    with_features,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Ledger:
    """The findings of a run.

    Attributes
    ----------
    findings : tuple of Finding
        The strongest first.
    candidates : int
        Named groups that were tested.
    evidence : str
        ``"all"`` or ``"test"``: the rows that testified.
    n : int
        Their number.
    """

    findings: tuple[Finding, ...]
    candidates: int
    evidence: str
    n: int

    def numbers(self) -> tuple[FindingNumbers, ...]:
        """Return the findings in the shape of ``summary.json``."""
        return tuple(FindingNumbers(**plain(one.to_dict())) for one in self.findings)

    def method(self) -> FindingsMethod:
        """Say how the findings were chosen."""
        return FindingsMethod(
            candidates=self.candidates,
            adjustment=ADJUSTMENT,
            level=LEDGER_DEFAULTS.significance,
            evidence=self.evidence,
            n=self.n,
        )


def write_ledger(rows: HonestRows, *, own_split: bool, seed: int) -> Ledger:
    """Test every named group of the rows that may testify.

    Parameters
    ----------
    rows : HonestRows
        Honest estimates of all rows.
    own_split : bool
        Whether the user set the test rows apart: then they alone testify.
    seed : int
        Of the folds, and of the order of rows of equal confidence.

    Returns
    -------
    Ledger
    """
    # named groups are fixed before any outcome is seen: all rows may testify, unless the user set some apart
    evidence = TEST if own_split else ALL
    witness = rows.testifies if own_split else np.ones(len(rows.triples), dtype=bool)
    triples = rows.triples.take(witness)
    expected = rows.expected if evidence == rows.evidence else expected_outcome(replace(triples, split=None), seed)
    columns = with_features(triples.metadata, triples.X, getattr(triples.encoder, "names", None))
    groups = named_groups(columns, triples.text)
    hidden = rows.estimate.hidden[witness]
    witnesses = Witnesses(triples.correct, triples.confidence, expected[witness], hidden, triples.row)
    findings = tuple(_printable(one) for one in find(witnesses, groups, seed=seed))
    return Ledger(findings, len(groups), evidence, len(triples))


def findings_table(ledger: Ledger) -> "pl.DataFrame":
    """Write the findings down, a row each.

    Parameters
    ----------
    ledger : Ledger

    Returns
    -------
    polars.DataFrame
        The content of ``findings.parquet``; no rows where nothing was found.
    """
    import polars as pl

    rows = []
    for one in ledger.findings:
        told = one.to_dict()
        hidden = told.pop("hidden")
        low, high = hidden["interval"]
        rows.append({**told, "hidden": hidden["value"], "hidden_low": low, "hidden_high": high})
    return pl.DataFrame(rows, schema=_schema(), orient="row")


def _schema() -> dict:
    import polars as pl

    numbers = ("share", "accuracy", "confidence", "residual", "visible", "hidden", "hidden_low", "hidden_high")
    tested = ("odds_ratio", "p_value", "p_adjusted")
    return {
        "description": pl.String,
        "source": pl.String,
        "columns": pl.List(pl.String),
        "n": pl.Int64,
        **dict.fromkeys((*numbers, *tested), pl.Float64),
        "sign": pl.String,
        "explained": pl.Float64,
        "aliases": pl.List(pl.String),
        "rows": pl.List(pl.Int64),
    }


def _printable(finding: Finding) -> Finding:
    """Names of columns and values come from the data: keep them to characters that can be written anywhere."""
    columns, aliases = (tuple(clean_text(text) for text in texts) for texts in (finding.columns, finding.aliases))
    return replace(finding, description=clean_text(finding.description), columns=columns, aliases=aliases)
