"""One module for each tool whose logs can be imported, found by its name.

In: a file that the tool wrote.
Out: a :class:`~miscal.data.importers.logs.Log`: its rows, and why others are left out.

A module offers ``FILES`` (patterns of the names that its logs have in a folder) and ``read(path)`` (a
:class:`~miscal.data.importers.logs.Log`); ``BESIDE``, how names of files begin that are read beside a log,
``latest(paths)``, which of the files found are to be read, and ``labels_of(path)``, whose result ``read`` takes as
``labels``. The tool is called by its name, with hyphens.

The simplest reads ``rows_of(path)`` and returns ``answers_log(path, named, row_of)``
(:mod:`~miscal.data.importers.stated_confidences`), with a ``Row``, whose ``note`` says what confidence and
outcome are, or an ``UnusableRow`` for each; of judges, ``judged_log``.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def tool_names() -> tuple[str, ...]:
    """Return the tools whose logs can be imported, by name; no importer is loaded for it.

    >>> {"inspect", "lm-eval"} <= set(tool_names())
    True
    """
    return tuple(sorted(module.name.replace("_", "-") for module in iter_modules(__path__)))


def importer(name: str) -> ModuleType:
    """Load the importer of a tool that `tool_names` lists."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")
