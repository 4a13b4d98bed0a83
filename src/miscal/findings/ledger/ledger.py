"""Write the ledger: the groups that the scan chose and the values of every column, with their numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.findings.conditions.other_kinds import Mixed
from miscal.findings.ledger.blocks import Table, cut_into_strata
from miscal.findings.ledger.clusters import describe, made_of
from miscal.findings.ledger.document import (
    EXPLAINED,
    FEW_ROWS,
    FINDING,
    FOUND,
    NAMED,
    NOT_DISTINGUISHABLE,
    NOT_TESTED,
    ColumnValue,
    Finding,
    Ledger,
    UnitsNeeded,
)
from miscal.findings.ledger.groups import CLUSTER, TERM, VALUE, ColumnGroups, Groups
from miscal.findings.ledger.scan import scan
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.sizes import (
    Scanned,
    TestedGroup,
    allowing_for_choice,
    fate_of,
    hidden_size,
    left_by,
    residual_size,
)


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
