"""
Watching a correction
=====================

The packaged flights are those of thirteen weeks. A correction is learned from the first four, and looked at again with
those of each later week. A look may be taken as often as one likes: while the corrected probabilities are right, the
chance that it is *ever* said that they are not is at most 5 %.
"""

import textwrap

import matplotlib.pyplot as plt
import polars as pl

import miscal
from miscal.data import flights

rows = pl.read_parquet(flights.path()).sort("departure").with_columns(week=pl.col("departure").dt.week())
learned = pl.col("week") < 18
found = miscal.discover(rows.filter(learned).drop("week"), **flights.COLUMNS, progress=False)

seen = []
for (week,), later in rows.filter(~learned).group_by("week", maintain_order=True):
    looked = found.monitor(later.drop("week"), at=f"week {week}")
    corrected = found.correct(later.drop("week"))["corrected"]
    seen.append((week, later["delayed"].mean(), later["predicted_delay_risk"].mean(), corrected.mean()))
for sentence in (looked.answer.headline, looked.answer.reason, looked.answer.action):
    print(textwrap.fill(sentence, 90))

# %%
# What happened in each week, what the model had said, and what the correction makes of it.

weeks, happened, said, corrected = zip(*seen, strict=True)
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.plot(weeks, happened, "o-", color="black", label="happened")
axis.plot(weeks, said, "s--", label="predicted")
axis.plot(weeks, corrected, "^-", label="corrected")
axis.set(xlabel="week of 2013", ylabel="share of delayed flights", ylim=(0, None))
axis.legend()
plt.show()
