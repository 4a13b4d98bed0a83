"""The tables of a study's page that go beyond the paper: deferral, transfer, interpretation."""

from __future__ import annotations

import polars as pl

from miscal.study.figures.figure import Tables
from miscal.study.numbers import deferral_numbers
from miscal.study.numbers.choosing import of_method
from miscal.study.pages.grid import Cell, Column, Grid, change, p, score, share, spread, text, whole
from miscal.study.pages.overview import named

_MOST = 60


def deferral_grid(tables: Tables, method: str) -> Grid | None:
    """Average what correcting changes for deferral."""
    found = deferral_numbers(tables["deferral_gains"], method)
    if found.is_empty():
        return None
    columns = (
        Column("At", number=False), Column("Risk, raw"), Column("Risk, corrected"), Column("Gain"),
        Column("Pairs helped"), Column("Pairs harmed"), Column("Pairs"),
    )  # fmt: skip
    rows = [
        [text("area under the curve" if row["at"] == "area" else f"coverage {row['at']}"), score(row["raw"]),
         score(row["corrected"]), change(row["gain"]), whole(row["n_better"]), whole(row["n_worse"]),
         whole(row["n_pairs"])]
        for row in found.iter_rows(named=True)
    ]  # fmt: skip
    note = "Means over pairs. A pair is helped or harmed where its 95 % bootstrap interval lies on one side of 0."
    return Grid(f"Deferral, method {method}", columns, rows, note, sortable=False)


def fields_grid(tables: Tables, method: str) -> Grid | None:
    """List the correlations of fields over models, the highest of the hidden parts first."""
    found = of_method(tables["transfer_fields"], method)
    if found.is_empty():
        return None
    found = found.sort("correlation", descending=True, nulls_last=True, maintain_order=True)
    models = _models(tables)
    columns = (
        Column("One model", number=False), Column("Other model", number=False), Column("Data set", number=False),
        Column("Field", number=False), Column("Correlation"), Column("Equal signs"), Column("Questions"),
    )  # fmt: skip
    rows = [
        [named(models.get(row["pair_a"])), named(models.get(row["pair_b"])), named(row["dataset"]),
         text("whole" if row["what"] == "delta" else "hidden part"),
         score(row["correlation"], row["low"], row["high"]), share(row["sign_agreement"], 0), whole(row["n_shared"])]
        for row in found.head(_MOST).iter_rows(named=True)
    ]  # fmt: skip
    return Grid(f"Fields of two models, method {method}", columns, rows, _cut(found))


def elsewhere_grid(tables: Tables, method: str) -> Grid | None:
    """List what corrections save on other pairs than their own, the most first."""
    found = of_method(tables["transfer_corrections"], method)
    if found.is_empty():
        return None
    found = found.sort("saved", descending=True, nulls_last=True, maintain_order=True)
    labels = {row["pair"]: f"{row['model']}, {row['dataset']}" for row in _labels(tables).iter_rows(named=True)}
    columns = (
        Column("Learned on", number=False), Column("Judged on", number=False), Column("Log loss, raw"),
        Column("Own correction"), Column("Other's correction"), Column("Saved"), Column("Rows"),
    )  # fmt: skip
    rows = [
        [named(labels.get(row["pair_from"])), named(labels.get(row["pair_to"])), score(row["log_loss_raw"]),
         score(row["log_loss_own"]), score(row["log_loss_transferred"]),
         change(row["saved"], row["saved_low"], row["saved_high"]), whole(row["n"])]
        for row in found.head(_MOST).iter_rows(named=True)
    ]  # fmt: skip
    return Grid(f"Corrections elsewhere, method {method}", columns, rows, _cut(found))


def purity_grid(tables: Tables, method: str) -> Grid | None:
    """List how alike nearest neighbours are, in raw inputs and in the learned space."""
    found = of_method(tables["purity"], method)
    if found.is_empty():
        return None
    columns = (
        Column("Model", number=False), Column("Data set", number=False), Column("Neighbours share", number=False),
        Column("Space", number=False), Column("Share of neighbours"), Column("By chance"), Column("p"), Column("Rows"),
    )  # fmt: skip
    rows = [
        [named(row["model"]), named(row["dataset"]), named(row["by"]),
         text("raw inputs" if row["space"] == "raw" else "learned"), share(row["purity"]),
         Cell(spread(row["null_mean"], row["null_std"]).text, row["null_mean"]), p(row["p_value"]), whole(row["n"])]
        for row in found.iter_rows(named=True)
    ]  # fmt: skip
    return Grid(f"Neighbours, method {method}", columns, rows)


def _labels(tables: Tables) -> pl.DataFrame:
    return tables["pairs"].select("pair", "dataset", "model").unique("pair", maintain_order=True)


def _models(tables: Tables) -> dict[str, str]:
    return dict(_labels(tables).select("pair", "model").iter_rows())


def _cut(found: pl.DataFrame) -> str:
    if found.height <= _MOST:
        return ""
    return f"The first {_MOST} of {found.height:,} rows; tables/ has all of them."
