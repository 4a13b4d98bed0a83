"""Tables as a page shows them, with the values that they are sorted by; all of a study's but those of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from miscal.base.vocabulary import EVENT
from miscal.report.formatting import DASH, brief, count, metric, percent, signed, size
from miscal.report.texts import short
from miscal.study.aggregates import deferral_numbers
from miscal.study.answers import firsts, list_names, ranks, roughly
from miscal.study.plan import METHODS
from miscal.study.tables import CALIBRATION_COST, HIDDEN_COST, LEARNED, LOG_LOSS, SOUGHT, Tables, of_method
from miscal.study.verdict import certificates
from miscal.study.vocabulary import BOTH, EVENTS, StudyVocabulary

Row = dict[str, Any]

"""Rows of a grid that may have very many."""


@dataclass(frozen=True)
class GridCell:
    """A cell: its text, the value that it is sorted by, a link, a second line, and a class."""

    text: str
    key: float | str | None = None
    href: str | None = None
    aside: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Column:
    """A column: its heading, how its cells are written, of which values of a row, and what it means.

    The values are named in one text, with blanks in between; without names, `write` is given the row.
    """

    title: str
    write: Callable[..., GridCell]
    names: str = ""
    hint: str = ""
    number: bool = True

    def cell(self, row: Row) -> GridCell:
        """Write the cell of a row."""
        return self.write(*(row[name] for name in self.names.split())) if self.names else self.write(row)


@dataclass(frozen=True)
class Grid:
    """A table of a page: a name for those who hear the page, columns, cells, of which the first is a row's heading."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[GridCell]]
    note: str = ""
    sortable: bool = True


def grid(
    name: str, rows: Iterable[Row], columns: Sequence[Column], note: str = "", sortable: bool = True
) -> Grid | None:
    """Write the cells of every row; None without any."""
    cells = [[column.cell(row) for column in columns] for row in rows]
    return Grid(name, columns, cells, note, sortable) if cells else None


def text(value: Any, href: str | None = None) -> GridCell:
    """Write a text, which is sorted by itself."""
    return GridCell(DASH) if value is None else GridCell(str(value), str(value).lower(), href)


def name_cell(value: str | None, href: str | None = None) -> GridCell:
    """Write a name that a user gave."""
    return text(None if value is None else short(value, 60), href)


def score(value: float | None, low: float | None = None, high: float | None = None) -> GridCell:
    """Write a score with three decimals, and its interval below it.

    >>> score(0.1234, 0.1, 0.2)
    GridCell(text='0.123', key=0.1234, href=None, aside='0.100 to 0.200', kind='')
    """
    return sized(metric, value, low, high)


def change(value: float | None, low: float | None = None, high: float | None = None) -> GridCell:
    """Write a signed score with three decimals, and its interval below it."""
    return sized(lambda number: signed(number, 3), value, low, high)


def sized(write: Callable[[float], str], value: float | None, low: float | None, high: float | None) -> GridCell:
    """Write a number, a dash where there is none, and its interval below it."""
    ends = "" if low is None or high is None else f"{write(low)} to {write(high)}"
    return GridCell(DASH if value is None else write(value), value, aside=ends)


def share(value: float | None, digits: int = 1) -> GridCell:
    """Write a share as a percentage."""
    return GridCell(percent(value, digits), value)


def whole(value: float | None) -> GridCell:
    """Write a count, or what is rounded to one."""
    value = None if value is None else round(value)
    return GridCell(count(value), value)


def p(value: float | None) -> GridCell:
    """Write a p-value without its letter.

    >>> p(0.0123).text, p(1e-9).text, p(None).text
    ('0.012', '< 0.001', '\u2013')
    """
    if value is None:
        return GridCell(DASH)
    return GridCell("< 0.001" if value < 0.001 else f"{value:.2g}", value)


def spread(mean: float | None, std: float | None) -> GridCell:
    """Write a mean and a standard deviation.

    >>> spread(0.052, 0.004).text
    '0.052 \u00b1 0.004'
    """
    return GridCell(metric(mean) if std is None else f"{metric(mean)} \u00b1 {metric(std)}", mean)


def words_column(title: str, names: str, hint: str = "") -> Column:
    """Describe a column of names that a user gave."""
    return Column(title, name_cell, names, hint, number=False)


NAMES = (words_column("Model", "model"), words_column("Data set", "dataset"))


def report_link(out: Path, pair: str, method: str, *, above: str = "") -> str | None:
    """Return the address of a pair's report from a page, `above` leading to the study's folder; None without one."""
    inside = Path("pairs") / pair / method / "report.html"
    return f"{above}{quote(inside.as_posix())}" if (out / inside).exists() else None


def _learned(tables: Tables) -> list[Row]:
    return tables["pairs"].filter(geometry=LEARNED).to_dicts()


def _of_pairs(out: Path, words: StudyVocabulary, accuracy: Callable[[Row], GridCell]) -> list[Column]:
    """Describe the columns that say which pair it is and what its rows are like."""
    link = lambda row: name_cell(row["model"], report_link(out, row["pair"], row["method"]))  # noqa: E731
    return [
        Column("Model", link, hint="links to the report of the pair", number=False),
        NAMES[1],
        Column("Rows", whole, "n_test", "evaluation rows"),
        Column(words.rate.capitalize(), accuracy, hint=words.rate_meaning),
        Column(words.probability.capitalize(), share, "confidence", f"mean {words.probability}"),
        Column("smECE", score, "smece", f"calibration error of the {words.probabilities}"),
    ]


_SAVED = Column(
    "Log loss saved", change, "log_loss_saved log_loss_saved_low log_loss_saved_high",
    "per row by the local correction, with its 95 % interval",
)  # fmt: skip
_FINDINGS = (Column("Findings", whole, "n_findings"), words_column("Strongest finding", "finding"))


def board_grid(tables: Tables, out: Path, words: StudyVocabulary) -> Grid | None:
    """List every pair with what its owner looks for first."""
    ranked = {(row["pair"], row["method"], row["measure"]): row for row in tables["rankings"].iter_rows(named=True)}

    def rank(measure: str) -> Callable[[Row], GridCell]:
        def cell(row: Row) -> GridCell:
            own = ranked.get((row["pair"], row["method"], measure))
            return score(None) if own is None else replace(score(own["value"]), aside=f"rank {ranks(own)}")

        return cell

    def detectable(row: Row) -> GridCell:
        value = row["detectable"]
        if value is None:
            return score(None)
        return GridCell(size(value), value, aside=f"{brief(SOUGHT)} at {roughly(row['rows_for_5_points'])} rows")

    columns = [
        *_of_pairs(out, words, lambda row: share(row["accuracy"])),
        Column("Calibration cost", rank(CALIBRATION_COST),
               hint=f"log loss that a map of the {words.probability} alone saves, and its rank, where all answered"),
        Column("Hidden cost", rank(HIDDEN_COST),
               hint="log loss that the correction saves beyond it, and its rank, where all answered"),
        Column("Log loss after", rank(LOG_LOSS),
               hint=f"log loss of the corrected {words.probabilities}, and its rank, where all answered"),
        _SAVED,
        Column("Would be found", detectable, hint="hidden error of a tenth of the rows, in points, that is found in "
               "80 % of cases, and the rows for 5"),
        replace(_FINDINGS[0], hint=f"groups that differ from rows of equal {words.probability}"), _FINDINGS[1],
    ]  # fmt: skip
    return grid("All pairs", _learned(tables), columns)


def firsts_grid(tables: Tables, method: str) -> Grid | None:
    """List who is first in each group; None where no group has rows enough of two models."""
    return grid("First in each group", firsts(of_method(tables["group_rankings"], method)).to_dicts(), [
        Column("Group", lambda row: name_cell(f"{row['column']} = {row['value']}"), number=False),
        NAMES[1],
        words_column("First", "first", "the smallest difference"),
        Column("Tied with", lambda row: text("nobody: it is ahead of all" if row["clear"] else list_names(row["tied"])
               if row["tied"] else "not shown"), hint="models that no other is shown to be ahead of", number=False),
        Column("Models", whole, "n_models", "with at least 20 rows in the group"),
    ])  # fmt: skip


def pairs_grid(tables: Tables, planned: Mapping[str, int], out: Path, words: StudyVocabulary) -> Grid | None:
    """List every pair under every method, learned geometry."""
    adjusted = {
        (row["pair"], row["method"]): row["p_adjusted"]
        for method in METHODS
        for row in certificates(tables["pairs"], method, planned.get(method)).iter_rows(named=True)
    }
    # where a study holds both, the rates of events are marked
    marked = {EVENT: EVENTS.rate} if words is BOTH else {}
    model, dataset, *of_rows = _of_pairs(
        out, words, lambda row: replace(share(row["accuracy"]), aside=marked.get(row["outcome"], ""))
    )
    return grid("All pairs", _learned(tables), [
        model, dataset, Column("Method", text, "method", number=False), *of_rows,
        Column("Std of field", score, "delta_std", "how much the error differs from input to input"),
        Column("Unsupported", share, "share_unsupported", "rows with few or none of the rows learned from nearby"),
        Column("Worst slice", _worst, "worst share_worst", "and its share of rows", number=False),
        Column("Gap", change, "gap gap_interval_low gap_interval_high",
               "smECE of the worst slice less that of all rows; its interval starts at 0 where chance explains it"),
        Column("Hidden, at least", score, "limit_hidden",
               "certificate: 95 % lower limit of mean hidden miscalibration"),
        Column("p, adjusted", lambda row: p(adjusted.get((row["pair"], row["method"]))),
               hint="of the certificate, not of the gap; Holm over the pairs of the method"),
        _SAVED,
        Column("Saved locally", change, "log_loss_saved_local log_loss_saved_local_low log_loss_saved_local_high",
               words.fill("beyond the log loss that the best map of the {probability} alone saves")),
    ], words.fill(_PAIRS_NOTE))  # fmt: skip


def _worst(worst: str | None, size: float | None) -> GridCell:
    return GridCell(worst, worst, kind=worst, aside=percent(size, 0)) if worst else GridCell("none")


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
    sides = [of_method(tables["pairs"], method, LEARNED) for method in METHODS]
    both = sides[0].join(sides[1], on=["pair", "dataset", "model"], suffix="_auto", maintain_order="left")
    duels = {row["pair"]: row for row in tables["duels"].iter_rows(named=True)}
    unknown = dict.fromkeys(("saved", "saved_low", "saved_high"))
    return grid("Both methods", [row | unknown | duels.get(row["pair"], {}) for row in both.to_dicts()], [
        *NAMES,
        Column("Log loss, paper minus auto", change, "saved saved_low saved_high",
               "the same rows; positive: auto is better"),
        *(
            Column(f"{title}, {method}", write, name + end, hint)
            for title, write, name, hint in (
                ("Gap", change, "gap", "signed"),
                ("Std of field", score, "delta_std", ""),
                ("Hidden, at least", score, "limit_hidden", "certificate"),
                ("Log loss saved", change, "log_loss_saved", "per row"),
                ("Saved locally", change, "log_loss_saved_local",
                 words.fill("beyond the best map of the {probability} alone")),
                ("Seconds", whole, "seconds_field", "learning the field"),
            )
            for method, end in zip(METHODS, ("", "_auto"), strict=True)
        ),
    ])  # fmt: skip


def certificates_grid(tables: Tables, method: str, planned: Mapping[str, int]) -> Grid | None:
    """List the certificates of a method, adjusted for their number; None without any."""
    found = certificates(tables["pairs"], method, planned.get(method))
    return grid(f"Certificates, method {method}", found.to_dicts(), [
        *NAMES, Column("Hidden, at least", score, "limit_hidden"), Column("p", p, "p_hidden"),
        Column("p, adjusted", p, "p_adjusted"), Column("Total, at least", score, "limit_total"), *_FINDINGS,
    ])  # fmt: skip


def failures_grid(tables: Tables) -> Grid | None:
    """List what failed; None where nothing did."""
    why = Column("Why", lambda row: text(short(row["message"] or "", 600)), number=False)
    return grid("Failures", tables["failures"].to_dicts(), [*NAMES, words_column("Step", "step"), why], sortable=False)


def deferral_grid(tables: Tables, method: str, words: StudyVocabulary) -> Grid | None:
    """Average what correcting changes for deferral."""
    errors = words.errors.capitalize()
    return grid(
        f"Deferral, method {method}", deferral_numbers(tables["deferral_gains"], method).to_dicts(),
        [Column("At", lambda at: text("area under the curve" if at == "area" else f"coverage {at}"), "at",
                number=False), Column(f"{errors}, raw", score, "raw"),
         Column(f"{errors}, corrected", score, "corrected"), Column("Gain", change, "gain"),
         Column("Pairs helped", whole, "n_better"), Column("Pairs harmed", whole, "n_worse"),
         Column("Pairs", whole, "n_pairs")],
        "Means over pairs. A pair is helped or harmed where its 95 % bootstrap interval lies on one side of 0.",
        sortable=False,
    )  # fmt: skip


def purity_grid(tables: Tables, method: str) -> Grid | None:
    """List how alike nearest neighbours are, in raw inputs and in the learned space."""
    return grid(f"Neighbours, method {method}", of_method(tables["purity"], method).to_dicts(), [
        *NAMES, words_column("Neighbours share", "by"),
        Column("Space", lambda space: text("raw inputs" if space == "raw" else "learned"), "space", number=False),
        Column("Share of neighbours", share, "purity"), Column("By chance", spread, "null_mean null_std"),
        Column("p", p, "p_value"), Column("Rows", whole, "n"),
    ])  # fmt: skip
