"""The ledger of findings: which groups of rows are right more or less often than rows of equal confidence.

Groups are named (`groups`) or clustered (`clusters`) before any outcome is seen, and tested together (`scan`). What is
found is described (`describe`, `ledger`).
"""
