"""Tables of a run: those that Python shows, its drawings, and those of a column or class that `miscal show` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, did_you_mean, value_list
from miscal.base.document import Measure
from miscal.base.errors import FileError, InputError, command, either
from miscal.base.number_wording import spoken
from miscal.base.shown import escaped, wrapped
from miscal.base.vocabulary import vocabulary
from miscal.data.readers.names import find
from miscal.data.readers.source import own_parquet
from miscal.discovery.answer import words_of
from miscal.discovery.run import RunContent, sealed_summary
from miscal.discovery.run_folder import COLUMNS_FILE
from miscal.discovery.summary import Answer, ClassEvent
from miscal.discovery.tables import ColumnTable, class_findings_table, classes_table, decisions_table, tables_of
from miscal.findings.conditions.condition import with_features
from miscal.findings.ledger.document import EXPLAINED, ColumnValue
from miscal.report.brief import finding_words
from miscal.report.displays import FindingsDisplay, OverviewDisplay
from miscal.report.formatting import begin, clean, count, decimals_for, percent, points
from miscal.report.reliability import ReliabilityDisplay
from miscal.report.sheet import Column, Sheet, Table, cut, measured

_FINDING = {
    **{"class": "class", "number": "number", "description": "group", "n": "rows", "confidence": "predicted"},
    **{"accuracy": "happened", "happened_low": "happened_low", "happened_high": "happened_high"},
    **{name: name for name in ("corrected", "hidden", "after", "fate", "p_adjusted")},
}
_FIELD = {
    **{"row": "row", "confidence": "predicted", "correct": "happened"},
    **{"corrected": "corrected_out_of_fold", "delta": "delta_out_of_fold"},
    **{name: name for name in ("visible", "hidden", "regime", "hidden_regime", "supported")},
}
_COLUMNS = {
    **{"column": "column", "value": "value", "n": "rows", "confidence": "predicted", "accuracy": "happened"},
    **{name: name for name in ("hidden", "hidden_low", "hidden_high", "after", "mark", "finding")},
}
_CLASSES = {
    **{"class": "class", "labels": "labels", "predicted": "chosen", "probability": "predicted", "rate": "happened"},
    **{"smece": "smece", "smece_corrected": "smece_after"},
    **{"log_loss": "log_loss", "log_loss_corrected": "log_loss_after"},
    **{"looked_at": "tested", "findings": "findings"},
}
_DECISIONS = {
    **{"threshold": "threshold", "source": "source", "before_n": "rows"},
    **{"before_promised": "predicted", "before_observed": "happened"},
    **{"before_observed_low": "happened_low", "before_observed_high": "happened_high"},
    **{"after_n": "rows_after", "after_promised": "predicted_after", "after_observed": "happened_after"},
    **{"net_benefit_gain": "net_benefit_gain"},
}
_MAP = {"row": "row", "learned_1": "x", "learned_2": "y"}
"""Columns that are shown, by their names in the files, and how they are called."""


def _chosen(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return table.select(pl.col(name).alias(shown) for name, shown in names.items() if name in table.columns)


def _findings(table: pl.DataFrame) -> pl.DataFrame:
    """Choose what is shown of findings: their numbers, of each class if there are classes, and what happened."""
    number = pl.int_range(1, pl.len() + 1)
    of_class = "class" in table.columns
    happened = {
        f"happened_{end}": (pl.col("confidence") + pl.col(f"residual_{end}")).clip(0, 1) for end in ("low", "high")
    }
    table = table.with_columns(number=number.over("class") if of_class else number, **happened)
    return _chosen(table.drop("fate") if of_class else table, _FINDING)


Of = Callable[[RunContent], pl.DataFrame]
_TABLES: dict[str, tuple[Of, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "findings": (lambda run: run.findings, _findings),
    "field": (lambda run: run.table, lambda table: _chosen(table, _FIELD)),
    "columns": (lambda run: run.columns, lambda table: _chosen(table, _COLUMNS)),
    "classes": (lambda run: classes_table(run.summary.classes), lambda table: _chosen(table, _CLASSES)),
    "class_findings": (lambda run: class_findings_table(run.summary.classes), _findings),
    "decisions": (lambda run: decisions_table(run.summary.decisions), lambda table: _chosen(table, _DECISIONS)),
    "map": (lambda run: run.map, lambda table: _chosen(table, _MAP)),
}
"""The tables of a run, and what is shown of each."""


def table_of(content: RunContent, name: str, *, wide: bool = False) -> pl.DataFrame:
    """Return a table of a run: at most twelve columns with plain names, or all that its file has."""
    if name not in _TABLES:
        raise InputError(f"name must be one of {', '.join(_TABLES)}; got {name!r}{did_you_mean(name, _TABLES)}")
    whole, shown = _TABLES[name]
    if wide:
        return whole(content)
    found = shown(whole(content))
    return found.with_columns(content.evaluated.alias("evaluated")) if name == "field" else found


class RunPlot:
    """The drawings of a run: ``found.plot()``, what the page shows first, ``found.plot.findings()`` and others.

    Each of the others takes the axes to draw on, by default those of a new figure, and returns its display, whose
    `alt_text` says what is drawn. matplotlib is needed: ``pip install "miscal[plot]"``.

    Examples
    --------
    >>> import miscal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(300, 2)), rng.uniform(0.3, 0.9, 300)
    >>> found = miscal.discover(X, rng.random(300) < f, confidence=f, quick=True, n_jobs=1)
    >>> found.plot.reliability().alt_text[:30]
    'Reliability diagram: accuracy '
    """

    def __init__(self, content: RunContent) -> None:
        """Hold what a run holds."""
        self._content = content

    def __call__(self, axes: Any = None) -> OverviewDisplay:
        """Draw what the page shows first: curves of all rows and of the largest groups, beside the groups.

        Parameters
        ----------
        axes : pair of matplotlib.axes.Axes, optional
            For the curves and for the groups.
        """
        return OverviewDisplay(self._content.summary).plot(axes)

    def reliability(
        self, *, by: Any = None, corrected: bool = False, ax: Any = None, name: str | None = None
    ) -> ReliabilityDisplay:
        """Draw how often the outcome is 1 against the probability, of the evaluation rows.

        Parameters
        ----------
        by : str or array-like of shape (n,), optional
            A column of the run, or a value of each of its rows: every value gets a curve of its own.
        corrected : bool, default False
            Whether to draw the corrected probabilities.
        ax : matplotlib.axes.Axes, optional
        name : str, optional
            Of the model, for the legend.
        """
        content = self._content
        column = "corrected" if corrected else "confidence"
        evaluated = content.evaluated.to_numpy() & content.table[column].is_not_null().to_numpy()
        weight = None if content.summary.weights is None else content.triples().weight
        values = self._column(by) if isinstance(by, str) else by
        if values is not None and len(values) != len(evaluated):
            raise InputError(f"by must have a value of each of the {len(evaluated):,} rows; it has {len(values):,}")
        return ReliabilityDisplay.from_predictions(
            content.table["correct"].to_numpy()[evaluated],
            content.table[column].to_numpy()[evaluated],
            sample_weight=None if weight is None else weight[evaluated],
            by=None if values is None else np.asarray(values)[evaluated],
            kind=content.summary.kind,
            ax=ax,
            name=name,
        )

    def findings(self, *, ax: Any = None) -> FindingsDisplay:
        """Draw the findings: how far each is off beyond what a reliability diagram shows."""
        return FindingsDisplay.from_summary(self._content.summary, ax=ax)

    def _column(self, name: str) -> np.ndarray:
        table = self._content.table
        if name in table.columns:
            return column_of(table, name).to_numpy()
        triples = self._content.triples()
        columns = with_features(triples.metadata, triples.X, triples.encoder)
        if name not in columns:
            known = ", ".join(columns) or "it has none"
            raise InputError(f"by must be a column of the run ({known}); got {name!r}{did_you_mean(name, columns)}")
        return columns[name]


# --- a column -----------------------------------------------------------------------------------------------------

LONGEST = 36
"""Characters of a value that are printed."""
NOTE = (
    "Intervals are of one value at a time, at 95 %: where nothing is hidden, up to one in twenty excludes zero. The "
    "marks allow for all groups that were tested. What is explained differs by itself, but the findings account for it "
    "in part or whole; what they leave stands behind the mark."
)


def show(run_dir: str | Path, by: str) -> ColumnTable:
    """Return the table of a column of a run folder: every value with its numbers and what the findings say of it.

    Examples
    --------
    >>> show("no/such/folder", "subject")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder is not a folder: give the folder of a run, made by `miscal.discover`
    """
    folder = Path(run_dir)
    summary, path = sealed_summary(folder), folder / COLUMNS_FILE
    if not path.exists():
        raise FileError(
            f"{folder} was made by an earlier miscal, which wrote no {COLUMNS_FILE}: run {command('discover')} again "
            "on its data"
        )
    tables = tables_of(own_parquet(path), name=str(path))
    if by not in tables and by in summary.data.columns.metadata:
        raise InputError(
            f"--by: column {by!r} has more different values than half of its rows, so that they name rows and not "
            "groups, and the run has no table of it"
        )
    if not tables:
        raise InputError(f"--by: {folder} has no table of any column: name columns with `miscal discover --metadata`")
    column, method = find(by, list(tables), what="--by"), summary.findings_method
    values, evidence = tables[column], summary.evidence if method is None else method.evidence
    n = sum(one.n for one in values)
    return ColumnTable(column, evidence, n, values, summary.kind, summary.settings.get("epsilon"))


def show_class(run_dir: str | Path, name: str) -> ClassEvent:
    """Return a class of a run folder, with its findings."""
    numbers = sealed_summary(run_dir).classes
    if numbers is None:
        raise InputError(
            f"--class: {run_dir} is no run of several classes, as "
            f"{either('`miscal discover --probabilities NAMES`', '`miscal.discover(probabilities=...)`')} makes them"
        )
    known = {one.name: one for one in numbers.classes}
    if name not in known:
        hint = did_you_mean(name, known, aside=True)
        raise InputError(f"--class: there is no class {name!r}{hint}; the classes are {value_list(known)}")
    return known[name]


def table_lines(table: ColumnTable) -> list[str]:
    """Write the table of a column: heads, a line for each value, and what the numbers are."""
    title, values, notes = _parts(table)
    return [title, "", *values.lines(), "", *(line for sentence in notes for line in wrapped(sentence, indent=0))]


def table_markdown(table: ColumnTable) -> str:
    """Write the table of a column as GitHub-flavoured markdown, in the same words."""
    title, values, notes = _parts(table)
    return "\n\n".join([f"### {escaped(title)}", values.markdown(), *map(escaped, notes)])


def _parts(table: ColumnTable) -> tuple[str, Table, tuple[str, str]]:
    """Return the title, what is shown of each value, and what the columns are and the marks allow for."""
    words, decimals = vocabulary(table.kind), decimals_for(table.epsilon)
    share = lambda one: percent(one, decimals if words.digits else 0)  # noqa: E731
    size = lambda one: _measured(one, decimals)  # noqa: E731
    times = lambda one: "-" if one.value is None else measured(one, "ratio").whole  # noqa: E731
    columns = [
        Column("value", lambda one: cut(one.value, LONGEST)),
        Column("rows", "n", count),
        Column(words.heads[0], "accuracy", share),
        Column(words.heads[1], "confidence", share),
        *([Column(words.ratio, "observed_over_expected", times)] if words.ratio else []),
        Column("residual", "residual", size),
        Column("hidden", "hidden", size),
        Column("after correction", "after", size),
        Column("mark", lambda one: _mark(one, decimals), number=False),
    ]
    rows = "test rows" if table.evidence == "test" else "rows"
    ratio = f"{begin(words.ratio)}: the one divided by the other. " if words.ratio else ""
    said = (
        f"Residual: {words.rate} minus {words.probability}, in points. {ratio}Hidden: how much more (+) or less (-) "
        f"often {words.of_rows('the rows')} {words.than_equal_rows()}; after correction: "
        f"{words.than_equal_rows('corrected')}."
    )
    title = f"{clean(table.column)}: {len(table.values):,} values, {table.n:,} {rows}"
    return title, Table(columns, table.values), (said, NOTE)


def _mark(one: ColumnValue, decimals: int) -> str:
    if one.mark != EXPLAINED or one.conditional.value is None:
        return one.told
    return f"{one.told}, leaves {_measured(one.conditional, decimals)}"


def _measured(size: Measure, decimals: int) -> str:
    low, high = size.interval or (None, None)
    if size.value is None or low is None or high is None:
        return "-"
    # ends are written in whole points, so that a line stays short; those near zero in tenths, to show their side of it;
    # where sizes are so small that they need more decimals, ends have as many
    short = 0 if decimals == 1 else decimals
    ends = (points(end, short + int(abs(end) < 0.0095 * 10.0**-short)) for end in (low, high))
    return f"{points(size.value, decimals)} ({' to '.join(ends)})"


# --- a class -------------------------------------------------------------------------------------------------------


def class_sheet(one: ClassEvent) -> Sheet:
    """Return the sheet of a class: its numbers before and after the correction, and its findings."""
    numbers = (
        f"class {one.name}: the label of {one.labels:,} rows ({spoken(one.rate)}), predicted in "
        f"{one.predicted:,}; its probability is {spoken(one.probability)} on average"
    )
    facts = [
        (name, f"smECE {score.smece or 0.0:.4f}, log loss {score.log_loss or 0.0:.4f}")
        for name, score in (("before", one.raw), ("after", one.corrected))
    ]
    nothing = "no finding" if one.looked_at else "not looked at: too few rows have it, or 20 classes have more"
    words = words_of(one.name)
    found = [
        (f"finding {place}", f"{finding.description}: {finding_words(finding, words, one.findings)}")
        for place, finding in enumerate(one.findings, start=1)
    ]
    answer = Answer(headline=numbers, reason="", action="")
    return Sheet("numbers", f"class {one.name}", answer, facts=[*facts, *(found or [("findings", nothing)])])
