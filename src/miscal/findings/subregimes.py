"""Subregimes: coherent, named parts of the over and under regimes, confirmed or not on rows they were not cut on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_features, check_lengths
from miscal.base.errors import InputError
from miscal.findings import naming
from miscal.findings.cut import check_field
from miscal.findings.enrichment import Enriched, encode, enrich
from miscal.findings.parts import MAX_PARTS, Cut, Geometry, canonical_order, cut_parts, fit_geometry
from miscal.findings.residuals import Residual, holm, mean_residual

PARENTS = ("over", "under")
LEVEL = 0.05
N_EXEMPLARS = 5
EXEMPLAR_POOL = 500
TEXT_START = 80
"""Exemplars come from the `EXEMPLAR_POOL` rows nearest the centre; texts begin alike if their first `TEXT_START`
characters are the same."""

MIN_ROWS = 50
MIN_SHARE = 0.01


@dataclass(frozen=True)
class Subregime:
    """A coherent, named part of a regime.

    It is cut and named on train and validation rows (their honest K-fold field) and measured on test rows.

    Attributes
    ----------
    name : str
        Unique among the subregimes; from metadata, keywords, features, or the regime and a number.
    parent : str
        ``"over"`` or ``"under"``.
    n : int
        Test rows.
    share : float
        Their share of all test rows, in [0, 1].
    accuracy, confidence : float or None
        Means over the test rows, in [0, 1]; None of no rows.
    residual : Residual
        Mean of ``y - f`` over the test rows (negative: over-confident), 95 % interval and raw two-sided p-value.
    p_value : float
        The p-value adjusted by Holm over all subregimes; 1 of no rows.
    confirmed : bool
        Whether `p_value` is at most 0.05 and the residual has the sign of the parent.
    n_fit : int
        Train and validation rows.
    delta : float
        Mean honest field over the train and validation rows, in [-1, 1].
    keywords : tuple of str
        Terms that set its texts apart, the weightiest first.
    metadata : tuple of Enriched
        Metadata values commoner in it than elsewhere, the most telling first.
    exemplars : tuple of int
        Row numbers of at most five train or validation rows nearest its centre, with distinct texts (where possible
        texts that begin differently).
    """

    name: str
    parent: str
    n: int
    share: float
    accuracy: float | None
    confidence: float | None
    residual: Residual
    p_value: float
    confirmed: bool
    n_fit: int
    delta: float
    keywords: tuple[str, ...]
    metadata: tuple[Enriched, ...]
    exemplars: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of ``subregimes`` in ``summary.json``."""
        return {
            **self.__dict__,
            "residual": self.residual.to_dict(),
            "keywords": list(self.keywords),
            "metadata": [item.to_dict() for item in self.metadata],
            "exemplars": list(self.exemplars),
        }


@dataclass(frozen=True)
class Partition:
    """The cut: any row, new ones too, belongs to the part of the nearest centre of its own regime.

    Attributes
    ----------
    geometry : Geometry
        Where distances are taken.
    cuts : dict of str to Cut
        Parts of each regime.
    """

    geometry: Geometry
    cuts: dict[str, Cut]

    @property
    def parents(self) -> list[str]:
        """Regime of every part."""
        return [parent for parent in PARENTS for _ in range(self.cuts[parent].n_parts)]

    def assign(self, coordinates: np.ndarray, features: np.ndarray | None, regime: np.ndarray) -> np.ndarray:
        """Find the part of every row.

        Parameters
        ----------
        coordinates : ndarray of shape (n, k)
            Learned coordinates.
        features : ndarray of shape (n, d) or None
            Inputs, if the partition was cut with them.
        regime : ndarray of shape (n,), object
            ``"over"``, ``"good"``, ``"under"`` or None.

        Returns
        -------
        ndarray of shape (n,), int
            Index into `parents`; -1 for rows of no part.
        """
        return self.parts_at(self.geometry(coordinates, features), regime)

    def parts_at(self, positions: np.ndarray, regime: np.ndarray) -> np.ndarray:
        """Find the part of every row from its position in `geometry`; as `assign`."""
        part = np.full(len(regime), -1)
        for parent in PARENTS:
            if self.cuts[parent].n_parts:
                rows = regime == parent
                part[rows] = self.cuts[parent].assign(positions[rows]) + self.parents.index(parent)
        return part


@dataclass(frozen=True)
class Subregimes:
    """All subregimes of a run.

    Attributes
    ----------
    table : tuple of Subregime
        Those of the over regime first, the strongest mean field first. Unconfirmed ones stay in it.
    name : ndarray of shape (n,), object
        Name of every row's subregime, None for rows of none.
    partition : Partition
        The cut, for new rows; its parts are in the order of `table`.
    """

    table: tuple[Subregime, ...]
    name: np.ndarray
    partition: Partition


@dataclass(frozen=True)
class _Rows:
    """The rows in canonical order, with what is known of them; `at` is where each stands in the caller's arrays."""

    at: np.ndarray
    delta: np.ndarray
    regime: np.ndarray
    test: np.ndarray
    correct: np.ndarray
    confidence: np.ndarray
    row: np.ndarray
    text: np.ndarray | None

    @cached_property
    def fit(self) -> np.ndarray:
        """Indices of train and validation rows."""
        return np.flatnonzero(~self.test)

    def take(self, index: np.ndarray) -> "_Rows":
        return _Rows(**{key: None if values is None else values[index] for key, values in self.fields().items()})

    def fields(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__dataclass_fields__}


def find_subregimes(
    coordinates: np.ndarray,
    delta: np.ndarray,
    regime: np.ndarray,
    *,
    split: np.ndarray,
    correct: np.ndarray,
    confidence: np.ndarray,
    features: np.ndarray | None = None,
    feature_names: Sequence[str] | None = None,
    text: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    row: np.ndarray | None = None,
    min_rows: int | None = None,
    max_parts: int = MAX_PARTS,
    random_state: int | np.random.Generator = 0,
) -> Subregimes:
    """Cut the over and under regimes into coherent, named parts and test each on unseen rows.

    Train and validation rows of a regime are cut by k-means into as many clusters as would be found again in other
    rows, and clusters that run into each other are one part unless their fields differ
    (:func:`miscal.findings.parts.cut_parts`); metadata, texts and outcomes of test rows take no part in it. Test rows
    go to the nearest centre of their own regime. The mean residual of each part's test rows is tested exactly,
    two-sided (:func:`miscal.findings.residuals.mean_residual`), with Holm's adjustment over all parts of both regimes.

    Parameters
    ----------
    coordinates : array_like of shape (n, k)
        Learned coordinates: inputs that are miscalibrated alike lie close.
    delta : array_like of shape (n,), in [-1, 1]
        The field; K-fold (honest) values on train and validation rows. Negative: over-confident.
    regime : array_like of shape (n,)
        ``"over"``, ``"good"``, ``"under"``, or None where there is none, as :func:`miscal.findings.cut` gives it.
    split : array_like of shape (n,)
        ``"train"``, ``"val"`` or ``"test"``.
    correct : array_like of shape (n,), 0 or 1
        Outcomes; only those of test rows are used.
    confidence : array_like of shape (n,), in [0, 1]
        Confidences.
    features : array_like of shape (n, d), optional
        Inputs: their leading components stand beside the coordinates, so that parts also have a common subject.
    feature_names : sequence of str of length d, optional
        Names of at most 30 features, for names such as ``"age > 60"``; more are not used.
    text : sequence of str of length n, optional
        Texts, for keywords and distinct exemplars.
    metadata : mapping of str to array_like of shape (n,), optional
        Columns that explain, those that a name should rather use first. Identifiers are passed over.
    row : array_like of shape (n,), int, optional
        Row numbers of the data; default 0 to n - 1.
    min_rows : int, optional
        Least train and validation rows of a part; default 50, or 1 % of them if that is more. A regime with fewer
        has no subregime.
    max_parts : int
        Most parts per regime.
    random_state : int or numpy.random.Generator
        Draws of k-means and of halves.

    Returns
    -------
    Subregimes
        Table, the name for every row, and the cut.

    Raises
    ------
    InputError
        If lengths differ, numbers are not finite, `feature_names` do not match `features`, or all rows are test rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], 500)
    >>> x = group[:, None] * 20.0 + rng.normal(size=(1000, 2))
    >>> split = np.where(rng.random(1000) < 0.2, "test", "train")
    >>> y = (rng.random(1000) < 0.5).astype(float)
    >>> found = find_subregimes(x, np.full(1000, -0.4), np.full(1000, "over"), split=split, correct=y,
    ...     confidence=np.full(1000, 0.9), metadata={"subject": np.array(["law", "math"])[group]})
    >>> sorted(part.name for part in found.table)
    ['subject = law (2.0x)', 'subject = math (2.0x)']
    >>> all(part.confirmed and part.residual.value < 0 for part in found.table)
    True
    """
    coordinates = check_features(coordinates, name="coordinates")
    features = None if features is None else check_features(features, name="features")
    names = _named(features, feature_names)
    rows = _Rows(
        at=np.arange(len(coordinates)),
        delta=check_field(delta),
        regime=np.asarray(regime, dtype=object),
        test=np.asarray(split).astype(str) == "test",
        correct=check_correct(correct),
        confidence=check_confidence(confidence),
        row=np.arange(len(coordinates)) if row is None else np.asarray(row),
        text=None if text is None else np.array(["" if value is None else str(value) for value in text], dtype=object),
    )
    check_lengths(coordinates=coordinates, features=features, **rows.fields())
    if rows.test.all():
        raise InputError("split: all rows are test rows; parts are cut on train and val rows, give some of those")
    rows = rows.take(canonical_order(coordinates, features, rows.row))
    rng = np.random.default_rng(random_state)
    geometry = fit_geometry(coordinates, features, rows.at[rows.fit], rng)
    positions = geometry(coordinates, features)[rows.at]
    size = min_rows or max(MIN_ROWS, int(np.ceil(MIN_SHARE * len(rows.fit))))
    partition = Partition(geometry, _cut(rows, positions, rng, size, max_parts))
    part = partition.parts_at(positions, rows.regime)
    told = _explain(rows, part, partition.parents, metadata or {}, names, rng)
    table = _measure(rows, positions, part, partition.parents, told)
    name_of_row = np.full(len(rows.at), None, dtype=object)
    name_of_row[rows.at] = np.array([*told.names, None], dtype=object)[part]
    return Subregimes(table, name_of_row, partition)


def _named(features: np.ndarray | None, names: Sequence[str] | None) -> tuple[np.ndarray, Sequence[str]] | None:
    """Features with their names, if they are few enough to be told in a name."""
    if features is None or names is None or len(names) > naming.MAX_NAMED_FEATURES:
        return None
    if len(names) != features.shape[1]:
        raise InputError(f"feature_names must name the {features.shape[1]} columns of features; {len(names)} came")
    return features, names


def _cut(rows: _Rows, positions: np.ndarray, rng: np.random.Generator, size: int, max_parts: int) -> dict[str, Cut]:
    """Cut each regime by its train and validation rows."""
    cuts: dict[str, Cut] = {}
    for parent in PARENTS:
        chosen = rows.fit[rows.regime[rows.fit] == parent]
        cuts[parent] = cut_parts(positions[chosen], rows.delta[chosen], rng, min_rows=size, max_parts=max_parts)
    return cuts


@dataclass(frozen=True)
class _Told:
    """What is said of every part."""

    names: list[str]
    keywords: list[tuple[str, ...]]
    metadata: list[tuple[Enriched, ...]]


def _explain(
    rows: _Rows,
    part: np.ndarray,
    parents: list[str],
    metadata: Mapping[str, Any],
    named: tuple[np.ndarray, Sequence[str]] | None,
    rng: np.random.Generator,
) -> _Told:
    """Enriched metadata, keywords and name of every part, from train and validation rows."""
    n_parts = len(parents)
    encoded = [encode(name, np.asarray(values)[rows.at[rows.fit]]) for name, values in metadata.items()]
    columns = [column for column in encoded if column is not None]
    enriched = enrich(columns, part[rows.fit], n_parts)
    some = rows.fit[np.sort(rng.permutation(len(rows.fit))[: naming.MAX_TEXTS])]
    words, rules = [()] * n_parts, [""] * n_parts
    if rows.text is not None:
        words = naming.keywords(rows.text[some], part[some], n_parts)
    if named is not None:
        features, names = named
        rules = naming.feature_rules(features[rows.at[some]], names, part[some], n_parts)
    order = [column.name for column in columns]
    clauses = [naming.metadata_clause(items, order) for items in enriched]
    return _Told(naming.compose_names(clauses, words, rules, parents), words, enriched)


def _measure(
    rows: _Rows, positions: np.ndarray, part: np.ndarray, parents: list[str], told: _Told
) -> tuple[Subregime, ...]:
    """Test every part on its test rows."""
    n_test = max(1, int(rows.test.sum()))
    unseen = [np.flatnonzero((part == index) & rows.test) for index in range(len(parents))]
    residuals = [mean_residual(rows.correct[index], rows.confidence[index]) for index in unseen]
    adjusted = holm(np.array([1.0 if item.p_value is None else item.p_value for item in residuals])).tolist()
    table = []
    for index, parent in enumerate(parents):
        test, seen = unseen[index], rows.fit[part[rows.fit] == index]
        table.append(
            Subregime(
                name=told.names[index],
                parent=parent,
                n=len(test),
                share=len(test) / n_test,
                accuracy=_mean(rows.correct[test]),
                confidence=_mean(rows.confidence[test]),
                residual=residuals[index],
                p_value=adjusted[index],
                confirmed=_confirms(residuals[index], adjusted[index], parent),
                n_fit=len(seen),
                delta=float(rows.delta[seen].mean()),
                keywords=told.keywords[index],
                metadata=told.metadata[index],
                exemplars=_exemplars(rows.take(seen), positions[seen]),
            )
        )
    return tuple(table)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _confirms(residual: Residual, p_value: float, parent: str) -> bool:
    sign = -1.0 if parent == "over" else 1.0
    return residual.value is not None and p_value <= LEVEL and sign * residual.value > 0


def _exemplars(rows: _Rows, positions: np.ndarray) -> tuple[int, ...]:
    """Row numbers of those nearest the centre, first of texts that begin differently, then of texts that differ.

    Without texts, of places that differ: equal inputs have one.
    """
    distance = ((positions - positions.mean(axis=0)) ** 2).sum(axis=1)
    order = np.lexsort((rows.row, distance))[:EXEMPLAR_POOL]
    if rows.text is None:
        texts = list(map(str, np.unique(positions[order], axis=0, return_inverse=True)[1].ravel()))
    else:
        texts = [" ".join(rows.text[i].split()).casefold() for i in order]
    found: list[int] = []
    for length in (TEXT_START, None):
        seen = {texts[at][:length] for at in found}
        for at, text in enumerate(texts):
            if text[:length] not in seen and len(found) < N_EXEMPLARS:
                seen.add(text[:length])
                found.append(at)
    return tuple(int(rows.row[order[at]]) for at in found)
