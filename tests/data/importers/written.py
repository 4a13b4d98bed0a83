"""Small logs in the forms the tools write, one field at a time."""

import json
import math
import zipfile
from pathlib import Path

import zstandard

CHOICES = ("red", "green", "blue", "grey")

# --- lm-eval -------------------------------------------------------------------------------------------------------


def sample(number, values, *, gold=1, strings=True, **more):
    """One record of a multiple-choice task, as 0.4.3 and later write it, or as 0.4.0 to 0.4.2 do."""
    pairs = [[str(v), "False"] if strings else [v, False] for v in values]
    asked = [(f"Q {number}?\nAnswer:", f" {letter}") for letter in "ABCDEFGHIJ"[: len(values)]]
    record = {
        "doc_id": number,
        "doc": {"question": f"Q {number}?", "choices": list(CHOICES), "answer": gold, "subject": f"s{number % 2}"},
        "target": str(gold) if strings else gold,
        "arguments": {f"gen_args_{i}": {"arg_0": a, "arg_1": b} for i, (a, b) in enumerate(asked)}
        if strings
        else asked,
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "acc": float(max(range(len(values)), key=lambda i: float(values[i])) == gold),
    }
    return record | more


def lines(path: Path, records) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def generated(number):
    return {
        "doc_id": number,
        "doc": {"question": "?"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": "?", "arg_1": {"until": ["\n"]}}},
        "resps": [["It is 4"]],
        "filtered_resps": ["4"],
        "exact_match": 1.0,
    }


# --- Inspect -------------------------------------------------------------------------------------------------------


def token(text, probability, top=()):
    top = [{"token": t, "logprob": math.log(p)} for t, p in top]
    return {"token": text, "logprob": math.log(probability), "bytes": None, "top_logprobs": top}


def answered(letter, probs, *, blank="\u0120", extra=()):
    """Tokens of "ANSWER: X", with the probabilities of the letters as they were sent."""
    top = [(blank + name, p) for name, p in zip("ABCD", probs, strict=False) if p] + list(extra)
    before = [token(text, 0.99, [(text, 0.99), ("x", 0.01)]) for text in ("AN", "SW", "ER", ":")]
    return [*before, token(blank + letter, dict(top)[blank + letter], top)]


def inspected(name, tokens, *, answer, target="B", choices=CHOICES, epoch=1, explanation="ANSWER: X", **more):
    """One sample, scored by the scorer called choice."""
    right = answer == target
    return {
        "id": name,
        "epoch": epoch,
        "input": f"Question {name}?",
        "choices": list(choices),
        "target": target,
        "messages": [],
        "output": {
            "model": "m",
            "choices": [{"message": {}, "stop_reason": "stop", "logprobs": {"content": tokens} if tokens else None}],
        },
        "scores": {"choice": {"value": "C" if right else "I", "answer": answer, "explanation": explanation}},
        "metadata": {"subject": "colour", "nested": {"a": 1}},
    } | more


def shuffled(order, answered_letter, choices=CHOICES):
    """What the scorer explains of a shuffle: order[i] is the choice that was sent as letter i."""
    options = "\n".join(f"{letter}) {choices[at]}" for letter, at in zip("ABCD", order, strict=False))
    return (
        "Choices were shuffled before generating a response, the following was sent to the model:\n\n"
        f"{options}\nShuffled answer:\nANSWER: {answered_letter}"
    )


def header(*, shuffle=False, status="success"):
    params = {"shuffle": True} if shuffle else {}
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "colours", "model": "mock/model", "dataset": {"name": "colours"}},
        "plan": {"steps": [{"solver": "multiple_choice", "params": params}]},
    }


def log_json(path: Path, samples, **about) -> Path:
    path.write_text(json.dumps({**header(**about), "samples": list(samples)}))
    return path


def log_eval(path: Path, samples, *, method=93, frames=1, chunked=False, **about) -> Path:
    members = {"header.json": header(**about)}
    for one in samples:
        place = f"samples/{one['id']}_epoch_{one['epoch']}"
        if chunked:
            members[f"{place}/metadata.json"] = one["metadata"]
            one = {key: value for key, value in one.items() if key not in ("metadata", "messages")}
        members[f"{place}/sample.json" if chunked else f"{place}.json"] = one
    archive(path, {name: json.dumps(value).encode() for name, value in members.items()}, method=method, frames=frames)
    return path


def archive(path: Path, members: dict[str, bytes], *, method=93, frames=1, claim=None) -> Path:
    """Write a ZIP archive; Zstandard members are packed here and then declared as method 93.

    `claim` is the size that members are said to unfold to.
    """
    if method != 93:
        with zipfile.ZipFile(path, "w", method) as out:
            for name, content in members.items():
                out.writestr(name, content)
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for name, content in members.items():
            out.writestr(name, packed(content, frames))
    return _declared(path, members, claim)


def packed(content: bytes, frames: int) -> bytes:
    step = max(1, -(-len(content) // frames))
    parts = [content[at : at + step] for at in range(0, len(content), step)]
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)


def _declared(path: Path, members: dict[str, bytes], claim: int | None) -> Path:
    """Rewrite method, checksum and size in the central directory."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    while data[at : at + 4] == b"PK\x01\x02":
        n_name, n_extra, n_comment = (int.from_bytes(data[at + o : at + o + 2], "little") for o in (28, 30, 32))
        content = members[data[at + 46 : at + 46 + n_name].decode()]
        data[at + 10 : at + 12] = (93).to_bytes(2, "little")
        data[at + 16 : at + 20] = zipfile.crc32(content).to_bytes(4, "little")
        data[at + 24 : at + 28] = (len(content) if claim is None else claim).to_bytes(4, "little")
        at += 46 + n_name + n_extra + n_comment
    path.write_bytes(data)
    return path
