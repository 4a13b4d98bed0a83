"""Work with finished runs, a folder for each command: correct, audit, compare and monitor.

Each folder has the same parts. ``command`` is the door: it checks, locks, and writes a folder or file whole or not at
all. ``document`` is the typed result, which becomes JSON. ``wording`` writes sentences about it, and ``page`` draws it.
"""
