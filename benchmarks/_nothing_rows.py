"""Worlds of `nothing.py` in which single statements are asked of rows, fields being fixed before the outcomes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from unittest.mock import patch

import numpy as np
import polars as pl
from scipy.special import expit, logit
from scipy.stats import t

from _judge_worlds import WORLDS as JUDGE_WORLDS
from _judge_worlds import cross_fitted, rate_of
from _shares import UNTOLD
from _validity_counts import Told
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign
from miscal.data.judged import JudgeScale
from miscal.discovery.discover import named_findings
from miscal.evidence.certificates import certificate
from miscal.evidence.judged_rows import JudgedRows, judge_rate, pass_rate
from miscal.evidence.settings import SIGNIFICANCE
from miscal.evidence.simultaneous import rank
from miscal.findings.ledger.groups import Groups, named_groups
from miscal.findings.ledger.ledger import find
from miscal.runs.monitor.document import LEVEL as WHETHER_RIGHT
from miscal.runs.monitor.new_rows import NewLabelled
from miscal.runs.monitor.state import LEVEL_SHARE, Question

LEVEL = 0.05
FEWER_DRAWS = patch("miscal.evidence.settings.N_DRAWS", 499)

# --- rows in groups -----------------------------------------------------------------------------------------------

DESIGNS = ("one confidence", "own confidences", "saturated")
"""The rows of a group share input and confidence, or the input alone; or a third of the confidences are above 0.95."""
GROUP_SIZES, CORRELATIONS = ("2", "5", "20", "1 to 20"), (0.0, 0.3, 0.6)
DEPENDENT = tuple(f"{one}, groups of {size}, {rho:g}" for one, size, rho in product(DESIGNS, GROUP_SIZES, CORRELATIONS))


def group_numbers(n: int, size: str, rng: np.random.Generator) -> np.ndarray:
    """Group of each of n rows."""
    if size.isdigit():
        return np.arange(n) // int(size)
    sizes = rng.integers(1, 21, n)
    return np.repeat(np.arange(n), sizes)[:n]


def in_groups(design: str, n: int, size: str, rho: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
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
    with FEWER_DRAWS:
        proof = certificate(LabelledRows.of(y, f, f, delta=field, hidden=field, group=group), random_state=seed)
    known = SurveyDesign.of(group, y - f, f * (1 - f))
    found = find(
        LabelledRows(y, f, f, hidden=np.zeros(n), row=np.arange(n), design=known), candidates(rows["kinds"]), seed=seed
    ).findings
    return {
        "total": proof.total.p_value <= LEVEL, "hidden": proof.hidden.p_value <= LEVEL,
        "limit total": proof.total.low > 0, "limit hidden": proof.hidden.low > 0, "finding": bool(found),
    }  # fmt: skip


def dependent(world: str, n: int, draw: int) -> Told:
    """What is false of rows in groups, with the groups named and without names."""
    design, size, rho = world.split(", ")
    size, place = size.removeprefix("groups of "), round(100 * float(rho))
    rng = np.random.default_rng((draw, 91, n, DESIGNS.index(design), GROUP_SIZES.index(size), place))
    rows, told = in_groups(design, n, size, float(rho), rng), Told()
    told.misses |= judged(rows, rows["group"], draw)
    told.misses |= {f"{name}, not named{UNTOLD}": wrong for name, wrong in judged(rows, None, draw).items()}
    return told


# --- a monitor ----------------------------------------------------------------------------------------------------

LOOKS, CALM = 10, 10
WATCHED = {
    # mean p, days of a look (None: rows), rows of a day or look, spread of days, shift, calm looks before
    "unchanged, rows, p .5": (0.5, None, 500, 0.0, 0.0, 0),
    "unchanged, rows, p .05": (0.05, None, 500, 0.0, 0.0, 0),
    "unchanged, 60 days of 200": (0.5, 60, 200, 0.5, 0.0, 0),
    "unchanged, 60 days of 20": (0.2, 60, 20, 0.5, 0.0, 0),
    "unchanged, 12 days of 50": (0.2, 12, 50, 0.5, 0.0, 0),
    "changed, 60 days, p .5": (0.5, 60, 200, 0.5, 0.5, 0),
    "changed, 60 days, p .2": (0.2, 60, 200, 0.5, 0.5, 0),
    "changed down, 60 days": (0.2, 60, 200, 0.5, -0.5, 0),
    "changed, rows": (0.5, None, 500, 0.0, 0.5, 0),
    "late, rows": (0.5, None, 500, 0.0, 0.5, CALM),
    "late, 60 days": (0.2, 60, 200, 0.5, 0.5, CALM),
}
"""No field is fitted: outcomes are at sigmoid(logit p + shift + e), e drawn for each day (of spread 0: for no row)."""


def look(rng: np.random.Generator, world: tuple, shift: float) -> NewLabelled:
    """Rows of one look."""
    mean, days, rows, spread, *_ = world
    unit = np.arange(rows) if days is None else np.repeat(np.arange(days), rows)
    score = logit(mean) + 0.8 * rng.normal(size=len(unit))
    day = spread * rng.normal(size=unit[-1] + 1)[unit]
    # the corrected confidence is the rate of all days, by the usual approximation of a normal mean of sigmoids
    p = expit(score / np.sqrt(1 + np.pi * spread**2 / 8))
    y = (rng.random(len(unit)) < expit(score + day + shift)).astype(float)
    none, every = np.zeros((len(unit), 0)), np.ones(len(unit), bool)
    return NewLabelled(none, y, p, p, every, unit)


def one_monitor(rng: np.random.Generator, world: tuple, width: float) -> tuple[int | None, float]:
    """The look at which all rows were said not to hold, and the width of the interval at the first look."""
    *_, shift, calm = world
    asked = Question(
        key=WHETHER_RIGHT,
        kind=WHETHER_RIGHT,
        about="all rows",
        error=SIGNIFICANCE * LEVEL_SHARE,
        allowed=(-width, width),
    )
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


def watched(world: str, _: int, draw: int) -> Told:
    """When a monitor says of all rows that the correction does not hold, no distance or 0.02 counting as right."""
    made, told = WATCHED[world], Told()
    calm = made[-1]
    for width in (0.0, 0.02):
        rng = np.random.default_rng((list(WATCHED).index(world), draw))
        at, ratio = one_monitor(rng, made, width)
        before, ever = at is not None and at <= calm, at is not None and at > calm
        if world.startswith("unchanged"):
            told.misses[f"does not hold, {width:g} counts as right"] = ever
        elif width:
            told.misses |= {
                "before the change": before,
                f"at the first look{UNTOLD}": at == calm + 1,
                f"ever{UNTOLD}": ever,
            }
    told.means = {"width by t": ratio}
    return told


# --- judges and people --------------------------------------------------------------------------------------------

LENIENT = {"nothing": "", "length": "words in answer", "half way": "words in answer", "model": "model"}
"""Answers with a point more than they deserve: none, those of 400 words and more, of 300 to 600, of one model of 5."""


def answers(world: str, n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Columns, scores from 1 to 5, and the verdicts of people."""
    columns = {
        "model": rng.choice([f"model {k}" for k in "ABCDE"], n),
        "topic": rng.choice(["law", "code", "maths", "health", "travel", "history"], n),
        "language": rng.choice(["en", "de", "zh", "es"], n, p=[0.55, 0.2, 0.15, 0.1]),
        "position": rng.choice(["first", "second"], n),
        "words in answer": np.exp(rng.normal(5.45, 0.8, n)).round() + 5,
    }
    frame, words = pl.DataFrame(columns), columns["words in answer"]
    codes = [np.unique(columns[name], return_inverse=True)[1] for name in ("model", "topic")]
    deserved = 3.1 + 0.25 * (codes[0] - 2) + 0.2 * (codes[1] - 2.5) + rng.normal(0, 1.1, n)
    group = {"nothing": np.zeros(n, bool), "length": words >= 400, "half way": (words >= 300) & (words < 600),
             "model": columns["model"] == "model B"}[world]  # fmt: skip
    score = np.clip(np.round(deserved + group), 1, 5)
    earned = np.clip(score - group, 1, 5)
    return frame, score, (rng.random(n) < expit(1.1 * (earned - 3))).astype(float)


def lenient(world: str, labels: int, number: int) -> Told:
    """Groups in which a judge is too lenient, of the ledger."""
    frame, score, approved = answers(world, labels, np.random.default_rng((71, len(world), labels, number)))
    f = JudgeScale.fit(score, approved).probability(score)
    findings, planted = named_findings(approved, f, frame, seed=number).findings, LENIENT[world]
    if world == "nothing":
        return Told(misses={"any group": bool(findings)})
    found = any(planted in one.columns and one.sign == "over" for one in findings)
    return Told(misses={f"found{UNTOLD}": found})


PASSING = (*JUDGE_WORLDS, "in the lenient group")
JUDGED = 2_000
rate_of = lru_cache(rate_of)


def passing(world: str, labels: int, number: int) -> Told:
    """Intervals of the pass rate that people would give: of miscal, the labelled rows, and the judge."""
    name, group = ("lenient group", 0) if world == "in the lenient group" else (world, None)
    rng = np.random.default_rng((list(JUDGE_WORLDS).index(name), labels, number))
    draw = JUDGE_WORLDS[name](rng, JUDGED, labels)
    inside = slice(None) if group is None else draw.group == group
    chance = draw.chance if np.ptp(draw.chance) > 0 else None
    rows = JudgedRows.of(
        cross_fitted(draw, rng), draw.human, cluster=draw.cluster, labelling_probability=chance
    ).take(inside)  # fmt: skip
    found = {
        "miscal": pass_rate(rows), "labelled alone": pass_rate(replace(rows, predicted=np.full(len(rows), 0.5))),
        "judge": judge_rate(rows, draw.score[inside]),
    }  # fmt: skip
    ends = {name: one.interval or (None, None) for name, one in found.items()}
    told, alone, truth = Told(), ends["labelled alone"], rate_of(name, group)
    for method, (low, high) in ends.items():
        if None not in (low, high, *alone):
            told.misses[method if method == "miscal" else f"{method}{UNTOLD}"] = not low <= truth <= high
            told.means[f"width, {method}"] = high - low
    return told


# --- rankings of models -------------------------------------------------------------------------------------------

MEANS = {
    "8 equal models": [0.0] * 8,
    "12 equal models": [0.0] * 12,
    "6 models, two ties": [0.0, 0.0, 0.0, 0.3, 0.3, 0.6],
    "20 models, apart": [0.1 * k for k in range(20)],
}
RANKED = tuple(f"{what}: {name}" for what in ("normal values", "outcomes") for name in MEANS)


def normal(rng: np.random.Generator, means: np.ndarray, questions: int) -> tuple:
    """Draw values that share the difficulty of the question."""
    values = means + rng.normal(size=(questions, 1)) + rng.normal(size=(questions, len(means)))
    mean = values.mean(0)
    return mean, (values - mean) / questions, means


def outcomes(rng: np.random.Generator, means: np.ndarray, questions: int) -> tuple:
    """Draw outcomes of 0 and 1, mostly 1; the truth is their expectation over questions."""
    hard = rng.normal(size=(questions, 1))
    values = (rng.random((questions, len(means))) < expit(1.5 + means + hard)).astype(float)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    truth, mean = expit(1.5 + means[:, None] + nodes) @ weights / weights.sum(), values.mean(0)
    return mean, (values - mean) / questions, truth


def ranked(world: str, questions: int, draw: int) -> Told:
    """Whether all intervals, differences and ranks of a table hold at once, and which models are told apart."""
    what, _, name = world.partition(": ")
    level = np.asarray(MEANS[name])
    make = normal if what == "normal values" else outcomes
    better = level[:, None] > level[None, :]
    estimate, influence, truth = make(np.random.default_rng((questions, draw)), level, questions)
    one = rank(estimate, influence, n_draws=499, random_state=draw)
    gap = truth[:, None] - truth[None, :]
    told = Told(misses={
        "intervals": not ((one.low <= truth) & (truth <= one.high)).all(),
        "differences": not ((one.difference_low <= gap) & (gap <= one.difference_high)).all(),
        "ranks": not ((one.best_rank <= 1 + better.sum(0)) & (len(level) - better.sum(1) <= one.worst_rank)).all(),
        "equal models told apart": bool((one.ahead & ~better & ~better.T).any()),
    })  # fmt: skip
    if better.any():
        told.means["told apart"] = one.ahead[better].mean()
    return told
