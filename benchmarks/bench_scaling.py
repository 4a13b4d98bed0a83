"""What miscal costs against rows, columns, bank, grid and neighbours, with floors, power laws and one plot.

    python benchmarks/bench_scaling.py                          small cells, some minutes
    python benchmarks/bench_scaling.py --full --out DIR         all cells, about an hour of two cores
    python benchmarks/bench_scaling.py --stages                 seconds of each stage of discover, five sizes

discover     `miscal discover` with its default settings (every row is evaluated, the map by t-SNE), from a parquet and
an
             .npy file to the report, on made embeddings with planted topics (miscal.study.synthetic.worlds.planted), in
             processes of its own; peak memory is that of all of them together. Floor: products that the Nystrom
             features need (see nystrom_flops), divided by the rate of such products on all cores, measured right after.
             "Rest" is what no stage holds: imports, reading, writing and the report.
stream       estimates at new rows by a fitted field, as a pass over rows that do not fit in memory would ask for.
bank, grid   smoothing of 9,103 queries against the bank's size; training of a grid against its settings. Floors: the
             same tiles or steps, products and exponentials only.
neighbours   the k nearest bank rows (exact search; faiss where installed) against the whole bank: time and error.
plain        the paper's training as a plain loop, extrapolated from the steps measured, against discover end to end.

Fails where auto is not faster than the plain loop, or where discover takes longer than its target at 384 columns.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from _scaling_cells import CELLS, GRID_EPOCHS, GRID_FEATURES, GRID_ROWS, NEIGHBOUR_QUERIES, QUERIES, WIDTH, cell
from _script import options, results, show, target

FIELDS = ("part", "n", "d", "setting")
N, D = 12_000, 384
ROWS, COLUMNS = (500, 2_000, N, 50_000, 200_000), (16, D, 1_024, 4_096)
BANKS = (2_500, 5_000, 10_000, 20_000)
GRIDS = ("1 x 1", "2 x 1", "3 x 2", "6 x 2", "6 x 4")
BANDWIDTHS = ("0.3", "0.6")
NEIGHBOUR_BANKS = (20_000, 200_000)
STREAM = (24_000, D, "16384")
PLAIN = (70_000, 4_096)
TARGETS = {500: 6, 2_000: 10, N: 30, 50_000: 90, 200_000: 240}
"""Wall seconds of discover on two idle cores, by rows of `D` columns."""
STAGES = ("field", "regimes", "findings", "answer", "measures", "map")


def wanted(parts: list[str], full: bool) -> list[tuple]:
    """Keys of the cells, small ones first."""
    short = slice(None) if full else slice(2)
    cells = {
        "discover": sorted(
            {(n, D) for n in ROWS[: None if full else 3]} | {(N, d) for d in COLUMNS[short]}, key=np.prod
        ),
        "stream": [STREAM] if full else [],
        "bank": [(n, WIDTH, "0.3") for n in BANKS[short]],
        "grid": [(GRID_ROWS, GRID_FEATURES, grid) for grid in GRIDS[: None if full else 3]],
        "neighbours": [(n, WIDTH, s) for n in (NEIGHBOUR_BANKS if full else BANKS[1:2]) for s in BANDWIDTHS],
        "plain": [(*PLAIN, "100 epochs")] if full else [],
    }
    keys = [(part, *(c if len(c) == 3 else (*c, "auto"))) for part in parts for c in cells[part]]
    return keys + ([("discover", *PLAIN, "auto")] if full and "plain" in parts else [])


def power_law(sizes: list[float], costs: list[float]) -> tuple[float, float]:
    """Exponents of cost against size: the least-squares slope in logarithms, and the slope of the last two."""
    x, y = np.log(sizes), np.log(costs)
    return float(np.polyfit(x, y, 1)[0]), float((y[-1] - y[-2]) / (x[-1] - x[-2]))


def show_discover(args: argparse.Namespace, records: list[dict]) -> None:
    form = {"n": ",", "d": ",", "seconds": ".1f", "cpu_seconds": ".1f", "peak_mb": ",.0f", "largest_mb": ",.0f",
            "gflop": ",.0f", "rate": ".0f", "floor": ".2f", "ratio": ".0f", "field": ".1f", "load": ".1f"}  # fmt: skip
    rows = [r | {"ratio": r["seconds"] / r["floor"], "field": r["stages"]["field"]} for r in records]
    rows.sort(key=lambda r: (r["d"] != D, r["n"]))
    head = ["n", "d", "wall s", "processor s", "peak MB, all processes", "largest process MB", "GFLOP", "GFLOP/s",
            "floor s", "wall / floor", "field s", "load before"]  # fmt: skip
    show(args, "scaling-discover", "discover", head, [[format(r[k], f) for k, f in form.items()] for r in rows])
    for name in ("n", "d"):
        line = along(records, name)
        if len(line) > 1:
            print()
            for what, unit in {
                "seconds": "wall seconds",
                "cpu_seconds": "processor seconds",
                "peak_mb": "memory",
            }.items():
                all_, last = power_law([r[name] for r in line], [r[what] for r in line])
                print(f"- {unit} ~ {name}^{all_:.2f} over {len(line)} sizes, ^{last:.2f} between the last two")


def show_stages(args: argparse.Namespace, records: list[dict]) -> None:
    """Show where the time goes at each number of rows, beside the target and the floor."""
    rows = []
    for r in along(records, "n"):
        # what was measured before there was such a stage is part of another
        seconds = [r["stages"].get(name, 0.0) for name in STAGES]
        parts = [*seconds, r["seconds"] - sum(seconds)]
        times = [f"{r['seconds']:.1f}", f"{r['cpu_seconds']:.1f}", TARGETS[r["n"]], f"{r['floor']:.2f}"]
        shares = [f"{100 * part / r['seconds']:.0f} %" for part in parts]
        rows.append([r["n"], *times, *shares, f"{r['peak_mb']:,.0f}", f"{r['load']:.1f}"])
    head = ["rows", "wall s", "processor s", "target s", "floor s", *STAGES, "rest", "peak MB", "load before"]
    if rows:
        show(args, "scaling-stages", f"discover, {D} columns: shares of the wall clock by stage", head, rows)


def along(records: list[dict], name: str) -> list[dict]:
    """Records of discover along one axis, the other as in the middle cell."""
    fixed, value = {"n": ("d", D), "d": ("n", N)}[name]
    return sorted((r for r in records if r[fixed] == value), key=lambda r: r[name])


def print_stream(args: argparse.Namespace, records: list[dict]) -> None:
    for r in records:
        rows = int(r["setting"])
        print(f"\nEstimates at {rows:,} new rows of {r['d']} columns, bank {r['bank']:,}, one thread:")
        print(f"{rows / r['seconds']:,.0f} rows a second, {rows / r['cpu_seconds']:,.0f} of processor time")


def show_bank(args: argparse.Namespace, records: list[dict]) -> None:
    title = f"Smoothing of {QUERIES:,} queries, width {WIDTH}, one thread"
    _show_floors(args, "scaling-bank", title, "bank rows", {f"{r['n']:,}": (r["n"], r) for r in records})


def show_grid(args: argparse.Namespace, records: list[dict]) -> None:
    title = f"Training of a grid, {GRID_ROWS:,} x {GRID_FEATURES}, {GRID_EPOCHS} epochs, one thread"
    sizes = {r["setting"]: (int(np.prod([int(k) for k in r["setting"].split(" x ")])), r) for r in records}
    _show_floors(args, "scaling-grid", title, "sigmas x lambdas", sizes)


def _show_floors(args: argparse.Namespace, name: str, title: str, axis: str, sizes: dict[str, tuple]) -> None:
    """Show seconds beside their floor, and the power law of the seconds, by {label: (size, record)}."""
    rows = [[label, f"{r['seconds']:.3f}", f"{r['floor']:.3f}", f"{r['seconds'] / r['floor']:.2f}"]
            for label, (_, r) in sizes.items()]  # fmt: skip
    show(args, name, title, [axis, "s", "floor s", "ratio"], rows)
    if len(rows) > 1:
        all_, last = power_law([size for size, _ in sizes.values()], [r["seconds"] for _, r in sizes.values()])
        print(f"\nseconds ~ size^{all_:.2f}, ^{last:.2f} between the last two")


def show_neighbours(args: argparse.Namespace, records: list[dict]) -> None:
    rows = []
    for r, c in [(record, found) for record in records for found in record["rows"]]:
        times = f"{c['seconds']:.3f}", f"{c['whole']:.3f}", f"{c['whole'] / c['seconds']:.2f}"
        errors = f"{c['rms']:.4f}", f"{c['max']:.4f}"
        rows.append([r["n"], r["setting"], f"{r['mass']:.0f}", str(c["k"]), c["method"], *times, *errors])
    head = [
        "bank",
        "sigma",
        "median mass",
        "k",
        "search",
        "s",
        "whole bank s",
        "times faster",
        "RMS error",
        "max error",
    ]
    show(
        args,
        "scaling-neighbours",
        f"Neighbours of {NEIGHBOUR_QUERIES:,} queries, width {WIDTH}, one thread",
        head,
        rows,
    )


SHOWN = {"discover": show_discover, "stream": print_stream, "bank": show_bank, "grid": show_grid,
         "neighbours": show_neighbours}  # fmt: skip


def judge(records: dict[tuple, dict]) -> bool:
    """Print the targets that can be judged; say whether all are met."""
    met = True
    for n, most in TARGETS.items():
        if one := records.get(("discover", n, D, "auto")):
            line = f"discover, auto, {n:,} x {D}: {one['seconds']:.1f} s (target {most})"
            met &= target(line, one["seconds"] <= most)
    plain, auto = records.get(("plain", *PLAIN, "100 epochs")), records.get(("discover", *PLAIN, "auto"))
    if plain and auto:
        line = (
            f"{PLAIN[0]:,} x {PLAIN[1]:,}: discover, auto, end to end {auto['seconds']:.0f} s; plain loop, training "
            f"steps of 100 epochs {plain['seconds']:.0f} s with {plain['threads']} thread(s), extrapolated from "
            f"{plain['steps']} steps of {1000 * plain['per_step']:.0f} ms, {plain['steps_per_epoch']} an epoch"
        )
        met &= target(line, auto["seconds"] < plain["seconds"])
    return met


def report(args: argparse.Namespace, records: dict[tuple, dict]) -> bool:
    """Print all tables, and say whether the targets are met."""
    for part, shown in SHOWN.items():
        if own := [record for record in records.values() if record["part"] == part]:
            shown(args, own)
            if part == "discover":
                show_stages(args, own)
    met = judge(records)
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "lightgbm"))
    print(f"\n{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}, {versions}")
    return met


def main() -> int:
    parser = options(__doc__, "scaling", parts=list(CELLS))
    parser.add_argument("--full", action="store_true", help="the large cells too")
    parser.add_argument("--stages", action="store_true", help="discover at every number of rows, and nothing else")
    parser.add_argument("--only", metavar="N,D", help="of discover, this cell alone")
    parser.add_argument("--out", type=Path, help="folder for scaling.svg and scaling.png")
    args = parser.parse_args()
    keys = [("discover", n, D, "auto") for n in ROWS] if args.stages else wanted(args.parts, args.full)
    if args.only:
        n, d = map(int, args.only.split(","))
        keys = [key for key in keys if key[:3] == ("discover", n, d)]
    records = results(args, FIELDS, keys, cell).records
    met = report(args, records)
    if args.out:
        from _scaling_plot import draw

        cells = [record for record in records.values() if record["part"] == "discover"]
        draw({name: along(cells, name) for name in ("n", "d")}, args.out)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
