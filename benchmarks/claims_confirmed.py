"""Where hidden miscalibration is claimed from some rows of a real set, do the other rows confirm it?

    python benchmarks/claims_confirmed.py --data DIR [--rows 1000] [--draws 1] [--sets mmlu/] [--print]

Of each set so many rows are drawn at random, at most half of them, with equal inputs on one side. auto is fitted to
them, and the claim is made by the layers of a run where all rows are evaluated (E[y | f] by folds, fields of earlier
folds, both tests). The rows that are left then judge it: the field learned from all rows drawn is tested on them, and
the kernel score is asked of them alone. There are mostly many more of them, so that what is true is nearly always seen.

    before     claimed by the rule that miscal had before: the estimator claims structure, the p-value of the field that
               it corrects by is below 0.05, and the lower limit of its size is above 0
    now        claimed: p_value is below 0.05
    direction  the field's mean hidden residual among the other rows is on the side that it says
    confirmed  and p_value of the other rows is below 0.05

Target: at least 95 % of the claims are confirmed.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from _data import read_set, set_names
from _layers import learned_in_turn, proof_of
from _script import limit_threads, options, results, show, target
from miscal.base.folds import row_groups
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.certificates import certificate
from miscal.evidence.conditional import outcome_given_confidence
from miscal.evidence.kernel_score import smoothed_residuals
from miscal.evidence.settings import SIGNIFICANCE

FIELDS = ("set", "rows", "draw")
LEAST = 0.95


def parts(rows: Triples, many: int, draw: int) -> tuple[Triples, Triples]:
    """Draw some rows, at most half of them, and return them and the others; equal inputs are in one part."""
    unit = row_groups(rows.X, None)
    rank = np.random.default_rng((draw, 134)).permutation(int(unit.max()) + 1)[unit]
    order = np.sort(rank)
    drawn = rank < order[min(many, len(rank) // 2)]
    return rows.take(drawn), rows.take(~drawn)


def one_draw(folder: Path | None, name: str, many: int, draw: int) -> dict:
    """Claim from some rows, and judge by the others."""
    limit_threads()
    start, data = time.perf_counter(), read_set(folder, name)
    here, there = parts(Triples.of(data.X, confidence=data.confidence, correct=data.correct), many, draw)
    expected = expected_outcome(here, draw)
    score = smoothed_residuals(here.X, here.correct, here.confidence, expected, random_state=draw).p_value
    fold, raw, gated = learned_in_turn(here, draw)
    claim, before = (proof_of(here, fold, field, expected, p, draw) for field, p in ((raw, score), (gated, None)))
    model = MiscalibrationField(random_state=draw, n_jobs=1).fit_triples(here)
    found = {"p": claim.p_value, "p_field": claim.p_field, "p_structure": claim.p_structure}
    found["before"] = bool(model.structure_) and before.p_field < SIGNIFICANCE and before.hidden.low > 0
    return {
        **dict(zip(FIELDS, (name, many, draw), strict=True)), "n": len(here), "others": len(there), **found,
        **judged(model, here, there, draw), "seconds": time.perf_counter() - start,
    }  # fmt: skip


def judged(model: MiscalibrationField, here: Triples, there: Triples, seed: int) -> dict:
    """What rows say of a field that has not seen them."""
    expected = outcome_given_confidence(here.correct, here.confidence, there.confidence)
    field = model.estimate(there.X, there.confidence).ungated
    score = smoothed_residuals(there.X, there.correct, there.confidence, expected, random_state=seed).p_value
    tested = LabelledRows.of(there.correct, there.confidence, expected, delta=0 * field, hidden=field)
    proof = certificate(tested, p_structure=score, random_state=seed)
    return {"direction": bool(proof.hidden.value > 0), "p_others": proof.p_value, "p_field_others": proof.p_field}


def main() -> None:
    """Draw, show, and compare with the target."""
    parser = options(__doc__, "claims_confirmed", data="folder of real sets; default: the demo data",
                     rows=1_000, draws=1)  # fmt: skip
    parser.add_argument("--sets", nargs="+", help="keep the sets whose name contains one of these")
    args: argparse.Namespace = parser.parse_args()
    keys = [(name, args.rows, draw) for draw in range(args.draws) for name in set_names(args.data, args.sets)]
    records = results(args, FIELDS, keys, partial(one_draw, args.data)).of(keys)
    rows = []
    for one in records:
        p_values = [f"{one[name]:.2g}" for name in ("p", "p_field", "p_structure", "p_others", "p_field_others")]
        yes = ["yes" if value else "no" for value in (one["before"], one["p"] < SIGNIFICANCE, one["direction"])]
        rows.append([one["set"], one["n"], one["others"], *yes, *p_values])
    head = ["set", "rows", "others", "before", "now", "direction", "p", "p field", "p structure", "p of the others",
            "p field of the others"]  # fmt: skip
    show(args, "claims_confirmed", "hidden miscalibration claimed from some rows, judged by the others", head, rows)
    claimed = [one for one in records if one["p"] < SIGNIFICANCE]
    held = sum(one["direction"] and one["p_others"] < SIGNIFICANCE for one in claimed)
    line = f"{held} of {len(claimed)} claims confirmed ({sum(one['before'] for one in records)} claimed before)"
    sys.exit(not target(line, held >= LEAST * len(claimed)))


if __name__ == "__main__":
    main()
