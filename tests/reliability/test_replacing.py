"""What may be replaced: no command loses a file or a folder that it did not write."""

import re
import shutil

import pytest

import miscal
from miscal.cli import main
from miscal.cli.exit_status import guarded
from miscal.runs.monitor.command import monitor
from miscal.scoring import FakeModel
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items
from miscal.study import study

from ..cli.new_rows import rows
from ..data.importers.written import lines, sample
from ..runs.compare.test_sheet import comparison
from ..scoring.test_folder import questions
from .disk import Disk, failing
from .test_faults import FAULTS, state

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def work(tmp_path_factory, answers_run):
    """A run with the data that it was made from, new rows, a log, and what is of no concern to miscal."""
    work = tmp_path_factory.mktemp("work")
    shutil.copytree(answers_run, work / "run")
    rows(120).write_csv(work / "old.csv")
    rows(60, seed=1).drop("correct").write_csv(work / "new.csv")
    rows(60, seed=2).write_csv(work / "labelled.csv")
    lines(work / "log.jsonl", [sample(k, (-1.0, -2.0, -3.0, -0.5)) for k in range(4)])
    monitor(work / "run", work / "labelled.csv", out=work / "looks")
    (work / "mine").mkdir()
    (work / "mine" / "thesis.tex").write_text("years of work")
    for name in ("foreign.csv", "foreign.parquet", "foreign.sql", "foreign.html"):
        (work / name).write_text("years of work")
    for link, to in {"link.csv": "new.csv", "own.csv": "run/summary.json", "elsewhere": "mine"}.items():
        (work / link).symlink_to(work / to)
    return work


def command(*arguments):
    return main([str(one) for one in arguments])


FILES = {
    "calibrate": (".csv", lambda work, *out: command("calibrate", work / "run", work / "new.csv", "--out", *out)),
    "import": (".parquet", lambda work, *out: command("import", "lm-eval", work / "log.jsonl", "--out", *out)),
    "export": (".sql", lambda work, *out: command("export", "sql", work / "run", "--out", *out)),
    "report": (".html", lambda work, out, *more: miscal.load(work / "run").report(out)),
}  # fmt: skip
"""What writes one file, and the ending of its name."""

FOLDERS = {
    "discover": lambda work, out: command(
        "discover", work / "new.csv", "--features", "age", "--out", out, "--overwrite"),
    "save": lambda work, out: miscal.load(work / "run").save(out, overwrite=True),
    "compare": lambda work, out: comparison("x").save(out, overwrite=True),
    "monitor": lambda work, out: command("monitor", work / "run", work / "labelled.csv", "--out", out),
    "MiscalibrationField.save": lambda work, out: miscal.load(work / "run").model.field.save(out),
    "study": lambda work, out: study({"pairs": [{"dataset": "d", "model": "m", "data": str(work / "old.csv")}]}, out),
    "synthetic": lambda work, out: command("synthetic", "clusters", "--out", out),
    "score": lambda work, out: score_folder(FakeModel(), as_items(questions(1)), out, task={"task": "t"}),
}  # fmt: skip
"""What writes a folder."""

KEPT_FILES = {
    "a foreign file": ("foreign{ending}", [], "already exists|did not write"),
    "the data": ("new.csv", ["--overwrite"], "is read from|must end in|did not write"),
    "a link to the data": ("link.csv", ["--overwrite"], "is read from|must end in|did not write"),
    "a file of the run": ("run/summary.json", ["--overwrite"], "run, a run, whose files stay"),
    "a link to a file of the run": ("own.csv", ["--overwrite"], "run, a run, whose files stay"),
    "another file in the run": ("run/mine{ending}", [], "run, a run, whose files stay"),
    "a file of the model": ("run/model/config.json", ["--overwrite"], "model, a saved model, whose files stay"),
    "a file of the monitor": ("looks/course.csv", ["--overwrite"], "looks, a monitor, whose files stay"),
    "a file of its state": ("looks/state/new{ending}", ["--overwrite"], "state, a saved model, whose files stay"),
    "a folder": ("mine", ["--overwrite"], "is a folder, not a file"),
    "a link to a folder": ("elsewhere", ["--overwrite"], "is a folder, not a file"),
    "below a file": ("new.csv/out{ending}", [], "new.csv is a file"),
}
KEPT_FOLDERS = {
    "a folder with other files": ("mine", "holds files that .* did not write .'thesis.tex'"),
    "a link to a folder with other files": ("elsewhere", "holds files that .* did not write .'thesis.tex'"),
    "a file": ("foreign.csv", "is a file, not a folder|foreign.csv is a file"),
    "the model of a run": ("run/model", "run, a run, whose files stay|lies in .*model, a saved model"),
    "inside the run": ("run/new", "run, a run, whose files stay"),
    "inside the state of a monitor": ("looks/state/new", "state, a saved model, whose files stay"),
    "below a file": ("new.csv/out", "new.csv is a file|new.csv: File exists"),
}


@pytest.mark.parametrize("case", KEPT_FILES)
@pytest.mark.parametrize("door", FILES)
def test_no_command_replaces_a_file_that_would_be_lost(work, capsys, door, case):
    ending, write = FILES[door]
    name, more, said = KEPT_FILES[case]
    before = state(work)
    assert guarded(lambda: write(work, work / name.format(ending=ending), *more)) == 2
    assert re.search(said, error := capsys.readouterr().err), error
    assert error.count("\n") == 1
    assert state(work) == before
    assert not list(work.rglob(".miscal-*"))


@pytest.mark.parametrize(
    ("door", "case"),
    # scores may lie beside other files, of other names
    [(door, case) for door in FOLDERS for case in KEPT_FOLDERS if door != "score" or "other files" not in case],
)
def test_no_command_replaces_a_folder_that_would_be_lost(work, capsys, door, case):
    name, said = KEPT_FOLDERS[case]
    before = state(work)
    assert guarded(lambda: FOLDERS[door](work, work / name)) == 2
    assert re.search(said, error := capsys.readouterr().err), error
    assert error.count("\n") == 1
    assert state(work) == before
    assert not list(work.rglob(".miscal-*"))


@pytest.mark.parametrize("door", FILES)
def test_a_file_is_written_into_a_missing_folder_and_again_when_the_disk_was_full(
    work, tmp_path, monkeypatch, capsys, door
):
    ending, write = FILES[door]
    out = tmp_path / "full" / f"out{ending}"
    with failing(Disk(tmp_path, 4, FAULTS["no space"]), monkeypatch):
        assert guarded(lambda: write(work, out)) == 2
    assert "the disk is full" in capsys.readouterr().err
    assert not out.exists()
    assert guarded(lambda: write(work, out)) == 0, capsys.readouterr().err
    assert out.stat().st_size > 100
    assert [one.name for one in out.parent.iterdir()] == [out.name]
