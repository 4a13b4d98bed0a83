"""The card of a run: how often do its intervals hold, and does an independent script compute the same numbers?

    python benchmarks/card.py --only coverage [--draws 4000] [--jobs 2]
    python benchmarks/card.py --only tables

`coverage`: rows whose log-odds are a + b logit f, alone or in units whose outcomes hang together; and answers that
people and a judge pass or fail. Share of draws whose 95 % interval holds the truth of the world.

`tables`: cards of a credit table, of a clinical one with several rows of a patient (of packages: _tables.py) and of the
packaged flights, beside numpy and scipy alone (_card_again.py).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.optimize import root_scalar
from scipy.special import expit, logit

import miscal
from _card_again import again, apart
from _script import options, results, show, target
from _tables import PACKAGES, tables
from miscal.calibration.labelled_rows import LabelledRows, labelled
from miscal.calibration.metrics.scores import calibration_intercept, calibration_slope, observed_expected
from miscal.data import flights
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.run import read_run
from miscal.evidence.judged_rows import JudgedRows, agreement
from miscal.runs.card.card import card

NUMBERS = {"O/E": observed_expected, "intercept": calibration_intercept, "slope": calibration_slope}
LARGE = 1_000_000
"""Rows by which the truth of a world is known."""


@dataclass(frozen=True)
class World:
    """Rows: their number; mean and spread of log-odds; rows of a unit, alike or not; a and b; what a unit shares."""

    n: int
    mean: float
    spread: float
    unit: int = 0
    uneven: bool = False
    a: float = 0.0
    b: float = 1.0
    shared: float = 0.3

    def drawn(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Confidence, rate and unit of each row."""
        unit, own = None, rng.normal(size=n)
        if self.unit:
            sizes = 1 + rng.geometric(1 / self.unit, n) if self.uneven else np.full(n, self.unit)
            unit = np.repeat(np.arange(n), sizes)[:n]
            own = (rng.normal(size=n)[unit] + own) / np.sqrt(2)
        odds = self.mean + self.spread * own
        return expit(odds), expit(self.a + self.b * odds), unit

    def rows(self, rng: np.random.Generator) -> LabelledRows:
        """A draw with outcomes; a part of the rows of a unit has one draw."""
        f, rate, unit = self.drawn(rng, self.n)
        own = rng.random(self.n)
        if unit is not None:
            own = np.where(rng.random(self.n) < self.shared, rng.random(self.n)[unit], own)
        return labelled((own < rate).astype(float), f, unit, None)

    def truth(self) -> dict[str, float]:
        """What all rows of the world say."""
        f, rate, _ = self.drawn(np.random.default_rng(1), LARGE)
        intercept = root_scalar(lambda a: float(np.mean(expit(a + logit(f)) - rate)), bracket=(-5, 5)).root
        return {"O/E": rate.mean() / f.mean(), "intercept": intercept, "slope": self.b}


WORLDS = {
    "300 rows, 29 %": World(300, -1.0, 1.0),
    "1,000 rows, 10 %": World(1_000, -2.5, 1.0),
    "3,000 rows, 3 %": World(3_000, -4.0, 1.0),
    "1,000 rows, off": World(1_000, -1.0, 1.0, a=0.4, b=0.7),
    "50 units of 20, 31 %": World(1_000, -1.0, 1.2, unit=20),
    "200 units of 10, 13 %": World(2_000, -2.3, 1.2, unit=10),
    "200 units of 10, off": World(2_000, -1.0, 1.2, unit=10, a=0.4, b=0.7),
    "about 100 uneven units, 31 %": World(2_000, -1.0, 1.2, unit=20, uneven=True),
    "about 40 uneven units, 10 %": World(2_000, -2.5, 1.0, unit=50, uneven=True),
}
JUDGES = {"300 answers": (300, 0), "600 answers in 100 units": (600, 6)}


def judged(rng: np.random.Generator, n: int, size: int) -> tuple[JudgedRows, np.ndarray]:
    """Answers of which people approve 60 %, a judge agrees in 75 %, and three in five are labelled."""
    unit = np.arange(n) // max(size, 1)

    def own() -> np.ndarray:
        alone = rng.random(n)
        return np.where(rng.random(n) < 0.4, rng.random(n)[unit], alone) if size else alone

    approve, agree = own() < 0.6, own() < 0.75
    passed = np.where(agree, approve, ~approve)
    human = np.where(rng.random(n) < 0.6, approve.astype(float), np.nan)
    return JudgedRows.of(passed.astype(float), human, cluster=unit), passed


def covered(world: str, draws: int) -> dict:
    """Count the draws of a world whose intervals hold the truth."""
    start, held = time.perf_counter(), dict.fromkeys(NUMBERS, 0) if world in WORLDS else {"kappa": 0}
    if world in WORLDS:
        truth = WORLDS[world].truth()
    else:
        # people approve .6, the judge passes .6 x .75 + .4 x .25
        same, chance = 0.75, 0.6 * 0.55 + 0.4 * 0.45
        truth = {"kappa": (same - chance) / (1 - chance)}
    for draw in range(draws):
        rng = np.random.default_rng((draw, len(world), 68))
        if world in WORLDS:
            rows = WORLDS[world].rows(rng)
            found = {name: estimate(rows) for name, estimate in NUMBERS.items()}
        else:
            found = {"kappa": agreement(*judged(rng, *JUDGES[world])).kappa}
        for name, one in found.items():
            low, high = one.interval if one is not None and one.interval else (np.nan, np.nan)
            held[name] += bool(low <= truth[name] <= high)
    return {"world": world, "draws": draws, "held": held, "seconds": time.perf_counter() - start}


def show_coverage(args: Namespace) -> bool:
    """Print how often intervals hold; whether that is between 94 and 96 %, within noise."""
    keys = [(world, args.draws) for world in (*WORLDS, *JUDGES)]
    cells = results(args, ("world", "draws"), keys, covered).of(keys)
    heads, noise = (*NUMBERS, "kappa"), 2 * np.sqrt(0.05 * 0.95 / args.draws)
    lines = [
        (one["world"], *(f"{one['held'][name] / args.draws:.3f}" if name in one["held"] else "" for name in heads))
        for one in cells
    ]
    show(args, "card", f"95 % intervals that hold the truth, of {args.draws:,} draws", ("world", *heads), lines)
    shares = [held / args.draws for one in cells for held in one["held"].values()]
    inside = [0.94 - noise <= share <= 0.96 + noise for share in shares]
    print(f"\n{sum(inside)} of {len(inside)} within 94 to 96 % and the noise of {args.draws:,} draws")
    return target("every one within 94 to 96 %, within noise", all(inside))


def expected_at(run: Path) -> np.ndarray:
    """Outcome to be expected at the confidence of each row of a run, as learned from other rows."""
    content = read_run(run)
    return expected_outcome(content.triples(), content.summary.seed)


TABLES = {
    "ISLP/Default": {"probability": "risk", "event": "event", "metadata": "student"},
    "pydataset/Ecdat/Hdma": {"probability": "risk", "event": "event"},
    "pydataset/survival/colon": {"probability": "risk", "event": "event", "group": "id", "metadata": "rx,sex,differ"},
    "flights": {
        "probability": "predicted_delay_risk", "event": "delayed", "time": "departure", "group": "departure:day",
        "metadata": "carrier,origin,dest",
    },
}  # fmt: skip


def show_tables(args: Namespace) -> bool:
    """Print how far the numbers of cards are from those computed again."""
    found = {one.name: one.frame for one in tables(PACKAGES, set(TABLES))} | {
        "flights": pl.read_parquet(flights.path())
    }
    lines, met = [], True
    for name, frame in found.items():
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "run"
            frame.write_parquet(Path(folder) / "table.parquet")
            run = miscal.discover(Path(folder) / "table.parquet", quick=True, progress=False, **TABLES[name])
            run.save(place)
            made = card(place)
            named = TABLES[name].get("metadata", "").split(",")
            texts = {one: frame[one].to_numpy() for one in named if one and frame[one].dtype == pl.String}
            values, ends = apart(json.loads(made.to_json()), again(place, expected_at(place), columns=texts))
        lines.append((name, len(frame), made.about["counted by"], f"{values:.0e}", f"{ends:.0e}"))
        met &= values <= 1e-6 and ends <= 1e-3
    heads = ("table", "rows", "counted by", "values apart", "ends apart")
    show(args, "card_tables", "Cards beside an independent script: largest differences", heads, lines)
    return target("values within 1e-6, ends of intervals within 1e-3", met)


PARTS = {"coverage": show_coverage, "tables": show_tables}


def main() -> None:
    """Draw, and compare with what is true; or compute cards again."""
    args = options(__doc__, "card", only="coverage", draws=1_000).parse_args()
    sys.exit(not PARTS[args.only](args))


if __name__ == "__main__":
    main()
