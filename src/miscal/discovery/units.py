"""Choose what rows are counted by, where nobody named it: equal inputs, near copies, and the column that widens most.

A unit stays in one fold, and every interval, p-value, limit and choice counts units. Whether outcomes of a unit hang
together must be asked after a field that has seen neither the unit nor the column: folds by rows let the field learn
the units, and the map of the confidence alone leaves in what the inputs explain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miscal.base.folds import assign_folds, linked, row_groups
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.survey_design import intraclass_score, widening
from miscal.data.copies import LARGEST_UNIT, LARGEST_UNIT_ROWS, near_copies, no_larger_than_a_unit
from miscal.data.readers.candidate_groups import LEAST_UNITS, PERIODS_COUNTED, names_identity
from miscal.data.readers.roles import Grouping
from miscal.data.triples import FoundUnits, Triples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_SCORE = 2.33
"""Normal quantile of 1 %: a column that is taken by mistake costs little, one that is missed makes claims false."""
MOST_CANDIDATES = 6
MOST_ROWS = 20_000
"""Rows that are asked whether outcomes hang together."""
MANY_VALUES, MORE_THAN_CHANCE = 50, 10
"""Equal inputs are units if a column takes more values, and so many times more rows are equal than if columns were
independent: cells of a coarse table are no units."""
EMBEDDED = 16
"""So many columns of an array, or more, are an embedding, which identifies something however few values it takes."""
_FOLDS, _TREES, _COMPONENTS, _STREAM = 3, 60, 32, 41


def with_units(triples: Triples, seed: int) -> Triples:
    """Return triples that know what they are counted by.

    `triples`: groups that they carry are the user's. Otherwise `candidate_groups` holds the columns that may mark
    units; None: rows are counted one by one. `seed`: of the folds, and of the rows that are asked where there are more
    than 20,000.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(rng.normal(size=(100, 3)), 2, axis=0)
    >>> rows = with_units(Triples.of(x, confidence=rng.random(200), correct=np.arange(200) % 2), 0)
    >>> rows.counted_by.source, len(np.unique(rows.group))
    ('equal inputs', 100)
    """
    if triples.group is not None:
        named = triples.source.get("columns", {}).get("group")
        return replace(triples, counted_by=FoundUnits("named", named))
    if triples.candidate_groups is None:
        return triples
    equal, source = _equal_inputs(triples)
    group, found = _chosen(triples, equal, seed) or (equal, FoundUnits(source))
    if len(np.unique(group)) == len(triples):
        return triples
    columns = triples.source.get("columns", {}) | {"group": found.column}
    return replace(triples, group=group, counted_by=found, source=triples.source | {"columns": columns})


def _equal_inputs(triples: Triples) -> tuple[Ints, str]:
    """Give rows of equal inputs, and those that are nearly copies, one number, where the inputs identify something."""
    X = triples.X
    equal = no_larger_than_a_unit(row_groups(X))
    table = triples.layout.table or X.shape[1] < EMBEDDED
    found = np.arange(len(X)) if table and _by_chance(triples, equal) else equal
    found = linked(found, near_copies(triples.places, table=table))[found]
    if found.max() + 1 == len(X):
        return found, "rows"
    return found, "near copies" if found.max() < equal.max() else "equal inputs"


def _by_chance(triples: Triples, equal: Ints) -> bool:
    """Tell whether about as many rows have equal inputs as if the columns of a table were independent."""
    n = len(triples)
    # as a person reads them: each column of a table has several columns of X
    columns = {} if triples.encoder is None else triples.encoder.columns_of(triples.X)
    counts = [np.unique(one.astype(str), return_counts=True)[1] for one in columns.values() or triples.X.T]
    if max(map(len, counts)) <= MANY_VALUES:
        return True
    share = np.prod([np.sum((one / n) ** 2) for one in counts])
    size = np.bincount(equal)
    return float(size @ size - n) <= MORE_THAN_CHANCE * share * n**2


@dataclass(frozen=True, eq=False)
class _Asked:
    """Units that a column makes, and how outcomes hang together within them after a field."""

    by: Grouping
    score: float
    wider: float
    factor: float = 1.0
    coarser: str | None = None

    @property
    def counts(self) -> bool:
        """Whether it can be what is counted: rows hang together, or who they are of is in its name."""
        return self.score > LEAST_SCORE or (self.by.period is None and names_identity(self.by.column))


def _chosen(triples: Triples, equal: Ints, seed: int) -> tuple[Ints, FoundUnits] | None:
    """Find the column that widens intervals most, and name the others."""
    candidates = {by: _joined(equal, codes) for by, codes in (triples.candidate_groups or {}).items()}
    known = len(np.unique(equal))
    # what says no more than equal inputs do is no candidate of its own
    candidates = {by: unit for by, unit in candidates.items() if len(np.unique(unit)) != known}
    if not candidates:
        return None
    rng = np.random.default_rng((seed, _STREAM))
    some = np.sort(rng.permutation(len(triples))[:MOST_ROWS])
    rows, units = triples.take(some), {by: unit[some] for by, unit in candidates.items()}
    base = CALIBRATORS["isotonic"]().learn(rows.correct, rows.confidence, rows.weight)
    after_map = rows.correct - base.apply(rows.confidence)
    enough = [by for by, unit in candidates.items() if by.period is None or unit.max() + 1 >= LEAST_UNITS]
    asked = []
    for by in sorted(enough, key=lambda by: -widening(after_map, units[by]))[:MOST_CANDIDATES]:
        left = _after_field(rows, by.column, units[by], rng)
        one = _Asked(by, intraclass_score(left, units[by]), widening(left, units[by]))
        for longer in PERIODS_COUNTED[PERIODS_COUNTED.index(by.period) + 1 :] if by.period else ():
            unit = units.get(Grouping(by.column, longer))
            if unit is not None and (more := widening(left, unit) / max(one.wider, 1.0)) > one.factor:
                one = replace(one, factor=more, coarser=longer)
        asked.append(one)
    # of a date the coarsest period that counts, with the intervals that it and coarser ones make
    best: dict[str, _Asked] = {}
    for one in sorted(asked, key=lambda one: PERIODS_COUNTED.index(one.by.period) if one.by.period else 0):
        if one.counts:
            best[one.by.column] = one
    if not best:
        return None
    first, *others = sorted(best.values(), key=lambda one: -one.wider * one.factor)
    named = tuple((one.by.name, one.wider * one.factor) for one in others)
    return candidates[first.by], FoundUnits("column", first.by.name, first.factor, first.coarser, named)


def _joined(equal: Ints, codes: Ints) -> Ints:
    """Join equal inputs with equal values of a column, unless that makes one unit of much that neither does."""
    # a blank is a unit of its own
    codes = np.where(codes < 0, codes.max() + 1 + np.arange(len(codes)), codes)
    codes = np.unique(codes, return_inverse=True)[1]
    joined = linked(equal, codes)[equal]
    largest = max(LARGEST_UNIT * len(codes), LARGEST_UNIT_ROWS, np.bincount(codes).max())
    return joined if np.bincount(joined).max() <= largest else codes


def _after_field(rows: Triples, column: str, unit: Ints, rng: np.random.Generator) -> Floats:
    """Outcome less its rate by map and trees that other units taught, without the column."""
    from lightgbm import Dataset, train

    X = rows.X
    if column in getattr(rows.encoder, "can_be_blank", ()):
        X = rows.encoder.blanked(X, column)
    if rows.layout.places > 2 * _COMPONENTS:
        from sklearn.decomposition import PCA

        places = PCA(_COMPONENTS, svd_solver="randomized", random_state=0).fit_transform(rows.places)
        X = np.column_stack([places, X[:, rows.layout.places :]])
    offset = np.empty(len(rows))
    rate = np.empty(len(rows))
    folds = assign_folds(unit, _FOLDS, rng)
    settings = {
        "objective": "binary", "num_leaves": 8, "learning_rate": 0.1, "min_data_in_leaf": 20, "max_bin": 63,
        "boost_from_average": False, "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbose": -1,
    }  # fmt: skip
    for k in np.unique(folds):
        learned, inside = folds != k, folds == k
        weight = None if rows.weight is None else rows.weight[learned]
        base = CALIBRATORS["isotonic"]().learn(rows.correct[learned], rows.confidence[learned], weight)
        offset = np.log(odds := np.clip(base.apply(rows.confidence), 0.01, 0.99)) - np.log1p(-odds)
        seen = np.column_stack([X, offset])
        data = Dataset(seen[learned], rows.correct[learned], weight=weight, init_score=offset[learned])
        score = train(settings, data, _TREES).predict(seen[inside], raw_score=True)
        rate[inside] = 1 / (1 + np.exp(-offset[inside] - score))
    return rows.correct - rate
