"""The way in: files, folders and tables become :class:`~miscal.triples.Triples`."""

from miscal.readers.inputs import Inputs, read_inputs
from miscal.readers.read import read_triples, reread
from miscal.readers.registry import READERS, open_table
from miscal.readers.table import Table

__all__ = ["READERS", "Inputs", "Table", "open_table", "read_inputs", "read_triples", "reread"]
