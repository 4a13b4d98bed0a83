"""Is nothing claimed where nothing is? How often each statement is wrong, in worlds whose truth is known.

    python benchmarks/nothing.py --only certificates scores [--draws 400] [--rows 300 1000] [--jobs 2] [--print]

A p-value is counted at 5 % and 1 % where its hypothesis is true, a limit or an interval where it misses the truth, any
other claim where it is false: findings count as wrong if any is. Missed where a binomial test says that a share is
above its level: for a cell at 1 % over the number of cells, and for a statement over all its cells together at 1 % over
their number. What a run does not promise has a name of its own, and no target.

`certificates` to `errors`: statements on fields fixed before the outcomes, in twelve worlds (_validity_worlds.py);
`runs with truth` (_validity_fits.py) and the others down to `units of rows` (_nothing_runs.py): whole runs or their
layers; `groups` to `rankings` (_nothing_rows.py): single statements; then the ledger, scans, the gate of a comparison,
units that are found, columns that give the outcome away, and findings that several models share.
"""

from __future__ import annotations

import sys
from functools import partial

import _nothing_rows as rows
import _nothing_runs as runs
import _validity_fits as fits
import found_units
import gate_nulls
import known_later
import ledger_nulls
import scan_nulls
from _shared_studies import CELLS, named, shared
from _shares import UNTOLD, Question, ask
from _validity_counts import Told
from _validity_statements import STATEMENTS, asked_of, worlds_of

NULLS_OF_GATE = ("sets", "matched")


def ledger(world: str, n: int, table: int, draws: int) -> dict:
    """Draw outcomes of a table, and ask whether its list names anything; of `shifted`, any slope."""
    return {"any finding": (draws, ledger_nulls.one_table(world, n, table, draws)["wrong"])}


def scan(world: str, n: int, part: int, tables: int) -> dict:
    """Scan tables, and ask whether anything is found."""
    return {"any finding": (tables, scan_nulls.false_ones(world, n, part, tables)["found"])}


def gate(world: str, n: int, part: int, pairs: int) -> dict:
    """Compare runs, and ask whether the candidate is stopped."""
    told, end = gate_nulls.stopped(world, n, part, pairs), "" if world in NULLS_OF_GATE else UNTOLD
    return {f"stopped by {how}{end}": (pairs, told[key]) for key, how in (("whole", "all rows"), ("group", "a group"))}


def units(group: str, world: str, n: int, draw: int) -> Told:
    """Whether anything is claimed of rows that hang together, by what is found or by rows."""
    one, end = found_units.one_draw(world, n, group, draw), UNTOLD if group == "none" or world == "crossed" else ""
    return Told(misses={f"{name}{end}": one[name] for name in ("claim", "limit", "finding")})


def leaks(world: str, _: int, draw: int) -> Told:
    """Whether a column is named that gives the outcome away, where there is none."""
    return Told(misses={"alarm": bool(known_later.one(world, draw)["found"])})


SIZES = (100, 300, 1_000, 5_000)
QUESTIONS = {
    **{name: Question(partial(asked_of, name), worlds_of(name), SIZES, 100, together=25) for name in STATEMENTS},
    "runs with truth": Question(fits.one_run, fits.WORLDS, (300, 1_000), 100),
    "whole runs": Question(runs.whole_run, tuple(runs.CURVES), (300, 1_000), 100),
    "lists of classes": Question(runs.class_lists, runs.CLASS_WORLDS, (500,), 1_000, together=20),
    "runs of classes": Question(runs.class_run, runs.CLASS_WORLDS[:3], (500,), 17),
    "time": Question(runs.in_time, runs.TIMES, (500,), 100),
    "harm": Question(runs.harm, runs.RATES, (60, 100, 200, 500, 1_500), 40, level=0.02),
    "real inputs": Question(runs.real_inputs, runs.DRAWN, (0,), 50, data=True),
    "units of rows": Question(runs.units_of_rows, runs.SHAPES, (600,), 60),
    "groups": Question(rows.dependent, rows.DEPENDENT, (300, 1_000), 100, together=50),
    "certificates alone": Question(rows.certified, rows.CERTIFIED, (80, 300, 1_000), 400, together=50),
    "monitors": Question(rows.watched, tuple(rows.WATCHED), (0,), 400, together=50),
    "judges": Question(rows.lenient, tuple(rows.LENIENT), (200, 500, 2_000), 1_000, together=50),
    "pass rates": Question(rows.passing, rows.PASSING, (50, 130, 200, 500), 1_000, level=0.06, together=100),
    "rankings": Question(rows.ranked, rows.RANKED[:4], (15, 30, 50, 300), 400, together=100),
    "rankings of shares": Question(rows.ranked, rows.RANKED[4:], (30, 50, 300), 400, together=100),
    "ledger": Question(ledger, ledger_nulls.WORLDS, (300, 1_000), 2_000, together=20, at_once=True),
    "scan": Question(scan, scan_nulls.WORLDS, (5_000,), 1_000, together=20, at_once=True),
    "gate": Question(gate, gate_nulls.WORLDS, (2_000,), 200, level=0.1, together=10, at_once=True),
    "units": Question(partial(units, "auto"), found_units.WORLDS, (1_000,), 40),
    "units, by rows": Question(partial(units, "none"), found_units.WORLDS, (1_000,), 10),
    "leaks": Question(leaks, (known_later.NOTHING,), (0,), 1_000, level=0.01, together=50),
    "shared findings": Question(partial(shared, "size"), named(CELLS["size"]), (500,), 200),
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "nothing", QUESTIONS))
