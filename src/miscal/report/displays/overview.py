"""The first screen of a run on matplotlib axes: curves of all rows and of the largest groups, beside the groups."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from miscal.base.number_wording import spoken
from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Summary
from miscal.report.displays.display import colours, literal, percent_axis, wrapped
from miscal.report.drawing import Scale
from miscal.report.groups import Curve, Group, all_rows, curves_of, first_groups, fitted_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 8
"""Groups that are drawn."""

_SIDE = 320.0
"""Units of the drawing in which the names of curves are placed, as on the page."""
_FEWEST = 5
"""Groups that there is room for at least, so that two do not stand at either end of the axes."""
_COLUMNS = (52, 112, 168)
"""Where the numbers of a group end, in points from the right end of the axes."""


class OverviewDisplay:
    """Curves on the left, groups on the right, the three lines of the answer above and below both.

    Parameters
    ----------
    summary : Summary
        Of a run.

    Attributes
    ----------
    alt_text : str
        What is drawn, for those who cannot see it: the three lines, and every group that is drawn.
    axes_ : tuple of two matplotlib.axes.Axes
        Where the curves and the groups were drawn.
    figure_ : matplotlib.figure.Figure
    """

    def __init__(self, summary: Summary) -> None:
        self.summary, self._words = summary, vocabulary(summary.kind)
        self.groups = [one for one in (all_rows(summary), *first_groups(summary)[:MOST]) if one is not None]
        happened, predicted = self._words.heads
        answer = summary.answer
        each = " ".join(
            f"{one.name}, {one.n:,} rows: {spoken(one.predicted)} {predicted}, "
            f"{spoken(one.happened.value or 0.0)} {happened}"
            f"{'' if one.corrected is None else f', {spoken(one.corrected)} corrected'}."
            for one in self.groups
        )
        self.alt_text = " ".join(filter(None, (answer.headline, answer.reason, answer.action, each)))

    def plot(self, axes: tuple[Axes, Axes] | None = None) -> OverviewDisplay:
        """Draw on two axes; by default on those of a new figure, which also gets the three lines."""
        from miscal.base.extras import need

        need("plot", "found.plot")
        import matplotlib.pyplot as plt

        if axes is None:
            size = (12.5, max(4.9, 1.9 + 0.5 * len(self.groups)))
            figure, axes = plt.subplots(1, 2, figsize=size, width_ratios=(1, 1.2), layout="constrained")
            answer = self.summary.answer
            figure.suptitle(wrapped(answer.headline, 90, 3), x=0.01, ha="left", fontweight="bold")
            below = "\n".join(wrapped(one, 150, 2) for one in (answer.reason, answer.action))
            figure.supxlabel(below, x=0.01, ha="left", fontsize="medium")
        self.axes_, self.figure_ = axes, axes[0].figure
        palette = colours(axes[0])
        palette |= {"all": palette["good"], "": palette["ink"]}
        self._curves(axes[0], palette)
        self._forest(axes[1], palette)
        return self

    def _curves(self, ax: Axes, colour: dict[str, str]) -> None:
        pairs = {"all": self.summary.curves.all}
        pairs |= {one.colour: self.summary.curves.findings[one.number - 1] for one in self.groups if one.number}
        drawn = curves_of(self.summary, [one for one in self.groups if one.number], (0.0, _SIDE), (_SIDE, 0.0))
        shown = [] if drawn is None else drawn.states["raw"]
        whole = (0.0, 1.0)
        across, up, ends = (
            (whole,) * 3 if drawn is None else ((drawn.x.low, drawn.x.high), (drawn.y.low, drawn.y.high), drawn.ends)
        )
        for one in shown:
            curve = pairs[one.colour].raw
            wide = 3 if one.colour == "all" else 1.8
            ax.plot(curve.confidence, curve.accuracy, color=colour[one.colour], lw=wide)
            ax.fill_between(curve.confidence, curve.low, curve.high, color=colour[one.colour], alpha=0.08, lw=0)
        for one in shown:
            _name(ax, one, colour)
        ax.plot(ends, ends, ls=":", lw=1, color=colour["muted"])
        ax.set(xlim=across, ylim=up, box_aspect=1, anchor="N")
        ax.set(xlabel=f"{self._words.heads[1]}, %", ylabel=f"{self._words.heads[0]}, %")
        percent_axis(ax.xaxis)
        percent_axis(ax.yaxis)

    def _forest(self, ax: Axes, colour: dict[str, str]) -> None:
        rows = self.groups
        for place, one in enumerate(rows):
            own, (low, high) = colour[one.colour], one.happened.interval or (None, None)
            ax.axhline(place, color=colour["rule"], lw=0.8, zorder=0)
            if low is not None and high is not None:
                ax.plot([low, high], [place, place], color=own, lw=7, alpha=0.2, solid_capstyle="round")
            ax.plot([one.predicted, one.happened.value], [place, place], color=own, lw=1.6)
            ax.plot(one.predicted, place, "o", mfc=ax.get_facecolor(), mec=own, ms=7)
            ax.plot(one.happened.value, place, "o", color=own, ms=7)
            if one.equal is not None:
                ax.plot(one.equal, place, "D", color=colour["muted"], ms=4)
            if one.corrected is not None:
                ax.plot(one.corrected, place, "|", color=colour["muted"], ms=14)
            _numbers(ax, place, one, own, colour)
        names = [f"{wrapped(one.name, 34, 2)}\n{one.n:,} rows" for one in rows]
        ax.set_yticks(range(len(rows)), names, fontsize="small")
        happened, predicted = self._words.heads
        ax.set_ylim(max(len(rows), _FEWEST) - 0.4, -0.6)
        ax.set_xlim(*fitted_range([end for one in rows for end in one.ends] or [0.0, 1.0]))
        equal = f"   ◆ others of equal {self._words.probability}" if any(one.equal is not None for one in rows) else ""
        ax.set_xlabel(f"○ {predicted}   ● {happened}   | corrected{equal}, %")
        for at, head in zip(_COLUMNS, (predicted, happened, "corrected"), strict=True):
            text = "\n".join(textwrap.wrap(head, 9))
            ax.annotate(text, (1, 1), xytext=(at, 0), xycoords="axes fraction", textcoords="offset points", ha="right",
                        va="bottom", fontsize="small", color=colour["muted"], annotation_clip=False)  # fmt: skip
        percent_axis(ax.xaxis)
        ax.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)


def _name(ax: Axes, curve: Curve, colour: dict[str, str]) -> None:
    """Write the name of a curve where the page has it."""
    from matplotlib.patheffects import withStroke

    across, up = Scale(0.0, _SIDE, 0.0, 1.0), Scale(_SIDE, 0.0, 0.0, 1.0)
    ax.text(
        across(curve.x), up(curve.y), literal(curve.name), transform=ax.transAxes, color=colour[curve.colour],
        ha="center", va="baseline", fontsize="small",
        fontweight="bold", path_effects=[withStroke(linewidth=3, foreground=ax.get_facecolor())],
    )  # fmt: skip


def _numbers(ax: Axes, place: int, one: Group, own: str, colour: dict[str, str]) -> None:
    """Write what was predicted, what happened and what the correction says beside a group."""
    corrected = "" if one.corrected is None else spoken(one.corrected)
    texts = (spoken(one.predicted), spoken(one.happened.value or 0.0), corrected)
    for at, text, shade in zip(_COLUMNS, texts, (colour["ink"], own, colour["muted"]), strict=True):
        weight = "bold" if shade == own and at == _COLUMNS[1] else "normal"
        ax.annotate(text, (1, place), xytext=(at, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
                    ha="right", va="center", color=shade, fontweight=weight, annotation_clip=False)  # fmt: skip
