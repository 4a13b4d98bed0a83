"""The map of a run: its rows on a plane, by the learned geometry or by their inputs, coloured by the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.errors import InputError
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.report.displays.display import SHADES, Display, literal, percent_axis
from miscal.report.formatting import count, percent, points
from miscal.report.legend import FIELD_NAMES, PANES, REGIMES, field_ends
from miscal.report.map_data import COLUMN_PREFIXES, coded, colour_limit, column_name

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

_FEW_NUMBERS = 12
"""A column of numbers with at most so many distinct values is drawn as categories, as on the page."""


class MapDisplay(Display):
    """Rows on a plane, each a point.

    Parameters
    ----------
    map : polars.DataFrame
        The map of a run: ``map.parquet``.
    colour : str, default "hidden"
        What colours the points: "hidden", "delta" or "visible" (fields), "regime", "confidence", "corrected",
        "correct", or the name of a metadata or input column.
    pane : {"learned", "raw"}, default "learned"
        Positions by the learned geometry, in which rows that are miscalibrated alike lie close, or by the inputs.
    kind : {"answer", "event", "judge"}, default "answer"
        What the probability is of.

    Attributes
    ----------
    colour, pane, kind
        As given.
    ax_, figure_
        Where it was drawn.

    Raises
    ------
    InputError
        If there is no such colouring or pane.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"learned_1": [0.0, 1.0], "learned_2": [0.0, 1.0], "hidden": [-0.2, 0.2]})
    >>> MapDisplay(rows).alt_text
    'Map of 2 rows in the learned geometry, coloured by hidden field: from −20.0 to +20.0 points.'
    """

    def __init__(
        self, map: pl.DataFrame, *, colour: str = "hidden", pane: str = "learned", kind: Kind = ANSWER
    ) -> None:
        if pane not in PANES:
            raise InputError(f"pane must be one of {', '.join(PANES)}; got {pane!r}")
        self.colour, self.pane, self.kind = colour, pane, kind
        self._values = _column(map, colour)
        self._places = map.select(f"{pane}_1", f"{pane}_2").to_numpy()
        self._words = vocabulary(kind)

    @property
    def alt_text(self) -> str:
        """What is drawn, and the range or the values of what colours it."""
        where = "the learned geometry" if self.pane == "learned" else "the geometry of the inputs"
        return f"Map of {count(len(self._places))} rows in {where}, coloured by {self._title.lower()}: {self._range()}."

    @property
    def _title(self) -> str:
        own = {"confidence": self._words.probability, "corrected": f"corrected {self._words.probability}",
               "correct": self._words.outcome}  # fmt: skip
        return FIELD_NAMES.get(self.colour) or own.get(self.colour, self.colour)

    def _range(self) -> str:
        if not self._numbers:
            return value_list(coded(self._texts())["levels"])
        known = self._values[np.isfinite(self._values)]
        if not len(known):
            return "no value is known"
        low, high = float(known.min()), float(known.max())
        if self.colour in FIELD_NAMES:
            return f"from {points(low)} to {points(high)} points"
        if self.colour in ("confidence", "corrected"):
            return f"from {percent(low)} to {percent(high)}"
        return f"from {low:.4g} to {high:.4g}"

    @property
    def _numbers(self) -> bool:
        values = self._values
        return self.colour in FIELD_NAMES or (
            values.dtype.kind in "iuf" and self.colour != "correct" and len(np.unique(values)) > _FEW_NUMBERS
        )

    def _texts(self) -> list[str | None]:
        names = {0: self._words.other, 1: self._words.one} if self.colour == "correct" else {}
        known = [None if v is None or v != v else v for v in self._values.tolist()]
        return [None if v is None else str(names.get(v, f"{v:g}" if isinstance(v, float) else v)) for v in known]

    def _draw(self, ax: Axes, colour: dict[str, str]) -> None:
        (self._draw_numbers if self._numbers else self._draw_levels)(ax, colour)
        ax.set(xticks=[], yticks=[], title=literal(self._title))
        for spine in ax.spines.values():
            spine.set_color(colour["rule"])

    def _draw_numbers(self, ax: Axes, colour: dict[str, str]) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        field = self.colour in FIELD_NAMES
        scale = LinearSegmentedColormap.from_list(
            "report", [colour[c] for c in SHADES["field" if field else "numbers"]]
        )
        values = self._values.astype(np.float64)
        limit = colour_limit(values.tolist()) if field else None
        # what matters is drawn last, on top
        order = np.argsort(np.abs(np.nan_to_num(values)), kind="stable") if field else np.arange(len(values))
        known = order[np.isfinite(values[order])]
        drawn = ax.scatter(*self._places[known].T, c=values[known], cmap=scale, s=_area(len(values)), lw=0,
                           vmin=None if limit is None else -limit, vmax=limit, rasterized=True)  # fmt: skip
        bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
        if field:
            low, high = field_ends(self.colour, self._words)
            percent_axis(bar.ax.yaxis)
            bar.set_label(f"points; below 0: {low},\nabove 0: {high}", fontsize="small")
        elif self.colour in ("confidence", "corrected"):
            percent_axis(bar.ax.yaxis)
            bar.set_label("%")

    def _draw_levels(self, ax: Axes, colour: dict[str, str]) -> None:
        found = coded(self._texts())
        codes, shades = np.array(found["codes"]), SHADES["categories"]
        own = {name: colour[name] for name in REGIMES} if self.colour == "regime" else {}
        shown = min(len(found["levels"]), len(shades))
        rest = (codes < 0) | (codes >= shown)
        if rest.any():
            ax.scatter(*self._places[rest].T, color=colour["none"], s=_area(len(codes)), lw=0, label="other or none",
                       rasterized=True)  # fmt: skip
        for code in range(shown):
            name, at = found["levels"][code], codes == code
            label = self._words.regime(name) if own else name
            ax.scatter(*self._places[at].T, color=own.get(name, colour[shades[code]]), s=_area(len(codes)), lw=0,
                       label=literal(label, 30), rasterized=True)  # fmt: skip
        ax.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=2)


def _area(n: int) -> float:
    """Area of a point, in square points: all rows together cover about a fifth of the drawing."""
    return float(np.clip(20_000 / max(n, 1), 2.0, 36.0))


def _column(map: pl.DataFrame, colour: str) -> Any:
    by_name = {column_name(name): name for name in map.columns if name.startswith(COLUMN_PREFIXES)}
    own = [name for name in ("hidden", "delta", "visible", "regime", "confidence", "corrected", "correct")
           if name in map.columns]  # fmt: skip
    column = colour if colour in own else by_name.get(colour)
    if column is None:
        hint = did_you_mean(colour, [*own, *by_name])
        raise InputError(f"colour must be one of {', '.join([*own, *by_name])}; got {colour!r}{hint}")
    return map[column].to_numpy()
