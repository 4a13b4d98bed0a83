"""Whatever operation on the disk fails, the old state or the new one is there, and the next command works.

The n-th operation of each writer fails, n = 1, 2, ... until it succeeds: no space, an input-output error, no
permission, Ctrl-C.
"""

import errno
import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import ResourceError
from miscal.base.files import replace_file
from miscal.base.folders import CellStore
from miscal.cli import main
from miscal.cli.exit_status import guarded
from miscal.data.importers.imported import check_out, read_log
from miscal.data.writing import write_table
from miscal.discovery.run import read_run
from miscal.discovery.run_folder import check_seal, run_folder, seal
from miscal.estimators.field import MiscalibrationField
from miscal.report import write_run
from miscal.report.page import render
from miscal.runs.correct.command import calibrate_file
from miscal.scoring import FakeModel
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items
from miscal.study import study

from ..cli.new_rows import fitted, rows
from ..data.importers.written import lines, sample
from ..runs.compare.test_sheet import comparison
from ..scoring.test_folder import questions
from ..study import toys
from ..study.conftest import data, entry  # noqa: F401 - a fixture
from ..study.test_run import read_tables, toy, untimed  # noqa: F401 - a fixture
from .disk import Disk, failing


def import_log(tool, path, out, *, overwrite=False):
    """Import logs as the command does."""
    check_out(out, overwrite=overwrite)
    return read_log(tool, path).write(out, overwrite=overwrite)


pytestmark = pytest.mark.whole


def ctrl_c() -> BaseException:
    """Raise what the command line makes of Ctrl-C."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # as a shell has it that starts the tests in the background
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)
    raise AssertionError("the signal was not answered")


FAULTS = {
    "no space": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "input-output error": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
    "no permission": lambda: OSError(errno.EACCES, os.strerror(errno.EACCES)),
    "Ctrl-C": ctrl_c,
}
faulty = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


def mostly_slow(*fast: str):
    """Try every fault, those of some names in the fast tests."""
    marks = {name: [] if name in fast else [pytest.mark.slow] for name in FAULTS}
    return pytest.mark.parametrize("fault", [pytest.param(FAULTS[name], id=name, marks=marks[name]) for name in FAULTS])


MOST = 1_000
"""No writer of these tests has so many operations."""


def state(folder: Path) -> dict[str, bytes]:
    """Every file that is not hidden, with its content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if not any(part.startswith(".miscal-") for part in path.relative_to(folder).parts)
    }


def each_fault(tmp_path, monkeypatch, capsys, fault, prepare, action, check, *, least):
    """Let the n-th operation of an action fail, for every n; `check` is given the folder and whether it failed.

    Parameters
    ----------
    prepare : callable
        Given an empty folder, makes what is there before.
    action : callable
        Given the folder, writes into it; called again after the fault, when the disk is whole.
    check : callable
        Given the folder after the fault, raises where its state is a third one.
    least : int
        How many faults there must have been at least: `cases` of the mark counts on it.
    """
    folder = tmp_path / "whole"
    folder.mkdir()
    prepare(folder)
    action(folder)
    wanted = state(folder)
    tried = 0
    for nth in range(1, MOST):
        folder = tmp_path / str(nth)
        folder.mkdir()
        prepare(folder)
        raised = []

        def tried_once(folder=folder, raised=raised):
            try:
                return action(folder)
            except Exception as error:
                raised.append(error)
                raise

        with failing(Disk(folder, nth, fault), monkeypatch) as disk:
            status = guarded(tried_once)
        said = capsys.readouterr().err
        if disk.done < nth:
            assert status == 0, said
            break
        tried += 1
        if fault is FAULTS["no space"] and raised:  # whichever library ran out of it
            assert isinstance(raised[0], ResourceError), f"operation {nth}: {raised[0]!r}"
        assert status == (130 if fault is ctrl_c else 2), f"operation {nth}: {said}"
        assert said.startswith("miscal: ")
        assert said.count("\n") == 1
        check(folder)
        action(folder)
        assert state(folder) == wanted, f"operation {nth}"
        assert not list(folder.rglob(".miscal-*"))
        shutil.rmtree(folder)
    assert tried >= least


def whole_or_not(*states: dict[str, bytes]):
    """Accept one of some states and no other."""

    def check(folder):
        assert state(folder) in states

    return check


OLD, NEW = b"old\n" * 100, b"new\n" * 100


# --- single files -------------------------------------------------------------------------------------------------


@faulty
def test_a_file_that_is_replaced(tmp_path, monkeypatch, capsys, fault):
    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: (folder / "a.json").write_bytes(OLD),
        lambda folder: replace_file(folder / "a.json", NEW),
        whole_or_not({"a.json": OLD}, {"a.json": NEW}),
        least=5,
    )  # fmt: skip


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
@faulty
def test_a_table(tmp_path, monkeypatch, capsys, fault, ending):
    old, new = (pl.DataFrame({"row": range(k, k + 9), "text": ["a"] * 9}) for k in (0, 5))
    for name, table in (("old", old), ("new", new)):
        write_table(table, tmp_path / f"{name}{ending}")
    content = {name: {f"t{ending}": (tmp_path / f"{name}{ending}").read_bytes()} for name in ("old", "new")}
    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: write_table(old, folder / f"t{ending}"),
        lambda folder: write_table(new, folder / f"t{ending}"),
        whole_or_not(content["old"], content["new"]),
        least=5,
    )  # fmt: skip


@faulty
def test_what_is_imported(tmp_path, monkeypatch, capsys, fault):
    log = lines(tmp_path / "log" / "samples.jsonl", [sample(k, (-1.0, -2.0, -3.0, -0.5)) for k in range(4)])
    import_log("lm-eval", log, tmp_path / "once.parquet")
    new = {"sub/data.parquet": (tmp_path / "once.parquet").read_bytes()}
    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: None,
        lambda folder: import_log("lm-eval", log, folder / "sub" / "data.parquet", overwrite=True),
        whole_or_not({}, new),
        least=6,
    )  # fmt: skip


@faulty
def test_a_cell_that_is_saved(tmp_path, monkeypatch, capsys, fault):
    """Of a study and of the paper's experiments: it is whole or not there, and the others stay."""

    def check(folder):
        assert CellStore(folder).find("first") == {"square": 0}
        assert CellStore(folder).find("second") in (None, {"square": 1})

    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: CellStore(folder).save("first", {"square": 0}),
        lambda folder: CellStore(folder).save("second", {"square": 1}), check, least=2,
    )  # fmt: skip


# --- run folders --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(answers_run):
    return read_run(answers_run)


def said_otherwise(found):
    return replace(found, summary=found.summary.model_copy(update={"warnings": ("Another warning.",)}))


@mostly_slow("no space", "Ctrl-C")
def test_a_folder_of_files_that_is_replaced(tmp_path, monkeypatch, capsys, fault):
    def write(folder, content):
        with run_folder(folder / "run", overwrite=True) as run:
            for name in ("summary.json", "field.parquet"):
                (run / name).write_bytes(content)
            (run / "model").mkdir()
            (run / "model" / "config.json").write_bytes(content)
            seal(run)

    states = []
    for content in (OLD, NEW):
        (tmp_path / content[:3].decode()).mkdir()
        write(tmp_path / content[:3].decode(), content)
        states.append(state(tmp_path / content[:3].decode()))
    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: write(folder, OLD), lambda folder: write(folder, NEW), whole_or_not(*states), least=20,
    )  # fmt: skip


@mostly_slow()
def test_the_run_of_a_discovery(tmp_path, monkeypatch, capsys, fault, found):
    (tmp_path / "old").mkdir()
    write_run(said_otherwise(found), tmp_path / "old" / "run", report=False)
    (tmp_path / "new").mkdir()
    write_run(found, tmp_path / "new" / "run", report=False)

    def check(folder):
        assert state(folder) in (state(tmp_path / "old"), state(tmp_path / "new"))
        read_run(folder / "run").load_model()

    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: shutil.copytree(tmp_path / "old" / "run", folder / "run"),
        lambda folder: write_run(found, folder / "run", report=False, overwrite=True),
        check, least=36,
    )  # fmt: skip


@mostly_slow("no space")
def test_a_report_that_is_drawn_again(tmp_path, monkeypatch, capsys, fault, found):
    write_run(found, tmp_path / "run")
    drawn = state(tmp_path)

    def prepare(folder):
        shutil.copytree(tmp_path / "run", folder / "run")
        (folder / "run" / "report.html").write_bytes(OLD)

    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        prepare,
        lambda folder: render(folder / "run"),
        whole_or_not(drawn, drawn | {"run/report.html": OLD}),
        least=5,
    )  # fmt: skip


class Audited:
    """What an audit found, without its refits."""

    shown = None

    def __init__(self, text):
        self.text = text

    def to_json(self):
        return json.dumps({"null": self.text})


@mostly_slow("no space")
def test_an_audit_of_a_run_that_was_audited_before(tmp_path, monkeypatch, capsys, fault, found):
    write_run(found, tmp_path / "run", report=False)

    def audit(folder, text):
        monkeypatch.setattr("miscal.runs.audit.audit_run", lambda *args, **options: Audited(text))
        return main(["audit", str(folder / "run"), "--json"])

    assert audit(tmp_path, "old") == 0

    def check(folder):
        check_seal(folder / "run")
        assert json.loads((folder / "run" / "audit.json").read_text())["null"] in ("old", "new")

    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: shutil.copytree(tmp_path / "run", folder / "run"),
        lambda folder: audit(folder, "new"),
        check, least=15,
    )  # fmt: skip


@mostly_slow("no space", "Ctrl-C")
def test_a_comparison(tmp_path, monkeypatch, capsys, fault):
    states = []
    for text in ("old", "new"):
        (tmp_path / text).mkdir()
        comparison(text).save(tmp_path / text / "compared")
        states.append(state(tmp_path / text))
    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: shutil.copytree(tmp_path / "old" / "compared", folder / "compared"),
        lambda folder: comparison("new").save(folder / "compared", overwrite=True),
        whole_or_not(*states), least=11,
    )  # fmt: skip


@pytest.mark.parametrize("before", ["nothing", "an empty folder", "a field"])
@mostly_slow("no space", "Ctrl-C")
def test_a_field_that_python_saves(tmp_path, monkeypatch, capsys, fault, before):
    X, f = np.random.default_rng(0).normal(size=(2, 80, 2)), np.linspace(0.1, 0.9, 80)
    old, new = (MiscalibrationField().fit(x, np.arange(80) % 2, confidence=f) for x in X)
    states = []
    for name, field in (("old", old), ("new", new)):
        field.save(tmp_path / name / "field")
        states.append(state(tmp_path / name))
    begin = {
        "nothing": lambda place: None,
        "an empty folder": lambda place: place.mkdir(),
        "a field": old.save,
    }[before]

    def check(folder):
        assert state(folder) in (states if before == "a field" else [{}, states[1]])
        if state(folder):
            MiscalibrationField.load(folder / "field")

    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: begin(folder / "field"), lambda folder: new.save(folder / "field"), check, least=9,
    )  # fmt: skip


# --- what is resumed ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("model") / "field", features="age,count,one,kind")


@pytest.mark.parametrize("ending", [".parquet", *(pytest.param(x, marks=pytest.mark.slow) for x in (".csv", ".jsonl"))])
@mostly_slow()
def test_corrections_in_pieces(tmp_path, monkeypatch, capsys, fault, ending, model):
    monkeypatch.setattr("miscal.runs.correct.command._PIECE_ROWS", (100, 100))
    rows().write_parquet(tmp_path / "new.parquet")
    calibrate_file(model, tmp_path / "new.parquet", tmp_path / f"whole{ending}")
    new = {f"out{ending}": (tmp_path / f"whole{ending}").read_bytes()}
    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: None,
        lambda folder: calibrate_file(model, tmp_path / "new.parquet", folder / f"out{ending}", overwrite=True),
        whole_or_not({}, new), least=39,
    )  # fmt: skip


@mostly_slow("no space")
def test_scores_in_shards(tmp_path, monkeypatch, capsys, fault):
    """Shards that are finished stay; the folder is that of a whole run as soon as the command is run again."""

    def check(folder):
        for path in (folder / "scored").rglob("*.json"):
            json.loads(path.read_text())

    each_fault(
        tmp_path, monkeypatch, capsys, fault,
        lambda folder: None,
        lambda folder: score_folder(
            FakeModel(), as_items(questions(3)), folder / "scored", task={"task": "t", "form": "letter"},
            batch_tokens=100,
        ),
        check, least=35,
    )  # fmt: skip


@mostly_slow()
def test_a_study(tmp_path, monkeypatch, capsys, fault, toy, data):  # noqa: F811 - fixtures
    monkeypatch.setattr(toys, "PAUSE", 0)
    pairs = {"method": "auto", "pairs": [entry(data, models=("a",))]}
    tried = 0
    study(pairs, tmp_path / "whole")
    for nth in range(1, MOST, 7):
        out = tmp_path / str(nth)
        with failing(Disk(out, nth, fault), monkeypatch) as disk:
            status = guarded(lambda: 2 if study(pairs, out).failures else 0)  # noqa: B023
        capsys.readouterr()
        if disk.done < nth:
            break
        tried += 1
        assert status == (130 if fault is ctrl_c else 2), nth
        study(pairs, out)
        assert untimed(out) == untimed(tmp_path / "whole")
        assert read_tables(out)["failures"].height == 0
    assert tried >= 20
