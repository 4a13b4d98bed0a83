"""Laws of the names in the list: values before terms, intervals apart, trends as one, and each example once."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.column_kinds import Trend
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find


def told(columns, shift, seed=0, text=None):
    """Findings of rows whose chance of being right is shifted in log-odds from one half."""
    n = len(shift)
    y = (np.random.default_rng((seed, 7)).random(n) < expit(shift)).astype(float)
    half = np.full(n, 0.5)
    rows = LabelledRows(y, half, half, hidden=y * 0, row=np.arange(n))
    return find(rows, named_groups(columns, text), seed=seed).findings


def test_a_value_is_told_before_a_term_that_nearly_all_its_rows_have():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        kind = rng.choice(["law", "art", "sums", "war"], 4_000, p=[0.3, 0.05, 0.3, 0.35])
        # the term tells a little more than the value that most of its texts have
        wrong = (kind == "law") | (kind == "art")
        text = ["court case" if bad else "some case" for bad in wrong]
        found = told({"kind": kind.astype(object)}, np.where(wrong, -1.0, 0.5), seed, text)
        assert [one.description for one in found[:2]] == ["kind = law", "kind = art"]


def test_a_term_that_a_value_does_not_account_for_is_told():
    rng = np.random.default_rng(0)
    kind = rng.choice(["law", "art"], 4_000)
    court = (kind == "law") & (rng.random(4_000) < 0.3)
    text = ["court case" if one else "some case" for one in court]
    found = told({"kind": kind.astype(object)}, np.where(court, -1.5, 0.5), text=text)
    assert '"court" in the text' in found[0].description


@settings(max_examples=15)
@given(st.integers(0, 2**20))
def test_intervals_of_one_column_share_no_rows_and_no_row_is_shown_twice(seed):
    rng = np.random.default_rng(seed)
    size = rng.normal(size=1_500)
    found = told({"size": size}, 1.2 * np.sin(rng.uniform(1, 4) * size + rng.uniform(0, 6)), seed)
    columns = {"size": size}
    # a trend is told beside the intervals that it does not account for
    inside = [span_rows(one.condition, columns) for one in found if not isinstance(one.condition, Trend)]
    assert not any((a & b).any() for k, a in enumerate(inside) for b in inside[:k])
    shown = [row for one in found for row in one.rows]
    assert len(shown) == len(set(shown))


def span_rows(condition, columns):
    from miscal.findings.conditions.condition import Frame

    return condition.rows(Frame(len(columns["size"]), columns))
