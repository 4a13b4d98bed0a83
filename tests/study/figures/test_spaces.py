"""Figures of both spaces are drawn from tables alone, whatever names the tables hold."""

import numpy as np
import polars as pl
import pytest

from miscal.study.drawing import RULE, look, write
from miscal.study.figures.labels import CATEGORIES
from miscal.study.figures.lines import purity
from miscal.study.figures.points import colours_of, layouts
from miscal.study.table_columns import TABLES

TYPES = {"text": pl.String, "whole": pl.Int64, "number": pl.Float64, "truth": pl.Boolean}
HOSTILE = "</script> $\\frac{1}{2}$ " + "long" * 30


def frame(name, rows):
    schema = {column: TYPES[kind] for column, (kind, _) in TABLES[name].columns.items()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def pair(name, model="m"):
    return {"pair": name, "dataset": "d", "model": model}


def placed(name, method="auto", *, categories=("a", "b", None), n=60, model="m"):
    rng = np.random.default_rng(0)
    return [
        {**pair(name, model), "method": method, "space": space, "layout": "umap", "row": i, "x": rng.normal(),
         "y": rng.normal(), "category": categories[i % len(categories)], "delta": rng.uniform(-0.3, 0.3)}
        for space in ("raw", "learned")
        for i in range(n)
    ]  # fmt: skip


def pure(name, method="auto", by=("topic", "sign", "outcome"), model="m"):
    known = {**pair(name, model), "method": method, "neighbours": 10, "n": 50, "null_mean": 0.4, "null_std": 0.01,
             "p_value": 0.001}  # fmt: skip
    return [{**known, "space": s, "by": b, "purity": p} for s, p in (("raw", 0.9), ("learned", 0.6)) for b in by]


def drawn(draw, table, rows, folder):
    with look():
        made = {table: frame(table, rows), "pairs": frame("pairs", [])}
        names = [write(figure, folder, name) for name, figure in draw(made)]
    assert all((folder / f"{name}.{ending}").stat().st_size > 0 for name in names for ending in ("svg", "png"))
    return names


def test_each_interpreted_pair_has_its_own_layouts(tmp_path):
    rows = placed("p") + placed("q") + placed("p", "paper")
    assert drawn(layouts, "layouts", rows, tmp_path) == ["layouts-paper-1", "layouts-auto-1", "layouts-auto-2"]


def test_each_method_has_one_figure_of_purity(tmp_path):
    rows = pure("p") + pure("q", by=("outcome",)) + pure("p", "paper")
    assert drawn(purity, "purity", rows, tmp_path) == ["purity-paper", "purity-auto"]


@pytest.mark.parametrize(("draw", "table"), [(layouts, "layouts"), (purity, "purity")])
def test_without_rows_nothing_is_drawn(draw, table, tmp_path):
    assert drawn(draw, table, [], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_hostile_names_are_drawn_as_text(tmp_path):
    many = tuple(f"{HOSTILE} {i}" for i in range(20))
    assert drawn(layouts, "layouts", placed("p", categories=many, model=HOSTILE), tmp_path) == ["layouts-auto-1"]
    assert drawn(purity, "purity", pure("p", by=many, model=HOSTILE), tmp_path) == ["purity-auto"]


def test_the_commonest_categories_have_colours_and_the_rest_is_grey():
    values = pl.Series("category", ["b"] * 5 + ["a"] * 3 + [f"rare {i}" for i in range(8)])
    colours = colours_of(values)
    assert list(colours)[:2] == ["b", "a"]
    assert list(colours)[-1] is None
    assert len(set(colours.values())) == len(colours) == len(CATEGORIES) + 1
    assert colours_of(pl.Series("category", [None, None], dtype=pl.String)) == {None: RULE}
    assert None not in colours_of(pl.Series("category", ["a", "b"]))


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        drawn(layouts, "layouts", placed("p"), tmp_path / folder)
    for ending in ("svg", "png"):
        one, two = ((tmp_path / folder / f"layouts-auto-1.{ending}").read_bytes() for folder in ("one", "two"))
        assert one == two
