"""The group that is off most: found where no test of what is hidden can see it, and nobody is named by chance."""

import numpy as np
import pytest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find


def ledger(off, seed):
    """Of 2,000 rows, those of both groups have risks of their own, and are off as the reliability diagram shows."""
    rng = np.random.default_rng(seed)
    kind, place = rng.choice(["law", "art"], 2000), rng.choice(["north", "south", "east"], 2000)
    both = (kind == "law") & (place == "north")
    risk = np.where(both, rng.uniform(0.2, 0.3, 2000), rng.uniform(0.4, 0.8, 2000))
    expected = np.where(both, risk + off, risk)
    happened = (rng.random(2000) < expected).astype(float)
    rows = LabelledRows(happened, risk, expected, row=np.arange(2000))
    return find(rows, named_groups({"kind": kind, "place": place}))


def test_an_overlap_that_is_off_where_a_diagram_shows_it_is_named():
    found = [ledger(0.2, seed) for seed in range(10)]
    assert {one.most_off.description for one in found} == {"kind = law and place = north"}
    assert not any(one.findings for one in found)
    for one in found:
        low, high = one.most_off.residual.interval
        assert 0 < low < 0.2 < high


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_named_where_nothing_is_off(seed):
    found = ledger(0.0, seed)
    assert found.most_off is None or found.most_off in found.findings
