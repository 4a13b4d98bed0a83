"""Read files, folders and tables into :class:`~miscal.data.triples.Triples`.

To add a format, write a module with ``accepts(source)`` and ``read(source, encoding=)``, which returns a
:class:`~miscal.data.readers.table.Table`, and list it in `pieces.READERS`. What all formats need is done after it.
"""
