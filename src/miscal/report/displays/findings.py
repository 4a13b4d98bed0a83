"""Findings as bars: how much more or less often each group comes true than rows of equal probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from miscal.base.vocabulary import ANSWER, EVENT, Kind, vocabulary
from miscal.discovery.findings import named_findings
from miscal.discovery.summary import Summary
from miscal.findings.ledger import Finding
from miscal.report.displays.display import Display, percent_axis, wrapped
from miscal.report.formatting import bounds, count, points
from miscal.report.texts import begin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 20
"""Findings that are drawn: as many as the report lists."""


class FindingsDisplay(Display):
    """The findings of a run, the strongest on top.

    Parameters
    ----------
    findings : sequence of Finding
        In their order. There may be none: then the drawing says so.
    kind : {"answer", "event", "judge"}, default "answer"
        What the probability is of.

    Attributes
    ----------
    findings, kind
        As given; the first 20 are drawn.
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> FindingsDisplay(()).alt_text
    'No findings.'
    """

    def __init__(self, findings: Sequence[Finding], *, kind: Kind = ANSWER) -> None:
        self.findings, self.kind = tuple(findings)[:MOST], kind
        self._words = vocabulary(kind)
        self.size = (8.0, 1.4 + 0.5 * max(2, len(self.findings)))

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        by: Any,
        sample_weight: Any = None,
        kind: Kind = EVENT,
        ax: Any = None,
        random_state: int = 0,
    ) -> Self:
        """Find and draw the groups that columns name, without a run.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes, 0 or 1.
        y_prob : array-like of shape (n,)
            Probabilities in [0, 1].
        by : frame or mapping of columns of n rows, or array-like of shape (n,)
            What names groups.
        sample_weight : array-like of shape (n,), optional
            Non-negative; all 1 by default.
        kind : {"event", "answer", "judge"}, default "event"
            What the probability is of.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        random_state : int, default 0

        Returns
        -------
        FindingsDisplay
        """
        found = named_findings(y_true, y_prob, by, sample_weight=sample_weight, seed=random_state)
        return cls(found.findings, kind=kind).plot(ax)

    @classmethod
    def from_summary(cls, summary: Summary, *, ax: Any = None) -> Self:
        """Draw the findings of a run.

        Parameters
        ----------
        summary : Summary
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        FindingsDisplay
        """
        return cls(summary.findings, kind=summary.kind).plot(ax)

    @property
    def alt_text(self) -> str:
        """Every finding that is drawn, in whole sentences."""
        if not self.findings:
            return "No findings."
        lines = []
        for place, one in enumerate(self.findings, 1):
            interval = f" ({bounds(one.hidden.interval)})" if one.hidden.interval else ""
            left = "" if one.after.value is None else f"; {points(one.after.value)} after the correction"
            lines.append(
                f"{place}. {one.description}, {count(one.n)} rows: {points(one.hidden.value)} points{interval} "
                f"against {self._words.equal_rows()}{left}."
            )
        return " ".join(lines)

    def _draw(self, ax: Axes, colour: dict[str, str]) -> None:
        words = self._words
        if not self.findings:
            ax.text(0.5, 0.5, "No findings", ha="center", va="center", color=colour["muted"], transform=ax.transAxes)
            ax.set_axis_off()
            return
        for place, one in enumerate(self.findings):
            value, shade = one.hidden.value, colour[one.sign]
            if value is not None:
                ax.barh(place, value, height=0.6, color=shade, alpha=0.85)
            low, high = one.hidden.interval or (None, None)
            if low is not None and high is not None:
                ax.plot([low, high], [place, place], color=colour["ink"], lw=1.2, solid_capstyle="butt")
            if one.after.value is not None:
                label = "left after the correction" if place == 0 else None
                ax.plot(one.after.value, place, "o", mfc="none", mec=colour["ink"], ms=5, label=label)
        labels = [f"{wrapped(one.description, 46, 2)}\n{count(one.n)} rows" for one in self.findings]
        ax.set_yticks(range(len(self.findings)), labels, fontsize="small")
        ax.invert_yaxis()
        ax.axvline(0.0, color=colour["muted"], lw=0.8)
        percent_axis(ax.xaxis)
        ax.set_xlabel(f"{words.rate} against {words.equal_rows()}, points")
        sides = f"{begin(words.often('over'))}: to the left; {words.often('under')}: to the right"
        ax.set_title(sides, fontsize="small", color=colour["muted"])
        if any(one.after.value is not None for one in self.findings):
            ax.legend(loc="lower right", fontsize="small", frameon=False)
