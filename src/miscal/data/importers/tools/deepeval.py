"""Test runs of DeepEval: ``.deepeval/.latest_run_full.json``, or ``test_run_*.json`` of a results folder.

A metric is a judge, and its success only says that its own score reached its own threshold: it is no outcome that the
score could be compared with. So the scores are read as judgements, beside the verdict of a person that the metadata of
a test case holds. Where the metadata hold a confidence of the model, this is read, and correct is the success of the
case.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import ImportedRow, LeftOut, Log, UnusableLog, UnusableRow, log_of, scalars
from miscal.data.importers.json_files import as_dict, as_list, whole
from miscal.data.importers.judgements import Judged, Judgement, judged_log, value_of
from miscal.data.importers.stated_confidences import (
    IN_TEXT,
    NO_NUMBER,
    as_shares,
    certain,
    confidence_of,
    in_text,
    outcome_of,
)

LOOKED_FOR = ".latest_run_full.json or test_run_*.json"


def logs(folder: Path) -> list[Path]:
    """Find the test runs."""
    return sorted([*folder.rglob(".latest_run_full.json"), *folder.rglob("test_run_*.json")])


def read(path: Path) -> Log:
    """Read one test run.

    Raises
    ------
    UnusableLog
        If it holds no test cases, or neither a confidence nor a score.
    """
    run = as_dict(whole(path))
    run = as_dict(run.get("testRunData")) or run
    cases = as_list(run.get("testCases"))
    if not cases or not all(isinstance(one, dict) for one in cases):
        raise UnusableLog(
            f"{path} holds no test cases of single answers: give the file .deepeval/.latest_run_full.json that "
            "deepeval test run or evaluate wrote"
        )
    if any("confidence" in as_dict(one.get("metadata")) for one in cases):
        return _stated(path, cases)
    judgements, judged = [], {}
    for at, case in enumerate(cases):
        name = _name(at, case)
        judged[name] = Judged(_input(case), _about(case))
        judgements += _judgements(name, case)
    if not judgements:
        raise UnusableLog(f"{path} holds no score of a metric, and no confidence in the metadata of its test cases")
    return judged_log(path, "DeepEval", judgements, judged, {})


def _judgements(name: str, case: dict[str, Any]) -> list[Judgement]:
    found = []
    for metric in map(as_dict, as_list(case.get("metricsData"))):
        if metric.get("error") is None and metric.get("score") is not None:
            # metrics of a model name it; others are code
            by = "judge" if metric.get("evaluationModel") else "code"
            found.append(Judgement(name, str(metric.get("name")), by, value_of(metric["score"])))
    verdict = as_dict(case.get("metadata")).get("human")
    if verdict is not None:
        found.append(Judgement(name, "verdict", "human", value_of(verdict)))
    return found


def _stated(path: Path, cases: Sequence[dict[str, Any]]) -> Log:
    rows, left_out = [], LeftOut()
    for at, case in enumerate(cases):
        with left_out.catch(_name(at, case)):
            rows.append(_row(_name(at, case), case))
    rows = as_shares(path, rows)
    note = (
        "DeepEval: confidence is that of the test case's metadata, and correct is its success, that its metrics passed"
    )
    return log_of(path, rows, left_out, [note, *certain(path, rows)])


def _row(name: str, case: dict[str, Any]) -> ImportedRow:
    confidence = confidence_of(as_dict(case.get("metadata")).get("confidence"))
    if any(as_dict(one).get("error") is not None for one in as_list(case.get("metricsData"))):
        raise UnusableRow("a metric ended in an error")
    if confidence is None:
        raise UnusableRow(NO_NUMBER)
    answer = case.get("actualOutput")
    own = {IN_TEXT: in_text(answer) is not None} if isinstance(answer, str) and answer else {}
    return ImportedRow(
        name, _input(case), confidence, outcome_of(case.get("success")), metadata={**_about(case), **own}
    )


def _name(at: int, case: dict[str, Any]) -> str:
    return f"{at}/{case.get('name') or 'test case'}"


def _input(case: dict[str, Any]) -> str | None:
    return case["input"] if isinstance(case.get("input"), str) else None


def _about(case: dict[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in as_dict(case.get("metadata")).items() if name not in ("confidence", "human")}
    return scalars({"response": case.get("actualOutput"), "target": case.get("expectedOutput"), **own})
