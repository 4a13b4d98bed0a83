"""Groups of new rows: the values of a column, or the days of its dates, as `discover` takes them."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.base.errors import InputError
from miscal.data.readers.roles import Grouping
from miscal.data.readers.rows import TableRows
from miscal.runs.monitor.new_rows import group_names

TABLE = pl.DataFrame(
    {
        "seen": [datetime(2024, 1, 31, 22) + timedelta(hours=i) for i in range(6)],
        "ward": [1, 1, 2, 2, 3, 3],
        "list": [[1.0]] * 6,
    }
)
pytestmark = [pytest.mark.usefixtures("few_folds"), pytest.mark.whole]

ROWS = TableRows(TABLE, np.arange(6), None, (), 6)


def test_days_and_values_name_groups():
    assert (
        group_names(ROWS, Grouping("seen", "day")).tolist() == ["2024-01-31T00:00:00"] * 2 + ["2024-02-01T00:00:00"] * 4
    )
    assert group_names(ROWS, Grouping("ward")).tolist() == ["1", "1", "2", "2", "3", "3"]


def test_lists_name_no_groups():
    with pytest.raises(InputError, match="must hold text or numbers"):
        group_names(ROWS, Grouping("list"))


def customers(seed, n=300):
    """Rows of customers, some of whom are not known, and of equal inputs within a customer."""
    rng = np.random.default_rng(seed)
    customer = np.arange(n) // 5
    f = rng.uniform(0.3, 0.9, n)
    columns = {f"x{k}": rng.normal(size=n) for k in range(3)}
    names = [None if row % 25 == 0 else f"{seed}-{one}" for row, one in enumerate(customer)]
    return pl.DataFrame({**columns, "customer": names, "confidence": f, "correct": (rng.random(n) < f).astype(int)})


def test_a_blank_of_a_column_that_the_run_chose_is_a_unit_of_its_own(tmp_path):
    miscal.discover(customers(0), features="x0,x1,x2").save(tmp_path / "run")
    units = 60 + 12
    assert miscal.load(tmp_path / "run").summary.units.n_units == units
    for look in (1, 2):
        seen = miscal.monitor(tmp_path / "run", customers(look))
        assert seen.looks[-1].units == units
        # blanks are no group that comes again
        assert not any("came at earlier looks" in one for one in seen.warnings)


def test_equal_inputs_are_one_unit_within_a_look_and_others_at_the_next(tmp_path):
    rows, again, later = (customers(seed).drop("customer") for seed in (3, 3, 4))
    inputs = rows[np.arange(300) // 5].select("x0", "x1", "x2")
    rows = rows.with_columns(inputs)
    miscal.discover(rows).save(tmp_path / "run")
    found = miscal.load(tmp_path / "run").summary.units
    assert (found.source, found.n_units) == ("equal inputs", 60)
    looks = [again.with_columns(inputs), later.with_columns(inputs)]
    units = [miscal.monitor(tmp_path / "run", one).looks[-1].units for one in looks]
    assert units == [60, 60]
