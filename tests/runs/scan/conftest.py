"""A made table of late flights, of which the risk of one carrier and of late hours is wrong."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit


@pytest.fixture(scope="module")
def rows():
    return table()


EVENT = {"probability": "risk", "event": "late"}


def table(seed=0, n=4_000, hidden=1.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    carrier, hour = rng.choice(list("abcdef"), n), rng.integers(0, 24, n)
    day = pl.Series([date(2024, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 300, n)])
    risk = rng.beta(2, 3, n)
    odds = logit(risk) + hidden * (np.where(carrier == "b", 0.9, 0.0) + 0.06 * (hour - 12))
    late = (rng.random(n) < expit(odds)).astype(int)
    return pl.DataFrame({"risk": risk, "late": late, "carrier": carrier, "hour": hour, "day": day})
