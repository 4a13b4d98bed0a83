"""Several classes by the command and from Python: the same numbers, told on page and terminal."""

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.discovery.answer import words_of

from .conftest import run

pytestmark = pytest.mark.whole

NAMES = ("cat", "dog", "owl")
OPTIONS = {"probabilities": "p_*", "label": "kind", "features": "size,place", "evidence": "test"}


def _table(n: int = 400) -> pl.DataFrame:
    """In the south, the owl is the label far more often than the model says."""
    rng = np.random.default_rng(3)
    p, place = rng.dirichlet([1.0, 1.0, 1.0], n), rng.choice(["north", "south"], n)
    truth = p * np.where(place == "south", [[1.0], [1.0], [9.0]], 1.0).T
    code = ((truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(NAMES)}
    return pl.DataFrame({**columns, "kind": np.array(NAMES)[code], "size": rng.normal(size=n), "place": place})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    _table().write_parquet(folder / "rows.parquet")
    return folder


@pytest.fixture(scope="module")
def discovered(files):
    options = [part for name, value in OPTIONS.items() for part in (f"--{name}", value)]
    ended = run("discover", files / "rows.parquet", "--out", files / "run", *options)
    assert ended.status == 0, ended
    return ended


def test_terminal_and_page_tell_of_classes(discovered, files):
    assert "place = south" in discovered.out
    assert 'id="classes"' in (files / "run" / "report.html").read_text()


def test_python_on_a_frame_of_any_index_gives_the_same_numbers(discovered, files):
    frame = _table().to_pandas()
    frame.index = np.random.default_rng(0).integers(0, 50, len(frame))
    found = miscal.discover(frame, **OPTIONS, n_jobs=1, progress=False)
    by_command = miscal.load(files / "run")
    assert found.summary.classes == by_command.summary.classes
    assert found.summary.findings == by_command.summary.findings
    assert found.class_findings["class"].tolist() == by_command.class_findings["class"].to_list()
    assert found.classes["labels"].sum() == found.summary.n_test
    assert "predicted" not in found.summary.data.columns.needed
    written = pl.read_parquet(files / "run" / "class_findings.parquet")
    assert written.equals(by_command.frame("class_findings", wide=True))


def test_show_tells_the_findings_of_a_class(discovered, files):
    shown = run("show", files / "run", "--class", "owl")
    assert "place = south" in " ".join(shown.out.split())
    assert "the label is owl in" in " ".join(shown.out.split())
    near = run("show", files / "run", "--class", "ow")
    assert near.status == 2
    assert "did you mean 'owl'?" in near.err
    both = run("show", files / "run", "--class", "owl", "--by", "place")
    assert both.status == 2


def test_names_may_hold_braces():
    assert words_of("{a}").group_rate.format("1 %") == "the label is {a} in 1 %"
