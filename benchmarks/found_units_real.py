"""What is counted in real tables, and what of it that claims: rows one by one, or what hangs together.

    python benchmarks/found_units_real.py --data DIR [--rows 1000] [--sets flights census mmlu/]

Flights and census are read as they come; of the 18 sets (one model's answers to one file of questions, with embeddings)
every column but the other confidences may mark units. Of more rows a random sample is taken, always the same. Each is
read twice, with --group none and with --group auto. Columns: what is counted; how many units there are; findings; the
lower limit of hidden miscalibration, in points; and the p-value of the claim, each by rows and by units.
"""

from __future__ import annotations

import time
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from _data import FILES, set_names
from _script import limit_threads, options, results, show
from miscal.data.readers import read_triples
from miscal.discovery.estimating import fit_rows, prepare
from miscal.discovery.findings import write_ledger
from miscal.discovery.summarise import claim_of

FIELDS = ("set", "rows", "group")
TABLES = {
    "flights": ("flights_dev.parquet", {"probability": "predicted_delay_risk", "event": "delayed"}),
    "census": ("census_dev_2015.parquet", {"probability": "predicted_probability", "event": "employed"}),
}
OTHERS = (
    "model",
    "dataset",
    "emb_row",
    "src",
    "verbal_conf",
    "logit_conf",
    "linguistic_conf",
    "token_prob",
    "true_prob",
)
"""Columns of the 18 sets that are other confidences, or the same for all rows of a set."""


def read(folder: Path, name: str, rows: int, group: str):
    """Read the rows of a set."""
    table, embeddings, named = _table(folder, name)
    some = np.sort(np.random.default_rng(0).permutation(len(table))[:rows])
    return read_triples(
        table[some], embeddings=None if embeddings is None else embeddings[some], group=group, seed=0, **named
    )


@lru_cache(maxsize=1)
def _table(folder: Path, name: str) -> tuple[pl.DataFrame, np.ndarray | None, dict]:
    if name in TABLES:
        return pl.read_parquet(folder / TABLES[name][0]), None, TABLES[name][1]
    key, model = name.split("/", 1)
    table = pl.read_parquet(folder / FILES[key][0]).filter(pl.col("model") == model)
    embeddings = np.load(folder / FILES[key][1])[table["emb_row"].to_numpy()].astype(np.float32)
    # an id tells every row apart
    table = table.drop([column for column in (*OTHERS, "id") if column in table.columns])
    return table, embeddings, {"confidence": "f", "correct": "y"}


def one_set(folder: Path, name: str, rows: int, group: str) -> dict:
    """Read, fit and claim."""
    limit_threads()
    start = time.perf_counter()
    triples, *_ = prepare(read(folder, name, rows, group), "all", 0)
    found = fit_rows(triples, seed=0, n_jobs=1)
    claim = claim_of(found, seed=0)
    by = triples.counted_by
    return {
        "set": name, "rows": rows, "group": group, "n": len(triples),
        "unit": (by.column or by.source) + ("" if by.coarser is None else f" (x {by.factor:.2f})"),
        "units": len(triples) if triples.group is None else len(np.unique(triples.group)),
        "findings": len(write_ledger(found, own_split=False, seed=0).findings),
        "limit": float(claim.lower_bound_hidden.interval[0]), "p": float(claim.p_value),
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def main() -> None:
    """Run and show."""
    parser = options(__doc__, "found_units_real", data="folder of the tables and of the 18 sets", rows=1_000)
    parser.add_argument("--sets", nargs="+", help="names, or parts of them")
    args = parser.parse_args()
    names = [one for one in (*TABLES, *set_names(args.data)) if not args.sets or any(s in one for s in args.sets)]
    keys = [*product(names, [args.rows], ("auto", "none"))]

    def work(name: str, rows: int, group: str) -> dict:
        return one_set(args.data, name, rows, group)

    store = results(args, FIELDS, keys, work)
    shown = []
    for name in names:
        auto, plain = (store[name, args.rows, group] for group in ("auto", "none"))
        both = [[str(one["findings"]), f"{100 * max(one['limit'], 0):.1f}", f"{one['p']:.4f}"] for one in (plain, auto)]
        numbers = [cell for pair in zip(*both, strict=True) for cell in pair]
        shown.append([name, str(auto["n"]), auto["unit"], str(auto["units"]), *numbers])
    head = ["set", "rows", "counted by", "units"]
    head += [f"{what}, {by}" for what in ("findings", "limit in points", "p") for by in ("rows", "units")]
    show(args, "found_units_real", "what is counted in real tables, and what is claimed", head, shown)


if __name__ == "__main__":
    main()
