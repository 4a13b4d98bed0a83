"""Pages of a study, made from its tables alone: ``index.html``, a sheet for each data set, and ``summary.json``."""

from miscal.study.pages.write import write_pages

__all__ = ["write_pages"]
