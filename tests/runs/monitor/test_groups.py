"""Groups of new rows: the values of a column, or the days of its dates, as `discover` takes them."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.data.readers.grouping import Grouping
from miscal.data.readers.rows import TableRows
from miscal.runs.monitor.new_rows import group_names

TABLE = pl.DataFrame(
    {
        "seen": [datetime(2024, 1, 31, 22) + timedelta(hours=i) for i in range(6)],
        "ward": [1, 1, 2, 2, 3, 3],
        "list": [[1.0]] * 6,
    }
)
ROWS = TableRows(TABLE, np.arange(6), None, (), 6)


def test_days_and_values_name_groups():
    assert (
        group_names(ROWS, Grouping("seen", "day")).tolist() == ["2024-01-31T00:00:00"] * 2 + ["2024-02-01T00:00:00"] * 4
    )
    assert group_names(ROWS, Grouping("ward")).tolist() == ["1", "1", "2", "2", "3", "3"]


def test_lists_name_no_groups():
    with pytest.raises(InputError, match="must hold text or numbers"):
        group_names(ROWS, Grouping("list"))
