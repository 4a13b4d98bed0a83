"""Seconds and memory of `miscal scan` by rows, beside reading the same columns once.

    python benchmarks/bench_scan.py [--rows 1000000 10000000] [--findings 10] [--folder DIR] [--csv benchmarks/notes]

DuckDB makes rows of ten columns with a known hidden error: four of texts (6 to 200 values), four of numbers, a date
and a truth value. Planted are a value, a pair of values, an interval, a trend and a slope; the more rows there are, the
more bins and pairs around these are findings, too. Each size is scanned in a process of its own, whose largest memory
is told. The floor is one query that reads all columns: the largest value of each. As it lies is with `--stage never`:
nothing is first written, coded, into a temporary file; left out of sizes above 10,000,000. Target, of 100,000,000 rows
on two processors: 360 s with 10 findings, and 1.5 GB.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from _script import options, show, target

ROWS, LARGE, SECONDS, MEGABYTES = (1_000_000, 10_000_000), 100_000_000, 360, 1_500
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
SCANNED = """
import json, resource, sys, time
start = time.perf_counter()
from dataclasses import replace
import miscal
from miscal.runs.scan import command
if sys.argv[3] != "0":
    command.SCAN_SETTINGS = replace(command.SCAN_SETTINGS, max_findings=int(sys.argv[3]))
found = miscal.scan(sys.argv[1], probability="risk", event="late", stage=sys.argv[2])
seconds = time.perf_counter() - start
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
one = found.summary
print(json.dumps(dict(seconds=seconds, megabytes=megabytes, findings=len(one.findings), queries=one.questions,
                      cells=one.cells, groups=found.findings["group"].to_list())))
"""
COLUMNS = ("risk", "late", "carrier", "route", "region", "type", "hour", "age", "distance", "price", "day", "member")


def measured(rows: int, folder: Path, findings: int) -> dict:
    """Make rows, read them once, and scan them."""
    path = folder / f"{rows}.parquet"
    if not path.exists():
        duckdb.sql("select setseed(0.5)")
        duckdb.sql(MADE.format(rows=rows, path=path))
    asked = ", ".join(f"max({name})" for name in COLUMNS)
    start = time.perf_counter()
    duckdb.sql(f"select {asked} from '{path}'").fetchall()
    floor = time.perf_counter() - start
    found = {"rows": rows, "floor": floor, "bytes": path.stat().st_size}
    for how in ("auto", "never") if rows < LARGE else ("auto",):
        command = [sys.executable, "-c", SCANNED, str(path), how, str(findings)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        found[how] = json.loads(said.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure each size."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--findings", type=int, default=0, help="stop after so many; default: 20, as scans do")
    parser.add_argument("--folder", type=Path, help="where rows are made, and kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = args.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        found = [measured(rows, folder, args.findings) for rows in args.rows]
    heads = ("rows", "scan, s", "as it lies, s", "read once, s", "memory, MB", "findings", "queries", "cells")
    shown = []
    for one in found:
        auto, never = one["auto"], one.get("never")
        lies = f"{never['seconds']:.0f}" if never else ""
        times = [f"{auto['seconds']:.0f}", lies, f"{one['floor']:.2f}", f"{auto['megabytes']:,.0f}"]
        shown.append([f"{one['rows']:,}", *times, auto["findings"], auto["queries"], f"{auto['cells']:,}"])
    show(args, "scan", "scan by rows", heads, shown)
    largest = found[-1]["auto"]
    print("\n".join(f"  {name}" for name in largest["groups"]))
    if found[-1]["rows"] >= LARGE:
        met = [
            target(f"{SECONDS} s with {largest['findings']} findings", largest["seconds"] <= SECONDS),
            target(f"{MEGABYTES:,} MB", largest["megabytes"] <= MEGABYTES),
        ]
        sys.exit(not all(met))


if __name__ == "__main__":
    main()
