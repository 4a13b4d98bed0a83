"""Logs of Inspect: ``.eval`` archives and ``.json`` files.

The confidence is the one that the model stated, where a score holds it. Otherwise it is the probability of the letter
that was answered, renormalised over the letters of the choices, at the token that gave the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile
from miscal.data.importers import archive
from miscal.data.importers.imported_rows import ImportedRow, LeftOut, Log, UnusableLog, UnusableRow, log_of, scalars
from miscal.data.importers.inspect_answers import (
    answer_of,
    letter_shares,
    right_or_wrong,
    right_positions,
    sent_order,
    shuffles,
    top_of,
    verdict,
)
from miscal.data.importers.json_files import parsed, whole
from miscal.data.importers.stated_confidences import IN_TEXT, NO_NUMBER, as_shares, certain, in_text, stated

LOOKED_FOR = "*.eval or *.json"

_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")


def logs(folder: Path) -> list[Path]:
    """Find the logs."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".eval", ".json") and path.is_file())


def read(path: Path) -> Log:
    """Read one log.

    Raises
    ------
    UnusableLog
        If it is not a log of Inspect, or its samples hold no log-probabilities.
    """
    with path.open("rb") as stream:
        # by content, since a log may have any name
        packed = stream.read(4) == archive.MAGIC
    if not packed:
        header, samples = _loaded(path)
        return _log(path, header, iter(samples))
    with archive.opened(path) as members:
        return _log(path, _header(path, members), _unpacked(path, members))


# --- the two forms of a log ----------------------------------------------------------------------------------------


def _loaded(path: Path) -> tuple[dict[str, Any], list[Any]]:
    log = whole(path)
    if not isinstance(log, dict) or not isinstance(log.get("eval"), dict):
        raise UnusableLog(f"{path} is not a log of Inspect, which is an object with the key eval")
    if not isinstance(log.get("samples"), list):
        raise UnusableLog(
            f"{path} holds no samples: it was written without them (--no-log-samples), or the run stopped early"
        )
    return log, log["samples"]


def _header(path: Path, members: archive.Archive) -> dict[str, Any]:
    """Return the header; of a run that broke off, what was known at its start."""
    for name in ("header.json", "_journal/start.json"):
        if name in members.names:
            header = parsed(members.read(name), f"{path}/{name}")
            if isinstance(header, dict) and isinstance(header.get("eval"), dict):
                return header
    raise UnusableLog(f"{path} is not a log of Inspect: the archive has no header.json with the key eval")


def _unpacked(path: Path, members: archive.Archive) -> Iterator[Any]:
    """Yield the samples one by one: together they may be larger than memory."""
    for name in members.names:
        if _SAMPLE.fullmatch(name):
            sample = parsed(members.read(name), f"{path}/{name}")
            beside = name.removesuffix("sample.json") + "metadata.json"
            if name.endswith("/sample.json") and beside in members.names and isinstance(sample, dict):
                sample["metadata"] = parsed(members.read(beside), f"{path}/{beside}")
            yield sample


# --- rows ----------------------------------------------------------------------------------------------------------


def _log(path: Path, header: dict[str, Any], samples: Iterator[Any]) -> Log:
    run, shuffled = header["eval"], shuffles(header)
    origin = {"task": run.get("task"), "model": run.get("model")}
    rows, in_words, left_out = [], [], LeftOut()
    for number, sample in enumerate(samples):
        if not isinstance(sample, dict) or "id" not in sample:
            raise CorruptFile(f"{path}: sample {number} is not an object with an id; the log is damaged")
        name = f"{sample['id']}/epoch {sample.get('epoch', 1)}"
        with left_out.catch(name):
            if (said := _stated(sample)) is not None:
                in_words.append(_stated_row(name, sample, origin, *said))
            else:
                rows.append(_row(name, sample, origin, shuffled=shuffled))
    _refuse_without_probabilities(path, [*rows, *in_words], left_out)
    in_words = as_shares(path, in_words)
    rows = [*rows, *in_words]
    return log_of(path, rows, left_out, [*_notes(path, header, rows, len(in_words)), *certain(path, in_words)])


NO_LOGPROBS = "no log-probabilities of the generated tokens"
NO_TOP = "no top_logprobs, so the probabilities of the other letters are unknown"


def _refuse_without_probabilities(path: Path, rows: list[ImportedRow], left_out: dict[str, list[str]]) -> None:
    if not rows and left_out.keys() & {NO_LOGPROBS, NO_TOP}:
        raise UnusableLog(
            f"{path} holds no probabilities: run it again with logprobs and top_logprobs of at least the number of "
            "choices (inspect eval --logprobs --top-logprobs 10), on a service that returns them"
        )


def _stated(sample: dict[str, Any]) -> tuple[Any, float | None] | None:
    """Return outcome and confidence as the first score that states a confidence holds them."""
    scores = sample.get("scores")
    each = [one for one in scores.values() if isinstance(one, dict)] if isinstance(scores, dict) else []
    found = (stated(one.get("value"), one.get("metadata")) for one in each)
    return next((one for one in found if one is not None), None)


def _stated_row(
    name: str, sample: dict[str, Any], origin: dict[str, Any], outcome: Any, confidence: float | None
) -> ImportedRow:
    """Return a row whose confidence is not yet divided by its scale."""
    if sample.get("error"):
        raise UnusableRow("the sample ended in an error")
    if confidence is None:
        raise UnusableRow(NO_NUMBER)
    return ImportedRow(
        id=name,
        text=_text(sample.get("input")),
        confidence=confidence,
        correct=right_or_wrong(outcome),
        metadata={**_metadata(sample, origin), **_in_text(sample)},
    )


def _in_text(sample: dict[str, Any]) -> dict[str, bool]:
    """Say whether the answer itself states a confidence, where its text is in the log."""
    output = sample.get("output")
    text = output.get("completion") if isinstance(output, dict) else None
    return {IN_TEXT: in_text(text) is not None} if isinstance(text, str) and text else {}


def _metadata(sample: dict[str, Any], origin: dict[str, Any]) -> dict[str, Any]:
    own = sample.get("metadata")
    named = {"sample_id": str(sample["id"]), "epoch": sample.get("epoch", 1)}
    return {**origin, **named, **scalars(own if isinstance(own, dict) else None)}


def _row(name: str, sample: dict[str, Any], origin: dict[str, Any], *, shuffled: bool) -> ImportedRow:
    choices = sample.get("choices")
    if not isinstance(choices, list) or not 2 <= len(choices) <= 26:
        raise UnusableRow("fewer than 2 or more than 26 choices")
    if sample.get("error"):
        raise UnusableRow("the sample ended in an error")
    choices = tuple(str(choice) for choice in choices)
    score = verdict(sample.get("scores"))
    token = answer_of(_tokens(sample), len(choices))
    if len(top_of(token)) < 2:
        raise UnusableRow(NO_TOP)
    order = sent_order(score, choices, shuffled=shuffled)
    sent = letter_shares(token, len(choices))
    probs = [0.0] * len(choices)
    for place, share in enumerate(sent.shares):
        probs[order[place]] = share
    predicted = order[sent.answered]
    if score.answer not in (None, predicted):
        raise UnusableRow("the answer that was scored differs from the letter that was generated")
    right = right_positions(sample.get("target"), len(choices))
    return ImportedRow(
        id=name,
        text=_text(sample.get("input")),
        confidence=probs[predicted],
        correct=score.correct,
        predicted=predicted,
        choices=choices,
        choice_probs=tuple(probs),
        candidate_mass=sent.mass,
        answer_index=right[0] if len(right) == 1 else None,
        metadata=_metadata(sample, {**origin, "truncated": sent.n_missing > 0}),
    )


def _tokens(sample: dict[str, Any]) -> list[dict[str, Any]]:
    output = sample.get("output")
    outputs = output.get("choices") if isinstance(output, dict) else None
    first = outputs[0] if isinstance(outputs, list) and outputs else None
    logprobs = first.get("logprobs") if isinstance(first, dict) else None
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        raise UnusableRow(NO_LOGPROBS)
    return [token for token in content if isinstance(token, dict)]


def _text(given: Any) -> str | None:
    """Return the input; of messages, the last of the user."""
    if isinstance(given, list):
        asked = [one.get("content") for one in given if isinstance(one, dict) and one.get("role") == "user"]
        given = asked[-1] if asked else None
        if isinstance(given, list):
            parts = [part.get("text") for part in given if isinstance(part, dict)]
            given = "\n".join(part for part in parts if isinstance(part, str))
    return given if isinstance(given, str) else None


def _notes(path: Path, header: dict[str, Any], rows: list[ImportedRow], n_stated: int) -> list[str]:
    notes = []
    if n_stated:
        notes.append("Inspect: confidence is what the model stated, as the score holds it")
    if n_stated < len(rows):
        notes.append(
            "Inspect: confidence is the probability of the letter answered, renormalised over all letters; where the "
            "model reasoned first, it is the probability given that reasoning"
        )
    if header.get("status") != "success":
        notes.append(f"{path.name}: the run did not finish (status {header.get('status', 'unknown')})")
    cut = sum(row.metadata.get("truncated") is True for row in rows)
    if cut:
        notes.append(
            f"{path.name}: in {cut} rows some letters are not among the top_logprobs; their probability is taken as 0 "
            "(see column truncated)"
        )
    if len({row.metadata["sample_id"] for row in rows}) < len(rows):
        notes.append("samples occur once per epoch: keep the rows of each together with --group sample_id")
    return notes
