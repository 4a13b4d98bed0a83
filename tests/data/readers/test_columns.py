"""Which columns are taken: exact names, names with commas, roles that would leak, and frames with odd names."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from miscal.base.arrays import nearest
from miscal.base.checks import check_features
from miscal.base.errors import FileError, InputError
from miscal.data.columns import split_names
from miscal.data.readers.names import match
from miscal.data.readers.opening import open_source
from miscal.data.readers.read import read_triples
from miscal.data.readers.source import existing

N = 200


def table(**more):
    rng = np.random.default_rng(0)
    f = rng.uniform(0.3, 0.7, N)
    return pl.DataFrame({"confidence": f, "correct": (rng.random(N) < f).astype(int), "x": rng.normal(size=N), **more})


ODD = {"^x$": np.arange(N), "*": np.arange(N) % 7, "^.*$": ["a", "b"] * (N // 2), "last, first": np.arange(N) / N}


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


@pytest.mark.parametrize("role", ["metadata", "features", "text", "group", "weight", "split", "time"])
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


def test_repeated_names_of_arrow_are_refused():
    with pytest.raises(InputError, match="distinct"):
        open_source(pa.table([[1.0], [2.0]], names=["a", "a"]))


def test_integer_names_name_columns_not_rows():
    X = np.random.default_rng(0).normal(size=(30, 3))
    frame = pd.DataFrame(X)
    np.testing.assert_array_equal(check_features(frame), X.astype(np.float32))
    np.testing.assert_array_equal(open_source(frame).load(["2", "0"]).to_numpy(), X[:, [2, 0]])
    assert list(frame.columns) == [0, 1, 2]


def test_a_npy_header_with_a_truth_value_for_a_size_is_damage(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((N, 1000)))
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
