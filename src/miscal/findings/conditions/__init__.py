"""A group of rows as a value, which says what rows of any table belong to it.

In: columns of a table.
Out: which rows belong to a group, and its words, which no code reads back.

A new kind is one class in `column_kinds` or `other_kinds`: both are read here, so that every kind is known.
"""

from miscal.findings.conditions import column_kinds, other_kinds  # noqa: F401
