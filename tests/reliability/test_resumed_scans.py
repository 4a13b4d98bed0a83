"""A scan that was killed and goes on says what one that is run anew says, whatever changed between."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import polars as pl
import pytest

from miscal.base.files import locked
from miscal.cli import main

from .test_kills import process

duckdb = pytest.importorskip("duckdb")
pytestmark = [pytest.mark.whole, pytest.mark.timeout(600)]
OPTIONS = ("--probability", "risk", "--event", "late", "--group", "none")


def table(repaired=False, n=20_000) -> pl.DataFrame:
    """Rows in which, once they are repaired, as many have the event, but in other groups."""
    rng = np.random.default_rng(0)
    region, x, risk = rng.choice(["north", "south", "east"], n), rng.normal(size=n).round(3), rng.beta(2, 3, n).round(4)
    late = (rng.random(n) < np.clip(risk + np.where(region == "north", 0.2, 0.0), 0, 1)).astype(int)
    if repaired:
        moved = [np.flatnonzero((region == one) & (late == held))[:900] for one, held in (("north", 1), ("south", 0))]
        late[moved[0]], late[moved[1]] = 0, 1
    return pl.DataFrame({"risk": risk, "late": late, "region": region, "x": x})


def in_csv(folder, rows):
    rows.write_csv(folder / "t.csv")
    os.utime(folder / "t.csv", (1e9, 1e9))
    return [folder / "t.csv"]


def in_folder(folder, rows):
    (folder / "s").mkdir(exist_ok=True)
    rows[:9000].write_parquet(folder / "s" / "a.parquet")
    rows[9000:].write_parquet(folder / "s" / "b.parquet")
    return [folder / "s"]


def in_database(folder, rows):
    rows.write_parquet(folder / "rows.parquet")
    with duckdb.connect(str(folder / "base.duckdb")) as base:
        base.execute(f"create or replace table t as from '{folder}/rows.parquet'")
    return [f"{folder}/base.duckdb::t"]


def in_query(folder, rows):
    rows.write_parquet(folder / "rows.parquet")
    return ["--sql", f"select * from '{folder}/rows.parquet'"]


def told(folder):
    """Everything that a scan says, to ten digits: threads add in an order of their own."""
    said = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    said = {name: value for name, value in said.items() if name not in ("seconds", "digest")}
    return json.loads(json.dumps(said), parse_float=lambda x: f"{float(x):.10g}")


def kept(folder):
    return list(folder.glob(".miscal-*.parts/*/*.json"))


def killed(folder, *arguments):
    """Kill a scan once it has some answers; return how many it left."""
    with subprocess.Popen(**process("-m", "miscal", "scan", *arguments, "--out", folder / "out")) as running:
        while running.poll() is None and len(kept(folder)) < 3:
            time.sleep(0.005)
        running.send_signal(signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL, "it ended before it was killed"
    assert not (folder / "out").exists()
    return len(kept(folder))


def check_alike(folder, command):
    """Let a scan go on, and run it anew: both say the same."""
    for out in ("out", "anew"):
        assert main(["scan", *command, "--out", str(folder / out)]) == 0
    assert told(folder / "out") == told(folder / "anew")


@pytest.mark.parametrize(
    ("lies", "stage"), [(in_csv, "always"), (in_folder, "never"), (in_database, "always"), (in_query, "never")]
)
def test_a_source_that_was_repaired_is_counted_anew(tmp_path, lies, stage):
    killed(tmp_path, *lies(tmp_path, table()), *OPTIONS, "--stage", stage)
    command = [*map(str, lies(tmp_path, table(repaired=True))), *OPTIONS, "--stage", stage]
    check_alike(tmp_path, command)
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".miscal-")]


@pytest.mark.parametrize("lies", [in_csv, in_database])
def test_a_source_that_is_the_same_is_not_counted_again(tmp_path, lies):
    command = [*map(str, lies(tmp_path, table())), *OPTIONS]
    killed(tmp_path, *command)
    before = {path: path.stat().st_mtime_ns for path in kept(tmp_path)}
    killed_again = killed(tmp_path, *command)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert killed_again >= len(before)
    check_alike(tmp_path, command)


def test_other_options_are_counted_anew(tmp_path):
    command = [*map(str, in_csv(tmp_path, table())), *OPTIONS]
    killed(tmp_path, *command)
    check_alike(tmp_path, [*command, "--where", "x > 0"])


def test_answers_that_were_damaged_are_counted_anew(tmp_path):
    command = [*map(str, in_csv(tmp_path, table())), *OPTIONS, "--stage", "always"]
    killed(tmp_path, *command)
    for path in tmp_path.glob(".miscal-*.parts/*/*.parquet"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    check_alike(tmp_path, command)


def test_two_scans_into_one_folder_do_not_mix(tmp_path, capsys):
    command = [*map(str, in_csv(tmp_path, table())), *OPTIONS, "--out", str(tmp_path / "out")]
    with locked(tmp_path / "out", kind="scan"):
        assert main(["scan", *command]) == 2
    assert "another miscal process" in capsys.readouterr().err
    both = [subprocess.Popen(**process("-m", "miscal", "scan", *command)) for _ in range(2)]
    ended = sorted(one.wait() for one in both)
    for one in both:
        one.stderr.close()
    assert ended == [0, 2]
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".miscal-")]


def test_a_file_that_may_not_grow_is_no_fault_of_the_source(tmp_path):
    [place] = in_csv(tmp_path, table())
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); "
    run = limited + "from miscal.cli import main; sys.exit(main(sys.argv[1:]))"
    command = ("scan", place, *OPTIONS, "--stage", "always", "--out", tmp_path / "out")
    ended = subprocess.run(**process("-c", run, *command), check=False)
    assert ended.returncode == 2
    assert b"ulimit -f" in ended.stderr
    assert b"mend" not in ended.stderr


@pytest.mark.parametrize("command", [["--version"], ["--help"], ["scan"], ["demo"]])
def test_a_command_runs_where_standard_output_is_closed(tmp_path, command):
    if command == ["scan"]:
        command = ["scan", *in_csv(tmp_path, table(n=2_000)), *OPTIONS, "--out", tmp_path / "out"]
    elif command == ["demo"]:
        command = ["demo", "--out", tmp_path / "out"]
    running = process("-m", "miscal", *command)
    closed = ["bash", "-c", 'exec "$0" "$@" >&-', *running.pop("args")]
    assert subprocess.run(closed, **running, check=False).returncode == 0
