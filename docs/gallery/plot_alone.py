"""
What may it decide alone?
=========================

A small model predicts for each flight out of New York how likely it is to leave late. Which passengers may be told at
once that they leave on time, and which flights should somebody look at, if at most one such message in five may be
wrong? The example learns from two of three days, and decides the flights of the others.
"""

import matplotlib.pyplot as plt
import polars as pl

import miscal
from miscal.data import flights

rows = pl.read_parquet(flights.path())
new = pl.col("departure").dt.ordinal_day() % 3 == 0
found = miscal.discover(rows.filter(~new), **flights.COLUMNS, max_error=0.2, progress=False)
print(found)

# %%
# The line *alone* is a promise: of the flights below the threshold, at most 20 % are late; such a promise is false in
# at most 5 % of data sets. It counts days, since the flights of a day share its weather. Other errors allow:

for one in found.summary.alone:
    at = "in none" if one.threshold is None else f"up to {one.threshold:.1%}, {one.share.value:.0%} of the flights"
    print(f"{one.max_error:.0%} accepted: {one.decision} {at}")

# %%
# Decide the other days. Where ``decide`` is false, a person has to. A flight unlike all that was learned from is never
# decided.

decided = found.decide(rows.filter(new), max_error=0.2)
print(decided.select("corrected", "decide", "decision").head())

# %%
# How often the decided flights were late after all.

late = rows.filter(new)["delayed"].to_numpy() == 1
alone = decided["decide"].to_numpy()
print(f"{alone.mean():.0%} decided; late: {late[alone].mean():.1%} of them, and {late[~alone].mean():.0%} of the rest")

plt.hist([decided["corrected"].filter(alone), decided["corrected"].filter(~alone)], bins=40, stacked=True)
plt.legend(["decided: on time", "for a person"])
plt.xlabel("corrected risk")
plt.ylabel("flights")
plt.show()

# %%
# The promise is one of days like those that were learned from. Whether it still holds later,
# :ref:`watching a correction <sphx_glr_auto_gallery_plot_monitor.py>` says. On the command line, with a file of
# decisions at the end:
#
# .. code-block:: text
#
#     miscal discover flights.parquet --probability risk --event late --max-error 0.2 --out run
#     miscal calibrate run new.parquet --max-error 0.2 --keep all --out decided.parquet
