"""The paper's tables 2 to 5, its numbers beside ours."""

from __future__ import annotations

from miscal.report.formatting import DASH, MINUS, percent
from miscal.study import paper_numbers as paper
from miscal.study.aggregates import null_numbers, seed_numbers, threshold_numbers
from miscal.study.claims.audits import epochs_of
from miscal.study.pages.grid import Grid, GridCell, Heading, p, score, spread, whole
from miscal.study.pages.study_grids import named
from miscal.study.tables import LEARNED, Tables, of_method

_NAMES = (Heading("Model", number=False), Heading("Data set", number=False))
_PAPER, _HERE = "paper", "here"
PERMUTED = "permuted"
"""The paper's null."""


def null_grid(tables: Tables, method: str, null: str = PERMUTED) -> Grid | None:
    """Table 2: spread and gap on the data and under a null; the paper's is that of permuted labels."""
    found = null_numbers(tables["nulls"], method, null)
    if found.is_empty():
        return None
    columns = (
        *_NAMES, *_beside("Std of field"), *_beside("Std under the null"), *_beside("Gap"),
        *_beside("Gap under the null"), Heading("p of std"), Heading("p of gap"),
    )  # fmt: skip
    epochs = {row["pair"]: row for row in epochs_of(tables, method, null).drop_nulls().iter_rows(named=True)}
    if epochs:
        columns += (Heading("Kept epoch", hint="how long learning went on"), Heading("Kept epoch under the null"))
    rows = []
    for row in found.iter_rows(named=True):
        cited = _cited(paper.NULLS, tables, row) if null == PERMUTED else None
        rows.append(
            [named(row["model"]), named(row["dataset"]),
             score(cited and cited.delta_std), score(row["delta_std"]),
             _spread(cited and cited.null_delta_std), spread(row["delta_std_null_mean"], row["delta_std_null_std"]),
             score(cited and cited.gap), score(row["gap"]),
             _spread(cited and cited.null_gap), spread(row["gap_null_mean"], row["gap_null_std"]),
             p(row["delta_std_p"]), p(row["gap_p"]), *(_epochs(epochs.get(row["pair"])) if epochs else ())]
        )  # fmt: skip
    draws = found["n_draws"].max()
    note = (
        f"Under the null: mean and standard deviation over refits (here up to {draws}, in the paper 20). With n refits "
        "a p-value cannot be below 1 / (n + 1): 20 refits give at least 0.048, so that no adjustment over the paper's "
        "six pairs can reach 0.05. Gaps are cut off at 0."
    )
    return Grid("Table 2", columns, rows, note)


def seed_grid(tables: Tables, method: str) -> Grid | None:
    """Table 3: how alike the fields of different seeds are."""
    found = seed_numbers(tables["seeds"], tables["seed_pairs"], method)
    if found.is_empty():
        return None
    shown = {"correlation": "Correlation", "sign_agreement": "Equal signs", "gap": "Gap", "delta_std": "Std of field"}
    columns = (
        *_NAMES, *(column for title in shown.values() for column in _beside(title)), Heading("Seeds"),
        Heading("Undefined", hint="pairs of seeds without a correlation, because a field is constant"),
    )  # fmt: skip
    rows = []
    for row in found.iter_rows(named=True):
        cited = _cited(paper.SEEDS, tables, row)
        cells = [named(row["model"]), named(row["dataset"])]
        for name in shown:
            theirs = getattr(cited, name) if cited else None
            cells += [_briefly(theirs.mean, theirs.std) if theirs else GridCell(DASH),
                      _briefly(row[f"{name}_mean"], row[f"{name}_std"])]  # fmt: skip
        undefined = GridCell(f"{row['n_undefined']} of {row['n_seed_pairs']}", row["n_undefined"])
        rows.append([*cells, whole(row["n_seeds"]), undefined])
    note = (
        "Means and standard deviations over seeds, or over pairs of seeds for correlation and signs. Where a field is "
        "constant, its pairs of seeds have no correlation: they are left out of both and counted."
    )
    return Grid("Table 3", columns, rows, note)


def threshold_grid(tables: Tables, method: str) -> Grid | None:
    """Table 4: what depends on epsilon."""
    found = threshold_numbers(tables["thresholds"], method)
    if found.is_empty():
        return None
    columns = (
        Heading("Epsilon"), *_beside("Median smECE gap"), *_beside("Median Brier gap"),
        *_beside("Share of rows: quartiles"), *_beside("Pairs with gap > 0.06"),
    )  # fmt: skip
    rows = []
    for row in found.iter_rows(named=True):
        cited = paper.THRESHOLDS.get(round(row["epsilon"], 6))
        sizes = [row[name] for name in ("share_quarter", "share_median", "share_three_quarters")]
        rows.append(
            [GridCell(f"{row['epsilon']:g}", row["epsilon"]),
             score(cited and cited.smece_gap), score(row["smece_gap"]),
             score(cited and cited.brier_gap), score(row["brier_gap"]),
             _quartiles(cited.sizes if cited else None), _quartiles(sizes),
             GridCell(f"{cited.n_pairs} of {paper.N_PAIRS}" if cited else DASH, cited and cited.n_pairs),
             GridCell(f"{row['n']} of {row['n_pairs']}", row["n"])]
        )  # fmt: skip
    note = "Medians and quartiles are of the pairs with a gap above 0.06 at that epsilon. The paper's shares are no \
reference: they contradict its table 5b."
    return Grid("Table 4", columns, rows, note)


def gap_grid(tables: Tables, method: str) -> Grid | None:
    """Table 5: gap and share of rows of every pair, with bootstrap intervals."""
    pairs = of_method(tables["pairs"], method, LEARNED)
    if pairs.is_empty():
        return None
    columns = (*_NAMES, *_beside("Gap"), *_beside("Share of rows in the worst slice"))
    rows = []
    for row in pairs.iter_rows(named=True):
        gap, size = _cited(paper.GAPS, tables, row), _cited(paper.SIZES, tables, row)
        cited = paper.reproduced(row) is not None
        rows.append(
            [named(row["model"]), named(row["dataset"]),
             score(gap.mean, gap.low, gap.high) if gap else GridCell(DASH),
             score(row["gap_boot_mean_clipped"], _cut(row["gap_low"]), _cut(row["gap_high"])),
             _sized(size.mean, size.low, size.high) if size else GridCell("none" if cited else DASH),
             _slice(row)]
        )  # fmt: skip
    note = (
        "Bootstrap means with 95 % intervals, the field and its slices held fixed, and the gap of each draw cut off at "
        "0, as the paper's appears to be. These percentiles lie above 0 even for a calibrated model, so that they are "
        "no test; the table of pairs has the interval that is one. A pair without a gap has no slice with enough rows. "
        "\u201cnone (gap \u2264 0)\u201d: no slice is worse calibrated than the whole; the paper has a dash there."
    )
    return Grid("Table 5", columns, rows, note)


def _epochs(row: dict | None) -> tuple[GridCell, GridCell]:
    if row is None:
        return GridCell(DASH), GridCell(DASH)
    mean, std = row["null_mean"], row["null_std"]
    return whole(round(row["observed"])), GridCell(f"{mean:.1f} \u00b1 {std:.1f}", mean)


def _beside(title: str) -> tuple[Heading, Heading]:
    return Heading(f"{title}, {_PAPER}"), Heading(f"{title}, {_HERE}")


def _cited(table, tables: Tables, row):
    """Return the paper's entry of a row's pair; None where the pair is not the paper's, or it reports nothing of it."""
    known = paper.reproduced(tables["pairs"].filter(pair=row["pair"]).row(0, named=True))
    return table.get(known)


def _spread(cited: paper.Refits | None) -> GridCell:
    return spread(cited.mean, cited.std) if cited else GridCell(DASH)


def _briefly(mean: float | None, std: float | None) -> GridCell:
    """Write a mean and a standard deviation with the two decimals of the paper's Table 3."""
    if mean is None:
        return GridCell(DASH)
    text = f"{mean:.2f}" if std is None else f"{mean:.2f} \u00b1 {std:.2f}"
    return GridCell(text.replace("-", MINUS), mean)


def _quartiles(sizes) -> GridCell:
    if sizes is None or sizes[1] is None:
        return GridCell(DASH)
    return GridCell(" / ".join(percent(size, 0) for size in sizes), sizes[1])


def _cut(value: float | None) -> float | None:
    """Cut off at 0; quantiles may be cut off after they are taken."""
    return None if value is None else max(0.0, value)


def _slice(row: dict) -> GridCell:
    if row["gap"] is not None and row["gap"] <= 0:
        return GridCell("none (gap \u2264 0)")
    return _sized(row["share_worst"], row["share_low"], row["share_high"])


def _sized(value: float | None, low: float | None, high: float | None) -> GridCell:
    if value is None:
        return GridCell("none")
    ends = "" if low is None or high is None else f"{percent(low)} to {percent(high)}"
    return GridCell(percent(value), value, aside=ends)
