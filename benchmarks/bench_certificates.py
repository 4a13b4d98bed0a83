"""Size, coverage and power of the certificates on unseen rows.

    python benchmarks/bench_certificates.py --repeats 400 --rows 80 300 1000 5000 20000

Null worlds: y depends on the confidence alone, the field is made without sight of y: noise, or a function of the
confidence and noise, or heavy-tailed noise; and where outcomes are rare, a field on few rows. Planted worlds: y also
depends on a hidden sign, which the field knows for `right` of the rows; it is there in all rows or in a `share` of
them, the field being noise of a tenth of its size on the others. Per cent; a dash where there is nothing to test.
8 fit rows for each test row, as in a split.
Exits with status 1 where more than 5 % of the nulls are rejected, or of the limits lie above the truth, beyond chance.

Columns of null worlds: size (hidden p <= 0.05 where nothing is hidden), limit > 0 (the hidden limit in the same worlds)
and total (total p <= 0.05 where f is calibrated). Of planted worlds: cover (limit <= truth), cover total (the same for
the whole field), power (p <= 0.05), limit > 0 and the mean limit.
"""

import sys
import time

import numpy as np
from scipy.stats import binomtest

from _script import options, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.certificates import certificate
from miscal.evidence.conditional import outcome_given_confidence
from miscal.evidence.settings import SIGNIFICANCE, EvidenceSettings

FIT_PER_TEST = 8
SETTINGS = EvidenceSettings(n_draws=499)
LEAST_P = 1e-4
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
    expected = outcome_given_confidence(fit[1], fit[0], test[0])
    return certificate(
        LabelledRows.of(test[1], test[0], expected, delta=delta, hidden=hidden), settings=SETTINGS, random_state=seed
    )


def too_many(errors, repeats):
    """Whether so many errors are more than the level allows, beyond chance."""
    return binomtest(int(errors), repeats, SIGNIFICANCE, alternative="greater").pvalue < LEAST_P


def nulls(world, n, repeats):
    """Rows of a null world, one for each field; the number of sizes that are too large."""
    fields, calibrated = (FIELDS, world == "calibrated") if world in HIDING else (FEW_ROWS, True)
    counts = {name: np.zeros(3) for name in fields}
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n])
        test, fit = draw(world, n, rng), draw(world, FIT_PER_TEST * n, rng)
        for name, make in fields.items():
            field = make(rng, test[0]) / 20
            proof = certify(test, fit, field, field, seed)
            counts[name] += (
                proof.hidden.p_value <= SIGNIFICANCE,
                proof.hidden.low > 0,
                proof.total.p_value <= SIGNIFICANCE,
            )
    rows, missed = [], 0
    for name, errors in counts.items():
        size, above, whole = (f"{100 * number / repeats:.1f}" for number in errors)
        missed += sum(too_many(number, repeats) for number in (errors if calibrated else errors[:2]))
        rows.append([n, world, name, size, above, whole if calibrated else "-"])
    return rows, missed


def planted(world, n, repeats, hidden, right, share=1.0):
    """Row of a planted world; the number of coverages that are too low."""
    proofs = []
    f, _, _, h = draw(world, 200_000, np.random.default_rng(7), hidden, share)
    truth, truth_total = np.abs(h).mean(), np.abs(RATES[world](f) - f + h).mean()
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n, 1])
        test, fit = draw(world, n, rng, hidden, share), draw(world, FIT_PER_TEST * n, rng, hidden, share)
        guess = np.where(rng.random(n) < right, test[2], -test[2]) * hidden
        guess += (test[2] == 0) * hidden / 10 * rng.standard_normal(n)
        visible = RATES[world](test[0]) - test[0]
        proofs.append(certify(test, fit, visible + guess, guess, seed))
    low, total, p = (
        np.array(v) for v in zip(*((x.hidden.low, x.total.low, x.hidden.p_value) for x in proofs), strict=True)
    )
    counts = [np.sum(hits) for hits in (low <= truth, total <= truth_total, p <= SIGNIFICANCE, low > 0)]
    missed = sum(too_many(repeats - count, repeats) for count in counts[:2])
    shares = (f"{100 * count / repeats:.1f}" for count in counts)
    return [n, world, f"{truth:.3f}", f"{share:.1f}", f"{right:.2f}", *shares, f"{np.mean(low):.3f}"], missed


def main():
    """Show everything; 1 if a target is missed."""
    args = options(__doc__, repeats=400, rows=[80, 300, 1000, 5000, 20000], hidden=0.1).parse_args()
    null, plant, missed = [], [], 0
    kinds = [(args.hidden, 1.0, 1.0), (args.hidden, 0.75, 1.0), (2 * args.hidden, 1.0, 0.1)]
    for n in args.rows:
        start = time.perf_counter()
        for world in CONFIDENCES:
            rows, wrong = nulls(world, n, args.repeats)
            null, missed = null + rows, missed + wrong
        for world, kind in ((world, kind) for world in HIDING for kind in kinds):
            row, wrong = planted(world, n, args.repeats, *kind)
            plant, missed = [*plant, row], missed + wrong
        each = (time.perf_counter() - start) / args.repeats / (len(HIDING) * (len(FIELDS) + 3) + len(FEW_ROWS))
        print(f"{n} test rows: {1000 * each:.0f} ms a certificate", flush=True)
    show(
        args, "certificates-null", "null worlds, per cent", ["n", "world", "field", "size", "limit > 0", "total"], null
    )
    head = ["n", "world", "hidden", "share", "right", "cover", "cover total", "power", "limit > 0", "mean limit"]
    show(args, "certificates-planted", "planted worlds, per cent", head, plant)
    line = f"at most {100 * SIGNIFICANCE:g} % errors, beyond chance (p < {LEAST_P:g}); missed in {missed} places"
    return int(not target(line, missed == 0))


if __name__ == "__main__":
    sys.exit(main())
