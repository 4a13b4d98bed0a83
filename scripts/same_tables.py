"""Compare the tables of two studies, number by number; seconds are left out, and so are tables that only one has.

    python scripts/same_tables.py BEFORE AFTER

It prints a line for each table and ends with status 1 where a value differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl


def difference(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """Say in what two tables differ; "" where each row and value is the same in the columns that both have."""
    columns = [name for name in before.columns if name in after.columns and not name.startswith("seconds")]
    if before.height != after.height:
        return f"{before.height:,} rows before, {after.height:,} after"
    differing = [name for name in columns if not before[name].equals(after[name], null_equal=True)]
    return f"columns that differ: {', '.join(differing)}" if differing else ""


def main() -> int:
    """Compare, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="folder of a study")
    parser.add_argument("after", type=Path, help="folder of a study with the same plan")
    asked = parser.parse_args()
    places = [
        {one.stem: one for one in (folder / "tables").glob("*.parquet")} for folder in (asked.before, asked.after)
    ]
    worst = 0
    for name in sorted(places[0].keys() & places[1].keys()):
        before, after = (pl.read_parquet(place[name]) for place in places)
        found = difference(before, after)
        print(f"{name:<22}{before.height:>8,} rows  {found or 'the same'}")
        worst = max(worst, int(bool(found)))
    for name in sorted(places[0].keys() ^ places[1].keys()):
        print(f"{name:<22}{'':>8}       only in one of them")
    return worst


if __name__ == "__main__":
    sys.exit(main())
