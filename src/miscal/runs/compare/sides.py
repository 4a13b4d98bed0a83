"""Two runs made ready for comparison: the rows compared, matched or not, and the groups that both can name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.checked_rows import take_rows
from miscal.runs.compare.compared_rows import Match, RunRows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Side:
    """One run's values of the rows compared; arrays of shape (n,), as in :class:`RunRows`.

    Rows with one `unit` count as one in every interval; `at` is the place of each row in its run. `weight` says how
    much each row counts; None: all count alike.
    """

    rows: RunRows
    at: np.ndarray
    unit: np.ndarray
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.at)

    @property
    def correct(self) -> Floats:
        """Outcomes, 0 or 1."""
        return self.rows.correct[self.at]

    @property
    def confidence(self) -> Floats:
        """Confidences, in [0, 1]."""
        return self.rows.confidence[self.at]

    def labelled(self) -> LabelledRows:
        """Return outcomes and confidences, with groups and weights."""
        group = take_rows(self.rows.group, self.at)
        return LabelledRows.of(self.correct, self.confidence, group=group, weight=self.weight)

    @property
    def residual(self) -> Floats:
        """Outcomes minus confidences."""
        return self.rows.residual[self.at]

    @property
    def hidden(self) -> Floats:
        """Outcomes minus those expected at their confidences."""
        return self.rows.hidden[self.at]

    @property
    def local_saving(self) -> Floats:
        """Brier score that the local correction saves beyond the global map; both learned from other rows."""
        y, rows = self.correct, self.rows
        visible = (rows.confidence + rows.visible)[self.at]
        return (y - visible) ** 2 - (y - rows.corrected[self.at]) ** 2

    @property
    def stratum(self) -> np.ndarray:
        """Strata of near-equal confidence, numbered from 0 without gaps."""
        return np.unique(self.rows.stratum[self.at], return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Sides:
    """Two runs beside each other; where `match` is given, row i of `a` and row i of `b` belong together."""

    a: Side
    b: Side
    match: Match | None

    @property
    def paired(self) -> bool:
        """Whether the rows are the same."""
        return self.match is not None

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
        one, two = self.a.rows.columns, self.b.rows.columns
        if self.match is None:
            shared = [name for name in one if name in two and one[name].dtype.kind == two[name].dtype.kind]
            others = [name for name in (one | two) if name not in shared]
            return {name: np.concatenate([one[name], two[name]]) for name in shared}, others
        known: dict[str, np.ndarray] = {}
        for side in (self.a, self.b):
            for name, values in side.rows.columns.items():
                known.setdefault(name, values[side.at])
        differing = [name for name in one if name in two and not _equal(one[name][self.a.at], two[name][self.b.at])]
        return {name: values for name, values in known.items() if name not in differing}, differing

    def text(self) -> tuple[str, ...] | None:
        """Return the texts whose terms name groups: of two sets, those of `a`, then of `b`.

        None where either run has no texts, or keeps them to itself.
        """
        one, two = self.a.rows.named_text, self.b.rows.named_text
        if one is None or two is None:
            return None
        return (*one, *two) if self.match is None else tuple(one[i] for i in self.a.at)


def sides_of(a: RunRows, b: RunRows, match: Match | None) -> Sides:
    """Take the rows to compare: those matched, or all of both runs.

    Rows count by their weights where both runs have weights; matched rows by those of the first.
    """
    weighed = a.weight is not None and b.weight is not None
    if match is not None:
        weight = a.weight[match.a] if weighed else None
        first, second = (Side(one, at, match.unit, weight) for one, at in ((a, match.a), (b, match.b)))
        return Sides(first, second, match)
    first, second = (Side(one, np.arange(len(one)), _units(one), one.weight if weighed else None) for one in (a, b))
    return Sides(first, second, None)


def _units(rows: RunRows) -> np.ndarray:
    if rows.group is None:
        return np.arange(len(rows))
    return np.unique(rows.group.astype(str), return_inverse=True)[1]


def _equal(one: np.ndarray, two: np.ndarray) -> bool:
    same = one == two
    # what is missing is not equal to itself
    return bool(np.all(same | ((one != one) & (two != two))))
