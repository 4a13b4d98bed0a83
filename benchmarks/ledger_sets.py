"""The ledger on real sets beside a scan of single values: it must hold what the scan finds, or explain it.

    python benchmarks/ledger_sets.py --data DIR [--sets mmlu/ stated/gpt-4o]

The scan tests each value of the set's one column of metadata, with 20 rows and more, by the statistic of `_judge.py`
(its own code, its own fixed folds), and keeps what Holm rejects. A value that the scan finds is in the ledger as a
finding or as the other name of one, or in the words that describe a found group, or among the values that differ by
themselves and that the findings account for; or it is not significant given the findings (p over .05). Otherwise it
must stand in the table of its column with its size and mark, and is counted as `in the table`; missed if it does not.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from _data import METADATA
from _judge import Judge, holm
from _ledger import found_in, ledger_of, ledger_sets, read_rows
from _script import limit_threads, options, results, show, target
from miscal.data.triples import Triples
from miscal.findings.conditions import Alike, AnyOf
from miscal.findings.ledger import Finding

FIELDS = ("set", "seed")
MIN_GROUP_ROWS, LEVEL = 20, 0.05
KINDS = ("told", "described", "accounted", "explained", "in the table", "missed", "added")


def scan_values(judge: Judge, groups: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Names and z of the groups that a scan with Holm's correction finds."""
    p_values = np.array([judge.p_value(rows) for rows in groups.values()])
    return {name: judge.z(groups[name]) for name, found in zip(groups, holm(p_values, LEVEL), strict=True) if found}


def values_of(rows: Triples, column: str) -> dict[str, np.ndarray]:
    """Rows of each value of a column, by the words that describe it."""
    values = rows.metadata[column]
    cells = {f"{column} = {value}": values == value for value in np.unique(values)}
    return {name: cell for name, cell in cells.items() if cell.sum() >= MIN_GROUP_ROWS}


def describes(finding: Finding, column: str, name: str) -> bool:
    """Whether a found group is described by a value, alone or with others."""
    made = getattr(finding.condition, "made_of", None)
    if not isinstance(made, Alike):
        return False
    alike = made.condition
    parts = alike.conditions if isinstance(alike, AnyOf) else (alike,)
    return name in [one.words for one in parts if one.columns == (column,)]


def compare(rows: Triples, column: str, seed: int) -> dict:
    """The ledger of rows beside the scan of a column's values."""
    start = time.perf_counter()
    ledger = ledger_of(rows, seed)
    seconds = time.perf_counter() - start
    judge, groups = Judge(rows.correct, rows.confidence, seed), values_of(rows, column)
    scan = scan_values(judge, groups)
    meant = [found_in(one, rows, ledger.clusters) for one in ledger.findings]
    given = [one.rows for one in meant if one is not None]
    names = {name for one in ledger.findings for name in (one.condition.words, *one.aliases)}
    alone = {one.condition.words for one in ledger.accounted}
    table = {one.condition.words for one in ledger.values}
    told, described, accounted, explained, marked, missed = [], [], {}, {}, {}, {}
    for name in scan:
        p = judge.p_value(groups[name], given) if given else 0.0
        if name in names:
            told.append(name)
        elif any(describes(one, column, name) for one in ledger.findings):
            described.append(name)
        elif name in alone:
            accounted[name] = p
        elif p > LEVEL:
            explained[name] = p
        else:
            (marked if name in table else missed)[name] = p
    own = {one: {one.condition.words, *one.aliases} for one in ledger.findings}
    added = [one.description for one, words in own.items() if not (words & set(scan))]
    return {
        "rows": len(rows), "candidates": ledger.method.candidates, "values": len(groups), "scan": scan,
        "ledger": [one.description for one in ledger.findings],
        "told": told, "described": described,
        "accounted": accounted, "explained": explained, "in the table": marked, "missed": missed, "added": added,
        "unread": sum(one is None for one in meant), "seconds": seconds,
    }  # fmt: skip


def one_set(folder: Path, name: str, seed: int) -> dict:
    """Compare one set."""
    limit_threads()
    rows = read_rows(folder, name)
    return {"set": name, "seed": seed, **compare(rows, METADATA[name.split("/")[0]], seed)}


def show_sets(args: argparse.Namespace, records: list[dict]) -> None:
    """Show a row for each set, and what the ledger adds."""
    shown = [
        [r["set"], r["rows"], r["candidates"], len(r["ledger"]), len(r["scan"]), len(r["told"]), len(r["described"]),
         len(r["accounted"]), len(r["explained"]), len(r["in the table"]), len(r["missed"]), len(r["added"]),
         f"{r['seconds']:.1f}"]
        for r in records
    ]  # fmt: skip
    head = ["set", "rows", "candidates", "ours", "scan", "of the scan in the ledger", "in a found group's words",
            "listed as accounted for", "explained by it", "in the table", "missed", "added by the ledger",
            "s"]  # fmt: skip
    show(args, "ledger_sets", "findings of the ledger and of a scan of values", head, shown)
    words = [
        [r["set"], kind, re.sub("; rows .* are typical$", "", name),
         f"{r['scan'][name]:+.2f}" if name in r["scan"] else "",
         f"{r[kind][name]:.2g}" if isinstance(r[kind], dict) else ""]
        for r in records for kind in KINDS for name in r[kind]
    ]  # fmt: skip
    show(args, "ledger_sets-findings", "each of them", ["set", "which", "group", "z of the scan", "p given"], words)


def main() -> None:
    parser = options(__doc__, "ledger_sets", data="folder of real sets", seed=0)
    parser.add_argument("--sets", nargs="+", help="default: all with metadata")
    args = parser.parse_args()
    if args.data is None:
        parser.error("--data is needed: the demo data have no metadata that a scan could be run on")
    keys = [(name, args.seed) for name in ledger_sets(args.data, args.sets)]
    store = results(args, FIELDS, keys, partial(one_set, args.data))
    records = [store[key] for key in keys]
    show_sets(args, records)
    missed = [f"{r['set']}: {name} (p {p:.2g})" for r in records for name, p in r["missed"].items()]
    unread = sum(r["unread"] for r in records)
    readable = target(f"findings whose words could not be read back as rows: {unread}", not unread)
    what = f"values of the scan, {sum(len(r['scan']) for r in records)} in all, that the ledger misses"
    sys.exit(not (target(f"{what}: {missed or 'none'}", not missed) and readable))


if __name__ == "__main__":
    main()
