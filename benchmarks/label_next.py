"""How many labels does it take to find a lenient group, and to halve the interval of the pass rate?

    python benchmarks/label_next.py [--draws 400] [--csv benchmarks/notes]

Pools of 4,000 rows in ten groups; with one, 3 % of the rows, the judge is too lenient. It is right elsewhere, up
to a monotone map. A pilot of 100 rows at random gives the predictions by which further rows are chosen. Then so many
rows are labelled,

- `planned`: by `miscal.evidence.label_planning`, the groups as strata;
- `random`: each with the same probability,

and the predictions are learned anew, from the confidence alone. The group is found where its weighted mean residual
differs from that of other rows by Student's test, at 5 % over ten groups (Bonferroni), from ten labels of it on. `for
nothing` is how often it is found where the judge treats all groups alike. Width is that of `pass_rate`, over the one of
100 labels at random. `sharp` is a judge that is sure of most rows, `dull` one that is sure of few.

Target: the group is found in 80 % of draws, and the interval is halved, with fewer planned labels than random ones.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy.special import expit, stdtrit

from _judge_worlds import Draw, cross_fitted
from _script import limit_threads, options, show, target
from miscal.evidence.judged_rows import JudgedRows
from miscal.evidence.label_planning import draw_labels, labelling_probabilities
from miscal.evidence.prediction_powered import pass_rate

ROWS, PILOT, GROUP_SHARE, LENIENT = 4_000, 100, 0.03, 2.0
SHARPNESS = {"sharp": 6.0, "dull": 1.5}
NUMBERS = (100, 200, 300, 400, 600, 800, 1_200)
LEVEL, FEWEST = 0.05 / 10, 10


def pool_of(rng: np.random.Generator, slope: float, lenient: float) -> Draw:
    """Draw a pool, labelled by nobody."""
    x, chance = rng.normal(size=ROWS), np.full(ROWS, 1.0)
    rest = (1 - GROUP_SHARE) / 9
    group = rng.choice(10, ROWS, p=[GROUP_SHARE, *[rest] * 9])
    expected = expit(slope * x - lenient * (group == 0))
    columns = np.column_stack([np.ones(ROWS), slope * x])
    verdict = (rng.random(ROWS) < expected).astype(float)
    return Draw(expit(slope * x), verdict, np.zeros(ROWS, bool), group, np.arange(ROWS), chance, expected, columns)


def labelled(pool: Draw, rng: np.random.Generator, chance: np.ndarray) -> Draw:
    """Label rows of a pool with these probabilities."""
    drawn = draw_labels(chance, rng, order=pool.group)
    return Draw(
        pool.score, pool.verdict, drawn, pool.group, pool.cluster, chance, pool.expected, pool.columns
    )  # fmt: skip


def seen(draw: Draw, rng: np.random.Generator) -> tuple[bool, float]:
    """Whether the group is found, and the width of the interval of the rate."""
    predicted = cross_fitted(draw, rng)
    rate = pass_rate(JudgedRows.of(predicted, draw.human, labelling_probability=draw.chance))
    left, means, errors = draw.verdict - predicted, [], []
    in_group = int((draw.labelled & (draw.group == 0)).sum())
    if in_group < FEWEST:
        return False, rate.high - rate.low
    for side in (draw.labelled & (draw.group == 0), draw.labelled & (draw.group != 0)):
        weight = 1 / draw.chance[side]
        weight /= weight.sum()
        means.append(weight @ left[side])
        errors.append(weight**2 @ (left[side] - means[-1]) ** 2)
    critical = -float(stdtrit(in_group - 1, LEVEL / 2))
    return abs(means[0] - means[1]) > critical * np.sqrt(sum(errors)), rate.high - rate.low


def one_draw(sharpness: str, draw: int, lenient: float = LENIENT) -> dict[tuple[str, int], tuple[bool, float]]:
    """Label a pool by both plans, as often as there are numbers of labels."""
    rng = np.random.default_rng((list(SHARPNESS).index(sharpness), draw))
    pool = pool_of(rng, SHARPNESS[sharpness], lenient)
    pilot = labelled(pool, rng, np.full(ROWS, PILOT / ROWS))
    known, found = cross_fitted(pilot, rng), {}
    for number in NUMBERS:
        plans = {
            "random": np.full(ROWS, number / ROWS),
            "planned": labelling_probabilities(known, number, finding=pool.group),
        }
        for plan, chance in plans.items():
            found[plan, number] = seen(labelled(pool, rng, chance), rng)
    return found


def needed(values: list[float], reached: float) -> float:
    """Number of labels at which a curve first reaches a value, by interpolation; NaN where it does not."""
    for k in range(1, len(NUMBERS)):
        if (values[k] - reached) * (values[0] - reached) <= 0:
            share = (reached - values[k - 1]) / (values[k] - values[k - 1])
            return NUMBERS[k - 1] + share * (NUMBERS[k] - NUMBERS[k - 1])
    return float("nan")


def main() -> None:
    """Measure, show, and compare with the target."""
    args = options(__doc__, draws=400).parse_args()
    limit_threads()
    rows, totals, missed = [], [], []
    for sharpness in SHARPNESS:
        found = [one_draw(sharpness, draw) for draw in range(args.draws)]
        null = [one_draw(sharpness, draw, 0.0) for draw in range(args.draws)]
        power, width, wrong = {}, {}, {}
        for plan in ("random", "planned"):
            power[plan] = [float(np.mean([one[plan, number][0] for one in found])) for number in NUMBERS]
            wrong[plan] = [float(np.mean([one[plan, number][0] for one in null])) for number in NUMBERS]
            width[plan] = [float(np.mean([one[plan, number][1] for one in found])) for number in NUMBERS]
        for k, number in enumerate(NUMBERS):
            rows.append([
                sharpness, number, *(f"{100 * power[plan][k]:.1f}" for plan in power),
                *(f"{100 * wrong[plan][k]:.1f}" for plan in wrong),
                *(f"{width[plan][k] / width['random'][0]:.2f}" for plan in width),
            ])  # fmt: skip
        for what, curve, reached in (("found in 80 %", power, 0.8), ("interval halved", width, width["random"][0] / 2)):
            one, other = (needed(curve[plan], reached) for plan in ("random", "planned"))
            totals.append([sharpness, what, *("" if np.isnan(v) else f"{v:.0f}" for v in (one, other))])
            if not other < one and not (np.isnan(one) and other > 0):
                missed.append(f"{sharpness}, {what}")
    show_curves(args, rows, totals)
    sys.exit(not target(f"fewer planned labels ({', '.join(missed) or 'no exception'})", not missed))


def show_curves(args: argparse.Namespace, rows: list[list], totals: list[list]) -> None:
    """Show power and width by number of labels, and the labels that were needed."""
    head = [
        "judge",
        "labels",
        "found, random, %",
        "found, planned, %",
        "for nothing, random, %",
        "for nothing, planned, %",
        "width, random",
        "width, planned",
    ]
    show(args, "label_next", "a lenient group found, and the width of the interval of the rate", head, rows)
    show(args, "label_next-needed", "labels needed", ["judge", "what", "random", "planned"], totals)


if __name__ == "__main__":
    main()
