"""One error speaks of arguments to those who call from Python, and of options to those at a shell."""

import pickle

import polars as pl
import pytest

import miscal
from miscal.base.errors import InputError, MiscalError, argument, either
from miscal.cli import main


@pytest.mark.parametrize(
    ("named", "python", "shell"),
    [
        (argument("where"), "`where`", "--where"),
        (argument("on_invalid", "drop"), "on_invalid='drop'", "--on-invalid drop"),
        (argument("overwrite", True), "overwrite=True", "--overwrite"),
        (either("another --out", "another folder"), "another folder", "another --out"),
    ],
)
def test_an_error_says_the_same_to_both(named, python, shell):
    error = InputError(f"bad: {named}, or {named}")
    assert str(error) == f"bad: {python}, or {python}"
    assert error.in_shell() == f"bad: {shell}, or {shell}"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.in_shell()) == (str(error), error.in_shell())
    wrapped = MiscalError(f"run a: {error.args[0]}")
    assert wrapped.in_shell() == f"run a: {error.in_shell()}"


def test_the_same_fault_is_told_to_python_and_to_the_shell(tmp_path, capsys):
    table = pl.DataFrame({"p": [0.5, None, 0.9] * 40, "y": [0, 1, 1] * 40, "x": range(120)})
    table.write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match=r"drop those rows with on_invalid='drop'$"):
        miscal.discover(table, confidence="p", correct="y")
    options = ["--confidence", "p", "--correct", "y", "--out", str(tmp_path / "run")]
    assert main(["discover", str(tmp_path / "table.parquet"), *options]) == 2
    assert capsys.readouterr().err.endswith("drop those rows with --on-invalid drop\n")
