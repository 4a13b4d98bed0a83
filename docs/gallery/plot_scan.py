"""
Scanning a table where it lies
==============================

The packaged flights, as a table of DuckDB. They are counted there, by strata of the predicted risk and values of
columns; the tests are those of a run, and no row travels. Flights of one day count once, since days are found by
themselves.
"""

import textwrap

import duckdb
import matplotlib.pyplot as plt
import polars as pl

import miscal
from miscal.data import flights

table = duckdb.read_parquet(str(flights.path()))
found = miscal.scan(
    table, probability="predicted_delay_risk", event="delayed", columns=["carrier", "origin", "hour", "distance"]
)
print(textwrap.fill(found.summary.answer.headline, 90))
with pl.Config(fmt_str_lengths=60, tbl_width_chars=110, float_precision=3, tbl_hide_column_data_types=True):
    print(found.findings.select("group", "rows", "predicted", "happened", "corrected"))

# %%
# How far the risk is off in each hour, with its interval, beside rows of equal risk.

hours = [one for one in found.summary.values if one.column == "hour" and one.hidden.interval is not None]
names = [one.condition.words.removeprefix("hour ") for one in hours]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
middle = [100 * one.hidden.value for one in hours]
ends = [[100 * abs(one.hidden.value - end) for end in one.hidden.interval] for one in hours]
axis.errorbar(range(len(hours)), middle, yerr=list(zip(*ends, strict=True)), fmt="o", color="black")
axis.axhline(0, color="grey", linewidth=1)
axis.set_xticks(range(len(hours)), names, rotation=40, ha="right")
axis.set(ylabel="hidden error, points")
plt.show()

# %%
# The correction is one expression, which corrects where the rows are.

expression = found.sql()
corrected = table.project(f"predicted_delay_risk, delayed, {expression} as corrected")
means = (f"round(avg({name}), 3) as {name}" for name in ("predicted_delay_risk", "corrected", "delayed"))
print(corrected.aggregate(", ".join(means)))
