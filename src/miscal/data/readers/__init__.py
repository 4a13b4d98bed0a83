"""The way in: files, folders and tables become :class:`~miscal.data.triples.Triples`."""

from miscal.data.readers.new_rows import NewRows, read_inputs
from miscal.data.readers.read import read_triples, reread
from miscal.data.readers.registry import READERS, open_table
from miscal.data.readers.table import Table

__all__ = ["READERS", "NewRows", "Table", "open_table", "read_inputs", "read_triples", "reread"]
