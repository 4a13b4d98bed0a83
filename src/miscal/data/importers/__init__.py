"""Results that other tools have written, as tables of triples.

To add a tool, put a module into :mod:`miscal.data.importers.tools`; it is found there by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miscal.data.importers.tools import tool_names

if TYPE_CHECKING:
    from miscal.data.importers.imported import Imported, import_log, read_log

__all__ = ["Imported", "import_log", "read_log", "tool_names"]


def __getattr__(name: str) -> Any:
    # the command line asks for the names alone, and must not wait for polars
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from miscal.data.importers import imported

    return getattr(imported, name)
