"""The tables of a study's page that the paper lacks: pairs, certificates, failures, deferral, transfer, neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from miscal.base.vocabulary import EVENT
from miscal.report.texts import short
from miscal.study.aggregates import deferral_numbers
from miscal.study.pages.grid import (
    Grid,
    GridCell,
    Heading,
    change,
    p,
    report_link,
    score,
    share,
    spread,
    text,
    whole,
)
from miscal.study.plan import METHODS
from miscal.study.tables import LEARNED, Tables, of_method
from miscal.study.verdict import certificates
from miscal.study.vocabulary import BOTH, EVENTS, StudyVocabulary

_LONGEST = 60


def named(value: str | None, href: str | None = None) -> GridCell:
    """Write a name that a user gave."""
    return text(None if value is None else short(value, _LONGEST), href)


def pairs_grid(tables: Tables, planned: Mapping[str, int], out: Path, words: StudyVocabulary) -> Grid:
    """List every pair under every method, learned geometry."""
    adjusted = {
        (row["pair"], row["method"]): row["p_adjusted"]
        for method in METHODS
        for row in certificates(tables["pairs"], method, planned.get(method)).iter_rows(named=True)
    }
    # where a study holds both, the rates of events are marked
    marked = {EVENT: EVENTS.rate} if words is BOTH else {}
    rows = [
        [
            named(row["model"], report_link(out, row["pair"], row["method"])), named(row["dataset"]),
            text(row["method"]), whole(row["n_test"]),
            replace(share(row["accuracy"]), aside=marked.get(row["outcome"], "")),
            share(row["confidence"]),
            score(row["smece"]), score(row["delta_std"]), share(row["share_unsupported"]),
            GridCell(row["worst"] or "none", row["worst"], kind=row["worst"] or "",
                     aside=share(row["share_worst"], 0).text if row["worst"] else ""),
            change(row["gap"], row["gap_interval_low"], row["gap_interval_high"]), score(row["limit_hidden"]),
            p(adjusted.get((row["pair"], row["method"]))),
            change(row["log_loss_saved"], row["log_loss_saved_low"], row["log_loss_saved_high"]),
            change(row["log_loss_saved_local"], row["log_loss_saved_local_low"], row["log_loss_saved_local_high"]),
        ]
        for row in tables["pairs"].filter(pl.col("geometry") == LEARNED).iter_rows(named=True)
    ]  # fmt: skip
    return Grid("All pairs", _pair_columns(words), rows, words.fill(_PAIRS_NOTE))


def of_all_rows(words: StudyVocabulary) -> tuple[Heading, ...]:
    """Head the columns that say what the rows of a pair are like."""
    return (
        Heading("Rows", hint="evaluation rows"),
        Heading(words.rate.capitalize(), hint=words.rate_meaning),
        Heading(words.probability.capitalize(), hint=f"mean {words.probability}"),
        Heading("smECE", hint=f"calibration error of the {words.probabilities}"),
    )


def _pair_columns(words: StudyVocabulary) -> tuple[Heading, ...]:
    return (
        Heading("Model", number=False, hint="links to the report of the pair"),
        Heading("Data set", number=False),
        Heading("Method", number=False),
        *of_all_rows(words),
        Heading("Std of field", hint="how much the error differs from input to input"),
        Heading("Unsupported", hint="rows with few or none of the rows learned from nearby"),
        Heading("Worst slice", number=False, hint="and its share of rows"),
        Heading(
            "Gap",
            hint="smECE of the worst slice less that of all rows; its interval starts at 0 where chance explains it",
        ),
        Heading("Hidden, at least", hint="certificate: 95 % lower limit of mean hidden miscalibration"),
        Heading("p, adjusted", hint="of the certificate, not of the gap; Holm over the pairs of the method"),
        Heading("Log loss saved", hint="per row by the local correction, with its 95 % interval"),
        Heading("Saved locally", hint=f"beyond the log loss that {_best_map(words)} saves"),
    )


def _best_map(words: StudyVocabulary) -> str:
    return f"the best map of the {words.probability} alone"


_PAIRS_NOTE = (
    "The gap is signed here: below 0 even the worse of the two slices is better calibrated than the whole. Its "
    "interval allows for the noise that makes the gap of a calibrated model larger than 0, and may lie below the gap "
    "itself. The tables also hold the gap cut off at 0 (gap_clipped), as the paper appears to report it. \u201cSaved "
    "locally\u201d is what the local correction saves beyond the best map of the {probability} alone. Intervals are "
    "not adjusted for the number of pairs. Numbers are of the evaluation rows. Under method paper, a row is "
    "unsupported where its kernel weights sum to less than 1. As in the paper, it keeps its estimate; a plan may "
    "change this by the option min_mass."
)


def methods_grid(tables: Tables, words: StudyVocabulary) -> Grid | None:
    """Set both methods beside each other, for pairs that have both; None without any."""
    keys = ["pair", "dataset", "model"]
    columns = ["gap", "delta_std", "limit_hidden", "log_loss_saved", "log_loss_saved_local", "seconds_field"]
    sides = [of_method(tables["pairs"], method, LEARNED).select(keys + columns) for method in METHODS]
    both = sides[0].join(sides[1], on=keys, suffix="_auto", maintain_order="left")
    if both.is_empty():
        return None
    heads = [
        Heading(f"{title}, {method}", hint=hint)
        for title, hint in (("Gap", "signed"), ("Std of field", ""), ("Hidden, at least", "certificate"),
                            ("Log loss saved", "per row"),
                            ("Saved locally", f"beyond {_best_map(words)}"),
                            ("Seconds", "learning the field"))
        for method in METHODS
    ]  # fmt: skip
    write = (change, score, score, change, change, lambda seconds: whole(None if seconds is None else round(seconds)))
    duels = tables["duels"].iter_rows(named=True)
    between = {row["pair"]: change(row["saved"], row["saved_low"], row["saved_high"]) for row in duels}
    rows = [
        [named(row["model"]), named(row["dataset"]), between.get(row["pair"], change(None))]
        + [how(row[name + end]) for name, how in zip(columns, write, strict=True) for end in ("", "_auto")]
        for row in both.iter_rows(named=True)
    ]
    first = (
        Heading("Model", number=False), Heading("Data set", number=False),
        Heading("Log loss, paper minus auto", hint="the same rows; positive: auto is better"),
    )  # fmt: skip
    return Grid("Both methods", (*first, *heads), rows)


def certificates_grid(tables: Tables, planned: Mapping[str, int], method: str) -> Grid | None:
    """List the certificates of a method, adjusted for their number; None without any."""
    found = certificates(tables["pairs"], method, planned.get(method))
    if found.is_empty():
        return None
    columns = (
        Heading("Model", number=False), Heading("Data set", number=False), Heading("Hidden, at least"), Heading("p"),
        Heading("p, adjusted"), Heading("Total, at least"), Heading("Findings"),
        Heading("Strongest finding", number=False),
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
    columns = [Heading(name, number=False) for name in ("Model", "Data set", "Step", "Why")]
    rows = [
        [named(row["model"]), named(row["dataset"]), named(row["step"]), text(short(row["message"] or "", 600))]
        for row in failed.iter_rows(named=True)
    ]
    return Grid("Failures", columns, rows, sortable=False)


_MOST = 60


def deferral_grid(tables: Tables, method: str, words: StudyVocabulary) -> Grid | None:
    """Average what correcting changes for deferral."""
    found = deferral_numbers(tables["deferral_gains"], method)
    if found.is_empty():
        return None
    errors = words.errors.capitalize()
    columns = (
        Heading("At", number=False), Heading(f"{errors}, raw"), Heading(f"{errors}, corrected"), Heading("Gain"),
        Heading("Pairs helped"), Heading("Pairs harmed"), Heading("Pairs"),
    )  # fmt: skip
    rows = [
        [text("area under the curve" if row["at"] == "area" else f"coverage {row['at']}"), score(row["raw"]),
         score(row["corrected"]), change(row["gain"]), whole(row["n_better"]), whole(row["n_worse"]),
         whole(row["n_pairs"])]
        for row in found.iter_rows(named=True)
    ]  # fmt: skip
    note = "Means over pairs. A pair is helped or harmed where its 95 % bootstrap interval lies on one side of 0."
    return Grid(f"Deferral, method {method}", columns, rows, note, sortable=False)


def fields_grid(tables: Tables, method: str, words: StudyVocabulary) -> Grid | None:
    """List the correlations of fields over models, the highest of the hidden parts first."""
    found = of_method(tables["transfer_fields"], method)
    if found.is_empty():
        return None
    found = found.sort("correlation", descending=True, nulls_last=True, maintain_order=True)
    models = dict(_labels(tables).select("pair", "model").iter_rows())
    columns = (
        Heading("One model", number=False), Heading("Other model", number=False), Heading("Data set", number=False),
        Heading("Field", number=False), Heading("Correlation"), Heading("Equal signs"),
        Heading(words.rows.capitalize()),
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
        Heading("Learned on", number=False), Heading("Judged on", number=False), Heading("Log loss, raw"),
        Heading("Own correction"), Heading("Other's correction"), Heading("Saved"), Heading("Rows"),
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
        Heading("Model", number=False), Heading("Data set", number=False), Heading("Neighbours share", number=False),
        Heading("Space", number=False), Heading("Share of neighbours"), Heading("By chance"), Heading("p"),
        Heading("Rows"),
    )  # fmt: skip
    rows = [
        [named(row["model"]), named(row["dataset"]), named(row["by"]),
         text("raw inputs" if row["space"] == "raw" else "learned"), share(row["purity"]),
         GridCell(spread(row["null_mean"], row["null_std"]).text, row["null_mean"]), p(row["p_value"]), whole(row["n"])]
        for row in found.iter_rows(named=True)
    ]  # fmt: skip
    return Grid(f"Neighbours, method {method}", columns, rows)


def _labels(tables: Tables) -> pl.DataFrame:
    return tables["pairs"].select("pair", "dataset", "model").unique("pair", maintain_order=True)


def _cut(found: pl.DataFrame) -> str:
    if found.height <= _MOST:
        return ""
    return f"The first {_MOST} of {found.height:,} rows; tables/ has all of them."
