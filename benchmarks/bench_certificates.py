"""Size, coverage and power of the certificates on unseen rows.

    python benchmarks/bench_certificates.py --repeats 400 --rows 80 300 1000 5000 20000

Null worlds: y depends on the confidence alone, the field is made without sight of y: noise, or a function of the
confidence and noise, or heavy-tailed noise; and where outcomes are rare, a field on few rows. Planted worlds: y also
depends on a hidden sign, which the field knows for `right` of the rows; it is there in all rows or in a `share` of
them, the field being noise of a tenth of its size on the others. Per cent; a dash where there is nothing to test.
8 fit rows for each test row, as in a split.
Exits with status 1 where more than 5 % of the nulls are rejected, or of the limits lie above the truth, beyond chance.

columns  size: hidden p <= 0.05 where nothing is hidden; limit > 0: the hidden limit, same worlds;
         total: total p <= 0.05 where f is calibrated; cover: limit <= truth; power: p <= 0.05.
"""

import argparse
import sys
import time

import numpy as np
from scipy.stats import binomtest

from miscal.evidence.certificates import certificate
from miscal.evidence.settings import EvidenceSettings

FIT_PER_TEST = 8
SETTINGS = EvidenceSettings(n_draws=499)
LEVEL, LEAST_P = 0.05, 1e-4
"""Share of errors that is allowed, and the chance at which more are no accident; some 100 shares are tested."""
STATED = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
CONFIDENCES = {
    "calibrated": lambda rng, n: rng.random(n),
    "distorted": lambda rng, n: rng.random(n),
    "few values": lambda rng, n: rng.choice(STATED, n, p=[0.05, 0.1, 0.3, 0.3, 0.2, 0.05]),
    "saturated": lambda rng, n: rng.beta(20, 0.3, n),
    "rare": lambda rng, n: rng.uniform(0.0005, 0.0015, n),
}
RATES = {
    "calibrated": lambda f: f,
    "distorted": lambda f: f**3,
    "few values": lambda f: 0.5 + 0.3 * np.cos(20 * f),
    "saturated": lambda f: 0.6 + 0.35 * (f > 0.999),
    "rare": lambda f: f,
}
HIDING = [world for world in CONFIDENCES if world != "rare"]  # there a hidden sign would have next to no room
FIELDS = {
    "noise": lambda rng, f: rng.standard_normal(len(f)),
    "follows f": lambda rng, f: np.sin(6 * np.pi * f + rng.standard_normal(len(f))),
    "heavy tails": lambda rng, f: rng.standard_t(2, len(f)),
}
FEW_ROWS = {"few rows": lambda rng, f: 1.0 * (rng.random(len(f)) < 0.1)}


def draw(world, n, rng, hidden=0.0, share=1.0):
    """Return f, y, the sign (0 where nothing is hidden) and the signed size of what is hidden, for n rows."""
    f = CONFIDENCES[world](rng, n)
    rate = RATES[world](f)
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0) * (rng.random(n) < share)
    size = np.minimum(hidden, np.minimum(rate, 1 - rate))
    return f, (rng.random(n) < rate + sign * size).astype(float), sign, size * sign


def certify(test, fit, delta, hidden, seed):
    delta, hidden = np.clip(delta, -1, 1), np.clip(hidden, -1, 1)
    return certificate(
        test[1], test[0], delta, hidden, fit_correct=fit[1], fit_confidence=fit[0], settings=SETTINGS, random_state=seed
    )


def too_many(errors, repeats):
    """Whether so many errors are more than the level allows, beyond chance."""
    return binomtest(int(errors), repeats, LEVEL, alternative="greater").pvalue < LEAST_P


def nulls(world, n, repeats):
    """Print the size in a null world; the number of sizes that are too large."""
    fields, calibrated = (FIELDS, world == "calibrated") if world in HIDING else (FEW_ROWS, True)
    counts = {name: np.zeros(3) for name in fields}
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n])
        test, fit = draw(world, n, rng), draw(world, FIT_PER_TEST * n, rng)
        for name, make in fields.items():
            field = make(rng, test[0]) / 20
            proof = certify(test, fit, field, field, seed)
            counts[name] += proof.hidden.p_value <= LEVEL, proof.hidden.low > 0, proof.total.p_value <= LEVEL
    missed = 0
    for name, errors in counts.items():
        size, above, whole = 100 * errors / repeats
        tested = errors if calibrated else errors[:2]
        wrong = sum(too_many(number, repeats) for number in tested)
        last = f"{whole:6.1f}" if calibrated else "     -"
        mark = "  TOO MANY" if wrong else ""
        print(
            f"{n:6d}  {world:11s} {name:12s} size {size:5.1f}  limit > 0 {above:5.1f}  total {last}{mark}", flush=True
        )
        missed += wrong
    return missed


def planted(world, n, repeats, hidden, right, share=1.0):
    """Print coverage and power in a planted world; the number of coverages that are too low."""
    covered, found, above, low, whole = 0, 0, 0, [], 0
    f, _, _, h = draw(world, 200_000, np.random.default_rng(7), hidden, share)
    truth, truth_total = np.abs(h).mean(), np.abs(RATES[world](f) - f + h).mean()
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n, 1])
        test, fit = draw(world, n, rng, hidden, share), draw(world, FIT_PER_TEST * n, rng, hidden, share)
        guess = np.where(rng.random(n) < right, test[2], -test[2]) * hidden
        guess += (test[2] == 0) * hidden / 10 * rng.standard_normal(n)
        visible = RATES[world](test[0]) - test[0]
        proof = certify(test, fit, visible + guess, guess, seed)
        covered += proof.hidden.low <= truth
        whole += proof.total.low <= truth_total
        found, above = found + (proof.hidden.p_value <= LEVEL), above + (proof.hidden.low > 0)
        low.append(proof.hidden.low)
    wrong = sum(too_many(repeats - number, repeats) for number in (covered, whole))
    print(
        f"{n:6d}  {world:11s} hidden {truth:.3f}, share {share:.1f}, right {right:.2f}: "
        f"cover {100 * covered / repeats:5.1f} (total {100 * whole / repeats:5.1f})  power {100 * found / repeats:5.1f}"
        f"  limit > 0 {100 * above / repeats:5.1f}  mean limit {np.mean(low):.3f}{'  TOO FEW' if wrong else ''}",
        flush=True,
    )
    return wrong


def main():
    """Print everything; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--rows", type=int, nargs="+", default=[80, 300, 1000, 5000, 20000])
    parser.add_argument("--hidden", type=float, default=0.1)
    options = parser.parse_args()
    missed = 0
    for n in options.rows:
        start = time.perf_counter()
        for world in CONFIDENCES:
            missed += nulls(world, n, options.repeats)
        for world in HIDING:
            for right in (1.0, 0.75):
                missed += planted(world, n, options.repeats, options.hidden, right)
            missed += planted(world, n, options.repeats, 2 * options.hidden, 1.0, 0.1)
        each = (time.perf_counter() - start) / options.repeats / (len(HIDING) * (len(FIELDS) + 3) + len(FEW_ROWS))
        print(f"{n:6d}  {1000 * each:.0f} ms a certificate", flush=True)
    verdict = f"MISSED in {missed} places" if missed else "met"
    print(f"targets {verdict}: at most {100 * LEVEL:g} % errors, beyond chance (p < {LEAST_P:g})")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
