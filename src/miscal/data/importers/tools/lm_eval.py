"""Samples of lm-evaluation-harness (``--log_samples``), of all versions since 0.4.0.

One line, or element of an array in 0.4.0 to 0.4.2, per document and filter; from 0.4.3 on numbers are texts and the
arguments are an object. Log-likelihoods are sums over the tokens of a choice, as the harness uses them.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    probabilities,
    scalars,
)
from miscal.data.importers.json_files import records, whole
from miscal.data.importers.lm_eval_answers import generated

LOOKED_FOR = "samples_*.jsonl or any other *.jsonl"

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)")
_QUESTIONS = ("question", "query", "problem", "goal", "sentence", "ctx", "input", "prompt", "text")
"""Fields of a document that hold the question alone, in the order of preference."""


def logs(folder: Path) -> list[Path]:
    """Find samples; of runs of one task into one folder, the latest."""
    latest: dict[tuple[Path, str], Path] = {}
    for path in sorted(folder.rglob("*.jsonl")):
        named = _NAME.fullmatch(path.stem)
        latest[path.parent, named["task"] if named else path.stem] = path  # dates sort as texts
    return sorted(latest.values())


def read(path: Path) -> Log:
    """Read the samples of one task.

    The confidence is the softmax of the log-likelihoods at their largest, and ``correct`` is the harness's own
    ``acc``; a task that has ``acc_norm`` alone is read by log-likelihoods divided by the length of the choice.

    Raises
    ------
    UnusableLog
        If the samples hold no probabilities of choices.
    """
    samples = records(path)
    _check(samples, path)
    if not _pairs(samples[0]["filtered_resps"]):
        return generated(path, samples, _origin(path), lambda sample: (_doc(sample), _question(_doc(sample))))
    convention = next((one for one in CONVENTIONS if one.metric is None or one.metric in samples[0]), CONVENTIONS[-1])
    origin = _origin(path)
    rows, left_out, seen = [], LeftOut(), set()
    n_prompts = 0
    for sample in samples:
        name = str(sample["doc_id"])
        if name in seen:
            left_out["the document occurred before (under another filter, or repeated)"].append(name)
            continue
        seen.add(name)
        with left_out.catch(name):
            rows.append(_row(name, sample, convention, origin))
            n_prompts += _question(_doc(sample)) is None
    return log_of(path, rows, left_out, _notes(path, convention, n_prompts))


# --- what a file is ----------------------------------------------------------------------------------------------


def _check(samples: list[Any], path: Path) -> None:
    if not samples:
        raise UnusableLog(f"{path} holds no samples")
    for at, sample in enumerate(samples):
        if not (isinstance(sample, dict) and "doc_id" in sample and isinstance(sample.get("filtered_resps"), list)):
            kind = UnusableLog if at == 0 else CorruptFile
            raise kind(
                f"{path} is not a samples file of lm-eval: record {at} lacks doc_id or filtered_resps; give a file "
                "that --log_samples wrote"
            )
    if not _pairs(samples[0]["filtered_resps"]):
        return
    if len(samples[0]["filtered_resps"]) < 2:
        raise UnusableLog(
            f"{path} holds one continuation per document (output_type loglikelihood), and without other choices there "
            "is no confidence; run a multiple_choice task"
        )


def _pairs(answers: Any) -> bool:
    return bool(answers) and all(isinstance(one, list) and len(one) == 2 for one in answers)


def _origin(path: Path) -> dict[str, str | None]:
    """Task and model, from the names of files and folders and the results beside them."""
    named = _NAME.fullmatch(path.stem)
    if named is None:
        return {"task": path.stem, "model": None}
    results = path.with_name(f"results_{named['date']}.json")
    about = whole(results) if results.is_file() else {}
    model = about.get("model_name") if isinstance(about, dict) else None
    return {"task": named["task"], "model": model or path.resolve().parent.name}


def _notes(path: Path, convention: Convention, n_prompts: int) -> list[str]:
    notes = [f"lm-eval: {convention.words}"]
    if n_prompts:
        notes.append(
            f"{path.name}: {n_prompts} documents have no field known to hold the question, so text is the whole prompt"
        )
    return notes


# --- how an answer is judged ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convention:
    """A metric of the harness, what it divides log-likelihoods by, and how to say so."""

    metric: str | None
    length: Callable[[str], float]
    words: str


def _one(choice: str) -> float:
    return 1.0


def _characters(choice: str) -> float:
    return float(max(1, len(choice)))


def _bytes(choice: str) -> float:
    return float(max(1, len(choice.encode("utf-8", "surrogatepass"))))


_PLAIN = "confidence is the largest share of exp(log-likelihood) over the choices"
CONVENTIONS = (
    Convention("acc", _one, f"{_PLAIN}, correct is acc"),
    Convention(
        "acc_norm",
        _characters,
        f"{_PLAIN}, each divided by the number of characters of its choice; correct is acc_norm",
    ),
    Convention(
        "acc_bytes", _bytes, f"{_PLAIN}, each divided by the number of bytes of its choice; correct is acc_bytes"
    ),
    Convention(None, _one, f"{_PLAIN}, correct tells whether that choice is the target, since no accuracy was logged"),
)
"""In the order of preference."""


def _row(name: str, sample: dict[str, Any], convention: Convention, origin: dict[str, str | None]) -> ImportedRow:
    contexts, continuations = _arguments(sample)
    if not _pairs(sample["filtered_resps"]):
        raise UnusableRow("the answers are not pairs of log-likelihood and is_greedy")
    values = [_number(pair) for pair in sample["filtered_resps"]]
    half = len(continuations) // 2
    if "acc_mutual_info" in sample and len(values) % 2 == 0 and continuations[:half] == continuations[half:]:
        # the second half asks for the choices without the question
        values, contexts, continuations = values[:half], contexts[:half], continuations[:half]
    if len(values) != len(continuations):
        raise UnusableRow("the numbers of answers and of arguments differ")
    apart = len(set(contexts)) > 1  # tasks that vary the context and keep the continuation
    choices = [text.strip() for text in (contexts if apart else continuations)]
    lengths = [convention.length(text.removeprefix(" ")) for text in continuations]
    shares = probabilities([value / length for value, length in zip(values, lengths, strict=True)])
    predicted = shares.index(max(shares))
    golds = _golds(sample.get("target"), choices)
    doc = _doc(sample)
    asked = _question(doc)
    return ImportedRow(
        id=name,
        text=contexts[0] if asked is None else doc[asked],
        confidence=shares[predicted],
        correct=_correct(sample, convention, predicted, golds),
        predicted=predicted,
        choices=tuple(choices),
        choice_probs=tuple(shares),
        candidate_mass=None if apart else min(1.0, math.fsum(math.exp(min(0.0, value)) for value in values)),
        answer_index=golds[0] if len(golds) == 1 else None,
        metadata=origin | scalars({**doc, "prompt_hash": sample.get("prompt_hash")}, but=asked),
    )


def _number(pair: list[Any]) -> float:
    value = number(pair[0])
    if value is None:
        raise UnusableRow("a log-likelihood is not a number")
    return value


def _arguments(sample: dict[str, Any]) -> tuple[list[str], list[str]]:
    given = sample.get("arguments")
    if isinstance(given, dict):
        given = [(one.get("arg_0"), one.get("arg_1")) for one in given.values() if isinstance(one, dict)]
    try:
        pairs = [(str(context), str(continuation)) for context, continuation in given or []]
    except (TypeError, ValueError):
        raise UnusableRow("the arguments are not pairs of context and continuation") from None
    if not pairs:
        raise UnusableRow("there are no arguments")
    return [context for context, _ in pairs], [continuation for _, continuation in pairs]


def _correct(sample: dict[str, Any], convention: Convention, predicted: int, golds: Sequence[int]) -> int:
    if convention.metric is None:
        if not golds:
            raise UnusableRow("there is no accuracy, and the target is none of the choices")
        return int(predicted in golds)
    value = sample.get(convention.metric)
    value = float(value) if isinstance(value, bool) else number(value)  # raw truth values in the oldest versions
    if value not in (0.0, 1.0):
        raise UnusableRow(f"{convention.metric} is neither 0 nor 1")
    return int(value)


def _golds(target: Any, choices: list[str]) -> list[int]:
    """Positions of the right choices: a position, a choice or a list of them; empty if that cannot be told."""
    if isinstance(target, str) and target.startswith("["):
        try:
            target = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return []
    found = [_gold(one, choices) for one in (target if isinstance(target, list) else [target])]
    return [one for one in found if one is not None]


def _gold(target: Any, choices: list[str]) -> int | None:
    text = str(target).strip()
    # isdigit alone lets superscripts pass, which int() refuses
    if text.isascii() and text.isdigit() and len(text) < 6 and int(text) < len(choices):
        return int(text)
    return choices.index(text) if text in choices else None


def _doc(sample: dict[str, Any]) -> dict[str, Any]:
    doc = sample.get("doc")
    return doc if isinstance(doc, dict) else {}


def _question(doc: dict[str, Any]) -> str | None:
    """Return the field that holds the question."""
    return next((name for name in _QUESTIONS if isinstance(doc.get(name), str) and doc[name].strip()), None)
