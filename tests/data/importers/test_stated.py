"""Confidences that a model stated: how words are read, and logs of Inspect whose scores hold them."""

import json

import pytest

from miscal.base.errors import InputError
from miscal.data.importers.imported import read_log
from miscal.data.importers.stated_confidences import confidence_of, in_text, shares_of

from .golden.formats import HERE


def share(found):
    return None if found is None else shares_of([found])[0]


def test_a_confidence_in_words_is_read_right_or_left_out():
    ways = [line.split("\t") for line in (HERE / "stated.tsv").read_text(encoding="utf-8").split("\n")[1:-1]]
    for where, written, reading in ways:
        words = written.replace(r"\r", "\r").replace(r"\n", "\n")
        means = pytest.approx(None if reading == "left out" else float(reading))
        assert share(in_text(words if where == "text" else f"Answer: A\nConfidence: {words}")) == means, written
        if where == "alone":
            assert share(confidence_of(words)) == means, written


def written(folder, scores, **sample):
    """Write a log with one sample for each (value, metadata)."""
    samples = [
        {"id": k, "epoch": 1, "input": f"question {k}", "target": "x", "metadata": {"subject": "law"},
         "scores": {"judge": {"value": value, "metadata": metadata}}, **sample}
        for k, (value, metadata) in enumerate(scores)
    ]  # fmt: skip
    path = folder / "log.json"
    path.write_text(json.dumps({"status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}))
    return path


def test_percent_texts_and_dictionaries(tmp_path):
    found = read_log(
        "inspect",
        written(
            tmp_path, [("C", {"confidence": 90}), ({"score": "I", "confidence": "75%"}, None), ("I", {"confidence": 0})]
        ),
    )
    assert found.table.select("id", "confidence", "correct").rows() == [
        ("0/epoch 1", 0.9, 1),
        ("1/epoch 1", 0.75, 0),
        ("2/epoch 1", 0.0, 0),
    ]
    assert set(found.table["subject"]) == {"law"}
    assert "what the model stated" in found.notes[0]


def test_probabilities_stay_what_they_are(tmp_path):
    found = read_log("inspect", written(tmp_path, [("C", {"confidence": 0.9}), ("I", {"confidence": 1})]))
    assert found.table["confidence"].to_list() == [0.9, 1.0]
    assert any("1 of 2 stated confidences are 100 %" in note for note in found.notes)


def test_what_cannot_be_used_is_left_out_and_counted(tmp_path):
    scores = [
        ("C", {"confidence": 90}),
        ("C", {"confidence": None}),
        ("P", {"confidence": 50}),
        ("I", {"confidence": -1}),
    ]
    scores += [("I", {"confidence": "x" * 10**6}), ("I", {"confidence": [1]}), ("I", {"confidence": float("nan")})]
    found = read_log("inspect", written(tmp_path, scores))
    assert len(found.table) == 1
    assert any("5 rows left out: the stated confidence is no number from 0 to 100" in note for note in found.notes)
    assert any("1 rows left out: the score is neither right nor wrong" in note for note in found.notes)


def test_percent_and_probabilities_in_one_log_are_refused(tmp_path):
    with pytest.raises(InputError, match="1 confidences are above 1 and 1 lie between 0 and 1"):
        read_log("inspect", written(tmp_path, [("C", {"confidence": 90}), ("I", {"confidence": 0.5})]))
