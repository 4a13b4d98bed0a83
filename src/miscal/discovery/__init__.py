"""From triples to a run: discover, the typed summary of all numbers, the run folder, its saved model, its audit.

Rooms below compute; this one puts their results together. Nothing here draws or prints.
"""
