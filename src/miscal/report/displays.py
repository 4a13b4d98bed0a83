"""Drawings on matplotlib axes: made of finished values, drawn by `plot`, and described by `alt_text`.

Here are the first screen of a run and its findings as bars; :mod:`miscal.report.reliability` has the diagram.
matplotlib is imported when something is drawn, and not before; ``pip install "miscal[plot]"`` brings it.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from miscal.base.number_wording import spoken
from miscal.base.process import need
from miscal.base.vocabulary import ANSWER, EVENT, Kind, vocabulary
from miscal.discovery.discover import named_findings
from miscal.discovery.summary import Summary
from miscal.findings.ledger.document import Finding
from miscal.report.formatting import begin, bounds, clean, count, points
from miscal.report.frame import COLOURS
from miscal.report.groups import Curve, all_rows, curves_of, first_groups, fitted_range, off_by_themselves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


_DARK = 0.4
"""Axes whose background is darker than this, from 0 to 1, get the colours of the report on a dark screen."""


class Display(ABC):
    """A drawing of finished values.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was drawn last.
    figure_ : matplotlib.figure.Figure
        The figure of these axes.
    """

    ax_: Axes
    figure_: Figure | SubFigure
    size = (6.4, 4.8)
    """Inches of the figure that is made where no axes are given."""

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; by default in a new figure.

        Returns
        -------
        Display
            self, with `ax_` and `figure_`.

        Raises
        ------
        InputError
            If matplotlib is not installed.
        """
        need("plot", type(self).__name__)
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(figsize=self.size, layout="constrained")[1]
        self.ax_ = ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, colours(self.ax_))
        return self

    @property
    @abstractmethod
    def alt_text(self) -> str:
        """What the drawing shows, in whole sentences, for those who cannot see it."""

    @abstractmethod
    def _draw(self, ax: Axes, colour: dict[str, str]) -> None:
        """Draw on the axes, with the colours of the report by their names."""


def colours(ax: Any) -> dict[str, str]:
    """Return the colours of the report by their names: those of a dark screen where the axes are dark.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> colours(Figure().add_subplot())["over"], colours(Figure().add_subplot(facecolor="black"))["over"]
    ('#bf4a12', '#f0884a')
    """
    from matplotlib.colors import to_rgb

    # weights of the eye for red, green and blue (ITU-R BT.709)
    light = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), to_rgb(ax.get_facecolor()), strict=True))
    return {name: shades[light < _DARK] for name, shades in COLOURS.items()}


def literal(text: Any, length: int = 60) -> str:
    r"""Write a text beside a drawing, cut to a length: a dollar sign in it starts no formula.

    Examples
    --------
    >>> literal("from $5 to $10"), literal("abcdef", 4)
    ('from \\$5 to \\$10', 'abc…')
    """
    text = " ".join(clean(text).split())
    return (text if len(text) <= length else text[: length - 1] + "…").replace("$", r"\$")


def wrapped(text: Any, width: int, most: int) -> str:
    r"""Write a text in lines of a width, `most` of them; what is left over is cut between words.

    Examples
    --------
    >>> wrapped("humidity at least 70 in spring", 14, 2), wrapped("humidity at least 70", 14, 2)
    ('humidity at\nleast 70 in …', 'humidity at\nleast 70')
    """
    text = " ".join(clean(text).split())
    return "\n".join(literal(line, 10 * width) for line in textwrap.wrap(text, width, max_lines=most, placeholder=" …"))


def percent_axis(axis: Any) -> None:
    """Label an axis of probabilities, or of differences between them, in per cent or points."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6g}".replace("-", "\u2212")))


MOST_GROUPS = 8
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
        groups = off_by_themselves(first_groups(summary))[:MOST_GROUPS]
        self.groups = [one for one in (all_rows(summary), *groups) if one is not None]
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
        from miscal.base.process import need

        need("plot", "found.plot")
        if axes is None:
            import matplotlib.pyplot as plt

            size = (12.5, max(4.9, 1.9 + 0.5 * len(self.groups)))
            figure, axes = plt.subplots(1, 2, figsize=size, width_ratios=(1, 1.2), layout="constrained")
            answer = self.summary.answer
            figure.suptitle(wrapped(answer.headline, 90, 3), x=0.01, ha="left", fontweight="bold")
            below = "\n".join(wrapped(one, 150, 2) for one in (answer.reason, answer.action))
            figure.supxlabel(below, x=0.01, ha="left", fontsize="medium")
        self.axes_, self.figure_ = axes, axes[0].figure
        palette = colours(axes[0])
        palette |= {"all": palette["good"], "": palette["ink"]}
        self._draw_curves(axes[0], palette)
        self._draw_forest(axes[1], palette)
        return self

    def _draw_curves(self, ax: Axes, colour: dict[str, str]) -> None:
        from matplotlib.patheffects import withStroke

        pairs = {"all": self.summary.curves.all, **{one.colour: one.curves for one in self.groups if one.number}}
        drawn = curves_of(self.summary, [one for one in self.groups if one.number], (0.0, _SIDE), (_SIDE, 0.0))
        across = up = ends = (0.0, 1.0)
        shown: Sequence[Curve] = ()
        if drawn is not None:
            across, up, ends = (drawn.x.low, drawn.x.high), (drawn.y.low, drawn.y.high), drawn.ends
            shown = drawn.states["raw"]
        for one in shown:
            curve, own = pairs[one.colour].raw, colour[one.colour]
            ax.plot(curve.confidence, curve.accuracy, color=own, lw=3 if one.colour == "all" else 1.8)
            ax.fill_between(curve.confidence, curve.low, curve.high, color=own, alpha=0.08, lw=0)
        for one in shown:
            # names stand where the page has them
            ax.text(
                *(round(one.x / _SIDE, 2), round((_SIDE - one.y) / _SIDE, 2), literal(one.name)),
                transform=ax.transAxes, color=colour[one.colour],
                ha="center", va="baseline", fontsize="small", fontweight="bold",
                path_effects=[withStroke(linewidth=3, foreground=ax.get_facecolor())],
            )  # fmt: skip
        ax.plot(ends, ends, ls=":", lw=1, color=colour["muted"])
        ax.set(xlim=across, ylim=up, box_aspect=1, anchor="N")
        ax.set(xlabel=f"{self._words.heads[1]}, %", ylabel=f"{self._words.heads[0]}, %")
        for axis in (ax.xaxis, ax.yaxis):
            percent_axis(axis)

    def _draw_forest(self, ax: Axes, colour: dict[str, str]) -> None:
        rows = self.groups

        def beside(text: str, end: tuple[int, int], at: int, **style: Any) -> None:
            style |= {"xytext": (at, 0), "textcoords": "offset points", "ha": "right", "annotation_clip": False}
            ax.annotate(text, end, **style)

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
            corrected = "" if one.corrected is None else spoken(one.corrected)
            texts = (spoken(one.predicted), spoken(one.happened.value or 0.0), corrected)
            for at, text, shade in zip(_COLUMNS, texts, (colour["ink"], own, colour["muted"]), strict=True):
                weight = "bold" if shade == own and at == _COLUMNS[1] else "normal"
                beside(text, (1, place), at, va="center", color=shade, fontweight=weight,
                       xycoords=ax.get_yaxis_transform())  # fmt: skip
        names = [f"{wrapped(one.name, 34, 2)}\n{one.n:,} rows" for one in rows]
        ax.set_yticks(range(len(rows)), names, fontsize="small")
        happened, predicted = self._words.heads
        ax.set_ylim(max(len(rows), _FEWEST) - 0.4, -0.6)
        ax.set_xlim(*fitted_range([end for one in rows for end in one.ends] or [0.0, 1.0]))
        equal = f"   ◆ others of equal {self._words.probability}" if any(one.equal is not None for one in rows) else ""
        ax.set_xlabel(f"○ {predicted}   ● {happened}   | corrected{equal}, %")
        for at, head in zip(_COLUMNS, (predicted, happened, "corrected"), strict=True):
            beside("\n".join(textwrap.wrap(head, 9)), (1, 1), at, va="bottom", color=colour["muted"],
                   xycoords="axes fraction", fontsize="small")  # fmt: skip
        percent_axis(ax.xaxis)
        ax.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)


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
