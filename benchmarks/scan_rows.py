"""A scan beside the ledger of rows, on real sets: whether both find the same, and whether it holds on the other half.

    python benchmarks/scan_rows.py --data DIR [--sets flights mmlu/] [--seed 0]

Half of the rows, or of the units, is searched by `miscal scan` and by what `miscal discover` does with named groups,
with strata and edges of its own; every row counts once, and of flights and census also every day and no unit. `same`:
findings of either that the other has, by name, or by rows (Jaccard index of .8 and more), the stronger half of each
list first. A sign holds where the mean of y - E[y | f] in the group has it on the other half, too.
Target: the same in 95 % of all findings, over all sets.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from _data import FILES, METADATA
from _ledger import ledger_sets
from _script import options, show, target
from miscal import scan
from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions import Frame
from miscal.findings.ledger import find, named_groups
from miscal.findings.ledger.exact import cut_into_strata

SHARE, ALIKE = 0.95, 0.8
TABLES = {
    "flights": ("flights_dev.parquet", "predicted_delay_risk", "delayed", "time_hour"),
    "census": ("census_dev_2015.parquet", "predicted_probability", "employed", None),
}


def table_of(folder: Path, name: str) -> tuple[pl.DataFrame, str, str, str | None]:
    """Return rows, the columns of probability and outcome, and the one whose days are units."""
    if name in TABLES:
        file, f, y, day = TABLES[name]
        rows = pl.read_parquet(folder / file)
        kinds = {c: pl.String if isinstance(t, pl.Categorical) else t for c, t in rows.schema.items()}
        rows = rows.cast(kinds).drop("id", "year", strict=False)
        return rows.with_columns(pl.col(day).dt.date()) if day else rows, f, y, day
    key, model = name.split("/", 1)
    rows = pl.read_parquet(folder / FILES[key][0]).filter(pl.col("model") == model)
    return rows.select("f", "y", pl.col(METADATA[key]).cast(pl.String)), "f", "y", None


def by_rows(rows: pl.DataFrame, f: str, y: str, group: str | None) -> list:
    """Find what rows tell."""
    p, right = (rows[c].to_numpy().astype(float) for c in (f, y))
    stratum = cut_into_strata(p, 64, np.random.default_rng(0))
    rate = (np.bincount(stratum, right) / np.bincount(stratum))[stratum]
    unit = None if group is None else rows[group].to_physical().to_numpy()
    labelled = LabelledRows.of(right, p, rate, group=unit, hidden=0 * p, row=np.arange(len(p)))
    return list(find(labelled, named_groups(columns_of(rows, f, y))).findings)


def columns_of(rows: pl.DataFrame, f: str, y: str) -> dict[str, np.ndarray]:
    """Return all other columns."""
    return {name: rows[name].to_numpy() for name in rows.columns if name not in (f, y)}


def halves(rows: pl.DataFrame, group: str | None, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Deal rows, or units, to two halves."""
    rng = np.random.default_rng(seed)
    unit = np.arange(len(rows)) if group is None else rows[group].rank("dense").to_numpy().astype(int) - 1
    first = pl.Series((rng.permutation(unit.max() + 1) < (unit.max() + 1) / 2)[unit])
    return rows.filter(first), rows.filter(~first)


def holds(one, rows: pl.DataFrame, f: str, y: str) -> bool:
    """Whether a finding has its sign on other rows."""
    sign = 1 if one.sign == "under" else -1
    p, right = (rows[c].to_numpy().astype(float) for c in (f, y))
    stratum = cut_into_strata(p, 64, np.random.default_rng(0))
    left = right - (np.bincount(stratum, right) / np.bincount(stratum))[stratum]
    inside = one.condition.rows(Frame(len(rows), columns_of(rows, f, y)))
    if one.effect == "slope":
        odds = np.log(np.clip(p, 1e-6, 1) / np.clip(1 - p, 1e-6, 1))
        return inside.any() and np.sign(left[inside] @ (odds[inside] - odds[inside].mean())) == (
            1 if one.sign == "under" else -1
        )
    lower = getattr(one.condition, "lower_end", None)
    gap = left[inside].mean() if inside.any() else 0.0
    if lower is not None:
        gap -= left[lower.rows(Frame(len(rows), columns_of(rows, f, y)))].mean()
    return np.sign(gap) == sign


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Rows of both, of those of either."""
    return (one & other).sum() / max(1, (one | other).sum())


def compare(folder: Path, name: str, days: bool, seed: int) -> tuple:
    """Search half of a set both ways."""
    rows, f, y, day = table_of(folder, name)
    group = day if days else None
    half, other = halves(rows, group, seed)
    found = {
        "scan": list(scan(half, probability=f, event=y, group=group or "none").summary.findings),
        "rows": by_rows(half, f, y, group)[:20],
    }
    frame = Frame(len(half), columns_of(half, f, y))
    inside = {how: [(one.effect, one.condition.rows(frame)) for one in some] for how, some in found.items()}
    lone = {}
    for how, against in (("scan", "rows"), ("rows", "scan")):
        pairs = zip(found[how], inside[how], strict=True)
        has = lambda effect, mine, some: any(effect == k and jaccard(mine, its) >= ALIKE for k, its in some)  # noqa: E731
        lone[how] = [one.description for one, own in pairs if not has(*own, inside[against])]
    counts = []
    for how, some in found.items():
        counts += [len(some), len(some) - len(lone[how]), sum(bool(holds(one, other, f, y)) for one in some)]
    return (f"{name}, days" if days else name, len(half), *counts, *("; ".join(lone[how])[:90] for how in found))


def main() -> None:
    parser = options(__doc__, "scan_rows", data="folder of real sets", seed=0)
    parser.add_argument("--sets", nargs="+", help="default: all")
    args = parser.parse_args()
    names = [name for name in (*TABLES, *ledger_sets(args.data)) if not args.sets or any(s in name for s in args.sets)]
    asked = [(name, days) for name in names for days in (False, True)[: 1 + (name in TABLES and bool(TABLES[name][3]))]]
    records = [compare(args.data, name, days, args.seed) for name, days in asked]
    head = ["set", "rows", "by the scan", "also by rows", "sign holds", "by rows", "also by the scan", "sign holds",
            "only by the scan", "only by rows"]  # fmt: skip
    show(args, "scan_rows", "findings of a scan and of rows", head, [list(one) for one in records])
    many, same = (sum(one[k] + one[k + 3] for one in records) for k in (2, 3))
    share = [sum(one[k + 2] for one in records) / max(1, sum(one[k] for one in records)) for k in (2, 5)]
    print(f"signs that hold: scan {share[0]:.3f}, rows {share[1]:.3f}")
    sys.exit(not target(f"{same} of {many} findings in both", same >= SHARE * many))


if __name__ == "__main__":
    main()
