"""Subregimes: coherent, named parts of the over and under regimes, each tested by outcomes that it does not rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_features, check_lengths, check_weight
from miscal.base.errors import InputError
from miscal.calibration.metrics.rows import take_groups
from miscal.calibration.survey_design import SurveyDesign, average
from miscal.findings.cut import check_field
from miscal.findings.enrichment import Enriched, encode, enrich
from miscal.findings.judging import SIGNS, Judged, judge
from miscal.findings.naming import Keywords, feature_rules, keywords, metadata_clause, mixture, part_names
from miscal.findings.parts import canonical_order, cut_parts, fit_geometry
from miscal.findings.residuals import Residual
from miscal.findings.settings import FINDINGS_DEFAULTS, FindingsSettings

PARENTS = ("over", "under")
"""Regimes that are cut into parts, in the order of the table."""

_KEY_VALUES = 1 << 28

FIELDS = ("total", "hidden")
"""Fields that regimes, and hence parts, can be cut on."""


@dataclass(frozen=True)
class Subregime:
    """A coherent, named part of a regime.

    It is cut and named on some rows by their honest field, and tested by the outcomes of rows that the field had not
    seen: both may be all rows where every value comes from a fit that left the row's own outcome out.

    Attributes
    ----------
    name : str
        Unique among the subregimes; from metadata, keywords, features, or the regime and a number.
    parent : str
        ``"over"`` or ``"under"``.
    field : str
        The field that its regime was cut on: ``"total"``, or ``"hidden"``, where ``"over"`` means right less often
        than rows of equal confidence.
    n : int
        Rows that test it.
    share : float
        Their share of all rows that test, in [0, 1].
    accuracy, confidence : float or None
        Means over the rows that test it, in [0, 1]; None where there are none.
    residual, visible, hidden : Residual
        Over the rows that test it, means of ``y - f`` (negative: over-confident), of ``E[y | f] - f`` and of
        ``y - E[y | f]``, with 95 % intervals and raw two-sided p-values. The first is the sum of the others.
    p_value : float
        That of its own field (`residual` or `hidden`), adjusted by Holm over all subregimes of that field; 1 where
        there are no rows.
    confirmed : bool
        Whether `p_value` is at most 0.05 and the mean has the sign of the parent.
    confirmed_parts : dict of str to bool
        The same for ``"total"``, ``"visible"`` and ``"hidden"``, each adjusted in a family of its own.
    n_fit : int
        Rows that it was cut on.
    delta : float
        Mean honest total field over the rows that it was cut on, in [-1, 1].
    keywords : tuple of str
        Terms that set its texts apart, the weightiest first.
    metadata : tuple of Enriched
        Metadata values more common in it than elsewhere, the most telling first.
    exemplars : tuple of int
        Typical rows: row numbers of at most five of the rows it was cut on that are nearest its centre, with distinct
        texts (where possible texts that begin differently).
    telling : tuple of int
        Row numbers of at most five of the rows that test it, with distinct texts: the surest that were wrong where
        over, the least sure that were right where under.
    """

    name: str
    parent: str
    field: str
    n: int
    share: float
    accuracy: float | None
    confidence: float | None
    residual: Residual
    visible: Residual
    hidden: Residual
    p_value: float
    confirmed: bool
    confirmed_parts: dict[str, bool]
    n_fit: int
    delta: float
    keywords: tuple[str, ...]
    metadata: tuple[Enriched, ...]
    exemplars: tuple[int, ...]
    telling: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of ``subregimes`` in ``summary.json``."""
        return {
            **self.__dict__,
            "residual": self.residual.to_dict(),
            "visible": self.visible.to_dict(),
            "hidden": self.hidden.to_dict(),
            "confirmed_parts": dict(self.confirmed_parts),
            "keywords": list(self.keywords),
            "metadata": [item.to_dict() for item in self.metadata],
            "exemplars": list(self.exemplars),
            "telling": list(self.telling),
        }


@dataclass(frozen=True)
class Subregimes:
    """All subregimes of a run.

    Attributes
    ----------
    table : tuple of Subregime
        Those of the over regime first, the strongest mean field first. Unconfirmed ones stay in it.
    name : ndarray of shape (n,), object
        Name of every row's subregime, None for rows of none.
    """

    table: tuple[Subregime, ...]
    name: np.ndarray


@dataclass(frozen=True)
class _Rows:
    """The rows in canonical order, with what is known of them; `at` is where each stands in the caller's arrays."""

    at: np.ndarray
    delta: np.ndarray
    hidden: np.ndarray
    regime: np.ndarray
    cut_on: np.ndarray
    tested: np.ndarray
    correct: np.ndarray
    confidence: np.ndarray
    expected: np.ndarray
    row: np.ndarray
    text: np.ndarray | None
    group: np.ndarray | None
    weight: np.ndarray | None

    @cached_property
    def fit(self) -> np.ndarray:
        """Indices of the rows that parts are cut on."""
        return np.flatnonzero(self.cut_on)

    def take(self, index: np.ndarray) -> "_Rows":
        return _Rows(**{key: None if values is None else values[index] for key, values in self.fields().items()})

    def fields(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__dataclass_fields__}


def find_subregimes(
    coordinates: np.ndarray,
    delta: np.ndarray,
    regime: np.ndarray,
    *,
    cut_on: np.ndarray,
    tested: np.ndarray,
    correct: np.ndarray,
    confidence: np.ndarray,
    hidden: np.ndarray,
    expected: np.ndarray,
    by: str = "total",
    features: np.ndarray | None = None,
    feature_names: Sequence[str] | None = None,
    text: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    row: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    settings: FindingsSettings = FINDINGS_DEFAULTS,
    random_state: int | np.random.Generator = 0,
) -> Subregimes:
    """Cut the over and under regimes into coherent, named parts and test each on outcomes that the field had not seen.

    Rows of a regime are cut by k-means into as many clusters as would be found again in other rows, and clusters that
    run into each other are one part unless their fields differ (:func:`miscal.findings.parts.cut_parts`). Rows that are
    not cut on go to the nearest centre of their own regime. Outcomes take no part in it, nor do metadata and texts.
    The mean residual of each part, its visible and its hidden part are tested two-sided
    (:func:`miscal.findings.judging.judge`), each with Holm's adjustment over all parts of both regimes.

    Parameters
    ----------
    coordinates : array_like of shape (n, k)
        Learned coordinates: inputs that are miscalibrated alike lie close. A row's must not depend on its own outcome
        if the row is both cut on and tested: the honest fields themselves, say.
    delta : array_like of shape (n,), in [-1, 1]
        The total field, honest on every row. Negative: over-confident.
    regime : array_like of shape (n,)
        ``"over"``, ``"good"``, ``"under"``, or None where there is none, as :func:`miscal.findings.cut` gives it of the
        field that `by` names.
    cut_on : array_like of shape (n,), bool
        Rows that parts are cut and named on.
    tested : array_like of shape (n,), bool
        Rows whose outcomes test the parts.
    correct : array_like of shape (n,), 0 or 1
        Outcomes; only those of tested rows are used.
    confidence : array_like of shape (n,), in [0, 1]
        Confidences.
    hidden : array_like of shape (n,), in [-1, 1]
        The hidden part of the field, honest on every row.
    expected : array_like of shape (n,), in [0, 1]
        E[y | f], learned from other rows; only that of tested rows is used.
    by : {"total", "hidden"}, default "total"
        The field that `regime` was cut on: neighbouring parts are joined where it is alike, and `confirmed` is by it.
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
    groups : array_like of shape (n,), optional
        Rows of equal value may hang together; by default all rows are independent.
    weights : array_like of shape (n,), optional
        How much each row counts in what is said of a part; all alike by default. Parts are cut without them.
    settings : FindingsSettings, optional
        Among others the least size of a part, by default 50 of the rows that are cut, or 1 % of them if that is more
        (a regime with fewer has no subregime), and the most parts of a regime, by default 8.
    random_state : int or numpy.random.Generator
        Draws of k-means and of halves.

    Returns
    -------
    Subregimes
        The table, and the name of every row's subregime.

    Raises
    ------
    InputError
        If lengths differ, numbers are not finite, `feature_names` do not match `features`, `by` is unknown, or there is
        no row to cut on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], 500)
    >>> x = group[:, None] * 20.0 + rng.normal(size=(1000, 2))
    >>> test, y = rng.random(1000) < 0.2, (rng.random(1000) < 0.5).astype(float)
    >>> found = find_subregimes(x, np.full(1000, -0.4), np.full(1000, "over"), cut_on=~test, tested=test, correct=y,
    ...     confidence=np.full(1000, 0.9), hidden=np.zeros(1000), expected=np.full(1000, 0.5),
    ...     metadata={"subject": np.array(["law", "math"])[group]})
    >>> sorted(part.name for part in found.table)
    ['subject = law', 'subject = math']
    >>> all(part.confirmed and part.residual.value < 0 for part in found.table)
    True
    >>> any(part.confirmed_parts["hidden"] for part in found.table)
    False
    """
    if by not in FIELDS:
        raise InputError(f"by must be one of {', '.join(FIELDS)}; got {by!r}")
    coordinates = check_features(coordinates, name="coordinates").astype(np.float32, copy=False)
    features = None if features is None else check_features(features, name="features")
    named = _named(features, feature_names, settings)
    rows = _Rows(
        at=np.arange(len(coordinates)),
        delta=check_field(delta),
        hidden=check_field(hidden, name="hidden"),
        regime=np.asarray(regime, dtype=object),
        cut_on=np.asarray(cut_on, bool),
        tested=np.asarray(tested, bool),
        correct=check_correct(correct),
        confidence=check_confidence(confidence),
        expected=check_confidence(expected, name="expected"),
        row=np.arange(len(coordinates)) if row is None else np.asarray(row),
        text=None if text is None else np.array(["" if value is None else str(value) for value in text], dtype=object),
        group=None if groups is None else np.asarray(groups),
        weight=None if weights is None else check_weight(weights, len(coordinates), name="weights"),
    )
    check_lengths(coordinates=coordinates, features=features, **rows.fields())
    if not rows.cut_on.any():
        raise InputError("cut_on is False for every row, but parts are cut on some: mark the rows to cut on")
    # from here on rows are in canonical order; `at` leads back to the caller's
    # columns of very large inputs are far apart on disk, and needed for ties only
    keys = features if features is not None and features.size <= _KEY_VALUES else None
    rows = rows.take(canonical_order(coordinates, keys, rows.row))
    rng = np.random.default_rng(random_state)
    geometry = fit_geometry(coordinates, features, rows.at[rows.fit], rng, settings)
    positions = geometry(coordinates, features)[rows.at]
    part, parents = _cut_regimes(rows, by, positions, rng, settings)
    described = _describe(rows, by, part, parents, metadata or {}, named, rng, settings)
    table = _measure(rows, by, positions, part, parents, described, settings)
    name_of_row = np.full(len(rows.at), None, dtype=object)
    # part -1, of rows without one, picks the last entry: None
    name_of_row[rows.at] = np.array([*described.names, None], dtype=object)[part]
    return Subregimes(table, name_of_row)


def _named(
    features: np.ndarray | None, names: Sequence[str] | None, settings: FindingsSettings
) -> tuple[np.ndarray, Sequence[str]] | None:
    """Features with their names, if they are few enough to be told in a name."""
    if features is None or names is None or len(names) > settings.max_named_features:
        return None
    if len(names) != features.shape[1]:
        raise InputError(f"feature_names must name the {features.shape[1]} columns of features; got {len(names)} names")
    return features, names


def _cut_regimes(
    rows: _Rows, by: str, positions: np.ndarray, rng: np.random.Generator, settings: FindingsSettings
) -> tuple[np.ndarray, list[str]]:
    """Cut each regime by its rows to cut on; the part of every row (-1: none), and the regime of each part.

    Any other row belongs to the part of the nearest centre of its own regime.
    """
    field = rows.hidden if by == "hidden" else rows.delta
    size = max(settings.min_rows, int(np.ceil(settings.min_share * len(rows.fit))))
    part, parents = np.full(len(rows.at), -1), []
    for parent in PARENTS:
        chosen = rows.fit[rows.regime[rows.fit] == parent]
        cut = cut_parts(positions[chosen], field[chosen], rng, min_rows=size, settings=settings)
        if cut.n_parts:
            inside = rows.regime == parent
            # parts are counted through both regimes
            part[inside] = cut.assign(positions[inside]) + len(parents)
        parents += [parent] * cut.n_parts
    return part, parents


@dataclass(frozen=True)
class _Descriptions:
    """Name, keywords and enriched metadata of every part."""

    names: list[str]
    keywords: list[tuple[str, ...]]
    metadata: list[tuple[Enriched, ...]]


def _describe(
    rows: _Rows,
    by: str,
    part: np.ndarray,
    parents: list[str],
    metadata: Mapping[str, Any],
    named: tuple[np.ndarray, Sequence[str]] | None,
    rng: np.random.Generator,
    settings: FindingsSettings,
) -> _Descriptions:
    """Describe every part by the rows that it was cut on."""
    n_parts = len(parents)
    encoded = [encode(name, np.asarray(values)[rows.at[rows.fit]], settings) for name, values in metadata.items()]
    columns = [column for column in encoded if column is not None]
    enriched = enrich(columns, part[rows.fit], n_parts, settings)
    some = rows.fit[np.sort(rng.permutation(len(rows.fit))[: settings.max_texts])]
    terms, rules = [Keywords()] * n_parts, [""] * n_parts
    if rows.text is not None:
        terms = keywords(rows.text[some], part[some], n_parts, settings)
    if named is not None:
        features, names = named
        rules = feature_rules(features[rows.at[some]], names, part[some], n_parts, settings)
    order = [column.name for column in columns]
    inside = [part[rows.fit] == index for index in range(n_parts)]
    clauses = [
        metadata_clause(items, float(some.mean()), order, settings)
        for items, some in zip(enriched, inside, strict=True)
    ]
    mixtures = [mixture(columns, items, some) for items, some in zip(enriched, inside, strict=True)]
    names = part_names(clauses, terms, rules, mixtures, parents, by)
    return _Descriptions(names, [words.terms for words in terms], enriched)


def _measure(
    rows: _Rows,
    by: str,
    positions: np.ndarray,
    part: np.ndarray,
    parents: list[str],
    described: _Descriptions,
    settings: FindingsSettings,
) -> tuple[Subregime, ...]:
    """Test every part by the rows that test."""
    judged = _judge(rows, part, parents, settings)
    table = []
    for index, parent in enumerate(parents):
        test, seen = np.flatnonzero((part == index) & rows.tested), rows.fit[part[rows.fit] == index]
        found = judged[index]
        table.append(
            Subregime(
                name=described.names[index],
                parent=parent,
                field=by,
                n=len(test),
                share=average(part[rows.tested] == index, take_groups(rows.weight, rows.tested)),
                accuracy=_mean(rows.correct, test, rows.weight),
                confidence=_mean(rows.confidence, test, rows.weight),
                residual=found.residual,
                visible=found.visible,
                hidden=found.hidden,
                p_value=found.p_values[by],
                confirmed=found.confirmed[by],
                confirmed_parts=found.confirmed,
                n_fit=len(seen),
                delta=average(rows.delta[seen], take_groups(rows.weight, seen)),
                keywords=described.keywords[index],
                metadata=described.metadata[index],
                exemplars=_exemplars(rows.take(seen), positions[seen], settings),
                telling=_telling(rows.take(test), by, parent, settings),
            )
        )
    return tuple(table)


def _judge(rows: _Rows, part: np.ndarray, parents: list[str], settings: FindingsSettings) -> list[Judged]:
    tested = rows.tested
    correct, expected = rows.correct[tested], rows.expected[tested]
    regions = [part[tested] == index for index in range(len(parents))]
    group, weight = take_groups(rows.group, tested), take_groups(rows.weight, tested)
    design = SurveyDesign.given(group, correct, expected, weight)
    signs = [SIGNS[parent] for parent in parents]
    return judge(correct, rows.confidence[tested], expected, regions, signs, settings, design=design)


def _mean(values: np.ndarray, rows: np.ndarray, weight: np.ndarray | None) -> float | None:
    return average(values[rows], take_groups(weight, rows)) if len(rows) else None


def _exemplars(rows: _Rows, positions: np.ndarray, settings: FindingsSettings) -> tuple[int, ...]:
    """Row numbers of exemplars: rows near the centre whose texts begin differently, then rows whose texts differ.

    Without texts, rows at different positions: equal inputs give one exemplar.
    """
    distance = ((positions - positions.mean(axis=0)) ** 2).sum(axis=1)
    order = np.lexsort((rows.row, distance))[: settings.exemplar_pool]
    if rows.text is None:
        # numbers of the positions stand in for texts: equal inputs count once
        texts = list(map(str, np.unique(positions[order], axis=0, return_inverse=True)[1].ravel()))
    else:
        texts = [_shown(rows.text[i]) for i in order]
    chosen = _distinct(texts, (settings.text_start, None), settings.n_exemplars)
    return tuple(int(rows.row[order[at]]) for at in chosen)


def _telling(rows: _Rows, by: str, parent: str, settings: FindingsSettings) -> tuple[int, ...]:
    """Row numbers of the rows that show best what is wrong with the part: distinct texts, of which none is typical."""
    over = parent == "over"
    wrong = np.flatnonzero(rows.correct == (0.0 if over else 1.0))
    # sure and wrong (or unsure and right) where the field of the part is large: what its rows are, not only how sure
    sure = rows.confidence[wrong] if over else 1.0 - rows.confidence[wrong]
    field = np.maximum((rows.hidden if by == "hidden" else rows.delta)[wrong] * SIGNS[parent], 0.0)
    order = wrong[np.lexsort((rows.row[wrong], -sure, -sure * field))][: settings.exemplar_pool]
    texts = [str(at) for at in order] if rows.text is None else [_shown(rows.text[at]) for at in order]
    return tuple(int(rows.row[order[at]]) for at in _distinct(texts, (None,), settings.n_exemplars))


def _shown(text: str) -> str:
    return " ".join(text.split()).casefold()


def _distinct(texts: Sequence[str], lengths: Sequence[int | None], most: int) -> list[int]:
    """Choose the first texts that differ in so many first characters, then, if they are too few, in the next number."""
    chosen: list[int] = []
    for length in lengths:
        seen = {texts[at][:length] for at in chosen}
        for at, text in enumerate(texts):
            if text[:length] not in seen and len(chosen) < most:
                seen.add(text[:length])
                chosen.append(at)
    return chosen
