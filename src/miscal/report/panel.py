"""A panel: one section of the page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from miscal.report.source import Source


@dataclass(frozen=True)
class Panel:
    """A section of the page: what it shows, and how.

    Attributes
    ----------
    name : str
        Anchor of the section.
    title : str
        Its heading.
    view : callable
        From the :class:`~miscal.report.source.Source` to an object whose attributes the template reads as ``view``;
        None leaves the section off the page.
    template : str
        Jinja template of what stands below the heading; everything it prints is escaped. It reads what the rows
        that testify are called as ``words`` (:class:`~miscal.report.row_wording.RowWords`).
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
