"""Experiments from end to end at toy size: cells shared and resumed, settings guarded, outputs whole."""

import json
import re
import signal
import time

import polars as pl
import pytest

from miscal.base.errors import CorruptFile, InputError, MismatchError
from miscal.cli import main
from miscal.study.synthetic import experiments, fits, sections
from miscal.study.synthetic import run as run_module
from miscal.study.synthetic.experiments import Settings, cells_of
from miscal.study.synthetic.run import ExperimentFolder, run

from ...cli.conftest import start
from ..test_pages import Tree
from .conftest import toy

pytestmark = pytest.mark.whole

FIGURES = {
    *("clusters-field", "clusters-reliability", "clusters-hidden"),
    *("sinusoid-recovery", "sinusoid-field"),
    *("interaction-k3-r", "interaction-k3-loss-r"),
    *("selection-regret", "selection-proxy", "resreg-capacity", "resreg-grid"),
}


NUMBERS = ("r", "rmse", "candidates", "rows", "facts")


def command(*arguments) -> list[str]:
    options = ["--rows", "240", "--epochs", "3", "--sigmas", "0.1,0.5", "--lambdas", "1e-3,1e-1"]
    return ["synthetic", *map(str, arguments), *options]


def stored(out) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "cells").glob("*.json")}


def table(out, name: str) -> pl.DataFrame:
    return pl.read_parquet(out / "tables" / f"{name}.parquet")


def test_experiments_share_cells(everything):
    _, done = everything
    assert done["interaction/paper"].n_computed == 2
    assert (done["selection/paper"].n_computed, done["selection/paper"].n_cells) == (2, 4)
    assert done["sinusoid/paper"].n_computed == 0
    # 2 capacities, the smaller at one amplitude
    assert (done["resreg/paper"].n_computed, done["resreg/paper"].n_cells) == (6, 10)
    assert done["selection/auto"].n_computed == 0


def test_figures_are_there_and_not_empty(everything):
    out, _ = everything
    assert {path.stem for path in (out / "figures").iterdir()} == FIGURES
    for name in FIGURES:
        svg, png = (out / "figures" / f"{name}.{ending}" for ending in ("svg", "png"))
        assert "<path" in svg.read_text()
        assert png.read_bytes().startswith(b"\x89PNG")
        assert min(svg.stat().st_size, png.stat().st_size) > 5_000


def test_tables_are_tidy_and_twice(everything):
    out, _ = everything
    names = {"clusters", "clusters-rows", "sinusoid", "interaction", "selection", "selection-candidates", "resreg"}
    assert {path.stem for path in (out / "tables").iterdir()} == names | {"costs"}
    for name in names | {"costs"}:
        assert pl.read_csv(out / "tables" / f"{name}.csv").columns == table(out, name).columns
    for name in names - {"clusters-rows", "interaction", "selection-candidates"}:
        key = ["method", "amplitude", "frequency", "seed", *(["beside"] if name == "resreg" else [])]
        assert not table(out, name).select(key).is_duplicated().any()


def test_choice_follows_from_the_candidates(everything):
    out, _ = everything
    choices, candidates = table(out, "selection"), table(out, "selection-candidates")
    for row in choices.filter(pl.col("method") == "paper").iter_rows(named=True):
        place = (pl.col(name) == row[name] for name in ("method", "amplitude", "frequency", "seed"))
        own = candidates.filter(*place)
        assert len(own) == 4
        chosen = own.filter(pl.col("proxy") == pl.col("proxy").min())["r"][0]
        assert row["regret"] == pytest.approx(own["r"].max() - chosen)
        assert row["paper_regret"] == experiments.REGRET[row["amplitude"], row["frequency"]]
    auto = candidates.filter(pl.col("method") == "auto")
    assert (auto.group_by("amplitude", "frequency").agg(pl.col("chosen").sum())["chosen"] == 1).all()


def test_the_page_stands_alone(everything):
    out, _ = everything
    text = (out / "index.html").read_text()
    sources = Tree(text).addresses
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert not re.search(r"https?://|url\(", re.sub(r"base64,[^\"]*", "", text))
    assert {"clusters", "sinusoid", "interaction", "selection", "resreg", "cost"} <= set(
        re.findall(r'id="([^"]+)"', text)
    )
    assert sum(source.startswith("data:image/svg") for source in sources) == len(FIGURES)
    assert sections.SAID["resreg"] in text
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text).lower()


def test_cost_is_given_for_every_cell(everything):
    out, _ = everything
    costs = table(out, "costs")
    assert len(costs) == len(stored(out))
    assert (costs["cpu_seconds"] > 0).all()


def test_a_killed_run_goes_on_where_it_was(tmp_path, everything, capsys):
    out = tmp_path / "run"
    arguments = ("selection", "--out", out, "--amplitudes", "0.4,1.0", "--frequencies", "1,3", "--jobs", "1")
    process = start(*command(*arguments))
    deadline = time.monotonic() + 120
    while not stored(out) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = stored(out)
    # in this process, which has imported all that takes long
    assert main(command(*arguments)) == 0
    said, complaint = capsys.readouterr()
    assert complaint == ""
    assert f"{4 - len(before)} of 4 cells computed now" in said
    assert before.items() <= stored(out).items()
    whole, _ = everything
    mine = table(out, "selection-candidates")
    assert mine.equals(table(whole, "selection-candidates").filter(pl.col("method") == "paper"))


@pytest.fixture
def undrawn(monkeypatch):
    """Leave tables, figures and page out, where only cells matter."""
    monkeypatch.setattr(run_module, "write_all", lambda folder, _: (folder.path / "index.html", ()))


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_processes_change_no_number(tmp_path, everything):
    out = tmp_path / "run"
    settings = toy("sinusoid", amplitudes=(1.0,))
    run(settings, out, n_jobs=2)
    first, second = ExperimentFolder.open(everything[0]), ExperimentFolder.open(out)
    for cell in cells_of(settings):
        one, two = first.load(cell), second.load(cell)
        assert [one[name] for name in NUMBERS] == [two[name] for name in NUMBERS]


def test_other_settings_are_refused(tmp_path, everything, monkeypatch):
    monkeypatch.setattr(fits, "compute", lambda *_: pytest.fail("nothing may be computed"))
    out, _ = everything
    kept = (out / "settings.json").read_bytes()
    with pytest.raises(MismatchError, match=r"rows \(240 there, 300 asked\).*epochs \(3 there, 4 asked\)"):
        run(toy("clusters", rows=300, epochs=4), out)
    with pytest.raises(MismatchError, match=r"amplitudes \(\[0.4, 1.0\] there, \[0.6\] asked\)"):
        run(toy("sinusoid", amplitudes=(0.6,)), out)
    assert (out / "settings.json").read_bytes() == kept
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="`miscal synthetic` did not write"):
        run(toy("clusters"), tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_seeds_may_be_added_but_not_taken_away(tmp_path):
    tiny = {"sigmas": (0.3,), "lambdas": (0.01,), "epochs": 1}
    run(toy("clusters", **tiny), tmp_path / "run", n_jobs=1)
    done = run(toy("clusters", **tiny, seeds=2), tmp_path / "run", n_jobs=1)
    assert (done.n_computed, done.n_cells) == (1, 2)
    with pytest.raises(MismatchError, match="seeds"):
        run(toy("clusters", **tiny), tmp_path / "run")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "nothing"),
        (["interaction", "--method", "auto"], "leave --method out"),
        (["clusters", "--amplitudes", "0.4"], "--amplitudes has no effect on clusters"),
        (["sinusoid", "--amplitudes", "loud"], "'loud'"),
        (["sinusoid", "--amplitudes", "0.2,0.2"], "no value twice"),
        (["resreg", "--capacities", "3by1024"], "3x1024"),
    ],
)
def test_the_command_says_what_to_mend(tmp_path, capsys, arguments, said):
    assert main(["synthetic", *arguments, "--out", str(tmp_path / "out")]) == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_papers_settings_are_the_default():
    settings = Settings("selection")
    assert settings.rows == 10_000
    assert len(settings.amplitudes) * len(settings.frequencies) == 25
    assert (len(settings.sigmas) * len(settings.lambdas), settings.epochs, settings.resreg_epochs) == (24, 100, 300)
    assert Settings("resreg").capacities[-1] == "3x1024"
    assert json.loads(json.dumps(settings.of_cells())) == settings.of_cells()


def test_seeds_that_were_asked_for_and_broken_off_take_nothing_from_the_page(tmp_path):
    one = toy("selection", amplitudes=(1.0,), frequencies=(1.0,))
    page = run(one, tmp_path, n_jobs=1).page
    figure = tmp_path / "figures" / "selection-regret.svg"
    before = figure.read_bytes()
    two = toy("selection", amplitudes=(1.0,), frequencies=(1.0,), seeds=2)
    ExperimentFolder.open(tmp_path).adopt(two)  # and killed before its first cell
    clusters = toy("clusters")
    run(clusters, tmp_path, n_jobs=1)
    assert 'id="selection"' in page.read_text()
    assert figure.read_bytes() == before
    # another experiment completes the cells: table and figure go together
    run(toy("sinusoid", amplitudes=(1.0,), frequencies=(1.0,), seeds=2), tmp_path, n_jobs=1)
    assert table(tmp_path, "selection")["seed"].to_list() == [0, 1]
    assert figure.read_bytes() != before


def test_the_largest_network_is_the_largest_in_any_order():
    assert Settings("resreg", capacities=("2x16", "1x8")).capacities == ("1x8", "2x16")
    whole = [c for c in cells_of(toy("resreg", capacities=("2x16", "1x8"))) if c.method == "resreg-2x16"]
    assert {cell.amplitude for cell in whole} == {0.4, 1.0}


def test_cells_of_another_version_are_not_mixed_with_new_ones(tmp_path, monkeypatch):
    run(toy("clusters"), tmp_path, n_jobs=1)
    monkeypatch.setattr("miscal.study.synthetic.run.metadata.version", lambda _: "99.0")
    with pytest.raises(MismatchError, match="another version"):
        ExperimentFolder.open(tmp_path).adopt(toy("clusters"))


def test_a_damaged_cell_is_refused(tmp_path):
    run(toy("clusters"), tmp_path, n_jobs=1)
    (cell,) = (tmp_path / "cells").iterdir()
    cell.write_text('{"world"')
    with pytest.raises(CorruptFile, match="is damaged: remove it"):
        run(toy("clusters"), tmp_path)
