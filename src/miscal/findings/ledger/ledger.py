"""Findings: the groups that the scan chose, described with the numbers that a person needs to act on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Measure, Part, Text
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.findings.conditions import Alike, Composition, Condition, Mixed, Mostly, Stored, described, phrase
from miscal.findings.input_clusters import InputClusters
from miscal.findings.ledger.bins import TrendRows
from miscal.findings.ledger.blocks import RowTable, Table
from miscal.findings.ledger.cuts import SequentialField, condition_of, judged_cuts
from miscal.findings.ledger.describe import describe, made_of
from miscal.findings.ledger.exact import cut_into_strata
from miscal.findings.ledger.groups import CLUSTER, TERM, VALUE, Groups
from miscal.findings.ledger.scan import scan_table
from miscal.findings.ledger.settings import FAMILY_WISE, FDR, LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.sizes import (
    Tested,
    TestedGroup,
    allowing_for_choice,
    fate_of,
    hidden_size,
    holds_zero,
    left_between,
    left_by,
)
from miscal.findings.ledger.values import ColumnValue, column_values
from miscal.findings.residuals import observed_over_expected

NAMED, FOUND = "named", "found"
"""Where a finding comes from."""

_GIVEN_ABOVE = "each finding is tested given those above it"
ADJUSTMENTS = {
    FAMILY_WISE: (
        "family-wise: Bonferroni over all candidates at every step of a forward choice, with a tenth of the error for "
        "clusters of inputs, and of the rest 77 % for values of columns, 11.5 % for pairs of two columns and 11.5 % "
        f"for intervals and terms; {_GIVEN_ABOVE}"
    ),
    FDR: (
        "false discovery rate: Benjamini and Hochberg over all candidates at the first step of a forward choice, with "
        f"the same weights as for the family-wise error; the findings are chosen among these, and {_GIVEN_ABOVE}"
    ),
}
"""What is said of each setting of `adjustment`."""


class UnitsNeeded(Part):
    """How many units would tell, and about how many rows these have."""

    units: NonNegativeInt
    rows: NonNegativeInt


class Finding(Part):
    """A named group that is right more or less often than rows of equal confidence.

    `description`: what its rows have in common, in words, written from the two values that follow.
    `condition`: what its rows have in common, as a value that says which rows of any table belong to it.
    `made_of`: other groups that its rows belong to, where its condition needs a description.
    `source`: ``"named"``: the group has its name by itself. ``"found"``: a cluster of similar inputs, fixed before any
        outcome was seen too, or an end of the estimated hidden field, learned from other rows.
    `columns`: the columns that define or describe it; ``"text"`` for the texts.
    `n`: its rows.
    `share`: of the evaluation rows, in (0, 1); of their weight where they count unequally, as all means over its rows.
    `accuracy, confidence`: means over its rows, in [0, 1].
    `corrected`: mean of the corrected confidence over its rows, in [0, 1]; None where no correction was given.
    `residual`: accuracy - confidence = visible + hidden; negative where over-confident.
    `visible`: mean of E[y | f] - f over its rows: what a reliability diagram shows of them.
    `hidden`: mean of y - E[y | f] over its rows; negative where less often right than rows of equal confidence. Its
        interval allows for the choice of the group among many, and excludes 0 where the group, tested by itself, is
        beyond the same cut; of a trend it is that of :func:`hidden_interval`.
    `before`: the number by which the finding is reported, as `after` once confidences are corrected: `hidden`, but
        of a trend how much more often the rows at its upper end are right than those at its lower end, by itself.
    `together_with`: where the interval of `before` holds 0: number, from 1, of the finding above it without which it
        does not show.
    `conditional`: how much more often its rows are right than other rows of equal confidence in the same findings above
        it, which `p_value` is of. Of a trend: how much more often the rows at its upper end are right than those at its
        lower end, beside such rows. The interval excludes 0 where `p_adjusted` is below the level, and only there.
    `odds_ratio`: odds of being right over those of other rows of equal confidence (Mantel and Haenszel, 1959); None
        where no stratum compares them.
    `p_value, p_adjusted`: given the findings above it; and adjusted for all candidates. Two-sided; for an end of the
        hidden field one-sided, in the direction that the field says.
    `sign`: ``"over"``: less often right than rows of equal confidence, so over-confident beside them; ``"under"``.
    `explained`: no estimate of it is good enough.
    `aliases`: other candidates of nearly the same rows, in words.
    `alias_conditions`: the same as values.
    `rows`: the most telling rows, by their number in the source: where over, those of outcome 0, the surest first;
        where under, those of outcome 1, the least sure first. A row that a finding above it names is passed over.
    `p_given`: of a value of a column that is accounted for: its p-value given the findings (1 where these explain all
        of it and more), while `p_value` and `p_adjusted` are by itself. None for a finding.
    `after`: what a correction leaves of `hidden`: mean of y - E[y | corrected confidence] over its rows, with the 95 %
        interval of this one group, which does not allow for its choice. Of a trend: that mean over its upper end
        less that over its lower end. Undefined where no correction was given.
    `fate`: what the correction makes of it (:func:`.sizes.fate_of`); None where no correction was given.
    `units_needed`: where its fate is not known: of so many units of the group, the interval of `after` would be short
        enough.
    """

    description: Text
    condition: Stored
    made_of: Composition | None = None
    source: str
    columns: tuple[Text, ...]
    n: NonNegativeInt
    share: FiniteFloat
    accuracy: FiniteFloat
    confidence: FiniteFloat
    corrected: FiniteFloat | None = None
    residual: FiniteFloat
    visible: FiniteFloat
    hidden: Measure
    before: Measure
    together_with: NonNegativeInt | None = None
    conditional: Measure
    odds_ratio: FiniteFloat | None
    p_value: FiniteFloat
    p_adjusted: FiniteFloat
    sign: str
    explained: None = None
    aliases: tuple[Text, ...] = ()
    alias_conditions: tuple[Stored, ...] = ()
    rows: tuple[int, ...] = ()
    p_given: FiniteFloat | None = None
    after: Measure = Measure(value=None)
    fate: str | None = None
    units_needed: UnitsNeeded | None = None

    @property
    def phrase(self) -> str:
        """Its rows, in the middle of a sentence: ``"rows with subject = law"``."""
        return phrase(self.condition, self.made_of)

    @property
    def expected(self) -> float:
        """Mean of E[y | f] over its rows: the accuracy of rows of equal confidence."""
        return self.confidence + self.visible

    @property
    def happened(self) -> Measure:
        """Its accuracy; the interval is that of `hidden`, which allows for its choice."""
        low, high = self.hidden.interval or (None, None)
        ends = None if low is None or high is None else (max(0.0, self.expected + low), min(1.0, self.expected + high))
        return Measure(value=self.accuracy, interval=ends)

    @property
    def observed_over_expected(self) -> Measure:
        """Its accuracy over its mean confidence; the interval is that of `hidden`, which allows for its choice."""
        low, high = self.hidden.interval or (None, None)
        ends = None if low is None or high is None else (low + self.visible, high + self.visible)
        return observed_over_expected(self.confidence, self.residual, ends)


def _wording(
    condition: Condition, made: Alike | Mixed | Mostly | None = None, aliases: Sequence[Condition] = ()
) -> dict[str, Any]:
    """Return the values that say which rows a finding has, and the words that are written from them."""
    columns = (*condition.columns, *(() if made is None else made.columns))
    return {
        "description": described(condition, made),
        "condition": condition,
        "made_of": made,
        "columns": tuple(dict.fromkeys(columns)),
        "aliases": tuple(one.words for one in aliases),
        "alias_conditions": tuple(aliases),
    }


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


@dataclass(frozen=True)
class Ledger:
    """The findings of some rows.

    `findings` are in the order of choice: about the strongest first. `accounted` are values of columns that differ from
    rows of equal confidence by themselves, but not beyond the cut given the findings, which account for them in part or
    whole; the strongest first, with `p_given`. `values` are those of every column, in the order in which its table
    shows them, and `members` the rows of each finding, bool (n,). Of a run, `method` says how findings were chosen, and
    `clusters` how inputs were clustered, by which a new row is placed; None where they were not. `by_rows` is as of the
    method.
    """

    findings: tuple[Finding, ...] = ()
    accounted: tuple[Finding, ...] = ()
    values: tuple[ColumnValue, ...] = ()
    members: tuple[np.ndarray, ...] = ()
    method: FindingsMethod | None = None
    clusters: InputClusters | None = None
    by_rows: int = 0


def find(
    rows: LabelledRows,
    groups: Groups,
    *,
    field: SequentialField | None = None,
    corrected: LabelledRows | None = None,
    seed: int = 0,
    error: float = 1.0,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> Ledger:
    """Write the ledger of findings, and of the values that these account for.

    `rows`: with `hidden` and `row`; nothing that is asked of them was learned from their outcomes. `groups`: of the
    same rows, fixed before any outcome was seen. `field`: a hidden field of the same rows whose ends are judged too,
    given the findings among `groups`. `corrected`: the same rows after a correction that has not seen their outcomes:
    `confidence` is the corrected one, and `expected` is E[y | corrected confidence]. By default nothing is said of what
    a correction leaves. `seed`: of the order of rows of equal confidence. `error`: share of the family-wise error that
    this ledger may spend, in (0, 1], where it is one of several of a run. Adjusted p-values are with regard to all of
    them.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = (rng.random(600) < np.where(kind == "law", 0.3, 0.7)).astype(float)
    >>> half = np.full(600, 0.5)
    >>> rows = LabelledRows(y, half, half, hidden=y * 0, row=np.arange(600))
    >>> [law] = find(rows, named_groups({"kind": kind})).findings
    >>> law.description, law.n, law.sign, law.odds_ratio < 0.3
    ('kind = law', 200, 'over', True)
    """
    return ledger_of(
        RowTable(rows, groups), field=field, corrected=corrected, seed=seed, error=error, settings=settings
    )


def ledger_of(
    table: Table,
    *,
    field: SequentialField | None = None,
    corrected: LabelledRows | None = None,
    seed: int = 0,
    error: float = 1.0,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> Ledger:
    """Write the ledger of rows, or of cells of them; the others are as of :func:`find`, and `members` of one block."""
    groups = table.groups
    for_cuts = 0.0 if field is None else settings.cut_share_of_error if len(groups) else 1.0
    scanned = scan_table(table, seed=seed, error=error * (1 - for_cuts), settings=settings)
    chosen, alone = scanned.chosen, scanned.alone
    rows, telling = table.parts[0][0], _TellingRows(table.parts[0][0], settings.examples)
    stratum = rows.stratum
    if stratum is None:
        stratum = cut_into_strata(rows.confidence, settings.stratum_rows, np.random.default_rng((seed, 32)), rows.part)

    def measured(tested: Tested, group: int, trend: TrendRows | None = None) -> dict[str, Any]:
        own, inside = table.own(group)
        strata = stratum if own is rows else own.stratum
        return _measured(tested, inside, own, corrected, strata, telling, settings, trend)

    findings = [
        Finding(
            **_wording_of(one, table, settings),
            **measured(one, one.group, groups.trends.get(one.group)),
        )
        for one in chosen
    ]
    members = [table.own(one.group)[1] for one in chosen]
    if field is not None:
        apart = [*members, *(groups.trends[one.group].lower for one in chosen if one.group in groups.trends)]
        for cut in judged_cuts(rows, field, apart, seed=seed, error=error * for_cuts, settings=settings):
            condition = condition_of(cut, field, rows.hidden, rows.row)
            words = _wording(condition, describe(cut.rows, groups, settings))
            shared = [int(np.sum(cut.rows & one)) for one in members[: len(chosen)]]
            needs = int(np.argmax(shared)) if shared and holds_zero(cut.own) else None
            numbers = _measured(replace(cut, needs=needs), cut.rows, rows, corrected, stratum, telling, settings)
            findings.append(Finding(source=FOUND, **words, **numbers))
            members.append(cut.rows)
    named = {other for one in chosen for other in one.aliases}
    accounted = [
        Finding(
            source=NAMED,
            **_wording(groups.conditions[one.group], aliases=groups.also[one.group][: settings.max_aliases]),
            **measured(one, one.group),
        )
        for one in alone
        if groups.kinds[one.group] == VALUE and one.group not in named
    ]
    values = column_values(table, corrected, scanned, settings)
    return Ledger(tuple(findings), tuple(accounted), values, tuple(members), by_rows=scanned.by_rows)


def _wording_of(one: TestedGroup, table: Table, settings: LedgerSettings) -> dict[str, Any]:
    """Say which group was chosen, where it comes from, and what it is made of."""
    groups = table.groups
    (rows, inside), kind = table.own(one.group), groups.kinds[one.group]
    aliases = (*groups.also[one.group], *(groups.conditions[other] for other in one.aliases))
    made = None
    if kind == CLUSTER:
        made = describe(inside, groups, settings)
        if isinstance(made, Mixed):
            made = replace(made, typical=tuple(rows.row[list(groups.typical[one.group])].tolist()))
    elif kind == TERM:
        made = made_of(inside, groups, settings)
    source = FOUND if kind == CLUSTER else NAMED
    return {"source": source, **_wording(groups.conditions[one.group], made, aliases[: settings.max_aliases])}


def _measured(
    tested: Tested,
    inside: np.ndarray,
    rows: LabelledRows,
    corrected: LabelledRows | None,
    stratum: np.ndarray,
    telling: _TellingRows,
    settings: LedgerSettings,
    trend: TrendRows | None = None,
) -> dict[str, Any]:
    """Return the numbers of a finding."""
    own = rows.take(inside)
    accuracy, sure, rate = (average(values, own.weight) for values in (own.correct, own.confidence, own.expected))
    sign = "over" if tested.z < 0 else "under"
    hidden = hidden_size(own, tested.level)
    if trend is None and tested.own.interval is not None:
        low, high = tested.own.interval
        hidden = Measure(value=hidden.value, interval=(min(low, hidden.value), max(high, hidden.value)))
    before = hidden if trend is None else tested.own
    if corrected is not None and trend is not None:
        left = left_between(corrected, trend.lower, trend.upper, settings.significance)
    else:
        left = left_by(corrected, inside, settings.significance)
    after = allowing_for_choice(left, tested.shrinkage, tested.z)
    fate, needed = fate_of(before, after, own.n)
    return {
        "n": own.n,
        "share": average(inside, rows.weight),
        "accuracy": accuracy,
        "confidence": sure,
        "corrected": None if corrected is None else average(corrected.confidence[inside], own.weight),
        "residual": accuracy - sure,
        "visible": rate - sure,
        "hidden": hidden,
        "before": before,
        "together_with": None if tested.needs is None else tested.needs + 1,
        "conditional": tested.conditional,
        "after": after,
        "fate": fate,
        "units_needed": needed and UnitsNeeded(units=-(-needed * own.n_units // own.n), rows=needed),
        "odds_ratio": odds_ratio(rows.correct, inside, stratum, rows.weight),
        "p_value": tested.p_value,
        "p_adjusted": tested.p_adjusted,
        "sign": sign,
        "rows": telling.of(inside, sign),
        "p_given": tested.p_given,
    }


def odds_ratio(
    correct: np.ndarray, inside: np.ndarray, stratum: np.ndarray, weight: np.ndarray | None = None
) -> float | None:
    """Odds of being right inside over outside, given the stratum (Mantel and Haenszel, 1959); None if undefined.

    `correct`, (n,). `inside`, bool (n,). `stratum`, int (n,). `weight`, (n,): how much each row counts; all alike by
    default.

    Examples
    --------
    >>> y, inside = np.array([1.0, 0, 1, 0, 0]), np.array([True, True, False, False, False])
    >>> odds_ratio(y, inside, np.zeros(5, int))
    2.0
    """
    weight = np.ones(len(correct)) if weight is None else weight
    size = np.maximum(np.bincount(stratum, weight), np.finfo(float).tiny)
    right, inside = correct > 0, inside.astype(bool)
    counts = [np.bincount(stratum, weight * (a & b)) for a in (inside, ~inside) for b in (right, ~right)]
    above, below = np.sum(counts[0] * counts[3] / size), np.sum(counts[1] * counts[2] / size)
    return float(above / below) if below > 0 else None


class _TellingRows:
    """Chooses the rows that a finding names as examples; each row serves one finding."""

    def __init__(self, rows: LabelledRows, most: int) -> None:
        self.rows, self.most, self.left = rows, most, np.full(len(rows), True)

    def of(self, inside: np.ndarray, sign: str) -> tuple[int, ...]:
        """Return the source's numbers of the surest wrong rows where over, of the least sure right ones where under."""
        if self.rows.row is None:  # cells have no rows to show
            return ()
        wrong, sure = (0.0, -self.rows.confidence) if sign == "over" else (1.0, self.rows.confidence)
        able = np.flatnonzero(inside & self.left & (self.rows.correct == wrong))
        chosen = able[np.argsort(sure[able], kind="stable")][: self.most]
        self.left[chosen] = False
        return tuple(self.rows.row[chosen].tolist())
