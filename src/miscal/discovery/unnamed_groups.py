"""Rows that hang together although no groups are named: columns that say which do, and what it costs to ignore them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from miscal.base.number_wording import decimal
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.survey_design import SurveyDesign
from miscal.data.periods import DAY
from miscal.data.splits import own_ids
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.summary import UnnamedGroups
from miscal.evidence.intraclass import intraclass_p_values
from miscal.findings.residuals import holm

LEVEL = 0.01
"""At most one run in a hundred names a column where outcomes are independent."""
LEAST_WIDER = 1.05
"""Intervals that would be wider by less say the same."""
MOST_NAMED = 3


def unnamed_groups(rows: FittedRows, *, seed: int) -> tuple[UnnamedGroups, ...]:
    """Find columns within whose values outcomes correlate beyond confidences and inputs.

    Parameters
    ----------
    rows : FittedRows
    seed : int
        Of the shuffles.

    Returns
    -------
    tuple of UnnamedGroups
        Those that would widen intervals most first.
    """
    testifies = rows.testifies
    groups = {name: number[testifies] for name, number in rows.triples.candidate_groups.items()}
    units = {name for name in rows.units if rows.without_units is not None}
    parts = [(rows.corrected, [name for name in groups if name not in units]), (_without_units(rows, seed), units)]
    # what a field has learned of a customer from other folds would hide that the rows of a customer are alike
    compared = {name: labelled for labelled, names in parts for name in names}
    p_values = {}
    for labelled, names in parts:
        p_values |= intraclass_p_values(labelled, {name: groups[name] for name in names}, random_state=seed)
    adjusted = dict(zip(p_values, holm(np.array(list(p_values.values()))).tolist(), strict=True))
    found = [
        _measured(rows, compared[name], name, groups[name], p_value)
        for name, p_value in adjusted.items()
        if p_value < LEVEL
    ]
    return tuple(sorted((one for one in found if one.wider >= LEAST_WIDER), key=lambda one: -one.wider))


def _without_units(rows: FittedRows, seed: int) -> LabelledRows:
    """Return the rows that testify as they would be corrected if the inputs were blank that may name customers."""
    if rows.without_units is None:
        return rows.corrected
    expected = expected_outcome(rows.triples, seed, rows.without_units)
    return rows.labelled(rows.testifies, confidence=rows.without_units, expected=expected)


def _measured(
    rows: FittedRows, compared: LabelledRows, name: str, number: np.ndarray, p_adjusted: float
) -> UnnamedGroups:
    alone = number < 0
    # a row without a value is a group of its own
    group = np.where(alone, number.max() + 1 + np.cumsum(alone), number)
    beyond = SurveyDesign.given(group, compared.correct, compared.expected)
    every = np.zeros(len(rows.triples), dtype=np.int64)
    every[rows.testifies] = group
    named = rows.labelled(rows.testifies, group=every)
    return UnnamedGroups(
        column=name,
        n=len(np.unique(number[~alone])),
        p_adjusted=p_adjusted,
        beyond_inputs=beyond.correlation,
        correlation=named.design.correlation,
        wider=float(np.sqrt(effect_of_mean(named, np.ones(len(named), dtype=bool)))),
    )


def warning_of(found: Sequence[UnnamedGroups], kind: Kind = ANSWER) -> str | None:
    """Say which columns mark rows that hang together, and how much wider intervals would be.

    Parameters
    ----------
    found : sequence of UnnamedGroups
    kind : {"answer", "event", "judge"}
        What the confidence is the probability of.

    Examples
    --------
    >>> sizes = {"p_adjusted": 1e-9, "beyond_inputs": 0.01, "correlation": 0.046, "wider": 2.314}
    >>> print(warning_of([UnnamedGroups(column="time:day", n=91, **sizes)]))
    no groups are named, so intervals and p-values take all rows as independent. But outcomes are more alike than
    confidences and inputs explain among rows of one day of 'time' (91 groups, within which outcomes correlate by 0.05
    given the confidence; with --group time:day, the interval of the mean outcome would be 2.3 times as wide)
    >>> warning_of([]) is None
    True
    """
    if not found:
        return None
    words = vocabulary(kind)
    within, given = "within which outcomes correlate by ", f" given the {words.probability}"
    wider = "the interval of the mean outcome would be "
    clauses = [
        f"of one {_value_of(one)} ({one.n:,} groups, {'' if place else within}{decimal(one.correlation, 2)}"
        f"{'' if place else given}; with --group {one.column}, "
        f"{'' if place else wider}{one.wider:.1f} times as wide)"
        for place, one in enumerate(found[:MOST_NAMED])
    ]
    return (
        "no groups are named, so intervals and p-values take all rows as independent. But outcomes are more alike than "
        f"{words.probabilities} and inputs explain among rows {', and '.join(clauses)}"
    )


def _value_of(one: UnnamedGroups) -> str:
    column, _, period = one.column.rpartition(":")
    return f"{period} of {column!r}" if period == DAY and column else repr(one.column)


def equal_inputs_warning(rows: FittedRows) -> str | None:
    """Say what it costs that rows with equal inputs are taken as independent."""
    if rows.triples.group is not None:
        return None
    alike = rows.labelled(rows.testifies, group=own_ids(rows.triples), weight=None)
    if alike.design is None:
        return None
    wider = float(np.sqrt(effect_of_mean(alike, np.ones(len(alike), dtype=bool))))
    words = vocabulary(rows.triples.kind)
    return (
        "no groups are named, so intervals and p-values take rows with equal inputs as independent. Given the "
        f"{words.probability}, the outcomes of equal inputs correlate by {alike.design.correlation:.2f}; if they "
        f"depend on each other, as {words.together} do, the interval of a mean should be {wider:.2f} times as wide: "
        "name the column that says which rows belong together with --group"
    )
