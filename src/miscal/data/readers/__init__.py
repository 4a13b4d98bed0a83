"""Read files, folders and tables into :class:`~miscal.data.triples.Triples`.

To add a format, write a module with a :class:`~miscal.data.readers.source.Source`, and list the class in
`opening.READERS`. What all formats need is done after it.
"""
