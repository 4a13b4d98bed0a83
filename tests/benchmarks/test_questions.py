"""Every question of the benchmarks can be asked of one small draw, and every comparison fits its cheapest methods."""

import argparse
import importlib
from pathlib import Path

import pytest

pytestmark = [pytest.mark.whole, pytest.mark.slow, pytest.mark.timeout(1_200)]

CHEAP = ("raw", "bare", "isotonic")


@pytest.mark.parametrize("script", ["nothing", "small", "real", "planted", "tables"])
def test_each_question_is_answered(script, monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    shares = importlib.import_module("_shares")
    questions = importlib.import_module(script).QUESTIONS
    args = argparse.Namespace(
        data=None, worlds=None, draws=1, first=0, rows=None, methods=CHEAP, csv=tmp_path, cache=Path("small.jsonl")
    )
    for name, question in questions.items():
        keys = question.keys(args, name)
        worlds = {key[1] for key in keys[:1]}
        smallest = min((key[2] for key in keys), default=0)
        asked = [key for key in keys if key[1] in worlds and key[2] == smallest]
        records = [shares.one_record(None, questions, *key) for key in asked]
        question.shown(args, name, [record for record in records if record])
    assert "|" in capsys.readouterr().out
