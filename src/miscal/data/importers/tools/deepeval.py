"""Test runs of DeepEval: ``.deepeval/.latest_run_full.json``, or ``test_run_*.json`` of a results folder.

A metric is a judge, and its success only says that its own score reached its own threshold: it is no outcome that the
score could be compared with. So the scores are read as judgements, beside the verdict of a person that the metadata of
a test case holds. Where the metadata hold a confidence of the model, this is read, and correct is the success of the
case.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import ImportedRow, Log, UnusableLog, UnusableRow, scalars
from miscal.data.importers.judgements import Judgement, judged_log, value_of
from miscal.data.importers.log_files import dict_in, first_text, get_in, list_in, whole
from miscal.data.importers.stated_confidences import answers_log, confidence_of, stated_row

FILES = (".latest_run_full.json", "test_run_*.json")

NOTE = "DeepEval: confidence is that of the test case's metadata, and correct is its success, that its metrics passed"


def read(path: Path) -> Log:
    """Read one test run."""
    run = whole(path)
    cases = list_in(dict_in(run, "testRunData") or run, "testCases")
    if not cases or not all(isinstance(one, dict) for one in cases):
        raise UnusableLog(
            f"{path} holds no test cases of single answers: give the file .deepeval/.latest_run_full.json that "
            "deepeval test run or evaluate wrote"
        )
    named = {f"{at}/{case.get('name') or 'test case'}": case for at, case in enumerate(cases)}
    if any("confidence" in dict_in(case, "metadata") for case in cases):
        return answers_log(path, named.items(), _row)
    judged = {name: (first_text(case.get("input")), _about(case)) for name, case in named.items()}
    judgements = [one for name, case in named.items() for one in _judgements(name, case)]
    expected = "score of a metric, and no confidence in the metadata of its test cases"
    return judged_log(path, "DeepEval", judgements, judged, expected)


def _judgements(name: str, case: dict[str, Any]) -> list[Judgement]:
    found = [
        # metrics of a model name it; others are code
        Judgement(name, str(one.get("name")), "judge" if one.get("evaluationModel") else "code", value_of(one["score"]))
        for one in list_in(case, "metricsData")
        if isinstance(one, dict) and one.get("error") is None and one.get("score") is not None
    ]
    verdict = get_in(case, "metadata", "human")
    return found if verdict is None else [*found, Judgement(name, "verdict", "human", value_of(verdict))]


def _row(name: str, case: dict[str, Any]) -> ImportedRow:
    confidence = confidence_of(get_in(case, "metadata", "confidence"))
    if any(get_in(one, "error") is not None for one in list_in(case, "metricsData")):
        raise UnusableRow("a metric ended in an error")
    answer, text = case.get("actualOutput"), first_text(case.get("input"))
    return stated_row(name, text, confidence, case.get("success"), answer, _about(case), NOTE)


def _about(case: dict[str, Any]) -> dict[str, Any]:
    own = scalars(dict_in(case, "metadata"), "confidence", "human")
    return scalars({"response": case.get("actualOutput"), "target": case.get("expectedOutput"), **own})
