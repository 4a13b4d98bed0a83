"""Which columns are taken, which rows a condition keeps, and what is missing in them."""

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from miscal.base.arrays import nearest
from miscal.base.checks import check_features
from miscal.base.errors import FileError, InputError, MissingColumn
from miscal.data.columns import split_names
from miscal.data.encoders.features import FeatureColumns
from miscal.data.readers.names import MOST_CHARACTERS, MOST_LEVELS, columns_of, decide, match
from miscal.data.readers.new_rows import open_new_rows
from miscal.data.readers.opening import open_source
from miscal.data.readers.read import read_triples
from miscal.data.readers.source import existing

from .formats import FORMATS, N, frame

# --- which columns are taken: exact names, names with commas, roles that would leak, and frames with odd names -------


SIZE = 200


def table(**more):
    rng = np.random.default_rng(0)
    f = rng.uniform(0.3, 0.7, SIZE)
    return pl.DataFrame(
        {"confidence": f, "correct": (rng.random(SIZE) < f).astype(int), "x": rng.normal(size=SIZE), **more}
    )


ODD = {
    "^x$": np.arange(SIZE),
    "*": np.arange(SIZE) % 7,
    "^.*$": ["a", "b"] * (SIZE // 2),
    "last, first": np.arange(SIZE) / SIZE,
}


def written(data, ending, folder):
    path = folder / f"a{ending}"
    {".parquet": data.write_parquet, ".csv": data.write_csv, ".jsonl": data.write_ndjson}[ending](path)
    return path


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_names_that_look_like_patterns_are_names(ending, tmp_path):
    data = table(**ODD)
    path = written(data, ending, tmp_path)
    for source in (path, data, data.to_pandas(), data.to_dict(as_series=False)):
        found = open_source(source).load(["*", "^x$", "^.*$"])
        assert found.columns == ["*", "^x$", "^.*$"]
        assert [found[:, 0].to_list(), found[:, 1].to_list()] == [ODD["*"].tolist(), ODD["^x$"].tolist()]
    source = open_source(path, whole=False)
    parts = [source.load(["^.*$", "*"], piece) for piece in source.pieces(30)]
    assert pl.concat(parts)[:, 0].to_list() == ODD["^.*$"]
    asked = {"names_only": '^.*$,"last, first"', "where": '"^x$" >= 10 and "*" < 6', "features": "^x$,*"}
    triples = read_triples(path, **asked)
    kept = (ODD["^x$"] >= 10) & (ODD["*"] < 6)
    np.testing.assert_array_equal(triples.row, np.flatnonzero(kept))
    np.testing.assert_array_equal(triples.places, np.column_stack([ODD["^x$"], ODD["*"]])[kept])
    assert list(triples.metadata) == ["^.*$", "last, first"]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("a,b", ("a", "b")),
        (' a , "b, c" ,x y', ("a", "b, c", "x y")),
        ('" a",b ', (" a", "b")),
        ('5" pipe,"6"" pipe"', ('5" pipe', '6" pipe')),
        (("a, b", " c"), ("a, b", " c")),
        ("", ()),
    ],
)
def test_names_are_written_as_in_csv(given, names):
    assert split_names(given) == names


@pytest.mark.parametrize("given", ['"a, b', 'x,"a" b', '"'])
def test_a_quotation_mark_that_is_not_closed_is_refused(given):
    with pytest.raises(InputError, match=r"names: .* not closed"):
        split_names(given)


def test_patterns_pass_over_the_row_index_that_pandas_writes(tmp_path):
    columns = ["", "Unnamed: 0", "__index_level_0__", "x", "Unnamed"]
    assert match("*", columns, {}) == ("x", "Unnamed")
    assert match("*,Unnamed: 0", columns, {}) == ("x", "Unnamed", "Unnamed: 0")
    table().to_pandas().to_csv(tmp_path / "a.csv")
    assert read_triples(tmp_path / "a.csv", features="*").source["columns"]["x"] == ["x"]


@pytest.mark.parametrize("role", ["metadata", "names_only", "features", "text", "group", "weight", "split", "time"])
@pytest.mark.parametrize(("column", "what"), [("correct", "the outcome"), ("confidence", "what the model states")])
def test_outcome_and_confidence_play_no_second_part(role, column, what):
    asked = {"features": "x"} if role not in ("features", "text") else {}
    with pytest.raises(InputError, match=f"{role}: {column!r} is {what}, which can play no other part"):
        read_triples(table(), **asked, **{role: column})


@pytest.mark.parametrize(
    ("there", "asked", "said"),
    [
        ("uni.csv", "new.csv", "does not exist$"),
        ("nan.csv", "run.csv", "does not exist$"),
        ("answers.csv", "anwsers.csv", "did you mean answers.csv"),
        ("answers.parquet", "answers.csv", "did you mean answers.parquet"),
    ],
)
def test_only_a_near_file_is_suggested(there, asked, said, tmp_path):
    (tmp_path / there).write_text("x")
    with pytest.raises(FileError, match=said):
        existing(tmp_path / asked)
    assert nearest("Confidense", ["id", "confidence"]) == "confidence"


LEVELS = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (LEVELS, r"several levels \(a MultiIndex\).*frame\.columns ="),
        (["a", "a"], "distinct; these occur more than once: 'a'"),
        ([1, "1"], "distinct; these occur more than once: '1'"),
        (["a", None], "column names must be text; 1 of 2"),
    ],
)
@pytest.mark.parametrize("use", [open_source, check_features])
def test_frames_with_names_that_name_nothing_are_refused(columns, said, use):
    with pytest.raises(InputError, match=said):
        use(pd.DataFrame(np.zeros((3, 2)), columns=columns))
    with pytest.raises(InputError, match="distinct"):
        open_source(pa.table([[1.0], [2.0]], names=["a", "a"]))


def test_integer_names_name_columns_not_rows():
    X = np.random.default_rng(0).normal(size=(30, 3))
    frame = pd.DataFrame(X)
    np.testing.assert_array_equal(check_features(frame), X.astype(np.float32))
    np.testing.assert_array_equal(open_source(frame).load(["2", "0"]).to_numpy(), X[:, [2, 0]])
    assert list(frame.columns) == [0, 1, 2]


def test_a_npy_header_with_a_truth_value_for_a_size_is_damage(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((SIZE, 1000)))
    content = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(content.replace(b"(200, 1000)", b"(200, True)"))
    with pytest.raises(FileError, match=r"x\.npy cannot be read as a \.npy file: its header claims the shape"):
        read_triples(table(), embeddings=tmp_path / "x.npy")


@pytest.mark.parametrize(("options", "said"), [
    ({}, "the columns 'kind', 'place' were not looked at: --metadata auto"),
    ({"metadata": "kind"}, None),
    ({"names_only": "kind"}, "the column 'place' was not looked at: --metadata auto"),
    ({"metadata": "auto"}, None),
])  # fmt: skip
def test_columns_that_play_no_part_beside_embeddings_are_named(options, said):
    rng = np.random.default_rng(0)
    kinds = {"kind": np.resize(["a", "b"], 100), "place": np.resize(["u", "v", "w"], 100)}
    table = {"confidence": rng.uniform(size=100), "correct": np.resize([0, 1, 1], 100), **kinds}
    notes = read_triples(table, embeddings=rng.normal(size=(100, 4)), **options).notes
    assert [note.split(" looks")[0] for note in notes if "not looked at" in note] == ([said] if said else [])


# --- conditions on rows: decided by each row alone, of bounded size, and by exact names ------------------------------


CONDITIONED = pl.DataFrame(
    {
        "a": [1.0, 2.0, 3.0, None],
        "n": [1, 2, 3, 4],
        "b": ["x", "y", "2020-01-31", "x"],
        "c": [[1, 2], [3], [4], []],
        "d": [True, False, None, True],
        "t": [datetime(2020, 1, 1), datetime(2021, 2, 2), None, datetime(2022, 3, 3)],
    }
)

# every aggregate and window function that the SQL of polars knows, alone and where it cannot change the outcome
ACROSS = [
    "a > avg(a)", "a > min(a)", "a < max(a)", "a > sum(a)", "a > median(a)", "a > first(a)", "a > last(a)",
    "a > stddev(a)", "a > stddev_samp(a)", "a > stdev(a)", "a > variance(a)", "a > var(a)", "a > var_samp(a)",
    "a > quantile_cont(a, 0.5)", "a > quantile_disc(a, 0.5)", "a > corr(a, n)", "a > covar(a, n)",
    "a > covar_pop(a, n)", "a > covar_samp(a, n)", "n > count(a)", "n > count(*)", "n > count(distinct a)",
    "sum(distinct a) > a", "sum(a) filter (where d) > a", "b = string_agg(b, ',')", "b = group_concat(b)",
    "b = listagg(b)", "array_length(array_agg(a)) > n", "unnest(c) > 1",
    "a > avg(a) over ()", "a > sum(a) over (partition by b)", "n > count(a) over (partition by b)",
    "row_number() over (order by a) > 1", "rank() over (order by a) > 1", "dense_rank() over (order by a) > 1",
    "ntile(2) over (order by a) > 1", "cume_dist() over (order by a) > 0.5", "percent_rank() over (order by a) > 0.5",
    "a > lag(a) over (order by a)", "a > lead(a) over (order by a)", "first_value(a) over (order by a) > 1",
    "last_value(a) over (order by a) > 1", "nth_value(a, 2) over (order by a) > 1",
    "n > 100 and a > avg(a)", "n > 0 or a > avg(a)", "not (n > 100 and coalesce(abs(avg(a)), 1) > a)",
    "case when n > 100 then a > max(a) else d end", "a in (avg(a), 2)", "lower(max(b)) = 'x'",
]  # fmt: skip

ALONE = [
    "a > 1", "a > 1.5 and n < 3 or d", "n in (1, 3)", "b in ('x', 'z')", "b not in ('x')", "b like 'x%'",
    "b rlike '^x'", "a is null", "a is not distinct from 2", "n between 2 and 3", "not d", "d is true",
    "case when a > 1 then d else n > 3 end", "substr(b, 1, 4) = '2020'", "coalesce(a, 0) > 1", "greatest(a, n) > 2",
    "cast(n as float) / 2 > 1", "n % 2 = 1", "array_length(c) > 1", "array_contains(c, 3)", "array_sum(c) > 2",
    "c[1] = 1", "date_part('year', t) > 2020", "t > date '2020-06-01'", "round(a, 1) > 1", "sqrt(n) > 1.5",
]  # fmt: skip


@pytest.mark.parametrize("expression", ACROSS)
@pytest.mark.parametrize("rows", [CONDITIONED, CONDITIONED[:1]], ids=["rows", "row"])
def test_what_looks_at_other_rows_is_refused(expression, rows):
    with pytest.raises(InputError, match=r"must be decided by each row alone, .* compute such a value beforehand"):
        decide(expression, rows)


@pytest.mark.parametrize("expression", ALONE)
def test_what_a_row_alone_decides_is_the_same_in_pieces(expression):
    whole, unknown = decide(expression, CONDITIONED)
    parts = [decide(expression, CONDITIONED[i : i + 1]) for i in range(len(CONDITIONED))]
    assert whole.tolist() == [bool(keep[0]) for keep, _ in parts]
    assert unknown == sum(part[1] for part in parts)
    assert 0 < whole.sum() < len(CONDITIONED)


TOO_LONG = [" AND ".join(["n>1"] * 20_000), "+".join("n" * 8_000) + " > 1", "NOT " * 5_000 + "d"]
TOO_DEEP = [" AND ".join(["n>1"] * (MOST_LEVELS + 2)), " or ".join(["n=1"] * 500), "+".join("n" * 1_900) + " > 1"]
TOO_DEEP += ["n" + "::int" * 750 + " > 1", "case " + "when d then d " * 280 + "end", "n" + " is null" * 490]
TOO_DEEP += [" > ".join("n" * 900)]
TOO_DEEP_TO_PARSE = ["(" * 1_900 + "n>1" + ")" * 1_900, "not " * 900 + "d", "- " * 1_900 + "n > 1"]


@pytest.mark.parametrize(("expressions", "said"), [
    (TOO_LONG, rf"at most {MOST_CHARACTERS:,} characters; this one has \d+,\d+"),
    (TOO_DEEP, rf"at most {MOST_LEVELS} levels deep"),
    (TOO_DEEP_TO_PARSE, "is not a condition"),
])  # fmt: skip
def test_a_condition_too_long_or_too_deep_is_refused_before_it_is_evaluated(expressions, said):
    for expression in expressions:
        with pytest.raises(InputError, match=said):
            columns_of(expression, CONDITIONED.columns)


def test_as_many_parts_as_are_allowed_are_decided():
    expression = " and ".join(f"n <> {i}" for i in range(10, 10 + MOST_LEVELS - 1))
    assert decide(expression, CONDITIONED)[0].all()
    assert decide("n in (" + ",".join(map(str, range(3, 900))) + ")", CONDITIONED)[0].sum() == 2


PATTERNS = pl.DataFrame({"^a$": [1, 2], "a": [3, 1], "*": [1, 5], "^.*$": [9, 1], "x y": [0, 1]})


@pytest.mark.parametrize(
    ("expression", "names", "kept"),
    [
        ('"^a$" > 1', ("^a$",), [False, True]),
        ('"*" = 1', ("*",), [True, False]),
        ('"^.*$" > a', ("^.*$", "a"), [True, False]),
        ('`^a$` = 1 and "x y" = 0', ("^a$", "x y"), [True, False]),
        ("a = 3 and '\"^a$\"' <> 'x'", ("a",), [True, False]),
    ],
)
def test_names_are_exact(expression, names, kept):
    assert columns_of(expression, PATTERNS.columns) == names
    assert decide(expression, PATTERNS)[0].tolist() == kept


@pytest.mark.parametrize("expression", ['"^n|d$" > 1', '"*" > 1', "columns('a') > 1"])
def test_a_pattern_of_names_is_refused(expression):
    with pytest.raises((InputError, MissingColumn), match=r"pattern|names no column"):
        decide(expression, CONDITIONED)


# --- naN is null and the empty text is a value, the same at every door; an outcome that is missing is never a failure


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
