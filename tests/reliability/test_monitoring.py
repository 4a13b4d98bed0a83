"""A monitor counts every row once, whatever happens: faults of the disk, kills, damaged files, two writers."""

import json
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from miscal.base.errors import CorruptFile, InputError, MismatchError, TrustError
from miscal.base.folders import load_state, save_state
from miscal.cli import main
from miscal.runs.monitor import state as states
from miscal.runs.monitor.command import MONITOR_FILES, monitor
from miscal.runs.monitor.document import FINDING, GAIN, LEVEL

from ..cli.new_rows import rows
from .test_damage import WAYS, damaged
from .test_faults import each_fault, mostly_slow, state, whole_or_not
from .test_kills import process

pytestmark = pytest.mark.whole


def batch(k):
    """Rows of one look."""
    return rows(100, seed=k)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The rows of three looks."""
    folder = tmp_path_factory.mktemp("made")
    for k in (1, 2, 3):
        batch(k).write_parquet(folder / f"{k}.parquet")
    return folder


@pytest.fixture(scope="module")
def looked(made, answers_run):
    """Make run folders after so many looks, by copying."""
    folders = [answers_run]
    for k in (1, 2, 3):
        folders.append(made / f"after {k}" / "run")
        shutil.copytree(folders[-2], folders[-1])
        monitor(folders[-1], made / f"{k}.parquet")

    def copy(looks, folder):
        shutil.copytree(folders[looks], folder / "run")
        return folder / "run"

    copy.state = lambda looks: {f"run/{name}": content for name, content in state(folders[looks]).items()}
    return copy


def look(run, data):
    """Look at rows, as a person does who runs the same command again: rows that were counted are refused."""
    try:
        monitor(run, data)
    except InputError as error:
        if "were counted before" not in str(error):
            raise


def test_the_run_has_what_is_to_be_kept(looked, made):
    """A state without findings would prove little."""
    kept = states.load(made / "after 3" / "run" / "monitor")
    assert {one.kind for one in kept.questions} == {LEVEL, GAIN, FINDING}
    assert [one.rows for one in kept.looks] == [100] * 3


# --- faults of the disk -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("looks", [0, 1], ids=["the first look", "a later one"])
@mostly_slow("no space")
def test_a_look_whose_disk_fails(tmp_path, monkeypatch, capsys, fault, looks, looked, made):
    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: looked(looks, folder),
        lambda folder: look(folder / "run", made / f"{looks + 1}.parquet"),
        whole_or_not(looked.state(looks), looked.state(looks + 1)), least=24,
    )  # fmt: skip


@pytest.mark.parametrize("out", ["/dev/null/monitor", "/proc/none/monitor", "a file", ""])
def test_a_place_that_cannot_be_written_is_refused_before_any_row_is_read(tmp_path, monkeypatch, capsys, looked, out):
    monkeypatch.chdir(tmp_path)
    run = looked(0, tmp_path)
    Path("a file").touch()
    # what is no table would be found out as soon as it was read
    Path("new.parquet").write_bytes(b"no table")
    assert main(["monitor", str(run), "new.parquet", "--out", out]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Parquet" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a file", "new.parquet", "run"]


# --- kills --------------------------------------------------------------------------------------------------------

KILLS = 30
LOOK = """
import sys
import miscal.discovery.run, scipy.stats, sklearn.isotonic
from miscal.runs.monitor.command import monitor
print("ready", flush=True)
monitor(sys.argv[1], sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_look_that_is_killed_counts_its_rows_once(tmp_path, looked, made):
    """Killed at random moments, and called again: state, table and page are those of an undisturbed look."""
    old, new = looked.state(1), looked.state(2)
    rng, struck, life = random.Random(0), 0, None
    while struck < KILLS:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        run = looked(1, folder)
        with subprocess.Popen(**started(LOOK, run, made / "2.parquet")) as running:
            running.stdout.readline()
            begun = time.monotonic()
            if life is None:
                running.wait()
                life = time.monotonic() - begun
            time.sleep(rng.uniform(0, life))
            running.send_signal(signal.SIGKILL)
        struck += running.returncode == -signal.SIGKILL
        left = state(folder)
        if (run / "monitor").exists():
            assert left in (old, new)
        else:
            # the moment between two renames: the old monitor waits beside its place
            assert [path.suffix for path in run.glob(".miscal-*") if path.suffix == ".old"]
            assert left == looked.state(0)
        look(run, made / "2.parquet")
        assert state(folder) == new
        assert not list(run.glob(".miscal-*"))


def started(script, *arguments):
    """Arguments of a process that runs a script and tells what it is at."""
    return process("-c", script, *arguments) | {"stdout": subprocess.PIPE}


# --- damaged files ------------------------------------------------------------------------------------------------


@damaged
@pytest.mark.parametrize("name", ["config.json", "tensors.safetensors"])
def test_a_damaged_state_is_refused_or_without_effect(tmp_path, looked, name, way):
    folder = looked(2, tmp_path) / "monitor"
    path = folder / "state" / name
    wanted, whole, said = kept(folder), path.read_bytes(), []
    for content in WAYS[way](whole):
        path.write_bytes(content)
        try:
            found = kept(folder)
        except CorruptFile as error:
            said.append(error.in_shell())
            continue
        except MismatchError:  # the name of what the file holds was hit
            continue
        # of JSON, whose blanks may change
        assert name == "config.json"
        assert found == wanted
    assert said
    assert all("begin a new monitor with --out" in one for one in said)


def kept(folder):
    """What a state holds, as it is written."""
    again = states.load(folder)
    out = folder.parent / "again"
    states.save(again, out)
    return state(out)


@pytest.mark.parametrize("way", ["missing", "empty", "cut", "flipped"])
@pytest.mark.parametrize("name", sorted(MONITOR_FILES - {"state"}))
def test_what_is_shown_is_drawn_anew_from_the_state(tmp_path, looked, made, name, way):
    run = looked(2, tmp_path)
    path = run / "monitor" / name
    if way == "missing":
        path.unlink()
    else:
        whole = path.read_bytes()
        path.write_bytes(b"" if way == "empty" else next(WAYS[way](whole)))
    monitor(run, made / "3.parquet")
    assert state(tmp_path) == looked.state(3)


def spoil(path, way):
    """Make a folder of a state that miscal has not written."""
    config = json.loads((path / "config.json").read_text())
    if way == "a stranger":
        (path / "notes.txt").write_text("mine")
    elif way == "a link":
        (path / "tensors.safetensors").rename(path.parent.parent / "elsewhere")
        (path / "tensors.safetensors").symlink_to(path.parent.parent / "elsewhere")
    elif way == "no arrays":
        (path / "tensors.safetensors").unlink()
    elif way == "nothing":
        shutil.rmtree(path)
    else:
        config["version"] += 1 if way == "newer" else -1
        (path / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("a stranger", TrustError),
        ("a link", TrustError),
        ("no arrays", CorruptFile),
        ("nothing", CorruptFile),
        ("newer", MismatchError),
        ("older", MismatchError),
    ],
)
def test_a_state_that_is_not_ours_is_refused_and_left_as_it_is(tmp_path, looked, made, way, error):
    run = looked(2, tmp_path)
    spoil(run / "monitor" / "state", way)
    before = state(tmp_path)
    with pytest.raises(error):
        monitor(run, made / "3.parquet")
    assert state(tmp_path) == before
    assert not list(run.glob(".miscal-*"))


def asked(content, kind):
    """The first question of a kind."""
    return next(one for one in content["questions"] if one["kind"] == kind)


CHANGES = {
    "no looks": lambda content: content["looks"].clear(),
    "a look less": lambda content: content["looks"].pop(),
    "a share over 1": lambda content: content["looks"][0].update(accuracy=1.5),
    "no rows": lambda content: content["looks"][0].update(rows=0),
    "a question less": lambda content: content["questions"].pop(0),
    "a question twice": lambda content: content["questions"].append(content["questions"][0]),
    "an unknown question": lambda content: content["questions"][0].update(kind="odd"),
    "no error": lambda content: content["questions"][0].update(error=0.0),
    "a zone without end": lambda content: asked(content, LEVEL).update(allowed=[None, 0.1]),
    "a zone turned round": lambda content: asked(content, LEVEL).update(allowed=[0.2, 0.1]),
    "a factor that narrows": lambda content: content["questions"][0].update(factor=0.5),
    "broken after the last look": lambda content: content["questions"][0].update(broken=[1, 7]),
    "broken before it began": lambda content: content["questions"][0].update(broken=[2, 1]),
    "a threshold of all rows": lambda content: asked(content, LEVEL).update(threshold=0.5),
    "an unknown key": lambda content: content.update(other=1),
    "a finding that the run has not": lambda content: asked(content, FINDING).update(place=99),
}
ARRAYS = {
    "no digests": lambda tensors: tensors.pop("seen"),
    "digests of another type": lambda tensors: tensors.update(seen=tensors["seen"].astype(np.int64)),
    "digests out of order": lambda tensors: tensors.update(groups=np.array([2, 1], np.uint64)),
    "no history": lambda tensors: tensors.pop("history"),
    "a history of fewer looks": lambda tensors: tensors.update(history=tensors["history"][:, 1:].copy()),
    "more right than rows": lambda tensors: tensors.update(history=tensors["history"] * np.r_[[1] * 10, 1e3, 1, 1]),
}


@pytest.mark.parametrize("name", [*CHANGES, *ARRAYS])
def test_a_state_whose_checksums_were_renewed_is_refused_where_it_does_not_fit_together(tmp_path, looked, made, name):
    run = looked(2, tmp_path)
    place = run / "monitor" / "state"
    content, tensors = load_state(place, states.FORM)
    CHANGES.get(name, ARRAYS.get(name))(content if name in CHANGES else tensors)
    save_state(place, states.FORM, content, tensors)
    before = state(tmp_path)
    with pytest.raises(CorruptFile, match="begin a new monitor"):
        monitor(run, made / "3.parquet")
    assert state(tmp_path) == before


def test_a_number_that_is_none_is_damage(tmp_path, looked):
    folder = looked(2, tmp_path) / "monitor"
    path = folder / "state" / "config.json"
    for number in ("NaN", "Infinity", "1e999", "-1e999"):
        path.write_text(re.sub(r'"error": [\d.]+', f'"error": {number}', path.read_text()))
        with pytest.raises(CorruptFile, match="damaged"):
            states.load(folder)


# --- two writers --------------------------------------------------------------------------------------------------

RACER = """
import sys
from miscal.base.errors import LockedError
from miscal.runs.monitor.command import monitor
print("ready", flush=True)
for line in sys.stdin:
    run, data = line.rstrip("\\n").split("\\t")
    try:
        monitor(run, data)
        print("counted", flush=True)
    except LockedError:
        print("refused", flush=True)
"""
RACES = 20


@pytest.mark.slow
def test_two_looks_at_once_lose_no_row(tmp_path, looked, made):
    """Each is counted whole or refused at once; what was refused can be given again."""
    racers = [subprocess.Popen(**started(RACER) | {"stdin": subprocess.PIPE, "text": True}) for _ in range(2)]
    seen = set()
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for race in range(RACES):
        run = looked(1, tmp_path / str(race))
        for k, racer in enumerate(racers, start=2):
            racer.stdin.write(f"{run}\t{made / f'{k}.parquet'}\n")
            racer.stdin.flush()
        ended = [racer.stdout.readline().strip() for racer in racers]
        assert "counted" in ended
        told = json.loads((run / "monitor" / "monitor.json").read_text())
        assert told["rows"] == 100 * (1 + ended.count("counted"))
        for k, how in enumerate(ended, start=2):
            if how == "refused":
                monitor(run, made / f"{k}.parquet")
        assert [one.rows for one in states.load(run / "monitor").looks] == [100] * 3
        seen.add(tuple(ended))
    for racer in racers:
        racer.stdin.close()
        assert racer.wait(timeout=60) == 0
        racer.stdout.close()
        racer.stderr.close()
    assert any("refused" in ended for ended in seen)
