"""Are rows counted as rows where they are independent, so that nothing is lost?

    python benchmarks/independent_units.py [--rows 600] [--draws 60]

Tables of independent rows of six shapes, read with --group auto. Where no units are found, a run is the run by rows, to
the last bit, and has its power. Columns: in how many per cent of tables rows are counted; where they are not, the share
of rows that are joined with others; and how many times as wide the interval of the mean residual is by what was found.

    numbers           five numbers
    coarse cells      three columns of 4, 3 and 5 levels, right less often in one of them by 0.8 in log-odds
    mixed             two numbers, three categories, a column with blanks
    dates             a date of 90 days and two numbers
    identity          a column called user, of 200 users who do not matter, which is always counted
    embedding         32 columns, without a name
"""

from __future__ import annotations

import time
from datetime import date, timedelta
from itertools import product

import numpy as np
import polars as pl
from scipy.special import expit, logit

from _script import limit_threads, options, results, show
from miscal.calibration.survey_design import effect_of_groups
from miscal.data.readers import read_triples
from miscal.discovery.estimating import prepare

FIELDS = ("shape", "rows", "draw")
SHAPES = ("numbers", "coarse cells", "mixed", "dates", "identity", "embedding")


def columns_of(shape: str, n: int, rng: np.random.Generator) -> tuple[dict, np.ndarray]:
    """Columns of a table, and by how much the log-odds of each row are off."""
    numbers, off = {f"x{k}": rng.normal(size=n) for k in range(5)}, np.zeros(n)
    if shape == "coarse cells":
        levels = {name: rng.integers(0, many, n) for name, many in (("a", 4), ("b", 3), ("c", 5))}
        off = -0.8 * (levels["a"] == 0)
        return {name: [f"{name}{one}" for one in level] for name, level in levels.items()}, off
    if shape == "mixed":
        kinds = {f"kind{k}": rng.choice(list("abcdefgh")[: 3 + k], n) for k in range(3)}
        blank = [None if rng.random() < 0.3 else float(x) for x in numbers["x2"]]
        return {"x0": numbers["x0"], "x1": numbers["x1"], **kinds, "some": blank}, off
    if shape == "dates":
        day = [date(2024, 1, 1) + timedelta(int(one)) for one in rng.integers(0, 90, n)]
        return {"day": day, "x0": numbers["x0"], "x1": numbers["x1"]}, off
    if shape == "identity":
        return {"user": rng.integers(0, 200, n), "x0": numbers["x0"], "x1": numbers["x1"]}, off
    return numbers, off


def one_table(shape: str, rows: int, draw: int) -> dict:
    """Draw a table, and see what is counted."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((draw, rows, SHAPES.index(shape), 304))
    embeddings = rng.normal(size=(rows, 32)).astype(np.float32) if shape == "embedding" else None
    columns, off = ({}, np.zeros(rows)) if shape == "embedding" else columns_of(shape, rows, rng)
    f = rng.uniform(0.15, 0.85, rows)
    columns |= {"confidence": f, "correct": (rng.random(rows) < expit(logit(f) + off)).astype(int)}
    read = read_triples(pl.DataFrame(columns), embeddings=embeddings, group="auto", seed=draw)
    triples, *_ = prepare(read, "all", draw)
    by = triples.counted_by
    size = np.ones(rows) if triples.group is None else np.unique(triples.group, return_counts=True)[1]
    left = triples.correct - triples.confidence
    wider = by.factor * effect_of_groups(left - left.mean(), triples.group) ** 0.5
    return {
        "shape": shape, "rows": rows, "draw": draw, "unit": by.column or by.source, "by rows": triples.group is None,
        "joined": float(size[size > 1].sum() / rows), "wider": float(wider), "seconds": time.perf_counter() - start,
    }  # fmt: skip


def main() -> None:
    """Run and show."""
    args = options(__doc__, "independent_units", rows=600, draws=60).parse_args()
    keys = [*product(SHAPES, [args.rows], range(args.draws))]
    store = results(args, FIELDS, keys, one_table)
    shown = []
    for shape in (*SHAPES, "all"):
        mine = [store[key] for key in keys if shape in (key[0], "all")]
        other = [one for one in mine if not one["by rows"]]
        joined, wider = (
            f"{np.mean([one[name] for one in other]):.3f}" if other else "" for name in ("joined", "wider")
        )
        share = 100 * (1 - len(other) / len(mine))
        shown.append(
            [shape, str(len(mine)), f"{share:.1f}", ", ".join(sorted({o["unit"] for o in other})), joined, wider]
        )
    head = ["shape", "tables", "counted by rows, %", "counted by, else", "rows joined then", "times as wide then"]
    show(args, "independent_units", f"what is counted of {args.rows} independent rows", head, shown)


if __name__ == "__main__":
    main()
