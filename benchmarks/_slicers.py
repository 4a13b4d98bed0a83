"""Peers of the ledger that live in an environment of their own: python _slicers.py METHOD IN.parquet OUT.npz

The environment holds benchmarks/requirements-peers.txt, nothing of miscal. IN has the columns that may name a group and
`residual`, y - E[y | f]; OUT the rows of each segment found, the strongest first, its columns, and the seconds it took.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd

# pairs of more columns than FEW_COLUMNS, as terms make, cost more time and memory than a finder has
TARGET, MISSING = "residual", "(missing)"
BINS, A_SIGN, SEGMENTS, LEAST, FEW_COLUMNS = 10, 5, 20, 0.01, 100


def binned(frame: pd.DataFrame) -> pd.DataFrame:
    """Every column as text: numbers and dates of many values as deciles, for tools that take categories only."""
    out = {}
    for name in frame.columns.drop(TARGET):
        values = frame[name]
        text = pd.api.types.is_object_dtype(values) or pd.api.types.is_string_dtype(values)
        if not text and values.nunique() > BINS:
            values = pd.qcut(values, BINS, labels=False, duplicates="drop")
        out[name] = values.astype(object).where(values.notna(), MISSING).map(str)
    return pd.DataFrame(out)


def wise_pizza(frame: pd.DataFrame) -> list[tuple[np.ndarray, list[str]]]:
    """explain_levels as in the quick start of its documentation: 20 segments of up to two columns, by lasso."""
    from wise_pizza.explain import explain_levels

    cells = binned(frame)
    dims = list(cells.columns)
    depth = 2 if len(dims) <= FEW_COLUMNS else 1
    table = cells.assign(total=frame[TARGET].to_numpy(), size=1.0)
    found = explain_levels(
        table, dims=dims, total_name="total", size_name="size", max_depth=depth, min_segments=SEGMENTS, solver="lasso"
    )
    segments = sorted(found.segments, key=lambda s: -abs(s["impact"] if "impact" in s else s["total"]))
    return [
        (np.logical_and.reduce([cells[c].to_numpy() == str(v) for c, v in s["segment"].items()]), list(s["segment"]))
        for s in segments
    ]


def pysubgroup(frame: pd.DataFrame) -> list[tuple[np.ndarray, list[str]]]:
    """Five subgroups a sign of up to two selectors, as in its quick start; numbers in its own ten bins."""
    import pysubgroup as ps

    table = frame.copy()
    for name in table.columns:
        if pd.api.types.is_datetime64_any_dtype(table[name]):
            table[name] = (table[name] - table[name].min()).dt.total_seconds()
        elif not pd.api.types.is_numeric_dtype(table[name]):
            table[name] = table[name].astype(object)
    found = []
    for sign in (-1.0, 1.0):
        table[TARGET] = sign * frame[TARGET]
        space = ps.create_selectors(table, nbins=BINS, ignore=[TARGET])
        task = ps.SubgroupDiscoveryTask(
            table, ps.NumericTarget(TARGET), space, result_set_size=A_SIGN, depth=2, qf=ps.StandardQFNumeric(0.5)
        )
        results = ps.BeamSearch(beam_width=50).execute(task).results
        found += [(quality, group.covers(table), [s.attribute_name for s in group._selectors])
                  for quality, group, _ in results]  # fmt: skip
    return [(np.asarray(rows, bool), names) for _, rows, names in sorted(found, key=lambda one: -one[0])]


def sliceline(frame: pd.DataFrame) -> list[tuple[np.ndarray, list[str]]]:
    """Five slices a sign of up to two columns and at least 1 % of the rows; its errors must not be negative.

    With alpha 0.95, as in its examples, a slice of 6 % of the rows must have 1.8 times the mean error, and nothing is
    found; 0.99 asks for 1.2 times.
    """
    from sliceline.slicefinder import Slicefinder

    cells, found = binned(frame), []
    depth = 2 if cells.shape[1] <= FEW_COLUMNS else 1
    for sign in (-1.0, 1.0):
        error = np.maximum(sign * frame[TARGET].to_numpy(), 0.0)
        finder = Slicefinder(alpha=0.99, k=A_SIGN, max_l=depth, min_sup=LEAST, verbose=False).fit(cells, error)
        for values, told in zip(finder.top_slices_, finder.top_slices_statistics_, strict=True):
            parts = {name: value for name, value in zip(cells, values, strict=True) if value is not None}
            rows = np.logical_and.reduce([cells[name].to_numpy() == value for name, value in parts.items()])
            found.append((told["slice_score"], rows, list(parts)))
    return [(rows, names) for _, rows, names in sorted(found, key=lambda one: -one[0])]


def main() -> None:
    method, source, out = sys.argv[1:]
    frame = pd.read_parquet(source)
    start = time.perf_counter()
    found = {"wise_pizza": wise_pizza, "pysubgroup": pysubgroup, "sliceline": sliceline}[method](frame)
    seconds = time.perf_counter() - start
    rows = np.stack([rows for rows, _ in found]) if found else np.empty((0, len(frame)), bool)
    np.savez(out, rows=rows, columns=np.array(["|".join(names) for _, names in found], str), seconds=seconds)


if __name__ == "__main__":
    main()
