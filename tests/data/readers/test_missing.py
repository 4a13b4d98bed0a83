"""NaN is null and the empty text is a value, the same at every door; an outcome that is missing is never a failure."""

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.data.encoders.features import FeatureColumns
from miscal.data.readers.new_rows import open_new_rows
from miscal.data.readers.read import read_triples

from .formats import FORMATS, N, frame

DOORS = ["parquet", "csv", "csv of pandas", "jsonl", "polars", "polars lazy", "pandas", "pandas nullable", "pyarrow"]
DOORS += ["pyarrow batch", "dictionary of arrays", "dictionary of lists"]
NAN = float("nan")
UNIT = [None if i % 2 else float(i // 4) for i in range(N)]
PARTS = {
    "group": {"group": "unit"},
    "time": {"time": "unit"},
    "weight": {"weight": "unit"},
    "weight, dropped": {"weight": "unit", "on_invalid": "drop"},
    "category": {"metadata": "unit"},
    "named": {"names_only": "unit"},
    "input": {"features": "x_1,unit"},
    "condition": {"where": "unit > 10"},
    "condition on what is missing": {"where": "unit is null"},
    "event": {"event": "unit", "positive": 3},
    "event, dropped": {"event": "unit", "positive": "3.0", "on_invalid": "drop"},
    "judged": {"judge": "confidence", "human": "happened"},
}


def said(source, options):
    """What is read, or why nothing is."""
    kind = {"judge", "event"} & options.keys()
    named = {"probability": "confidence"} if "event" in options else {} if kind else {"correct": "correct"}
    try:
        found = read_triples(source, **{"features": "x_1", "group": "none"} | named | options)
    except InputError as error:
        return str(error)
    metadata = {name: [str(one) for one in values] for name, values in found.metadata.items()}
    unjudged = None if found.judged is None else found.judged.unjudged.row.tolist()
    return found.row.tolist(), found.correct.tolist(), found.X.tolist(), str(found.weight), metadata, unjudged


@pytest.mark.parametrize("name", DOORS)
def test_nan_is_null_in_every_part_and_format(name, tmp_path):
    happened = [None if i % 5 == 0 else float(i % 2) for i in range(N)]
    null = frame().with_columns(unit=pl.Series(UNIT), happened=pl.Series(happened))
    nan = null.with_columns(pl.col("unit", "happened").fill_null(NAN))
    source = FORMATS[name](nan, tmp_path)
    for part, options in PARTS.items():
        assert said(source, options) == said(null, options), part


def test_a_column_of_objects_may_have_nan_among_texts():
    texts = np.array([NAN if i % 2 else "ab"[i // 2 % 2] for i in range(N)], dtype=object)
    data = {name: frame()[name].to_numpy() for name in ("confidence", "correct", "x_1")}
    assert said(data | {"kind": texts}, {"metadata": "kind"}) == said(
        frame().with_columns(kind=pl.Series([None if one != one else one for one in texts])), {"metadata": "kind"}
    )


@pytest.mark.parametrize("name", ["parquet", "jsonl", "pandas", "pyarrow", "dictionary of lists", "polars"])
def test_the_empty_text_is_a_value_and_no_blank(name, tmp_path):
    data = frame().with_columns(kind=pl.Series(["", None, "a"] * (N // 3)))
    found = read_triples(FORMATS[name](data, tmp_path), features="x_1", metadata="kind", group="none")
    assert np.unique(found.metadata["kind"].astype(str), return_counts=True)[1].tolist() == [N // 3] * 3


@pytest.mark.parametrize("name", ["^a$", "*", "x_1"])
def test_new_rows_have_null_for_nan_in_pieces_and_whole(name, tmp_path):
    values = pl.Series([NAN if i % 2 else float(i) for i in range(N)])
    data = pl.DataFrame({"confidence": [0.5] * N, "a": [1.0] * N, name: values})
    encoder = FeatureColumns([name]).fit(data.with_columns(values.fill_nan(None).alias(name)))
    data.write_parquet(tmp_path / "new.parquet")
    for options in ({}, {"where": f'"{name}" >= 0'}):
        whole = open_new_rows(data, encoder=encoder, fitted_on="confidence", **options)
        parts = open_new_rows(tmp_path / "new.parquet", encoder=encoder, fitted_on="confidence", **options)
        found = [parts.read(piece) for piece in parts.pieces(16)]
        X = np.concatenate([one.X for one in found])
        np.testing.assert_array_equal(X, whole.read(whole.whole).X)
        assert len(X) == (N // 2 if options else N)
        assert np.isfinite(X).all()


TRUE = {
    "truth values": [False, True],
    "whole": [0, 1],
    "broken": [0.0, 1.0],
    "small": pl.Series([0, 1], dtype=pl.UInt8),
}


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("kind", TRUE)
def test_true_and_one_are_the_same_event_in_every_format(kind, name, tmp_path):
    outcome = frame()["correct"]
    values = pl.Series(TRUE[kind])[outcome.cast(pl.UInt32)].alias("late")
    data = frame().select("confidence", "x_1").with_columns(values)
    source = FORMATS[name](data.with_columns(correct=values, text=pl.lit("a")), tmp_path)
    for positive in ("True", "true", True, "1", 1, "1.0", np.True_):
        found = read_triples(source, probability="confidence", event="late", positive=positive, features="x_1")
        assert found.correct.tolist() == outcome.to_list()


@pytest.mark.parametrize(
    "weights", [[0.0], [1e200], [1e-200], [-1.0], [1e90, *[1.0] * (N - 1)], [1.0, *[0.0] * (N - 1)]]
)
def test_weights_by_which_nothing_counts_are_refused(weights):
    data = frame().with_columns(w=pl.Series(weights * (N // len(weights))))
    with pytest.raises(InputError, match="weight"):
        read_triples(data, features="x_1", weight="w")


@pytest.mark.parametrize("name", ["^a$", "*", "^x.*$"])
@pytest.mark.parametrize("values", [[1.0, 2.5, 3.0], ["a", "b", "a"]])
def test_a_column_of_any_name_can_be_blank(name, values):
    data = pl.DataFrame({name: values, "a": [1.0, 2.0, 4.0]})
    encoder = FeatureColumns([name, "a"]).fit(data)
    plain = FeatureColumns(["k", "a"]).fit(data.rename({name: "k"}))
    X = encoder.transform(data)
    np.testing.assert_array_equal(encoder.blanked(X, name), plain.blanked(X, "k"))
