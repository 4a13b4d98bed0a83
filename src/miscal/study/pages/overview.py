"""The tables of a study's page that are of its own pairs: all pairs, methods side by side, certificates, failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from miscal.report.texts import short
from miscal.study.figures.figure import Tables
from miscal.study.numbers.choosing import LEARNED, METHODS, of_method
from miscal.study.pages.grid import Cell, Column, Grid, change, p, score, share, text, whole
from miscal.study.pages.links import report_link
from miscal.study.verdict import certificates

_LONGEST = 60


def named(value: str | None, href: str | None = None) -> Cell:
    """Write a name that a user gave."""
    return text(None if value is None else short(value, _LONGEST), href)


def pairs_grid(tables: Tables, planned: Mapping[str, int], out: Path) -> Grid:
    """List every pair under every method, learned geometry."""
    adjusted = {
        (row["pair"], row["method"]): row["p_adjusted"]
        for method in METHODS
        for row in certificates(tables["pairs"], method, planned.get(method)).iter_rows(named=True)
    }
    rows = [
        [
            named(row["model"], report_link(out, row["pair"], row["method"])), named(row["dataset"]),
            text(row["method"]), whole(row["n_test"]), _accuracy(row), share(row["confidence"]),
            score(row["smece"]), score(row["delta_std"]), share(row["share_unsupported"]),
            Cell(row["worst"] or "none", row["worst"], kind=row["worst"] or "", aside=share(row["share_worst"], 0).text
                 if row["worst"] else ""),
            change(row["gap"], row["gap_interval_low"], row["gap_interval_high"]), score(row["limit_hidden"]),
            p(adjusted.get((row["pair"], row["method"]))),
            change(row["log_loss_saved"], row["log_loss_saved_low"], row["log_loss_saved_high"]),
            change(row["log_loss_saved_local"], row["log_loss_saved_local_low"], row["log_loss_saved_local_high"]),
        ]
        for row in _learned(tables["pairs"]).iter_rows(named=True)
    ]  # fmt: skip
    return Grid("All pairs", _PAIR_COLUMNS, rows, _PAIRS_NOTE)


_PAIR_COLUMNS = (
    Column("Model", number=False, hint="links to the report of the pair"),
    Column("Data set", number=False),
    Column("Method", number=False),
    Column("Rows", hint="rows that testify"),
    Column("Accuracy", hint="share of right answers; where marked, how often the forecast event happens"),
    Column("Confidence", hint="mean confidence"),
    Column("smECE", hint="calibration error of the confidences"),
    Column("Std of field", hint="how much the error differs from input to input"),
    Column("Unsupported", hint="rows with few or none of the rows learned from nearby"),
    Column("Worst slice", number=False, hint="and its share of rows"),
    Column(
        "Gap",
        hint="smECE of the worst slice less that of all rows; its interval starts at 0 where chance explains it",
    ),
    Column("Hidden, at least", hint="certificate: 95 % lower limit of mean hidden miscalibration"),
    Column("p, adjusted", hint="of the certificate, not of the gap; Holm over the pairs of the method"),
    Column("Log loss saved", hint="per row by the local correction, with its 95 % interval"),
    Column("Saved locally", hint="beyond the log loss that the best map of the confidence alone saves"),
)
_PAIRS_NOTE = (
    "The gap is signed here: below 0 even the worse of the two slices is better calibrated than the whole. Its "
    "interval allows for the noise that makes the gap of a calibrated model larger than 0, and may lie below the gap "
    "itself. The tables also hold the gap cut off at 0 (gap_clipped), as the paper appears to report it. \u201cSaved "
    "locally\u201d is what the local correction saves beyond the best map of the confidence alone. Intervals are not "
    "adjusted for the number of pairs. Numbers are of the rows that testify. Under method paper, a row is unsupported "
    "where its kernel weights sum to less than 1. As in the paper, it keeps its estimate; a plan may change this by "
    "the option min_mass."
)


def _accuracy(row: dict) -> Cell:
    """Write the mean outcome, and say where it is no accuracy."""
    return replace(share(row["accuracy"]), aside="event rate" if row["outcome"] == "event" else "")


def methods_grid(tables: Tables) -> Grid | None:
    """Set both methods beside each other, for pairs that have both; None without any."""
    keys = ["pair", "dataset", "model"]
    columns = ["gap", "delta_std", "limit_hidden", "log_loss_saved", "log_loss_saved_local", "seconds_field"]
    sides = [of_method(tables["pairs"], method, LEARNED).select(keys + columns) for method in METHODS]
    both = sides[0].join(sides[1], on=keys, suffix="_auto", maintain_order="left")
    if both.is_empty():
        return None
    heads = [
        Column(f"{title}, {method}", hint=hint)
        for title, hint in (("Gap", "signed"), ("Std of field", ""), ("Hidden, at least", "certificate"),
                            ("Log loss saved", "per row"),
                            ("Saved locally", "beyond the best map of the confidence alone"),
                            ("Seconds", "learning the field"))
        for method in METHODS
    ]  # fmt: skip
    write = (change, score, score, change, change, lambda seconds: whole(None if seconds is None else round(seconds)))
    between = {row["pair"]: row for row in tables["duels"].iter_rows(named=True)}
    rows = [
        [named(row["model"]), named(row["dataset"]), _duel(between.get(row["pair"]))]
        + [how(row[name + end]) for name, how in zip(columns, write, strict=True) for end in ("", "_auto")]
        for row in both.iter_rows(named=True)
    ]
    first = (
        Column("Model", number=False), Column("Data set", number=False),
        Column("Log loss, paper minus auto", hint="the same rows; positive: auto is better"),
    )  # fmt: skip
    return Grid("Both methods", (*first, *heads), rows)


def _duel(row: dict | None) -> Cell:
    return change(None) if row is None else change(row["saved"], row["saved_low"], row["saved_high"])


def certificates_grid(tables: Tables, planned: Mapping[str, int], method: str) -> Grid | None:
    """List the certificates of a method, adjusted for their number; None without any."""
    found = certificates(tables["pairs"], method, planned.get(method))
    if found.is_empty():
        return None
    columns = (
        Column("Model", number=False), Column("Data set", number=False), Column("Hidden, at least"), Column("p"),
        Column("p, adjusted"), Column("Total, at least"), Column("Findings"), Column("Strongest finding", number=False),
    )  # fmt: skip
    rows = [
        [named(row["model"]), named(row["dataset"]), score(row["limit_hidden"]), p(row["p_hidden"]),
         p(row["p_adjusted"]), score(row["limit_total"]), whole(row["n_findings"]), named(row["finding"])]
        for row in found.iter_rows(named=True)
    ]  # fmt: skip
    return Grid(f"Certificates, method {method}", columns, rows)


def failures_grid(tables: Tables) -> Grid | None:
    """List what failed; None where nothing did."""
    failed = tables["failures"]
    if failed.is_empty():
        return None
    columns = [Column(name, number=False) for name in ("Model", "Data set", "Step", "Why")]
    rows = [
        [named(row["model"]), named(row["dataset"]), named(row["step"]), text(short(row["message"] or "", 600))]
        for row in failed.iter_rows(named=True)
    ]
    return Grid("Failures", columns, rows, sortable=False)


def _learned(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("geometry") == LEARNED)
