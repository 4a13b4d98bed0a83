"""Draw a run folder as one self-contained page; every number comes from the summary.

A panel is one module in :mod:`miscal.report.panels` and its line in the list there. What enters draws: numbers are
made in :mod:`miscal.discovery`.
"""

from typing import TYPE_CHECKING, Any

from miscal.report.run import write_run

if TYPE_CHECKING:
    from miscal.report.page import render

__all__ = ["render", "write_run"]


def __getattr__(name: str) -> Any:
    if name == "render":
        from miscal.report.page import render

        return render
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
