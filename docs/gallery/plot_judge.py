"""
A judge that scores answers
===========================

A judge gives every answer a score from 0 to 1, and people have read a third of the answers. Where is the judge too
lenient? The scores and verdicts are made here: the judge likes long answers better than people do.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import miscal

rng = np.random.default_rng(0)
n = 3000
long = rng.random(n) < 0.5
score = rng.uniform(0.3, 0.9, n)
passes = rng.random(n) < np.clip(score + np.where(long, -0.2, 0.1), 0, 1)
answers = pl.DataFrame(
    {
        "length": np.where(long, "long", "short"),
        "topic": rng.choice(["law", "sums", "travel"], n),
        "score": score,
        "verdict": pl.Series(passes.astype(int)).set(pl.Series(rng.random(n) > 1 / 3), None),
    }
)
found = miscal.discover(answers, judge="score", human="verdict", metadata=["length", "topic"], progress=False)
print(found)

# %%
# What the judge says and what people say, in all answers that were read and in the groups that differ.

found.plot()
plt.show()
