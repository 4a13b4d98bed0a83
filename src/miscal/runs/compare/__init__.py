"""Compare two runs: of the same rows under two models, or of one model on two sets.

In: two finished runs, whose rows are read again and matched.
Out: differences with intervals (``compare.json``), and their `Sheet`.
"""
