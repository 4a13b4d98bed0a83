"""Rows of made-up models on one data set, with honest corrections that are known beforehand."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from miscal.calibration.labelled_rows import LabelledRows
from miscal.study.together import ModelRows

GROUPS = ("law", "art", "sums", "few")


def model(name, f, y, *, visible=None, corrected=None, question=None, topic=None, group=None):
    """Rows of one model; without corrections the confidence is its own."""
    visible = f if visible is None else visible
    corrected = visible if corrected is None else corrected
    named = {"pair": f"d.{name}", "dataset": "d", "model": name, "method": "auto"}
    return ModelRows(
        named=named,
        rows=LabelledRows.of(y, f, group=group),
        after=LabelledRows.of(y, corrected, group=group),
        columns={} if topic is None else {"topic": topic},
        text=None,
        question=np.arange(len(f)) if question is None else question,
        visible=visible,
        globally_corrected=visible,
        findings={},
    )


def topics(n, rng):
    """Deal questions to topics, one of which has too few."""
    return np.array(GROUPS, object)[rng.choice(4, size=n, p=[0.3, 0.3, 0.38, 0.02])]


def equal_models(seed, n=300, m=4, bias=0.06):
    """Models that are equally good: half of them claim as much too much as the others claim too little."""
    rng = np.random.default_rng(seed)
    hard, topic = rng.normal(size=n), topics(n, rng)
    found = []
    for k in range(m):
        p = expit(hard + rng.normal(size=n))
        f = expit(logit(np.clip(0.25 + 0.5 * p, 0, 1) + (bias if k % 2 else -bias)))
        # right by the middle of the scale, so that both directions cost alike on average over questions
        y = (rng.random(n) < 0.25 + 0.5 * p).astype(float)
        found.append(model(f"m{k}", f, y, visible=0.25 + 0.5 * p, topic=topic))
    return found


def teachers(seed, n=1500, size=1.0, alike=True):
    """Three models with a hidden part: the second has the same as the first, or its own; the third has none."""
    rng = np.random.default_rng(seed)
    topic = topics(n, rng)
    sides = [rng.choice([-1, 1], n) for _ in range(2)]
    found = []
    for k, side in enumerate([sides[0], sides[0] if alike else sides[1], np.zeros(n)]):
        f = rng.uniform(0.2, 0.8, n)
        truth = expit(logit(f) + size * side)
        y = (rng.random(n) < truth).astype(float)
        found.append(model(f"m{k}", f, y, corrected=truth, topic=topic))
    return found
