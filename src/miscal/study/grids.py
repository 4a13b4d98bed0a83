"""Tables as a page shows them: a choice of columns of a frame, with what writes each, and the values they sort by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from miscal.base.vocabulary import EVENT
from miscal.report.brief import FIRST_ERROR
from miscal.report.formatting import DASH, brief, count, metric, percent, short, signed, size
from miscal.report.sheet import Cell, Column, Table
from miscal.study import paper
from miscal.study.aggregates import certificates, deferral_numbers, null_numbers, seed_numbers, threshold_numbers
from miscal.study.answers import firsts, list_names, ranks, roughly
from miscal.study.plan import METHODS
from miscal.study.tables import EVENTS, LEARNED, MEANINGS, SOUGHT, Tables, Words, of_method

Described = tuple[str, Callable[..., Cell], str]
"""A column: its heading, what writes a cell, and the columns of the frame that it is given, with blanks in between."""


def grid(
    name: str, rows: pl.DataFrame, columns: Sequence[Described], note: str = "", *, sortable: bool = True,
    hints: Mapping[str, str] = MEANINGS["pairs"],
) -> Table | None:  # fmt: skip
    """Write every row of a frame; None without any. A heading has the hint of the first of its columns."""
    asked = [(head, write, names.split()) for head, write, names in columns]
    cells = [[write(*map(row.get, names)) for _, write, names in asked] for row in rows.to_dicts()]
    numbers = [not any(isinstance(one.key, str) for one in column) for column in zip(*cells, strict=True)]
    shown = [
        Column(head, itemgetter(place), number=number, hint=hints.get(names[0], ""))
        for place, (number, (head, _, names)) in enumerate(zip(numbers, asked, strict=False))
    ]
    return Table(shown, cells, sortable=sortable, name=name, note=note) if cells else None


# --- what writes a cell -------------------------------------------------------------------------------------------


def name(value: Any, href: str | None = None, most: int = 600) -> Cell:
    """Write a text, which is sorted by itself."""
    text = short(value, most)
    return Cell(DASH) if value is None else Cell(text, key=text.lower(), href=href)


def number(write: Callable[[float], str]) -> Callable[..., Cell]:
    """Write a number, a dash where there is none, and its interval below it.

    >>> number(metric)(0.1234, 0.1, 0.2)
    Cell(text='0.123', aside='0.100 to 0.200', kind='', chart=None, size=None, key=0.1234, href=None)
    """

    def cell(value: float | None, low: float | None = None, high: float | None = None) -> Cell:
        ends = "" if low is None or high is None else f"{write(low)} to {write(high)}"
        return Cell(DASH if value is None else write(value), ends, key=value)

    return cell


score, change, share = number(metric), number(lambda value: signed(value, 3)), number(percent)
whole = number(lambda value: count(round(value)))
p = number(lambda value: "< 0.001" if value < 0.001 else f"{value:.2g}")


def spread(mean: float | None, std: float | None, digits: int = 3) -> Cell:
    """Write a mean and a standard deviation.

    >>> spread(0.052, 0.004).text
    '0.052 \u00b1 0.004'
    """
    return Cell(metric(mean, digits) + ("" if std is None else f" \u00b1 {metric(std, digits)}"), key=mean)


def _of(n: int | None, of: int | None) -> Cell:
    return Cell(DASH if n is None else f"{n} of {of}", key=n)


# --- every pair ---------------------------------------------------------------------------------------------------


def names(words: Words) -> list[Described]:
    """Describe the columns of the two names of a pair."""
    return [(words["model"].capitalize(), name, "model"), ("Data set", name, "dataset")]


_SAVED: Described = ("Log loss saved", change, "log_loss_saved log_loss_saved_low log_loss_saved_high")
_FINDINGS: list[Described] = [("Findings", whole, "n_findings"), ("Strongest finding", name, "finding")]

_OF_PAIRS = (
    *("pair", "dataset", "model", "method", "family", "billions", "n_test", "accuracy", "confidence", "log_loss"),
    *("log_loss_saved", "log_loss_saved_low", "log_loss_saved_high"),
    *("limit_hidden", "p_hidden", "detectable", "rows_for_5_points", "n_findings", "finding"),
)


def board_table(tables: Tables, method: str) -> pl.DataFrame:
    """Put the measures of each pair into one row.

    There are columns of the table ``pairs``; of each measure of the table ``board`` its value and ends (``residual``,
    ``residual_low``, ``residual_high``, ``alone``); and of each measure of the table ``rankings`` value, ends and ranks
    (``hidden_cost_best_rank``). Null where a pair has none.
    """
    wide, ends = of_method(tables["pairs"], method, LEARNED).select(_OF_PAIRS), ("low", "high")
    for table, measures, more in (
        ("board", ("residual", "smece", "alone", "alone_raw"), ends),
        ("rankings", ("calibration_cost", "hidden_cost", "log_loss_corrected"), (*ends, "best_rank", "worst_rank")),
    ):
        for measure in measures:
            columns = {measure: "value"} | {f"{measure}_{end}": end for end in more}
            own = of_method(tables[table], method).filter(measure=measure).select("pair", **columns)
            wide = wide.join(own, on="pair", how="left", maintain_order="left")
    return wide


def report_link(out: Path, pair: str, method: str) -> str | None:
    """Return the address of a pair's report from a page of the study; None without one."""
    inside = Path("pairs") / pair / method / "report.html"
    return quote(inside.as_posix()) if (out / inside).exists() else None


def pair_grids(
    tables: Tables, method: str, methods: Mapping[str, Mapping[str, Any]], out: Path, words: Words
) -> dict[str, Table | None]:
    """List every pair with what its owner looks for first (``board``), and under every method (``pairs``).

    `methods` is what is found under each (:func:`miscal.study.aggregates.verdict`).
    """
    planned = {one: found["n_family"] for one, found in methods.items()}
    spoken = {"confidences": words["probabilities"], "confidence": words["probability"]}
    hints = {
        column: re.sub("confidences?", lambda found: spoken[found[0]], meaning)
        for column, meaning in MEANINGS["pairs"].items()
    } | {"accuracy": words["rate_meaning"]}
    mixed = tables["pairs"]["outcome"].n_unique() > 1

    def rate(accuracy: float | None, outcome: str) -> Cell:
        # where a study holds both, the rates of events are marked
        return replace(share(accuracy), aside=EVENTS["rate"] if mixed and outcome == EVENT else "")

    def ranked(value: float | None, best: int | None, worst: int | None) -> Cell:
        aside = "" if best is None else f"rank {ranks({'best_rank': best, 'worst_rank': worst})}"
        return replace(score(value), aside=aside)

    def detectable(value: float | None, rows: int | None) -> Cell:
        aside = "" if value is None else f"{brief(SOUGHT)} at {roughly(rows)} rows"
        return Cell(size(value), aside, key=value)

    def alone(corrected: float | None, raw: float | None) -> Cell:
        return replace(share(corrected), aside="" if raw is None else f"uncorrected {percent(raw, 0)}")

    def worst(region: str | None, share: float | None) -> Cell:
        return Cell(region, percent(share, 0), region, key=region) if region else Cell("none")

    linked = lambda model, pair, method: name(model, report_link(out, pair, method))  # noqa: E731
    of_model = (words["model"].capitalize(), linked, "model pair method")
    of_rows: list[Described] = [
        ("Rows", whole, "n_test"), (words["rate"].capitalize(), rate, "accuracy outcome"),
        (words["probability"].capitalize(), share, "confidence"), ("smECE", score, "smece"),
    ]  # fmt: skip
    measures = {"Calibration cost": "calibration_cost", "Hidden cost": "hidden_cost"}
    measures["Log loss after"] = "log_loss_corrected"
    outcomes = of_method(tables["pairs"], method, LEARNED).select("pair", "outcome")
    board = board_table(tables, method).join(outcomes, on="pair", maintain_order="left")
    adjusted = pl.concat(
        certificates(tables["pairs"], one, planned.get(one)).select("pair", "method", "p_adjusted") for one in METHODS
    )
    learned = tables["pairs"].filter(geometry=LEARNED)
    return {
        "board": grid("All pairs", board, [
            of_model, names(words)[1], *of_rows,
            *((title, ranked, f"{one} {one}_best_rank {one}_worst_rank") for title, one in measures.items()), _SAVED,
            (f"Decided alone at {percent(FIRST_ERROR, 0)} errors", alone, "alone alone_raw"),
            ("Would be found", detectable, "detectable rows_for_5_points"), *_FINDINGS,
        ], hints=hints),
        "pairs": grid("All pairs", learned.join(adjusted, on=["pair", "method"], how="left", maintain_order="left"), [
            of_model, names(words)[1], ("Method", name, "method"), *of_rows, ("Std of field", score, "delta_std"),
            ("Unsupported", share, "share_unsupported"), ("Worst slice", worst, "worst share_worst"),
            ("Gap", change, "gap gap_interval_low gap_interval_high"), ("Hidden, at least", score, "limit_hidden"),
            ("p, adjusted", p, "p_adjusted"), _SAVED,
            ("Saved locally", change, "log_loss_saved_local log_loss_saved_local_low log_loss_saved_local_high"),
        ], _PAIRS_NOTE.format_map(words), hints=hints),
    }  # fmt: skip


_PAIRS_NOTE = (
    "The gap is signed here: below 0 even the worse of the two slices is better calibrated than the whole. Its "
    "interval allows for the noise that makes the gap of a calibrated model larger than 0, and may lie below the gap "
    "itself. The tables also hold the gap cut off at 0 (gap_clipped), as the paper appears to report it. The adjusted "
    "p is of the certificate, not of the gap (Holm, over the pairs of the method). \u201cSaved locally\u201d is what "
    "the local correction saves beyond the best map of the {probability} alone. Intervals are not adjusted for the "
    "number of pairs. Numbers are of the evaluation rows. Under method paper, a row is unsupported where its kernel "
    "weights sum to less than 1. As in the paper, it keeps its estimate; a plan may change this by the option min_mass."
)


def firsts_grid(tables: Tables, method: str, words: Words) -> Table | None:
    """List who is first in each group; None where no group has rows enough of two models."""
    tied = lambda clear, names: name(  # noqa: E731
        "nobody: it is ahead of all" if clear else list_names(names) if names else "not shown"
    )
    return grid("First in each group", firsts(of_method(tables["group_rankings"], method)), [
        ("Group", lambda column, value: name(f"{column} = {value}"), "column value"), names(words)[1],
        ("First", name, "first"), ("Tied with", tied, "clear tied"), ("Compared", whole, "n_models"),
    ])  # fmt: skip


def failures_grid(tables: Tables, words: Words) -> Table | None:
    """List what failed; None where nothing did."""
    columns = [*names(words), ("Step", name, "step"), ("Why", name, "message")]
    return grid("Failures", tables["failures"], columns, sortable=False)


# --- beside the paper ---------------------------------------------------------------------------------------------

_COUNTS = (
    ("The worst slice is worse calibrated than the whole, beyond chance", "n_gap_beyond_chance", "n_pairs"),
    ("The gap is at least 0.06", "n_gap_large", "n_pairs"),
    ("The certificate proves hidden miscalibration, after Holm's adjustment over all pairs", "n_proved", "n_tested"),
    ("and without that adjustment", "n_proved_alone", "n_tested"),
    ("The local correction lowers the log loss", "n_helped", "n_compared"),
    ("It raises the log loss", "n_harmed", "n_compared"),
    ("It leaves a lower log loss than a map of the {probability} alone", "n_helped_local", "n_compared_local"),
    ("It leaves a higher one", "n_harmed_local", "n_compared_local"),
)


def verdict_grid(methods: Mapping[str, Mapping[str, Any]], words: Words) -> Table | None:
    """Count the pairs under each method (:func:`miscal.study.aggregates.verdict`)."""
    rows = [
        {"says": says.format_map(words)}
        | {f"{one}_{side}": found[name] for one, found in methods.items() for side, name in (("n", n), ("of", of))}
        for says, n, of in _COUNTS
    ]
    columns = [("In how many pairs", name, "says"), *((f"Method {one}", _of, f"{one}_n {one}_of") for one in methods)]
    note = "Intervals that exclude 0 are not adjusted for the number of pairs. An unfinished study adjusts p-values "
    note += "over all pairs that are planned."
    return grid("Verdict", pl.DataFrame(rows), columns, note, sortable=False) if methods else None


def methods_grid(tables: Tables, words: Words) -> Table | None:
    """Set both methods beside each other, for pairs that have both; None without any."""
    sides = [of_method(tables["pairs"], method, LEARNED) for method in METHODS]
    both = sides[0].join(sides[1], on=["pair", "dataset", "model"], suffix="_auto", maintain_order="left")
    shown = {
        "Gap": (change, "gap"), "Std of field": (score, "delta_std"), "Hidden, at least": (score, "limit_hidden"),
        "Log loss saved": (change, "log_loss_saved"), "Saved locally": (change, "log_loss_saved_local"),
        "Seconds": (whole, "seconds_field"),
    }  # fmt: skip
    duels = tables["duels"].select("pair", "saved", "saved_low", "saved_high")
    return grid("Both methods", both.join(duels, on="pair", how="left", maintain_order="left"), [
        *names(words), ("Log loss, paper minus auto", change, "saved saved_low saved_high"),
        *((f"{title}, {method}", write, name + end) for title, (write, name) in shown.items()
          for method, end in zip(METHODS, ("", "_auto"), strict=True)),
    ], "Log losses are of the same rows; positive: auto is better.")  # fmt: skip


def _beside(title: str, write: Callable[..., Cell], names: str) -> list[Described]:
    """Describe the paper's column and ours, of columns of the same names."""
    theirs = " ".join(f"{name}_paper" for name in names.split())
    return [(f"{title}, paper", write, theirs), (f"{title}, here", write, names)]


def _share_of_slice(value: float | None, low: float | None, high: float | None, gap: float | None = None) -> Cell:
    if gap is not None and gap <= 0:
        return Cell("none (gap \u2264 0)")
    return Cell("none") if value is None else share(value, low, high)


def paper_grids(tables: Tables, method: str, n_planned: int | None, words: Words) -> Iterator[tuple[str, Table | None]]:
    """Give the grids of a method on the page beside the paper, each with the name of its place there."""
    pairs = tables["pairs"]
    for null in sorted(set(tables["nulls"]["null"])):
        of_null = null_numbers(tables["nulls"], method, null)
        cited = paper.NULLS if null == "permuted" else paper.NULLS.clear()
        epochs = of_null.drop_nulls(["epoch", "epoch_null_mean", "epoch_null_std"]).height
        kept: list[Described] = [
            ("Kept epoch", whole, "epoch"),
            ("Kept epoch under the null", lambda mean, std: spread(mean, std, 1), "epoch_null_mean epoch_null_std"),
        ]
        yield "nulls", grid("Table 2", paper.beside(of_null, pairs, cited), [
            *names(words), *_beside("Std of field", score, "delta_std"),
            *_beside("Std under the null", spread, "delta_std_null_mean delta_std_null_std"),
            *_beside("Gap", score, "gap"), *_beside("Gap under the null", spread, "gap_null_mean gap_null_std"),
            ("p of std", p, "delta_std_p"), ("p of gap", p, "gap_p"), *(kept if epochs else []),
        ],
            f"Under the null: mean and standard deviation over refits (here up to {of_null['n_draws'].max()}, in the "
            "paper 20). With n refits a p-value cannot be below 1 / (n + 1): 20 refits give at least 0.048, so that no "
            "adjustment over the paper's six pairs can reach 0.05. Gaps are cut off at 0.",
        )  # fmt: skip
    shown = {"correlation": "Correlation", "sign_agreement": "Equal signs", "gap": "Gap", "delta_std": "Std of field"}
    in_short = lambda mean, std: spread(mean, std, 2)  # noqa: E731
    of_seeds = paper.beside(seed_numbers(tables["seeds"], tables["seed_pairs"], method), pairs, paper.SEEDS)
    yield "seeds", grid("Table 3", of_seeds, [
        *names(words),
        *(one for name, title in shown.items() for one in _beside(title, in_short, f"{name}_mean {name}_std")),
        ("Seeds", whole, "n_seeds"), ("Undefined", _of, "n_undefined n_seed_pairs"),
    ],
        "Means and standard deviations over seeds, or over pairs of seeds for correlation and signs. Where a field is "
        "constant, its pairs of seeds have no correlation: they are left out of both and counted as undefined.",
    )  # fmt: skip
    cut = threshold_numbers(tables["thresholds"], method).with_columns(at=pl.col("epsilon").round(6))
    cut = cut.join(paper.THRESHOLDS, left_on="at", right_on="epsilon", how="left", suffix="_paper")
    quartiles = lambda *sizes: Cell(  # noqa: E731
        DASH if sizes[1] is None else " / ".join(percent(size, 0) for size in sizes), key=sizes[1]
    )
    yield "thresholds", grid("Table 4", cut.sort("epsilon"), [
        ("Epsilon", number("{:g}".format), "epsilon"),
        *_beside("Median smECE gap", score, "smece_gap"), *_beside("Median Brier gap", score, "brier_gap"),
        *_beside("Share of rows: quartiles", quartiles, "share_quarter share_median share_three_quarters"),
        *_beside("Pairs with gap > 0.06", _of, "n n_pairs"),
    ],
        "Medians and quartiles are of the pairs with a gap above 0.06 at that epsilon. The paper's shares are no "
        "reference: they contradict its table 5b.",
    )  # fmt: skip
    # quantiles may be cut off after they are taken
    draws = {"low": pl.col("gap_low").clip(0.0), "high": pl.col("gap_high").clip(0.0)}
    of_gaps = paper.beside(of_method(pairs, method, LEARNED).with_columns(**draws), pairs, paper.GAPS)
    cited_share = lambda gap, *sizes: Cell(DASH) if gap is None else _share_of_slice(*sizes)  # noqa: E731
    yield "gaps", grid("Table 5", of_gaps, [
        *names(words), ("Gap, paper", score, "gap_paper gap_low_paper gap_high_paper"),
        ("Gap, here", score, "gap_boot_mean_clipped low high"),
        ("Share of rows in the worst slice, paper", cited_share,
         "gap_paper share_worst_paper share_low_paper share_high_paper"),
        ("Share of rows in the worst slice, here", _share_of_slice, "share_worst share_low share_high gap"),
    ],
        "Bootstrap means with 95 % intervals, the field and its slices held fixed, and the gap of each draw cut off at "
        "0, as the paper's appears to be. These percentiles lie above 0 even for a calibrated model, so that they are "
        "no test; the table of pairs has the interval that is one. A pair without a gap has no slice with enough rows. "
        "\u201cnone (gap \u2264 0)\u201d: no slice is worse calibrated than the whole; the paper has a dash there.",
    )  # fmt: skip
    yield "certificates", grid(f"Certificates, method {method}", certificates(pairs, method, n_planned), [
        *names(words), ("Hidden, at least", score, "limit_hidden"), ("p", p, "p_hidden"),
        ("p, adjusted", p, "p_adjusted"), ("Total, at least", score, "limit_total"), *_FINDINGS,
    ])  # fmt: skip
    errors, at = words["errors"].capitalize(), {"area": "area under the curve"}
    yield "deferral", grid(
        f"Deferral, method {method}", deferral_numbers(tables["deferral_gains"], method),
        [("At", lambda value: name(at.get(value, f"coverage {value}")), "at"), (f"{errors}, raw", score, "raw"),
         (f"{errors}, corrected", score, "corrected"), ("Gain", change, "gain"), ("Pairs helped", whole, "n_helped"),
         ("Pairs harmed", whole, "n_harmed"), ("Pairs", whole, "n_pairs")],
        "Means over pairs. A pair is helped or harmed where its 95 % bootstrap interval lies on one side of 0.",
        sortable=False,
    )  # fmt: skip
    yield "purity", grid(f"Neighbours, method {method}", of_method(tables["purity"], method), [
        *names(words), ("Neighbours share", name, "by"),
        ("Space", lambda space: name("raw inputs" if space == "raw" else "learned"), "space"),
        ("Share of neighbours", share, "purity"), ("By chance", spread, "null_mean null_std"), ("p", p, "p_value"),
        ("Rows", whole, "n"),
    ])  # fmt: skip
