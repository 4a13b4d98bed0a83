"""What is done to finished runs: correct, audit, compare, monitor, show; and scans of tables without a run.

In: folders of runs, and new rows.
Out: a typed document, which becomes JSON, and its `Sheet`; folders whole or not at all.
"""
