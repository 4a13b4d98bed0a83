"""Stated confidences as judges of their own answers: few verdicts, and all of them known to check with.

    python benchmarks/judge_stated.py --data DIR [--labels 200 500 2000] [--draws 10]

The rows are those of `stated_dev`, four models on several sets of questions: the confidence that a model states stands
for what a judge says of its answer, and whether the answer is right for the verdict of people. So many verdicts, drawn
at random, go into `miscal.discover(judge=, human=)`; the others are kept back. Answers to one question are a group.
`covered` counts draws whose interval holds the rate of all rows, `width` is its mean width, and `over labels alone` the
mean ratio to that of the verdicts alone. `models covered` is the same for the rates of the four models. A finding is
`borne out` if the rows kept back differ in the same direction from others of equal confidence.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import miscal
from _script import limit_threads, options, results, show
from miscal.base.arrays import column_of
from miscal.findings.conditions import Frame

FIELDS = ("labels", "draw")
INPUTS = ("model", "dataset", "n_options", "token_prob")


def one_draw(folder: Path, labels: int, draw: int) -> dict:
    """Discover from some verdicts, and compare with all."""
    limit_threads()
    start = time.perf_counter()
    rows = pl.read_parquet(folder / "stated_dev.parquet")
    y = rows["y"].to_numpy().astype(float)
    known = np.zeros(len(y), bool)
    known[np.random.default_rng((91, labels, draw)).choice(len(y), labels, replace=False)] = True
    human = pl.Series("human", [int(one) if seen else None for one, seen in zip(y, known, strict=True)])
    frame = rows.select("f", "emb_row", *INPUTS).with_columns(human)
    found = miscal.discover(
        frame, judge="f", human="human", metadata=list(INPUTS), group="emb_row", seed=draw, n_jobs=1
    )
    judge, truth = found.summary.judge, float(y.mean())
    models = [one for one in judge.groups if one.column == "model" and one.rate.interval is not None]
    by_model = [float(y[(rows["model"] == one.value).to_numpy()].mean()) for one in models]
    return {
        "labels": labels, "draw": draw, "seconds": time.perf_counter() - start,
        "covered": _holds(judge.whole.rate, truth), "width": _width(judge.whole.rate),
        "over_alone": _width(judge.whole.rate) / _width(judge.whole.labelled),
        "naive_error": judge.whole.judge.estimate - truth,
        "models": len(models), "models_covered": sum(_holds(m.rate, t) for m, t in zip(models, by_model, strict=True)),
        **_borne_out(found.summary.findings, rows, y, ~known),
    }  # fmt: skip


def _holds(rate, truth: float) -> bool:
    return rate.interval[0] <= truth <= rate.interval[1]


def _width(rate) -> float:
    return rate.interval[1] - rate.interval[0]


def _borne_out(findings, rows: pl.DataFrame, y: np.ndarray, kept: np.ndarray) -> dict:
    """Count shifts, and those whose rows kept back are right more or less often, as found, than those of equal f."""
    frame = Frame(len(rows), {name: column_of(rows, name).to_numpy() for name in INPUTS})
    f = rows["f"].to_numpy()
    place = np.unique(f, return_inverse=True)[1]
    expected = (np.bincount(place, y * kept) / np.maximum(np.bincount(place, kept * 1.0), 1))[place]
    shifts = [
        one
        for one in findings
        if one.effect == "shift" and not one.condition.on_field and set(one.columns) <= set(INPUTS)
    ]
    right = 0
    for one in shifts:
        inside = one.condition.rows(frame) & kept
        right += bool(inside.any()) and (np.mean((y - expected)[inside]) < 0) == (one.sign == "over")
    return {"findings": len(shifts), "borne_out": int(right)}


def main() -> None:
    parser = options(__doc__, "judge_stated", data="folder of stated_dev.parquet", labels=[200, 500, 2_000], draws=10)
    args = parser.parse_args()
    if args.data is None:
        parser.error("--data DIR is needed: the folder of stated_dev.parquet")
    keys = [(labels, draw) for labels in args.labels for draw in range(args.draws)]
    store = results(args, FIELDS, keys, partial(one_draw, args.data))
    rows = []
    for labels in args.labels:
        some = [store[key] for key in keys if key[0] == labels and key in store.records]
        if some:
            rows.append(_row(labels, some))
    head = ["labels", "draws", "covered", "width, points", "over labels alone", "judge alone off by, points",
            "models covered", "findings", "borne out"]  # fmt: skip
    show(args, "judge_stated", "stated confidences as judges of their own answers", head, rows)


def _row(labels: int, some: list[dict]) -> list:
    total = {
        name: sum(one[name] for one in some)
        for name in ("covered", "models", "models_covered", "findings", "borne_out")
    }
    average = {name: float(np.mean([one[name] for one in some])) for name in ("width", "over_alone", "naive_error")}
    return [
        labels, len(some), f"{total['covered']} of {len(some)}", f"{100 * average['width']:.1f}",
        f"{average['over_alone']:.2f}", f"{100 * average['naive_error']:+.1f}",
        f"{total['models_covered']} of {total['models']}", total["findings"], total["borne_out"],
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
