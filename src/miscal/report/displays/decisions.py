"""Decisions at a threshold: what the model promises of the rows it acts on, and what was observed of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import ANSWER, EVENT, Kind, vocabulary
from miscal.calibration.metrics.checked_rows import check_predictions
from miscal.discovery.summary import Summary
from miscal.findings.decisions import Decision, Thresholds, decide
from miscal.report.displays.display import Display, check_some, percent_axis
from miscal.report.formatting import count
from miscal.report.groups import fitted_range
from miscal.report.texts import begin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART, _LEAST = 0.006, 0.02
"""How far dots of one threshold stand apart, in parts of the axis; and how far intervals are shown at least."""
_STATES = {"before": "observed", "after": "observed after the correction"}


class DecisionDisplay(Display):
    """Promised and observed rates of the rows at or above each threshold.

    Parameters
    ----------
    decisions : sequence of Decision
        By rising threshold.
    kind : {"answer", "event", "judge"}, default "answer"
        What the probability is of.
    corrected : bool, default True
        Whether there is a correction to draw beside the probabilities as given.

    Attributes
    ----------
    decisions, kind, corrected
        As given.
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(400)
    >>> shown = DecisionDisplay.from_predictions(rng.random(400) < p**2, p, threshold=0.8)
    >>> "Threshold 80 %: of 99 rows at or above it, 90 % are promised" in shown.alt_text
    True
    """

    def __init__(self, decisions: Sequence[Decision], *, kind: Kind = ANSWER, corrected: bool = True) -> None:
        check_some(decisions, "decisions")
        self.decisions, self.kind, self.corrected = tuple(decisions), kind, corrected
        self._words = vocabulary(kind)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        threshold: Any = (),
        cost: Any = None,
        kind: Kind = EVENT,
        ax: Any = None,
    ) -> Self:
        """Draw what acting on probabilities leads to.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes, 0 or 1.
        y_prob : array-like of shape (n,)
            Probabilities in [0, 1].
        sample_weight : array-like of shape (n,), optional
            Non-negative; all 1 by default.
        threshold : float or sequence of float in (0, 1), optional
            Beside a grid of thresholds in the range of the probabilities.
        cost : (float, float), optional
            What a miss and what a needless action cost; the threshold that they imply is drawn, too.
        kind : {"event", "answer", "judge"}, default "event"
            What the probability is of.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        DecisionDisplay

        Raises
        ------
        InputError
            If an array is empty, not finite or out of range, lengths differ, or a threshold is not in (0, 1).
        """
        rows = check_predictions(y_true, y_prob, sample_weight)
        found = decide(rows, rows.confidence, Thresholds.of(threshold, cost))
        return cls(found, kind=kind, corrected=False).plot(ax)

    @classmethod
    def from_summary(cls, summary: Summary, *, ax: Any = None) -> Self:
        """Draw the decisions of a run, before and after its correction."""
        return cls(summary.decisions, kind=summary.kind).plot(ax)

    @property
    def alt_text(self) -> str:
        """Every threshold in words."""
        words = self._words
        lines = [f"Promised and observed {words.rate} of the rows at or above each threshold."]
        for one in self.decisions:
            side = one.before
            line = f"Threshold {threshold_text(one.threshold)}: of {count(side.n)} rows at or above it"
            if side.n:
                line += f", {rate(side.promised or 0.0)} are promised and {rate(side.observed.value or 0.0)} observed"
                line += f" ({rate(side.low)} to {rate(side.high)}), {'broken' if side.broken else 'kept within chance'}"
            lines.append(f"{line}.")
        return " ".join(lines)

    def _draw(self, ax: Axes, colour: dict[str, str]) -> None:
        words = self._words
        shades = {"before": colour["c0"], "after": colour["c2"]}
        states = ("before", "after") if self.corrected else ("before",)
        at = [one.threshold for one in self.decisions]
        # side by side, so that neither interval hides the other
        apart = _APART * (max(at) - min(at)) if self.corrected else 0.0
        for state, shift in zip(states, (-apart, apart), strict=False):
            drawn = [(one.threshold, side) for one in self.decisions if (side := getattr(one, state)).n]
            ax.plot([at for at, _ in drawn], [side.promised for _, side in drawn], color=shades[state], lw=1,
                    ls=(0, (4, 3)), label=_STATES[state].replace("observed", "promised"))  # fmt: skip
            for threshold, side in drawn:
                ax.plot([threshold + shift] * 2, [side.low, side.high], color=shades[state], lw=1, alpha=0.6)
                hollow = {} if side.broken else {"mfc": colour["paper"]}
                ax.plot(threshold + shift, side.observed.value, "o", color=shades[state], ms=5, clip_on=False, **hollow)
            ax.plot([], [], "o", color=shades[state], label=_STATES[state])
        ax.set_ylim(*self._range(states))
        for axis in (ax.xaxis, ax.yaxis):
            percent_axis(axis)
        ax.set(xlabel="threshold, %", ylabel=f"{words.rate} of {words.cases} at or above it, %")
        title = f"{begin(words.cases)} that are {words.acted}; filled dots: the promise is broken"
        ax.set_title(title, fontsize="small", color=colour["muted"], pad=18 * len(states) + 6, loc="left")
        ax.legend(fontsize="small", frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0)

    def _range(self, states: Sequence[str]) -> tuple[float, float]:
        """Return a range that holds promises and outcomes, and intervals as far as they are no wider than these."""
        sides = [side for one in self.decisions for state in states if (side := getattr(one, state)).n]
        known = [one for side in sides for one in (side.promised, side.observed.value) if one is not None]
        if not known:
            return 0.0, 1.0
        low, high = min(known), max(known)
        wide = max(high - low, _LEAST)
        ends = [end for side in sides for end in (side.low, side.high) if end is not None]
        return fitted_range([low, high, *(min(max(end, low - wide), high + wide) for end in ends)])
