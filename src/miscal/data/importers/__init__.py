"""Results that other tools have written, as tables of triples.

To add a tool, put a module into :mod:`miscal.data.importers.tools`; it is found there by its name.
"""
