"""What all displays share: their axes, the colours of the report, and a description in words."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from miscal.base.errors import InputError
from miscal.base.extras import need
from miscal.report.legend import COLOURS
from miscal.report.texts import clean

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


def check_some(values: Any, what: str) -> None:
    """Refuse to draw nothing.

    Examples
    --------
    >>> check_some((), "findings")
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: there are no findings to draw
    """
    if not len(values):
        raise InputError(f"there are no {what} to draw")
