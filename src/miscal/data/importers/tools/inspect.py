"""Logs of Inspect: ``.eval`` archives and ``.json`` files.

The confidence is the one that the model stated, where a score holds it. Otherwise it is the probability of the letter
that was answered, renormalised over the letters of the choices, at the token that gave the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile
from miscal.data.importers import archive
from miscal.data.importers.answers import answers_log, stated_row
from miscal.data.importers.imported_rows import ImportedRow, Log, UnusableLog, UnusableRow, scalars
from miscal.data.importers.inspect_letters import (
    answer_of,
    letter_shares,
    right_or_wrong,
    right_positions,
    sent_order,
    top_of,
    verdict,
)
from miscal.data.importers.log_files import dict_in, first_text, get_in, list_in, parsed, whole
from miscal.data.importers.stated_confidences import stated

FILES = ("*.eval", "*.json")

_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")

STATED = "Inspect: confidence is what the model stated, as the score holds it"
LETTERS = (
    "Inspect: confidence is the probability of the letter answered, renormalised over all letters; where the model "
    "reasoned first, it is the probability given that reasoning"
)
NO_LOGPROBS = "no log-probabilities of the generated tokens"
NO_TOP = "no top_logprobs, so the probabilities of the other letters are unknown"
REFUSAL = (
    "probabilities: run it again with logprobs and top_logprobs of at least the number of choices (inspect eval "
    "--logprobs --top-logprobs 10), on a service that returns them"
)


def read(path: Path) -> Log:
    """Read one log."""
    with path.open("rb") as stream:
        # by content, since a log may have any name
        packed = stream.read(4) == archive.MAGIC
    if packed:
        with archive.opened(path) as members:
            return _log(path, _header(path, members), _unpacked(path, members))
    log = whole(path)
    if not isinstance(get_in(log, "eval"), dict):
        raise UnusableLog(f"{path} is not a log of Inspect, which is an object with the key eval")
    if not isinstance(log.get("samples"), list):
        raise UnusableLog(
            f"{path} holds no samples: it was written without them (--no-log-samples), or the run stopped early"
        )
    return _log(path, log, log["samples"])


def _header(path: Path, members: archive.Archive) -> dict[str, Any]:
    """Return the header; of a run that broke off, what was known at its start."""
    for name in ("header.json", "_journal/start.json"):
        if name in members.names:
            header = parsed(members.read(name), f"{path}/{name}")
            if isinstance(get_in(header, "eval"), dict):
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


def _log(path: Path, header: dict[str, Any], samples: Iterable[Any]) -> Log:
    origin = {"task": header["eval"].get("task"), "model": header["eval"].get("model")}
    params = [get_in(step, "params", "shuffle") for step in list_in(header, "plan", "steps")]
    # a solver of the log's plan that shuffled the choices after the sample was recorded
    shuffled = any(one not in (None, False) for one in params)

    def named() -> Iterator[tuple[str, dict[str, Any]]]:
        for number, sample in enumerate(samples):
            if "id" not in dict_in(sample):
                raise CorruptFile(f"{path}: sample {number} is not an object with an id; the log is damaged")
            yield f"{sample['id']}/epoch {sample.get('epoch', 1)}", sample

    return answers_log(
        path,
        named(),
        lambda name, sample: _row(name, sample, origin, shuffled=shuffled),
        notes=lambda rows: _notes(path, header, rows),
        without=([NO_LOGPROBS, NO_TOP], REFUSAL),
    )


def _row(name: str, sample: dict[str, Any], origin: dict[str, Any], *, shuffled: bool) -> ImportedRow:
    text = _text(sample.get("input"))
    scores = [one for one in dict_in(sample, "scores").values() if isinstance(one, dict)]
    said = next((one for one in (stated(s.get("value"), s.get("metadata")) for s in scores) if one is not None), None)
    choices = sample.get("choices")
    if said is None and (not isinstance(choices, list) or not 2 <= len(choices) <= 26):
        raise UnusableRow("fewer than 2 or more than 26 choices")
    if sample.get("error"):
        raise UnusableRow("the sample ended in an error")
    own = {"sample_id": str(sample["id"]), "epoch": sample.get("epoch", 1), **scalars(dict_in(sample, "metadata"))}
    if said is not None:
        answer = get_in(sample, "output", "completion")
        return stated_row(name, text, said[1], said[0], answer, {**origin, **own}, STATED, right_or_wrong)
    choices = tuple(map(str, list_in(choices)))
    score = verdict(sample.get("scores"))
    tokens = list_in(sample, "output", "choices", 0, "logprobs", "content")
    if not tokens:
        raise UnusableRow(NO_LOGPROBS)
    token = answer_of([one for one in tokens if isinstance(one, dict)], len(choices))
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
        text=text,
        confidence=probs[predicted],
        correct=score.correct,
        predicted=predicted,
        choices=choices,
        choice_probs=tuple(probs),
        candidate_mass=sent.mass,
        answer_index=right[0] if len(right) == 1 else None,
        metadata={**origin, "truncated": sent.n_missing > 0, **own},
        note=LETTERS,
    )


def _text(given: Any) -> str | None:
    """Return the input; of messages, the last of the user."""
    if isinstance(given, list):
        asked = [get_in(one, "content") for one in given if get_in(one, "role") == "user"]
        given = asked[-1] if asked else None
        if isinstance(given, list):
            given = "\n".join(part for one in given if isinstance(part := get_in(one, "text"), str))
    return first_text(given)


def _notes(path: Path, header: dict[str, Any], rows: Sequence[ImportedRow]) -> list[str]:
    notes = []
    if header.get("status") != "success":
        notes.append(f"{path.name}: the run did not finish (status {header.get('status', 'unknown')})")
    if cut := sum(row.metadata.get("truncated") is True for row in rows):
        notes.append(
            f"{path.name}: in {cut} rows some letters are not among the top_logprobs; their probability is taken as 0 "
            "(see column truncated)"
        )
    if len({row.metadata["sample_id"] for row in rows}) < len(rows):
        notes.append("samples occur once per epoch: keep the rows of each together with --group sample_id")
    return notes
