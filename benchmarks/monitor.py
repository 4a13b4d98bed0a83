"""How often `miscal monitor` raises an alarm where nothing changed, and after how many rows it sees a change.

    python benchmarks/monitor.py --fits 40 --monitors 200 --draws 100 --changed 100 [--print]

**Fitted.** Runs as `miscal discover` writes them, from 300, 1,000 and 5,000 rows (worlds: `_monitor_fits.py`; fits are
kept in bench_cache/monitor_fits). Monitors of a run share its fit and draw rows of their own from 20,000 others of its
world: 1,000 looks of 100 rows where nothing changes; and, from look 11 on, all rates shifted by 0.5 in log-odds, or
those of one value of a column (a quarter of the rows) by 1, or of all four values by 0.7, down and up in turn. What can
raise an alarm is looked at, but for the two questions about inputs, whose capital stays 1.

**Delays.** Rows whose correction is known to be right: three normal inputs, confidences f, rates sigmoid(logit f + h)
with h = 0.6 on one half of the inputs and -0.6 on the other; a run of 7,500 rows. Rates of all rows, or of the tenth
that is a finding, are shifted (up in odd draws, down in even ones), or one input is moved by so many standard
deviations, from the first row on or after 5,000. Looks of 100 rows, until an alarm or 20,000 rows. Beside it a CUSUM
(Page, 1954) of each row's log-likelihood ratio, which knows rates, rows, size and sign of the shift; its bar is where
5 % of calm ones of 25,000 rows raise an alarm. The rule of NannyML (mean outcome less confidence of chunks of 100 rows,
against the mean of the chunks of the run plus and minus three standard deviations) is computed here;
`monitor_nannyml.py` runs NannyML itself on such rows, in an environment of its own.

**Made-up nulls.** The same rows, 10 calls of 500, every question asked: what each of two errors spends.

    calm          as above
    grouped       in groups of five answers with one input, of intra-class correlation 0.3, named as groups
    not-named     the same, not named: what it costs to leave --group out
    steep         rates sigmoid(logit v(f) + h), v(f) = sigmoid(4 logit f)
    five          f takes five values
    wide          64 inputs instead of three
    exact         as calm, with --tolerance 0, and a run that measured nothing
    tolerated     all rates are off by 0.05 in log-odds, which counts as ordinary
    map-off       rates are sigmoid(1.5 logit p), p the corrected confidence: nothing is hidden in it, but it is wrong
    field-false   rates are sigmoid(3 logit f), the global map says sigmoid(1.5 logit f), and h is false: nothing hidden

In map-off only the question about rows of equal corrected confidence is judged, in field-false only that about rows of
equal raw confidence; both are answered rightly if never.

Target: no more alarms than 5 %, beyond chance (binomial test at 1 %), in each cell where nothing changed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit
from scipy.stats import binomtest

from _monitor_courses import Pool, courses
from _monitor_fits import KINDS, VALUES, made_up, run_of
from _monitor_worlds import RUN_ROWS, begin, hand_lines, hand_shares, rows_of
from _script import limit_threads, options, results, show, target
from miscal.discovery.run import read_run
from miscal.evidence.betting import clipped_logit
from miscal.evidence.settings import SIGNIFICANCE
from miscal.runs.monitor.basis import reference_of
from miscal.runs.monitor.dating import likely_starts
from miscal.runs.monitor.lines import (
    COLUMNS,
    FINDING,
    GROUPS,
    VALUE,
)
from miscal.runs.monitor.membership import frame_of
from miscal.runs.monitor.new_rows import NewLabelled, read_labelled
from miscal.runs.monitor.plan import MonitorPlan, plan_of
from miscal.runs.monitor.questions import ADVICE, HIDDEN, RAW_HIDDEN

FIELDS = ("kind", "world", "size", "after", "draw")
SIZES = (300, 1_000, 5_000)
NULLS = ("calm", "grouped", "not-named", "steep", "five", "wide", "exact", "tolerated")
JUDGED = {"map-off": HIDDEN, "field-false": RAW_HIDDEN}
EXPECTED_TO_FAIL = ("not-named",)
CHANGES = (
    *(("all", 0.3), ("all", 0.5), ("all", 1.0), ("tenth", 0.5), ("tenth", 1.0)),
    *(("inputs", 0.25), ("inputs", 0.5), ("inputs", 1.0)),
)
FITTED_CHANGES = {"all by 0.5": np.full(4, 0.5), "one value by 1": np.array([0.0, -1.0, 0.0, 0.0]),
                  "all values by 0.7, in turn": np.array([0.7, -0.7, 0.7, -0.7])}  # fmt: skip
CALM_LOOKS, MOST_LOOKS, CALM_BEFORE = 1_000, 200, 10
MOST_ROWS, CALM_ROWS, LOOK, POOL = 20_000, 5_000, 100, 20_000
CALLS = (10, 500)
LEAST_P = 0.01
FITS = Path("bench_cache/monitor_fits")


def one_draw(kind: str, world: str, size: float, after: int, draw: int) -> dict:
    """One monitor, or those of one run."""
    limit_threads()
    start = time.perf_counter()
    of = {"null": null_draw, "change": change_draw, "cusum": cusum_draw, "fitted": fitted_draw}[kind]
    record = {"kind": kind, "world": world, "size": size, "after": after, "draw": draw}
    return {**record, **of(world, size, after, draw), "seconds": time.perf_counter() - start}


def null_draw(world: str, size: float, after: int, draw: int) -> dict:
    """All looks of a monitor where nothing changes."""
    rng = np.random.default_rng((draw, sum(map(ord, world))))
    watch = begin(world, draw)
    for _ in range(CALLS[0]):
        watch = watch.after(*rows_of(rng, CALLS[1], world))
    answered = [one.key for one in watch.questions if one.crossed is not None]
    advice = any(one.crossed is not None for one in watch.questions if one.side == ADVICE)
    return {"answered": answered, "alarm": watch.crossed is not None, "advice": advice}


# --- delays -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def calm_pool() -> tuple[Pool, np.ndarray, np.ndarray, NewLabelled]:
    """Rows of the calm world along the lines of a run, their rates, and which are of the tenth."""
    rng = np.random.default_rng(11)
    rows, members = rows_of(rng, POOL, "calm")
    z = np.column_stack([rows.X, np.zeros(len(rows))])
    return Pool.of(hand_lines("calm", 0, hand_shares()), rows, z, members), rows.corrected, members["finding:0"], rows


def change_draw(world: str, size: float, after: int, draw: int) -> dict:
    """Rows from the change until an alarm; None where there was none."""
    if world == "inputs":
        return inputs_draw(size, after, draw)
    pool, rate, tenth, _ = calm_pool()
    rng = np.random.default_rng((draw, after, round(100 * size), len(world)))
    moved = size * (1 if draw % 2 else -1) * (tenth if world == "tenth" else 1.0)
    changed = expit(clipped_logit(rate) + moved)

    def rows(look: int) -> tuple[np.ndarray, np.ndarray]:
        at = rng.integers(0, POOL, (1, LOOK))
        return at, (rng.random(at.shape) < (rate if look < after // LOOK else changed)[at]).astype(int)

    shares = hand_shares()
    lines, rest = hand_lines("calm", draw, shares), shares["inputs"] + shares["unsupported"]
    course = courses(lines, {}, rest, pool, rows, (after + MOST_ROWS) // LOOK)[0]
    return waited(course, -np.log(SIGNIFICANCE), after)


def waited(course: np.ndarray, line: float, after: int) -> dict:
    """Rows from a change until a course reaches a line."""
    crossed = np.flatnonzero(course >= line)
    if len(crossed) == 0:
        return {"rows": None, "early": False}
    rows = int((crossed[0] + 1) * LOOK - after)
    return {"rows": None if rows <= 0 else rows, "early": rows <= 0}


def inputs_draw(size: float, after: int, draw: int) -> dict:
    """The question about inputs alone, at its own line."""
    rng = np.random.default_rng((draw, after, round(100 * size), 6))
    watch = begin("calm", draw)
    watch = replace(watch, lines=(), questions=tuple(one for one in watch.questions if one.kind == "inputs"))
    for look in range((after + MOST_ROWS) // LOOK):
        moved = size * (1 if draw % 2 else -1) if look >= after // LOOK else 0.0
        watch = watch.after(*rows_of(rng, LOOK, "calm", move=moved))
        if watch.crossed is not None:
            return waited(np.array([0.0] * look + [1.0]), 1.0, after)
    return {"rows": None, "early": False}


def log_ratios(world: str, size: float, changed: bool, monitors: int, rows: int, seed: int) -> np.ndarray:
    """Log-likelihood ratios of a shift for each row; (monitors, rows)."""
    _, rate, tenth, _ = calm_pool()
    rng = np.random.default_rng((seed, round(100 * size), len(world), changed))
    at = rng.integers(0, POOL, (monitors, rows))
    p = rate[at]
    q = expit(clipped_logit(p) + size * (tenth[at] if world == "tenth" else 1.0))
    y = rng.random(p.shape) < (q if changed else p)
    return np.where(y, np.log(q / p), np.log((1 - q) / (1 - p)))


def cusum_draw(world: str, size: float, after: int, draw: int) -> dict:
    """Delays of 200 CUSUMs that know the shift, at the bar of 5 % false alarms; the first `after` rows are calm."""
    highest = [cusum(log_ratios(world, size, False, 50, MOST_ROWS + CALM_ROWS, k)).max(1) for k in range(8)]
    bar = float(np.quantile(np.concatenate(highest), 1 - SIGNIFICANCE))
    calm = log_ratios(world, size, False, 200, after, 20) if after else np.zeros((200, 0))
    course = cusum(np.hstack([calm, log_ratios(world, size, True, 200, 10_000, 21)]))[:, after:]
    reached = course >= bar
    delay = np.where(reached.any(1), reached.argmax(1) + 1, np.inf)
    return {"rows": float(np.median(delay)), "bar": bar}


def cusum(ratios: np.ndarray) -> np.ndarray:
    """Page's statistic after each row."""
    sums = np.cumsum(ratios, axis=1)
    return sums - np.minimum(np.minimum.accumulate(sums, axis=1), 0.0)


# --- corrections as they are fitted -----------------------------------------------------------------------------------


def fitted_draw(world: str, size: float, after: int, draw: int) -> dict:
    """Monitors of one fitted run: alarms where nothing changes, and after changes."""
    n, monitors = int(size), after
    kind = KINDS[draw % len(KINDS)]
    run = read_run(run_of(FITS, n, draw))
    plan, pool, rows = fitted_pool(run, np.random.default_rng((draw, n, 1)), kind)
    rest = 1 - sum(one.share for one in plan.lines) - sum(plan.together.values())
    told: dict = {"alarms": 0, "monitors": monitors, "delays": {}}
    for name, shifts in (("calm", np.zeros(4)), *FITTED_CHANGES.items()):
        code = np.searchsorted(VALUES.astype(str), rows.subject.astype(str))
        changed = expit(clipped_logit(rows.rate) + shifts[code])
        looks = CALM_LOOKS if name == "calm" else CALM_BEFORE + MOST_LOOKS
        rng = np.random.default_rng((draw, n, len(name)))
        course = courses(plan.lines, plan.together, rest, pool, drawing(rng, rows.rate, changed, monitors), looks)
        over = course >= -np.log(SIGNIFICANCE)
        if name == "calm":
            told["alarms"] = int(over.any(1).sum())
        else:
            told["delays"][name] = [waited(one, -np.log(SIGNIFICANCE), CALM_BEFORE * LOOK)["rows"] for one in course]
    told["dated"] = dated(plan, pool, rows, draw)
    return told


def drawing(rng: np.random.Generator, rate: np.ndarray, changed: np.ndarray, monitors: int) -> Callable:
    """How monitors draw rows: with other rates from look 11 on."""

    def rows(look: int) -> tuple[np.ndarray, np.ndarray]:
        at = rng.integers(0, POOL, (monitors, LOOK))
        return at, (rng.random(at.shape) < (rate if look < CALM_BEFORE else changed)[at]).astype(int)

    return rows


def fitted_pool(run, rng: np.random.Generator, kind: str):
    """What a monitor of a run watches, and rows of its world along it."""
    model, rows = run.load_model(), made_up(rng, POOL, kind)
    columns = {f"x_{k}": rows.X[:, k] for k in range(3)} | {"subject": rows.subject.tolist()}
    table = pl.DataFrame({**columns, "confidence": rows.confidence, "correct": np.zeros(POOL, int)})
    new = read_labelled(run, model, table).rows
    frame, triples = frame_of(run, model, new), run.triples()
    reference = reference_of(triples, None, new.X, new.confidence, run.summary.seed)
    plan = plan_of(run, model, triples, reference, frame, unsupported=0.02, tolerance=None, grouped=False)
    members = {}
    for one in plan.lines:
        if one.kind in GROUPS:
            condition = run.summary.findings[one.place].condition if one.kind == FINDING else one.condition
            members[one.key] = new.regime == one.sign if condition is None else condition.rows(frame)
    return plan, Pool.of(plan.lines, new, reference.basis.of(new.X, new.confidence), members), rows


def dated(plan: MonitorPlan, pool: Pool, rows, draw: int) -> list:
    """Whether the interval of looks holds the true one, and how many looks it has: one value by 1 from look 11 on."""
    place = next((k for k, one in enumerate(plan.lines) if one.kind == VALUE and one.label.endswith(VALUES[1])), None)
    if place is None:
        return []
    rng, found = np.random.default_rng((draw, 12)), []
    changed = expit(clipped_logit(rows.rate) - (rows.subject == VALUES[1]))
    rows_at = drawing(rng, rows.rate, changed, 20)
    looked = [rows_at(look) for look in range(20)]
    for monitor in range(20):
        history = np.zeros((20, len(COLUMNS)))
        for look, (at, y) in enumerate(looked):
            history[look, -3] = pool.moment[y[monitor], at[monitor], place].sum()
            history[look, -2] = pool.information[at[monitor], place].sum()
        first, last, _ = likely_starts([replace(plan.lines[place], history=history)], 20)
        found.append([bool(first <= CALM_BEFORE + 1 <= last), last - first + 1])
    return found


def keys_of(args: argparse.Namespace) -> list[tuple]:
    """Keys of all monitors."""
    shifts = [one for one in CHANGES if one[0] != "inputs"]
    fits = {n: args.fits if n < SIZES[-1] else args.fits // 4 for n in SIZES}
    return [
        *(("cusum", *one, after, 0) for one in shifts for after in (0, CALM_ROWS)),
        *(("change", *one, after, draw) for draw in range(args.changed) for one in shifts for after in (0, CALM_ROWS)),
        *(("null", world, 0.0, 0, draw) for draw in range(args.draws) for world in (*NULLS, *JUDGED)),
        *(("change", *one, after, draw) for draw in range(args.changed // 5) for one in CHANGES if one[0] == "inputs"
          for after in (0, CALM_ROWS)),
        *(("fitted", "fitted", float(n), args.monitors // fits[n], draw) for n in SIZES for draw in range(fits[n])),
    ]  # fmt: skip


def limits(count: int, n: int) -> str:
    """Share in per cent with its 95 % interval (Clopper and Pearson)."""
    found = binomtest(count, n).proportion_ci(0.95)
    return f"{100 * count / n:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def too_many(count: int, n: int) -> bool:
    """Whether alarms are more than 5 %, beyond chance."""
    return bool(binomtest(count, n, SIGNIFICANCE, alternative="greater").pvalue < LEAST_P)


def show_fitted(args: argparse.Namespace, records: list[dict]) -> list[str]:
    rows, delays, dates, missed = [], [], [], []
    for n in SIZES:
        own = [one for one in records if one["kind"] == "fitted" and one["size"] == n]
        if not own:
            continue
        alarms, monitors = (sum(one[name] for one in own) for name in ("alarms", "monitors"))
        if too_many(alarms, monitors):
            missed.append(f"fitted, {n}")
        rows.append([n, len(own), monitors, CALM_LOOKS, alarms, limits(alarms, monitors)])
        for name in FITTED_CHANGES:
            waits = [np.inf if one is None else one for record in own for one in record["delays"][name]]
            delays.append([n, name, len(waits), *quantiles(waits, MOST_LOOKS * LOOK)])
        found = [one for record in own for one in record["dated"]]
        dates.append([n, len(found), limits(sum(one[0] for one in found), len(found)),
                      f"{np.median([one[1] for one in found]):.0f}"])  # fmt: skip
    head = ["rows learned from", "runs", "monitors", "looks of 100 rows", "alarms", "per cent (95 % interval)"]
    show(args, "monitor-fitted", "corrections as they are fitted, nothing changed", head, rows)
    head = ["rows learned from", "what changed after 1,000 rows", "monitors", "median rows until the alarm",
            "90 % quantile", "per cent seen within 20,000 rows"]  # fmt: skip
    show(
        args,
        "monitor-fitted-delays",
        "corrections as they are fitted: rows from a change until its alarm",
        head,
        delays,
    )
    head = ["rows learned from", "changes", "true look in the interval, per cent", "median looks of the interval"]
    show(args, "monitor-dates", "one value by 1 from look 11 of 20 on: is the look in the interval", head, dates)
    return missed


def quantiles(waits: list[float], most: int) -> list[str]:
    """Median and 90 % quantile of delays, and how many are finite."""
    found = [np.quantile(waits, q, method="inverted_cdf") for q in (0.5, 0.9)]
    told = [f"{q:,.0f}" if np.isfinite(q) else f"over {most:,}" for q in found]
    return [*told, f"{100 * np.mean(np.isfinite(waits)):.0f}"]


def show_delays(args: argparse.Namespace, records: list[dict]) -> None:
    rows = []
    for world, size in CHANGES:
        for after in (0, CALM_ROWS):
            own = [one for one in records if [one[name] for name in FIELDS[:-1]] == ["change", world, size, after]]
            beside = [one for one in records if [one[name] for name in FIELDS[:-1]] == ["cusum", world, size, after]]
            waits = [np.inf if one["rows"] is None else one["rows"] for one in own if not one["early"]]
            if waits:
                known = [f"{one['rows']:,.0f}" for one in beside] or [""]
                chunks = [chunk_rule(world, size)] if world != "inputs" else [""]
                rows.append([world, f"{size:g}", after, len(waits), *quantiles(waits, MOST_ROWS), *known, *chunks])
    head = ["what changed", "by", "calm rows before", "monitors", "median rows until the alarm", "90 % quantile",
            "per cent seen within 20,000 rows", "CUSUM that knows all", "three standard deviations"]  # fmt: skip
    show(args, "monitor-delays", "rows from a change until its alarm, in looks of 100 rows", head, rows)
    false = np.mean([chunk_alarm("calm", 0.0, 1_000, seed) is not None for seed in range(100)])
    print(f"\nthree standard deviations: {100 * false:.0f} % of monitors raise a false alarm within 1,000 looks")


def chunk_alarm(world: str, size: float, looks: int, seed: int) -> int | None:
    """Chunks until the mean of outcome less confidence is beyond three standard deviations of the run's chunks."""
    _, rate, tenth, _ = calm_pool()
    rng = np.random.default_rng((seed, round(100 * size), looks))

    def means(p: np.ndarray, moved: np.ndarray | float, chunks: int) -> np.ndarray:
        at = rng.integers(0, POOL, (chunks, LOOK))
        y = rng.random(at.shape) < expit(clipped_logit(p) + moved)[at]
        return (y - p[at]).mean(1)

    known = means(rate, 0.0, RUN_ROWS // LOOK)
    new = means(rate, size * (tenth if world == "tenth" else 1.0), looks)
    beyond = np.flatnonzero(np.abs(new - known.mean()) > 3 * known.std())
    return int(beyond[0]) + 1 if len(beyond) else None


def chunk_rule(world: str, size: float) -> str:
    """Median rows until an alarm of that rule."""
    found = [chunk_alarm(world, size, MOST_ROWS // LOOK, seed) for seed in range(100)]
    return quantiles([np.inf if one is None else one * LOOK for one in found], MOST_ROWS)[0]


def show_nulls(args: argparse.Namespace, records: list[dict]) -> list[str]:
    rows, missed = [], []
    for world in (*NULLS, *JUDGED):
        own = [one for one in records if (one["kind"], one["world"]) == ("null", world)]
        if not own:
            continue
        key = JUDGED.get(world)
        bad = sum(key in one["answered"] if key else one["alarm"] for one in own)
        advice = sum(one["advice"] for one in own)
        if too_many(bad, len(own)) and world not in EXPECTED_TO_FAIL:
            missed.append(world)
        told = "" if key or world in EXPECTED_TO_FAIL else limits(advice, len(own))
        rows.append([world, key or "any alarm", len(own), limits(bad, len(own)), told])
    head = ["world", "judged", "monitors", "per cent answered or alarmed (95 % interval)", "per cent advised to refit"]
    show(args, "monitor-false-alarms", "a correction that is right, nothing changed: 10 looks of 500 rows", head, rows)
    return missed


def main() -> None:
    args = options(__doc__, "monitor", fits=40, monitors=200, draws=100, changed=100).parse_args()
    store = results(args, FIELDS, keys_of(args), one_draw)
    records = list(store.records.values())
    missed = show_fitted(args, records)
    show_delays(args, records)
    missed += show_nulls(args, records)
    met = target(f"no more alarms than 5 % where nothing changed; missed in {', '.join(missed) or 'none'}", not missed)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
