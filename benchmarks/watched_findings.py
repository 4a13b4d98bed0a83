"""Which findings of real sets can be watched: their rows told again, and told among rows that the run has not seen.

The ledger of one half of each set is written. Of each finding, the condition as it is stored is asked for its rows, in
the half that it was found in and in the other one, as `miscal monitor` asks. No field is fitted, so that there are no
ends of a hidden field among the findings.

    python benchmarks/watched_findings.py --data DIR
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from _ledger import found_in, ledger_of, ledger_sets, read_rows
from _script import limit_threads, options, results, show, target
from miscal.findings.conditions import read_condition
from miscal.findings.ledger import Finding

FIELDS = ("set",)


def stored(finding: Finding) -> Finding:
    """The finding with its condition read back from JSON."""
    condition = read_condition(json.loads(json.dumps(finding.condition.to_dict())))
    return finding.model_copy(update={"condition": condition})


def one_set(folder: Path, name: str) -> dict:
    """Findings of every second row, and whether their rows are told."""
    limit_threads()
    start, rows = time.perf_counter(), read_rows(folder, name)
    seen = np.arange(len(rows)) % 2 == 0
    here, there = rows.take(seen), rows.take(~seen)
    ledger, told = ledger_of(here), []
    for finding in map(stored, ledger.findings):
        again, new = (found_in(finding, part, ledger.clusters) for part in (here, there))
        counts = [None if one is None else int(one.rows.sum()) for one in (again, new)]
        told.append({"kind": finding.condition.kind, "n": finding.n, "again": counts[0], "new": counts[1]})
    return {"set": name, "found": told, "seconds": time.perf_counter() - start}


def main() -> None:
    parser = options(__doc__, "watched_findings", data="folder of real sets")
    parser.add_argument("--sets", nargs="+", help="default: all with metadata")
    args = parser.parse_args()
    if args.data is None:
        parser.error("--data is needed: a folder of real sets")
    keys = [(name,) for name in ledger_sets(args.data, args.sets)]
    store = results(args, FIELDS, keys, partial(one_set, args.data))
    shown, every = [], []
    for (name,) in keys:
        found = store[(name,)]["found"]
        every += found
        kinds = ", ".join(
            f"{kind} {sum(one['kind'] == kind for one in found)}" for kind in sorted({f["kind"] for f in found})
        )
        exact, watched = sum(one["again"] == one["n"] for one in found), sum(bool(one["new"]) for one in found)
        shown.append([name, len(found), kinds, exact, watched])
    head = ["set", "findings", "of them", "rows told exactly", "with rows in the other half"]
    show(args, "watched_findings", "findings of half of a set, told again and among the other rows", head, shown)
    met = bool(every) and all(one["again"] == one["n"] and one["new"] for one in every)
    sys.exit(not target(f"all of {len(every)} findings can be watched", met))


if __name__ == "__main__":
    main()
