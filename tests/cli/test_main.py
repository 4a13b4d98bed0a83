"""The frame: quick to answer, quiet about secrets; what the user can mend is status 2, one plain line and no folder."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import typer

from miscal.base import errors
from miscal.cli import main
from miscal.cli.app import build
from miscal.cli.exit_status import guarded, one_line, verdict_on

from .conftest import planted, run

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
    ended.refuses("\\u2603")


def changed(column, rows, value):
    table = planted()
    values = table[column].to_list()
    for row in rows:
        values[row] = value
    return table.with_columns(pl.Series(column, values, strict=False))


def with_split(*names):
    table = planted()
    return table.with_columns(pl.Series("part", [names[i % len(names)] for i in range(len(table))]))


def percent(point=".", sign=" %"):
    written = pl.col("confidence").cast(str).str.replace(".", point, literal=True)
    return planted().with_columns(pl.concat_str([written, pl.lit(sign)]).alias("confidence"))


ROWS = [5, 7]
# wrong values of each column are in tests/reliability/test_bad_input.py
CASES = {
    "missing confidence": (changed("confidence", ROWS, None), [], ["confidence", "2 of 600", "5, 7", "drop"]),
    "misspelt confidence": (planted(), ["--confidence", "confidnce"], ["confidnce", "confidence"]),
    "features that match nothing": (planted(), ["--features", "z_*"], ["z_*", "x_0"]),
    "no test rows": (with_split("train", "val"), ["--split", "part"], ["test", "0"]),
    "percentages as text": (percent(), [], ["percentages", "divide by 100"]),
    "decimal commas": (percent(",", ""), [], ["write decimals with a point"]),
    "exchanged columns": (planted(), ["--confidence", "correct", "--correct", "confidence"], ["were exchanged"]),
    "dates with strokes": (planted().with_columns(day=pl.lit("12/31/2013")), ["--time", "day"], ["day", "2013-12-31"]),
    "the confidence among inputs": (planted(), ["--features", "x_*,confidence"], ["confidence", "no other part"]),
    "the confidence as group": (planted(), ["--group", "confidence"], ["confidence", "no other part"]),
    "one group": (planted().with_columns(site=pl.lit("a")), ["--group", "site"], ["--group", "one group", "'a'"]),
    "too few rows": (planted(40), [], ["40", "100"]),
    "condition that cannot be read": (planted(), ["--where", "subject =="], ["where"]),
    "epsilon out of range": (planted(), ["--epsilon", "1.5"], ["epsilon", "1"]),
    "unknown method": (planted(), ["--method", "autoo"], ["autoo", "auto"]),
    "negative seed": (planted(), ["--seed", "-1"], ["seed", "-1"]),
    "option without paper": (planted(), ["--option", "min_mass=1"], ["--option", "--method paper"]),
    "option without value": (planted(), ["--method", "paper", "--option", "min_mass"], ["NAME=VALUE", "min_mass=1"]),
    "option that is no JSON": (planted(), ["--method", "paper", "--option", "min_mass=one"], ["NAME=VALUE", "=one"]),
    "option twice": (planted(), ["--method", "paper", *["--option", "min_mass=1"] * 2], ["min_mass", "more than once"]),
    "misspelt option": (planted(), ["--method", "paper", "--option", "minmass=1"], ["minmass", "min_mass"]),
    "option out of range": (planted(), ["--method", "paper", "--option", "min_mass=-1"], ["min_mass", "at least 0"]),
}


def refused(capsys, *arguments):
    """The line on stderr of a command that must end with status 2."""
    status = main([str(item) for item in arguments])
    ended = capsys.readouterr()
    assert status == 2, ended.err
    assert ended.out == ""
    assert re.fullmatch(r"miscal: [^\n]+\n", ended.err), ended.err
    assert "Traceback" not in ended.err
    assert not re.search(r"[\u2500-\u257f]", ended.err)
    return ended.err


@pytest.mark.parametrize("case", CASES)
def test_bad_data_is_refused_in_one_line_and_leaves_nothing(case, tmp_path, capsys):
    table, extra, said = CASES[case]
    table.write_parquet(tmp_path / "data.parquet")
    features = [] if "--features" in extra else ["--features", "x_*"]
    line = refused(capsys, "discover", tmp_path / "data.parquet", "--out", tmp_path / "a" / "run", *features, *extra)
    for words in said:
        assert words in line
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["discover", "data.parquet", "--oot", "run"], "--out"),
        (["discover", "data.parquet"], "--out"),
        (["discover", "data.parquet", "--out", "run", "--device", "gpu"], "'auto', 'cpu', 'cuda'"),
        (["discover"], "DATA"),
        (["discver"], "discover"),
        (["--verson"], "--version"),
        (["discover", "a", "b", "--out", "c"], "b"),
        (["discover", "a", "--out", "c", "--seed", "one"], "one"),
        (["report"], "RUN_DIR"),
    ],
)
def test_usage_errors_are_one_line_too(arguments, said, capsys):
    assert said in refused(capsys, *arguments)


@pytest.mark.parametrize("out", ["/dev/null/run", "/proc/none/run", "data.parquet", ""])
def test_folders_that_cannot_be_made_are_refused_before_any_work(out, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted().write_parquet("data.parquet")
    refused(capsys, "discover", "data.parquet", "--out", out, "--features", "x_*")
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]


@pytest.mark.whole
def test_from_a_shell_it_is_the_same(tmp_path):
    changed("confidence", ROWS, 1.5).write_parquet(tmp_path / "data.parquet")
    ended = run("discover", tmp_path / "data.parquet", "--out", tmp_path / "run", "--features", "x_*")
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert "5, 7" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]


def test_debug_shows_the_traceback(tmp_path, capsys):
    assert main(["report", str(tmp_path / "none"), "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_gpu_that_is_not_there_is_refused_before_the_data_are_read(tmp_path, capsys, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (tmp_path / "data.parquet").write_bytes(b"no table")
    arguments = ("--out", tmp_path / "run", "--method", "paper", "--device", "cuda")
    assert "--device cpu" in refused(capsys, "discover", tmp_path / "data.parquet", *arguments)
