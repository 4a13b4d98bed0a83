"""Run folders of HELM: per_instance_stats.json, with scenario_state.json and run_spec.json beside it.

Confidence and outcome are HELM's own ``max_prob`` and ``exact_match``, the two its calibration metrics use.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile
from miscal.data.importers.imported_rows import (
    ImportedRow,
    LeftOut,
    Log,
    UnusableLog,
    UnusableRow,
    log_of,
    number,
    scalars,
)
from miscal.data.importers.json_files import as_dict, as_list, whole

STATS = "per_instance_stats.json"
STATE = "scenario_state.json"
SPEC = "run_spec.json"
LOOKED_FOR = STATS

_CHOOSES = ("multiple_choice", "ranking")
_ROUNDING = 1e-6

Key = tuple[str, str, int]
"""Instance, perturbation ("" for none) and train trial."""


def logs(folder: Path) -> list[Path]:
    """Find the runs."""
    return sorted(folder.rglob(STATS))


def read(path: Path) -> Log:
    """Read one run.

    Raises
    ------
    UnusableLog
        If the run has no ``max_prob`` or no ``exact_match``, or the model gave no log-probabilities.
    """
    stats = _stats(path)
    asked, method = _asked(path.with_name(STATE))
    origin = _origin(path)
    rows, left_out = [], LeftOut()
    for key, values in stats.items():
        with left_out.catch(_name(key)):
            rows.append(_row(key, values, asked.get(key), origin, chooses=method.startswith(_CHOOSES)))
    return log_of(path, rows, left_out, _notes(path, rows, asked))


# --- the statistics ------------------------------------------------------------------------------------------------


def _stats(path: Path) -> dict[Key, dict[str, float]]:
    """Return the mean of every statistic of every instance; entries of the same instance are put together."""
    entries = whole(path)
    if not isinstance(entries, list) or not all(isinstance(one, dict) and "instance_id" in one for one in entries):
        raise UnusableLog(f"{path} is not a {STATS} of HELM, which is a list of objects with instance_id")
    stats: dict[Key, dict[str, float]] = defaultdict(dict)
    for entry in entries:
        for stat in as_list(entry.get("stats")):
            name, mean = as_dict(as_dict(stat).get("name")).get("name"), number(as_dict(stat).get("mean"))
            if mean is not None:
                stats[_key(entry["instance_id"], entry)].setdefault(str(name), mean)
    _check(path, stats)
    return stats


def _check(path: Path, stats: dict[Key, dict[str, float]]) -> None:
    known = {name for values in stats.values() for name in values}
    for name in ("max_prob", "exact_match"):
        if name not in known:
            raise UnusableLog(
                f"{path} has no {name}: only runs of multiple-choice or classification scenarios can be imported"
            )
    if all(values.get("max_prob", 1.0) == 1.0 for values in stats.values()):
        raise UnusableLog(
            f"{path} holds no probabilities: max_prob is 1 for all {len(stats)} instances, which is what HELM writes "
            "when the model's service returns no log-probabilities"
        )


def _key(name: Any, entry: dict[str, Any]) -> Key:
    perturbation = as_dict(entry.get("perturbation")).get("name") or ""
    trial = entry.get("train_trial_index")
    return str(name), str(perturbation), trial if isinstance(trial, int) else 0


def _name(key: Key) -> str:
    name, perturbation, trial = key
    return name + (f"/{perturbation}" if perturbation else "") + (f"/trial {trial}" if trial else "")


# --- what was asked ------------------------------------------------------------------------------------------------


@dataclass
class Asked:
    """An instance as the model saw it."""

    text: str | None
    references: list[str]
    right: list[int]
    answer: str | None
    metadata: dict[str, Any] = field(default_factory=dict)


def _asked(path: Path) -> tuple[dict[Key, Asked], str]:
    if not path.is_file():
        return {}, ""
    state = as_dict(whole(path))
    states = state.get("request_states")
    if not isinstance(states, list):
        raise CorruptFile(f"{path} has no list called request_states: it is damaged, or is not a {STATE} of HELM")
    asked: dict[Key, Asked] = {}
    for one in states:
        instance = as_dict(as_dict(one).get("instance"))
        trial = as_dict(one).get("train_trial_index")
        asked.setdefault(_key(instance.get("id"), {**instance, "train_trial_index": trial}), _instance(as_dict(one)))
    return asked, str(as_dict(state.get("adapter_spec")).get("method") or "")


def _instance(state: dict[str, Any]) -> Asked:
    instance = as_dict(state.get("instance"))
    references = [as_dict(one) for one in as_list(instance.get("references"))]
    text = as_dict(instance.get("input")).get("text")
    return Asked(
        text=text if isinstance(text, str) else None,
        references=[str(as_dict(one.get("output")).get("text")) for one in references],
        right=[at for at, one in enumerate(references) if "correct" in as_list(one.get("tags"))],
        answer=_answer(state),
        metadata={name: instance.get(name) for name in ("split", "sub_split")},
    )


def _answer(state: dict[str, Any]) -> str | None:
    """Return the reference that the completion's letter stands for, where the adapter uses letters."""
    completions = [as_dict(one) for one in as_list(as_dict(state.get("result")).get("completions"))]
    if not completions or not isinstance(state.get("output_mapping"), dict):
        return None
    best = max(completions, key=_log_probability)  # as HELM takes it
    return state["output_mapping"].get(str(best.get("text")).strip())


def _log_probability(completion: dict[str, Any]) -> float:
    value = number(completion.get("logprob"))
    return -math.inf if value is None else value


def _origin(path: Path) -> dict[str, Any]:
    """Model and scenario, with the scenario's arguments, from the run's specification."""
    beside = path.with_name(SPEC)
    spec = as_dict(whole(beside)) if beside.is_file() else {}
    adapter = as_dict(spec.get("adapter_spec"))
    return {
        "task": spec.get("name") or path.resolve().parent.name,
        "model": adapter.get("model") or adapter.get("model_deployment"),
        **scalars(as_dict(as_dict(spec.get("scenario_spec")).get("args"))),
    }


# --- rows ----------------------------------------------------------------------------------------------------------


def _row(
    key: Key, values: dict[str, float], asked: Asked | None, origin: dict[str, Any], *, chooses: bool
) -> ImportedRow:
    name, perturbation, trial = key
    if not {"max_prob", "exact_match"} <= values.keys():
        raise UnusableRow("no max_prob or no exact_match")
    confidence = values["max_prob"]
    if not -_ROUNDING <= confidence <= 1 + _ROUNDING:  # NaN too
        raise UnusableRow("max_prob is outside [0, 1]")
    predicted = _predicted(values, asked) if chooses else None
    right = asked.right if asked and chooses else []
    return ImportedRow(
        id=_name(key),
        text=asked.text if asked else None,
        confidence=min(1.0, max(0.0, confidence)),
        correct=_correct(values["exact_match"], predicted, right),
        predicted=predicted,
        choices=tuple(asked.references) if asked and chooses else None,
        answer_index=right[0] if len(right) == 1 else None,
        metadata={
            **origin,
            "instance_id": name,
            "perturbation": perturbation or None,
            "train_trial": trial,
            **(asked.metadata if asked else {}),
        },
    )


def _predicted(values: dict[str, float], asked: Asked | None) -> int | None:
    if asked is None:
        return None
    given = values.get("predicted_index", math.nan)
    if 0 <= given < len(asked.references):
        return int(given)
    return asked.references.index(asked.answer) if asked.references.count(asked.answer) == 1 else None


def _correct(match: float, predicted: int | None, right: list[int]) -> int:
    """Return exact_match; of references that tie HELM scores a share, and the first is the one predicted."""
    if match in (0.0, 1.0):
        return int(match)
    if predicted is None or not right:
        raise UnusableRow("exact_match is neither 0 nor 1")
    return int(predicted in right)


def _notes(path: Path, rows: Iterable[ImportedRow], asked: dict[Key, Asked]) -> list[str]:
    notes = [
        "HELM: confidence is max_prob and correct is exact_match; its logs do not hold the probabilities of the other "
        "choices"
    ]
    if not asked:
        notes.append(f"{path}: there is no {STATE} beside it, so text and choices are missing")
    if any(row.metadata["perturbation"] or row.metadata["train_trial"] for row in rows):
        notes.append(
            "instances occur more than once (perturbations or trials): keep the rows of each together with --group "
            "instance_id"
        )
    return notes
