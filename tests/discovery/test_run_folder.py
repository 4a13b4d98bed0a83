"""A run folder is whole or not there, has one owner, and is read only unchanged."""

import os
import subprocess
import sys

import pytest

from miscal.base import files
from miscal.base.errors import CorruptFile, FileError, InputError, LockedError, ResourceError
from miscal.discovery.run_folder import check_seal, run_folder, seal


def write_run(out, content=b"{}", **options):
    with run_folder(out, **options) as folder:
        for name in ("summary.json", "field.parquet"):
            (folder / name).write_bytes(content)
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_bytes(content)
        seal(folder)


def fail_midway(out, failure, **options):
    with run_folder(out, **options) as folder:
        (folder / "summary.json").write_text("half")
        raise failure


def test_nothing_but_the_folder_is_left(tmp_path):
    write_run(tmp_path / "a" / "run")
    assert os.listdir(tmp_path / "a") == ["run"]
    assert sorted(os.listdir(tmp_path / "a" / "run")) == ["field.parquet", "manifest.json", "model", "summary.json"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, SystemExit, OSError])
def test_a_failure_leaves_nothing(tmp_path, failure):
    with pytest.raises(failure):
        fail_midway(tmp_path / "a" / "b" / "run", failure)
    assert os.listdir(tmp_path) == []


def test_a_failure_keeps_the_run_it_was_to_replace(tmp_path):
    write_run(tmp_path / "run", b"old")
    with pytest.raises(RuntimeError):
        fail_midway(tmp_path / "run", RuntimeError, overwrite=True)
    assert (tmp_path / "run" / "summary.json").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize(
    ("call", "nth"), [*(("rename", n) for n in range(3)), *(("fsync", n) for n in range(10)), ("replace", 0)]
)
def test_a_fault_at_the_nth_call_leaves_the_old_run_until_the_new_one_is_in_its_place(tmp_path, monkeypatch, call, nth):
    write_run(tmp_path / "run", b"old")
    real, calls, sources = {name: getattr(os, name) for name in ("rename", "fsync", "replace")}, [], []

    def watched(name):
        def run(*args):
            calls.append(name)
            if name == call and calls.count(name) == nth + 1:
                raise OSError(28, "No space left on device")
            real[name](*args)
            if name == "rename" and args[1] == files.resolve(tmp_path / "run"):
                sources.append(args[0])

        return run

    for name in real:
        monkeypatch.setattr(os, name, watched(name))
    failed = False
    try:
        write_run(tmp_path / "run", b"new", overwrite=True)
    except ResourceError:
        failed = True
    monkeypatch.undo()
    assert failed == (calls.count(call) > nth)
    expected = b"new" if sources == [files._sibling(tmp_path / "run", "partial")] else b"old"
    assert {(tmp_path / "run" / name).read_bytes() for name in ("summary.json", "field.parquet")} == {expected}
    check_seal(tmp_path / "run")
    assert failed or expected == b"new"
    write_run(tmp_path / "run", b"next", overwrite=True)
    assert (tmp_path / "run" / "summary.json").read_bytes() == b"next"
    assert os.listdir(tmp_path) == ["run"]


def test_an_existing_folder_is_refused_unless_overwrite(tmp_path):
    write_run(tmp_path / "run")
    with pytest.raises(InputError, match="overwrite=True"):
        write_run(tmp_path / "run")
    write_run(tmp_path / "run", b"new", overwrite=True)
    assert (tmp_path / "run" / "summary.json").read_bytes() == b"new"


def test_overwrite_never_touches_what_is_not_a_run(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="thesis"):
        write_run(tmp_path / "home", overwrite=True)
    assert (tmp_path / "home" / "thesis.tex").exists()


@pytest.mark.parametrize("when", ["while it ran", "at the last moment"])
def test_a_monitor_that_began_meanwhile_is_kept(tmp_path, monkeypatch, when):
    write_run(tmp_path / "run", b"old")

    def begin(real=os.rename, *paths):
        (tmp_path / "run" / "monitor").mkdir()
        monkeypatch.undo()
        real(*paths) if paths else None

    def replaced():
        with run_folder(tmp_path / "run", overwrite=True) as folder:
            (folder / "summary.json").write_bytes(b"new")
            if when == "while it ran":
                begin()
            else:
                monkeypatch.setattr(os, "rename", lambda *paths, real=os.rename: begin(real, *paths))

    with pytest.raises(InputError, match="'monitor'"):
        replaced()
    assert (tmp_path / "run" / "monitor").is_dir()
    assert (tmp_path / "run" / "summary.json").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("name", ["with space", "naïve ☃", "x" * 255, "-dash", "new\nline"])
def test_odd_names_work(tmp_path, name):
    write_run(tmp_path / name)
    check_seal(tmp_path / name)


def test_names_that_cannot_be_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for bad in (tmp_path / "file", tmp_path / "loop", "", "a\0b", "/"):
        with pytest.raises(InputError):
            write_run(bad, overwrite=True)


def test_a_second_owner_is_refused_at_once_and_a_dead_one_forgotten(tmp_path):
    out = tmp_path / "run"
    code = "from miscal.discovery.run_folder import run_folder\n"
    code += f"with run_folder({str(out)!r}):\n    print('in', flush=True)\n    input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"in\n"
    with pytest.raises(LockedError, match="another miscal process"):
        write_run(out)
    child.kill()
    child.communicate()
    write_run(out)
    assert os.listdir(tmp_path) == ["run"]


def test_a_kill_between_the_two_renames_is_mended(tmp_path, monkeypatch):
    write_run(tmp_path / "run", b"old")
    old = files._sibling(files.resolve(tmp_path / "run"), "old")
    os.rename(tmp_path / "run", old)
    with pytest.raises(InputError, match="exists"):
        write_run(tmp_path / "run")
    assert (tmp_path / "run" / "summary.json").read_bytes() == b"old"


def test_every_flipped_bit_is_seen(tmp_path):
    write_run(tmp_path / "run", b"content")
    check_seal(tmp_path / "run")
    for name in ("summary.json", "field.parquet"):
        path = tmp_path / "run" / name
        good = path.read_bytes()
        for bit in range(8 * len(good)):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            path.write_bytes(bad)
            with pytest.raises(CorruptFile, match=name):
                check_seal(tmp_path / "run")
        path.write_bytes(good)
    (tmp_path / "run" / "field.parquet").unlink()
    with pytest.raises(CorruptFile, match="missing"):
        check_seal(tmp_path / "run")


def test_what_is_not_a_run_is_refused(tmp_path):
    with pytest.raises(FileError, match="discover"):
        check_seal(tmp_path)
    with pytest.raises(FileError, match="not a folder"):
        check_seal(tmp_path / "none")
    for content in (b'{"sha256": {"../x": "0"}}', b"[" * 200_000, b'{"sha256": {"\xff": "0"}}'):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(CorruptFile, match="damaged"):
            check_seal(tmp_path)
