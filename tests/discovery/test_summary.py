"""The summary keeps every key of the contract, never NaN, and comes back as it went."""

import json
import math

import numpy as np
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.document import plain
from miscal.base.errors import CorruptFile, FileError, MismatchError
from miscal.discovery.summary import SCHEMA_VERSION, Summary, parse_summary, read_summary

SMECE = {"value": 0.1, "interval": [0.05, 0.15], "p_value": 0.01, "floor": 0.03}
NOTHING = {"value": None, "interval": None}
SCORE = {"smece": 0.1, "brier": 0.2, "log_loss": 0.5, "n": 20}
CURVE = {"confidence": [0.5], "accuracy": [0.4], "low": [0.3], "high": [0.5], "n": [20]}
PAIR = {"raw": CURVE, "corrected": None}
SHARES = {"n": 40, "share": 0.8, "share_overall": 0.2, "lift": 4.0}
ENRICHED = {"column": "subject", "value": "= law", **SHARES, "odds_ratio": 4.0, "interval": [2.0, 9.0], "p_value": 0.01}


def content():
    """A summary with the keys of the contract (design section 6), written out by hand."""
    return {
        "schema_version": SCHEMA_VERSION,
        "n": 200,
        "n_train": 160,
        "n_val": 20,
        "n_test": 20,
        "seed": 0,
        "method": "auto",
        "answer": {"headline": "Off.", "reason": "Here.", "action": "Do this."},
        "plain": {
            "ranking": {"value": 0.7, "interval": [0.65, 0.75]},
            "far": False,
            "verdicts": False,
            "usual": 0.5,
            "usual_share": 0.01,
        },
        "warnings": [],
        "global": {
            "accuracy": {"value": 0.5, "interval": [0.3, 0.7]},
            "confidence": {"value": 0.6, "interval": [0.5, 0.7]},
            "smece": SMECE,
            "ece": {"value": 0.1, "interval": [0.05, 0.15]},
            "brier": {"value": 0.2, "interval": [0.1, 0.3]},
            "log_loss": {"value": 0.6, "interval": [0.5, 0.7]},
        },
        "field": {
            "mean": -0.1,
            "std": 0.1,
            "std_visible": 0.05,
            "std_hidden": 0.08,
            "share_over": 0.5,
            "share_under": 0.1,
            "share_unsupported": 0.0,
            "correlation_with_confidence": None,
            "structure": True,
        },
        "regimes": [
            {
                "name": "over",
                "n": 10,
                "share": 0.5,
                "accuracy": 0.4,
                "confidence": 0.6,
                "residual": {"value": -0.2, "interval": [-0.3, -0.1], "p_value": 0.001},
                "smece": SMECE,
                "brier": 0.2,
                "metadata": [ENRICHED],
                "keywords": ["law"],
                "exemplars": [3, 5],
            }
        ],
        "gap": {"value": None, "interval": None, "floor": None, "p_value": None, "worst": None},
        "certificate": {
            "lower_bound_total": {"value": 0.05, "interval": [0.01, 1.0]},
            "lower_bound_hidden": {"value": 0.0, "interval": [0.0, 1.0]},
            "p_value": 1.0,
            "p_field": 1.0,
            "p_structure": 1.0,
            "p_value_total": 0.01,
        },
        "correction": {name: dict.fromkeys(("all", "over", "under", "good"), SCORE) for name in ("raw", "miscal")},
        "corrected_smece": SMECE,
        "gains": {"raw": {"brier": {"value": 0.01}, "log_loss": {"value": 0.02, "interval": [0.01, 0.03]}}},
        "selection": {"chosen": {"scale": 1.0}, "candidates": [{"proxy": 0.2, "chosen": True}]},
        "curves": dict.fromkeys(("all", "over", "under"), PAIR),
        "histogram": {"edges": [-1.0, 0.0, 1.0], "over": [10, 0], "good": [0, 0], "under": [0, 10]},
        "map": {"file": "map.parquet", "method": "pca", "n_shown": 200, "n_total": 200},
        "data": {
            "path": "answers.parquet",
            "sha256": "0" * 64,
            "columns": {"confidence": "confidence", "correct": "correct", "x": None, "text": None, "metadata": []},
            "x_source": "features",
            "n_features": 4,
        },
        "settings": {"epsilon": 0.05},
        "versions": {"miscal": "0.1.0"},
        "timing": {"fit": 1.0},
    }


def test_the_document_comes_back_as_it_went():
    text = Summary.model_validate(content()).to_json()
    assert parse_summary(text).to_json() == text
    assert set(json.loads(text)) == {
        *content(), "evidence", "alarms", "hidden_regimes", "findings", "findings_method", "accounted_for", "n_sample",
        "units", "over_time", "weights", "columns", "kind", "decisions",
        "share_extreme", "most_off", "alone", "alone_curves",
    }  # fmt: skip


@pytest.mark.parametrize("key", [key for key in content() if key not in ("schema_version", "map", "warnings")])
def test_a_missing_key_is_damage_and_is_named(key):
    broken = content()
    del broken[key]
    with pytest.raises(CorruptFile, match=key):
        parse_summary(json.dumps(broken))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_undefined_numbers_cannot_be_stored(bad):
    broken = content()
    broken["field"]["mean"] = bad
    with pytest.raises(pydantic.ValidationError):
        Summary.model_validate(broken)
    with pytest.raises(CorruptFile, match=r"field\.mean"):
        parse_summary(json.dumps(broken))


def test_unknown_keys_are_refused():
    with pytest.raises(CorruptFile, match="surprise"):
        parse_summary(json.dumps({**content(), "surprise": 1}))


def test_a_newer_summary_is_refused_and_says_what_to_do():
    with pytest.raises(MismatchError, match="upgrade"):
        parse_summary(json.dumps({"schema_version": SCHEMA_VERSION + 1, "all": "new"}))


def test_an_earlier_summary_is_refused_in_one_line_and_says_what_to_do():
    with pytest.raises(MismatchError, match=r"run `miscal\.discover` again") as refused:
        parse_summary(json.dumps({"schema_version": 1, "all": "old"}))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "3", "{}", "[" * 100_000, '{"schema_version": true}', '{"schema_version": "1"}']
)
def test_what_is_not_a_summary_is_damage(text):
    with pytest.raises(CorruptFile, match="discover"):
        parse_summary(text)


@settings(max_examples=100)
@given(st.integers(0, 10_000))
def test_a_truncated_summary_is_damage(cut):
    text = Summary.model_validate(content()).to_json()
    with pytest.raises(CorruptFile):
        parse_summary(text[: cut % (len(text) - 1)])


def test_files_are_read_by_folder_or_by_name(tmp_path):
    path = tmp_path / "summary.json"
    with pytest.raises(FileError, match=r"summary\.json"):
        read_summary(tmp_path)
    path.write_text(Summary.model_validate(content()).to_json())
    assert read_summary(tmp_path) == read_summary(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CorruptFile, match="UTF-8"):
        read_summary(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_plain_content_is_json(value):
    result = plain(value)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert plain(result) == result


def test_plain_takes_numpy_and_odd_text():
    value = {"a": np.array([1.0, np.nan]), "b": np.bool_(True), "c": np.int64(3), "d": "x\udc80", "e": {2, 1}}
    assert plain(value) == {"a": [1.0, None], "b": True, "c": 3, "d": "x\ufffd", "e": [1, 2]}
