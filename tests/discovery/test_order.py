"""The order that rows come in says nothing: a run of the same rows in another order finds the same of each."""

import numpy as np
import polars as pl
import pytest

import miscal
from miscal import MiscalibrationField
from miscal.discovery.discover import discover

pytestmark = pytest.mark.usefixtures("few_folds")

N = 120


def table():
    rng = np.random.default_rng(0)
    f, kind = rng.uniform(0.3, 0.95, N), rng.choice(list("abc"), N)
    words = [" ".join(rng.choice([f"word{k}" for k in range(40)], 6)) for _ in range(N)]
    return pl.DataFrame({
        "confidence": f, "correct": (rng.random(N) < f - 0.25 * (kind == "a")).astype(int), "kind": kind,
        "size": rng.normal(size=N), "free": [None if k % 7 == 0 else "xyz"[k % 3] for k in range(N)],
        "day": pl.Series(rng.integers(0, 60, N)).cast(pl.Date), "words": words, "weight": rng.uniform(0.0, 2.0, N),
        "user": rng.integers(0, 60, N).astype(str),
    })  # fmt: skip


CASES = {
    "table": {"features": "kind,size,free", "group": "auto", "time": "day"},
    "text": {"text": "words", "embed_model": "tfidf", "metadata": "kind"},
    "weights and groups": {"features": "kind,size", "weight": "weight", "group": "user"},
}
ASKED = {"text": {"evidence": "test"}}
NAMES_ROWS = {"row", "rows", "exemplars", "telling", "timing", "path", "sha256", "source", "notes"}


def numbers(value, path=()):
    """Every value of a summary by its place, but for what names rows or files."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name not in NAMES_ROWS:
                yield from numbers(one, (*path, name))
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from numbers(one, (*path, place))
    else:
        yield path, value


def agree(one, other):
    one, other = dict(numbers(one)), dict(numbers(other))
    assert one.keys() == other.keys()
    for path, value in one.items():
        assert other[path] == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value), path


@pytest.mark.parametrize("case", CASES)
def test_rows_in_another_order_are_told_the_same(case):
    frame, order = table(), np.random.default_rng(1).permutation(N)
    one, other = (
        discover(miscal.read_triples(rows, **CASES[case]), map_method="pca", n_jobs=1, **ASKED.get(case, {}))
        for rows in (frame, frame[order])
    )
    used = frame.with_row_index().filter(pl.lit(case != "weights and groups") | (pl.col("weight") > 0))
    assert one.table["row"].to_list() == used["index"].to_list()
    agree(one.summary.model_dump(), other.summary.model_dump())
    # field by field, each row as itself
    mine = one.table.drop("unit").sort("row")
    theirs = other.table.drop("unit").with_columns(row=pl.Series(order)[other.table["row"]]).sort("row")
    for name in mine.columns:
        if mine[name].dtype.is_float():
            np.testing.assert_allclose(theirs[name].to_numpy(), mine[name].to_numpy(), atol=1e-9, err_msg=name)
        else:
            assert theirs[name].cast(pl.String).to_list() == mine[name].cast(pl.String).to_list(), name
    assert one.findings.drop("rows").equals(other.findings.drop("rows"))


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_a_fit_to_rows_in_another_order_is_the_same_fit(method):
    rng = np.random.default_rng(0)
    X, f, order = rng.normal(size=(120, 2)), rng.random(120), rng.permutation(120)
    options = {"sigmas": [0.3, 1.0], "lambdas": [0.01], "max_epochs": 2} if method == "paper" else None
    given = {"confidence": f, "sample_weight": rng.integers(0, 3, 120), "groups": rng.integers(0, 60, 120)}
    y = rng.random(120) < np.where(X[:, 0] > 0, 0.9, 0.1)
    one, other = (
        MiscalibrationField(method, options=options).fit(X[rows], y[rows], **{k: v[rows] for k, v in given.items()})
        for rows in (np.arange(120), order)
    )
    np.testing.assert_array_equal(one.predict(X, f), other.predict(X, f))
    np.testing.assert_array_equal(one.neighbours(X, 3)[0], order[other.neighbours(X, 3)[0]])
