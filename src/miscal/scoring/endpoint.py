"""Ask a server of decision models (``POST /v1/systemone``) into a folder: in parallel, and resumable.

The folder holds ``answers.jsonl``, which `miscal import decisions` reads, and ``triples.parquet``, what it makes of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from miscal.base.errors import InputError, argument
from miscal.base.files import check_target, digest, disk_errors, locked, replace_file
from miscal.base.number_wording import percent
from miscal.data.importers.imported import Imported, read_log
from miscal.data.importers.logs import dict_in, number, parsed, records
from miscal.data.importers.tools.decisions import LABELS
from miscal.data.readers.source import existing
from miscal.scoring.command import ALLOWED_FAILURES, scoring_bar
from miscal.scoring.folder import SETTINGS, TRIPLES, read_settings, refuse_changed, refuse_foreign, write_json

KEY, PATH, ANSWERS = "MISCAL_ENDPOINT_KEY", "/v1/systemone", "answers.jsonl"
TRIES, FIRST_WAIT, LONGEST_WAIT, TIMEOUT = 5, 0.5, 300.0, 120.0
"""How often an item is asked for, the seconds before it is again (each time twice as long, or as long as the server
says), the most of them, and those that the server has."""

GIVE_UP = 20
"""Items in a row without an answer after which no more are asked for."""

_AGAIN = "run the same command again: only what is missing is asked for"


class _Answered(HTTPRedirectHandler):
    """Takes a redirection for an answer: followed, it would hand the key to another server."""

    def redirect_request(self, *answer: Any) -> None:
        """Follow none."""


@dataclass(frozen=True)
class Server:
    """Where to ask, and by which key, which nothing shows."""

    url: str
    key: str

    @classmethod
    def at(cls, endpoint: str) -> Server:
        """Check an address, and take the key from the environment."""
        parts, key = urlsplit(endpoint), os.environ.get(KEY, "").strip()
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
            raise InputError(
                f"{argument('endpoint')} must be an address such as https://HOST, without user, password and query; "
                f"give the key in the environment as {KEY}"
            )
        if not key.isascii() or not key.isprintable():
            raise InputError(f"{KEY} holds characters that no key has: copy it again")
        path = parts.path.rstrip("/").removesuffix(PATH).removesuffix("/v1")
        return cls(f"{parts.scheme}://{parts.netloc}{path}{PATH}", key)

    def hidden(self, text: str) -> str:
        """Return a text of the server without the key, should it hold it."""
        return text.replace(self.key, "***") if len(self.key) > 7 else text

    def answer(self, request: Mapping[str, Any], stop: Event) -> dict[str, Any] | str:
        """Return the answer to a request, or the reason why there is none; refused keys are an error."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        asked, reason = Request(self.url, json.dumps(request).encode(), headers), ""  # noqa: S310
        for turn in range(TRIES):
            wait = FIRST_WAIT * 2**turn
            try:
                with build_opener(_Answered).open(asked, timeout=TIMEOUT) as response:
                    found = parsed(self.hidden(response.read().decode()), "the answer")
                if isinstance(dict_in(found).get("answers"), dict):
                    return found
                reason = "the answer holds no answers"
            except HTTPError as error:
                error.close()
                if error.code in (401, 403):
                    raise InputError(
                        f"{self.url} refuses the key ({error.code}): give one that it knows in the environment as {KEY}"
                    ) from None
                reason = self.hidden(f"the server says {error.code} {error.reason}")
                if error.code != 429 and error.code < 500:
                    return reason
                said = number(error.headers.get("Retry-After"))
                wait = wait if said is None else max(0.0, said)
            except (OSError, HTTPException, ValueError) as error:  # no connection, no answer in time, half of one
                reason = self.hidden(f"{type(error).__name__}: {error}")
            if turn + 1 < TRIES and stop.wait(min(wait, LONGEST_WAIT)):
                break
        return reason


def ask(*, endpoint: str, model: str, questions: str | Path, out: str | Path, jobs: int = 8) -> Imported:
    """Ask a server about every item of a file, into a folder; what is there already is not asked for again.

    Returns the table of all answers there are; its notes say how many items got none.
    If more than 1 % of the items got no answer, an `InputError` says so; the others are in the folder all the same.
    """
    server, out = Server.at(endpoint), Path(out)
    path = existing(Path(questions), what="questions")
    items = _items(path, model)
    settings = {"asks": 1, "endpoint": server.url, "model": model, "questions_sha256": digest(path)}
    place = check_target(out / TRIPLES, overwrite=True, reads=(path,)).parent / ANSWERS
    with ExitStack() as stack:
        with disk_errors(f"folder {out}"):
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(out, inside=True))
        if (before := read_settings(out / SETTINGS)) is None:
            refuse_foreign(out)
        elif "asks" not in before or place.exists():  # nothing is lost where nothing was answered
            refuse_changed(before, settings, out)
        with disk_errors(f"folder {out}"):
            write_json(out / SETTINGS, settings)
        answers = _answered(place)
        failed = _fill(server, {name: one for name, one in items.items() if name not in answers}, place, answers, jobs)
        if not answers:
            raise InputError(f"none of {len(items):,} items got an answer; the first: {next(iter(failed.values()))}")
        with disk_errors(f"folder {out}"):
            replace_file(place, "".join(answers[name] for name in items if name in answers).encode())
        table = read_log("decisions", place)
        table.write(out / TRIPLES, overwrite=True)
    notes = [f"{len(failed):,} items got no answer ({next(iter(failed.values()))}); {_AGAIN}"] if failed else []
    if len(failed) > ALLOWED_FAILURES * len(items):
        raise InputError(f"of {len(items):,} items, more than {percent(ALLOWED_FAILURES)} are missing: {notes[0]}")
    return replace(table, notes=(*notes, *table.notes))


def _items(path: Path, model: str) -> dict[str, dict[str, Any]]:
    """Read what is to be asked: lines of a log without answers, by their names."""
    items: dict[str, dict[str, Any]] = {}
    for at, line in enumerate(map(dict_in, records(path)), start=1):
        state, asked = line.get("state"), dict_in(line, "questions")
        if not isinstance(line.get("id"), str | int) or not state or not asked:
            raise InputError(f"{path}, line {at}: there must be an id, a state and questions by their names")
        name = json.dumps([line["id"], line.get("epoch")])
        if name in items:
            raise InputError(f"{path}, line {at}: the id {line['id']!r} occurs again; number repeats by epoch")
        rest = {key: value for key, value in line.items() if key not in ("state", "questions")}
        items[name] = {**rest, "request": {"model": model, "state": state, "questions": asked}}
    if not any(dict_in(one, name) for one in items.values() for name in LABELS):
        raise InputError(f"{path} holds no labels: say in each line what is right, as labels: {{question: label}}")
    return items


def _answered(place: Path) -> dict[str, str]:
    """Read the lines that are there by the names of their items; half a line, of a run that was killed, goes."""
    if not place.exists():
        return {}
    with disk_errors(f"file {place}"), place.open("rb+") as stream:
        content = stream.read()
        whole = content.rfind(b"\n") + 1
        stream.truncate(whole)
    found = {}
    for at, line in enumerate(content[:whole].decode(errors="replace").split("\n")[:-1], start=1):
        one = dict_in(parsed(line, f"{place}, line {at}"))
        found[json.dumps([one.get("id"), one.get("epoch")])] = f"{line}\n"
    return found


def _fill(
    server: Server, missing: Mapping[str, dict[str, Any]], place: Path, answers: dict[str, str], jobs: int
) -> dict[str, str]:
    """Ask for what is missing, put every answer on disk as it comes, and return the reasons where there is none."""
    failed: dict[str, str] = {}
    in_a_row, total = 0, len(answers) + len(missing)
    with scoring_bar() as progress:
        progress(len(answers), total)
        for name, found in _in_threads(server, missing, jobs):
            progress(1, total)
            if isinstance(found, str):
                failed[name], in_a_row = found, in_a_row + 1
                if in_a_row == GIVE_UP:
                    raise InputError(f"{GIVE_UP} items in a row got no answer, the last: {found}; {_AGAIN}")
                continue
            in_a_row = 0
            answers[name] = json.dumps({**missing[name], "response": found}) + "\n"
            with disk_errors(f"file {place}"), place.open("a", encoding="utf-8") as stream:
                stream.write(answers[name])
    return failed


def _in_threads(server: Server, items: Mapping[str, dict[str, Any]], jobs: int) -> Iterator[tuple[str, Any]]:
    """Ask for several items at a time, and yield each with its answer; no thread outlives a run that is stopped."""
    waiting, ended, stop = iter(list(items)), SimpleQueue[tuple[str, Any]](), Event()

    def work() -> None:
        while not stop.is_set() and (name := next(waiting, None)) is not None:
            try:
                ended.put((name, server.answer(items[name]["request"], stop)))
            except BaseException as error:
                ended.put((name, error))

    for _ in range(min(jobs, len(items))):
        Thread(target=work, daemon=True).start()
    try:
        for _ in items:
            name, found = ended.get()
            if isinstance(found, BaseException):
                raise found
            yield name, found
    finally:
        stop.set()
