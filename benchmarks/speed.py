"""How long does it take, and how much memory, beside the peer and the floor of the same run?

    python benchmarks/speed.py [--part smece kernel] [--rows 500 2000] [--rounds 3] [--full] [--csv benchmarks/notes]

Parts, each a table and its targets; a floor is the arithmetic alone, or one pass over the data:

    install      core from an empty environment to its first report, from a warm package cache; its size on disk
                 (without pip and setuptools, which every environment has); and the import
    discover     `miscal discover` of planted embeddings, from file to report on all cores, by rows at 384 columns; with
                 --full up to 200,000 rows, and 12,000 rows by columns. Floor: products of the Nystrom features, at the
                 rate of such products right after. Rest is what no stage holds: imports, reading, writing, the report
    smece        SmoothECE beside relplot, and its bootstrap beside a loop over relplot that is timed on a few resamples
    kernel       exact smoothing and an epoch of the paper's training, one thread, beside the same products and
                 exponentials (_speed_kernels.py)
    corrections  `calibrate`: rows a second of one core, memory of a million rows (ten with --full), the first answer
                 (_speed_kernels.py)
    scan         `miscal scan` of rows that DuckDB makes, beside one query that reads the same columns. As it lies: with
                 nothing first written into a temporary file (up to 10,000,000 rows); --findings 10 stops after ten
    import       `miscal import decisions` of 3,000 items with 5 repeats of 3 questions, beside parsing the lines
    scoring      questions of --mmlu FILE beside lm-evaluation-harness, of --harness PYTHON (_speed_scoring.py)

Seconds are of the processor where one thread works, the least or the median of --rounds in turn with the floor, so that
other work on the machine weighs little; else they are those of the wall. How long a user waits: bench_waiting.py.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from _measure import apart, gemm_rate, in_turn, measured, write_planted
from _script import limit_threads, options, show, target
from _speed_kernels import corrections, kernel

ROOT = Path(__file__).parents[1]
VERSION = "{}.{}".format(*sys.version_info)
LOCK = ROOT / f"requirements-core{'' if VERSION == '3.11' else f'-{VERSION}'}.lock"
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
MEGABYTES, SECONDS, IMPORT, LARGEST = 550, 60.0, 0.15, 8
TIMED = "import time; t = time.perf_counter(); import miscal; print(time.perf_counter() - t)"


def install(args: argparse.Namespace) -> bool:
    """Build the wheel, install it with what it needs, and run the demo, as a user would."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OMP_"))}

    def run(*command: str | Path):
        return measured(*command, environment=clean)

    with tempfile.TemporaryDirectory() as folder:
        place, pip = Path(folder), ("-m", "pip", "-q", "--disable-pip-version-check")
        cache, python = place / "cache", place / "venv" / "bin" / "python"
        run(sys.executable, *pip, "wheel", "--no-deps", "--no-build-isolation", "-w", cache, ROOT)
        run(sys.executable, *pip, "download", "--no-deps", "-d", cache, "-r", LOCK)
        offline = ("install", "--no-deps", "--no-index", "--find-links", cache)
        steps = {
            "environment": run(sys.executable, "-m", "venv", place / "venv"),
            "packages": run(python, *pip, *offline, "-r", LOCK, *cache.glob("miscal-*.whl")),
            "demo": run(python.with_name("miscal"), "demo", "--out", place / "demo"),
        }
        size: Counter[str] = Counter()
        packages = next((place / "venv").glob("lib/python*/site-packages"))
        for path in packages.rglob("*"):
            name = path.relative_to(packages).parts[0]
            if path.is_file() and not name.startswith(NOT_OURS):
                size[name] += path.stat().st_size / 1e6
        imported = float(np.median([float(run(python, "-c", TIMED).said) for _ in range(9)]))
    spent = {name: (used.seconds, used.cpu_seconds) for name, used in steps.items()}
    spent["all"] = tuple(map(sum, zip(*spent.values(), strict=True)))
    rows = [[name, f"{wall:.1f}", f"{cpu:.1f}"] for name, (wall, cpu) in spent.items()]
    show(args, "install", "from an empty environment to the first report", ["step", "wall s", "processor s"], rows)
    largest = size.most_common(LARGEST)
    rest = size.total() - sum(value for _, value in largest)
    rows = [*largest, (f"{len(size) - len(largest)} others", rest), ("all", size.total())]
    rows = [[name, f"{value:.0f}"] for name, value in rows]
    show(args, "install-size", "size on disk", ["in site-packages", "MB"], rows)
    whole = spent["all"][0]
    return all([
        target(f"core takes {size.total():.0f} MB (at most {MEGABYTES})", size.total() <= MEGABYTES),
        target(f"first report after {whole:.1f} s (at most {SECONDS:.0f})", whole <= SECONDS),
        target(f"import miscal {imported:.3f} s, median of 9 (below {IMPORT})", imported < IMPORT),
    ])  # fmt: skip


N, D, COLUMNS = 12_000, 384, (16, 1_024, 4_096)
TARGETS = {500: 6, 2_000: 10, N: 30, 50_000: 90, 200_000: 240}
"""Wall seconds of discover on two idle cores, by rows of `D` columns."""
STAGES = ("field", "regimes", "findings", "answer", "measures", "map")
TILE, LANDMARKS = 8_192, 300  # of every kernel score of auto


def discover(args: argparse.Namespace) -> bool:
    """Run discover on each size in processes of its own, with the rate of products measured right after it."""
    sizes = [(n, D) for n in args.rows or list(TARGETS)[: None if args.full else 3]]
    shown, met = [], True
    for n, d in [*sizes, *((N, d) for d in COLUMNS if args.full)]:
        with tempfile.TemporaryDirectory() as folder:
            rows, x, out = (Path(folder) / name for name in ("rows.parquet", "x.npy", "run"))
            apart(write_planted, rows, x, n, d)
            busy = os.getloadavg()[0]
            command = (sys.executable, "-m", "miscal", "discover", rows, "--embeddings", x, "--names-only", "topic")
            used = measured(*command, "--out", out)
            timing = json.loads((out / "summary.json").read_text())["timing"]
        floor = 1e-9 * nystrom_flops(n, d) / apart(gemm_rate, TILE, LANDMARKS, LANDMARKS)
        stages = [timing.get(name, 0.0) for name in STAGES]
        parts = [f"{100 * part / used.seconds:.0f} %" for part in (*stages, used.seconds - sum(stages))]
        most = TARGETS.get(n) if d == D else None
        times = [f"{used.seconds:.1f}", f"{used.cpu_seconds:.1f}", most or "", f"{floor:.2f}"]
        shown.append([n, d, *times, *parts, f"{used.peak_mb:,.0f}", f"{busy:.1f}"])
        if most:
            met &= target(f"discover, {n:,} x {d}: {used.seconds:.1f} s (target {most})", used.seconds <= most)
    head = ["rows", "columns", "wall s", "processor s", "target s", "floor s", *STAGES, "rest", "peak MB",
            "load before"]  # fmt: skip
    show(args, "scaling-stages", "discover: shares of the wall clock by stage", head, shown)
    return met


def nystrom_flops(n: int, d: int) -> float:
    """Multiplications and additions of the products that the Nystrom features of `discover` need.

    Per fit: covariance and rotation to 384 components where d > 384; per kernel score the kernel between rows and
    landmarks, the whitening, and one normal matrix (the folds' are sums of its parts); the kernel at the rows
    estimated. Fits, where every row is evaluated: one on all rows, one on all folds but each, and one on the folds
    before each but the first and the last.
    """
    folds = 10 if n < 1_000 else 4 if n <= 50_000 else 3
    fold = n / folds
    forward = sum(_fit_flops(k * fold, fold, d) for k in range(1, folds - 1))
    return _fit_flops(n, 0.0, d) + folds * _fit_flops(n - fold, fold, d) + forward


def _fit_flops(rows: float, queries: float, d: int) -> float:
    p, m = min(d, 384), LANDMARKS
    widths = [p] * 4 if d <= 16 else [p] * 4 + ([14, 14] if rows >= 2_000 else [p])
    scores = sum(2 * rows * (w * m + 2 * m * m) + 2 * queries * w * m for w in widths)
    wide = d > 384
    return scores + wide * (2 * min(rows, 20_000) * d * d + 2 * (rows + queries) * d * 384)


CASES: dict[str, tuple[Callable, Callable]] = {
    "over-confident": (lambda u: u, lambda f: 0.5 + 0.6 * (f - 0.5)),
    "calibrated": (lambda u: u, lambda f: f),
    "saturated, 0.9 to 1": (lambda u: 0.9 + 0.1 * u, lambda f: np.full(len(f), 0.6)),
    "alternating by 0.05": (lambda u: u, lambda f: np.clip(f + 0.05 * np.sign(np.sin(8 * math.pi * f)), 0, 1)),
}
BOOTSTRAPPED, SIZES = ("over-confident", "calibrated"), (1_000, 10_000, 100_000, 1_000_000)
TIMES, LOOPED, DRAWS = 10, 20, 1_000


def smece(args: argparse.Namespace) -> bool:
    """Time a value and 1,000 bootstraps, by case and rows."""
    limit_threads()
    found = [_smece_rows(case, n, args.rounds) for case in CASES for n in args.rows or SIZES]
    points, draws = [point for point, _ in found], [draw for _, draw in found if draw]
    head = ["case", "n", "smECE", "relplot minus it", "ours ms", "relplot ms", "binning ms", "floor ms", "ratio"]
    show(args, "smece", "smECE, processor time", head, points)
    head = ["case", "n", "relplot loop s", "own loop s", "batched s", "null draws s", "ratio"]
    show(args, "smece-bootstrap", f"{DRAWS} bootstraps", head, draws)
    least = [min(float(row[-1]) for row in table) for table in (points, draws)]
    line = f"{least[0]} times as fast as relplot (target {TIMES}), {least[1]:.0f} times as fast as a loop over it"
    return target(f"{line} (target {LOOPED})", least[0] >= TIMES and least[1] >= LOOPED)


def _smece_rows(case: str, n: int, rounds: int) -> tuple[list, list]:
    """A row of each table; of two cases the second. Binning is the one pass that must touch every row, the floor sums
    both arrays."""
    import relplot

    from miscal.calibration.labelled_rows import check_rows
    from miscal.calibration.metrics.confidence_cells import merge, simulate, smece_statistic
    from miscal.calibration.metrics.inference import null_draws
    from miscal.calibration.metrics.smooth import bin_residuals, cells_of_rows, smece

    rng, (place, chance) = np.random.default_rng(n), CASES[case]
    f = place(rng.random(n))
    y = (rng.random(n) < chance(f)).astype(float)
    ways = (
        lambda: smece(y, f), lambda: relplot.smECE(f, y), lambda: bin_residuals(f, (y - f) / n, cells_of_rows(n)),
        lambda: y.sum() + f.sum(),
    )  # fmt: skip
    # one after the other, not in turn: calls of a quarter of a millisecond live from what the cache holds
    times = [np.median(in_turn(rounds if n >= 100_000 else 10 * rounds, way)) for way in ways]
    value = smece(y, f)
    point = [case, n, f"{value:.5f}", f"{relplot.smECE(f, y) - value:+.1e}"]
    point += [*(f"{1e3 * t:.3g}" for t in times), f"{times[1] / times[0]:.1f}"]
    if case not in BOOTSTRAPPED:
        return point, []
    rng = np.random.default_rng(0)

    def resampled(statistic: Callable) -> None:
        index = rng.integers(n, size=n)
        statistic(y[index], f[index])

    loops = (lambda: resampled(lambda a, b: relplot.smECE(b, a)), lambda: resampled(smece))

    def bootstrap() -> None:
        cells = merge(check_rows(y, f))
        simulate(cells, None, smece_statistic(cells), DRAWS, np.random.default_rng(0), resample=True)

    def null() -> None:
        cells = merge(check_rows(np.zeros(n), f))
        null_draws(cells, smece_statistic(cells), DRAWS, 0)

    batches = (bootstrap, null)
    looped = [DRAWS * np.median(in_turn(max(3, min(40, 200_000 // n)), loop)) for loop in loops]
    batched = [np.median(in_turn(3, batch)) for batch in batches]
    return point, [case, n, *(f"{t:.3g}" for t in (*looped, *batched)), f"{looped[0] / batched[0]:.0f}"]


LARGE, LARGE_SECONDS, LARGE_MEGABYTES = 100_000_000, 360, 1_500
ITEMS, REPEATS, IMPORT_SECONDS = 3_000, 5, 5.0
MADE = """
copy (
    with drawn as (
        select
            greatest(least(0.5 + 0.22 * (random() + random() + random() - 1.5) * 1.6, 0.999), 0.001) as risk,
            'carrier ' || (random() * 6)::int as carrier,
            'route ' || (random() * random() * 200)::int as route,
            (['north', 'south', 'east', 'west'])[1 + (random() * 3.99)::int] as region,
            'type ' || (random() * 30)::int as type,
            (random() * 23.99)::int as hour,
            18 + (random() * 70)::int as age,
            round((random() + random()) * 500, 1) as distance,
            -ln(random() + 1e-9) * 40 as price,
            date '2024-01-01' + (random() * 700)::int as day,
            random() < 0.3 as member
        from range({rows})
    ), odds as (
        select *, ln(risk / (1 - risk)) as base from drawn
    )
    select
        * exclude (base),
        (random() < 1 / (1 + exp(-(
            case when region = 'west' then 0.3 else 1 end * base
            + case when carrier = 'carrier 2' then 0.25 else 0 end
            + case when region = 'south' and carrier = 'carrier 4' then -0.4 else 0 end
            + case when hour between 6 and 9 then 0.2 else 0 end
            + 0.004 * (age - 53)
        ))))::int as late
    from odds
) to '{path}' (format parquet)
"""
"""Four texts of 6 to 200 values, four numbers, a date and a truth value; planted are a value, a pair, an interval, a
trend and a slope. The more rows, the more bins and pairs around these are findings, too."""
READ = ["risk", "late", "carrier", "route", "region", "type", "hour", "age", "distance", "price", "day", "member"]
SCANNED = """
import json, sys, time
start = time.perf_counter()
from dataclasses import replace
import miscal
from miscal.runs.scan import command
if sys.argv[3] != "0":
    command.SCAN_SETTINGS = replace(command.SCAN_SETTINGS, max_findings=int(sys.argv[3]))
found = miscal.scan(sys.argv[1], probability="risk", event="late", stage=sys.argv[2])
one = found.summary
print(json.dumps([time.perf_counter() - start, len(one.findings), one.questions, one.cells]))
"""


def scan(args: argparse.Namespace) -> bool:
    """Make rows, read them once, and scan them in a process of its own."""
    import duckdb

    shown, met = [], True
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for rows in args.rows or (1_000_000, 10_000_000):
            path = Path(folder) / f"{rows}.parquet"
            duckdb.sql("select setseed(0.5)")
            duckdb.sql(MADE.format(rows=rows, path=path))
            query = f"select {', '.join(f'max({name})' for name in READ)} from '{path}'"
            start = time.perf_counter()
            duckdb.sql(query).fetchall()
            floor, told = time.perf_counter() - start, {}
            for how in ("auto", "never") if rows < LARGE else ("auto",):
                used = measured(sys.executable, "-c", SCANNED, path, how, str(args.findings))
                told[how] = (*json.loads(used.said.splitlines()[-1]), used.peak_mb)
            seconds, findings, queries, cells, megabytes = told["auto"]
            lies = f"{told['never'][0]:.0f}" if "never" in told else ""
            shown.append([rows, f"{seconds:.0f}", lies, f"{floor:.2f}", f"{megabytes:,.0f}", findings, queries, cells])
            if rows >= LARGE:
                met &= target(f"{LARGE_SECONDS} s with {findings} findings", seconds <= LARGE_SECONDS)
                met &= target(f"{LARGE_MEGABYTES:,} MB", megabytes <= LARGE_MEGABYTES)
    head = ["rows", "scan, s", "as it lies, s", "read once, s", "memory, MB", "findings", "queries", "cells"]
    show(args, "scan", "scan by rows", head, shown)
    return met


def import_(args: argparse.Namespace) -> bool:
    """Import a log of a decision model in a process of its own."""
    rng, kinds = np.random.default_rng(0), {"type": "choice", "criteria": {"yes": None, "no": None, "unsure": None}}
    questions, met, shown = {f"q{k}": kinds for k in range(3)}, True, []
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        log, out = Path(folder) / "log.jsonl", Path(folder) / "data.parquet"
        with log.open("w") as stream:
            for row in range(ITEMS * REPEATS):
                shares = rng.dirichlet(np.ones(3), 3).round(2).tolist()
                answers = {
                    name: {"type": "choice", "probabilities": dict(zip(kinds["criteria"], share, strict=True))}
                    for name, share in zip(questions, shares, strict=True)
                }
                item = {"id": row % ITEMS, "epoch": row // ITEMS, "labels": dict.fromkeys(questions, "yes")}
                state = {"text": " ".join(map(str, rng.integers(0, 10_000, 40)))}
                request = {"state": state, "questions": questions}
                stream.write(json.dumps({**item, "request": request, "response": {"answers": answers}}) + "\n")
        start = time.process_time()
        for line in log.read_text().splitlines():
            json.loads(line)
        floor = time.process_time() - start
        used = measured(sys.executable, "-m", "miscal", "import", "decisions", log, "--out", out)
        shown.append([3 * ITEMS * REPEATS, f"{used.seconds:.1f}", f"{used.cpu_seconds:.1f}", f"{floor:.2f}"])
        met = target(f"{IMPORT_SECONDS} s", used.cpu_seconds <= IMPORT_SECONDS)
    show(args, "import", "import of decisions", ["rows", "wall, s", "processor, s", "lines parsed, s"], shown)
    return met


def scoring(args: argparse.Namespace) -> bool:
    """Score a language model, which needs torch."""
    from _speed_scoring import scoring

    return scoring(args)


PARTS = {"install": install, "discover": discover, "smece": smece, "kernel": kernel, "corrections": corrections,
         "scan": scan, "import": import_, "scoring": scoring}  # fmt: skip


def main() -> int:
    """Measure the parts, and return 1 if a target is missed."""
    parser = options(__doc__, rounds=5, findings=0)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), help="default: all, scoring only with --mmlu")
    parser.add_argument("--rows", type=int, nargs="+", help="sizes; default: as each part has them")
    parser.add_argument("--full", action="store_true", help="the large sizes too, an hour")
    parser.add_argument("--folder", type=Path, help="for large files; default: that of temporary files")
    parser.add_argument("--mmlu", type=Path, help="parquet file of questions")
    parser.add_argument("--harness", help="python of an environment with lm-eval 0.4.13")
    args = parser.parse_args()
    asked = args.part or [name for name in PARTS if name != "scoring" or args.mmlu]
    met = [PARTS[name](args) for name in asked]
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
