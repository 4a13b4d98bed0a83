"""Findings: the groups that the scan chose, described with the numbers that a person needs to act on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Measure, Part, Text
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.findings.conditions.condition import InputClusters, Stored
from miscal.findings.conditions.other_kinds import Mixed
from miscal.findings.ledger.blocks import Table, cut_into_strata
from miscal.findings.ledger.clusters import describe, made_of
from miscal.findings.ledger.groups import CLUSTER, TERM, VALUE, Groups
from miscal.findings.ledger.scan import scan
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.sizes import TestedGroup, allowing_for_choice, fate_of, hidden_size, left_by, residual_size
from miscal.findings.ledger.values import ColumnValue, column_values
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


def find(rows: LabelledRows, groups: Groups, **asked: Any) -> Ledger:
    """Write the ledger of findings, and of the values that these account for, of rows one by one.

    `rows`: with `row`; nothing that is asked of them was learned from their outcomes. `groups`: of the same rows, fixed
    before any outcome was seen. `**asked`: of :func:`ledger_of`.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = (rng.random(600) < np.where(kind == "law", 0.3, 0.7)).astype(float)
    >>> half = np.full(600, 0.5)
    >>> rows = LabelledRows(y, half, half, row=np.arange(600))
    >>> [law] = find(rows, named_groups({"kind": kind})).findings
    >>> law.description, law.n, law.sign, law.odds_ratio < 0.3
    ('kind = law', 200, 'over', True)
    """
    return ledger_of(Table(rows, groups), **asked)


def ledger_of(
    table: Table,
    *,
    corrected: LabelledRows | None = None,
    seed: int = 0,
    error: float = 1.0,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> Ledger:
    """Write the ledger of rows, or of cells of them, whose `members` are of one block.

    `corrected`: the same rows after a correction that has not seen their outcomes: `confidence` is the corrected one,
    and `expected` is E[y | corrected confidence]. By default nothing is said of what a correction leaves. `seed`: of
    the order of rows of equal confidence. `error`: share of the family-wise error that this ledger may spend, in
    (0, 1], where it is one of several of a run. Adjusted p-values are with regard to all of them.
    """
    groups = table.groups
    scanned = scan(table, seed=seed, error=error, settings=settings)
    rows, left = table.parts[0][0], np.full(len(table.parts[0][0]), True)
    stratum = rows.stratum
    if stratum is None:
        stratum = cut_into_strata(rows.confidence, settings.stratum_rows, np.random.default_rng((seed, 32)), rows.part)

    def telling(inside: np.ndarray, sign: str) -> tuple[int, ...]:
        """Return the source's numbers of the surest wrong rows where over, of the least sure right ones where under."""
        if rows.row is None:  # cells have no rows to show
            return ()
        wrong, sure = (0.0, -rows.confidence) if sign == "over" else (1.0, rows.confidence)
        able = np.flatnonzero(inside & left & (rows.correct == wrong))
        chosen = able[np.argsort(sure[able], kind="stable")][: settings.examples]
        # each row serves one finding
        left[chosen] = False
        return tuple(rows.row[chosen].tolist())

    def written(one: TestedGroup) -> Finding:
        among, inside = table.own(one.group)
        own = among.take(inside)
        accuracy, sure, rate = (average(values, own.weight) for values in (own.correct, own.confidence, own.expected))
        sign = "over" if one.z < 0 else "under"
        hidden = hidden_size(own, one.level)
        if one.group not in groups.trends and one.own.interval is not None:
            low, high = one.own.interval
            hidden = Measure(value=hidden.value, interval=(min(low, hidden.value), max(high, hidden.value)))
        after = allowing_for_choice(left_by(corrected, inside, settings.significance), one.shrinkage, one.z)
        fate, needed = fate_of(hidden, after, own.n)
        strata = stratum if among is rows else among.stratum
        return Finding(
            **_named(one, inside, table, settings),
            n=own.n,
            share=average(inside, among.weight),
            accuracy=accuracy,
            confidence=sure,
            corrected=None if corrected is None else average(corrected.confidence[inside], own.weight),
            residual=residual_size(own, settings.significance),
            visible=rate - sure,
            hidden=hidden,
            together_with=None if one.needs is None else one.needs + 1,
            conditional=one.conditional,
            after=after,
            fate=fate,
            units_needed=needed and UnitsNeeded(units=-(-needed * own.n_units // own.n), rows=needed),
            odds_ratio=stratified_odds_ratio(among.correct, inside, strata, among.weight),
            p_value=one.p_value,
            p_adjusted=one.p_adjusted,
            sign=sign,
            rows=telling(inside, sign),
        )

    findings = tuple(map(written, scanned.chosen))
    members = tuple(table.own(one.group)[1] for one in scanned.chosen)
    named = {other for one in scanned.chosen for other in one.aliases}
    accounted = tuple(
        written(one) for one in scanned.alone if groups.kinds[one.group] == VALUE and one.group not in named
    )
    values, most = column_values(table, corrected, scanned, settings), scanned.most_off
    if most is not None:
        known = (one for one, chosen in zip(findings, scanned.chosen, strict=True) if chosen.group == most.group)
        level, (own, inside) = most.level, table.own(most.group)
        # what was chosen by how far it is off has an interval of that which allows for the choice
        off = residual_size(own.take(inside), level)
        most = next(known, None) or written(most).model_copy(update={"residual": off})
    return Ledger(findings, accounted, values, members, by_rows=scanned.by_rows, most_off=most)


def _named(one: TestedGroup, inside: np.ndarray, table: Table, settings: LedgerSettings) -> dict[str, Any]:
    """Say which group it is, where it comes from, and what it is made of."""
    groups, kind = table.groups, table.groups.kinds[one.group]
    condition, more = groups.conditions[one.group], ()
    if kind == CLUSTER:
        made = describe(inside, groups)
        more = made.columns
        if isinstance(made, Mixed):
            rows = table.own(one.group)[0]
            made = replace(made, typical=tuple(rows.row[list(groups.typical[one.group])].tolist()))
        condition = replace(condition, made_of=made)
    elif kind == TERM:
        condition = replace(condition, made_of=made_of(inside, groups))
    aliases = (*groups.also[one.group], *(groups.conditions[other] for other in one.aliases))
    return {
        "description": condition.description,
        "condition": condition,
        "source": FOUND if kind == CLUSTER else NAMED,
        "columns": tuple(dict.fromkeys((*condition.columns, *more))),
        "aliases": tuple(other.words for other in aliases[: settings.max_aliases]),
    }


def stratified_odds_ratio(
    correct: np.ndarray, inside: np.ndarray, stratum: np.ndarray, weight: np.ndarray | None = None
) -> float | None:
    """Odds of being right inside over outside, given the stratum (Mantel and Haenszel, 1959); None if undefined.

    `correct`, (n,). `inside`, bool (n,). `stratum`, int (n,). `weight`, (n,): how much each row counts; all alike by
    default.

    Examples
    --------
    >>> y, inside = np.array([1.0, 0, 1, 0, 0]), np.array([True, True, False, False, False])
    >>> stratified_odds_ratio(y, inside, np.zeros(5, int))
    2.0
    """
    weight = np.ones(len(correct)) if weight is None else weight
    size = np.maximum(np.bincount(stratum, weight), np.finfo(float).tiny)
    right, inside = correct > 0, inside.astype(bool)
    counts = [np.bincount(stratum, weight * (a & b)) for a in (inside, ~inside) for b in (right, ~right)]
    above, below = np.sum(counts[0] * counts[3] / size), np.sum(counts[1] * counts[2] / size)
    return float(above / below) if below > 0 else None
