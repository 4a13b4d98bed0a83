"""The first screen of a run on matplotlib axes: curves of all rows and of the largest groups, beside the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Summary
from miscal.report.displays.display import colours, literal, percent_axis
from miscal.report.groups import Group, all_rows, fitted_range, groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 8
"""Groups that are drawn."""


class OverviewDisplay:
    """Curves on the left, groups on the right; the headline above both.

    Parameters
    ----------
    summary : Summary
        Of a run.

    Attributes
    ----------
    alt_text : str
        What is drawn, for those who cannot see it: the three lines of the answer.
    axes_ : tuple of two matplotlib.axes.Axes
        Where the curves and the groups were drawn.
    figure_ : matplotlib.figure.Figure
    """

    def __init__(self, summary: Summary) -> None:
        self.summary, self._words = summary, vocabulary(summary.kind)
        answer = summary.answer
        self.alt_text = f"{answer.headline} {answer.reason} {answer.action}"

    def plot(self, axes: tuple[Axes, Axes] | None = None) -> OverviewDisplay:
        """Draw on two axes, by default those of a new figure."""
        from miscal.base.extras import need

        need("plot", "found.plot")
        import matplotlib.pyplot as plt

        groups = groups_of(self.summary, MOST)
        rows = [one for one in (*groups, all_rows(self.summary)) if one is not None]
        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(12, 4.8), width_ratios=(1, 1.6), layout="constrained")
        self.axes_, self.figure_ = axes, axes[0].figure
        palette = colours(axes[0]) | {"all": colours(axes[0])["good"], "": colours(axes[0])["ink"]}
        self._curves(axes[0], groups, palette)
        self._forest(axes[1], rows, palette)
        self.figure_.suptitle(literal(self.summary.answer.headline, 200), x=0.01, ha="left", fontweight="bold")
        return self

    def _curves(self, ax: Axes, groups: list[Group], colour: dict[str, str]) -> None:
        pairs = [("all rows", "all", self.summary.curves.all)]
        pairs += [(one.name, one.colour, self.summary.curves.findings[one.number - 1]) for one in groups if one.colour]
        known = [(name, kind, pair.raw) for name, kind, pair in pairs if pair.raw is not None]
        for name, kind, curve in known:
            wide = 3 if kind == "all" else 1.8
            ax.plot(curve.confidence, curve.accuracy, color=colour[kind], lw=wide, label=literal(name, 32))
            ax.fill_between(curve.confidence, curve.low, curve.high, color=colour[kind], alpha=0.1, lw=0)
        ends = [end for *_, one in known for end in (*one.confidence, *one.accuracy)]
        if ends:
            low, high = fitted_range(ends)
            ax.plot([low, high], [low, high], ls=":", lw=1, color=colour["muted"])
            ax.set(xlim=(low, high), ylim=(low, high))
            ax.legend(frameon=False, fontsize=8)
        ax.set(xlabel=f"{self._words.heads[1]}, %", ylabel=f"{self._words.heads[0]}, %", box_aspect=1)
        percent_axis(ax.xaxis)
        percent_axis(ax.yaxis)

    def _forest(self, ax: Axes, rows: list[Group], colour: dict[str, str]) -> None:
        places = range(len(rows) - 1, -1, -1)
        for place, one in zip(places, rows, strict=True):
            own, (low, high) = colour[one.colour], one.happened.interval or (None, None)
            if low is not None and high is not None:
                ax.plot([low, high], [place, place], color=own, lw=7, alpha=0.2, solid_capstyle="round")
            ax.plot([one.predicted, one.happened.value], [place, place], color=own, lw=1.6)
            ax.plot(one.predicted, place, "o", mfc=ax.get_facecolor(), mec=own, ms=7)
            ax.plot(one.happened.value, place, "o", color=own, ms=7)
            if one.corrected is not None:
                ax.plot(one.corrected, place, "|", color=colour["muted"], ms=14)
        ax.set_yticks(list(places), [f"{literal(one.name, 36)}\n{one.n:,} rows" for one in rows], fontsize=8)
        marks = f"○ {self._words.heads[1]}   ● {self._words.heads[0]}   | corrected, %"
        ax.set(xlabel=marks, ylim=(-0.6, len(rows) - 0.4))
        ax.set_xlim(*fitted_range([end for one in rows for end in one.ends] or [0.0, 1.0]))
        percent_axis(ax.xaxis)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
