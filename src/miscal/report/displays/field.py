"""One column of a run: how much more or less often each of its values comes true than rows of equal probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.errors import InputError
from miscal.base.vocabulary import ANSWER, EVENT, Kind, vocabulary
from miscal.discovery.findings import named_findings
from miscal.discovery.tables import Tables
from miscal.findings.ledger import ColumnValue
from miscal.report.displays.display import Display, check_some, literal, percent_axis, wrapped
from miscal.report.formatting import bounds, count, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 30
"""Values that are drawn: those that most rows have, in their order."""


class FieldDisplay(Display):
    """The hidden residual along a column, before and after the correction.

    Parameters
    ----------
    values : sequence of ColumnValue
        Of one column, in the order in which they are shown.
    kind : {"answer", "event", "judge"}, default "answer"
        What the probability is of.

    Attributes
    ----------
    column : str
    values, kind
        As given; the 30 values with the most rows are drawn.
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> from miscal.findings.conditions import Value
    >>> off = Measure(value=-0.2, interval=(-0.3, -0.1))
    >>> law = ColumnValue(column="topic", condition=Value("topic", "law", "text"), n=90, share=0.1, accuracy=0.5,
    ...                   confidence=0.7, residual=off, hidden=off, mark="finding", finding=1)
    >>> FieldDisplay([law]).alt_text
    'topic, hidden residual by value: law (90 rows) −20.0 points (−30.0 to −10.0), finding 1.'
    """

    def __init__(self, values: Sequence[ColumnValue], *, kind: Kind = ANSWER) -> None:
        check_some(values, "values of the column")
        most = sorted(range(len(values)), key=lambda place: -values[place].n)[:MOST]
        self.values, self.kind = tuple(values[place] for place in sorted(most)), kind
        self.column = values[0].column
        self._words = vocabulary(kind)
        self.size = (7.0, 1.6 + 0.34 * max(3, len(self.values)))

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
        """Measure and draw every value of one column, without a run.

        Parameters
        ----------
        y_true, y_prob, sample_weight, kind, ax, random_state
            As for :meth:`FindingsDisplay.from_predictions`.
        by : array-like of shape (n,)
            The column.

        Returns
        -------
        FieldDisplay
        """
        found = named_findings(y_true, y_prob, by, sample_weight=sample_weight, seed=random_state)
        columns = {one.column for one in found.values}
        if len(columns) != 1:
            raise InputError(f"by must be one column whose values repeat; got {len(columns)} such columns")
        return cls(found.values, kind=kind).plot(ax)

    @classmethod
    def from_tables(cls, tables: Tables, column: str, *, kind: Kind = ANSWER, ax: Any = None) -> Self:
        """Draw a named column of a run.

        Parameters
        ----------
        tables : mapping of str to tuple of ColumnValue
            The tables of the run (:func:`miscal.discovery.tables.tables_of` makes them of ``columns.parquet``).
        column : str
            One of them.
        kind : {"answer", "event", "judge"}, default "answer"
            What the probability is of.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        FieldDisplay

        Raises
        ------
        InputError
            If the run has no table of that column.
        """
        if column not in tables:
            known = value_list(list(tables)) if tables else "none"
            raise InputError(
                f"column {column!r} is not among the named columns of the run ({known}){did_you_mean(column, tables)}"
            )
        return cls(tables[column], kind=kind).plot(ax)

    @property
    def alt_text(self) -> str:
        """Every value that is drawn, in words."""
        values = "; ".join(
            f"{one.value} ({count(one.n)} rows) {points(one.hidden.value)} points ({bounds(one.hidden.interval)}), "
            f"{one.told}"
            for one in self.values
        )
        return f"{self.column}, hidden residual by value: {values}."

    def _draw(self, ax: Axes, colour: dict[str, str]) -> None:
        words = self._words
        styles = {
            f"finding, {words.often('over')}": {"color": colour["over"]},
            f"finding, {words.often('under')}": {"color": colour["under"]},
            "explained by a finding": {"color": colour["ink"]},
            "no finding": {"color": colour["good"]},
            "left after the correction": {"mfc": "none", "mec": colour["muted"]},
        }
        over, under, explained, other, left = styles
        drawn = set()
        for place, one in enumerate(self.values):
            value, (low, high) = one.hidden.value, one.hidden.interval or (None, None)
            if value is None:
                continue
            proven = one.mark == "finding"
            label = (over if value < 0 else under) if proven else explained if one.mark == "explained" else other
            if low is not None and high is not None:
                ax.plot([low, high], [place, place], lw=1.4, **styles[label])
            ax.plot(value, place, "o", ms=7 if proven else 5, **styles[label])
            drawn.add(label)
            if one.after.value is not None:
                ax.plot(one.after.value, place + 0.22, "o", ms=5, **styles[left])
                drawn.add(left)
        for label in filter(drawn.__contains__, styles):
            ax.plot([], [], ls="", marker="o", label=label, **styles[label])
        names = [f"{wrapped(one.value, 34, 2)}  ({count(one.n)})" for one in self.values]
        ax.set_yticks(range(len(names)), names, fontsize="small")
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.axvline(0.0, color=colour["muted"], lw=0.8)
        percent_axis(ax.xaxis)
        ax.set(xlabel=f"{words.rate} against {words.equal_rows()}, points", ylabel=literal(f"{self.column} (rows)"))
        ax.legend(fontsize="small", frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0)
