"""Tables of columns: every value with its numbers, what the correction leaves of it, and what the ledger says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Measure, Part, Text, clean_text
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.conditions.condition import Condition, Stored
from miscal.findings.ledger.blocks import Table
from miscal.findings.ledger.groups import ColumnGroups, Groups
from miscal.findings.ledger.settings import LedgerSettings
from miscal.findings.ledger.sizes import Scanned, hidden_size, left_by, residual_size
from miscal.findings.residuals import observed_over_expected

FINDING, EXPLAINED, NOT_DISTINGUISHABLE = "finding", "explained", "not distinguishable"
FEW_ROWS, NOT_TESTED = "too few rows", "not tested"
"""Marks of values."""


class ColumnValue(Part):
    """A value of a column, or a bin of its numbers or dates, or its missing values.

    `condition`: which rows have it.
    `n`: its rows, at least one.
    `share`: of the evaluation rows to the findings, in (0, 1]; of their weight where they count unequally, as all
        means.
    `accuracy, confidence`: means over its rows, in [0, 1].
    `residual`: accuracy less confidence, negative where over-confident.
    `hidden`: mean of y - E[y | f]; negative where less often right than rows of equal confidence.
    `after`: mean of y - E[y | corrected confidence]; undefined where no correction was given. Each of these three has
        the 95 % interval of this one value.
    `mark`: ``"finding"``: its rows are those of a finding. ``"explained"``: it differs from rows of equal confidence by
        itself, beyond the cut of the findings, but these account for it in part or whole. ``"not distinguishable"``: it
        is not beyond that cut. ``"too few rows"``, or too few other rows, to be tested. ``"not tested"``: its rows are
        no candidate, since equal numbers left fewer bins.
    `finding`: number of the finding, from 1: the one that it is, or the one that alone accounts for most of it.
    `conditional`: of a finding and of what findings account for: the difference from rows of equal confidence that the
        other findings leave, with an interval that allows for the choice. Undefined where they leave nothing to
        measure.
    """

    column: Text
    condition: Stored
    n: NonNegativeInt
    share: FiniteFloat
    accuracy: FiniteFloat
    confidence: FiniteFloat
    residual: Measure
    hidden: Measure
    after: Measure = Measure(value=None)
    mark: str
    finding: int | None = None
    conditional: Measure = Measure(value=None)

    @property
    def value(self) -> str:
        """The value in words, without its column."""
        return value_words(self.column, self.condition)

    @property
    def observed_over_expected(self) -> Measure:
        """Its accuracy over its mean confidence, with the interval of this one value."""
        return observed_over_expected(self.confidence, self.residual.value or 0.0, self.residual.interval)

    @property
    def told(self) -> str:
        """The mark in words, with the number of the finding: ``"explained by finding 2"``.

        It is explained in part where something in its own direction is left.
        """
        in_part = (self.conditional.value or 0.0) * (self.hidden.value or 0.0) > 0
        if self.mark == FINDING:
            return f"finding {self.finding}"
        explained = f"explained {'in part ' if in_part else ''}by finding {self.finding}"
        return explained if self.mark == EXPLAINED else self.mark

    @property
    def is_text(self) -> bool:
        """Whether it is a value of a column of texts, which has no order of its own."""
        return isinstance(self.condition, Value) and self.condition.of == "text"


def value_words(column: str, condition: Condition) -> str:
    """Write a value in words, without its column: ``"law"``, ``"from 20 to below 30"``, ``"(missing)"``.

    Examples
    --------
    >>> value_words("subject", Value("subject", "law", "text"))
    'law'
    """
    return clean_text(condition.words).removeprefix(f"{column} ").removeprefix("= ")


def column_values(
    table: Table, corrected: LabelledRows | None, scanned: Scanned, settings: LedgerSettings
) -> tuple[ColumnValue, ...]:
    """Measure every value of every column, and mark it as the ledger does.

    `table`: rows, or cells of them, with their groups and columns. `corrected`: the same rows after a correction.
    `scanned`: what the scan found among these groups (:func:`.scan.scan`). Returns column by column. Bins of numbers
    and dates are in their order, missing values last. Texts begin with the value that is right least often beside rows
    of equal confidence; those of too few rows come last, the largest first.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> from miscal.findings.ledger.settings import LEDGER_DEFAULTS
    >>> from miscal.findings.ledger.blocks import Table
    >>> y, half = np.repeat([1.0, 0.0, 1.0], [30, 30, 3]), np.full(63, 0.5)
    >>> groups = named_groups({"kind": np.repeat(["art", "law", "sums"], [30, 30, 3])})
    >>> found = column_values(Table(LabelledRows(y, half, half), groups), None, Scanned(), LEDGER_DEFAULTS)
    >>> [(one.value, one.n, one.hidden.value, one.mark) for one in found[1:]]
    [('art', 30, 0.5, 'not distinguishable'), ('sums', 3, 0.5, 'too few rows')]
    """
    marks, level = _marks(scanned), settings.significance
    found: list[ColumnValue] = []
    for part, rows in ((part, rows) for rows, groups in table.parts for part in groups.columns):
        order = np.argsort(part.codes, kind="stable")
        cells, first = np.unique(part.codes[order], return_index=True)
        counted = np.add.reduceat(rows.counts[order], first).round().astype(int)
        sizes, total = dict(zip(cells.tolist(), counted.tolist(), strict=True)), rows.mass.sum()
        values = []
        for cell, inside in zip(cells.tolist(), np.split(order, first[1:]), strict=True):
            if cell < 0:  # values of few rows each, which are no cell
                continue
            own = rows.take(inside)
            value = ColumnValue(
                column=part.column,
                condition=part.cells[cell],
                n=own.n,
                share=float(rows.mass[inside].sum() / total),
                accuracy=average(own.correct, own.weight),
                confidence=average(own.confidence, own.weight),
                residual=residual_size(own, level),
                hidden=hidden_size(own, level),
                after=left_by(corrected, inside, level),
                **_mark(part, cell, sizes, table.groups, marks, settings.min_rows),
            )
            values.append(value)
        if any(one.is_text for one in values):
            values.sort(key=lambda one: (1, -one.n) if one.mark == FEW_ROWS else (0, one.hidden.value or 0.0))
        found += values
    return tuple(found)


def _marks(scanned: Scanned) -> dict[int, dict[str, Any]]:
    """Say of candidates what the ledger does: the mark, the number of the finding that it names, and what is left."""
    marks = {
        one.group: {"mark": EXPLAINED, "finding": one.by + 1, "conditional": one.conditional}
        for one in scanned.alone
        if one.by is not None
    }
    for place, one in enumerate(scanned.chosen, start=1):
        marks[one.group] = {"mark": FINDING, "finding": place, "conditional": one.conditional}
    return marks


def _mark(
    part: ColumnGroups, cell: int, sizes: dict[int, int], groups: Groups, marks: dict[int, dict[str, Any]], least: int
) -> dict[str, Any]:
    """Return what is said of a cell."""
    nothing, places = {"mark": NOT_DISTINGUISHABLE}, groups.places
    if (group := places.get(part.cells[cell])) is not None:
        return marks.get(group, nothing)
    if (group := groups.others_than(part.cells[cell])) is None:
        n, every = sizes[cell], sum(sizes.values())
        if min(n, every - n) < least:
            return {"mark": FEW_ROWS}
        others = [other for other in sizes if other != cell]
        if len(others) == 1 and others[0] >= 0:
            group = places.get(part.cells[others[0]])
    if group is None:
        return {"mark": NOT_TESTED}
    # the other of two values, which are one question: what is said of one is said of both
    own = marks.get(group, nothing)
    if own["mark"] == FINDING:
        return {"mark": EXPLAINED, "finding": own["finding"]}
    return own | {"conditional": mirror(own["conditional"])} if "conditional" in own else own


def mirror(size: Measure) -> Measure:
    """Return a size in the other direction.

    Examples
    --------
    >>> mirror(Measure(value=-0.1, interval=(-0.3, 0.1))).interval, mirror(Measure(value=None)).value is None
    ((-0.1, 0.3), True)
    """
    if size.value is None:
        return size
    low, high = size.interval or (None, None)
    ends = None if low is None or high is None else (-high, -low)
    return Measure(value=-size.value, interval=ends)
