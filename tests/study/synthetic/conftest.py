"""A folder with every experiment at toy size, run once."""

import pytest

from miscal.study.synthetic.experiments import Settings
from miscal.study.synthetic.run import run

TOY = {"rows": 240, "sigmas": (0.1, 0.5), "lambdas": (1e-3, 1e-1), "epochs": 3, "resreg_epochs": 6}
PLACES = {"amplitudes": (0.4, 1.0), "frequencies": (1.0, 3.0)}


def toy(experiment: str, method: str = "paper", **changed) -> Settings:
    places = {} if experiment == "clusters" else PLACES
    capacities = {"capacities": ("1x8", "1x300")} if experiment == "resreg" else {}
    if experiment == "interaction":
        places = places | {"frequencies": (3.0,)}
    return Settings(experiment, method, **TOY | places | capacities | changed)


@pytest.fixture(scope="session")
def everything(tmp_path_factory):
    """All experiments in one folder: what each run said, in order."""
    out = tmp_path_factory.mktemp("synthetic") / "all"
    asked = [toy("clusters"), toy("interaction"), toy("selection"), toy("sinusoid"), toy("resreg")]
    # other settings than the paper's method: tables and figures hold both
    asked += [toy(name, "auto", amplitudes=(1.0,), frequencies=(1.0,)) for name in ("sinusoid", "selection")]
    return out, {settings.name: run(settings, out, n_jobs=1) for settings in asked}
