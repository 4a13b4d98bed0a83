"""Rows of different parts are never compared with each other."""

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.ledger.exact import cut_into_strata, strata_within
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find


def test_no_stratum_holds_rows_of_two_parts():
    rng = np.random.default_rng(0)
    confidence, part, law = rng.choice([0.5, 0.8, 0.91234, 0.13], 400), rng.integers(3, 6, 400), rng.random(400) < 0.3
    for stratum, groups in (
        (cut_into_strata(confidence, 8, rng, part), [part]),
        (strata_within(confidence, [law], 8, rng, part), [part, law]),
    ):
        assert set(stratum) == set(range(stratum.max() + 1))
        for group in groups:
            assert all(len(set(group[stratum == one])) == 1 for one in range(stratum.max() + 1))


def test_a_part_that_is_right_less_often_throughout_is_no_finding():
    rng = np.random.default_rng(0)
    part = np.repeat([0, 1], 600)
    names, y = np.array(["a", "b"], object)[part], (rng.random(1_200) < np.where(part == 0, 0.3, 0.8)).astype(float)
    confidence = rng.uniform(0.3, 0.9, 1_200)
    rows = LabelledRows(y, confidence, np.full(1_200, 0.55), hidden=0 * y, row=np.arange(1_200))
    groups = named_groups({"name": names})
    assert len(find(rows, groups).findings) == 1
    apart = LabelledRows(y, confidence, rows.expected, hidden=0 * y, row=rows.row, part=part)
    assert find(apart, groups).findings == ()


def test_rows_of_other_parts_do_not_widen_strata():
    every, question = np.full(200, 0.8), np.arange(200) // 2
    y = np.tile([1.0, 0.0, 0.0, 1.0, 1.0], 40)
    together = LabelledRows.of(y, every, group=question)
    assert together.rows_per_unit == 2
    assert LabelledRows.of(y, every, group=question, part=np.arange(200) % 2).rows_per_unit == 1


def test_what_only_units_take_away_is_counted_and_nothing_is_where_rows_are():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(60), 20)
    names, y = np.array(["a", "b"], object)[unit % 2], (rng.random(60) < np.where(np.arange(60) % 2, 0.35, 0.65))[unit]
    known = {"hidden": np.zeros(1_200), "row": np.arange(1_200)}
    half, groups = np.full(1_200, 0.5), named_groups({"name": names})
    by_unit = find(LabelledRows.of(1.0 * y, half, half, group=unit, **known), groups)
    by_row = find(LabelledRows.of(1.0 * y, half, half, **known), groups)
    assert (len(by_unit.findings), by_unit.by_rows) == (0, 1)
    assert (len(by_row.findings), by_row.by_rows) == (1, 0)
