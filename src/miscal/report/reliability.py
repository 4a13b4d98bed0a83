"""The reliability diagram: a smooth curve with its band, its error and floor, and how the probabilities are spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from miscal.base.arrays import value_list
from miscal.base.checks import check_lengths
from miscal.base.errors import InputError
from miscal.base.vocabulary import EVENT, Kind, vocabulary
from miscal.calibration.labelled_rows import class_column
from miscal.calibration.metrics.curve import SmoothReliabilityCurve, smooth_reliability_curve
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.report.displays import Display, literal, percent_axis
from miscal.report.formatting import begin, count, percent, size
from miscal.report.frame import CATEGORIES
from miscal.report.groups import fitted_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CURVES = 6
"""More curves than this cannot be told apart: the commonest values get one each, and the others share one."""

MOST_VALUES, _RANGES = 12, 4
"""Numbers and dates with more distinct values than this are cut into so many ranges, of about as many rows each."""

_HISTOGRAM = 0.12
"""Height of the largest bar of the histogram, in parts of the drawing."""

_UNSURE, _LEAST = 0.3, 0.02
"""Width of the band from which on a curve may leave the drawing, and the least range of an axis."""

_ALL, _OTHERS, _MISSING = "all rows", "other values", "(missing)"


class ReliabilityDisplay(Display):
    """A reliability diagram: how often the outcome is 1, against the probability that was stated.

    Make it with :meth:`from_predictions` or :meth:`from_estimator`.

    Parameters
    ----------
    curves : mapping of str to SmoothReliabilityCurve
        A curve for each name, in the order of the legend.
    kind : {"event", "answer", "judge"}, default "event"
        What the probability is of, which decides the words: "event" speaks of predicted risk and event rate,
        "answer" of confidence and accuracy.
    name : str, optional
        Of the model, for the legend.

    Attributes
    ----------
    curves, kind, name
        As given.
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> shown = ReliabilityDisplay.from_predictions(rng.random(500) < p**2, p, name="model")
    >>> shown.ax_.get_xlabel(), shown.alt_text.splitlines()[0][:62]
    ('predicted risk, %', 'Reliability diagram: event rate against predicted risk. model ')
    """

    size = (5.2, 5.0)

    def __init__(
        self, curves: Mapping[str, SmoothReliabilityCurve], *, kind: Kind = EVENT, name: str | None = None
    ) -> None:
        if not curves:
            raise InputError("there are no curves to draw")
        self.curves, self.kind, self.name = dict(curves), kind, name
        self._words, self._ref_line = vocabulary(kind), True

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        by: Any = None,
        pos_label: Any = None,
        kind: Kind = EVENT,
        ax: Any = None,
        name: str | None = None,
        ref_line: bool = True,
        random_state: int = 0,
    ) -> Self:
        """Draw a diagram of outcomes and probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes: 0 or 1, or labels of which `pos_label` names one.
        y_prob : array-like of shape (n,)
            Probabilities in [0, 1] that the outcome is 1.
        sample_weight : array-like of shape (n,), optional
            Non-negative; all 1 by default.
        by : array-like of shape (n,), optional
            A value of each row: every value that 30 rows have gets a curve of its own, the six commonest at most.
            Numbers and dates of more than twelve distinct values are cut into four ranges of about as many rows.
        pos_label : object, optional
            The label that counts as 1; by default `y_true` holds 0 and 1.
        kind : {"event", "answer", "judge"}, default "event"
            As for the class.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        name : str, optional
            Of the model, for the legend.
        ref_line : bool, default True
            Whether to draw the diagonal, on which a calibrated model lies.
        random_state : int, default 0
            Of the draws behind floor and interval of smECE.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        InputError
            If matplotlib is not installed, or an array is empty, not finite or out of range, or lengths differ.
        """
        check_lengths(y_true=y_true, y_prob=y_prob, sample_weight=sample_weight, by=by)
        outcome = y_true if pos_label is None else np.asarray(y_true) == pos_label
        y, p = np.asarray(outcome), np.asarray(y_prob)
        if p.ndim != 1:
            raise InputError(
                f"y_prob must be one-dimensional, the probability of one class; its shape is {p.shape}. "
                "Of a matrix of several classes give one column, and y_true as whether it is that class"
            )
        weight = None if sample_weight is None else np.asarray(sample_weight)
        curves = {
            label: smooth_reliability_curve(
                y[rows], p[rows], sample_weight=None if weight is None else weight[rows], random_state=random_state
            )
            for label, rows in _slices(by, len(p)).items()
        }
        return cls(curves, kind=kind, name=name).plot(ax, ref_line=ref_line)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        by: Any = None,
        pos_label: Any = None,
        kind: Kind = EVENT,
        ax: Any = None,
        name: str | None = None,
        ref_line: bool = True,
        random_state: int = 0,
    ) -> Self:
        """Draw a diagram of a fitted classifier of two classes.

        Parameters
        ----------
        estimator : object
            With `predict_proba` and `classes_`.
        X : array-like of shape (n, d)
            Inputs that it was not fitted on.
        y : array-like of shape (n,)
            Their classes.
        pos_label : object, optional
            The class whose probability is drawn; by default the second of `classes_`.
        name : str, optional
            For the legend; by default the name of the estimator's class.
        sample_weight, by, kind, ax, ref_line, random_state
            As for :meth:`from_predictions`.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        InputError
            If the estimator has no `predict_proba`, `pos_label` is none of its classes, or it has more than two classes
            and none was named.
        """
        classes, column = class_column(estimator, pos_label)
        return cls.from_predictions(
            np.asarray(y) == classes[column],
            np.asarray(estimator.predict_proba(X))[:, column],
            sample_weight=sample_weight,
            by=by,
            kind=kind,
            ax=ax,
            name=type(estimator).__name__ if name is None else name,
            ref_line=ref_line,
            random_state=random_state,
        )

    def plot(self, ax: Any = None, *, name: str | None = None, ref_line: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; by default in a new figure.
        name : str, optional
            Of the model, for the legend; by default that of the display.
        ref_line : bool, default True
            Whether to draw the diagonal.

        Returns
        -------
        ReliabilityDisplay
            self, with `ax_` and `figure_`.
        """
        self.name = self.name if name is None else name
        self._ref_line = ref_line
        return super().plot(ax)

    @property
    def alt_text(self) -> str:
        """What the diagram shows, in whole sentences."""
        words = self._words
        lines = [f"Reliability diagram: {words.rate} against {words.probability}."]
        lines += [f"{self._label(label)} ({count(c.n)} rows): {_in_words(c)}" for label, c in self.curves.items()]
        return " ".join(lines)

    def _label(self, label: str) -> str:
        return label if label != _ALL else self.name or begin(_ALL)

    def _draw(self, ax: Axes, colour: dict[str, str]) -> None:
        words = self._words
        low, high = self._range()
        if self._ref_line:
            ax.plot([low, high], [low, high], color=colour["muted"], lw=1, ls=(0, (4, 3)), label="calibrated")
        alone = len(self.curves) == 1
        shades = [colour["c0"]] if alone else [colour[name] for name in CATEGORIES]
        for shade, (label, curve) in zip(shades, self.curves.items(), strict=False):
            error = curve.smece
            said = f"smECE {size(error.value)} points, floor {size(error.floor)}"
            ax.fill_between(curve.confidence, curve.low, curve.high, color=shade, alpha=0.16, lw=0)
            # a single probability is a point, no line
            mark = "o" if len(curve.confidence) == 1 else None
            ax.plot(curve.confidence, curve.accuracy, color=shade, lw=2, marker=mark,
                    label=f"{literal(self._label(label), 32)}: {said}")  # fmt: skip
            heights = low + _HISTOGRAM * (high - low) * curve.counts / max(1, curve.counts.max())
            ax.stairs(heights, curve.edges, baseline=low, color=shade, alpha=0.3 if alone else 0.7, fill=alone, lw=1)
        ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        ax.set(xlabel=f"{words.probability}, %", ylabel=f"{words.rate}, %")
        for axis in (ax.xaxis, ax.yaxis):
            percent_axis(axis)
        if self.name and not alone:
            ax.set_title(literal(self.name))
        ax.legend(loc="upper left", fontsize="small", frameon=False)

    def _range(self) -> tuple[float, float]:
        """Return the range of both axes: probabilities and curves, which leave it where hardly any rows are."""
        stated = [one for curve in self.curves.values() for one in curve.confidence]
        low, high = min(stated), max(stated)
        wide = max(high - low, _LEAST)
        ends = [low, high]
        for curve in self.curves.values():
            near = np.clip(curve.accuracy, low - wide, high + wide)
            ends += [*np.where(curve.high - curve.low <= _UNSURE, curve.accuracy, near)]
        return fitted_range(ends)


def _in_words(curve: SmoothReliabilityCurve) -> str:
    """Say how large the error is and where it is largest."""
    error = curve.smece
    low, high = error.interval or (0.0, 1.0)
    text = (
        f"smECE is {size(error.value)} points (95 % interval {size(low)} to {size(high)}); "
        f"a calibrated model would show {size(error.floor)}."
    )
    # how far the band keeps off the diagonal
    off = np.maximum(curve.low - curve.confidence, curve.confidence - curve.high)
    place = int(np.argmax(off))
    if off[place] <= 0:
        return f"{text} The band holds the diagonal everywhere."
    stated, seen = curve.confidence[place], curve.accuracy[place]
    return (
        f"{text} The band is furthest from the diagonal at {percent(stated, 0)}, where the rate is {percent(seen, 0)}."
    )


def _slices(by: Any, n: int) -> dict[str, np.ndarray]:
    """Return the rows of each value; all rows where nothing is asked."""
    if by is None:
        return {_ALL: np.arange(n)}
    values = np.asarray(by)
    ordered = values.dtype.kind in "iufM" and len(np.unique(values)) > MOST_VALUES
    return _ranges(values) if ordered else _commonest(values)


def _ranges(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return four ranges of numbers or dates that about as many rows have each, rising, and the rows without one."""
    known = np.flatnonzero(values == values)
    shown = np.sort(values[known])
    parts = np.searchsorted(shown, values[known], side="right") * _RANGES // (len(known) + 1)
    found = {}
    for part in np.unique(parts):
        rows = known[parts == part]
        low, high = values[rows].min(), values[rows].max()
        found[f"{low:.4g} to {high:.4g}" if values.dtype.kind in "iuf" else f"{low} to {high}"] = rows
    missing = np.flatnonzero(values != values)
    return found | ({_MISSING: missing} if len(missing) >= MIN_SLICE_ROWS else {})


def _commonest(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows of each value, the commonest first, and those of all others together."""
    texts = np.array([_MISSING if one is None or one != one else str(one) for one in values.tolist()])
    names, number, sizes = np.unique(texts, return_inverse=True, return_counts=True)
    order = [k for k in np.argsort(-sizes, kind="stable") if sizes[k] >= MIN_SLICE_ROWS]
    if not order:
        raise InputError(
            f"by has no value that {MIN_SLICE_ROWS} rows or more have; "
            f"it has {len(names)} ({value_list(names.tolist())})"
        )
    whole = len(order) == len(names) <= MOST_CURVES
    kept = order if whole else order[: MOST_CURVES - 1]
    found = {str(names[k]): np.flatnonzero(number == k) for k in kept}
    others = np.flatnonzero(~np.isin(number, kept))
    return found | ({_OTHERS: others} if len(others) >= MIN_SLICE_ROWS else {})
