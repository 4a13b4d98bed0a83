"""Made-up answers of several models to the same questions."""

import numpy as np
from scipy.special import expit, logit, ndtr

from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.shared_findings import ModelAnswers


def study(seed, *, models=4, n=600, latent=0.4, off=lambda model, subject: 0.0, fitted=False):
    """Models that are calibrated, or visibly over-confident, but for a subject in which they are `off`."""
    rng = np.random.default_rng(seed)
    subject = rng.choice(["law", "art", "sums", "physics", "music"], n).astype(object)
    length, hard, common = rng.lognormal(4, 0.5, n).round(), rng.normal(size=n), rng.normal(size=n)
    found = []
    for model in range(models):
        f = expit(0.5 + 0.8 * (hard + rng.normal(size=n)))
        rate = expit(0.6 * logit(f) - 0.4) if model % 2 else f
        chance = np.clip(rate + np.array([off(model, one) for one in subject]), 0.0, 1.0)
        score = np.sqrt(latent) * common + np.sqrt(1 - latent) * rng.normal(size=n)
        y = (ndtr(score) < chance).astype(float)
        expected = expected_outcome(Triples(np.arange(n, dtype=np.float32)[:, None], f, y), seed) if fitted else rate
        columns = {"subject": subject, "length": length}
        found.append(ModelAnswers(f"m{model}", LabelledRows(y, f, expected), np.arange(n), columns))
    return found
