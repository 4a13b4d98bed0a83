"""Do the findings of one half of the rows hold in the other half?

    python benchmarks/ledger_replication.py --data DIR [--halves 10] [--sets mmlu/]

Each set is cut into random halves, the same inputs on one side. The ledger of the first half is written; each of its
named findings is judged on the second by its words, given those above it, with the statistic of `_judge.py`. (Clusters
of inputs are left out: their words do not say which other rows belong to them.)

A finding's z in the first half is too large, because it was chosen for being large. It is shrunk to the estimate that
is median-unbiased given that it passed the ledger's cut c: the mean mu at which half of the z beyond c, drawn from
N(mu, 1), would be smaller than the one seen. (That it was also the strongest of several is not allowed for.) With the
variances of the group in both halves this gives the z to be expected in the second, and the power there of a two-sided
test at 5 % with the right sign. Of the findings whose power is 95 % and more, at least 90 % must hold: the same sign
and p < .05.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import binomtest

from _judge import Judge
from _ledger import Meaning, found_in, ledger_of, ledger_sets, read_rows
from _script import limit_threads, options, results, show, target
from miscal.base.folds import assign_folds, row_groups
from miscal.data.triples import Triples

FIELDS = ("set", "half")
LEVEL, POWER, LEAST = 0.05, 0.95, 0.90


def shrunk(z: float, cut: float) -> float:
    """Median-unbiased estimate of the mean of z, seen only because it was beyond the cut; not below 0.

    Examples
    --------
    >>> round(shrunk(10.0, 4.0), 3), round(shrunk(4.2, 4.0), 3)
    (10.0, 0.904)
    """

    def gap(mu: float) -> float:
        return float(log_ndtr(mu - z) - log_ndtr(mu - cut) - np.log(0.5))

    return brentq(gap, 0.0, z + 1.0) if gap(0.0) < 0 else 0.0


def cut_of(p_value: float, p_adjusted: float) -> float:
    """|z| from which the ledger names a candidate, from its p-value and the adjusted one."""
    return float(-ndtri(LEVEL * min(1.0, p_value / p_adjusted) / 2))


def replicated(rows: Triples, half: int) -> list[dict]:
    """Findings of one half, judged on the other."""
    groups = row_groups(rows.X, rows.group)
    first = assign_folds(groups, 2, np.random.default_rng((half, 84))) == 0
    one, two = rows.take(first), rows.take(~first)
    here, there = (Judge(part.correct, part.confidence, half) for part in (one, two))
    found, above = [], []
    for finding in ledger_of(one, half).findings:
        meant: Meaning | None = found_in(finding, rows)
        if meant is None:
            found.append({"description": finding.description, "read": False})
            continue
        variance, other = (
            judge.total(meant.rows[part], [up.rows[part] for up in above])[1]
            for judge, part in ((here, first), (there, ~first))
        )
        sign = -1.0 if finding.sign == "over" else 1.0
        z = float(-ndtri(max(finding.p_value, 1e-300) / 2))
        mu = shrunk(z, cut_of(max(finding.p_value, 1e-300), max(finding.p_adjusted, 1e-300)))
        expected = mu * np.sqrt(other / variance) if variance > 0 and other > 0 else 0.0
        seen = sign * there.z(meant.rows[~first], [up.rows[~first] for up in above])
        found.append({
            "description": finding.description, "read": True, "z": z, "shrunk": mu, "seen": seen,
            "power": float(ndtr(expected - ndtri(1 - LEVEL / 2))), "holds": bool(seen > ndtri(1 - LEVEL / 2)),
            "expected": float(expected),
        })  # fmt: skip
        above.append(meant)
    return found


def one_half(folder: Path, name: str, half: int) -> dict:
    """Cut one set once."""
    limit_threads()
    rows, start = read_rows(folder, name), time.perf_counter()
    return {"set": name, "half": half, "found": replicated(rows, half), "seconds": time.perf_counter() - start}


def show_sets(args: argparse.Namespace, records: list[dict]) -> list[dict]:
    """Show a row for each set and one for all; the findings with power."""
    by_set: dict[str, list[dict]] = {}
    for record in records:
        by_set.setdefault(record["set"], []).extend(record["found"])
    by_set["all"] = [one for rows in by_set.values() for one in rows]
    shown, strong = [], []
    for name, rows in by_set.items():
        read = [r for r in rows if r["read"]]
        strong = [r for r in read if r["power"] >= POWER]
        held = sum(r["holds"] for r in strong)
        share = f"{held / len(strong):.3f}" if strong else ""
        expected = f"{np.mean([r['power'] for r in read]):.3f}" if read else ""
        all_held = f"{np.mean([r['holds'] for r in read]):.3f}" if read else ""
        ratio = [r["seen"] / r["expected"] for r in strong]
        shown.append([name, len(rows), len(rows) - len(read), len(strong), held, share,
                      f"{np.median(ratio):.2f}" if ratio else "", all_held, expected])  # fmt: skip
    head = ["set", "findings", "clusters", "with power 0.95", "of them hold", "share", "z seen over expected, median",
            "all findings: hold", "all findings: mean power"]  # fmt: skip
    show(args, "ledger_replication", "findings of a half, judged on the other half", head, shown)
    return strong


def main() -> None:
    parser = options(__doc__, "ledger_replication", data="folder of real sets", halves=10)
    parser.add_argument("--sets", nargs="+", help="default: all with metadata")
    args = parser.parse_args()
    if args.data is None:
        parser.error("--data is needed: the demo data have too few rows to be halved")
    keys = [(name, half) for name in ledger_sets(args.data, args.sets) for half in range(args.halves)]
    store = results(args, FIELDS, keys, partial(one_half, args.data))
    strong = show_sets(args, [store[key] for key in keys])
    held = sum(r["holds"] for r in strong)
    low, high = binomtest(held, max(1, len(strong))).proportion_ci()
    what = f"{held} of {len(strong)} findings with power hold in the other half, at least {LEAST:.2f}"
    why = f"{low:.3f} to {high:.3f} at 95 %, as if the halves of a set were independent"
    sys.exit(not target(f"{what} ({why})", bool(strong) and held >= LEAST * len(strong)))


if __name__ == "__main__":
    main()
