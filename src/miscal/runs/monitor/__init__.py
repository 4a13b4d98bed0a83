"""Watching a saved correction on labelled rows that came after: bets that may be looked at any time."""
