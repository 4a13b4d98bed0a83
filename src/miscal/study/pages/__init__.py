"""The pages of a study.

In: its tables alone.
Out: ``index.html``, ``paper.html``, ``summary.json``, and ``board.md`` with ``board.csv`` to hand on.
"""

from miscal.study.pages.write import write_pages

__all__ = ["write_pages"]
