"""The border: what is accepted comes out the same whatever its form, and all else is refused by name."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from miscal.base.arrays import as_text
from miscal.base.checks import (
    check_confidence,
    check_correct,
    check_features,
    check_lengths,
    check_seed,
    check_weight,
    other_unit,
)
from miscal.base.errors import InputError
from miscal.calibration.metrics.scores import brier
from miscal.cli import main
from miscal.data.readers.read import read_triples
from miscal.estimators.field import MiscalibrationField

CONFIDENCE = [0.0, 0.25, 0.5, 1.0]
CORRECT = [0, 1, 1, 0]
MATRIX = [[1.0, 2.0], [3.0, 4.0], [0.5, -1.0], [0.0, 0.0]]


def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


CARRIERS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "float32": lambda v: np.array(v, dtype=np.float32),
    "float16": lambda v: np.array(v, dtype=np.float16),
    "big endian": lambda v: np.array(v, dtype=">f8"),
    "read-only": read_only,
    "negative stride": lambda v: np.array(v[::-1])[::-1],
    "object": lambda v: np.array(v, dtype=object),
    "masked, none masked": lambda v: np.ma.masked_array(v, mask=np.zeros(len(v), bool)),
    "pandas": pd.Series,
    "pandas, other index": lambda v: pd.Series(v, index=[9, 3, 3, 1]),
    "pandas nullable": lambda v: pd.Series(v, dtype="Float64"),
    "pandas categorical": lambda v: pd.Series(v, dtype="category"),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "polars": pl.Series,
    "pyarrow": lambda v: pa.chunked_array([v]),
    "torch": torch.tensor,
    "torch bfloat16": lambda v: torch.tensor(v, dtype=torch.bfloat16),
    "torch with gradient": lambda v: torch.tensor(v, dtype=torch.float64, requires_grad=True),
}


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_confidence_does_not_depend_on_its_carrier(carrier):
    given_ = carrier(CONFIDENCE)
    out = check_confidence(given_)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, CONFIDENCE)


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 1, 0],
        [0.0, 1.0, 1.0, 0.0],
        [False, True, True, False],
        np.array([0, 1, 1, 0], dtype=np.int8),
        np.array([0, 1, 1, 0], dtype=np.uint64),
        np.array([0, 1, 1, 0], dtype=np.float16),
        pd.Series([False, True, True, False], dtype="boolean"),
        pl.Series([False, True, True, False]),
        torch.tensor([False, True, True, False]),
        np.array([0, True, 1.0, np.False_], dtype=object),
    ],
    ids=lambda v: f"{type(v).__module__}-{getattr(v, 'dtype', 'list')}",
)
def test_outcomes_of_every_dtype_are_bitwise_equal(values):
    out = check_correct(values)
    assert out.dtype == np.float64
    assert out.tobytes() == np.array(CORRECT, dtype=np.float64).tobytes()


FEATURE_CARRIERS = {
    "list": list,
    "float64": np.array,
    "int8": lambda v: np.array([[1, 2], [3, 4], [0, -1], [0, 0]], dtype=np.int8),
    "F order": lambda v: np.asfortranarray(v),
    "read-only": read_only,
    "pandas": lambda v: pd.DataFrame(v, columns=["a", "b"]),
    "pandas nullable": lambda v: pd.DataFrame(v, columns=["a", "b"]).astype("Float64"),
    "polars": lambda v: pl.DataFrame(v, schema=["a", "b"], orient="row"),
    "pyarrow": lambda v: pa.table({"a": [r[0] for r in v], "b": [r[1] for r in v]}),
    "torch bfloat16": lambda v: torch.tensor(v, dtype=torch.bfloat16),
    "torch float16": lambda v: torch.tensor(v, dtype=torch.float16),
    "float16": lambda v: np.array(v, dtype=np.float16),
    "object": lambda v: np.array(v, dtype=object),
}


@pytest.mark.parametrize("name", FEATURE_CARRIERS)
def test_features_of_every_make_become_contiguous_float32(name):
    given_ = FEATURE_CARRIERS[name](MATRIX)
    out = check_features(given_)
    assert out.dtype == np.float32
    assert out.flags.c_contiguous
    expected = [[1, 2], [3, 4], [0, -1], [0, 0]] if name == "int8" else MATRIX
    np.testing.assert_array_equal(out, np.array(expected, dtype=np.float32))


BAD_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "None": None}


@pytest.mark.parametrize("bad", BAD_NUMBERS.values(), ids=BAD_NUMBERS)
@pytest.mark.parametrize("check", [check_confidence, check_correct])
@pytest.mark.parametrize("carrier", ["list", "numpy", "pandas", "polars", "masked"])
def test_missing_or_infinite_is_refused_with_count_and_rows(bad, check, carrier):
    values = [1.0, bad, 0.0, bad, 1.0]
    if carrier == "numpy":
        values = np.array(values, dtype=float)
    elif carrier == "pandas":
        values = pd.Series(values)
    elif carrier == "polars":
        values = pl.Series(values, strict=False)
    elif carrier == "masked":
        values = np.ma.masked_array([1.0, 0, 0.0, 0, 1.0], mask=[0, 1, 0, 1, 0])
    with pytest.raises(InputError, match=r"the column: 2 of 5 .*rows 1, 3"):
        check(values, name="the column")


@pytest.mark.parametrize("bad", BAD_NUMBERS.values(), ids=BAD_NUMBERS)
@pytest.mark.parametrize("frame", [False, True])
def test_features_missing_or_infinite_are_refused_with_rows_and_columns(bad, frame):
    values = np.array([[1.0, 2.0], [3.0, 4.0 if bad is None else bad], [5.0, 6.0]], dtype=object)
    values[1, 1] = bad
    X = pd.DataFrame(values, columns=["a", "b"]) if frame else values
    with pytest.raises(InputError, match=r"X: 1 of 3 rows .*row 1, .*; column '?(b|1)'?"):
        check_features(X)


def test_a_number_beyond_float32_is_refused_and_said_so():
    with pytest.raises(InputError, match="too large for float32"):
        check_features([[1e300, 0.0]])


@pytest.mark.parametrize("bad", [-0.1, 1.1, -1e-5, 1 + 1e-5, 2.0, -1e300])
def test_confidence_outside_the_unit_interval_is_refused(bad):
    with pytest.raises(
        InputError, match=r"must lie in \[0, 1\]; got 1 of 4 .*\(row 2, counted from 0\); correct them, or drop"
    ):
        check_confidence([0.1, 0.2, bad, 0.3])


def test_rounding_outside_the_unit_interval_is_clipped():
    np.testing.assert_array_equal(check_confidence([-1e-7, 1 + 1e-7, 0.5]), [0, 1, 0.5])


def test_a_few_stray_values_do_not_look_like_percentages():
    assert other_unit(np.array([0.1] * 50 + [5.0] * 5)) is None
    assert other_unit(np.array([1.0] * 10)) is None


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ([-1, 1, 1], "-1, 1"),
        ([1, 2, 2], "1, 2"),
        ([0.2, 0.9, 1.0], "0.2, 0.9, 1"),
        (["0", "1", "1"], "'0', '1'"),
        (["yes", "no", "no"], "'yes', 'no'"),
        ([0, 1, 2], "0, 1, 2"),
        (["True", "False", "True"], "'True', 'False'"),
        ([b"1", b"0", b"0"], "b'1', b'0'"),
        (["", "", ""], "''"),
    ],
)
def test_outcomes_that_are_not_two_valued_are_refused_and_listed(values, listed):
    for carrier in (list, np.array, pl.Series, pd.Series):
        with pytest.raises(InputError, match=re.escape(listed)):
            check_correct(carrier(values))


DTYPES = {
    "strings of numbers": (["0.1", "0.2"], "<U"),
    "mixed": (np.array([0.1, "0.2"], dtype=object), "object"),
    "complex": (np.array([0.1 + 0j, 0.2]), "complex128"),
    "dates": (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), r"datetime64\[D\]"),
    "pandas strings": (pd.Series(["0.1", "0.2"]), "String"),
    "pandas categories": (pd.Series(["a", "b"], dtype="category"), "object|str"),
    "polars strings": (pl.Series(["0.1", "0.2"]), "String"),
    "polars lists": (pl.Series([[0.1], [0.2]]), "List"),
    "sparse": (scipy.sparse.csr_array(np.eye(2)), "sparse"),
    "torch sparse": (torch.eye(2).to_sparse(), "sparse"),
    "ragged": ([[1.0], [1.0, 2.0]], "not a regular array"),
    "none": (None, "None"),
    "dictionary": ({"a": 1.0}, "dict|object|shape"),
    "structured": (np.zeros(2, dtype=[("a", float)]), "a"),
    "function": (len, "builtin_function|shape|object"),
}


@pytest.mark.parametrize("case", DTYPES)
@pytest.mark.parametrize("check", [check_confidence, check_correct, check_features])
def test_what_does_not_convert_exactly_is_refused_naming_the_dtype(case, check):
    values, word = DTYPES[case]
    with pytest.raises(InputError, match=word):
        check(values)


@pytest.mark.parametrize("check", [check_confidence, check_correct])
def test_vectors_must_be_one_dimensional_and_not_empty(check):
    for values in (np.zeros((3, 1)), np.zeros((1, 3)), np.float64(0.5), 0.5):
        with pytest.raises(InputError, match="one-dimensional"):
            check(values)
    with pytest.raises(InputError, match="empty"):
        check([])
    with pytest.raises(InputError, match="table"):
        check(pd.DataFrame({"a": [0.1]}))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_features_need_rows_and_columns(shape):
    with pytest.raises(InputError, match=rf"0 \w+\(s\) \(shape=\({shape[0]}, {shape[1]}\)\)"):
        check_features(np.zeros(shape))
    with pytest.raises(InputError, match="Reshape your data"):
        check_features(np.zeros(3))


@pytest.mark.parametrize("wrong", [1, 0, 4, 6])
def test_lengths_that_differ_are_refused_with_both(wrong):
    for names in (("X", "confidence"), ("confidence", "correct"), ("X", "correct")):
        arrays = {names[0]: np.zeros(5), names[1]: np.zeros(wrong)}
        with pytest.raises(InputError, match=rf"{names[0]} has 5 rows, {names[1]} has {wrong}"):
            check_lengths(**arrays)
    assert check_lengths(X=np.zeros((5, 2)), weight=None, confidence=[0.0] * 5) == 5


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([1, 2], "has 2 rows"),
        ([1, -1, 1], "negative"),
        ([0, 0, 0], "is zero"),
        ([1, np.nan, 1], "row 1"),
        (["a"], "dtype"),
    ],
)
def test_weights_are_checked(values, word):
    with pytest.raises(InputError, match=word):
        check_weight(values, 3)


@settings(max_examples=100)
@given(hnp.arrays(np.float64, st.integers(1, 50), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_confidence_is_either_in_range_or_refused(values):
    before = values.tobytes()
    try:
        out = check_confidence(values)
    except InputError:
        assert not np.all((values >= 0) & (values <= 1))
    else:
        assert np.all((out >= 0) & (out <= 1))
        assert np.max(np.abs(out - values)) <= 1e-6
        assert not np.shares_memory(out, values)
    assert values.tobytes() == before


@settings(max_examples=100)
@given(
    hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    )
)
def test_features_are_finite_or_refused_and_never_changed(X):
    before = X.tobytes()
    try:
        out = check_features(X)
    except InputError:
        with np.errstate(over="ignore"):
            assert not np.isfinite(X.astype(np.float32)).all()
    else:
        assert np.isfinite(out).all()
        # in single precision, or as given
        np.testing.assert_array_equal(out, X.astype(out.dtype))
        assert len(np.unique(out, axis=0)) == len(np.unique(X.astype(np.float64), axis=0))
    assert X.tobytes() == before


def test_probabilities_of_both_classes_are_refused_with_the_column_that_is_meant():
    for check in (check_confidence, check_correct):
        with pytest.raises(InputError, match=re.escape("its shape is (3, 2): ") + r".*second column, p\[:, 1\]$"):
            check(np.full((3, 2), 0.5), name="p")


def test_rows_are_quoted_in_the_callers_numbering():
    with pytest.raises(InputError, match="row 70"):
        check_confidence([0.1, np.nan], rows=np.array([60, 70]))


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1))
def test_whole_numbers_are_the_same_text_whatever_their_type(values):
    wanted = pl.Series([str(value) for value in values])
    for kind in (pl.Int64, pl.Float64, pl.Decimal(38, 4)):
        assert as_text(pl.Series(values).cast(kind)).equals(wanted)
    assert as_text(wanted).equals(wanted)


@given(st.lists(st.floats().filter(lambda value: not value.is_integer())))
def test_other_numbers_are_texts_of_their_own(values):
    texts = as_text(pl.Series(values, dtype=pl.Float64)).to_list()
    assert len(set(texts)) == len({str(value) for value in values})
    assert not [text for text in texts if text.lstrip("-").isdigit()]


N = 100
Y, F = np.arange(N) % 2, np.linspace(0.1, 0.9, N)


@pytest.mark.parametrize("largest", [1e308, 1e101, 1e-320])
def test_weights_whose_sums_cannot_be_computed_are_refused_at_every_door(largest):
    weight = np.where(np.arange(N) % 2, largest, 0.0)
    doors = [
        lambda: check_weight(weight, N),
        lambda: brier(Y, F, sample_weight=weight),
        lambda: MiscalibrationField().fit(F[:, None], Y, confidence=F, sample_weight=weight),
        lambda: read_triples({"x": F, "confidence": F, "correct": Y, "w": weight}, features="x", weight="w"),
    ]
    for door in doors:
        with pytest.raises(InputError, match="from 1e-100 to 1e100"):
            door()
    assert brier(Y, F, sample_weight=np.full(N, 1e99)) == pytest.approx(brier(Y, F))


@pytest.mark.parametrize("seed", [10**6000, 2**32, -1, 1.5, True, "1"], ids=lambda seed: type(seed).__name__)
def test_seeds_that_no_library_takes_are_refused(seed):
    for door in (check_seed, lambda seed: MiscalibrationField(random_state=seed).fit(F[:, None], Y, confidence=F)):
        with pytest.raises(InputError, match="from 0 to 4294967295"):
            door(seed)


@pytest.mark.parametrize("seed", ["7" * 6000, "7" * 3000, str(2**32)], ids=len)
def test_a_long_seed_ends_in_a_short_line(seed, capsys, tmp_path):
    assert main(["demo", "--out", str(tmp_path / "run"), "--seed", seed]) == 2
    said = capsys.readouterr().err
    assert "at most 4294967295" in said
    assert len(said) < 200
