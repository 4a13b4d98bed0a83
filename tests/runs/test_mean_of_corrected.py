"""The mean of what is corrected is the rate, where one group's loss is the others' gain."""

import numpy as np
import polars as pl
import pytest

import miscal


def stated(n: int = 3000, seed: int = 0) -> pl.DataFrame:
    """Few stated confidences and one category, as logs of language models have them; far too sure of one kind."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["law", "art", "sums", "maths", "trivia"], n)
    f = rng.choice([0.6, 0.7, 0.8, 0.9, 0.95, 1.0], n, p=[0.05, 0.1, 0.15, 0.3, 0.3, 0.1])
    right = rng.random(n) < np.clip(f - 0.1 - 0.5 * (kind == "law"), 0, 1)
    return pl.DataFrame({"confidence": f, "correct": right.astype(int), "subject": kind})


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_of_a_run_of_stated_confidences_and_one_category(quick):
    table = stated()
    found = miscal.discover(table, quick=quick, n_jobs=1, progress=False, map="pca")
    corrected = found.frame("field", wide=True)["corrected"].to_numpy()
    assert corrected.mean() == pytest.approx(table["correct"].mean(), abs=0.01)
    # rows of one subject and confidence are no copies: other rows of the subject teach what it is off by
    law = table["subject"].to_numpy() == "law"
    assert corrected[law].mean() == pytest.approx(table["correct"].to_numpy()[law].mean(), abs=0.03)


def test_of_a_scan():
    table = stated()
    found = miscal.scan(table, confidence="confidence", correct="correct", group="none")
    made: dict = {}
    exec(found.python(), made)
    corrected = np.array([made["correct"](row) for row in table.to_dicts()])
    assert corrected.mean() == pytest.approx(table["correct"].mean(), abs=0.01)
    law = table["subject"].to_numpy() == "law"
    assert corrected[law].mean() == pytest.approx(table["correct"].to_numpy()[law].mean(), abs=0.05)
