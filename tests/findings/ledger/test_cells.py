"""However columns and rows are held, the ledger is that of plain rows: cells, blocks of columns, parts."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign
from miscal.data.counting import CellSource, Cut, Question, Sums, cell_of, lower_end, merged
from miscal.data.relations import open_relation
from miscal.findings.ledger import membership
from miscal.findings.ledger.blocks import Strata, cut_into_strata, strata_within
from miscal.findings.ledger.cells import CellPlan, CellTable, wide
from miscal.findings.ledger.groups import INTERVAL, named_groups
from miscal.findings.ledger.ledger import find, ledger_of
from miscal.findings.ledger.membership import CodedColumns, SideBySide

N = 6_000
KINDS, PLACES = tuple("abcdefg"), tuple("xyz")


def planted(seed: int, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    kind, place = rng.choice(KINDS, n), rng.choice(PLACES, n)
    age = rng.integers(18, 90, n)
    f = rng.beta(2, 2, n)
    odds = np.log(f / (1 - f)) - 0.7 * (kind == "a") + 1.2 * ((kind == "b") & (place == "x")) + 0.012 * (age - 50)
    odds = np.where(kind == "c", 0.2 * odds, odds)
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    return pl.DataFrame({"f": f, "y": y, "kind": kind, "place": place, "age": age, "w": rng.choice([1.0, 2.0, 5.0], n)})


def cells_of(f):
    """Return the cell of each probability."""
    return nw.from_native(pl.LazyFrame({"f": f})).select(c=cell_of(nw.col("f"))).collect()["c"].to_numpy().astype(int)


def begins_of(f, many):
    """Return cells at which strata of equal counts begin."""
    return np.unique(np.quantile(cells_of(f), np.arange(1, many) / many).astype(int))


def source(frame, begins, cuts, weight=None, least=1, group=None):
    size = (float(len(frame)), float(frame["y"].sum()))
    known, sums = [*cuts, *map(wide, cuts)], Sums("f", "y", weight=weight, group=group)
    return CellSource(open_relation(frame), sums, list(map(int, begins)), known, "number", size, least)


def numbers(value, where=()):
    """Yield every number and text of a document by its place."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, (*where, name))
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from numbers(inner, (*where, place))
    else:
        yield where, value


def assert_alike(one, other):
    first, second = (dict(numbers([part.model_dump(mode="json") for part in some])) for some in (one, other))
    assert first.keys() == second.keys()
    for where, value in first.items():
        if isinstance(value, float) and isinstance(second[where], (int, float)):
            assert value == pytest.approx(second[where], rel=1e-9, abs=1e-9), where
        else:
            assert value == second[where], where


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(("seed", "strata", "grouped"), [(0, 40, False), (1, 40, False), (2, 30, False), (7, 40, True)])
def test_cells_and_rows_with_the_same_strata_and_candidates_give_the_same_ledger(seed, strata, grouped, weight):
    """Many strata are asked for by cells that are joined, few by comparing with edges."""
    frame = planted(seed)
    if grouped:
        rng = np.random.default_rng(seed)
        day = rng.integers(0, 400, N)
        y = np.where(rng.random(N) < 0.1, rng.integers(0, 2, 400)[day], frame["y"].to_numpy())
        frame = frame.with_columns(day=pl.Series(day), y=pl.Series(y))
    f, y = frame["f"].to_numpy(), frame["y"].to_numpy().astype(float)
    begins = begins_of(f, strata)
    cuts = Cut("kind", "text", KINDS), Cut("place", "text", PLACES)
    plan = CellPlan(cuts, (tuple(map(wide, cuts)),))
    asked = source(frame, begins, cuts, weight, group="day" if grouped else None)
    cells = ledger_of(CellTable(plan, asked, units=grouped))

    stratum = np.searchsorted(begins, cells_of(f), "right")
    mass = None if weight is None else frame[weight].to_numpy()
    rate = (np.bincount(stratum, y if mass is None else mass * y) / np.bincount(stratum, mass))[stratum]
    design = None if mass is None else SurveyDesign(None, 0.0, mass)
    if grouped:
        design = SurveyDesign.of(day, y - rate, rate * (1 - rate), mass)
        assert design.correlation > 0
    rows = LabelledRows(y, f, rate, stratum=stratum, design=design)
    every = find(rows, named_groups({name: frame[name].to_numpy().astype(object) for name in ("kind", "place")}))

    found = {one.description for one in every.findings}
    assert found if grouped else found >= {"kind = a", "kind = b and place = x"}
    assert_alike(cells.findings, every.findings)
    # what findings leave of what they account for is asked of rows alone
    left = {"conditional": every.values[0].conditional, "mark": "", "finding": None}
    assert_alike(*([one.model_copy(update=left) for one in some.values] for some in (cells, every)))


def test_cells_of_many_rows_and_of_one_row_give_the_same_ledger():
    """Numbers in bins, with their trend and intervals, which no row is asked for."""
    frame = planted(5)
    begins = begins_of(frame["f"].to_numpy(), 30)
    cuts = Cut("kind", "text", KINDS), Cut("age", "number", edges=tuple(np.arange(20.0, 90.0, 2.0)), whole=True)
    asked = source(frame, begins, cuts)
    cells = ledger_of(CellTable(CellPlan(cuts, (tuple(map(wide, cuts)),)), asked))
    one_by_one = []

    def split(question: Question) -> pl.DataFrame:
        """Take every cell apart into cells of one row."""
        found = asked(question)
        if question.residuals:
            return found
        if question.only is not None:
            *keys, member = question.keys
            both = found
            if not question.members[0].apart:
                every = asked(Question(question.cuts, (), question.coarser))
                left = every.join(found, on=keys, how="left", suffix="_told")
                other = pl.lit(1 - question.only).alias(member)
                left = left.with_columns(pl.col("n") - pl.col("n_told").fill_null(0.0), other)
                both = pl.concat([found, left.select(found.columns).cast(dict(found.schema))])
            one = both.select(pl.all().repeat_by(pl.col("n").cast(pl.Int64))).explode(pl.all(), empty_as_null=False)
            return one.drop_nulls().with_columns(n=pl.lit(1.0))
        n, y = found["n"].cast(pl.Int64), found["y"].cast(pl.Int64)
        rows = found.with_columns(right=y, wrong=n - y, of=(pl.col("f") / pl.col("n")))
        parts = []
        for name, outcome in (("right", 1.0), ("wrong", 0.0)):
            own = rows.select(*question.keys, "f", "fy", "n", "y", pl.col(name).alias("times"))
            sure = pl.col("fy") / pl.col("y") if outcome else (pl.col("f") - pl.col("fy")) / (pl.col("n") - pl.col("y"))
            own = own.with_columns(sure=sure).filter(pl.col("times") > 0)
            own = own.select(pl.all().repeat_by("times")).explode(pl.all(), empty_as_null=False)
            one = pl.lit(outcome)
            parts.append(own.select(*question.keys, n=pl.lit(1.0), y=one, f="sure", fy=pl.col("sure") * one))
        one_by_one.append(len(parts[0]) + len(parts[1]))
        return pl.concat(parts).sort(list(question.keys))

    rows = ledger_of(CellTable(CellPlan(cuts, (tuple(map(wide, cuts)),)), split))
    assert set(one_by_one) == {N}
    assert any("age" in one.description for one in cells.findings)
    assert_alike(cells.findings, rows.findings)
    assert_alike(cells.values, rows.values)


@pytest.mark.parametrize("strata", [5, 50])
def test_engines_count_the_same_cells(strata):
    duckdb = pytest.importorskip("duckdb")
    frame, begins = planted(1), begins_of(np.arange(1, 1000) / 1000, strata)
    frame = frame.with_columns(kind=pl.when(pl.col("kind") == "g").then(None).otherwise("kind"))
    cuts = Cut("kind", "text", tuple("abcde"), pooled=1), Cut("age", "number", edges=(30.0, 50.0, 70.0))
    arrow = frame.to_arrow()  # noqa: F841 - DuckDB finds it by its name
    engines = [frame.lazy(), duckdb.connect().sql("select * from arrow")]
    size = (float(N), float(frame["y"].sum()))
    one, other = (
        CellSource(open_relation(engine), Sums("f", "y", weight="w"), begins.tolist(), cuts, "number", size)(
            Question(cuts)
        )
        for engine in engines
    )
    keys = ["stratum", "cell0", "cell1", "n", "y"]
    assert one.select(keys).equals(other.select(keys))
    for name in set(one.columns) - set(keys):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-12)


def test_cells_rise_and_begin_where_they_say():
    ends = np.array([lower_end(cell) for cell in range(16, 8178)])
    assert np.all(np.diff(ends) > 0)
    rng = np.random.default_rng(0)
    near = 10 ** -rng.uniform(0, 9, 3_000)
    f = np.r_[rng.random(3_000), near, 1 - near, 0.0, 1.0]
    found = cells_of(f)
    assert np.array_equal(np.clip(np.searchsorted(ends, f, "right") + 15, found.min(), found.max()), found)
    # wider cells are some neighbouring ones
    wider = nw.from_native(pl.LazyFrame({"f": f})).select(c=cell_of(nw.col("f"), 8)).collect()["c"].to_numpy()
    assert np.array_equal(found // 8, wider)


@pytest.mark.parametrize("least", [5, 20, 100])
def test_merged_cells_have_rows_enough_and_lose_none(least):
    frame = planted(2, 3_000)
    cuts = Cut("kind", "text", KINDS), Cut("place", "text", PLACES)
    begins = begins_of(np.arange(1, 1000) / 1000, 20)
    whole, kept = (source(frame, begins, cuts, least=one)(Question(cuts)) for one in (1, least))
    assert kept["n"].min() >= least
    assert whole["n"].min() < least
    for name in ("n", "y", "f"):
        assert kept[name].sum() == pytest.approx(whole[name].sum(), rel=1e-12)
    assert merged(whole, Question(cuts), 1).equals(whole)


ROWS = 40


@st.composite
def side_by_side(draw):
    """Columns of every kind, in any order, and the matrix that they stand for."""
    blocks, matrices = [], []
    for kind in draw(
        st.lists(st.sampled_from(["lists", "unions", "cells", "coded", "numbers"]), min_size=1, max_size=4)
    ):
        rng = np.random.default_rng(draw(st.integers(0, 10**6)))
        if kind == "lists":
            masks = rng.random((3, ROWS)) < rng.random((3, 1))
            blocks.append(CodedColumns.of(ROWS, [np.flatnonzero(mask) for mask in masks]))
            matrices.append(masks.T.astype(float))
        elif kind == "unions":
            codes, inside = rng.integers(-1, 5, ROWS), rng.random((4, 5)) < 0.5
            blocks.append(CodedColumns.unions(codes, 5, [np.flatnonzero(one) for one in inside]))
            matrices.append(np.where(codes >= 0, inside[:, codes], False).T.astype(float))
        elif kind in ("cells", "coded"):
            codes, cells = (rng.integers(0, 4, ROWS), rng.integers(0, 3, ROWS)), np.eye(12)[:, rng.permutation(12)[:4]]
            cells = cells if kind == "cells" else rng.integers(-1, 2, (12, 3)).astype(float)
            blocks.append(CodedColumns(ROWS, csc_array(cells), codes, 3))
            matrices.append(cells[codes[0] * 3 + codes[1]])
        else:
            matrix = rng.normal(size=(ROWS, 2)) * (rng.random((ROWS, 2)) < 0.6)
            blocks.append(CodedColumns(ROWS, csc_array(matrix)))
            matrices.append(matrix)
    return SideBySide(ROWS, tuple(blocks)), np.hstack(matrices)


@given(side_by_side(), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_columns_of_every_kind_sum_as_the_plain_matrix(columns, seed, sparse, many):
    held, matrix = columns
    rng = np.random.default_rng(seed)
    values, mass, stratum = rng.normal(size=ROWS), rng.uniform(0.2, 3, ROWS), np.r_[rng.integers(0, 6, ROWS - 1), 5]
    y = rng.integers(0, 2, ROWS).astype(float)
    rows = LabelledRows(y, y, rng.random(ROWS), design=SurveyDesign(None, 0.0, mass))
    strata = Strata.of(rows, np.unique(stratum, return_inverse=True)[1])
    other, factor = rng.normal(size=ROWS), rng.normal(size=6)
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
