"""Monitors of corrections as `miscal discover` fits them: slow, since each needs a run."""

from dataclasses import dataclass
from itertools import count

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import miscal
from miscal.data.readers.read import read_triples
from miscal.discovery.discover import discover
from miscal.report import write_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SUBJECTS = np.array(["art", "law", "maths", "music"])
HIDDEN = {
    "by an input": lambda X, code: 0.6 * np.sign(X[:, 0]),
    "by a column that is no input": lambda X, code: np.array([0.8, -0.8, 0.0, 0.0])[code],
    "nothing": lambda X, code: np.zeros(len(X)),
}


def rows_of(rng, n, hidden, law=0.0):
    """Rows; `law` shifts the log-odds of all subjects but art."""
    X, code, f = rng.normal(size=(n, 3)), rng.integers(0, 4, n), rng.uniform(0.2, 0.95, n)
    slope = 1.5 if hidden == "nothing" else 1.0
    rate = expit(slope * logit(f) + HIDDEN[hidden](X, code) + law * (SUBJECTS[code] != "art"))
    columns = {f"x_{k}": X[:, k] for k in range(3)} | {"subject": SUBJECTS[code].tolist(), "confidence": f}
    return pl.DataFrame({**columns, "correct": (rng.random(n) < rate).astype(int)})


@dataclass
class Made:
    """A run of 1,000 rows, and monitors of it."""

    hidden: str
    run: object
    numbers: object

    def looks(self, seed, tables):
        out = self.run.parent / f"monitor {next(self.numbers)}"
        rng = np.random.default_rng(seed)
        return [miscal.monitor(self.run, rows_of(rng, n, self.hidden, law), out=out) for n, law in tables]


@pytest.fixture(scope="module", params=sorted(HIDDEN))
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    rows_of(np.random.default_rng(1), 1_000, request.param).write_parquet(folder / "data.parquet")
    data = read_triples(folder / "data.parquet", features="x_0,x_1,x_2", metadata="subject")
    write_run(discover(data, map_method="pca", n_jobs=1, seed=1), folder / "run", report=False)
    return Made(request.param, folder / "run", count())


@pytest.mark.parametrize("seed", [1, 2])
def test_where_nothing_changed_a_correction_from_few_rows_raises_no_alarm(made, seed):
    """Ten looks of 500 rows. Such corrections are not exact, which is allowed."""
    last = made.looks(seed, [(500, 0.0)] * 10)[-1]
    assert not last.alarm, last.answer


def test_a_change_of_all_rows_in_one_of_four_looks_raises_the_alarm_in_that_look(made):
    """1,500 rows a look, three quarters of them shifted by -1.5 in the third."""
    looks = made.looks(3, [(1_500, 0.0), (1_500, 0.0), (1_500, -1.5), (1_500, 0.0)])
    assert [one.alarm for one in looks] == [False, False, True, True]
    assert looks[3].raised == 3
