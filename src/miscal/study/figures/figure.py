"""What a figure of a study is, and what all of them share: order, colours and marks, and names that fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from miscal.report.texts import clean
from miscal.study import paper_numbers
from miscal.study.synthetic.figures.style import MUTED, OKABE_ITO, RULE, look, panels
from miscal.study.tables import Tables
from miscal.study.vocabulary import StudyVocabulary


@dataclass(frozen=True)
class StudyFigure:
    """One figure of a study, drawn from its tables alone.

    Attributes
    ----------
    name : str
        Id of its section on the page; its files begin with it.
    title : str
        What it shows, as a heading; like `lesson` it may name words of a study in braces.
    place : str
        Where the paper shows the like, such as ``"figures 5a and 13"``; empty where the paper has none.
    lesson : str
        What to look for, in whole sentences; it also serves those who cannot see the figure.
    draw : callable
        From the tables and a folder to the names of the figures written there as SVG and PNG. Without the rows that
        it needs it writes nothing and names none. The caller has chosen the look
        (:func:`miscal.study.figures.figure.study_look`).
    shown : int, default 1
        How many of these figures, in their order, stand on the page itself; it links to the others.
    """

    name: str
    title: str
    place: str
    lesson: str
    draw: Callable[[Tables, Path], Iterable[str]]
    shown: int = 1

    def told(self, words: StudyVocabulary) -> StudyFigure:
        """Return the figure with the words of a study in its title and lesson."""
        return replace(self, title=words.fill(self.title), lesson=words.fill(self.lesson))


OVER, UNDER, GOOD = OKABE_ITO[3], OKABE_ITO[0], "#8b939c"
"""Over, under and well calibrated, as everywhere in the project."""

WIDEST = 10.8
"""Inches of a figure as wide as the page."""

_FAMILIES = tuple(OKABE_ITO[i] for i in (2, 4, 1, 6, 5, 7))
"""Colours of families: not those that stand for over- and under-confident."""

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_NO_FAMILY = "no family"
_LONGEST = 30


@contextmanager
def study_look() -> Iterator[None]:
    """Draw in the common style, taking names literally: a dollar sign in them starts no formula."""
    with look(), mpl.rc_context({"text.parse_math": False}):
        yield


def fitting(name: str, length: int = _LONGEST) -> str:
    """Cut a name to what fits beside an axis, and replace what cannot be printed.

    Examples
    --------
    >>> fitting("a" * 40, 5)
    'aaaa\u2026'
    """
    text = " ".join("".join(c if c.isprintable() and ord(c) < 0x500 else "\ufffd" for c in clean(name)).split())
    return text if len(text) <= length else text[: length - 1] + "\u2026"


def datasets_in(table: pl.DataFrame) -> list[str]:
    """Return the data sets of a table: the paper's in its order, then the others by name."""
    known = list(paper_numbers.DATASETS)
    held = sorted(set(table["dataset"].to_list()))
    return sorted(held, key=lambda name: known.index(name.lower()) if name.lower() in known else len(known))


def models_in(pairs: pl.DataFrame) -> list[str]:
    """Return the models of a table of pairs by family and size; those without either come last."""
    return pairs.unique("model").sort("family", "billions", "model", nulls_last=True)["model"].to_list()


def families_in(pairs: pl.DataFrame) -> dict[str | None, str]:
    """Return a colour for each family, None included where a pair has none."""
    named = sorted(set(pairs["family"].drop_nulls().to_list()))
    colours = {name: _FAMILIES[i % len(_FAMILIES)] for i, name in enumerate(named)}
    return {**colours, None: MUTED} if pairs["family"].null_count() else dict(colours)


def marks_in(pairs: pl.DataFrame) -> dict[str, str]:
    """Return a mark for each data set."""
    return {name: _MARKS[i % len(_MARKS)] for i, name in enumerate(datasets_in(pairs))}


def keys(figure: Figure, families: dict[str | None, str], marks: dict[str, str]) -> None:
    """Explain colours and marks at the right of a figure."""
    colours = [_key("o", colour, fitting(name or _NO_FAMILY)) for name, colour in families.items()]
    shapes = [_key(mark, MUTED, fitting(name)) for name, mark in marks.items()]
    title = _key("", MUTED, "")
    figure.legend(handles=[*colours, title, *shapes], loc="outside right upper", fontsize=8, handletextpad=0.3)


def _key(mark: str, colour: str, label: str) -> Line2D:
    return Line2D([], [], ls="", marker=mark, color=colour, label=label, ms=6)


def pair_names(pairs: pl.DataFrame) -> dict[str, str]:
    """Return what the pairs of a table are called beside an axis, by their ids."""
    rows = pairs.unique("pair", maintain_order=True).iter_rows(named=True)
    return {row["pair"]: f"{fitting(row['model'], 24)}, {fitting(row['dataset'], 18)}" for row in rows}


def size_text(billions: float | None) -> str:
    """Write the size of a model.

    Examples
    --------
    >>> size_text(8.0), size_text(1.7), size_text(0.135), size_text(None)
    ('8B', '1.7B', '135M', '')
    """
    if billions is None:
        return ""
    return f"{billions:.3g}B" if billions >= 1 else f"{1000 * billions:.3g}M"


def zero(axes: Axes, *, vertical: bool = False) -> None:
    """Draw the line at zero."""
    draw = axes.axvline if vertical else axes.axhline
    draw(0.0, color=MUTED, lw=0.8, zorder=0)


def soft_grid(axes: Axes, axis: str = "both") -> None:
    """Draw faint grid lines behind everything."""
    axes.grid(True, axis=axis, color=RULE, lw=0.6)
    axes.set_axisbelow(True)


def dataset_panels(datasets: list[str], *, width: float, height: float, **options) -> tuple[Figure, list[Axes]]:
    """Return a figure with a titled panel a data set, at most four beside each other; the rest of the grid is blank."""
    rows, columns = grid_shape(len(datasets))
    figure, grid = panels(rows, columns, width=width, height=height, **options)
    for axes, name in zip(grid.flat, datasets, strict=False):
        axes.set_title(fitting(name))
    for place, axes in enumerate(grid.flat):
        if place >= len(datasets):
            axes.set_axis_off()
        elif place + columns >= len(datasets):
            # nothing stands below it that could carry the labels
            axes.tick_params(labelbottom=True)
    return figure, list(grid.flat[: len(datasets)])


def leftmost(axes: list[Axes]) -> list[Axes]:
    """Return the panels that stand at the left."""
    return [each for each in axes if each.get_subplotspec().is_first_col()]


def legend_of_all(figure: Figure, axes: list[Axes]) -> None:
    """Explain the labels of all panels, each once, below a figure."""
    found = {}
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        # a letter of 8 points is about 0.065 inches wide, and handle and gaps take half an inch
        fit = int(figure.get_figwidth() / (0.5 + 0.065 * max(map(len, found))))
        labels = sorted(found)
        handles = [found[label] for label in labels]
        columns = max(1, min(len(found), fit))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8)


def grid_shape(n: int, most_columns: int = 4) -> tuple[int, int]:
    """Return rows and columns for n panels.

    Examples
    --------
    >>> grid_shape(3), grid_shape(6), grid_shape(1)
    ((1, 3), (2, 4), (1, 1))
    """
    columns = min(n, most_columns)
    return int(np.ceil(n / columns)), columns
