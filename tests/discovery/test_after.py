"""What the correction leaves of a finding is what field.parquet gives, by rows that each correction had not seen."""

import numpy as np
import pytest

import miscal
from miscal.data.splits import in_canonical_order
from miscal.discovery.discover import discover
from miscal.discovery.estimating import expected_outcome
from miscal.findings.conditions.condition import Frame

from .test_statements import world

pytestmark = [pytest.mark.usefixtures("few_folds"), pytest.mark.whole]


@pytest.mark.parametrize("split", [False, True])
def test_what_is_left_is_the_mean_over_the_rows_of_the_finding(split):
    data, options = world(2, 500), {}
    if split:
        data["split"], options = np.resize(["train", "test", "train", "test", "val"], 500), {"split": "split"}
    triples = miscal.read_triples(data, features="x_*", metadata="kind", **options)
    found = discover(triples, seed=0, map_method="pca", n_jobs=1)
    assert found.summary.findings
    corrected = found.table["corrected"].to_numpy()
    rows, order = in_canonical_order(triples)
    left = (rows.correct - expected_outcome(rows, 0, corrected[order]))[np.argsort(order)]
    evaluated = triples.split == "test" if split else np.ones(500, bool)
    columns = {"kind": triples.metadata["kind"], **{f"x_{i}": triples.X[:, i] for i in range(3)}}
    table = found.findings.to_dicts()
    named = 0
    for one, row in zip(found.summary.findings, table, strict=True):
        assert (row["after"], row["after_low"], row["after_high"]) == (one.after.value, *one.after.interval)
        if one.source == "named":
            inside = one.condition.rows(Frame(500, columns)) & evaluated
            plain = left[inside].mean()
            # but for what is taken off because the group was chosen
            assert 0.5 * abs(plain) <= abs(one.after.value) <= abs(plain) + 1e-12
            assert one.after.value * plain > 0
            named += 1
    assert named
