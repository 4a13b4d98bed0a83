"""The names and colours of everything on the page, in one list.

Panels read the names, and :func:`colour_rules` writes the colours as CSS variables.
"""

from miscal.base.vocabulary import Vocabulary
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.formatting import brief_points

#: Regimes by their name in the summary, in the order of the page.
REGIMES = ("over", "under", "good")
PROJECTIONS = {"pca": "principal components", "tsne": "t-SNE projection", "umap": "UMAP projection"}

#: The shades of the field from over- to under-confident, the colours of categories, and those of numbers.
FIELD = tuple(f"d{step}" for step in range(9))
CATEGORIES = tuple(f"c{step}" for step in range(10))
NUMBERS = tuple(f"s{step}" for step in range(7))
#: Every colour of the page by its CSS variable: on a light and on a dark screen.
COLOURS = {
    "paper": ("#fff", "#15181c"),
    "ink": ("#1a1e23", "#e6e9ec"),
    "muted": ("#5b6570", "#9aa5b0"),
    "rule": ("#dfe3e7", "#2e343b"),
    "soft": ("#f5f6f8", "#1d2126"),
    "link": ("#1d5f99", "#7db6ea"),
    "alarm": ("#b3261e", "#ff8a80"),
    "alarm-soft": ("#fdecea", "#331614"),
    "warn": ("#8a5a00", "#e6bd63"),
    "warn-soft": ("#fdf6e3", "#2a2415"),
    "over": ("#bf4a12", "#f0884a"),
    "under": ("#1d68ab", "#62a9e8"),
    "good": ("#8b939c", "#7f8993"),
    "none": ("#c9ced3", "#4a525a"),
    "use": ("#0b7a5b", "#4fc3a1"),
    "g1": ("#6d28d9", "#b794f6"),
    "g2": ("#1d4fd7", "#7aa7ff"),
    "g3": ("#b4410e", "#f0884a"),
    "d0": ("#8c2d04", "#ff9a55"),
    "d1": ("#c4500f", "#e9762f"),
    "d2": ("#e58a4b", "#b8602f"),
    "d3": ("#f2c09a", "#7d5137"),
    "d4": ("#d6d8da", "#4c535a"),
    "d5": ("#a9cbe6", "#3b5f7d"),
    "d6": ("#5e9dcd", "#3f82b8"),
    "d7": ("#2470b2", "#57a4e2"),
    "d8": ("#083f7a", "#8cc6fa"),
    "c0": ("#3b6fb6", "#79a8e8"),
    "c1": ("#e08214", "#f0a04b"),
    "c2": ("#2f9e78", "#58c49f"),
    "c3": ("#c2478b", "#e27fb4"),
    "c4": ("#7a5fb5", "#ab96e0"),
    "c5": ("#a6761d", "#cda35a"),
    "c6": ("#4bb3d1", "#79d0e8"),
    "c7": ("#d9534a", "#f0857d"),
    "c8": ("#7f9a2d", "#b3cc66"),
    "c9": ("#5a6470", "#9aa5b0"),
    "s0": ("#f0dd93", "#33507f"),
    "s1": ("#d7c08a", "#4a618a"),
    "s2": ("#b5a584", "#6a7590"),
    "s3": ("#8f8a80", "#8f8c8a"),
    "s4": ("#6a6f7c", "#b5a687"),
    "s5": ("#45557a", "#d8c184"),
    "s6": ("#14386e", "#ffe08a"),
}


def regime_labels(terms: Vocabulary) -> dict[str, str]:
    """Return what regimes are called, in the order of the page.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> regime_labels(vocabulary("answer"))
    {'over': 'Over-confident', 'under': 'Under-confident', 'good': 'Well calibrated'}
    """
    return {name: terms.regime(name).capitalize() for name in REGIMES}


def regime_names(good_p: float | None, epsilon: float | None, terms: Vocabulary) -> dict[str, str]:
    """Return what regimes are called in a run, by the names of the summary, in the order of the page.

    Rows near the zero of the field are not called well calibrated where their residual differs from zero (`good_p`);
    then the half-width of the band, `epsilon`, names them.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> [regime_names(p, 0.05, vocabulary("answer"))["good"] for p in (0.3, 0.01)]
    ['Well calibrated', 'Within \u00b15 points']
    """
    if good_p is None or good_p >= SIGNIFICANCE:
        return regime_labels(terms)
    return {**regime_labels(terms), "good": "Near zero" if epsilon is None else f"Within \u00b1{brief_points(epsilon)}"}


def colour_rules() -> str:
    """Return the colours as style rules: a CSS variable each, and a line colour for each shade of the field."""
    light, dark = (" ".join(f"--{name}: {shades[place]};" for name, shades in COLOURS.items()) for place in range(2))
    return (
        f"\n:root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        + " ".join(f".{name} {{ stroke: var(--{name}); }}" for name in FIELD)
        + "\n"
    )
