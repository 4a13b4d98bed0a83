"""Parts of documents hold finite numbers, the keys that they name, and text that UTF-8 can hold."""

import math

import pydantic
import pytest

from miscal.base.document import Document, Measure, MeasureAgainstNull, Text, parse_yaml
from miscal.base.errors import FileError, InputError


class Noted(Document):
    text: Text
    size: Measure


def test_what_is_measured_is_finite_or_undefined():
    for bad in (math.nan, math.inf, -math.inf):
        for values in ({"value": bad}, {"value": 0.0, "interval": (0.0, bad)}):
            with pytest.raises(pydantic.ValidationError):
                Measure(**values)
    with pytest.raises(pydantic.ValidationError):
        MeasureAgainstNull(value=0.0, p_value=1.5)
    assert Measure(value=None).interval is None


def test_a_part_is_frozen_and_names_its_keys():
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        Measure(value=0.0).value = 1.0
    with pytest.raises(pydantic.ValidationError, match="Extra inputs"):
        Measure(value=0.0, median=1.0)


def test_a_text_is_stored_as_utf8_can_hold_it():
    noted = Noted(text="caf\udce9", size=Measure(value=1.0))
    assert noted.text == "caf\ufffd"
    assert Noted.model_validate_json(noted.to_json()) == noted
    with pytest.raises(pydantic.ValidationError):
        Noted(text=1, size=Measure(value=1.0))


@pytest.mark.parametrize(
    ("text", "key", "lines"),
    [
        ("seed: 1\nmethod: auto\nseed: 2\n", "seed", (1, 3)),
        ("pairs:\n  - dataset: a\n    'dataset': b\n", "dataset", (2, 3)),
        ("score: {limit: 3, device: cpu,\n  limit: 4}", "limit", (1, 2)),
        ("x: &x {a: 1}\ny: {<<: *x, a: 2, a: 3}", "a", (2, 2)),
        ("1: a\n1: b", "1", (1, 2)),
    ],
)
def test_a_key_that_is_given_twice_is_refused_with_both_lines(text, key, lines):
    with pytest.raises(
        InputError, match=f"the plan gives the key '{key}' twice, in line {lines[0]} and in line {lines[1]}"
    ):
        parse_yaml(text, "the plan")


def test_what_an_alias_brings_may_be_given_again():
    text = "x: &x {a: 1, b: 2}\ny: &y {<<: *x, a: 3}\nz: {<<: *y, b: 4}"
    assert parse_yaml(text, "the plan")["z"] == {"a": 3, "b": 4}


@pytest.mark.parametrize("text", ["pairs: [", "!!python/object/apply:os.getcwd []", "2024-13-01", "[" * 5000])
def test_what_is_not_yaml_is_said(text):
    with pytest.raises(FileError, match="the plan is not YAML"):
        parse_yaml(text, "the plan")
