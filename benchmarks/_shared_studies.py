"""Made studies of several models, for `nothing.py` and `small.py`: findings that they share, and in which they differ.

A draw is a study of 8 models that answer the same questions. These have a subject (11 values), a length, a number and
a text; how sure a model is depends on how hard a question is, on its subject, and on the model. Outcomes of one
question hang together (a Gaussian copula) with the correlation that is named; that of outcomes of unequal chances is
smaller: `measured` is that of the residuals, over all pairs of models. Half of the models are calibrated, the others
over-confident as any diagram shows.

`size`: 500 questions, and nothing is hidden. Worlds: `alike`, all questions hang together equally; `by subject`, those
of three subjects by three times the correlation named (at most 0.9) and all others by none.

`power`: 1,000 questions. In one subject, a fifth of them, all models are right 5 points less often than their
confidence promises elsewhere. `differences`: the same, but one model of the 8 alone is right 20 points less often.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from _shares import FOUND
from _validity_counts import Told
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.judging import hidden_residual, strata_of
from miscal.findings.ledger.groups import VALUE, error_shares, named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.model_tests import ModelTests
from miscal.findings.residuals import holm
from miscal.findings.shared_findings import SHARE_OF_SHARED, SHARED, ModelAnswers, find_shared, stack

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


def named(cells: list[tuple[str, float]]) -> tuple[str, ...]:
    """Name worlds with their correlation."""
    return tuple(f"{world}, {correlation:g}" for world, correlation in cells)


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


def shared(what: str, named: str, _n: int, draw: int) -> Told:
    """Draw a study, and tell what is found in it: anything, where nothing is hidden, else the planted group."""
    world, _, correlation = named.rpartition(", ")
    models = study(what, world, float(correlation), draw)
    found, cells = find_shared(models, seed=draw), marks(models)
    together = stack(models)
    measured = 0.0 if together.rows.design is None else together.rows.design.correlation
    if not any(OFF[what]):
        any_mark = any(p <= SIGNIFICANCE for p in cells.values())
        shares, differs = any(one.kind == SHARED for one in found), any(one.differs for one in found)
        told = {"shared": shares, "differing": differs, "shared or differing": shares or differs, "marks": any_mark}
        return Told(misses=told, means={"correlation measured": measured})
    seen, off = _planted(models, found, cells, draw), f"model {MODELS - 1}"
    told = Told(misses={f"shared{FOUND}": seen["by all"], f"a mark of the matrix{FOUND}": bool(seen["marked"])})
    told.means = {"ledger of a single model": np.mean(seen["by one"]), "effect": seen["effect"], "cut": seen["cut"]}
    if what == "differences":
        told.misses |= {f"differing{FOUND}": seen["lowest"] is not None, f"the right one{FOUND}": seen["lowest"] == off,
                        f"its own ledger{FOUND}": seen["by one"][-1]}  # fmt: skip
    return told


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
        "effect": ModelTests(together.rows, MODELS, seed).pooled(groups.tested.dense(place), inside).value,
        "cut": float(-ndtri(SIGNIFICANCE * share / 2)),
    }  # fmt: skip


def _overlap(one: np.ndarray, two: np.ndarray) -> bool:
    return bool((one & two).sum() >= FOUND_FROM * (one | two).sum())
