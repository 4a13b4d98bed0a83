"""Findings and claims of real sets, for `real.py`: what some rows say is judged by the others, or by a plain scan.

`replication`: the ledger of a random half is judged on the other by its words, each given those above it. A z of the
first half is too large, because it was chosen for being large. It is shrunk to the estimate that is median-unbiased
given that it passed the ledger's cut; with the variances of the group in both halves this gives the z to be expected in
the second. A finding whose power there is 95 % and more must hold: the same sign and p < .05.

`mending`: findings and correction of a half, judged on the other against rows of equal confidence and of equal
corrected confidence. Of a finding with |z| of 3 and more before, less than a third of the size must be left, or |z|
below 1.5; where nothing at all is left, |z| is beyond 1.5 in 13 of 100 by chance.

`claims`: of each set so many rows are drawn, at most half of them; where hidden miscalibration is claimed of them, the
field learned from them must have the right sign on the others, and their p-value must be below 0.05.

Clusters of inputs are left out where other rows judge: their words do not say which of those belong to them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

import _column_sets
from _data import read_set
from _judge import Judge
from _layers import learned_in_turn, proof_of
from _ledger import Meaning, found_in, ledger_of, read_rows
from _shares import FOUND, UNTOLD
from _validity_counts import Told
from miscal.base.folds import assign_folds, row_groups
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.certificates import certificate
from miscal.evidence.conditional import outcome_given_confidence
from miscal.evidence.kernel_score import smoothed_residuals
from miscal.evidence.settings import SIGNIFICANCE

LEVEL = 0.05
POWER = 0.95
LEAST_Z, MOST_Z, MOST_LEFT = 3.0, 1.5, 1 / 3
Counts = dict[str, tuple[int, int]]

# --- one half judged by the other -----------------------------------------------------------------------------------


def shrunk(z: float, cut: float) -> float:
    """Median-unbiased estimate of the mean of z, seen only because it was beyond the cut; not below 0.

    Examples
    --------
    >>> round(shrunk(10.0, 4.0), 3), round(shrunk(4.2, 4.0), 3)
    (10.0, 0.904)
    """

    def gap(mu: float) -> float:
        return float(log_ndtr(mu - z) - log_ndtr(mu - cut) - np.log(0.5))

    return brentq(gap, 0.0, z + 1.0) if gap(0.0) < 0 else 0.0


def cut_of(p_value: float, p_adjusted: float) -> float:
    """|z| from which the ledger names a candidate, from its p-value and the adjusted one."""
    return float(-ndtri(LEVEL * min(1.0, p_value / p_adjusted) / 2))


def replicated(rows: Triples, half: int) -> list[dict]:
    """Findings of one half, judged on the other."""
    groups = row_groups(rows.X, rows.group)
    first = assign_folds(groups, 2, np.random.default_rng((half, 84))) == 0
    one, two = rows.take(first), rows.take(~first)
    here, there = (Judge(part.correct, part.confidence, half) for part in (one, two))
    found, above = [], []
    for finding in ledger_of(one, half).findings:
        meant: Meaning | None = found_in(finding, rows)
        if meant is None:
            found.append({"description": finding.description, "read": False})
            continue
        variance, other = (
            judge.total(meant.rows[part], [up.rows[part] for up in above])[1]
            for judge, part in ((here, first), (there, ~first))
        )
        sign = -1.0 if finding.sign == "over" else 1.0
        z = float(-ndtri(max(finding.p_value, 1e-300) / 2))
        mu = shrunk(z, cut_of(max(finding.p_value, 1e-300), max(finding.p_adjusted, 1e-300)))
        expected = mu * np.sqrt(other / variance) if variance > 0 and other > 0 else 0.0
        seen = sign * there.z(meant.rows[~first], [up.rows[~first] for up in above])
        found.append({
            "description": finding.description, "read": True, "z": z, "shrunk": mu, "seen": seen,
            "power": float(ndtr(expected - ndtri(1 - LEVEL / 2))), "holds": bool(seen > ndtri(1 - LEVEL / 2)),
            "expected": float(expected),
        })  # fmt: skip
        above.append(meant)
    return found


def replication(folder: Path, name: str, _: int, half: int, _draws: int) -> Counts:
    """Findings of a half that do not hold in the other: those with power there, and all."""
    found = [one for one in replicated(read_rows(folder, name), half) if one["read"]]
    strong = [one for one in found if one["power"] >= POWER]
    return {
        "finding with power does not hold": (len(strong), sum(not one["holds"] for one in strong)),
        f"finding does not hold{UNTOLD}": (len(found), sum(not one["holds"] for one in found)),
    }


def mending(folder: Path, name: str, rows: int, part: int, _draws: int) -> Counts:
    """Findings of a half whose correction leaves too much of them in the other; parts are halves of seeds."""
    seed, half = divmod(part, 2)
    columns, everything = _column_sets.read_set(folder, name)
    table = everything or columns
    if len(table) > rows:
        table = table.take(np.sort(np.random.default_rng(seed).permutation(len(table))[:rows]))
    learns = assign_folds(table.units, 2, np.random.default_rng((seed, 85))) == half
    one, two = (replace(table.take(side), split=None) for side in (learns, ~learns))
    corrected = MiscalibrationField(n_jobs=1).fit_triples(one).fitted_.correct(two.X, two.confidence).corrected
    before, after = (Judge(two.correct, p, seed) for p in (two.confidence, corrected))
    strong = left = 0
    for finding in ledger_of(one, seed).findings:
        meant = found_in(finding, two)
        if meant is None or not meant.rows.any() or abs(before.z(meant.rows)) < LEAST_Z:
            continue
        small = abs(after.size(meant.rows)) < MOST_LEFT * abs(before.size(meant.rows))
        strong, left = strong + 1, left + (not small and abs(after.z(meant.rows)) >= MOST_Z)
    return {"finding not mended": (strong, left)}


# --- claims of some rows, judged by the others ----------------------------------------------------------------------


def parts(rows: Triples, many: int, draw: int) -> tuple[Triples, Triples]:
    """Draw some rows, at most half of them, and return them and the others; equal inputs are in one part."""
    unit = row_groups(rows.X, None)
    rank = np.random.default_rng((draw, 134)).permutation(int(unit.max()) + 1)[unit]
    order = np.sort(rank)
    drawn = rank < order[min(many, len(rank) // 2)]
    return rows.take(drawn), rows.take(~drawn)


def claims(folder: Path | None, name: str, many: int, draw: int) -> Told:
    """Claim from some rows by the layers of a run, and judge by the others; is a claim not confirmed?"""
    data = read_set(folder, name)
    here, there = parts(Triples.of(data.X, confidence=data.confidence, correct=data.correct), many, draw)
    expected = expected_outcome(here, draw)
    score = smoothed_residuals(here.X, LabelledRows(here.correct, here.confidence, expected), draw).p_value
    fold, raw, _ = learned_in_turn(here, draw)
    told = Told(misses={f"claim{FOUND}": proof_of(here, fold, raw, expected, score, draw).p_value < SIGNIFICANCE})
    if told.misses[f"claim{FOUND}"]:
        model = MiscalibrationField(random_state=draw, n_jobs=1).fit_triples(here)
        told.misses["claim not confirmed"] = not confirmed(model, here, there, draw)
    return told


def confirmed(model: MiscalibrationField, here: Triples, there: Triples, seed: int) -> bool:
    """Whether rows that a field has not seen have a hidden residual on its side, beyond chance."""
    expected = outcome_given_confidence(here.correct, here.confidence, there.confidence)
    field = model.estimate(there.X, there.confidence).ungated
    score = smoothed_residuals(there.X, LabelledRows(there.correct, there.confidence, expected), seed).p_value
    tested = LabelledRows.of(there.correct, there.confidence, expected, delta=0 * field, hidden=field)
    proof = certificate(tested, p_structure=score, random_state=seed)
    return bool(proof.hidden.value > 0 and proof.p_value < SIGNIFICANCE)
