"""Findings where the data live: counted there in cells, and tested here.

In: a table, a database or a query.
Out: cells, findings, and a correction as SQL and Python; whoever has the cells can compute all of it again.
"""
