"""Watch whether a saved correction still holds on later labelled rows, by bets: one may look at any time.

In: a run, what it keeps of earlier looks, and new labelled rows.
Out: alarms and numbers (``monitor.json``), their `Sheet`, and what the next look needs.
"""
