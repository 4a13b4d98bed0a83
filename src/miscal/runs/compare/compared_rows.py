"""The rows of runs: read again from their data, matched, and put side by side for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import as_text, column_of
from miscal.base.errors import InputError, MiscalError, MismatchError, argument, command, either
from miscal.base.folds import row_groups
from miscal.base.vocabulary import ANSWER
from miscal.calibration.labelled_rows import LabelledRows, take_rows
from miscal.data.readers.names import find
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import TIME
from miscal.discovery.run import RunContent
from miscal.findings.conditions.condition import with_features
from miscal.findings.ledger.blocks import cut_into_strata
from miscal.findings.ledger.settings import LEDGER_DEFAULTS

Floats = NDArray[np.float64]

LEAST = 0.1
"""Share of the smaller run's rows below which rows that happen to be equal are no match: the runs are of two sets."""
AGREEING = 0.5
"""Share of rows matched by id that must be alike in text, inputs or metadata: ids such as 0, 1, 2 occur in any file."""

STRANGE = 0.5
"""Share of the contradictions of a random matching above which rows of events are not the same. A few outcomes may have
been mended from one run to the next."""
_NUMBERS = "row numbers of the same data"
_BY_VALUES = ("equal texts", "equal inputs")

ROW_ID, ID, TEXT = "row_id", "id", "text"
"""Column of ids, and the kind of inputs that are made from texts."""

# stream of the order of rows of equal confidence
_STRATA = 34


@dataclass(frozen=True, eq=False)
class RunRows:
    """The rows of a run, or some of them, with what the run says of them.

    Attributes
    ----------
    name : str
        What the run is called here.
    run : RunContent
    X : float32 array of shape (n, d)
        Inputs; of texts, only good for finding equal ones.
    row : int64 array of shape (n,)
        Row numbers in the data.
    text : tuple of n str, or None
    columns : dict of str to array of shape (n,)
        Metadata, and named features where they are few.
    group : array of shape (n,), or None
        Rows that count as one.
    correct, confidence : float64 arrays of shape (n,)
        Outcome, 0 or 1, and confidence, in [0, 1].
    delta, field, corrected : float64 arrays of shape (n,)
        The whole field, its hidden part, and the corrected confidence, by fits without the row.
    hidden : float64 array of shape (n,)
        y - E[y | f], E[y | f] learned from other folds.
    stratum : int64 array of shape (n,)
        Strata of near-equal confidence; of some rows numbered from 0 without gaps.
    weight : float64 array of shape (n,), or None
        How much each row counts; None: all count alike.
    unit : int64 array of shape (n,), or None
        Of some rows: those with one number count as one in every interval.
    whole : RunRows, or None
        Of some rows: all of the run.
    at : int64 array of shape (n,), or None
        Of some rows: their places among all.
    """

    name: str
    run: RunContent
    X: np.ndarray
    row: np.ndarray
    text: tuple[str, ...] | None
    columns: dict[str, np.ndarray]
    group: np.ndarray | None
    correct: Floats
    confidence: Floats
    delta: Floats
    field: Floats
    corrected: Floats
    hidden: Floats
    stratum: np.ndarray
    weight: Floats | None = None
    unit: np.ndarray | None = None
    whole: RunRows | None = None
    at: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.row)

    @property
    def residual(self) -> Floats:
        """The residual y - f."""
        return self.correct - self.confidence

    def labelled(self) -> LabelledRows:
        """Return outcomes and confidences, with groups and weights."""
        return LabelledRows.of(self.correct, self.confidence, group=self.group, weight=self.weight)

    def some(self, at: np.ndarray, unit: np.ndarray, weight: Floats | None) -> RunRows:
        """Take rows by their places, with units and weights of their own."""
        names = ("X", "row", "group", "correct", "confidence", "delta", "field", "corrected", "hidden")
        return replace(
            self,
            **{name: take_rows(getattr(self, name), at) for name in names},
            text=None if self.text is None else tuple(self.text[i] for i in at),
            columns={name: values[at] for name, values in self.columns.items()},
            stratum=np.unique(self.stratum[at], return_inverse=True)[1],
            weight=weight,
            unit=unit,
            whole=self,
            at=at,
        )


@dataclass(frozen=True, eq=False)
class Sides:
    """The rows of two runs that are compared.

    Where `by` says how they were matched, row i of `a` and row i of `b` belong together, and rows of a named group, or
    with the same id, are one unit; else these are all rows of both. `differing` matched rows have another outcome in
    `b`, where rows of equal keys are counted together; `by_chance` is how many would have if rows were matched at
    random.
    """

    a: RunRows
    b: RunRows
    by: str | None = None
    differing: int = 0
    by_chance: float = 0.0

    @property
    def paired(self) -> bool:
        """Whether the rows are the same."""
        return self.by is not None

    @property
    def of_strangers(self) -> bool:
        """Whether outcomes differ so often that these are other rows: more than half as often as by chance."""
        return self.differing > STRANGE * self.by_chance

    @property
    def same_answers(self) -> bool:
        """Whether confidences and outcomes are equal row by row."""
        return self.paired and bool(
            np.array_equal(self.a.correct, self.b.correct) and np.array_equal(self.a.confidence, self.b.confidence)
        )

    def columns(self) -> tuple[dict[str, np.ndarray], list[str]]:
        """Return the columns that name groups of both sides, and those that cannot.

        Of matched rows, a column that differs between the runs says something of the runs, not of the rows; (n,) values
        each. Of two sets, a column must be in both; values of `a`, then of `b`.
        """
        one, two = self.a.columns, self.b.columns
        if not self.paired:
            shared = [name for name in one if name in two and one[name].dtype.kind == two[name].dtype.kind]
            others = [name for name in (one | two) if name not in shared]
            return {name: np.concatenate([one[name], two[name]]) for name in shared}, others
        # what is missing is not equal to itself
        same = {k: (one[k] == two[k]) | ((one[k] != one[k]) & (two[k] != two[k])) for k in one if k in two}
        differing = [name for name, equal in same.items() if not np.all(equal)]
        alone = {name: values for name, values in two.items() if name not in one}
        return {name: values for name, values in (one | alone).items() if name not in differing}, differing

    def text(self) -> tuple[str, ...] | None:
        """Return the texts whose terms name groups: of two sets, those of `a`, then of `b`.

        None where either run has no texts, or keeps them to itself.
        """
        one, two = self.a.text, self.b.text
        if one is None or two is None:
            return None
        return one if self.paired else (*one, *two)


def read_rows(run: RunContent, name: str) -> RunRows:
    """Read the rows of a run again; it is refused if it has evidence over time, or its data are gone or changed."""
    if run.summary.evidence == TIME:
        raise InputError(
            f"run {name} was made of evidence over time, so its earliest rows have no field to compare: compare a "
            f"run of {either('`miscal discover --evidence all`', '`miscal.discover` with all evidence')} on its data"
        )
    triples, table = rows_again(run, name), run.table
    seed = run.summary.seed
    confidence = table["confidence"].to_numpy()
    width = LEDGER_DEFAULTS.stratum_width(len(triples))
    return RunRows(
        name=name,
        run=run,
        # levels of columns are numbered by each run for itself
        X=triples.places,
        row=triples.row,
        text=triples.text,
        columns=with_features(triples.metadata, triples.X, triples.encoder),
        group=triples.group,
        weight=triples.weight,
        correct=table["correct"].to_numpy().astype(np.float64),
        confidence=confidence,
        delta=table["delta"].to_numpy(),
        field=table["hidden"].to_numpy(),
        corrected=table["corrected"].to_numpy(),
        hidden=triples.correct - expected_outcome(replace(triples, split=None), seed),
        stratum=cut_into_strata(confidence, width, np.random.default_rng((seed, _STRATA))),
    )


def rows_again(run: RunContent, name: str) -> Triples:
    """Read the rows of a run again from its data; refused if they are gone or changed. X of texts is of words alone."""
    # a sentence model may take minutes
    changed = {"embed_model": "tfidf"} if kind_of(run.source) == TEXT else {}
    try:
        triples = run.triples(**changed)
    except MiscalError as error:
        raise type(error)(f"run {name}: {error.args[0]}") from None
    if not np.array_equal(triples.row, run.table["row"].to_numpy()):
        raise MismatchError(f"{name}: the data no longer give the rows of the run: run {command('discover')} again")
    return triples


# --- matching -----------------------------------------------------------------------------------------------------


def match_rows(a: RunRows, b: RunRows, column: str | None = None) -> Sides:
    """Find the rows that two runs share; all rows of both where next to nothing matches, so that they are of two sets.

    Rows with equal values of `column` are the same. Without it: equal row numbers of one file, equal values
    of `row_id` or `id`, equal texts or equal inputs, the first of these that matches a tenth of the smaller run's rows.
    Rows count by their weights where both runs have weights; matched rows by those of the first.
    """
    weighed = a.weight is not None and b.weight is not None
    if column is not None:
        found = _joined(_values(a, column), _values(b, column), f"the column {column!r}", a, b)
        if found is None:
            raise InputError(
                f"{argument('match', column)}: runs {a.name} and {b.name} have no value of {column!r} in common; name "
                "a column of "
                "ids that both have, or leave it out"
            )
        return found
    least = LEAST * min(len(a), len(b))
    for keys, by in _ways(a, b):
        found = _joined(*keys, by, a, b)
        if found is None or len(found.a) < least or (by not in _BY_VALUES and by != _NUMBERS and not _alike(found)):
            continue
        # rows of equal inputs that differ in what happened are rows of two sets
        if not (by in _BY_VALUES and a.run.summary.kind != ANSWER and found.of_strangers):
            return found
    units = (
        np.arange(len(one)) if one.group is None else np.unique(one.group.astype(str), return_inverse=True)[1]
        for one in (a, b)
    )
    sides = (
        one.some(np.arange(len(one)), unit, one.weight if weighed else None)
        for one, unit in zip((a, b), units, strict=True)
    )
    return Sides(*sides)


def _ways(a: RunRows, b: RunRows) -> Iterator[tuple[tuple[Any, Any], str]]:
    """Yield keys of both runs' rows, equal where two rows are the same, and what they are; the surest come first."""
    if a.run.same_data(b.run):
        yield (a.row, b.row), _NUMBERS
    for name in (ROW_ID, ID):
        if has_column(a, name) and has_column(b, name):
            yield (_values(a, name), _values(b, name)), f"the column {name!r}"
    if a.text is not None and b.text is not None:
        yield (a.text, b.text), _BY_VALUES[0]
    if a.X.shape[1] == b.X.shape[1] and kind_of(a.run.source) == kind_of(b.run.source) != TEXT:
        number = row_groups(np.concatenate([a.X, b.X]))
        yield (number[: len(a)], number[len(a) :]), _BY_VALUES[1]


def kind_of(source: dict[str, Any]) -> Any:
    """Say where the inputs of a run come from: those of one kind and width can be compared, texts only as texts.

    Examples
    --------
    >>> kind_of({"x": {"kind": "text-tfidf"}}), kind_of({"x": {"kind": "features", "names": ["age"]}})
    ('text', ('features', ('age',)))
    """
    made = source.get("x", {})
    # encoders of text are called by what follows, for instance "text-tfidf"
    kind = str(made.get("kind")).split("-")[0]
    return kind if kind == TEXT else (kind, tuple(made.get("names") or ()))


def has_column(rows: RunRows, name: str) -> bool:
    """Say whether the data of a run have a column."""
    return name in rows.run.data().columns


def _values(rows: RunRows, column: str) -> pl.Series:
    return column_again(rows.run, column, rows.row, what=f"match (run {rows.name})")


def column_again(run: RunContent, column: str, row: np.ndarray, *, what: str) -> pl.Series:
    """Read a column of the data of a run again, for these rows, as texts; messages call what names it `what`."""
    table = run.data_with(column)
    find(column, table.columns, what=what)
    values = column_of(table.load([column]), column)[row]
    values = as_text(values.fill_nan(None)) if values.dtype.is_numeric() else values
    return pl.Series([None if value is None else str(value) for value in values.to_list()], dtype=pl.String)


def _joined(left: Any, right: Any, by: str, a: RunRows, b: RunRows) -> Sides | None:
    """Pair rows of equal keys: the first of each with the first, the second with the second."""
    numbered = (
        pl.DataFrame({"key": pl.Series(keys), name: np.arange(len(keys))})
        .filter(pl.col("key").is_not_null())
        .with_columns(pl.int_range(pl.len()).over("key").alias("count"))
        for name, keys in (("a", left), ("b", right))
    )
    both = next(numbered).join(next(numbered), on=("key", "count"), how="inner").sort("a")
    if len(both) == 0:
        return None
    at_a, at_b = both["a"].to_numpy(), both["b"].to_numpy()
    grouped = next((one.group[at] for one, at in ((a, at_a), (b, at_b)) if one.group is not None), None)
    names = both["key"].to_list() if grouped is None else [str(value) for value in grouped]
    unit = np.unique(np.array(names), return_inverse=True)[1]
    one, two = a.correct[at_a], b.correct[at_b]
    apart = both.select("key", apart=pl.Series(one - two)).group_by("key").agg(pl.col("apart").sum().abs())["apart"]
    by_chance = len(both) * (one.mean() * (1 - two.mean()) + two.mean() * (1 - one.mean()))
    weight = a.weight[at_a] if a.weight is not None and b.weight is not None else None
    return Sides(a.some(at_a, unit, weight), b.some(at_b, unit, weight), by, round(apart.sum()), by_chance)


def _alike(found: Sides) -> bool:
    """Whether rows of equal id are the same question: counting numbers as ids say nothing about that."""
    a, b, shares = found.a, found.b, [0.0]
    if a.text is not None and b.text is not None:
        shares.append(np.mean([one == two for one, two in zip(a.text, b.text, strict=True)]))
    if a.X.shape[1] == b.X.shape[1]:
        shares.append(np.mean((a.X == b.X).all(1)))
    shared = ((a.columns[name], b.columns[name]) for name in a.columns.keys() & b.columns.keys())
    shares += [np.mean([x == y for x, y in zip(*pair, strict=True)]) for pair in shared]
    return max(shares) >= AGREEING


def names_of(runs: list[RunContent]) -> list[str]:
    """Name runs by their folders, with as many parents as it takes to tell them apart; by their place without one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from types import SimpleNamespace as Folder
    >>> names_of([Folder(path=Path("a/run")), Folder(path=Path("b/run"))])
    ['a/run', 'b/run']
    >>> names_of([Folder(path=None), Folder(path=Path("b/run"))])
    ['run 1', 'run']
    """
    places = [
        (f"run {number}",) if run.path is None else run.path.resolve().parts for number, run in enumerate(runs, start=1)
    ]
    for depth in range(1, max(map(len, places)) + 1):
        names = ["/".join(parts[-depth:]) for parts in places]
        if len(set(names)) == len(names):
            return names
    raise InputError("the same run was given twice; give runs to compare with each other")
