"""Which groups of rows are right more or less often than rows of equal confidence.

In: rows, or counts of them in cells; groups are fixed before any outcome is seen, and tested together.
Out: a `Ledger` of findings, strongest first, and tables of columns.
"""
