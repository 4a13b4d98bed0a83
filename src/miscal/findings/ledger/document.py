"""What a ledger says: its findings, the values of every column, and how they were chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Measure, Part, Text, clean_text
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.conditions.condition import Condition, InputClusters, Stored
from miscal.findings.residuals import observed_over_expected, observed_share

NAMED, FOUND = "named", "found"
"""Where a finding comes from."""

ADJUSTMENT = (
    "family-wise: Bonferroni over all candidates at every step of a forward choice, with a tenth of the error for "
    "clusters of inputs, and of the rest 77 % for values of columns, 11.5 % for pairs of two columns and 11.5 % "
    "for intervals and terms; each finding is tested given those above it"
)
"""How the findings allow for all candidates."""


class UnitsNeeded(Part):
    """How many units would tell, and about how many rows these have."""

    units: NonNegativeInt
    rows: NonNegativeInt


class Finding(Part):
    """A named group that is right more or less often than rows of equal confidence.

    `description`: what its rows have in common, in words, written from `condition`.
    `condition`: what its rows have in common, as a value that says which rows of any table belong to it. That of a
        cluster or a term may hold `made_of`: other groups that its rows belong to.
    `source`: ``"named"``: the group has its name by itself. ``"found"``: a cluster of similar inputs, fixed before any
        outcome was seen too.
    `columns`: the columns that define or describe it; ``"text"`` for the texts.
    `n`: its rows.
    `share`: of the evaluation rows, in (0, 1); of their weight where they count unequally, as all means over its rows.
    `accuracy, confidence`: means over its rows, in [0, 1].
    `corrected`: mean of the corrected confidence over its rows, in [0, 1]; None where no correction was given.
    `residual`: accuracy - confidence = visible + hidden; negative where over-confident. Its interval is of this one
        group; it does not allow for its choice, as that of `hidden` does.
    `visible`: mean of E[y | f] - f over its rows: what a reliability diagram shows of them.
    `hidden`: mean of y - E[y | f] over its rows; negative where less often right than rows of equal confidence. Its
        interval allows for the choice of the group among many, and excludes 0 where the group, tested by itself, is
        beyond the same cut; of a trend, which is tested along all of its column, it is that of :func:`hidden_interval`.
    `together_with`: where the test of the group by itself does not reject: number, from 1, of the finding above it
        without which it does not show.
    `conditional`: how much more often its rows are right than other rows of equal confidence in the same findings above
        it, which `p_value` is of. Of a trend: how much more often the rows at its upper end are right than those at its
        lower end, beside such rows. The interval excludes 0 where `p_adjusted` is below the level, and only there.
    `odds_ratio`: odds of being right over those of other rows of equal confidence (Mantel and Haenszel, 1959); None
        where no stratum compares them.
    `p_value, p_adjusted`: given the findings above it; and adjusted for all candidates. Two-sided.
    `sign`: ``"over"``: less often right than rows of equal confidence, so over-confident beside them; ``"under"``.
    `aliases`: other candidates of nearly the same rows, in words.
    `rows`: the most telling rows, by their number in the source: where over, those of outcome 0, the surest first;
        where under, those of outcome 1, the least sure first. A row that a finding above it names is passed over.
    `after`: what a correction leaves of `hidden`: mean of y - E[y | corrected confidence] over its rows, with the 95 %
        interval of this one group, which does not allow for its choice. Undefined where no correction was given.
    `fate`: what the correction makes of it (:func:`.sizes.fate_of`); None where no correction was given.
    `units_needed`: where its fate is not known: of so many units of the group, the interval of `after` would be short
        enough.
    """

    description: Text
    condition: Stored
    source: str
    columns: tuple[Text, ...]
    n: NonNegativeInt
    share: FiniteFloat
    accuracy: FiniteFloat
    confidence: FiniteFloat
    corrected: FiniteFloat | None = None
    residual: Measure
    visible: FiniteFloat
    hidden: Measure
    together_with: NonNegativeInt | None = None
    conditional: Measure
    odds_ratio: FiniteFloat | None
    p_value: FiniteFloat
    p_adjusted: FiniteFloat
    sign: str
    aliases: tuple[Text, ...] = ()
    rows: tuple[int, ...] = ()
    after: Measure = Measure(value=None)
    fate: str | None = None
    units_needed: UnitsNeeded | None = None

    @property
    def expected(self) -> float:
        """Mean of E[y | f] over its rows: the accuracy of rows of equal confidence."""
        return self.confidence + self.visible

    @property
    def happened(self) -> Measure:
        """Its accuracy, with the interval of `residual`."""
        return observed_share(self.accuracy, self.confidence, self.residual.interval)

    @property
    def observed_over_expected(self) -> Measure:
        """Its accuracy over its mean confidence, with the interval of `residual`."""
        return observed_over_expected(self.confidence, self.accuracy - self.confidence, self.residual.interval)


class FindingsMethod(Part):
    """How the findings were chosen.

    `adjustment`: how p-values allow for all candidates. `level`: the family-wise error. `not_crossed`: which pairs of
    values are no candidates, in a sentence; empty where all are. `by_rows`: how many more candidates differ by
    themselves where each row is counted, not units.
    """

    candidates: NonNegativeInt
    adjustment: str
    level: FiniteFloat
    evidence: str
    n: NonNegativeInt
    not_crossed: Text = ""
    by_rows: NonNegativeInt = 0


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


@dataclass(frozen=True)
class Ledger:
    """The findings of some rows.

    `findings` are in the order of choice: about the strongest first. `accounted` are values of columns that differ from
    rows of equal confidence by themselves, but not beyond the cut given the findings, which account for them in part or
    whole, the strongest first; their p-values are by themselves. `values` are those of every column, in the order in
    which its table shows them, and `members` the rows of each finding, bool (n,). Of a run, `method` says how findings
    were chosen, and `clusters` how inputs were clustered, by which a new row is placed; None where they were not.
    `by_rows` is as of the method. `most_off` is the group whose outcomes differ most from its confidence, hidden or
    not: a finding, or one that is known to be off by more than any finding and all rows seem to be. None where no group
    is known to be off, with regard to all candidates.
    """

    findings: tuple[Finding, ...] = ()
    accounted: tuple[Finding, ...] = ()
    values: tuple[ColumnValue, ...] = ()
    members: tuple[np.ndarray, ...] = ()
    method: FindingsMethod | None = None
    clusters: InputClusters | None = None
    by_rows: int = 0
    most_off: Finding | None = None
