"""Choose what rows are counted by, where nobody named it: equal inputs, near copies, and the column that widens most.

A unit stays in one fold, and every interval, p-value, limit and choice counts units. Whether outcomes of a unit hang
together must be asked after a field that has seen neither the unit nor the column: folds by rows let the field learn
the units, and the map of the confidence alone leaves in what the inputs explain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Part, Share, Text
from miscal.base.folds import DAY, PERIODS, assign_folds, linked, row_groups, values_of
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.survey_design import intraclass_score, widening
from miscal.data.readers.candidate_groups import LEAST_UNITS, Candidate, effective_number
from miscal.data.splits import LARGEST_UNIT, LARGEST_UNIT_ROWS, near_copies, no_larger_than_a_unit
from miscal.data.triples import FoundUnits, Triples, UnitSource

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Others = tuple[tuple[str, float], ...]

LEAST_SCORE = 2.33
"""Normal quantile of 1 %: a column that is taken by mistake costs little, one that is missed makes claims false."""
WIDENS = 1.2
"""Times as wide intervals as by rows that are worth a word."""
MOST_CANDIDATES = {("named", "identifier", "period"): 5, ("text",): 2, ("repeats",): 2}
"""Columns of some kinds that are asked, those that widen intervals most before any field."""
STEPS, LEAST_STEP, STEP_PAYS = 6, 0.01, 10
"""Steps at most of what time does to outcomes: two spans of dates have five; least share of the rows of each; and how
many times as much as chance alone a step explains, days counted. Without the last, steps take away what single days do:
of 20 tables of 60 days whose rows hang together 13 were counted by rows."""
MOST_ROWS, ASKED_UNITS = 8_000, 200
"""Rows that are asked whether outcomes hang together; of how many units, where units are large."""
MANY_VALUES, MORE_THAN_CHANCE = 50, 10
"""Equal inputs are units if a column takes more values, and so many times more rows are equal than if columns were
independent: cells of a coarse table are no units."""
MOST_ALIKE = 2 / 3
"""Of rows that are equal in all but the most telling column, so many must be equal in that, too, to be copies."""
EMBEDDED = 16
"""So many columns of an array, or more, are an embedding, which identifies something however few values it takes."""
_FOLDS, _TREES, _COMPONENTS, _STREAM = 3, 60, 32, 41


class OtherUnit(Part):
    """A column that rows could also be counted by, and how many times as wide intervals would be.

    `widening`: of intervals, as a factor.
    """

    column: Text
    widening: FiniteFloat


class Units(Part):
    """What is counted once, among the evaluation rows.

    ``unit`` says what it is, ``source`` how it was found; ``column`` is as ``--group`` names it. ``correlation`` is
    that of the residuals within a unit, ``effect`` the design effect of a mean over all rows, ``widening`` its root,
    and ``n_effective`` the number of rows over it. ``factor`` is a part of ``widening``: of every standard error,
    because outcomes of a ``coarser`` period hang together, too, of which there are too few to count by.

    `n_units, largest`: how many there are, and rows of the largest. `others`: columns that rows
        could be counted by, too.
    """

    unit: Text
    source: UnitSource
    column: str | None
    n_units: NonNegativeInt
    largest: NonNegativeInt
    correlation: Share
    effect: FiniteFloat
    widening: FiniteFloat
    n_effective: FiniteFloat
    factor: FiniteFloat = 1.0
    coarser: str | None = None
    others: tuple[OtherUnit, ...] = ()

    @property
    def nouns(self) -> str:
        """What is counted, in the plural of a sentence: days, inputs, units (nr)."""
        _, colon, period = (self.column or "").rpartition(":")
        if colon and period in PERIODS:
            return f"{period}s"
        return f"{self.unit}s" if self.column is None else f"units ({self.column})"


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
    cells = _are_cells(triples)
    if triples.candidate_groups is None:
        return replace(triples, counted_by=FoundUnits(cells=cells))
    equal, source = _equal_inputs(triples, cells)
    group, found, others = _chosen(triples, equal, seed)
    if group is None or found is None:
        group, found = equal, FoundUnits(source, others=others)
    if len(np.unique(group)) == len(triples):
        return replace(triples, counted_by=FoundUnits(others=others, cells=cells))
    columns = triples.source.get("columns", {}) | {"group": found.column}
    return replace(triples, group=group, counted_by=found, source=triples.source | {"columns": columns})


def _is_table(triples: Triples) -> bool:
    """Whether inputs are columns that a person reads, and no embedding."""
    return triples.layout.table or triples.X.shape[1] < EMBEDDED


def _are_cells(triples: Triples) -> bool:
    """Whether some inputs are equal, as those of a coarse table are, and no copies."""
    if not _is_table(triples):
        return False
    equal = row_groups(triples.X)
    return bool(equal.max() + 1 < len(equal)) and _by_chance(triples, equal)


def _equal_inputs(triples: Triples, cells: bool) -> tuple[Ints, str]:
    """Give rows of equal inputs, and those that are nearly copies, one number, where the inputs identify something."""
    equal = no_larger_than_a_unit(row_groups(triples.X))
    found = np.arange(len(equal)) if cells else equal
    found = linked(found, near_copies(triples.places, table=_is_table(triples)))[found]
    if found.max() + 1 == len(equal):
        return found, "rows"
    return found, "near copies" if found.max() < equal.max() else "equal inputs"


def _by_chance(triples: Triples, equal: Ints) -> bool:
    """Tell whether rows of a table are equal as its coarse columns make them, and are no copies.

    They are where about as many are equal as if columns were independent, or where most of those that are equal in all
    columns but the most telling one differ in that.
    """
    # as a person reads them: each column of a table has several columns of X
    columns = {} if triples.encoder is None else triples.encoder.columns_of(triples.X)
    values = (one.astype(str) if one.dtype == object else one for one in columns.values() or triples.X.T)
    codes = [values_of(one)[1] for one in values]
    counts = [np.bincount(one) for one in codes]
    if max(map(len, counts)) <= MANY_VALUES:
        return True
    share = np.prod([np.sum((one / len(equal)) ** 2) for one in counts])
    alike = _alike(equal)
    if alike <= MORE_THAN_CHANCE * share * len(equal) ** 2:
        return True
    many = max(range(len(codes)), key=lambda k: len(counts[k]))
    # what the most telling column determines goes with it
    others = [one for one in codes if len(np.unique(codes[many] * (int(one.max()) + 1) + one)) > len(counts[many])]
    return bool(others) and alike < MOST_ALIKE * _alike(row_groups(np.column_stack(others)))


def _alike(unit: Ints) -> float:
    """Count the ordered pairs of rows of one unit."""
    size = np.bincount(unit)
    return float(size @ size - len(unit))


@dataclass(frozen=True, eq=False)
class _Asked:
    """Units that a column makes, and how outcomes hang together within them after a field."""

    by: Candidate
    unit: Ints
    score: float
    wider: float
    factor: float = 1.0
    coarser: str | None = None

    @property
    def counts(self) -> bool:
        """Whether it can be what is counted: rows hang together, or many are those whose name says whose they are."""
        if self.by.kind == "named":
            seen = self.score > LEAST_SCORE and self.wider > WIDENS
            return seen or effective_number(self.unit) >= LEAST_UNITS
        return self.score > LEAST_SCORE and self.by.kind != "repeats"

    @property
    def widest(self) -> float:
        """How many times as wide intervals are, coarser periods included."""
        return self.wider * self.factor


def _chosen(triples: Triples, equal: Ints, seed: int) -> tuple[Ints | None, FoundUnits | None, Others]:
    """Find the column that widens intervals most among those that identify, and name what else hangs together."""
    known = int(equal.max()) + 1
    joined = ((by, _joined(equal, unit)) for by, unit in (triples.candidate_groups or {}).items())
    # what says no more than equal inputs do is no candidate of its own
    candidates = {by: unit for by, unit in joined if unit.max() + 1 != known}
    if not candidates:
        return None, None, ()
    rng = np.random.default_rng((seed, _STREAM))
    some = np.sort(rng.permutation(len(triples))[:MOST_ROWS])
    weight = None if triples.weight is None else triples.weight[some]
    base = CALIBRATORS["isotonic"]().learn(triples.correct[some], triples.confidence[some], weight)
    after_map = triples.correct - base.apply(triples.confidence)
    asked = []
    for kinds, most in MOST_CANDIDATES.items():
        columns: dict[str, dict[int, Candidate]] = {}
        for by in (by for by in candidates if by.kind in kinds):
            # of periods that part rows alike, the longest
            columns.setdefault(by.column, {})[int(candidates[by].max())] = by
        every = [{by: candidates[by] for by in some.values()} for some in columns.values()]
        every = [units for units in every if any(_enough(by, unit) for by, unit in units.items())]
        every.sort(key=lambda units: -max(widening(after_map, unit) for unit in units.values()))
        asked += [_ask(triples, units, rng) for units in every[:most]]
    seen = [one for one in asked if one.counts or (one.by.kind == "repeats" and one.score > LEAST_SCORE)]
    first = max((one for one in seen if one.counts), key=lambda one: (one.by.kind != "text", one.widest), default=None)
    others = sorted((one for one in seen if one is not first and one.widest > WIDENS), key=lambda one: -one.widest)
    named = tuple((one.by.name, one.widest) for one in others)
    if first is None:
        return None, None, named
    return first.unit, FoundUnits("column", first.by.name, first.factor, first.coarser, named), named


def _ask(triples: Triples, units: dict[Candidate, Ints], rng: np.random.Generator) -> _Asked:
    """Ask a column; of a date, find the finest period whose units do not hang together in a longer one."""
    # units of a period lie in those of a longer one
    *_, longest = (unit for by, unit in units.items() if _enough(by, unit))
    rows = _some_units(longest, rng)
    (first, unit), *longer = units.items()
    left = _after_field(triples, rows, first.column, longest[rows], rng)
    # of fewer than ten weeks, steps are hardly told from days in turn, and no week or month can be taken for a unit
    if {by.period for by in units} - {None, "hour", DAY}:
        day = next((days for by, days in units.items() if by.period == DAY), unit)
        left = _after_steps(left, (triples.candidate_groups or {})[first][rows], day[rows])
    found = _Asked(first, unit, intraclass_score(left, unit[rows]), _widening_of_all(left, unit, rows))
    for by, unit in longer:
        finer = found.unit[rows] if found.counts else np.arange(len(rows))
        over = np.zeros(int(finer.max()) + 1, np.int64)
        over[finer] = unit[rows]
        one = _Asked(by, unit, intraclass_score(np.bincount(finer, left), over), _widening_of_all(left, unit, rows))
        if one.counts and _enough(by, unit):
            found = one
        elif (more := one.wider / max(found.wider, 1.0)) > found.factor:
            found = replace(found, factor=more, coarser=by.period)
    return found


def _after_steps(left: Floats, time: Ints, day: Ints) -> Floats:
    """Take away what a few steps of time explain: a span or a drift is an effect of time, and makes no units."""
    from sklearn.tree import DecisionTreeRegressor

    pays = STEP_PAYS * left.var() * max(1.0, widening(left, day) ** 2) / len(left)
    steps = DecisionTreeRegressor(max_leaf_nodes=STEPS, min_samples_leaf=LEAST_STEP, ccp_alpha=pays, random_state=0)
    return left - steps.fit(time[:, None], left).predict(time[:, None])


def _enough(by: Candidate, unit: Ints) -> bool:
    return by.period is None or unit.max() + 1 >= LEAST_UNITS


def _some_units(unit: Ints, rng: np.random.Generator) -> Ints:
    """Choose rows to ask, whole units as far as there are many: rows of one unit are what tells."""
    n = len(unit)
    if n <= MOST_ROWS:
        return np.arange(n)
    many = int(unit.max()) + 1
    taken = max(MOST_ROWS * many // n, min(many, ASKED_UNITS))
    rows = np.flatnonzero((rng.permutation(many) < taken)[unit])
    return np.sort(rng.permutation(rows)[:MOST_ROWS])


def _widening_of_all(residual: Floats, unit: Ints, rows: Ints) -> float:
    """How many times as wide intervals of all rows are, by the correlation that some of the rows show."""
    pairs = _alike(unit[rows]) / len(rows)
    alike = widening(residual, unit[rows]) ** 2 - 1
    return float(np.sqrt(max(0.0, 1 + alike * _alike(unit) / len(unit) / pairs))) if pairs else 1.0


def _joined(equal: Ints, codes: Ints) -> Ints:
    """Join equal inputs with equal values of a column, unless that makes one unit of much that neither does."""
    joined = linked(equal, codes)[equal]
    largest = max(LARGEST_UNIT * len(codes), LARGEST_UNIT_ROWS, np.bincount(codes).max())
    return joined if np.bincount(joined).max() <= largest else codes


def _after_field(triples: Triples, some: Ints, column: str, unit: Ints, rng: np.random.Generator) -> Floats:
    """Outcome less its rate by map and trees that other units taught, without the column."""
    from lightgbm import Dataset, train

    bare = replace(triples, text=None, metadata={}, answers={}, candidate_groups={}, classes=None, judged=None)
    rows = bare.take(some)
    X = rows.X
    if column in getattr(rows.encoder, "can_be_blank", ()):
        X = rows.encoder.blanked(X, column)
    if rows.layout.places > 2 * _COMPONENTS:
        from sklearn.decomposition import PCA

        places = PCA(_COMPONENTS, svd_solver="randomized", random_state=0).fit_transform(rows.places)
        X = np.column_stack([places, X[:, rows.layout.places :]])
    rate = np.empty(len(rows))
    folds = assign_folds(unit, _FOLDS, rng)
    seen = np.column_stack([X, rows.confidence])
    settings = {
        "objective": "binary", "num_leaves": 8, "learning_rate": 0.1, "min_data_in_leaf": 20, "max_bin": 63,
        "boost_from_average": False, "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbose": -1,
    }  # fmt: skip
    # bins are made once, of inputs alone
    data = Dataset(seen, rows.correct, params=settings, free_raw_data=False).construct()
    for k in np.unique(folds):
        learned, inside = folds != k, folds == k
        weight = None if rows.weight is None else rows.weight[learned]
        base = CALIBRATORS["isotonic"]().learn(rows.correct[learned], rows.confidence[learned], weight)
        offset = np.log(odds := np.clip(base.apply(rows.confidence), 0.01, 0.99)) - np.log1p(-odds)
        part = data.subset(np.flatnonzero(learned)).construct().set_init_score(offset[learned])
        part = part if weight is None else part.set_weight(weight)
        score = train(settings, part, _TREES).predict(seen[inside], raw_score=True)
        rate[inside] = 1 / (1 + np.exp(-offset[inside] - score))
    return rows.correct - rate


def unit_numbers(rows: LabelledRows, found: FoundUnits) -> Units:
    """Say what rows are counted by, and for how many independent rows they count.

    Examples
    --------
    >>> y, half, group = np.tile([1.0, 1.0, 0.0, 0.0], 250), np.full(1000, 0.5), np.arange(1000) // 2
    >>> found = unit_numbers(LabelledRows.of(y, half, half, group=group), FoundUnits("named", "seen:day"))
    >>> found.unit, found.n_units, found.largest, round(found.n_effective / 100), round(found.widening, 1)
    ('day of seen', 500, 2, 5, 1.4)
    """
    sizes = np.ones(len(rows), np.int64) if rows.group is None else np.bincount(rows.group)
    effect = effect_of_mean(rows)
    named, colon, period = (found.column or "").rpartition(":")
    column = f"{period} of {named}" if colon and period in PERIODS else found.column
    return Units(
        unit=column or {"equal inputs": "input", "near copies": "input", "named": "group"}.get(found.source, "row"),
        source=found.source,
        column=found.column,
        n_units=len(sizes),
        largest=int(sizes.max()),
        correlation=0.0 if rows.design is None else rows.design.correlation,
        effect=effect,
        widening=float(np.sqrt(effect)),
        n_effective=len(rows) / effect,
        factor=found.factor,
        coarser=found.coarser,
        others=tuple(OtherUnit(column=name, widening=wider) for name, wider in found.others),
    )
