"""Fuzz readers, importers and loaders with damaged and made-up files: the outcome is valid, or an error of ours.

Hypothesis draws edits of a valid file: bits, bytes, cuts, pieces moved or repeated, and for JSON values of other types
anywhere. Saved models and runs get their checksums renewed after the edit, as somebody who means harm would.

    python benchmarks/fuzz.py --minutes 12
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
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


@dataclass
class Result:
    """What is known of a target."""

    examples: int = 0
    refused: int = 0
    failures: Counter = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def targets_of(group: str, folder: str) -> dict[str, Target]:
    """Targets of a group by name, made once in each process."""
    warnings.simplefilter("ignore")
    return {target.name: target for target in GROUPS[group](Path(tempfile.mkdtemp(dir=folder)))}


def names_of(group: str, folder: str) -> list[str]:
    """Names of the targets of a group."""
    return list(targets_of(group, folder))


def batch(group: str, folder: str, name: str, number: int, seconds: float) -> Result:
    """Try a hundred inputs of a target, or as many as there is time for."""
    target, end = targets_of(group, folder)[name], time.monotonic() + seconds
    target.examples = target.refused = 0
    target.failures, target.first = Counter(), {}

    @seed(number)
    @settings(
        max_examples=BATCH, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(target.inputs)
    def tried(drawn: Any) -> None:
        if time.monotonic() < end:
            target.try_one(drawn)

    tried()
    return Result(target.examples, target.refused, target.failures, target.first)


def fuzz(group: str, seconds: float, number: int) -> dict[str, Result]:
    """Fuzz the targets of a group in another process, a new one after each that ends: libraries written in Rust may."""
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        pool = ProcessPoolExecutor(1, mp_context=context)
        results = {name: Result() for name in pool.submit(names_of, group, folder).result()}
        for name, result in results.items():
            end = time.monotonic() + seconds / len(results)
            while (left := end - time.monotonic()) > 0:
                try:
                    told = pool.submit(batch, group, folder, name, number, left).result()
                except BrokenProcessPool:
                    pool = ProcessPoolExecutor(1, mp_context=context)
                    told = Result(
                        failures=Counter(["the process ended"]), first={"the process ended": f"seed {number}"}
                    )
                result.examples += told.examples
                result.refused += told.refused
                result.failures.update(told.failures)
                result.first = told.first | result.first
                number += 1
        pool.shutdown()
    return results


def main() -> int:
    """Fuzz every target for its share of the time, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="for each of the six groups")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=Path, metavar="DIR", help="folder to write the printed table to, as fuzz.csv")
    args = parser.parse_args()
    print(f"{'reader':26}{'examples':>10}{'refused':>10}{'failures':>10}", flush=True)
    told = []
    for group in GROUPS:
        for name, found in fuzz(group, 60 * args.minutes, args.seed).items():
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
