"""The tables of a study, their columns, and how they are written and read.

Figures, pages and verdicts are made from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from miscal.base.errors import CorruptFile, FileError
from miscal.base.files import write_whole
from miscal.base.frames import read_parquet
from miscal.data.writing import defused
from miscal.study.cells import StudyCell
from miscal.study.folder import StudyFolder
from miscal.study.matrix import adjust
from miscal.study.plan import METHODS

Tables = Mapping[str, pl.DataFrame]
"""Tables of a study by name, with the columns of :data:`miscal.study.tables.TABLES`; each may be empty."""

LEARNED, RAW = "learned", "raw"

RESIDUAL, SMECE, LOG_LOSS = "residual", "smece", "log_loss_corrected"
"""Measures of the table ``board``."""

CALIBRATION_COST, HIDDEN_COST = "calibration_cost", "hidden_cost"
"""Measures of the table ``rankings``, beside the log loss after correction."""

SOUGHT = 0.05
"""Hidden error of a tenth of the rows that the table ``pairs`` says how many rows would show."""

REGIONS = ("all", "over", "under", "good")
"""Regions that corrections are scored on, in the order of pages and figures: all rows, and the regimes of delta."""

Kind = Literal["text", "whole", "number", "truth"]
"""Type of a column: string, 64-bit integer, float64, boolean."""

Columns = Mapping[str, tuple[Kind, str]]


class StudyTable(NamedTuple):
    """One table: what one row is, and the kind and meaning of its columns, in their order."""

    about: str
    columns: Columns


def _sized(name: str, meaning: str, lower: str = "lower end of its 95 % interval", ends: str | None = None) -> Columns:
    """Describe a number and the ends of its interval, whose names begin with its own unless said otherwise."""
    start = f"{name}_" if ends is None else ends
    return {name: ("number", meaning), f"{start}low": ("number", lower), f"{start}high": ("number", "upper end")}


_PAIR: Columns = {
    "pair": ("text", "id of the pair in the plan"),
    "dataset": ("text", "data set"),
    "model": ("text", "model"),
}
_METHOD: Columns = {"method": ("text", '"paper" or "auto"')}
_KEY: Columns = {**_PAIR, **_METHOD}
_GEOMETRY: Columns = {
    "geometry": ("text", '"learned", or "raw": residuals smoothed over the inputs (paper with evidence "test")'),
}

TABLES: Mapping[str, StudyTable] = {
    "pairs": StudyTable("one pair under one method and geometry", _PAIR | {
        "family": ("text", "models that differ in size alone share one"),
        "billions": ("number", "parameters of the model, in billions"),
    } | _METHOD | _GEOMETRY | {
        "evidence": ("text", 'which rows are evaluated: "test" or "all"'),
        "seed": ("whole", "of split, fit and draws"),
        "epsilon": ("number", "half-width of the band of delta that counts as well calibrated"),
        "min_rows": ("whole", "fewest rows of a slice whose gap is measured"),
        "outcome": ("text", 'what the confidence is of: "answer" (that it is right), or "event" (that it happens)'),
        "n": ("whole", "rows of the pair"),
        "n_train": ("whole", "training rows; null where all rows are evaluated"),
        "n_val": ("whole", "validation rows; null where all rows are evaluated"),
        "n_test": ("whole", "evaluation rows"),
        "d": ("whole", "columns of the inputs"),
        "sigma": ("number", "chosen bandwidth (paper, and raw)"),
        "lambda": ("number", "chosen mass penalty (paper, learned)"),
        "epoch": ("whole", "chosen epoch, from 1 (paper, learned)"),
        "alpha": ("number", "chosen scale of the range-aware correction (paper, and raw)"),
        "proxy": ("number", "validation Brier score of f + delta of the choice (paper, and raw)"),
        "structure": ("truth", "whether the estimator claims local structure (learned)"),
        "accuracy": ("number", "mean outcome; of an event, how often it happens"),
        "confidence": ("number", "mean confidence"),
        "smece": ("number", "SmoothECE of the confidences"),
        "brier": ("number", "Brier score of the confidences"),
        "log_loss": ("number", "log loss of the confidences"),
        "log_loss_corrected": ("number", "log loss of the corrected confidences"),
        **_sized("log_loss_saved", "log_loss - log_loss_corrected; positive: corrected better",
                 "lower end of its 95 % interval; rows of a group count as one"),
        "log_loss_global": ("number", "log loss under the map of the confidence alone that does best in training"),
        **_sized("log_loss_saved_local", "log_loss_global - log_loss_corrected: beyond such a map",
                 "lower end of its 95 % interval; rows of a group count as one"),
        "delta_mean": ("number", "mean of the estimated field; negative: over-confident"),
        "delta_std": ("number", "standard deviation of the estimated field"),
        "std_visible": ("number", "standard deviation of its visible part"),
        "std_hidden": ("number", "standard deviation of its hidden part"),
        "share_over": ("number", "share of rows with delta < -epsilon"),
        "share_under": ("number", "share of rows with delta > epsilon"),
        "share_unsupported": ("number", "share of rows with few rows learned from nearby (paper: a mass below 1)"),
        "worst": ("text", 'worst slice, "over" or "under"; null where both have too few rows'),
        "gap": ("number", "smECE of the worst slice less smECE of all rows; signed"),
        "gap_clipped": ("number", "max(0, gap), as the paper appears to report it; 0 where gap is null"),
        "gap_interval_low": ("number", "lower end of its 95 % interval, which allows for groups (learned)"),
        "gap_interval_high": ("number", "upper end (learned)"),
        "gap_floor": ("number", "mean gap of a calibrated model with these confidences and slices (learned)"),
        "gap_boot_mean": ("number", "mean of the gap over bootstrap draws"),
        "gap_boot_mean_clipped": ("number", "mean of max(0, gap) over bootstrap draws, as in the paper's Table 5"),
        "gap_low": ("number", "2.5 % quantile of the gap over bootstrap draws, which allow for groups"),
        "gap_high": ("number", "97.5 % quantile of the gap over bootstrap draws"),
        "gap_p": ("number", "p-value of the gap against a calibrated model, from the summary (learned)"),
        "share_worst": ("number", "share of rows in the worst slice"),
        "share_low": ("number", "2.5 % quantile of that share over bootstrap draws, which allow for groups"),
        "share_high": ("number", "97.5 % quantile of that share over bootstrap draws"),
        "brier_gap": ("number", "Brier score of the worst slice less that of all rows"),
        "limit_total": ("number", "certificate: 95 % lower limit of mean |delta| (learned)"),
        "p_total": ("number", "certificate: p-value of total miscalibration (learned)"),
        "limit_hidden": ("number", "certificate: 95 % lower limit of mean hidden |delta| (learned)"),
        "p_hidden": ("number", "certificate: p-value of hidden miscalibration (learned)"),
        "detectable_share": ("number", "mean share of rows of a cluster of inputs, about a tenth (learned)"),
        "detectable": ("number", "hidden error of a cluster that would be claimed in 80 % of cases (learned)"),
        "rows_for_5_points": ("whole", "rows with which such an error of 0.05 would be, as errors shrink with the "
                              "root of the rows (learned)"),
        "n_findings": ("whole", "findings of the ledger (learned)"),
        "finding": ("text", "description of the strongest finding; null without one (learned)"),
        "seconds_score": ("number", "seconds spent on asking the model; null for data that were read"),
        "seconds_field": ("number", "seconds spent on the field, honest estimates included"),
        "seconds": ("number", "seconds spent on the run in all, scoring left out (learned)"),
    }),
    "corrections": StudyTable("one region of a pair's rows under one correction", _KEY | _GEOMETRY | {
        "calibrator": ("text", '"raw", "miscal", "isotonic", "temperature" or "platt"'),
        "region": ("text", '"all", "over", "under" or "good", always cut by delta at epsilon'),
        "n": ("whole", "rows"),
        "smece": ("number", "SmoothECE"),
        "brier": ("number", "Brier score"),
        "log_loss": ("number", "log loss"),
    }),
    "thresholds": StudyTable(
        "a pair's worst slice at one epsilon, worst by SmoothECE or by the Brier score", _KEY | _GEOMETRY | {
        "epsilon": ("number", "half-width of the band"),
        "by": ("text", 'score that chooses the slice: "smece" or "brier"'),
        "worst": ("text", '"over" or "under"; null where both have too few rows'),
        "n": ("whole", "rows of the slice"),
        "share": ("number", "share of rows in the slice"),
        "smece_gap": ("number", "smECE of the slice less smECE of all rows; signed"),
        "smece_gap_clipped": ("number", "max(0, smece_gap); 0 where it is null"),
        "brier_gap": ("number", "Brier score of the slice less that of all rows"),
    }),
    "nulls": StudyTable("one statistic of a pair, as observed and refitted under a null", _KEY | {
        "null": ("text", "\"permuted\" (the paper's), \"visible\" or \"calibrated\"; its draws allow for groups"),
        "statistic": ("text", '"delta_std", "std_hidden", "share_miscalibrated", "gap" (clipped), "proxy" or "epoch"'),
        "observed": ("number", "on the data"),
        "null_mean": ("number", "mean over refits"),
        "null_std": ("number", "standard deviation over refits (n - 1)"),
        "p_value": ("number", "share of refits at least as large, the data being one; null for proxy, epoch"),
        "n_draws": ("whole", "refits"),
    }),
    "proxy_curves": StudyTable(
        "the proxy after one epoch of a chosen setting, on the data or on one draw of a null (paper)", _PAIR | {
        "null": ("text", "which null"),
        "draw": ("whole", "number of the refit; -1: the data"),
        "epoch": ("whole", "from 1"),
        "proxy": ("number", "validation Brier score of f + delta"),
        "chosen": ("truth", "whether this epoch was kept"),
    }),
    "seeds": StudyTable("one seed's refit of a pair", _KEY | {
        "seed": ("whole", "the first is the study's own"),
        "delta_std": ("number", "standard deviation of its field"),
        "worst": ("text", "its worst slice"),
        "gap": ("number", "its gap; signed"),
        "share_worst": ("number", "share of rows in its worst slice"),
    }),
    "seed_pairs": StudyTable("two seeds' fields of a pair, on the same rows", _KEY | {
        "seed_a": ("whole", "one seed"),
        "seed_b": ("whole", "the other"),
        "correlation": ("number", "Pearson; null where a field is constant"),
        "sign_agreement": ("number", "share of rows on which the signs agree"),
        "sign_by_chance": ("number", "that share for unrelated fields with as many rows of each sign"),
    }),
    "curves": StudyTable("one bin of a reliability diagram of a region of a pair's rows", _KEY | {
        "column": ("text", '"regime", or a metadata column'),
        "value": ("text", '"all", "over", "under", "good", or a value of that column'),
        "bin": ("whole", "from 0, by confidence"),
        "confidence": ("number", "mean confidence of the bin's rows"),
        **_sized("accuracy", "their mean outcome", "lower end of its 95 % interval, which allows for groups", ends=""),
        "n": ("whole", "rows"),
    }),
    "regions": StudyTable(
        "a region of a pair's rows: a regime, or the rows that share a value of a metadata column", _KEY | {
        "column": ("text", '"regime", or a metadata column'),
        "value": ("text", "as in curves"),
        "n": ("whole", "rows"),
        "accuracy": ("number", "mean outcome"),
        "confidence": ("number", "mean confidence"),
        "smece": ("number", "SmoothECE; null below 2 rows"),
        "delta_mean": ("number", "mean of the field"),
    }),
    "histograms": StudyTable("one bin of the histogram of a pair's field", _KEY | _GEOMETRY | {
        "left": ("number", "left edge"),
        "right": ("number", "right edge"),
        "n": ("whole", "rows with left <= delta < right (the last bin takes its right edge too)"),
    }),
    "deferral": StudyTable(
        "risk at one coverage, the least confident rows being deferred; of an event, the likelier side is the answer",
        _KEY | {
        "score": ("text", 'what ranks the rows: "raw" or "corrected" confidences'),
        "coverage": ("number", "share of rows kept"),
        "risk": ("number", "share of wrong answers among them"),
    }),
    "deferral_gains": StudyTable("what correcting confidences changes for deferral", _KEY | {
        "at": ("text", '"area" under the risk-coverage curve, or a coverage: "0.5", "0.8", "0.9"'),
        "raw": ("number", "risk (or area) by raw confidences"),
        "corrected": ("number", "by corrected ones"),
        **_sized("gain", "raw - corrected; positive: correcting helps", "lower end of its 95 % bootstrap interval; "
                 "groups are drawn whole"),
    }),
    "purity": StudyTable(
        "how alike the nearest neighbours of a pair's rows are, in raw inputs or in the learned space", _KEY | {
        "space": ("text", '"raw" or "learned"'),
        "by": ("text", 'what neighbours share: a metadata column, "sign" of delta beyond epsilon, or "outcome"'),
        "neighbours": ("whole", "neighbours asked"),
        "n": ("whole", "rows asked"),
        "purity": ("number", "share of neighbours that share it"),
        "null_mean": ("number", "the same after permuting the labels, mean"),
        "null_std": ("number", "standard deviation"),
        "p_value": ("number", "share of permutations at least as pure, the data counted as one"),
    }),
    "layouts": StudyTable("one row's place in a two-dimensional layout", _KEY | {
        "space": ("text", '"raw" or "learned"'),
        "layout": ("text", 'what placed the rows: "umap", "tsne" or "pca"'),
        "row": ("whole", "row of the pair's data"),
        "x": ("number", "first coordinate"),
        "y": ("number", "second coordinate"),
        "category": ("text", "value of the pair's first metadata column; null without one"),
        "delta": ("number", "the field"),
    }),
    "duels": StudyTable("our method against the paper's on the rows of one pair that are evaluated in both", _PAIR | {
        "n": ("whole", "rows"),
        "log_loss_auto": ("number", "corrected by our method"),
        "log_loss_paper": ("number", "corrected by the paper's"),
        **_sized("saved", "log_loss_paper - log_loss_auto; positive: ours is better", "lower end of its 95 % interval "
                 "(Student, over groups or different inputs)"),
    }),
    "board": StudyTable("one measure of a pair by which models are compared", _KEY | {
        "measure": ("text", '"residual" (accuracy less confidence), "smece", or "log_loss_corrected"'),
        "n": ("whole", "evaluation rows"),
        **_sized("value", "the measure", "lower end of its 95 % interval; rows of a group count as one", ends=""),
    }),
    "groups": StudyTable(
        "a pair's rows of one value of a column that all have, against its rows of equal confidence", _KEY | {
        "column": ("text", "column that all pairs of the data set have"),
        "value": ("text", "its value, or a bin of its numbers or dates, the same for all pairs"),
        "bin": ("truth", "whether it is a bin of numbers or dates, or their missing values"),
        "n": ("whole", "rows of the group"),
        **_sized("residual", "accuracy less confidence; negative: over-confident", "lower end of its 95 % interval, "
                 "not adjusted"),
        **_sized("hidden", "mean of y - E[y | f]; negative: less often right than rows of equal confidence",
                 "lower end of its 95 % interval, not adjusted", ends=""),
        "p_value": ("number", "of hidden = 0; null where the group, or what is left, has fewer than 20 rows"),
        "p_adjusted": ("number", "Holm over all groups of all pairs of the method"),
        **_sized("after", "hidden residual that the correction leaves", "lower end of its 95 % interval, not adjusted"),
        "finding": ("whole", "finding of the pair's report that it is, or that accounts for it; null without one"),
    }),
    "shared_findings": StudyTable(
        "one model in a group in which the models of a data set err together, or in which they differ", _KEY | {
        "finding": ("whole", "number of the group on its data set, from 1; the shared ones in the order of choice"),
        "kind": ("text", '"shared": models err there together; "differing": they only differ'),
        "description": ("text", "what its rows have in common"),
        "condition": ("text", "the same as JSON, as in the findings of a run"),
        "n": ("whole", "its rows, of all models"),
        "models": ("whole", "models of the data set"),
        **_sized("effect", "how much more often its rows are right than rows of equal confidence of the same model, "
                 "over all models (of a trend, its upper end than its lower); negative: over-confident beside them",
                 "lower end of its 95 % interval; where shared, the interval allows for the choice among all groups"),
        **_sized("beyond", "the same given the shared findings above it: what p_shared is of",
                 "lower end of its interval, which allows for the choice"),
        "given_others": ("truth", "whether it errs so only beside rows in the same shared findings above it"),
        "p_shared": ("number", "of no effect over all models; where shared, given the shared findings above it"),
        "p_shared_adjusted": ("number", "adjusted for all candidates; null where it is not shared"),
        "p_difference": ("number", "of equal effects, given other findings; null where fewer than two models tell"),
        "p_difference_adjusted": ("number", "adjusted for all groups in which models are compared"),
        "n_model": ("whole", "rows of the group of this model"),
        "model_effect": ("number", "the effect in this model, by itself; null where it has fewer than 20 rows"),
        "model_low": ("number", "lower end of its 95 % interval, not adjusted"),
        "model_high": ("number", "upper end"),
        "model_after": ("number", "the effect that its correction leaves"),
    }),
    "rankings": StudyTable("a model among all on its data set, by one measure of which less is better", _KEY | {
        "measure": ("text", '"calibration_cost" (log loss that a map of the confidence alone saves), "hidden_cost" '
                    '(what the correction saves beyond it), or "log_loss_corrected"; the three add up to the log loss'),
        "n": ("whole", "rows compared"),
        "common": ("truth", "whether these are the questions that all models answered; else all rows of each"),
        **_sized("value", "mean over rows, in nats", "lower end of its 95 % interval; those of all models hold at once",
                 ends=""),
        "best_rank": ("whole", "1 + models shown to be ahead, by paired comparisons that hold at once"),
        "worst_rank": ("whole", "number of models less those shown to be behind; models tie whose ranks overlap"),
    }),
    "group_rankings": StudyTable("a model among those with at least 20 rows in a group of its data set", _KEY | {
        "column": ("text", "named column"),
        "value": ("text", "its value, or a bin of its numbers or dates"),
        "n": ("whole", "rows compared"),
        "residual": ("number", "accuracy less confidence on these rows; models are ranked by its absolute value"),
        "best_rank": ("whole", "1 + models shown to be ahead, all groups of the data set being one family"),
        "worst_rank": ("whole", "number of models less those shown to be behind; 1: ahead of all others"),
    }),
    "transfer_shifts": StudyTable(
        "the hidden part of one model's correction, added to another model's correction by the confidence alone", {
        "dataset": ("text", "data set that both share"),
    } | _METHOD | {
        "pair_from": ("text", "pair that taught"),
        "pair_to": ("text", "pair that is judged"),
        "n": ("whole", "rows judged: questions that both answered"),
        "log_loss_raw": ("number", "of their confidences"),
        "log_loss_visible": ("number", "corrected by the judged pair's map of the confidence alone"),
        "log_loss_own": ("number", "corrected by the judged pair's own field"),
        "log_loss_transferred": ("number", "corrected by its own map and the other pair's hidden part"),
        **_sized("saved", "log_loss_visible - log_loss_transferred; positive: the hidden part transfers",
                 "lower end of its 95 % interval; those of a data set hold at once"),
    }),
    "failures": StudyTable("a pair, or a step of one, that failed", _PAIR | {
        "step": ("text", "what failed"),
        "message": ("text", "why, in one sentence"),
    }),
}  # fmt: skip
"""Every table by its name. Numbers are of the evaluation rows unless said otherwise; an undefined one is null."""

_TYPES: Mapping[Kind, type[pl.DataType]] = {
    "text": pl.String,
    "whole": pl.Int64,
    "number": pl.Float64,
    "truth": pl.Boolean,
}


def schema(name: str) -> dict[str, type[pl.DataType]]:
    """Return the columns of a table, in their order, with their types.

    >>> schema("failures")["step"]
    String
    """
    return {column: _TYPES[kind] for column, (kind, _) in TABLES[name].columns.items()}


def read_tables(out: str | Path) -> dict[str, pl.DataFrame]:
    """Read every table of a study from its folder; one that is not there yet is empty.

    Raises
    ------
    FileError
        If the folder has no tables at all.
    CorruptFile
        If a table cannot be read or lacks a column.
    """
    folder = Path(out) / "tables"
    if not folder.is_dir():
        raise FileError(f"{out}: no tables of a study are there; give the folder that `miscal study` wrote")
    return {name: _read(folder / f"{name}.parquet", name) for name in TABLES}


def _read(path: Path, name: str) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame(schema=schema(name))
    try:
        return read_parquet(path).select(pl.col(column).cast(kind) for column, kind in schema(name).items())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise CorruptFile(f"{path}: {str(error).splitlines()[0]}; run `miscal study` again to write it anew") from None


def write_tables(folder: StudyFolder, cells: Sequence[StudyCell], failures: Sequence[Mapping[str, Any]]) -> None:
    """Write every table as parquet and csv: what the cells of the plan left, and the rows of ``failures``.

    Rows come in the order of the plan's cells, and within a cell as it made them: the same cells give the same bytes,
    whichever was finished first.
    """
    rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in TABLES}
    rows["failures"] = list(failures)
    for cell in cells:
        if folder.is_done(cell.name):
            for name, some in folder.load(cell.name)["rows"].items():
                rows[name].extend(some)
    place = folder.path / "tables"
    place.mkdir(exist_ok=True)
    for name, some in rows.items():
        table = frame(name, some)
        if name == "groups":
            table = adjust(table)
        write_whole(place / f"{name}.parquet", table.write_parquet)
        write_whole(place / f"{name}.csv", defused(table).write_csv)


def frame(name: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table with the columns and types of :data:`miscal.study.tables.TABLES`.

    >>> frame("failures", []).columns
    ['pair', 'dataset', 'model', 'step', 'message']
    """
    return pl.DataFrame(rows, schema=schema(name), orient="row")


def attributes(source: object, *names: str) -> dict[str, Any]:
    """Fill columns with the attributes of their names."""
    return {name: getattr(source, name) for name in names}


def with_ends(
    name: str, value: float | None, interval: tuple[float, float] | None, ends: str | None = None
) -> dict[str, float | None]:
    """Fill the column of a number and those of the ends of its interval, null where there is none.

    >>> with_ends("gain", 0.5, (0.25, 0.75)), with_ends("gain", 0.5, None, ends="")
    ({'gain': 0.5, 'gain_low': 0.25, 'gain_high': 0.75}, {'gain': 0.5, 'low': None, 'high': None})
    """
    start, (low, high) = f"{name}_" if ends is None else ends, interval or (None, None)
    return {name: value, f"{start}low": low, f"{start}high": high}


def methods_of(table: pl.DataFrame) -> list[str]:
    """Return the methods that a table holds, the paper's first.

    >>> methods_of(pl.DataFrame({"method": ["auto", "paper", "auto"]}))
    ['paper', 'auto']
    """
    held = set(table["method"].to_list())
    return [method for method in METHODS if method in held]


def by_method(table: pl.DataFrame, geometry: str | None = None) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each method that a table holds, the paper's first, with its rows, of one geometry where one is named."""
    for method in methods_of(table):
        yield method, of_method(table, method, geometry)


def of_method(table: pl.DataFrame, method: str, geometry: str | None = None) -> pl.DataFrame:
    """Return the rows of one method, and of one geometry where one is named.

    >>> table = pl.DataFrame({"method": ["paper", "auto"], "geometry": ["raw", "learned"]})
    >>> of_method(table, "paper").height, of_method(table, "paper", "learned").height
    (1, 0)
    """
    return table.filter(method=method) if geometry is None else table.filter(method=method, geometry=geometry)
