"""How often do intervals of the pass rate that people would give hold it, and how wide are they?

    python benchmarks/pass_rates.py [--draws 2000] [--peers PYTHON --peer-draws 200] [--csv benchmarks/notes]

Worlds of 2,000 judged rows of which 50, 130, 200 or 500 are labelled (`_judge_worlds.py`); the truth is the world's
rate. Each method is told the same:

- `miscal`: `miscal.evidence.prediction_powered.pass_rate`, with predictions cross-fitted on the labelled rows;
- `labelled alone`: the same with predictions that are all alike, so the verdicts by their weights;
- `judge`: `judge_rate`, the mean of the judge's scores;
- `plain PPI`: the same predictions as miscal, factor 1, normal interval (Angelopoulos et al., 2023; weighted);
- `cje-eval`: the package of that name, by the python that --peers names; without it the column is left out.

`in the lenient group` is the rate of the rows of one group of five. Width: mean, over that of `labelled alone` where it
has an interval too.

Targets: miscal's intervals hold the truth in 94 % of draws or more in every world, by a binomial test at 1 %; they are
narrower than those of the labelled rows wherever the judge carries signal, and nowhere wider by more than 2 %.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import binom

from _judge_worlds import WORLDS, Draw, cross_fitted, rate_of
from _script import limit_threads, options, show, target
from miscal.evidence.judged_rows import JudgedRows
from miscal.evidence.prediction_powered import judge_rate, pass_rate

ROWS = 2_000
METHODS = ("miscal", "labelled alone", "judge", "plain PPI", "cje-eval")
IN_GROUP = "in the lenient group"
LEAST_COVERED, WIDEST = 0.94, 1.02
SIGNAL = {"plain", "rare and seen", "lenient group", IN_GROUP, "clusters", "shift", "unequal",
          "unequal and rarer"}  # fmt: skip
"""Worlds in which the judge says something. Of a rate of 2 % and of a saturated judge it says hardly anything."""


def draws_of(world: str, labels: int, draws: int) -> Iterator[tuple[Draw, np.random.Generator]]:
    """Draw a world again and again."""
    for number in range(draws):
        rng = np.random.default_rng((list(WORLDS).index(world), labels, number))
        yield WORLDS[world](rng, ROWS, labels), rng


def intervals(draw: Draw, rng: np.random.Generator, group: int | None) -> dict[str, tuple]:
    """Estimate, lower and upper end by every method but the external one."""
    inside = slice(None) if group is None else draw.group == group
    unequal = np.ptp(draw.chance) > 0
    rows = JudgedRows.of(
        cross_fitted(draw, rng), draw.human, cluster=draw.cluster,
        labelling_probability=draw.chance if unequal else None,
    ).take(inside)  # fmt: skip
    found = {
        "miscal": pass_rate(rows),
        "labelled alone": pass_rate(replace(rows, predicted=np.full(len(rows), 0.5))),
        "judge": judge_rate(rows, draw.score[inside]),
    }
    told = {name: (one.estimate, one.low, one.high) for name, one in found.items()}
    return told | {"plain PPI": plain_ppi(rows)}


def plain_ppi(rows: JudgedRows) -> tuple[float, float, float]:
    """Prediction-powered inference as it was first published: factor 1, normal interval; clusters are not looked at."""
    some = rows.take(rows.labelled)
    share = some.inverse / some.inverse.sum()
    error = some.human - some.predicted
    bias = share @ error
    estimate = rows.predicted.mean() + bias
    spread = np.sqrt(np.var(rows.predicted) / len(rows) + share**2 @ (error - bias) ** 2)
    return estimate, estimate - 1.96 * spread, estimate + 1.96 * spread


def by_peer(python: str, world: str, labels: int, draws: int) -> list[tuple]:
    """Intervals by cje-eval, in a process of an environment that has it."""
    lines = [
        json.dumps({
            "score": draw.score.tolist(), "cluster": draw.cluster.tolist(),
            "human": [None if np.isnan(v) else v for v in draw.human.tolist()],
            "chance": draw.chance.tolist() if np.ptp(draw.chance) > 0 else None,
        })
        for draw, _ in draws_of(world, labels, draws)
    ]  # fmt: skip
    ran = subprocess.run(
        [python, str(Path(__file__).with_name("_cje.py"))], input="\n".join(lines), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    told = [tuple(json.loads(line)) for line in ran.stdout.splitlines()]
    for reason in {one[2] for one in told if one[0] is None}:
        print(f"cje-eval, {world}: {reason}", file=sys.stderr)
    return [one if one[0] is not None else (None, None, None) for one in told]


def measured(found: list[tuple], alone: list[tuple], truth: float) -> tuple[float, float, int] | None:
    """Share of intervals that hold the truth, mean width over that of the labelled rows, and intervals."""
    pairs = [(one, other) for one, other in zip(found, alone, strict=False) if None not in (*one, *other)]
    if not pairs:
        return None
    covered = np.mean([low <= truth <= high for (_, low, high), _ in pairs])
    width = np.mean([high - low for (_, low, high), _ in pairs]) / np.mean([o[2] - o[1] for _, o in pairs])
    return float(covered), float(width), len(pairs)


def cell(one: tuple[float, float, int] | None) -> str:
    """Write coverage and width."""
    return "" if one is None else f"{100 * one[0]:.1f} ({one[1]:.2f})"


def main() -> None:
    """Measure, show, and compare with the targets."""
    parser = options(__doc__, draws=2_000, peer_draws=200, labels=[50, 130, 200, 500], worlds=list(WORLDS))
    parser.add_argument("--peers", help="python of an environment with cje-eval")
    args = parser.parse_args()
    limit_threads()
    rows, missed = [], []
    for world in args.worlds:
        for labels in args.labels:
            for place, group in [(world, None), *([(IN_GROUP, 0)] if world == "lenient group" else [])]:
                truth = rate_of(world, group)
                found = [intervals(draw, rng, group) for draw, rng in draws_of(world, labels, args.draws)]
                told = {name: [one[name] for one in found] for name in METHODS[:-1]}
                if args.peers and group is None and labels == 200:
                    told["cje-eval"] = by_peer(args.peers, world, labels, args.peer_draws)
                by = {name: measured(told.get(name, []), told["labelled alone"], truth) for name in METHODS}
                rows.append([place, labels, f"{truth:.3f}", *(cell(by[name]) for name in METHODS)])
                missed += misses(place, labels, by["miscal"])
                print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    show_rates(args, rows)
    sys.exit(
        not target(f"coverage and width of miscal's intervals ({'; '.join(missed) or 'no exception'})", not missed)
    )


def misses(place: str, labels: int, one: tuple[float, float, int] | None) -> list[str]:
    """Say which targets a cell misses."""
    if one is None:
        return []
    covered, width, number = one
    found = []
    if covered < binom.ppf(0.01, number, LEAST_COVERED) / number:
        found.append(f"{place}, {labels} labels: {100 * covered:.1f} % of {number} hold the truth")
    if width > WIDEST or (place in SIGNAL and width >= 1):
        found.append(f"{place}, {labels} labels: {width:.2f} times as wide")
    return found


def show_rates(args: argparse.Namespace, rows: list[list]) -> None:
    """Show coverage and width of all methods."""
    head = ["world", "labels", "pass rate", *METHODS]
    show(args, "pass_rates", "intervals that hold the pass rate, % (width over that of labelled alone)", head, rows)


if __name__ == "__main__":
    main()
