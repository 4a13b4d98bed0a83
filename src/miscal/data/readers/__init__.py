"""Read files, folders and tables into :class:`~miscal.data.triples.Triples`.

To add a format, write a module with ``accepts(source)`` and ``read(source, encoding=)``, which returns a
:class:`~miscal.data.readers.table.Table`, and list it in `pieces.READERS`. What all formats need is done after it.
"""

from miscal.data.readers.new_rows import NewRows, NewSource, open_new_rows, read_inputs
from miscal.data.readers.pieces import READERS, open_table
from miscal.data.readers.read import read_triples, reread
from miscal.data.readers.roles import naming_alone
from miscal.data.readers.table import Table

__all__ = [
    "READERS",
    "NewRows",
    "NewSource",
    "Table",
    "naming_alone",
    "open_new_rows",
    "open_table",
    "read_inputs",
    "read_triples",
    "reread",
]
