"""Order, colours, marks and names of pairs, models and data sets, the same in all figures of a study."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from miscal.report.texts import clean
from miscal.study import paper_numbers
from miscal.study.drawing import MUTED, OKABE_ITO

CATEGORIES = tuple(OKABE_ITO[i] for i in (2, 4, 1, 6, 5, 7))
"""Colours of families and categories: not those that stand for over- and under-confident."""

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_LONGEST = 30


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


def dataset_titles(table: pl.DataFrame) -> dict[str, str]:
    """Return what the data sets of a table are called above a panel."""
    return {name: fitting(name) for name in datasets_in(table)}


def models_in(pairs: pl.DataFrame) -> list[str]:
    """Return the models of a table of pairs by family and size; those without either come last."""
    return pairs.unique("model").sort("family", "billions", "model", nulls_last=True)["model"].to_list()


def families_in(pairs: pl.DataFrame) -> dict[str | None, str]:
    """Return a colour for each family, None included where a pair has none."""
    named = sorted(set(pairs["family"].drop_nulls().to_list()))
    colours = {name: CATEGORIES[i % len(CATEGORIES)] for i, name in enumerate(named)}
    return {**colours, None: MUTED} if pairs["family"].null_count() else dict(colours)


def marks_in(pairs: pl.DataFrame) -> dict[str, str]:
    """Return a mark for each data set."""
    return {name: _MARKS[i % len(_MARKS)] for i, name in enumerate(datasets_in(pairs))}


def keys(figure: Figure, families: dict[str | None, str], marks: dict[str, str]) -> None:
    """Explain colours and marks at the right of a figure."""
    shown = [("o", colour, fitting(name or "no family")) for name, colour in families.items()]
    shown += [("", MUTED, ""), *((mark, MUTED, fitting(name)) for name, mark in marks.items())]
    handles = [Line2D([], [], ls="", marker=mark, color=colour, label=label, ms=6) for mark, colour, label in shown]
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, handletextpad=0.3)


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
