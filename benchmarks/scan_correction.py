"""Does the correction of a scan, as SQL, hold on later rows?

    python benchmarks/scan_correction.py --data DIR [--sets census] [--csv benchmarks/notes]

Flights of April to June teach and those of July judge; census 2015 teaches and census 2016 judges; of the planted table
two draws do. Every row of either file is taken. `scan` is correction.sql, asked of DuckDB; `full` is the correction of
`discover` with defaults. Isotonic, LightGBM and MCGrad are as in later_rows.py (tuned in time order), the latter two
only where both are installed. Errors are of differences to raw, of days where there are days, else of rows.

Target: SQL, correction.py and the numbers of correction.json agree to 1e-12 on every later row.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

import miscal
from _script import limit_threads, options, results, show, target
from later_rows import DAY, FILES, peers, read_both
from miscal.calibration.metrics import log_losses, mean_interval
from miscal.findings.conditions import Frame

SETS = ("flights", "census", "planted")
METHODS = ("raw", "isotonic", "LightGBM", "MCGrad", "scan", "full")
EVERY = 10**9
TOLERANCE = 1e-12


def one_set(name: str, seed: int, *, folder: Path | None) -> dict:
    """Learn from the earlier rows, and judge by the later ones."""
    limit_threads()
    start = time.perf_counter()
    if name == "planted":
        (earlier, later), (risk, event, at) = (planted(2 * seed), planted(2 * seed + 1)), ("risk", "late", None)
    elif folder is None:
        raise SystemExit("name the folder of the sets: --data DIR")
    else:
        earlier, later = read_both(folder, name, EVERY, seed)
        risk, event, at = FILES[name][2:]
    days = later[DAY].to_numpy() if at is not None else None
    earlier, later = (one.drop(DAY, strict=False) for one in (earlier, later))
    named = {"probability": risk, "event": event}
    f, y = later[risk].to_numpy(), later[event].to_numpy().astype(float)
    found = miscal.scan(earlier.lazy(), **named)
    predicted, apart = {"raw": f}, {}
    predicted["isotonic"] = IsotonicRegression(out_of_bounds="clip").fit(earlier[risk], earlier[event]).predict(f)
    if find_spec("mcgrad") and find_spec("lightgbm"):
        known = peers(earlier, later, (risk, event), seed)
        predicted |= {method: known[method] for method in ("LightGBM", "MCGrad")}
    predicted["scan"] = asked_of_duckdb(found.sql(), later)
    apart = {
        "Python": np.abs(by_python(found.python(), later) - predicted["scan"]).max(),
        "numpy": np.abs(by_numpy(found, later, f) - predicted["scan"]).max(),
    }
    scanned = time.perf_counter() - start
    predicted["full"] = miscal.discover(earlier, **named, seed=seed).correct(later)["corrected"].to_numpy()
    losses = {method: log_losses(y, p) for method, p in predicted.items()}
    correction = found.summary.correction
    gains = {method: mean_interval(losses["raw"] - loss, groups=days) for method, loss in losses.items()}
    return {
        "set": name, "seed": seed, "rows": len(earlier), "later": len(later), "map": correction.map.name,
        "shifts": len(correction.shifts), "findings": len(found.summary.findings), "told": correction.log_loss,
        "before": correction.log_loss_raw, "tried": correction.tried,
        "loss": {method: float(loss.mean()) for method, loss in losses.items()},
        "gain": {method: (gain.value, gain.standard_error or 0.0) for method, gain in gains.items()},
        "apart": {name: float(value) for name, value in apart.items()}, "scan": scanned,
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def planted(seed: int, n: int = 20_000) -> pl.DataFrame:
    """Risks that are off in a value, along a number, in one half of a pair and where a number is missing."""
    rng = np.random.default_rng(seed)
    kind, hour, age = rng.choice(list("abcdef"), n), rng.integers(0, 24, n), rng.normal(40, 12, n).round()
    age = np.where(rng.random(n) < 0.1, np.nan, age)
    risk = rng.beta(2, 3, n)
    odds = (
        logit(risk) + 0.7 * (kind == "b") + 0.04 * (hour - 12) + 0.6 * np.isnan(age) - 0.8 * (kind == "c") * (age > 45)
    )
    late = (rng.random(n) < expit(odds)).astype(int)
    return pl.DataFrame({"risk": risk, "late": late, "kind": kind, "hour": hour, "age": age}).fill_nan(None)


def asked_of_duckdb(sql: str, rows: pl.DataFrame) -> np.ndarray:
    """Correct rows in DuckDB."""
    base = duckdb.connect()
    base.register("later_", rows.to_arrow())
    return base.sql(f"select {sql} as p from later_").pl()["p"].to_numpy()


def by_python(text: str, rows: pl.DataFrame) -> np.ndarray:
    """Correct rows by correction.py."""
    space: dict[str, Any] = {}
    exec(text, space)
    return np.array([space["correct"](row) for row in rows.iter_rows(named=True)])


def by_numpy(found: miscal.Scan, rows: pl.DataFrame, f: np.ndarray) -> np.ndarray:
    """Correct rows by the numbers of the correction, and the conditions of the findings; trends by their cells."""
    base = found.summary.correction.map.apply(f)
    odds, shift = logit(np.clip(base, 1e-4, 1 - 1e-4)), np.zeros(len(f))
    columns = {name: _array(rows[name]) for name in rows.columns}
    for one in found.summary.correction.shifts:
        finding = found.summary.findings[one.finding - 1]
        if one.scores:
            values = columns[finding.condition.columns[0]].astype(float)
            cell = np.searchsorted(one.columns[0]["edges"], values, "right")
            shift += one.size * np.where(np.isfinite(values), np.array(one.scores)[cell], 0.0)
        else:
            inside = finding.condition.rows(Frame(len(f), columns))
            shift += one.size * inside
    return np.where(shift == 0, base, expit(odds + shift))


def _array(values: pl.Series) -> np.ndarray:
    return values.to_numpy() if values.dtype.is_numeric() else np.array(values.to_list(), object)


def main() -> None:
    """Measure, show, and compare with the target."""
    parser = options(__doc__, "scan_correction", data="folder of real sets", seeds=[0], sets=list(SETS))
    args = parser.parse_args()
    keys = [(name, seed) for name in args.sets for seed in args.seeds]
    store = results(args, ("set", "seed"), keys, partial(one_set, folder=args.data))
    found = [store.records[key] for key in keys if key in store.records]
    rows = [
        [one["set"], one["seed"], one["rows"], one["later"], f"{one['map']}, {one['shifts']}",
         *(f"{one['loss'][method]:.4f}" if method in one["loss"] else "" for method in METHODS),
         f"{one['told']:.4f} of {one['before']:.4f}", f"{max(one['apart'].values()):.0e}"]
        for one in found
    ]  # fmt: skip
    head = ["set", "seed", "rows", "later rows", "map, shifts", *METHODS, "told before", "SQL to Python and numpy"]
    show(args, "scan_correction", "log loss on later rows", head, rows)
    gains = [
        [one["set"], one["seed"], *("{:+.4f} ({:.4f})".format(*one["gain"][m]) if m in one["gain"] else ""
                                    for m in METHODS[1:])]
        for one in found
    ]  # fmt: skip
    show(args, "scan_correction-gains", "log loss saved, and its error", ["set", "seed", *METHODS[1:]], gains)
    worst = max((value for one in found for value in one["apart"].values()), default=0.0)
    sys.exit(not target(f"SQL, Python and numpy are {worst:.0e} apart, at most {TOLERANCE:.0e}", worst <= TOLERANCE))


if __name__ == "__main__":
    main()
