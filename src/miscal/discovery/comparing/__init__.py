"""Runs beside each other: rows matched (`rows`), differences estimated (`estimates`, `groups`), told (`words`).

What enters is runs read back; what leaves is one typed document (`document`), which the report draws.
"""
