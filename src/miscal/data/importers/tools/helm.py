"""Run folders of HELM: per_instance_stats.json, with scenario_state.json and run_spec.json beside it.

Confidence and outcome are HELM's own ``max_prob`` and ``exact_match``, the two its calibration metrics use.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile
from miscal.data.importers.imported_rows import ImportedRow, Log, UnusableLog, UnusableRow, number, scalars
from miscal.data.importers.log_files import dict_in, first_text, get_in, list_in, whole
from miscal.data.importers.stated_confidences import answers_log

STATS = "per_instance_stats.json"
STATE = "scenario_state.json"
SPEC = "run_spec.json"
FILES = (STATS,)
NOTE = (
    "HELM: confidence is max_prob and correct is exact_match; its logs do not hold the probabilities of the other "
    "choices"
)

_CHOOSES = ("multiple_choice", "ranking")
_ROUNDING = 1e-6

Key = tuple[str, str, int]
"""Instance, perturbation ("" for none) and train trial."""


def read(path: Path) -> Log:
    """Read one run."""
    stats = _stats(path)
    asked = _asked(path.with_name(STATE))
    origin = _origin(path)

    def notes(rows: Sequence[ImportedRow]) -> list[str]:
        alone = [] if asked else [f"{path}: there is no {STATE} beside it, so text and choices are missing"]
        if not any(row.metadata["perturbation"] or row.metadata["train_trial"] for row in rows):
            return alone
        return [
            *alone,
            "instances occur more than once (perturbations or trials): keep the rows of each together with --group "
            "instance_id",
        ]

    samples = ((_name(key), key) for key in stats)
    return answers_log(
        path, samples, lambda name, key: _row(name, key, stats[key], asked.get(key), origin), notes=notes
    )


# --- the statistics ------------------------------------------------------------------------------------------------


def _stats(path: Path) -> dict[Key, dict[str, float]]:
    """Return the mean of every statistic of every instance; entries of the same instance are put together."""
    entries = whole(path)
    if not isinstance(entries, list) or not all(isinstance(one, dict) and "instance_id" in one for one in entries):
        raise UnusableLog(f"{path} is not a {STATS} of HELM, which is a list of objects with instance_id")
    stats: dict[Key, dict[str, float]] = defaultdict(dict)
    for entry in entries:
        for stat in list_in(entry, "stats"):
            name, mean = get_in(stat, "name", "name"), number(get_in(stat, "mean"))
            if mean is not None:
                stats[_key(entry["instance_id"], entry, entry)].setdefault(str(name), mean)
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
    return stats


def _key(name: Any, instance: Any, entry: Any) -> Key:
    perturbation, trial = get_in(instance, "perturbation", "name"), get_in(entry, "train_trial_index")
    return str(name), str(perturbation or ""), trial if isinstance(trial, int) else 0


def _name(key: Key) -> str:
    name, perturbation, trial = key
    return name + (f"/{perturbation}" if perturbation else "") + (f"/trial {trial}" if trial else "")


# --- what was asked ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """An instance as the model saw it; ``right`` are positions in the references, ``chooses`` says if one is chosen."""

    text: str | None
    references: list[str]
    right: list[int]
    answer: str | None
    chooses: bool
    metadata: dict[str, Any]


def _asked(path: Path) -> dict[Key, Asked]:
    if not path.is_file():
        return {}
    state = whole(path)
    states = get_in(state, "request_states")
    if not isinstance(states, list):
        raise CorruptFile(f"{path} has no list called request_states: it is damaged, or is not a {STATE} of HELM")
    chooses = str(get_in(state, "adapter_spec", "method") or "").startswith(_CHOOSES)
    asked: dict[Key, Asked] = {}
    for one in states:
        instance = dict_in(one, "instance")
        references = list_in(instance, "references")
        asked.setdefault(
            _key(instance.get("id"), instance, one),
            Asked(
                text=first_text(get_in(instance, "input", "text")),
                references=[str(get_in(reference, "output", "text")) for reference in references],
                right=[at for at, reference in enumerate(references) if "correct" in list_in(reference, "tags")],
                answer=_answer(one),
                chooses=chooses,
                metadata={name: instance.get(name) for name in ("split", "sub_split")},
            ),
        )
    return asked


def _answer(state: Any) -> str | None:
    """Return the reference that the completion's letter stands for, where the adapter uses letters."""
    completions = list_in(state, "result", "completions")
    if not completions or not isinstance(get_in(state, "output_mapping"), dict):
        return None
    log_probs = [number(get_in(one, "logprob")) for one in completions]
    # the likeliest, as HELM takes it
    best = max(range(len(completions)), key=lambda at: -math.inf if (found := log_probs[at]) is None else found)
    return state["output_mapping"].get(str(get_in(completions, best, "text")).strip())


def _origin(path: Path) -> dict[str, Any]:
    """Model and scenario, with the scenario's arguments, from the run's specification."""
    beside = path.with_name(SPEC)
    spec = whole(beside) if beside.is_file() else {}
    return {
        "task": get_in(spec, "name") or path.resolve().parent.name,
        "model": get_in(spec, "adapter_spec", "model") or get_in(spec, "adapter_spec", "model_deployment"),
        **scalars(dict_in(spec, "scenario_spec", "args")),
    }


# --- rows ----------------------------------------------------------------------------------------------------------


def _row(name: str, key: Key, values: dict[str, float], asked: Asked | None, origin: dict[str, Any]) -> ImportedRow:
    instance, perturbation, trial = key
    if not {"max_prob", "exact_match"} <= values.keys():
        raise UnusableRow("no max_prob or no exact_match")
    confidence = values["max_prob"]
    if not -_ROUNDING <= confidence <= 1 + _ROUNDING:  # NaN too
        raise UnusableRow("max_prob is outside [0, 1]")
    choice = asked if asked and asked.chooses else None
    predicted, right = None, choice.right if choice else []
    if choice:
        given, references = values.get("predicted_index", math.nan), choice.references
        if 0 <= given < len(references):
            predicted = int(given)
        elif references.count(choice.answer) == 1:
            predicted = references.index(choice.answer)
    own = {"instance_id": instance, "perturbation": perturbation or None, "train_trial": trial}
    return ImportedRow(
        id=name,
        text=asked.text if asked else None,
        confidence=min(1.0, max(0.0, confidence)),
        correct=_correct(values["exact_match"], predicted, right),
        predicted=predicted,
        choices=tuple(choice.references) if choice else None,
        answer_index=right[0] if len(right) == 1 else None,
        metadata={**origin, **own, **(asked.metadata if asked else {})},
        note=NOTE,
    )


def _correct(match: float, predicted: int | None, right: list[int]) -> int:
    """Return exact_match; of references that tie HELM scores a share, and the first is the one predicted."""
    if match in (0.0, 1.0):
        return int(match)
    if predicted is None or not right:
        raise UnusableRow("exact_match is neither 0 nor 1")
    return int(predicted in right)
