"""How often does a monitor say that a correction does not hold: where nothing changed, and where something did?

    python benchmarks/monitor.py [--draws 400] [--csv benchmarks/notes]

No field is fitted: rows have a corrected confidence p, and outcomes at sigmoid(logit p + shift + e), where e is drawn
for each day (0: rows count one by one). What counts as right is 2 points to either side, as by default, or no distance
at all, which is the hardest. In `late`, the shift comes after ten calm looks; a look has as many days as named.

- *does not hold*: monitors of which all rows are ever said not to hold, and those at the first look after the change.
- *width*: of the interval at the first look, over that of the 95 % interval by t of the same units; median of draws.

Targets: does not hold in at most 5 % of the monitors where nothing changed (beyond chance: binomial test at 1 %); at
the first look in at least 90 % of those with a shift of 0.5 by 60 days of 200 rows; width at most 1.6 of 60 units or
more.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binomtest, t

from _script import limit_threads, options, show, target
from miscal.evidence.settings import SIGNIFICANCE
from miscal.runs.monitor.document import LEVEL
from miscal.runs.monitor.new_rows import NewLabelled
from miscal.runs.monitor.questions import LEVEL_SHARE, Question

LOOKS, CALM = 10, 10
WORLDS = (
    # name, mean p, days of a look (None: rows), rows of a day or look, spread of days, shift, calm looks before
    ("unchanged", 0.5, None, 500, 0.0, 0.0, 0),
    ("unchanged", 0.05, None, 500, 0.0, 0.0, 0),
    ("unchanged", 0.5, 60, 200, 0.5, 0.0, 0),
    ("unchanged", 0.2, 60, 20, 0.5, 0.0, 0),
    ("unchanged", 0.2, 12, 50, 0.5, 0.0, 0),
    ("changed", 0.5, 60, 200, 0.5, 0.5, 0),
    ("changed", 0.2, 60, 200, 0.5, 0.5, 0),
    ("changed", 0.2, 60, 200, 0.5, -0.5, 0),
    ("changed", 0.5, None, 500, 0.0, 0.5, 0),
    ("late", 0.5, None, 500, 0.0, 0.5, CALM),
    ("late", 0.2, 60, 200, 0.5, 0.5, CALM),
)


def look(rng: np.random.Generator, world: tuple, shift: float) -> NewLabelled:
    """Rows of one look."""
    _, mean, days, rows, spread, *_ = world
    unit = np.arange(rows) if days is None else np.repeat(np.arange(days), rows)
    score = logit(mean) + 0.8 * rng.normal(size=len(unit))
    day = spread * rng.normal(size=unit[-1] + 1)[unit]
    # the corrected confidence is the rate of all days, by the usual approximation of a normal mean of sigmoids
    p = expit(score / np.sqrt(1 + np.pi * spread**2 / 8))
    y = (rng.random(len(unit)) < expit(score + day + shift)).astype(float)
    none, every = np.zeros((len(unit), 0)), np.ones(len(unit), bool)
    return NewLabelled(none, y, p, p, p, every, unit)


def one_monitor(rng: np.random.Generator, world: tuple, width: float) -> tuple[int | None, float]:
    """The look at which all rows were said not to hold, and the width of the interval at the first look."""
    *_, shift, calm = world
    asked = Question(key=LEVEL, kind=LEVEL, about="all rows", error=SIGNIFICANCE * LEVEL_SHARE, allowed=(-width, width))
    ratio = np.nan
    for place in range(calm + LOOKS):
        new = look(rng, world, shift if place >= calm else 0.0)
        asked = asked.after(new, None)
        if place == 0:
            total, many = (np.bincount(new.unit, values) for values in (new.correct - new.corrected, np.ones(len(new))))
            off = total - many * total.sum() / many.sum()
            error = np.sqrt((off**2).sum() * len(many) / (len(many) - 1)) / len(new)
            ratio = float(asked.course(1, 1)[2][0] / (t.isf(SIGNIFICANCE / 2, len(many) - 1) * error))
        if asked.broken is not None:
            break
    return None if asked.broken is None else asked.broken[1], ratio


def main() -> None:
    parser = options(__doc__, draws=400)
    args = parser.parse_args()
    limit_threads()
    shown, met = [], True
    for number, world in enumerate(WORLDS):
        name, mean, days, rows, spread, shift, calm = world
        for width in (0.0, 0.02) if name == "unchanged" else (0.02,):
            # where something changed, nearly every monitor ends at its first look
            draws = args.draws if name != "late" else args.draws // 4
            found = [one_monitor(np.random.default_rng((number, draw)), world, width) for draw in range(draws)]
            ever = sum(at is not None and at > calm for at, _ in found)
            early = sum(at is not None and at <= calm for at, _ in found)
            first = sum(at == calm + 1 for at, _ in found)
            ratio = float(np.nanmedian([one for _, one in found]))
            shares = [f"{100 * count / draws:.1f}" for count in (early, first, ever)]
            shown.append([name, mean, days or "-", rows, spread, shift, calm, width, draws, *shares, f"{ratio:.2f}"])
            if name == "unchanged":
                met &= binomtest(ever, draws, SIGNIFICANCE, alternative="greater").pvalue > 0.01
            if name == "changed" and days == 60 and rows == 200:
                met &= first / draws >= 0.9
            if days is None or days >= 60:
                met &= round(ratio, 2) <= 1.6
    head = ["world", "mean p", "days of a look", "rows of a day or look", "spread of days", "shift", "calm looks",
            "counts as right", "monitors", "before the change", "at the first look", "ever", "width by t"]  # fmt: skip
    show(args, "monitor", "monitors that say of all rows that the correction does not hold", head, shown)
    sys.exit(not target("5 % where nothing changed, 90 % at the first look, width 1.6", met))


if __name__ == "__main__":
    main()
