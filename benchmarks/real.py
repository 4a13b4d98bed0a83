"""How good is the correction beside others, and do findings hold, on real sets and where the truth is known?

    python benchmarks/real.py --only sets --data DIR [--sets mmlu/] [--methods ridge auto] [--draws 3] [--jobs 2]

In a comparison every method learns from the same rows and is judged on rows that it has not seen; losses are paired by
row. The best peer of a set is chosen by its loss, in hindsight. Targets: ours is ahead of it on average, and on no set
behind it by more than the tolerance, by a paired test at 5 %, adjusted by Holm over the sets.

    sets            log loss of real sets (_data.py), split 80/10/10; smECE, Brier score, the worst-slice gap between
                    the regimes that a method finds, and the lower limit of hidden miscalibration that it proves
    columns         log loss with the columns of a table (_column_sets.py), beside tuned trees and MCGrad
    worlds          mean squared error of the field, in 1e-4, and r, where the truth is known (_worlds.py)
    planted errors  root mean squared error in points, of errors planted in columns (_planted_errors.py)
    classifiers     log loss and Brier score of classifiers of two, and of several classes, and on real tables
                    (_classifiers.py)
    later rows      log loss on rows that came later (_later_rows.py)

The others count what is wrong, by sets, with the targets of `nothing.py` (_real_findings.py): findings of a half
in the other half, before and after the correction, and claims of some rows by the others.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import _classifiers as classifiers
import _column_peers as peers
import _column_sets as columns
import _later_rows as later
import _real_findings as findings
from _column_peers import Table
from _data import read_set, set_names
from _duels import Duel
from _findings import gap_found, hidden_limit, recovery
from _ledger import ledger_sets
from _planted_errors import WORLDS as PLANTED
from _planted_errors import draw_world
from _script import fitted
from _shares import Question, ask
from _worlds import WORLDS
from baselines import METHODS
from miscal.calibration.metrics.scores import log_losses
from miscal.calibration.metrics.smooth import smece
from miscal.estimators.field import MiscalibrationField
from miscal.study.synthetic.fits import rmse
from miscal.study.synthetic.worlds import random_split

QUIET, MANY_LEVELS = ("calibrated", "visible_only"), "400 levels"


def sets(folder: Path | None, name: str, _: int, seed: int, method: str) -> dict:
    """Fit to train and validation rows, and judge on test rows."""
    data = read_set(folder, name)
    split = data.split(seed)
    test = split == "test"
    given = data.X, data.confidence, data.correct, ~test, seed, split
    model, seconds = fitted(method, *given)
    y, p = data.correct[test], model.calibrate(data.X[test], data.confidence[test])
    isotonic = fitted("isotonic", *given)[0].calibrate(data.X[test], data.confidence[test])
    record, plain = {"corrected": p}, {"corrected": isotonic}
    return {
        "loss": log_losses(y, p), "brier": float(np.mean((y - p) ** 2)), "smece": smece(y, p),
        "gap": float(gap_found(data, seed, record)), "proved": float(hidden_limit(data, seed, record, plain)),
        "fit": seconds,
    }  # fmt: skip


def worlds(_: Path | None, name: str, n: int, seed: int, method: str) -> dict:
    """Fit to a draw of a world, and judge by the truth."""
    world, split = WORLDS[name](n, random_state=seed), random_split(n, random_state=seed)
    test = split == "test"
    model, seconds = fitted(method, world.X, world.confidence, world.correct, ~test, seed, split)
    X, f, truth = world.X[test], world.confidence[test], world.delta[test]
    delta, p = model.delta(X, f), model.calibrate(X, f)
    eta, one = f + truth, np.ones(len(f))
    more = [log_losses(y, p) - log_losses(y, eta) for y in (one, 0 * one)]
    return {
        "loss": 1e4 * rmse(delta, truth) ** 2, "r": float(recovery(delta, truth) or 0.0),
        "excess": float(np.mean(eta * more[0] + (1 - eta) * more[1])), "fit": seconds,
    }  # fmt: skip


def planted(_: Path | None, world: str, rows: int, draw: int, method: str) -> dict:
    """Error in one draw of a world whose error columns tell."""
    made = draw_world(world, 2 * rows, draw)
    learned, judged, f = np.arange(rows), np.arange(rows, 2 * rows), made.rows.confidence
    if method == "raw":
        p = f[judged]
    elif method == "mcgrad":
        known = made.rows.encoder.columns_of(made.rows.X)
        if world != MANY_LEVELS:  # with it, it stops before its first round
            del known["store"]
        p = peers.mcgrad(Table(known, f, made.rows.correct), learned, judged, draw)
    else:
        field = MiscalibrationField(n_jobs=1).fit_triples(replace(made.rows.take(learned), split=None))
        p = field.fitted_.correct(made.rows.X[judged], f[judged]).corrected
    return {"loss": 100 * rmse(p - f[judged], made.truth[judged])}


def own_last(methods: list[str]) -> list[str]:
    """The methods, ours the last."""
    return [*(one for one in methods if one != "auto"), "auto"]


QUESTIONS = {
    "sets": Duel(sets, set_names, own_last(list(METHODS)), seeds=3, tolerance=0.004),
    "columns": Duel(columns.measured, columns.set_names, columns.METHODS, (6_000,), 3),
    "worlds": Duel(
        worlds, lambda _: list(WORLDS),
        own_last([one for one in METHODS if one != "paper"]),
        (10_000,), 10, 1.0, QUIET,
    ),
    "planted errors": Duel(
        planted, lambda _: list(PLANTED), ("raw", "mcgrad", "miscal"), (6_000,), 10, 0.2, ("nothing",)
    ),
    "classifiers": Duel(partial(classifiers.judged, "two"), classifiers.two, classifiers.OF_TWO, (3_000,)),
    "classifiers of several": Duel(
        partial(classifiers.judged, "several"), classifiers.several, classifiers.OF_SEVERAL, (3_000,)
    ),
    "classifiers of tables": Duel(
        partial(classifiers.judged, "tables"), classifiers.of_tables, classifiers.OF_TABLES, (1_000,)
    ),
    "later rows": Duel(later.later, later.set_names, later.METHODS),
    "replication": Question(findings.replication, ledger_sets, (0,), 10, level=0.1, at_once=True, data=True),
    "mending": Question(findings.mending, columns.set_names, (12_000,), 2, level=0.1, at_once=True, data=True),
    "claims": Question(findings.claims, set_names, (1_000,), 1, data=True),
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(ask(__doc__, "real", QUESTIONS))
