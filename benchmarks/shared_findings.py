"""Findings over several models: how often is one false, and what do all models show that none shows alone?

    python benchmarks/shared_findings.py --what size [--draws 200]
    python benchmarks/shared_findings.py --what power [--draws 200]
    python benchmarks/shared_findings.py --what differences [--draws 200]

A draw is a study of 8 models that answer the same questions. These have a subject (11 values), a length, a number and
a text; how sure a model is depends on how hard a question is, on its subject, and on the model. Outcomes of one
question hang together (a Gaussian copula) with the correlation that is named; that of outcomes of unequal chances is
smaller: `measured` is that of the residuals, over all pairs of models. Half of the models are calibrated, the others
over-confident as any diagram shows.

`size`: 500 questions, and nothing is hidden. Worlds: `alike`, all questions hang together equally; `by subject`, those
of three subjects by three times the correlation named (at most 0.9) and all others by none. Counted are draws with any
shared finding, any group in which models differ, any finding of the two kinds, and any mark of the matrix of models by
groups (Holm's adjustment over all tested cells). Target: each in at most 5 %, by a binomial test at 1 %.

`power`: 1,000 questions. In one subject, a fifth of them, all models are right 5 points less often than their
confidence promises elsewhere. Counted are draws in which it is named: as a shared finding; by a mark of the matrix in
one model at least; and by the ledger of a single model, of all 8 ledgers. `oracle z` is the effect over all models of
that one group, divided by its standard deviation over draws, on average: the score of a test that knows the group and
the correlation. `cut` is the score from which the ledger takes a value of a column, `ceiling` the share of draws in
which the oracle passes it. Target: named in 80 % of draws at correlation 0.

`differences`: the same, but one model of the 8 alone is right 20 points less often there. Counted are draws in which
the group is named as one in which models differ; in which that model has the lowest effect of all; in which a mark of
the matrix names model and group; and in which the model's own ledger names the group. There is no target.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions import Value
from miscal.findings.judging import hidden_residual, strata_of
from miscal.findings.ledger import LEDGER_DEFAULTS, find, named_groups
from miscal.findings.ledger.groups import VALUE, error_shares
from miscal.findings.model_tests import ModelTests
from miscal.findings.residuals import holm
from miscal.findings.shared_findings import SHARE_OF_SHARED, SHARED, ModelAnswers, find_shared, stack

FIELDS = ("what", "world", "correlation", "draw")
MODELS, SUBJECTS = 8, 11
QUESTIONS = {"size": 500, "power": 1_000, "differences": 1_000}
CELLS = {
    "size": [("alike", 0.0), ("alike", 0.3), ("alike", 0.6), ("by subject", 0.3)],
    "power": [("alike", 0.0), ("alike", 0.3)],
    "differences": [("alike", 0.0), ("alike", 0.3)],
}
OFF = {"size": [0.0] * MODELS, "power": [-0.05] * MODELS, "differences": [0.0] * (MODELS - 1) + [-0.2]}
"""How much more often each model is right in the planted subject."""
SHARE = 0.2
"""Of the questions that the planted subject has."""
FOUND_FROM = 0.8
"""Jaccard index of rows from which a finding is the planted group."""


def study(what: str, world: str, correlation: float, seed: int) -> list[ModelAnswers]:
    """Draw the answers of all models."""
    n = QUESTIONS[what]
    rng = np.random.default_rng((seed, 41, n, round(10 * correlation)))
    planted = SHARE if any(OFF[what]) else 1 / SUBJECTS
    share = np.r_[planted, (1 - planted) * rng.dirichlet(np.full(SUBJECTS - 1, 4.0))]
    subject = rng.choice(SUBJECTS, n, p=share)
    hard, words = rng.normal(size=n) + rng.normal(0, 0.4, SUBJECTS)[subject], np.array([f"word{i}" for i in range(60)])
    often = 1 / np.arange(4, 64)
    columns = {
        "subject": np.array([f"subject {one}" for one in subject], object),
        "length": np.round(rng.lognormal(4, 0.5, n)), "number": hard / 2 + rng.normal(size=n),
    }  # fmt: skip
    text = [" ".join(rng.choice(words, 6, p=often / often.sum())) for _ in range(n)]
    hanging = np.full(n, correlation)
    if world == "by subject":
        hanging = np.where(subject < 3, min(0.9, 3 * correlation), 0.0)
    latent, common = np.sin(np.pi * hanging / 2), rng.normal(size=n)
    found = []
    for model in range(MODELS):
        f = expit(0.7 + 0.4 * rng.normal() + 0.8 * (hard + rng.normal(size=n)))
        chance = expit(0.6 * logit(f) - 0.4) if model % 2 else f
        chance = np.clip(chance + OFF[what][model] * (subject == 0), 0.0, 1.0)
        score = np.sqrt(latent) * common + np.sqrt(1 - latent) * rng.normal(size=n)
        y = (ndtr(score) < chance).astype(float)
        expected = expected_outcome(Triples(np.arange(n, dtype=np.float32)[:, None], f, y), seed)
        rows = LabelledRows(y, f, expected, hidden=0 * y, row=np.arange(n))
        found.append(ModelAnswers(f"model {model}", rows, np.arange(n), columns, text))
    return found


def marks(models: list[ModelAnswers]) -> dict[tuple[str, str], np.ndarray]:
    """Adjusted p-values of every tested cell of the matrix of models by groups; NaN where a cell is not tested."""
    p_values = {}
    for one in models:
        stratum = strata_of(one.rows)
        for part in named_groups(one.columns).columns:
            for place, cell in enumerate(part.cells):
                inside = part.rows(place)
                if min(inside.sum(), (~inside).sum()) >= LEDGER_DEFAULTS.min_rows:
                    p_values[one.model, cell.words] = hidden_residual(one.rows, inside, stratum).p_value
    return dict(zip(p_values, holm(np.array(list(p_values.values()))), strict=True))


def one_draw(what: str, world: str, correlation: float, draw: int) -> dict:
    """Draw a study, and tell what is found in it."""
    limit_threads()
    start = time.perf_counter()
    models = study(what, world, correlation, draw)
    found, cells = find_shared(models, seed=draw), marks(models)
    together = stack(models)
    record = {
        "what": what, "world": world, "correlation": correlation, "draw": draw,
        "shared": [one.description for one in found if one.kind == SHARED],
        "differing": [one.description for one in found if one.differs],
        "marks": [f"{cell}, {model}" for (model, cell), p in cells.items() if p <= SIGNIFICANCE],
        "measured": 0.0 if together.rows.design is None else together.rows.design.correlation,
    }  # fmt: skip
    if any(OFF[what]):
        record |= _planted(models, found, cells, draw)
    return record | {"seconds": time.perf_counter() - start}


def _planted(models: list[ModelAnswers], found: tuple, cells: dict, seed: int) -> dict:
    """Tell how the planted group was found, and the effect and cut of its test."""
    together = stack(models)
    planted = Value("subject", "subject 0", "text")
    own = together.settings()
    groups = named_groups(together.columns, together.text, own)
    inside, place = together.columns["subject"] == "subject 0", groups.places[planted]
    alone, named = models[0].columns["subject"] == "subject 0", named_groups(models[0].columns, models[0].text)
    share = SHARE_OF_SHARED * error_shares(groups.kinds, own)[groups.kinds == VALUE][0]
    ledgers = [find(one.rows, named, seed=seed) for one in models]
    shared = [groups.rows(groups.places[one.condition]) for one in found if one.kind == SHARED]
    differ = [one for one in found if one.differs and one.condition == planted]
    lowest = [min(one.models, key=lambda model: model.effect.value).model for one in differ]
    return {
        "by all": any(_overlap(rows, inside) for rows in shared),
        "marked": [model for (model, cell), p in cells.items() if p <= SIGNIFICANCE and cell == planted.words],
        "lowest": lowest[0] if lowest else None,
        "by one": [any(_overlap(rows, alone) for rows in ledger.members) for ledger in ledgers],
        "effect": ModelTests(together.rows, MODELS, own, seed).pooled(groups.tested.dense(place), inside).value,
        "cut": float(-ndtri(SIGNIFICANCE * share / 2)),
    }  # fmt: skip


def _overlap(one: np.ndarray, two: np.ndarray) -> bool:
    return bool((one & two).sum() >= FOUND_FROM * (one | two).sum())


def show_size(args: argparse.Namespace, records: dict[tuple, list[dict]]) -> list[str]:
    """Show how often anything is named where nothing is hidden; those that miss."""
    shown, missed = [], []
    for (world, correlation), rows in records.items():
        counts = {
            "shared": sum(bool(one["shared"]) for one in rows),
            "differing": sum(bool(one["differing"]) for one in rows),
            "any": sum(bool(one["shared"] or one["differing"]) for one in rows),
            "marks": sum(bool(one["marks"]) for one in rows),
        }
        tested = {k: binomtest(c, len(rows), SIGNIFICANCE, alternative="greater").pvalue for k, c in counts.items()}
        missed += [f"{k}, {world} at {correlation}" for k, p in tested.items() if p < 0.01]
        shown.append([
            world, correlation, f"{np.mean([one['measured'] for one in rows]):.2f}", len(rows), *counts.values(),
            f"{min(tested.values()):.2g}", f"{np.mean([one['seconds'] for one in rows]):.2f}",
        ])  # fmt: skip
    head = [
        "world", "correlation", "measured", "draws", "shared", "differing", "shared or differing",
        "marks of the matrix", "p of at most 5 %, smallest", "s a draw",
    ]  # fmt: skip
    show(args, "shared_findings_size", "draws with a finding where nothing is hidden", head, shown)
    return missed


def show_power(args: argparse.Namespace, records: dict[tuple, list[dict]]) -> list[str]:
    """Show how often the planted group is named; what misses."""
    shown, missed = [], []
    for (world, correlation), rows in records.items():
        effects, cut = np.array([one["effect"] for one in rows]), float(np.median([one["cut"] for one in rows]))
        oracle = -effects / effects.std(ddof=1)
        by_all = float(np.mean([one["by all"] for one in rows]))
        shown.append([
            correlation, f"{np.mean([one['measured'] for one in rows]):.2f}", len(rows), f"{100 * by_all:.1f}",
            f"{100 * np.mean([bool(one['marked']) for one in rows]):.1f}",
            f"{100 * np.mean([one['by one'] for one in rows]):.1f}",
            f"{100 * effects.mean():.1f}", f"{oracle.mean():.2f}", f"{cut:.2f}", f"{100 * np.mean(oracle > cut):.1f}",
        ])  # fmt: skip
        if by_all < 0.8 and correlation == 0:
            missed.append(f"{world} at {correlation}: {100 * by_all:.1f} %")
    head = [
        "correlation", "measured", "draws", "shared, %", "a mark of the matrix, %", "a single model's ledger, %",
        "mean effect, points", "oracle z", "cut", "ceiling, %",
    ]  # fmt: skip
    show(args, "shared_findings_power", "a fifth of the questions off by 5 points in all models", head, shown)
    return missed


def show_differences(args: argparse.Namespace, records: dict[tuple, list[dict]]) -> list[str]:
    """Show how often it is told that one model alone is off, and which."""
    off, shown = f"model {int(np.argmin(OFF['differences']))}", []
    for (_, correlation), rows in records.items():
        told = [
            np.mean([one["lowest"] is not None for one in rows]), np.mean([one["lowest"] == off for one in rows]),
            np.mean([off in one["marked"] for one in rows]),
            np.mean([one["by one"][int(np.argmin(OFF["differences"]))] for one in rows]),
            np.mean([one["by all"] for one in rows]),
        ]  # fmt: skip
        measured = f"{np.mean([one['measured'] for one in rows]):.2f}"
        shown.append([correlation, measured, len(rows), *(f"{100 * share:.1f}" for share in told)])
    head = [
        "correlation", "measured", "draws", "differing, %", "and it is the lowest, %", "a mark of the matrix, %",
        "its own ledger, %", "shared, %",
    ]  # fmt: skip
    show(args, "shared_findings_differences", "one model of eight off by 20 points on a fifth", head, shown)
    return []


def main() -> None:
    """Measure, show, and compare with the targets."""
    parser = options(__doc__, "shared_findings", what="size", draws=200)
    args = parser.parse_args()
    if args.what not in CELLS:
        parser.error(f"--what must be one of {', '.join(CELLS)}; got {args.what!r}")
    keys = [(args.what, *cell, draw) for cell in CELLS[args.what] for draw in range(args.draws)]
    store = results(args, FIELDS, keys, one_draw)
    records = {cell: [store[args.what, *cell, draw] for draw in range(args.draws)] for cell in CELLS[args.what]}
    shows = {"size": show_size, "power": show_power, "differences": show_differences}
    missed = shows[args.what](args, records)
    if args.what == "differences":
        return
    line = {"size": "at most 5 % of draws have a false finding of a kind", "power": "80 % of draws name the group"}
    sys.exit(not target(f"{line[args.what]}; exceptions: {'; '.join(missed) or 'none'}", not missed))


if __name__ == "__main__":
    main()
