"""What Python shows of a run: tables of a dozen columns with plain names, or every stored one; drawings on axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, did_you_mean
from miscal.base.errors import InputError
from miscal.discovery.run import RunContent
from miscal.discovery.tables import class_findings_table, classes_table, decisions_table
from miscal.findings.conditions.condition import with_features
from miscal.findings.ledger.ledger import Finding
from miscal.report.displays import FindingsDisplay, OverviewDisplay, ReliabilityDisplay

Types = Mapping[str, Any]

_FINDING: Types = {
    "number": pl.Int64,
    "group": pl.String,
    "rows": pl.Int64,
    **dict.fromkeys(("predicted", "happened", "happened_low", "happened_high", "corrected"), pl.Float64),
    **dict.fromkeys(("hidden", "after"), pl.Float64),
    "fate": pl.String,
    "p_adjusted": pl.Float64,
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


def _findings(findings: Iterable[Finding]) -> pl.DataFrame:
    rows = []
    for number, one in enumerate(findings, start=1):
        low, high = one.happened.interval or (None, None)
        means = (one.confidence, one.accuracy, low, high, one.corrected)
        left = (one.hidden.value, one.after.value, one.fate, one.p_adjusted)
        rows.append((number, one.description, one.n, *means, *left))
    return pl.DataFrame(rows, schema=_FINDING, orient="row")


def _class_findings(content: RunContent) -> pl.DataFrame:
    classes = () if content.summary.classes is None else content.summary.classes.classes
    each = [_findings(one.findings).select(pl.lit(one.name).alias("class"), pl.exclude("fate")) for one in classes]
    return pl.concat([_findings(()).select(pl.lit("").alias("class"), pl.exclude("fate")), *each])


def _chosen(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return table.select(pl.col(name).alias(shown) for name, shown in names.items() if name in table.columns)


_TABLES: dict[str, tuple[Callable[[RunContent], pl.DataFrame], Callable[[RunContent], pl.DataFrame]]] = {
    "findings": (lambda run: run.findings, lambda run: _findings(run.summary.findings)),
    "field": (
        lambda run: run.table,
        lambda run: _chosen(run.table, _FIELD).with_columns(run.evaluated.alias("evaluated")),
    ),
    "columns": (lambda run: run.columns, lambda run: _chosen(run.columns, _COLUMNS)),
    "classes": (
        lambda run: classes_table(run.summary.classes),
        lambda run: _chosen(classes_table(run.summary.classes), _CLASSES),
    ),
    "class_findings": (lambda run: class_findings_table(run.summary.classes), _class_findings),
    "decisions": (
        lambda run: decisions_table(run.summary.decisions),
        lambda run: _chosen(decisions_table(run.summary.decisions), _DECISIONS),
    ),
    "map": (lambda run: run.map, lambda run: _chosen(run.map, _MAP)),
}
"""The tables of a run, each with all columns and with those that are shown."""


def table_of(content: RunContent, name: str, *, wide: bool = False) -> pl.DataFrame:
    """Return a table of a run: at most twelve columns with plain names, or all that its file has."""
    if name not in _TABLES:
        raise InputError(f"name must be one of {', '.join(_TABLES)}; got {name!r}{did_you_mean(name, _TABLES)}")
    whole, shown = _TABLES[name]
    return (whole if wide else shown)(content)


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
