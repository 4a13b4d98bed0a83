"""Layouts place the evaluation rows, once in each space, and carry their category and field."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from miscal.data.triples import Triples
from miscal.study import measures as spaces
from miscal.study.measures import measure_layouts
from miscal.study.pair_result import PairResult
from miscal.study.plan import StudyPair
from miscal.study.tables import TABLES


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
