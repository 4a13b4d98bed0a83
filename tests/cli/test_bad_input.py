"""What the user can mend ends with status 2, one plain line that says how, and no folder."""

import re

import polars as pl
import pytest

from miscal.cli import main

from .conftest import planted, run


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
