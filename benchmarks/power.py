"""What `miscal discover` would see of a planted regime, by rows, share and strength; and where nothing is planted.

    python benchmarks/power.py [--draws 10] [--rows 1000 3000] [--jobs 2] [--print]

A world is calibrated but for one place of an embedding with 384 columns (_worlds.rare_regime), which
holds a share of the rows and whose log-odds are shifted by -a in even draws and +a in odd ones. The place lies sqrt(d)
standard deviations of the noise away from the other rows, well apart: one that is harder to tell apart needs more of
them. With a = 0, the size, there is the same place and nothing wrong with it.

auto is fitted and put to the test as in `miscal discover`: every row is evaluated, by fits that have not seen its
outcome; in `whole runs, test split`, a random tenth of the rows. Of a draw are asked

    claimed    does the estimator claim local structure?
    found      does the regime of the right sign, |hidden field| > 0.05, hold at least half of the planted rows, which
               are at least twice as frequent in it as in all rows?
    certified  is hidden miscalibration claimed: is the p-value of both tests below 0.05?
    limit      is the lower limit of its average size above 0?
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from _shares import FOUND, Question, ask
from _validity_counts import Told
from _worlds import rare_regime
from miscal.data.triples import Triples
from miscal.discovery.estimating import fit_rows, prepare
from miscal.discovery.fitted_rows import Evidence
from miscal.discovery.summarise import claim_of
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import regimes_of
from miscal.findings.residuals import EPSILON

WORLDS = tuple(f"share {share:g}, shift {shift:g}" for share in (0.02, 0.05, 0.1, 0.2) for shift in (0, 0.5, 1, 2))
COLUMNS = 384


def seen(evidence: Evidence, world: str, n: int, draw: int) -> Told:
    """What whole runs see of a place of an embedding, or claim where nothing is wrong with it."""
    share, strength = (float(part.split()[1]) for part in world.split(", "))
    sign = 1 if draw % 2 else -1
    rng = np.random.default_rng((draw, COLUMNS, n, round(1e6 * share), round(1e6 * strength)))
    made = rare_regime(n, COLUMNS, share=share, shift=sign * strength, random_state=rng)
    drawn = Triples.of(made.X, confidence=made.confidence, correct=made.correct)
    rows = fit_rows(prepare(drawn, evidence, draw)[0], MiscalibrationField(random_state=draw, n_jobs=1))
    claim, test = claim_of(rows, seed=draw), rows.evaluated
    if strength == 0:
        return Told(misses={"claim where nothing is": claim.claims_hidden})
    hidden, supported = rows.estimate.hidden[test], rows.estimate.supported[test]
    planted = made.regime[test] == 1
    inside = regimes_of(hidden, EPSILON, supported) == ("under" if sign > 0 else "over")
    found = planted.any() and inside[planted].mean() >= 0.5 and planted[inside].mean() >= 2 * planted.mean()
    told = {"claimed": rows.model.structure_, "found": found, "certified": claim.claims_hidden,
            "limit": claim.hidden.low > 0}  # fmt: skip
    sizes = np.abs(made.delta[made.regime == 1])
    return Told(misses={f"{name}{FOUND}": bool(was) for name, was in told.items()},
                means={"size": sizes.mean() if len(sizes) else 0.0})  # fmt: skip


QUESTIONS = {
    "whole runs": Question(partial(seen, "all"), WORLDS, (1_000, 3_000, 10_000), 10),
    "whole runs, test split": Question(partial(seen, "test"), WORLDS, (1_000, 3_000, 10_000), 10),
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "power", QUESTIONS))
