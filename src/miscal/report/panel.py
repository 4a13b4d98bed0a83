"""A panel: one section of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from miscal.base.vocabulary import Vocabulary
from miscal.report.source import Source


@dataclass(frozen=True)
class Panel:
    """A section of the page: what it shows, and how.

    Attributes
    ----------
    name : str
        Anchor of the section.
    title : str
        Its heading; ``{judged}``, ``{over_and_under}`` and ``{probabilities}`` stand for words of the run's vocabulary.
    view : callable
        From the :class:`~miscal.report.source.Source` to an object whose attributes the template reads as ``view``;
        None leaves the section off the page.
    template : str
        Jinja template of what stands below the heading; everything it prints is escaped. It reads what the rows
        evaluated are called as ``words`` (:class:`~miscal.report.row_wording.RowWords`), the words of the run's
        kind of probability as ``terms`` (:class:`~miscal.base.vocabulary.Vocabulary`), and how many decimals points and
        per cents have as ``decimals``, and in brief as ``digits``.
    contents : str, default ""
        Its entry in the page's contents; none if empty.

    Examples
    --------
    >>> Panel("rows", "Rows", lambda source: source.summary, "<p>{{ view.n | count }} rows</p>").contents
    ''
    """

    name: str
    title: str
    view: Callable[[Source], Any]
    template: str
    contents: str = ""

    def titled(self, terms: Vocabulary) -> Panel:
        """Return the panel with its heading in the words of a run."""
        words = {name: getattr(terms, name) for name in ("judged", "over_and_under", "probabilities")}
        return replace(self, title=self.title.format(**words))
