"""The frame: quick to answer, quiet about secrets, and clear about whose fault it was."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from miscal.base import errors
from miscal.cli import main
from miscal.cli.app import build
from miscal.cli.exit_status import guarded, one_line, verdict_on

from .conftest import run

HEAVY = ("torch", "sklearn", "scipy", "polars", "pandas", "lightgbm", "transformers", "matplotlib")


def test_help_names_the_commands(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name in ("demo", "discover", "calibrate", "report"):
        assert name in out
    assert main([]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["discover", "--help"], ["discover"], ["nothing"]])
def test_help_and_usage_errors_load_nothing_heavy(arguments):
    code = (
        "import sys; from miscal.cli import main; main(sys.argv[1:]); "
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[]"


NEW_ROWS = ["calibrate", "monitor"]
SPEAK_TO = {
    **{f"runs/{one}": [one] for one in ("audit", "card", "compare", "monitor", "show")},
    **{f"data/readers/{one}.py": NEW_ROWS for one in ("delimited", "new_rows")},
    "runs/correct": ["calibrate"], "scoring": ["score"],
    "study": ["study"], "study/synthetic": ["synthetic"], "data/importers": ["import"], "discovery": ["discover"],
    "data/readers/rows.py": ["discover", *NEW_ROWS],
}  # fmt: skip
"""Parts of the source whose errors are of these commands."""


@pytest.mark.parametrize("part", ["", *SPEAK_TO])
def test_an_error_names_options_that_its_command_has(part):
    app = typer.main.get_command(build())
    has = {name: {option for one in made.params for option in one.opts} for name, made in app.commands.items()}
    root = Path(errors.__file__).parents[1]
    files = [path for path in root.rglob("*.py") if path.relative_to(root).as_posix().startswith(part)]
    assert files
    found = {
        name for path in files for name in re.findall(r"argument\(\s*[\"'](\w+)", path.read_text(encoding="utf-8"))
    }
    named = {f"--{name.replace('_', '-')}" for name in found}
    for options in map(has.get, SPEAK_TO.get(part, ())) if part else [set().union(*has.values())]:
        assert named <= options, named - options


@pytest.mark.parametrize("kind", [errors.InputError, errors.FileError, errors.LockedError, errors.MismatchError])
def test_what_the_user_can_mend_is_2(kind):
    assert verdict_on(kind("say this")) == (2, "say this")


def test_our_faults_are_1_and_say_how_to_report(capsys):
    def fail():
        raise KeyError("inner")

    assert guarded(fail) == 1
    err = capsys.readouterr().err
    assert "KeyError: 'inner'" in err
    assert "--debug" in err
    assert err.count("\n") == 1
    assert verdict_on(errors.InternalError("x"))[0] == 1
    noted = KeyError("x")
    noted.add_note("while batch 3 was computed")
    assert verdict_on(noted)[1].startswith("KeyError: 'x'; while batch 3 was computed; this is a bug in miscal")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.ENAMETOOLONG])
def test_system_errors_are_the_users_to_mend(number):
    status, message = verdict_on(OSError(number, os.strerror(number), "/some/file"))
    assert status == 2
    assert "/some/file" in message


def test_memory_is_the_users_to_mend():
    assert verdict_on(MemoryError())[0] == 2


def test_secrets_never_reach_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_canary_123456")
    monkeypatch.setenv("SOME_API_KEY", "key_canary_123456")

    def fail():
        raise RuntimeError("GET https://me:pass_canary@host/x with hf_canary_123456 and key_canary_123456")

    for debug in (False, True):
        assert guarded(fail, debug=debug) == 1
        assert "canary" not in capsys.readouterr().err


def test_messages_are_one_printable_line():
    assert one_line("a\n\tb\x1b[31m\u2028c") == "a b [31m c"


def test_a_closed_pipe_is_silent():
    code = "from miscal.cli import main; import sys; sys.exit(main(['discover', '--help']))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in (0, 141)


def test_an_ascii_terminal_gets_escapes_not_errors():
    ended = run("report", "a", "ünïcode ☃", PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert ended.status == 2
    assert "\\u2603" in ended.err
