"""A study on Ray leaves the tables that one process leaves."""

import pytest

from miscal.base.errors import InputError
from miscal.study import engines, study

from .conftest import entry
from .test_run import run_toy, untimed

pytestmark = [pytest.mark.filterwarnings("ignore")]


def test_an_address_needs_ray(data, tmp_path):
    with pytest.raises(InputError, match="ray_address can be given with engine ray only"):
        study({"pairs": [entry(data)]}, tmp_path / "out", ray_address="auto")
    with pytest.raises(InputError, match="engine must be one of local, ray; got 'slurm'"):
        study({"pairs": [entry(data)]}, tmp_path / "out", engine="slurm")


@pytest.mark.slow
def test_both_engines_leave_the_same_tables(data, tmp_path):
    pytest.importorskip("ray", reason="needs the extra ray")
    pairs = [entry(data), entry(data, "two"), entry(data, models=("missing",))]
    plan = {"method": "both", "options": {"max_epochs": 1}, "pairs": pairs}
    for name in engines.ENGINES:
        ended = run_toy(plan, tmp_path / name, tmp_path, "--engine", name)
        assert ended.returncode == 2, ended.stderr
        assert "read one.missing: the data file" in ended.stderr
    assert untimed(tmp_path / "local") == untimed(tmp_path / "ray")
