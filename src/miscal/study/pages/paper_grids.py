"""The paper's tables 2 to 5, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from miscal.report.formatting import DASH, metric, percent
from miscal.study import paper_numbers as paper
from miscal.study.aggregates import null_numbers, seed_numbers, threshold_numbers
from miscal.study.pages.grids import NAMES, Column, Grid, GridCell, Row, grid, p, score, sized, spread, whole
from miscal.study.tables import LEARNED, Tables, of_method


def _beside(title: str, theirs: Callable[[Any], GridCell], ours: Callable[..., GridCell], names: str = "") -> tuple:
    """Describe the paper's column, written of its entry, with a dash without one; and ours."""
    cited = Column(f"{title}, paper", lambda entry: GridCell(DASH) if entry is None else theirs(entry), "cited")
    return cited, Column(f"{title}, here", ours, names)


def _with_cited(tables: Tables, found: pl.DataFrame, entries: Mapping[paper.PaperPair, Any]) -> list[Row]:
    """Return rows of pairs with the paper's entry; None where the pair is not the paper's, or it reports nothing."""
    pairs = {row["pair"]: paper.reproduced(row) for row in tables["pairs"].unique("pair", keep="first").to_dicts()}
    return [row | {"cited": entries.get(pairs.get(row["pair"]))} for row in found.to_dicts()]


def null_grids(tables: Tables, method: str) -> list[tuple[str, Grid]]:
    """Table 2: spread and gap on the data and under each null; the paper's is that of permuted labels."""
    nulls = sorted(set(tables["nulls"]["null"]))
    return [(method, found) for null in nulls if (found := _null_grid(tables, method, null)) is not None]


def _null_grid(tables: Tables, method: str, null: str) -> Grid | None:
    found = null_numbers(tables["nulls"], method, null)
    columns = [
        *NAMES,
        *_beside("Std of field", lambda cited: score(cited.delta_std), score, "delta_std"),
        *_beside("Std under the null", lambda cited: spread(*cited.null_delta_std), spread,
                 "delta_std_null_mean delta_std_null_std"),
        *_beside("Gap", lambda cited: score(cited.gap), score, "gap"),
        *_beside("Gap under the null", lambda cited: spread(*cited.null_gap), spread,
                 "gap_null_mean gap_null_std"),
        Column("p of std", p, "delta_std_p"), Column("p of gap", p, "gap_p"),
    ]  # fmt: skip
    epochs = ["epoch", "epoch_null_mean", "epoch_null_std"]
    if found.drop_nulls(epochs).height:
        columns += [
            Column("Kept epoch", whole, "epoch", "how long learning went on"),
            Column("Kept epoch under the null", lambda mean, std: _briefly(mean, std, 1),
                   "epoch_null_mean epoch_null_std"),
        ]  # fmt: skip
    note = (
        f"Under the null: mean and standard deviation over refits (here up to {found['n_draws'].max()}, in the paper "
        "20). With n refits a p-value cannot be below 1 / (n + 1): 20 refits give at least 0.048, so that no "
        "adjustment over the paper's six pairs can reach 0.05. Gaps are cut off at 0."
    )
    return grid("Table 2", _with_cited(tables, found, paper.NULLS if null == "permuted" else {}), columns, note)


def seed_grid(tables: Tables, method: str) -> Grid | None:
    """Table 3: how alike the fields of different seeds are."""
    found = seed_numbers(tables["seeds"], tables["seed_pairs"], method)
    shown = {"correlation": "Correlation", "sign_agreement": "Equal signs", "gap": "Gap", "delta_std": "Std of field"}
    columns = [*NAMES]
    for name, title in shown.items():
        columns += _beside(title, lambda cited, name=name: _briefly(*getattr(cited, name)), _briefly,
                           f"{name}_mean {name}_std")  # fmt: skip
    columns += [
        Column("Seeds", whole, "n_seeds"),
        Column("Undefined", _of, "n_undefined n_seed_pairs",
               "pairs of seeds without a correlation, because a field is constant"),
    ]  # fmt: skip
    note = (
        "Means and standard deviations over seeds, or over pairs of seeds for correlation and signs. Where a field is "
        "constant, its pairs of seeds have no correlation: they are left out of both and counted."
    )
    return grid("Table 3", _with_cited(tables, found, paper.SEEDS), columns, note)


def threshold_grid(tables: Tables, method: str) -> Grid | None:
    """Table 4: what depends on epsilon."""
    found = threshold_numbers(tables["thresholds"], method).to_dicts()
    rows = [row | {"cited": paper.THRESHOLDS.get(round(row["epsilon"], 6))} for row in found]
    return grid("Table 4", rows, [
        Column("Epsilon", lambda epsilon: GridCell(f"{epsilon:g}", epsilon), "epsilon"),
        *_beside("Median smECE gap", lambda cited: score(cited.smece_gap), score, "smece_gap"),
        *_beside("Median Brier gap", lambda cited: score(cited.brier_gap), score, "brier_gap"),
        *_beside("Share of rows: quartiles", lambda cited: _quartiles(*cited.sizes), _quartiles,
                 "share_quarter share_median share_three_quarters"),
        *_beside("Pairs with gap > 0.06", lambda cited: _of(cited.n_pairs, paper.N_PAIRS), _of, "n n_pairs"),
    ], "Medians and quartiles are of the pairs with a gap above 0.06 at that epsilon. The paper's shares are no "
       "reference: they contradict its table 5b.")  # fmt: skip


def gap_grid(tables: Tables, method: str) -> Grid | None:
    """Table 5: gap and share of rows of every pair, with bootstrap intervals."""
    rows = _with_cited(tables, of_method(tables["pairs"], method, LEARNED), _GAPS)
    columns = [
        *NAMES,
        *_beside("Gap", lambda cited: score(*cited[0]), _cut_off,
                 "gap_boot_mean_clipped gap_low gap_high"),
        *_beside("Share of rows in the worst slice",
                 lambda cited: _sized(*cited[1]) if cited[1] else GridCell("none"),
                 _slice),
    ]  # fmt: skip
    note = (
        "Bootstrap means with 95 % intervals, the field and its slices held fixed, and the gap of each draw cut off at "
        "0, as the paper's appears to be. These percentiles lie above 0 even for a calibrated model, so that they are "
        "no test; the table of pairs has the interval that is one. A pair without a gap has no slice with enough rows. "
        "\u201cnone (gap \u2264 0)\u201d: no slice is worse calibrated than the whole; the paper has a dash there."
    )
    return grid("Table 5", rows, columns, note)


_GAPS = {pair: (gap, paper.SIZES[pair]) for pair, gap in paper.GAPS.items()}


def _of(n: int, of: int) -> GridCell:
    return GridCell(f"{n} of {of}", n)


def _briefly(mean: float | None, std: float | None, digits: int = 2) -> GridCell:
    """Write a mean and a standard deviation with the two decimals of the paper's Table 3."""
    if mean is None:
        return GridCell(DASH)
    return GridCell(metric(mean, digits) + ("" if std is None else f" \u00b1 {metric(std, digits)}"), mean)


def _quartiles(*sizes: float | None) -> GridCell:
    return GridCell(DASH) if sizes[1] is None else GridCell(" / ".join(percent(size, 0) for size in sizes), sizes[1])


def _cut_off(mean: float | None, *ends: float | None) -> GridCell:
    """Write a gap cut off at 0; quantiles may be cut off after they are taken."""
    return score(mean, *(None if end is None else max(0.0, end) for end in ends))


def _slice(row: Row) -> GridCell:
    if row["gap"] is not None and row["gap"] <= 0:
        return GridCell("none (gap \u2264 0)")
    return _sized(row["share_worst"], row["share_low"], row["share_high"])


def _sized(value: float | None, low: float | None, high: float | None) -> GridCell:
    return GridCell("none") if value is None else sized(percent, value, low, high)
