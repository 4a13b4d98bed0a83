"""Fuzz readers, importers and loaders with damaged and made-up files: the outcome is valid, or an error of ours.

Hypothesis draws edits of a valid file: bits, bytes, cuts, pieces moved or repeated, and for JSON values of other types
anywhere. Saved models and runs get their checksums renewed after the edit, as somebody who means harm would.

    python benchmarks/fuzz.py --minutes 12
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, Phase, given, seed, settings

from _fuzz_readers import data_targets, log_targets, plan_targets
from _fuzz_saved import model_targets, monitor_targets, run_targets
from _fuzz_target import Target

BATCH = 100

GROUPS = {
    "data": data_targets, "logs": log_targets, "models": model_targets, "runs": run_targets,
    "monitors": monitor_targets, "plans": plan_targets,
}  # fmt: skip


def fuzz(target: Target, seconds: float, number: int) -> None:
    """Try a target for so long, and tell of every batch."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()

        @seed(number)
        @settings(
            max_examples=BATCH, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(target.inputs)
        def batch(drawn: Any) -> None:
            if time.monotonic() < end:
                target.try_one(drawn)

        print(json.dumps({"name": target.name, "begun": number}), flush=True)
        batch()
        told = {name: getattr(target, name) for name in ("name", "examples", "refused", "failures", "first")}
        print(json.dumps(told | {"seconds": time.monotonic() - begun}), flush=True)
        target.examples = target.refused = 0
        target.failures, target.first = Counter(), {}
        number += 1


def work(group: str, left: dict[str, float], number: int) -> None:
    """Fuzz the targets of a group, in a process of their own: a library written in Rust may end it."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        targets = GROUPS[group](Path(name))
        print(json.dumps({"targets": [target.name for target in targets]}), flush=True)
        for target in targets:
            fuzz(target, left.get(target.name, left["*"] / len(targets)), number)


@dataclass
class Result:
    """What is known of a target."""

    examples: int = 0
    refused: int = 0
    failures: Counter = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)


def supervise(group: str, seconds: float, number: int) -> dict[str, Result]:
    """Run a group until the time of each target is spent, again after a process that ended."""
    left: dict[str, float] = {"*": seconds}
    results: dict[str, Result] = {}
    while True:
        command = [sys.executable, __file__, "--group", group, "--left", json.dumps(left), "--seed", str(number)]
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        now = ""
        for line in process.stdout.splitlines():
            now, number = _take(json.loads(line), results, left, now, number)
        if process.returncode == 0:
            return results
        key = f"the process ended by signal {-process.returncode}"
        results[now].failures[key] += 1
        results[now].first.setdefault(key, f"with seed {number}")
        number += 1


def _take(told: dict[str, Any], results: dict[str, Result], left: dict[str, float], now: str, number: int) -> tuple:
    """Take up what a process tells; return the target and the seed that it is at."""
    if "targets" in told:
        for name in told["targets"]:
            results.setdefault(name, Result())
            left.setdefault(name, left["*"] / len(told["targets"]))
        return now, number
    if "begun" in told:
        return told["name"], told["begun"]
    result = results[told["name"]]
    left[told["name"]] -= told["seconds"]
    result.examples += told["examples"]
    result.refused += told["refused"]
    result.failures.update(told["failures"])
    result.first = told["first"] | result.first
    return now, number


def main() -> int:
    """Fuzz every target for its share of the time, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="for each of the six groups")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=Path, metavar="DIR", help="folder to write the printed table to, as fuzz.csv")
    parser.add_argument("--group", choices=GROUPS, help=argparse.SUPPRESS)
    parser.add_argument("--left", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.group:
        work(args.group, json.loads(args.left), args.seed)
        return 0
    print(f"{'reader':26}{'examples':>10}{'refused':>10}{'failures':>10}", flush=True)
    told = []
    for group in GROUPS:
        for name, found in supervise(group, 60 * args.minutes, args.seed).items():
            failed = sum(found.failures.values())
            kinds = [(count, f"{key}: {found.first[key]}") for key, count in found.failures.most_common()]
            print(f"{name:26}{found.examples:10,}{found.refused:10,}{failed:10,}", flush=True)
            for count, kind in kinds:
                print(f"    {count:6,}  {kind}", flush=True)
            told.append((name, found.examples, found.refused, failed, "; ".join(key for key in found.failures)))
    table = pl.DataFrame(told, ["reader", "examples", "refused", "failures", "how"], orient="row")
    if args.csv:
        table.write_csv(args.csv / "fuzz.csv")
    print(f"{table['examples'].sum():,} examples, {table['failures'].sum():,} failures")
    return int(table["failures"].sum() > 0)


if __name__ == "__main__":
    sys.exit(main())
