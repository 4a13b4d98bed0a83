"""A function for each command.

In: options, as fields of dataclasses make them.
Out: calls of the library, whose results are printed.
"""
