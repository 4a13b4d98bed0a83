"""Are the p-values, limits and intervals that miscal prints as often wrong as they say, and no more often?

    python benchmarks/validity.py [--rows 100 300 1000 5000] [--draws 1000 1000 400 100] [--worlds uniform] [--print]

Fields are fixed before the outcomes (_validity_worlds.py): twelve worlds, three kinds of draw. Half of the draws are
judged as a run does where all rows are evaluated (evidence "all": E[y | f] by folds, the certificate fold after fold),
half as with a test split ("test": E[y | f] from three times as many other rows); "drifted" always has a test split.
Scores, monitor and the p-value of smECE are asked of as many draws at every number of rows, intervals of calibration
errors of one draw in 25.

A p-value is counted at 5 % and 1 % where its hypothesis is true, a limit or an interval where it misses the truth: 5 %
is nominal. Findings count as wrong if any is (family-wise), and the intervals of findings, or of all candidates, if any
misses. Missed where a binomial test says that a share is above its level: for a cell at 1 % over the number of cells,
and for a statement over all its cells together at 1 % over their number (Bonferroni: where all holds, either finds
anything in one study of a hundred at most). What a run does not promise has a name of its own and is no target.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from _script import limit_threads, options, results, show, target
from _validity_counts import LEVELS, Count, counts_of, missed, shares, show_statements
from _validity_statements import ALL, CHEAP, DEAREST, KINDS_OF, OF_EVIDENCE, STATEMENTS, TEST, Asked
from _validity_worlds import KINDS, WORLDS

FIELDS = ("asked", "world", "kind", "rows", "evidence", "part")
DRAWS_A_PART, DEAREST_A_PART, ONE_IN = 25, 4, 25
WARNED, DRIFT, UNKNOWN = " (a run warns)", " (drift)", ", true E[y | f]"
"""Ends of the names of statements that are not promised: where rare stated confidences make a run warn, where the rows
that E[y | f] was learned from are of another kind, and where an interval that takes it as known is asked for more."""
ON_EXPECTED = (
    "certificate, hidden", "certificate, hidden: limit", "hidden p-value", "test of the field", "kernel score",
    "visible residual", "visible residual: interval",
    "hidden residual", "hidden residual: interval", "findings",
)  # fmt: skip
OFF_BY_DRIFT = ("visible residual", "hidden residual: interval")
"""Starts of the names of those that presume that E[y | f] is that of the evaluation rows."""


def one_part(name: str, world: str, kind: str, n: int, evidence: str, part: int) -> dict:
    """Judge some draws; of each statement, how often it was made, and how often it was wrong."""
    limit_threads()
    start = time.perf_counter()
    sums: dict[str, dict[str, list[int]]] = {"sizes": {}, "misses": {}}
    warned, draws = 0, draws_a_part(name)
    for draw in range(part * draws, (part + 1) * draws):
        asked = Asked(world, kind, n, evidence, draw)
        STATEMENTS[name](asked).added_to(sums)
        warned += asked.warned
    key = dict(zip(FIELDS, (name, world, kind, n, evidence, part), strict=True))
    return {**key, "draws": draws, **sums, "warned": warned, "seconds": time.perf_counter() - start}


def draws_a_part(name: str) -> int:
    """Draws of one record of the store."""
    return DEAREST_A_PART if name in DEAREST else DRAWS_A_PART


def keys_of(args: argparse.Namespace) -> list[tuple]:
    """Keys of all parts, in such an order that a run that is stopped has about as much of each cell."""
    keys = []
    for name in args.statements:
        for n, draws in zip(args.rows, args.draws, strict=True):
            asked = max(args.draws) if name in CHEAP else draws // ONE_IN if name in DEAREST else draws
            parts = -(-asked // draws_a_part(name))
            for part in range(parts):
                keys += [
                    ((part + 0.5) / parts, (name, world, kind, n, evidence_of(name, world, part), part))
                    for world in args.worlds for kind in KINDS_OF.get(name, KINDS)
                ]  # fmt: skip
    return [key for _, key in sorted(keys, key=lambda pair: pair[0])]


def evidence_of(name: str, world: str, part: int) -> str:
    """Which rows are evaluated: in turn all and those of a test split, where it matters."""
    if name not in OF_EVIDENCE:
        return "either"
    return TEST if part % 2 or world == "drifted" else ALL


def named(records: Sequence[dict]) -> list[dict]:
    """Give statements that a run does not promise in a cell names of their own."""
    cells: dict[tuple, list[dict]] = {}
    for record in records:
        cells.setdefault(tuple(record[name] for name in FIELDS[:-1]), []).append(record)
    found = []
    for cell in cells.values():
        warned = 2 * sum(record["warned"] for record in cell) >= sum(record["draws"] for record in cell)
        drift = DRIFT if cell[0]["world"] == "drifted" else ""
        ends = {name: WARNED if warned else drift * name.startswith(OFF_BY_DRIFT) for name in ON_EXPECTED}
        found += [
            {**record, **{kind: {name + ends.get(name, ""): sums for name, sums in record[kind].items()}
                          for kind in ("sizes", "misses")}}
            for record in cell
        ]  # fmt: skip
    return found


def promised(statement: str) -> bool:
    """Whether a run promises it."""
    return not statement.endswith((WARNED, DRIFT, UNKNOWN))


def show_cells(args: argparse.Namespace, counts: Sequence[Count]) -> None:
    """Write every cell of every statement."""
    for name, many in (("sizes", 2), ("misses", 1)):
        mine = [count for count in counts if len(count.wrong) == many]
        cells = sorted({count.cell for count in mine}, key=lambda cell: (cell[2], *cell))
        statements = list(dict.fromkeys(count.statement for count in mine))
        for at, level in enumerate(LEVELS[:many]):
            known = {(count.cell, count.statement): shares(count)[at] for count in mine}
            draws = {count.cell: max(c.made for c in mine if c.cell == count.cell) for count in mine}
            rows = [[*cell, draws[cell], *(known.get((cell, one), "") for one in statements)] for cell in cells]
            title = f"per cent of draws, {name} at {100 * level:.0f} %"
            show(
                args, f"{args.cache.stem}-{name}-{100 * level:.0f}", title, [*FIELDS[1:-1], "draws", *statements], rows
            )


def main() -> None:
    """Judge, show, and compare with the target."""
    parser = options(
        __doc__, "validity", rows=[100, 300, 1_000, 5_000], draws=[1_000, 1_000, 400, 100], worlds=list(WORLDS),
        statements=list(STATEMENTS),
    )  # fmt: skip
    args = parser.parse_args()
    if len(args.draws) != len(args.rows):
        parser.error(f"--draws needs one number for each of --rows, {len(args.rows)}; got {len(args.draws)}")
    store = results(args, FIELDS, keys := keys_of(args), one_part)
    counts = list(counts_of(named(store.of(keys)), FIELDS[1:-1]))
    show_cells(args, counts)
    show_statements(args, args.cache.stem, counts)
    wrong = missed(counts, promised)
    sys.exit(not target(f"above their level, beyond chance: {'; '.join(wrong) or 'nothing'}", not wrong))


if __name__ == "__main__":
    main()
