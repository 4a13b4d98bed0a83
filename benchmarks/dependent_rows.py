"""Do the tests and intervals hold where rows come in groups, as several answers to one question do?

    python benchmarks/dependent_rows.py [--rows 300 1000] [--draws 100] [--correlations 0 0.3 0.6] [--jobs 2]

Groups of 2, 5, 20 or unequal numbers of rows (1 to 20). Each outcome is drawn by a uniform number that the rows of a
group share with probability sqrt(rho), so that their outcomes correlate by rho given the confidences. Two designs: the
rows of a group share input and confidence ("one confidence"), or the input alone ("own confidences"). A third of the
confidences are above 0.95 in the design "saturated", where all else is as in the first. Confidences are calibrated and
fields are made without sight of the outcomes, so every rejection is false. Each draw is judged twice: with the groups
named, and taken as independent rows.

Columns: per cent of draws with p <= 0.05 of the certificate's two p-values (total, hidden), of the mean residual of the
over-confident regime and of its hidden part, of smECE, of the worst-slice gap; with a limit above 0 (the truth);
with an interval of the accuracy, of the Brier score or of smECE that misses the truth; and with any finding among the
values of three columns. Nominal is 5 in all of them. Missed where, with the groups named, a binomial test at 1e-4 says
that a share is above 5 %.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product

import numpy as np
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics import METRICS, measure_gap, measure_smece
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.certificates import certificate
from miscal.evidence.settings import EvidenceSettings
from miscal.findings.judging import judge
from miscal.findings.ledger import Groups, find, named_groups

FIELDS = ("design", "rows", "size", "correlation", "part")
DESIGNS, SIZES = ("one confidence", "own confidences", "saturated"), ("2", "5", "20", "1 to 20")
STATEMENTS = (
    "total", "hidden", "limit total", "limit hidden", "residual", "hidden residual", "smece", "smece interval", "gap",
    "accuracy", "brier", "finding",
)  # fmt: skip
DRAWS_A_PART, LEVEL, LEAST_P = 50, 0.05, 1e-4
DRAWS = 100
SETTINGS = EvidenceSettings(n_draws=499)


def group_numbers(n: int, size: str, rng: np.random.Generator) -> np.ndarray:
    """Group of each of n rows."""
    if size.isdigit():
        return np.arange(n) // int(size)
    sizes = rng.integers(1, 21, n)
    return np.repeat(np.arange(n), sizes)[:n]


def draw(design: str, n: int, size: str, rho: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows of which nothing is hidden and all are calibrated."""
    group = group_numbers(n, size, rng)
    many = int(group.max()) + 1
    own = rng.uniform(0.2, 0.95, many)
    if design == "saturated":
        own = np.where(rng.random(many) < 1 / 3, rng.uniform(0.95, 1.0, many), own)
    f = own[group]
    if design == "own confidences":
        f = np.clip(f + rng.normal(0, 0.1, n), 0.02, 0.98)
    shared = rng.random(n) < np.sqrt(rho)
    y = np.where(shared, rng.random(many)[group], rng.random(n)) < f
    return {
        "group": group, "f": f, "y": y.astype(float), "field": rng.normal(0, 0.1, many)[group],
        "kinds": np.stack([rng.integers(0, k, many)[group] for k in (2, 4, 10)]),
    }  # fmt: skip


def candidates(kinds: np.ndarray) -> Groups:
    """Values of three columns that no outcome has seen."""
    return named_groups({f"column {k}": values.astype(str).astype(object) for k, values in enumerate(kinds)})


def judged(rows: dict[str, np.ndarray], group: np.ndarray | None, seed: int) -> dict[str, bool]:
    """Which statements are false."""
    y, f, field, n = rows["y"], rows["f"], np.clip(rows["field"], -1, 1), len(rows["y"])
    proof = certificate(
        LabelledRows.of(y, f, f, delta=field, hidden=field, group=group), settings=SETTINGS, random_state=seed
    )
    known = SurveyDesign.of(group, y - f, f * (1 - f))
    regime = np.where(field < 0, "over", "under")
    [over] = judge(LabelledRows(y, f, f, design=known), [field < 0], [-1])
    error, gap = (
        measure(y, f, *rest, groups=group, n_draws=DRAWS, random_state=seed)
        for measure, rest in ((measure_smece, ()), (measure_gap, (regime,)))
    )
    intervals = {name: METRICS[name].estimate(y, f, groups=group).interval for name in ("accuracy", "brier")}
    truth = {"accuracy": f.mean(), "brier": np.mean(f * (1 - f))}
    found = find(
        LabelledRows(y, f, f, hidden=np.zeros(n), row=np.arange(n), design=known), candidates(rows["kinds"]), seed=seed
    ).findings
    return {
        "total": proof.total.p_value <= LEVEL, "hidden": proof.hidden.p_value <= LEVEL,
        "limit total": proof.total.low > 0, "limit hidden": proof.hidden.low > 0,
        "residual": over.residual.p_value <= LEVEL, "hidden residual": over.hidden.p_value <= LEVEL,
        "smece": error.p_value <= LEVEL, "smece interval": error.interval[0] > 0,
        "gap": gap.p_value is not None and gap.p_value <= LEVEL,
        **{name: ends is not None and not ends[0] <= truth[name] <= ends[1] for name, ends in intervals.items()},
        "finding": bool(found),
    }  # fmt: skip


def one_part(design: str, n: int, size: str, rho: float, part: int) -> dict:
    """Count false statements over some draws."""
    limit_threads()
    start = time.perf_counter()
    counts = {named: dict.fromkeys(STATEMENTS, 0) for named in ("named", "not named")}
    for at in range(DRAWS_A_PART):
        seed = part * DRAWS_A_PART + at
        rng = np.random.default_rng((seed, 91, n, DESIGNS.index(design), SIZES.index(size), round(100 * rho)))
        rows = draw(design, n, size, rho, rng)
        for named, group in (("named", rows["group"]), ("not named", None)):
            for statement, wrong in judged(rows, group, seed).items():
                counts[named][statement] += int(wrong)
    key = dict(zip(FIELDS, (design, n, size, rho, part), strict=True))
    return {**key, "draws": DRAWS_A_PART, **counts, "seconds": time.perf_counter() - start}


def show_cells(args: argparse.Namespace, records: list[dict]) -> list[str]:
    """Show a row for each cell; the statements that miss."""
    missed = []
    for named in ("named", "not named"):
        shown = []
        for cell in dict.fromkeys(tuple(r[k] for k in FIELDS[:4]) for r in records):
            mine = [r for r in records if tuple(r[k] for k in FIELDS[:4]) == cell]
            draws = sum(r["draws"] for r in mine)
            wrong = {s: sum(r[named][s] for r in mine) for s in STATEMENTS}
            shown.append([*map(str, cell), draws, *(f"{100 * wrong[s] / draws:.1f}" for s in STATEMENTS)])
            missed += [
                f"{s} ({', '.join(map(str, cell))}): {wrong[s] / draws:.3f}"
                for s in STATEMENTS
                if named == "named" and binomtest(wrong[s], draws, LEVEL, alternative="greater").pvalue < LEAST_P
            ]
        name = "dependent_rows" if named == "named" else "dependent_rows-unnamed"
        title = f"false statements, per cent of draws, the groups {named}"
        show(args, name, title, [*FIELDS[:4], "draws", *STATEMENTS], shown)
    return missed


def show_worst(args: argparse.Namespace, records: list[dict]) -> None:
    """Show each statement over all cells: how often it is false on average and in the worst cell."""
    cells = dict.fromkeys(tuple(r[k] for k in FIELDS[:4]) for r in records)
    shown = []
    for statement in STATEMENTS:
        row = [statement]
        for named in ("named", "not named"):
            shares = [
                sum(r[named][statement] for r in mine) / sum(r["draws"] for r in mine)
                for cell in cells
                if (mine := [r for r in records if tuple(r[k] for k in FIELDS[:4]) == cell])
            ]
            row += [f"{100 * np.mean(shares):.1f}", f"{100 * max(shares):.0f}"]
        shown.append(row)
    head = ["statement", "named, mean", "named, worst cell", "not named, mean", "not named, worst cell"]
    show(args, "dependent_rows-worst", f"false statements, per cent of draws, over {len(cells)} cells", head, shown)


def main() -> None:
    parser = options(__doc__, "dependent_rows", rows=[300, 1_000], draws=100, correlations=[0.0, 0.3, 0.6])
    args = parser.parse_args()
    parts = range(-(-args.draws // DRAWS_A_PART))
    keys = list(product(DESIGNS, args.rows, SIZES, args.correlations, parts))
    store = results(args, FIELDS, keys, one_part)
    records = [store[key] for key in keys]
    missed = show_cells(args, records)
    show_worst(args, records)
    sys.exit(not target(f"statements that are false in more than 5 % of draws: {missed or 'none'}", not missed))


if __name__ == "__main__":
    main()
