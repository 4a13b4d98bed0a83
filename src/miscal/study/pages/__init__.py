"""Pages of a study, made from its tables alone: ``index.html``, ``paper.html`` and ``summary.json``.

And ``board.md`` with ``board.csv``, for those who hand the board on.
"""

from miscal.study.pages.write import write_pages

__all__ = ["write_pages"]
