"""The steps of a discovery that learn: the split, the field fitted to train and validation rows, honest estimates."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from miscal.data.splits import split_rows, straddling
from miscal.data.triples import Triples
from miscal.discovery.findings import Ledger
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.honest import fit_honest
from miscal.findings import Subregimes


@dataclass(frozen=True, eq=False)
class EstimatedRows:
    """All rows of a run, and what was estimated for them without the outcome of any test row.

    Attributes
    ----------
    triples : Triples
        The rows, with their split.
    estimate : FieldEstimate
        Honest estimates of all rows.
    regime : ndarray of object, shape (n,)
        ``"over"``, ``"good"``, ``"under"``, or None where the field is not supported.
    subregimes : Subregimes
        Named parts of the regimes.
    corrections : dict of str to ndarray of float64, shape (n,)
        Confidences by the name of the correction; ``"raw"`` has none.
    ledger : Ledger
        The findings.
    expected : ndarray of float64, shape (n,)
        E[y | f] of every row, learned from rows that do not testify; in [0, 1].
    """

    triples: Triples
    estimate: FieldEstimate
    regime: np.ndarray
    subregimes: Subregimes
    corrections: dict[str, np.ndarray]
    ledger: Ledger
    expected: np.ndarray

    @property
    def test(self) -> np.ndarray:
        """Mask of the test rows: bool, shape (n,)."""
        return self.triples.split == "test"


def has_own_split(triples: Triples) -> bool:
    """Tell whether the user set test rows apart, rather than the seed."""
    columns = triples.source.get("columns")
    return triples.split is not None and (columns is None or columns.get("split") is not None)


def with_split(triples: Triples, seed: int) -> tuple[Triples, tuple[str, ...]]:
    """Give triples a split if they have none, and warn of what is unusual about the one they have.

    Parameters
    ----------
    triples : Triples
        With or without a split.
    seed : int
        Of the split.

    Returns
    -------
    triples : Triples
        With a split.
    warnings : tuple of str
        Of duplicates, and of equal inputs on both sides of the split.
    """
    if triples.split is not None:
        # a reader that made or took the split has already warned, in its notes
        return triples, () if triples.source.get("split") else straddling(triples)
    split, warnings = split_rows(triples, seed=seed)
    return replace(triples, split=split), tuple(warnings)


def fit_field(
    triples: Triples,
    *,
    method: str = "auto",
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> MiscalibrationField:
    """Fit the field on train and validation rows.

    Parameters
    ----------
    triples : Triples
        With a split.
    method, options, seed, n_jobs
        As for :func:`miscal.discovery.discover.discover`.

    Returns
    -------
    MiscalibrationField
        Fitted; no test row was looked at.
    """
    known = triples.take(triples.split != "test")
    return MiscalibrationField(method, random_state=seed, n_jobs=n_jobs, options=options).fit_triples(known)


def fit_and_estimate(
    triples: Triples,
    *,
    method: str = "auto",
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[MiscalibrationField, FieldEstimate]:
    """Fit the field, and estimate it at every row without any row's own outcome.

    Parameters
    ----------
    triples : Triples
        With a split.
    method, options, seed, n_jobs
        As for :func:`miscal.discovery.discover.discover`.

    Returns
    -------
    model : MiscalibrationField
        Fitted on the train and validation rows.
    estimate : FieldEstimate
        The model's estimate at test rows, K-fold estimates at train and validation rows; arrays of shape (n, ...),
        in the order of the rows.
    """
    test = triples.split == "test"
    model = MiscalibrationField(method, random_state=seed, n_jobs=n_jobs, options=options)
    folded = fit_honest(model, triples.take(~test))
    unseen = model.estimate(triples.X[test], triples.confidence[test])
    values = {
        item.name: _merged(test, getattr(unseen, item.name), getattr(folded, item.name)) for item in fields(unseen)
    }
    return model, FieldEstimate(**values)


def _merged(test: np.ndarray, unseen: np.ndarray, folded: np.ndarray) -> np.ndarray:
    both = np.empty((len(test), *unseen.shape[1:]), dtype=unseen.dtype)
    both[test], both[~test] = unseen, folded
    return both
