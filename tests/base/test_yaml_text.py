"""YAML that users write."""

import pytest

from miscal.base.errors import FileError, InputError
from miscal.base.yaml_text import parse_yaml


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
