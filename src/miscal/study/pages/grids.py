"""Tables as a page shows them: a choice of columns of a frame, with what writes each, and the values they sort by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

import polars as pl

from miscal.base.vocabulary import EVENT
from miscal.report.formatting import DASH, brief, count, metric, percent, signed, size
from miscal.report.texts import short
from miscal.study import paper_numbers as paper
from miscal.study.aggregates import certificates, deferral_numbers, null_numbers, seed_numbers, threshold_numbers
from miscal.study.answers import firsts, list_names, ranks, roughly
from miscal.study.plan import METHODS
from miscal.study.tables import LEARNED, MEANINGS, SOUGHT, Tables, of_method
from miscal.study.vocabulary import BOTH, EVENTS, StudyVocabulary


class GridCell(NamedTuple):
    """A cell: its text, the value that it is sorted by, a link, a second line, and a class."""

    text: str
    key: float | str | None = None
    href: str | None = None
    aside: str = ""
    kind: str = ""


Column = tuple[str, Callable[..., GridCell], str]
"""A heading, what writes a cell, and the columns of the frame that it is given, with blanks in between."""

Grid = dict[str, Any]
"""A table of a page: name, columns, rows of cells, of which the first is a row's heading, note, and sortable."""


def grid(name: str, rows: pl.DataFrame | Iterable[Mapping[str, Any]], columns: Sequence[Column], note: str = "",
         *, hints: Mapping[str, str] = MappingProxyType({}), sortable: bool = True) -> Grid | None:  # fmt: skip
    """Write the cells of every row; None without any. A heading has the hint of the first of its columns."""
    rows = rows.to_dicts() if isinstance(rows, pl.DataFrame) else rows
    asked = [(write, names.split()) for _, write, names in columns]
    cells = [[write(*map(row.get, names)) for write, names in asked] for row in rows]
    heads = [
        {"title": title, "hint": hints.get(names[0], ""),
         "number": not any(isinstance(row[place].key, str) for row in cells)}
        for place, ((title, *_), (_, names)) in enumerate(zip(columns, asked, strict=True))
    ]  # fmt: skip
    whole = {"name": name, "columns": heads, "rows": cells, "note": note, "sortable": sortable}
    return whole if cells else None


# --- what writes a cell -------------------------------------------------------------------------------------------


def name(value: Any, href: str | None = None, most: int = 60) -> GridCell:
    """Write a text, which is sorted by itself."""
    text = short(value, most)
    return GridCell(DASH) if value is None else GridCell(text, text.lower(), href)


def sized(write: Callable[[float], str], value: float | None, low: float | None, high: float | None) -> GridCell:
    """Write a number, a dash where there is none, and its interval below it."""
    ends = "" if low is None or high is None else f"{write(low)} to {write(high)}"
    return GridCell(DASH if value is None else write(value), value, aside=ends)


def score(value: float | None, low: float | None = None, high: float | None = None) -> GridCell:
    """Write a score with three decimals, and its interval below it.

    >>> score(0.1234, 0.1, 0.2)
    GridCell(text='0.123', key=0.1234, href=None, aside='0.100 to 0.200', kind='')
    """
    return sized(metric, value, low, high)


def change(value: float | None, low: float | None = None, high: float | None = None) -> GridCell:
    """Write a signed score with three decimals, and its interval below it."""
    return sized(lambda number: signed(number, 3), value, low, high)


def share(value: float | None) -> GridCell:
    """Write a share as a percentage."""
    return GridCell(percent(value), value)


def whole(value: float | None) -> GridCell:
    """Write a count, or what is rounded to one."""
    return GridCell(DASH) if value is None else GridCell(count(round(value)), round(value))


def p(value: float | None) -> GridCell:
    """Write a p-value without its letter.

    >>> p(0.0123).text, p(1e-9).text, p(None).text
    ('0.012', '< 0.001', '\u2013')
    """
    return GridCell(DASH if value is None else "< 0.001" if value < 0.001 else f"{value:.2g}", value)


def spread(mean: float | None, std: float | None, digits: int = 3) -> GridCell:
    """Write a mean and a standard deviation.

    >>> spread(0.052, 0.004).text
    '0.052 \u00b1 0.004'
    """
    return GridCell(metric(mean, digits) + ("" if std is None else f" \u00b1 {metric(std, digits)}"), mean)


def _ranked(value: float | None, best: int | None, worst: int | None) -> GridCell:
    return score(value)._replace(
        aside="" if best is None else f"rank {ranks({'best_rank': best, 'worst_rank': worst})}"
    )


def _of(n: int, of: int) -> GridCell:
    return GridCell(f"{n} of {of}", n)


def _share_of_slice(value: float | None, low: float | None, high: float | None, gap: float | None = None) -> GridCell:
    if gap is not None and gap <= 0:
        return GridCell("none (gap \u2264 0)")
    return GridCell("none") if value is None else sized(percent, value, low, high)


# --- every pair ---------------------------------------------------------------------------------------------------

_NAMES: list[Column] = [("Model", name, "model"), ("Data set", name, "dataset")]
_SAVED: Column = ("Log loss saved", change, "log_loss_saved log_loss_saved_low log_loss_saved_high")
_FINDINGS: list[Column] = [("Findings", whole, "n_findings"), ("Strongest finding", name, "finding")]

_OF_PAIRS = (
    *("pair", "dataset", "model", "method", "family", "billions", "n_test", "accuracy", "confidence", "log_loss"),
    *("log_loss_saved", "log_loss_saved_low", "log_loss_saved_high"),
    *("limit_hidden", "p_hidden", "detectable", "rows_for_5_points", "n_findings", "finding"),
)


def board_table(tables: Tables, method: str) -> pl.DataFrame:
    """Put the measures of each pair into one row.

    There are columns of the table ``pairs``; of each measure of the table ``board`` its value and ends (``residual``,
    ``residual_low``, ``residual_high``); and of each measure of the table ``rankings`` value, ends and ranks
    (``hidden_cost_best_rank``). Null where a pair has none.
    """
    wide, ends = of_method(tables["pairs"], method, LEARNED).select(_OF_PAIRS), ("low", "high")
    for table, measures, more in (
        ("board", ("residual", "smece"), ends),
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


def _hints(words: StudyVocabulary) -> dict[str, str]:
    """Return what the columns of the table ``pairs`` mean, in the words of a study."""
    spoken = {"confidences": words.probabilities, "confidence": words.probability}
    replaced = lambda meaning: re.sub("confidences?", lambda found: spoken[found[0]], meaning)  # noqa: E731
    return {column: replaced(said) for column, said in MEANINGS["pairs"].items()} | {"accuracy": words.rate_meaning}


def _pair_columns(out: Path, words: StudyVocabulary) -> list[Column]:
    """Describe the columns that say which pair it is and what its rows are like."""

    def rate(accuracy: float | None, outcome: str) -> GridCell:
        # where a study holds both, the rates of events are marked
        return share(accuracy)._replace(aside=EVENTS.rate if words is BOTH and outcome == EVENT else "")

    return [
        ("Model", lambda model, pair, method: name(model, report_link(out, pair, method)), "model pair method"),
        _NAMES[1], ("Rows", whole, "n_test"), (words.rate.capitalize(), rate, "accuracy outcome"),
        (words.probability.capitalize(), share, "confidence"), ("smECE", score, "smece"),
    ]  # fmt: skip


def board_grid(tables: Tables, method: str, out: Path, words: StudyVocabulary) -> Grid | None:
    """List every pair with what its owner looks for first."""
    wide, own = board_table(tables, method), of_method(tables["pairs"], method, LEARNED)

    def detectable(value: float | None, rows: int | None) -> GridCell:
        aside = "" if value is None else f"{brief(SOUGHT)} at {roughly(rows)} rows"
        return GridCell(size(value), value, aside=aside)

    measures = {
        "Calibration cost": "calibration_cost",
        "Hidden cost": "hidden_cost",
        "Log loss after": "log_loss_corrected",
    }
    return grid("All pairs", wide.join(own.select("pair", "outcome"), on="pair", maintain_order="left"), [
        *_pair_columns(out, words),
        *((title, _ranked, f"{one} {one}_best_rank {one}_worst_rank") for title, one in measures.items()), _SAVED,
        ("Would be found", detectable, "detectable rows_for_5_points"), *_FINDINGS,
    ], hints=_hints(words))  # fmt: skip


def firsts_grid(tables: Tables, method: str) -> Grid | None:
    """List who is first in each group; None where no group has rows enough of two models."""
    tied = lambda clear, names: name(  # noqa: E731
        "nobody: it is ahead of all" if clear else list_names(names) if names else "not shown", most=300
    )
    return grid("First in each group", firsts(of_method(tables["group_rankings"], method)), [
        ("Group", lambda column, value: name(f"{column} = {value}"), "column value"), _NAMES[1],
        ("First", name, "first"), ("Tied with", tied, "clear tied"), ("Models", whole, "n_models"),
    ])  # fmt: skip


def failures_grid(tables: Tables) -> Grid | None:
    """List what failed; None where nothing did."""
    why = lambda message: name(message or "", most=600)  # noqa: E731
    columns = [*_NAMES, ("Step", name, "step"), ("Why", why, "message")]
    return grid("Failures", tables["failures"], columns, sortable=False)


def pairs_grid(tables: Tables, planned: Mapping[str, int], out: Path, words: StudyVocabulary) -> Grid | None:
    """List every pair under every method, learned geometry."""
    adjusted = pl.concat(
        certificates(tables["pairs"], method, planned.get(method)).select("pair", "method", "p_adjusted")
        for method in METHODS
    )
    learned = tables["pairs"].filter(geometry=LEARNED)
    worst = lambda worst, size: (  # noqa: E731
        GridCell(worst, worst, kind=worst, aside=percent(size, 0)) if worst else GridCell("none")
    )
    model, dataset, *of_rows = _pair_columns(out, words)
    return grid("All pairs", learned.join(adjusted, on=["pair", "method"], how="left", maintain_order="left"), [
        model, dataset, ("Method", name, "method"), *of_rows, ("Std of field", score, "delta_std"),
        ("Unsupported", share, "share_unsupported"), ("Worst slice", worst, "worst share_worst"),
        ("Gap", change, "gap gap_interval_low gap_interval_high"), ("Hidden, at least", score, "limit_hidden"),
        ("p, adjusted", p, "p_adjusted"), _SAVED,
        ("Saved locally", change, "log_loss_saved_local log_loss_saved_local_low log_loss_saved_local_high"),
    ], words.fill(_PAIRS_NOTE), hints=_hints(words))  # fmt: skip


_PAIRS_NOTE = (
    "The gap is signed here: below 0 even the worse of the two slices is better calibrated than the whole. Its "
    "interval allows for the noise that makes the gap of a calibrated model larger than 0, and may lie below the gap "
    "itself. The tables also hold the gap cut off at 0 (gap_clipped), as the paper appears to report it. The adjusted "
    "p is of the certificate, not of the gap (Holm, over the pairs of the method). \u201cSaved locally\u201d is what "
    "the local correction saves beyond the best map of the {probability} alone. Intervals are not adjusted for the "
    "number of pairs. Numbers are of the evaluation rows. Under method paper, a row is unsupported where its kernel "
    "weights sum to less than 1. As in the paper, it keeps its estimate; a plan may change this by the option min_mass."
)


def methods_grid(tables: Tables, words: StudyVocabulary) -> Grid | None:
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
        *_NAMES, ("Log loss, paper minus auto", change, "saved saved_low saved_high"),
        *((f"{title}, {method}", write, name + end) for title, (write, name) in shown.items()
          for method, end in zip(METHODS, ("", "_auto"), strict=True)),
    ], "Log losses are of the same rows; positive: auto is better.", hints=_hints(words))  # fmt: skip


# --- the paper's tables, its numbers beside ours ------------------------------------------------------------------


def _beside(title: str, entry: str, write: Callable[..., GridCell], names: str, ours: Any = None) -> list[Column]:
    """Describe the paper's column, written of an entry of the row's ``cited``, a dash without one; and ours."""

    def theirs(cited: Mapping[str, Any] | None) -> GridCell:
        if cited is None:
            return GridCell(DASH)
        value = cited[entry]
        return write(*value) if isinstance(value, tuple) else write(value)

    return [(f"{title}, paper", theirs, "cited"), (f"{title}, here", ours or write, names)]


def paper_grids(
    tables: Tables, method: str, planned: Mapping[str, int], words: StudyVocabulary
) -> Iterator[tuple[str, Grid | None]]:
    """Give the grids of a method on the page beside the paper, each with the name of its place there."""
    known = {row["pair"]: paper.reproduced(row) for row in tables["pairs"].unique("pair", keep="first").to_dicts()}

    def with_cited(found: pl.DataFrame, entries: Mapping[paper.PaperPair, Any]) -> list[dict[str, Any]]:
        # None where the pair is not the paper's, or it reports nothing
        return [row | {"cited": entries.get(known.get(row["pair"]))} for row in found.to_dicts()]

    for null in sorted(set(tables["nulls"]["null"])):
        found = null_numbers(tables["nulls"], method, null)
        columns = [
            *_NAMES, *_beside("Std of field", "delta_std", score, "delta_std"),
            *_beside("Std under the null", "null_delta_std", spread, "delta_std_null_mean delta_std_null_std"),
            *_beside("Gap", "gap", score, "gap"),
            *_beside("Gap under the null", "null_gap", spread, "gap_null_mean gap_null_std"),
            ("p of std", p, "delta_std_p"), ("p of gap", p, "gap_p"),
        ]  # fmt: skip
        if found.drop_nulls(["epoch", "epoch_null_mean", "epoch_null_std"]).height:
            of_null = lambda mean, std: spread(mean, std, 1)  # noqa: E731
            columns += [
                ("Kept epoch", whole, "epoch"),
                ("Kept epoch under the null", of_null, "epoch_null_mean epoch_null_std"),
            ]
        cited = {pair: one._asdict() for pair, one in paper.NULLS.items()} if null == "permuted" else {}
        yield "nulls", grid(
            "Table 2", with_cited(found, cited), columns,
            f"Under the null: mean and standard deviation over refits (here up to {found['n_draws'].max()}, in the "
            "paper 20). With n refits a p-value cannot be below 1 / (n + 1): 20 refits give at least 0.048, so that no "
            "adjustment over the paper's six pairs can reach 0.05. Gaps are cut off at 0.",
        )  # fmt: skip
    shown = {"correlation": "Correlation", "sign_agreement": "Equal signs", "gap": "Gap", "delta_std": "Std of field"}
    cited = {pair: one._asdict() for pair, one in paper.SEEDS.items()}
    yield "seeds", grid(
        "Table 3", with_cited(seed_numbers(tables["seeds"], tables["seed_pairs"], method), cited), [
            *_NAMES,
            *(column for name, title in shown.items()
              for column in _beside(title, name, lambda mean, std: spread(mean, std, 2), f"{name}_mean {name}_std")),
            ("Seeds", whole, "n_seeds"), ("Undefined", _of, "n_undefined n_seed_pairs"),
        ],
        "Means and standard deviations over seeds, or over pairs of seeds for correlation and signs. Where a field is "
        "constant, its pairs of seeds have no correlation: they are left out of both and counted as undefined.",
    )  # fmt: skip
    cited = {at: one._asdict() | {"n_pairs": (one.n_pairs, paper.N_PAIRS)} for at, one in paper.THRESHOLDS.items()}
    found = threshold_numbers(tables["thresholds"], method).to_dicts()
    quartiles = lambda *sizes: GridCell(  # noqa: E731
        DASH if sizes[1] is None else " / ".join(percent(size, 0) for size in sizes), sizes[1]
    )
    yield "thresholds", grid(
        "Table 4", [row | {"cited": cited.get(round(row["epsilon"], 6))} for row in found], [
            ("Epsilon", lambda epsilon: GridCell(f"{epsilon:g}", epsilon), "epsilon"),
            *_beside("Median smECE gap", "smece_gap", score, "smece_gap"),
            *_beside("Median Brier gap", "brier_gap", score, "brier_gap"),
            *_beside("Share of rows: quartiles", "sizes", quartiles, "share_quarter share_median share_three_quarters"),
            *_beside("Pairs with gap > 0.06", "n_pairs", _of, "n n_pairs"),
        ],
        "Medians and quartiles are of the pairs with a gap above 0.06 at that epsilon. The paper's shares are no "
        "reference: they contradict its table 5b.",
    )  # fmt: skip
    # quantiles may be cut off after they are taken
    cut_off = lambda mean, *ends: score(mean, *(None if end is None else max(0.0, end) for end in ends))  # noqa: E731
    cited = {pair: {"gap": gap, "size": paper.SIZES[pair] or (None,) * 3} for pair, gap in paper.GAPS.items()}
    yield "gaps", grid(
        "Table 5", with_cited(of_method(tables["pairs"], method, LEARNED), cited), [
            *_NAMES, *_beside("Gap", "gap", score, "gap_boot_mean_clipped gap_low gap_high", cut_off),
            *_beside("Share of rows in the worst slice", "size", _share_of_slice,
                     "share_worst share_low share_high gap"),
        ],
        "Bootstrap means with 95 % intervals, the field and its slices held fixed, and the gap of each draw cut off at "
        "0, as the paper's appears to be. These percentiles lie above 0 even for a calibrated model, so that they are "
        "no test; the table of pairs has the interval that is one. A pair without a gap has no slice with enough rows. "
        "\u201cnone (gap \u2264 0)\u201d: no slice is worse calibrated than the whole; the paper has a dash there.",
    )  # fmt: skip
    yield "certificates", grid(
        f"Certificates, method {method}", certificates(tables["pairs"], method, planned.get(method)),
        [*_NAMES, ("Hidden, at least", score, "limit_hidden"), ("p", p, "p_hidden"), ("p, adjusted", p, "p_adjusted"),
         ("Total, at least", score, "limit_total"), *_FINDINGS],
    )  # fmt: skip
    errors, at = words.errors.capitalize(), {"area": "area under the curve"}
    yield "deferral", grid(
        f"Deferral, method {method}", deferral_numbers(tables["deferral_gains"], method),
        [("At", lambda value: name(at.get(value, f"coverage {value}")), "at"), (f"{errors}, raw", score, "raw"),
         (f"{errors}, corrected", score, "corrected"), ("Gain", change, "gain"), ("Pairs helped", whole, "n_helped"),
         ("Pairs harmed", whole, "n_harmed"), ("Pairs", whole, "n_pairs")],
        "Means over pairs. A pair is helped or harmed where its 95 % bootstrap interval lies on one side of 0.",
        sortable=False,
    )  # fmt: skip
    yield "purity", grid(f"Neighbours, method {method}", of_method(tables["purity"], method), [
        *_NAMES, ("Neighbours share", name, "by"),
        ("Space", lambda space: name("raw inputs" if space == "raw" else "learned"), "space"),
        ("Share of neighbours", share, "purity"), ("By chance", spread, "null_mean null_std"), ("p", p, "p_value"),
        ("Rows", whole, "n"),
    ])  # fmt: skip
