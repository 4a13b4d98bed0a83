"""Every question of the benchmarks can be asked of one small draw, and every comparison fits its cheapest methods."""

import argparse
import importlib
from pathlib import Path

import pytest

# a unit of thousands of rows has a chance below the smallest number
pytestmark = [
    pytest.mark.whole, pytest.mark.slow, pytest.mark.timeout(1_200),
    pytest.mark.filterwarnings("ignore:divide by zero encountered in log"),
]  # fmt: skip

CHEAP = ("raw", "bare", "isotonic", "miscal")


@pytest.mark.parametrize(
    "script", ["nothing", "small", "real", "planted", "tables", "power", "found_units", "known_later"]
)
def test_each_question_is_answered(script, monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    shares, questions = importlib.import_module("_shares"), importlib.import_module(script).QUESTIONS
    args = argparse.Namespace(
        data=None, worlds=None, draws=1, first=0, rows=None, methods=CHEAP, csv=tmp_path, cache=Path("small.jsonl")
    )
    for name, question in questions.items():
        if not (keys := question.keys(args, name)):
            continue  # its sets are not here
        smallest = min(key[2] for key in keys)
        records = [
            shares.one_record(None, questions, *key) for key in keys if key[1:3] == (keys[0][1], smallest)
        ]  # fmt: skip
        question.shown(args, name, records)
        assert name in capsys.readouterr().out
