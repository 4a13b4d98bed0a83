"""Is nothing claimed where nothing is? How often each statement is wrong, in worlds whose truth is known.

    python benchmarks/nothing.py --only certificates scores [--draws 400] [--rows 300 1000] [--jobs 2] [--print]

A p-value is counted at 5 % and 1 % where its hypothesis is true, a limit or an interval where it misses the truth, any
other claim where it is false: findings count as wrong if any is. Missed where a binomial test says that a share is
above its level: for a cell at 1 % over the number of cells, and for a statement over all its cells together at 1 % over
their number. What a run does not promise has a name of its own, and no target.

`certificates` to `errors`: statements on fields fixed before the outcomes, in twelve worlds (_validity_worlds.py);
`runs with truth` (_validity_fits.py) and the others down to `real inputs` (_nothing_runs.py): whole runs or their
layers; `groups` to `rankings` (_nothing_rows.py): single statements; then lists of findings, scans, the gate of a
comparison (_nothing_tables.py), units that are found, intervals of findings (_nothing_coverage.py), columns that give
the outcome away, and findings that several models share.
"""

from __future__ import annotations

import sys
from functools import partial

import _nothing_coverage as coverage
import _nothing_rows as rows
import _nothing_runs as runs
import _nothing_tables as tables
import _validity_fits as fits
import found_units
import known_later
from _shared_studies import CELLS, named, shared
from _shares import Question, ask
from _validity_statements import STATEMENTS, asked_of, worlds_of

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
    "groups": Question(rows.dependent, rows.DEPENDENT, (300, 1_000), 100, together=50),
    "monitors": Question(rows.watched, tuple(rows.WATCHED), (0,), 400, together=50),
    "judges": Question(rows.lenient, tuple(rows.LENIENT), (200, 500, 2_000), 1_000, together=50),
    "pass rates": Question(rows.passing, rows.PASSING, (50, 130, 200, 500), 1_000, level=0.06, together=100),
    "rankings": Question(rows.ranked, rows.RANKED[:4], (15, 30, 50, 300), 400, together=100),
    "rankings of shares": Question(rows.ranked, rows.RANKED[4:], (30, 50, 300), 400, together=100),
    "ledger": Question(tables.listed, tables.WORLDS, (300, 1_000), 2_000, together=20, at_once=True),
    "scan": Question(tables.scans, tables.SCANS, (5_000,), 1_000, together=20, at_once=True),
    "gate": Question(tables.stopped, tables.GATES, (2_000,), 200, level=0.1, together=10, at_once=True),
    **found_units.QUESTIONS,
    **coverage.QUESTIONS,
    "leaks": known_later.QUESTIONS["no leaks"],
    "shared findings": Question(partial(shared, "size"), named(CELLS["size"]), (500,), 200),
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "nothing", QUESTIONS))
