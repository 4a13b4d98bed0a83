"""Slopes of both ledgers under both runs: how much less, or more, the confidence of each says in such a group."""

from __future__ import annotations

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.checked_rows import take_rows
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions import Condition, Frame
from miscal.findings.ledger import LEDGER_DEFAULTS, SLOPE
from miscal.findings.ledger.slopes import bins_of, slope_left, thirds
from miscal.runs.compare.document import SlopePair, SlopeSide
from miscal.runs.compare.sides import Side, Sides


def slopes_side_by_side(sides: Sides) -> tuple[SlopePair, ...]:
    """List the slopes of both ledgers, those of `a` first.

    Returns
    -------
    tuple of SlopePair
        A side is null where its rows do not have the column, are too few, or have one confidence.
    """
    found: dict[Condition, tuple[str, ...]] = {}
    for name, side in (("a", sides.a), ("b", sides.b)):
        for one in side.rows.run.summary.findings:
            if one.effect == SLOPE:
                found[one.condition] = (*found.get(one.condition, ()), name)
    return tuple(
        SlopePair(
            description=condition.words,
            condition=condition,
            found_in=names,
            a=_side(sides.a, condition),
            b=_side(sides.b, condition),
        )
        for condition, names in found.items()
    )


def _side(side: Side, condition: Condition) -> SlopeSide | None:
    frame = Frame(len(side.rows), side.rows.columns, side.rows.text, side.rows.X)
    if condition.lacks(frame) is not None:
        return None
    inside = condition.rows(frame)[side.at]
    if inside.sum() < LEDGER_DEFAULTS.min_rows or thirds(side.confidence[inside]) is None:
        return None
    rows = LabelledRows.of(
        side.correct,
        side.confidence,
        np.clip(side.correct - side.hidden, 0.0, 1.0),
        group=take_rows(side.rows.group, side.at),
        weight=side.weight,
    )
    (lower, upper), _ = bins_of(rows.take(inside), SIGNIFICANCE)
    rise = slope_left(rows, inside, side.confidence, SIGNIFICANCE)
    return SlopeSide(n=int(inside.sum()), lower=lower, upper=upper, rise=rise)
