"""A server that is asked: what it is sent, what its failures cost, and that the key stays with the two."""

import json
import signal
import socket
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import polars as pl
import pytest

from miscal.base.errors import FileError, InputError, MismatchError
from miscal.cli import main
from miscal.data.importers.imported import read_log
from miscal.scoring import endpoint
from miscal.scoring.endpoint import ask

from ..cli.conftest import start

SECRET = "sk-canary-one-two"
QUESTIONS = {"ok": {"type": "noul"}, "where": {"type": "choice", "criteria": {"here": None, "there": None}}}


class Server(ThreadingHTTPServer):
    """Answers, or fails as `troubles` says of an item: by a list one after the other, by a word always."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that are killed are no news."""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state, server = told["state"], self.server
        server.requests.append((self.path, state, self.headers.get("Authorization"), time.monotonic(), told))
        trouble = server.troubles.get(state, "")
        trouble = (trouble.pop(0) if trouble else "") if isinstance(trouble, list) else trouble
        time.sleep(server.delay)
        share = len(state) / 30
        answers = {"ok": {"type": "noul", "noul": share}}
        answers["where"] = {"type": "choice", "choice": "here", "probabilities": {"here": 0.75, "there": 0.25}}
        content = json.dumps({"model": told["model"], "answers": answers, "echo": self.headers.get("Authorization")})
        if trouble == "nothing":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if trouble == "late":
            time.sleep(1.0)
        self.send_response(int(trouble[:3]) if trouble[:3].isdigit() else 200)
        for name, value in {"429": {"Retry-After": "0.4"}, "302": {"Location": "/elsewhere"}}.get(trouble, {}).items():
            self.send_header(name, value)
        sent = content[: len(content) // 2] if trouble in ("half a body", "cut") else content
        self.send_header("Content-Length", str(len(content if trouble == "half a body" else sent)))
        self.end_headers()
        self.wfile.write((sent if trouble != "no answers" else "{}".ljust(len(sent))).encode())

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(troubles=(), delay=0.0):
    server = Server(("127.0.0.1", 0), Handler)
    server.troubles, server.delay, server.requests = dict(troubles), delay, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(endpoint, "TIMEOUT", 0.5)
    monkeypatch.setenv(endpoint.KEY, SECRET)


@pytest.fixture
def questions(tmp_path):
    return written(tmp_path, 12)


def written(folder, n):
    place = folder / f"questions-{n}.jsonl"
    lines = [
        {"id": k, "state": state(k), "questions": QUESTIONS, "labels": {"ok": True, "where": "here"}, "by": "mail"}
        for k in range(n)
    ]  # fmt: skip
    place.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


def state(k):
    return "s" * (k % 20) + f"{k}"


def command(server, questions, out, *more):
    return ["score", "--endpoint", server.url, "--model", "m", "--questions", str(questions), "--out", str(out), *more]


def content(out):
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The answers of a run without trouble."""
    folder = tmp_path_factory.mktemp("plain")
    with serving() as server, pytest.MonkeyPatch.context() as patched:
        patched.setenv(endpoint.KEY, SECRET)
        ask(endpoint=server.url, model="m", questions=written(folder, 12), out=folder / "out")
    return (folder / "out" / "answers.jsonl").read_bytes()


def test_every_item_is_asked_once_and_the_key_is_nowhere(tmp_path, questions, capsys):
    out = tmp_path / "out"
    with serving() as server:
        assert main(command(server, questions, out, "--jobs", "3")) == 0
        said = capsys.readouterr()
        assert "24 rows" in said.out
        assert main(command(server, questions, out)) == 0  # again: nothing is asked
        assert Counter(one[1] for one in server.requests) == Counter(state(k) for k in range(12))
    assert {(path, key) for path, _, key, _, _ in server.requests} == {("/v1/systemone", f"Bearer {SECRET}")}
    told = server.requests[0][4]
    assert told == {"model": "m", "state": told["state"], "questions": QUESTIONS}
    assert set(content(out)) == {"answers.jsonl", "settings.json", "triples.parquet"}
    assert SECRET not in said.out + said.err
    assert all(SECRET.encode() not in one for one in content(out).values())  # though the server sent it back
    table = pl.read_parquet(out / "triples.parquet")
    assert table.equals(read_log("decisions", out / "answers.jsonl").table)
    assert table["id"].to_list() == [str(k) for k in range(12) for _ in range(2)]
    assert set(table["by"]) == {"mail"}


def test_without_a_key_none_is_sent(tmp_path, questions, monkeypatch):
    monkeypatch.delenv(endpoint.KEY)
    with serving() as server:
        ask(endpoint=f"{server.url}/api/v1/systemone/", model="m", questions=questions, out=tmp_path / "out")
    assert {(path, key) for path, _, key, _, _ in server.requests} == {("/api/v1/systemone", None)}


TROUBLES = ("429", "500", "503", "half a body", "cut", "nothing", "no answers", "late")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_passes_changes_nothing(tmp_path, questions, plain, trouble):
    with serving({state(3): [trouble], state(7): [trouble] * 2}) as server:
        ask(endpoint=server.url, model="m", questions=questions, out=tmp_path / "out")
    assert Counter(Counter(one[1] for one in server.requests).values()) == {1: 10, 2: 1, 3: 1}
    assert (tmp_path / "out" / "answers.jsonl").read_bytes() == plain
    if trouble == "429":
        first, again = (at for _, asked, _, at, _ in server.requests if asked == state(3))
        assert again - first >= 0.4


@pytest.mark.parametrize("trouble", ["500", "half a body", "nothing", "404", "302"])
def test_what_stays_costs_its_item_alone_and_is_asked_for_again(tmp_path, questions, plain, trouble, capsys):
    out = tmp_path / "out"
    with serving({state(5): trouble}) as server:
        assert main(command(server, questions, out)) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "same command again" in said
        assert SECRET not in said
        assert sum(asked == state(5) for _, asked, *_ in server.requests) == (1 if trouble in ("404", "302") else 5)
        assert len(pl.read_parquet(out / "triples.parquet")) == 22
        server.requests.clear()
        server.troubles.clear()
        assert main(command(server, questions, out)) == 0
        assert [asked for _, asked, *_ in server.requests] == [state(5)]
    assert (out / "answers.jsonl").read_bytes() == plain


def test_one_failure_of_very_many_is_a_note(tmp_path):
    with serving({state(5): "404"}) as server:
        found = ask(endpoint=server.url, model="m", questions=written(tmp_path, 150), out=tmp_path / "out", jobs=4)
    assert len(found.table) == 298
    assert any("1 items got no answer" in note and "404" in note for note in found.notes)


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_key_that_is_refused_ends_the_run_at_once(tmp_path, questions, status, capsys):
    out = tmp_path / "out"
    with serving({state(k): status for k in range(2, 12)}) as server:
        assert main(command(server, questions, out, "--jobs", "2")) == 2
        said = capsys.readouterr().err
        assert endpoint.KEY in said
        assert (said.count("\n"), SECRET in said) == (1, False)
        assert len(server.requests) <= 5
        server.troubles.clear()
        assert main(command(server, questions, out)) == 0
    assert not any(SECRET.encode() in one for one in content(out).values())


def test_a_server_that_never_answers_is_left(tmp_path):
    with serving({state(k): "500" for k in range(400)}) as server, pytest.raises(InputError, match="in a row"):
        ask(endpoint=server.url, model="m", questions=written(tmp_path, 400), out=tmp_path / "out")
    assert len({asked for _, asked, *_ in server.requests}) < 200


@pytest.mark.whole
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_goes_on(tmp_path, number):
    out, n = tmp_path / "out", 80
    place = written(tmp_path, n)
    with serving(delay=0.05) as server:
        with start(*command(server, place, out, "--jobs", "2")) as process:
            while not (out / "answers.jsonl").exists() or len((out / "answers.jsonl").read_bytes().splitlines()) < 10:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.01)
            process.send_signal(number)
            _, said = process.communicate(timeout=10)
        if number == signal.SIGINT:
            assert (process.returncode, said.count("\n")) == (130, 1)
            assert "run the same command again" in said
        with (out / "answers.jsonl").open("a") as stream:  # half a line, as a machine that lost power leaves it
            stream.write('{"id": 79, "request"')
        server.delay = 0.0
        assert main(command(server, place, out)) == 0
        assert len(server.requests) <= n + 4  # those that were asked, and answered, as it ended
        assert main(command(server, place, tmp_path / "whole")) == 0
    assert content(out) == content(tmp_path / "whole")


def test_other_settings_and_other_folders_are_refused(tmp_path, questions):
    out = tmp_path / "out"
    with serving() as server:
        asked = {"endpoint": server.url, "questions": questions}
        ask(**asked, model="m", out=out)
        before = content(out)
        with pytest.raises(MismatchError, match="model was"):
            ask(**asked, model="other", out=out)
        with pytest.raises(MismatchError, match="questions_sha256"):
            ask(endpoint=server.url, questions=written(tmp_path, 11), model="m", out=out)
        assert content(out) == before
        (tmp_path / "scored").mkdir()
        (tmp_path / "scored" / "triples.parquet").write_bytes(b"PAR1")
        with pytest.raises(FileError, match="no run that could be resumed"):
            ask(**asked, model="m", out=tmp_path / "scored")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"labels": None}, "holds no labels"),
        ({"id": None}, "line 1.*an id"),
        ({"state": ""}, "line 1.*a state"),
        ({"questions": {}}, "line 1.*questions"),
        ({"id": 1}, "line 2.*occurs again"),
    ],
)
def test_files_that_cannot_be_asked_are_refused_before_anything_is_asked(tmp_path, line, words):
    place = written(tmp_path, 2)
    first, second = place.read_text().splitlines()
    first = json.loads(first) | line
    second = json.loads(second) | ({"labels": None} if "labels" in line else {})
    place.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    with serving() as server, pytest.raises(InputError, match=words):
        ask(endpoint=server.url, model="m", questions=place, out=tmp_path / "out")
    assert not server.requests


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--endpoint", "http://host"],
        ["--questions", "q"],
        ["--endpoint", "http://host", "--questions", "q", "--task", "mmlu"],
        ["--endpoint", "http://host", "--questions", "q", "--dtype", "float32"],
        ["--task", "mmlu", "--jobs", "3"],
        *(
            ["--endpoint", url, "--questions", "q"]
            for url in ("host", "file:///etc", "http://a:b@host", "http://h?k=1")
        ),
    ],
)
def test_arguments_that_do_not_go_together_are_refused_in_one_line(tmp_path, capsys, arguments):
    assert main(["score", "--model", "m", "--out", str(tmp_path / "out"), *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()
