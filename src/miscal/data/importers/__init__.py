"""Results that other tools have written, as tables of triples.

To add a tool, write a module with ``LOOKED_FOR``, ``logs(folder)`` and ``read(log)`` and list it in `registry`.
"""

from miscal.data.importers.registry import IMPORTERS, Imported, import_log, read_log

__all__ = ["IMPORTERS", "Imported", "import_log", "read_log"]
