"""Every question of the benchmarks can be asked of one small draw, and every comparison fits its cheapest methods."""

import argparse
import csv
import sys
from pathlib import Path

import pytest

# a unit of thousands of rows has a chance below the smallest number
pytestmark = [
    pytest.mark.whole, pytest.mark.slow, pytest.mark.timeout(1_200),
    pytest.mark.filterwarnings("ignore:divide by zero encountered in log"),
]  # fmt: skip

CHEAP = ("raw", "bare", "isotonic", "miscal")


@pytest.mark.parametrize(
    "asked", ["nothing", "small", "real", "planted", "tables", "power", "found_units", "known_later"]
)
def test_each_question_is_answered(script, asked, tmp_path, capsys):
    shares, questions = script("_shares"), script(asked).QUESTIONS
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


SHOWN = {"discover": "scaling-stages", "smece": "smece", "kernel": "kernel", "corrections": "calibrate-memory",
         "scan": "scan"}  # fmt: skip


@pytest.mark.parametrize("part", SHOWN)
def test_a_part_of_the_benchmark_of_speed_measures(part, script, monkeypatch, tmp_path):
    if part == "smece":
        pytest.importorskip("relplot")
    asked = ["--part", part, "--rows", "600", "--rounds", "1", "--csv", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["speed.py", *asked])
    assert script("speed").main() in (0, 1)
    with (tmp_path / f"{SHOWN[part]}.csv").open() as file:
        assert list(csv.DictReader(file))
