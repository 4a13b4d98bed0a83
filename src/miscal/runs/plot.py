"""The drawings of a run on matplotlib axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.arrays import column_of, did_you_mean
from miscal.base.errors import InputError
from miscal.discovery.run import RunContent
from miscal.findings.ledger import with_features
from miscal.report.displays import FindingsDisplay, OverviewDisplay, ReliabilityDisplay


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
    >>> found = miscal.discover(X, rng.random(300) < f, confidence=f, evidence="test", n_jobs=1)
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
