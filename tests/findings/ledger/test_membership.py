"""However columns of candidates are held, they have the sums of the plain matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign
from miscal.findings.ledger import membership
from miscal.findings.ledger.exact import Strata
from miscal.findings.ledger.groups import INTERVAL, named_groups
from miscal.findings.ledger.membership import CodedColumns, SideBySide

N = 40


@st.composite
def side_by_side(draw):
    """Columns of every kind, in any order, and the matrix that they stand for."""
    blocks, matrices = [], []
    for kind in draw(
        st.lists(st.sampled_from(["lists", "unions", "cells", "coded", "numbers"]), min_size=1, max_size=4)
    ):
        rng = np.random.default_rng(draw(st.integers(0, 10**6)))
        if kind == "lists":
            masks = rng.random((3, N)) < rng.random((3, 1))
            blocks.append(CodedColumns.of(N, [np.flatnonzero(mask) for mask in masks]))
            matrices.append(masks.T.astype(float))
        elif kind == "unions":
            codes, inside = rng.integers(-1, 5, N), rng.random((4, 5)) < 0.5
            blocks.append(CodedColumns.unions(codes, 5, [np.flatnonzero(one) for one in inside]))
            matrices.append(np.where(codes >= 0, inside[:, codes], False).T.astype(float))
        elif kind in ("cells", "coded"):
            codes, cells = (rng.integers(0, 4, N), rng.integers(0, 3, N)), np.eye(12)[:, rng.permutation(12)[:4]]
            cells = cells if kind == "cells" else rng.integers(-1, 2, (12, 3)).astype(float)
            blocks.append(CodedColumns(N, csc_array(cells), codes, 3))
            matrices.append(cells[codes[0] * 3 + codes[1]])
        else:
            matrix = rng.normal(size=(N, 2)) * (rng.random((N, 2)) < 0.6)
            blocks.append(CodedColumns(N, csc_array(matrix)))
            matrices.append(matrix)
    return SideBySide(N, tuple(blocks)), np.hstack(matrices)


@given(side_by_side(), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_columns_of_every_kind_sum_as_the_plain_matrix(columns, seed, sparse, many):
    held, matrix = columns
    rng = np.random.default_rng(seed)
    values, mass, stratum = rng.normal(size=N), rng.uniform(0.2, 3, N), np.r_[rng.integers(0, 6, N - 1), 5]
    y = rng.integers(0, 2, N).astype(float)
    rows = LabelledRows(y, y, rng.random(N), design=SurveyDesign(None, 0.0, mass))
    strata = Strata.of(rows, np.unique(stratum, return_inverse=True)[1])
    other, factor = rng.normal(size=N), rng.normal(size=6)
    within = np.arange(6)[:, None] == stratum
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "_SPARSE", 0 if sparse else 1 << 20)
        patch.setattr(membership, "_MANY_CELLS", 0 if many else 1 << 20)
        for squared in (False, True):
            numbers = matrix**2 if squared else matrix
            sums = [within @ (one[:, None] * numbers) for one in (values, other)]
            found = held.products(stratum, values, other, factor, squared=squared)
            np.testing.assert_allclose(found, factor @ (sums[0] * sums[1]), atol=1e-9)
    np.testing.assert_allclose(held.sums(values), values @ matrix, atol=1e-9)
    np.testing.assert_allclose(held.squared_sums(values), values @ matrix**2, atol=1e-9)
    factors = np.column_stack([strata.factors(column) for column in matrix.T])
    np.testing.assert_allclose(strata.variances(held), strata.scatter @ factors**2, atol=1e-9)
    np.testing.assert_allclose(
        strata.covariances(held, matrix[:, 0]), (strata.scatter * factors[:, 0]) @ factors, atol=1e-9
    )
    np.testing.assert_array_equal(held.sparse(range(len(held))).toarray(), matrix)
    some, several = np.arange(3, 30, 4), np.column_stack([values, mass])
    np.testing.assert_array_equal(held.chosen(some).sparse(range(len(held))).toarray(), matrix[some])
    np.testing.assert_allclose(held.sums_of_each(several, np.arange(len(held))), matrix.T @ several, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_no_two_groups_have_the_same_rows(seed, copies):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=200).round(1)
    columns = {f"column {k}": values * (k + 1) for k in range(copies)}
    groups = named_groups(columns)
    masks = [groups.rows(place).tobytes() for place in range(len(groups)) if place not in groups.trends]
    assert len(set(masks)) == len(masks)
    assert all(groups.member.counts() == [groups.rows(place).sum() for place in range(len(groups))])
    # a copy of a column adds names, and no groups but those of two columns
    alone = named_groups({"column 0": values})
    assert (groups.kinds == INTERVAL).sum() >= (alone.kinds == INTERVAL).sum()
