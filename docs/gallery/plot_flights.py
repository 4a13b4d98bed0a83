"""
Delays of flights
=================

A small model predicts for each flight out of New York how likely it is to leave late. Here the probability is that of
an event. To be quick, the example takes the flights of April and May. The flights of a day hang together, since they
share its weather, and are counted so.
"""

import matplotlib.pyplot as plt
import polars as pl

import miscal
from miscal.data import flights

rows = pl.read_parquet(flights.path()).filter(pl.col("departure").dt.month() < 6)
found = miscal.discover(rows, **flights.COLUMNS, progress=False)
print(found)

# %%
# What the model says, and what happened, in all flights and in the largest groups.

found.plot()
plt.show()

# %%
# The groups in which the model is off beyond what a reliability diagram shows. Above zero, more flights are late than
# the model says.

found.plot.findings()
plt.show()
