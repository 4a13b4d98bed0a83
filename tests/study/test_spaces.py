"""Neighbour purity by two nested loops, its null law, and a planted world whose field forgets the category."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import miscal
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.study import measures as spaces
from miscal.study.measures import (
    PERMUTATIONS,
    measure_layouts,
    measure_purity,
    nearest_others,
    one_of_each,
    purity,
    unseen_spaces,
)
from miscal.study.pair_result import PairResult
from miscal.study.plan import StudyPair
from miscal.study.tables import TABLES

PAIR = StudyPair(pair="p", dataset="d", model="m", data="p.csv")
SETTINGS = {"options": {"sigmas": [0.3]}}


def brute(points, codes, k):
    """Share of the k nearest other rows with the same label, row by row."""
    shares = []
    for i, point in enumerate(points):
        others = sorted((np.linalg.norm(point - other), j) for j, other in enumerate(points) if j != i)
        shares.append(np.mean([codes[j] == codes[i] for _, j in others[:k]]))
    return np.mean(shares)


def studied_of(triples, transform, delta=None, **settings):
    """A pair whose learned geometry is given instead of fitted."""
    delta = np.zeros(len(triples)) if delta is None else delta
    regime = np.select([delta < -0.05, delta > 0.05], ["over", "under"], "good")
    model = SimpleNamespace(field=SimpleNamespace(transform=transform))
    found = SimpleNamespace(model=model, table=pl.DataFrame({"regime": regime, "delta": delta}))
    return PairResult(PAIR.model_copy(update=settings), "paper", triples, found)


def rows_of(result):
    return {(row["space"], row["by"]): row for row in measure_purity(result)["purity"]}


def world(seed=0, n=300, test=0.5):
    """Inputs far apart by kind; the error follows another direction, with little spread."""
    rng = np.random.default_rng(seed)
    kind, u = rng.integers(4, size=n), rng.normal(size=n)
    X = np.c_[6 * np.eye(4)[kind] + rng.normal(size=(n, 4)), u]
    f = rng.uniform(0.35, 0.65, n)
    y = rng.random(n) < f + 0.35 * np.sign(u)
    taught = np.where(np.arange(n) % 5, "train", "val")
    split = np.where(np.arange(n) < (1 - test) * n, taught, "test")
    metadata = {"kind": np.array(list("abcd"))[kind]}
    return Triples.of(X, confidence=f, correct=y, split=split, metadata=metadata), u


def test_purity_is_that_of_two_nested_loops():
    triples, u = world()
    found = rows_of(studied_of(triples, lambda X: X[:, 4:].astype(float), 0.2 * np.sign(u)))
    test = triples.split == "test"
    labels = {"kind": triples.metadata["kind"][test], "sign": (u > 0)[test], "outcome": triples.correct[test]}
    for space, points in {"raw": triples.X[test], "learned": triples.X[test][:, 4:]}.items():
        for by, codes in labels.items():
            row = found[space, by]
            assert row["n"] == test.sum()
            assert row["purity"] == pytest.approx(brute(points, codes, row["neighbours"]))
    assert all(list(row) == list(TABLES["purity"]) for row in found.values())


def test_neighbours_of_many_rows_are_those_of_a_sort():
    points = np.random.default_rng(0).normal(size=(700, 3)).astype("f4")
    distance = np.linalg.norm(points[:, None].astype(float) - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    np.testing.assert_array_equal(nearest_others(points, 5), np.argsort(distance, axis=1)[:, :5])


@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 9))
def test_no_row_is_its_own_neighbour_even_where_rows_coincide(n, k, seed):
    k = min(k, n - 1)
    points = np.random.default_rng(seed).integers(0, 2, size=(n, 2)).astype(float)
    found = nearest_others(points, k)
    assert found.shape == (n, k)
    assert (found != np.arange(n)[:, None]).all()
    assert all(len(set(row)) == k for row in found.tolist())


def test_the_null_mean_is_the_mean_over_all_permutations():
    neighbours = nearest_others(np.random.default_rng(0).normal(size=(7, 2)), 2)
    codes = np.array([0, 0, 0, 0, 1, 1, 2])
    every = [np.mean(np.array(p)[neighbours] == np.array(p)[:, None]) for p in permutations(codes)]
    found = purity(codes, neighbours, np.random.default_rng(0), n_draws=4_000)
    assert found["null_mean"] == pytest.approx(np.mean(every))
    assert found["null_mean"] == pytest.approx((4 * 3 + 2 * 1) / (7 * 6))
    assert found["null_std"] == pytest.approx(np.std(every), rel=0.05)
    observed = np.mean(codes[neighbours] == codes[:, None])
    assert found["p_value"] == pytest.approx(np.mean(np.array(every) > observed - 1e-12), abs=0.03)


def test_p_values_are_not_smaller_than_uniform_where_labels_say_nothing():
    rng = np.random.default_rng(1)
    p = []
    for _ in range(150):
        neighbours = nearest_others(rng.normal(size=(40, 2)), 5)
        p.append(purity(rng.integers(3, size=40), neighbours, rng, n_draws=99)["p_value"])
    for level in (0.05, 0.1, 0.2, 0.5):
        # four standard errors of a share of 150
        assert np.mean(np.array(p) <= level) <= level + 4 * np.sqrt(level * (1 - level) / 150)


def test_labels_that_fill_the_space_are_as_pure_as_can_be():
    points = np.r_[np.zeros((20, 1)), np.ones((20, 1))] + np.arange(40)[:, None] / 1e3
    found = purity(np.repeat([0, 1], 20), nearest_others(points, 3), np.random.default_rng(0), n_draws=99)
    assert found["purity"] == 1
    assert found["p_value"] == 0.01


def test_a_space_without_extent_shows_nothing_in_whatever_order_the_rows_are():
    """Among equal distances the place of a row in the data must not decide: data are often sorted by category."""
    triples, _ = world(n=600, test=1.0)
    order = np.argsort(triples.metadata["kind"], kind="stable")
    row = rows_of(studied_of(triples.take(order), lambda X: np.zeros((len(X), 2))))["learned", "kind"]
    assert abs(row["purity"] - row["null_mean"]) < 5 * row["null_std"] + 0.05


def test_a_field_that_keeps_the_error_forgets_the_category():
    triples, u = world(n=800)
    found = rows_of(studied_of(triples, lambda X: X[:, 4:].astype(float), 0.2 * np.sign(u)))
    assert found["raw", "kind"]["purity"] > 0.95
    assert found["learned", "kind"]["purity"] == pytest.approx(found["learned", "kind"]["null_mean"], abs=0.05)
    for by in ("sign", "outcome"):
        assert found["learned", by]["purity"] > found["raw", by]["purity"] + 0.05
        assert found["learned", by]["p_value"] == 1 / (PERMUTATIONS + 1)


def test_rows_that_count_as_one_are_asked_once():
    triples, _ = world()
    doubled = triples.take(np.repeat(np.arange(len(triples)), 2))
    grouped = replace(triples, group=np.arange(len(triples)) // 3)
    for rows, n in ((triples, 150), (doubled, 150), (grouped, 50)):
        assert {row["n"] for row in measure_purity(studied_of(rows, lambda X: X))["purity"]} == {n}


def test_a_draw_of_groups_has_one_row_of_each():
    groups = np.repeat(np.arange(30), 3)
    rows = np.arange(0, 90, 2)
    drawn = one_of_each(groups, rows, 20, np.random.default_rng(0))
    assert len(drawn) == len(set(groups[drawn])) == 20
    assert set(drawn) <= set(rows)
    # every row of a group can be drawn
    each = [one_of_each(groups, rows, 30, np.random.default_rng(seed)) for seed in range(30)]
    assert set(np.concatenate(each)) == set(rows)


def test_columns_that_group_nothing_and_too_few_rows_give_no_rows():
    triples, _ = world()
    names = {"id": np.array([f"q{i}" for i in range(300)]), "same": np.full(300, "x")}
    found = rows_of(studied_of(replace(triples, metadata=names), lambda X: X))
    assert {by for _, by in found} == {"outcome"}
    assert measure_purity(studied_of(triples.take(np.arange(142, 160)), lambda X: X))["purity"] == []


def test_the_same_seed_gives_the_same_numbers():
    triples, u = world()
    one, two, other = (measure_purity(studied_of(triples, lambda X: X, u, seed=seed))["purity"] for seed in (0, 0, 1))
    assert one == two
    assert one != other


def test_where_all_rows_are_evaluated_the_geometry_has_not_seen_the_rows_it_places(monkeypatch):
    triples, _ = world(n=240)
    triples = replace(triples, split=None)
    asked = {}

    def fit(self, rows):
        asked.update(taught=set(rows.row.tolist()), settings=self.get_params())
        self.transform = lambda X: X
        return self

    monkeypatch.setattr(miscal.MiscalibrationField, "fit_triples", fit)
    result = studied_of(triples, None, seed=7)
    # the field of a run that was read back has lost its seed and its options; the summary has kept them
    found = SimpleNamespace(model=miscal.MiscalibrationField("paper"), summary=SimpleNamespace(settings=SETTINGS))
    at, _ = unseen_spaces(replace(result, found=found), 1_000)
    asked_for = {"method": "paper", "random_state": 7, "n_jobs": None, "device": "auto", **SETTINGS}
    assert asked["settings"] == miscal.MiscalibrationField().get_params() | asked_for
    assert set(at.tolist()) == set(range(240)) - asked["taught"]
    assert len(at) == 120


@pytest.mark.slow
@pytest.mark.parametrize("evidence", ["test", "all"])
def test_what_auto_learns_forgets_the_category_and_keeps_the_error(evidence):
    triples, _ = world(n=800)
    triples = triples if evidence == "test" else replace(triples, split=None)
    found = discover(triples, map_method="pca")
    rows = rows_of(PairResult(PAIR, "auto", triples, found))
    assert rows["learned", "kind"]["purity"] < rows["raw", "kind"]["purity"] - 0.3
    for by in ("sign", "outcome"):
        assert rows["learned", by]["purity"] > rows["raw", by]["purity"]


@pytest.mark.slow
def test_where_nothing_is_hidden_the_learned_space_does_not_pretend_to_keep_the_outcome():
    """Outcomes that inputs say nothing of, at one confidence: a geometry that had seen them would fake purity."""
    p = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(240, 4)), rng.random(240) < 0.5
        triples = Triples.of(X, confidence=np.full(240, 0.5), correct=y)
        found = discover(triples, map_method="pca", seed=seed)
        pair = PAIR.model_copy(update={"seed": seed})
        p.append(rows_of(PairResult(pair, "auto", triples, found))["learned", "outcome"]["p_value"])
    assert np.mean(np.array(p) <= 0.05) <= 3 / 12


# --- layouts place the evaluation rows, once in each space, and carry their category and field ---


@pytest.fixture(autouse=True)
def _without_umap(monkeypatch):
    # compiling UMAP takes longer than all other tests here
    monkeypatch.setattr(spaces, "installed", lambda name: False)


def result_of(n=200, *, split=True, metadata=True, seed=0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    kind = np.array(["art", "law", None], dtype=object)[rng.integers(3, size=n)]
    triples = Triples.of(
        X, confidence=rng.random(n), correct=rng.integers(2, size=n),
        split=rng.choice(["train", "test"], n) if split else None, metadata={"kind": kind} if metadata else None,
    )  # fmt: skip
    found = SimpleNamespace(
        model=SimpleNamespace(field=SimpleNamespace(transform=lambda X: X[:, :2].astype(float))),
        table=pl.DataFrame({"delta": rng.uniform(-0.5, 0.5, n)}),
    )
    return PairResult(StudyPair(pair="p", dataset="d", model="m", data="p.csv", seed=seed), "auto", triples, found)


def frame(result):
    return pl.DataFrame(measure_layouts(result)["layouts"], infer_schema_length=None)


def test_each_evaluation_row_stands_in_both_spaces_with_its_own_values():
    result = result_of()
    table = frame(result)
    assert table.columns == list(TABLES["layouts"])
    test = np.flatnonzero(result.triples.split == "test")
    for space in ("raw", "learned"):
        part = table.filter(space=space)
        assert part["row"].to_list() == test.tolist()
        for row, category, delta in part.select("row", "category", "delta").iter_rows():
            assert category == result.triples.metadata["kind"][row]
            assert delta == result.found.table["delta"][row]


def test_rows_close_in_a_space_are_close_in_its_layout():
    result = result_of()
    for space, points in (("raw", result.triples.X), ("learned", result.triples.X[:, :2])):
        part = frame(result).filter(space=space)
        places = part.select("x", "y").to_numpy()
        inputs = points[part["row"].to_numpy()]
        far = np.linalg.norm(inputs[:, None] - inputs[None], axis=2)
        drawn = np.linalg.norm(places[:, None] - places[None], axis=2)
        near = far < np.quantile(far, 0.05)
        assert drawn[near].mean() < 0.5 * drawn.mean()


def test_a_layout_has_a_bounded_number_of_rows(monkeypatch):
    monkeypatch.setattr(spaces, "MOST_LAID_OUT", 30)
    table = frame(result_of(split=False))
    assert table.height == 60
    assert table["row"].n_unique() == 30


def test_without_metadata_there_is_no_category_and_the_same_seed_draws_the_same(monkeypatch):
    monkeypatch.setattr(spaces, "MOST_LAID_OUT", 60)
    one, two, other = (frame(result_of(metadata=False, seed=seed)) for seed in (0, 0, 1))
    assert one["category"].null_count() == one.height
    assert one.equals(two)
    assert set(one["row"]) != set(other["row"])


@pytest.mark.slow
def test_umap_draws_where_it_is_installed(monkeypatch):
    pytest.importorskip("umap")
    monkeypatch.undo()
    assert set(frame(result_of())["layout"]) == {"umap"}
