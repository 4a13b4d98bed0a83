"""Work with finished runs: correct, audit, compare, monitor and show them; and scan tables that have no run.

Where a command has a folder, ``command`` (of comparisons ``comparison``) is the door: it checks, locks, and writes a
folder or file whole or not at all. ``document`` is the typed result, which becomes JSON. Every result fills a sheet.
"""
