"""Watch a saved correction on labelled rows that came after, by bets that may be looked at any time.

In: a run, what it keeps of earlier looks, and new labelled rows.
Out: alarms and numbers (``monitor.json``), their `Sheet`, and what the next look needs.
"""
